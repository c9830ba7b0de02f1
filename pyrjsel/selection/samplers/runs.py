"""Runs of samplers, with an audit and restarts if it finds missed modes.

The audit is a search for modes that no chain has visited. For every term that is in no draw, the best
feasible model with it is searched; for every free term that is in all draws, the best one without it. A model
that should have been visited but was not reveals a missed mode.

Chains that have not visited a mode cannot estimate its probability, and those that find it late estimate it
poorly. A run with ``draws="auto"`` therefore restarts if its audit finds a relevant model that no chain has
visited: the draws so far are discarded, and new chains with their own seeds start, some of them from the
missed models. All this depends only on the draws.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyrjsel._called import warn
from pyrjsel._errors import ConvergenceWarning, DataError
from pyrjsel._typing import BoolArray, ByteArray, FloatArray, IntArray
from pyrjsel.model_space import ModelSpace, PackedModels, Space
from pyrjsel.runtime import FitSettings, Refused
from pyrjsel.selection.evidence.laplace import MarginalLikelihood
from pyrjsel.selection.posterior import FLIP, NOTHING, SEARCH, VISITS, Audit, Posterior, TermModels
from pyrjsel.selection.protocols import SelectionModel, SingleModel
from pyrjsel.selection.regression.wide import check_unchanged, rest
from pyrjsel.selection.samplers.base import Sampler
from pyrjsel.selection.samplers.mode_search.search import (
    MOST_WEIGHED,
    SLACK,
    WITHIN,
    Explorer,
    Found,
    evidence_at,
    starts_anew,
    steps,
)
from pyrjsel.selection.samplers.options import FEW_TERMS

# A missed model is relevant if its mass, with that of its neighbours, is more than KNOWN times that already
# in the inclusion probability of its term, and more than LARGE, or worth more than EXPECTED visits in this
# run.
KNOWN, LARGE, EXPECTED = 3.0, 0.02, 20.0
# Largest numbers of models with a Laplace approximation, and with an integral, if searches use a surrogate.
MOST_APPROXIMATED, MOST_INTEGRATED = 64, 16
# Number of most visited models among which the best is searched, if only visits are known.
MOST_VISITED = 5
# Entries of visited models that are unpacked at a time.
BLOCK = 2**19


def audit_of(model: SelectionModel, posterior: Posterior) -> Audit:
    """Return the audit of a posterior from chains; it is deterministic.

    Parameters
    ----------
    model : SelectionModel
        The fitted model.
    posterior : Posterior
        The posterior, with draws.
    """
    space, packed = model.space, posterior.packed
    free = space.free.astype(bool)
    single = model._make_marginal(posterior)
    order, odds = _visited_odds(posterior, space, single)
    best = packed[order[0]]
    ever, always = packed.ever(), packed.always() & free
    asked = np.flatnonzero((~ever | always) & free)
    row, log_odds, how = _visited_models(packed, order, odds, ever)
    searched: list[ByteArray] = []
    missed: list[tuple[float, int, ByteArray]] = []
    if asked.size:
        draws = posterior.draws
        assert draws is not None
        row[asked], log_odds[asked], how[asked] = -1, np.nan, NOTHING
        variance = None if draws.variance is None else float(np.mean(draws.variance))
        evidence, exact = evidence_at(model.regression, best, variance)
        explorer = Explorer(evidence, space, Space(space), steps(space.n_terms, draws.model.size))
        base = explorer.log_mass(best)
        found = explorer.explore(best, asked, pairs=True)
        values = np.full(space.n_terms, -np.inf)
        values[asked] = found.log_mass - base
        for term, value in _better(found, values, best, space, single, exact).items():
            values[term] = value
        for item in found:
            if np.isfinite(values[item.term]):
                how[item.term] = SEARCH if item.searched else FLIP
                log_odds[item.term] = values[item.term]
                row[item.term] = order[0]
                if item.gamma is None:
                    continue
                row[item.term] = len(packed) + len(searched)
                searched.append(item.gamma)
                if _matters(item, values[item.term], posterior, order[0], draws.model.size):
                    missed.append((float(values[item.term]), item.term, item.gamma))
    missed.sort(key=lambda each: (-each[0], each[1]))
    used, row[row >= 0] = np.unique(row[row >= 0], return_inverse=True)
    bases = packed.chosen(used[used < len(packed)].astype(np.intp), searched)
    return Audit(
        always,
        TermModels(bases, row, how == FLIP),
        log_odds,
        how,
        np.array([each[2] for each in missed], dtype=np.uint8).reshape(len(missed), space.n_terms),
        np.array([each[1] for each in missed], dtype=np.int64),
        np.array([each[0] for each in missed], dtype=np.float64),
    )


def add_unvisited(model: SelectionModel, posterior: Posterior) -> None:
    """Add to the errors of inclusion probabilities what the models found by the audit would change.

    A mode that no chain has visited, of mass m beyond what averages of conditional probabilities know of it,
    changes an inclusion probability P by m (1 - P) if it has the term, and by m P otherwise.
    """
    audit, inclusion = posterior.audit, posterior.inclusion
    assert audit is not None
    out = 1.0 - inclusion if posterior.excluded is None else posterior.excluded
    change = np.zeros(inclusion.size)
    terms = np.flatnonzero((audit.how == SEARCH) & (audit.log_odds > -WITHIN))
    if not terms.size:
        return
    base = _visited_odds(posterior, model.space, model._make_marginal(posterior))[0][0]
    for term in terms:
        gamma = audit.models[int(term)]
        relative = float(np.log(posterior.probability[base]) + audit.log_odds[term])
        mass = float(np.exp(relative - np.logaddexp(0.0, relative)))
        unknown = max(0.0, mass - float((inclusion if gamma[term] else out)[term]))
        change = np.maximum(change, unknown * np.abs(gamma - inclusion))
    drawn = posterior.inclusion_mcse
    # A term that never changed has no error of its own.
    posterior.inclusion_mcse = np.where(np.isnan(drawn) & (change > 0.0), change, np.hypot(drawn, change))
    with np.errstate(invalid="ignore", divide="ignore"):
        posterior.ess = np.where(
            change > 0.0, posterior.ess * (drawn / posterior.inclusion_mcse) ** 2, posterior.ess
        )


def best_visited(model: SelectionModel, posterior: Posterior) -> ByteArray:
    """Return the best visited model (J,), as used in audits."""
    order, _ = _visited_odds(posterior, model.space, model._make_marginal(posterior))
    return posterior.packed[order[0]]


def _visited_odds(
    posterior: Posterior, space: ModelSpace, single: SingleModel
) -> tuple[IntArray, FloatArray]:
    """Return the rows of visited models, the best first, and their log odds against it.

    If marginal likelihoods of visited models are unknown, models are ordered by visits, and the best of the
    most visited ones is determined by marginal likelihoods.
    """
    draws = posterior.draws
    assert draws is not None
    if posterior.log_marginal is not None:
        value = np.empty(len(posterior.packed))
        for rows, log_mass in zip(draws.model, draws.log_posterior, strict=True):
            value[rows] = log_mass
    else:
        value = np.log(posterior.probability)
        few = np.argsort(-value, kind="stable")[:MOST_VISITED]
        models = posterior.packed[few]
        known = single.log_marginals(models) + space.log_prior(models)
        first = few[np.argmax(known)]
        order = np.argsort(-value, kind="stable")
        return np.concatenate([[first], order[order != first]]), value - value[first]
    order = np.argsort(-value, kind="stable")
    return order, value - value[order[0]]


def _visited_models(
    packed: PackedModels, order: IntArray, odds: FloatArray, ever: BoolArray
) -> tuple[NDArray[np.int32], FloatArray, ByteArray]:
    """Return the row of the best visited model with each term, its log odds, and how it was found."""
    row = np.full(packed.n_terms, -1, dtype=np.int32)
    log_odds, left = np.full(packed.n_terms, np.nan), ever.copy()
    step = max(1, BLOCK // max(1, packed.n_terms))
    for at in range(0, order.size, step):
        models = packed[order[at : at + step]]
        terms = np.flatnonzero(left & models.any(axis=0))
        rows = order[at + models.argmax(axis=0)[terms]]
        row[terms], log_odds[terms], left[terms] = rows, odds[rows], False
        if not left.any():
            break
    return row, log_odds, np.where(ever, VISITS, NOTHING).astype(np.uint8)


def _better(
    found: Sequence[Found],
    values: FloatArray,
    best: ByteArray,
    space: ModelSpace,
    single: SingleModel,
    exact: bool,
) -> dict[int, float]:
    """Return log odds of possibly relevant models against the best visited model, by marginal likelihoods."""
    slack = WITHIN if exact else WITHIN + SLACK
    some = [item for item in found if values[item.term] > -slack and not (exact and item.gamma is None)]
    some.sort(key=lambda item: -values[item.term])
    if not some:
        return {}
    if not isinstance(single, MarginalLikelihood):
        models = np.array([best, *(_model(item, best) for item in some)], dtype=np.uint8)
        value = single.log_marginals(models) + space.log_prior(models)
        return {item.term: float(own - value[0]) for item, own in zip(some, value[1:], strict=True)}
    base = single.approximate(best).log_marginal + float(space.log_prior(best))
    known: dict[int, float] = {}
    for item in some[:MOST_APPROXIMATED]:
        known[item.term] = _log_mass(single.approximate, _model(item, best), space) - base
    base = _log_mass(single.integrate, best, space)
    near = [item for item in some[:MOST_APPROXIMATED] if known[item.term] > -WITHIN - 1.0]
    for item in sorted(near, key=lambda item: -known[item.term])[:MOST_INTEGRATED]:
        known[item.term] = _log_mass(single.integrate, _model(item, best), space) - base
    return known


def _model(item: Found, best: ByteArray) -> ByteArray:
    """Return the model found (J,)."""
    gamma = best.copy() if item.gamma is None else item.gamma
    if item.gamma is None:
        gamma[item.term] ^= 1
    return gamma


def _log_mass(find: Any, gamma: ByteArray, space: ModelSpace) -> float:
    """Return the log posterior mass of a model, up to a constant; -inf if it has no posterior mode."""
    try:
        return float(find(gamma).log_marginal + space.log_prior(gamma))
    except DataError:  # no coefficient prior by the rank rule of the mode search
        return -np.inf


def _matters(item: Found, log_odds: float, posterior: Posterior, best: int, draws: int) -> bool:
    """Return whether a missed model is relevant."""
    # mathematics: walks-missed
    if not item.searched or log_odds <= -WITHIN:
        return False
    top = float(posterior.probability[best])
    relative = np.log(top) + log_odds + item.spread
    mass = float(np.exp(relative - np.logaddexp(0.0, relative)))
    entering = bool(item.gamma is not None and item.gamma[item.term])
    out = 1.0 - posterior.inclusion if posterior.excluded is None else posterior.excluded
    known = float((posterior.inclusion if entering else out)[item.term])
    return mass > KNOWN * known and (mass > LARGE or mass * draws > EXPECTED)


# Largest number of restarts.
MOST_ANEW = 2


def run(
    model: SelectionModel,
    sampler: Sampler,
    settings: FitSettings,
    options: Any,
    other: tuple[Sampler, Any, int] | None = None,
) -> tuple[Posterior, FitSettings, Any]:
    """Return the posterior from a sampler, the settings of its last run, and its options.

    A run whose proposals are refused is made again, in the sampler's other way if there are few terms; if
    they are refused again, the `other` sampler takes over, with its options and default burn-in.

    Raises
    ------
    DataError
        If a matrix that is used as it was given has changed since the model was made.
    KeyboardInterrupt
        If the last run was interrupted before any chain had a draw.
    """
    begun = time.perf_counter()
    check_unchanged(model.data)
    settings = replace(settings, replaceable=other is not None)
    while True:
        try:
            posterior = sampler.posterior(model.regression, model.space, settings, options)
        except Refused:
            warm = settings.burn_in
            if other is not None and (settings.attempt or model.space.n_terms > FEW_TERMS):
                sampler, options, warm = other
            settings = settings.tries_again(begun, warm)
            continue
        if posterior.draws is None:
            return posterior, settings, options
        rest(model.regression)
        posterior.audit = audit_of(model, posterior)
        add_unvisited(model, posterior)
        rest(model.regression)
        text = posterior.audit.warning(model.space)
        if text is None:
            return posterior, settings, options
        if not _may_begin_anew(posterior, settings, begun):
            posterior.alarm([text])
            return posterior, settings, options
        found = posterior.audit.missed[0]
        settings = settings.begins_anew(found, _starts(model, posterior, settings), begun)


def warn_of(posterior: Posterior) -> None:
    """Issue the warnings about a posterior."""
    for text in posterior.alarms:
        warn(text, ConvergenceWarning)


def note_of(settings: FitSettings, space: ModelSpace) -> list[str]:
    """Return the note of a summary on restarts."""
    if settings.anew is None:
        return []
    names = [" + ".join(space.terms_of(gamma)) or "(no terms)" for gamma in settings.anew.found]
    if len(names) == 1:
        return [f"The run was restarted from a model that the audit found: {names[0]}."]
    times = "twice" if len(names) == 2 else f"{len(names)} times"
    return [f"The run was restarted {times}, from models that the audits found: {'; '.join(names)}."]


def _may_begin_anew(posterior: Posterior, settings: FitSettings, begun: float) -> bool:
    """Whether a run with missed models is restarted: not after Ctrl-C, nor beyond the limits."""
    whole = posterior.ends is not None and posterior.ends.complete
    runs = 0 if settings.anew is None else len(settings.anew.found)
    return whole and settings.earlier is None and runs < MOST_ANEW and settings.lasts(begun)


def _starts(model: SelectionModel, posterior: Posterior, settings: FitSettings) -> ByteArray:
    """Return the starting model of each chain of the next run."""
    draws, audit = posterior.draws, posterior.audit
    assert draws is not None
    assert audit is not None
    models = [*audit.missed[:MOST_WEIGHED], best_visited(model, posterior)]
    if settings.anew is not None:
        models += [*settings.anew.starts]
    variance = None if draws.variance is None else float(np.mean(draws.variance))
    return starts_anew(model.regression, model.space, models, settings.chains, variance)

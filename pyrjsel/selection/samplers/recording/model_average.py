"""The posterior from the draws of chains, for all samplers, and the stopping rule of ``draws="auto"``."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import scipy

from pyrjsel._typing import FloatArray, WordArray
from pyrjsel._validate import listed
from pyrjsel.model_space import (
    ByModel,
    ModelSpace,
    PackedModels,
    SparseModels,
    count_visits,
    merge_visits,
)
from pyrjsel.report.errors import MODEL_ROWS, model_stats
from pyrjsel.report.mixing import chain_diagnostics, inclusion_figures, mixing_figures, selection_notes
from pyrjsel.runtime import DrawnChains, Figure, FitSettings, Refused, Rule
from pyrjsel.selection.posterior import Draws, Moments, Posterior
from pyrjsel.selection.regression.columns import TermColumns
from pyrjsel.selection.samplers.recording.recorder import NUMBERS, VISITS_ALONE, ChainDraws, Manner

# Least number of proposals for which a chain with a low acceptance rate is called stuck.
FEWEST_PROPOSALS = 200


def summarise(
    drawn: DrawnChains,
    *,
    regression: TermColumns,
    space: ModelSpace,
    manner: Manner,
    entropy: bytes,
    coefficients_every: int,
    before: int = 0,
) -> Posterior:
    """Merge the chains and compute all estimates from their draws.

    Moments of coefficients come from the sums of the chains, or from the averager of their manner if there is
    one. The first `before` draws are those of extended results, already on the scale of the design.

    There are warnings if the run was interrupted; if chains disagree on inclusion probabilities; if R-hat of
    the model size or of the log posterior over all chains exceeds 1.2, or the effective sample size of one of
    them or of an inclusion probability that moved is below 100; if a chain accepted less than 1 % of at least
    200 coefficient updates, or 10 % of at least 200 steps on a surrogate.
    """
    chains: list[ChainDraws] = drawn.results
    draws = drawn.draws
    index, models, log_posterior = merged(chains, draws, regression, space, manner, before)
    probability = count_visits(index, len(models)) / index.size
    stats = model_stats(index, np.arange(min(len(models), MODEL_ROWS)))
    if manner.masses:
        stats = replace(stats, odds=_odds(index, log_posterior, stats.odds.size), odds_mcse=0.0 * stats.odds)
    mcse = np.full(len(models), np.nan)
    mcse[: stats.mcse.size] = stats.mcse
    estimate = manner.estimator(chains, index, models)
    terms = estimate.terms
    kept = min(chain.coefficients.shape[0] for chain in chains)
    found = Draws(
        index,
        models,
        np.concatenate([space.cost(block) for block in models.blocks()]),
        log_posterior,
        _coefficients(chains, kept, regression, -(-before // coefficients_every)),
        coefficients_every,
        {name: np.stack([chain.nuisance[name][:kept] for chain in chains]) for name in chains[0].nuisance},
    )
    stuck = terms.stuck & space.free.astype(bool)
    diagnostics = chain_diagnostics(
        [chain.counts for chain in chains],
        manner.moves,
        [
            ("size", ByModel(models.sizes(), index)),
            ("cost", ByModel(found.model_cost, index)),
            ("log_posterior", found.log_posterior),
        ],
        drawn.spent,
    )
    notes = [
        *drawn.notes,
        *selection_notes(terms, space.names, diagnostics, averaged=estimate.words != VISITS_ALONE),
        *_stuck_chains(chains, manner),
    ]
    return Posterior(
        sampler=manner.sampler,
        packed=models,
        probability=probability,
        mcse=mcse,
        odds=stats.odds,
        odds_mcse=stats.odds_mcse,
        log_marginal=None,
        inclusion=terms.mean,
        inclusion_mcse=terms.mcse,
        ess=terms.ess,
        r_hat=terms.r_hat,
        stuck=stuck,
        disagree=terms.disagree,
        moments=manner.averager(models, probability) if manner.averager else _moments(chains, regression),
        draws=found,
        diagnostics=diagnostics,
        estimator=estimate.words,
        entropy=entropy,
        pairs=manner.pairs,
        notes=notes,
        alarms=notes.copy(),
        excluded=estimate.excluded,
        ends=drawn.ends,
        asked=drawn.asked,
    )


def merged(
    chains: list[ChainDraws],
    draws: int,
    regression: TermColumns,
    space: ModelSpace,
    manner: Manner,
    before: int = 0,
) -> tuple[np.ndarray, PackedModels, FloatArray]:
    """Merge models and log posteriors of the chains, removing them from the chains.

    Returns
    -------
    index : ndarray (chains, draws)
        Model of each draw.
    models : PackedModels (m, J)
        Best first: by their masses if known, otherwise by visits.
    log_posterior : ndarray (chains, draws)
        On the scale of the design, as the first `before` draws already are.
    """
    index, models = merge_visits(_visits(chains), draws, space.n_terms)
    log_posterior = _log_posterior(chains, draws)
    if manner.density:
        scale = np.concatenate([regression.log_scale(block) for block in models.blocks()])
        for values, rows in zip(log_posterior, index, strict=True):
            values[before:] += scale[rows[before:]]
    if manner.masses:
        order = np.argsort(-log_masses(index, log_posterior, len(models)), kind="stable")
        rank = np.empty(order.size, dtype=index.dtype)
        rank[order] = np.arange(order.size, dtype=index.dtype)
        index, models = rank[index], models.reordered(order)
    return index, models, log_posterior


def log_masses(index: np.ndarray, log_posterior: FloatArray, models: int) -> FloatArray:
    """Return the log masses (m,) of models from draws (chains, draws)."""
    found = np.empty(models)
    for rows, values in zip(index, log_posterior, strict=True):
        found[rows] = values
    return found


def _odds(index: np.ndarray, log_posterior: FloatArray, rows: int) -> FloatArray:
    """Return the odds of the first model against each of the first `rows`, from their masses."""
    known = log_masses(index, log_posterior, int(index.max()) + 1)[:rows]
    with np.errstate(over="ignore"):  # infinite on overflow
        return np.asarray(np.exp(known[0] - known))


def _visits(chains: list[ChainDraws]) -> Iterator[tuple[WordArray | SparseModels, np.ndarray]]:
    """Yield models and draws of one chain after another, and release their memory."""
    for chain in chains:
        words, index = chain.words, chain.index
        chain.words, chain.index = np.empty((0, 0), dtype=np.uint64), index[:0].copy()
        yield words, index


def _log_posterior(chains: list[ChainDraws], draws: int) -> FloatArray:
    """Merge the log posteriors of the chains, (chains, draws), removing them from the chains."""
    found = np.empty((len(chains), draws))
    for row, chain in zip(found, chains, strict=True):
        row[:] = chain.log_posterior[:draws]
        chain.log_posterior = chain.log_posterior[:0].copy()
    return found


def _coefficients(
    chains: list[ChainDraws], kept: int, regression: TermColumns, before: int
) -> "scipy.sparse.csr_array":
    """Merge the coefficients of the chains, in units of the design's columns, (chains * kept, D + 1).

    The first `before` of each chain are already in these units.
    """
    parts = [scipy.sparse.csr_array((0, regression.n_columns))]
    step = max(1, NUMBERS // regression.n_columns)
    for chain in chains:
        parts.append(scipy.sparse.csr_array(chain.coefficients[:before]))
        for at in range(before, kept, step):
            some = chain.coefficients[at : min(at + step, kept)]
            dense = some if isinstance(some, np.ndarray) else some.toarray()
            parts.append(scipy.sparse.csr_array(regression.to_raw(dense)))
        chain.coefficients = chain.coefficients[:0].copy()
    return scipy.sparse.vstack(parts, format="csr")


def _moments(chains: list[ChainDraws], regression: TermColumns) -> Moments:
    sums = np.sum([chain.sums for chain in chains], axis=0)
    # The intercept is in every draw.
    return Moments.of_sums(sums / sums[3, 0], regression.units, regression.origin)


def _stuck_chains(chains: list[ChainDraws], manner: Manner) -> list[str]:
    """Return a warning about chains that hardly accepted the vital move."""
    bad = [
        f"chain {c} ({accepted:,} of {proposed:,})"
        for c, proposed, accepted in _vital(chains, manner)
        if accepted < manner.least * proposed
    ]
    if not bad:
        return []
    share = f"Less than {manner.least:.0%} of the {manner.words} were accepted in {listed(bad)}"
    return [f"{share}: these chains are stuck; {manner.remedy}."]


def _vital(chains: Sequence[ChainDraws], manner: Manner) -> Iterator[tuple[int, int, int]]:
    """Yield each chain that has made enough of the vital moves, with proposals and acceptances."""
    if manner.vital in manner.moves:
        k = list(manner.moves).index(manner.vital)
        for c, chain in enumerate(chains):
            proposed, accepted = int(chain.counts[0, k]), int(chain.counts[1, k])
            if proposed >= FEWEST_PROPOSALS:
                yield c, proposed, accepted


# Number of models whose odds against the best must have a relative error of at most ODDS; for models with a
# posterior probability below RARE, this multiple of it.
MODELS, ODDS, RARE, RARE_TIMES = 3, 0.05, 0.01, 10.0


def stopping(
    settings: FitSettings,
    regression: TermColumns,
    space: ModelSpace,
    manner: Manner,
    before: int = 0,
) -> Rule:
    """Return the stopping rule of a sampler: inclusion probabilities, odds of the best models, and mixing."""
    mcse = settings.asked_mcse
    return partial(
        _figures,
        regression=regression,
        space=space,
        manner=manner,
        before=before,
        target=mcse,
    )


def _figures(
    chains: Sequence[ChainDraws],
    draws: int,
    *,
    regression: TermColumns,
    space: ModelSpace,
    manner: Manner,
    before: int,
    target: float,
) -> list[Figure]:
    if any(accepted < manner.refused * proposed for _, proposed, accepted in _vital(chains, manner)):
        raise Refused
    # Copies, since summaries remove arrays from chains.
    copies = [replace(chain) for chain in chains]
    index, models, log_posterior = merged(copies, draws, regression, space, manner, before)
    terms = manner.estimator(copies, index, models).terms
    other = None if manner.errors is None else manner.errors(chains, draws, index, models, terms.mean)
    found = inclusion_figures(terms.mcse, space.free, space.names, index.size, target, other)
    if not manner.masses:
        found += _inaccurate_odds(index, len(models))
    costs = np.concatenate([space.cost(block) for block in models.blocks()])
    sizes = ByModel(models.sizes(), index)
    if draws < manner.fewest:
        name = (
            f"the number of draws per chain is {draws:,}, below the {manner.fewest:,} that nearly dependent"
        )
        found.append(Figure(f"{name} columns require", manner.fewest / draws))
    return found + mixing_figures(
        [("size", sizes), ("cost", ByModel(costs, index)), ("log posterior", log_posterior)]
    )


def _inaccurate_odds(index: np.ndarray, models: int) -> list[Figure]:
    """Return the inaccurate odds of the best model against others."""
    stats = model_stats(index, np.arange(min(models, 1 + MODELS)))
    found = []
    for k in range(1, stats.odds.size):
        target = ODDS * (RARE_TIMES if stats.probability[k] < RARE else 1.0)
        error = float(stats.odds_mcse[k] / stats.odds[k])
        if error > target:
            name = f"the relative MCSE of the odds of model 1 against model {k + 1}"
            found.append(Figure.of_error(name, error, target))
    return found

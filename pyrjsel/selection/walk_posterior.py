"""From the chains of walks over models to the posterior that results show."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from pyrjsel._typing import ByteArray, FloatArray, IntArray
from pyrjsel.runtime import Accuracy, DrawnChains, FitSettings
from pyrjsel.selection.averages import estimate
from pyrjsel.selection.collapsed import WalkDraws, WalkJob
from pyrjsel.selection.collect import Manner, n_draws, thinning
from pyrjsel.selection.corrected import CorrectedJob, CorrectedOptions
from pyrjsel.selection.effective import few_effective, imprecise_integrals, poor_integrals
from pyrjsel.selection.exact import Averages, Tree, averaged
from pyrjsel.selection.gaussian import GaussianRegression
from pyrjsel.selection.listing import inclusion_error, probability_error
from pyrjsel.selection.marginal import MarginalLikelihood
from pyrjsel.selection.posterior import Moments, Posterior
from pyrjsel.selection.problem import Regression
from pyrjsel.selection.search import given_starts
from pyrjsel.selection.single import SingleModels
from pyrjsel.selection.stopping import stopping
from pyrjsel.selection.summarising import log_masses, summarise
from pyrjsel.selection.walk_options import OWNER, CollapsedOptions
from pyrjsel.space import ModelSpace, PackedModels, count_visits, families, family_rates

# Draws of coefficients of a fit, about: each model among them is integrated once more.
COEFFICIENT_DRAWS = 2000
# A surrogate of which fewer walks are accepted is far off where it matters: chains can agree on one of two
# good models and have an R-hat of 1.02 (they did, at 3 %).
LEAST_WALKS = 0.1
# Integration errors are mentioned where they are more than this share of a Monte Carlo error.
MENTIONED = 0.5
# Models whose coefficients are averaged together.
TOGETHER = 2**16


def corrected_posterior(
    regression: Regression, space: ModelSpace, settings: FitSettings, options: CorrectedOptions
) -> Posterior:
    """Return the posterior that walks on surrogates found, corrected by Metropolis-Hastings.

    Raises
    ------
    ParameterError
        If `start` is no feasible model with linearly independent columns.

    There are alarms if marginal likelihoods of models with probability above 0.001 have relative errors
    above 5 %; if coefficients are averages of too few effective draws.
    """
    entropy = settings.entropy()
    marginal = MarginalLikelihood(regression, entropy, options.pairs, regression.n_columns)
    starts = given_starts(settings, options.start, space, marginal.exists, OWNER)
    shared = _shared(regression, space, settings, options, starts)
    job = CorrectedJob(**shared, entropy=entropy, pairs=options.pairs, exact=options.exact)
    manner = Manner(
        "collapsed",
        _moves(job),
        vital="surrogate",
        words="walks on the surrogate",
        least=LEAST_WALKS,
        density=False,
        pairs=options.pairs,
        masses=True,
    )
    drawn = _run(settings, job, manner)
    places = [_places(chain, drawn.draws) for chain in drawn.results]
    posterior = summarise(**_summary(job, settings, drawn), manner=manner, entropy=entropy)
    if drawn.ends is not None and drawn.ends.complete:
        posterior.ends = drawn.ends.with_recorded([chain.described for chain in drawn.results], 0)
    posterior.log_marginal = _log_marginals(posterior, space)
    _add_integration_errors(posterior, drawn.results, places, options.exact, settings.accuracy, space.names)
    return posterior


def collapsed_posterior(
    regression: GaussianRegression, space: ModelSpace, settings: FitSettings, options: CollapsedOptions
) -> Posterior:
    """Return the posterior that walks over gaussian models found.

    Raises
    ------
    NotAvailableError
        For a normal prior that does not scale with sigma.
    ParameterError
        If `start` is no feasible model with linearly independent columns.
    """
    entropy = settings.entropy()
    regression.score(0)
    starts = given_starts(settings, options.start, space, SingleModels(regression).exists, OWNER)
    job = WalkJob(**_shared(regression, space, settings, options, starts))
    manner = Manner("collapsed", _moves(job), vital="none", density=False, pairs=0, masses=True)
    drawn = _run(settings, job, manner)
    averager = partial(averaged_moments, regression, space)
    posterior = summarise(**_summary(job, settings, drawn), manner=manner, entropy=entropy, averager=averager)
    posterior.log_marginal = _log_marginals(posterior, space) + regression.constant
    return posterior


def _shared(
    regression: Any,
    space: ModelSpace,
    settings: FitSettings,
    options: CollapsedOptions,
    starts: ByteArray | None,
) -> dict[str, Any]:
    """Return what the jobs of all families have in common."""
    powers, adaptive = options.powers()
    found = families(space)
    return {
        "regression": regression,
        "space": space,
        "draws": settings.draws,
        "burn_in": settings.burn_in,
        "thin": settings.thin,
        "time": options.time,
        "slots": options.slot_rate(space),
        "families": found,
        "family_rates": family_rates(len(found), options.families, settings.burn_in * options.time),
        "trades": options.trade_rate(space),
        "powers": powers,
        "adaptive": adaptive,
        "starts": starts,
        "coefficients_every": _every(regression, settings, settings.draws),
    }


def _every(regression: Any, settings: FitSettings, draws: int) -> int:
    """Return how many draws there are to one that coefficients are drawn for, when chains have ended."""
    whole = replace(settings, draws=draws, accuracy=None)
    return max(thinning(regression, whole), draws * settings.chains // COEFFICIENT_DRAWS)


def _run(settings: FitSettings, job: WalkJob, manner: Manner) -> DrawnChains:
    """Return what chains have drawn."""

    def jobs(draws: int) -> WalkJob:
        return replace(job, draws=draws, coefficients_every=_every(job.regression, settings, draws))

    errors = _integration_errors if isinstance(job, CorrectedJob) and job.exact else None
    rule = stopping(settings, job.regression, job.space, manner, estimate, errors=errors)
    return settings.run(job, "collapsed", n_draws, rule, jobs)


def _moves(job: WalkJob) -> tuple[str, ...]:
    return (*job.moves, *(f"exchange_{k + 1}" for k in range(job.powers.size - 1)))


def averaged_moments(
    regression: GaussianRegression, space: ModelSpace, models: PackedModels, probability: FloatArray
) -> Moments:
    """Return the moments of coefficients, averaged over models (m, J) with given probabilities (m,)."""
    if regression.held:
        sums = []
        for at in range(0, len(models), TOGETHER):
            gamma = models[at : at + TOGETHER]
            # Neighbours in this order share what they begin with, as the compiled passes like it.
            order = np.lexsort(gamma.T[::-1]) if gamma.shape[1] else np.arange(len(gamma))
            gamma = np.ascontiguousarray(gamma[order])
            mass = probability[at : at + TOGETHER][order]
            job = Averages(Tree.of(regression, space, gamma), gamma, mass)
            worker = job.start(np.random.SeedSequence(0), 0)  # nothing is random
            worker.stop = len(gamma)
            worker.advance(len(gamma))
            sums.append(worker.sums)
        return averaged(regression, np.sum(sums, axis=0))
    single, total = SingleModels(regression), np.zeros((5, regression.n_columns))
    scale = np.concatenate([[1.0], regression.scale])
    for row, weight in zip(models, probability, strict=True):
        found = single.moments(row, regression.origin)
        own = scale[found.columns]
        total[:4, found.columns] += weight * np.array(
            [found.mean * own, found.square * own**2, found.positive, np.ones(own.size)]
        )
    total[4] = 1.0
    return averaged(regression, total)


def _summary(job: WalkJob, settings: FitSettings, drawn: DrawnChains) -> dict[str, Any]:
    """Return what summaries of walks have in common."""
    return {
        "drawn": drawn,
        "regression": job.regression,
        "space": job.space,
        "coefficients_every": _every(job.regression, settings, drawn.asked),
        "estimator": estimate,
    }


def _log_marginals(posterior: Posterior, space: ModelSpace) -> FloatArray:
    """Return the log marginal likelihoods (m,) of the visited models, as the draws know them."""
    assert posterior.draws is not None
    log_mass = log_masses(posterior.draws.model, posterior.draws.log_posterior, len(posterior.packed))
    return log_mass - np.concatenate([space.log_prior(block) for block in posterior.packed.blocks()])


def _places(chain: WalkDraws, draws: int) -> IntArray:
    """Return for each model of a chain (m,) one of its first draws that is at it, -1 where none is."""
    places = np.full(len(chain.words), -1)
    places[chain.index[:draws]] = np.arange(draws)
    return places


def _by_model(
    index: IntArray, models: int, places: Sequence[IntArray], values: Sequence[FloatArray]
) -> FloatArray:
    """Return by model (m,) what chains know of theirs; `index` (C, D) are the models of draws."""
    found = np.empty(models)
    for rows, place, known in zip(index, places, values, strict=True):
        found[rows[place[place >= 0]]] = known[place >= 0]
    return found


def _integration_errors(
    chains: Sequence[WalkDraws], draws: int, index: IntArray, models: PackedModels, inclusion: FloatArray
) -> FloatArray:
    """Return the errors (J,) that inclusion probabilities have of the integrals."""
    places = [_places(chain, draws) for chain in chains]
    known = [chain.described["relative_variance"] for chain in chains]
    variance = _by_model(index, len(models), places, known)
    probability = count_visits(index, len(models)) / index.size
    return inclusion_error(models[: len(models)], probability, inclusion, variance)


def _add_integration_errors(
    posterior: Posterior,
    chains: list[WalkDraws],
    places: Sequence[IntArray],
    exact: bool,
    accuracy: Accuracy | None,
    names: Sequence[str],
) -> None:
    """Add the errors of the integrals to the Monte Carlo errors, and mention them where they matter."""
    if not exact:
        posterior.notes.append("The error of Laplace's approximation is not estimated.")
        return
    assert posterior.draws is not None
    index, models = posterior.draws.model, len(posterior.packed)
    variance = _by_model(index, models, places, [chain.described["relative_variance"] for chain in chains])
    probability = posterior.probability
    numbers = [chain.effective for chain in chains if chain.effective is not None]
    effective = _by_model(index, models, places, numbers)
    posterior.alarm(poor_integrals(probability, variance, posterior.pairs))
    posterior.alarm(few_effective(probability, effective))
    error = inclusion_error(posterior.gamma, probability, posterior.inclusion, variance)
    matters = np.flatnonzero(error > MENTIONED * posterior.inclusion_mcse)
    drawn = posterior.inclusion_mcse
    posterior.inclusion_mcse = np.hypot(drawn, error)
    posterior.ess = posterior.ess * (drawn / posterior.inclusion_mcse) ** 2
    posterior.mcse = np.hypot(posterior.mcse, probability_error(probability, variance))
    rows = posterior.odds.size
    spread = posterior.odds * np.sqrt(variance[0] + variance[:rows])
    spread[0] = 0.0
    posterior.odds_mcse = np.hypot(posterior.odds_mcse, spread)
    said = []
    if accuracy is not None:
        mcse, pairs = posterior.inclusion_mcse, posterior.pairs
        said = imprecise_integrals(mcse, error, names, accuracy.mcse, pairs)
    posterior.alarm(said)
    if matters.size and not said:
        text = (
            f"The errors of the marginal likelihoods, which MCSE allows for, are a large part of it for "
            f"{matters.size} of {error.size} inclusion probabilities: more draws do not help, more pairs do."
        )
        posterior.notes.append(text)

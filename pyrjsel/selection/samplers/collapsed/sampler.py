"""The sampler `collapsed`: the posterior from its chains."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from pyrjsel._core import special
from pyrjsel._typing import FloatArray, IntArray
from pyrjsel.design import NARROW
from pyrjsel.model_space import ModelSpace, PackedModels, count_visits
from pyrjsel.runtime import Accuracy, DrawnChains, FitSettings
from pyrjsel.selection.evidence.gaussian import score_of
from pyrjsel.selection.evidence.importance_quality import (
    few_effective,
    imprecise_integrals,
    poor_integrals,
)
from pyrjsel.selection.posterior import Posterior
from pyrjsel.selection.regression.columns import inflation
from pyrjsel.selection.samplers.base import MCMC, Job
from pyrjsel.selection.samplers.collapsed.chain import (
    CollapsedChain,
    CollapsedMoves,
)
from pyrjsel.selection.samplers.collapsed.corrected_chain import (
    POOR,
    CorrectedChain,
    CorrectedMoves,
)
from pyrjsel.selection.samplers.listing import inclusion_error, probability_error
from pyrjsel.selection.samplers.options import FEW_TERMS
from pyrjsel.selection.samplers.recording.gaussian_average import averaged_moments
from pyrjsel.selection.samplers.recording.model_average import log_masses
from pyrjsel.selection.samplers.recording.rao_blackwell import estimate
from pyrjsel.selection.samplers.recording.recorder import ChainDraws, Manner, thinning

# Approximate number of coefficient draws of a fit, since each model among them is integrated again.
COEFFICIENT_DRAWS = 2000
# With a lower acceptance rate the surrogate is too inaccurate: chains can agree on one of two good models
# with an R-hat of 1.02 (observed at 3 %).
LEAST_WALKS = 0.1
# A column that nearly depends on others (adjusted variance inflation factor above INFLATED, the usual rule)
# and these others are two modes between which chains rarely move, and conditional probabilities that hardly
# vary do not reveal the other mode: runs do not stop before SWEEPS proposals of each term per chain. Of 139
# fits with one column that is nearly the sum of three others, six stopped after 200 or 400 without having
# visited a mode of 1 to 3 %. For more than MOST columns the factor would take too long.
INFLATED, SWEEPS, MOST = 10.0, 1600, 500
# Integration errors are reported above this proportion of a Monte Carlo error.
MENTIONED = 0.5


class Collapsed(MCMC):
    """MCMC over models with coefficients integrated out."""

    name, kind = "collapsed", CollapsedChain

    def prepared(self, regression: Any, space: ModelSpace) -> Any:
        """Return the regression; its marginal likelihoods must have a closed form or be a single integral."""
        score_of(regression, 0)
        return regression

    def setup(
        self, regression: Any, space: ModelSpace, settings: FitSettings, options: Any, entropy: bytes
    ) -> CollapsedMoves:
        """Return the moves of chains."""
        return CollapsedMoves.of(options, space, settings.burn_in)

    def coefficients_every(self, regression: Any, settings: FitSettings, draws: int) -> int:
        """Return the thinning interval of coefficients, which are drawn at the end of chains."""
        whole = replace(settings, draws=draws, accuracy=None)
        # The vectors are sparse.
        width = min(regression.n_columns, NARROW)
        return max(thinning(width, whole), draws * settings.chains // COEFFICIENT_DRAWS)

    def manner(self, job: Job, options: Any) -> Manner:
        """Return the properties of the chains that summaries depend on."""
        averager = partial(averaged_moments, job.regression, job.space)
        return _manner(job, vital="none", pairs=0, averager=averager, fewest=_fewest(job))

    def summarised(self, drawn: DrawnChains, job: Job, settings: FitSettings, **rest: Any) -> Posterior:
        """Return the posterior from the draws of chains."""
        posterior = super().summarised(drawn, job, settings, **rest)
        posterior.log_marginal = _log_marginals(posterior, job.space) + job.regression.constant
        return posterior


def _fewest(job: Job) -> int:
    """Return the least number of draws per chain before a run can stop."""
    regression = job.regression
    sizes = np.diff(regression.term_start)
    columns = int(sizes.sum())
    if not columns < regression.most_columns or columns > MOST:
        return 0
    inflated = inflation(regression.gram_of(np.arange(columns)), sizes, regression.most_columns) > INFLATED
    return int(np.ceil(SWEEPS / job.setup.time)) if inflated else 0


class CorrectedCollapsed(Collapsed):
    """MCMC over models on surrogates, corrected by Metropolis-Hastings.

    There are warnings if marginal likelihoods of models with probability above 0.001 have relative errors
    above 5 %, or if coefficients have too few effective draws.
    """

    kind = CorrectedChain

    def prepared(self, regression: Any, space: ModelSpace) -> Any:
        """Return the regression in the form that chains use."""
        return regression

    def setup(
        self, regression: Any, space: ModelSpace, settings: FitSettings, options: Any, entropy: bytes
    ) -> CollapsedMoves:
        """Return the moves of chains, with settings of the integration."""
        refused = 0.0
        if settings.may_give_up and settings.prolonged:
            if settings.attempt == 0 and space.n_terms <= FEW_TERMS:
                refused = POOR  # Laplace's approximation follows
            elif settings.replaceable:
                refused = LEAST_WALKS
        return CorrectedMoves.of(
            options,
            space,
            settings.burn_in,
            entropy=entropy,
            pairs=options.pairs,
            exact=options.exact,
            prolonged=settings.prolonged,
            stretched=options.sweeps is None,
            modes=settings.attempt > 0,
            refused=refused,
        )

    def manner(self, job: Job, options: Any) -> Manner:
        """Return the properties of the chains that summaries depend on."""
        return _manner(
            job,
            vital="surrogate",
            words="walks on the surrogate",
            remedy="leave out 'burn_in', or use sampler='rjmcmc'",
            refused=job.setup.refused,
            least=LEAST_WALKS,
            pairs=options.pairs,
            errors=_integration_errors if options.exact else None,
        )

    def summarised(self, drawn: DrawnChains, job: Job, settings: FitSettings, **rest: Any) -> Posterior:
        """Return the posterior from the draws of chains, including integration errors."""
        places = [_places(chain, drawn.draws) for chain in drawn.results]
        posterior = MCMC.summarised(self, drawn, job, settings, **rest)
        if drawn.ends is not None and drawn.ends.complete:
            posterior.ends = drawn.ends.with_recorded([chain.described for chain in drawn.results], 0)
        posterior.log_marginal = _log_marginals(posterior, job.space)
        exact, names = job.setup.exact, job.space.names
        _add_integration_errors(posterior, drawn.results, places, exact, settings.accuracy, names)
        return posterior


def _manner(job: Job, **rest: Any) -> Manner:
    """Return the properties of chains whose log posteriors are those of models."""
    exchanges = (f"exchange_{k + 1}" for k in range(job.setup.temperatures.size - 1))
    names = (*job.setup.names, *exchanges)
    return Manner("collapsed", names, density=False, masses=True, estimator=estimate, **rest)


def _log_marginals(posterior: Posterior, space: ModelSpace) -> FloatArray:
    """Return the log marginal likelihoods (m,) of the visited models, from the draws."""
    assert posterior.draws is not None
    log_mass = log_masses(posterior.draws.model, posterior.draws.log_posterior, len(posterior.packed))
    return log_mass - np.concatenate([space.log_prior(block) for block in posterior.packed.blocks()])


def _places(chain: ChainDraws, draws: int) -> IntArray:
    """Return for each model of a chain (m,) the position of a draw of it among the first, -1 if none."""
    places = np.full(len(chain.words), -1)
    places[chain.index[:draws]] = np.arange(draws)
    return places


def _by_model(
    index: IntArray, models: int, places: Sequence[IntArray], values: Sequence[FloatArray]
) -> FloatArray:
    """Return values of models (m,) from the values of chains; `index` (C, D) are the models of draws."""
    found = np.empty(models)
    for rows, place, known in zip(index, places, values, strict=True):
        found[rows[place[place >= 0]]] = known[place >= 0]
    return found


def _integration_errors(
    chains: Sequence[ChainDraws], draws: int, index: IntArray, models: PackedModels, inclusion: FloatArray
) -> FloatArray:
    """Return the errors (J,) of inclusion probabilities due to integration."""
    places = [_places(chain, draws) for chain in chains]
    known = [chain.described["relative_variance"] for chain in chains]
    variance = _by_model(index, len(models), places, known)
    probability = count_visits(index, len(models)) / index.size
    return inclusion_error(models[: len(models)], probability, inclusion, variance)


def _add_integration_errors(
    posterior: Posterior,
    chains: list[ChainDraws],
    places: Sequence[IntArray],
    exact: bool,
    accuracy: Accuracy | None,
    names: Sequence[str],
) -> None:
    """Add integration errors to the Monte Carlo errors, and report them if they are relevant."""
    if not exact:
        posterior.notes.append("The error of Laplace's approximation is not estimated.")
        return
    assert posterior.draws is not None
    index, models = posterior.draws.model, len(posterior.packed)
    variance = _by_model(index, models, places, [chain.described["relative_variance"] for chain in chains])
    probability = posterior.probability
    numbers = [chain.effective for chain in chains if chain.effective is not None]
    effective = _by_model(index, models, places, numbers)
    # Of few draws a model can have many more than its share.
    log_mass = log_masses(index, posterior.draws.log_posterior, models)
    share = np.exp(log_mass - special.logsumexp(log_mass))
    posterior.alarm(poor_integrals(np.minimum(probability, share), variance, posterior.pairs))
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
            f"Errors of the marginal likelihoods are a large part of the MCSE of {matters.size} of "
            f"{error.size} inclusion probabilities: to reduce them, increase 'pairs' and not 'draws'."
        )
        posterior.notes.append(text)

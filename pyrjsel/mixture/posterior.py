"""The draws of a mixture classifier, and what is estimated from them."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from pyrjsel._typing import ByteArray, FloatArray, WordArray
from pyrjsel.mixture.problem import MixtureProblem
from pyrjsel.model_space import ByModel, ModelDraws, PackedModels, count_visits, merge_visits
from pyrjsel.report import IndicatorStats, ModelStats
from pyrjsel.report.errors import MODEL_ROWS, indicator_stats, model_stats
from pyrjsel.report.mixing import chain_diagnostics, selection_notes
from pyrjsel.runtime import DrawnChains, Ends, FitSettings

MOVES = ("add", "remove", "exchange")


@dataclass
class MixtureDraws:
    """Draws of one chain; those of all chains have an axis of chains in front.

    Attributes
    ----------
    words : ndarray (models, words)
        Visited subsets of inputs, packed, each once.
    index : ndarray of int32 (draws,)
        The subset of each draw.
    log_posterior : ndarray (draws,)
        Unnormalised log density of subset, kernels and weights. Subsets differ in dimension: it is no score
        of a subset.
    log_likelihood : ndarray (draws,)
        Log probability of the labels given inputs, kernels, weights and subset. For ``target="joint"`` the
        log density of labels and inputs, the background and imputed inputs included.
    occupied : ndarray of int32 (draws,)
        Kernels whose responsibilities, given labels and inputs, add up to at least half an observation. For
        ``target="joint"`` kernels to which at least one observation is allocated.
    counts : ndarray (2, moves + T - 1)
        Proposals and acceptances, by `MOVES`, and those of exchanges between neighbouring replicas.
    mean, variance : ndarray (kept, D, p)
        Kernels in range units, of a thinned part of the draws; NaN for inputs that are not selected.
    weight : ndarray (kept, K, D)
        Weights of the kernels in each class.
    prior : ndarray (kept, K)
        Class probabilities.
    """

    words: WordArray
    index: np.ndarray
    log_posterior: FloatArray
    log_likelihood: FloatArray
    occupied: np.ndarray
    counts: np.ndarray
    mean: FloatArray
    variance: FloatArray
    weight: FloatArray
    prior: FloatArray


@dataclass(frozen=True, repr=False)
class SubsetDraws(ModelDraws):
    """Draws of subsets of inputs, of all chains after burn-in and thinning.

    Attributes
    ----------
    model, packed, model_cost
        As in :class:`pyrjsel.model_space.ModelDraws`.
    log_posterior : ndarray (chains, draws)
        Unnormalised log density of labels, kernels, weights and subset; for the joint target also of inputs,
        those that are not selected by the background.
    log_likelihood : ndarray (chains, draws)
        Log density of labels (for the joint target, and inputs) given kernels, weights and subset.
    occupied : ndarray of int32 (chains, draws)
        Kernels that answer for half a row or more; for the joint target, those that have a row.
    """

    log_likelihood: FloatArray
    occupied: np.ndarray


@dataclass(frozen=True, eq=False)
class MixturePosterior:
    """Draws and diagnostics of a run.

    Attributes
    ----------
    packed : PackedModels (m, p)
        Visited subsets, those visited most first.
    index : ndarray of int32 (chains, draws)
        The subset of each draw.
    probability : ndarray (m,)
        Share of the draws in each subset.
    log_posterior, log_likelihood, occupied : ndarray (chains, draws)
        As in :class:`MixtureDraws`.
    mean, variance : ndarray (chains, kept, D, p)
    weight : ndarray (chains, kept, K, D)
    prior : ndarray (chains, kept, K)
        Of draws 0, `every`, 2 `every` and so on.
    every : int
    inclusion : IndicatorStats
        Of the p inputs.
    model_stats : ModelStats
        Of the first subsets, as many as have Monte Carlo errors.
    diagnostics : DataFrame
        Acceptance by move, effective sample sizes and R-hat by chain and of all.
    seconds : list of float
        Of each chain.
    settings : FitSettings
    options : MixtureOptions
        Of the sampler.
    ends : Ends
        Where the chains ended.
    notes : list of str
        The warnings, as text.
    """

    packed: PackedModels
    index: np.ndarray
    probability: FloatArray
    log_posterior: FloatArray
    log_likelihood: FloatArray
    occupied: np.ndarray
    mean: FloatArray
    variance: FloatArray
    weight: FloatArray
    prior: FloatArray
    every: int
    inclusion: IndicatorStats
    model_stats: ModelStats
    diagnostics: pd.DataFrame
    seconds: list[float]
    settings: FitSettings
    options: Any
    ends: Ends | None
    notes: list[str]

    @property
    def mcse(self) -> FloatArray:
        """Monte Carlo errors of the first probabilities."""
        return self.model_stats.mcse

    @property
    def odds(self) -> FloatArray:
        """Odds of the first subset against each of these."""
        return self.model_stats.odds

    @property
    def odds_mcse(self) -> FloatArray:
        """Monte Carlo errors of the odds."""
        return self.model_stats.odds_mcse

    @property
    def models(self) -> ByteArray:
        """The visited subsets, uint8, shape (m, p), made on demand."""
        return np.asarray(self.packed)


def summarise(
    problem: MixtureProblem,
    settings: FitSettings,
    options: Any,
    drawn: DrawnChains,
    every: int,
) -> MixturePosterior:
    """Merge the chains and estimate what is reported from their draws; `options` are the sampler's."""
    chains: list[MixtureDraws] = drawn.results
    index, models = merge_visits(
        [(chain.words, chain.index) for chain in chains], drawn.draws, problem.n_inputs
    )
    kept = min(len(chain.mean) for chain in chains)

    def stacked(name: str, n: int) -> Any:
        return np.stack([getattr(chain, name)[:n] for chain in chains])

    log_posterior = stacked("log_posterior", drawn.draws)
    inclusion = indicator_stats(index, models)
    diagnostics = chain_diagnostics(
        [chain.counts for chain in chains],
        (*MOVES, *(f"replicas_{k}" for k in range(1, chains[0].counts.shape[1] - len(MOVES) + 1))),
        [("size", ByModel(models.sizes(), index)), ("log_posterior", log_posterior)],
        drawn.spent,
    )
    return MixturePosterior(
        packed=models,
        index=index,
        probability=count_visits(index, len(models)) / index.size,
        log_posterior=log_posterior,
        log_likelihood=stacked("log_likelihood", drawn.draws),
        occupied=stacked("occupied", drawn.draws),
        mean=stacked("mean", kept),
        variance=stacked("variance", kept),
        weight=stacked("weight", kept),
        prior=stacked("prior", kept),
        every=every,
        inclusion=inclusion,
        model_stats=model_stats(index, np.arange(min(len(models), MODEL_ROWS))),
        diagnostics=diagnostics,
        seconds=drawn.seconds,
        settings=settings.finished(drawn.asked),
        options=options,
        ends=drawn.ends,
        notes=drawn.notes + selection_notes(inclusion, problem.space.names, diagnostics),
    )

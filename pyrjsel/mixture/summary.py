"""From the chains of a mixture classifier to what its results show."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from pyrjsel.mixture.draws import MOVES, MixtureDraws, MixturePosterior
from pyrjsel.mixture.problem import MixtureProblem
from pyrjsel.report import inclusion_table
from pyrjsel.report.errors import MODEL_ROWS, indicator_stats, model_stats
from pyrjsel.report.mixing import chain_diagnostics, selection_notes
from pyrjsel.runtime import DrawnChains, FitSettings
from pyrjsel.space import ByModel, count_visits, merge_visits

if TYPE_CHECKING:
    from pyrjsel.mixture.model import MixtureClassifier


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
        drawn.seconds,
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
        settings=settings.finished(),
        options=options,
        ends=drawn.ends,
        notes=drawn.notes + selection_notes(inclusion, problem.space.names, diagnostics),
    )


def inclusion_of(model: MixtureClassifier, posterior: MixturePosterior) -> pd.DataFrame:
    """Return the table of inclusion of inputs, with the errors of all its figures."""
    stats = posterior.inclusion
    free = model.space.free.astype(bool)
    table = inclusion_table(
        model.term_names,
        model.prior_inclusion.probability,
        stats.mean,
        np.where(free, stats.mcse, 0.0),
        stats.ess,
        stats.r_hat,
        model.space.term_costs() if model.priced else np.full(free.size, np.nan),
        posterior.probability @ (1.0 - posterior.models),
        model.prior_inclusion.mcse,
    )
    # Draws that all agree bound a Bayes factor, and do not say what it is.
    table.loc[stats.stuck & free, ["bayes_factor", "bayes_factor_mcse"]] = np.nan
    return table

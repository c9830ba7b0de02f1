"""From the chains of a mixture classifier to what its results show."""

from typing import Any

import numpy as np

from pyrjsel.mixture.draws import MOVES, MixtureDraws, MixturePosterior
from pyrjsel.mixture.problem import MixtureProblem
from pyrjsel.report.errors import MODEL_ROWS, indicator_stats, model_stats
from pyrjsel.report.mixing import chain_diagnostics, selection_notes
from pyrjsel.runtime import DrawnChains, FitSettings
from pyrjsel.space import ByModel, count_visits, merge_visits


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

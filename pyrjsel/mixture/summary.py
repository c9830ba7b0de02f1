"""From the chains of a mixture classifier to what its results show."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from pyrjsel.mixture.draws import MOVES, MixtureDraws, MixturePosterior
from pyrjsel.mixture.problem import MixtureProblem
from pyrjsel.report.errors import MODEL_ROWS, indicator_stats, model_stats
from pyrjsel.report.mixing import LEAST_ESS, chain_diagnostics, selection_notes
from pyrjsel.report.stopping import few_draws, inclusion_figures, mixing_figures
from pyrjsel.runtime import Accuracy, DrawnChains, Figure, FitSettings, Rule
from pyrjsel.space import ByModel, count_visits, merge_visits

# What is asked of a run that stops by itself where nothing is said. Kernels leave their modes slowly: a short
# first round could look accurate in one of them. The longest run takes some four times as long as one of
# 10,000 draws; among inputs that say nearly the same even that may leave errors of 0.02.
USUAL = Accuracy(mcse=0.01, max_draws=50_000, first=800)
# Burn-in of such a run, in which temperatures are adapted.
WARM = 2000


def stopping(problem: MixtureProblem, mcse: float) -> Rule:
    """Return when a run stops: once inclusion probabilities are accurate and chains agree."""
    return partial(_figures, problem=problem, mcse=mcse)


def _figures(
    chains: Sequence[MixtureDraws], draws: int, *, problem: MixtureProblem, mcse: float
) -> list[Figure]:
    visits = [(chain.words, chain.index) for chain in chains]
    index, models = merge_visits(visits, draws, problem.n_inputs)
    space, log_posterior = problem.space, np.stack([chain.log_posterior[:draws] for chain in chains])
    terms = indicator_stats(index, models)
    few = [
        few_draws(f"inclusion of {name}", ess)
        for name, ess in zip(space.names, terms.ess.tolist(), strict=True)
        if ess < LEAST_ESS
    ]
    return [
        *inclusion_figures(terms.mcse, space.free, space.names, index.size, mcse),
        *few,
        *mixing_figures([("size", ByModel(models.sizes(), index)), ("log posterior", log_posterior)]),
    ]


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

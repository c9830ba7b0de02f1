"""When a run of a mixture classifier stops by itself: once its figures are accurate."""

from collections.abc import Sequence
from functools import partial

import numpy as np

from pyrjsel.mixture.posterior import MixtureDraws
from pyrjsel.mixture.problem import MixtureProblem
from pyrjsel.model_space import ByModel, merge_visits
from pyrjsel.report.errors import indicator_stats
from pyrjsel.report.mixing import LEAST_ESS
from pyrjsel.report.stopping import few_draws, inclusion_figures, mixing_figures
from pyrjsel.runtime import Accuracy, Figure, Rule

# Default accuracy of automatic runs. Kernels leave their modes slowly: a short
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

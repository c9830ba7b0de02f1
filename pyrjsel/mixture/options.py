"""Options of the sampler of mixture classifiers, and when a run stops: once its figures are accurate."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from pyrjsel._typing import FloatArray
from pyrjsel._validate import check_choice, check_int
from pyrjsel.mixture.posterior import MixtureDraws
from pyrjsel.mixture.problem import MixtureProblem
from pyrjsel.model_space import ByModel, merge_visits
from pyrjsel.model_space.chains import checked_start
from pyrjsel.report.errors import indicator_stats
from pyrjsel.report.mixing import LEAST_ESS, few_draws, inclusion_figures, mixing_figures
from pyrjsel.runtime import Accuracy, Figure, Rule
from pyrjsel.runtime.ladder import Temperatures, check_temperatures

PROPOSALS = ("conditional", "prior")
# Powers, and the logs of their ratios to begin with: what most posteriors end with. From hotter replicas
# kernels and inputs are lost that they do not find again where there are many.
POWERS, GAP = 5, 0.08


@dataclass(frozen=True)
class MixtureOptions:
    """Options of the sampler.

    Attributes
    ----------
    proposal : {"conditional", "prior"}
        Kernels of an input that enters come from the rows that they answer for, or from their prior as in
        Sykacek (1999).
    moves : int, optional
        Moves a sweep; None is as many as there are inputs that may be in or out.
    start : None, "empty" or sequence of str
        Inputs to start from; None is a draw from the prior over subsets for each try. Replicas begin with the
        best of 40 tries, of 100 sweeps each (no more than a twentieth of burn-in); for the joint target these
        begin with the kernels of 50 sweeps with all inputs. Ctrl-C waits for the tries.
    temperatures : "auto", int or sequence of float
        Each chain has replicas, of which the first is recorded and each exchanges states with the next. In
        replica k the likelihood of the labels (for the joint target, the density of the selected inputs given
        the kernels of the rows, over that of the null model) is taken to a power t_k; so kernels leave their
        modes. A number is that of the replicas, 1 for
        none but the chain itself; their powers are adapted in burn-in so that 30 % of the exchanges between
        neighbours are accepted. A sequence gives the powers, from 1 downwards. "auto" is 5.
    """

    proposal: str = "conditional"
    moves: int | None = None
    start: str | Sequence[str] | None = None
    temperatures: Temperatures = "auto"

    def __post_init__(self) -> None:
        check_choice(self.proposal, "proposal", PROPOSALS)
        if self.moves is not None:
            check_int(self.moves, "moves", low=0)
        object.__setattr__(self, "start", checked_start(self.start))
        self.powers()

    def powers(self) -> tuple[FloatArray, bool]:
        """Return the first powers of the replicas, and whether they are adapted."""
        return check_temperatures(self.temperatures, POWERS, GAP)


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

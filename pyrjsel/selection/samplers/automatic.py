"""The choice of ``sampler="auto"`` for generalised linear models, by a short pilot run if need be.

The pilot runs a chain on the surrogate, corrected by Laplace values, always with the same random numbers: its
findings depend only on data, priors and constraints.

Where models can have nearly as many columns as rows, the posterior can have a second, wide mode: with g = n,
models of half as many columns as rows separate any responses, and are about as probable as the empty model. A
chain on a surrogate stays in the narrow one, and does not find out; a reversible-jump chain from a wide model
does.
"""

from collections.abc import Collection
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from pyrjsel.model_space import ModelSpace
from pyrjsel.model_space.chains import dispersed_start
from pyrjsel.model_space.sampling import sample_models
from pyrjsel.selection.evidence.laplace import LOOSE, RELIABLE, MarginalLikelihood
from pyrjsel.selection.evidence.surrogate import Surrogate
from pyrjsel.selection.regression.glm import Regression
from pyrjsel.selection.samplers.base import Job
from pyrjsel.selection.samplers.collapsed.corrected_chain import CorrectedChain, CorrectedMoves, first_lessons
from pyrjsel.selection.samplers.collapsed.integrals import marginal_of
from pyrjsel.selection.samplers.options import CorrectedOptions, EnumerateOptions, RJMCMCOptions
from pyrjsel.selection.samplers.reversible_jump.rjmcmc import JumpMoves, RJMCMCChain
from pyrjsel.selection.samplers.surrogate_chain import SurrogateChain

# Steps of the pilot: on the surrogate alone, after which it is expanded again; corrected ones for learning
# the corrections of terms; and those that are counted.
LED, LEARNT, COUNTED = 30, 40, 40
# Number of the last distinct models for which integrals are tried.
TRIED = 24
# Iterations of jumps from a wide model, at most and at least, and rows times terms times iterations between
# them: half a second. The first half, in which they leave the start, is not counted.
MOST_JUMPS, LEAST_JUMPS, JUMP_WORK = 1000, 40, 5e7
# Draws from the prior of which the jumps start at the widest.
WIDE_STARTS = 8


@dataclass(frozen=True)
class Pilot:
    """The findings of a pilot.

    Attributes
    ----------
    acceptance : float
        Acceptance rate on the surrogate.
    uneven, hard : float
        Proportions of tried models with uneven importance weights at the mode, and of those where two scales
        an axis do not help either.
    width : float
        Average number of columns, including the intercept, of the models of the last steps, or of the jumps
        from a wide model if that is more.
    """

    acceptance: float
    uneven: float
    hard: float
    width: float


class _PilotChain(SurrogateChain):
    """The chain of a pilot."""

    def __init__(self, job: Job) -> None:
        # The same integrals for every seed of a fit.
        self.job = replace(job, setup=replace(job.setup, entropy=bytes(16)))
        super().__init__(marginal_of(self.job), job.space, self.job.setup.walk, job.setup.time)

    def uneven(self) -> tuple[float, float]:
        """Return `uneven` and `hard` of the last models."""
        last = {np.packbits(gamma).tobytes(): gamma for gamma in reversed(self.models)}
        found = np.array([self.marginal.unevenness(gamma) for gamma in list(last.values())[:TRIED]])
        return float(np.mean(found > 0)), float(np.mean(found > 1))

    def width(self) -> float:
        """Return the average number of columns of the models of the last steps."""
        regression = self.job.regression
        return regression.leading + float(np.mean(np.array(self.models) @ np.diff(regression.term_start)))


def _jump_width(job: Job, wide: int) -> float:
    """Return the average number of columns of reversible jumps from a model of at most twice `wide` terms."""
    regression, space = job.regression, job.space
    rng, exists = np.random.default_rng(0), job.kind.existence(job)
    starts = [dispersed_start(space, exists, rng, 2 * wide) for _ in range(WIDE_STARTS)]
    start = max(starts, key=np.sum)
    jumps = Job(RJMCMCChain, JumpMoves(), regression, space, 1, 0, 1, start[None], 1)
    chain = jumps.start(np.random.SeedSequence(0), 0)
    count = int(np.clip(JUMP_WORK / (regression.y.size * space.n_terms), LEAST_JUMPS, MOST_JUMPS))
    models = []
    for _ in range(count):
        chain.run(1)
        models.append(chain.position()[0])
    counted = np.array(models[count // 2 :])
    return regression.leading + float(np.mean(counted @ np.diff(regression.term_start)))


def explore(job: Job, wide: int) -> Pilot:
    """Return the findings of a pilot for the chains of `job`.

    Jumps look for a mode of more than `wide` columns, if models can have as many.

    Raises
    ------
    DataError
        If the posterior mode of a model is not found.
    """
    one, gamma = _PilotChain(job), job.space.empty_model()
    nothing = np.zeros(job.space.n_terms)
    at = first_lessons(one.job, one.rng)["at"]
    gamma, _ = one.walk(Surrogate(at, nothing), gamma, LED, corrected=False)
    if one.models:
        at = one.centre()
    gamma, _ = one.walk(Surrogate(at, nothing), gamma, LEARNT, corrected=True)
    surrogate = one.corrected(Surrogate(at, nothing))
    gamma, accepted = one.walk(surrogate, gamma, COUNTED, corrected=True)
    uneven, hard = one.uneven() if one.models else (0.0, 0.0)
    width = one.width() if one.models else 1.0
    if width <= wide < job.regression.widest(job.space.max_size):
        width = max(width, _jump_width(job, wide))
    return Pilot(accepted / COUNTED, uneven, hard, width)


# Number of terms up to which Laplace's approximation is a surrogate where no quadratic one fits, at a cost
# that integrals have anyway.
FEW = 20
# Of more terms, largest proportion of models of a pilot with uneven importance weights, times their columns,
# times the proportion of its walks that is rejected: 0 on regular data. With 0.15 (569 rows, nearly separated
# by 30 columns) jumps took half the time. If many models are SKEWED, jumps suffer too, but integrals with two
# scales an axis do not, unless many are HARD: jumps took 1.3 to 2.5 times as long (92 and 437 rows).
MOST_UNEVEN, SKEWED, HARD = 0.1, 0.3, 0.15
# Smallest acceptance rate of a pilot on the surrogate. It is 0.85 to 1 on regular data.
LEAST_ACCEPTED = 0.25
# Columns per row above which posteriors are far from normal: with 30 rows and 60 columns, "collapsed" had no
# useful result after 100 s, and jumps took 5 s. Of at most SMALL terms, chains come back to models whose
# integrals they have: with 78 rows and 14 terms they took 26 s, and jumps more than 150 s.
CROWDED, SMALL = 0.15, 15
BURN_IN = 200
# Surrogate jumps per iteration. 569 rows that 30 columns nearly separate took 9 s to an MCSE of 0.005 with
# one, 13 s with two and 70 s without; 30 rows and 60 columns (crowded) took 70 s with one and 27 s without,
# 30 rows and 18 columns 14 s with one and more than 40 s without.
# With small acceptance rates of pilots, which know less than chains learn: of 12 fits with nearly dependent
# columns 11 took less time with one, 1.3 to 22 times; of 14 others 10 took 1.2 to 2.7 times as long, most of
# them 2 to 5 s in place of 1 to 3 s.
SURROGATE = 1


def sampler_of(
    regression: Regression, space: ModelSpace, options: Collection[str] = ()
) -> tuple[str, dict[str, Any]]:
    """Return the faster sampler for a given Monte Carlo error, "collapsed" or "rjmcmc", and its options.

    ``"collapsed"`` integrates every visited model, which is fast if posteriors of coefficients are nearly
    normal. Near separation, and for models with nearly as many columns as rows, they are not. Surrogate jumps
    are added unless models have too many columns for draws at their modes. The choice depends only on data,
    priors, constraints and the names of `options`: if one is unknown to ``"rjmcmc"``, it is ``"collapsed"``.

    Parameters
    ----------
    regression : Regression
    space : ModelSpace
    options : collection of str
        Names of the options given to ``fit``.

    Returns
    -------
    tuple of str and dict
    """
    if not has_jumps(regression, options):
        return "collapsed", {}
    pilot = pilot_of(regression, space)
    if pilot.width > crowd(regression) and space.n_terms > SMALL:
        return "rjmcmc", jumps_for(regression) if space.n_terms <= FEW else {}
    uneven = pilot.uneven * pilot.width * (1.0 - pilot.acceptance)
    even = uneven <= MOST_UNEVEN or (pilot.uneven > SKEWED and pilot.hard <= HARD)
    if space.n_terms <= FEW or (pilot.acceptance >= LEAST_ACCEPTED and even):
        return "collapsed", {}
    return "rjmcmc", jumps_for(regression)


def has_jumps(regression: Regression, options: Collection[str] = ()) -> bool:
    """Whether reversible jumps are available for a prior, and have all of the given options."""
    mixture = regression.prior.mixture
    known = {item.name for item in fields(RJMCMCOptions)}
    return (
        set(options) <= known
        and regression.prior.rule is None
        and (mixture is None or mixture.has_conditional)
    )


def jumps_for(regression: Regression) -> dict[str, Any]:
    """Return the options of reversible jumps that "auto" sets."""
    return {} if len(regression.nuisance) else {"surrogate": SURROGATE}


def draws_of(regression: Regression, space: ModelSpace) -> float:
    """Return the mean number of draws that enumeration takes for an improbable model.

    Of models from the prior. Where posteriors of coefficients are far from normal, as with few rows or near
    separation, it is many times that of others.
    """
    if regression.prior.at_maxima:
        return 0.0
    pairs = min(EnumerateOptions().pairs_for(regression), RELIABLE)
    marginal = MarginalLikelihood(regression, bytes(16), pairs, regression.widest(space.max_size), LOOSE)
    models = sample_models(space, TRIED, np.random.default_rng(0))
    draws = [marginal.integrate(gamma).draws for gamma in models if marginal.exists(gamma)]
    return float(np.mean(draws)) if draws else 0.0


def crowd(regression: Regression) -> float:
    """Return the number of columns above which models have many relative to the number of rows."""
    total = regression.y.size if regression.weights is None else float(regression.weights.sum())
    return CROWDED * total


def pilot_of(regression: Regression, space: ModelSpace) -> Pilot:
    """Return the findings of a pilot of ``"collapsed"`` with default options."""
    moves = CorrectedMoves.of(
        CorrectedOptions(trades=0.0), space, BURN_IN, pairs=CorrectedOptions.pairs, exact=True
    )
    job = Job(CorrectedChain, moves, regression, space, 1, BURN_IN, 1, None, 1)
    return explore(job, max(1, int(crowd(regression))))

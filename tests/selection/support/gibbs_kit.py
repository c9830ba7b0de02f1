"""Gibbs chains of small problems: the compiled one and its twin at the same state."""

import numpy as np
from reference_gibbs import GibbsTwin

from pyrjsel.model_space import term_blocks
from pyrjsel.selection.priors.coefficients import Normal
from pyrjsel.selection.priors.spike_slab import SpikeSlab
from pyrjsel.selection.samplers.base import ChainState, Job
from pyrjsel.selection.samplers.gibbs.sampler import GibbsChain, GibbsMoves

SPIKES = {
    "scaled": SpikeSlab(0.15, 60.0, scaled=True),
    "unscaled": SpikeSlab(0.15, 60.0),
}
UNSCALED_NORMAL = Normal(0.8, mean=0.2, scaled=False)


def job_of(
    case, *, classical=False, swaps=1, draws=100, burn_in=0, thin=1, every=1, starts=None, drawn=0, trades=0
):
    """The job of a fit, with `drawn` block updates an iteration where there are blocks."""
    found = term_blocks(case.space)
    rates = (drawn, drawn) if found else (0, 0)
    moves = GibbsMoves(classical, swaps, trades, found, rates)
    return Job(GibbsChain, moves, case.regression, case.space, draws, burn_in, thin, starts, every)


def runner_at(job, gamma, variance, seed):
    """A chain at a state, with a generator of its own."""
    rng = np.random.Generator(np.random.PCG64(seed))
    counts = np.zeros((2, len(job.setup.names)), dtype=np.int64)
    values = {"gamma": gamma, "variance": variance, "counts": counts}
    return GibbsChain(job, ChainState(0, rng.bit_generator.state, values))


def twin_of(case, gamma, variance, *, classical=False, swaps=1, closed=None, drawn=0, trades=0):
    """The twin of a chain."""
    found = term_blocks(case.space)
    regression, prior = case.regression, case.regression.prior
    return GibbsTwin(
        regression.gram,
        regression.cross,
        regression.square,
        float(regression.rows),
        0.5 * (regression.log_weight - np.log(regression.total_weight)),
        regression.starts,
        regression.sigma,
        case.space,
        prior.precision,
        prior.mean,
        prior.ratio,
        prior.scaled,
        classical,
        swaps,
        np.array(gamma, dtype=np.uint8),
        variance,
        closed,
        found,
        drawn if found else 0,
        trades,
    )

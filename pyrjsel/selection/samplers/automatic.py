"""The choice of ``sampler="auto"`` for generalised linear models that are too many to enumerate."""

from collections.abc import Collection
from dataclasses import fields
from typing import Any

from pyrjsel.model_space import ModelSpace
from pyrjsel.selection.regression.glm import Regression
from pyrjsel.selection.samplers.base import Job
from pyrjsel.selection.samplers.collapsed.corrected_chain import CorrectedChain, CorrectedMoves
from pyrjsel.selection.samplers.collapsed.options import CorrectedOptions
from pyrjsel.selection.samplers.pilot import Pilot, explore
from pyrjsel.selection.samplers.reversible_jump.rjmcmc import RJMCMCOptions

# Share of the models of a pilot whose importance weights may be uneven. On regular data none is. Where one in
# eight was (569 rows that 30 columns all but separate), jumps reached the same error in a fifth of the time.
UNEVEN = 0.1
# Share of walks on the surrogate that must be accepted. It is 0.85 to 1 on regular data.
LEAST_ACCEPTED = 0.25
# Columns a row beyond which posteriors are far from normal: of 30 rows and 60 columns "collapsed" took over
# 100 s to get nowhere, and jumps 5 s.
CROWDED = 0.15
BURN_IN = 200
# Surrogate jumps per iteration. 569 rows that 30 columns nearly separate took 9 s to an MCSE of 0.005 with
# one, 13 s with two and 70 s without; 30 rows and 60 columns (crowded) took 70 s with one and 27 s without.
SURROGATE = 1


def sampler_of(
    regression: Regression, space: ModelSpace, options: Collection[str] = ()
) -> tuple[str, dict[str, Any]]:
    """Return which sampler reaches a Monte Carlo error first, "collapsed" or "rjmcmc", and options for it.

    ``"collapsed"`` integrates every model that it visits, which is quick where posteriors of coefficients
    are nearly normal. Near separation, and where models have nearly as many columns as there are rows,
    they are not. Surrogate jumps are added where only the integrals make ``"collapsed"`` slow: they do
    not pay where the surrogate is poor, or where models have too many columns for draws at their modes.
    The choice is a function of data, priors, constraints and of the names of `options`: where one is
    unknown to ``"rjmcmc"`` it is ``"collapsed"``.

    Parameters
    ----------
    regression : Regression
    space : ModelSpace
    options : collection of str
        Options of ``fit`` that were given.

    Returns
    -------
    tuple of str and dict
    """
    if not set(options) <= {item.name for item in fields(RJMCMCOptions)}:
        return "collapsed", {}
    pilot = pilot_of(regression, space)
    if pilot.acceptance < LEAST_ACCEPTED or is_crowded(pilot, regression):
        return "rjmcmc", {}
    return ("rjmcmc", {"surrogate": SURROGATE}) if pilot.uneven > UNEVEN else ("collapsed", {})


def is_crowded(pilot: Pilot, regression: Regression) -> bool:
    """Return whether the models that a pilot found have many columns for the rows that there are."""
    total = regression.y.size if regression.weights is None else float(regression.weights.sum())
    return pilot.width > CROWDED * total


def pilot_of(regression: Regression, space: ModelSpace) -> Pilot:
    """Return what a pilot of ``"collapsed"`` finds under its default options."""
    moves = CorrectedMoves.of(
        CorrectedOptions(trades=0.0), space, BURN_IN, pairs=CorrectedOptions.pairs, exact=True
    )
    return explore(Job(CorrectedChain, moves, regression, space, 1, BURN_IN, 1, None, 1))

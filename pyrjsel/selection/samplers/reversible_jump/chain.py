"""Compiled reversible-jump chains of regressions."""

from typing import Any

from pyrjsel._typing import ByteArray, FloatArray
from pyrjsel.model_space import ModelSpace, Space
from pyrjsel.selection.regression.gaussian_rows import GaussianRows
from pyrjsel.selection.regression.glm import Regression
from pyrjsel.selection.samplers.reversible_jump._gaussian_jump import GaussianJump
from pyrjsel.selection.samplers.reversible_jump._rjmcmc import ReversibleJump


def make_chain(
    regression: Regression, space: ModelSpace, gamma: ByteArray, b: FloatArray, **rest: Any
) -> ReversibleJump:
    """Return a compiled chain at a model (J,) and the numbers of a state (D + 1 + nuisance,)."""
    if not isinstance(regression, GaussianRows):
        return ReversibleJump(regression.compiled, Space(space), gamma, b, **rest)
    whole = regression.whole
    return GaussianJump(
        regression.compiled,
        Space(space),
        gamma,
        b,
        rows=float(whole.n),
        sigma=(whole.a, whole.b),
        scaled=regression.scaled,
        typical=whole.total / whole.nu,
        mixture=whole.prior.conditional(float(whole.n)),
        **rest,
    )

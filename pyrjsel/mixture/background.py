"""The null model of inputs: what the compiled loop needs of it."""

import numpy as np

from pyrjsel._core import special
from pyrjsel._typing import FloatArray
from pyrjsel.mixture._null import Null
from pyrjsel.mixture.priors import MixturePrior
from pyrjsel.mixture.problem import MixtureProblem


def single_evidence(z: FloatArray, prior: MixturePrior, surplus: float) -> FloatArray:
    """Return the log density of the observed values of each input alone, shape (p,)."""
    n = (~np.isnan(z)).sum(axis=0)
    nu, kappa = surplus + 1.0, prior.kappa0
    scatter = prior.psi0 + np.nansum(z**2, axis=0) - np.nansum(z, axis=0) ** 2 / (kappa + n)
    value: FloatArray = (
        -0.5 * n * np.log(np.pi)
        + 0.5 * np.log(kappa / (kappa + n))
        + special.gammaln(0.5 * (nu + n))
        - special.gammaln(0.5 * nu)
        + 0.5 * nu * np.log(prior.psi0)
        - 0.5 * (nu + n) * np.log(scatter)
    )
    return value


def gains(problem: MixtureProblem) -> tuple[FloatArray, float]:
    """Return the density that each input has where it is not selected, and that of all together.

    For backgrounds under which inputs are independent; missing inputs are summed out.
    """
    assert isinstance(problem.prior, MixturePrior)
    if problem.background is None:
        return (~np.isnan(problem.z)).sum(axis=0) * problem.log_range, 0.0
    gain = single_evidence(problem.z, problem.prior, problem.prior.surplus(problem.n_inputs))
    return gain, float(gain.sum())


def make_null(problem: MixtureProblem) -> Null:
    """Return the compiled null model of a problem."""
    prior, (n, p) = problem.prior, problem.z.shape
    assert isinstance(prior, MixturePrior)
    gain, offset = (None, 0.0) if problem.background == "gaussian" else gains(problem)
    return Null(p, n, prior.kappa0, prior.surplus(p), prior.psi0, gain, offset)

"""The null model of inputs in plain numpy."""

import numpy as np
from scipy.special import multigammaln

from pyrjsel._typing import ByteArray, FloatArray
from pyrjsel.mixture.priors import MixturePrior
from pyrjsel.mixture.problem import MixtureProblem, gains


def normal_evidence(z: FloatArray, prior: MixturePrior, surplus: float) -> float:
    """Return the log density of complete rows under the null model of a subset of inputs.

    Parameters
    ----------
    z : ndarray (N, s)
        The inputs of the subset, in range units.
    prior : MixturePrior
    surplus : float
        Degrees of freedom of the inverse Wishart beyond the number of inputs.

    Returns
    -------
    float
        0 for an empty subset.
    """
    n, s = z.shape
    if s == 0:
        return 0.0
    nu, kappa = surplus + s, prior.kappa0
    total = z.sum(axis=0)
    scatter = prior.psi0 * np.eye(s) + z.T @ z - np.outer(total, total) / (kappa + n)
    return float(
        -0.5 * n * s * np.log(np.pi)
        + 0.5 * s * np.log(kappa / (kappa + n))
        + multigammaln(0.5 * (nu + n), s)
        - multigammaln(0.5 * nu, s)
        + 0.5 * nu * s * np.log(prior.psi0)
        - 0.5 * (nu + n) * np.linalg.slogdet(scatter)[1]
    )


def log_background(z: FloatArray, gamma: ByteArray, problem: MixtureProblem) -> float:
    """Return the log density of the inputs that are not selected, given those that are.

    Parameters
    ----------
    z : ndarray (N, p)
        Inputs in range units; complete for the gaussian background.
    gamma : ndarray (p,)
        1 for selected inputs.
    problem : MixtureProblem

    Returns
    -------
    float
        Without a background, what makes a density of selected inputs one of the inputs as they were given.
    """
    inside = np.asarray(gamma, dtype=bool)
    surplus = problem.prior.surplus(problem.n_inputs)
    if problem.background == "gaussian":
        everything = normal_evidence(z, problem.prior, surplus)
        return everything - normal_evidence(z[:, inside], problem.prior, surplus)
    gain, offset = gains(problem)
    return offset - float(gain[inside].sum())

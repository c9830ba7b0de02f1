"""The g that maximises the marginal likelihood summed over all models."""

from collections.abc import Callable

import numpy as np
import scipy

from pyrjsel._core import special
from pyrjsel._errors import DataError, NotAvailableError
from pyrjsel._typing import ByteArray, FloatArray
from pyrjsel.model_space import ModelSpace, count_dfs
from pyrjsel.selection.evidence.laplace import MarginalLikelihood, check_modes
from pyrjsel.selection.regression.gaussian import GaussianRegression
from pyrjsel.selection.regression.glm import Regression
from pyrjsel.selection.samplers.enumeration.values import check_values, list_values
from pyrjsel.selection.samplers.listing import UNIT, feasible_models
from pyrjsel.selection.samplers.options import MOST_MODELS
from pyrjsel.selection.samplers.recording.gaussian_average import Tree

# Largest number of models that are not linear: each needs some dozens of mode searches.
MOST = 2**14
# Range of log g for n rows, and the step between its values; a maximum at the lower end is one at g = 0.
LOW, HIGH, STEP, ZERO = -9.0, 30.0, 1.0, -20.0
# Accuracy of log g. The sum is flat at its maximum: rounding of 1e-15 of it moves this by 3e-8.
CLOSE = 1e-7
# Models with less than this proportion of the sum at all values of g are left out of the search for it.
NEGLIGIBLE = 1e-14


def common_g(make: Callable[[float], Regression | GaussianRegression], space: ModelSpace) -> float:
    """Return the g at the maximum of the marginal likelihood of all models together.

    Parameters
    ----------
    make : callable
        From g to the regression with the g-prior.
    space : ModelSpace

    Returns
    -------
    float
        2e-9 if the sum decreases from g = 0 on.

    Raises
    ------
    NotAvailableError
        If there are too many models.
    DataError
        If no model has a prior, a mode is not found, or there is no maximum.
    """
    regression = make(1.0)
    most = MOST_MODELS if isinstance(regression, GaussianRegression) else MOST
    if not count_dfs(space, most)[1]:
        raise NotAvailableError(
            f"EmpiricalBayes('global') enumerates all models for their g, at most {most:,} of this family, "
            "and this space has more. Use EmpiricalBayes('local'), a mixture of g-priors or a "
            "GPrior with a g of your choice, or restrict the space by budget=, max_size= or heredity=."
        )
    gamma, log_prior = feasible_models(space)

    def log_masses(log_g: float, of: ByteArray, prior: FloatArray) -> FloatArray:
        return _log_marginals(make(float(np.exp(log_g))), space, of) + prior

    scale = float(np.log(space.context.n_observations))
    grid, masses = np.arange(LOW, scale + HIGH, STEP), []
    totals: list[float] = []
    for log_g in grid:
        masses.append(log_masses(log_g, gamma, log_prior))
        totals.append(float(special.logsumexp(masses[-1])))
        # Beyond a usual g, one decrease is enough.
        if log_g > scale + 10.0 and totals[-1] < totals[-2]:
            break
    total = np.array(totals)
    if not np.isfinite(total[0]):
        raise DataError("No feasible model has linearly independent columns, as the g-prior needs.")
    if np.argmax(total) == grid.size - 1:
        raise DataError(
            "EmpiricalBayes('global') has no g: the marginal likelihood increases without end in g, as where "
            "terms fit the response perfectly. Use a mixture of g-priors, or leave out such terms."
        )
    share = np.max(np.array(masses) - total[:, None], axis=0)
    kept = share > np.log(NEGLIGIBLE)
    gamma, log_prior = np.ascontiguousarray(gamma[kept]), log_prior[kept]

    def loss(log_g: float) -> float:
        return -float(special.logsumexp(log_masses(log_g, gamma, log_prior)))

    best, least = ZERO, -float(total[0])
    # The sum can have several maxima: one for wide models, one for narrow ones.
    for k in range(1, total.size - 1):
        if total[k] >= total[k - 1] and total[k] >= total[k + 1] and total[k] > total[0]:
            found = scipy.optimize.minimize_scalar(
                loss, bounds=(grid[k - 1], grid[k + 1]), method="bounded", options={"xatol": CLOSE}
            )
            if found.fun < least:
                best, least = float(found.x), float(found.fun)
    return float(np.exp(best))


def _log_marginals(
    regression: Regression | GaussianRegression, space: ModelSpace, gamma: ByteArray
) -> FloatArray:
    """Return exact log marginal likelihoods of models (m, J), or Laplace values; -inf without a prior."""
    if isinstance(regression, GaussianRegression):
        values = list_values(Tree.of(regression, space, gamma), gamma)
        check_values(values, regression)
        return values
    marginal = MarginalLikelihood(regression, bytes(16), 2, regression.largest_model(gamma))
    found = [marginal.finder.laplace_values(gamma[at : at + UNIT]) for at in range(0, len(gamma), UNIT)]
    values, status = (np.concatenate(parts) for parts in zip(*found, strict=True))
    check_modes(status, regression.prior)
    return values

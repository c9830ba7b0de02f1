"""Log marginal likelihoods of lists of gaussian models."""

import numpy as np

from pyrjsel._errors import DataError
from pyrjsel._typing import ByteArray, FloatArray
from pyrjsel.selection.evidence import fixed_scale as unscaled
from pyrjsel.selection.evidence._conjugate import LOST
from pyrjsel.selection.evidence.gaussian import evidence_of
from pyrjsel.selection.evidence.spike_slab import single_models
from pyrjsel.selection.regression.gaussian import GaussianRegression
from pyrjsel.selection.samplers._subsets import Subsets
from pyrjsel.selection.samplers.recording.gaussian_average import Tree, closed, values_and_doubt


def list_values(
    tree: Tree, gamma: ByteArray, models: slice = slice(None), subsets: Subsets | None = None
) -> FloatArray:
    """Return those of some models of the list `gamma` (m, J) of a tree; -inf without a prior.

    Compiled passes along the tree are those of `subsets`, if given, and made anew otherwise.
    """
    regression = tree.regression
    if regression.prior.given_variance:
        return unscaled.log_marginals(regression, gamma[models])
    if not closed(regression):
        return single_models(regression).log_marginals(gamma[models])
    words = tree.words[models]
    value, doubtful = values_and_doubt(regression, subsets or tree.subsets(), words)
    if doubtful.size:
        # The tree gives only bounds for the rank rule, and sums of squares can lose their digits.
        value[doubtful] = evidence_of(regression).values(tree.unordered(words[doubtful]))
    return np.asarray(value + regression.constant)


def check_values(values: FloatArray, regression: GaussianRegression) -> None:
    """Raise :class:`DataError` if marginal likelihoods are infinite or were lost to rounding."""
    if np.any(values == np.inf):
        raise DataError(
            f"The marginal likelihoods of {int(np.sum(values == np.inf)):,} models are infinite: their "
            "columns fit the response perfectly (R^2 = 1), and p(sigma^2) = 1 / sigma^2. Give a sigma_prior, "
            "such as InverseGamma(2, 1), or a smaller max_size."
        )
    lost = np.isnan(values) | (np.isinf(values) if regression.prior.rank_tol == 0 else False)
    if np.any(lost):
        raise DataError(LOST)

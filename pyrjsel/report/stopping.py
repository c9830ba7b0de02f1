"""Estimates that are not yet accurate enough for a run to stop."""

from collections.abc import Iterable, Sequence

import numpy as np

from pyrjsel.model_space import ByModel
from pyrjsel.report.errors import scalar_stats
from pyrjsel.report.mixing import LEAST_ESS
from pyrjsel.runtime import Figure, above

# Largest acceptable R-hat over all chains.
R_HAT = 1.05
# Errors that more draws do not reduce are compensated by more draws up to this proportion of the target: 1 /
# (1 - 0.8^2) = 2.8 times as many. Larger ones must be reduced at their source.
SHARE = 0.8
# An event that did not occur in n draws has a probability of at most 3 / n, with 95 % confidence.
NEVER = 3.0


def inclusion_figures(
    mcse: np.ndarray,
    free: np.ndarray,
    names: Sequence[str],
    draws: int,
    target: float,
    other: np.ndarray | None = None,
) -> list[Figure]:
    """Return the inclusion probabilities whose Monte Carlo errors are above a target.

    Parameters
    ----------
    mcse : ndarray (J,)
        Error of each term; NaN for those that never changed.
    free : ndarray (J,)
        Whether a term may change.
    names : sequence of str
    draws : int
        Number of draws of all chains.
    target : float
    other : ndarray (J,), optional
        Errors that more draws do not reduce; omitted if too large to be compensated.

    Returns
    -------
    list of Figure
    """
    # mathematics: errors-never
    found = []
    kept = np.zeros(mcse.size) if other is None else np.where(other <= SHARE * target, other, 0.0)
    whole = np.hypot(mcse, kept)
    large = np.isnan(mcse) | (whole > target)
    for j in np.flatnonzero(large & free.astype(bool)).tolist():
        if np.isnan(mcse[j]):
            most = NEVER / draws
            bound = above(most, target)
            text = f"the inclusion of {names[j]} never changed, which bounds its error by {bound}"
            found += [Figure(text, most / target)] if most > target else []
        else:
            text = f"the MCSE of the inclusion of {names[j]} is {above(float(whole[j]), target)}"
            found.append(Figure(text, float(mcse[j] ** 2 / (target**2 - kept[j] ** 2))))
    return found


def mixing_figures(quantities: Iterable[tuple[str, np.ndarray | ByModel]]) -> list[Figure]:
    """Return values of R-hat that are too large, and quantities with too few effective draws.

    Parameters
    ----------
    quantities : iterable of (str, ndarray or ByModel, of shape (chains, draws))
        Draws by name.

    Returns
    -------
    list of Figure
    """
    found = []
    for name, values in quantities:
        stats = scalar_stats(values)
        if stats.r_hat > R_HAT:
            text = f"R-hat of the {name} is {above(stats.r_hat, R_HAT)}"
            found.append(Figure(text, (stats.r_hat - 1.0) / (R_HAT - 1.0)))
        if stats.ess < LEAST_ESS:
            found.append(few_draws(name, stats.ess))
    return found


def few_draws(name: str, ess: float) -> Figure:
    """Return the figure of a quantity with too few effective draws."""
    text = f"the {name} has {ess:.3g} effective draws, fewer than {LEAST_ESS}"
    return Figure(text, LEAST_ESS / ess)

"""Degrees of freedom of Student-t errors: the density of an error of 0, and the prior of unknown ones.

The prior is a gamma distribution of shape 2 and rate 0.1 (Juarez and Steel 2010), restricted to values above
1/2. Without such a bound two equal responses leave no posterior: for df close to 0 the likelihood is not
integrable where sigma goes to 0 (Fernandez and Steel 1999). The coordinate of integrals and chains is
``u = log(df - 1/2)``.
"""

import numpy as np

from pyrjsel._core import special
from pyrjsel._typing import FloatArray

LEAST_DF = 0.5
RATE = 0.1
LOG_2PI = float(np.log(2.0 * np.pi))
# Above this the series of log Gamma(x + 1/2) - log Gamma(x) has an error below 1e-16.
LARGE = 200.0
# The logarithm of what the gamma density is multiplied by: its rate squared, over the mass above the bound.
LOG_CONSTANT = float(2.0 * np.log(RATE) - np.log1p(RATE * LEAST_DF) + RATE * LEAST_DF)


def df_at(u: FloatArray) -> FloatArray:
    """Return the degrees of freedom at coordinates."""
    return LEAST_DF + np.exp(u)


def coordinate_of(df: float) -> float:
    """Return the coordinate of degrees of freedom."""
    return float(np.log(df - LEAST_DF))


def log_at_zero(df: FloatArray) -> FloatArray:
    """Return log densities of the t distribution with `df` (m,) degrees of freedom at 0."""
    small, inverse = np.minimum(df, LARGE), 1.0 / df
    direct = special.gammaln(0.5 * (small + 1.0)) - special.gammaln(0.5 * small) - 0.5 * np.log(np.pi * small)
    series = -0.5 * LOG_2PI - inverse * (1 / 4 - inverse**2 * (1 / 24 - inverse**2 / 20))
    return np.where(df > LARGE, series, direct)


def slopes_at_zero(df: float) -> tuple[float, float]:
    """Return the first and the second derivative of that in `df`."""
    if df > LARGE:
        square = df**-2.0
        first = square * (1 / 4 - square * (1 / 8 - square / 4))
        return first, -square / df * (1 / 2 - square * (1 / 2 - square * 3 / 2))
    first = 0.5 * (special.digamma(0.5 * (df + 1.0)) - special.digamma(0.5 * df) - 1.0 / df)
    second = 0.25 * (special.zeta(2.0, 0.5 * (df + 1.0)) - special.zeta(2.0, 0.5 * df)) + 0.5 / df**2
    return float(first), float(second)


def log_prior(u: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the log prior density of coordinates, its slopes and minus its second derivatives."""
    # mathematics: selection-df
    more = np.exp(u)
    df = LEAST_DF + more
    slope = 1.0 + more / df - RATE * more
    return LOG_CONSTANT + np.log(df) - RATE * df + u, slope, RATE * more - LEAST_DF * more / df**2

"""The update of sizes of ``_size_jump.pyx`` in plain numpy, on the same random numbers.

One exponential for the level of the slice, uniform numbers for its first interval, the share of the steps to
the left, and each point.
"""

import numpy as np
from scipy import stats

WIDTH, MOST_STEPS = 1.0, 64


# Log densities of means y of w responses at linear predictors eta and a log size t.
LAWS = {
    "negbin": lambda y, w, eta, t: stats.nbinom.logpmf(
        np.round(w * y), w * np.exp(t), 1 / (1 + np.exp(eta - t))
    ),
    "gamma": lambda y, w, eta, t: stats.gamma.logpdf(y, w * np.exp(t), scale=np.exp(eta - t) / w),
}


def log_density(rows, eta, t):
    """Log-likelihood of `rows` plus the log prior of the log size `t`.

    `rows` are the name of a law, a response and weights (n,), and mean and deviation of the prior.
    """
    law, y, w, mean, sd = rows
    return LAWS[law](y, w, eta, t).sum() + stats.norm.logpdf(t, mean, sd)


def update(rows, eta, size, power, rng):
    """Return the next size."""

    def height(t):
        return power * log_density(rows, eta, t)

    now = np.log(size)
    level = height(now) - rng.standard_exponential()
    low = now - WIDTH * rng.random()
    high = low + WIDTH
    left = int(MOST_STEPS * rng.random())
    right = MOST_STEPS - 1 - left
    while left > 0 and height(low) > level:
        low, left = low - WIDTH, left - 1
    while right > 0 and height(high) > level:
        high, right = high + WIDTH, right - 1
    while True:
        t = low + (high - low) * rng.random()
        if height(t) > level:
            return float(np.exp(t))
        low, high = (t, high) if t < now else (low, t)

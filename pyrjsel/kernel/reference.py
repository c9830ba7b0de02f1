"""The particles of kernel regression in plain numpy: slow, obvious, the twin of the compiled loop.

Every marginal likelihood is the normal density of all rows with the coefficients integrated out; nothing is
kept or updated. Random numbers are drawn in the order of the compiled loop, so that both make the same
particles of the same generator.
"""

from itertools import combinations
from math import comb

import numpy as np
from scipy.special import gammaln, logsumexp
from scipy.stats import multivariate_normal

from pyrjsel._typing import FloatArray, IntArray
from pyrjsel.kernel.state import KernelSettings

Centres = tuple[int, ...]


def design(settings: KernelSettings, x: FloatArray, centres: Centres) -> FloatArray:
    """Return the columns (t, k + 1) of a set of centres, the intercept first."""
    return np.column_stack([np.ones(len(x)), settings.kernel(x, x[list(centres)])])


def log_marginal(
    settings: KernelSettings, x: FloatArray, y: FloatArray, centres: Centres, sigma2: float, delta2: float
) -> float:
    """Return ``log p(y | U, sigma^2, delta^2)``."""
    if not len(y):
        return 0.0
    columns = design(settings, x, centres)
    covariance = sigma2 * np.eye(len(y)) + delta2 * columns @ columns.T
    return float(multivariate_normal.logpdf(y, np.zeros(len(y)), covariance))


def log_set_prior(settings: KernelSettings, t: int, k: int) -> float:
    """Return ``log(Lambda^k / k!) - log C(t, k)`` of a set of `k` of `t` rows."""
    return float(k * np.log(settings.mean_kernels) - gammaln(k + 1) - np.log(comb(t, k)))


def chances(settings: KernelSettings, k: int) -> tuple[float, float, float]:
    """Return the chances of the zero, birth and death moves from `k` kernels."""
    c, mean = settings.move_fraction, settings.mean_kernels
    birth = c * min(1.0, mean / (k + 1)) if k < settings.max_kernels else 0.0
    death = c * min(1.0, k / mean) if k else 0.0
    return 1.0 - birth - death, birth, death


def propose(
    settings: KernelSettings, t: int, old: Centres, rng: np.random.Generator
) -> tuple[Centres, float]:
    """Return a set after the move to `t` rows, and the log of its weight but for marginal likelihoods."""
    k = len(old)
    zero, birth, death = chances(settings, k)
    u = rng.random()
    if u < birth:
        free = [row for row in range(t) if row not in old]
        new = tuple(sorted((*old, free[int(rng.random() * len(free))])))
        kind, chance, pick = 1, birth, 1.0 / len(free)
    elif u < birth + death:
        out = int(rng.random() * k)
        new = old[:out] + old[out + 1 :]
        kind, chance, pick = 2, death, 1.0 / k
    else:
        new, kind, chance, pick = old, 0, zero, 1.0
    size = len(new)
    if settings.importance == "paper":
        mean = settings.mean_kernels
        factor = mean ** (size - k) * (t - 1.0) ** k / t**size / pick
        return new, float(np.log(factor) + gammaln(k + 1) - gammaln(size + 1))
    prior = log_set_prior(settings, t, size) - log_set_prior(settings, t - 1, k)
    return new, float(prior - np.log(chance * pick) + np.log(backward(settings, t, kind, new)))


def backward(settings: KernelSettings, t: int, kind: int, new: Centres) -> float:
    """Return the probability that the backward move from `new` leads to the set that it came from.

    Births come back as deaths and deaths as births, with the chances of the moves from `new`.
    """
    k = len(new)
    if t - 1 in new:
        return 1.0
    _, birth, death = chances(settings, k)
    after_birth, after_death = death, birth if k + 1 <= t - 1 else 0.0
    if kind == 1:
        return after_birth / k
    if kind == 2:
        return after_death / (t - 1 - k)
    return 1.0 - after_birth - after_death


def rejuvenate(
    settings: KernelSettings,
    x: FloatArray,
    y: FloatArray,
    centres: Centres,
    sigma2: float,
    delta2: float,
    pool: IntArray,
    rng: np.random.Generator,
) -> Centres:
    """Return a set after births, deaths and shifts that leave its posterior invariant."""
    t = len(y)
    start = int(rng.random() * len(pool))
    for move in range(settings.rejuvenate):
        k = len(centres)
        row = int(pool[(start + move) % len(pool)])
        u = rng.random()
        kind = "birth" if u < 0.3 else "death" if u < 0.6 else "shift"
        if k == (settings.max_kernels if kind == "birth" else 0):
            continue
        new = list(centres)
        if kind != "birth":
            del new[int(rng.random() * k)]
        if kind != "death":
            if row in centres:
                continue
            new = sorted([*new, row])
        ratio = log_marginal(settings, x, y, tuple(new), sigma2, delta2)
        ratio -= log_marginal(settings, x, y, centres, sigma2, delta2)
        ratio += log_set_prior(settings, t, len(new)) - log_set_prior(settings, t, k)
        # The row of a birth is one of t, and the death back takes one of the k + 1 centres.
        if kind == "birth":
            ratio += np.log(t / (k + 1))
        elif kind == "death":
            ratio += np.log(k / t)
        if ratio > -rng.standard_exponential():
            centres = tuple(new)
    return centres


def draw(
    settings: KernelSettings,
    x: FloatArray,
    y: FloatArray,
    centres: Centres,
    sigma2: float,
    delta2: float,
    rng: np.random.Generator,
) -> tuple[FloatArray, float, float]:
    """Return Gibbs draws of the coefficients, sigma^2 and delta^2."""
    columns = design(settings, x, centres)
    d = columns.shape[1]
    factor = np.linalg.cholesky(columns.T @ columns + sigma2 / delta2 * np.eye(d))
    half = np.linalg.solve(factor, columns.T @ y)
    beta = np.linalg.solve(factor.T, half + np.sqrt(sigma2) * rng.standard_normal(d))
    if settings.noise_variance is None:
        residual = y - columns @ beta
        shape = settings.a_y + 0.5 * len(y)
        sigma2 = float(settings.b_y + 0.5 * residual @ residual) / rng.standard_gamma(shape)
    if settings.coef_variance is None:
        delta2 = float(settings.b_beta + 0.5 * beta @ beta) / rng.standard_gamma(settings.a_beta + 0.5 * d)
    return beta, sigma2, delta2


def enumerate_posterior(
    settings: KernelSettings, x: FloatArray, y: FloatArray
) -> tuple[dict[Centres, float], float]:
    """Return the posterior of every set of centres, and log p(y), with both variances fixed.

    Parameters
    ----------
    settings : KernelSettings
        Of fixed variances.
    x : ndarray (T, d)
    y : ndarray (T,)

    Returns
    -------
    dict
        Probabilities.
    float
        Log evidence.
    """
    if settings.noise_variance is None or settings.coef_variance is None:
        raise ValueError("both variances must be fixed")
    t = len(y)
    most = min(settings.max_kernels, t)
    sets = [centres for k in range(most + 1) for centres in combinations(range(t), k)]
    prior = np.array([log_set_prior(settings, t, len(centres)) for centres in sets])
    joint = prior + [
        log_marginal(settings, x, y, centres, settings.noise_variance, settings.coef_variance)
        for centres in sets
    ]
    total = logsumexp(joint)
    return dict(zip(sets, np.exp(joint - total), strict=True)), float(total - logsumexp(prior))

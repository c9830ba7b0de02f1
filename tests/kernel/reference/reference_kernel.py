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
    """Return the columns of a set of centres (t, k): the intercept, inputs with a trend, and kernels."""
    columns = [np.ones((len(x), 1)), settings.kernel(x, x[list(centres)])]
    if settings.trend:
        columns.insert(1, x)
    return np.hstack(columns)


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


def chances(settings: KernelSettings, rows: int, k: int) -> tuple[float, float]:
    """Return the chances of the birth and death moves among `rows` rows from `k` kernels."""
    c, mean = settings.blind_fraction, settings.mean_kernels
    birth = c * min(1.0, mean / (k + 1)) if k < min(settings.max_kernels, rows) else 0.0
    return birth, c * min(1.0, k / mean)


def step(settings: KernelSettings, rows: int, old: Centres, rng: np.random.Generator) -> Centres:
    """Return a set after a zero, birth or death move among the first `rows` rows."""
    birth, death = chances(settings, rows, len(old))
    u = rng.random()
    if u < birth:
        free = [row for row in range(rows) if row not in old]
        return tuple(sorted((*old, free[int(rng.random() * len(free))])))
    if u < birth + death:
        out = int(rng.random() * len(old))
        return old[:out] + old[out + 1 :]
    return old


def propose(
    settings: KernelSettings, t: int, old: Centres, rng: np.random.Generator
) -> tuple[Centres, float]:
    """Return a set after the move before the data at `t` rows are seen.

    Also the log of its weight but for marginal likelihoods, with the weights of the paper; otherwise 0.
    """
    k, mean = len(old), settings.mean_kernels
    if settings.importance != "paper":
        return (step(settings, t - 1, old, rng) if settings.blind_fraction else old), 0.0
    new = step(settings, t, old, rng)
    size = len(new)
    pick = {k + 1: 1.0 / (t - k), k: 1.0, k - 1: 1.0 / max(k, 1)}[size]
    factor = mean ** (size - k) * (t - 1.0) ** k / t**size / pick
    return new, float(np.log(factor) + gammaln(k + 1) - gammaln(size + 1))


def predecessors(settings: KernelSettings, t: int, new: Centres) -> dict[Centres, float]:
    """Return the sets among `t` - 1 rows that a set among `t` comes from, with their backward chances."""
    if t - 1 not in new:
        return {new: 1.0}
    rest = tuple(row for row in new if row != t - 1)
    others = [tuple(sorted((*rest, row))) for row in range(t - 1) if row not in rest]
    chances = {rest: 0.5 if others else 1.0}
    return chances | dict.fromkeys(others, 0.5 / max(len(others), 1))


def weigh(
    settings: KernelSettings,
    x: FloatArray,
    y: FloatArray,
    old: Centres,
    sigma2: float,
    delta2: float,
    rng: np.random.Generator,
    chance: float = 1.0,
) -> tuple[Centres, float]:
    """Return a set that may hold the newest row, and the log of the weight times the marginal before.

    All sets that can follow are scored by their joint density with the way back, over the prior before, and
    over the chance to be asked where they hold the newest row.
    """
    t, k = len(y), len(old)
    sets = [old]
    if chance > 0.0:
        sets += [(*old, t - 1)] + [(*old[:i], *old[i + 1 :], t - 1) for i in range(k)]
    scores = [
        log_set_prior(settings, t, len(new))
        - log_set_prior(settings, t - 1, k)
        + log_marginal(settings, x, y, new, sigma2, delta2)
        + np.log(predecessors(settings, t, new)[old])
        - (np.log(chance) if t - 1 in new else 0.0)
        if len(new) <= settings.max_kernels
        else -np.inf
        for new in sets
    ]
    total = float(logsumexp(scores))
    if chance == 0.0:
        return old, total
    below = np.cumsum(np.exp(np.array(scores) - total))
    return sets[int(np.searchsorted(below, rng.random(), side="right"))], total


def rejuvenate(
    settings: KernelSettings,
    x: FloatArray,
    y: FloatArray,
    centres: Centres,
    sigma2: float,
    delta2: float,
    pool: IntArray,
    rng: np.random.Generator,
) -> tuple[Centres, float, float]:
    """Return a set after births, deaths and shifts that leave its posterior invariant, and the variances.

    Where both variances are drawn, the noise is integrated out given their ratio, and both are drawn anew.
    """
    t, free = len(y), settings.noise_variance is None and settings.coef_variance is None
    rho = sigma2 / delta2

    def fit(new: Centres) -> float:
        if free:
            return log_marginal_of_ratio(settings, x, y, new, rho)[0]
        return log_marginal(settings, x, y, new, sigma2, delta2)

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
        ratio = fit(tuple(new)) - fit(centres)
        ratio += log_set_prior(settings, t, len(new)) - log_set_prior(settings, t, k)
        # The row of a birth is one of t, and the death back takes one of the k + 1 centres.
        if kind == "birth":
            ratio += np.log(t / (k + 1))
        elif kind == "death":
            ratio += np.log(k / t)
        if ratio > -rng.standard_exponential():
            centres = tuple(new)
    if not free or not settings.rejuvenate:
        return centres, sigma2, delta2
    proposed = rho * float(np.exp(2.0 * rng.standard_normal()))
    before, after = (
        log_marginal_of_ratio(settings, x, y, centres, each)[0] + settings.a_beta * np.log(each)
        for each in (rho, proposed)
    )
    if after - before > -rng.standard_exponential():
        rho = proposed
    shape = settings.a_y + settings.a_beta + 0.5 * t
    sigma2 = log_marginal_of_ratio(settings, x, y, centres, rho)[1] / rng.standard_gamma(shape)
    return centres, sigma2, sigma2 / rho


def log_marginal_of_ratio(
    settings: KernelSettings, x: FloatArray, y: FloatArray, centres: Centres, rho: float
) -> tuple[float, float]:
    """Return ``log p(y | U, rho)`` but for constants, and the scale of sigma^2 given y, U and rho."""
    columns = design(settings, x, centres)
    covariance = np.eye(len(y)) + columns @ columns.T / rho
    scale = settings.b_y + settings.b_beta * rho + 0.5 * y @ np.linalg.solve(covariance, y)
    shape = settings.a_y + settings.a_beta + 0.5 * len(y)
    return float(-0.5 * np.linalg.slogdet(covariance)[1] - shape * np.log(scale)), float(scale)


def pivots(gram: FloatArray) -> list[int]:
    """Return the columns in an order in which each has the largest remaining variance given those before."""
    order: list[int] = []
    rest = gram.copy()
    for _ in gram:
        left = [k for k in range(len(gram)) if k not in order]
        k = max(left, key=lambda j: rest[j, j])
        rest -= np.outer(rest[:, k], rest[k]) / rest[k, k]
        order.append(k)
    return order


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
    gram = columns.T @ columns + sigma2 / delta2 * np.eye(d)
    order = pivots(gram)
    factor = np.linalg.cholesky(gram[np.ix_(order, order)])
    half = np.linalg.solve(factor, columns[:, order].T @ y)
    beta = np.empty(d)
    beta[order] = np.linalg.solve(factor.T, half + np.sqrt(sigma2) * rng.standard_normal(d))
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

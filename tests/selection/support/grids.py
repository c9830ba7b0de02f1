"""Integrals over a few parameters by sums over grids in units of the curvature at the mode."""

from itertools import product

import numpy as np
from scipy.optimize import minimize
from scipy.special import logsumexp
from scipy.stats import t as student

import pyrjsel as rj


def mode_of(log_density, start):
    """Return where a log density of points (m, d) is greatest, and a root of the inverse curvature there."""
    best = minimize(lambda v: -log_density(v[None])[0], start, method="BFGS", options={"gtol": 1e-8}).x
    step = 1e-4 * np.eye(best.size)
    ways = np.array(
        [[best + a * u + b * v for u in step for v in step] for a, b in product((1, -1), (1, -1))]
    )
    values = log_density(ways.reshape(-1, best.size)).reshape(2, 2, best.size, best.size)
    hessian = (values[0, 0] - values[0, 1] - values[1, 0] + values[1, 1]) / 4e-8
    return best, np.linalg.cholesky(np.linalg.inv(-0.5 * (hessian + hessian.T)))


def by_grid(log_density, start, step=None, reach=None):
    """Return the log integral of a density of points (m, d), and means and deviations of its parameters.

    `start` is where the search of the mode begins, or the number of parameters. The grid has `reach` steps on
    either side, by default nine deviations, in four dimensions and more 7 steps of 0.95. Sums with steps of
    h deviations have an error of exp(-2 pi^2 / h^2) for normal densities.
    """
    start = np.zeros(start) if np.isscalar(start) else start
    if step is None:
        step, reach = (0.7, 13) if start.size < 4 else (0.95, 7)
    best, root = mode_of(log_density, start)
    points = best + step * np.array(list(product(np.arange(-reach, reach + 1), repeat=start.size))) @ root.T
    parts = np.array_split(points, 1 + len(points) // 10_000)
    heights = np.concatenate([log_density(part) for part in parts])
    total = logsumexp(heights)
    share = np.exp(heights - total)
    mean = share @ points
    sd = np.sqrt(share @ (points - mean) ** 2)
    return total + start.size * np.log(step) + np.log(np.diag(root)).sum(), mean, sd


def student_density(v, x, y, df, prior):
    """Log density of (intercept, coefficients, log sigma) and y, under 1 / sigma^2 for sigma^2.

    Errors have `df` degrees of freedom, a number or one for each point (m, 1).
    """
    b, t, d = v[:, 1:-1], v[:, -1], x.shape[1]
    value = student.logpdf(y, df, v[:, :1] + b @ x.T, np.exp(t)[:, None]).sum(axis=1) + np.log(2.0)
    if isinstance(prior, rj.GPrior):
        away = x - x.mean(axis=0)
        mean, precision = np.zeros(d), away.T @ away / (len(y) if prior.g == "n" else prior.g)
    else:
        sd = prior.scale / (x.std(axis=0) if prior.standardize else np.ones(d))
        mean, precision = np.full(d, prior.mean), np.diag(sd**-2.0)
    form = np.sum(((b - mean) @ precision) * (b - mean), axis=1) * np.exp(-2.0 * t)
    log_det = np.linalg.slogdet(precision)[1] if d else 0.0
    return value + 0.5 * (log_det - form) - d * (0.5 * np.log(2 * np.pi) + t)

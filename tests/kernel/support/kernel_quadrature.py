"""The posterior of few rows: sums over all sets of centres, and over a grid of both variances."""

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from scipy.special import gammaln, logsumexp

from pyrjsel._typing import FloatArray

# At equal steps of the logs of the variances the sums converge exponentially.
STEP = 0.2
NOISE, COEF = np.arange(-17.0, 6.0, STEP), np.arange(-12.0, 20.0, STEP)


@dataclass(frozen=True)
class Quadrature:
    """Log evidence as fitted; mean and sd of the function at points, the number of kernels, and log sigma."""

    log_evidence: float
    mean: FloatArray
    sd: FloatArray


def log_density(log_v: FloatArray, a: float, b: float) -> FloatArray:
    """Log density of log v for an inverse gamma v."""
    return a * np.log(b) - gammaln(a) - a * log_v - b * np.exp(-log_v)


def quadrature(model, new: FloatArray) -> Quadrature:
    """Return the posterior of a model of few rows."""
    settings, x, y = model.settings, model.x, model.y
    t, unit = len(y), model.scaling.y_sd
    kernels, at = model.kernels[0](x, x), model.kernels[0](model.scaling.inputs(new), x)
    prior = log_density(NOISE, settings.a_y, settings.b_y)[:, None] + 2.0 * np.log(STEP)
    prior = prior + log_density(COEF, settings.a_beta, settings.b_beta)
    # The ratio of the variances is on a grid too.
    ratio = np.arange(len(NOISE))[:, None] - np.arange(len(COEF)) + len(COEF) - 1
    rho = np.exp(NOISE[0] - COEF[-1] + STEP * np.arange(len(NOISE) + len(COEF) - 1))

    def over_ratios(weight: FloatArray) -> FloatArray:
        return np.bincount(ratio.ravel(), weight.ravel(), minlength=len(rho))

    sizes = np.arange(min(settings.max_kernels, t) + 1)
    log_size = sizes * np.log(settings.mean_kernels) - gammaln(sizes + 1.0)
    log_size -= logsumexp(log_size) + gammaln(t + 1.0) - gammaln(sizes + 1.0) - gammaln(t - sizes + 1.0)
    found = []
    for k in sizes:
        for chosen in combinations(range(t), int(k)):
            columns = np.column_stack([np.ones(t), kernels[:, chosen]])
            left, root, right = np.linalg.svd(columns, full_matrices=False)
            along, square = left.T @ y, root[:, None] ** 2
            rest = float(np.sum((y - left @ along) ** 2)) + (along[:, None] ** 2 * rho / (square + rho)).sum(
                axis=0
            )
            log_det = 0.5 * (np.log(rho) - np.log(square + rho)).sum(axis=0)
            log_joint = prior + log_det[ratio] - 0.5 * rest[ratio] * np.exp(-NOISE)[:, None]
            log_joint -= 0.5 * t * (np.log(2.0 * np.pi) + NOISE)[:, None]
            total = float(logsumexp(log_joint))
            weight = np.exp(log_joint - total)
            basis = np.column_stack([np.ones(len(at)), at[:, chosen]]) @ right.T
            function = basis @ ((root * along)[:, None] / (square + rho))
            spread = basis**2 @ ((1.0 / (square + rho)) @ over_ratios(weight * np.exp(NOISE)[:, None]))
            shares, log_sigma = over_ratios(weight), weight.sum(axis=1)
            mean = [*(function @ shares), k, log_sigma @ NOISE / 2.0]
            squares = [*(function**2 @ shares + spread), k**2, log_sigma @ NOISE**2 / 4.0]
            found.append((log_size[k] + total, mean, squares))
    logs, means, squares = (np.array(each) for each in zip(*found, strict=True))
    log_evidence = float(logsumexp(logs))
    probability = np.exp(logs - log_evidence)
    mean = probability @ means
    sd = np.sqrt(probability @ squares - mean**2)
    scale = np.array([unit] * len(at) + [1.0, 1.0])
    shift = np.array([model.scaling.y_mean] * len(at) + [0.0, np.log(unit)])
    return Quadrature(log_evidence, shift + scale * mean, scale * sd)

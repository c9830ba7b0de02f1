"""Densities of kernels at new rows, and class probabilities averaged over draws."""

from collections.abc import Iterator

import numpy as np

from pyrjsel._typing import BoolArray, FloatArray
from pyrjsel.mixture.draws import MixturePosterior

# Densities of single kernels that are held at a time: 16 MB.
HELD = 2_000_000
# So many ranges away from all rows of the fit, squares are still numbers, and nothing changes any more.
FARTHEST = 1e100


def class_probabilities(posterior: MixturePosterior, z: FloatArray) -> FloatArray:
    """Return class probabilities of rows, averaged over the draws that have their kernels.

    Parameters
    ----------
    posterior : MixturePosterior
        K classes.
    z : ndarray, shape (m, p)
        Inputs in range units; NaN where missing, which leaves them out of the densities.

    Returns
    -------
    ndarray, shape (m, K)
        Those of a draw are proportional to ``P_k sum_d w_kd prod_i N(z_i; m_di, v_di)`` over its inputs.
    """
    mean, variance, weight, prior = kept(posterior)
    share = np.swapaxes(weight * prior[:, :, None], 1, 2)
    out = np.empty((len(z), prior.shape[1]))
    for rows, density, _ in kernel_densities(z, mean, variance):
        joint = density @ share
        joint /= joint.sum(axis=2, keepdims=True)
        out[rows] = joint.mean(axis=0)
    return out


def class_densities(posterior: MixturePosterior, z: FloatArray, inputs: list[int]) -> FloatArray:
    """Return densities of some inputs within each class, averaged over the draws that have them selected.

    Parameters
    ----------
    posterior : MixturePosterior
        K classes.
    z : ndarray, shape (m, len(inputs))
        These inputs in range units; NaN where missing.
    inputs : list of int
        Their positions; they must be selected in a draw at least.

    Returns
    -------
    ndarray, shape (m, K)
        In range units.
    """
    mean, variance, weight, _ = kept(posterior)
    draws = selected(mean, inputs)
    share = np.swapaxes(weight[draws], 1, 2)
    out = np.empty((len(z), weight.shape[1]))
    chosen = np.ix_(draws, np.arange(mean.shape[1]), inputs)
    for rows, density, scale in kernel_densities(z, mean[chosen], variance[chosen]):
        out[rows] = (density @ share * np.exp(scale)[:, :, None]).mean(axis=0)
    return out


def kept(posterior: MixturePosterior) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Return means, variances, weights and class probabilities of all chains after each other."""
    arrays = (posterior.mean, posterior.variance, posterior.weight, posterior.prior)
    mean, variance, weight, prior = (each.reshape(-1, *each.shape[2:]) for each in arrays)
    return mean, variance, weight, prior


def selected(mean: FloatArray, inputs: list[int]) -> BoolArray:
    """Return which draws (S,) of means (S, D, p) have all of some inputs."""
    found: BoolArray = ~np.isnan(mean[:, 0, inputs]).any(axis=1)
    return found


def kernel_densities(
    z: FloatArray, mean: FloatArray, variance: FloatArray
) -> Iterator[tuple[slice, FloatArray, FloatArray]]:
    """Yield densities of kernels at rows, a block of rows after the other.

    Parameters
    ----------
    z : ndarray, shape (m, p)
        Inputs; NaN where missing.
    mean, variance : ndarray, shape (S, D, p)
        Kernels of S draws; NaN for inputs that are not selected.

    Yields
    ------
    rows : slice
        b of the m rows.
    density : ndarray, shape (S, b, D)
        Over the largest of the D.
    log_scale : ndarray, shape (S, b)
        Log of the largest.
    """
    draws, kernels, p = mean.shape
    inside = ~np.isnan(mean)
    precision = np.where(inside, 1.0 / variance, 0.0)
    linear = np.where(inside, mean, 0.0) * precision
    constant = np.where(inside, np.log(precision / (2 * np.pi), where=inside, out=np.zeros_like(mean)), 0.0)
    constant -= np.where(inside, mean, 0.0) * linear
    # Twice the log density is -z^2 / v + 2 z m / v - m^2 / v - log(2 pi v): one product for all kernels.
    table = np.concatenate([-precision, 2 * linear, constant], axis=2).reshape(draws * kernels, 3 * p).T
    size = max(HELD // (draws * kernels), 1)
    for first in range(0, len(z), size):
        rows = slice(first, min(first + size, len(z)))
        known = ~np.isnan(z[rows])
        value = np.clip(np.where(known, z[rows], 0.0), -FARTHEST, FARTHEST)
        powers = np.concatenate([value**2, value, known], axis=1)
        log_density = 0.5 * (powers @ table).reshape(-1, draws, kernels).transpose(1, 0, 2)
        log_scale = log_density.max(axis=2)
        yield rows, np.exp(log_density - log_scale[:, :, None]), log_scale

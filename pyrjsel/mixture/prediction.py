"""Class probabilities and densities of new rows, averaged over draws."""

from collections.abc import Sequence

import numpy as np

from pyrjsel._called import called
from pyrjsel._errors import NotAvailableError
from pyrjsel._typing import BoolArray, FloatArray
from pyrjsel._validate import bad_value, unknown_name
from pyrjsel.mixture._predict import class_log_density
from pyrjsel.mixture._predict import class_probabilities as probabilities_of
from pyrjsel.mixture.posterior import MixturePosterior
from pyrjsel.mixture.protocols import MixtureModel

# Densities of rows within classes, by draw, that are held at a time: 8 MB.
HELD = 1_000_000
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
    return probabilities_of(_near(z), *kept(posterior))


def class_densities(posterior: MixturePosterior, z: FloatArray, inputs: list[int]) -> FloatArray:
    """Return densities of some inputs within each class, averaged over the draws that have them selected.

    Parameters
    ----------
    posterior : MixturePosterior
        K classes.
    z : ndarray, shape (m, len(inputs))
        These inputs in range units; NaN where missing.
    inputs : list of int
        Their positions; some draw must have all of them selected.

    Returns
    -------
    ndarray, shape (m, K)
        In range units.
    """
    mean, variance, weight, _ = kept(posterior)
    draws = selected(mean, inputs)
    chosen = np.ix_(draws, np.arange(mean.shape[1]), np.array(inputs))
    of = (np.ascontiguousarray(mean[chosen]), np.ascontiguousarray(variance[chosen]), weight[draws])
    z, out = _near(z), np.empty((len(z), weight.shape[1]))
    size = max(HELD // of[2].shape[0] // weight.shape[1], 1)
    for first in range(0, len(z), size):
        rows = slice(first, first + size)
        out[rows] = np.exp(class_log_density(z[rows], *of)).mean(axis=0)
    return out


def kept(posterior: MixturePosterior) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Return means, variances, weights and class probabilities of all chains after each other."""
    arrays = (posterior.mean, posterior.variance, posterior.weight, posterior.prior)
    mean, variance, weight, prior = (each.reshape(-1, *each.shape[2:]) for each in arrays)
    return mean, variance, weight, prior


def ever_selected(posterior: MixturePosterior) -> BoolArray:
    """Return which inputs (p,) some draw that predicts has selected."""
    mean = kept(posterior)[0]
    return np.asarray(~np.isnan(mean[:, 0]).all(axis=0))


def selected(mean: FloatArray, inputs: list[int]) -> BoolArray:
    """Return which draws (S,) of means (S, D, p) have all of some inputs."""
    gone = np.asarray(np.isnan(mean[:, 0, inputs]).any(axis=1), dtype=bool)
    return ~gone


def _near(z: FloatArray) -> FloatArray:
    return np.ascontiguousarray(np.clip(z, -FARTHEST, FARTHEST))


def places_of(model: MixtureModel, posterior: MixturePosterior, inputs: Sequence[str] | str) -> list[int]:
    """Return the positions of inputs that some kept draw has selected together."""
    names = [inputs] if isinstance(inputs, str) else list(inputs)
    if len(set(names)) < len(names) or not names:
        raise bad_value("inputs", "different names of inputs", inputs)
    for name in names:
        if name not in model.term_names:
            raise unknown_name(name, "input", model.term_names)
    places = [model.term_names.index(name) for name in names]
    mean = posterior.mean
    if not selected(mean.reshape(-1, *mean.shape[2:]), places).any():
        raise NotAvailableError(
            f"{called()} needs draws that have {' and '.join(names)} selected. There are none."
        )
    return places

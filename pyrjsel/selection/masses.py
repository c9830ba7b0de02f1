"""From log posterior masses of all models to probabilities, odds and inclusion, with their errors."""

import numpy as np

from pyrjsel._errors import NotAvailableError
from pyrjsel._typing import ByteArray, FloatArray
from pyrjsel.space import ModelSpace, count_dfs, enumerate_models, unpack

# More models than this are refused: their marginal likelihoods would take hours.
MOST_MODELS = 2**20


def feasible_models(space: ModelSpace, owner: str) -> tuple[ByteArray, FloatArray]:
    """Return all feasible models (m, J), depth-first, and their log prior probabilities up to a constant.

    Raises
    ------
    NotAvailableError
        If there are more than 2**20.
    """
    if not count_dfs(space, MOST_MODELS)[1]:
        raise NotAvailableError(
            f"{owner} needs at most {MOST_MODELS:,} feasible models; this space has more. "
            "Use another sampler, or restrict it by budget=, max_size= or heredity=."
        )
    gamma = np.ascontiguousarray(unpack(enumerate_models(space, MOST_MODELS), space.n_terms))
    log_prior = space.log_size[_inside(gamma, space.free).astype(np.intp)] + _inside(gamma, space.log_odds)
    return gamma, log_prior


def normalise(log_mass: FloatArray) -> FloatArray:
    """Return probabilities of models with the given log masses."""
    mass = np.exp(log_mass - log_mass.max())
    return np.asarray(mass / mass.sum())


def probability_error(probability: FloatArray, variance: FloatArray) -> FloatArray:
    """Delta method: d log p_k = e_k - sum p_l e_l for relative errors e of the marginal likelihoods."""
    total = float(probability**2 @ variance)
    own = variance * ((1 - probability) ** 2 - probability**2)
    return np.asarray(probability * np.sqrt(np.maximum(own + total, 0.0)))


def odds_of(log_mass: FloatArray) -> FloatArray:
    """Return the odds of the first model against each."""
    with np.errstate(over="ignore"):  # a model that is out of the question has odds inf
        return np.asarray(np.exp(log_mass[0] - log_mass))


def odds_error(log_mass: FloatArray, variance: FloatArray) -> FloatArray:
    """Return the errors of those odds."""
    odds = odds_of(log_mass)
    odds[np.isinf(odds)] = np.nan  # the error of infinite odds is unknown
    error = odds * np.sqrt(variance[0] + variance)
    error[0] *= 0.0  # against itself; unknown variances stay unknown
    return np.asarray(error)


def _inside(gamma: ByteArray, values: FloatArray | ByteArray) -> FloatArray:
    """Return the sums (m,) of the values (J,) of the terms of each model, a block of models at a time."""
    block = 2**16
    weight = values.astype(float)
    return np.concatenate([gamma[at : at + block] @ weight for at in range(0, len(gamma), block)])


def sum_inside(mass: FloatArray, gamma: ByteArray) -> FloatArray:
    """Return the mass (J,) of the models that hold each term, a block of models at a time."""
    block = 2**16
    parts = [mass[at : at + block] @ gamma[at : at + block] for at in range(0, len(gamma), block)]
    return np.asarray(np.sum(parts, axis=0))


def inclusion_error(
    gamma: ByteArray, probability: FloatArray, inclusion: FloatArray, variance: FloatArray
) -> FloatArray:
    """Delta method: d P_j = sum p_k (gamma_kj - P_j) e_k."""
    mass = probability**2 * variance
    inside = sum_inside(mass, gamma)
    return np.sqrt(np.maximum(inside * (1 - 2 * inclusion) + mass.sum() * inclusion**2, 0.0))

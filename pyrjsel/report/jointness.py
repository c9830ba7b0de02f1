"""Jointness: whether pairs of terms are in the same models."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import scipy

from pyrjsel._typing import FloatArray, IntArray
from pyrjsel.model_space import PackedModels
from pyrjsel.report._batches import Plan, combine

# Numbers of a table that are computed at a time.
NUMBERS = 2**20
# Joint probabilities of two terms: both in, the first alone, the second alone, none.
Cells = tuple[FloatArray, FloatArray, FloatArray, FloatArray]


@dataclass(frozen=True)
class Measure:
    """A function of the four joint probabilities of two terms.

    Attributes
    ----------
    value : callable
        The measure; NaN where it is not defined.
    gradient : callable
        Its derivatives, for Monte Carlo errors.
    label : str
        Name on a plot.
    range : float
        Largest absolute value; inf if there is none.
    signed : bool
        Whether it is negative for terms that replace each other.
    """

    value: Callable[[Cells], FloatArray]
    gradient: Callable[[Cells], Cells]
    label: str
    range: float
    signed: bool


def _joint(cells: Cells) -> FloatArray:
    return cells[0]


def _joint_gradient(cells: Cells) -> Cells:
    zero = np.zeros_like(cells[0])
    return np.ones_like(zero), zero, zero, zero


def _yule(cells: Cells) -> FloatArray:
    both, first, second, none = cells
    return (both * none - first * second) / (both * none + first * second)


def _yule_gradient(cells: Cells) -> Cells:
    both, first, second, none = cells
    unit = 2.0 / (both * none + first * second) ** 2
    return (
        unit * first * second * none,
        -unit * both * second * none,
        -unit * both * first * none,
        unit * both * first * second,
    )


def _log_ratio(cells: Cells) -> FloatArray:
    both, first, second, none = map(np.log, cells)
    return both + none - first - second


def _log_ratio_gradient(cells: Cells) -> Cells:
    both, first, second, none = cells
    return 1.0 / both, -1.0 / first, -1.0 / second, 1.0 / none


def _share(cells: Cells) -> FloatArray:
    both, first, second, _ = cells
    return both / (both + first + second)


def _share_gradient(cells: Cells) -> Cells:
    both, first, second, _ = cells
    union = (both + first + second) ** 2
    return (first + second) / union, -both / union, -both / union, np.zeros_like(both)


MEASURES = {
    "yule": Measure(_yule, _yule_gradient, "Yule's Q", 1.0, True),
    "doppelhofer-weeks": Measure(_log_ratio, _log_ratio_gradient, "Log cross-product ratio", np.inf, True),
    "ley-steel": Measure(_share, _share_gradient, "Models with both of those with one or both", 1.0, False),
    "joint": Measure(_joint, _joint_gradient, "Joint inclusion probability", 1.0, False),
}


def jointness_table(
    names: Sequence[str], models: PackedModels, probability: FloatArray, measure: str
) -> pd.DataFrame:
    """Return a measure of jointness for all pairs of terms.

    Parameters
    ----------
    names : sequence of str, length J
        Terms.
    models : PackedModels (m, J)
        Models, each once.
    probability : ndarray (m,)
        Their probabilities.
    measure : str
        A key of `MEASURES`.

    Returns
    -------
    DataFrame, shape (J, J)
        Symmetric; its diagonal is NaN, or holds the inclusion probabilities for ``"joint"``.

    Examples
    --------
    >>> models = PackedModels.of([[1, 1], [0, 0], [1, 0]])
    >>> table = jointness_table(["age", "sex"], models, np.array([0.5, 0.3, 0.2]), "ley-steel")
    >>> round(float(table.loc["age", "sex"]), 3)
    0.714
    """
    count = len(names)
    found = np.empty((count, count))
    step = max(1, NUMBERS // max(count, 1))
    for at in range(0, count, step):
        with np.errstate(divide="ignore", invalid="ignore"):
            found[at : at + step, at:] = MEASURES[measure].value(_cells(models, probability, at, step))
    return _square(names, found, measure)


def _cells(models: PackedModels, probability: FloatArray, term: int, size: int) -> Cells:
    """Return joint probabilities of `size` terms from `term` on, and of all terms from there on."""
    both = first = second = none = np.zeros(())
    at = 0
    for block in models.blocks():
        inside = block[:, term:].astype(float)
        mass = inside[:, :size] * probability[at : at + len(block), None]
        rest = probability[at : at + len(block), None] - mass
        both = both + mass.T @ inside
        second = second + rest.T @ inside
        outside = np.subtract(1.0, inside, out=inside)  # not of sums, which would leave rounding errors
        first = first + mass.T @ outside
        none = none + rest.T @ outside
        at += len(block)
    return both, first, second, none


def jointness_errors(
    names: Sequence[str], models: PackedModels, index: IntArray, measure: str
) -> pd.DataFrame:
    """Return Monte Carlo errors of a measure of jointness, by batch means and the delta method.

    Parameters
    ----------
    names : sequence of str, length J
        Terms.
    models : PackedModels (m, J)
        Visited models, each once.
    index : ndarray of int, shape (chains, draws)
        Model of each draw.
    measure : str
        A key of `MEASURES`.

    Returns
    -------
    DataFrame, shape (J, J)
        NaN where the measure does not vary between the batches, as for a term that never moved.

    Examples
    --------
    >>> models = PackedModels.of([[1, 1], [0, 0], [1, 0]])
    >>> index = np.random.default_rng(1).integers(3, size=(1, 900))
    >>> round(float(jointness_errors(["age", "sex"], models, index, "joint").loc["age", "sex"]), 3)
    0.016
    """
    gamma = np.asarray(models).astype(float)
    draws = index.shape[1]
    plan = Plan.of(draws)
    start = draws - plan.batches * plan.length
    edges = np.arange(0, draws - start + 1, plan.length)
    # Visits of each model, by batch and, in the last row, in the whole chain.
    visits = []
    for chain in index:
        ones = np.ones(draws)
        by_batch = scipy.sparse.csr_array((ones[start:], chain[start:], edges), (plan.batches, len(gamma)))
        whole = scipy.sparse.csr_array((ones, chain, [0, draws]), (1, len(gamma)))
        shares = scipy.sparse.vstack([by_batch / plan.length, whole / draws]).tocsc()
        shares.sum_duplicates()
        visits.append(shares)
    inside = np.stack([shares @ gamma for shares in visits])  # (chains, batches + 1, J)
    found = np.full((len(names), len(names)), np.nan)
    for row in range(len(names)):
        here = np.flatnonzero(gamma[:, row])
        both = np.stack([shares[:, here] @ gamma[here] for shares in visits])
        alone = inside[:, :, [row]] - both
        cells = both, alone, inside - both, 1.0 - inside - alone
        with np.errstate(divide="ignore", invalid="ignore"):
            slopes = MEASURES[measure].gradient(tuple(cell[:, -1].mean(axis=0) for cell in cells))
            linear = sum(slope * cell for slope, cell in zip(slopes, cells, strict=True))
        known = np.isfinite(linear).all(axis=(0, 1))
        error = combine(linear[:, -1, known], linear[:, :-1, known], plan)[1]
        # Rounding leaves about 1e-16 where no batch differs from another.
        found[row, known] = np.where(error > 1e-12, error, np.nan)
    return _square(names, found, measure)


def _square(names: Sequence[str], values: FloatArray, measure: str) -> pd.DataFrame:
    """Return a table of the values above the diagonal, which are also those below it."""
    for row in range(len(names)):
        values[row + 1 :, row] = values[row, row + 1 :]
    if measure != "joint":
        np.fill_diagonal(values, np.nan)
    labels = pd.Index(list(names), name="term", dtype=object)
    return pd.DataFrame(values, index=labels, columns=labels, copy=False)

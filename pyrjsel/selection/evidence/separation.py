"""Models whose likelihood has no maximum, because they separate the classes."""

import numpy as np
from scipy.optimize import linprog

from pyrjsel._typing import ByteArray
from pyrjsel.selection.evidence._laplace import ModeFinder
from pyrjsel.selection.regression.glm import Regression


def separated(regression: Regression, gamma: ByteArray) -> list[int]:
    """Return the terms of model `gamma` (J,) whose likelihood has no maximum; empty if it has one.

    Linear programming (Konis, 2007) finds a direction b along which the likelihood increases without bound.
    In a logistic model, ``x_i'b >= 0`` for every success, ``<= 0`` for every failure, and not all 0: the
    classes are separated. In a Poisson model, ``x_i'b <= 0`` for rows without events and 0 for all others.
    """
    columns = regression.model_columns(gamma)
    weights = np.ones(regression.y.size) if regression.weights is None else regression.weights
    used = weights > 0
    y, x = regression.y[used], regression.columns[columns][:, used].T
    sign = regression.family.recession(y)
    mixed = sign == 0
    signed = x * sign[:, None]
    outer, both = signed[~mixed], x[mixed]
    found = linprog(
        -outer.sum(axis=0),
        A_ub=-outer,
        b_ub=np.zeros(len(outer)),
        A_eq=both if len(both) else None,
        b_eq=np.zeros(len(both)) if len(both) else None,
        bounds=(-1.0, 1.0),
        method="highs",
    )
    # The solver's feasibility tolerance is 1e-7 per row.
    if not found.success or -found.fun <= 1e-6 * len(y):
        return []
    sizes = np.diff(regression.term_start)
    column_terms = np.concatenate([[-1], np.repeat(np.arange(regression.n_terms), sizes)])
    return sorted({int(t) for t in column_terms[columns[np.abs(found.x) > 1e-6]] if t >= 0})


def separated_models(
    regression: Regression, finder: ModeFinder, gammas: ByteArray
) -> dict[int, tuple[int, ...]]:
    """Return, for the separated models (rows of `gammas`), sets of terms that separate by themselves.

    A model with a separating set of terms is separated: smaller models are checked first, and linear programs
    are solved only for models without a known separating set.
    """
    found: dict[int, tuple[int, ...]] = {}
    known: list[tuple[int, ...]] = []
    for row in np.argsort(gammas.sum(axis=1), kind="stable").tolist():
        gamma = np.ascontiguousarray(gammas[row], dtype=np.uint8)
        terms = next((each for each in known if gamma[list(each)].all()), None)
        if terms is None:
            _, *extremes = finder.maximum_likelihood(gamma)
            suspect = regression.family.strays(*extremes)
            terms = _fewest(regression, separated(regression, gamma)) if suspect else ()
            if not terms:
                continue
            known.append(terms)
        found[row] = terms
    return dict(sorted(found.items()))


def _fewest(regression: Regression, terms: list[int]) -> tuple[int, ...]:
    """Remove, one by one, terms without which the others still separate the classes."""
    for term in list(terms):
        gamma = np.zeros(regression.n_terms, dtype=np.uint8)
        gamma[[other for other in terms if other != term]] = 1
        if term in terms and gamma.any():
            terms = separated(regression, gamma) or terms
    return tuple(terms)

"""Terms whose columns are linearly dependent."""

from collections.abc import Iterable

import numpy as np
from scipy.linalg import eigh, eigvalsh

from pyrjsel.selection.regression.gaussian import GaussianRegression
from pyrjsel.selection.regression.glm import Regression

# Exact dependence leaves eigenvalues of a few times the rounding error of the largest.
DEPENDENT = 1e-10


def dependent_terms(regression: Regression) -> list[int]:
    """Return the terms whose columns take part in a linear dependence, intercept and weights included."""
    if not regression.mean.size:
        return []
    # Of a g-prior the precision, whose weights may be 0 where those of the rows are not.
    of_prior = regression.prior.rank_tol > 0
    every = np.arange(regression.mean.size)
    gram = regression.prior.precision[1:, 1:] if of_prior else regression.gram_of(every)
    scale = np.sqrt(np.where(np.diag(gram) > 0, np.diag(gram), 1.0))
    gram = gram / np.outer(scale, scale)
    values, vectors = eigh(gram)
    null = vectors[:, values <= DEPENDENT * max(1.0, values[-1])]
    loading = np.max(np.abs(null), axis=1, initial=0.0)
    column_terms = np.repeat(np.arange(regression.n_terms), np.diff(regression.term_start))
    return sorted(set(column_terms[loading > 1e-6].tolist()))


def dependent_alone(regression: Regression | GaussianRegression, terms: Iterable[int]) -> list[int]:
    """Return those of `terms` whose own columns, two and more, are dependent, intercept included."""
    found = []
    for term in terms:
        columns = np.arange(*regression.term_start[term : term + 2]) - 1
        if columns.size > 1:
            values = eigvalsh(regression.gram_of(columns))
            if values[0] <= DEPENDENT * values[-1]:
                found.append(term)
    return found

"""Marginal likelihoods of gaussian models in plain numpy: slow, obvious, the twin of the compiled ones.

Every value is what the textbook says of one model, from its own columns of the cross-products; nothing
is updated, cached or interpolated, and integrals over g are adaptive quadrature.
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy.integrate import quad

from pyrjsel._typing import ByteArray, FloatArray
from pyrjsel.selection.priors.g_mixtures import Mixture


@dataclass(frozen=True)
class LinearTwin:
    """Gaussian models over columns with known cross-products.

    Attributes
    ----------
    gram : ndarray (D, D)
        X'WX.
    cross : ndarray (D,)
        X'Wy.
    square : float
        y'Wy.
    term_start : ndarray (J + 1,)
        Term j owns the columns ``term_start[j]:term_start[j + 1]``; those before are in every model.
    rows : float
        N, the number of rows less those that flat coefficients take.
    a, b : float
        sigma^2 ~ IG(a, b); 0 and 0 for 1 / sigma^2.
    precision : ndarray (D, D), optional
        P of a normal prior N(mean, sigma^2 P^-1).
    mean : ndarray (D,), optional
    flat : int
        Leading columns that P leaves out.
    g : float, optional
        Of a g-prior.
    mixture : Mixture, optional
        Prior on g, with `n` its number of rows.
    n : float
    known : bool
        Whether sigma^2 is 1.
    rank_tol : float
        Columns that keep no more than this share of their sum of squares are dependent.
    """

    gram: FloatArray
    cross: FloatArray
    square: float
    term_start: np.ndarray
    rows: float
    a: float = 0.0
    b: float = 0.0
    precision: FloatArray | None = None
    mean: FloatArray | None = None
    flat: int = 0
    g: float | None = None
    mixture: Mixture | None = None
    n: float = 0.0
    known: bool = False
    rank_tol: float = 0.0

    def columns(self, gamma: ByteArray) -> np.ndarray:
        """Return the columns of a model."""
        ranges = [np.arange(self.term_start[0])]
        ranges += [np.arange(self.term_start[j], self.term_start[j + 1]) for j in np.flatnonzero(gamma)]
        return np.concatenate(ranges)

    def independent(self, matrix: FloatArray) -> bool:
        """Whether every column keeps more than `rank_tol` of its diagonal entry given the others."""
        if self.rank_tol == 0 or not len(matrix):
            return True
        scale = np.sqrt(np.diag(matrix))
        if np.any(scale == 0):
            return False
        values, vectors = np.linalg.eigh(matrix / np.outer(scale, scale))
        if values[0] <= 0:
            return False
        return bool(np.all(1.0 / (vectors**2 @ (1.0 / values)) > self.rank_tol))

    def value(self, gamma: ByteArray) -> float:
        """Return the log marginal likelihood of a model; -inf where it has no prior."""
        columns = self.columns(gamma)
        gram, cross, d = self.gram[np.ix_(columns, columns)], self.cross[columns], columns.size
        nu, total = self.rows + 2.0 * self.a, self.square + 2.0 * self.b
        if self.precision is not None:
            prior = self.precision[np.ix_(columns, columns)]
            proper = prior[self.flat :, self.flat :]
            if not self.independent(proper):
                return -math.inf
            mean = np.zeros(d) if self.mean is None else self.mean[columns]
            right = cross + prior @ mean
            fit = right @ np.linalg.solve(gram + prior, right) - mean @ prior @ mean
            half = 0.5 * (np.linalg.slogdet(proper)[1] - np.linalg.slogdet(gram + prior)[1])
            if self.known:
                return float(half + 0.5 * fit)
            return float(half - 0.5 * nu * math.log(total - fit))
        if not self.independent(gram):
            return -math.inf
        fit = float(cross @ np.linalg.solve(gram, cross))
        if self.g is not None:
            left = total - self.g / (1 + self.g) * fit
            return -0.5 * d * math.log1p(self.g) - 0.5 * nu * math.log(left)
        return self.log_factor(d, fit / total) - 0.5 * nu * math.log(total)

    def log_factor(self, d: int, r2: float) -> float:
        """Return the log Bayes factor against the null model under a mixture, by adaptive quadrature."""
        assert self.mixture is not None
        mixture, nu = self.mixture, self.rows + 2.0 * self.a
        if d == 0:
            return 0.0

        def log_integrand(log_g: FloatArray) -> FloatArray:
            explained = r2 / (1.0 + np.exp(-log_g))
            prior = mixture.log_density(log_g, self.n)
            return np.asarray(prior - 0.5 * d * np.logaddexp(0, log_g) - 0.5 * nu * np.log1p(-explained))

        grid = np.linspace(-60, 150, 21_001)
        height = log_integrand(grid)
        top = float(height.max())
        used = grid[height > top - 45]
        peak = float(grid[int(np.argmax(height))])
        low, high = float(used[0]), float(used[-1])
        total = sum(
            quad(lambda t: float(np.exp(log_integrand(t) - top)), *ends, epsabs=0, epsrel=1e-12, limit=500)[0]
            for ends in ((low, peak), (peak, high))
            if ends[0] < ends[1]
        )
        return top + math.log(total)

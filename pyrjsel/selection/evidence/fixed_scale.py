"""Gaussian models under normal priors that do not scale with sigma: integrals over sigma^2.

With beta ~ N(m, P^-1) independently of sigma, u the response minus X m, l_i the eigenvalues and Q the
eigenvectors of P^-1/2 X'WX P^-1/2, and r = Q'P^-1/2 X'Wu,

    log p(y | sigma^2) = -N/2 log(2 pi sigma^2) - u'Wu / (2 sigma^2)
                         + sum of (r_i^2 / (sigma^2 (sigma^2 + l_i)) - log(1 + l_i / sigma^2)) / 2.

Multiplied by the density of log sigma^2, the likelihood is analytic in a strip around the real line and
decays exponentially on both sides, so the trapezoidal rule converges faster than any power of its step.
"""

from dataclasses import dataclass

import numpy as np

from pyrjsel._core import special
from pyrjsel._typing import ByteArray, FloatArray
from pyrjsel.distributions import DEPTH, draw, find_nodes
from pyrjsel.selection.regression.gaussian import ROUNDING, GaussianRegression

# Largest step in log sigma^2, absolute and relative to the width sqrt(2 / N) of a peak; as for g.
STEP, NARROW = 0.2, 0.6
# On the left of the peak the density of log sigma^2 decays as exp(-S / (2 sigma^2)), on the right as
# sigma^-N.
MARGIN = 12.0
# Numbers in a block of models.
BLOCK = 1_000_000


@dataclass(frozen=True)
class VarianceIntegrals:
    """Integrals over sigma^2 for m models of d columns each.

    Attributes
    ----------
    regression : GaussianRegression
    columns : ndarray (m, d)
        The columns of the models, without the intercept.
    values : ndarray (m, d)
        Eigenvalues l.
    turned : ndarray (m, d)
        r.
    back : ndarray (m, d, d)
        P^-1/2 Q.
    residual : ndarray (m,)
        u'Wu + 2 b.
    """

    regression: GaussianRegression
    columns: np.ndarray
    values: FloatArray
    turned: FloatArray
    back: FloatArray
    residual: FloatArray

    @classmethod
    def of(cls, regression: GaussianRegression, columns: np.ndarray) -> "VarianceIntegrals":
        """Prepare models of `columns` (m, d)."""
        prior = regression.prior
        scale = 1.0 / np.sqrt(prior.precision[columns])
        mean = prior.mean[columns]
        if regression.held:
            gram = regression.gram[columns[:, :, None], columns[:, None, :]]
        else:
            gram = np.stack([regression.gram_of(row) for row in columns])
        cross = regression.cross[columns]
        explained = np.einsum("mkl,ml->mk", gram, mean)
        residual = regression.total + np.einsum("mk,mk->m", explained - 2.0 * cross, mean)
        # Columns by decreasing prior scale: small eigenvalues of such a graded matrix are accurate.
        order = np.argsort(-scale, axis=1)
        rows = np.arange(len(columns))[:, None]
        gram_scaled = gram * scale[:, :, None] * scale[:, None, :]
        graded = gram_scaled[rows[:, :, None], order[:, :, None], order[:, None, :]]
        values, found = np.linalg.eigh(graded)
        vectors = np.empty_like(found)
        vectors[rows, order] = found
        turned = np.einsum("mkl,mk->ml", vectors, scale * (cross - explained))
        return cls(
            regression, columns, np.maximum(values, 0.0), turned, scale[:, :, None] * vectors, residual
        )

    @property
    def least(self) -> FloatArray:
        """Smallest residual sums of squares, (m,)."""
        known = self.values > ROUNDING * np.max(self.values, axis=1, initial=0.0, keepdims=True)
        explained = np.where(known, self.turned**2 / np.where(known, self.values, 1.0), 0.0)
        return np.asarray(self.residual - explained.sum(axis=1))

    def log_density(self, log_variance: FloatArray) -> FloatArray:
        """Return log p(y, log sigma^2 | model), (m, k), at nodes (k,), including constants."""
        # mathematics: selection-fixed-scale
        regression = self.regression
        variance = np.exp(log_variance)
        out = np.multiply.outer(-0.5 * self.residual, 1.0 / variance)
        out -= 0.5 * regression.nu * log_variance
        for k in range(self.values.shape[1]):
            value, square = self.values[:, k, None], self.turned[:, k, None] ** 2
            out += 0.5 * (square / (variance * (variance + value)) - np.log1p(value / variance))
        constant = 0.5 * (regression.log_weight - np.log(regression.total_weight))
        constant -= 0.5 * regression.rows * np.log(2.0 * np.pi)
        if regression.a > 0:
            constant += regression.a * np.log(regression.b) - special.gammaln(regression.a)
        return np.asarray(out + constant)

    def nodes(self) -> tuple[FloatArray, FloatArray, float]:
        """Return nodes (k,) of log sigma^2, log densities (m, k) there, and the step."""
        nu = self.regression.nu
        least = np.maximum(self.least, ROUNDING * self.residual)
        low = float(np.log(least.min() / nu)) - MARGIN
        high = float(np.log(self.residual.max() / nu)) + MARGIN + 2.0 * DEPTH / nu
        step = min(STEP, NARROW / np.sqrt(0.5 * nu + 1.0))
        return *find_nodes(self.log_density, low, high, step), step

    def sample(self, size: int, rng: np.random.Generator) -> FloatArray:
        """Draw sigma^2 given the first model, shape (size,)."""
        nodes = self.nodes()[0]
        return np.asarray(np.exp(draw(self.log_density, nodes, size, rng)))

    def log_marginals(self) -> FloatArray:
        """Return log marginal likelihoods (m,); inf for a perfect fit without a proper prior of sigma^2."""
        _, value, step = self.nodes()
        top = value.max(axis=1)
        out = top + np.log(np.exp(value - top[:, None]).sum(axis=1) * step)
        if self.regression.b == 0:
            out[self.least <= ROUNDING * self.residual] = np.inf
        return np.asarray(out)

    def given(self, variance: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return posterior means and covariances of the first model's coefficients given sigma^2.

        Parameters
        ----------
        variance : ndarray (k,)
            Values of sigma^2.

        Returns
        -------
        tuple of ndarrays (k, d) and (k, d, d)
            Means, and factors F of covariances F F'.
        """
        left = variance[:, None] + self.values[0]
        mean = self.regression.prior.mean[self.columns[0]] + (self.turned[0] / left) @ self.back[0].T
        return mean, self.back[0] * np.sqrt(variance[:, None] / left)[:, None, :]


def log_marginals(regression: GaussianRegression, gamma: ByteArray) -> FloatArray:
    """Return log marginal likelihoods of models `gamma` (m, J), in blocks of models of equal size."""
    sizes = np.diff(regression.term_start)
    columns = np.repeat(np.asarray(gamma, dtype=bool), sizes, axis=1)
    width = columns.sum(axis=1)
    out = np.empty(len(columns))
    for d in np.unique(width):
        rows = np.flatnonzero(width == d)
        step = max(1, BLOCK // max(1, int(d) ** 2, 500))
        for at in range(0, rows.size, step):
            part = rows[at : at + step]
            which = np.nonzero(columns[part])[1].reshape(part.size, int(d))
            out[part] = VarianceIntegrals.of(regression, which).log_marginals()
    return out

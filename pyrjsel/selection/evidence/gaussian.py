"""Single gaussian models: marginal likelihood, deviance, moments and draws of coefficients and sigma^2."""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_solve, eigh, lstsq
from scipy.special import ndtr, stdtr

from pyrjsel._errors import DataError
from pyrjsel._typing import ByteArray, FloatArray
from pyrjsel.selection.evidence.conjugate import score_of
from pyrjsel.selection.evidence.fixed_scale import VarianceIntegrals, log_marginals
from pyrjsel.selection.priors.gaussian import RANK_TOL
from pyrjsel.selection.regression.gaussian import GaussianRegression

# Residual sums of squares come from the rows where a share of a column or of the response below this is left:
# sums of squares then have lost more than half of their digits.
DOUBTFUL = 1e-8
# Of a perfect fit least squares leave rounding errors of at most a dozen eps of what they are differences of,
# at 200 rows and columns; this is times the root of their number.
PERFECT = 8.0 * np.finfo(float).eps


@dataclass(frozen=True)
class ModelMoments:
    """Posterior moments of one model, in units of the design's own columns.

    Attributes
    ----------
    columns : ndarray (d,)
        Columns of the model, the intercept (0) first.
    mean, square, positive : ndarray (d,)
        Posterior means, mean squares and probabilities of being positive. Means are NaN and mean squares
        inf where a Student distribution of too few degrees of freedom has none.
    variance : float
        Posterior mean of sigma^2, inf where there is none.
    """

    columns: np.ndarray
    mean: FloatArray
    square: FloatArray
    positive: FloatArray
    variance: float


@dataclass(frozen=True)
class _Scatter:
    """Coefficients of internal columns given nodes of (g, sigma^2): a mixture over nodes.

    Given node i, coefficients are normal (df = inf) or Student with means `mean[i]` and scale matrices
    ``inner[i] V``, the centred intercept with scale ``outer[i]``.
    """

    weight: FloatArray  # (k,)
    mean: FloatArray  # (k, d)
    factor: FloatArray  # (k, d, d) or (1, d, d): F with scale matrix inner F F'
    inner: FloatArray  # (k,)
    outer: FloatArray  # (k,)
    df: float


class SingleModels:
    """Single models of a gaussian regression: marginal likelihoods, moments, draws.

    Parameters
    ----------
    regression : GaussianRegression
        The problem.
    """

    def __init__(self, regression: GaussianRegression) -> None:
        self.regression = regression

    def _columns(self, gamma: np.ndarray) -> np.ndarray:
        """Return the columns of a model, from 0, the intercept's not among them."""
        return self.regression.model_columns(gamma)[1:] - 1

    def exists(self, gamma: np.ndarray) -> bool:
        """Return whether model `gamma` (J,) has a coefficient prior."""
        prior, columns = self.regression.prior, self._columns(gamma)
        if prior.rank_tol == 0 or not columns.size:
            return True
        gram = self.regression.gram_of(columns)
        scale = np.sqrt(np.diag(gram))
        if columns.size > self.regression.rows or np.any(scale == 0):
            return False
        values, vectors = eigh(gram / np.outer(scale, scale))
        # A column keeps the share 1 / (C^-1)_kk of its sum of squares given the others.
        return bool(values[0] > 0 and np.all(vectors**2 @ (1.0 / values) < 1.0 / prior.rank_tol))

    def log_marginal(self, gamma: np.ndarray) -> float:
        """Return log p(y | model) of model `gamma` (J,); -inf where it has no coefficient prior.

        The improper densities of the intercept and, without a prior of it, of log sigma^2 count as 1.
        """
        if not self.exists(gamma):
            return -np.inf
        regression = self.regression
        if regression.prior.kind == "unscaled":
            return float(log_marginals(regression, np.atleast_2d(gamma))[0])
        d, factor, _, fit = self._solve(gamma)
        half = 0.5 * float(regression.prior.log_weights[self._columns(gamma)].sum())
        log_det = half - float(np.sum(np.log(np.diag(factor))))
        return score_of(regression, d).value(d, log_det, fit) + regression.constant

    def log_marginals(self, gammas: ByteArray) -> FloatArray:
        """Return log p(y | model) of models `gammas` (m, J)."""
        return np.array([self.log_marginal(gamma) for gamma in gammas])

    def deviance(self, gamma: np.ndarray) -> float:
        """Return -2 log-likelihood of model `gamma` (J,) at its maximum.

        That is -2 times the ``llf`` of statsmodels' OLS and WLS; -inf for a perfect fit. Where columns are
        nearly dependent or the fit nearly perfect, sums have lost the digits of what is left, and least
        squares on the rows know it, where there are rows.
        """
        regression, columns = self.regression, self._columns(gamma)
        gram, cross = regression.gram_of(columns), regression.cross[columns]
        scale = np.sqrt(np.where(np.diag(gram) > 0, np.diag(gram), 1.0))
        fit, least = 0.0, 1.0
        if columns.size:
            values, vectors = eigh(gram / np.outer(scale, scale))
            kept = values > RANK_TOL
            fit = float(np.sum(((cross / scale) @ vectors[:, kept]) ** 2 / values[kept]))
            least = float(values[0])
        residual = max(regression.square - fit, 0.0)
        doubtful = least < DOUBTFUL or residual < DOUBTFUL * regression.square
        if doubtful and regression.square > 0 and regression.rooted is not None:
            residual = self._residual(columns)
        n = regression.n
        with np.errstate(divide="ignore"):
            return float(n * np.log(2.0 * np.pi * residual / n) + n - regression.log_weight)

    def _residual(self, columns: np.ndarray) -> float:
        """Return the sum of squares that the rows leave to the error beside some columns, from 0.

        It is 0 where no more than rounding is left.
        """
        regression = self.regression
        assert regression.rooted is not None
        assert regression.y is not None
        root = 1.0 if regression.weights is None else np.sqrt(regression.weights)
        target = regression.y - (0.0 if regression.offset is None else regression.offset)
        left, x = root * (target - regression.centre), regression.rooted[columns].T
        # Rounding leaves singular values of about this to columns that are dependent.
        b = lstsq(x, left, cond=max(x.shape) * np.finfo(float).eps)[0]
        left = left - x @ b
        parts = np.sum((root * target) ** 2) + np.sum((x * b) ** 2)
        residual = float(left @ left)
        return 0.0 if residual <= max(x.shape) * PERFECT**2 * parts else residual

    def separated(self, gammas: np.ndarray) -> dict[int, tuple[int, ...]]:
        """Return no models: maximum likelihood estimates of gaussian models are finite."""
        return {}

    def moments(self, gamma: np.ndarray, about: float = 0.0) -> ModelMoments:
        """Return posterior moments of the coefficients of model `gamma` (J,) and of sigma^2.

        Mean and mean square of the intercept are those of what it is more than `about`.
        """
        regression, columns = self.regression, self._columns(gamma)
        nodes = self._scatter(gamma)
        spread = 1.0 if np.isinf(nodes.df) else nodes.df / (nodes.df - 2.0) if nodes.df > 2 else np.inf
        form = np.vstack([-regression.raw_shift[1:][columns], np.diag(1.0 / regression.scale[columns])])
        mean = nodes.mean @ form.T
        mean[:, 0] += regression.centre
        scale = nodes.inner[:, None] * np.sum((form @ nodes.factor) ** 2, axis=2)
        scale[:, 0] += nodes.outer
        ratio = mean / np.sqrt(scale)
        positive = ndtr(ratio) if np.isinf(nodes.df) else stdtr(nodes.df, ratio)
        mean[:, 0] -= about
        return ModelMoments(
            np.concatenate([[0], columns + 1]),
            nodes.weight @ mean if nodes.df > 1 else np.full(mean.shape[1], np.nan),
            nodes.weight @ (mean**2 + scale * spread),
            nodes.weight @ positive,
            float(nodes.weight @ nodes.outer) * regression.total_weight * spread,
        )

    def sample(self, gamma: np.ndarray, size: int, rng: np.random.Generator) -> FloatArray:
        """Draw internal coefficients of model `gamma` (J,) given the data, shape (size, D + 1)."""
        return self.sample_with_variance(gamma, size, rng)[0]

    def sample_with_variance(
        self, gamma: np.ndarray, size: int, rng: np.random.Generator
    ) -> tuple[FloatArray, FloatArray]:
        """Draw internal coefficients and sigma^2 of one model given the data; independent and exact.

        Parameters
        ----------
        gamma : ndarray (J,)
            The model.
        size : int
            Number of draws.
        rng : Generator
            Source of random numbers.

        Returns
        -------
        tuple of ndarrays (size, D + 1) and (size,)
            Coefficients of centred and scaled columns, the intercept first, and sigma^2.
        """
        regression, columns = self.regression, self._columns(gamma)
        out = np.zeros((size, regression.n_columns))
        if regression.prior.kind == "unscaled":
            integrals = VarianceIntegrals.of(regression, columns[None, :])
            variance = integrals.sample(size, rng)
            mean, factor = integrals.given(variance)
        else:
            d, triangle, b, fit = self._solve(gamma)
            shrink = self._draw_shrinkage(d, fit, size, rng)
            residual = regression.total - shrink * fit
            variance = 0.5 * residual / rng.standard_gamma(0.5 * regression.nu, size)
            mean = shrink[:, None] * b
            factor = np.sqrt(shrink * variance)[:, None, None] * _inverse_factor(triangle)
        noise = rng.standard_normal((size, columns.size))
        out[:, columns + 1] = mean + np.einsum("nkl,nl->nk", factor, noise)
        out[:, 0] = regression.centre + np.sqrt(variance / regression.total_weight) * rng.standard_normal(
            size
        )
        return out, variance

    # ------------------------------------------------------------------ pieces

    def _solve(self, gamma: np.ndarray) -> tuple[int, FloatArray, FloatArray, float]:
        """Return d, the Cholesky factor of A, A^-1 c and the fit of a model."""
        regression, columns = self.regression, self._columns(gamma)
        precision, right = regression.prior.precision[columns], regression.right[columns]
        a = regression.gram_of(columns) + np.diag(precision)
        try:
            factor = np.linalg.cholesky(a)
        except np.linalg.LinAlgError as error:
            raise DataError("The columns of a model are linearly dependent: it has no posterior.") from error
        b: FloatArray = cho_solve((factor, True), right) if columns.size else np.zeros(0)
        return (
            columns.size,
            np.asarray(factor, dtype=np.float64),
            b,
            float(right @ b - regression.penalty[columns].sum()),
        )

    def _draw_shrinkage(self, d: int, fit: float, size: int, rng: np.random.Generator) -> FloatArray:
        prior, regression = self.regression.prior, self.regression
        if prior.kind == "g":
            return np.full(size, prior.g / (1.0 + prior.g))
        if prior.kind == "mixture" and d > 0:
            g = regression.shrinkage.sample(d, _r2(fit, regression.total), size, rng)
            return g / (1.0 + g)
        return np.ones(size)

    def _scatter(self, gamma: np.ndarray) -> _Scatter:
        regression, prior = self.regression, self.regression.prior
        columns, total_weight = self._columns(gamma), self.regression.total_weight
        if prior.kind == "unscaled":
            integrals = VarianceIntegrals.of(regression, columns[None, :])
            nodes, value, _ = integrals.nodes()
            weight = np.exp(value[0] - value[0].max())
            variance = np.exp(nodes)
            mean, factor = integrals.given(variance)
            one = np.ones(nodes.size)
            return _Scatter(weight / weight.sum(), mean, factor, one, variance / total_weight, np.inf)
        d, triangle, b, fit = self._solve(gamma)
        weight, shrink = np.ones(1), np.ones(1)
        if prior.kind == "g":
            shrink = np.array([prior.g / (1.0 + prior.g)])
        elif prior.kind == "mixture" and d > 0:
            nodes, weight = regression.shrinkage.posterior(d, _r2(fit, regression.total))
            shrink = 1.0 / (1.0 + np.exp(-nodes))
        scale = (regression.total - shrink * fit) / regression.nu
        factor = _inverse_factor(triangle)[None]
        return _Scatter(
            weight, shrink[:, None] * b, factor, shrink * scale, scale / total_weight, regression.nu
        )


def _inverse_factor(triangle: FloatArray) -> FloatArray:
    """Return F with F F' = (L L')^-1."""
    return np.asarray(np.linalg.solve(triangle.T, np.eye(len(triangle))))


def _r2(fit: float, total: float) -> float:
    """Return R^2, off 1 where rounding or as many columns as rows bring it there."""
    return min(max(fit / total, 0.0), 1.0 - 1e-13)

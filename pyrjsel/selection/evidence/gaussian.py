"""Evidence of gaussian models: compiled, for chains; and of single models, with moments and draws."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.linalg import lapack, qr, solve_triangular

from pyrjsel._core import special
from pyrjsel._errors import DataError, NotAvailableError
from pyrjsel._typing import ByteArray, FloatArray
from pyrjsel.selection.evidence._conjugate import ConjugateEvidence
from pyrjsel.selection.evidence._refitted import RefittedEvidence
from pyrjsel.selection.evidence._spike import DensityEvidence, SpikeEvidence
from pyrjsel.selection.evidence._variance import NormalEvidence, VarianceEvidence
from pyrjsel.selection.evidence.fixed_scale import VarianceIntegrals, log_marginals
from pyrjsel.selection.evidence.importance import inverse
from pyrjsel.selection.priors._score import GaussianScore
from pyrjsel.selection.priors.gaussian import DOUBTFUL
from pyrjsel.selection.regression._gram import ColumnGram, FullGram, Gram
from pyrjsel.selection.regression.columns import Directions, independent
from pyrjsel.selection.regression.gaussian import GaussianRegression
from pyrjsel.selection.regression.wide import WideColumns

# Number of rows of a Gram matrix that are kept if they are computed on demand.
FEWEST_KEPT = 64
# Values of models that fit nearly perfectly that are kept by a chain.
REFITS = 2**14


def variance_evidence(regression: GaussianRegression) -> VarianceEvidence:
    """Return log marginal likelihoods: for spike-and-slab priors that scale with sigma, or given sigma^2.

    Values include all constants, with improper densities of the flat intercept and of log sigma^2 taken as 1;
    values given sigma^2 are log p(y, sigma^2 | model).

    Raises
    ------
    NotAvailableError
        For priors with marginal likelihoods in closed form, except spike-and-slab priors.
    """
    prior = regression.prior
    volume = 0.5 * (regression.log_weight - np.log(regression.total_weight))
    capacity = max(FEWEST_KEPT, regression.n)
    if prior.given_variance:
        if regression.held:
            base: FullGram | ColumnGram = FullGram(regression.gram)
        else:
            assert isinstance(regression.rooted, np.ndarray)
            base = ColumnGram(regression.rooted, np.zeros(regression.mean.size), capacity)
        return NormalEvidence(
            base,
            regression.cross,
            regression.starts,
            regression.square,
            prior.precision,
            prior.mean,
            regression.sigma,
            float(regression.rows),
            volume,
        )
    if prior.ratio is None:
        raise NotAvailableError("Under this prior sigma^2 and the coefficients are integrated out.")
    spectrum = regression.spectrum
    return SpikeEvidence(
        spectrum.columns,
        spectrum.value,
        spectrum.image,
        spectrum.rest,
        prior.precision,
        prior.ratio,
        regression.starts,
        regression.sigma,
        float(regression.rows),
        volume,
        prior.scaled,
        capacity,
    )


def density_evidence(regression: GaussianRegression) -> DensityEvidence:
    """Return log p(coefficients, sigma^2 | model) of a regression with a spike-and-slab prior."""
    prior = regression.prior
    assert prior.ratio is not None
    return DensityEvidence(prior.precision, prior.ratio, regression.starts, regression.sigma, prior.scaled)


def score_of(regression: GaussianRegression, most: int) -> GaussianScore:
    """Return the score of the prior for models of at most `most` columns.

    Raises
    ------
    NotAvailableError
        For priors that do not scale with sigma, and for spike-and-slab priors.
    """
    if regression.prior.in_state:
        raise NotAvailableError(
            "Marginal likelihoods under SpikeSlab or priors with scaled=False have no closed form. "
            "Fit with sampler='gibbs'."
        )
    return regression.prior.score(regression, most)


def provider_of(regression: GaussianRegression) -> Gram:
    """Return the rows of X'WX + P for one thread: stored, or computed on demand."""
    if regression.held:
        return FullGram(regression.matrix)
    if isinstance(regression.rooted, WideColumns):
        return regression.rooted.gram(regression.prior.precision)
    assert regression.rooted is not None
    capacity = max(FEWEST_KEPT, regression.n // 8)
    return ColumnGram(regression.rooted, regression.prior.precision, capacity)


def evidence_of(
    regression: GaussianRegression, provider: Gram | None = None
) -> ConjugateEvidence | RefittedEvidence:
    """Return log marginal likelihoods for chains over models, up to ``regression.constant``.

    Parameters
    ----------
    regression : GaussianRegression
    provider : Gram, optional
        From :func:`provider_of`; several chains of one thread may share one.

    Returns
    -------
    ConjugateEvidence or RefittedEvidence
        Marginal likelihoods of this regression.

    Raises
    ------
    NotAvailableError
        For priors that do not scale with sigma.
    """
    if regression.prior.scaled and regression.prior.ratio is not None:
        return variance_evidence(regression)
    most = regression.widest(regression.n_terms) - 1
    close, perfect = regression.close, regression.near_perfect
    inner = ConjugateEvidence(
        score_of(regression, most),
        provider_of(regression) if provider is None else provider,
        regression.right,
        regression.starts,
        log_weights=regression.prior.log_weights,
        penalty=regression.penalty,
        rank_tol=DOUBTFUL if close else regression.prior.rank_tol,
        most=most,
        most_fit=(1.0 - DOUBTFUL) * regression.total if perfect else np.inf,
    )
    if not close and not perfect:
        return inner
    single = SingleModels(regression)

    @lru_cache(maxsize=REFITS)
    def find(model: bytes) -> float:
        return single.log_marginal(np.frombuffer(model, np.uint8)) - regression.constant

    return RefittedEvidence(
        regression.n_terms,
        inner,
        regression.triangle,
        regression.rounding,
        regression.starts,
        2.0 * regression.b,
        (1.0 - DOUBTFUL) * regression.total if regression.prior.quadrature else np.inf,
        find,
    )


@dataclass(frozen=True)
class ModelMoments:
    """Posterior moments of one model, in units of the design's own columns.

    Attributes
    ----------
    columns : ndarray (d,)
        Columns of the model, the intercept (0) first.
    mean, square, positive : ndarray (d,)
        Posterior means, mean squares and probabilities of being positive. Means are NaN and mean squares inf
        if a Student distribution has too few degrees of freedom.
    variance : float
        Posterior mean of sigma^2, inf if it does not exist.
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


@dataclass(frozen=True)
class _Solved:
    """The solution of a model: the Cholesky factor of A, A^-1 c, the fit and what it leaves of the total."""

    factor: FloatArray  # (d, d)
    b: FloatArray  # (d,)
    fit: float
    left: float
    total: float
    from_rows: bool = False
    independent: bool = True

    def residual(self, shrink: FloatArray) -> FloatArray:
        """Return the residual sums of squares at values (k,) of the shrinkage factor."""
        if self.from_rows:
            return self.left + (1.0 - shrink) * self.fit
        return self.total - shrink * self.fit


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
        """Return the columns of a model, from 0, without the intercept."""
        return self.regression.model_columns(gamma)[1:] - 1

    @property
    def _by_rows(self) -> bool:
        """Whether models whose sums of squares have lost too many digits are decomposed by their rows."""
        return self.regression.prior.rank_tol > 0 and self.regression.rooted is not None

    def exists(self, gamma: np.ndarray) -> bool:
        """Return whether model `gamma` (J,) has a coefficient prior."""
        prior, columns = self.regression.prior, self._columns(gamma)
        return prior.rank_tol == 0 or independent(self.regression, columns)

    def log_marginal(self, gamma: np.ndarray) -> float:
        """Return log p(y | model) of model `gamma` (J,); -inf if it has no coefficient prior.

        The improper densities of the intercept and, without a prior of it, of log sigma^2 count as 1.
        """
        regression = self.regression
        if self._columns(gamma).size > regression.most_columns and regression.prior.rank_tol > 0:
            return -np.inf
        if not self._by_rows and not self.exists(gamma):
            return -np.inf
        if not regression.prior.scaled:
            return float(log_marginals(regression, np.atleast_2d(gamma))[0])
        found = self._solve(gamma)
        if not found.independent:
            return -np.inf
        d = found.b.size
        if found.from_rows:
            return regression.prior.log_value(regression, d, found.left) + regression.constant
        half = 0.5 * float(regression.prior.log_weights[self._columns(gamma)].sum())
        log_det = half - float(np.sum(np.log(np.diag(found.factor))))
        return score_of(regression, d).value(d, log_det, found.fit) + regression.constant

    def log_marginals(self, gammas: ByteArray) -> FloatArray:
        """Return log p(y | model) of models `gammas` (m, J)."""
        return np.array([self.log_marginal(gamma) for gamma in gammas])

    def deviance(self, gamma: np.ndarray) -> float:
        """Return -2 log-likelihood of model `gamma` (J,) at its maximum.

        That is -2 times the ``llf`` of statsmodels' OLS and WLS; -inf for a perfect fit. If columns are
        nearly dependent or the fit is nearly perfect, sums are not accurate enough, and it is computed by
        least squares on the rows, if they are available.
        """
        regression, columns = self.regression, self._columns(gamma)
        directions = Directions.of(regression.gram_of(columns))
        residual = max(regression.square - directions.fit(regression.cross[columns]), 0.0)
        doubtful = directions.values.min(initial=1.0) < DOUBTFUL or residual < DOUBTFUL * regression.square
        if doubtful and regression.square > 0 and regression.rooted is not None:
            residual = regression.least_squares(columns)
        n = regression.n
        with np.errstate(divide="ignore"):
            return float(n * np.log(2.0 * np.pi * residual / n) + n - regression.log_weight)

    def moments(self, gamma: np.ndarray, about: float = 0.0) -> ModelMoments:
        """Return posterior moments of the coefficients of model `gamma` (J,) and of sigma^2.

        Mean and mean square of the intercept are those of its difference from `about`.
        """
        regression, columns = self.regression, self._columns(gamma)
        nodes = self._scatter(gamma)
        spread = 1.0 if np.isinf(nodes.df) else nodes.df / (nodes.df - 2.0) if nodes.df > 2 else np.inf
        form = np.vstack([-regression.raw_shift[1:][columns], np.diag(1.0 / regression.scale[columns])])
        mean = nodes.mean @ form.T
        mean[:, 0] += regression.centre
        scale = nodes.inner[:, None] * np.sum((form @ nodes.factor) ** 2, axis=2)
        scale[:, 0] += nodes.outer
        # Of a coefficient that is known, as all are 0 under EmpiricalBayes where g is, only the sign matters.
        sign = np.where(mean > 0, np.inf, -np.inf)
        ratio = np.divide(mean, np.sqrt(scale), out=sign, where=scale > 0)
        positive = special.ndtr(ratio) if np.isinf(nodes.df) else special.stdtr(nodes.df, ratio)
        mean[:, 0] -= about
        return ModelMoments(
            np.concatenate([[0], columns + 1]),
            nodes.weight @ mean if nodes.df > 1 else np.full(mean.shape[1], np.nan),
            nodes.weight @ (mean**2 + scale * spread),
            nodes.weight @ positive,
            float(nodes.weight @ nodes.outer) * regression.total_weight * spread,
        )

    def sample(
        self, gamma: np.ndarray, size: int, rng: np.random.Generator
    ) -> tuple[FloatArray, dict[str, FloatArray]]:
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
        coefficients : ndarray (size, D + 1)
            Coefficients of centred and scaled columns, the intercept first.
        nuisance : dict of str to ndarray (size,)
            The error variance, by its name.
        """
        columns, own, nuisance = self.sample_own(gamma, size, rng)
        coefficients = np.zeros((size, self.regression.n_columns))
        coefficients[:, columns] = own
        return coefficients, nuisance

    def sample_own(
        self, gamma: np.ndarray, size: int, rng: np.random.Generator
    ) -> tuple[np.ndarray, FloatArray, dict[str, FloatArray]]:
        """Draw as :meth:`sample` does, only for the columns of the model (d,), the intercept (0) first."""
        regression, columns = self.regression, self._columns(gamma)
        out = np.empty((size, columns.size + 1))
        if not regression.prior.scaled:
            integrals = VarianceIntegrals.of(regression, columns[None, :])
            variance = integrals.sample(size, rng)
            mean, factor = integrals.given(variance)
            away = np.einsum("nkl,nl->nk", factor, rng.standard_normal((size, columns.size)))
        else:
            found = self._solve(gamma)
            d = found.b.size
            shrink = regression.prior.draw_shrinkage(regression, d, found.fit, found.left, size, rng)
            residual = found.residual(shrink)
            variance = (
                0.5 * residual / rng.standard_gamma(0.5 * regression.prior.freedom(regression, d)[-1], size)
            )
            mean = shrink[:, None] * found.b
            scaled = np.sqrt(shrink * variance)[:, None] * rng.standard_normal((size, columns.size))
            away = scaled @ inverse(found.factor)
        out[:, 1:] = mean + away
        out[:, 0] = regression.centre + np.sqrt(variance / regression.total_weight) * rng.standard_normal(
            size
        )
        return np.concatenate([[0], columns + 1]), out, {"variance": variance}

    # ------------------------------------------------------------------ parts

    def _solve(self, gamma: np.ndarray) -> _Solved:
        """Return the solution of a model; from the rows if its sums of squares have lost too many digits."""
        regression, columns = self.regression, self._columns(gamma)
        precision, right = regression.prior.precision[columns], regression.right[columns]
        if not columns.size:
            return _Solved(np.empty((0, 0)), np.empty(0), 0.0, regression.total, regression.total)
        a = regression.gram_of(columns)
        a.flat[:: columns.size + 1] += precision
        own = a.diagonal().copy()
        factor, failed = lapack.dpotrf(a, lower=1, clean=1)
        known = self._by_rows
        if known and (failed or np.any(factor.diagonal() ** 2 < DOUBTFUL * own)):
            return self._from_rows(columns)
        if failed:
            raise DataError("The columns of a model are linearly dependent: it has no posterior.")
        b = lapack.dpotrs(factor, right, lower=1)[0]
        fit = float(right @ b - regression.penalty[columns].sum())
        left = regression.total - fit
        if known and regression.prior.quadrature and left < DOUBTFUL * regression.total:
            return self._from_rows(columns)
        return _Solved(factor, b, fit, left, regression.total)

    def _from_rows(self, columns: np.ndarray) -> _Solved:
        """Return the solution under a g-prior or a criterion by the QR decomposition of the rows."""
        regression, d = self.regression, columns.size
        rows = regression.rows_with_response(columns)
        (triangle,) = qr(rows.T, mode="r", check_finite=False)
        upper, image = triangle[:d, :d], triangle[:d, d]
        length = np.sqrt(np.einsum("ij,ij->i", rows[:-1], rows[:-1]))
        if np.any(np.abs(np.diag(upper)) <= regression.rounding[columns] * length):
            return _Solved(upper.T, image, 0.0, 0.0, regression.total, True, independent=False)
        b = solve_triangular(upper, image)
        left = float(np.sum(triangle[d:, d] ** 2))
        left = regression.residual(rows, rows[:-1] * b[:, None], left) + 2.0 * regression.b
        return _Solved(upper.T, b, float(image @ image), left, regression.total, True)

    def _scatter(self, gamma: np.ndarray) -> _Scatter:
        regression, prior = self.regression, self.regression.prior
        columns, total_weight = self._columns(gamma), self.regression.total_weight
        if not prior.scaled:
            integrals = VarianceIntegrals.of(regression, columns[None, :])
            nodes, value, _ = integrals.nodes()
            weight = np.exp(value[0] - value[0].max())
            variance = np.exp(nodes)
            mean, factor = integrals.given(variance)
            one = np.ones(nodes.size)
            return _Scatter(weight / weight.sum(), mean, factor, one, variance / total_weight, np.inf)
        found = self._solve(gamma)
        d = found.b.size
        shrink, weight = prior.shrinkage_nodes(regression, d, found.fit, found.left)
        df = float(regression.prior.freedom(regression, d)[-1])
        scale = found.residual(shrink) / df
        factor = inverse(found.factor).T[None]
        return _Scatter(weight, shrink[:, None] * found.b, factor, shrink * scale, scale / total_weight, df)

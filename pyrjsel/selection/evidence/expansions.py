"""Marginal likelihoods of models of rows in chunks: modes of many models by the same passes."""

from collections.abc import Callable
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import numpy as np
from scipy.linalg import cho_solve, lstsq, solve_triangular
from scipy.special import ndtr

from pyrjsel._errors import DataError
from pyrjsel._typing import BoolArray, ByteArray, FloatArray, IntArray
from pyrjsel.model_space import pack
from pyrjsel.selection.evidence._conjugate import ConjugateEvidence
from pyrjsel.selection.evidence.joint import log_student
from pyrjsel.selection.evidence.laplace import PROPOSAL_DF, Integral, radii
from pyrjsel.selection.priors._score import GaussianScore
from pyrjsel.selection.regression._gram import FullGram
from pyrjsel.selection.regression.chunked import ChunkedRegression, Derivatives
from pyrjsel.selection.regression.columns import independent

# A mode is found where a Newton step would change the log posterior by less than half of this. Laplace values
# include that change, so that their error is of higher order.
CLOSE = 1e-6
# A step is taken unless it lowers the log posterior by more than this proportion, its rounding error.
ROUNDING = 1e-12
# Largest number of passes of one search.
MOST_PASSES = 40


def square(lower: FloatArray, width: int) -> FloatArray:
    """Return a symmetric matrix (W, W) from its lower triangle, row by row."""
    out = np.zeros((width, width))
    out[np.tril_indices(width)] = lower
    return np.asarray(out + np.tril(out, -1).T)


class Modes:
    """Newton's method for several models, all of which each pass brings further.

    Parameters
    ----------
    inside : bool array (m, D + 1)
        Columns of each model, the intercept among them.
    precision, shift : ndarray (D + 1, D + 1) and (D + 1,)
        Those of the prior.
    start : ndarray (m, D + 1)
        First points, 0 outside the models.
    """

    # Arrays of a state, which a checkpoint contains.
    STATE = ("point", "step", "scale", "value", "fall", "gradient", "information", "ends")

    def __init__(
        self, inside: BoolArray, precision: FloatArray, shift: FloatArray, start: FloatArray
    ) -> None:
        m, width = start.shape
        self.inside, self.precision, self.shift = inside, precision, shift
        self.point, self.step, self.scale = start.copy(), np.zeros((m, width)), np.ones(m)
        # Log-likelihoods; twice the gain that a Newton step promises.
        self.value, self.fall = np.full(m, -np.inf), np.full(m, np.inf)
        self.gradient, self.ends = np.zeros((m, width)), np.zeros((m, 2))
        self.information = np.zeros((m, width * (width + 1) // 2))

    @property
    def open(self) -> IntArray:
        """The models whose mode is not found."""
        return np.flatnonzero(self.fall > CLOSE)

    @property
    def known(self) -> BoolArray:
        """Mask of the models with a value, (m,)."""
        return np.isfinite(self.value)

    @property
    def points(self) -> FloatArray:
        """The points for the next pass, one for each open model."""
        return np.asarray(self.point + self.scale[:, None] * self.step)[self.open]

    def _log_prior(self, b: FloatArray) -> FloatArray:
        return np.asarray(b @ self.shift - 0.5 * np.einsum("mk,kl,ml->m", b, self.precision, b))

    def take(self, found: Derivatives) -> None:
        """Move to the points of a pass that are better, and halve the steps to the others."""
        rows, points = self.open, self.points
        with np.errstate(invalid="ignore"):
            gain = (
                found.value + self._log_prior(points) - self.value[rows] - self._log_prior(self.point[rows])
            )
        better = np.isfinite(found.value) & (gain >= -ROUNDING * np.abs(found.value))
        for row, k in zip(rows[better], np.flatnonzero(better), strict=True):
            self.point[row], self.value[row], self.scale[row] = points[k], found.value[k], 1.0
            self.gradient[row], self.information[row] = found.gradient[k], found.information[k]
            self.ends[row] = found.ends[k]
            columns = np.flatnonzero(self.inside[row])
            slope = self.slope(row)
            move = cho_solve((self.factor(row), True), slope)
            self.step[row, columns] = move
            self.fall[row] = slope @ move
        self.scale[rows[~better]] /= 2.0

    def slope(self, row: int) -> FloatArray:
        """Return the gradient of the log posterior in the columns of a model, (d,)."""
        full = self.gradient[row] + self.shift - self.precision @ self.point[row]
        return np.asarray(full[self.inside[row]])

    def likelihood(self, row: int) -> FloatArray:
        """Return the information (d, d) of the likelihood of a model."""
        inside = self.inside[row]
        return square(self.information[row], inside.size)[np.ix_(inside, inside)]

    def factor(self, row: int) -> FloatArray:
        """Return the Cholesky factor (d, d) of minus the second derivatives of the log posterior.

        Raises
        ------
        DataError
            If they are not positive definite.
        """
        inside = self.inside[row]
        try:
            return np.asarray(
                np.linalg.cholesky(self.likelihood(row) + self.precision[np.ix_(inside, inside)]), float
            )
        except np.linalg.LinAlgError as error:
            raise DataError(
                "The posterior mode of a model was not found: rescale its columns, or give its intercept a "
                "proper prior."
            ) from error

    def maximum(self, row: int) -> float:
        """Return the maximum of the log-likelihood of a model, a Newton step of the likelihood away."""
        slope = self.gradient[row][self.inside[row]]
        return float(self.value[row] + 0.5 * slope @ lstsq(self.likelihood(row), slope)[0])

    def state(self) -> dict[str, np.ndarray]:
        """Return the arrays of the state."""
        return {name: getattr(self, name) for name in self.STATE}

    def restore(self, arrays: dict[str, np.ndarray]) -> None:
        """Set the arrays of a state."""
        for name, array in arrays.items():
            setattr(self, name, array)


def full_mode(regression: ChunkedRegression) -> Modes:
    """Return the search for the mode of all columns, whether they are a feasible model or not.

    Coefficients are independent there, with the precisions of the prior, so that it exists whatever columns
    depend on each other.
    """
    width = regression.n_columns
    precision = np.diag(regression.prior.precision).copy()
    precision[1:][precision[1:] == 0] = 1.0  # constant columns
    start = np.zeros((1, width))
    start[0, 0] = regression.intercept
    return Modes(np.ones((1, width), bool), np.diag(precision), np.zeros(width), start)


@dataclass(frozen=True)
class Quadratic:
    """The log-likelihood to second order around one point, for all models.

    ``b'cross - b'information b / 2``, up to a constant.
    """

    information: FloatArray
    cross: FloatArray

    @classmethod
    def of(cls, full: Modes) -> "Quadratic":
        """Return the expansion at the mode of all columns."""
        information = square(full.information[0], full.point.shape[1])
        return cls(information, full.gradient[0] + information @ full.point[0])

    def evidence(self, regression: ChunkedRegression) -> ConjugateEvidence:
        """Return marginal likelihoods, up to a constant."""
        prior = regression.prior
        precision = np.ascontiguousarray(prior.precision)
        known = prior.log_weights is not None
        return ConjugateEvidence(
            GaussianScore.known(),
            FullGram(np.ascontiguousarray(self.information + precision)),
            np.ascontiguousarray(self.cross + prior.shift),
            regression.term_start,
            penalty=np.ascontiguousarray(prior.penalty),
            rank_tol=prior.rank_tol,
            log_weights=prior.log_weights,
            prior=None if known else FullGram(precision),
            flat=0 if known else int(prior.flat),
        )

    def normal(self, regression: ChunkedRegression, columns: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return mode (d,) and Cholesky factor of the precision (d, d) of the posterior of some columns."""
        some, prior = np.ix_(columns, columns), regression.prior
        factor = np.asarray(np.linalg.cholesky(self.information[some] + prior.precision[some]), float)
        return cho_solve((factor, True), (self.cross + prior.shift)[columns]), factor


def columns_of(regression: ChunkedRegression, gammas: ByteArray) -> BoolArray:
    """Return the columns of models (m, J), the intercept among them, as a mask (m, D + 1)."""
    inside = np.repeat(gammas.astype(bool), np.diff(regression.term_start), axis=1)
    return np.column_stack([np.ones(len(gammas), bool), inside])


def modes_of(regression: ChunkedRegression, quadratic: Quadratic, gammas: ByteArray) -> Modes:
    """Return the search for the modes of models (m, J), from those of the quadratic expansion."""
    inside = columns_of(regression, gammas)
    start = np.zeros(inside.shape)
    for row, columns in enumerate(inside):
        start[row, columns] = quadratic.normal(regression, np.flatnonzero(columns))[0]
    prior = regression.prior
    return Modes(inside, prior.precision, prior.shift, start)


def laplace_value(regression: ChunkedRegression, modes: Modes, row: int) -> float:
    """Return Laplace's log marginal likelihood of a model; -inf if it was not evaluated."""
    if not modes.known[row]:
        return -np.inf
    columns, slope, factor = np.flatnonzero(modes.inside[row]), modes.slope(row), modes.factor(row)
    half = solve_triangular(factor, slope, lower=True)
    log_prior = regression.prior.logpdf(modes.point[row, columns], columns)
    size = 0.5 * columns.size * np.log(2.0 * np.pi) - float(np.log(np.diag(factor)).sum())
    return float(modes.value[row] + log_prior + size + 0.5 * half @ half)


def normal_moments(mode: FloatArray, factor: FloatArray, shift: FloatArray) -> FloatArray:
    """Return moments (3, d) as of :class:`Integral` of a normal posterior."""
    half = solve_triangular(factor, np.eye(mode.size), lower=True)
    to_raw = np.eye(mode.size)
    to_raw[0] -= shift
    mean, variance = to_raw @ mode, np.sum((half @ to_raw.T) ** 2, axis=0)
    return np.stack([mean, mean**2 + variance, ndtr(mean / np.sqrt(variance))])


class Proposals:
    """Importance draws of some models at their modes, which one pass evaluates.

    Student draws with the inverse Hessian as their scale, radii stratified, every direction with both signs,
    as in :meth:`MarginalLikelihood.integrate`.

    Parameters
    ----------
    regression : ChunkedRegression
    modes : Modes
    gammas : ndarray (m, J)
        The models of `modes`.
    entropy : bytes
    pairs : int
    """

    def __init__(
        self, regression: ChunkedRegression, modes: Modes, gammas: ByteArray, entropy: bytes, pairs: int
    ) -> None:
        self.regression, self.modes, self.pairs = regression, modes, pairs
        self.points = np.zeros((len(gammas) * 2 * pairs, regression.n_columns))
        self.radius = np.empty((len(gammas), pairs))
        for row, gamma in enumerate(gammas):
            digest = blake2b(entropy + pack(gamma[None])[0].tobytes(), digest_size=16).digest()
            rng = np.random.Generator(np.random.Philox(key=int.from_bytes(digest, "little")))
            columns, factor = np.flatnonzero(modes.inside[row]), modes.factor(row)
            self.radius[row] = radii(columns.size, pairs, PROPOSAL_DF, rng)
            direction = rng.standard_normal((pairs, columns.size))
            direction /= np.sqrt(np.sum(direction**2, axis=1, keepdims=True))
            away = solve_triangular(
                factor, (self.radius[row][:, None] * direction).T, lower=True, trans="T"
            ).T
            both = np.stack([away, -away], axis=1).reshape(2 * pairs, -1)
            block = self.points[2 * pairs * row : 2 * pairs * (row + 1)]
            block[:, columns] = (modes.point[row] + modes.step[row])[columns] + both

    def integrals(self, values: FloatArray) -> list[Integral]:
        """Return the integrals, from the log-likelihoods at the points."""
        found, size = [], 2 * self.pairs
        for row in range(len(self.radius)):
            some = slice(size * row, size * (row + 1))
            found.append(self._integral(row, self.points[some], values[some]))
        return found

    def _integral(self, row: int, points: FloatArray, values: FloatArray) -> Integral:
        modes, regression = self.modes, self.regression
        columns, factor = np.flatnonzero(modes.inside[row]), modes.factor(row)
        own, d = points[:, columns], columns.size
        prior = np.array([regression.prior.logpdf(point, columns) for point in own])
        density = np.repeat(log_student(self.radius[row], d, PROPOSAL_DF), 2)
        log_weight = values + prior - density
        top = float(log_weight.max())
        weight = np.exp(log_weight - top)
        pair = weight.reshape(-1, 2).sum(axis=1)
        share = weight / weight.sum()
        raw = own.copy()
        raw[:, 0] -= own @ regression.raw_shift[columns]
        volume = 0.5 * d * np.log(2.0 * np.pi) - float(np.log(np.diag(factor)).sum())
        return Integral(
            top + float(np.log(weight.mean())) + volume,
            float(np.sum((pair[::2] - pair[1::2]) ** 2) / pair.sum() ** 2),
            columns,
            np.stack([share @ raw, share @ raw**2, share @ (raw > 0)]),
            None,
            None,
            largest=float(share.max()),
            effective=1.0 / float(share @ share),
            draws=weight.size,
        )


class Expansions:
    """Single models of a regression whose rows come in chunks, by expansions at their modes.

    Coefficients have the normal distribution of the expansion; marginal likelihoods of models that have
    importance integrals are these. Other models than those brought to their modes by a fit are brought there
    when they are asked for, by some passes.

    Parameters
    ----------
    regression : ChunkedRegression
    quadratic : Quadratic
    gammas : ndarray (m, J)
        Models with modes.
    modes : Modes
    values : ndarray (m,)
        Their log marginal likelihoods.
    correction : float
        Mean difference of log integrals and Laplace values, for further models.
    """

    def __init__(
        self,
        regression: ChunkedRegression,
        quadratic: Quadratic,
        gammas: ByteArray,
        modes: Modes,
        values: FloatArray,
        correction: float,
    ) -> None:
        self.regression, self.quadratic, self.correction = regression, quadratic, correction
        self._known: dict[bytes, tuple[Modes, int, float]] = {}
        self._keep(gammas, modes, values)

    def _keep(self, gammas: ByteArray, modes: Modes, values: FloatArray) -> None:
        for row, (gamma, value) in enumerate(zip(gammas, values, strict=True)):
            if modes.known[row]:
                self._known[gamma.astype(np.uint8).tobytes()] = (modes, row, float(value))

    def _at(self, gamma: ByteArray) -> tuple[Modes, int, float]:
        key = np.asarray(gamma, dtype=np.uint8).tobytes()
        if key not in self._known:
            gammas = np.asarray(gamma, dtype=np.uint8)[None]
            modes = modes_of(self.regression, self.quadratic, gammas)
            find_modes(modes, self.regression.derivatives)
            self._keep(gammas, modes, np.array([laplace_value(self.regression, modes, 0) + self.correction]))
        return self._known[key]

    def log_marginals(self, gammas: ByteArray) -> FloatArray:
        """Return log marginal likelihoods of models (m, J), without constants of the family."""
        return np.array([self._at(gamma)[2] for gamma in gammas])

    def exists(self, gamma: ByteArray) -> bool:
        """Return whether model `gamma` (J,) has a coefficient prior."""
        columns = self.regression.model_columns(np.asarray(gamma))[1:] - 1
        if self.regression.prior.rank_tol == 0:
            return True
        return independent(self.regression.rank_gram(columns), self.regression.most_columns)

    def deviance(self, gamma: ByteArray) -> float:
        """Return the deviance of model `gamma` (J,) at the maximum of its likelihood."""
        modes, row, _ = self._at(gamma)
        return 2.0 * (self.regression.saturated - modes.maximum(row))

    def approximate(self, gamma: ByteArray) -> Integral:
        """Return Laplace's approximation of model `gamma` (J,)."""
        modes, row, value = self._at(gamma)
        columns = np.flatnonzero(modes.inside[row])
        mode = (modes.point[row] + modes.step[row])[columns]
        moments = normal_moments(mode, modes.factor(row), self.regression.raw_shift[columns])
        return Integral(value, np.nan, columns, moments, None, None)

    def integrate(self, gamma: ByteArray, **options: Any) -> Integral:
        """Return Laplace's approximation, whatever the options of integrals are."""
        return self.approximate(gamma)

    def sample(
        self, gamma: ByteArray, size: int, rng: np.random.Generator
    ) -> tuple[FloatArray, dict[str, FloatArray]]:
        """Draw internal coefficients (size, D + 1) of model `gamma` (J,) from a normal distribution.

        At its mode if that is known, otherwise that of the quadratic expansion of all models.
        """
        columns = np.flatnonzero(columns_of(self.regression, np.asarray(gamma)[None])[0])
        held = self._known.get(np.asarray(gamma, dtype=np.uint8).tobytes())
        if held is None:
            mode, factor = self.quadratic.normal(self.regression, columns)
        else:
            modes, row, _ = held
            mode, factor = (modes.point[row] + modes.step[row])[columns], modes.factor(row)
        noise = rng.standard_normal((columns.size, size))
        out = np.zeros((size, self.regression.n_columns))
        out[:, columns] = mode + solve_triangular(factor, noise, lower=True, trans="T").T
        return out, {}


def find_modes(modes: Modes, derivatives: Callable[[FloatArray], Derivatives]) -> int:
    """Run passes until all modes are found; return their number.

    Raises
    ------
    DataError
        If some are not found within 40 passes.
    """
    for number in range(MOST_PASSES):
        if not modes.open.size:
            return number
        modes.take(derivatives(modes.points))
    if modes.open.size:
        raise DataError(
            f"The posterior mode of a model was not found in {MOST_PASSES} passes: rescale its columns."
        )
    return MOST_PASSES

"""Passes over rows in chunks: derivatives of log-likelihoods, and Newton's method for several models."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import cho_solve, lstsq

from pyrjsel._errors import DataError
from pyrjsel._typing import BoolArray, FloatArray, IntArray
from pyrjsel.design import DesignData
from pyrjsel.families import Family, unknown_size
from pyrjsel.families._family import derivatives, log_likelihoods

# Products of pairs of columns are formed for blocks of rows of about this many numbers.
NUMBERS = 2**19
# A mode is found where a Newton step would change the log posterior by less than half of this. Laplace values
# include that change, so that their error is of higher order.
CLOSE = 1e-6
# A step is taken unless it lowers the log posterior by more than this proportion, its rounding error.
ROUNDING = 1e-12
# Where the log-likelihood is not concave in the log size: longest step of it, and least curvature.
LONGEST, LEAST = 1.0, 1e-3
# Largest number of passes of one search.
MOST_PASSES = 40


@dataclass(frozen=True, eq=False)
class Derivatives:
    """Log-likelihoods with their derivatives at m points of W coordinates.

    Coordinates are the coefficients, and the log of the size of a :class:`Sized` family if it is unknown.

    Attributes
    ----------
    value : ndarray (m,)
    gradient : ndarray (m, W)
    information : ndarray (m, P)
        Minus the second derivatives: lower triangles, row by row. Of parts of the rows, with several linear
        predictors, those of the columns of the design for each pair of them, see :meth:`stacked`.
    ends : ndarray (m, 2)
        Smallest and largest linear predictor.
    """

    value: FloatArray
    gradient: FloatArray
    information: FloatArray
    ends: FloatArray

    def merge(self, other: "Derivatives") -> "Derivatives":
        """Return the sums over the rows of both."""
        low, high = np.minimum(self.ends, other.ends), np.maximum(self.ends, other.ends)
        return Derivatives(
            self.value + other.value,
            self.gradient + other.gradient,
            self.information + other.information,
            np.stack([low[:, 0], high[:, 1]], axis=1),
        )

    def stacked(self, predictors: int) -> "Derivatives":
        """Return them with lower triangles over all coordinates, of which linear predictors vary fastest."""
        if predictors == 1:
            return self
        (row, a), (column, b) = (divmod(each, predictors) for each in np.tril_indices(self.gradient.shape[1]))
        pairs = predictors * (predictors + 1) // 2
        place = _place(a, b) * (self.information.shape[1] // pairs) + _place(row, column)
        return replace(self, information=self.information[:, place])

    def with_constants(self, family: Family, points: FloatArray) -> "Derivatives":
        """Return them with what the log-likelihood of an unknown size has besides terms of single rows."""
        sized = unknown_size(family)
        if sized is None:
            return self
        value, slope, bend = sized.constants(np.exp(points[:, -1]))
        gradient, information = self.gradient.copy(), self.information.copy()
        gradient[:, -1] += slope
        information[:, -1] -= bend
        return Derivatives(self.value + value, gradient, information, self.ends)


def _place(row: IntArray, column: IntArray) -> IntArray:
    """Return the place of elements of a symmetric matrix in its lower triangle, row by row."""
    high = np.maximum(row, column)
    return np.asarray(high * (high + 1) // 2 + np.minimum(row, column))


@dataclass(frozen=True, eq=False)
class StandardColumns:
    """The standardisation of columns in each chunk, and the family.

    Attributes
    ----------
    inside : ndarray of int64 (D,)
        Columns in use, out of those of the chunk.
    mean, scale : ndarray (D,)
    zero : bool array (D,)
        Constant columns.
    family : Family
    """

    inside: IntArray
    mean: FloatArray
    scale: FloatArray
    zero: BoolArray
    family: Family

    def blocks(
        self, data: DesignData, size: int
    ) -> list[tuple[FloatArray, FloatArray, FloatArray, FloatArray]]:
        """Return columns (n, D + 1), responses, weights and offsets of blocks of `size` rows."""
        w = data.extras.get("weights", np.ones(data.n))
        offset = data.extras.get("offset", np.zeros(data.n))
        found = []
        for at in range(0, data.n, size):
            some = slice(at, at + size)
            x = np.empty((len(w[some]), self.mean.size + 1))
            x[:, 0] = 1.0
            x[:, 1:] = (data.X[some][:, self.inside] - self.mean) / self.scale
            x[:, 1:][:, self.zero] = 0.0
            found.append((x, np.ascontiguousarray(data.y[some]), np.ascontiguousarray(w[some]), offset[some]))
        return found


def _linear(points: FloatArray, x: FloatArray, predictors: int) -> FloatArray:
    """Return linear predictors (m, L n), all rows of one after another, at points (m, W)."""
    b = points[:, : predictors * x.shape[1]].reshape(len(points), -1, predictors)
    return np.asarray(b.swapaxes(1, 2).reshape(-1, x.shape[1]) @ x.T).reshape(len(points), -1)


def row_arrays(
    family: Family, y: FloatArray, w: FloatArray, offset: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return weighted responses, weights and offsets of all linear predictors, as passes take them."""
    lead = family.predictors
    wy, weights, shift = family.rows(family.responses(y).ravel(), np.tile(w, lead), np.tile(offset, lead))
    assert weights is not None
    return np.ascontiguousarray(wy), np.ascontiguousarray(weights), shift


def chunk_derivatives(data: DesignData, columns: StandardColumns, points: FloatArray) -> Derivatives:
    """Return the derivatives over the rows of a chunk at `points` (m, W), without constants."""
    m, width, lead = len(points), columns.mean.size + 1, columns.family.predictors
    low, high = np.tril_indices(width)
    size = max(64, NUMBERS // max(low.size, 2 * m * lead * (lead + 1)))
    parts = [_block(*block, columns.family, points, low, high) for block in columns.blocks(data, size)]
    total = parts[0]
    for part in parts[1:]:
        total = total.merge(part)
    return total


def _block(
    x: FloatArray,
    y: FloatArray,
    w: FloatArray,
    offset: FloatArray,
    family: Family,
    points: FloatArray,
    low: IntArray,
    high: IntArray,
) -> Derivatives:
    """Return the derivatives over the rows of a block."""
    m, lead = len(points), family.predictors
    wy, weights, shift = row_arrays(family, y, w, offset)
    linear, pairs = _linear(points, x, lead), x[:, low] * x[:, high]
    eta = np.ascontiguousarray(linear + shift)
    ends = np.stack([eta.min(axis=1), eta.max(axis=1)], axis=1)
    sized = unknown_size(family)
    if sized is None:
        value, residual, weight = derivatives(
            family.passes, eta, wy, weights, np.zeros(weights.size), np.zeros(m)
        )
        gradient = (residual.reshape(m * lead, -1) @ x).reshape(m, lead, -1).swapaxes(1, 2).reshape(m, -1)
        crossed = family.crossed(weight.reshape(m, lead, -1), w)
        return Derivatives(value, gradient, (crossed.reshape(-1, len(x)) @ pairs).reshape(m, -1), ends)
    with np.errstate(over="ignore", invalid="ignore"):  # of steps that go too far
        value, residual, weight, slope, curve, cross = sized.terms(y, w, linear + offset, points[:, -1])
        return Derivatives(
            value,
            np.column_stack([residual @ x, slope]),
            np.column_stack([weight @ pairs, cross @ x, curve]),
            ends,
        )


def chunk_values(data: DesignData, columns: StandardColumns, points: FloatArray) -> FloatArray:
    """Return log-likelihoods (m,) over the rows of a chunk at `points` (m, W), without constants."""
    m, family = len(points), columns.family
    sized, total, none = unknown_size(family), np.zeros(m), np.zeros(m)
    for x, y, w, offset in columns.blocks(data, max(64, NUMBERS // (m * family.predictors))):
        linear = _linear(points, x, family.predictors)
        if sized is not None:
            total += sized.values(y, w, linear + offset, points[:, -1])
            continue
        wy, weights, shift = row_arrays(family, y, w, offset)
        eta = np.ascontiguousarray(linear + shift)
        total += log_likelihoods(family.passes, eta, wy, weights, np.zeros(weights.size), none)
    return total


def square(lower: FloatArray, width: int) -> FloatArray:
    """Return a symmetric matrix (W, W) from its lower triangle, row by row."""
    out = np.zeros((width, width))
    out[np.tril_indices(width)] = lower
    return np.asarray(out + np.tril(out, -1).T)


class Modes:
    """Newton's method for several models, all of which each pass brings further.

    Parameters
    ----------
    inside : bool array (m, W)
        Coordinates of each model: the columns, the intercept among them, and a log size if that is unknown.
    precision, shift : ndarray (W, W) and (W,)
        Those of the prior.
    start : ndarray (m, W)
        First points, 0 outside the models.
    sized : bool
        Whether the last coordinate is a log size, in which the log-likelihood need not be concave.
    """

    # Arrays of a state, which a checkpoint contains.
    STATE = ("point", "step", "scale", "value", "fall", "gradient", "information", "ends")

    def __init__(
        self,
        inside: BoolArray,
        precision: FloatArray,
        shift: FloatArray,
        start: FloatArray,
        sized: bool = False,
    ) -> None:
        m, width = start.shape
        self.inside, self.precision, self.shift, self.sized = inside, precision, shift, sized
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
            self.step[row, self.inside[row]], self.fall[row] = self._newton(row)
        self.scale[rows[~better]] /= 2.0

    def _newton(self, row: int) -> tuple[FloatArray, float]:
        """Return the step of a model from its point, and twice the gain that it promises."""
        slope, curve = self.slope(row), self.curve(row)
        try:
            move = cho_solve((np.linalg.cholesky(curve), True), slope)
        except np.linalg.LinAlgError:
            if not self.sized:
                raise no_mode() from None
            # Far from the mode it can be convex in the log size: ascend in this and in coefficients apart.
            curve[-1, :-1] = curve[:-1, -1] = 0.0
            curve[-1, -1] = max(abs(curve[-1, -1]), LEAST)
            move = np.linalg.solve(curve, slope)
            return self._short(move), max(float(slope @ move), 2.0 * CLOSE)
        return self._short(move), float(slope @ move)

    def _short(self, move: np.ndarray) -> FloatArray:
        """Return a step that changes the log size by at most 1: it can be flat far from the mode."""
        return np.asarray(move / max(1.0, abs(move[-1]) / LONGEST) if self.sized else move, float)

    def slope(self, row: int) -> FloatArray:
        """Return the gradient of the log posterior in the coordinates of a model, (d,)."""
        full = self.gradient[row] + self.shift - self.precision @ self.point[row]
        return np.asarray(full[self.inside[row]])

    def likelihood(self, row: int) -> FloatArray:
        """Return minus the second derivatives (d, d) of the log-likelihood of a model."""
        inside = self.inside[row]
        return square(self.information[row], inside.size)[np.ix_(inside, inside)]

    def curve(self, row: int) -> FloatArray:
        """Return minus the second derivatives (d, d) of the log posterior of a model."""
        inside = self.inside[row]
        return self.likelihood(row) + self.precision[np.ix_(inside, inside)]

    def factor(self, row: int) -> FloatArray:
        """Return the Cholesky factor (d, d) of minus the second derivatives of the log posterior.

        Raises
        ------
        DataError
            If they are not positive definite.
        """
        try:
            return np.asarray(np.linalg.cholesky(self.curve(row)), float)
        except np.linalg.LinAlgError as error:
            raise no_mode() from error

    def rise(self, row: int) -> float:
        """Return the gain of the log-likelihood of a model by a Newton step, given the log size."""
        d = int(self.inside[row].sum()) - self.sized
        slope = self.gradient[row][self.inside[row]][:d]
        return 0.5 * float(slope @ lstsq(self.likelihood(row)[:d, :d], slope)[0])

    def maximum(self, row: int) -> float:
        """Return the maximum of the log-likelihood of a model, a Newton step of the likelihood away."""
        gain = self.rise(row)
        if self.sized:
            slope, curve = self.gradient[row][self.inside[row]], self.likelihood(row)
            across = lstsq(curve[:-1, :-1], np.column_stack([slope[:-1], curve[:-1, -1]]))[0]
            left = curve[-1, -1] - float(curve[-1, :-1] @ across[:, 1])
            if left > 0.0:  # concave in the log size
                gain += 0.5 * (slope[-1] - float(curve[-1, :-1] @ across[:, 0])) ** 2 / left
        return float(self.value[row] + gain)

    def state(self) -> dict[str, np.ndarray]:
        """Return the arrays of the state."""
        return {name: getattr(self, name) for name in self.STATE}

    def restore(self, arrays: dict[str, np.ndarray]) -> None:
        """Set the arrays of a state."""
        for name, array in arrays.items():
            setattr(self, name, array)


def no_mode() -> DataError:
    """Return the error for second derivatives that are not negative definite."""
    return DataError(
        "The posterior mode of a model was not found: rescale its columns, or give its intercept a "
        "proper prior."
    )


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

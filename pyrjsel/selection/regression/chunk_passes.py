"""Passes over rows in chunks: derivatives of log-likelihoods, and Newton's method for several models."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import block_diag, cho_solve, lstsq

from pyrjsel._errors import DataError
from pyrjsel._typing import BoolArray, FloatArray, IntArray
from pyrjsel.design import DesignData
from pyrjsel.families import Family
from pyrjsel.families._family import derivatives, log_likelihoods
from pyrjsel.selection.priors.base import CompiledPrior

# Products of pairs of columns are formed for blocks of rows of about this many numbers.
NUMBERS = 2**19
# A mode is found where a Newton step would change the log posterior by less than half of this. Laplace values
# include that change, so that their error is of higher order.
CLOSE = 1e-6
# A step is taken unless it lowers the log posterior by more than this proportion, its rounding error.
ROUNDING = 1e-12
# Where the log-likelihood is not concave in parameters of the family: longest step of them, and least
# curvature.
LONGEST, LEAST = 1.0, 1e-3
# Largest number of passes of one search.
MOST_PASSES = 40


@dataclass(frozen=True, eq=False)
class Derivatives:
    """Log-likelihoods with their derivatives at m points of W coordinates.

    Coordinates are the coefficients, and those of expanded parameters of the family.

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

    def with_rest(self, family: Family, points: FloatArray, n: int) -> "Derivatives":
        """Return them with terms of expanded parameters alone, for `n` rows."""
        k = len(family.expanded)
        if not k:
            return self
        value, slope, curve = family.rest(points[:, -k:], n)
        gradient, information = self.gradient.copy(), self.information.copy()
        gradient[:, -k:] += slope
        first = points.shape[1] - k + np.arange(k)
        information[:, _place(*np.meshgrid(first, first, indexing="ij"))] += np.tril(curve)
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
    extra = len(family.expanded)
    if not extra:
        value, residual, weight = derivatives(
            family.passes, eta, wy, weights, np.zeros(weights.size), np.zeros(m)
        )
        gradient = (residual.reshape(m * lead, -1) @ x).reshape(m, lead, -1).swapaxes(1, 2).reshape(m, -1)
        crossed = family.crossed(weight.reshape(m, lead, -1), w)
        return Derivatives(value, gradient, (crossed.reshape(-1, len(x)) @ pairs).reshape(m, -1), ends)
    with np.errstate(over="ignore", invalid="ignore"):  # of steps that go too far
        value, residual, weight, slope, curve, cross = family.row_terms(
            y, w, linear + offset, points[:, -extra:]
        )
        mixed = cross @ x
        behind = [part for k in range(extra) for part in (mixed[:, k], curve[:, k, : k + 1])]
        return Derivatives(
            value,
            np.column_stack([residual @ x, slope]),
            np.column_stack([weight @ pairs, *behind]),
            ends,
        )


def chunk_values(data: DesignData, columns: StandardColumns, points: FloatArray) -> FloatArray:
    """Return log-likelihoods (m,) over the rows of a chunk at `points` (m, W), without constants."""
    m, family = len(points), columns.family
    extra, total, none = len(family.expanded), np.zeros(m), np.zeros(m)
    for x, y, w, offset in columns.blocks(data, max(64, NUMBERS // (m * family.predictors))):
        linear = _linear(points, x, family.predictors)
        if extra:
            total += family.row_values(y, w, linear + offset, points[:, -extra:])
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


@dataclass(frozen=True, eq=False)
class PointPrior:
    """The prior of points: coefficients b, and coordinates t of expanded parameters of the family.

    Attributes
    ----------
    prior : CompiledPrior
        The prior of b, at the typical t if it is scaled.
    family : Family
    scaled : bool
        Whether prior standard deviations of b are multiples of exp(t_1).
    """

    prior: CompiledPrior
    family: Family
    scaled: bool = False

    @property
    def extra(self) -> int:
        """Number K of coordinates behind the coefficients."""
        return len(self.family.expanded)

    def _split(self, points: FloatArray) -> tuple[FloatArray, FloatArray]:
        d = self.prior.shift.size
        return points[..., :d], points[..., d:]

    def _factor(self, t: FloatArray) -> FloatArray:
        """Return the precision of b at coordinates (..., K), relative to that at the typical ones."""
        if not self.scaled:
            return np.ones(t.shape[:-1])
        return np.asarray(np.exp(-2.0 * (t[..., 0] - self.family.typical[0])))

    def _exponent(self, b: FloatArray, inside: BoolArray) -> FloatArray:
        prior = self.prior
        penalty = float(prior.penalty[inside[: b.shape[-1]]].sum())
        return np.asarray(b @ prior.shift - 0.5 * np.sum((b @ prior.precision) * b, axis=-1) - 0.5 * penalty)

    def _scales(self, inside: BoolArray) -> int:
        """Return the number of coefficients of a model (W,) whose prior is proper."""
        prior = self.prior
        return int(inside[: prior.shift.size].sum()) - (prior.leading if prior.flat else 0)

    def values(self, points: FloatArray, inside: BoolArray) -> FloatArray:
        """Return log prior densities of points (m, W) of a model (W,), up to :meth:`constant`."""
        b, t = self._split(points)
        found = self._factor(t) * self._exponent(b, inside)
        if self.scaled:
            found = found - self._scales(inside) * (t[..., 0] - self.family.typical[0])
        return np.asarray(found + self.family.log_prior(t)[0] if self.extra else found)

    def constant(self, inside: BoolArray) -> float:
        """Return what :meth:`values` lack of a model (W,)."""
        columns = np.flatnonzero(inside[: self.prior.shift.size])
        none = np.zeros(columns.size)
        return self.prior.logpdf(none, columns) + 0.5 * float(self.prior.penalty[columns].sum())

    def near(self, t: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return precision (W, W), and precision times mean (W,), of a normal prior like this one near `t`.

        With the scales of b at `t` (K,).
        """
        factor, slope, curve = float(self._factor(t)), np.empty(0), np.empty(0)
        if self.extra:
            _, slope, curve = self.family.log_prior(t)
        precision = (
            block_diag(factor * self.prior.precision, np.diag(curve)) if self.extra else self.prior.precision
        )
        return precision, np.append(factor * self.prior.shift, slope + curve * t)

    def around(self, point: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the same near a point (W,), which determines how the scale depends on coefficients."""
        b, t = self._split(point)
        precision, pull = self.near(t)
        if self.scaled:
            of_b = float(self._factor(t) * self._exponent(b, np.ones(point.size, bool)))
            precision[b.size, b.size] -= 4.0 * of_b
            pull[b.size] -= 2.0 * of_b + 4.0 * of_b * t[0]
        return precision, pull

    def expand(self, point: FloatArray, inside: BoolArray) -> tuple[FloatArray, FloatArray]:
        """Return the gradient (W,) at a point (W,) of a model, and minus the second derivatives (W, W)."""
        b, t = self._split(point)
        precision, pull = self.near(t)
        slope = pull - precision @ point
        if self.scaled:
            d, of_b = b.size, float(self._factor(t) * self._exponent(b, inside))
            precision[d, :d] = precision[:d, d] = 2.0 * slope[:d]
            precision[d, d] -= 4.0 * of_b
            slope[d] -= 2.0 * of_b + self._scales(inside)
        return slope, precision


class Modes:
    """Newton's method for several models, all of which each pass brings further.

    Parameters
    ----------
    inside : bool array (m, W)
        Coordinates of each model: the columns, intercepts among them, and those of parameters of the family.
    prior : PointPrior
    start : ndarray (m, W)
        First points, 0 outside the models.
    expected : callable, optional
        Returns the expected information (D, D) on all coefficients at parameters (K,), for a log-likelihood
        that need not be concave in coefficients.
    """

    # Arrays of a state, which a checkpoint contains.
    STATE = ("point", "step", "scale", "value", "fall", "gradient", "information", "ends")

    def __init__(
        self,
        inside: BoolArray,
        prior: PointPrior,
        start: FloatArray,
        expected: Callable[[FloatArray], FloatArray] | None = None,
    ) -> None:
        m, width = start.shape
        self.inside, self.prior, self.expected = inside, prior, expected
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

    def take(self, found: Derivatives) -> None:
        """Move to the points of a pass that are better, and halve the steps to the others."""
        rows, points = self.open, self.points
        with np.errstate(over="ignore", invalid="ignore"):
            gain = found.value - self.value[rows]
            for place, row in enumerate(rows):
                ahead, here = self.prior.values(np.stack([points[place], self.point[row]]), self.inside[row])
                gain[place] += ahead - here
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
            if not self.prior.extra:
                raise no_mode() from None
            move = np.linalg.solve(self._apart(row, curve), slope)
            return self._short(move), max(float(slope @ move), 2.0 * CLOSE)
        return self._short(move), float(slope @ move)

    def _apart(self, row: int, curve: FloatArray) -> FloatArray:
        """Return a matrix with which steps ascend, in place of `curve`, which is not positive definite.

        Far from the mode the log posterior can be convex in parameters of the family: ascend in these and in
        coefficients apart, and in coefficients by their expected information if it is convex in them too.
        """
        d, out = len(curve) - self.prior.extra, np.zeros_like(curve)
        values, vectors = np.linalg.eigh(curve[d:, d:])
        out[d:, d:] = (vectors * np.maximum(np.abs(values), LEAST)) @ vectors.T
        out[:d, :d] = curve[:d, :d]
        if self.expected is not None and np.linalg.eigvalsh(curve[:d, :d])[0] <= 0.0:
            t, some = self.point[row, -self.prior.extra :], np.flatnonzero(self.inside[row])[:d]
            out[:d, :d] = (self.expected(t) + self.prior.near(t)[0][: -len(t), : -len(t)])[np.ix_(some, some)]
        return out

    def _short(self, move: np.ndarray) -> FloatArray:
        """Return a step that changes parameters of the family by at most 1: far from modes it can be flat."""
        extra = self.prior.extra
        return np.asarray(move / max(1.0, np.abs(move[-extra:]).max() / LONGEST) if extra else move, float)

    def slope(self, row: int) -> FloatArray:
        """Return the gradient of the log posterior in the coordinates of a model, (d,)."""
        inside = self.inside[row]
        return np.asarray((self.gradient[row] + self.prior.expand(self.point[row], inside)[0])[inside])

    def likelihood(self, row: int) -> FloatArray:
        """Return minus the second derivatives (d, d) of the log-likelihood of a model."""
        inside = self.inside[row]
        return square(self.information[row], inside.size)[np.ix_(inside, inside)]

    def curve(self, row: int) -> FloatArray:
        """Return minus the second derivatives (d, d) of the log posterior of a model."""
        inside = self.inside[row]
        return self.likelihood(row) + self.prior.expand(self.point[row], inside)[1][np.ix_(inside, inside)]

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
        """Return the gain of the log-likelihood by a Newton step of coefficients alone."""
        d = int(self.inside[row].sum()) - self.prior.extra
        slope = self.gradient[row][self.inside[row]][:d]
        return 0.5 * float(slope @ lstsq(self.likelihood(row)[:d, :d], slope)[0])

    def maximum(self, row: int) -> float:
        """Return the maximum of the log-likelihood of a model, a Newton step of the likelihood away."""
        return float(self.value[row]) + self.gain(row)

    def gain(self, row: int) -> float:
        """Return the gain of the log-likelihood of a model by that step."""
        gain = self.rise(row)
        if self.prior.extra:
            slope, curve = self.gradient[row][self.inside[row]], self.likelihood(row)
            d = slope.size - self.prior.extra
            across = lstsq(curve[:d, :d], np.column_stack([slope[:d], curve[:d, d:]]))[0]
            left = curve[d:, d:] - curve[d:, :d] @ across[:, 1:]
            if np.linalg.eigvalsh(left)[0] > 0.0:  # concave in these parameters
                rest = slope[d:] - curve[d:, :d] @ across[:, 0]
                gain += 0.5 * float(rest @ np.linalg.solve(left, rest))
        return gain

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

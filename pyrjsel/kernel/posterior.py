"""The posterior as weighted draws, whatever sampler they come from."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from pyrjsel._once import kept_property
from pyrjsel._typing import FloatArray, IntArray
from pyrjsel.design import AbsentArray
from pyrjsel.kernel.kernels import KernelFunction, fixed_columns

# Numbers that a block of rows times draws times coefficients may take.
BLOCK = 4_000_000

# Proportion of the largest eigenvalue of a precision matrix below which one is due to rounding, the rows from
# which on it grows with their square root, as in the compiled loop, and how far above it rounding is felt.
DEPENDENT, SUMMED, FELT = 1e-14, 50.0, 10.0
# Draws that are looked at for such eigenvalues, and how many of them may have one.
LOOKED_AT, FEW = 20, 1
# Probability of the largest number of kernels above which it limits the fit.
CAPPED = 0.01

# Number of kernels k, sigma^2 and delta^2 of draws of equal weight, by chain.
EqualDraws = tuple[NDArray[np.int32], FloatArray, FloatArray]


@dataclass(frozen=True, eq=False)
class Coefficients:
    """Conditional laws of the coefficients of the draws that have one number of kernels.

    Attributes
    ----------
    draws : ndarray of int64, shape (g,)
        Which draws.
    columns : ndarray of int64, shape (g, k + f)
        Their columns among all columns: the first f, of all draws, are the constant one and a trend's.
    mean : ndarray of float64, shape (g, k + f)
    root : ndarray of float64, shape (g, k + f, k + f)
        R with R R' the covariance.
    """

    draws: IntArray
    columns: IntArray
    mean: FloatArray
    root: FloatArray


@dataclass(frozen=True, eq=False)
class Basis:
    """The parts of the rows that predictions need: centres in use, and sums of products of their columns.

    Attributes
    ----------
    inputs : ndarray (m, d)
        The centres, as kernels see them.
    gram : ndarray (m + f, m + f)
        K'K of the constant column, those of a trend, and the kernels of the centres.
    moments : ndarray (m + f,)
        K'y.
    """

    inputs: FloatArray
    gram: FloatArray
    moments: FloatArray


@dataclass(frozen=True, eq=False)
class KernelPosterior:
    """Weighted draws of kernels and variances; coefficients are integrated out.

    Attributes
    ----------
    x : ndarray of float64, shape (t, d)
        Inputs of the rows, as kernels see them.
    y : ndarray of float64, shape (t,)
        The response of the rows, as it is fitted.
    k : ndarray of int32, shape (N,)
        Number of kernels.
    centres : ndarray of int32, shape (N, k_max)
        The first k of a row are the rows of `x` at which kernels are centred.
    sigma2, delta2 : ndarray of float64, shape (N,)
        Variances of noise and coefficients.
    weight : ndarray of float64, shape (N,)
        Weights, which sum to one.
    kernel : callable
        ``kernel(points, centres)`` returns (n, m) values.
    trend : int, default 0
        Inputs with a linear trend: none or all.
    known : Basis, optional
        From a file; None is computed from the rows.
    """

    x: FloatArray
    y: FloatArray
    k: NDArray[np.int32]
    centres: NDArray[np.int32]
    sigma2: FloatArray
    delta2: FloatArray
    weight: FloatArray
    kernel: KernelFunction
    trend: int = 0
    known: Basis | None = None

    @property
    def held(self) -> NDArray[np.bool_]:
        """Which entries of `centres` are kernels, bool (N, k_max)."""
        return np.arange(self.centres.shape[1]) < self.k[:, None]

    @kept_property
    def used(self) -> IntArray:
        """Rows that are a centre in some draw, in order, shape (m,)."""
        return np.unique(self.centres[self.held]).astype(np.int64)

    def occupancy(self) -> FloatArray:
        """Return the probability that each of the used rows is a centre, shape (m,)."""
        held = self.held
        place = np.searchsorted(self.used, self.centres[held])
        weight = np.broadcast_to(self.weight[:, None], held.shape)[held]
        return np.bincount(place, weights=weight, minlength=len(self.used)).astype(np.float64)

    def columns(self, x: FloatArray) -> FloatArray:
        """Return fixed columns and kernels of the used centres at points `x`: (n, f + m)."""
        return self._columns(x, self.basis.inputs)

    def _columns(self, x: FloatArray, centres: FloatArray) -> FloatArray:
        return np.column_stack([fixed_columns(x, self.trend), self.kernel(x, centres)])

    @kept_property
    def basis(self) -> Basis:
        """The used centres and sums over the rows, from a file if they are `known`."""
        if self.known is not None:
            return self.known
        inputs = self.x[self.used]
        columns = self._columns(self.x, inputs)
        return Basis(inputs, columns.T @ columns, columns.T @ self.y)

    @kept_property
    def laws(self) -> tuple[Coefficients, ...]:
        """Conditional laws of the coefficients given kernels and variances, by number of kernels.

        The precision matrix K'K / sigma^2 + I / delta^2 has no eigenvalue below 1 / delta^2, which replaces
        what rounding leaves of smaller ones, or below what is rounding itself.
        """
        return self._laws(np.arange(len(self.k)))[0]

    def notes(self, rows: int) -> list[str]:
        """Return warnings: kernels are dependent, or as many as they may be, which is fewer than `rows`."""
        most = self.centres.shape[1]
        share = float(self.weight @ (self.k == most))
        found = self.notes_of_rounding()
        if share > CAPPED and most < rows:
            found.append(
                f"The largest number of kernels, {most}, has a probability of {share:.2f}, so that it limits "
                "the fit: increase max_kernels."
            )
        return found

    def notes_of_rounding(self) -> list[str]:
        """Say that the columns of some of a few draws are dependent up to rounding; not without rows."""
        if self.known is None and isinstance(self.x, AbsentArray):
            return []
        few, some = self, np.unique(np.linspace(0, len(self.k) - 1, LOOKED_AT).astype(np.int64))
        if self.known is None:  # sums for their columns alone
            names = ("k", "centres", "sigma2", "delta2", "weight")
            few = replace(self, **{name: getattr(self, name)[some] for name in names})
            some = np.arange(some.size)
        dependent = few._laws(some)[1]
        if dependent <= FEW:
            return []
        text = (
            f"The kernels of {dependent} of {some.size} draws are linearly dependent up to rounding, which "
            "limits their coefficients and so how well they fit: use kernels of a smaller width."
        )
        return [text]

    def _laws(self, draws: IntArray) -> tuple[tuple[Coefficients, ...], int]:
        """Return the laws of some draws, and how many have eigenvalues that are due to rounding."""
        gram, moment, fixed = self.basis.gram, self.basis.moments, 1 + self.trend
        chosen, found, dependent = draws, [], 0
        share = DEPENDENT * max(1.0, float(np.sqrt(gram[0, 0] / SUMMED)))  # of the column of ones
        for k in np.unique(self.k[chosen]):
            draws = chosen[self.k[chosen] == k]
            places = np.empty((draws.size, fixed + k), dtype=np.int64)
            places[:, :fixed] = np.arange(fixed)
            places[:, fixed:] = np.searchsorted(self.used, self.centres[draws, :k]) + fixed
            sigma2, floor = self.sigma2[draws], 1.0 / self.delta2[draws]
            precision = gram[places[:, :, None], places[:, None, :]] / sigma2[:, None, None]
            precision += floor[:, None, None] * np.eye(fixed + k)
            values, vectors = np.linalg.eigh(precision)
            least = share * values[:, -1:]
            dependent += int(np.sum(values[:, :1] < FELT * least))
            root = vectors / np.sqrt(np.maximum(values, np.maximum(floor[:, None], least)))[:, None, :]
            target = moment[places] / sigma2[:, None]
            mean = np.einsum("gij,glj,gl->gi", root, root, target, optimize=True)
            found.append(Coefficients(draws, places, mean, root))
        return tuple(found), dependent

    def mean_function(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return conditional mean and standard deviation of the regression function, both (n, N).

        Parameters
        ----------
        x : ndarray of float64, shape (n, d)
            Points, as kernels see them.

        Returns
        -------
        tuple of two ndarrays of float64, shape (n, N)
            Given the kernels and variances of each draw.
        """
        columns = self.columns(x)
        mean, sd = np.empty((2, len(x), len(self.k)))
        for law in self.laws:
            chosen = columns[:, law.columns]
            mean[:, law.draws] = np.einsum("ngi,gi->ng", chosen, law.mean)
            spread = np.einsum("ngi,gij->ngj", chosen, law.root, optimize=True)
            sd[:, law.draws] = np.sqrt(np.einsum("ngj,ngj->ng", spread, spread))
        return mean, sd

    def slopes(self) -> tuple[FloatArray, FloatArray]:
        """Return conditional means and standard deviations of the coefficients of the trend, both (d, N)."""
        mean, sd = np.empty((2, self.trend, len(self.k)))
        for law in self.laws:
            mean[:, law.draws] = law.mean[:, 1 : 1 + self.trend].T
            root = law.root[:, 1 : 1 + self.trend]
            sd[:, law.draws] = np.sqrt(np.einsum("gij,gij->ig", root, root))
        return mean, sd


def block(k: NDArray[np.int32], fixed: int) -> int:
    """Return for how many points at a time means of draws with `k` (N,) kernels are computed."""
    return max(1, BLOCK // int((k + fixed).sum()))

"""The Gibbs samplers in plain numpy: slow, obvious, the twin of the compiled loop.

Every quantity comes from the matrix of the model at hand, all columns in it where the prior has spikes and
slabs; nothing is kept from one step to the next but the state. Random numbers are drawn in the order of the
compiled loop, so that both make the same chain of the same generator.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from reference_trades import TradeTwin
from scipy.linalg import eigh
from scipy.special import gammaln

from pyrjsel._typing import ByteArray, FloatArray, IntArray
from pyrjsel.model_space import ModelSpace


@dataclass
class GibbsTwin:
    """One chain.

    Attributes
    ----------
    gram : ndarray (D, D)
        X'WX of centred columns.
    cross : ndarray (D,)
        X'Wy.
    square, rows : float
        y'Wy and N.
    volume : float
        (Sum of log w - log of the sum of w) / 2.
    starts : ndarray (J + 1,)
        Term j owns the columns ``starts[j]:starts[j + 1]``.
    sigma : ndarray (2, J + 1)
        a and b of the inverse gamma prior by the number of terms in; zeros for 1 / sigma^2.
    space : ModelSpace
    precision, mean : ndarray (D,)
        Of the prior, or of the spikes.
    ratio : ndarray (D,) or None
        Variances of slabs over those of spikes; None for a point mass at 0.
    scaled : bool
        Whether prior variances are multiples of sigma^2.
    classical : bool
        Whether terms are drawn given the coefficients.
    slots : int
        Slot moves an iteration.
    gamma : uint8 array (J,)
    variance : float
    closed : callable, optional
        Log marginal likelihood of a model where neither coefficients nor sigma^2 are drawn.
    families : sequence of int array
        Terms that are drawn together.
    n_families : int
        Families that are drawn in an iteration.
    trades : int
        Trades that are proposed in an iteration.
    """

    gram: FloatArray
    cross: FloatArray
    square: float
    rows: float
    volume: float
    starts: np.ndarray
    sigma: FloatArray
    space: ModelSpace
    precision: FloatArray
    mean: FloatArray
    ratio: FloatArray | None
    scaled: bool
    classical: bool
    slots: int
    gamma: ByteArray
    variance: float
    closed: Callable[[ByteArray], float] | None = None
    families: Sequence[IntArray] = ()
    n_families: int = 0
    trades: int = 0

    def __post_init__(self) -> None:
        self.b = np.zeros(self.cross.size)

    # ------------------------------------------------------------------ densities

    def _inside(self, gamma: ByteArray) -> np.ndarray:
        """Return which columns belong to terms of the model, bool (D,)."""
        return np.repeat(gamma, np.diff(self.starts)).astype(bool)

    def _prior(self, gamma: ByteArray) -> tuple[np.ndarray, FloatArray, FloatArray]:
        """Return the columns with coefficients, and their prior precisions and means."""
        inside = self._inside(gamma)
        if self.ratio is None:
            columns = np.flatnonzero(inside)
            return columns, self.precision[columns], self.mean[columns]
        precision = self.precision / np.where(inside, self.ratio, 1.0)
        return np.arange(inside.size), precision, np.zeros(inside.size)

    def _shape_scale(self, gamma: ByteArray) -> tuple[float, float]:
        a, b = self.sigma[:, int(gamma.sum())]
        return float(a), float(b)

    def _log_sigma(self, gamma: ByteArray, variance: float) -> float:
        a, b = self._shape_scale(gamma)
        norm = a * np.log(b) - gammaln(a) if a > 0 else 0.0
        return float(norm - (a + 1) * np.log(variance) - b / variance)

    def log_evidence(self, gamma: ByteArray, variance: float) -> float:
        """Return log p(y | model), or log p(y, sigma^2 | model) where priors do not scale with sigma^2."""
        if self.closed is not None:
            return self.closed(gamma)
        columns, precision, mean = self._prior(gamma)
        t = 1.0 if self.scaled else variance
        a = self.gram[np.ix_(columns, columns)] / t + np.diag(precision)
        right = self.cross[columns] / t + precision * mean
        rest = self.square / t + mean @ (precision * mean) - right @ np.linalg.solve(a, right)
        value = 0.5 * (np.log(precision).sum() - np.linalg.slogdet(a)[1]) + self.volume
        value -= 0.5 * self.rows * np.log(2 * np.pi * t)
        if not self.scaled:
            return float(value - 0.5 * rest + self._log_sigma(gamma, variance))
        shape, scale = self._shape_scale(gamma)
        half = shape + 0.5 * self.rows
        norm = shape * np.log(scale) - gammaln(shape) if shape > 0 else 0.0
        return float(value + norm + gammaln(half) - half * np.log(scale + 0.5 * rest))

    def log_coefficients(self, gamma: ByteArray, variance: float) -> float:
        """Return the log prior density of the coefficients, those of columns that are out not counted."""
        columns, precision, mean = self._prior(gamma)
        precision = precision / variance if self.scaled else precision
        away = self.b[columns] - mean
        return float(0.5 * np.sum(np.log(precision / (2 * np.pi)) - precision * away**2))

    def residual(self) -> float:
        """Return the sum of squares that the coefficients leave."""
        return float(self.square - 2 * self.cross @ self.b + self.b @ self.gram @ self.b)

    def log_joint(self) -> float:
        """Return the log density of y, model, coefficients and sigma^2, up to a constant of the models."""
        value = self.volume - 0.5 * self.rows * np.log(2 * np.pi * self.variance)
        value += self._log_sigma(self.gamma, self.variance) + self.log_coefficients(self.gamma, self.variance)
        return float(value - 0.5 * self.residual() / self.variance + self._log_model(self.gamma))

    def _log_model(self, gamma: ByteArray) -> float:
        return float(np.asarray(self.space.log_prior(gamma[None]))[0])

    def log_mass(self, gamma: ByteArray) -> float:
        """Return what a sweep looks at: the log mass of a model given what it conditions on."""
        if not self.space.feasible(gamma):
            return -np.inf
        if self.classical:
            value = self.log_coefficients(gamma, self.variance) + self._log_sigma(gamma, self.variance)
        else:
            value = self.log_evidence(gamma, self.variance)
        return value + self._log_model(gamma)

    # ------------------------------------------------------------------ steps

    def sweep(self, rng: np.random.Generator) -> FloatArray:
        """Draw each free term from its full conditional; return the probabilities of inclusion (J,)."""
        inclusion = np.ones(self.gamma.size)
        for j in np.flatnonzero(self.space.free):
            other = self.gamma.copy()
            other[j] ^= 1
            with np.errstate(over="ignore"):
                flipped = 1 / (1 + np.exp(self.log_mass(self.gamma) - self.log_mass(other)))
            inclusion[j] = 1 - flipped if self.gamma[j] else flipped
            if rng.random() < flipped:
                self.gamma = other
        return inclusion

    def slot(self, rng: np.random.Generator) -> None:
        """Take a random free term out, and draw which one comes from the full conditional of its slot."""
        inside = np.flatnonzero(self.gamma & self.space.free)
        if not inside.size:
            return
        without = self.gamma.copy()
        without[inside[int(rng.random() * inside.size)]] = 0
        if not self.space.feasible(without):
            return
        mass = np.full(self.gamma.size, -np.inf)
        for j in np.flatnonzero(self.space.free & (without == 0)):
            with_j = without.copy()
            with_j[j] = 1
            mass[j] = self.log_mass(with_j)
        share = np.cumsum(np.exp(mass - mass.max()))
        without[np.searchsorted(share, rng.random() * share[-1], side="right")] = 1
        self.gamma = without

    def family(self, rng: np.random.Generator) -> None:
        """Draw which terms of a random family are in, from their full conditional."""
        family = self.families[int(rng.random() * len(self.families))]
        every = np.repeat(self.gamma[None], 2**family.size, axis=0)
        every[:, family] = np.arange(2**family.size)[:, None] >> np.arange(family.size) & 1
        mass = np.array([self.log_mass(gamma) for gamma in every])
        share = np.cumsum(np.exp(mass - mass.max()))
        self.gamma = every[np.searchsorted(share, rng.random() * share[-1], side="right")]

    def draw(self, rng: np.random.Generator) -> None:
        """Draw the coefficients given model and sigma^2."""
        inside = np.flatnonzero(self._inside(self.gamma))
        t = 1.0 if self.scaled else self.variance
        spread = np.sqrt(self.variance) if self.scaled else 1.0
        self.b = np.zeros(self.cross.size)
        if self.ratio is None:
            precision = self.precision[inside]
            a = self.gram[np.ix_(inside, inside)] / t + np.diag(precision)
            mean = np.linalg.solve(a, self.cross[inside] / t + precision * self.mean[inside])
            factor = np.linalg.cholesky(np.linalg.inv(a))
            self.b[inside] = mean + spread * factor @ rng.standard_normal(inside.size)
            return
        # beta = u + v: v for slabs alone, with u and the errors as its noise; then u given v.
        both = np.linalg.inv(t * np.diag(self.precision) + self.gram)
        whitened = (self.gram @ both * self.precision)[np.ix_(inside, inside)]
        a = whitened + np.diag(self.precision[inside] / (self.ratio[inside] - 1))
        mean = np.linalg.solve(a, (self.precision * (both @ self.cross))[inside])
        factor = np.linalg.cholesky(np.linalg.inv(a))
        v = np.zeros(self.cross.size)
        v[inside] = mean + spread * factor @ rng.standard_normal(inside.size)
        root = np.sqrt(self.precision)
        values, vectors = eigh(self.gram / np.outer(root, root))
        noise = vectors @ (vectors.T @ (spread * rng.standard_normal(v.size)) * np.sqrt(t / (t + values)))
        self.b = v + both @ (self.cross - self.gram @ v) + noise / root

    def draw_variance(self, rng: np.random.Generator) -> None:
        """Draw sigma^2 given model and coefficients."""
        shape, scale = self._shape_scale(self.gamma)
        shape, scale = shape + 0.5 * self.rows, scale + 0.5 * self.residual()
        if self.scaled:
            columns, precision, mean = self._prior(self.gamma)
            away = self.b[columns] - mean
            shape, scale = shape + 0.5 * columns.size, scale + 0.5 * away @ (precision * away)
        self.variance = float(scale / rng.standard_gamma(shape))

    def draw_variance_alone(self, rng: np.random.Generator) -> None:
        """Draw sigma^2 given the model, where priors scale with it."""
        columns, precision, _ = self._prior(self.gamma)
        a = self.gram[np.ix_(columns, columns)] + np.diag(precision)
        right = self.cross[columns]
        shape, scale = self._shape_scale(self.gamma)
        scale += 0.5 * float(self.square - right @ np.linalg.solve(a, right))
        self.variance = float(scale / rng.standard_gamma(shape + 0.5 * self.rows))

    def iterate(self, rng: np.random.Generator) -> FloatArray:
        """Run one iteration, drawing all that is recorded; return the probabilities of inclusion (J,)."""
        if self.classical:
            self.draw(rng)
            self.draw_variance(rng)
        inclusion = self.sweep(rng)
        for _ in range(self.slots):
            self.slot(rng)
        for _ in range(self.n_families):
            self.family(rng)
        for _ in range(self.trades):
            self.gamma = TradeTwin(self.space, self.log_mass).trade(self.gamma, rng)
        if self.closed is None and not self.classical:
            if self.scaled:
                self.draw_variance_alone(rng)
                self.draw(rng)
            else:
                self.draw(rng)
                self.draw_variance(rng)
        return inclusion

"""Distributions used as priors in several kinds of models, and quadrature of densities on the real line."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from pyrjsel._called import called
from pyrjsel._core import special
from pyrjsel._errors import ParameterError
from pyrjsel._typing import FloatArray
from pyrjsel._validate import bad_value, check_real

Numbers = float | Sequence[float]


@dataclass(frozen=True)
class InverseGamma:
    """An inverse gamma prior on a variance, ``b^a / Gamma(a) v^(-a-1) exp(-b / v)``.

    Parameters
    ----------
    a : float or sequence of float
        Shape, above 0. The mean is ``b / (a - 1)`` for a > 1.
    b : float or sequence of float
        Scale, above 0, in squared units of the quantity whose variance it is.

    Notes
    -----
    In pattern models it is the prior of the scale sigma of each order itself, with mode ``b / (a + 1)``. A
    sequence has one entry for each number of terms in a model, from 0 to all (including terms that are always
    in): the prior of sigma^2 then depends on the size of the model. Only :class:`pyrjsel.SpikeSlab` supports
    such priors.

    Examples
    --------
    >>> import pyrjsel as rj
    >>> rj.InverseGamma(3, 2)
    InverseGamma(a=3, b=2)
    >>> round(rj.InverseGamma(3, 2).logpdf(1.0), 4)
    -0.6137
    """

    a: Numbers
    b: Numbers

    def __post_init__(self) -> None:
        for name in ("a", "b"):
            value = getattr(self, name)
            if isinstance(value, Sequence | np.ndarray) and not isinstance(value, str):
                items = tuple(np.asarray(value, dtype=object).ravel().tolist())
                if np.ndim(value) != 1 or len(items) == 0:
                    raise bad_value(name, "a positive number or a sequence of them", value)
                object.__setattr__(self, name, items)
                for item in items:
                    check_real(item, name, low=0, open_low=True)
            else:
                check_real(value, name, low=0, open_low=True)

    @property
    def by_size(self) -> bool:
        """Whether the prior depends on the size of the model."""
        return isinstance(self.a, tuple) or isinstance(self.b, tuple)

    def table(self, most: int) -> FloatArray:
        """Return a and b (2, most + 1) by number of terms, for models of at most `most` terms.

        Parameters
        ----------
        most : int
            Number of terms.

        Returns
        -------
        ndarray (2, most + 1)
            Rows a and b.

        Raises
        ------
        ParameterError
            If the number of entries is not `most` + 1.
        """
        rows = []
        for name in ("a", "b"):
            value = getattr(self, name)
            if isinstance(value, tuple) and len(value) != most + 1:
                raise ParameterError(
                    f"The {name!r} parameter of the InverseGamma of {called()} must be a number or have "
                    f"{most + 1} entries, one for each number of terms from 0 to {most}. Got {len(value)} "
                    "instead."
                )
            rows.append(np.broadcast_to(np.asarray(value, dtype=float), most + 1))
        return np.array(rows)

    def restrict(self, most: int) -> "InverseGamma":
        """Return the prior for models of at most `most` terms, without entries for larger models.

        Parameters
        ----------
        most : int
            Number of terms.

        Returns
        -------
        InverseGamma
            With at most `most` + 1 entries.
        """
        parts = (v[: most + 1] if isinstance(v, tuple) else v for v in (self.a, self.b))
        return InverseGamma(*parts)

    def logpdf(self, variance: float, size: int = 0) -> float:
        """Return the log density at a variance.

        Parameters
        ----------
        variance : float
            The variance, above 0.
        size : int, default 0
            Number of terms in the model, if a or b depend on it.

        Returns
        -------
        float
            Natural logarithm.
        """
        a, b = self._at(size)
        return float(a * np.log(b) - special.gammaln(a) - (a + 1.0) * np.log(variance) - b / variance)

    def sample(self, rng: np.random.Generator, size: int = 0) -> float:
        """Draw a variance.

        Parameters
        ----------
        rng : numpy.random.Generator
            Source of randomness.
        size : int, default 0
            Number of terms in the model, if a or b depend on it.

        Returns
        -------
        float
            Above 0.
        """
        a, b = self._at(size)
        return float(b / rng.standard_gamma(a))

    def _at(self, size: int) -> tuple[float, ...]:
        """Return a and b for models of `size` terms."""
        return tuple(float(v[size] if isinstance(v, tuple) else v) for v in (self.a, self.b))  # type: ignore[arg-type]


@dataclass(frozen=True)
class LogNormal:
    """A log-normal prior on a scale: ``log sigma ~ N(w, s^2)``.

    Parameters
    ----------
    w : float
        Mean of log sigma: ``exp(w)`` is the median of sigma.
    s : float
        Standard deviation of log sigma, above 0.

    Examples
    --------
    >>> import pyrjsel as rj
    >>> rj.LogNormal(-2, 0.5)
    LogNormal(w=-2, s=0.5)
    >>> round(rj.LogNormal(0, 1).logpdf(1.0), 4)
    -0.9189
    """

    w: float
    s: float

    def __post_init__(self) -> None:
        check_real(self.w, "w")
        check_real(self.s, "s", low=0, open_low=True)

    def logpdf(self, sigma: float) -> float:
        """Return the log density at a scale.

        Parameters
        ----------
        sigma : float
            The scale, above 0.

        Returns
        -------
        float
            Natural logarithm.
        """
        t = np.log(sigma)
        return float(-0.5 * ((t - self.w) / self.s) ** 2 - t - np.log(self.s) - 0.5 * np.log(2 * np.pi))

    def sample(self, rng: np.random.Generator) -> float:
        """Draw a scale.

        Parameters
        ----------
        rng : numpy.random.Generator
            Source of randomness.

        Returns
        -------
        float
            Above 0.
        """
        return float(np.exp(self.w + self.s * rng.standard_normal()))


# Log densities (m, k) of m problems at nodes (k,).
LogDensity = Callable[[FloatArray], FloatArray]

# Densities below exp(-46) = 1e-20 of their maxima are omitted.
COARSE, DEPTH = 0.5, 46.0
# Points per interval between quadrature nodes of a grid for draws, and the factor by which the envelope
# exceeds the density at these points.
FINE, HIGHER = 8, 1.05


def find_nodes(
    log_density: LogDensity, low: float, high: float, step: float, depth: float = DEPTH
) -> tuple[FloatArray, FloatArray]:
    """Return nodes of the trapezoidal rule in [low, high] where there is mass, with log densities.

    Parameters
    ----------
    log_density : callable
        With one maximum, or with maxima at least 0.5 apart.
    low, high : float
        Interval that contains the mass.
    step : float
        Distance between nodes.
    depth : float
        Nodes where all log densities are further below their maxima than this are omitted.

    Returns
    -------
    tuple of ndarrays (k,) and (m, k)
        Nodes, and log densities of all problems.
    """
    coarse = np.arange(low, high, COARSE)
    value = log_density(coarse)
    used = np.flatnonzero(np.any(value > value.max(axis=1, keepdims=True) - depth, axis=0))
    nodes = np.arange(coarse[used[0]] - COARSE, coarse[used[-1]] + COARSE, step)
    return nodes, log_density(nodes)


def draw(log_density: LogDensity, nodes: FloatArray, size: int, rng: np.random.Generator) -> FloatArray:
    """Draw from the density of one problem by rejection sampling.

    The envelope is constant between neighbouring points of a grid eight times as fine as the nodes, at
    1.05 of the larger end: exact if the density between two points is nowhere higher than that,
    which holds wherever there is appreciable mass.

    Parameters
    ----------
    log_density : callable
        Log density of one problem.
    nodes : ndarray (k,)
        From :func:`find_nodes`.
    size : int
        Number of draws.
    rng : Generator
        Source of random numbers.

    Returns
    -------
    ndarray (size,)
    """
    width = (nodes[1] - nodes[0]) / FINE
    grid = np.arange(nodes[0], nodes[-1], width)
    value = log_density(grid)[0]
    top = value.max()
    height = np.exp(value - top)
    envelope = HIGHER * np.maximum(height[1:], height[:-1])
    edges = np.cumsum(envelope)
    drawn: list[FloatArray] = []
    missing = size
    while missing > 0:
        count = missing + missing // 4 + 8
        cell = np.minimum(np.searchsorted(edges, rng.random(count) * edges[-1]), envelope.size - 1)
        point = grid[cell] + width * rng.random(count)
        kept = rng.random(count) * envelope[cell] < np.exp(log_density(point)[0] - top)
        drawn.append(point[kept])
        missing -= int(kept.sum())
    return np.concatenate([*drawn, np.empty(0)])[:size]

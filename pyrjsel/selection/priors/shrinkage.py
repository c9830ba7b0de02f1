"""Marginal likelihoods under mixtures of g-priors, and the posterior of g.

The Bayes factor of a gaussian model of d columns against the null model is a function of g and of R^2, the
proportion of ``y'My + 2 b`` explained by least squares:

    B(d, R^2) = integral of (1 + g)^(-d/2) (1 - R^2 g / (1 + g))^(-nu/2) p(g) dg,   nu = N + 2 a,

for sigma^2 ~ IG(a, b) and N = n - 1 (Liang et al. 2008, eq. 6; their case is a = b = 0). In log g the
integrand is analytic in a strip and decays exponentially on both sides, so the trapezoidal rule converges
faster than any power of the step.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.polynomial import chebyshev

from pyrjsel._once import kept_property
from pyrjsel._typing import FloatArray
from pyrjsel.distributions import draw, find_nodes
from pyrjsel.selection.priors.base import DistributionOfG

# Range of log g with the mass of every posterior of g to double precision: densities of log g decay at least
# as g on the left, and as g^(-1/2) on the right of n / (1 - R^2).
LOWEST, HIGHEST = -60.0, 200.0
# For probabilities of signs, exp(-20) = 2e-9 is enough.
SHALLOW = 20.0
# The largest step; a peak has a width of about 1 / sqrt(d), and with a step of 0.6 of that the error of the
# rule is below 1e-13 (measured for d up to 900 against steps of 0.02).
STEP, NARROW = 0.2, 0.6
# Length of the panels of interpolants in their variable u, at most 1.25 / sqrt(d), and their degree: errors
# are below 1e-11 of log B (measured likewise).
PANEL, SHORT, DEGREE = 0.5, 1.25, 12
# 1 - R^2 below which a fit counts as perfect: cross-products are not more accurate.
PERFECT = 1e-13


@dataclass(frozen=True)
class Panels:
    """Piecewise polynomials for one d.

    With odds = R^2 / (1 - R^2) and ``u = log1p(nu / 2 odds / centre)``, panel ``k = floor(u / length)`` has
    the coefficients of powers of ``2 (u / length - k) - 1`` for log B + nu/2 log(1 - R^2), E[1 / (1 + g)] and
    E[1 / (1 + g)^2].

    Attributes
    ----------
    centre, length : float
    coefficients : ndarray (panels, 3, DEGREE + 1)
    """

    centre: float
    length: float
    coefficients: FloatArray


@dataclass(frozen=True)
class Shrinkage:
    """Integrals over g.

    Parameters
    ----------
    prior : DistributionOfG
        The prior on g.
    n : float
        Number of rows, on which priors may depend.
    nu : float
        N + 2 a, as above.
    least : float
        Smallest 1 - R^2 in the range of interpolants.
    """

    prior: DistributionOfG
    n: float
    nu: float
    least: float = PERFECT

    def log_weight(self, t: FloatArray, d: int, odds: FloatArray) -> FloatArray:
        """Return the log integrand over t, times (1 - R^2)^(nu/2), at odds of R^2 (broadcast)."""
        # mathematics: selection-linear-mixture
        log_g = self.prior.log_g_at(t, self.n, d)
        base = self.prior.density_at(t, self.n, d) - 0.5 * d * np.logaddexp(0.0, log_g)
        rest = 1.0 / (1.0 + odds)
        share = odds * rest
        part = share / (1.0 + np.exp(log_g) * rest)
        # log((1 + g)(1 - R^2) / (1 + g (1 - R^2))): both forms are exact where they are used.
        near = np.log1p(-np.minimum(part, 0.5))
        far = np.log(rest) + np.logaddexp(0.0, log_g) - np.log1p(np.exp(log_g) * rest)
        return np.asarray(base + 0.5 * self.nu * np.where(part < 0.5, near, far))

    def _step(self, d: int) -> float:
        return min(STEP, NARROW / float(np.sqrt(0.5 * (d + self.prior.narrow) + 1.0)))

    def _nodes(self, d: int, odds: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return nodes (k,) of t and log integrands (m, k), for odds (m,)."""
        return find_nodes(lambda t: self.log_weight(t, d, odds[:, None]), LOWEST, HIGHEST, self._step(d))

    def posterior(self, d: int, odds: float) -> tuple[FloatArray, FloatArray]:
        """Return nodes of log g and their posterior probabilities, (k,): a quadrature rule.

        Parameters
        ----------
        d : int
            Number of columns of the model.
        odds : float
            R^2 / (1 - R^2).

        Returns
        -------
        tuple of ndarray
            Exact up to rounding for functions as smooth as the integrand.
        """
        nodes, value = self._nodes(d, np.array([odds]))
        weight = np.exp(value[0] - value[0].max())
        return self.prior.log_g_at(nodes, self.n, d), weight / weight.sum()

    def rule(self, d: int) -> tuple[FloatArray, FloatArray]:
        """Return nodes of the shrinkage factor and log weights for the prior and (1 + g)^(-d/2).

        For averages of distribution functions, at any R^2 up to 1 - `least`. With twice the step of other
        integrals and a smaller range, errors are below 1e-7.

        Parameters
        ----------
        d : int
            Number of columns of the model.

        Returns
        -------
        tuple of ndarray (k,)
            The posterior weight of a node delta is ``exp(log weight) (1 - delta R^2)^(-nu/2)``, normalised.
        """
        highest = np.log1p(0.5 * self.nu / max(self.least, PERFECT))
        odds = np.expm1(np.linspace(0.0, highest, 40)) / (0.5 * self.nu)
        nodes, _ = find_nodes(
            lambda t: self.log_weight(t, d, odds[:, None]),
            LOWEST,
            HIGHEST,
            2 * self._step(d),
            SHALLOW,
        )
        log_g = self.prior.log_g_at(nodes, self.n, d)
        base = self.prior.density_at(nodes, self.n, d) - 0.5 * d * np.logaddexp(0.0, log_g)
        return 1.0 / (1.0 + np.exp(-log_g)), np.asarray(base)

    def integrals(self, d: int, odds: FloatArray) -> FloatArray:
        """Return log B + nu/2 log(1 - R^2), E[1 / (1 + g)] and E[1 / (1 + g)^2], (3, m), at odds (m,)."""
        nodes, value = self._nodes(d, odds)
        top = value.max(axis=1)
        weight = np.exp(value - top[:, None])
        total = weight.sum(axis=1)
        left = 1.0 / (1.0 + np.exp(self.prior.log_g_at(nodes, self.n, d)))
        return np.stack(
            [top + np.log(total * self._step(d)), weight @ left / total, weight @ left**2 / total]
        )

    def log_factor(self, d: int, r2: FloatArray | float) -> FloatArray:
        """Return log B(d, R^2), the log Bayes factor against the null model.

        Parameters
        ----------
        d : int
            Number of columns of the model.
        r2 : float or ndarray
            R^2, in [0, 1).

        Returns
        -------
        ndarray
            Values, of the shape of `r2`.
        """
        r2 = np.asarray(r2, dtype=float)
        if d == 0:
            return np.asarray(-0.5 * self.nu * np.log1p(-r2))
        value = self.integrals(d, np.ravel(r2 / (1.0 - r2)))[0].reshape(r2.shape)
        return np.asarray(value - 0.5 * self.nu * np.log1p(-r2))

    def factors(self, d: int, r2: FloatArray | float) -> tuple[FloatArray, FloatArray]:
        """Return the posterior means of the shrinkage factor g / (1 + g) and of its square.

        Parameters
        ----------
        d : int
            Number of columns of the model.
        r2 : float or ndarray
            R^2, in [0, 1).

        Returns
        -------
        tuple of ndarray
            Values, of the shape of `r2`.
        """
        r2 = np.asarray(r2, dtype=float)
        _, first, second = self.integrals(d, np.ravel(r2 / (1.0 - r2)))
        return (1.0 - first).reshape(r2.shape), (1.0 - 2.0 * first + second).reshape(r2.shape)

    def sample(self, d: int, odds: float, size: int, rng: np.random.Generator) -> FloatArray:
        """Draw g from its posterior given the model.

        Parameters
        ----------
        d : int
            Number of columns of the model.
        odds : float
            R^2 / (1 - R^2).
        size : int
            Number of draws.
        rng : Generator
            Source of random numbers.

        Returns
        -------
        ndarray (size,)
        """
        at = np.array([odds])
        nodes = self._nodes(d, at)[0]
        drawn = draw(lambda t: self.log_weight(t, d, at)[None], nodes, size, rng)
        return np.asarray(np.exp(self.prior.log_g_at(drawn, self.n, d)))

    @kept_property
    def _tables(self) -> dict[int, Panels]:
        return {}

    def panels(self, d: int) -> Panels:
        """Return the interpolant for models of d >= 1 columns, cached.

        Parameters
        ----------
        d : int
            Number of columns of the model.

        Returns
        -------
        Panels
            Interpolant for R^2 up to 1 - `least`.
        """
        if d not in self._tables:
            self._tables[d] = self._make(d)
        return self._tables[d]

    def _make(self, d: int) -> Panels:
        # B changes on the scale of nu/2 odds near d/2.
        centre, length = max(1.0, 0.5 * d), min(PANEL, SHORT / np.sqrt(d))
        count = int(np.log1p(0.5 * self.nu / max(self.least, PERFECT) / centre) / length) + 1
        x = chebyshev.chebpts1(DEGREE + 1)
        to_chebyshev = np.linalg.inv(chebyshev.chebvander(x, DEGREE))
        to_powers = np.zeros((DEGREE + 1, DEGREE + 1))
        for k in range(DEGREE + 1):
            to_powers[: k + 1, k] = chebyshev.cheb2poly(np.eye(DEGREE + 1)[k])[: k + 1]
        u = length * (np.arange(count)[:, None] + 0.5 * (x + 1.0))
        odds = np.expm1(u) * centre / (0.5 * self.nu)
        values = np.stack([self.integrals(d, row) for row in odds])
        # The change of basis amplifies rounding errors, but only of the variation within a panel.
        middle = values[:, :, DEGREE // 2].copy()
        coefficients = (values - middle[:, :, None]) @ (to_powers @ to_chebyshev).T
        coefficients[:, :, 0] += middle
        return Panels(centre, length, np.ascontiguousarray(coefficients))

    def __getstate__(self) -> dict[str, Any]:
        state = self.__dict__.copy()
        state.pop("_tables", None)  # quickly recomputed
        return state

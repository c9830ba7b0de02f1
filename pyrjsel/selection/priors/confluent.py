"""Mixtures of g-priors from the truncated compound confluent hypergeometric family.

Their densities are products of powers of u = 1 / (1 + g), of 1 - u and of linear functions of u, times an
exponential (Li and Clyde 2018). All but the first depend on the size of the model.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import numpy as np

from pyrjsel._core import special
from pyrjsel._errors import ParameterError
from pyrjsel._typing import FloatArray
from pyrjsel._validate import check_real
from pyrjsel.selection.priors.base import Columns, CompiledPrior
from pyrjsel.selection.priors.g_mixtures import Mixture, Numbers
from pyrjsel.selection.priors.gaussian import GaussianPrior

# Nodes for normalising constants: densities of t decay at least as exp(t / 2) on the left and as exp(-t / 10)
# on the right.
NODES = np.arange(-160.0, 400.0, 0.05)


class Confluent(Mixture):
    """Base of the family: a density of u, and the smallest g, which may depend on n and d."""

    def _log_density(self, t: Numbers, n: float, d: int) -> FloatArray:
        t = np.asarray(t, dtype=float)
        with np.errstate(invalid="ignore"):  # g of 0
            found = self._kernel(t, n, d) - _log_total(self, n, d)
        return np.where(t == -np.inf, -np.inf, found)

    def _kernel(self, t: FloatArray, n: float, d: int) -> FloatArray:
        """Return the log density of t up to a constant: that of u, times u^2 dg/dt = u^2 e^t."""
        log_g = self.log_g_at(t, n, d)
        log_u = -np.logaddexp(0.0, log_g)
        return np.asarray(self._of_u(log_u, log_g + log_u, t + log_u, n, d) + 2.0 * log_u + t)

    def _of_u(
        self, log_u: FloatArray, log_rest: FloatArray, log_above: FloatArray, n: float, d: int
    ) -> FloatArray:
        """Return the log density of u up to a constant, from log u, log(1 - u) and log(u (g - least))."""
        raise NotImplementedError


@lru_cache(maxsize=4096)
def _log_total(prior: Confluent, n: float, d: int) -> float:
    return float(special.logsumexp(prior._kernel(NODES, n, d)) + np.log(NODES[1] - NODES[0]))


@dataclass(frozen=True, repr=False)
class CCH(Confluent):
    """The compound confluent hypergeometric prior, ``p(u) ~ u^(a/2 - 1) (1 - u)^(b/2 - 1) exp(-s u / 2)``.

    u = 1 / (1 + g) is one minus the shrinkage factor [1]_; ``CCH(1, 2, 0)`` is ``HyperG(3)``.

    Parameters
    ----------
    a : float
        Parameter from 0.2 to 100; small values favour a large g.
    b : float
        Parameter from 1 to 1e8; small values favour a small g.
    s : float, default 0
        Rate from 0 to 1e8; larger values favour a larger g.
    information : {"null", "observed"}, default "null"
        Information matrix W of models without an error variance, as in :class:`GPrior`; a keyword.

    References
    ----------
    .. [1] Li and Clyde (2018), "Mixtures of g-priors in generalized linear models", JASA 113, 1828-1845.

    Examples
    --------
    >>> import pyrjsel as rj
    >>> rj.CCH(0.5, 100)
    CCH(a=0.5, b=100, s=0.0)
    """

    a: float
    b: float
    s: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        # Densities of log g decay as exp(b t / 2) and exp(-a t / 2): the ranges of integrals cover these.
        # Larger a and b make them narrower than the steps of integrals can follow.
        check_real(self.a, "a", low=0.2, high=100)
        check_real(self.b, "b", low=1, high=1e8)
        check_real(self.s, "s", low=0, high=1e8)

    @property
    def tail(self) -> float:
        """Power of 1 / g with which the density of log g decreases."""
        return 0.5 * self.a

    @property
    def narrow(self) -> float:
        """Number of columns whose data determine log g as closely as the prior does; 0 if it is wide."""
        return max(min(self.a, self.b + self.s) - 2.0, 0.0)

    def _of_u(
        self, log_u: FloatArray, log_rest: FloatArray, log_above: FloatArray, n: float, d: int
    ) -> FloatArray:
        powers = (0.5 * self.a - 1.0) * log_u + (0.5 * self.b - 1.0) * log_rest
        return powers - 0.5 * self.s * np.exp(log_u)


@dataclass(frozen=True, repr=False)
class Robust(Confluent):
    """The robust prior of Bayarri et al. [1]_, ``p(u) ~ u^(-1/2)`` on ``0 < u < (d + 1) / (n + 1)``.

    u is 1 / (1 + g), d the number of slopes of the model (of its columns, times K - 1 with K classes) and n
    the number of rows: g is at least ``(n + 1) / (d + 1) - 1``.

    Parameters
    ----------
    information : {"null", "observed"}, default "null"
        Information matrix W of models without an error variance, as in :class:`GPrior`; a keyword.

    References
    ----------
    .. [1] Bayarri, Berger, Forte and Garcia-Donato (2012), "Criteria for Bayesian model choice with
       application to variable selection", Annals of Statistics 40, 1550-1577.

    Examples
    --------
    >>> import pyrjsel as rj
    >>> rj.Robust().least(n=99, d=4)
    19.0
    """

    by_size: ClassVar[bool] = True

    def _least(self, n: float, d: int) -> float:
        return max((n + 1.0) / (d + 1.0) - 1.0, 0.0)

    def _of_u(
        self, log_u: FloatArray, log_rest: FloatArray, log_above: FloatArray, n: float, d: int
    ) -> FloatArray:
        return -0.5 * log_u


@dataclass(frozen=True, repr=False)
class Intrinsic(Confluent):
    """The intrinsic prior of Womack, Leon-Novelo and Casella [1]_ as a mixture of g-priors.

    With u = 1 / (1 + g), ``p(u) ~ u^(-1/2) (1 - v u)^(-1/2) / (k + (1 - k) v u)`` on ``0 < u < 1 / v``, where
    ``v = (n + d + 1) / (d + 1)``, ``k = (n + d + 1) / n``, d is the number of slopes of the model (of its
    columns, times K - 1 with K classes) and n the number of rows [2]_.

    Parameters
    ----------
    information : {"null", "observed"}, default "null"
        Information matrix W of models without an error variance, as in :class:`GPrior`; a keyword.

    References
    ----------
    .. [1] Womack, Leon-Novelo and Casella (2014), "Inference from intrinsic Bayes procedures under model
       selection and uncertainty", JASA 109, 1040-1053.
    .. [2] Li and Clyde (2018), "Mixtures of g-priors in generalized linear models", JASA 113, 1828-1845.

    Examples
    --------
    >>> import pyrjsel as rj
    >>> rj.Intrinsic()
    Intrinsic()
    """

    by_size: ClassVar[bool] = True

    def _least(self, n: float, d: int) -> float:
        return n / (d + 1.0)

    def _of_u(
        self, log_u: FloatArray, log_rest: FloatArray, log_above: FloatArray, n: float, d: int
    ) -> FloatArray:
        v, k = (n + d + 1.0) / (d + 1.0), (n + d + 1.0) / n
        # 1 - v u = u (g - least), accurate at both ends.
        return -0.5 * log_u - 0.5 * log_above - np.log(k + (1.0 - k) * v * np.exp(log_u))


@dataclass(frozen=True, repr=False)
class BetaPrime(Confluent):
    """The beta-prime prior of Maruyama and George [1]_, ``p(u) ~ u^(-3/4) (1 - u)^((n - d - 1.5) / 2 - 1)``.

    u is 1 / (1 + g), d the number of slopes of the model (of its columns, times K - 1 with K classes) and n
    the number of rows, which must exceed that of all slopes by at least four.

    Parameters
    ----------
    information : {"null", "observed"}, default "null"
        Information matrix W of models without an error variance, as in :class:`GPrior`; a keyword.

    References
    ----------
    .. [1] Maruyama and George (2011), "Fully Bayes factors with a generalized g-prior", Annals of Statistics
       39, 2740-2765.

    Examples
    --------
    >>> import pyrjsel as rj
    >>> rj.BetaPrime()
    BetaPrime()
    """

    by_size: ClassVar[bool] = True

    @property
    def tail(self) -> float:
        """Power of 1 / g with which the density of log g decreases."""
        return 0.25

    def _compile(self, columns: Columns) -> CompiledPrior:
        _check_rows(columns.total_weight, columns.mean.size, columns.predictors)
        return super()._compile(columns)

    def _compile_gaussian(self, scale: FloatArray, n: int) -> GaussianPrior:
        _check_rows(n, scale.size)
        return super()._compile_gaussian(scale, n)

    def _of_u(
        self, log_u: FloatArray, log_rest: FloatArray, log_above: FloatArray, n: float, d: int
    ) -> FloatArray:
        return -0.75 * log_u + (0.5 * (n - d - 1.5) - 1.0) * log_rest


def _check_rows(n: float, columns: int, predictors: int = 1) -> None:
    if n - predictors * columns < 4:
        times = f", of {predictors} linear predictors each" if predictors > 1 else ""
        raise ParameterError(
            "The 'coef_prior' parameter must be another prior than BetaPrime() unless there are at least "
            f"four rows more than columns. Got {n:g} rows and {columns} columns{times}."
        )

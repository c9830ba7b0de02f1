"""Mixtures of g-priors."""

from dataclasses import dataclass, field, fields, replace
from typing import ClassVar

import numpy as np

from pyrjsel._core import special
from pyrjsel._errors import NotAvailableError
from pyrjsel._typing import FloatArray
from pyrjsel._validate import check_choice, check_real
from pyrjsel.selection.priors._score import GaussianScore
from pyrjsel.selection.priors.base import CoefficientPrior, Columns, CompiledPrior, Rule
from pyrjsel.selection.priors.coefficients import GPrior
from pyrjsel.selection.priors.gaussian import DOUBTFUL, RANK_TOL, GaussianPrior, Integrals, Rules, Sums
from pyrjsel.selection.priors.shrinkage import PERFECT, Shrinkage

Numbers = float | FloatArray


@dataclass(frozen=True, repr=False)
class Mixture(CoefficientPrior):
    """A prior on the g of ``beta_gamma ~ N(0, g phi (X_gamma' W X_gamma)^-1)``.

    The intercept has a flat prior. In gaussian models phi is the error variance with its own prior, by
    default 1 / sigma^2; closed forms do not exist or overflow, and integrals over g are computed by
    quadrature, to 1e-10. In other models phi is 1 and W that of `information`, ``"null"`` or ``"observed"``,
    as in :class:`GPrior`; there a model that separates the classes completely has no posterior, except under
    ``HyperG(a)`` and ``HyperGN(a)`` with a > 3 and ``CCH(a, b)`` with a > 1.

    Parameters
    ----------
    information : {"null", "observed"}, default "null"
        Information matrix W of models without an error variance; a keyword.
    """

    of_span: ClassVar[bool] = True
    by_size: ClassVar[bool] = False
    information: str = field(default="null", kw_only=True)

    def __post_init__(self) -> None:
        check_choice(self.information, "information", ("null", "observed"))

    def __repr__(self) -> str:
        shown = [f"{name}={value!r}" for name, value in self._parameters.items()]
        if self.information != "null":
            shown.append(f"information={self.information!r}")
        return f"{type(self).__name__}({', '.join(shown)})"

    @property
    def _parameters(self) -> dict[str, float]:
        """Parameters of the density of g."""
        names = [item.name for item in fields(self) if item.name != "information"]
        return {name: getattr(self, name) for name in names}

    @property
    def of_null_model(self) -> bool:
        """True: the precision is that of the fitted null model, as a typical one under ``"observed"``."""
        return True

    def _compile(self, columns: Columns) -> CompiledPrior:
        at_one = GPrior(1.0, information="null", intercept="flat").compile(columns)
        rule = Rule.UNKNOWN_G if self.information == "observed" else None
        return replace(at_one, mixture=self, total_weight=columns.total_weight, rule=rule)

    @property
    def tail(self) -> float:
        """Power of 1 / g with which the density of log g decreases."""
        return 0.5

    @property
    def narrow(self) -> float:
        """Number of columns whose data determine log g as closely as the prior does; 0 if it is wide."""
        return 0.0

    def logpdf(self, g: Numbers, n: float, d: int = 1) -> Numbers:
        """Return the log prior density of g.

        Parameters
        ----------
        g : float or ndarray
            Values above 0.
        n : float
            Number of rows.
        d : int, default 1
            Number of slopes of the model, on which some priors depend: of its columns, times K - 1 with K
            classes.

        Returns
        -------
        float or ndarray
            Log densities, of the shape of `g`.
        """
        log_g = np.log(g)
        return self.log_density(log_g, n, d) - log_g

    def least(self, n: float, d: int) -> float:
        """Return the smallest possible g.

        Parameters
        ----------
        n : float
            Number of rows.
        d : int
            Number of slopes of the model: of its columns, times K - 1 with K classes.

        Returns
        -------
        float
            0 unless the prior is truncated.
        """
        return self._least(n, d)

    def _least(self, n: float, d: int) -> float:
        return 0.0

    def log_density(self, log_g: Numbers, n: float, d: int = 1) -> Numbers:
        """Return the log prior density of log g.

        Parameters
        ----------
        log_g : float or ndarray
            Values.
        n : float
            Number of rows.
        d : int, default 1
            Number of slopes of the model, on which some priors depend: of its columns, times K - 1 with K
            classes.

        Returns
        -------
        float or ndarray
            Log densities, of the shape of `log_g`; -inf below the smallest g.
        """
        low = self.least(n, d)
        if low == 0:
            return self._log_density(log_g, n, d)
        with np.errstate(divide="ignore", invalid="ignore"):
            t = np.log(np.exp(log_g) - low)
            found = self._log_density(t, n, d) - t + log_g
        out = np.where(np.isnan(t) | (t == -np.inf), -np.inf, found)
        return float(out) if out.ndim == 0 else out

    def log_g_at(self, t: FloatArray, n: float, d: int) -> FloatArray:
        """Return log g at values of ``t = log(g - least)``, the variable of integrals.

        Parameters
        ----------
        t : ndarray
            Values.
        n : float
            Number of rows.
        d : int
            Number of slopes of the model: of its columns, times K - 1 with K classes.

        Returns
        -------
        ndarray
            Values, of the shape of `t`.
        """
        low = self.least(n, d)
        return np.logaddexp(np.log(low), t) if low > 0 else t

    def density_at(self, t: FloatArray, n: float, d: int) -> FloatArray:
        """Return the log prior density of ``t = log(g - least)``.

        Parameters
        ----------
        t : ndarray
            Values.
        n : float
            Number of rows.
        d : int
            Number of slopes of the model: of its columns, times K - 1 with K classes.

        Returns
        -------
        ndarray
            Values, of the shape of `t`.
        """
        return np.asarray(self._log_density(t, n, d))

    def conditional(self, n: float) -> tuple[float, float, float]:
        """Return shape, power and unit of the prior as a mixture of gamma distributions of 1 / g.

        With rates as second parameters, ``1 / g ~ Gamma(shape, unit t)`` given t, and given g ``t ~
        Gamma(power, 1 + unit / g)``, or t = 1 if power is 0. If d coefficients have the g-prior, and Q is
        ``beta' X'WX beta / sigma^2``, the first becomes ``Gamma(shape + d / 2, unit t + Q / 2)``.

        Parameters
        ----------
        n : float
            Number of rows.

        Returns
        -------
        tuple of float
            Shape, power and unit.
        """
        return self._conditional(n)

    @property
    def has_conditional(self) -> bool:
        """Whether g has a full conditional distribution in closed form, which reversible jumps need."""
        return type(self)._conditional is not Mixture._conditional

    def _compile_gaussian(self, scale: FloatArray, n: int) -> GaussianPrior:
        zero = np.zeros(scale.size)
        return UnknownG(zero, zero, zero, mixture=self)

    def _conditional(self, n: float) -> tuple[float, float, float]:
        raise NotAvailableError(
            f"Reversible jumps draw g from its full conditional distribution, which {type(self).__name__} "
            "does not have in closed form. Fit with sampler='collapsed'."
        )

    def _log_density(self, t: Numbers, n: float, d: int) -> Numbers:
        """Return the log density of ``t = log(g - least)``."""
        raise NotImplementedError

    @staticmethod
    def _check(a: object) -> None:
        # For a <= 2 the prior is improper, and Bayes factors against the null model are undefined.
        check_real(a, "a", low=2, open_low=True)


@dataclass(frozen=True)
class UnknownG(GaussianPrior):
    """A mixture of g-priors of a gaussian model.

    Attributes
    ----------
    mixture : Mixture
        The prior of g.
    """

    rank_tol: ClassVar[float] = RANK_TOL
    mixture: Mixture = field(kw_only=True)

    @property
    def quadrature(self) -> bool:
        """True: marginal likelihoods are integrals over g."""
        return True

    @property
    def numbers(self) -> tuple[str, list[FloatArray]]:
        """A word and arrays that identify the prior, regardless of its notation."""
        return type(self.mixture).__name__, [np.array([*self.mixture._parameters.values()], dtype=float)]

    def matrix(self, gram: FloatArray) -> FloatArray:
        """Return the precision (D, D) of all coefficients, at sigma^2 = g = 1."""
        return gram

    def log_g(self, n: float) -> float:
        """Return a typical log g for `n` rows."""
        return float(np.log(n))

    def conditional(self, n: float) -> tuple[float, float, float]:
        """Return the conditional distribution of g."""
        return self.mixture.conditional(n)

    def integrals(self, n: float, nu: float, least: float) -> Integrals:
        """Return integrals over g, for ``1 - R^2`` down to `least`."""
        return Shrinkage(self.mixture, n, nu, least)

    def score(self, sums: Sums, most: int) -> GaussianScore:
        """Return the score for models of up to `most` columns."""
        saturated = sums.rows if sums.b == 0 else 0
        return GaussianScore.mixture(sums.nu, sums.total, sums.shrinkage, saturated, most)

    def log_value(self, sums: Sums, d: int, left: float) -> float:
        """Return the score of a model that leaves `left` of y'Wy + 2 b."""
        if d == 0 or (d == sums.rows and sums.b == 0):
            return float(-0.5 * sums.nu * np.log(sums.total))
        value = sums.shrinkage.integrals(d, np.array([_odds(sums.total - left, left, sums.total)]))[0, 0]
        return float(value - 0.5 * sums.nu * np.log(left))

    def shrinkage_nodes(self, sums: Sums, d: int, fit: float, left: float) -> tuple[FloatArray, FloatArray]:
        """Return nodes of the shrinkage factor of a model and their posterior probabilities, (k,)."""
        if d == 0:
            return np.ones(1), np.ones(1)
        nodes, weight = sums.shrinkage.posterior(d, _odds(fit, left, sums.total))
        return 1.0 / (1.0 + np.exp(-nodes)), weight

    def draw_shrinkage(
        self, sums: Sums, d: int, fit: float, left: float, size: int, rng: np.random.Generator
    ) -> FloatArray:
        """Draw the shrinkage factor of a model of `d` columns from its posterior, (size,)."""
        if d == 0:
            return np.ones(size)
        g = sums.shrinkage.sample(d, _odds(fit, left, sums.total), size, rng)
        return g / (1.0 + g)

    def rules(self, sums: Sums, most: int) -> Rules:
        """Return quadrature rules over the shrinkage factor for 1 to `most` columns."""
        made = [sums.shrinkage.rule(d) for d in range(1, most + 1)]
        edges = np.concatenate([[0, 0], np.cumsum([len(rule[0]) for rule in made])])
        nodes, weights = (np.concatenate([*(rule[k] for rule in made), np.empty(0)]) for k in (0, 1))
        return edges.astype(np.intc), nodes, weights


def _odds(fit: float, left: float, total: float) -> float:
    """Return R^2 / (1 - R^2), bounded, since rounding or as many columns as rows can give an R^2 of 1."""
    r2 = max(fit / total, 0.0)
    rest = 1.0 - r2 if 1.0 - r2 >= DOUBTFUL else left / total
    return r2 / (rest if rest > 0.0 else PERFECT)


@dataclass(frozen=True, repr=False)
class _HyperG(Mixture):
    """Hyper-g priors in some unit of g."""

    a: float = 3.0

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check(self.a)

    def _unit(self, n: float) -> float:
        """Return the unit of g."""
        raise NotImplementedError

    def _log_density(self, t: Numbers, n: float, d: int) -> Numbers:
        scaled = t - np.log(self._unit(n))
        return np.log(0.5 * self.a - 1.0) - 0.5 * self.a * np.logaddexp(0.0, scaled) + scaled

    @property
    def tail(self) -> float:
        """Power of 1 / g with which the density of log g decreases."""
        return 0.5 * self.a - 1.0

    def _conditional(self, n: float) -> tuple[float, float, float]:
        return 0.5 * self.a - 1.0, 0.5 * self.a, self._unit(n)


@dataclass(frozen=True, repr=False)
class HyperG(_HyperG):
    """The hyper-g prior, ``p(g) = (a - 2) / 2 (1 + g)^(-a / 2)``.

    The shrinkage factor g / (1 + g) has a Beta(1, a / 2 - 1) distribution [1]_.

    Parameters
    ----------
    a : float, default 3
        Parameter above 2; usual values are 3 and 4 (a uniform shrinkage factor).
    information : {"null", "observed"}, default "null"
        Information matrix W of models without an error variance, as in :class:`GPrior`; a keyword.

    References
    ----------
    .. [1] Liang, Paulo, Molina, Clyde and Berger (2008), "Mixtures of g priors for Bayesian variable
       selection", JASA 103, 410-423.

    Examples
    --------
    >>> import pyrjsel as rj
    >>> rj.HyperG(4)
    HyperG(a=4)
    """

    def _unit(self, n: float) -> float:
        return 1.0


@dataclass(frozen=True, repr=False)
class HyperGN(_HyperG):
    """The hyper-g/n prior, ``p(g) = (a - 2) / (2 n) (1 + g / n)^(-a / 2)``.

    The hyper-g prior on g / n with the number of rows n; consistent also if the null model is true [1]_.

    Parameters
    ----------
    a : float, default 3
        Parameter above 2; usual values are 3 and 4.
    information : {"null", "observed"}, default "null"
        Information matrix W of models without an error variance, as in :class:`GPrior`; a keyword.

    References
    ----------
    .. [1] Liang, Paulo, Molina, Clyde and Berger (2008), "Mixtures of g priors for Bayesian variable
       selection", JASA 103, 410-423.

    Examples
    --------
    >>> import pyrjsel as rj
    >>> rj.HyperGN(3)
    HyperGN(a=3)
    """

    def _unit(self, n: float) -> float:
        return n


@dataclass(frozen=True, repr=False)
class ZellnerSiow(Mixture):
    """The Zellner-Siow prior, ``1 / g ~ Gamma(1 / 2, rate n / 2)``, n the number of rows.

    Coefficients given sigma^2 have a multivariate Cauchy distribution [1]_.

    Parameters
    ----------
    information : {"null", "observed"}, default "null"
        Information matrix W of models without an error variance, as in :class:`GPrior`; a keyword.

    References
    ----------
    .. [1] Zellner and Siow (1980), "Posterior odds ratios for selected regression hypotheses", Bayesian
       Statistics 1, 585-603.

    Examples
    --------
    >>> import pyrjsel as rj
    >>> rj.ZellnerSiow()
    ZellnerSiow()
    """

    def _log_density(self, t: Numbers, n: float, d: int) -> Numbers:
        half = 0.5 * n
        # For very small g, exp overflows to inf and the density is 0, as intended.
        with np.errstate(over="ignore"):
            return 0.5 * np.log(half) - special.gammaln(0.5) - 0.5 * t - half * np.exp(-np.asarray(t))

    def _conditional(self, n: float) -> tuple[float, float, float]:
        return 0.5, 0.0, 0.5 * n

"""Priors of the coefficients of patterns, and of their scales by order."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast

import numpy as np

from pyrjsel._called import called
from pyrjsel._core import special
from pyrjsel._errors import ParameterError
from pyrjsel._typing import FloatArray
from pyrjsel._validate import bad_value, check_choice, check_real
from pyrjsel.distributions import InverseGamma, LogNormal
from pyrjsel.patterns._slice import LOG_SIGMA_LIMIT

Family = Literal["cauchy", "gaussian"]
ScalePrior = LogNormal | InverseGamma
SigmaPrior = ScalePrior | Sequence[ScalePrior] | Mapping[int, ScalePrior] | Callable[[int], ScalePrior] | None

# Li and Neal (2008), section 5: log sigma_0; mean of log sigma_o for the first and the last order, and its
# standard deviation.
LOG_SIGMA_0 = {"cauchy": 0.5, "gaussian": 5.0}
FIRST_W = {"cauchy": -2.0, "gaussian": 0.0}
LAST_W = {"cauchy": -6.0, "gaussian": -4.0}
DEVIATION = {"cauchy": 0.5, "gaussian": 2.0}

# A log-normal is farther than this many standard deviations from its mean with probability below 1e-22. An
# inverse gamma of at least this shape and at most this scale exceeds LOG_SIGMA_LIMIT with probability below
# 1e-8.
FAR = 10.0
LEAST_SHAPE = 0.1
LARGEST_LOG_SCALE = 100.0


@dataclass(frozen=True)
class PatternPrior:
    """Prior of the coefficients: family, and priors of the scales by order.

    Attributes
    ----------
    family : {"cauchy", "gaussian"}
        A coefficient of order o is Cauchy(0, sigma_o) or N(0, sigma_o^2).
    log_sigma_0 : float
        Logarithm of the scale of order 0, which is fixed.
    scales : tuple of LogNormal or InverseGamma
        Priors of sigma_o, for orders 1 to O.
    """

    # mathematics: patterns-model

    family: Family
    log_sigma_0: float
    scales: tuple[ScalePrior, ...]

    @classmethod
    def of(
        cls,
        order: int,
        family: object = "cauchy",
        sigma_prior: object = None,
        *,
        sigma_0: float | None = None,
    ) -> "PatternPrior":
        """Return the prior given by the parameters of :class:`PatternLogit`.

        Parameters
        ----------
        order : int
            Largest order O of a pattern.
        family : {"cauchy", "gaussian"}
            Family of the coefficient prior.
        sigma_prior : None, LogNormal, InverseGamma, sequence, mapping or callable
            Prior of sigma_o: one prior for all orders, a sequence of priors for orders 1 to O, a mapping by
            order, or a function of the order. None is the prior of Li and Neal (2008): log-normal, with a
            mean of log sigma_o that falls linearly in the order from -2 to -6, with standard deviation 0.5
            (Cauchy), or from 0 to -4, with standard deviation 2 (Gaussian).
        sigma_0 : float, optional
            Scale of order 0, by default exp(0.5) (Cauchy) or exp(5) (Gaussian).

        Returns
        -------
        PatternPrior
            The prior.

        Raises
        ------
        ParameterError
            If a parameter is out of range, or `sigma_prior` does not give a prior for each order.
        """
        check_choice(family, "prior", ("cauchy", "gaussian"))
        kind = cast(Family, family)
        log_sigma_0 = LOG_SIGMA_0[kind]
        if sigma_0 is not None:
            log_sigma_0 = float(np.log(check_real(sigma_0, "sigma_0", low=0, open_low=True)))
            if abs(log_sigma_0) > LARGEST_LOG_SCALE:
                raise bad_value("sigma_0", "in [exp(-100), exp(100)]", sigma_0)
        if sigma_prior is None:
            means = np.linspace(FIRST_W[kind], LAST_W[kind], order)
            scales: list[object] = [LogNormal(float(w), DEVIATION[kind]) for w in means]
        else:
            scales = _by_order(sigma_prior, order)
        for o, scale in enumerate(scales, start=1):
            _check_scale(scale, o)
        return cls(kind, log_sigma_0, tuple(cast(list[ScalePrior], scales)))

    @property
    def order(self) -> int:
        """The largest order O."""
        return len(self.scales)

    def logpdf(self, log_sigma: FloatArray) -> FloatArray:
        """Return the log density of each log sigma_o, for orders 1 to O; shape (O,)."""
        # The density of log sigma is that of sigma times sigma.
        values = [scale.logpdf(np.exp(t)) + t for scale, t in zip(self.scales, log_sigma, strict=True)]
        return np.array(values)

    def sample(self, rng: np.random.Generator) -> FloatArray:
        """Return a draw of log sigma_o for orders 1 to O; shape (O,)."""
        return np.log([scale.sample(rng) for scale in self.scales])

    def centre(self) -> FloatArray:
        """Return the log of the median or the mode of each sigma_o, shape (O,)."""
        return np.array([LAWS[type(scale)](scale).centre for scale in self.scales])

    def spread(self, scale: FloatArray) -> FloatArray:
        """Return what adds over the patterns of a group: scales, or variances of Gaussian priors."""
        return scale if self.family == "cauchy" else scale**2

    def table(self, width: float | None = None) -> FloatArray:
        """Return the priors of the scales in the layout of the compiled loop.

        Parameters
        ----------
        width : float, optional
            Initial width of the slice for log sigma_o, by default its prior standard deviation.

        Returns
        -------
        ndarray (O, 5)
            Code of the distribution, two parameters, log normalising constant of log sigma_o, width.
        """
        laws = [LAWS[type(scale)](scale) for scale in self.scales]
        rows = [[law.code, *law.numbers, law.deviation if width is None else width] for law in laws]
        return np.array(rows, dtype=np.float64)


@dataclass(frozen=True)
class ScaleLaw:
    """Prior distribution of log sigma_o, derived from the prior of sigma_o.

    Attributes
    ----------
    code : float
        Code in the compiled loop.
    numbers : tuple of float
        Two parameters, and the log normalising constant.
    deviation : float
        Standard deviation.
    centre : float
        Log of the median or the mode of sigma_o.
    must : str
        Requirement that the prior violates for double precision; empty if none.
    """

    code: float
    numbers: tuple[float, float, float]
    deviation: float
    centre: float
    must: str


def _log_normal(prior: LogNormal) -> ScaleLaw:
    w, s = prior.w, prior.s
    far = abs(w) + FAR * s > LOG_SIGMA_LIMIT
    must = f"one with abs(w) + {FAR:g} s of at most {LOG_SIGMA_LIMIT:g}" if far else ""
    rest = -np.log(s) - 0.5 * np.log(2.0 * np.pi)
    return ScaleLaw(0.0, (w, s, rest), s, float(w), must)


def _inverse_gamma(prior: InverseGamma) -> ScaleLaw:
    if prior.by_size:
        must = "an InverseGamma with numbers (give a sequence of priors, one an order)"
        return ScaleLaw(1.0, (np.nan, np.nan, np.nan), np.nan, np.nan, must)
    a, b = float(cast(float, prior.a)), float(cast(float, prior.b))
    far = a < LEAST_SHAPE or abs(np.log(b)) > LARGEST_LOG_SCALE
    must = f"an InverseGamma with a of at least {LEAST_SHAPE:g} and b in [exp(-100), exp(100)]" if far else ""
    rest = a * np.log(b) - special.gammaln(a)
    return ScaleLaw(1.0, (a, b, rest), np.sqrt(special.polygamma(1, a)), float(np.log(b / (a + 1.0))), must)


# Registry of the priors of scales that users may give, with the distributions of log sigma.
LAWS: Mapping[type, Callable[[Any], ScaleLaw]] = {LogNormal: _log_normal, InverseGamma: _inverse_gamma}


def _by_order(sigma_prior: object, order: int) -> list[object]:
    """Return a prior for each order from 1 to `order`, not yet validated."""
    orders = range(1, order + 1)
    if type(sigma_prior) in LAWS:
        return [sigma_prior] * order
    if isinstance(sigma_prior, Mapping):
        if set(sigma_prior) != set(orders):
            raise bad_value("sigma_prior", f"a mapping of each order from 1 to {order}", sigma_prior)
        return [sigma_prior[o] for o in orders]
    if callable(sigma_prior):
        return [sigma_prior(o) for o in orders]
    if not isinstance(sigma_prior, Sequence) or isinstance(sigma_prior, str):
        must = "None, a LogNormal or an InverseGamma, or a sequence, mapping or function of them by order"
        raise bad_value("sigma_prior", must, sigma_prior)
    if len(sigma_prior) != order:
        raise ParameterError(
            f"The 'sigma_prior' parameter of {called()} must have {order} entries, one for each order "
            f"from 1 on. Got {len(sigma_prior)} instead."
        )
    return list(sigma_prior)


def _check_scale(scale: object, order: int) -> None:
    """Raise unless `scale` is a prior of sigma within the range of double precision."""
    name = f"sigma_prior[order {order}]"
    if type(scale) not in LAWS:
        raise bad_value(name, "a LogNormal or an InverseGamma", scale)
    must = LAWS[type(scale)](scale).must
    if must:
        raise bad_value(name, must, scale)

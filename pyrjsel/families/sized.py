"""Families with a size: a positive parameter of the likelihood, known or with a log-normal prior."""

from abc import abstractmethod
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np
import scipy

from pyrjsel._core import special
from pyrjsel._errors import DataError
from pyrjsel._typing import FloatArray
from pyrjsel._validate import check_real
from pyrjsel.families.family import NONE, Family, Nuisance, Values

# The logarithm of a size is looked for this far from its prior mean, in prior standard deviations.
REACH = 8.0
# Largest absolute log of the median of a size's prior: of others, sizes are 0 or infinite in rounding.
MOST_LOG = 300.0
# Smallest weight whose inverse can be squared, as polygamma functions do.
LEAST_WEIGHT = 1e-145
HALF_LOG_2PI = 0.5 * float(np.log(2.0 * np.pi))


@dataclass(frozen=True)
class Sized(Family):
    """A family with a size s, such as theta of negative binomial counts.

    With ``eta' = eta - log(s)``, the log-likelihood is

        sum_i L(eta'_i; w_i y_i, share w_i y_i + s w_i) + sum_k c_k log Gamma(a_k + b_k s) + c s + d

    where L is that of the compiled passes at a weighted response and a weight. The response of weight w is
    the mean of w responses, whose sum has the size w s.

    Attributes
    ----------
    value : float or None
        The known size; None if it is estimated.
    log_mean, log_sd : float
        Mean and standard deviation of the normal prior of the logarithm of an unknown size.
    given : float or None
        The size of methods without one: `value`, or the most probable one in the model without terms.
    table : ndarray or None
        What terms without eta need of the original rows (:meth:`summarise`), if the size is unknown.
    parameter : str
        What users call the size.
    keys : int
        Number of rows of tables that tell their columns apart; the others are sums.
    share : float
        Multiple of weighted responses in the weights of the passes.
    most : float
        Largest size.
    """

    parameter: ClassVar[str]
    keys: ClassVar[int]
    share: ClassVar[float]
    most: ClassVar[float] = np.inf

    value: float | None = None
    log_mean: float = 0.0
    log_sd: float = 2.0
    given: float | None = field(default=None, compare=False)
    table: FloatArray | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        check_real(self.log_mean, "log_mean", low=-MOST_LOG, high=MOST_LOG)
        check_real(self.log_sd, "log_sd", low=0, open_low=True)
        if self.value is not None:
            check_real(self.value, self.parameter, low=0, high=self.most, open_low=True)
            object.__setattr__(self, "given", float(self.value))

    @classmethod
    @abstractmethod
    def entries(cls, y: FloatArray, w: FloatArray) -> FloatArray:
        """Return the columns of tables for single responses (n,) with positive weights."""

    @classmethod
    def summarise(cls, y: FloatArray, w: FloatArray) -> FloatArray:
        """Return the table of responses (n,) with positive weights."""
        return cls.gather(cls.entries(y, w))

    def tabulate(self, y: FloatArray, w: FloatArray, offset: FloatArray | float) -> FloatArray | None:
        """Return the table of these, unless the size is known."""
        return self.summarise(y, w) if self.value is None else None

    @classmethod
    def gather(cls, table: FloatArray) -> FloatArray:
        """Return a table with the columns of equal keys added up, in the order of the keys."""
        order = np.lexsort(table[: cls.keys])
        table = table[:, order]
        keys = table[: cls.keys]
        new = np.append(True, np.any(keys[:, 1:] != keys[:, :-1], axis=0))[: order.size]
        place = np.cumsum(new) - 1
        sums = [np.bincount(place, row, int(new.sum())) for row in table[cls.keys :]]
        return np.vstack([keys[:, new], *sums])

    @abstractmethod
    def gammas(self) -> tuple[FloatArray, tuple[float, float]]:
        """Return a, b and c of gamma functions, (3, m), and (c, d) of linear terms, for compiled loops."""

    @property
    def nuisance(self) -> Nuisance:
        """The size, unless it is known."""
        return Nuisance((self.parameter,)) if self.value is None else NONE

    @property
    def expanded(self) -> tuple[str, ...]:
        """The same."""
        return self.nuisance.names

    @property
    def size(self) -> float:
        """The size of methods without one."""
        assert self.given is not None
        return self.given

    @property
    def typical(self) -> FloatArray:
        """Its logarithm, (1,)."""
        return np.array([np.log(self.size)])

    def sizes(self, nuisance: Values, draws: int) -> FloatArray:
        """Return the size of each draw, (draws,)."""
        return nuisance[self.parameter] if self.parameter in nuisance else np.full(draws, self.size)

    def at(self, size: float) -> Self:
        """Return the family with another size in methods without one."""
        return replace(self, given=size)

    def known(self) -> tuple[Self, FloatArray]:
        """Return the family with a known size, that of methods without one, and its value."""
        return type(self)(self.size), np.array([self.size])

    def of_jumps(self) -> dict[str, Any]:
        """Return what loops that update the size need of the family and of its prior."""
        gammas, linear = self.gammas()
        prior = (self.log_mean, self.log_sd)
        return {"share": self.share, "gammas": gammas, "linear": linear, "log_prior": prior}

    def of_terms(self) -> Self:
        """Return the family without its table, for the terms with eta."""
        return replace(self, table=None)

    @staticmethod
    def check_weights(weights: FloatArray | None) -> None:
        """Raise :class:`DataError` if a weight is positive, but too small for derivatives in the size."""
        small = np.empty(0) if weights is None else weights[(weights > 0) & (weights < LEAST_WEIGHT)]
        if small.size:
            raise DataError(
                f"The 'weights' must be 0 or at least {LEAST_WEIGHT:g}. Got {small[0]:g} "
                f"({small.size} value(s) like this)."
            )

    def for_rows(self, y: FloatArray, weights: FloatArray | None, offset: FloatArray | None) -> Self:
        """Return the family with the most probable size in the model without terms, unless it is known.

        The rows may be combined ones if the family has the table of the original ones.
        """
        if self.value is not None:
            return self
        w = np.ones(y.size) if weights is None else weights
        used = w > 0
        y, w, known = y[used], w[used], np.zeros(y.size)[used] if offset is None else offset[used]
        learned = self if self.table is not None else self.learned(y, self.summarise(y, w), y.size)

        def loss(t: float) -> float:
            eta = learned.at(float(np.exp(t))).null_intercept(y, w, known) + known
            at = np.array([t])
            return -learned.joint(y, w, eta, at)[0] - float(learned.log_prior(at)[0])

        ends = (self.log_mean - REACH * self.log_sd, self.log_mean + REACH * self.log_sd)
        return learned.at(
            float(np.exp(scipy.optimize.minimize_scalar(loss, bounds=ends, method="bounded").x))
        )

    def learned(self, y: FloatArray, table: FloatArray, n: int) -> Self:
        """Return the family with the table of all `n` rows; `y` has their smallest and largest response."""
        return replace(self, table=table)

    def level(self, y: FloatArray, weights: FloatArray, offset: FloatArray) -> float | None:
        """Return the log mean response, unless the size is known.

        Under a flat intercept expected responses have no posterior mean: the likelihood falls in the
        intercept a as ``exp(-n s a)`` alone, and expected responses grow as ``exp(a)``, so that integrals
        over a do not exist for sizes s below 1 / n.
        """
        if self.value is not None:
            return None
        return float(np.log(weights @ y) - special.logsumexp(offset, b=weights))

    def log_prior(self, t: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return log prior densities of log sizes (..., 1); see :meth:`Family.log_prior`."""
        # mathematics: selection-size
        z = (t - self.log_mean) / self.log_sd
        value = -0.5 * z[..., 0] ** 2 - np.log(self.log_sd) - HALF_LOG_2PI
        return value, -z / self.log_sd, np.full_like(z, self.log_sd**-2.0)

    @abstractmethod
    def terms(
        self, y: FloatArray, w: FloatArray, eta: FloatArray, t: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray, FloatArray, FloatArray]:
        """Return the terms with eta of log-likelihoods (m,) at `eta` (m, n) and log sizes `t` (m,).

        And their derivatives: the first and minus the second in eta (m, n), the same in t (m,), and minus the
        mixed ones (m, n).
        """

    @abstractmethod
    def values(self, y: FloatArray, w: FloatArray, eta: FloatArray, t: FloatArray) -> FloatArray:
        """Return these terms (m,) alone."""

    @abstractmethod
    def constants(self, size: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the terms without eta for sizes (m,), and their two derivatives in the log size."""

    def row_terms(
        self, y: FloatArray, w: FloatArray, eta: FloatArray, t: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray, FloatArray, FloatArray]:
        """Return the terms with eta; see :meth:`Family.row_terms`."""
        value, residual, weight, slope, curve, cross = self.terms(y, w, eta, t[:, 0])
        return value, residual, weight, slope[:, None], curve[:, None, None], cross[:, None]

    def row_values(self, y: FloatArray, w: FloatArray, eta: FloatArray, t: FloatArray) -> FloatArray:
        """Return these terms (m,) alone."""
        return self.values(y, w, eta, t[:, 0])

    def rest(self, t: FloatArray, n: int) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the terms without eta; see :meth:`Family.rest`."""
        value, slope, bend = self.constants(np.exp(t[:, 0]))
        return value, slope[:, None], -bend[:, None, None]

    def lost(self, y: FloatArray, w: FloatArray) -> float:
        """Return how much the terms with eta of combined rows exceed those of original ones, for a size of 1.

        They do in proportion to the size.
        """
        return 0.0

    def joint(
        self, y: FloatArray, w: FloatArray, eta: FloatArray, t: FloatArray
    ) -> tuple[float, FloatArray, FloatArray, FloatArray, FloatArray, FloatArray]:
        """Return the log-likelihood with all constants, and its derivatives; see :meth:`Family.joint`.

        Rows may be combined ones.
        """
        size, terms = np.exp(t), self.terms(y, w, eta[None], t)
        fixed, lost = self.constants(size), size * self.lost(y, w)
        return (
            float((terms[0] + fixed[0] - lost)[0]),
            terms[1][0],
            terms[2][0],
            terms[3] + fixed[1] - lost,
            (terms[4] - fixed[2] + lost)[:, None],
            terms[5],
        )

    def constant(self, size: FloatArray) -> FloatArray:
        """Return the first of them alone."""
        return self.constants(size)[0]

    def joint_rest(self, y: FloatArray, w: FloatArray, t: FloatArray) -> FloatArray:
        """Return log prior densities of t (m, 1), and terms of the log-likelihood of t alone."""
        size = np.exp(t[:, 0])
        return np.asarray(self.constant(size) - size * self.lost(y, w) + self.log_prior(t)[0])

    def rows(
        self, y: FloatArray, weights: FloatArray | None, offset: FloatArray
    ) -> tuple[FloatArray, FloatArray | None, FloatArray]:
        """Return weighted responses, weights and offset of the passes."""
        w = np.ones(y.size) if weights is None else weights
        return w * y, w * (self.share * y + self.size), offset - np.log(self.size)

    def tells_dispersion(self, weights: FloatArray) -> bool:
        """Return whether the size is known: an unknown one fits the dispersion."""
        return self.value is not None

    def size_fact(self) -> tuple[str, str]:
        """Return what is known of the size, for a summary."""
        return self.parameter.capitalize(), "estimated" if self.value is None else f"{self.value:,.6g}"

"""The prior of a mixture classifier: kernels and weights, and the null model of inputs that are left out."""

from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

import numpy as np
import scipy

from pyrjsel._called import named
from pyrjsel._core import special
from pyrjsel._typing import FloatArray
from pyrjsel._validate import bad_value, check_real

# A gamma draw of a smaller shape may be too small for a double: it is about a uniform to the power 1 / shape.
LEAST_SHAPE = 0.1

# Draws of kernels from the prior before it is thought that nearly all of them have a precision cut off.
TRIES = 100

# Degrees of freedom of the null model beyond the number of inputs.
SURPLUS = 31.0


@dataclass(frozen=True)
class KernelPrior:
    """The prior of kernels of ``target="labels"``.

    The means of an input's kernels are normal, with the midpoint of its range as mean and the range as
    standard deviation. Precisions of an input of standard deviation 1 are Gamma(alpha, beta_i), and the rate
    beta_i is Gamma(g, h); the rate of an input of standard deviation s is s^2 times as large.

    Parameters
    ----------
    alpha : float, default 2
        Shape of the precisions, at least 0.1.
    g, h : float, default 2 and 1
        Shape (at least 0.1) and rate of beta_i. Sykacek (1999) has g = 0.2, and an h from 0.16 to 0.5.

    Raises
    ------
    ParameterError
        If a parameter is out of range.

    Examples
    --------
    >>> import pyrjsel as rj
    >>> rj.KernelPrior(g=0.2, h=0.16)
    KernelPrior(alpha=2.0, g=0.2, h=0.16)
    """

    alpha: float = 2.0
    g: float = 2.0
    h: float = 1.0

    def __post_init__(self) -> None:
        check_real(self.alpha, "alpha", low=LEAST_SHAPE)
        check_real(self.g, "g", low=LEAST_SHAPE)
        check_real(self.h, "h", low=0, open_low=True)


@dataclass(frozen=True)
class MixturePrior:
    """The prior of ``target="joint"``: kernels in range units, and the null model.

    Each input is measured from the midpoint of its range, in units of the range. Then the means of kernels
    are N(0, 1); the precisions of an input i are Gamma(alpha, beta_i), beta_i a rate that is Gamma(g, h),
    and no kernel is narrower than `min_sd`.

    The null model is one normal distribution of all p inputs: covariance inverse Wishart with `nu0` degrees
    of freedom and scale matrix ``psi0 * I``, mean N(0, covariance / kappa0). Of single inputs and subsets it
    has the margins of this prior.

    Parameters
    ----------
    alpha : float, default 2
        Shape of the precisions, at least 0.1.
    g, h : float, default 0.2 and 10
        Shape (at least 0.1) and rate of beta_i. Variances of kernels are of the order of ``g / h``, with a
        wide spread.
    min_sd : float, default 0.01
        Smallest standard deviation of a kernel, in ranges. With 0, inputs with repeated values have no
        posterior: the density of a kernel at ten equal values is unbounded.
    kappa0 : float, default 0.04
        Weight of the null model's mean 0, in rows.
    nu0 : float, optional
        Degrees of freedom, above p - 1. The default is p + 31, which gives covariances the mean
        ``psi0 / 30 * I``. With fewer, noise inputs are selected when a dozen other inputs matter: the null
        model is penalised for every selected input on which a noise input might depend.
    psi0 : float, default 0.9
        Scale of the null model's covariance.

    Raises
    ------
    ParameterError
        If a parameter is out of range.

    Examples
    --------
    >>> import numpy as np
    >>> import pyrjsel as rj
    >>> prior = rj.MixturePrior(h=2.0)
    >>> beta, precision, mean = prior.sample_kernels(3, np.random.default_rng(1))
    >>> bool((precision <= prior.max_precision).all())
    True
    """

    alpha: float = 2.0
    g: float = 0.2
    h: float = 10.0
    min_sd: float = 0.01
    kappa0: float = 0.04
    nu0: float | None = None
    psi0: float = 0.9

    def __post_init__(self) -> None:
        check_real(self.alpha, "alpha", low=LEAST_SHAPE)
        check_real(self.g, "g", low=LEAST_SHAPE)
        check_real(self.h, "h", low=0, open_low=True)
        check_real(self.min_sd, "min_sd", low=0, high=1)
        check_real(self.kappa0, "kappa0", low=0, open_low=True)
        check_real(self.psi0, "psi0", low=0, open_low=True)
        if self.nu0 is not None:
            check_real(self.nu0, "nu0", low=0, open_low=True)

    @property
    def max_precision(self) -> float:
        """The largest precision of a kernel; inf without a least deviation."""
        return self.min_sd**-2 if self.min_sd else float("inf")

    def surplus(self, n_inputs: int) -> float:
        """Return the degrees of freedom of the null model beyond the number of inputs, ``nu0 - p``.

        Parameters
        ----------
        n_inputs : int
            p.

        Returns
        -------
        float
            The surplus.

        Raises
        ------
        ParameterError
            If this is not more than -1.
        """
        if self.nu0 is None:
            return SURPLUS
        if self.nu0 <= n_inputs - 1:
            with named("MixturePrior"):
                raise bad_value("nu0", f"more than {n_inputs - 1} for {n_inputs} inputs", self.nu0)
        return self.nu0 - n_inputs

    # --- densities, in plain numpy --------------------------------------------------------------------

    def log_mass(self, components: int) -> float:
        """Return the log probability that no precision of an input exceeds the largest one.

        It normalises the density of beta_i and the precisions, from which those beyond are cut off.

        Parameters
        ----------
        components : int
            Number D of kernels.

        Returns
        -------
        float
            Of beta_i and the precisions together.
        """
        return _log_mass(self, components)

    def sample_kernels(
        self, components: int, rng: np.random.Generator
    ) -> tuple[float, FloatArray, FloatArray]:
        """Return a draw of the kernels of an input.

        Parameters
        ----------
        components : int
            Number D of kernels.
        rng : Generator
            Random numbers.

        Returns
        -------
        beta : float
            beta_i.
        precision, mean : ndarray, shape (D,)
            In range units.
        """
        for _ in range(TRIES):
            beta = rng.gamma(self.g) / self.h
            precision = rng.gamma(self.alpha, size=components) / beta
            if np.all(precision <= self.max_precision):
                return beta, precision, rng.standard_normal(components)
        beta, below = self._sample_rate(components, rng)
        precision = special.gammaincinv(self.alpha, below * rng.random(components)) / beta
        return beta, np.minimum(precision, self.max_precision), rng.standard_normal(components)

    def _sample_rate(self, components: int, rng: np.random.Generator) -> tuple[float, float]:
        """Return a draw of beta_i where most precisions are cut off, and the probability F that one is not.

        Its density is that of the gamma distribution times F^D, and F is at most a power of beta_i: the power
        t D alpha for t = 1, and so for smaller t since F is at most 1. Draws come from the gamma
        distribution that this power makes, t being that of which most are taken.
        """
        most = self.max_precision
        t = np.linspace(0.0, 1.0, 101)
        gain = t * components * self.alpha
        bound = gain * np.log(most / self.h) - t * components * special.gammaln(self.alpha + 1.0)
        best = t[np.argmin(bound + special.gammaln(self.g + gain))]
        while True:
            beta = rng.gamma(self.g + best * components * self.alpha) / self.h
            below = float(special.gammainc(self.alpha, beta * most))
            log_bound = self.alpha * np.log(beta * most) - special.gammaln(self.alpha + 1.0)
            if np.log(rng.random()) < components * (np.log(below) - best * log_bound):
                return beta, below


@lru_cache(maxsize=64)
def _log_mass(prior: MixturePrior, components: int) -> float:
    if np.isinf(prior.max_precision):
        return 0.0

    def integrand(t: float) -> float:  # over log beta
        beta = np.exp(t)
        return float(
            np.exp(prior.g * (t + np.log(prior.h)) - prior.h * beta - special.gammaln(prior.g))
            * special.gammainc(prior.alpha, beta * prior.max_precision) ** components
        )

    # From where all precisions are far too large to where the rate is far too large, in equal parts.
    low = -np.log(prior.max_precision) - 40.0 / min(prior.alpha, 1.0)
    edges = np.linspace(low, np.log(1000.0 * (1.0 + prior.g) / prior.h), 9)
    parts = [
        scipy.integrate.quad(integrand, a, b, epsabs=1e-14, epsrel=1e-11, limit=200)[0]
        for a, b in pairwise(edges)
    ]
    return float(np.log(np.sum(parts)))

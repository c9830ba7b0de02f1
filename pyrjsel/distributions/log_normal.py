"""The log-normal distribution."""

from dataclasses import dataclass

import numpy as np

from pyrjsel._validate import check_real


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

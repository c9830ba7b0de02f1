"""The inverse gamma distribution."""

from collections.abc import Sequence
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

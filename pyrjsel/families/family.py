"""What a likelihood family is to the rooms that use it."""

from abc import ABC, abstractmethod
from typing import ClassVar

from pyrjsel._typing import FloatArray


class Family(ABC):
    """A likelihood family with its link.

    The log-likelihood of a row is a function of its linear predictor eta, times its weight; constants
    that no model changes are left out of it.

    Attributes
    ----------
    name, link : str
    code : int
        Of the compiled passes, see ``_family.pyx``.
    """

    name: ClassVar[str]
    link: ClassVar[str]
    code: ClassVar[int]

    @abstractmethod
    def check(self, y: FloatArray, weights: FloatArray | None, response: str) -> None:
        """Raise :class:`DataError` unless `y` (n,) and `weights` (n,) or None are usable."""

    @abstractmethod
    def mean(self, eta: FloatArray) -> FloatArray:
        """Return the expected response at linear predictor `eta`, of the same shape."""

    @abstractmethod
    def log_likelihood(self, y: FloatArray, eta: FloatArray, weights: FloatArray | None = None) -> float:
        """Return the log-likelihood."""

    @abstractmethod
    def saturated(self, y: FloatArray, weights: FloatArray | None = None) -> float:
        """Return the log-likelihood of the saturated model, which the deviance is counted from."""

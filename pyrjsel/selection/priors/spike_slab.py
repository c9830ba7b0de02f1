"""Spike-and-slab priors on the coefficients of gaussian models."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any, ClassVar

import numpy as np

from pyrjsel._called import called, named
from pyrjsel._errors import ParameterError
from pyrjsel._typing import BoolArray, FloatArray
from pyrjsel._validate import bad_value, check_bool, check_real, unknown_name
from pyrjsel.selection.priors.base import CoefficientPrior
from pyrjsel.selection.priors.coefficients import FARTHEST
from pyrjsel.selection.priors.gaussian import GaussianPrior

Numbers = float | Sequence[float] | Mapping[str, float]


@dataclass(frozen=True)
class SpikeSlab(CoefficientPrior):
    """The prior of stochastic search variable selection: a narrow and a wide normal distribution.

    The coefficients of an excluded term are N(0, tau^2), those of an included term N(0, c tau^2), times
    sigma^2 if `scaled` [1]_. All columns are in every model: a term is "excluded" if its coefficients are
    negligible on the scale of `tau`.

    Parameters
    ----------
    tau : float, sequence or mapping
        Standard deviation of a negligible coefficient, above 0, in units of the response per unit of the
        column. A number for all columns, a sequence with one per column of the design, or a mapping from
        names of terms or columns; the name of a column takes precedence over that of its term.
    c : float, sequence or mapping
        Ratio of the two variances, above 1, given as for `tau`; usual values are 100 and 10,000. (George and
        McCulloch denote it by c^2.)
    scaled : bool, default False
        Whether the variances are multiples of sigma^2. Marginal likelihoods are then exact; otherwise they
        are computed by quadrature.
    standardize : bool, default False
        Whether the prior is on the coefficients of columns scaled to (weighted) standard deviation one.

    References
    ----------
    .. [1] George and McCulloch (1993), "Variable selection via Gibbs sampling", JASA 88, 881-889.

    Examples
    --------
    >>> import pyrjsel as rj
    >>> rj.SpikeSlab(0.1, 100)
    SpikeSlab(tau=0.1, c=100, scaled=False, standardize=False)
    """

    tau: Numbers
    c: Numbers
    scaled: bool = False
    standardize: bool = False

    variance_by_size: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "tau", _checked(self.tau, "tau", 0.0))
        object.__setattr__(self, "c", _checked(self.c, "c", 1.0))
        for value in _numbers(self.tau):
            if not 1 / FARTHEST <= value <= FARTHEST:
                raise bad_value("tau", "between 1e-100 and 1e100, since it is squared", value)
        check_bool(self.scaled, "scaled")
        check_bool(self.standardize, "standardize")

    def by_column(self, terms: Sequence[tuple[str, Sequence[str]]]) -> "SpikeSlab":
        """Return the prior with one number for each column.

        Parameters
        ----------
        terms : sequence of (str, sequence of str)
            Names of the terms, and of the columns of each.

        Returns
        -------
        SpikeSlab
            The prior with sequences for `tau` and `c`.

        Raises
        ------
        ParameterError
            If a sequence does not have one number per column, or a mapping lacks a column.
        UnknownNameError
            If a mapping has a key that is neither a term nor a column.
        """
        with named("SpikeSlab"):
            return replace(self, tau=_spread(self.tau, "tau", terms), c=_spread(self.c, "c", terms))

    def restrict(self, inside: BoolArray) -> "SpikeSlab":
        """Return the prior restricted to the columns `inside`; mappings must have been expanded before.

        Parameters
        ----------
        inside : bool array (D,)
            Mask of the columns.

        Returns
        -------
        SpikeSlab
            The prior with the numbers of these columns.
        """
        parts = {
            name: tuple(v for v, keep in zip(value, inside, strict=True) if keep)
            for name, value in (("tau", self.tau), ("c", self.c))
            if isinstance(value, tuple)
        }
        return replace(self, **parts)  # type: ignore[arg-type]

    def _compile_gaussian(self, scale: FloatArray, n: int) -> GaussianPrior:
        zero = np.zeros(scale.size)
        if not scale.size:
            return GaussianPrior(zero, zero, zero, self.scaled)
        spread = self.by_column([("", [""] * scale.size)])
        unit = np.ones(scale.size) if self.standardize else scale
        precision = (unit * np.array(spread.tau, dtype=float)) ** -2.0
        ratio = np.array(spread.c, dtype=float)
        return GaussianPrior(precision, zero, np.log(precision), self.scaled, ratio)


def _checked(value: Any, name: str, low: float) -> Any:
    must = f"a number above {low:g}, a sequence of them, or a mapping from names to them"
    if isinstance(value, Real):
        check_real(value, name, low=low, open_low=True)
        return value
    if isinstance(value, Mapping):
        items = dict(value)
        numbers: Sequence[object] = list(items.values())
        if not items or not all(isinstance(key, str) for key in items):
            raise bad_value(name, must, value)
        found: Any = _Names(items)
    elif isinstance(value, Sequence | np.ndarray) and not isinstance(value, str) and np.ndim(value) == 1:
        numbers = found = tuple(value.tolist() if isinstance(value, np.ndarray) else value)
    else:
        raise bad_value(name, must, value)
    for number in numbers:
        check_real(number, name, low=low, open_low=True)
    return found


class _Names(dict[str, float]):
    """A hashable mapping, for use in frozen dataclasses."""

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(frozenset(self.items()))


def _numbers(value: Any) -> list[float]:
    if isinstance(value, Mapping):
        return [float(v) for v in value.values()]
    return [float(v) for v in value] if isinstance(value, tuple) else [float(value)]


def _spread(value: Any, name: str, terms: Sequence[tuple[str, Sequence[str]]]) -> tuple[float, ...]:
    """Return one number for each column."""
    names = [(term, column) for term, columns in terms for column in columns]
    if isinstance(value, Mapping):
        known = {item for pair in names for item in pair} | {term for term, _ in terms}
        for key in value:
            if key not in known:
                raise unknown_name(key, "name", sorted(known), f"in {name!r}")
        missing = [column for term, column in names if column not in value and term not in value]
        if missing:
            raise ParameterError(
                f"The {name!r} parameter of {called()} must have a number for each column, by its own "
                f"name or that of its term. There is none for {', '.join(missing[:8])}."
            )
        return tuple(float(value[column] if column in value else value[term]) for term, column in names)
    if isinstance(value, tuple):
        if len(value) != len(names):
            raise ParameterError(
                f"The {name!r} parameter of {called()} must have one number for each of the {len(names)} "
                f"columns of the design. Got {len(value)} instead."
            )
        return tuple(float(v) for v in value)
    return (float(value),) * len(names)

"""User-specified settings of a model, and what they give on the training data: units, kernels and numbers."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

import numpy as np

from pyrjsel._called import called
from pyrjsel._errors import DataError, FormulaError, ParameterError
from pyrjsel._typing import FloatArray
from pyrjsel._validate import bad_value, check_bool, check_choice, check_int, check_real, listed
from pyrjsel.design import Design, DesignData
from pyrjsel.distributions import InverseGamma
from pyrjsel.kernel.kernels import Kernel, KernelFunction, make_kernel, median_width, usual_widths
from pyrjsel.kernel.priors import Prior, check_prior, scaled
from pyrjsel.kernel.state import KernelSettings

# A spread below this share of the largest value is rounding error.
CONSTANT = 1e-12
# The sum of squares of larger values is infinite.
LARGEST = 1e150


def check_squares(x: FloatArray, y: FloatArray) -> None:
    """Raise :class:`DataError` if values of the inputs or the response are too large to be squared."""
    for values, what in ((x, "inputs"), (y, "response")):
        largest = float(np.abs(values).max(initial=0.0))
        if largest > LARGEST:
            raise DataError(
                f"The {what} of {called()} must be at most {LARGEST:g} in size, since squares are summed. "
                f"Got {largest:g}."
            )


@dataclass(frozen=True, eq=False)
class Scaling:
    """Means and standard deviations that inputs and response are standardised by; 0 and 1 where they are not.

    Attributes
    ----------
    x_mean, x_sd : ndarray of float64, shape (d,)
        Of the inputs, the sums of squares divided by the number of rows.
    y_mean, y_sd : float
        Of the response.
    """

    x_mean: FloatArray
    x_sd: FloatArray
    y_mean: float
    y_sd: float

    @classmethod
    def of(
        cls,
        x: FloatArray,
        y: FloatArray,
        names: tuple[str, ...],
        response: str,
        standardize: bool,
    ) -> "Scaling":
        """Return the constants of rows `x` (n, d) and `y` (n,).

        Raises
        ------
        DataError
            If there are no two rows, an input or the response is constant, or a value is too large to square.
        """
        if len(y) < 2:
            raise DataError(f"{called()} needs two rows at least. Got {len(y)}.")
        check_squares(x, y)
        mean, sd = x.mean(axis=0), x.std(axis=0)
        flat = sd <= CONSTANT * np.abs(x).max(axis=0)
        if flat.any():
            constant = [repr(names[column]) for column in np.flatnonzero(flat)]
            raise DataError(
                f"The inputs {listed(constant)} of {called()} are constant in the rows used; leave them out."
            )
        if y.std() <= CONSTANT * np.abs(y).max():
            raise DataError(f"The response {response!r} of {called()} is constant in the rows used.")
        if not standardize:
            return cls(np.zeros(x.shape[1]), np.ones(x.shape[1]), 0.0, 1.0)
        return cls(mean, sd, float(y.mean()), float(y.std()))

    def inputs(self, x: FloatArray) -> FloatArray:
        """Return inputs (n, d) as kernels see them, C-contiguous."""
        return np.ascontiguousarray((x - self.x_mean) / self.x_sd)

    def response(self, y: FloatArray) -> FloatArray:
        """Return the response (n,) as it is fitted."""
        return (y - self.y_mean) / self.y_sd

    def raw_inputs(self, x: FloatArray) -> FloatArray:
        """Return inputs in the units of the data."""
        return x * self.x_sd + self.x_mean

    def raw_response(self, y: FloatArray) -> FloatArray:
        """Return the response in the units of the data."""
        return y * self.y_sd + self.y_mean


Width = float | str | Sequence[float] | None

# How far a variance that is fixed may be from the mean square of the response.
FIXED = 1e12
# Most kernels of a model where nothing is said: so many, or more if the prior expects more.
MOST_KERNELS = 50
TRENDS = ("constant", "linear")


@dataclass(frozen=True)
class Choices:
    """Parameters of :class:`KernelRegression`, as they were given."""

    kernel: str | KernelFunction
    width: Width
    convention: str
    mean_kernels: float
    max_kernels: int | None
    trend: str
    standardize: bool
    noise_variance: float | None
    coef_variance: float | None
    noise_prior: Prior
    coef_prior: Prior


@dataclass(frozen=True, eq=False)
class Specification:
    """The user's settings, evaluated on the training data.

    Attributes
    ----------
    standardize : bool
    scaling : Scaling
    convention : str
    widths : tuple of float
        As they were given; the median is a number by now.
    kernels : tuple of Kernel
        By width.
    noise_prior, coef_prior : InverseGamma or None
        As they were given.
    settings : KernelSettings
        With the first kernel, in units of the response as it is fitted.
    automatic : bool
        Whether no width was given.
    """

    standardize: bool
    scaling: Scaling
    convention: str
    widths: tuple[float, ...]
    kernels: tuple[Kernel, ...]
    noise_prior: InverseGamma | None
    coef_prior: InverseGamma | None
    settings: KernelSettings
    automatic: bool = False


def specify(choices: Choices, design: Design, rows: DesignData) -> Specification:
    """Return what the choices come to, or raise :class:`DataError`, `FormulaError` or `ParameterError`."""
    if rows.X.shape[1] == 0:
        raise DataError(f"{called()} needs one input at least; the formula has none.")
    for factor in design.layout.factors:
        if factor.level is not None:
            merged = factor.expression.variables[0]
            raise FormulaError(
                f"The formula of {called()} has C({merged}, merge=True), but every kernel has all inputs, so "
                f"that no level is ever merged with the reference. Write {merged} alone."
            )
    standardize = check_bool(choices.standardize, "standardize")
    scaling = Scaling.of(rows.X, rows.y, tuple(design.column_names), design.response, standardize)
    widths = _widths(choices.width, scaling.inputs(rows.X))
    kernels = tuple(make_kernel(choices.kernel, width, choices.convention) for width in widths)
    most = choices.max_kernels
    if most is not None and check_int(most, "max_kernels", low=1) > rows.n:
        raise ParameterError(
            f"The 'max_kernels' parameter of {called()} must be at most the number of rows, {rows.n}, since "
            f"centres are rows. Got {most} instead."
        )
    variance = scaling.y_sd**2
    square = variance * float(np.mean(scaling.response(rows.y) ** 2))

    def fixed(value: float | None, name: str) -> float | None:
        if value is None:
            return None
        low, high = square / FIXED, square * FIXED
        if not low <= check_real(value, name, low=0, open_low=True) <= high:
            raise ParameterError(
                f"The {name!r} parameter of {called()} must be in [{low:.3g}, {high:.3g}], within a factor "
                f"of {FIXED:g} of the mean square of the fitted response: rounding is in the way beyond. "
                f"Got {value!r} instead."
            )
        return float(value) / variance

    noise_prior = check_prior(choices.noise_prior, "noise_prior")
    coef_prior = check_prior(choices.coef_prior, "coef_prior")
    a_y, b_y = scaled(noise_prior, variance)
    a_beta, b_beta = scaled(coef_prior, variance)
    check_choice(choices.trend, "trend", TRENDS)
    mean = check_real(choices.mean_kernels, "mean_kernels", low=0, open_low=True)
    settings = KernelSettings(
        kernels[0],
        mean_kernels=mean,
        max_kernels=max(MOST_KERNELS, ceil(3.0 * mean) + 20) if most is None else most,
        a_y=a_y,
        b_y=b_y,
        a_beta=a_beta,
        b_beta=b_beta,
        noise_variance=fixed(choices.noise_variance, "noise_variance"),
        coef_variance=fixed(choices.coef_variance, "coef_variance"),
        trend=rows.X.shape[1] if choices.trend == "linear" else 0,
    )
    return Specification(
        standardize,
        scaling,
        choices.convention,
        widths,
        kernels,
        noise_prior,
        coef_prior,
        settings,
        choices.width is None,
    )


def _widths(width: Width, x: FloatArray) -> tuple[float, ...]:
    """Return the widths that `width` stands for, on rows `x` (n, d)."""
    if width is None:
        return usual_widths(x)
    if isinstance(width, str):
        if width != "median":
            raise bad_value("width", "a positive number, 'median', a sequence of numbers, or None", width)
        return (median_width(x),)
    if isinstance(width, Sequence | np.ndarray):
        if np.ndim(np.asarray(width, dtype=object)) != 1 or len(width) == 0:
            raise bad_value("width", "a positive number, 'median', a sequence of numbers, or None", width)
        widths = [check_real(each, "width", low=0, open_low=True) for each in width]
        if len(set(widths)) < len(widths):
            raise bad_value("width", "a sequence of different numbers", width)
        return tuple(widths)
    return (check_real(width, "width", low=0, open_low=True),)

"""Splits of sums: the conditional distribution of one of two variables given their sum."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pyrjsel._called import called
from pyrjsel._errors import ParameterError
from pyrjsel._typing import BoolArray, FloatArray, RNGLike, SeedLike
from pyrjsel._validate import bad_value, check_choice, check_int, check_rng
from pyrjsel.patterns._split import cdf, draw, ppf

Size = int | tuple[int, ...] | None
Floats = float | FloatArray

# Products of four lengths must neither overflow nor vanish.
WIDEST = 1e70


def split_gaussian(
    s: ArrayLike,
    sd1: ArrayLike,
    sd2: ArrayLike,
    *,
    rng: RNGLike | SeedLike | None = None,
    size: Size = None,
) -> tuple[Floats, Floats]:
    """Split sums of two independent normal variables into draws of the two.

    Parameters
    ----------
    s : array_like of float
        The sums.
    sd1, sd2 : array_like of float
        Standard deviations of part and rest, positive; both have mean 0.
    rng : int, SeedSequence or Generator, optional
        Random numbers.
    size : int or tuple of int, optional
        Shape of the draws; by default the broadcast shape of `s`, `sd1` and `sd2`.

    Returns
    -------
    part, rest : float or ndarray
        Draws that add up to `s`; floats if all arguments are.

    Raises
    ------
    ParameterError
        If a sum is not finite, a standard deviation is not positive and finite, or shapes do not broadcast.

    See Also
    --------
    split_cauchy : The same for Cauchy variables.

    Notes
    -----
    Given the sum, the part is normal with mean ``s sd1**2 / (sd1**2 + sd2**2)`` and variance
    ``sd1**2 sd2**2 / (sd1**2 + sd2**2)`` [1]_.

    References
    ----------
    .. [1] Li, L. and Neal, R. M. (2008). Compressing parameters in Bayesian high-order models with
       application to logistic sequence models. Bayesian Analysis 3, 793-821.

    Examples
    --------
    >>> import pyrjsel as rj
    >>> part, rest = rj.split_gaussian(2.0, 1.0, [0.1, 3.0], rng=1)
    >>> (part + rest).tolist(), part.round(3).tolist()
    ([2.0, 2.0], [2.015, 0.979])
    """
    # mathematics: patterns-split-normal
    generator = check_rng(rng)
    sums, first, second = _arguments({"s": s, "sd1": sd1, "sd2": sd2}, size)
    whole = np.hypot(first, second)
    share, other = (first / whole) ** 2, (second / whole) ** 2
    noise = first * np.sqrt(other) * generator.standard_normal(whole.shape)
    # The narrower part is drawn and subtracted from the sum, so that both have full precision.
    narrow = first <= second
    part = np.where(narrow, share * sums + noise, sums - (other * sums - noise))
    rest = np.where(narrow, sums - part, other * sums - noise)
    return _plain(part), _plain(rest)


def split_cauchy(
    s: ArrayLike,
    scale1: ArrayLike,
    scale2: ArrayLike,
    *,
    rng: RNGLike | SeedLike | None = None,
    size: Size = None,
    method: str = "inversion",
) -> tuple[Floats, Floats]:
    """Split sums of two independent Cauchy variables into draws of the two.

    Parameters
    ----------
    s : array_like of float
        The sums.
    scale1, scale2 : array_like of float
        Scales of part and rest, positive; both are centred at 0.
    rng : int, SeedSequence or Generator, optional
        Random numbers.
    size : int or tuple of int, optional
        Shape of the draws; by default the broadcast shape of `s`, `scale1` and `scale2`.
    method : {"inversion", "rejection"}, default "inversion"
        Inversion of the distribution function, with one uniform number per draw (see
        :func:`split_cauchy_ppf`), or rejection sampling from a mixture of the two Cauchy distributions, with
        acceptance rate of at least one half. Both are exact; rejection is faster.

    Returns
    -------
    part, rest : float or ndarray
        Draws that add up to `s`; floats if all arguments are. Both have full precision, also if one is much
        smaller than the other.

    Raises
    ------
    ParameterError
        If a sum is not finite, a scale is not positive and finite, scales and sums differ by a factor of more
        than 1e70, shapes do not broadcast, or the method is unknown.

    See Also
    --------
    split_cauchy_cdf, split_cauchy_ppf : Distribution function and quantiles of the part.
    split_gaussian : The same for normal variables.

    Notes
    -----
    Rejection: with ``u = x**2 + scale1**2`` and ``v = (s - x)**2 + scale2**2`` the density is proportional to
    ``1 / (u v) = (1 / u + 1 / v) / (u + v)``, and ``u + v`` is at least ``s**2 / 2 + scale1**2 + scale2**2``.

    Examples
    --------
    >>> import pyrjsel as rj
    >>> part, rest = rj.split_cauchy(10.0, 1.0, 1.0, rng=1, size=4)
    >>> part.round(2).tolist()
    [5.48, 11.47, -0.31, 11.42]
    """
    generator = check_rng(rng)
    check_choice(method, "method", ("inversion", "rejection"))
    sums, first, second = _arguments({"s": s, "scale1": scale1, "scale2": scale2}, size)
    _check_width(sums, first, second)
    out = np.empty((2, *sums.shape))
    draw(generator, sums.ravel(), first.ravel(), second.ravel(), method == "inversion", out.reshape(2, -1))
    return _plain(out[0]), _plain(out[1])


def split_cauchy_cdf(x: ArrayLike, s: ArrayLike, scale1: ArrayLike, scale2: ArrayLike) -> Floats:
    """Return the distribution function of one of two Cauchy variables given their sum.

    Parameters
    ----------
    x : array_like of float
        Arguments; may be infinite.
    s : array_like of float
        The sums.
    scale1, scale2 : array_like of float
        Scales of part and rest, positive.

    Returns
    -------
    float or ndarray
        P(part <= x | sum), in the broadcast shape of the arguments. The error is below 1e-15 and,
        in the lower tail, below 1e-12 of the value; the upper tail is the lower tail at ``-x`` for the sum
        ``-s``.

    Raises
    ------
    ParameterError
        As for :func:`split_cauchy`; if `x` is NaN.

    See Also
    --------
    split_cauchy_ppf : Its inverse.

    Notes
    -----
    With a and b the scales and ``Q = ((a - b)**2 + s**2) ((a + b)**2 + s**2)``, it is [1]_
    ``(r log((x**2 + a**2) / ((x - s)**2 + b**2)) + p (arctan(x / a) + pi / 2) +
    q (arctan((x - s) / b) + pi / 2)) / (pi (p + q))`` where ``r = s / Q``,
    ``p = (s**2 - a**2 + b**2) / (a Q)`` and ``q = (s**2 + a**2 - b**2) / (b Q)``, computed in a form without
    cancellation for Q near 0 and in the tails.

    References
    ----------
    .. [1] Li, L. and Neal, R. M. (2008). Compressing parameters in Bayesian high-order models with
       application to logistic sequence models. Bayesian Analysis 3, 793-821.

    Examples
    --------
    >>> import pyrjsel as rj
    >>> rj.split_cauchy_cdf([0.0, 5.0, 10.0], 10.0, 1.0, 1.0).round(4).tolist()
    [0.1924, 0.5, 0.8076]
    """
    # mathematics: patterns-split-cauchy
    places = _floats(x, "x", "numbers, not NaN", lambda value: ~np.isnan(value))
    sums, first, second, at = _arguments({"s": s, "scale1": scale1, "scale2": scale2}, x=places)
    _check_width(sums, first, second)
    out = np.empty(sums.shape)
    cdf(at.ravel(), sums.ravel(), first.ravel(), second.ravel(), out.reshape(-1))
    return _plain(np.clip(out, 0.0, 1.0))  # rounding errors


def split_cauchy_ppf(u: ArrayLike, s: ArrayLike, scale1: ArrayLike, scale2: ArrayLike) -> Floats:
    """Return quantiles of one of two Cauchy variables given their sum.

    Parameters
    ----------
    u : array_like of float
        Probabilities in [0, 1]; 0 and 1 give minus and plus infinity.
    s : array_like of float
        The sums.
    scale1, scale2 : array_like of float
        Scales of part and rest, positive.

    Returns
    -------
    float or ndarray
        The x with :func:`split_cauchy_cdf` equal to `u`, in the broadcast shape of the arguments.

    Raises
    ------
    ParameterError
        As for :func:`split_cauchy`; if a probability is not in [0, 1].

    See Also
    --------
    split_cauchy_cdf : Its inverse.

    Notes
    -----
    The distribution function at the quantile differs from `u` by less than 1e-13, and by less than 1e-12
    relative to the smaller of `u` and ``1 - u``, or by its change to the next floating-point number. The
    smaller of the two parts is solved for, since its floating-point grid is finer. For fixed sums and scales
    quantiles are monotone in `u`, rounding included, if ``abs(s)`` is at most 1e8 times the larger scale.
    Probabilities below 1e-200 are treated as 1e-200.

    Examples
    --------
    >>> import pyrjsel as rj
    >>> rj.split_cauchy_ppf([0.1, 0.5, 0.9], 10.0, 1.0, 1.0).round(4).tolist()
    [-0.6834, 5.0, 10.6834]
    """
    chances = _floats(u, "u", "probabilities in [0, 1]", lambda value: (value >= 0) & (value <= 1))
    sums, first, second, at = _arguments({"s": s, "scale1": scale1, "scale2": scale2}, u=chances)
    _check_width(sums, first, second)
    out = np.empty((2, *sums.shape))
    ppf(at.ravel(), sums.ravel(), first.ravel(), second.ravel(), out.reshape(2, -1))
    return _plain(out[0])


def _floats(value: ArrayLike, name: str, must: str, good: Any) -> FloatArray:
    """Return `value` as floats; raise :class:`ParameterError` unless all are `good`."""
    try:
        array = np.asarray(value)
        if array.dtype.kind not in "iuf":
            raise TypeError
    except (TypeError, ValueError) as error:  # text, or rows of different lengths
        raise bad_value(name, must, value) from error
    array = array.astype(np.float64)
    if not np.all(good(array)):
        raise bad_value(name, must, value)
    return array


def _positive(value: FloatArray) -> BoolArray:
    return np.isfinite(value) & (value > 0)


def _arguments(
    arguments: Mapping[str, ArrayLike], size: Size = None, **checked: FloatArray
) -> list[FloatArray]:
    """Return sum and scales, validated and broadcast with each other and with `checked`."""
    arrays = {
        name: _floats(value, name, "finite numbers", np.isfinite)
        if name == "s"
        else _floats(value, name, "finite numbers above 0", _positive)
        for name, value in arguments.items()
    }
    arrays |= checked
    shapes = [array.shape for array in arrays.values()]
    try:
        shape = _size(size, np.broadcast_shapes(*shapes))
    except ValueError as error:
        if isinstance(error, ParameterError):
            raise
        raise ParameterError(
            f"The parameters {', '.join(map(repr, arrays))} of {called()} must have shapes that "
            f"broadcast. Got {', '.join(map(str, shapes))} instead."
        ) from error
    return [np.array(np.broadcast_to(array, shape)) for array in arrays.values()]


def _size(size: Size, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return `size`, to which `shape` must broadcast, as a tuple; `shape` if it is None."""
    if size is None:
        return shape
    wanted = tuple(
        check_int(length, "size", low=0) for length in (size if isinstance(size, tuple) else (size,))
    )
    try:
        fits = np.broadcast_shapes(shape, wanted) == wanted
    except ValueError:
        fits = False
    if not fits:
        raise bad_value("size", f"a shape to which {shape} of the arguments broadcasts", size)
    return wanted


def _check_width(s: FloatArray, first: FloatArray, second: FloatArray) -> None:
    """Raise an error if magnitudes differ so much that their products overflow."""
    large, small = np.maximum(first, second), np.minimum(first, second)
    wide = (small < large / WIDEST) | (np.abs(s) / WIDEST > large) | (large < 1 / WIDEST**4)
    if wide.any():
        raise ParameterError(
            f"The scales and sums of {called()} must be within a factor of {WIDEST:g} of each other."
        )


def _plain(value: FloatArray) -> Floats:
    return float(value) if value.ndim == 0 else value

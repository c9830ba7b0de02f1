"""Checks of user input; each message names the parameter, its valid values and the value received."""

import inspect
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from difflib import get_close_matches
from numbers import Integral, Real
from typing import Any

import numpy as np

from pyrjsel._called import called
from pyrjsel._errors import DataError, ParameterError, UnknownNameError
from pyrjsel._typing import RNGLike, SeedLike

# Integers to Python that are none to users.
NO_NUMBERS = (bool, np.timedelta64)
# Options of fits by their names in this package, with the names used by other packages.
ELSEWHERE: Mapping[tuple[str, ...], tuple[str, ...]] = {
    ("rng",): ("seed", "random_state", "random_seed", "set_seed"),
    ("draws", "particles"): (
        "n_draws", "num_draws", "ndraws", "samples", "n_samples", "num_samples", "nsamples", "iterations",
        "n_iterations", "num_iterations", "iter", "iters", "n_iter", "niter", "max_iter", "ndpost", "mcmc",
    ),
    ("particles",): ("draws", "n_particles", "num_particles"),
    ("burn_in",): (
        "burnin", "burn", "n_burnin", "n_burn", "nburn", "warmup", "n_warmup", "num_warmup", "tune", "n_tune",
    ),
    ("thin",): ("thinning", "n_thin", "keepevery"),
    ("chains",): ("n_chains", "num_chains", "nchains", "nchain"),
    ("n_jobs",): ("cores", "n_cores", "ncores", "workers", "n_workers", "threads", "processes", "jobs"),
    ("sampler",): ("method", "algorithm"),
    ("progress",): ("verbose", "progressbar", "progress_bar", "show_progress"),
}  # fmt: skip


def show(value: object, limit: int = 60) -> str:
    """Return ``repr(value)``, shortened to at most `limit` characters."""
    text = repr(value)
    return text if len(text) <= limit else text[: limit - 3] + "..."


def listed(names: Sequence[str], most: int = 8) -> str:
    """Return names for a message: the first `most`, and how many there are in all."""
    text = ", ".join(names[:most])
    return text if len(names) <= most else f"{text}, ... ({len(names)} in all)"


def bad_value(name: str, must: str, value: object) -> ParameterError:
    """Return the error for a parameter `name` of the user's call that does not satisfy `must`."""
    return ParameterError(f"The {name!r} parameter of {called()} must be {must}. Got {show(value)} instead.")


def check_int(value: object, name: str, *, low: int, high: int | None = None) -> int:
    """Return `value` as an int in [low, high], or raise :class:`ParameterError`."""
    upper = "inf)" if high is None else f"{high}]"
    good = isinstance(value, Integral) and not isinstance(value, NO_NUMBERS)
    if not good or not low <= int(value) or (high is not None and int(value) > high):  # type: ignore[call-overload]
        raise bad_value(name, f"an int in [{low}, {upper}", value)
    return int(value)  # type: ignore[call-overload]


def check_real(
    value: object,
    name: str,
    *,
    low: float = -np.inf,
    high: float = np.inf,
    open_low: bool = False,
    open_high: bool = False,
) -> float:
    """Return `value` as a finite float in an interval, or raise :class:`ParameterError`."""
    number = np.nan
    if isinstance(value, Real) and not isinstance(value, NO_NUMBERS):
        try:
            number = float(value)
        except OverflowError:  # an int too large for a float is not finite
            number = np.inf
    good = bool(np.isfinite(number))
    if good:
        good = (low < number if open_low else low <= number) and (
            number < high if open_high else number <= high
        )
    if not good:
        left = "(" if open_low or np.isinf(low) else "["
        right = ")" if open_high or np.isinf(high) else "]"
        raise bad_value(name, f"a finite number in {left}{low:g}, {high:g}{right}", value)
    return number


def check_bool(value: object, name: str) -> bool:
    """Return `value` as a bool, or raise :class:`ParameterError`."""
    if not isinstance(value, (bool, np.bool_)):
        raise bad_value(name, "True or False", value)
    return bool(value)


def check_choice(value: object, name: str, choices: Iterable[object]) -> object:
    """Return `value` if it is one of `choices`, or raise :class:`ParameterError`."""
    options = list(choices)
    if not any(value is option or (isinstance(value, str) and value == option) for option in options):
        must = "one of " + ", ".join(repr(option) for option in options)
        raise bad_value(name, must, value)
    return value


def check_path(value: object, name: str, must: str = "the path of a file") -> str:
    """Return `value` as text that can be a path, or raise :class:`ParameterError`."""
    path = os.fspath(value) if isinstance(value, (str, os.PathLike)) else None
    try:
        good = isinstance(path, str) and bool(path) and b"\0" not in os.fsencode(path)
    except UnicodeEncodeError:  # half of a surrogate pair
        good = False
    if not good or path is None:
        raise bad_value(name, must, value)
    return path


def check_file(value: object, name: str, *, write: bool = False) -> str:
    """Return `value` as the path of a regular file or of a new one, or raise :class:`ParameterError`.

    With `write`, the folder of the file must exist.
    """
    path = check_path(value, name)
    if os.path.isdir(path):
        raise bad_value(name, "the path of a file, not of a folder", value)
    if os.path.exists(path) and not os.path.isfile(path):
        raise bad_value(name, "the path of a regular file, not of a pipe or a device", value)
    if write and not os.path.isdir(os.path.dirname(os.path.abspath(path))):
        raise bad_value(name, "the path of a file in a folder that exists", value)
    return path


def check_unicode(names: Iterable[object], what: str) -> None:
    """Raise :class:`DataError` if a name has an unpaired surrogate, which no file can store."""
    for name in names:
        try:
            str(name).encode()
        except UnicodeEncodeError as error:
            raise DataError(
                f"The {what} of {called()} must be valid Unicode. Got {name!a} instead, with an unpaired "
                "surrogate."
            ) from error


def unmasked(values: object) -> Any:
    """Return an array without its mask: masked floats become NaN, masked values of other types None.

    Anything that is not an array of ``numpy.ma`` is returned unchanged.
    """
    if not isinstance(values, np.ma.MaskedArray):
        return values
    mask = np.ma.getmaskarray(values)
    if not mask.any():
        return np.asarray(values)
    real = values.dtype.kind in "fc"
    found = np.array(values.data, dtype=None if real else object)
    found[mask] = np.nan if real else None
    return found


def unknown_name(name: object, noun: str, known: Iterable[object], where: str = "") -> UnknownNameError:
    """Return the error for a `name` that is not among the `known` ones, with the closest as a suggestion.

    The `noun` says what kind of thing it names, and `where` in which parameter it was given.
    """
    place = f" {where}" if where else ""
    return UnknownNameError(f"{called()} got an unknown {noun} {show(name)}{place}.{_guess(name, known)}")


def unknown_option(
    name: str, where: str, options: Iterable[str], fit: Callable[..., object]
) -> UnknownNameError:
    """Return the error for a keyword that is neither one of the `options` nor a parameter of `fit`.

    If other packages use that keyword, the message gives the name used here.
    """
    known = [*options]
    known += [
        each for each, kind in inspect.signature(fit).parameters.items() if kind.kind == kind.KEYWORD_ONLY
    ]
    for ours, theirs in ELSEWHERE.items():
        meant = next((each for each in ours if each in known), None)
        if meant and name.lower() in theirs:
            place = f" {where}" if where else ""
            return UnknownNameError(
                f"{called()} got an unknown option {show(name)}{place}. It is called {meant!r} here."
            )
    return unknown_name(name, "option", known, where)


def missing_column(name: str, known: Iterable[object]) -> UnknownNameError:
    """Return the error for data without the column `name`, with the closest name as a suggestion."""
    text = f"{called()} needs the column {show(name)}, which the data do not have."
    if name in ("TRUE", "FALSE"):
        return UnknownNameError(f"{text} Write {name.capitalize()} for the value of Python.")
    return UnknownNameError(f"{text}{_guess(name, known)}")


def beyond(value: float, limit: float, digits: int = 2, percent: bool = False) -> str:
    """Return a number with enough digits to show whether it is above or below `limit`.

    Parameters
    ----------
    value, limit : float
        Neither is NaN.
    digits : int
        Fewest decimals.
    percent : bool
        Whether both are shown in percent.
    """
    kind = "%" if percent else "f"
    factor = 100.0 if percent else 1.0
    for places in range(digits, 17):
        text = f"{value:.{places}{kind}}"
        shown = float(text.rstrip("%"))
        if (shown > factor * limit) == (value > limit) and (shown < factor * limit) == (value < limit):
            return text
    return repr(value)


def counted(number: int, noun: str) -> str:
    """Return a number of things with their noun: "1 term", "3 terms"."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _guess(name: object, known: Iterable[object]) -> str:
    names = [str(item) for item in known]
    factors = sorted(str(name).split(":"))
    # The order of factors in an interaction does not matter.
    close = [each for each in names if sorted(each.split(":")) == factors]
    close = close or get_close_matches(str(name), names, n=1)
    if close:
        return f" Did you mean {close[0]!r}?"
    if len(names) <= 12:
        return f" Known: {', '.join(names) or 'none'}."
    return f" Known: {', '.join(names[:12])}, ... ({len(names)} in all)."


def check_rng(rng: RNGLike | SeedLike | None) -> np.random.Generator:
    """Return a Generator made of `rng` (None, an int, a SeedSequence or a Generator; SPEC 7)."""
    must = "None, a non-negative int, a SeedSequence or a numpy Generator"
    # numpy does not return from coercing a matrix.
    if isinstance(rng, bool) or (isinstance(rng, np.ndarray) and type(rng) is not np.ndarray):
        raise bad_value("rng", must, rng)
    try:
        return np.random.default_rng(rng)
    except (TypeError, ValueError) as error:
        raise bad_value("rng", must, rng) from error

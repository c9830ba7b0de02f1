"""The content of a file, read entry by entry with checks of types and shapes."""

import sys
from collections.abc import Collection, Iterator
from typing import Any

import numpy as np

from pyrjsel._errors import StoreError
from pyrjsel.storage.plain import Plain


class Content:
    """A mapping of plain data whose entries are checked as they are read.

    Parameters
    ----------
    value : plain data
        A mapping; anything else raises.
    where : str
        Description of the mapping, for messages.

    Examples
    --------
    >>> import numpy as np
    >>> from pyrjsel.storage import Content
    >>> content = Content({"draws": 3, "x": np.zeros((3, 2))}, "the file")
    >>> content.array("x", float, (content.integer("draws"), None)).shape
    (3, 2)
    """

    def __init__(self, value: Plain, where: str) -> None:
        self._where = where
        if not isinstance(value, dict):
            raise StoreError(f"{where} must be an object")
        self._value = value

    def __contains__(self, key: str) -> bool:
        return self._value.get(key) is not None

    def wrong(self, key: str, must: str) -> StoreError:
        """Return the error for an invalid entry."""
        return StoreError(f"{key!r} in {self._where} must be {must}")

    def plain(self, key: str) -> Plain:
        """Return an entry of any type."""
        if key not in self._value:
            raise StoreError(f"{key!r} is missing from {self._where}")
        return self._value[key]

    def _typed(self, key: str, kinds: tuple[type, ...], must: str) -> Any:
        value = self.plain(key)
        if type(value) not in kinds:
            raise self.wrong(key, must)
        return value

    def integer(self, key: str, low: int = 0, high: int = 2**53) -> int:
        """Return an int in [low, high]."""
        value = self._typed(key, (int,), "an int")
        if not low <= value <= high:
            raise self.wrong(key, f"an int in [{low}, {high}]")
        return int(value)

    def number(self, key: str, low: float = -np.inf) -> float:
        """Return a finite float of at least `low`; an int is converted."""
        value = self._typed(key, (int, float), "a number")
        if not abs(value) <= sys.float_info.max:
            raise self.wrong(key, "a finite number")
        if value < low:
            raise self.wrong(key, f"a number of at least {low:g}")
        return float(value)

    def flag(self, key: str) -> bool:
        """Return a boolean."""
        return bool(self._typed(key, (bool,), "true or false"))

    def text(self, key: str, choices: Collection[str] | None = None) -> str:
        """Return text; one of `choices` if they are given."""
        value = str(self._typed(key, (str,), "text"))
        if choices is not None and value not in choices:
            raise self.wrong(key, f"one of {', '.join(map(repr, choices))}")
        return value

    def raw(self, key: str, size: int) -> bytes:
        """Return bytes of a given length."""
        value = bytes(self._typed(key, (bytes,), "bytes"))
        if len(value) != size:
            raise self.wrong(key, f"{size} bytes")
        return value

    def sequence(self, key: str, kinds: tuple[type, ...] = (str,), length: int | None = None) -> list[Any]:
        """Return a list of items of some types, of a given length unless that is None."""
        value = self._typed(key, (list,), "a list")
        if not all(type(item) in kinds for item in value):
            raise self.wrong(key, f"a list of {' or '.join(kind.__name__ for kind in kinds)}")
        if length is not None and len(value) != length:
            raise self.wrong(key, f"a list of {length}")
        return list(value)

    def array(
        self, key: str, dtype: Any, shape: tuple[int | None, ...], *, finite: bool = False
    ) -> np.ndarray[Any, Any]:
        """Return a writable array of a type and shape; None in `shape` matches any length."""
        value = self.plain(key)
        must = f"an array of {np.dtype(dtype)} and shape {shape}"
        if not isinstance(value, np.ndarray) or value.dtype != np.dtype(dtype) or value.ndim != len(shape):
            raise self.wrong(key, must)
        if any(want is not None and want != have for want, have in zip(shape, value.shape, strict=True)):
            raise self.wrong(key, f"{must}, not {value.shape}")
        if finite and not np.isfinite(value).all():
            raise self.wrong(key, "an array of finite numbers")
        return value.copy()

    def numbers(
        self,
        key: str,
        shape: tuple[int | None, ...],
        low: float = -np.inf,
        high: float = np.inf,
        *,
        unknown: bool = False,
        infinite: bool = False,
    ) -> np.ndarray[Any, Any]:
        """Return an array of floats in [low, high]; NaN and infinite values only where they are allowed."""
        found = self.array(key, float, shape)
        missing = np.isnan(found)
        good = (found >= low) & (found <= high) & (infinite | np.isfinite(found)) | (unknown & missing)
        if not good.all():
            what = "finite numbers" if not infinite else "numbers"
            raise self.wrong(key, f"an array of {what} in [{low:g}, {high:g}]{' or NaN' if unknown else ''}")
        return found

    def counts(
        self, key: str, shape: tuple[int | None, ...], high: int = 2**53, dtype: Any = np.int64
    ) -> np.ndarray[Any, Any]:
        """Return an array of whole numbers from 0 to `high`."""
        found = self.array(key, dtype, shape)
        if found.size and (found.min() < 0 or found.max() > high):
            raise self.wrong(key, f"an array of whole numbers from 0 to {high:,}")
        return found

    def seconds(self, key: str = "seconds") -> list[float]:
        """Return a list of durations, one per chain."""
        found = [float(value) for value in self.sequence(key, (float, int))]
        if not all(0 <= value < np.inf for value in found):
            raise self.wrong(key, "a list of durations")
        return found

    def pcg64(self, key: str) -> dict[str, Any]:
        """Return the state of a PCG64."""
        parts = self.part(key)
        numbers = parts.part("state")
        value: Any = {
            "bit_generator": parts.text("bit_generator", ("PCG64",)),
            "state": {name: numbers.integer(name, high=2**128 - 1) for name in ("state", "inc")},
            "has_uint32": parts.integer("has_uint32", high=1),
            "uinteger": parts.integer("uinteger", high=2**32 - 1),
        }
        np.random.PCG64(0).state = value
        return dict(value)

    def part(self, key: str) -> "Content":
        """Return an entry that is an object."""
        return Content(self.plain(key), f"{key!r}")

    def parts(self, key: str) -> Iterator["Content"]:
        """Yield the objects of a list."""
        for value in self.sequence(key, (dict,)):
            yield Content(value, f"an item of {key!r}")

    def items(self) -> Iterator[tuple[str, Plain]]:
        """Yield keys and values."""
        yield from self._value.items()

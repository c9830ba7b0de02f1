"""Conversion of plain data to JSON with separate arrays, and back; see ``__init__.py`` for the format."""

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from pyrjsel._errors import StoreError
from pyrjsel._validate import show

# None, bool, int, float, str, bytes, lists and tuples of plain data, mappings from str to it, and arrays.
Plain = Any

# Allowed types of array items.
CODES = ("|b1", "|i1", "<i2", "<i4", "<i8", "|u1", "<u2", "<u4", "<u8", "<f4", "<f8")
DTYPES = tuple(map(np.dtype, CODES))
# Larger ints would be rounded by programs that store all numbers as floats.
EXACT = 2**53
# Most levels of nested lists and objects.
DEEPEST = 64
# Most hexadecimal digits of an int: states of bit generators have 32.
LONGEST_INT = 4096
# Most lists and objects of a header, counted by brackets in its text: each takes some 100 bytes, and time.
MOST_PARTS = 2**20


def encode(value: Plain, arrays: list[np.ndarray]) -> Any:
    """Return plain data as JSON values; arrays are appended to `arrays`.

    Raises
    ------
    TypeError
        If something is not plain data.
    StoreError
        If a text cannot be written.
    """
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        to_utf8(value)
        return value
    if isinstance(value, np.ndarray):
        return {"array": _kept(value, arrays)}
    if isinstance(value, np.generic):
        return encode(value.item(), arrays)
    if isinstance(value, int):
        return value if -EXACT <= value <= EXACT else {"int": hex(value)}
    if isinstance(value, float):
        return value if math.isfinite(value) else {"float": repr(value)}
    if isinstance(value, bytes):
        return {"bytes": value.hex()}
    if isinstance(value, Mapping):
        return _object(value, arrays)
    if isinstance(value, Sequence):
        return [encode(item, arrays) for item in value]
    raise TypeError(f"{type(value).__name__} is not plain data")


def to_utf8(text: str) -> bytes:
    """Return text as bytes.

    Raises
    ------
    StoreError
        If it has an unpaired surrogate, which cannot be encoded.
    """
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise StoreError(
            f"The text {show(text)} cannot be written to a file: it is not valid Unicode."
        ) from error


def _kept(value: np.ndarray, arrays: list[np.ndarray]) -> int:
    array = np.asarray(value, order="C")
    array = array.astype(array.dtype.newbyteorder("<"), copy=False)
    if array.dtype not in DTYPES:
        raise TypeError(f"an array of {array.dtype} is not plain data")
    arrays.append(array)
    return len(arrays) - 1


def _object(value: Mapping[Any, Any], arrays: list[np.ndarray]) -> Any:
    if not all(isinstance(key, str) for key in value):
        raise TypeError("keys of plain data are str")
    items = {encode(key, arrays): encode(item, arrays) for key, item in value.items()}
    if len(items) == 1 and next(iter(items)) in _TAGS:
        return {"object": [[key, item] for key, item in items.items()]}
    return items


def decode(value: Any, arrays: Sequence[np.ndarray]) -> Plain:
    """Return the plain data that was encoded as `value`; arrays come from `arrays` and are not copied.

    Raises
    ------
    StoreError
        If `value` is not valid.
    """
    return _decoded(value, list(arrays), 0)


def _decoded(value: Any, arrays: list[np.ndarray | None], depth: int) -> Plain:
    if depth > DEEPEST:
        raise StoreError("its header is nested too deeply")
    if isinstance(value, dict):
        if len(value) == 1:
            tag, inner = next(iter(value.items()))
            if tag in _TAGS:
                return _tagged(tag, inner, arrays, depth)
        for key, item in value.items():
            if isinstance(item, (dict, list)):
                value[key] = _decoded(item, arrays, depth + 1)
    elif isinstance(value, list):
        for place, item in enumerate(value):
            if isinstance(item, (dict, list)):
                value[place] = _decoded(item, arrays, depth + 1)
    return value


def _tagged(tag: str, inner: Any, arrays: list[np.ndarray | None], depth: int) -> Plain:
    if tag == "array" and type(inner) is int and 0 <= inner < len(arrays):
        found, arrays[inner] = arrays[inner], None
        if found is not None:
            return found
    if tag == "float" and inner in ("nan", "inf", "-inf"):
        return float(inner)
    if tag == "object" and isinstance(inner, list) and all(_is_item(item) for item in inner):
        return {key: _decoded(item, arrays, depth + 1) for key, item in inner}
    try:
        if tag == "int" and isinstance(inner, str) and len(inner) <= LONGEST_INT:
            return int(inner, 16)
        if tag == "bytes" and isinstance(inner, str):
            return bytes.fromhex(inner)
    except ValueError:
        pass
    raise StoreError(f"its header must have {_TAGS[tag]} in one place, and has something else")


_TAGS = {
    "array": "the number of an array that is used once",
    "float": "a float",
    "int": "an int",
    "bytes": "bytes",
    "object": "the items of an object",
}


def _is_item(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 2 and isinstance(value[0], str)


def count_parts(data: bytes) -> int:
    """Return an upper bound of the number of lists and objects in JSON text."""
    return data.count(b"[") + data.count(b"{")


def dump(value: Any) -> bytes:
    """Return encoded plain data as JSON."""
    return json.dumps(value, allow_nan=False, ensure_ascii=False, separators=(",", ":")).encode()


def parse(data: bytes) -> Any:
    """Return the value of JSON text.

    Raises
    ------
    StoreError
        If it is not JSON, is nested too deeply, or has too many parts.
    """
    if count_parts(data) > MOST_PARTS:
        raise StoreError("its header has too many parts")
    try:
        return json.loads(data.decode(), parse_constant=_no_constant)
    except RecursionError as error:
        raise StoreError("its header is nested too deeply") from error
    except ValueError as error:  # JSON, Unicode, or an int of thousands of digits
        raise StoreError(f"its header is not valid JSON ({error})") from error


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a number")

"""Conversion of descriptions, such as priors, and of tables to plain data and back."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

from pyrjsel._errors import PyrjselError, StoreError
from pyrjsel.storage.content import Content
from pyrjsel.storage.plain import DTYPES, Plain, to_utf8

# Constructors of the classes that a file may name.
Makers = Mapping[str, Callable[..., Any]]


def plain(value: Any) -> Plain:
    """Return a description as plain data: a dataclass becomes its class name and its fields."""
    if is_dataclass(value) and not isinstance(value, type):
        held = {item.name: plain(getattr(value, item.name)) for item in fields(value)}
        return {"is": type(value).__name__, "has": held}
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return value


def described(value: Plain, makers: Makers) -> Any:
    """Return the description that :func:`plain` converted; lists come back as tuples.

    Raises
    ------
    StoreError
        If it names a class that is not among `makers`, or has invalid fields.
    """
    if isinstance(value, list):
        return tuple(described(item, makers) for item in value)
    if not isinstance(value, dict):
        return value
    name, held = value.get("is"), value.get("has")
    if not isinstance(name, str) or not isinstance(held, dict):
        return {key: described(item, makers) for key, item in value.items()}
    if name not in makers:
        raise StoreError(f"it names a class that is not one of {', '.join(sorted(makers))}")
    parts = {key: described(item, makers) for key, item in held.items()}
    try:
        return makers[name](**parts)
    except (PyrjselError, TypeError, ValueError) as error:
        raise StoreError(f"its {name} cannot be created: {error}") from error


def labels_to_plain(labels: pd.Index) -> Plain:
    """Return labels as plain data; labels that are neither numbers nor text become text.

    There may be as many labels as rows, so numbers are stored as an array, and text as an array of UTF-8
    bytes with an array of the positions at which labels end.
    """
    name = {"name": _label(labels.name)}
    if isinstance(labels, pd.RangeIndex) and _is_range(labels.start, labels.stop, labels.step):
        return {**name, "range": [labels.start, labels.stop, labels.step]}
    if labels.dtype not in DTYPES:
        known = [_label(label) for label in labels]
        if all(isinstance(label, str) for label in known):
            text = [to_utf8(label) for label in known]
            ends = np.cumsum([len(label) for label in text], dtype=np.int64)
            return {**name, "text": np.frombuffer(b"".join(text), np.uint8), "ends": ends}
        labels = _index(known)
    if labels.dtype in DTYPES:
        return {**name, "numbers": labels.to_numpy()}
    return {**name, "labels": labels.tolist()}


def _label(label: Hashable) -> Plain:
    if isinstance(label, np.generic):
        label = label.item()
    return label if label is None or isinstance(label, (str, int, float, bool)) else str(label)


def _is_range(start: int, stop: int, step: int) -> bool:
    """Whether a range has a length and does not overflow pandas' arithmetic."""
    most = 2**62
    return step != 0 and max(abs(start), abs(stop), abs(step), abs((stop - start) // step)) <= most


def _index(labels: list[Any], name: Any = None) -> pd.Index:
    """Return an index of labels without conversion: pandas would turn a mixture with numbers into floats."""
    mixed = len({type(label) for label in labels}) != 1
    large = any(isinstance(label, int) and abs(label) >= 2**63 for label in labels)
    return pd.Index(labels, dtype=object if mixed or large else None, name=name)


def labels_from_plain(content: Content, length: int | None = None) -> pd.Index:
    """Return labels, `length` of them unless that is None."""
    name = content.plain("name")
    if not isinstance(name, (str, int, float, bool, type(None))):
        raise content.wrong("name", "a number or text")
    if "range" in content:
        start, stop, step = content.sequence("range", (int,), 3)
        if not _is_range(start, stop, step):
            raise content.wrong("range", "[start, stop, step]")
        found: pd.Index = pd.RangeIndex(start, stop, step, name=name)
    elif "numbers" in content:
        numbers = content.plain("numbers")
        if not isinstance(numbers, np.ndarray) or numbers.ndim != 1:
            raise content.wrong("numbers", "a one-dimensional array")
        found = pd.Index(numbers.copy(), name=name)
    elif "text" in content:
        found = _index(_text(content), name)
    else:
        found = _index(content.sequence("labels", (str, int, float, bool, type(None))), name)
    if length is not None and len(found) != length:
        raise content.wrong("labels", f"{length} labels")
    return found


def _text(content: Content) -> list[str]:
    text, ends = content.array("text", np.uint8, (None,)).tobytes(), content.array("ends", np.int64, (None,))
    edges = np.concatenate([[0], ends])
    if (np.diff(edges) < 0).any() or edges[-1] != len(text):
        raise content.wrong("ends", f"increasing from 0 to {len(text)}")
    try:
        return [text[start:end].decode() for start, end in pairwise(edges.tolist())]
    except UnicodeDecodeError as error:
        raise content.wrong("text", "UTF-8") from error


def frame_to_plain(frame: pd.DataFrame) -> Plain:
    """Return a data frame of numbers."""
    return {
        "columns": [str(name) for name in frame.columns],
        "index": labels_to_plain(frame.index),
        "values": [frame[name].to_numpy() for name in frame.columns],
    }


def frame_from_plain(content: Content, columns: Sequence[str] | None = None) -> pd.DataFrame:
    """Return a data frame of numbers, with the given `columns` unless they are None."""
    names = content.sequence("columns")
    values = content.sequence("values", (np.ndarray,), len(names))
    index = labels_from_plain(content.part("index"))
    if len(set(names)) < len(names) or (columns is not None and list(columns) != names):
        raise content.wrong("columns", "different names" if columns is None else f"{list(columns)}")
    if any(value.shape != (len(index),) for value in values):
        raise content.wrong("values", f"arrays of shape ({len(index)},)")
    return pd.DataFrame({name: value.copy() for name, value in zip(names, values, strict=True)}, index=index)

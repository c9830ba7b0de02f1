"""The rows of a fit in files of results: counts and a digest, and the rows themselves where asked for."""

from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
import pandas as pd

from pyrjsel._errors import DataError, NotAvailableError
from pyrjsel._typing import IntArray
from pyrjsel.design.again import rows_again
from pyrjsel.design.build import DesignData
from pyrjsel.design.design import Design
from pyrjsel.storage import Content, Plain, digest, labels_from_plain, labels_to_plain

OWNER = "load"
HOW = "they are not in the file. Load it with them: rj.load(path, data=...)"


class Absent:
    """Something that lacks the rows of the fit, and says so where they are asked for."""

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        raise absent()


class AbsentArray(Absent):
    """An array of the rows of the fit."""

    def __len__(self) -> int:
        raise absent()

    def __getitem__(self, key: object) -> NoReturn:
        raise absent()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NoReturn:
        raise absent()

    def __add__(self, other: object) -> NoReturn:
        raise absent()

    __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __add__


def absent() -> NotAvailableError:
    """Return the error for what needs rows that are not there."""
    return NotAvailableError(f"This needs the rows of the fit, and {HOW}.")


@dataclass(frozen=True, eq=False)
class AbsentRows(Absent):
    """Stand-in for rows that were not saved.

    Attributes
    ----------
    n, n_rows, n_dropped : int
        Rows that were used, all rows, and those that were left out.
    missing : Series
        Number of rows in which each column is missing, for the columns where that is not 0.
    positions : ndarray (n,) or None
        Where the rows are in the data, if they are not all of them, or came in chunks.
    digest : str
        Of the rows.
    summed : bool, default False
        Whether they came in chunks, of which sums alone were kept.
    """

    n: int
    n_rows: int
    n_dropped: int
    missing: pd.Series
    positions: IntArray | None
    digest: str
    summed: bool = False


def digest_of_rows(data: DesignData) -> str:
    """Return what tells rows from others: response, columns, weights and offset to the bit."""
    return digest({"y": data.y, "X": data.X, "extras": data.extras})


def rows_to_plain(data: Any, with_rows: bool, known: str, *, summed: bool = False) -> Plain:
    """Return what is written of rows, which `known` is the digest of.

    Parameters
    ----------
    data : DesignData, AbsentRows, or rows of which sums were kept
    with_rows : bool
        Whether the rows themselves are wanted.
    known : str
    summed : bool, default False

    Raises
    ------
    NotAvailableError
        If they are wanted, and are not there.
    """
    rows = None
    if with_rows and isinstance(data, AbsentRows):
        raise absent()
    if with_rows and summed:
        raise NotAvailableError("The data of the fit came in chunks, so that no rows can be saved.")
    if with_rows:
        rows = {"y": data.y, "X": data.X, "extras": data.extras, "index": labels_to_plain(data.index)}
    return facts_to_plain(data, int(data.n), rows, known, summed)


def facts_to_plain(data: Any, n: int, rows: Plain, known: str, summed: bool = False) -> Plain:
    """Return what is written of `n` rows beside `rows`, what is in them; `known` is their digest."""
    return {
        "n": n,
        "n_rows": int(data.n_rows),
        "n_dropped": int(data.n_dropped),
        "missing": {str(name): int(count) for name, count in data.missing.items()},
        "positions": data.positions if data.n_dropped and not summed else None,
        "digest": known,
        "summed": summed,
        "rows": rows,
    }


def rows_from_plain(content: Content, design: Design, given: Any) -> DesignData | AbsentRows:
    """Return the rows that were saved; else those `given`; else what is known of them.

    Raises
    ------
    DataError
        If rows are given, and are not those of the fit.
    StoreError
        If the content cannot be what was written.
    """
    known = absent_rows(content)
    if "rows" in content:
        data = _saved(content.part("rows"), design, known)
    elif given is not None:
        data = rows_again(design, given, places(known), known.n_rows, OWNER)
    else:
        return known
    if digest_of_rows(data) != known.digest:
        raise other_rows()
    return DesignData(
        data.y, data.X, data.extras, data.index, data.positions, known.n_rows, known.missing, known.n_dropped
    )


def other_rows() -> DataError:
    """Return the error for rows that are not those of the fit."""
    return DataError("The 'data' of load must be the rows of the fit. Those given have other values.")


def absent_rows(content: Content) -> AbsentRows:
    """Return what is known of rows without them."""
    n, n_rows, n_dropped = (content.integer(name) for name in ("n", "n_rows", "n_dropped"))
    if n < 1 or n + n_dropped != n_rows:
        raise content.wrong("n_dropped", "the rows less those that were used")
    counts = content.part("missing")
    missing = {name: counts.integer(name) for name, _ in counts.items()}
    positions = None
    if "positions" in content:
        positions = content.array("positions", np.int64, (n,))
        if positions[0] < 0 or positions[-1] >= n_rows or (np.diff(positions) <= 0).any():
            raise content.wrong("positions", f"rising rows below {n_rows}")
    return AbsentRows(
        n,
        n_rows,
        n_dropped,
        pd.Series(missing, dtype=np.int64, name="missing"),
        positions,
        content.text("digest"),
        content.flag("summed"),
    )


def places(known: AbsentRows) -> IntArray:
    """Return where the rows are in the data."""
    return np.arange(known.n, dtype=np.int64) if known.positions is None else known.positions


def _saved(content: Content, design: Design, known: AbsentRows) -> DesignData:
    n, extras = known.n, content.part("extras")
    names = [name for name, _ in extras.items()]
    if sorted(names) != sorted(design.extra_columns):
        raise content.wrong("extras", "those of the design")
    X = content.array("X", float, (n, len(design.column_names)), finite=True)
    return DesignData(
        content.array("y", float, (n,), finite=True),
        np.asfortranarray(X),
        {name: extras.array(name, float, (n,), finite=True) for name in names},
        labels_from_plain(content.part("index"), n),
        places(known),
        known.n_rows,
        known.missing,
        known.n_dropped,
    )

"""The rows of a fit in files of results: counts and a digest, and the rows themselves where asked for.

Rows that are not there can be computed again from the data, by the design that was kept.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, NoReturn, TypeVar

import numpy as np
import pandas as pd

from pyrjsel._called import called
from pyrjsel._errors import DataError, NotAvailableError
from pyrjsel._typing import IntArray
from pyrjsel._validate import unmasked
from pyrjsel.design.arrays import array_frame
from pyrjsel.design.build import DesignData
from pyrjsel.design.design import Design
from pyrjsel.design.frame import as_frame
from pyrjsel.design.labels import LabelDesign
from pyrjsel.storage import Content, Plain, digest, labels_from_plain, labels_to_plain

Rows = TypeVar("Rows")

HOW = "the file does not have it. Load it with the data: rj.load(path, data=...)"


class Absent:
    """Placeholder for a result that needs the training data; accessing it raises an error."""

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
    """Return the error for methods that need the training data."""
    return NotAvailableError(f"This needs the training data, and {HOW}.")


@dataclass(frozen=True, eq=False)
class AbsentRows(Absent):
    """Placeholder for training data in results loaded without it.

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


def _values(data: DesignData) -> dict[str, Plain]:
    """Return what tells rows from others: response, columns, weights and offset to the bit."""
    return {"y": data.y, "X": data.X, "extras": data.extras}


def rows_to_plain(data: DesignData | AbsentRows, with_rows: bool) -> Plain:
    """Return what is written of rows; see :func:`written_rows`."""
    return written_rows(data, with_rows, _values)


def sums_to_plain(data: Any, with_rows: bool, known: str) -> Plain:
    """Return what is written of rows of which sums were kept; `known` is their digest.

    Raises
    ------
    NotAvailableError
        If the rows themselves are wanted.
    """
    if with_rows:
        raise NotAvailableError("The training data came in chunks, so they cannot be saved.")
    return facts_to_plain(data, int(data.n), None, known, summed=True)


def written_rows(data: Any, with_rows: bool, values: Callable[[Any], dict[str, Plain]]) -> Plain:
    """Return what is written of rows whose `values` tell them from others.

    Raises
    ------
    NotAvailableError
        If the rows themselves are wanted, and are not there.
    """
    if isinstance(data, AbsentRows):
        if with_rows:
            raise absent()
        return facts_to_plain(data, data.n, None, data.digest, data.summed)
    held = values(data)
    rows: Plain = {**held, "index": labels_to_plain(data.index)} if with_rows else None
    return facts_to_plain(data, len(data.y), rows, digest(held))


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


def read_rows(
    content: Content,
    given: Any,
    saved: Callable[[Content, AbsentRows], Rows],
    again: Callable[[Any, AbsentRows], Rows],
    values: Callable[[Rows], dict[str, Plain]],
) -> Rows | AbsentRows:
    """Return the rows that were saved; else those `given`, computed `again`; else what is known of them.

    Raises
    ------
    DataError
        If rows are given whose `values` are not those of the fit.
    StoreError
        If the content cannot be what was written.
    """
    known = absent_rows(content)
    if "rows" in content:
        rows = saved(content.part("rows"), known)
    elif given is not None:
        rows = again(given, known)
    else:
        return known
    if digest(values(rows)) != known.digest:
        raise other_rows()
    return rows


def rows_from_plain(content: Content, design: Design, given: Any) -> DesignData | AbsentRows:
    """Return the rows of a design; see :func:`read_rows`."""

    def saved(held: Content, known: AbsentRows) -> DesignData:
        return _saved(held, design, known)

    def again(given: Any, known: AbsentRows) -> DesignData:
        found = rows_again(design, given, places(known), known.n_rows)
        return replace(found, n_rows=known.n_rows, missing=known.missing, n_dropped=known.n_dropped)

    return read_rows(content, given, saved, again, _values)


def other_rows() -> DataError:
    """Return the error for rows that are not those of the fit."""
    return DataError("The 'data' of load must be the training data of the fit. Those given differ.")


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


def frames_again(
    design: Design | LabelDesign, data: Any, positions: IntArray, n_rows: int
) -> tuple[pd.DataFrame, Any]:
    """Return the rows at `positions` of data, and what has the response of them.

    Parameters
    ----------
    design : Design or LabelDesign
        Of the fit.
    data : DataFrame or mapping of columns, or a pair
        The rows; where the design is from arrays the pair (endog, exog), of a sequence also its histories.
    positions : ndarray of int64, shape (n,)
        Which of them were used, rising.
    n_rows : int
        How many there were.

    Raises
    ------
    DataError
        If the data are of another form, or have another number of rows.
    """
    if design.formula:
        frame = as_frame(data)
        _check_length(len(frame), n_rows)
        frame = frame.iloc[positions]
        return frame, frame
    if isinstance(design, LabelDesign) and isinstance(data, (pd.DataFrame, Mapping)):
        # Histories of a sequence have what follows beside them.
        frame = as_frame(data)
        if design.response in frame:
            data = frame[design.response], frame.drop(columns=design.response)
    if not isinstance(data, tuple) or len(data) != 2:
        raise DataError(
            f"The 'data' of {called()} must be a pair (endog, exog), since the model was made from "
            f"arrays. Got a {type(data).__name__} instead."
        )
    endog, exog = data
    if isinstance(exog, (pd.DataFrame, Mapping)):
        frame = as_frame(exog)
    else:
        names = design.names if isinstance(design, LabelDesign) else list(design.layout.variables)
        frame = array_frame(exog, list(names), "exog")
    response = np.asarray(unmasked(endog), dtype=object if isinstance(design, LabelDesign) else None)
    response = response[:, 0] if response.ndim == 2 and response.shape[1] == 1 else response
    if response.ndim != 1:
        raise DataError(f"The 'endog' of {called()} must be one column. Got shape {response.shape} instead.")
    for length in (len(response), len(frame)):
        _check_length(length, n_rows)
    return frame.iloc[positions], response[positions]


def rows_again(design: Design, data: Any, positions: IntArray, n_rows: int) -> DesignData:
    """Return the rows of a fit, at `positions` of data of `n_rows` rows, without counts of what is missing.

    Raises
    ------
    DataError
        If the data cannot be those of the fit: of another form or number, with missing values in these rows,
        or without weights or offset that were arrays.
    UnknownNameError
        If a column is missing.
    """
    frame, response = frames_again(design, data, positions, n_rows)
    name = next(iter(design.left.variables))
    y = design.response_of(frame if design.formula else {name: response})
    rows = design.transform(frame)
    extras = {}
    for key, values in rows.extras.items():
        if values is None:
            raise DataError(
                f"The fit had an array as {key}, which the 'data' of {called()} do not have. Save the "
                "results with the training data: save(path, data=True)."
            )
        extras[key] = values
    if any(np.isnan(values).any() for values in (y, rows.X, *extras.values())):
        raise DataError(
            f"The 'data' of {called()} must be the training data of the fit. Those given have missing values "
            "where the fit had none."
        )
    missing = pd.Series(dtype=np.int64, name="missing")
    return DesignData(y, rows.X, extras, rows.index, positions, n_rows, missing, n_rows - len(y))


def _check_length(length: int, n_rows: int) -> None:
    if length != n_rows:
        raise DataError(
            f"The 'data' of {called()} must be the training data of the fit, {n_rows:,} rows. Got "
            f"{length:,} instead."
        )

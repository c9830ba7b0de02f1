"""Training data in saved results: counts and a digest, and on request the data themselves.

Missing training data can be recomputed from the original data by the saved design.
"""

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, NoReturn, TypeVar

import numpy as np
import pandas as pd

from pyrjsel._called import called
from pyrjsel._errors import DataError, NotAvailableError, RankWarning
from pyrjsel._typing import IntArray
from pyrjsel._validate import listed, show
from pyrjsel.design.arrays import array_frame
from pyrjsel.design.build import DesignData
from pyrjsel.design.design import Design
from pyrjsel.design.frame import as_array, as_frame
from pyrjsel.design.labels import LabelDesign
from pyrjsel.design.wide import WideLayout, WideMatrix, WideRows, as_wide
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
    """Placeholder for an array of the training data."""

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
        Numbers of rows used, of all rows, and of dropped rows.
    missing : Series
        Number of missing values by column, where not 0.
    positions : ndarray (n,) or None
        Positions of the used rows in the data; None if all are used or the data came in chunks.
    digest : str
        Digest of the rows.
    summed : bool, default False
        Whether the data came in chunks, of which only sums are kept.
    """

    n: int
    n_rows: int
    n_dropped: int
    missing: pd.Series
    positions: IntArray | None
    digest: str
    summed: bool = False


def row_values(data: DesignData | WideRows) -> dict[str, Plain]:
    """Return the values that identify rows: response, columns, weights and offset to the bit.

    A matrix that stays as it is given is represented by a digest.
    """
    columns = data.digest() if isinstance(data, WideRows) else data.X
    return {"y": data.y, "X": columns, "extras": data.extras}


def rows_to_plain(data: DesignData | WideRows | AbsentRows, with_rows: bool) -> Plain:
    """Return rows as plain data; see :func:`written_rows`."""
    return written_rows(data, with_rows, row_values)


def sums_to_plain(data: Any, with_rows: bool, known: str) -> Plain:
    """Return rows of which only sums are kept as plain data; `known` is their digest.

    Raises
    ------
    NotAvailableError
        If the rows themselves are requested.
    """
    if with_rows:
        raise NotAvailableError("The training data came in chunks, so they cannot be saved.")
    return facts_to_plain(data, int(data.n), None, known, summed=True)


def written_rows(data: Any, with_rows: bool, values: Callable[[Any], dict[str, Plain]]) -> Plain:
    """Return rows as plain data, identified by their `values`.

    Raises
    ------
    NotAvailableError
        If the rows themselves are requested, but missing.
    """
    if isinstance(data, AbsentRows):
        if with_rows:
            raise absent()
        return facts_to_plain(data, data.n, None, data.digest, data.summed)
    held = values(data)
    rows: Plain = {**held, "index": labels_to_plain(data.index)} if with_rows else None
    if with_rows and isinstance(data, WideRows):
        rows = {**held, "index": labels_to_plain(data.index), "X": data.X.to_plain()}
    return facts_to_plain(data, len(data.y), rows, digest(held))


def facts_to_plain(data: Any, n: int, rows: Plain, known: str, summed: bool = False) -> Plain:
    """Return facts on `n` rows with their content `rows` as plain data; `known` is their digest."""
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
    """Return the saved rows, or else those `given`, recomputed by `again`, or else a placeholder.

    Raises
    ------
    DataError
        If the `values` of given rows differ from those of the fit.
    StoreError
        If the content is invalid.
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


def rows_from_plain(content: Content, design: Design, given: Any) -> DesignData | WideRows | AbsentRows:
    """Return the rows of a design; see :func:`read_rows`."""

    def saved(held: Content, known: AbsentRows) -> DesignData | WideRows:
        return _saved(held, design, known)

    def again(given: Any, known: AbsentRows) -> DesignData | WideRows:
        if design.wide:
            return _wide_again(design, given)
        found = rows_again(design, given, places(known), known.n_rows)
        return replace(found, n_rows=known.n_rows, missing=known.missing, n_dropped=known.n_dropped)

    return read_rows(content, given, saved, again, row_values)


def other_rows() -> DataError:
    """Return the error for data that differ from the training data."""
    return DataError("The 'data' of load must be the training data of the fit. Those given differ.")


def absent_rows(content: Content) -> AbsentRows:
    """Return the placeholder for missing training data."""
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
    """Return the positions of the rows in the data."""
    return np.arange(known.n, dtype=np.int64) if known.positions is None else known.positions


def _wide_again(design: Design, given: Any) -> WideRows:
    """Return the rows of a design of many columns from the response and the matrix of the fit."""
    if design.extra_columns:
        raise DataError(
            f"The fit had arrays as {listed(list(design.extra_columns))}, which the 'data' of {called()} do "
            "not have. Save the results with the training data: save(path, data=True)."
        )
    matrix = as_wide(given[1]) if isinstance(given, tuple) and len(given) == 2 else None
    if matrix is None:
        raise DataError(
            f"The 'data' of {called()} must be a pair (endog, exog) with the matrix of the fit in its own "
            f"type. Got {show(given)} instead."
        )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RankWarning)  # it was issued by the fit
        return Design.from_wide(given[0], matrix)[1]


def _saved(content: Content, design: Design, known: AbsentRows) -> DesignData | WideRows:
    n, extras = known.n, content.part("extras")
    names = [name for name, _ in extras.items()]
    if sorted(names) != sorted(design.extra_columns):
        raise content.wrong("extras", "those of the design")
    if isinstance(design.layout, WideLayout) and design.wide:
        layout = design.layout
        return WideRows(
            content.array("y", float, (n,), finite=True),
            WideMatrix.from_plain(content.part("X"), n, layout.kept, layout.size),
            {name: extras.array(name, float, (n,), finite=True) for name in names},
            labels_from_plain(content.part("index"), n),
            places(known),
            known.n_rows,
            known.missing,
        )
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
    """Return the rows at `positions` of data, and the object that holds their response.

    Parameters
    ----------
    design : Design or LabelDesign
        Design of the fit.
    data : DataFrame or mapping of columns, or a pair
        The rows; for a design from arrays the pair (endog, exog), or the histories of a sequence.
    positions : ndarray of int64, shape (n,)
        Positions of the used rows, increasing.
    n_rows : int
        Number of rows of the original data.

    Raises
    ------
    DataError
        If the data have another form or number of rows.
    """
    if design.formula:
        frame = as_frame(data)
        _check_length(len(frame), n_rows)
        frame = frame.iloc[positions]
        return frame, frame
    if isinstance(design, LabelDesign) and isinstance(data, (pd.DataFrame, Mapping)):
        # Histories of a sequence include the responses.
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
        names = design.names if isinstance(design, LabelDesign) else list(design.variables)
        frame = array_frame(exog, list(names), "exog")
    try:
        response = as_array(endog, object if isinstance(design, LabelDesign) else None)
    except ValueError as error:
        raise DataError(f"The 'endog' of {called()} must be one column: {error}.") from error
    response = response[:, 0] if response.ndim == 2 and response.shape[1] == 1 else response
    if response.ndim != 1:
        raise DataError(f"The 'endog' of {called()} must be one column. Got shape {response.shape} instead.")
    for length in (len(response), len(frame)):
        _check_length(length, n_rows)
    return frame.iloc[positions], response[positions]


def rows_again(design: Design, data: Any, positions: IntArray, n_rows: int) -> DesignData:
    """Return the rows of a fit, at `positions` of data of `n_rows` rows, without counts of missing values.

    Raises
    ------
    DataError
        If the data cannot be the training data: another form or number of rows, missing values in these rows,
        or no weights or offset where these were arrays.
    UnknownNameError
        If a column is missing.
    """
    frame, response = frames_again(design, data, positions, n_rows)
    name = next(iter(design.left.variables))
    y = design.response_of(frame if design.formula else {name: response})
    rows = design.rows_again(frame)
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

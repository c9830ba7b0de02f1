"""Overlapping histories of a sequence."""

from typing import Any

import numpy as np
import pandas as pd

from pyrjsel._called import called
from pyrjsel._errors import DataError
from pyrjsel._typing import IntArray
from pyrjsel._validate import check_choice, check_int
from pyrjsel.design import LabelDesign, LabelRows
from pyrjsel.design.build import report_missing
from pyrjsel.design.frame import Level, array_series, as_array, as_pandas
from pyrjsel.design.labels import MISSING, read_labels
from pyrjsel.design.levels import MOST_WHOLE

NEXT = "next"  # name of the response, the symbol that follows a history


def histories(sequence: Any, order: int, *, missing: str = "raise") -> pd.DataFrame:
    """Return the histories of a sequence, each with the symbol that follows it.

    Parameters
    ----------
    sequence : str or array-like, shape (n + order,)
        Symbols in temporal order: the characters of a text, or labels of any kind (text, categories,
        booleans, whole numbers).
    order : int
        Length of a history.
    missing : {"raise", "level"}
        Whether missing symbols are an error, or are kept in the histories, for models with
        ``missing="level"``.

    Returns
    -------
    DataFrame, n rows
        Columns `x1` to `x<order>`, the last the most recent, and `next`. If the symbols are more than 20
        whole numbers, the histories are categorical, since models take that many only as categories.

    Raises
    ------
    ParameterError
        If the order is below 1, or `missing` is invalid.
    DataError
        If the sequence is not longer than the order, is not one-dimensional, has missing values and
        ``missing="raise"``, has values that are not labels, or has only one distinct symbol.

    Examples
    --------
    >>> import pyrjsel as rj
    >>> rj.histories("abcab", order=2)
      x1 x2 next
    0  a  b    c
    1  b  c    a
    2  c  a    b
    """
    check_choice(missing, "missing", ("raise", "level"))
    names, levels, codes = cut(sequence, order, missing)
    table = np.full(len(levels) + 1, None, dtype=object)
    table[:-1] = levels
    frame = pd.DataFrame(table[codes], columns=[*names, NEXT]).infer_objects()
    if len(levels) > MOST_WHOLE and not isinstance(levels[0], (str, bool)):
        frame[names] = frame[names].astype(pd.CategoricalDtype(list(levels)))
    return frame


def read_histories(sequence: Any, order: int, missing: str) -> tuple[LabelDesign, LabelRows]:
    """Return design and observations of the histories of a sequence, each with the symbol that follows it.

    See :meth:`pyrjsel.PatternLogit.from_sequence`.
    """
    check_choice(missing, "missing", MISSING)
    names, levels, codes = cut(sequence, order, missing)
    gaps = pd.DataFrame(codes == len(levels), columns=[*names, NEXT])
    counted = gaps if missing == "drop" else gaps[[NEXT]]
    gone = counted.any(axis=1).to_numpy()
    counts = counted.sum().loc[lambda count: count > 0].rename("missing")
    report_missing(counts, int(gone.sum()), len(gaps), "drop")
    codes = codes[~gone] if gone.any() else codes
    known = (*levels, None) if (codes == len(levels)).any() else levels
    design = LabelDesign.of_columns(NEXT, levels, names, [known] * order, missing_levels=missing == "level")
    kept = np.flatnonzero(~gone)
    rows = LabelRows(codes[:, -1].copy(), codes[:, :-1], gaps.index[kept], len(gaps), counts, kept)
    return design, rows


def cut(sequence: Any, order: int, missing: str) -> tuple[list[str], tuple[Level, ...], IntArray]:
    """Return column names, symbols, and histories (n, order + 1) as positions of symbols.

    The last column is the symbol that follows. A missing symbol is an error if `missing` is ``"raise"``,
    else it is coded by the number of symbols.
    """
    order = check_int(order, "order", low=1)
    values = list(sequence) if isinstance(sequence, str) else as_pandas(sequence)
    if not isinstance(values, pd.Series):
        try:
            array = values if isinstance(values, pd.Categorical) else as_array(values)
        except ValueError as error:
            raise DataError(f"The 'sequence' of {called()} must be one-dimensional: {error}.") from error
        if array.ndim != 1:
            raise DataError(f"The 'sequence' of {called()} must be one-dimensional. Got shape {array.shape}.")
        values = array_series(array) if isinstance(array, np.ndarray) else pd.Series(array)
    if len(values) <= order:
        raise DataError(
            f"The 'sequence' of {called()} must be longer than the order, {order}. Got {len(values)} symbols."
        )
    known = values.notna().to_numpy()
    if missing == "raise" and not known.all():
        raise DataError(
            f"The 'sequence' of {called()} must have no missing values. Got {int((~known).sum())}."
        )
    levels, found = read_labels(values[known], "sequence")
    codes = np.full(len(values), len(levels), dtype=np.int64)
    codes[known] = found
    names = [f"x{j}" for j in range(1, order + 1)]
    return names, levels, np.lib.stride_tricks.sliding_window_view(codes, order + 1)

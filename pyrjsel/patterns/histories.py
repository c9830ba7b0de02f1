"""Overlapping histories cut from one sequence."""

from typing import Any

import numpy as np
import pandas as pd

from pyrjsel._errors import DataError
from pyrjsel._typing import IntArray
from pyrjsel._validate import check_int
from pyrjsel.design.frame import Level
from pyrjsel.design.labels import read_labels

NEXT = "next"  # the response: the symbol that follows a history


def histories(sequence: Any, order: int) -> pd.DataFrame:
    """Return the histories of a sequence, each with the symbol that follows it.

    Parameters
    ----------
    sequence : str or array-like, shape (n + order,)
        Symbols in time: the characters of a text, or labels of any kind (text, categories, booleans,
        whole numbers).
    order : int
        Length of a history.

    Returns
    -------
    DataFrame, n rows
        Columns `x1` to `x<order>`, the last the most recent, and `next`.

    Raises
    ------
    ParameterError
        If the order is below 1.
    DataError
        If the sequence is not longer than the order, is not one-dimensional, has missing values or values
        that are no labels, or one symbol only.

    Examples
    --------
    >>> import pyrjsel as rj
    >>> rj.histories("abcab", order=2)
      x1 x2 next
    0  a  b    c
    1  b  c    a
    2  c  a    b
    """
    names, levels, codes = cut(sequence, order, "histories")
    table = np.empty(len(levels), dtype=object)
    table[:] = levels
    return pd.DataFrame(table[codes], columns=[*names, NEXT]).infer_objects()


def cut(sequence: Any, order: int, owner: str) -> tuple[list[str], tuple[Level, ...], IntArray]:
    """Return names of the columns of histories, the symbols, and histories (n, order + 1) as their positions.

    The last column of the histories is what follows.
    """
    order = check_int(order, "order", owner, low=1)
    values = list(sequence) if isinstance(sequence, str) else sequence
    if not isinstance(values, pd.Series):
        try:
            array = np.asarray(values) if not isinstance(values, pd.Categorical) else values
        except ValueError as error:
            raise DataError(f"The 'sequence' of {owner} must be one-dimensional: {error}.") from error
        if array.ndim != 1:
            raise DataError(f"The 'sequence' of {owner} must be one-dimensional. Got shape {array.shape}.")
        values = pd.Series(array)
    if len(values) <= order:
        raise DataError(
            f"The 'sequence' of {owner} must be longer than the order, {order}. Got {len(values)} symbols."
        )
    if values.isna().any():
        raise DataError(
            f"The 'sequence' of {owner} must have no missing values. Got {int(values.isna().sum())}."
        )
    levels, codes = read_labels(values, "sequence", owner)
    names = [f"x{j}" for j in range(1, order + 1)]
    return names, levels, np.lib.stride_tricks.sliding_window_view(codes, order + 1)

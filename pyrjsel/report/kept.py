"""Tables that are made once and handed out as copies."""

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

import pandas as pd

Table = TypeVar("Table", pd.DataFrame, pd.Series)


def kept_table(make: Callable[[Any], Table]) -> Callable[[Any], Table]:
    """Return a method that makes its table at the first call, and hands out copies.

    What is done to one of them reaches neither the object nor the next. To be put beneath ``property``.

    Parameters
    ----------
    make : callable
        A method without parameters.

    Returns
    -------
    callable
        The method; the object keeps what it made, beside its attributes.

    Examples
    --------
    >>> class Results:
    ...     @property
    ...     @kept_table
    ...     def odds(self):
    ...         return pd.Series([1.0, 2.0])
    >>> results = Results()
    >>> odds = results.odds
    >>> odds *= 100
    >>> results.odds.tolist()
    [1.0, 2.0]
    """
    place = f"_kept_{make.__name__}"

    @wraps(make)
    def hand_out(self: Any) -> Table:
        if place not in self.__dict__:
            self.__dict__[place] = make(self)
        table: Table = self.__dict__[place].copy()
        return table

    return hand_out

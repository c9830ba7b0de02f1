"""Tables that are made once and handed out as copies."""

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

import pandas as pd

from pyrjsel._once import turn

Table = TypeVar("Table", pd.DataFrame, pd.Series)


def own_copy(table: Table) -> Table:
    """Return a copy that shares nothing with a table, so that other threads may use that.

    Copies that pandas makes share the look-up tables of their labels, which it makes at the first look.

    Parameters
    ----------
    table : DataFrame or Series
        What is copied.

    Returns
    -------
    DataFrame or Series
        The copy.
    """
    with turn(table, "copy"):
        found: Table = table.copy()
        found.index = table.index.copy(deep=True)
        if isinstance(found, pd.DataFrame):
            found.columns = table.columns.copy(deep=True)
        return found


def kept_table(make: Callable[[Any], Table]) -> Callable[[Any], Table]:
    """Return a method that makes its table at the first call, and hands out copies.

    What is done to one of them reaches neither the object nor the next, and of all threads the first makes it
    while the others wait. To be put beneath ``property``.

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
        with turn(self, place):
            if place not in self.__dict__:
                self.__dict__[place] = make(self)
        table: Table = self.__dict__[place]
        return own_copy(table)

    return hand_out

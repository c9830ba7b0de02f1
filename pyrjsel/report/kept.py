"""Tables that are computed once and returned as copies."""

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

import pandas as pd

from pyrjsel._once import turn

Table = TypeVar("Table", pd.DataFrame, pd.Series)


def own_copy(table: Table) -> Table:
    """Return a copy that shares nothing with a table, safe to use in another thread.

    Copies made by pandas share the lazily built hash tables of their indexes.

    Parameters
    ----------
    table : DataFrame or Series
        The table.

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
    """Cache the table that a method returns, and return copies.

    Changes of a copy affect neither the object nor other copies. If several threads call, the first computes
    the table and the others wait. Apply beneath ``property``.

    Parameters
    ----------
    make : callable
        A method without parameters.

    Returns
    -------
    callable
        The method; the table is cached on the object, apart from its attributes.

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

"""Costs of models: items with a price, each paid once by a model."""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pyrjsel._called import called
from pyrjsel._errors import ParameterError
from pyrjsel._typing import FloatArray
from pyrjsel._validate import bad_value, check_real, show, unknown_name
from pyrjsel.model_space.terms import TermLike

BUDGET_TOLERANCE = 1e-9
# Limit of the sum of all costs, so that squares of costs, needed for Monte Carlo errors, remain finite.
LARGEST_SUM = 1e150


@dataclass(frozen=True, eq=False)
class PricedItems:
    """Items with a cost, and the terms that use them.

    Parameters
    ----------
    start : ndarray of int32, shape (J + 1,)
        Term j uses ``item[start[j]:start[j + 1]]``.
    item : ndarray of int32
        Indices of items.
    cost : ndarray of float64, shape (items,)
        Cost of each item.
    names : tuple of str
        Name of each item: a variable, or a term with its own cost.
    """

    start: NDArray[np.int32]
    item: NDArray[np.int32]
    cost: FloatArray
    names: tuple[str, ...]


def named_costs(costs: Any, known: Iterable[Hashable]) -> Any:
    """Return costs with column names as strings."""
    other = {name: str(name) for name in known if not isinstance(name, str)}
    if isinstance(costs, pd.Series):
        return costs.rename(index=other) if other else costs
    if isinstance(costs, Mapping):
        return {other.get(key, key): value for key, value in costs.items()}
    return costs


def to_csr(lists: Sequence[Sequence[int]]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return lists of indices as offsets and one flat array."""
    start = np.zeros(len(lists) + 1, dtype=np.int32)
    np.cumsum([len(entries) for entries in lists], out=start[1:])
    flat = np.array([entry for entries in lists for entry in entries], dtype=np.int32)
    return start, flat


def _read_prices(costs: object) -> dict[Hashable, float]:
    """Return the costs as a plain dictionary of finite numbers >= 0."""
    if isinstance(costs, pd.Series):
        repeated = list(costs.index[costs.index.duplicated()].unique())
        if repeated:
            raise ParameterError(
                f"The 'costs' parameter of {called()} must price each name once. "
                f"{show(repeated, 200)} occur more than once."
            )
    elif not isinstance(costs, Mapping):
        raise bad_value("costs", "a mapping or a Series of names to costs", costs)
    prices = {key: check_real(value, f"costs[{key!r}]", low=0.0) for key, value in costs.items()}
    if sum(prices.values()) > LARGEST_SUM:
        raise bad_value("costs", f"prices that add up to at most {LARGEST_SUM:g}", costs)
    return prices


def price_items(
    costs: Mapping[str, float] | pd.Series | None,
    terms: Sequence[TermLike],
    data_columns: Iterable[Hashable],
) -> PricedItems:
    """Determine the items of each term.

    A key that is a column of the data is the cost of that variable, even if a term has the same name. Any
    other key must be the name of a term, and gives the total cost of that term.

    Parameters
    ----------
    costs : mapping or Series, or None
        Costs by column of the data or by term. None gives no items.
    terms : sequence of TermLike
        The terms.
    data_columns : iterable
        Columns of the data; the variables of the terms are added.

    Returns
    -------
    PricedItems

    Raises
    ------
    ParameterError
        If a cost is not a finite number >= 0, occurs twice, or is missing for a variable of a term.
    UnknownNameError
        If a key is neither a column nor a term.
    """
    if costs is None:
        start, item = to_csr([()] * len(terms))
        return PricedItems(start, item, np.zeros(0), ())
    prices = _read_prices(costs)
    columns = set(data_columns) | {variable for term in terms for variable in term.variables}
    term_names = {term.name for term in terms}
    for key in prices:
        if key not in columns and key not in term_names:
            known = sorted({str(name) for name in columns | term_names})
            raise unknown_name(key, "name", known, "in 'costs'")

    numbers: dict[tuple[str, Hashable], int] = {}
    paid: list[float] = []
    lists: list[list[int]] = []
    missing: list[Hashable] = []
    for term in terms:
        if term.name in prices and term.name not in columns:
            keys: list[tuple[str, Hashable]] = [("term", term.name)]
        else:
            keys = [("variable", variable) for variable in dict.fromkeys(term.variables)]
        entries = []
        for key in keys:
            if key[1] not in prices:
                if key[1] not in missing:
                    missing.append(key[1])
                continue
            if key not in numbers:
                numbers[key] = len(paid)
                paid.append(prices[key[1]])
            entries.append(numbers[key])
        lists.append(entries)
    if missing:
        raise ParameterError(
            f"The 'costs' parameter of {called()} must price every variable that a term uses. "
            f"It lacks {show(missing, 200)}."
        )
    start, item = to_csr(lists)
    return PricedItems(start, item, np.array(paid, dtype=np.float64), tuple(str(key[1]) for key in numbers))


def check_budget(budget: object, costs: object) -> float:
    """Return the budget (inf for none), or raise :class:`ParameterError`."""
    if budget is None:
        return float("inf")
    if costs is None:
        raise ParameterError(f"The 'budget' parameter of {called()} needs 'costs', but 'costs' is None.")
    return check_real(budget, "budget", low=0.0)

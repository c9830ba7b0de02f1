"""What identifies a model and a fit: data, priors and constraints; the comparison of two models."""

from __future__ import annotations

from typing import Any

import numpy as np

from pyrjsel._typing import FloatArray
from pyrjsel._validate import listed
from pyrjsel.design import WideRows, row_values
from pyrjsel.model_space import ModelSpace
from pyrjsel.report import repr_short
from pyrjsel.selection.protocols import SelectionModel
from pyrjsel.selection.regression.summed_rows import SummedRows, same_sums
from pyrjsel.storage import Plain, plain

# Tolerance for equal priors in different notation, such as GPrior("n") and GPrior(189).
ROUNDING = 1e-9


def same_data(first: SelectionModel, second: SelectionModel) -> str | None:
    """Return the difference in the data or terms of two models, to follow "have", or None.

    Terms are compared by name and order; family, columns, response, weights and offset by value. No weights
    are equal to weights of one, and no offset to zero; labels of rows are ignored. For data in chunks the
    sums are compared.
    """
    differ = sorted(set(first.term_names) ^ set(second.term_names))
    if differ:
        return f"other terms (only one has {listed(differ)})"
    if first.term_names != second.term_names:
        return "their terms in another order"
    if first.nobs != second.nobs:
        return f"{first.nobs:,} and {second.nobs:,} rows"
    if isinstance(first.data, SummedRows) or isinstance(second.data, SummedRows):
        return None if same_sums(first.data, second.data) else "other rows"
    one, other = first.regression, second.regression
    if one.family != other.family:
        return "another family"
    pairs: dict[str, tuple[Any, Any]] = {
        "another response": (one.y, other.y),
        "other weights": (one.weights, other.weights),  # None if all are one
        "another offset": (one.offset, other.offset),
        "other values in the columns of their terms": (_columns_of(first), _columns_of(second)),
    }
    return next((name for name, (a, b) in pairs.items() if not np.array_equal(a, b)), None)


def _columns_of(model: SelectionModel) -> Any:
    return model.data.digest() if isinstance(model.data, WideRows) else model.data.X


def same_space(first: SelectionModel, second: SelectionModel, *, budget: bool = True) -> str | None:
    """Return the difference in the priors or constraints of two models with the same terms, or None.

    Values are compared, not their notation; budgets only if `budget` is true.
    """
    one, other = first.space, second.space
    if budget and one.budget != other.budget:
        return f"another budget ({one.budget:g}; {other.budget:g})"
    if one.max_size != other.max_size:
        return f"another max_size ({one.max_size}; {other.max_size})"
    above, below = (np.concatenate([space.parent_start, space.parent]) for space in (one, other))
    if one.heredity != other.heredity or not np.array_equal(above, below):
        return f"another heredity ({one.heredity!r}; {other.heredity!r})"
    if not np.array_equal(one.free, other.free):
        return "other terms that are always in"
    if [_prices(one, j) for j in range(one.n_terms)] != [_prices(other, j) for j in range(one.n_terms)]:
        return "other costs"
    if not _same_prior(one, other):
        return f"another model prior ({one.prior!r}; {other.prior!r})"
    for key, (word, values) in first._prior_numbers().items():
        other_word, others = second._prior_numbers()[key]
        if word != other_word or not all(_close(*pair) for pair in zip(values, others, strict=True)):
            written = "; ".join(repr_short(model._priors()[key]) for model in (first, second))
            return f"another {key} ({written})"
    return None


def _same_prior(one: ModelSpace, other: ModelSpace) -> bool:
    if not (_close(one.log_size, other.log_size) and _close(one.log_odds, other.log_odds)):
        return False
    first, second = one.by_order, other.by_order
    if first is None or second is None:
        return first is second
    parts = ("log_in", "log_out", "log_open", "odds_open")
    # Moving powers of a number between A, B and C gives the same prior, but no two notations differ in this
    # way.
    return np.array_equal(one.rank, other.rank) and all(
        _close(getattr(first, part), getattr(second, part)) for part in parts
    )


def _prices(space: ModelSpace, term: int) -> dict[str, float]:
    return {space.item_names[item]: float(space.item_cost[item]) for item in space.items_of(term)}


def _close(one: FloatArray, other: FloatArray) -> bool:
    return bool(np.allclose(one, other, rtol=ROUNDING, atol=0.0))


def rows_of(model: SelectionModel) -> Plain:
    """Return the rows of a model, or their placeholder, as plain data."""
    data = model.data
    if isinstance(data, SummedRows):
        return plain(data.sums)
    return (
        row_values(data) if isinstance(data, WideRows) else {"y": data.y, "X": data.X, "extras": data.extras}
    )


def identity(model: SelectionModel, sampler: str, options: Any) -> dict[str, Plain]:
    """Return all that draws of a fit depend on besides their number and seed, by user-visible name."""
    choices = model._choices
    costs = (
        None if choices.costs is None else {str(name): float(cost) for name, cost in choices.costs.items()}
    )
    return {
        "model": type(model).__name__,
        "formula": model.design.formula,
        "design": model.design.to_dict(),
        "data": rows_of(model),
        "model prior": plain(model.model_prior),
        "coefficient prior": plain(model.coef_prior),
        "error variance prior": plain(choices.sigma_prior),
        **({} if choices.family is None else {"family": plain(choices.family)}),
        "costs": costs,
        "budget": choices.budget,
        "always": plain(choices.always),
        "heredity": choices.heredity,
        "max_size": choices.max_size,
        "sampler": sampler,
        **{f"option {name}": plain(value) for name, value in vars(options).items()},
    }

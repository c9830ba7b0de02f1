"""The terms and the columns of the data that predictions need."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pyrjsel._called import called
from pyrjsel._errors import NotAvailableError, ParameterError, UnknownNameError
from pyrjsel._typing import BoolArray, ByteArray
from pyrjsel._validate import check_choice, listed
from pyrjsel.design import Design, MissingColumnsError
from pyrjsel.selection.priors.spike_slab import SpikeSlab
from pyrjsel.selection.protocols import SelectionModel
from pyrjsel.selection.results.tables import PosteriorTables

INCOMPLETE = ("nan", "submodels")
# Most terms that a message lists.
MOST_TERMS = 25


def terms_of(model: SelectionModel, gamma: ByteArray) -> BoolArray:
    """Return the terms (J,) whose columns the predictions of a model (J,) need.

    Under a spike and slab no coefficient is 0, and all are needed.
    """
    return gamma.astype(bool) | isinstance(model.coef_prior, SpikeSlab)


def terms_with(term_start: np.ndarray, used: BoolArray) -> BoolArray:
    """Return the terms (J,) that have one of the `used` columns of a regression, a mask with intercepts."""
    before = np.concatenate([[0], np.cumsum(used)])
    return np.asarray(before[term_start[1:]] > before[term_start[:-1]])


def columns_of(design: Design, terms: BoolArray) -> list[str]:
    """Return the columns of the data that predictions with some terms (J,) need, and that of the offset."""
    offset = design.extra_columns.get("offset")
    return list(dict.fromkeys([*design.variables_of(terms), *([] if offset is None else [offset])]))


def check_incomplete(results: PosteriorTables, which: str, incomplete: str) -> bool:
    """Return whether rows with missing inputs are averaged over the models that do not need them.

    Raises
    ------
    ParameterError
        If `incomplete` is invalid, or contradicts `which`.
    NotAvailableError
        Under a spike and slab, where every model needs all columns.
    """
    if check_choice(incomplete, "incomplete", INCOMPLETE) == "nan":
        return False
    if which != "bma":
        raise ParameterError(
            f"The 'incomplete' parameter of {called()} must be 'nan' with which={which!r}, a single model: "
            "'submodels' averages over models. Leave out one of the two."
        )
    if isinstance(results.model.coef_prior, SpikeSlab):
        raise NotAvailableError(
            f"{called()} with incomplete='submodels' needs models that leave columns out, and under a spike "
            "and slab no coefficient is 0."
        )
    return True


def with_advice(error: MissingColumnsError, results: Any, partly: bool) -> UnknownNameError:
    """Return the error for missing columns, with the predictions for which those that are there suffice.

    `partly` is whether the call has the parameter `incomplete`. Results of None are those of a single model,
    for which there is no choice.
    """
    if results is None:
        return UnknownNameError(str(error))
    there, model = set(error.names), results.model
    found: list[str] = []

    def enough(terms: BoolArray) -> bool:
        return there.issuperset(columns_of(model.design, terms))

    for which in ("hpm", "mpm", "bpm"):
        if which == "bpm" and found:  # which takes a while
            break
        try:
            gamma = results._median[0] if which == "mpm" else results._model(which)
        except NotAvailableError:  # without rows of the fit
            continue
        if enough(terms_of(model, gamma)):
            found.append(f"which={which!r}")
    known = not isinstance(model.coef_prior, SpikeSlab) and not there.isdisjoint(model.design.variables)
    if partly and known and enough(model.space.free == 0):
        found.append("incomplete='submodels'")
    return UnknownNameError(
        f"{error} With the columns that are there, use {' or '.join(found)}." if found else str(error)
    )


def average_note(results: Any) -> str | None:
    """Return what the variables of an average over all models cost beside those of the best model.

    None without costs, or where they are the same.
    """
    if not results.model._priced:
        return None
    average, best = (results.prediction_cost(which) for which in ("bma", "hpm"))
    if not average > best:
        return None
    return (
        f"Predictions averaged over all models need variables that cost {average:g}, those of the best model "
        f"(which='hpm') {best:g}."
    )


def fit_again(model: SelectionModel, terms: Sequence[str], without: Sequence[str]) -> str:
    """Return what to do for rows that have some `terms` and not others, with the call if it is short."""
    kind, design = type(model).__name__, model.design
    few = len(terms) <= MOST_TERMS
    if not few and len(without) > MOST_TERMS:
        return f"fit again without the terms {listed([repr(name) for name in without])}"
    if design.formula:
        less = "".join(f" - {name}" for name in without)
        formula = design.restrict(terms).formula if few else f"{design.formula}{less}"
        call = f"{kind}.from_formula({formula!r}, data, ...).fit()"
    else:
        columns = f"X[{list(terms)!r}]" if few else f"X.drop(columns={list(without)!r})"
        call = f"{kind}({design.response}, {columns}, ...).fit()"
    said = f"with the terms {list(terms)!r}" if few else f"without the terms {list(without)!r}"
    return f"fit again {said}: {call}"

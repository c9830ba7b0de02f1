"""Designs of labels and their rows in files of results, and back; see ``saved.py``."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from pyrjsel.design.again import frames_again
from pyrjsel.design.labels import LabelDesign, LabelRows
from pyrjsel.design.levels import labelled
from pyrjsel.design.plain import (
    VERSION,
    bad,
    called_functions,
    dicts,
    factor_from_dict,
    factor_to_dict,
    take,
    variable_to_dict,
    variables_from_dict,
)
from pyrjsel.design.saved import OWNER, AbsentRows, absent, absent_rows, facts_to_plain, other_rows, places
from pyrjsel.storage import Content, Plain, digest, labels_from_plain, labels_to_plain

Function = Callable[..., object]


def label_design_to_plain(design: LabelDesign) -> Plain:
    """Return a design as plain data; the user's functions are recorded by name alone."""
    return {
        "version": VERSION,
        "formula": design.formula,
        "call": design.call,
        "order": design.order,
        "response": factor_to_dict(design.left),
        "factors": [factor_to_dict(factor) for factor in design.factors],
        "variables": [variable_to_dict(variable) for variable in design.variables.values()],
        "functions": list(design.functions),
        "gaps": None if design.gaps is None else list(design.gaps),
    }


def label_design_from_plain(
    state: object, functions: Mapping[str, Function] | None, owner: str
) -> LabelDesign:
    """Return the design that plain data describe. No code in them is run.

    Raises
    ------
    DataError
        If they are not those of a design.
    FormulaError
        If they have code that a formula may not have.
    ParameterError
        If a function is needed and not given.
    """
    own = called_functions(state, functions, owner)
    variables = variables_from_dict(state, owner)
    (left,) = dicts({"response": [take(state, "response", Mapping, owner)]}, "response", owner)
    factors = [
        factor_from_dict(item, variables, tuple(own), owner)
        for item in (left, *dicts(state, "factors", owner))
    ]
    if any(factor.levels is None for factor in factors):
        raise bad(owner, "a feature or the response has no levels")
    if {name for factor in factors for name in factor.expression.functions} != set(own):
        raise bad(owner, "'functions' are not those that its formula calls")
    first, *others = (replace(factor, expression=labelled(factor.expression)) for factor in factors)
    if len({factor.expression.label for factor in others}) < len(others):
        raise bad(owner, "two features have the same name")
    gaps = take(state, "gaps", (list, tuple, type(None)), owner)
    if gaps is not None and (len(gaps) != len(others) or not all(type(gap) is bool for gap in gaps)):
        raise bad(owner, "'gaps' must have a boolean for each feature")
    return LabelDesign(
        take(state, "formula", str, owner),
        take(state, "call", str, owner),
        take(state, "order", (int, type(None)), owner),
        first,
        tuple(others),
        variables,
        own,
        None if gaps is None else tuple(gaps),
    )


def digest_of_labels(rows: LabelRows) -> str:
    """Return what tells rows of labels from others."""
    return digest(_codes(rows))


def _codes(rows: LabelRows) -> dict[str, Plain]:
    return {"y": rows.y.astype(np.int64), "codes": rows.codes.astype(np.int64)}


def label_rows_to_plain(data: LabelRows | AbsentRows, with_rows: bool) -> Plain:
    """Return what is written of rows of labels.

    Raises
    ------
    NotAvailableError
        If the rows are wanted, and are not there.
    """
    if isinstance(data, AbsentRows):
        if with_rows:
            raise absent()
        return facts_to_plain(data, data.n, None, data.digest)
    rows = {**_codes(data), "index": labels_to_plain(data.index)} if with_rows else None
    return facts_to_plain(data, len(data.y), rows, digest_of_labels(data))


def label_rows_from_plain(content: Content, design: LabelDesign, given: Any) -> LabelRows | AbsentRows:
    """Return the rows that were saved; else those `given`; else what is known of them.

    Raises
    ------
    DataError
        If rows are given, and are not those of the fit.
    StoreError
        If the content cannot be what was written.
    """
    known = absent_rows(content)
    if "rows" in content:
        held = content.part("rows")
        y, index = held.array("y", np.int64, (known.n,)), labels_from_plain(held.part("index"), known.n)
        codes = held.array("codes", np.int64, (known.n, len(design.names)))
        sizes = np.array([len(levels) for levels in design.levels])
        if (y < 0).any() or (y >= len(design.classes)).any() or (codes < 0).any() or (codes >= sizes).any():
            raise held.wrong("codes", "positions of levels")
    elif given is not None:
        frame, response = frames_again(design, given, places(known), known.n_rows, OWNER)
        codes, index = design.encode(frame, owner=OWNER), frame.index
        if design.formula:
            y = design.encode_response(response, owner=OWNER)
        else:
            y = design.encode_classes(response, owner=OWNER)
    else:
        return known
    rows = LabelRows(y, codes, index, known.n_rows, known.missing, known.positions)
    if digest_of_labels(rows) != known.digest:
        raise other_rows()
    return rows

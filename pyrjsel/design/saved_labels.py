"""Saved designs of labels, and of inputs with a label, and their training data; see ``saved.py``."""

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from pyrjsel._called import called
from pyrjsel._errors import DataError
from pyrjsel._typing import IntArray
from pyrjsel._validate import listed
from pyrjsel.design.frame import as_frame
from pyrjsel.design.inputs import InputDesign, InputRows
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
from pyrjsel.design.saved import (
    AbsentRows,
    frames_again,
    places,
    read_rows,
    written_rows,
)
from pyrjsel.storage import Content, Plain, labels_from_plain, labels_to_plain

Function = Callable[..., object]

# Dtypes of pandas and pyarrow that returned labels can have; others are plain.
DTYPE = re.compile(
    r"str|string(\[(python|pyarrow)\])?|boolean|U?Int(8|16|32|64)|Float(32|64)"
    r"|(u?int(8|16|32|64)|bool|string|large_string|float|double)\[pyarrow\]"
)


# -------------------------------------------------------------------------------------------------- labels


def label_design_to_plain(design: LabelDesign) -> Plain:
    """Return a design as plain data; the user's functions are recorded by name only."""
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


def label_design_from_plain(state: object, functions: Mapping[str, Function] | None) -> LabelDesign:
    """Return the design from plain data. No code in the data is run.

    Raises
    ------
    DataError
        If the data are not those of a design.
    FormulaError
        If the data have code that is not allowed in a formula.
    ParameterError
        If a required function is missing.
    """
    own = called_functions(state, functions)
    variables = variables_from_dict(state)
    (left,) = dicts({"response": [take(state, "response", Mapping)]}, "response")
    factors = [factor_from_dict(item, variables, tuple(own)) for item in (left, *dicts(state, "factors"))]
    if any(factor.levels is None for factor in factors):
        raise bad("a feature or the response has no levels")
    if {name for factor in factors for name in factor.expression.functions} != set(own):
        raise bad("'functions' are not those that its formula calls")
    first, *others = (replace(factor, expression=labelled(factor.expression)) for factor in factors)
    if len({factor.expression.label for factor in others}) < len(others):
        raise bad("two features have the same name")
    gaps = take(state, "gaps", (list, tuple, type(None)))
    if gaps is not None and (len(gaps) != len(others) or not all(type(gap) is bool for gap in gaps)):
        raise bad("'gaps' must have a boolean for each feature")
    return LabelDesign(
        take(state, "formula", str),
        take(state, "call", str),
        take(state, "order", (int, type(None))),
        first,
        tuple(others),
        variables,
        own,
        None if gaps is None else tuple(gaps),
    )


def _codes(rows: LabelRows) -> dict[str, Plain]:
    return {"y": rows.y.astype(np.int64), "codes": rows.codes.astype(np.int64)}


def label_rows_to_plain(data: LabelRows | AbsentRows, with_rows: bool) -> Plain:
    """Return rows of labels as plain data; see :func:`written_rows`."""
    return written_rows(data, with_rows, _codes)


def label_rows_from_plain(content: Content, design: LabelDesign, given: Any) -> LabelRows | AbsentRows:
    """Return the rows of a design of labels; see :func:`read_rows`."""

    def made(y: IntArray, codes: IntArray, index: Any, known: AbsentRows) -> LabelRows:
        return LabelRows(y, codes, index, known.n_rows, known.missing, known.positions)

    def saved(held: Content, known: AbsentRows) -> LabelRows:
        y, index = held.array("y", np.int64, (known.n,)), labels_from_plain(held.part("index"), known.n)
        codes = held.array("codes", np.int64, (known.n, len(design.names)))
        sizes = np.array([len(levels) for levels in design.levels])
        if (y < 0).any() or (y >= len(design.classes)).any() or (codes < 0).any() or (codes >= sizes).any():
            raise held.wrong("codes", "positions of levels")
        return made(y, codes, index, known)

    def again(given: Any, known: AbsentRows) -> LabelRows:
        frame, response = frames_again(design, given, places(known), known.n_rows)
        codes = design.encode(frame)
        encode: Callable[..., IntArray] = design.encode_response if design.formula else design.encode_classes
        return made(encode(response), codes, frame.index, known)

    return read_rows(content, given, saved, again, _codes)


# -------------------------------------------------------------------------------------------------- inputs


def input_design_to_plain(design: InputDesign) -> Plain:
    """Return a design as plain data; the user's functions are recorded by name only."""
    called = {name: design.functions[name] for name in design.labels.left.expression.functions}
    return {
        "version": VERSION,
        "formula": design.formula,
        "labels": label_design_to_plain(replace(design.labels, functions=called)),
        "dtype": _dtype_to_plain(design.dtype),
        "factors": [factor_to_dict(factor) for factor in design.inputs],
        "variables": [variable_to_dict(variable) for variable in design.variables.values()],
        "functions": list(design.functions),
    }


def input_design_from_plain(state: object, functions: Mapping[str, Function] | None) -> InputDesign:
    """Return the design from plain data. No code in the data is run.

    Raises
    ------
    DataError
        If the data are not those of a design.
    FormulaError
        If the data have code that is not allowed in a formula.
    ParameterError
        If a required function is missing.
    """
    own = called_functions(state, functions)
    labels = label_design_from_plain(take(state, "labels", Mapping), functions)
    variables = variables_from_dict(state)
    inputs = tuple(factor_from_dict(item, variables, tuple(own)) for item in dicts(state, "factors"))
    if not inputs or any(factor.levels is not None or factor.n_columns != 1 for factor in inputs):
        raise bad("its inputs are not numeric columns")
    if len({factor.expression.label for factor in inputs}) < len(inputs):
        raise bad("two inputs have the same name")
    if labels.names or len(labels.classes) < 2:
        raise bad("its response has fewer than two classes, or it has features")
    return InputDesign(
        take(state, "formula", str),
        labels,
        _dtype_from_plain(take(state, "dtype", (str, Mapping, type(None)))),
        inputs,
        variables,
        own,
    )


def _dtype_to_plain(dtype: Any) -> Plain:
    if isinstance(dtype, pd.CategoricalDtype):
        return {"categories": labels_to_plain(dtype.categories), "ordered": bool(dtype.ordered)}
    return str(dtype) if DTYPE.fullmatch(str(dtype)) else None


def _dtype_from_plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        content = Content(dict(value), "the type of the response")
        categories = labels_from_plain(content.part("categories"))
        if not categories.is_unique or categories.hasnans:
            raise bad("its response has a category twice, or a missing one")
        return pd.CategoricalDtype(categories, ordered=content.flag("ordered"))
    if value is None:
        return None
    if not DTYPE.fullmatch(value):
        raise bad("its response is of an unknown type")
    try:
        return pd.api.types.pandas_dtype(value)
    except (ImportError, TypeError) as error:
        raise bad(f"the type of its response is not available: {error}") from error


def _values(rows: InputRows) -> dict[str, Plain]:
    return {"y": rows.y, "X": rows.X}


def input_rows_to_plain(data: InputRows | AbsentRows, with_rows: bool) -> Plain:
    """Return rows of inputs as plain data; see :func:`written_rows`."""
    return written_rows(data, with_rows, _values)


def input_rows_from_plain(content: Content, design: InputDesign, given: Any) -> InputRows | AbsentRows:
    """Return the rows of a design of inputs; see :func:`read_rows`."""

    def saved(held: Content, known: AbsentRows) -> InputRows:
        y, X = held.array("y", np.int64, (known.n,)), held.array("X", float, (known.n, len(design.names)))
        if (y < -1).any() or (y >= len(design.classes)).any() or np.isinf(X).any():
            raise held.wrong("y", "positions of classes, beside finite inputs")
        index = labels_from_plain(held.part("index"), known.n)
        return InputRows(y, X, index, known.n_rows, known.missing, places(known))

    def again(given: Any, known: AbsentRows) -> InputRows:
        found = _again(design, given, known)
        return replace(found, n_rows=known.n_rows, missing=known.missing, positions=places(known))

    return read_rows(content, given, saved, again, _values)


def _again(design: InputDesign, given: Any, known: AbsentRows) -> InputRows:
    """Return the rows of a fit, recomputed from the data."""
    if design.formula:
        functions = {**design.functions, **design.labels.functions}
        frame = as_frame(given)
        made, rows = InputDesign.from_formula(
            design.formula, frame, classes=design.classes, functions=functions
        )
    elif isinstance(given, tuple) and len(given) == 2:
        made, rows = InputDesign.from_arrays(*given, classes=design.classes)
    else:
        raise DataError(
            f"The 'data' of {called()} must be a pair (endog, exog), since the model was made from "
            f"arrays. Got a {type(given).__name__} instead."
        )
    if rows.n != known.n_rows or not set(design.names) <= set(made.names):
        raise DataError(
            f"The 'data' of {called()} must be the training data of the fit, {known.n_rows:,} rows with the "
            f"inputs {listed(design.names)}. Got {rows.n:,} rows with {listed(made.names)} instead."
        )
    return rows.restrict([made.names.index(name) for name in design.names]).take(places(known))

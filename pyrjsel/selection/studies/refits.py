"""Repeated fits of a model with other priors, or with folds of rows."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Integral
from typing import Any

import numpy as np
import pandas as pd

from pyrjsel._called import called
from pyrjsel._errors import DataError, PyrjselError
from pyrjsel._typing import BoolArray, IntArray
from pyrjsel._validate import bad_value, check_int
from pyrjsel.design import DesignData
from pyrjsel.design.frame import as_array
from pyrjsel.runtime import deal
from pyrjsel.selection.protocols import SelectionModel
from pyrjsel.selection.regression.summed_rows import SummedRows
from pyrjsel.selection.results.results import SelectionResults
from pyrjsel.selection.specification import Choices


def refit(
    model: SelectionModel,
    data: DesignData | SummedRows,
    choices: Choices,
    rng: np.random.Generator,
    options: Mapping[str, Any],
) -> SelectionResults:
    """Fit `model` on other rows of its design, or with other choices.

    Raises
    ------
    KeyboardInterrupt
        If sampling was interrupted, which ends the whole study.
    """
    results: SelectionResults = model._remake(model.design, data, choices).fit(rng=rng, **options)
    draws, settings = results.posterior.draws, results.settings
    if draws is not None and draws.model.shape != (settings.chains, settings.draws):
        raise KeyboardInterrupt("interrupted in one of several fits")
    return results


MUST = "an int of at least 2, or a label for each row"


def make_folds(
    data: DesignData, used: BoolArray, folds: Any, stratify: bool, rng: np.random.Generator
) -> tuple[IntArray, list[Any]]:
    """Return the fold of each row that is `used` (n,) as a position in the list of labels.

    Raises
    ------
    ParameterError
        If `folds` is neither an int from 2 to the number of rows nor labels.
    DataError
        If labels do not match the rows, are missing, or are all equal.
    """
    if isinstance(folds, Integral):
        y = data.y[used]
        count = check_int(folds, "folds", low=2, high=y.size)
        return deal(y if stratify else np.zeros(y.size), count, rng), list(range(1, count + 1))
    try:
        labels = given_labels(data, folds)[used]
        if pd.isna(labels).any():
            raise DataError(f"The 'folds' of {called()} must have a label for every row. Got missing ones.")
        codes, names = pd.factorize(labels, sort=True)
    except PyrjselError:
        raise
    except (TypeError, ValueError, LookupError, NotImplementedError) as error:
        raise DataError(
            f"The 'folds' of {called()} must be labels such as numbers or text: {error}."
        ) from error
    if len(names) < 2:
        raise DataError(
            f"The 'folds' of {called()} must have at least two different labels. Got {len(names)}."
        )
    return codes.astype(np.int64), list(names)


def given_labels(data: DesignData, folds: Any) -> pd.Index:
    """Return a user's labels (n,) for the rows used."""
    n = data.y.size
    if isinstance(folds, pd.Series):
        index, wanted = folds.index, data.index
        if index.is_unique and wanted.is_unique and wanted.isin(index).all():
            return pd.Index(folds.loc[wanted])
    elif isinstance(folds, (str, bytes)) or not hasattr(folds, "__len__"):
        raise bad_value("folds", MUST, folds)
    try:
        labels = as_array(folds)
    except ValueError as error:
        raise DataError(f"The 'folds' of {called()} must be one-dimensional: {error}.") from error
    if labels.ndim != 1 or labels.size not in (n, data.n_rows):
        rows = (
            f"{n:,} rows" if n == data.n_rows else f"{n:,} rows used, or of the {data.n_rows:,} of the data"
        )
        raise DataError(
            f"The 'folds' of {called()} must be labels of the {rows}. Got shape {labels.shape} instead."
        )
    if labels.dtype.kind in "fiu":  # pandas has no indexes of half precision or another order of bytes
        labels = labels.astype("f8" if labels.dtype.kind == "f" else labels.dtype.newbyteorder("="))
    return pd.Index(labels if labels.size == n else labels[data.positions])

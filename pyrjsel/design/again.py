"""The rows of a fit, computed again from the data by a design that was kept."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from pyrjsel._errors import DataError
from pyrjsel._typing import IntArray
from pyrjsel._validate import unmasked
from pyrjsel.design.arrays import array_frame
from pyrjsel.design.build import DesignData
from pyrjsel.design.design import Design
from pyrjsel.design.frame import as_frame
from pyrjsel.design.labels import LabelDesign


def frames_again(
    design: Design | LabelDesign, data: Any, positions: IntArray, n_rows: int, owner: str
) -> tuple[pd.DataFrame, Any]:
    """Return the rows at `positions` of data, and what has the response of them.

    Parameters
    ----------
    design : Design or LabelDesign
        Of the fit.
    data : DataFrame or mapping of columns, or a pair
        The rows; where the design is from arrays the pair (endog, exog), of a sequence also its histories.
    positions : ndarray of int64, shape (n,)
        Which of them were used, rising.
    n_rows : int
        How many there were.
    owner : str
        Who is asking, for messages.

    Raises
    ------
    DataError
        If the data are of another form, or have another number of rows.
    """
    if design.formula:
        frame = as_frame(data, owner)
        _check_length(len(frame), n_rows, owner)
        frame = frame.iloc[positions]
        return frame, frame
    if isinstance(design, LabelDesign) and isinstance(data, (pd.DataFrame, Mapping)):
        # Histories of a sequence have what follows beside them.
        frame = as_frame(data, owner)
        if design.response in frame:
            data = frame[design.response], frame.drop(columns=design.response)
    if not isinstance(data, tuple) or len(data) != 2:
        raise DataError(
            f"The 'data' of {owner} must be a pair (endog, exog), as the model was made from arrays. Got a "
            f"{type(data).__name__} instead."
        )
    endog, exog = data
    if isinstance(exog, (pd.DataFrame, Mapping)):
        frame = as_frame(exog, owner)
    else:
        names = design.names if isinstance(design, LabelDesign) else list(design.layout.variables)
        frame = array_frame(exog, list(names), owner, "exog")
    response = np.asarray(unmasked(endog), dtype=object if isinstance(design, LabelDesign) else None)
    response = response[:, 0] if response.ndim == 2 and response.shape[1] == 1 else response
    if response.ndim != 1:
        raise DataError(f"The 'endog' of {owner} must be one column. Got shape {response.shape} instead.")
    for length in (len(response), len(frame)):
        _check_length(length, n_rows, owner)
    return frame.iloc[positions], response[positions]


def rows_again(design: Design, data: Any, positions: IntArray, n_rows: int, owner: str) -> DesignData:
    """Return the rows of a fit, at `positions` of data of `n_rows` rows, without counts of what is missing.

    Raises
    ------
    DataError
        If the data cannot be those of the fit: of another form or number, with missing values in these rows,
        or without weights or offset that were arrays.
    UnknownNameError
        If a column is missing.
    """
    frame, response = frames_again(design, data, positions, n_rows, owner)
    name = next(iter(design.left.variables))
    y = design.response_of(frame if design.formula else {name: response}, owner=owner)
    rows = design.transform(frame, owner=owner)
    extras = {}
    for key, values in rows.extras.items():
        if values is None:
            raise DataError(
                f"The fit had an array as {key}, which the 'data' of {owner} do not have. Save the results "
                "with their rows: save(path, data=True)."
            )
        extras[key] = values
    if any(np.isnan(values).any() for values in (y, rows.X, *extras.values())):
        raise DataError(
            f"The 'data' of {owner} must be the rows of the fit. Those given have missing values where the "
            "fit had none."
        )
    missing = pd.Series(dtype=np.int64, name="missing")
    return DesignData(y, rows.X, extras, rows.index, positions, n_rows, missing, n_rows - len(y))


def _check_length(length: int, n_rows: int, owner: str) -> None:
    if length != n_rows:
        raise DataError(
            f"The 'data' of {owner} must be the rows of the fit, {n_rows:,} in all. Got {length:,} instead."
        )

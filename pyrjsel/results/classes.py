"""Results of models of classes: the true classes of rows whose classes were predicted."""

from collections.abc import Callable
from typing import Any

from pyrjsel._called import called
from pyrjsel._errors import DataError
from pyrjsel._typing import IntArray
from pyrjsel.design import LabelDesign


def true_classes(
    labels: LabelDesign, new: Any, endog: Any, fitted: Callable[[], IntArray], count: int
) -> IntArray:
    """Return the positions of the true classes of `count` rows among the classes.

    Parameters
    ----------
    labels : LabelDesign
        What the classes are.
    new, endog
        Rows with their response, or its values where the rows do not have it; None are the rows of the fit.
    fitted : callable
        Returns the positions of the classes of the rows of the fit, which may not be there.
    count : int
        Rows whose classes were predicted.

    Raises
    ------
    UnknownNameError
        If the rows do not have the response.
    DataError
        If a class is missing or not one of the fit; if there are other numbers of rows and classes, or none.
    """
    if endog is not None:
        true = labels.encode_classes(endog)
    else:
        true = fitted() if new is None else labels.encode_response(new)
    if len(true) != count:
        raise DataError(f"The rows of {called()} are {count}, their true classes {len(true)}.")
    if not count:
        raise DataError(f"{called()} needs one row with a label at least.")
    return true

"""True classes of observations, for assessing predicted classes."""

from collections.abc import Callable
from typing import Any

from pyrjsel._called import called
from pyrjsel._errors import DataError
from pyrjsel._typing import IntArray
from pyrjsel.design import LabelDesign


def true_classes(
    labels: LabelDesign, new: Any, endog: Any, fitted: Callable[[], IntArray], count: int
) -> IntArray:
    """Return the true classes of `count` observations, as positions among the classes.

    Parameters
    ----------
    labels : LabelDesign
        The classes.
    new, endog
        Data with the response, or the values of the response if the data do not have it; None is the training
        data.
    fitted : callable
        Returns the classes of the training data, as positions; these data may be missing.
    count : int
        Number of observations whose classes were predicted.

    Raises
    ------
    UnknownNameError
        If the data do not have the response.
    DataError
        If a class is missing or unknown; if the numbers of observations and classes differ or are zero.
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

"""Facts at the head of a summary that several kinds of models have, and the true classes of observations.

Facts have one order: data; space of models or kernels; priors; sampler and chains; posterior; run time.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pyrjsel._called import called
from pyrjsel._errors import DataError
from pyrjsel._typing import IntArray
from pyrjsel._validate import listed
from pyrjsel.design import LabelDesign
from pyrjsel.design.frame import Level
from pyrjsel.runtime import FitSettings

# Labels and values.
Facts = list[tuple[str, str]]


def row_facts(response: str, nobs: int, n_dropped: int, n_unlabelled: int = 0) -> Facts:
    """Return the name of the response and the number of observations."""
    aside = [f"{n_unlabelled:,} without label"] if n_unlabelled else []
    aside += [f"{n_dropped:,} dropped"] if n_dropped else []
    rows = f"{nobs:,}" + (f" ({', '.join(aside)})" if aside else "")
    return [("Response", response), ("Observations", rows)]


def class_fact(classes: Sequence[Level], y: IntArray) -> tuple[str, str]:
    """Return the classes with their numbers of observations; `y` are positions of classes, -1 if unknown."""
    counts = np.bincount(y[y >= 0], minlength=len(classes))
    return "Classes", listed([f"{name} ({count:,})" for name, count in zip(classes, counts, strict=True)])


def size_fact(size: float, prior: float, unit: str) -> tuple[str, str]:
    """Return the posterior mean of the number of terms, beside the prior mean unless this is NaN."""
    known = "" if np.isnan(prior) else f" (prior {prior:.2f})"
    return "Posterior size", f"{size:.2f} {unit}{known}"


def chain_facts(settings: FitSettings, shape: Sequence[int]) -> Facts:
    """Return the facts about chains, from the shape (chains, draws, ...) of their draws."""
    return [
        ("Chains x draws", f"{shape[0]} x {shape[1]:,}"),
        ("Burn-in, thinning", f"{settings.burn_in:,}, {settings.thin}"),
    ]


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

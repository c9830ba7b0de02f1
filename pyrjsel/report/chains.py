"""Export of draws to ArviZ."""

import contextlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from pyrjsel._errors import NotAvailableError


def to_arviz(
    groups: Mapping[str, Mapping[str, tuple[Sequence[str], ArrayLike]]], coords: Mapping[str, Sequence[Any]]
) -> Any:
    """Return draws in ArviZ's container.

    Parameters
    ----------
    groups : mapping of str to mapping
        Dimensions and values of each variable, by group ("posterior", "sample_stats", "observed_data") and
        name. Draws begin with the dimensions "chain" and "draw", which are not listed.
    coords : mapping of str to sequence
        Labels along each dimension.

    Returns
    -------
    InferenceData or DataTree
        From ArviZ 0.x; from arviz-base if ArviZ is 1.x or not installed.

    Raises
    ------
    NotAvailableError
        If neither is installed.

    Examples
    --------
    >>> found = to_arviz({"posterior": {"sigma": (["order"], [[[0.1, 0.2]]])}}, {"order": [1, 2]})
    >>> found.posterior["sigma"].dims
    ('chain', 'draw', 'order')
    """
    values: dict[str, Any] = {
        group: {name: np.asarray(value) for name, (_, value) in variables.items()}
        for group, variables in groups.items()
    }
    dims = {
        name: list(named) for variables in groups.values() for name, (named, _) in variables.items() if named
    }
    # Tuples remain single labels instead of becoming levels.
    labels = {name: pd.Index(list(label), tupleize_cols=False).to_numpy() for name, label in coords.items()}
    with contextlib.suppress(ImportError):
        import arviz

        if int(arviz.__version__.split(".")[0]) < 1:
            return arviz.from_dict(**values, dims=dims, coords=labels)
    try:
        import arviz_base
    except ImportError as error:
        raise NotAvailableError(
            "to_arviz needs ArviZ, which is not installed. Install it with: pip install 'pyrjsel[arviz]'"
        ) from error
    return arviz_base.from_dict(values, dims=dims, coords=labels)

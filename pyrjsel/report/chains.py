"""Draws for ArviZ."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pyrjsel._errors import NotAvailableError


def to_arviz(
    groups: Mapping[str, Mapping[str, tuple[Sequence[str], ArrayLike]]], coords: Mapping[str, Sequence[Any]]
) -> Any:
    """Return draws as ArviZ's container.

    Parameters
    ----------
    groups : mapping of str to mapping
        By group ("posterior", "sample_stats", "observed_data"), and in it by the name of a variable, its
        dimensions and its values. Draws begin with dimensions "chain" and "draw", which are not named.
    coords : mapping of str to sequence
        Labels along each dimension.

    Returns
    -------
    InferenceData or DataTree
        That of ArviZ 0.x, or of 1.x.

    Raises
    ------
    NotAvailableError
        If ArviZ is not installed.

    Examples
    --------
    >>> found = to_arviz({"posterior": {"sigma": (["order"], [[[0.1, 0.2]]])}}, {"order": [1, 2]})
    >>> found.posterior["sigma"].dims
    ('chain', 'draw', 'order')
    """
    try:
        import arviz
    except ImportError as error:
        raise NotAvailableError(
            "to_arviz needs ArviZ, which is not installed. Install it with: pip install 'pyrjsel[arviz]'"
        ) from error
    values: dict[str, Any] = {
        group: {name: np.asarray(value) for name, (_, value) in variables.items()}
        for group, variables in groups.items()
    }
    dims = {
        name: list(named) for variables in groups.values() for name, (named, _) in variables.items() if named
    }
    labels = {name: list(label) for name, label in coords.items()}
    if int(arviz.__version__.split(".")[0]) < 1:
        return arviz.from_dict(**values, dims=dims, coords=labels)
    return arviz.from_dict(values, dims=dims, coords=labels)

"""The models of a posterior whose likelihood has no maximum."""

from __future__ import annotations

import warnings

import numpy as np

from pyrjsel._errors import SeparationWarning
from pyrjsel._validate import listed
from pyrjsel.selection.posterior import Posterior
from pyrjsel.selection.protocols import SelectionModel, SingleModel

# Models with at least this posterior probability are looked at, at most so many.
MASS, MODELS = 0.005, 50

Separated = dict[tuple[str, ...], tuple[str, ...]]


def look_for_separation(
    model: SelectionModel, posterior: Posterior, single: SingleModel, stacklevel: int
) -> Separated:
    """Return the terms of the best models that separate the classes, and the terms through which they do.

    Warns
    -----
    SeparationWarning
        If there are any.
    """
    some = max(int(np.sum(posterior.probability[:MODELS] >= MASS)), 1)
    found = single.separated(posterior.packed[:some])
    names = model.term_names
    result = {
        model.space.terms_of(posterior.packed[row]): tuple(names[j] for j in terms)
        for row, terms in found.items()
    }
    if result:
        culprits = list(dict.fromkeys(name for terms in result.values() for name in terms))
        best = f"{len(result)} of the {some} best models" if some > 1 else "the best model"
        warnings.warn(
            f"{model.regression.family.apart} by {listed(culprits)} in {best}: maximum likelihood "
            "estimates are infinite there, and the posterior depends strongly on the coefficient prior.",
            SeparationWarning,
            stacklevel=stacklevel + 1,
        )
    return result

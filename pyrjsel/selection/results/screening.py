"""Screening: terms that are relevant in at least one of several runs, and their parents."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pyrjsel._errors import ParameterError
from pyrjsel._typing import FloatArray
from pyrjsel._validate import check_real
from pyrjsel.model_space import ModelSpace
from pyrjsel.selection.comparable import same_data
from pyrjsel.selection.protocols import SelectionModel
from pyrjsel.selection.results.tables import PosteriorTables


def screened(runs: Sequence[PosteriorTables], threshold: float) -> SelectionModel:
    """Return the model of the first of `runs` without the terms below `threshold` in all of them."""
    threshold = check_real(threshold, "threshold", low=0, high=1, open_low=True, open_high=True)
    model = runs[0].model
    for place, run in enumerate(runs[1:]):
        reason = same_data(model, run.model)
        if reason is not None:
            raise ParameterError(
                "The 'others' parameter of screen must hold results of the same data and terms as those that "
                f"are screened. These and others[{place}] have {reason}."
            )
    inclusion = np.max([run.posterior.inclusion for run in runs], axis=0)
    # The inclusion probability of terms that are always in is a sum, which rounding can bring below 1.
    kept = {int(term) for term in np.flatnonzero((inclusion >= threshold) | (model.space.free == 0))}
    if not kept:
        raise ParameterError(_nothing_left(model, inclusion, threshold))
    _add_parents(kept, model.space, inclusion)
    # Warnings refer to the call of `screen`.
    return model._restrict([model.term_names[term] for term in sorted(kept)])


def _nothing_left(model: SelectionModel, inclusion: FloatArray, threshold: float) -> str:
    if not inclusion.size:
        return "There is nothing to screen: the model has no terms."
    highest = int(np.argmax(inclusion))
    return (
        f"The 'threshold' parameter of screen must leave a term, and no term reaches {threshold:g}; the "
        f"highest inclusion probability is that of {model.term_names[highest]}, with "
        f"{inclusion[highest]:.4g}."
    )


def _add_parents(kept: set[int], space: ModelSpace, inclusion: FloatArray) -> None:
    """Add the terms that heredity requires for those in `kept`."""
    # Children before parents, so that parents of added parents are added, too.
    for term in reversed(space.order.tolist()):
        parents = space.parents_of(term).tolist() if term in kept else []
        if space.heredity == "strong":
            kept.update(parents)
        elif parents and kept.isdisjoint(parents):
            kept.add(max(parents, key=lambda parent: inclusion[parent]))

"""The identity of a fit as plain data, for checkpoints and saved results."""

from __future__ import annotations

from typing import Any

from pyrjsel.selection.protocols import SelectionModel
from pyrjsel.selection.regression.summed_rows import SummedRows
from pyrjsel.storage import Plain, plain


def rows_of(model: SelectionModel) -> Plain:
    """Return the rows of a model, or their placeholder, as plain data."""
    data = model.data
    if isinstance(data, SummedRows):
        return plain(data.sums)
    return {"y": data.y, "X": data.X, "extras": data.extras}


def identity(model: SelectionModel, sampler: str, options: Any) -> dict[str, Plain]:
    """Return all that draws of a fit depend on besides their number and seed, by user-visible name."""
    choices = model._choices
    costs = (
        None if choices.costs is None else {str(name): float(cost) for name, cost in choices.costs.items()}
    )
    return {
        "model": type(model).__name__,
        "formula": model.design.formula,
        "design": model.design.to_dict(),
        "data": rows_of(model),
        "model prior": plain(model.model_prior),
        "coefficient prior": plain(model.coef_prior),
        "error variance prior": plain(choices.sigma_prior),
        "costs": costs,
        "budget": choices.budget,
        "always": plain(choices.always),
        "heredity": choices.heredity,
        "max_size": choices.max_size,
        "sampler": sampler,
        **{f"option {name}": plain(value) for name, value in vars(options).items()},
    }

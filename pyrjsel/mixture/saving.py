"""Results as files: what is written."""

import pandas as pd

from pyrjsel.design import input_design_to_plain, input_rows_to_plain
from pyrjsel.mixture.posterior import MixturePosterior
from pyrjsel.mixture.protocols import MixtureModel
from pyrjsel.mixture.sampler import KERNELS, SERIES
from pyrjsel.results import Description
from pyrjsel.storage import Plain, frame_to_plain, plain

KIND = "mixture results"


def content_of(
    model: MixtureModel,
    posterior: MixturePosterior,
    components: int,
    comparison: pd.DataFrame | None,
    said: Description,
    with_rows: bool,
) -> Plain:
    """Return what is written of results."""
    return {
        "class": type(model).__name__,
        "design": input_design_to_plain(model.design),
        "rows": input_rows_to_plain(model.data, with_rows),
        "left_out": list(model.left_out),
        "scaling": vars(model.scaling),
        "components": list(model.components),
        "chosen": components,
        "comparison": None if comparison is None else frame_to_plain(comparison),
        "target": model.target,
        "background": model.background,
        "weight_prior": model.weight_prior,
        "proposal": model.proposal,
        "prior": plain(model.prior),
        "model_prior": plain(model.model_prior),
        "constraints": model._constraints,
        "description": said.to_plain(),
        "settings": posterior.settings.to_plain(),
        "options": plain(vars(posterior.options)),
        "ends": None if posterior.ends is None else posterior.ends.to_plain(),
        "gamma": posterior.models,
        "index": posterior.index,
        "draws": {name: getattr(posterior, name) for name in (*SERIES, *KERNELS)},
        "every": posterior.every,
        "diagnostics": frame_to_plain(posterior.diagnostics),
        "seconds": [float(seconds) for seconds in posterior.seconds],
        "notes": list(posterior.notes),
    }

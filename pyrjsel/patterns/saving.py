"""Content of saved pattern results."""

from pyrjsel.design import Absent, label_design_to_plain, label_rows_to_plain
from pyrjsel.patterns.protocols import PatternModel
from pyrjsel.patterns.sampler import PatternPosterior
from pyrjsel.results import Description
from pyrjsel.storage import Plain, frame_to_plain, plain

KIND = "pattern results"


def content_of(
    model: PatternModel,
    posterior: PatternPosterior,
    entropy: bytes,
    said: Description,
    with_rows: bool | None,
) -> Plain:
    """Return the content of a file."""
    groups = model.groups
    return {
        "class": type(model).__name__,
        "design": label_design_to_plain(model.design),
        "rows": label_rows_to_plain(model.data, bool(with_rows)),
        "codes": None if with_rows is False or isinstance(model.features, Absent) else model.features.codes,
        "kind": model.features.kind,
        "order": model.order,
        "compress": model.compression.compressed,
        "prior": {
            "family": model.prior.family,
            "log_sigma_0": float(model.prior.log_sigma_0),
            "scales": plain(model.prior.scales),
        },
        "groups": {
            "pattern": groups["pattern"].tolist(),
            "orders": groups["orders"].tolist(),
            "cases": groups["cases"].to_numpy(),
            "counts": model.compression.counts,
        },
        "description": said.to_plain(),
        "settings": posterior.settings.to_plain(),
        "entropy": entropy,
        "sampler": posterior.sampler,
        "draws": vars(posterior.draws),
        "diagnostics": frame_to_plain(posterior.diagnostics),
        "seconds": [float(seconds) for seconds in posterior.seconds],
        "notes": list(posterior.notes),
        "options": None if posterior.options is None else vars(posterior.options),
        "ends": None if posterior.ends is None else posterior.ends.to_plain(),
    }

"""Results as files: what is written."""

from dataclasses import fields
from typing import Any

from pyrjsel.design import AbsentArray, rows_to_plain
from pyrjsel.kernel.posterior import KernelPosterior
from pyrjsel.kernel.protocols import KernelModel
from pyrjsel.kernel.samplers.mcmc import ChainRun
from pyrjsel.kernel.samplers.serialization import state_to_plain
from pyrjsel.kernel.samplers.smc import FilterRun, Settled
from pyrjsel.kernel.state import FilterState, KernelSettings
from pyrjsel.runtime import Ends
from pyrjsel.storage import Plain, frame_to_plain, labels_to_plain, plain

KIND = "kernel results"
# Settings of a loop beside the kernel.
SETTINGS = tuple(item.name for item in fields(KernelSettings) if item.name != "kernel")


def content_of(
    model: KernelModel, run: FilterRun | ChainRun, posterior: KernelPosterior, data: bool | None
) -> Plain:
    """Return what is written of results, with rows, or what predictions need (None), or neither (False)."""
    kernel, with_rows = model.kernels[0], bool(data)
    return {
        "class": type(model).__name__,
        "design": model.design.to_dict(),
        "rows": rows_to_plain(model.data, with_rows),
        "standardize": model.standardize,
        "scaling": vars(model.scaling),
        "convention": model.convention,
        "kernel": {"name": kernel.name, "own": kernel.function is not None},
        "widths": [float(width) for width in model.widths],
        "automatic": model.automatic,
        "noise_prior": plain(model.noise_prior),
        "coef_prior": plain(model.coef_prior),
        "settings": settings_to_plain(model.settings),
        "sampler": "smc" if isinstance(run, FilterRun) else "mcmc",
        "basis": _basis(posterior, data),
        "run": _filter(run, data) if isinstance(run, FilterRun) else _chains(run, with_rows),
    }


def _basis(posterior: KernelPosterior, data: bool | None) -> Plain:
    """Return the centres in use, unless they are not asked for or not there."""
    lacking = isinstance(posterior.x, AbsentArray) and posterior.known is None
    return None if data is False or lacking else vars(posterior.basis)


def settings_to_plain(settings: KernelSettings) -> Plain:
    """Return settings without their kernel."""
    return {name: getattr(settings, name) for name in SETTINGS}


def _filter(run: FilterRun, data: bool | None) -> Plain:
    state: Any = run.state
    rows = {"x": state.x, "y": state.y, "index": labels_to_plain(run.index)} if data else None
    others: list[Plain] = [
        {
            "place": other.place,
            "state": _state(other.state),
            "settled": _settled(other.settled),
            "basis": _basis(other.posterior, data),
        }
        for other in run.others
    ]
    return {
        "place": run.place,
        "settings": settings_to_plain(run.settings),
        "order": run.order,
        "states": [_state(each) for each in run.states],
        "settled": _settled(run.settled),
        "others": others,
        "rows": rows,
        "widths": frame_to_plain(run.widths),
        "row_order": run.row_order,
        "seconds": float(run.seconds),
        "missed": int(run.missed),
        "run_time": run.run_time.to_plain(),
    }


def _settled(settled: Settled) -> Plain:
    return {
        **vars(settled.particles),
        "weight": settled.weight,
        "rise": settled.rise,
        "missed": settled.missed,
    }


def _state(state: FilterState) -> Plain:
    # Values of kernels between rows say as much as the rows; they are made again from these.
    return {name: value for name, value in state_to_plain(state).items() if name != "columns"}


def _chains(run: ChainRun, with_rows: bool) -> Plain:
    return {
        "place": run.place,
        "ends": None if run.ends is None else _ends(run.ends, with_rows),
        "settings": settings_to_plain(run.settings),
        "draws": vars(run.draws),
        "fit": run.fit.to_plain(),
        "seconds": float(run.seconds),
        "interrupted": list(run.interrupted),
    }


def _ends(ends: Ends, with_rows: bool) -> Plain:
    """Return where chains ended; columns, which say as much as rows, are made again from these."""
    found: Any = ends.to_plain()
    for end in found["chains"]:
        columns = end["state"]["columns"]
        if columns is not None and not with_rows:
            columns = {name: value for name, value in columns.items() if name != "columns"}
        end["state"] = {**end["state"], "columns": columns}
    return found

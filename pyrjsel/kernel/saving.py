"""Results as files: what is written."""

from __future__ import annotations

import os
from dataclasses import fields
from typing import TYPE_CHECKING, Any, cast

from pyrjsel._validate import check_bool, check_file
from pyrjsel.design import AbsentRows, digest_of_rows, rows_to_plain
from pyrjsel.kernel.runs import ChainRun, FilterRun
from pyrjsel.kernel.saved import state_to_plain
from pyrjsel.kernel.state import KernelSettings
from pyrjsel.runtime import Ends
from pyrjsel.store import Document, Plain, frame_to_plain, labels_to_plain, plain, write

if TYPE_CHECKING:
    from pyrjsel.kernel.results import KernelResults

KIND, SCHEMA = "kernel results", 2
# Settings of a loop beside the kernel.
SETTINGS = tuple(item.name for item in fields(KernelSettings) if item.name != "kernel")


class Saving:
    """The method of :class:`KernelResults` that writes files."""

    def save(self, path: str | os.PathLike[str], data: bool = False) -> None:
        """Save the results in a file, which :func:`pyrjsel.load` reads.

        Parameters
        ----------
        path : str or path-like
            The file; one that is there is replaced once the new one is whole.
        data : bool, default False
            Whether the rows are in it: response, inputs and labels, those of :meth:`update` too. Centres are
            rows, so that predictions, plots of the fit and more rows need them: without them these take
            ``rj.load(path, data=...)`` with the rows of the fit. Everything else can be had without.

        Raises
        ------
        NotAvailableError
            If the rows are asked for and are not there.
        ParameterError
            If `path` is none, or that of a folder.
        StoreError
            If a name or label cannot be written, or there are too many of them.
        OSError
            If the file cannot be written.

        Notes
        -----
        The format is described in ``pyrjsel.store``: a zip archive of a JSON header and arrays, which holds
        no code. Functions that the formula calls, and a kernel of the user's, are kept by name alone.
        """
        results = cast("KernelResults", self)
        with_rows, file = check_bool(data, "data", "save"), check_file(path, "path", "save")
        write(file, Document(KIND, SCHEMA, content_of(results, with_rows)))


def content_of(results: KernelResults, with_rows: bool) -> Plain:
    """Return what is written of results."""
    model, run = results.model, results.run
    known = model.data.digest if isinstance(model.data, AbsentRows) else digest_of_rows(model.data)
    kernel = model.kernels[0]
    return {
        "class": type(model).__name__,
        "design": model.design.to_dict(),
        "rows": rows_to_plain(model.data, with_rows, known),
        "standardize": model.standardize,
        "scaling": vars(model.scaling),
        "convention": model.convention,
        "kernel": {"name": kernel.name, "own": kernel.function is not None},
        "widths": [float(width) for width in model.widths],
        "noise_prior": plain(model.noise_prior),
        "coef_prior": plain(model.coef_prior),
        "settings": settings_to_plain(model.settings),
        "sampler": results.sampler,
        "run": _filter(run, with_rows) if isinstance(run, FilterRun) else _chains(run, with_rows),
    }


def settings_to_plain(settings: KernelSettings) -> Plain:
    """Return settings without their kernel."""
    return {name: getattr(settings, name) for name in SETTINGS}


def _filter(run: FilterRun, with_rows: bool) -> Plain:
    state: Any = run.state
    # Values of kernels between rows say as much as the rows; they are made again from these.
    states = [
        {name: value for name, value in state_to_plain(each).items() if name != "columns"}
        for each in run.states
    ]
    rows = {"x": state.x, "y": state.y, "index": labels_to_plain(run.index)} if with_rows else None
    return {
        "place": run.place,
        "settings": settings_to_plain(run.settings),
        "order": run.order,
        "states": states,
        "rows": rows,
        "widths": frame_to_plain(run.widths),
        "row_order": run.row_order,
        "seconds": float(run.seconds),
        "missed": int(run.missed),
        "run_time": run.run_time.to_plain(),
    }


def _chains(run: ChainRun, with_rows: bool) -> Plain:
    return {
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

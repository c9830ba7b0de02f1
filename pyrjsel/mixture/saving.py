"""Results as files: what is written."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, cast

from pyrjsel._validate import check_bool, check_file
from pyrjsel.design import input_design_to_plain, input_rows_to_plain
from pyrjsel.mixture.sampling import KERNELS, SERIES
from pyrjsel.storage import Document, Plain, frame_to_plain, plain, write

if TYPE_CHECKING:
    from pyrjsel.mixture.results import MixtureResults

KIND, SCHEMA = "mixture results", 1


class Saving:
    """The method of :class:`MixtureResults` that writes files."""

    def save(self, path: str | os.PathLike[str], data: bool = False) -> None:
        """Save the results in a file, which :func:`pyrjsel.load` reads.

        Parameters
        ----------
        path : str or path-like
            The file; one that is there is replaced once the new one is whole.
        data : bool, default False
            Whether the rows of the fit are in it: inputs, response, labels of rows. Without them all tables,
            draws and predictions of new rows can be had after loading, and what needs the rows themselves
            takes ``rj.load(path, data=...)``.

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
        The format is described in ``pyrjsel.storage``: a zip archive of a JSON header and arrays, which holds
        no code. In every file are the ranges of the inputs and, where the last draw of each chain is kept for
        :meth:`extend`, the kernel of each row and what was drawn for missing inputs and labels.
        """
        results = cast("MixtureResults", self)
        with_rows, file = check_bool(data, "data", "save"), check_file(path, "path", "save")
        write(file, Document(KIND, SCHEMA, content_of(results, with_rows)))


def content_of(results: MixtureResults, with_rows: bool) -> Plain:
    """Return what is written of results."""
    model, posterior = results.model, results.posterior
    info, notes = results._described()
    comparison = results._comparison
    return {
        "class": type(model).__name__,
        "design": input_design_to_plain(model.design),
        "rows": input_rows_to_plain(model.data, with_rows),
        "left_out": list(model.left_out),
        "scaling": vars(model.scaling),
        "components": list(model.components),
        "chosen": results.components,
        "comparison": None if comparison is None else frame_to_plain(comparison),
        "background": model.background,
        "proposal": model.proposal,
        "prior": plain(model.prior),
        "model_prior": plain(model.model_prior),
        "constraints": model._constraints,
        "description": {"info": [list(pair) for pair in info], "notes": list(notes)},
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

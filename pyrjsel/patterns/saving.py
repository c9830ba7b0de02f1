"""Results as files: what is written."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, cast

from pyrjsel._validate import check_bool, check_file
from pyrjsel.design import label_design_to_plain, label_rows_to_plain
from pyrjsel.storage import Document, Plain, frame_to_plain, plain, write

if TYPE_CHECKING:
    from pyrjsel.patterns.results import PatternResults

KIND, SCHEMA = "pattern results", 2


class Saving:
    """The method of :class:`PatternResults` that writes files."""

    def save(self, path: str | os.PathLike[str], data: bool = False) -> None:
        """Save the results in a file, which :func:`pyrjsel.load` reads.

        Parameters
        ----------
        path : str or path-like
            The file; one that is there is replaced once the new one is whole.
        data : bool, default False
            Whether the rows of the fit are in it: features and response. Which cases express a pattern is
            known from rows alone, so that predictions, scores and draws of single coefficients need them:
            without them these take ``rj.load(path, data=...)``, of a sequence with its
            :func:`pyrjsel.histories`. Draws and tables can be had without.

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
        no code. In every file are the table `groups`, whose patterns name the parameters and may be those
        of a single case, and the levels of features and response.
        """
        results = cast("PatternResults", self)
        with_rows, file = check_bool(data, "data", "save"), check_file(path, "path", "save")
        write(file, Document(KIND, SCHEMA, content_of(results, with_rows)))


def content_of(results: PatternResults, with_rows: bool) -> Plain:
    """Return what is written of results."""
    model, posterior, groups = results.model, results.posterior, results.model.groups
    info, notes = results._described()
    return {
        "class": type(model).__name__,
        "design": label_design_to_plain(model.design),
        "rows": label_rows_to_plain(model.data, with_rows),
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
        "description": {"info": [list(pair) for pair in info], "notes": list(notes)},
        "settings": posterior.settings.to_plain(),
        "entropy": results._entropy,
        "sampler": posterior.sampler,
        "draws": vars(posterior.draws),
        "diagnostics": frame_to_plain(posterior.diagnostics),
        "seconds": [float(seconds) for seconds in posterior.seconds],
        "notes": list(posterior.notes),
        "options": None if posterior.options is None else vars(posterior.options),
        "ends": None if posterior.ends is None else posterior.ends.to_plain(),
    }

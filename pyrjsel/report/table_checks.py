"""Validation of tables in saved results."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from pyrjsel.storage import Content, frame_from_plain

SHARE, POSITIVE, ANY = (0.0, 1.0), (0.0, np.inf), (-np.inf, np.inf)
# Smallest and largest valid number of a column, by its name or prefix.
RANGES = {
    **dict.fromkeys(("rate", "posterior", "error_rate", "acceptance"), SHARE),
    **dict.fromkeys(("ess", "r", "mcse", "sd", "se", "difference_se"), POSITIVE),
    **dict.fromkeys(("draws", "models", "integrated", "seconds", "cpu_seconds"), POSITIVE),
}
# Columns without missing values.
COMPLETE = ("posterior", "error_rate", "draws", "models", "integrated")
TYPES = (np.dtype(np.float64), np.dtype(np.int64))


def table_from_plain(
    content: Content,
    key: str,
    index: Sequence[Any] | None = None,
    columns: Sequence[str] | None = None,
) -> pd.DataFrame:
    """Return a table of diagnostics or of several fits.

    Parameters
    ----------
    content : Content
        Content of the file.
    key : str
        Name of the table.
    index : sequence, optional
        Required row labels.
    columns : sequence of str, optional
        Required columns.

    Returns
    -------
    DataFrame
        The table as it was saved.

    Raises
    ------
    StoreError
        If rows or columns differ, or a number is out of range.
    """
    frame = frame_from_plain(content.part(key), columns)
    if index is not None and frame.index.tolist() != list(index):
        raise content.wrong(key, f"a table by {', '.join(map(str, index))}")
    for name in frame.columns:
        values = frame[name].to_numpy()
        if values.dtype not in TYPES:
            raise content.wrong(key, f"a table of numbers, which {name!r} is not")
        low, high = RANGES.get(str(name), RANGES.get(str(name).partition("_")[0], ANY))
        infinite = str(name).startswith(("ess", "r_hat"))
        good = (values >= low) & (values <= high) & (infinite | np.isfinite(values))
        if not (good | (np.isnan(values) & (name not in COMPLETE))).all():
            raise content.wrong(key, f"a table whose {name!r} are in [{low:g}, {high:g}]")
    return frame

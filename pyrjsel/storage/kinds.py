"""The kinds of files that can be loaded, and what reads each; the rooms fill the registry."""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pyrjsel._errors import StoreError
from pyrjsel._validate import check_file
from pyrjsel.storage.content import Content
from pyrjsel.storage.files import read, unreadable


@dataclass(frozen=True)
class Given:
    """Arguments of :func:`load` beside the file: rows, or None, and functions by name."""

    data: Any = None
    functions: Mapping[str, Callable[..., Any]] | None = None


# From the content of a file of some schema and what was given beside it: the object.
Reader = Callable[[Content, int, "Given"], Any]

_READERS: dict[str, tuple[int, Reader]] = {}


def register(kind: str, schema: int, reader: Reader) -> None:
    """Have `reader` read files of a kind, of all schemas up to `schema`, the one that is written."""
    _READERS[kind] = (schema, reader)


def load(
    path: str | os.PathLike[str],
    data: Any = None,
    *,
    functions: Mapping[str, Callable[..., Any]] | None = None,
) -> Any:
    """Load results that ``save`` wrote.

    Nothing in the file is run: it holds numbers and text, and the formula calls what formulas may call.

    Parameters
    ----------
    path : str or path-like
        The file.
    data : DataFrame or mapping of columns, optional
        The rows of the fit, for what needs them; where the model was made from arrays the pair
        ``(endog, exog)``. Not needed for a file that was saved with its rows.
    functions : mapping of str to callable, optional
        The user's functions that the formula calls, and a kernel of the user's, by name: a file has no code.

    Returns
    -------
    SelectionResults, PatternResults, KernelResults or MixtureResults
        As they were saved. Without rows, what needs them raises :class:`NotAvailableError`.

    Raises
    ------
    StoreError
        If the file is damaged, not of this package, of a newer version, or a checkpoint.
    DataError
        If `data` are not the rows of the fit.
    ParameterError
        If `path` is none, or that of a folder, or if a function is needed and not given.
    OSError
        If the file cannot be opened.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import pyrjsel as rj
    >>> births = rj.datasets.birthwt().data
    >>> results = rj.logit("low ~ lwt + smoke + ht", births).fit(rng=1)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     results.save(Path(folder) / "births.rjs")
    ...     again = rj.load(Path(folder) / "births.rjs")
    >>> again.inclusion.equals(results.inclusion)
    True
    """
    name = check_file(path, "path", "load")
    document = read(name)
    if document.kind not in _READERS:
        known = ", ".join(map(repr, sorted(_READERS)))
        raise unreadable(name, f"it is of the kind {document.kind!r}; those that can be loaded are {known}")
    schema, reader = _READERS[document.kind]
    if document.schema > schema:
        raise unreadable(
            name,
            f"its layout has version {document.schema}, written by version {document.version} of the "
            f"package, and this one reads up to {schema}",
        )
    try:
        return reader(Content(document.content, "the file"), document.schema, Given(data, functions))
    except StoreError as error:
        raise unreadable(name, error) from error

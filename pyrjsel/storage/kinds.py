"""Registry of the kinds of files that can be loaded, with their readers."""

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
    """Arguments of :func:`load` besides the file: the training data, or None, and functions by name."""

    data: Any = None
    functions: Mapping[str, Callable[..., Any]] | None = None


# Reader: takes the content of a file and these arguments, and returns the object.
Reader = Callable[[Content, "Given"], Any]

_READERS: dict[str, Reader] = {}


def register(kind: str, reader: Reader) -> None:
    """Register `reader` for files of a kind."""
    _READERS[kind] = reader


def load(
    path: str | os.PathLike[str],
    data: Any = None,
    *,
    functions: Mapping[str, Callable[..., Any]] | None = None,
) -> Any:
    """Load results written by ``save``.

    Loading runs no code from the file: it holds numbers and text, and its formula may call only allowed
    functions.

    Parameters
    ----------
    path : str or path-like
        The file.
    data : DataFrame or mapping of columns, optional
        The training data, needed by some methods; for a model made from arrays, the pair
        ``(endog, exog)``. Not needed if the file was saved with ``data=True``.
    functions : mapping of str to callable, optional
        Functions that the formula calls, and a user-defined kernel, by name: files contain no code.

    Returns
    -------
    SelectionResults, PatternResults, KernelResults or MixtureResults
        As they were saved. Without training data, methods that need them raise :class:`NotAvailableError`.

    Raises
    ------
    StoreError
        If the file is damaged, is not a file of this package, comes from a newer version, or is a checkpoint.
    DataError
        If `data` differ from the training data of the fit.
    ParameterError
        If `path` is not a path, or is a folder, or if a function is needed and not given.
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
    name = check_file(path, "path")
    document = read(name)
    if document.kind not in _READERS:
        known = ", ".join(map(repr, sorted(_READERS)))
        raise unreadable(name, f"it is a {document.kind!r} file, and only these can be loaded: {known}")
    try:
        return _READERS[document.kind](Content(document.content, "the file"), Given(data, functions))
    except StoreError as error:
        raise unreadable(name, error) from error

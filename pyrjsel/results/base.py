"""What all results have: a summary, a file, random numbers of their own."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np

from pyrjsel._docstrings import fill_inherited
from pyrjsel._validate import check_bool, check_file, check_int
from pyrjsel.report import Report, results_html
from pyrjsel.results.protocols import FittedModel
from pyrjsel.results.saved import pairs_from_plain
from pyrjsel.storage import Content, Document, Plain, write

Model = TypeVar("Model", bound=FittedModel)


@dataclass(frozen=True)
class Description:
    """What a summary says beside its tables.

    Attributes
    ----------
    facts : sequence of (str, str)
        Labels and values on what was fitted and how.
    notes : sequence of str
        Sentences below the tables.
    """

    facts: Sequence[tuple[str, str]]
    notes: Sequence[str]

    def to_plain(self) -> Plain:
        """Return it as plain data."""
        return {"info": [list(fact) for fact in self.facts], "notes": list(self.notes)}

    @classmethod
    def from_plain(cls, content: Content) -> Description:
        """Return what was written.

        Raises
        ------
        StoreError
            If it is something else.
        """
        return cls(pairs_from_plain(content, "info"), content.sequence("notes"))


class Results(ABC, Generic[Model]):
    """What all results have.

    A room's results say in `_texts` what their docstrings say in the places of those below, and what kind of
    files they are written to; they give the description and the tables of a summary, and what is written.

    Parameters
    ----------
    model : FittedModel
        What was fitted.
    entropy : bytes
        Seed of draws after the fit.
    description : Description, optional
        What a summary says beside its tables, where it cannot be said without the rows of the fit.
    """

    _texts: ClassVar[Mapping[str, str]]
    # Kind and schema of files.
    _file: ClassVar[tuple[str, int]]

    def __init__(self, model: Model, entropy: bytes = b"", description: Description | None = None) -> None:
        self.model = model
        self._entropy = entropy
        self._known_description = description

    def __init_subclass__(cls, **named: Any) -> None:
        """Fill the places of the docstrings."""
        super().__init_subclass__(**named)
        if "_texts" in vars(cls):
            fill_inherited(cls, Results, {"results": cls.__name__, **cls._texts})

    # ------------------------------------------------------------------ what differs

    @abstractmethod
    def _describe(self) -> Description:
        """Return what a summary says beside its tables."""

    @abstractmethod
    def _tables(self, top: int) -> Sequence[tuple[Any, ...]]:
        """Return the tables of a summary under their captions, the `top` first rows of the longest."""

    @abstractmethod
    def _content(self, with_rows: bool) -> Plain:
        """Return what is written, with the rows of the fit or without."""

    # ------------------------------------------------------------------ what all have

    @property
    def nobs(self) -> int:
        """Number of rows used."""
        return self.model.nobs

    def _description(self) -> Description:
        """Return what a summary says beside its tables; without rows, what it said when they were there."""
        return self._describe() if self._known_description is None else self._known_description

    def _stream(self, label: bytes) -> np.random.Generator:
        """Return the random stream for one kind of draws after the fit; the same on every call."""
        key = int.from_bytes(self._entropy, "little") ^ int.from_bytes(label, "little")
        return np.random.Generator(np.random.Philox(key=key % 2**128))

    def summary(self, top: int = 10) -> Report:
        """Return the summary: what was fitted, how, the main tables, warnings that matter.

        Parameters
        ----------
        top : int, default 10
            <top>

        Returns
        -------
        statsmodels Summary
            Prints as text; ``as_html``, ``as_latex``, ``as_csv``.

        Raises
        ------
        ParameterError
            If `top` is not an int of at least 1.
        """
        top = check_int(top, "top", "summary", low=1)
        said = self._description()
        return Report(self.model.title, said.facts, self._tables(top), said.notes)

    _repr_html_ = results_html

    def save(self, path: str | os.PathLike[str], data: bool = False) -> None:
        """Save the results in a file, which :func:`pyrjsel.load` reads.

        Parameters
        ----------
        path : str or path-like
            The file; one that is there is replaced once the new one is whole.
        data : bool, default False
            <rows in files>

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
        no code.
        <in every file>
        """
        with_rows, file = check_bool(data, "data", "save"), check_file(path, "path", "save")
        write(file, Document(*self._file, self._content(with_rows)))

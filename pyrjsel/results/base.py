"""Base class of results (a summary, a file, random numbers), and what results need of a model."""

from __future__ import annotations

import os
import warnings
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Protocol, TypeVar

import numpy as np
import pandas as pd

from pyrjsel import report
from pyrjsel._called import warn
from pyrjsel._docstrings import fill_inherited
from pyrjsel._errors import NotAvailableError, PyrjselWarning
from pyrjsel._once import catching_warnings
from pyrjsel._typing import FloatArray
from pyrjsel._validate import bad_value, check_bool, check_file, check_int
from pyrjsel._version import __version__
from pyrjsel.model_space import ModelSpace, PackedModels, PriorInclusion
from pyrjsel.report import Plot, budget_steps, draw_pictures, html_page, results_html
from pyrjsel.results.saved import pairs_from_plain
from pyrjsel.storage import Content, Document, Plain, replace, write


class FittedModel(Protocol):
    """A fitted model, as its results use it."""

    title: ClassVar[str]
    design: Any
    data: Any

    @property
    def nobs(self) -> int:
        """Number of observations used."""


class ModelOverSpace(FittedModel, Protocol):
    """A model that selects terms."""

    space: ModelSpace
    _priced: bool

    @property
    def term_names(self) -> Sequence[str]:
        """Names of the J terms."""

    @property
    def prior_inclusion(self) -> PriorInclusion:
        """Prior inclusion probabilities under the constraints."""


class ModelPosterior(Protocol):
    """Posterior probabilities of models in decreasing order; errors and odds of the first of these."""

    @property
    def packed(self) -> PackedModels:
        """The models."""

    @property
    def probability(self) -> FloatArray:
        """Their probabilities."""

    @property
    def mcse(self) -> FloatArray:
        """Monte Carlo errors of these."""

    @property
    def odds(self) -> FloatArray:
        """Odds of the first model against each."""

    @property
    def odds_mcse(self) -> FloatArray:
        """Monte Carlo errors of these."""


if TYPE_CHECKING:
    from pyrjsel.report import Report

Model = TypeVar("Model", bound=FittedModel)


@dataclass(frozen=True)
class Description:
    """The facts and notes of a summary, besides its tables.

    Attributes
    ----------
    facts : sequence of (str, str)
        Labels and values: what was fitted, and how.
    notes : sequence of str
        Sentences printed below the tables.
    """

    facts: Sequence[tuple[str, str]]
    notes: Sequence[str]

    def to_plain(self) -> Plain:
        """Return the description as plain data."""
        return {"info": [list(fact) for fact in self.facts], "notes": list(self.notes)}

    @classmethod
    def from_plain(cls, content: Content) -> Description:
        """Return the description that :meth:`to_plain` wrote.

        Raises
        ------
        StoreError
            If the content is invalid.
        """
        return cls(pairs_from_plain(content, "info"), content.sequence("notes"))


class Results(ABC, Generic[Model]):
    """Base class of results.

    A subclass defines in `_texts` the replacements of the placeholders in the docstrings below, and the kind
    of its files; it provides the description and the tables of a summary, and the content of a file.

    Parameters
    ----------
    model : FittedModel
        The fitted model.
    entropy : bytes
        Seed of draws after the fit.
    description : Description, optional
        Facts and notes of the summary, if they cannot be computed because the training data are missing.
    """

    _texts: ClassVar[Mapping[str, str]]
    # Kind of files.
    _file: ClassVar[str]

    def __init__(self, model: Model, entropy: bytes = b"", description: Description | None = None) -> None:
        self.model = model
        self._entropy = entropy
        self._known_description = description

    def __init_subclass__(cls, **named: Any) -> None:
        """Fill in the docstrings."""
        super().__init_subclass__(**named)
        if "_texts" in vars(cls):
            fill_inherited(cls, Results, {"results": cls.__name__, **cls._texts})

    # ------------------------------------------------------------------ defined by subclasses

    @abstractmethod
    def _describe(self) -> Description:
        """Return the facts and notes of the summary."""

    @abstractmethod
    def _tables(self, top: int) -> Sequence[tuple[Any, ...]]:
        """Return the tables of a summary with their captions; the longest has its `top` first rows."""

    def _plots(self) -> Sequence[Plot]:
        """Return the plots of a page."""
        return ()

    def _more_tables(self) -> Sequence[tuple[str, pd.DataFrame]]:
        """Return the tables of a page beside those of the summary."""
        return ()

    def _frontier(self) -> pd.DataFrame | None:
        """Return the best model under each budget, None without costs."""
        return None

    @abstractmethod
    def _content(self, with_rows: bool | None) -> Plain:
        """Return the content of a file, with the training data or without; None for what predictions need."""

    # ------------------------------------------------------------------ shared

    @property
    def nobs(self) -> int:
        """Number of observations used."""
        return self.model.nobs

    def _description(self) -> Description:
        """Return the facts and notes of the summary; without training data, those that were saved."""
        return self._describe() if self._known_description is None else self._known_description

    def _stream(self, label: bytes) -> np.random.Generator:
        """Return the random number stream for one kind of draws after the fit; the same on every call."""
        key = int.from_bytes(self._entropy, "little") ^ int.from_bytes(label, "little")
        return np.random.Generator(np.random.Philox(key=key % 2**128))

    def summary(self, top: int = 10) -> Report:
        """Return the summary: what was fitted, how, the main tables, and important warnings.

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
        top = check_int(top, "top", low=1)
        said = self._description()
        return report.Report(self.model.title, said.facts, self._tables(top), said.notes)

    _repr_html_ = results_html

    def _page(self, title: str, top: int, notes: Sequence[str]) -> str:
        """Return the page of :meth:`report`."""
        described, frontier = self._description(), None
        tables, missing = [*self._tables(top), *self._more_tables()], []
        with catching_warnings, warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                frontier = self._frontier()
            except NotAvailableError as error:  # it needs the training data
                missing.append(str(error))
            if frontier is not None:
                tables.append(("The best model under each budget", frontier))
            pictures, why = draw_pictures(self._plots())
        own = []
        for item in caught:
            if issubclass(item.category, PyrjselWarning):
                own.append(str(item.message))
                warn(own[-1], item.category)
            else:  # of a library; says nothing about the results
                warnings.warn_explicit(item.message, item.category, item.filename, item.lineno)
        return html_page(
            title,
            report.Report(self.model.title, described.facts, tables),
            pictures,
            notes=notes,
            warnings=list(dict.fromkeys([*own, *missing, *why, *described.notes])),
            steps=() if frontier is None else budget_steps(frontier),
            footer=f"Made by pyrjsel {__version__}.",
        )

    def report(
        self,
        path: str | os.PathLike[str],
        *,
        title: str | None = None,
        notes: Sequence[str] = (),
        top: int = 50,
    ) -> None:
        """Write the results as one HTML page, with tables that sort, plots and warnings.

        If the model has costs, a slider over budgets shows the best model under each, its deviance, and
        what the next step of the budget buys.

        Parameters
        ----------
        path : str or path-like
            The file, such as ``"fit.html"``; an existing one is replaced once the new one is complete.
        title : str, optional
            Title of the page. The default is the kind of model and its formula.
        notes : sequence of str, default ()
            Paragraphs below the title, such as the source of the data.
        top : int, default 50
            <top>

        Raises
        ------
        ParameterError
            If `path` is not the path of a file in a folder that exists, `title` is not a string, `notes` are
            not strings, or `top` is not an int of at least 1.
        OSError
            If the file cannot be written.

        Notes
        -----
        The page needs no other file, no network and no script, but for sorting and the slider. Plots that
        need matplotlib or the training data are left out without them, and the page says so.

        Examples
        --------
        >>> import tempfile
        >>> from pathlib import Path
        >>> import pyrjsel as rj
        >>> births = rj.datasets.birthwt().data
        >>> results = rj.logit("low ~ lwt + smoke", births, costs={"lwt": 1, "smoke": 2}).fit(rng=1)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     results.report(Path(folder) / "fit.html")
        ...     "Best model under a budget" in (Path(folder) / "fit.html").read_text()
        True
        """
        file = check_file(path, "path", write=True)
        top = check_int(top, "top", low=1)
        if title is not None and not isinstance(title, str):
            raise bad_value("title", "a string or None", title)
        several = isinstance(notes, Sequence) and not isinstance(notes, str)
        if not several or not all(isinstance(note, str) for note in notes):
            raise bad_value("notes", "a sequence of strings", notes)
        formula = self.model.design.formula
        heading = f"{self.model.title}: {formula}" if formula else self.model.title
        page = self._page(heading if title is None else title, top, notes)
        # Text that is no valid Unicode, as names of columns may be, is written as escapes.
        replace(file, page.encode(errors="backslashreplace"))

    def save(self, path: str | os.PathLike[str], data: bool | None = None) -> None:
        """Save the results to a file for :func:`pyrjsel.load`.

        Parameters
        ----------
        path : str or path-like
            The file; an existing one is replaced once the new one is complete.
        data : bool, optional
            <rows in files>

        Raises
        ------
        NotAvailableError
            If the training data are requested, but the results were loaded without them.
        ParameterError
            If `path` is not a path, or is a folder, or is in a folder that does not exist.
        StoreError
            If a name or label cannot be written, or there are too many of them.
        OSError
            If the file cannot be written.

        Notes
        -----
        ``pyrjsel.storage`` describes the format: a zip archive of a JSON header and arrays, without
        code.
        <in every file>
        """
        with_rows = None if data is None else check_bool(data, "data")
        file = check_file(path, "path", write=True)
        write(file, Document(self._file, self._content(with_rows)))

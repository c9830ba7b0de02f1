"""Base class of results with draws: extension, and export to ArviZ."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, Self, TypeVar

import numpy as np

from pyrjsel._errors import NotAvailableError
from pyrjsel._validate import check_bool
from pyrjsel.report import to_arviz
from pyrjsel.results.base import Model, Results
from pyrjsel.runtime import USUAL, Accuracy, Ends, FitSettings, known_ends
from pyrjsel.storage import Plain

Longer = TypeVar("Longer")


@dataclass(frozen=True)
class RecordedRun(Generic[Longer]):
    """A run that can be extended.

    Attributes
    ----------
    settings : FitSettings
        Settings of the run.
    ends : Ends or None
        Final states of its chains, if known.
    draws : int
        Draws per chain in the results.
    recorded : callable
        Returns the recorded values of each chain.
    identity : callable
        Returns the description of the run besides its settings, for a checkpoint.
    go_on : callable
        Returns the results of a run with longer settings.
    every : int
        Thinning interval of large arrays, in draws.
    """

    settings: FitSettings
    ends: Ends | None
    draws: int
    recorded: Callable[[], Sequence[Mapping[str, np.ndarray]]]
    identity: Callable[[], Mapping[str, Plain]]
    go_on: Callable[[FitSettings], Longer]
    every: int = 1


class SampledResults(Results[Model]):
    """Results with draws."""

    # Defaults of a run with ``draws="auto"``.
    _usual: ClassVar[Accuracy] = USUAL

    @abstractmethod
    def _recorded_run(self) -> RecordedRun[Self]:
        """Return the run of these results; raise :class:`NotAvailableError` if there are no chains."""

    @abstractmethod
    def _arviz(self) -> tuple[dict[str, dict[str, tuple[list[str], Any]]], dict[str, Sequence[Any]]]:
        """Return the draws as groups of variables with their dimensions, and the coordinates of these."""

    def extend(
        self,
        draws: int | None = None,
        *,
        mcse: float | None = None,
        max_draws: int | None = None,
        max_seconds: float | None = None,
        n_jobs: int | None = None,
        progress: bool | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
    ) -> Self:
        """Resume the chains and return the results of all draws.

        Parameters
        ----------
        draws : int, optional
            Additional draws per chain; burn-in and thinning stay the same.
            After an interrupted run, all chains get at least as many draws as the longest has. None lets
            `mcse` decide, possibly on none at all.
        mcse : float, optional
            <accuracy>
        max_draws : int, optional
            Limit of draws per chain, including existing ones; None is the default of ``fit``.
        max_seconds, n_jobs, progress : optional
            As for ``fit``.
        checkpoint : str or path-like, optional
            As for ``fit``, for the new draws.

        Returns
        -------
        <results>
            Results of all draws, bit for bit those of one run of the same length with this `burn_in` (on the
            same machine and versions).
            <not in one run>

        Raises
        ------
        NotAvailableError
            If the training data are missing, see :func:`pyrjsel.load`; if the results come from a file
            without chain states.
            <without chains>
        ParameterError
            If a parameter is out of range.
        StoreError
            If the checkpoint belongs to another run, or the file has a state of another model.

        Warns
        -----
        ConvergenceWarning
            As for ``fit``, which may warn of other things too.
        """
        run = self._recorded_run()
        settings = run.settings.extended(
            known_ends(run.ends),
            have=run.draws,
            recorded=run.recorded,
            draws=draws,
            mcse=mcse,
            max_draws=self._usual.max_draws if max_draws is None else max_draws,
            max_seconds=max_seconds,
            usual=self._usual,
            n_jobs=n_jobs,
            progress=progress,
            checkpoint=checkpoint,
            about=run.identity,
            every=run.every,
        )
        return run.go_on(settings)

    def to_arviz(self, *, log_likelihood: bool = False) -> Any:
        """Return the draws as ArviZ's container.

        Parameters
        ----------
        log_likelihood : bool, default False
            Only results of selections have log densities of the responses given each draw.

        Returns
        -------
        InferenceData or DataTree
            <variables>
            InferenceData with ArviZ 0.x, DataTree with ArviZ 1.x or arviz-base.

        Raises
        ------
        NotAvailableError
            If neither ArviZ nor arviz-base is installed, or `log_likelihood` is true.
        """
        if check_bool(log_likelihood, "log_likelihood"):
            raise NotAvailableError(
                f"{type(self).__name__} have no log densities for each draw: leave 'log_likelihood' out, and "
                "compare models by predictions of held-out rows."
            )
        return to_arviz(*self._arviz())

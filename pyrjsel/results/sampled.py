"""Results with draws: more of them, and their export to ArviZ."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, Self, TypeVar

import numpy as np

from pyrjsel.report import to_arviz
from pyrjsel.results.base import Model, Results
from pyrjsel.runtime import USUAL, Accuracy, Ends, FitSettings, known_ends
from pyrjsel.storage import Plain

Longer = TypeVar("Longer")


@dataclass(frozen=True)
class RecordedRun(Generic[Longer]):
    """A run that can go on.

    Attributes
    ----------
    settings : FitSettings
        Its own.
    ends : Ends or None
        Where its chains ended, where that is known.
    draws : int
        Draws of a chain that the results have.
    recorded : callable
        Returns what each chain had recorded.
    identity : callable
        Returns what the run is beside its settings, for a checkpoint.
    go_on : callable
        Returns the results of a run of longer settings.
    every : int
        Draws to one of which chains have kept large arrays.
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

    # What is asked of a run that stops by itself, where nothing is said.
    _usual: ClassVar[Accuracy] = USUAL

    @abstractmethod
    def _recorded_run(self) -> RecordedRun[Self]:
        """Return the run of these results; raise :class:`NotAvailableError` where there are no chains."""

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
        """Go on with the chains where they ended.

        Parameters
        ----------
        draws : int, optional
            Draws that each chain is to have beyond those that it has, burn-in and thinning as they were.
            After an interrupted run all chains get as many as the longest has at least. None is as many as
            `mcse` asks for, which may be no more at all.
        mcse : float, optional
            <accuracy>
        max_draws : int, optional
            Draws a chain at most, those that there are among them; None is the default of ``fit``.
        max_seconds, n_jobs, progress : optional
            As for ``fit``.
        checkpoint : str or path-like, optional
            As for ``fit``; of the draws that are new.

        Returns
        -------
        <results>
            New results, of all draws: to the last bit those of one run of as many with this `burn_in` (on the
            same machine and versions).
            <not in one run>

        Raises
        ------
        NotAvailableError
            If the rows are not there, see :func:`pyrjsel.load`; if the results come from a file that has no
            states of chains.
            <without chains>
        ParameterError
            If a parameter is out of range.
        StoreError
            If the checkpoint is that of another run, or the file held a state of another model.

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

    def to_arviz(self) -> Any:
        """Return the draws as ArviZ's container.

        Returns
        -------
        InferenceData or DataTree
            <variables>
            InferenceData is that of ArviZ 0.x, DataTree that of ArviZ 1.x and of arviz-base.

        Raises
        ------
        NotAvailableError
            If neither ArviZ nor arviz-base is installed.
        """
        return to_arviz(*self._arviz())


def chain_facts(settings: FitSettings, shape: Sequence[int]) -> list[tuple[str, str]]:
    """Return what a summary says of chains, from the shape (chains, draws, ...) of their draws."""
    return [
        ("Chains x draws", f"{shape[0]} x {shape[1]:,}"),
        ("Burn-in, thinning", f"{settings.burn_in:,}, {settings.thin}"),
    ]

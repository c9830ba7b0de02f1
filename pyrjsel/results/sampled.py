"""Results with draws: extension, pooling of separate runs, and export to ArviZ."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Generic, Self, TypeVar

import numpy as np

from pyrjsel._errors import NotAvailableError, ParameterError
from pyrjsel._validate import bad_value, check_bool, listed
from pyrjsel.report import to_arviz
from pyrjsel.results.base import Model, Results
from pyrjsel.runtime import USUAL, Accuracy, Ends, FitSettings, RunTime, Stopwatch, known_ends
from pyrjsel.storage import Plain, digest

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


Sampled = TypeVar("Sampled", bound=SampledResults[Any])

# Chains may start anywhere.
FREE = "option start"


def pool(results: Sequence[Sampled]) -> Sampled:
    """Pool separate runs of one model, such as those of several machines, into one.

    Parameters
    ----------
    results : sequence of results
        Two or more results of chains with the same data, priors, sampler and options (`start` may differ),
        equal `draws`, `burn_in` and `thin`, and different random numbers; ``extend`` makes numbers of draws
        equal. Loaded results need their training data, see :func:`pyrjsel.load`.

    Returns
    -------
    results
        Results of all chains, of the same class, those of the first run first: as if one run had had them
        all. They can be extended and saved.

    Raises
    ------
    NotAvailableError
        If results have no chains (enumeration, the filter of kernel regression) or no final states of them,
        were interrupted, or lack their training data.
    ParameterError
        If `results` are not at least two results of one class, or differ in more than their random numbers,
        or in nothing.

    Warns
    -----
    ConvergenceWarning
        As for ``fit``.

    Examples
    --------
    >>> import pyrjsel as rj
    >>> births = rj.datasets.birthwt().data
    >>> model = rj.logit("low ~ age + lwt + smoke", births)
    >>> runs = [model.fit(sampler="rjmcmc", draws=500, chains=2, rng=seed) for seed in (1, 2)]
    >>> rj.pool(runs).draws.model.shape
    (4, 500)
    """
    if not isinstance(results, Sequence) or len(results) < 2:
        raise bad_value("results", "a sequence of at least two results", results)
    for one in results:
        if not isinstance(one, SampledResults) or type(one) is not type(results[0]):
            raise bad_value("results", "results of draws of one class", one)
    runs = [one._recorded_run() for one in results]
    ends = [known_ends(run.ends) for run in runs]
    for at, end in enumerate(ends):
        if not end.complete:
            raise NotAvailableError(
                f"results[{at}] of pool come from an interrupted run: finish it with 'extend' first."
            )
    first = runs[0]
    for at, run in enumerate(runs[1:], start=1):
        differ = _differences(first, run)
        if differ:
            raise ParameterError(
                "The 'results' parameter of pool must be runs of one model that differ in their random "
                f"numbers alone. results[0] and results[{at}] differ in {listed(differ)}."
                + (" Make them equal with 'extend'." if run.draws != first.draws else "")
            )
    chains = [
        replace(chain, recorded={**held, **chain.recorded})
        for run, end in zip(runs, ends, strict=True)
        for chain, held in zip(end.chains, run.recorded(), strict=True)
    ]
    if len({digest(chain.state) for chain in chains}) < len(chains):
        raise ParameterError(
            "The 'results' parameter of pool must be runs with different random numbers. Got one chain twice."
        )
    settings = first.settings
    spent = sum((run.settings.run_time for run in runs), RunTime())
    pooled = replace(
        settings,
        draws=first.draws,
        chains=len(chains),
        earlier=Ends(chains, True, first.draws, ends[0].entropy),
        every=first.every,
        accuracy=None,
        anew=None,
        watch=Stopwatch(spent),
    )
    return first.go_on(pooled)


def _differences(one: RecordedRun[Any], other: RecordedRun[Any]) -> list[str]:
    """Return what two runs differ in besides their random numbers and the starts of their chains."""
    first, second = one.identity(), other.identity()
    found = [
        name
        for name in {**first, **second}
        if name != FREE and digest(first.get(name)) != digest(second.get(name))
    ]
    sizes = [
        {"draws": run.draws, "burn_in": run.settings.burn_in, "thin": run.settings.thin, "kept": run.every}
        for run in (one, other)
    ]
    found += [
        f"{name} ({a:,}; {b:,})"
        for (name, a), b in zip(sizes[0].items(), sizes[1].values(), strict=True)
        if a != b
    ]
    return found

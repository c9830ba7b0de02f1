"""The run settings that all samplers share."""

import os
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from numbers import Integral
from typing import Any

import numpy as np

from pyrjsel._typing import RNGLike, SeedLike
from pyrjsel._validate import bad_value, check_bool, check_int, check_rng
from pyrjsel.runtime.accuracy import AUTO, MCSE, MOST, USUAL, WARM, Accuracy, Rule
from pyrjsel.runtime.chain_ends import Ends
from pyrjsel.runtime.chains import ChainsOutcome, DrawnChains, ResumableJob, run_chains
from pyrjsel.runtime.checkpoint import Checkpoint
from pyrjsel.runtime.resources import RunTime, Stopwatch
from pyrjsel.runtime.rounds import Jobs, Rounds
from pyrjsel.storage import Content, Plain

# Limits of a run: draws are counted in int32, iterations of a chain in int64.
MOST_DRAWS, MOST_CHAINS = 10**9, 10_000
# Settings that are saved in results files.
SIZES = ("draws", "burn_in", "thin", "chains")


def power_of_2(least: int) -> int:
    """Return the smallest power of 2 that is at least the number, and at least 1."""
    return 1 << max(0, least - 1).bit_length()


@dataclass(frozen=True)
class Anew:
    """The starts of a run that was restarted because an audit found a mode that it had missed.

    Attributes
    ----------
    found : uint8 array (runs, J)
        Missed models, one per restart.
    starts : uint8 array (chains, J)
        Starting model of each chain.
    """

    found: np.ndarray
    starts: np.ndarray

    def to_plain(self) -> Plain:
        """Return the starts as plain data."""
        return {"found": self.found, "starts": self.starts}

    @classmethod
    def from_plain(cls, content: Content, chains: int) -> "Anew":
        """Return the starts of a run of `chains` chains that :meth:`to_plain` wrote.

        Raises
        ------
        StoreError
            If the content is invalid.
        """
        starts = content.array("starts", np.uint8, (chains, None))
        found = content.array("found", np.uint8, (None, starts.shape[1]))
        if not len(found):
            raise content.wrong("found", "the missed models")
        return cls(found, starts)


@dataclass(frozen=True)
class FitSettings:
    """The parameters of ``fit`` that all samplers share, checked by :meth:`check`.

    Attributes
    ----------
    draws : int
        Kept draws per chain; in a run with ``draws="auto"`` that has not ended, those of the first round.
    burn_in : int
        Iterations discarded at the start of each chain.
    thin : int
        Every `thin`-th iteration is kept.
    chains : int
        Number of chains.
    rng : Generator
        Source of randomness.
    n_jobs : int or None
        Number of workers.
    progress : bool or None
        Whether to show progress.
    checkpoint : Checkpoint or None
        Folder in which chains save their states.
    earlier : Ends or None
        Final states from which chains resume, if they extend a run, with everything they had recorded.
    every : int
        Least thinning interval of large arrays, that of the resumed chains.
    prolonged : bool
        Whether burn-in may take longer than `burn_in`, which was not given.
    accuracy : Accuracy or None
        Target accuracy of a run with ``draws="auto"``.
    watch : Stopwatch
        Stopwatch of the call with these settings.
    run_time : RunTime
        Run time of the fit, once it has ended.
    anew : Anew or None
        Starts of the chains, if the run was restarted.
    begun : float or None
        Start of the first run, if the run was restarted; its time counts.
    attempt : int
        How many runs have been given up because their proposals were refused.
    replaceable : bool
        Whether another sampler takes over if proposals are refused.
    """

    draws: int
    burn_in: int
    thin: int
    chains: int
    rng: np.random.Generator
    n_jobs: int | None
    progress: bool | None
    checkpoint: Checkpoint | None = None
    earlier: Ends | None = None
    every: int = 1
    prolonged: bool = False
    accuracy: Accuracy | None = None
    watch: Stopwatch = field(default_factory=Stopwatch)
    run_time: RunTime = field(default_factory=RunTime)
    anew: Anew | None = None
    begun: float | None = None
    attempt: int = 0
    replaceable: bool = False

    @classmethod
    def check(
        cls,
        *,
        draws: int | str,
        burn_in: int | None,
        thin: int,
        chains: int,
        rng: RNGLike | SeedLike | None,
        n_jobs: int | None,
        progress: bool | None,
        checkpoint: str | os.PathLike[str] | None = None,
        about: Mapping[str, Plain] | None = None,
        mcse: float = MCSE,
        max_draws: int = MOST,
        max_seconds: float | None = None,
        warm: int = WARM,
        usual: Accuracy = USUAL,
    ) -> "FitSettings":
        """Return the settings; `burn_in=None` is ``draws // 5``, or `warm` with ``draws="auto"``.

        `usual` holds the defaults of `mcse`, `max_draws` and `max_seconds`, and the number of draws in a
        first round.

        With a `checkpoint` folder, the run is identified by `about` (model, data, priors, sampler and its
        options as plain data, by names that users understand), the number of draws and the random numbers; if
        `rng` is None, the latter are taken from the existing run.

        Raises
        ------
        ParameterError
            If a setting is out of range.
        StoreError
            If the folder holds another run's checkpoint, or something else.
        """
        watch = Stopwatch()
        accuracy = Accuracy.check(mcse, max_draws, max_seconds, MOST_DRAWS, usual.first)
        told: dict[str, Any] = {}
        asked = draws
        if isinstance(draws, str):
            if draws != AUTO:
                raise bad_value("draws", f"'auto' or an int in [1, {MOST_DRAWS}]", draws)
            told = {"draws": AUTO, "mcse": accuracy.mcse, "max_draws": accuracy.max_draws}
            draws = min(usual.first, accuracy.max_draws)
        else:
            draws = check_int(draws, "draws", low=1, high=MOST_DRAWS)
            accuracy.check_unused(draws, usual)
            warm = draws // 5
        if burn_in is not None:
            burn_in = check_int(burn_in, "burn_in", low=0, high=MOST_DRAWS)
        if progress is not None:
            progress = check_bool(progress, "progress")
        if n_jobs is not None and (
            not isinstance(n_jobs, Integral) or isinstance(n_jobs, bool) or n_jobs == 0
        ):
            raise bad_value("n_jobs", "None or an int other than 0", n_jobs)
        sizes: dict[str, Any] = {
            "draws": draws,
            "burn_in": warm if burn_in is None else burn_in,
            "thin": check_int(thin, "thin", low=1, high=MOST_DRAWS),
            "chains": check_int(chains, "chains", low=1, high=MOST_CHAINS),
        }
        place = None
        if checkpoint is None:
            generator = check_rng(rng)
        else:
            if burn_in is None:
                told["burn_in"] = f"{sizes['burn_in']} or more"
            place, generator = Checkpoint.open(checkpoint, {**(about or {}), **sizes, **told}, rng)
            watch = Stopwatch(RunTime(0.0, place.clock))
        return cls(
            **sizes,
            rng=generator,
            n_jobs=n_jobs,
            progress=progress,
            checkpoint=place,
            prolonged=burn_in is None,
            accuracy=accuracy if isinstance(asked, str) else None,
            watch=watch,
        )

    def to_plain(self) -> Plain:
        """Return the saved settings: iterations, requested accuracy, and run time."""
        return {
            **{name: getattr(self, name) for name in SIZES},
            "prolonged": self.prolonged,
            "attempt": self.attempt,
            "accuracy": None if self.accuracy is None else self.accuracy.to_plain(),
            "run_time": self.run_time.to_plain(),
            "anew": None if self.anew is None else self.anew.to_plain(),
        }

    @classmethod
    def from_plain(cls, content: Content, rng: SeedLike = 0) -> "FitSettings":
        """Return the settings that :meth:`to_plain` wrote; `rng` is used for draws after the fit.

        Raises
        ------
        StoreError
            If one is missing or is not a whole number.
        ParameterError
            If one is out of range.
        """
        sizes: dict[str, Any] = {name: content.integer(name) for name in SIZES}
        settings = cls.check(**sizes, rng=rng, n_jobs=None, progress=None)
        accuracy, anew = "accuracy" in content, "anew" in content
        return replace(
            settings,
            prolonged=content.flag("prolonged"),
            attempt=content.integer("attempt"),
            accuracy=Accuracy.from_plain(content.part("accuracy"), MOST_DRAWS) if accuracy else None,
            run_time=RunTime.from_plain(content.part("run_time")),
            anew=Anew.from_plain(content.part("anew"), settings.chains) if anew else None,
        )

    @property
    def planned(self) -> int:
        """Limit of draws per chain."""
        return self.draws if self.accuracy is None else max(self.draws, self.accuracy.max_draws)

    def run(
        self,
        job: ResumableJob,
        label: str,
        size: Callable[[Any], int],
        rule: Rule | None = None,
        jobs: Jobs | None = None,
    ) -> DrawnChains:
        """Run the chains of a job, with `label` as the label of the progress bar.

        Parameters
        ----------
        job : ResumableJob
            A dataclass with a field `draws`.
        label : str
        size : callable
            Number of draws of a chain's result.
        rule : callable
            Rule for the accuracy of the figures, with ``draws="auto"``.
        jobs : callable, optional
            Takes a number of draws; returns the job of such a run. None is `job` with other `draws`.

        Returns
        -------
        DrawnChains
            Including the final states.

        Raises
        ------
        WorkerError
            If the workers of all chains died.
        KeyboardInterrupt
            If the run was interrupted before any chain had a draw.
        """
        notes: list[str] = []
        if self.anew is not None:
            label = f"{label} run {1 + len(self.anew.found)}"
        if self.attempt:
            label = f"{label} attempt {1 + self.attempt}"
        if self.accuracy is None:
            asked = self.draws
            outcome = run_chains(
                job,
                self.chains,
                self.rng,
                n_jobs=self.n_jobs,
                progress=self.progress,
                label=label,
                checkpoint=self.checkpoint,
                earlier=() if self.earlier is None else self.earlier.chains,
                keep_ends=True,
                spare=True,
            )
        else:
            assert rule is not None
            outcome, asked, notes = Rounds(
                jobs or partial(_longer, job),
                self.chains,
                self.rng,
                rule,
                size,
                self.accuracy,
                label,
                self.earlier,
                self.n_jobs,
                self.progress,
                self.checkpoint,
                self.begun,
                self.draws,
            ).run()
        self.watch.add(self._cpu_of(outcome), outcome.aside)
        drawn = outcome.drawn(size, asked, self.accuracy is not None)
        drawn.notes.extend(notes)
        if drawn.ends is None or drawn.ends.complete:
            return drawn
        recorded = [job.recorded(result) for result in outcome.results]
        return replace(drawn, ends=drawn.ends.with_recorded(recorded, self.before))

    def _cpu_of(self, outcome: ChainsOutcome) -> float:
        """Return the CPU seconds of chains beyond those of the extended run."""
        chains = () if self.earlier is None else self.earlier.chains
        earlier = sum(end.cpu for chain, end in enumerate(chains) if chain not in outcome.lost)
        return sum(spent.cpu for spent in outcome.spent) - earlier

    @property
    def before(self) -> int:
        """Number of initial draws that come from the extended results, as these hold them."""
        return 0 if self.earlier is None else self.earlier.before

    def entropy(self) -> bytes:
        """Return the seed of draws made outside the chains: that of the extended run, if there is one."""
        return self.rng.bytes(16) if self.earlier is None else self.earlier.entropy

    def extended(
        self,
        ends: Ends,
        *,
        have: int,
        recorded: Callable[[], Sequence[Mapping[str, np.ndarray]]],
        draws: int | None,
        n_jobs: int | None,
        progress: bool | None,
        checkpoint: str | os.PathLike[str] | None,
        about: Callable[[], Mapping[str, Plain]],
        every: int = 1,
        mcse: float | None = None,
        max_draws: int = MOST,
        max_seconds: float | None = None,
        usual: Accuracy = USUAL,
    ) -> "FitSettings":
        """Return the settings of a run that extends this one.

        Parameters
        ----------
        ends : Ends
            Final states of the run with these settings.
        have : int
            Draws per chain in its results.
        recorded : callable
            Returns what the results hold of the recorded values of each chain, for a completed run.
        draws : int or None
            Additional draws. A chain that is already further, in a run that was interrupted,
            does not go back: all chains get as many draws as it has. None lets `mcse` decide.
        n_jobs, progress, checkpoint
            As for ``fit``.
        about : callable
            Description of the run besides its settings, for the checkpoint.
        every : int
            Thinning interval of large arrays. An interrupted run may have been planned for more draws than
            now, and so have kept fewer arrays than the present length allows.
        mcse, max_draws, max_seconds
            As for ``fit``; `mcse=None` is that of the extended run.
        usual : Accuracy
            As for :meth:`check`.

        Raises
        ------
        ParameterError
            If a parameter is out of range.
        StoreError
            If the folder holds another run's checkpoint, or something else.
        """
        most, watch = MOST_DRAWS - have, Stopwatch(self.run_time)
        if draws is None:
            size: dict[str, Any] = {
                "draws": AUTO,
                "mcse": (self.accuracy or usual).mcse if mcse is None else mcse,
                "max_draws": max_draws,
                "max_seconds": max_seconds,
            }
        else:
            more = check_int(draws, "draws", low=1, high=most)
            if mcse is not None:
                must = "left out if 'draws' is a number, which fixes the length of the extension"
                raise bad_value("mcse", must, mcse)
            size = {
                "draws": max(have + more, ends.length(self.burn_in, self.thin)),
                "mcse": usual.mcse,
                "max_draws": usual.max_draws,
            }
            given = Accuracy.check(usual.mcse, max_draws, max_seconds, MOST_DRAWS)
            given.check_unused(draws, usual)
        if ends.complete:
            ends = ends.with_recorded(recorded(), have)
        seed = int.from_bytes(ends.entropy, "little")
        settings = FitSettings.check(
            **size,
            burn_in=self.burn_in,
            thin=self.thin,
            chains=self.chains,
            rng=seed,
            n_jobs=n_jobs,
            progress=progress,
            checkpoint=checkpoint,
            usual=usual,
            about=None
            if checkpoint is None
            else {**about(), "chains that go on": [end.to_plain() for end in ends.chains]},
        )
        if settings.checkpoint is not None:
            watch = Stopwatch(self.run_time + RunTime(0.0, settings.checkpoint.clock))
        settings = replace(
            settings,
            earlier=ends,
            every=every,
            prolonged=self.prolonged,
            anew=self.anew,
            attempt=self.attempt,
            watch=watch,
        )
        return (
            settings if draws is not None else replace(settings, draws=have if ends.complete else self.draws)
        )

    @property
    def asked_mcse(self) -> float:
        """The target of the Monte Carlo error, or its default."""
        return MCSE if self.accuracy is None else self.accuracy.mcse

    def ends_of(self, content: Content) -> Ends | None:
        """Return the final states of the chains of results in a file, if the file has them.

        Raises
        ------
        StoreError
            If they do not match a run with these settings.
        """
        if "ends" not in content:
            return None
        return Ends.from_plain(content.part("ends"), self.chains, self.burn_in + self.draws * self.thin)

    def thinned(self, step: int, names: Collection[str]) -> "FitSettings":
        """Return settings whose chains resume with every `step`-th of the recorded values of some names."""
        return replace(self, earlier=self.earlier and self.earlier.thinned(max(1, step), names))

    def finished(self, draws: int | None = None) -> "FitSettings":
        """Return the settings without starting states, with the `draws` that a run reached."""
        draws = self.draws if draws is None else draws
        return replace(self, earlier=None, every=1, draws=draws, begun=None, run_time=self.watch.read())

    def begins_anew(self, found: np.ndarray, starts: np.ndarray, begun: float) -> "FitSettings":
        """Return the settings of a run that replaces the run of these settings.

        Its chains have their own seeds and checkpoint files, and draws are counted from zero.

        Parameters
        ----------
        found : uint8 array (J,)
            The model that the last run missed.
        starts : uint8 array (chains, J)
            Starting model of each chain.
        begun : float
            Start of the first run.
        """
        before = [] if self.anew is None else [self.anew.found]
        return replace(self, anew=Anew(np.vstack([*before, found]), starts), begun=begun)

    @property
    def may_give_up(self) -> bool:
        """Whether a run may be given up for another: not one that goes on, nor one of fixed draws."""
        return self.accuracy is not None and self.earlier is None

    def tries_again(self, begun: float, warm: int) -> "FitSettings":
        """Return the settings of a run in place of this one; `begun` is the start of the first run.

        Its burn-in is `warm`, unless that was given.
        """
        burn_in = warm if self.prolonged else self.burn_in
        return replace(self, attempt=self.attempt + 1, begun=begun, burn_in=burn_in)

    def lasts(self, begun: float) -> bool:
        """Whether a run with ``draws="auto"`` that began at a given time may continue."""
        limit = None if self.accuracy is None else self.accuracy.max_seconds
        return self.accuracy is not None and (limit is None or time.perf_counter() - begun < limit)


def _longer(job: Any, draws: int) -> Any:
    """Return a job with another number of draws."""
    return replace(job, draws=draws)

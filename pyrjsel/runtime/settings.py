"""The parameters of a run that every sampler shares."""

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
from pyrjsel.runtime.rounds import Jobs, Rounds
from pyrjsel.runtime.stopwatch import UNKNOWN, RunTime, Stopwatch
from pyrjsel.storage import Content, Plain

# Limits of a run: rows of draws are counted in int32, iterations of a chain in int64.
MOST_DRAWS, MOST_CHAINS = 10**9, 10_000
# What is written of settings in files of results.
SIZES = ("draws", "burn_in", "thin", "chains")


def power_of_2(least: int) -> int:
    """Return the smallest power of 2 that is not less, 1 at least."""
    return 1 << max(0, least - 1).bit_length()


@dataclass(frozen=True)
class Anew:
    """The starts of a run that began anew because an audit found a mode that it had missed.

    Attributes
    ----------
    found : uint8 array (runs, J)
        What was missed, by the runs that it began anew after.
    starts : uint8 array (chains, J)
        What each chain starts from.
    """

    found: np.ndarray
    starts: np.ndarray

    def to_plain(self) -> Plain:
        """Return it as plain data."""
        return {"found": self.found, "starts": self.starts}

    @classmethod
    def from_plain(cls, content: Content, chains: int) -> "Anew":
        """Return what was written of a run of `chains` chains.

        Raises
        ------
        StoreError
            If it is something else.
        """
        starts = content.array("starts", np.uint8, (chains, None))
        found = content.array("found", np.uint8, (None, starts.shape[1]))
        if not len(found):
            raise content.wrong("found", "what was missed")
        return cls(found, starts)


@dataclass(frozen=True)
class FitSettings:
    """The parameters of ``fit`` that every sampler shares, checked by :meth:`check`.

    Attributes
    ----------
    draws : int
        Kept draws of a chain; of the first round, in a run that stops by itself and has not ended yet.
    burn_in : int
        Iterations left out at the start of each chain.
    thin : int
        Every `thin`-th iteration is kept.
    chains : int
        Number of chains.
    rng : Generator
        Source of randomness.
    n_jobs : int or None
        Workers at a time.
    progress : bool or None
        Whether to show progress.
    checkpoint : Checkpoint or None
        Where chains write down where they are.
    earlier : Ends or None
        Where chains begin, if they go on from a run; all that they had recorded is with it.
    every : int
        Draws to one of which large arrays are kept, at least: what chains that go on had kept.
    accuracy : Accuracy or None
        What is asked of a run that stops by itself.
    watch : Stopwatch
        Of the call that these settings are of.
    run_time : RunTime
        Of the fit, once it has ended.
    anew : Anew or None
        Where chains begin, of a run that begins anew.
    begun : float or None
        When the first run began, of one that begins anew; its seconds count with it.
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
    accuracy: Accuracy | None = None
    watch: Stopwatch = field(default_factory=Stopwatch)
    run_time: RunTime = UNKNOWN
    anew: Anew | None = None
    begun: float | None = None

    @classmethod
    def check(
        cls,
        owner: str,
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
        """Return the settings; a burn-in of None is ``draws // 5``, and `warm` of a run that stops by itself.

        What is `usual` is what `mcse`, `max_draws` and `max_seconds` are where nothing is said, and how many
        draws there are in a first round.

        With the folder of a `checkpoint`, the run is what it is `about` (model, data, priors, sampler and its
        options as plain data, by names that users understand), with these draws and random numbers; the
        latter are those of the run that is there where `rng` is None.

        Raises
        ------
        ParameterError
            If a setting is out of range.
        StoreError
            If the checkpoint is that of another run, or something else.
        """
        watch = Stopwatch()
        accuracy = Accuracy.check(owner, mcse, max_draws, max_seconds, MOST_DRAWS, usual.first)
        told: dict[str, Any] = {}
        if isinstance(draws, str):
            if draws != AUTO:
                raise bad_value("draws", owner, f"'auto' or an int in [1, {MOST_DRAWS}]", draws)
            told = {"draws": AUTO, "mcse": accuracy.mcse, "max_draws": accuracy.max_draws}
            draws = min(usual.first, accuracy.max_draws)
        else:
            draws = check_int(draws, "draws", owner, low=1, high=MOST_DRAWS)
            accuracy.check_unused(owner, draws, usual)
            warm = draws // 5
        if burn_in is not None:
            burn_in = check_int(burn_in, "burn_in", owner, low=0, high=MOST_DRAWS)
        if progress is not None:
            progress = check_bool(progress, "progress", owner)
        if n_jobs is not None and (
            not isinstance(n_jobs, Integral) or isinstance(n_jobs, bool) or n_jobs == 0
        ):
            raise bad_value("n_jobs", owner, "None or an int other than 0", n_jobs)
        sizes: dict[str, Any] = {
            "draws": draws,
            "burn_in": warm if burn_in is None else burn_in,
            "thin": check_int(thin, "thin", owner, low=1, high=MOST_DRAWS),
            "chains": check_int(chains, "chains", owner, low=1, high=MOST_CHAINS),
        }
        place = None
        if checkpoint is None:
            generator = check_rng(rng, owner)
        else:
            place, generator = Checkpoint.open(checkpoint, {**(about or {}), **sizes, **told}, rng, owner)
            watch = Stopwatch(RunTime(0.0, place.clock))
        return cls(
            **sizes,
            rng=generator,
            n_jobs=n_jobs,
            progress=progress,
            checkpoint=place,
            accuracy=accuracy if told else None,
            watch=watch,
        )

    def to_plain(self) -> Plain:
        """Return what is written of settings: iterations, what was asked for, and the run time."""
        return {
            **{name: getattr(self, name) for name in SIZES},
            "accuracy": None if self.accuracy is None else self.accuracy.to_plain(),
            "run_time": self.run_time.to_plain(),
            "anew": None if self.anew is None else self.anew.to_plain(),
        }

    @classmethod
    def from_plain(cls, content: Content, owner: str, rng: SeedLike = 0) -> "FitSettings":
        """Return settings that were written; `rng` is for what is drawn after the fit.

        Raises
        ------
        StoreError
            If one is missing or no whole number.
        ParameterError
            If one is out of range.
        """
        sizes: dict[str, Any] = {name: content.integer(name) for name in SIZES}
        settings = cls.check(owner, **sizes, rng=rng, n_jobs=None, progress=None)
        found: dict[str, Any] = {}  # files did not always have these
        if "accuracy" in content:
            found["accuracy"] = Accuracy.from_plain(content.part("accuracy"), owner, MOST_DRAWS)
        if "run_time" in content:
            found["run_time"] = RunTime.from_plain(content.part("run_time"))
        if "anew" in content:
            found["anew"] = Anew.from_plain(content.part("anew"), settings.chains)
        return replace(settings, **found)

    @property
    def planned(self) -> int:
        """Draws of a chain at most."""
        return self.draws if self.accuracy is None else max(self.draws, self.accuracy.max_draws)

    def run(
        self,
        job: ResumableJob,
        label: str,
        size: Callable[[Any], int],
        rule: Rule | None = None,
        jobs: Jobs | None = None,
    ) -> DrawnChains:
        """Run the chains of a job, with `label` before the progress bar.

        Parameters
        ----------
        job : ResumableJob
            A dataclass with a field `draws`.
        label : str
        size : callable
            Number of draws of a chain's result.
        rule : callable
            What figures of a run are to be accurate, where it stops by itself.
        jobs : callable, optional
            From a number of draws, the job of a run of so many; None is `job` with other `draws`.

        Returns
        -------
        DrawnChains
            Where they ended is among what they gave.

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
            ).run()
        self.watch.add(self._cpu_of(outcome), outcome.aside)
        drawn = outcome.drawn(size, asked, self.accuracy is not None)
        drawn.notes.extend(notes)
        if drawn.ends is None or drawn.ends.complete:
            return drawn
        recorded = [job.recorded(result) for result in outcome.results]
        return replace(drawn, ends=drawn.ends.with_recorded(recorded, self.before))

    def _cpu_of(self, outcome: ChainsOutcome) -> float:
        """Return the CPU seconds of chains beyond those of the run that goes on."""
        chains = () if self.earlier is None else self.earlier.chains
        earlier = sum(end.cpu for chain, end in enumerate(chains) if chain not in outcome.lost)
        return sum(spent.cpu for spent in outcome.spent) - earlier

    @property
    def before(self) -> int:
        """How many draws, the first ones, were taken from the results that go on, as these hold them."""
        return 0 if self.earlier is None else self.earlier.before

    def entropy(self) -> bytes:
        """Return the seed of what is drawn beside the chains: that of the run that goes on, if one does."""
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
        """Return the settings of a run that goes on.

        Parameters
        ----------
        ends : Ends
            Where the run of these settings ended.
        have : int
            Draws of a chain that its results have.
        recorded : callable
            What the results hold of what each chain had recorded, for those of a completed run.
        draws : int or None
            How many more there are to be. A chain that is further already, in a run that was interrupted,
            does not go back: all get as many as it has. None is as many as `mcse` asks for.
        n_jobs, progress, checkpoint
            As for ``fit``.
        about : callable
            What the run is beside its settings, for the checkpoint.
        every : int
            Draws to one of which chains have kept large arrays. A run that was interrupted may have been
            planned for more draws than there are to be now, and have kept fewer than these would.
        mcse, max_draws, max_seconds
            As for ``fit``; an `mcse` of None is that of the run that goes on.
        usual : Accuracy
            As for :meth:`check`.

        Raises
        ------
        ParameterError
            If a parameter is out of range.
        StoreError
            If the checkpoint is that of another run, or something else.
        """
        owner, most, watch = "extend", MOST_DRAWS - have, Stopwatch(self.run_time)
        if draws is None:
            size: dict[str, Any] = {
                "draws": AUTO,
                "mcse": (self.accuracy or usual).mcse if mcse is None else mcse,
                "max_draws": max_draws,
                "max_seconds": max_seconds,
            }
        else:
            more = check_int(draws, "draws", owner, low=1, high=most)
            if mcse is not None:
                must = "left out where 'draws' is a number: the run then goes on for just so many"
                raise bad_value("mcse", owner, must, mcse)
            size = {
                "draws": max(have + more, ends.length(self.burn_in, self.thin)),
                "mcse": usual.mcse,
                "max_draws": usual.max_draws,
            }
            given = Accuracy.check(owner, usual.mcse, max_draws, max_seconds, MOST_DRAWS)
            given.check_unused(owner, draws, usual)
        if ends.complete:
            ends = ends.with_recorded(recorded(), have)
        seed = int.from_bytes(ends.entropy, "little")
        settings = FitSettings.check(
            owner,
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
        settings = replace(settings, earlier=ends, every=every, anew=self.anew, watch=watch)
        return settings if draws is not None else replace(settings, draws=have)

    @property
    def asked_mcse(self) -> float:
        """The Monte Carlo error that was asked for, or that which is where nothing is said."""
        return MCSE if self.accuracy is None else self.accuracy.mcse

    def ends_of(self, content: Content) -> Ends | None:
        """Return where the chains of results in a file ended, where the file knows it.

        Raises
        ------
        StoreError
            If they are not those of a run of these settings.
        """
        if "ends" not in content:
            return None
        return Ends.from_plain(content.part("ends"), self.chains, self.burn_in + self.draws * self.thin)

    def thinned(self, step: int, names: Collection[str]) -> "FitSettings":
        """Return settings whose chains go on with every `step`-th of what they recorded under some names."""
        return replace(self, earlier=self.earlier and self.earlier.thinned(max(1, step), names))

    def finished(self, draws: int | None = None) -> "FitSettings":
        """Return the settings without what chains began with, with the `draws` that a run came to."""
        draws = self.draws if draws is None else draws
        return replace(self, earlier=None, every=1, draws=draws, begun=None, run_time=self.watch.read())

    def begins_anew(self, found: np.ndarray, starts: np.ndarray, begun: float) -> "FitSettings":
        """Return the settings of a run that takes the place of the one that these are of.

        Its chains have seeds of their own, and its checkpoint other files; draws begin to count again.

        Parameters
        ----------
        found : uint8 array (J,)
            What the last run had missed.
        starts : uint8 array (chains, J)
            What each chain starts from.
        begun : float
            When the first run began.
        """
        before = [] if self.anew is None else [self.anew.found]
        return replace(self, anew=Anew(np.vstack([*before, found]), starts), begun=begun)

    def lasts(self, begun: float) -> bool:
        """Whether a run that stops by itself, and has begun at a given time, may go on."""
        limit = None if self.accuracy is None else self.accuracy.max_seconds
        return self.accuracy is not None and (limit is None or time.perf_counter() - begun < limit)


def _longer(job: Any, draws: int) -> Any:
    """Return a job with another number of draws."""
    return replace(job, draws=draws)

"""The parameters of a run that every sampler shares."""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np

from pyrjsel._typing import RNGLike, SeedLike
from pyrjsel._validate import bad_value, check_bool, check_int, check_rng
from pyrjsel.runtime.chains import ChainJob, DrawnChains, run_chains
from pyrjsel.runtime.checkpoint import Checkpoint
from pyrjsel.store import Content, Plain

# Limits of a run: rows of draws are counted in int32, iterations of a chain in int64.
MOST_DRAWS, MOST_CHAINS = 10**9, 10_000
# What is written of settings in files of results.
SIZES = ("draws", "burn_in", "thin", "chains")


@dataclass(frozen=True)
class FitSettings:
    """The parameters of ``fit`` that every sampler shares, checked by :meth:`check`.

    Attributes
    ----------
    draws : int
        Kept draws of a chain.
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
    """

    draws: int
    burn_in: int
    thin: int
    chains: int
    rng: np.random.Generator
    n_jobs: int | None
    progress: bool | None
    checkpoint: Checkpoint | None = None

    @classmethod
    def check(
        cls,
        owner: str,
        *,
        draws: int,
        burn_in: int | None,
        thin: int,
        chains: int,
        rng: RNGLike | SeedLike | None,
        n_jobs: int | None,
        progress: bool | None,
        checkpoint: str | os.PathLike[str] | None = None,
        about: Mapping[str, Plain] | None = None,
    ) -> "FitSettings":
        """Return the settings; a burn-in of None is ``draws // 5``.

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
        draws = check_int(draws, "draws", owner, low=1, high=MOST_DRAWS)
        if burn_in is not None:
            burn_in = check_int(burn_in, "burn_in", owner, low=0, high=MOST_DRAWS)
        if progress is not None:
            progress = check_bool(progress, "progress", owner)
        if n_jobs is not None and (
            not isinstance(n_jobs, Integral) or isinstance(n_jobs, bool) or n_jobs == 0
        ):
            raise bad_value("n_jobs", owner, "None or an int other than 0", n_jobs)
        sizes = {
            "draws": draws,
            "burn_in": draws // 5 if burn_in is None else burn_in,
            "thin": check_int(thin, "thin", owner, low=1, high=MOST_DRAWS),
            "chains": check_int(chains, "chains", owner, low=1, high=MOST_CHAINS),
        }
        place = None
        if checkpoint is None:
            generator = check_rng(rng, owner)
        else:
            place, generator = Checkpoint.open(checkpoint, {**(about or {}), **sizes}, rng, owner)
        return cls(**sizes, rng=generator, n_jobs=n_jobs, progress=progress, checkpoint=place)

    def to_plain(self) -> Plain:
        """Return what is written of settings: how many iterations there were."""
        return {name: getattr(self, name) for name in SIZES}

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
        return cls.check(owner, **sizes, rng=rng, n_jobs=None, progress=None)

    def run(self, job: ChainJob, label: str, size: Callable[[Any], int]) -> DrawnChains:
        """Run the chains of a job, with `label` before the progress bar.

        `size` is the number of draws of a chain's result.

        Raises
        ------
        WorkerError
            If the workers of all chains died.
        KeyboardInterrupt
            If the run was interrupted before any chain had a draw.
        """
        outcome = run_chains(
            job,
            self.chains,
            self.rng,
            n_jobs=self.n_jobs,
            progress=self.progress,
            label=label,
            checkpoint=self.checkpoint,
            spare=True,
        )
        return outcome.drawn(size, self.draws)

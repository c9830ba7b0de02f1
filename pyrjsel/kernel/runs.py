"""Runs of the samplers, and updates of the filter with new rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import logsumexp

from pyrjsel._errors import ConvergenceWarning
from pyrjsel._once import kept_property
from pyrjsel._typing import FloatArray, IntArray
from pyrjsel._warnings import warn
from pyrjsel.kernel.evidence import pool_evidence
from pyrjsel.kernel.filter import FilterJob
from pyrjsel.kernel.passes import run_passes
from pyrjsel.kernel.posterior import KernelPosterior
from pyrjsel.kernel.state import MOVES, FilterState, KernelDraws, KernelSettings
from pyrjsel.kernel.stopping import WORDS, quantities
from pyrjsel.report import scalar_stats
from pyrjsel.report.mixing import poor_mixing
from pyrjsel.report.stopping import R_HAT
from pyrjsel.runtime import Ends, FitSettings, RunTime, Stopwatch

# An effective number of particles below this share of all is a collapse: so few stood for the posterior. They
# count as made anew after so many accepted moves of rejuvenation, about one for each centre of a usual model.
COLLAPSED = 0.02
RENEWED = 5.0
# Error of a log evidence beyond which the few runs that it comes from say little of it.
UNSURE = 0.5
STATS = ("mean", "sd", "mcse", "ess", "r_hat")

Draws = tuple[NDArray[np.int32], FloatArray, FloatArray]


@dataclass
class FilterRun:
    """Runs of the filter on the same rows.

    Attributes
    ----------
    settings : KernelSettings
        With the kernel that was chosen.
    place : int
        Place of the width among those of the model.
    states : list of FilterState
        Of the runs; the first is the result.
    index : Index
        Labels of the rows, in the order in which the first run took them.
    order : ndarray
        Where the rows of the fit are among those of the model, in that order.
    widths : DataFrame
        Log evidence and its error, by width, on the rows of ``fit``.
    row_order : str
    seconds : float
        By the clock.
    missed : int
        Rows that Ctrl-C left out.
    run_time : RunTime
        Of the fit and all updates.
    """

    settings: KernelSettings
    place: int
    states: list[FilterState]
    index: pd.Index
    order: IntArray
    widths: pd.DataFrame
    row_order: str
    seconds: float
    missed: int
    run_time: RunTime

    @property
    def state(self) -> FilterState:
        """The state of the first run."""
        return self.states[0]

    def posterior(self) -> KernelPosterior:
        """Return the particles of the first run."""
        state = self.state
        weight = np.exp(state.log_weights - logsumexp(state.log_weights))
        return KernelPosterior(
            state.x, state.y, state.k, state.centres, state.sigma2, state.delta2, weight, self.settings.kernel
        )

    def log_evidence(self) -> tuple[float, float]:
        """Return the logarithm of the mean evidence of the runs, and its Monte Carlo error."""
        return pool_evidence(np.array([state.log_evidence for state in self.states]))

    def diagnostics(self) -> pd.DataFrame:
        """Return rejuvenation moves by kind."""
        tried = self.state.moves_tried.sum(axis=0)
        accepted = self.state.moves_accepted.sum(axis=0)
        with np.errstate(invalid="ignore"):  # a kind that was never tried has no rate
            rate = accepted / tried
        return pd.DataFrame(
            {"tried": tried, "accepted": accepted, "rate": rate}, index=pd.Index(MOVES, name="move")
        )

    def equal_draws(self) -> Draws:
        """Return k, sigma^2 and delta^2 (1, N) of particles of equal weight, systematically resampled."""
        weight = self.posterior().weight
        places = (np.arange(weight.size) + 0.5) / weight.size
        chosen = np.minimum(np.searchsorted(np.cumsum(weight), places), weight.size - 1)
        state = self.state
        return state.k[chosen][None], state.sigma2[chosen][None], state.delta2[chosen][None]

    @property
    def notes(self) -> list[str]:
        """Warnings that the run shows."""
        found = []
        if self.missed:
            found.append(f"Interrupted passes have left out {self.missed:,} rows.")
        found += self._collapse()
        error = self.log_evidence()[1]
        if error > UNSURE:
            found.append(
                f"The runs disagree on the log evidence, and its error of {error:.2g} is a guess: use more "
                "particles."
            )
        if self.settings.importance == "paper":
            found.append("The weights are those of the paper, which are biased: for comparison only.")
        return found

    def _collapse(self) -> list[str]:
        """Say at which row the particles last collapsed, unless they have been made anew since."""
        state, particles = self.state, self.settings.particles
        few = np.flatnonzero(state.ess < max(COLLAPSED * particles, 1.5))
        if not few.size or particles == 1:
            return []
        row = int(few[-1])
        if state.moves_accepted[row:].sum() >= RENEWED * particles:
            return []
        note = (
            f"The particles have collapsed: at row {row + 1:,} of the pass their effective number was "
            f"{state.ess[row]:.1f} of {particles:,}, and rejuvenation has not made them anew since. Use more "
            "particles or more rejuvenation, and compare several runs."
        )
        return [note]

    def warn(self, missed: int) -> None:
        """Warn of the rows that an interrupted pass has `missed`, and of collapsed particles."""
        found = [f"Interrupted: {missed:,} rows were left out."] if missed else []
        for note in found + self._collapse():
            warn(note, ConvergenceWarning)

    def go_on(self, x: FloatArray, y: FloatArray, index: pd.Index, progress: bool | None) -> None:
        """Take more rows in all runs, `x` (n, d) and `y` (n,) standardised."""
        watch = Stopwatch()
        labels = self.index.append(index)
        jobs = [FilterJob(self.settings, x, y, state) for state in self.states]
        # The seeds that are spawned here are not used: each state goes on with its own random numbers.
        self.states = same_rows(run_passes(jobs, np.random.default_rng(0), progress=progress, watch=watch))
        self.index = labels[: len(self.state.y)]
        missed = len(labels) - len(self.index)
        self.missed += missed
        spent = watch.read()
        self.seconds, self.run_time = self.seconds + spent.clock, self.run_time + spent
        self.warn(missed)


def same_rows(states: list[FilterState]) -> list[FilterState]:
    """Return the states of runs, or the first alone where Ctrl-C has left them at different rows."""
    together = all(len(state.y) == len(states[0].y) for state in states)
    return states if together else states[:1]


@dataclass
class ChainRun:
    """Chains of the batch sampler.

    Attributes
    ----------
    settings : KernelSettings
    draws : KernelDraws
    x, y : ndarray
        The rows, as they are fitted.
    index : Index
        Their labels.
    fit : FitSettings
    seconds : float
        Of work, of all chains.
    interrupted : list of str
        What is to be said if Ctrl-C left draws out, or a run that stops by itself ended before its figures
        were accurate; else empty.
    ends : Ends or None
        Where the chains ended, where that is known.
    """

    settings: KernelSettings
    draws: KernelDraws
    x: FloatArray
    y: FloatArray
    index: pd.Index
    fit: FitSettings
    seconds: float
    interrupted: list[str]
    ends: Ends | None

    @property
    def run_time(self) -> RunTime:
        """Run time of the fit, extensions included."""
        return self.fit.run_time

    def posterior(self) -> KernelPosterior:
        """Return the draws of all chains."""
        draws = self.draws
        k = draws.k.ravel()
        return KernelPosterior(
            self.x,
            self.y,
            k,
            draws.centres.reshape(len(k), -1),
            draws.sigma2.ravel(),
            draws.delta2.ravel(),
            np.full(len(k), 1.0 / len(k)),
            self.settings.kernel,
        )

    def diagnostics(self) -> pd.DataFrame:
        """Return mean, sd, MCSE, ESS and R-hat of what the chains have done."""
        return self._stats

    @kept_property
    def _stats(self) -> pd.DataFrame:
        series = quantities(self.draws.k, self.draws.sigma2, self.draws.log_marginal)
        stats = {name: scalar_stats(values) for name, values in series.items()}
        return pd.DataFrame(
            {column: [getattr(each, column) for each in stats.values()] for column in STATS},
            index=pd.Index(list(stats), name="quantity"),
        )

    def equal_draws(self) -> Draws:
        """Return k, sigma^2 and delta^2, shape (C, D)."""
        return self.draws.k, self.draws.sigma2, self.draws.delta2

    @property
    def notes(self) -> list[str]:
        """Warnings that the run shows."""
        stats = self._stats.rename(index=lambda name: f"the {WORDS[name]}")
        return self.interrupted + poor_mixing(stats["r_hat"], stats["ess"], self.draws.k.size, R_HAT)

    def warn(self) -> None:
        """Warn of an interrupted run and of chains that disagree."""
        for note in self.notes:
            warn(note, ConvergenceWarning)

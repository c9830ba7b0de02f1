"""Fits by the particle filter: widths, several runs, the log evidence, and more rows."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from pyrjsel._called import warn
from pyrjsel._core import special
from pyrjsel._errors import ConvergenceWarning
from pyrjsel._once import kept_property
from pyrjsel._typing import FloatArray, IntArray
from pyrjsel._validate import counted
from pyrjsel.kernel.kernels import Kernel
from pyrjsel.kernel.options import FilterOptions
from pyrjsel.kernel.posterior import Basis, EqualDraws, KernelPosterior
from pyrjsel.kernel.samplers.columns import Columns
from pyrjsel.kernel.samplers.filter import FilterJob, run_passes
from pyrjsel.kernel.samplers.particles import resample
from pyrjsel.kernel.samplers.tempering import (
    PARTICLES,
    QUICK,
    RUNS,
    Path,
    TemperingJob,
    evidence_table,
    pool_evidence,
    tempered_evidence,
    tempered_runs,
)
from pyrjsel.kernel.state import MOVES, FilterState, KernelSettings, Particles
from pyrjsel.runtime import Checkpoint, RunTime, Stopwatch, one_blas_thread

# With at most so many rows the particles come from tempered runs, whose modes have their weights however few
# of the particles of a pass had variances that later rows asked for; with more, from the pass.
TEMPERED_ROWS, TEMPERED_RUNS = 40, 5
# Sweeps over all rows.
SWEEPS = 100
# Change of the mean log likelihood by which a pass has missed the posterior, beside so many standard errors.
MISSED, ERRORS = 2.0, 4.0


@dataclass(frozen=True, eq=False)
class Settled:
    """The particles of a result.

    Attributes
    ----------
    particles : Particles
    weight : ndarray (N,)
        Of sum 1.
    rise : float
        By how much the mean log likelihood is above that of the pass.
    missed : bool
        Whether that is so much that the pass has missed the posterior.
    """

    particles: Particles
    weight: FloatArray
    rise: float = 0.0
    missed: bool = False


def weights_of(state: FilterState) -> FloatArray:
    """Return the weights of a pass, of sum 1."""
    weight: FloatArray = np.exp(state.log_weights - special.logsumexp(state.log_weights))
    return weight


def as_passed(state: FilterState) -> Settled:
    """Return the particles of a pass as they are."""
    return Settled(Particles(*state.in_order()), weights_of(state))


def settle(settings: KernelSettings, state: FilterState) -> Settled:
    """Return particles of equal weight after sweeps of invariant moves over all rows of a pass.

    They depend on the state alone, which does not change: passes in parts have those of one pass. Particles
    that are never rejuvenated, or have the weights of the paper, remain as they are.
    """
    if not settings.rejuvenate or settings.importance == "paper":
        return as_passed(state)
    bits: Any = np.random.PCG64()
    bits.state = dict(state.bit_generator)
    # Far from the random numbers of the rows to come.
    rng = np.random.Generator(bits.jumped())
    weight, n = weights_of(state), len(state.k)
    with one_blas_thread:
        path = Path(settings, state.x, state.y)
        if len(state.y) <= TEMPERED_ROWS:
            particles = _tempered(settings, state, rng)
        else:
            particles = state.take(resample("systematic", weight, rng))
        path.move(particles, 1.0, SWEEPS, rng)
    change = float(particles.log_marginal.mean() - weight @ state.log_marginal)
    error = float(particles.log_marginal.std() * np.sqrt(1.0 / n + weight @ weight))
    equal = np.full(n, 1.0 / n)
    return Settled(particles, equal, change, abs(change) > MISSED + ERRORS * error)


def _tempered(settings: KernelSettings, state: FilterState, rng: np.random.Generator) -> Particles:
    """Return particles of tempered runs, drawn by the evidences of the runs."""
    job = TemperingJob(settings, state.x, state.y, len(state.k))
    seeds = np.random.SeedSequence(int(rng.integers(2**63))).spawn(TEMPERED_RUNS)
    runs = tempered_runs(job, seeds)
    log_evidence = np.repeat([run.log_evidence for run in runs], len(state.k))
    weight = np.exp(log_evidence - special.logsumexp(log_evidence))
    # Every fifth of five times as many.
    chosen = resample("systematic", weight, rng)[int(rng.integers(TEMPERED_RUNS)) :: TEMPERED_RUNS]
    parts = [run.particles.in_order() for run in runs]
    return Particles(*(np.concatenate(each) for each in zip(*parts, strict=True))).take(chosen)


def continued(settings: KernelSettings, state: FilterState, settled: Settled) -> FilterState:
    """Return the state of a pass with the settled particles, from which rows to come are taken."""
    parts = (state.owners, state.columns, state.gram, state.moments)
    columns = Columns.restore(settings, state.x, state.y, len(state.y), parts)
    held, n = settled.particles.held(), len(settled.weight)
    columns.ensure(held)
    columns.retain(held)
    changed: dict[str, Any] = {
        **settled.particles.copies().arrays(),
        **dict(zip(("owners", "columns", "gram", "moments"), columns.parts(), strict=True)),
        "log_weights": np.full(n, -np.log(n)),
    }
    return replace(state, **changed)


# An effective number of particles below this share of all is a collapse: so few stood for the posterior. They
# count as made anew after so many accepted moves of rejuvenation, about one for each centre of a usual model.
COLLAPSED = 0.02
RENEWED = 5.0
# Error of a log evidence beyond which the few runs that it comes from say little of it.
UNSURE = 0.5
# Probability below which a width is left out of what is passed over, and of averages.
KEPT = 0.01
# Probability below which predictions by the chosen width alone are warned of.
UNLIKELY = 0.05
# Rows of an update are swept at once where they are this share of all; otherwise when results are asked for.
SWEPT = 1 / 16


@dataclass(frozen=True, eq=False)
class OtherWidth:
    """The first pass of a width that was not chosen.

    Attributes
    ----------
    place : int
        Place of the width among those of the model.
    settings : KernelSettings
        With its kernel.
    state : FilterState
    basis : Basis, optional
        The centres in use, from a file without the rows.
    given : Settled, optional
        Particles after the sweeps; None makes them of the state.
    """

    place: int
    settings: KernelSettings
    state: FilterState
    basis: Basis | None = None
    given: Settled | None = None

    @kept_property
    def settled(self) -> Settled:
        """Particles after the sweeps over all rows."""
        return self.given or settle(self.settings, self.state)

    @kept_property
    def posterior(self) -> KernelPosterior:
        """The particles."""
        return replace(_particles(self.settings, self.state, self.settled), known=self.basis)


def _particles(settings: KernelSettings, state: FilterState, settled: Settled) -> KernelPosterior:
    particles = settled.particles
    return KernelPosterior(
        state.x,
        state.y,
        particles.k,
        particles.centres,
        particles.sigma2,
        particles.delta2,
        settled.weight,
        settings.kernel,
        settings.trend,
    )


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
        Positions of the rows of the fit among those of the model, in order of the passes.
    widths : DataFrame
        Log evidence and its error, by width, on the rows of ``fit``, or on some of them.
    row_order : str
    seconds : float
        By the clock.
    missed : int
        Rows that Ctrl-C left out.
    run_time : RunTime
        Of the fit and all updates.
    others : list of OtherWidth
        The other widths, on the same rows; one is not there if it has next to no probability, or if
        Ctrl-C has left it elsewhere.
    given : Settled, optional
        Particles of the first run after the sweeps; None makes them of its state.
    swept : int
        Rows that had been seen when sweeps were last made in a fit or an update.
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
    others: list[OtherWidth] = field(default_factory=list)
    given: Settled | None = None
    swept: int = 0

    @property
    def state(self) -> FilterState:
        """The state of the first run."""
        return self.states[0]

    @property
    def settled(self) -> Settled:
        """Particles of the first run after the sweeps over all rows."""
        if self.given is None:
            self.given = settle(self.settings, self.state)
        return self.given

    def posterior(self) -> KernelPosterior:
        """Return the particles of the first run."""
        return _particles(self.settings, self.state, self.settled)

    def lacking(self) -> list[int]:
        """Return places of widths of some probability of which there are no particles."""
        known = {self.place, *(other.place for other in self.others)}
        return [
            place
            for place, share in enumerate(self.widths["posterior"])
            if share >= KEPT and place not in known
        ]

    def width_posterior(self) -> FloatArray:
        """Return the probability of each width given all rows; 0 without particles.

        That on the rows of the fit comes from `widths`; for each width the filter predicts later ones.
        """
        fitted = len(self.order) - 1
        log_weight = np.full(len(self.widths), -np.inf)
        states = {self.place: self.state} | {other.place: other.state for other in self.others}
        for place, state in states.items():
            path = state.log_evidence_path
            log_weight[place] = self.widths["log_evidence"].iloc[place] + path[-1] - path[fitted]
        weight: FloatArray = np.exp(log_weight - special.logsumexp(log_weight))
        return weight

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

    def equal_draws(self) -> EqualDraws:
        """Return k, sigma^2 and delta^2 (1, N) of particles of equal weight, systematically resampled."""
        particles, weight = self.settled.particles, self.settled.weight
        places = (np.arange(weight.size) + 0.5) / weight.size
        chosen = np.minimum(np.searchsorted(np.cumsum(weight), places), weight.size - 1)
        return particles.k[chosen][None], particles.sigma2[chosen][None], particles.delta2[chosen][None]

    @property
    def notes(self) -> list[str]:
        """Warnings that the run shows."""
        found = []
        if self.missed:
            found.append(f"Interrupted passes have left out {self.missed:,} rows.")
        found += self._degenerate() + self._missed() + self._unlikely()
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

    def _lost(self) -> list[str]:
        """Say that particles were resampled and never rejuvenated.

        A set of centres is reached from few others. Once resampling has lost these, no later weight tells of
        it: effective numbers can be large and runs agree, with errors of 0.1 in probabilities at six rows.
        """
        resampled = int(self.state.resampled.sum())
        if not resampled or self.settings.rejuvenate:
            return []
        note = (
            f"Particles were resampled at {counted(resampled, 'row')} and not rejuvenated: models that "
            "were lost there may be missing, and runs that agree do not rule it out. Set `rejuvenate` to at "
            "least 1."
        )
        return [note]

    def _degenerate(self) -> list[str]:
        return self._collapse() or self._lost()

    def _missed(self) -> list[str]:
        """Say that the particles of the pass were far from where sweeps over all rows have brought them."""
        if not self.settled.missed:
            return []
        note = (
            "The pass has missed the posterior: sweeps over all rows have changed the mean log likelihood of "
            f"the particles by {self.settled.rise:+.1f}. Particles and predictions are those after the "
            "sweeps, but the log evidence by row is wrong. Use more particles, or fit all rows again."
        )
        return [note]

    def _unlikely(self) -> list[str]:
        """Say that later rows speak for another width than the chosen one."""
        if not self.others or self.lacking():
            return []
        probability = self.width_posterior()
        best, width = int(np.argmax(probability)), self.widths.index
        if probability[self.place] >= UNLIKELY:
            return []
        note = (
            f"The width {width[self.place]:g}, chosen on the rows of the fit, has a probability of "
            f"{probability[self.place]:.2g} given all rows, and {width[best]:g} has {probability[best]:.2f}. "
            "Predict with width_average=True, or fit all rows again."
        )
        return [note]

    def warn(self, missed: int, of: Sequence[str] = ()) -> None:
        """Warn of the rows that an interrupted pass has `missed`, of degenerate particles, and more."""
        found = [f"Interrupted: {missed:,} rows were left out."] if missed else []
        for note in [*found, *self._degenerate(), *of]:
            warn(note, ConvergenceWarning)

    def sweep(self) -> None:
        """Make the sweeps, after which rows to come are taken from their particles if the pass had missed."""
        self.swept = len(self.state.y)
        if self.settled.missed:
            self.states[0] = continued(self.settings, self.state, self.settled)

    def go_on(self, x: FloatArray, y: FloatArray, index: pd.Index, progress: bool | None) -> None:
        """Take more rows in all runs, `x` (n, d) and `y` (n,) standardised."""
        watch = Stopwatch()
        labels = self.index.append(index)
        jobs = [FilterJob(self.settings, x, y, state) for state in self.states]
        jobs += [FilterJob(other.settings, x, y, other.state) for other in self.others]
        # The seeds spawned here are not used: each state continues its own random numbers.
        states = run_passes(jobs, np.random.default_rng(0), progress=progress, watch=watch)
        own = len(self.states)
        self.states, later = same_rows(states[:own]), states[own:]
        self.others = [
            replace(other, state=state, basis=None, given=None)
            for other, state in zip(self.others, later, strict=True)
            if len(state.y) == len(self.state.y)
        ]
        self.index = labels[: len(self.state.y)]
        missed = len(labels) - len(self.index)
        self.missed += missed
        spent = watch.read()
        self.seconds, self.run_time = self.seconds + spent.clock, self.run_time + spent
        self.given, of = None, self._unlikely()
        if len(self.state.y) - self.swept >= SWEPT * len(self.state.y):
            self.sweep()
            of += self._missed()
        self.warn(missed, of)


def same_rows(states: list[FilterState]) -> list[FilterState]:
    """Return the states of runs, or the first alone where Ctrl-C has left them at different rows."""
    together = all(len(state.y) == len(states[0].y) for state in states)
    return states if together else states[:1]


def fit_filter(
    settings: KernelSettings,
    kernels: Sequence[Kernel],
    widths: Sequence[float],
    x: FloatArray,
    y: FloatArray,
    index: pd.Index,
    options: FilterOptions,
    rng: np.random.Generator,
    n_jobs: int | None,
    progress: bool | None,
    checkpoint: Checkpoint | None,
    weigh: Callable[[], pd.DataFrame] | None = None,
) -> FilterRun:
    """Pass over the rows once for each width and run, and return the runs of the width of largest evidence.

    All passes take the rows in the same order, so that evidences can be compared after each row.

    Parameters
    ----------
    settings : KernelSettings
        Of any width.
    kernels : sequence of Kernel
        By width.
    widths : sequence of float
        As they were given.
    x, y : ndarray (n, d), ndarray (n,)
        Rows, as they are fitted.
    index : Index
        Their labels.
    options : FilterOptions
    rng : Generator
    n_jobs, progress
        As for ``fit``.
    checkpoint : Checkpoint, optional
        Where the passes save their states.
    weigh : callable, optional
        Returns the evidence of the widths, of which passes are then made for those of some probability.

    Returns
    -------
    FilterRun
        After Ctrl-C of as many rows as the slowest pass has seen.
    """
    clock = 0.0 if checkpoint is None else checkpoint.clock
    watch = Stopwatch(RunTime(0.0, clock))
    order = rng.permutation(len(y)) if options.row_order == "random" else np.arange(len(y))
    weighed = None if weigh is None else weigh()
    kept = [at for at in range(len(kernels)) if weighed is None or weighed["posterior"].iloc[at] >= KEPT]
    each = [replace(settings, kernel=kernels[at]) for at in kept]
    jobs = [FilterJob(one, x[order], y[order]) for one in each for _ in range(options.runs)]
    states = run_passes(jobs, rng, n_jobs=n_jobs, progress=progress, checkpoint=checkpoint, watch=watch)
    rows = min(len(state.y) for state in states)
    if weighed is not None:
        table = weighed
    elif len(each) > 1 and options.evidence == "tempering":
        # The same seeds for each width: differences are more accurate than evidences.
        seeds = list(rng.bit_generator.seed_seq.spawn(RUNS))  # type: ignore[attr-defined]
        taken = order[:rows]
        found = [
            tempered_evidence(TemperingJob(one, x[taken], y[taken], PARTICLES, None, *QUICK), seeds)
            for one in each
        ]
        table = evidence_table(found, widths)
    else:
        paths = np.array([state.log_evidence_path[rows - 1] for state in states])
        found = [pool_evidence(paths[at : at + options.runs]) for at in range(0, len(states), options.runs)]
        table = evidence_table(found, widths)
    place = int(np.argmax(table["log_evidence"].to_numpy()))
    first = kept.index(place) * options.runs
    chosen = same_rows(states[first : first + options.runs])
    seen = len(chosen[0].y)
    others = [
        _swept(at, replace(settings, kernel=kernels[at]), state)
        for at, state in zip(kept, states[:: options.runs], strict=True)
        if at != place and len(state.y) == seen
    ]
    missed = len(y) - seen
    run = FilterRun(
        settings=replace(settings, kernel=kernels[place]),
        place=place,
        states=chosen,
        index=index[order][:seen],
        order=order[:seen].astype(np.int64),
        widths=table,
        row_order=options.row_order,
        seconds=0.0,
        missed=missed,
        run_time=RunTime(),
        others=others,
    )
    run.sweep()
    run.run_time = watch.read()
    run.seconds = run.run_time.clock
    run.warn(missed)
    return run


def _swept(place: int, settings: KernelSettings, state: FilterState) -> OtherWidth:
    """Return a width that was not chosen after the sweeps, as `FilterRun.sweep` leaves the chosen one."""
    settled = settle(settings, state)
    if settled.missed:
        state = continued(settings, state, settled)
    return OtherWidth(place, settings, state, given=settled)

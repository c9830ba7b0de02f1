"""The log evidence of all rows by sequential Monte Carlo over powers of the likelihood."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from pyrjsel._core import special
from pyrjsel._typing import FloatArray, IntArray
from pyrjsel.kernel.samplers.columns import Columns
from pyrjsel.kernel.samplers.particles import log_density, loop_of, resample
from pyrjsel.kernel.state import MOVES, KernelSettings, Particles

# Shape of the inverse gamma laws that variances start from: heavy tails, around the mean square of y.
SHAPE = 1.0
# Powers are so far apart that this share of the particles is effective; so many sweeps follow each.
EFFECTIVE, SWEEPS = 0.96, 6
# With more rows than this, columns of kernel values are made of those that are proposed alone: so many at a
# sweep, where they cost O(t m), and more where they are there anyway.
ALL_ROWS, FEW_PROPOSED, PROPOSED = 1024, 64, 512
# Runs, whose spread is the error: with eight it is off by a quarter; and particles of each.
RUNS, PARTICLES = 8, 250
BISECTIONS = 30
# Particles of a pilot run.
PILOT = 100
# Share and sweeps where widths are compared. Where no width is given: rows, runs, few particles, and more
# sweeps, which bring them from the start to sets of many kernels; and how far below that of the best width
# the log evidence of a pilot run may be. These differ by up to five where the powers end in few modes.
QUICK = (0.9, 5)
WEIGHED_ROWS, WEIGHING_RUNS, WEIGHING_PARTICLES, WEIGHING = 400, 4, 100, (0.9, 10)
HOPELESS = 20.0


@dataclass(frozen=True)
class Tempered:
    """Result of one run.

    Attributes
    ----------
    log_evidence : float
    variance : float
        Its variance if particles were independent: a lower bound.
    particles : Particles
        Of equal weight, at power 1.
    powers : tuple of float
        The last is 1.
    """

    log_evidence: float
    variance: float
    particles: Particles
    powers: tuple[float, ...]


@dataclass
class TemperingJob:
    """One run; picklable.

    Parameters
    ----------
    settings : KernelSettings
    x : ndarray (T, d)
    y : ndarray (T,)
    particles : int
    powers : sequence of float, optional
        Powers after 0, the last of them 1. None has the particles choose each, which biases the evidence: a
        power is near where the weights happen to be even.
    effective : float
        Share of the particles that remains effective where they choose.
    sweeps : int
        Sweeps of moves at each power.
    """

    settings: KernelSettings
    x: FloatArray
    y: FloatArray
    particles: int
    powers: Sequence[float] | None = None
    effective: float = EFFECTIVE
    sweeps: int = SWEEPS

    def run(self, seed: np.random.SeedSequence) -> Tempered:
        """Run from power 0 to 1.

        The path is geometric between a start law, with the prior of the centres and its own inverse gamma
        laws of the variances, and prior times likelihood (Del Moral, Doucet and Jasra 2006). Coefficients are
        integrated out in all weights.
        """
        rng = np.random.Generator(np.random.PCG64(seed))
        path = Path(self.settings, self.x, self.y)
        n = self.particles
        particles = path.start(n, rng)
        log_evidence, variance = 0.0, 0.0
        powers = [0.0]
        while powers[-1] < 1.0:
            before = path.log_density(particles, powers[-1])
            powers.append(self._next(path, particles, before, powers))
            log_weight = path.log_density(particles, powers[-1]) - before
            total = float(special.logsumexp(log_weight))
            log_evidence += total - float(np.log(n))
            weight = np.exp(log_weight - total)
            variance += float(weight @ weight) - 1.0 / n
            particles = particles.take(resample("systematic", weight, rng))
            if powers[-1] < 1.0:
                path.move(particles, powers[-1], self.sweeps, rng)
        return Tempered(log_evidence, variance, particles, tuple(powers[1:]))

    def _next(self, path: "Path", particles: Particles, before: FloatArray, powers: Sequence[float]) -> float:
        """Return the next power; `before` are log densities at the present one."""
        if self.powers is not None:
            return self.powers[len(powers) - 1]

        def few(to: float) -> bool:
            log_weight = path.log_density(particles, to) - before
            weight = np.exp(log_weight - log_weight.max())
            return float(weight.sum() ** 2 / (weight @ weight)) < self.effective * len(before)

        if not few(1.0):
            return 1.0
        power = powers[-1]
        low, high = power, 1.0
        for _ in range(BISECTIONS):
            middle = 0.5 * (low + high)
            low, high = (low, middle) if few(middle) else (middle, high)
            if high - low < 1e-3 * (high - power):
                break
        return high


class Path:
    """The target at each power, and moves that leave it invariant."""

    def __init__(self, settings: KernelSettings, x: FloatArray, y: FloatArray) -> None:
        self.settings = settings
        self.columns = Columns(settings, np.ascontiguousarray(x), np.ascontiguousarray(y))
        self.columns.see_all()
        self.whole = len(y) <= ALL_ROWS
        if self.whole:
            self.columns.ensure(np.arange(len(y), dtype=np.int32))
        self.loop = loop_of(settings)
        square = float(y @ y) / len(y)
        scale = SHAPE * (square if square > 0.0 else 1.0)
        # By variance: fixed or not, and shapes and scales of start law and prior.
        self.laws = [
            (settings.noise_variance is None, (SHAPE, scale), (settings.a_y, settings.b_y)),
            (settings.coef_variance is None, (SHAPE, scale), (settings.a_beta, settings.b_beta)),
        ]

    def start(self, n: int, rng: np.random.Generator) -> Particles:
        """Return `n` particles of the start law."""
        settings, t = self.settings, self.columns.t
        most = int(settings.max_kernels)
        sizes = np.arange(min(most, t) + 1)
        log_prior = sizes * np.log(settings.mean_kernels) - special.gammaln(sizes + 1.0)
        k = rng.choice(sizes, size=n, p=np.exp(log_prior - special.logsumexp(log_prior))).astype(np.int32)
        centres = np.full((n, most), -1, dtype=np.int32)
        for row, size in zip(centres, k.tolist(), strict=True):
            row[:size] = np.sort(rng.choice(t, size=size, replace=False))
        fixed = (settings.noise_variance, settings.coef_variance)
        drawn = [
            scale / rng.standard_gamma(shape, n) if free else np.full(n, float(value or 0.0))
            for (free, (shape, scale), _), value in zip(self.laws, fixed, strict=True)
        ]
        none = np.zeros((n, settings.most_columns))
        return Particles(k, centres, none, none.copy(), drawn[0], drawn[1], np.zeros(n))

    def see(self, power: float) -> None:
        """Have the loop see the likelihood at a power."""
        columns = self.columns
        m = columns.m
        self.loop.see(
            columns.slot[: columns.t],
            np.ascontiguousarray(power * columns.gram[:m, :m]),
            power * columns.moments[:m],
            power * columns.yy,
            power,
        )

    def log_density(self, particles: Particles, power: float) -> FloatArray:
        """Return the log of the target at a power over the start law, coefficients integrated out."""
        # mathematics: kernel-tempered-target
        if not self.whole:
            self.columns.ensure(particles.held())
        self.see(power)
        found = np.empty(len(particles.k))
        self.loop.log_marginals(particles.k, particles.centres, particles.sigma2, particles.delta2, found)
        for (free, start, prior), values in zip(self.laws, (particles.sigma2, particles.delta2), strict=True):
            if free:
                found += power * (log_density(values, *prior) - log_density(values, *start))
        return found

    def move(self, particles: Particles, power: float, sweeps: int, rng: np.random.Generator) -> None:
        """Make sweeps of invariant moves of the particles, in place."""
        settings, columns = self.settings, self.columns
        # Shapes and scales of inverse gamma densities mix as their logarithms do.
        mixed = [(1.0 - power) * np.array(start) + power * np.array(prior) for _, start, prior in self.laws]
        self.loop.set_priors(*np.concatenate(mixed).tolist())
        moves = max(1, int(settings.rejuvenate))
        counts: tuple[IntArray, IntArray] = (
            np.zeros(len(MOVES), dtype=np.int64),
            np.zeros(len(MOVES), dtype=np.int64),
        )
        size = max(moves, PROPOSED if self.whole else FEW_PROPOSED)
        if not self.whole:
            columns.ensure(particles.held())
        self.see(power)
        for _ in range(sweeps):
            pool = rng.integers(columns.t, size=size, dtype=np.int32)
            if not self.whole:
                columns.retain(particles.held())
                columns.ensure(pool)
                self.see(power)
            for part in particles.chunks():
                self.loop.refresh(rng, pool, moves, part.in_order(), *counts)


def pool_evidence(log_evidences: FloatArray) -> tuple[float, float]:
    """Return the log of the mean of evidences, and its standard error.

    Parameters
    ----------
    log_evidences : ndarray (R,)
        Of R passes.

    Returns
    -------
    float
        Natural logarithm.
    float
        That of the log; NaN of one pass. It is that of the delta method, which cannot say much more than 1
        however far passes are apart, or the standard error of the mean of the logs if that is larger.
    """
    top = float(log_evidences.max())
    ratios = np.exp(log_evidences - top)
    mean = float(ratios.mean())
    if len(ratios) == 1:
        return top, float("nan")
    spread = max(float(ratios.std(ddof=1)) / mean, float(log_evidences.std(ddof=1)))
    return top + float(np.log(mean)), spread / float(np.sqrt(len(ratios)))


def pilot_run(job: TemperingJob, seeds: Sequence[np.random.SeedSequence]) -> Tempered:
    """Return a run of few particles that choose the powers of the runs with some seeds."""
    first = seeds[0]
    seed = np.random.SeedSequence(first.entropy, spawn_key=(*first.spawn_key, len(seeds)))
    return replace(job, particles=min(job.particles, PILOT)).run(seed)


def tempered_runs(
    job: TemperingJob, seeds: Sequence[np.random.SeedSequence], steps: int | None = None
) -> list[Tempered]:
    """Return runs with the same powers, one for each seed.

    The powers are those of the job, those that the particles of a pilot run have chosen, or, after 0, `steps`
    squares of an even grid.
    """
    powers = job.powers
    if steps is not None:
        powers = tuple(((step + 1) / steps) ** 2 for step in range(steps))
    elif powers is None:
        powers = pilot_run(job, seeds).powers
    return [replace(job, powers=powers).run(seed) for seed in seeds]


def tempered_evidence(
    job: TemperingJob, seeds: Sequence[np.random.SeedSequence], steps: int | None = None
) -> tuple[float, float]:
    """Return the log of the mean evidence of runs, one for each seed, and its Monte Carlo error.

    The error is that of the spread of the runs, times the standard deviation of Student's t, which allows for
    their small number; or what the variances of their weights imply if that is more.
    """
    # mathematics: kernel-evidence-error
    found = tempered_runs(job, seeds, steps)
    log_evidence, spread = pool_evidence(np.array([run.log_evidence for run in found]))
    degrees = max(len(found) - 1, 3)
    least = float(np.sqrt(np.mean([run.variance for run in found]) / len(found)))
    return log_evidence, float(np.fmax(spread * np.sqrt(degrees / (degrees - 2)), least))


def weigh(each: Sequence[KernelSettings], x: FloatArray, y: FloatArray) -> list[tuple[float, float]]:
    """Return quick log evidences of several settings with their errors; the same on every call.

    Those that a pilot run leaves without hope beside the best are from this run, with an error of NaN.
    """
    seeds = np.random.SeedSequence(len(y)).spawn(WEIGHING_RUNS)
    jobs = [TemperingJob(one, x, y, WEIGHING_PARTICLES, None, *WEIGHING) for one in each]
    pilots = [pilot_run(job, seeds) for job in jobs]
    least = max(pilot.log_evidence for pilot in pilots) - HOPELESS
    return [
        tempered_evidence(replace(job, powers=pilot.powers), seeds)
        if pilot.log_evidence >= least
        else (pilot.log_evidence, float("nan"))
        for job, pilot in zip(jobs, pilots, strict=True)
    ]


def evidence_table(found: Sequence[tuple[float, float]], widths: Sequence[float]) -> pd.DataFrame:
    """Return log evidences with errors, and probabilities if all widths are as probable before."""
    log_evidence = np.array([value for value, _ in found])
    return pd.DataFrame(
        {
            "log_evidence": log_evidence,
            "se": [error for _, error in found],
            "posterior": np.exp(log_evidence - special.logsumexp(log_evidence)),
        },
        index=pd.Index(widths, name="width"),
    )

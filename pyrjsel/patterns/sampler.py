"""Sampling of pattern models: jobs, states, chains. The compiled loop is in ``_slice.pyx``."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from pyrjsel._called import warn
from pyrjsel._errors import ConvergenceWarning
from pyrjsel._typing import FloatArray
from pyrjsel.patterns._slice import UPDATES, PatternChain
from pyrjsel.patterns.groups import PatternProblem
from pyrjsel.patterns.options import Options
from pyrjsel.report import scalar_stats
from pyrjsel.report.mixing import mixing_figures, poor_mixing
from pyrjsel.runtime import Ends, Figure, FitSettings
from pyrjsel.storage import Content, Plain


@dataclass(frozen=True, eq=False, repr=False)
class PatternDraws:
    """Draws of all chains after burn-in and thinning.

    Attributes
    ----------
    s : ndarray (chains, draws, C, G)
        Sums of the coefficients of each group. C is 1 for two classes, the first of which has coefficients
        0, and K for K > 2 classes.
    log_sigma : ndarray (chains, draws, O)
        Log scales of orders 1 to O.
    log_posterior : ndarray (chains, draws)
        Log joint density of the responses, the sums and the log scales.
    """

    s: FloatArray
    log_sigma: FloatArray
    log_posterior: FloatArray

    def __repr__(self) -> str:
        chains, draws, free, groups = self.s.shape
        return f"<PatternDraws: {chains} chains x {draws} draws of {free} x {groups} sums>"


# Recorded series.
SERIES = ("s", "log_sigma", "log_posterior")


@dataclass
class PatternState:
    """State of a chain as plain data; it determines all further draws.

    Attributes
    ----------
    s : ndarray (C, G)
    log_sigma : ndarray (O + 1,)
        Order 0 is fixed.
    bit_generator : mapping
        State of the chain's PCG64.
    done : int
        Number of iterations so far, including burn-in.
    """

    s: FloatArray
    log_sigma: FloatArray
    bit_generator: Mapping[str, Any]
    done: int


@dataclass
class PatternJob:
    """Job of one chain; picklable."""

    problem: PatternProblem
    options: Options
    draws: int
    burn_in: int
    thin: int
    total: int = field(init=False)

    def __post_init__(self) -> None:
        self.total = self.burn_in + self.draws * self.thin

    def loop(self, s: FloatArray, log_sigma: FloatArray) -> PatternChain:
        """Return a compiled chain in the given state."""
        problem, options = self.problem, self.options
        plan = [(UPDATES.index(update), times) for update, times in options.plan(problem)]
        return PatternChain(
            problem.prior.family == "cauchy",
            problem.indptr,
            problem.rows,
            problem.cases,
            problem.order_ptr,
            problem.order_group,
            problem.order_count,
            problem.parent,
            problem.prior.table(options.sigma_width),
            s,
            log_sigma,
            np.array(plan, dtype=np.int32),
            width=float(options.width),
            steps=int(options.steps),
        )

    def start(self, seed: np.random.SeedSequence, chain: int) -> "PatternRunner":
        """Return a chain in its initial state: coefficients 0, and scales at the centre of their priors.

        All chains except the first start at draws of the scales from their priors.
        """
        rng = np.random.Generator(np.random.PCG64(seed))
        prior = self.problem.prior
        scales = prior.centre() if chain == 0 else prior.sample(rng)
        s = np.zeros((self.problem.n_free, self.problem.n_groups))
        log_sigma = np.concatenate([[prior.log_sigma_0], scales])
        return PatternRunner(self, PatternState(s, log_sigma, rng.bit_generator.state, 0))

    def resume(self, state: Content, recorded: Mapping[str, np.ndarray], chain: int) -> "PatternRunner":
        """Return a chain from its state and previous draws."""
        problem = self.problem
        s = state.array("s", float, (problem.n_free, problem.n_groups), finite=True)
        log_sigma = state.array("log_sigma", float, (problem.order + 1,), finite=True)
        done = state.integer("done", high=self.total)
        runner = PatternRunner(self, PatternState(s, log_sigma, state.pcg64("bit_generator"), done))
        runner.kept = runner.written = max(0, done - self.burn_in) // self.thin
        known = Content(dict(recorded), "the draws")
        for name in SERIES if runner.kept else ():
            into = getattr(runner, name)[: runner.kept]
            into[...] = known.array(name, float, into.shape)
        return runner

    def recorded(self, result: PatternDraws) -> dict[str, np.ndarray]:
        """Return the draws of a chain."""
        return vars(result)


class PatternRunner:
    """One chain: compiled loop, random number generator and recorded draws."""

    def __init__(self, job: PatternJob, state: PatternState) -> None:
        self.job = job
        self.rng = np.random.Generator(np.random.PCG64())
        self.rng.bit_generator.state = dict(state.bit_generator)
        self.loop = job.loop(state.s, state.log_sigma)
        self.done = state.done
        self.kept = self.written = 0
        # Allocated at once, so that a run for which memory does not suffice fails at its start.
        self.s = np.empty((job.draws, *state.s.shape))
        self.log_sigma = np.empty((job.draws, job.problem.order))
        self.log_posterior = np.empty(job.draws)

    def widen(self) -> None:
        """Enlarge the arrays of draws for a further round."""
        for name in SERIES:
            former = getattr(self, name)[: self.kept]
            wider = np.empty((self.job.draws, *former.shape[1:]))
            wider[: self.kept] = former
            setattr(self, name, wider)

    def advance(self, n: int) -> None:
        """Run `n` more iterations."""
        burn = max(0, min(n, self.job.burn_in - self.done))
        self.loop.run(self.rng, burn)
        self.done += burn
        if len(self.s) < self.job.draws:
            self.widen()
        kept = slice(self.kept, None)
        self.kept += self.loop.run(
            self.rng,
            n - burn,
            done=self.done - self.job.burn_in,
            thin=self.job.thin,
            s=self.s[kept],
            log_sigma=self.log_sigma[kept],
            log_posterior=self.log_posterior[kept],
        )
        self.done += n - burn

    def state(self) -> PatternState:
        """Return the state between two iterations; a runner in this state continues with the same draws."""
        return PatternState(*self.loop.state(), self.rng.bit_generator.state, self.done)

    def plain_state(self) -> Plain:
        """Return the state as plain data."""
        return vars(self.state())

    def news(self) -> dict[str, np.ndarray]:
        """Return the draws recorded since the last call."""
        new = slice(self.written, self.kept)
        self.written = self.kept
        return {name: getattr(self, name)[new] for name in SERIES} if new.stop > new.start else {}

    def look(self) -> PatternDraws:
        """Return the draws so far, to assess their accuracy."""
        return self.finish(True)

    def finish(self, completed: bool) -> PatternDraws:
        """Return the draws of this chain, without the axis of chains."""
        return PatternDraws(self.s[: self.kept], self.log_sigma[: self.kept], self.log_posterior[: self.kept])


@dataclass(frozen=True, eq=False)
class PatternPosterior:
    """Draws and diagnostics of a run.

    Attributes
    ----------
    sampler : str
        Name of the sampler, ``"interweaving"`` or ``"slice"``.
    draws : PatternDraws
    diagnostics : DataFrame
        Mean, sd, Monte Carlo standard error, effective sample size and split R-hat of each log sigma_o and of
        the log posterior.
    seconds : list of float
        Time of each chain.
    settings : FitSettings
    notes : list of str
        Texts of the warnings.
    options : SliceOptions or InterweavingOptions or None
        Options of the sampler, if known.
    ends : Ends or None
        Final states of the chains, if known.
    """

    sampler: str
    draws: PatternDraws
    diagnostics: pd.DataFrame
    seconds: list[float]
    settings: FitSettings
    notes: list[str]
    options: Options | None
    ends: Ends | None


def run(problem: PatternProblem, sampler: str, options: Options, settings: FitSettings) -> PatternPosterior:
    """Sample the posterior of a pattern model; return draws and diagnostics.

    Draws take ``8 * chains * draws * C * G`` bytes for C classes with coefficients and G groups.

    Parameters
    ----------
    problem : PatternProblem
        Groups, observations and prior.
    sampler : str
        Name of the sampler, from :func:`choose`.
    options : SliceOptions or InterweavingOptions
        Options of the sampler.
    settings : FitSettings
        Draws, burn-in, thinning, chains, seed, workers and progress.

    Returns
    -------
    PatternPosterior
        After Ctrl-C, draws of the chains that have any, cut to the length of the shortest.

    Raises
    ------
    KeyboardInterrupt
        If the run was interrupted before any chain had a draw.

    Warns
    -----
    ConvergenceWarning
        If the run was interrupted; if a log scale or the log posterior has R-hat above 1.2 or fewer than 100
        effective draws; or if an automatic run ended before the requested accuracy.
    """
    job = PatternJob(problem, options, settings.draws, settings.burn_in, settings.thin)
    rule = partial(_figures, mcse=settings.asked_mcse)
    outcome = settings.run(job, sampler, lambda chain: int(chain.log_posterior.size), rule)
    chains: list[PatternDraws] = outcome.results
    draws = PatternDraws(
        np.stack([chain.s[: outcome.draws] for chain in chains]),
        np.stack([chain.log_sigma[: outcome.draws] for chain in chains]),
        np.stack([chain.log_posterior[: outcome.draws] for chain in chains]),
    )
    notes = outcome.notes
    diagnostics = diagnose(draws)
    notes.extend(poor_mixing(diagnostics["r_hat"], diagnostics["ess"], draws.log_posterior.size))
    for text in notes:
        warn(text, ConvergenceWarning)
    return PatternPosterior(
        sampler,
        draws,
        diagnostics,
        outcome.seconds,
        settings.finished(outcome.asked),
        notes,
        options,
        outcome.ends,
    )


def _figures(chains: Sequence[PatternDraws], draws: int, *, mcse: float) -> list[Figure]:
    """Return the log scales that are not accurate enough, and quantities with poor mixing."""
    log_sigma = np.stack([chain.log_sigma[:draws] for chain in chains])
    scales = [(f"log sigma of order {o + 1}", log_sigma[:, :, o]) for o in range(log_sigma.shape[2])]
    found = []
    for name, values in scales:
        stats = scalar_stats(values)
        if stats.mcse > mcse * stats.sd:
            text = f"the MCSE of the {name}, in posterior deviations,"
            found.append(Figure.of_error(text, stats.mcse / stats.sd, mcse))
    log_posterior = np.stack([chain.log_posterior[:draws] for chain in chains])
    return found + mixing_figures([*scales, ("log posterior", log_posterior)])


def diagnose(draws: PatternDraws) -> pd.DataFrame:
    """Return mean, sd, mcse, ess and R-hat of each log sigma_o and of the log posterior."""
    names = [f"log_sigma_{o}" for o in range(1, draws.log_sigma.shape[2] + 1)]
    stats = [scalar_stats(draws.log_sigma[:, :, o]) for o in range(len(names))]
    stats.append(scalar_stats(draws.log_posterior))
    columns = ("mean", "sd", "mcse", "ess", "r_hat")
    return pd.DataFrame(
        {column: [getattr(each, column) for each in stats] for column in columns},
        index=pd.Index([*names, "log_posterior"], name="quantity"),
    )

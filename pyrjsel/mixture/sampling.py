"""Sampling of mixture classifiers: options, state, chains. The loop itself is in ``_mixture.pyx``."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyrjsel._errors import ConvergenceWarning
from pyrjsel._typing import ByteArray, FloatArray
from pyrjsel._validate import check_choice, check_int
from pyrjsel.mixture._mixture import MixtureChain
from pyrjsel.mixture.background import make_null
from pyrjsel.mixture.draws import MOVES, MixtureDraws, MixturePosterior
from pyrjsel.mixture.problem import MixtureProblem
from pyrjsel.report.errors import MODEL_ROWS, indicator_stats, model_stats
from pyrjsel.report.mixing import chain_diagnostics, disagreement, poor_mixing
from pyrjsel.runtime import DrawnChains, FitSettings
from pyrjsel.space import ModelTable, Space, count_visits, merge_visits
from pyrjsel.space.bits import n_words
from pyrjsel.space.starts import checked_start, dispersed_start, given_start

OWNER = "MixtureOptions"
PROPOSALS = ("conditional", "prior")
# Bytes that the kernels of a fit may take; beyond it they are thinned.
KERNEL_BYTES = 32 * 2**20
# Rows begin in the kernels that the best of so many chains found for them in so many sweeps with all inputs
# selected: with many inputs a chain hardly leaves the mode of the kernels that it starts in.
STARTS, SETTLING = 40, 50


@dataclass(frozen=True)
class MixtureOptions:
    """Options of the sampler.

    Attributes
    ----------
    proposal : {"conditional", "prior"}
        Kernels of an input that enters come from what the rows that are allocated to them say, or from
        their prior as in Sykacek (1999).
    moves : int, optional
        Moves a sweep; None is as many as there are inputs that may be in or out.
    start : None, "empty" or sequence of str
        Inputs to start from. None starts each chain at a draw from the prior over subsets. Whatever they are,
        rows begin in the kernels of the best of 40 chains of 50 sweeps with all inputs, and Ctrl-C waits for
        these.
    """

    proposal: str = "conditional"
    moves: int | None = None
    start: str | Sequence[str] | None = None

    def __post_init__(self) -> None:
        check_choice(self.proposal, "proposal", OWNER, PROPOSALS)
        if self.moves is not None:
            check_int(self.moves, "moves", OWNER, low=0)
        object.__setattr__(self, "start", checked_start(self.start, OWNER))


@dataclass
class MixtureState:
    """Everything that a chain's next draws depend on, as plain data.

    Attributes
    ----------
    gamma : uint8 array (p,)
    beta : float64 array (p,)
        Rates of the precisions; what inputs have that are not selected is of no consequence.
    precision, mean : float64 arrays (p, D)
    weight : float64 array (K, D)
    prior : float64 array (K,)
    kernel, klass : int32 arrays (N,)
        Kernel and class of each row.
    z : float64 array (p, N)
        Inputs, with the missing ones as they are imputed.
    bit_generator : mapping
        State of the chain's PCG64.
    done : int
        Sweeps so far, burn-in included.
    counts : int64 array (2, moves)
        Proposals and acceptances after burn-in.
    """

    gamma: ByteArray
    beta: FloatArray
    precision: FloatArray
    mean: FloatArray
    weight: FloatArray
    prior: FloatArray
    kernel: NDArray[np.int32]
    klass: NDArray[np.int32]
    z: FloatArray
    bit_generator: Mapping[str, Any]
    done: int
    counts: np.ndarray


def first_state(problem: MixtureProblem, gamma: ByteArray, rng: np.random.Generator) -> MixtureState:
    """Return a state at a subset: kernels and weights from the prior, rows in kernels at random.

    Missing inputs that are imputed are those of rows drawn at random.
    """
    (n, p), D, K = problem.z.shape, problem.components, problem.n_classes
    beta, precision, mean = np.ones(p), np.ones((p, D)), np.zeros((p, D))
    for i in np.flatnonzero(gamma):
        beta[i], precision[i], mean[i] = problem.prior.sample_kernels(D, rng)
    missing = problem.label < 0
    klass = np.where(missing, rng.integers(K, size=n), problem.label).astype(np.int32)
    z = problem.z.T.copy()
    if problem.background == "gaussian":
        for row in z:
            gaps = np.isnan(row)
            row[gaps] = rng.choice(row[~gaps], size=gaps.sum())
    return MixtureState(
        gamma.copy(),
        beta,
        precision,
        mean,
        rng.dirichlet(np.ones(D), size=K),
        rng.dirichlet(np.ones(K)),
        np.asarray(rng.integers(D, size=n), dtype=np.int32),
        klass,
        z,
        rng.bit_generator.state,
        0,
        np.zeros((2, len(MOVES)), dtype=np.int64),
    )


@dataclass
class MixtureJob:
    """What every chain does; picklable."""

    problem: MixtureProblem
    options: MixtureOptions
    draws: int
    burn_in: int
    thin: int
    every: int
    starts: ByteArray | None
    total: int = field(init=False)

    def __post_init__(self) -> None:
        self.total = self.burn_in + self.draws * self.thin

    def loop(self, state: MixtureState) -> MixtureChain:
        """Return a compiled chain at a state."""
        problem, prior = self.problem, self.problem.prior
        moves = problem.space.n_free if self.options.moves is None else self.options.moves
        hyper = [prior.alpha, prior.g, prior.h, prior.max_precision, prior.log_mass(problem.components)]
        return MixtureChain(
            state.z,
            np.ascontiguousarray(np.isnan(problem.z).T, dtype=np.uint8),
            problem.label,
            make_null(problem),
            Space(problem.space),
            np.array(hyper),
            state.gamma,
            state.beta,
            state.precision,
            state.mean,
            state.weight,
            state.prior,
            state.kernel,
            state.klass,
            moves=moves,
            conditional=self.options.proposal == "conditional",
        )

    def start(self, seed: np.random.SeedSequence, chain: int) -> "MixtureRunner":
        """Return a chain at its first state."""
        rng = np.random.Generator(np.random.PCG64(seed))
        best = max((self.settled(rng) for _ in range(STARTS)), key=MixtureChain.log_density)
        gamma = dispersed_start(self.problem.space, _any_subset, rng) if self.starts is None else self.starts
        state = first_state(self.problem, gamma, rng)
        *_, state.kernel, state.klass, state.z = best.state()
        return MixtureRunner(self, state)

    def settled(self, rng: np.random.Generator) -> MixtureChain:
        """Return a chain that has found kernels with all inputs selected."""
        everything = np.ones(self.problem.n_inputs, dtype=np.uint8)
        chain = self.loop(first_state(self.problem, everything, rng))
        chain.run(rng, SETTLING, moving=False)
        return chain


def _any_subset(gamma: ByteArray) -> bool:
    """Every subset has a posterior."""
    return True


class MixtureRunner:
    """One chain: the compiled loop, its generator and what it has recorded."""

    def __init__(self, job: MixtureJob, state: MixtureState) -> None:
        self.job = job
        self.rng = np.random.Generator(np.random.PCG64())
        self.rng.bit_generator.state = dict(state.bit_generator)
        self.loop = job.loop(state)
        self.loop.set_counts(np.ascontiguousarray(state.counts))
        self.done = state.done
        self.table = ModelTable(job.problem.n_inputs)
        self.kept = self.kept_kernels = 0
        # All at once: a run that memory does not suffice for fails before it begins.
        p, D, K = job.problem.n_inputs, job.problem.components, job.problem.n_classes
        kernels = -(-job.draws // job.every)
        self.found = MixtureDraws(
            words=self.table.words,
            index=np.empty(job.draws, dtype=np.int32),
            log_posterior=np.empty(job.draws),
            log_likelihood=np.empty(job.draws),
            occupied=np.empty(job.draws, dtype=np.int32),
            counts=state.counts,
            mean=np.empty((kernels, D, p)),
            variance=np.empty((kernels, D, p)),
            weight=np.empty((kernels, K, D)),
            prior=np.empty((kernels, K)),
        )

    def advance(self, n: int) -> None:
        """Run `n` more sweeps."""
        burn = min(n, max(0, self.job.burn_in - self.done))
        if burn:
            self.loop.run(self.rng, burn)
            self.done += burn
            if self.done == self.job.burn_in:
                self.loop.set_counts(np.zeros((2, len(MOVES)), dtype=np.int64))
        if n == burn:
            return
        words = np.zeros(
            ((n - burn) // self.job.thin + 1, n_words(self.job.problem.n_inputs)), dtype=np.uint64
        )
        drawn, found = slice(self.kept, None), self.found
        kernels = slice(self.kept_kernels, None)
        kept, kept_kernels = self.loop.run(
            self.rng,
            n - burn,
            done=self.done - self.job.burn_in,
            thin=self.job.thin,
            words=words,
            log_posterior=found.log_posterior[drawn],
            log_likelihood=found.log_likelihood[drawn],
            occupied=found.occupied[drawn],
            mean=found.mean[kernels],
            variance=found.variance[kernels],
            weight=found.weight[kernels],
            prior=found.prior[kernels],
            every=self.job.every,
        )
        found.index[self.kept : self.kept + kept] = self.table.add(words[:kept])
        self.kept += kept
        self.kept_kernels += kept_kernels
        self.done += n - burn

    def state(self) -> MixtureState:
        """Return the state between two sweeps; a runner made of it goes on to the same draws."""
        gamma, beta, precision, mean, weight, prior, kernel, klass, z = self.loop.state()
        return MixtureState(
            gamma,
            beta,
            precision,
            mean,
            weight,
            prior,
            kernel,
            klass,
            z,
            self.rng.bit_generator.state,
            self.done,
            self.loop.counts(),
        )

    def finish(self, completed: bool) -> MixtureDraws:
        """Return what was recorded."""
        found = self.found
        parts = {item.name: getattr(found, item.name) for item in fields(found)}
        for name in ("index", "log_posterior", "log_likelihood", "occupied"):
            parts[name] = parts[name][: self.kept]
        for name in ("mean", "variance", "weight", "prior"):
            parts[name] = parts[name][: self.kept_kernels]
        return MixtureDraws(**{**parts, "words": self.table.words, "counts": self.loop.counts()})


def thinning(problem: MixtureProblem, settings: FitSettings) -> int:
    """Return how many draws there are to one whose kernels are kept."""
    D, K = problem.components, problem.n_classes
    numbers = (2 * problem.n_inputs + K) * D + K
    return max(1, -(-settings.draws * numbers * 8 * settings.chains // KERNEL_BYTES))


def run(
    problem: MixtureProblem, settings: FitSettings, options: MixtureOptions, stacklevel: int = 2
) -> MixturePosterior:
    """Return the posterior that reversible-jump chains found.

    Parameters
    ----------
    problem : MixtureProblem
    settings : FitSettings
        Draws, burn-in, thinning, chains, seed, workers and progress.
    options : MixtureOptions
    stacklevel : int, default 2
        Of warnings; 2 is the caller of the function that calls this one.

    Returns
    -------
    MixturePosterior
        After Ctrl-C of the chains that have draws, as many as the shortest of them has.

    Raises
    ------
    ParameterError
        If `start` is no feasible subset.
    UnknownNameError
        If `start` has a name that is not known.
    KeyboardInterrupt
        If the run was interrupted before any chain had a draw.

    Warns
    -----
    ConvergenceWarning
        If the run was interrupted; if chains disagree on inclusion probabilities; if R-hat of the number of
        inputs or of the log posterior over all chains exceeds 1.2.
    """
    every = thinning(problem, settings)
    starts = given_start(options.start, problem.space, _any_subset, OWNER)
    job = MixtureJob(problem, options, settings.draws, settings.burn_in, settings.thin, every, starts)
    drawn = settings.run(job, "mixture", lambda chain: int(chain.index.size))
    posterior = summarise(problem, settings, drawn, every)
    for text in posterior.notes:
        warnings.warn(text, ConvergenceWarning, stacklevel=stacklevel + 1)
    return posterior


def summarise(
    problem: MixtureProblem, settings: FitSettings, drawn: DrawnChains, every: int
) -> MixturePosterior:
    """Merge the chains and estimate what is reported from their draws."""
    chains: list[MixtureDraws] = drawn.results
    index, models = merge_visits(
        [(chain.words, chain.index) for chain in chains], drawn.draws, problem.n_inputs
    )
    kept = min(len(chain.mean) for chain in chains)

    def stacked(name: str, n: int) -> Any:
        return np.stack([getattr(chain, name)[:n] for chain in chains])

    log_posterior = stacked("log_posterior", drawn.draws)
    inclusion = indicator_stats(index, models)
    diagnostics = chain_diagnostics(
        [chain.counts for chain in chains],
        MOVES,
        [("size", models.sizes()[index]), ("log_posterior", log_posterior)],
        drawn.seconds,
    )
    return MixturePosterior(
        packed=models,
        index=index,
        probability=count_visits(index, len(models)) / index.size,
        log_posterior=log_posterior,
        log_likelihood=stacked("log_likelihood", drawn.draws),
        occupied=stacked("occupied", drawn.draws),
        mean=stacked("mean", kept),
        variance=stacked("variance", kept),
        weight=stacked("weight", kept),
        prior=stacked("prior", kept),
        every=every,
        inclusion=inclusion,
        model_stats=model_stats(index, np.arange(min(len(models), MODEL_ROWS))),
        diagnostics=diagnostics,
        seconds=drawn.seconds,
        settings=settings,
        notes=[*drawn.notes, *disagreement(inclusion, problem.space.names), *poor_mixing(diagnostics)],
    )

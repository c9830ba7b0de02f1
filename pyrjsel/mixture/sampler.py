"""Sampling of mixture classifiers: state and chains. Loops are in ``_labels.pyx`` and ``_mixture.pyx``."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from heapq import nlargest
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyrjsel._called import warn
from pyrjsel._errors import ConvergenceWarning
from pyrjsel._typing import ByteArray, FloatArray, IntArray
from pyrjsel.mixture._chain import Chain
from pyrjsel.mixture._labels import LabelChain
from pyrjsel.mixture._mixture import MixtureChain, MixtureLadder
from pyrjsel.mixture.options import MixtureOptions, stopping
from pyrjsel.mixture.posterior import MOVES, MixtureDraws, MixturePosterior, summarise
from pyrjsel.mixture.priors import MixturePrior
from pyrjsel.mixture.problem import MixtureProblem, make_null
from pyrjsel.mixture.serialization import state_from_plain, state_to_plain
from pyrjsel.model_space import ModelTable, Space
from pyrjsel.model_space.bits import n_words
from pyrjsel.model_space.chains import dispersed_start, given_start
from pyrjsel.runtime import FitSettings, power_of_2
from pyrjsel.runtime.ladder import adapted
from pyrjsel.storage import Content, Plain

# Series recorded at every draw besides the subset, and those that are thinned further.
SERIES = ("log_posterior", "log_likelihood", "occupied")
KERNELS = ("mean", "variance", "weight", "prior")
# Bytes that the kernels of a fit may take, and of the longest that one which stops by itself may become;
# beyond it they are thinned.
KERNEL_BYTES, MOST_KERNEL_BYTES = 32 * 2**20, 64 * 2**20
# Replicas begin where the best of so many tries have come, in so many sweeps with all inputs selected and so
# many with moves: with many inputs a chain hardly leaves the mode of the kernels that it starts in.
STARTS, SETTLING, TRIAL = 40, 50, 100
# First standard deviations of random walks: of means and log precisions, and of logarithms of weights and of
# class probabilities.
MEAN_STEP, PRECISION_STEP, WEIGHT_STEP, SHARE_STEP = 0.1, 0.5, 0.5, 0.2
# Sweeps between two steps of adaptation during burn-in; part of what a seed gives.
EVERY = 50


@dataclass
class Replica:
    """The state of one replica, as plain data.

    Attributes
    ----------
    gamma : uint8 array (p,)
    beta : float64 array (p,)
        Rates of the precisions; what inputs have that are not selected is of no consequence.
    precision, mean : float64 arrays (p, D)
    weight : float64 array (K, D)
    prior : float64 array (K,)
    kernel, klass : int32 arrays (N,)
        Kernel and class of each row; empty for the labels given inputs.
    imputed : float64 array (M,)
        The missing inputs that are drawn, input by input; none where they are summed out.
    steps : float64 array (2 p + K + 1,)
        Standard deviations of random walks; none for the joint target.
    """

    gamma: ByteArray
    beta: FloatArray
    precision: FloatArray
    mean: FloatArray
    weight: FloatArray
    prior: FloatArray
    kernel: NDArray[np.int32]
    klass: NDArray[np.int32]
    imputed: FloatArray
    steps: FloatArray


@dataclass
class MixtureState:
    """Everything that a chain's next draws depend on, as plain data.

    Attributes
    ----------
    replicas : list of Replica
        By falling power.
    powers : float64 array (T,)
    bit_generator : mapping
        State of the chain's PCG64.
    done : int
        Sweeps so far, burn-in included.
    moves : int64 array (2, moves)
        Proposals and acceptances after burn-in, of the first replica.
    exchanges : int64 array (2, T - 1)
        Those of exchanges, since the last step of adaptation, and after burn-in since its end.
    """

    replicas: list[Replica]
    powers: FloatArray
    bit_generator: Mapping[str, Any]
    done: int
    moves: IntArray
    exchanges: IntArray


def gaps(problem: MixtureProblem) -> NDArray[np.bool_]:
    """Return where inputs are missing that are drawn (p, N)."""
    return np.isnan(problem.z.T) & (problem.joint and problem.background == "gaussian")


def filled(problem: MixtureProblem, imputed: FloatArray) -> FloatArray:
    """Return the inputs (p, N) with those that were missing and are drawn."""
    z = problem.z.T.copy()
    z[gaps(problem)] = imputed
    return z


def first_replica(problem: MixtureProblem, gamma: ByteArray, rng: np.random.Generator) -> Replica:
    """Return a state at a subset: kernels and weights from the prior, rows in kernels at random.

    Missing inputs that are imputed are those of rows drawn at random; of an input that no row has, as in some
    fold of a comparison, they are the midpoint of its range.
    """
    (n, p), D, K = problem.z.shape, problem.components, problem.n_classes
    beta, precision, mean = np.ones(p), np.ones((p, D)), np.zeros((p, D))
    concentration = np.full(D, problem.weight_prior)
    if not isinstance(problem.prior, MixturePrior):
        assert problem.rate is not None
        beta = rng.gamma(problem.prior.g, size=p) / problem.rate
        precision = rng.gamma(problem.prior.alpha, size=(p, D)) / beta[:, None]
        mean = rng.standard_normal((p, D))
        none = np.empty(0, dtype=np.int32)
        steps = np.repeat([MEAN_STEP, PRECISION_STEP, WEIGHT_STEP, SHARE_STEP], [p, p, K, 1])
        weight, share = rng.dirichlet(concentration, size=K), rng.dirichlet(np.ones(K))
        return Replica(
            gamma.copy(), beta, precision, mean, weight, share, none, none.copy(), np.empty(0), steps
        )
    for i in np.flatnonzero(gamma):
        beta[i], precision[i], mean[i] = problem.prior.sample_kernels(D, rng)
    klass = np.where(problem.label < 0, rng.integers(K, size=n), problem.label).astype(np.int32)
    imputed = []
    for row, missing in zip(problem.z.T, gaps(problem), strict=True):
        known = row[~np.isnan(row)]
        imputed.append(rng.choice(known if known.size else np.zeros(1), size=missing.sum()))
    return Replica(
        gamma.copy(),
        beta,
        precision,
        mean,
        rng.dirichlet(concentration, size=K),
        rng.dirichlet(np.ones(K)),
        np.asarray(rng.integers(D, size=n), dtype=np.int32),
        klass,
        np.concatenate(imputed),
        np.empty(0),
    )


@dataclass
class MixtureJob:
    """The job of one chain; picklable."""

    problem: MixtureProblem
    options: MixtureOptions
    draws: int
    burn_in: int
    thin: int
    every: int
    starts: ByteArray | None
    total: int = field(init=False)
    moves: int = field(init=False)

    def __post_init__(self) -> None:
        self.total = self.burn_in + self.draws * self.thin
        moves = self.options.moves
        self.moves = self.problem.space.n_free if moves is None else moves

    def loop(self, replica: Replica, power: float = 1.0, z: FloatArray | None = None) -> Chain:
        """Return the compiled chain of a replica; chains may share inputs `z` of which none is drawn."""
        problem, prior = self.problem, self.problem.prior
        conditional = self.options.proposal == "conditional"
        if not isinstance(prior, MixturePrior):
            assert problem.rate is not None
            by_class = np.argsort(problem.label, kind="stable")
            return LabelChain(
                np.ascontiguousarray(problem.z[by_class].T),
                problem.label[by_class],
                Space(problem.space),
                np.array([prior.alpha, prior.g, problem.weight_prior]),
                problem.rate,
                replica.gamma,
                replica.beta,
                replica.precision,
                replica.mean,
                replica.weight,
                replica.prior,
                replica.steps,
                conditional=conditional,
                power=power,
            )
        log_mass = prior.log_mass(problem.components)
        hyper = [prior.alpha, prior.g, prior.h, prior.max_precision, log_mass, problem.weight_prior]
        return MixtureChain(
            filled(problem, replica.imputed) if z is None else z,
            np.ascontiguousarray(np.isnan(problem.z).T, dtype=np.uint8),
            problem.label,
            make_null(problem),
            Space(problem.space),
            np.array(hyper),
            replica.gamma,
            replica.beta,
            replica.precision,
            replica.mean,
            replica.weight,
            replica.prior,
            replica.kernel,
            replica.klass,
            conditional=conditional,
            power=power,
        )

    def replica(self, state: tuple[Any, ...]) -> Replica:
        """Return the state of a compiled chain."""
        names = [item.name for item in fields(Replica)]
        found = dict(zip(names, state, strict=True))
        if self.problem.joint:
            found["imputed"] = found["imputed"][gaps(self.problem)]
        return Replica(**found)

    def resume(self, state: Content, recorded: Mapping[str, np.ndarray], chain: int) -> "MixtureRunner":
        """Return the chain of a state and of what was recorded before it."""
        rng = np.random.Generator(np.random.PCG64(0))
        any_replica = first_replica(self.problem, self.problem.space.empty_model(), rng)
        like = self.state_of([any_replica] * self.options.powers()[0].size, rng)
        runner = MixtureRunner(self, state_from_plain(state, like, self.problem))
        runner.restore(Content(dict(recorded), "the draws"))
        return runner

    def recorded(self, result: MixtureDraws) -> dict[str, np.ndarray]:
        """Return what the chain of a result had recorded."""
        return {name: getattr(result, name) for name in ("words", "index", *SERIES, *KERNELS)}

    def start(self, seed: np.random.SeedSequence, chain: int) -> "MixtureRunner":
        """Return a chain at its first state: with the best of many replicas that were tried."""
        rng = np.random.Generator(np.random.PCG64(seed))
        powers, _ = self.options.powers()
        tried = (self.tried(rng) for _ in range(max(STARTS, powers.size)))
        best = nlargest(powers.size, tried, key=Chain.log_density)
        replicas = [self.replica(chain.state()) for chain in best]
        return MixtureRunner(self, self.state_of(replicas, rng))

    def state_of(self, replicas: Sequence[Replica], rng: np.random.Generator) -> MixtureState:
        """Return the state of a chain that begins with these replicas."""
        powers, _ = self.options.powers()
        moves = np.zeros((2, len(MOVES)), dtype=np.int64)
        exchanges = np.zeros((2, powers.size - 1), dtype=np.int64)
        return MixtureState(list(replicas), powers, rng.bit_generator.state, 0, moves, exchanges)

    def tried(self, rng: np.random.Generator) -> Chain:
        """Return a chain after some sweeps; for the joint target, from kernels for all inputs together."""
        found: dict[str, Any] = {}
        if self.problem.joint:
            everything = np.ones(self.problem.n_inputs, dtype=np.uint8)
            chain = self.loop(first_replica(self.problem, everything, rng))
            chain.sweeps(rng, SETTLING)
            settled = self.replica(chain.state())
            found = {name: getattr(settled, name) for name in ("kernel", "klass", "imputed")}
        gamma = self.starts
        if gamma is None:
            gamma = dispersed_start(self.problem.space, _any_subset, rng)
        chain = self.loop(replace(first_replica(self.problem, gamma, rng), **found))
        chain.sweeps(rng, min(TRIAL, self.burn_in // 20), moves=self.moves, adapt=True)
        return chain


def _any_subset(gamma: ByteArray) -> bool:
    """Every subset has a posterior."""
    return True


class MixtureRunner:
    """One chain: the compiled loop, its generator, its powers and what it has recorded."""

    def __init__(self, job: MixtureJob, state: MixtureState) -> None:
        self.job = job
        self.rng = np.random.Generator(np.random.PCG64())
        self.rng.bit_generator.state = dict(state.bit_generator)
        self.powers = state.powers.copy()
        z = None if gaps(job.problem).any() else job.problem.z.T.copy()
        chains = [job.loop(replica, t, z) for replica, t in zip(state.replicas, self.powers, strict=True)]
        self.loop = MixtureLadder(chains, self.powers)
        self.loop.set_counts(state.moves, state.exchanges)
        self.done = state.done
        self.table = ModelTable(job.problem.n_inputs)
        self.kept = self.kept_kernels = 0
        # How much of models, draws and kernels has been told of.
        self.told = (0, 0, 0)
        # All at once: a run that memory does not suffice for fails before it begins.
        self.found = self.room(state.moves)

    def room(self, counts: IntArray) -> MixtureDraws:
        """Return arrays for all draws of the job."""
        job = self.job
        p, D, K = job.problem.n_inputs, job.problem.components, job.problem.n_classes
        kernels = -(-job.draws // job.every)
        return MixtureDraws(
            words=self.table.words,
            index=np.empty(job.draws, dtype=np.int32),
            log_posterior=np.empty(job.draws),
            log_likelihood=np.empty(job.draws),
            occupied=np.empty(job.draws, dtype=np.int32),
            counts=counts,
            mean=np.empty((kernels, D, p)),
            variance=np.empty((kernels, D, p)),
            weight=np.empty((kernels, K, D)),
            prior=np.empty((kernels, K)),
        )

    def widen(self) -> None:
        """Make room for a job of more draws, of a further round."""
        wider = self.room(self.found.counts)
        for names, size in ((("index", *SERIES), self.kept), (KERNELS, self.kept_kernels)):
            for name in names:
                getattr(wider, name)[:size] = getattr(self.found, name)[:size]
        self.found = wider

    def advance(self, n: int) -> None:
        """Run `n` more sweeps; adaptation comes after every 50th of burn-in, however they are cut."""
        stop = self.done + n
        while self.done < min(stop, self.job.burn_in):
            until = min(stop, self.job.burn_in, (self.done // EVERY + 1) * EVERY)
            self.loop.run(self.rng, until - self.done, self.job.moves, adapt=True)
            self.done = until
            moves, exchanges = self.loop.counts()
            if self.done % EVERY == 0 and self.job.options.powers()[1]:
                self.powers, exchanges = adapted(self.powers, exchanges, self.done // EVERY)
                self.loop.set_powers(self.powers)
            if self.done == self.job.burn_in:
                moves, exchanges = np.zeros_like(moves), np.zeros_like(exchanges)
            self.loop.set_counts(moves, exchanges)
        if stop > self.done:
            self.record(stop - self.done)

    def record(self, n: int) -> None:
        """Run `n` more sweeps after burn-in."""
        if self.found.index.size < self.job.draws:
            self.widen()
        words = np.zeros((n // self.job.thin + 1, n_words(self.job.problem.n_inputs)), dtype=np.uint64)
        drawn, found = slice(self.kept, None), self.found
        kernels = slice(self.kept_kernels, None)
        kept, kept_kernels = self.loop.run(
            self.rng,
            n,
            self.job.moves,
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
        self.done += n

    def state(self) -> MixtureState:
        """Return the state between two sweeps, from which a runner resumes to the same draws."""
        return MixtureState(
            [self.job.replica(state) for state in self.loop.states()],
            self.powers.copy(),
            self.rng.bit_generator.state,
            self.done,
            *self.loop.counts(),
        )

    def plain_state(self) -> Plain:
        """Return the state as plain data."""
        return state_to_plain(self.state(), self.job.problem)

    def news(self) -> dict[str, np.ndarray]:
        """Return what was recorded since this was last asked."""
        models, draws, kernels = self.told
        new = self._recorded(models, draws, kernels)
        self.told = len(self.table), self.kept, self.kept_kernels
        return {name: array for name, array in new.items() if len(array)}

    def _recorded(self, models: int = 0, draws: int = 0, kernels: int = 0) -> dict[str, np.ndarray]:
        """Return what was recorded from some model, draw and draw with kernels on."""
        found = {"words": self.table.words[models:]}
        found.update({name: getattr(self.found, name)[draws : self.kept] for name in ("index", *SERIES)})
        found.update({name: getattr(self.found, name)[kernels : self.kept_kernels] for name in KERNELS})
        return found

    def restore(self, recorded: Content) -> None:
        """Have what was recorded before the state."""
        self.kept = max(0, self.done - self.job.burn_in) // self.job.thin
        self.kept_kernels = -(-self.kept // self.job.every)
        if self.kept:
            self.table.add(recorded.array("words", np.uint64, (None, self.table.words.shape[1])))
        for names, size in ((("index", *SERIES), self.kept), (KERNELS, self.kept_kernels)):
            for name in names if size else ():
                into = getattr(self.found, name)[:size]
                into[...] = recorded.array(name, into.dtype, into.shape)
        index = self.found.index[: self.kept]
        if self.kept and not 0 <= index.min() <= index.max() < len(self.table):
            raise recorded.wrong("index", f"rows of {len(self.table)} subsets")
        self.told = len(self.table), self.kept, self.kept_kernels

    def look(self) -> MixtureDraws:
        """Return what was recorded, for a look at its accuracy."""
        return self.finish(True)

    def finish(self, completed: bool) -> MixtureDraws:
        """Return what was recorded, with the counts of moves and of exchanges."""
        return MixtureDraws(**self._recorded(), counts=np.concatenate(self.loop.counts(), axis=1))


def thinning(problem: MixtureProblem, settings: FitSettings) -> int:
    """Return how many draws there are to one whose kernels are kept: a power of 2, as longer runs need it.

    A run that stops by itself keeps, from the first round on, what the longest would, which has more room.
    """
    D, K = problem.components, problem.n_classes
    numbers = (2 * problem.n_inputs + K) * D + K
    most = KERNEL_BYTES if settings.accuracy is None else MOST_KERNEL_BYTES
    return max(settings.every, power_of_2(-(-settings.planned * numbers * 8 * settings.chains // most)))


def run(
    problem: MixtureProblem,
    settings: FitSettings,
    options: MixtureOptions,
    label: str = "mixture",
) -> MixturePosterior:
    """Return the posterior that reversible-jump chains found.

    Parameters
    ----------
    problem : MixtureProblem
    settings : FitSettings
        Draws, burn-in, thinning, chains, seed, workers and progress.
    options : MixtureOptions
    label : str, default "mixture"
        What stands before the progress bar, and in the names of the files of a checkpoint.

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
        inputs or of the log posterior over all chains exceeds 1.2, or the effective sample size of one of
        them or of an inclusion probability that moved is below 100; if a run that was to stop by itself
        ended before its figures were accurate.
    """
    every = thinning(problem, settings)
    starts = given_start(options.start, problem.space, _any_subset)
    job = MixtureJob(problem, options, settings.draws, settings.burn_in, settings.thin, every, starts)
    rule = stopping(problem, settings.asked_mcse)
    drawn = settings.run(job, label, lambda chain: int(chain.index.size), rule)
    posterior = summarise(problem, settings, options, drawn, every)
    for text in posterior.notes:
        warn(text, ConvergenceWarning)
    return posterior

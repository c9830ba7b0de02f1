"""The particle filter of kernel regression: passes over rows. The loop itself is in ``_filter.pyx``."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from pyrjsel._core import special
from pyrjsel._typing import FloatArray, IntArray
from pyrjsel.kernel.samplers.columns import KEPT, Columns
from pyrjsel.kernel.samplers.particles import loop_of, refresh, resample, start
from pyrjsel.kernel.samplers.serialization import state_from_plain, state_to_plain
from pyrjsel.kernel.state import MOVES, FilterState, KernelSettings, Particles
from pyrjsel.runtime import Checkpoint, Stopwatch, run_chains
from pyrjsel.storage import Content, Plain

# Rows that births and shifts of all particles propose after a new row, at least one for each move of a
# particle, once columns are dropped: each costs O(t m). Before, every move of every particle has its own.
POOL = 8
# Most sweeps of moves after a row: there are the more, the more alike particles are after resampling.
SWEEPS = 8
# Rows for each group of particles, of which one moves at a row.
GROUPED = 512
# Mean square of standardised residuals from which on all particles are asked: three standard deviations.
SURPRISE = 9.0


class FilterRunner:
    """A filter on its way: the arrays of its state with room for the rows to come.

    Parameters
    ----------
    settings : KernelSettings
    x : ndarray (T, d)
    y : ndarray (T,)
        All rows, those of `state` included.
    rng : numpy.random.Generator
        Source of randomness.
    state : FilterState, optional
        State to resume from; by default, that before the first row.
    """

    def __init__(
        self,
        settings: KernelSettings,
        x: FloatArray,
        y: FloatArray,
        rng: np.random.Generator,
        state: FilterState | None = None,
    ) -> None:
        self.settings, self.rng = settings, rng
        self.loop = loop_of(settings)
        sizes = np.arange(settings.max_kernels + 1)
        # log sum_{j <= k} Lambda^j / j!, what the unnormalised prior of k sums to.
        self.log_total = np.logaddexp.accumulate(
            sizes * np.log(settings.mean_kernels) - special.gammaln(sizes + 1)
        )
        rows, moves = len(y), (len(y), len(MOVES))
        # Values that a state holds for each observation, by name.
        self.path: dict[str, np.ndarray] = {
            "ess": np.empty(rows),
            "resampled": np.zeros(rows, dtype=bool),
            "ancestors": np.empty(rows, dtype=np.int64),
            "mean_k": np.empty(rows),
            "log_evidence_path": np.empty(rows),
            "moves_tried": np.zeros(moves, dtype=np.int64),
            "moves_accepted": np.zeros(moves, dtype=np.int64),
        }
        if state is None:
            self.particles, self.log_weights = start(settings, int(settings.particles), float(y[0]), rng)
            self.columns = Columns(settings, x, y)
            return
        t = len(state.y)
        self.particles, self.log_weights = state.copies(), state.log_weights.copy()
        parts = (state.owners, state.columns, state.gram, state.moments)
        self.columns = Columns.restore(settings, x, y, t, parts)
        for name, array in self.path.items():
            array[:t] = getattr(state, name)

    def advance(self, n: int) -> None:
        """Take `n` more rows in."""
        for _ in range(n):
            self._row()

    def _row(self) -> None:
        settings, columns, rng, path = self.settings, self.columns, self.rng, self.path
        moves = int(settings.rejuvenate)
        row = columns.t
        columns.see_row()
        groups = self._groups()
        increment = np.empty(len(self.log_weights))
        self.loop.propose(rng, row + 1, self.particles.k, self.particles.centres, increment)
        asked = self._asked(groups)
        self._ensure(np.array([row], dtype=np.int32), asked)
        self._weigh(increment, asked)
        weights = self._normalise(increment, row)
        path["mean_k"][row] = weights @ self.particles.k
        path["ess"][row] = 1.0 / np.sum(weights**2)
        path["ancestors"][row] = len(weights)
        share, sweeps = path["ess"][row] / len(weights), 1
        if share < settings.ess_threshold:
            chosen = resample(settings.resampling, weights, rng)
            path["resampled"][row], path["ancestors"][row] = True, len(np.unique(chosen))
            self.particles = self.particles.take(chosen)
            self.log_weights = np.full(len(weights), -np.log(len(weights)))
            sweeps = min(SWEEPS, int(np.ceil(settings.ess_threshold / share)))
            groups = 1
        # Not those that were asked, of which too many have the newest row. Kin, which hold few columns.
        movers = self._movers(groups)
        counts = path["moves_tried"][row], path["moves_accepted"][row]
        for _ in range(sweeps):
            pool = self._pool(moves)
            self._ensure(pool, movers)
            for piece, inside in self._pieces(movers):
                refresh(self.loop, columns, piece, moves if inside else 0, pool, rng, counts)
        if columns.t > KEPT:
            columns.retain(self.particles.held())

    def _groups(self) -> int:
        """Return G: one in G particles may take the newest row in, and a G-th of the particles moves.

        The columns of a row cost O(t m), with the m columns of the particles that move. The weight of what
        one more row tells is 1 / t: with G = t / GROUPED there are as many moves between t and 2 t rows for
        any t, and m falls as t grows. All particles are asked where the response is far from what they
        predict, as may be at the first row of its kind: what a few find there is too little to resample.
        """
        t, settings = self.columns.t, self.settings
        groups = min(t // GROUPED, int(settings.particles))
        # Blind moves need the columns of all particles at each row.
        if groups <= 1 or settings.blind_fraction > 0.0 or self._surprise() > SURPRISE:
            return 1
        return groups

    def _asked(self, groups: int) -> IntArray:
        """Return particles drawn at random, one in so many; all for one group.

        Not a group: as many as are asked together again and again would have weights in common.
        """
        n = len(self.log_weights)
        return np.arange(n) if groups == 1 else self.rng.permutation(n)[: n // groups]

    def _movers(self, groups: int) -> slice:
        """Return consecutive particles, a group drawn at random."""
        n = len(self.log_weights)
        chosen = int(self.rng.integers(groups)) if groups > 1 else 0
        return slice(n * chosen // groups, n * (chosen + 1) // groups)

    def _pieces(self, inside: slice) -> list[tuple[Particles, bool]]:
        """Return the particles in order, with whether they are inside."""
        cuts = (slice(inside.start), False), (inside, True), (slice(inside.stop, None), False)
        return [(self.particles.take(cut), moved) for cut, moved in cuts]

    def _surprise(self) -> float:
        """Return the mean over particles of the square of the newest response's standardised residual.

        The posterior means of coefficients are those before the row.
        """
        columns, particles, first = self.columns, self.particles, self.columns.fixed
        row = columns.t - 1
        values = columns.columns[: columns.m, row]
        # Beyond the centres of a particle means are 0.
        fitted = particles.mean[:, :first] @ values[:first]
        fitted += np.sum(particles.mean[:, first:] * values[columns.slot[particles.centres]], axis=1)
        return float(np.exp(self.log_weights) @ ((columns.y[row] - fitted) ** 2 / particles.sigma2))

    def _ensure(self, rows: NDArray[np.int32], some: IntArray | slice) -> None:
        """Have the columns of `rows`, and their products with those of some particles."""
        if self.settings.blind_fraction > 0.0 or self.columns.t < 2 * GROUPED:
            self.columns.ensure(np.concatenate([self.particles.held(), rows]))
        else:
            self.columns.ensure(rows, self.particles.take(some).held())

    def _pool(self, moves: int) -> NDArray[np.int32]:
        """Return the rows that rejuvenation proposes, drawn anew: they know nothing of the particles."""
        t = self.columns.t
        size = moves * len(self.log_weights) if t <= KEPT else max(moves, POOL) if moves else 0
        return self.rng.integers(t, size=size, dtype=np.int32)

    def _weigh(self, increment: FloatArray, asked: IntArray) -> None:
        """Add what the row says of each particle; those that are asked may take it as a centre."""
        columns, literal = self.columns, self.settings.importance == "paper"
        self.loop.see(columns.slot[: columns.t], columns.gram, columns.moments, columns.yy)
        increment -= self.particles.log_marginal
        chances, at = np.zeros(len(increment)), 0
        chances[asked] = asked.size / chances.size
        for part in self.particles.chunks():
            given = part.k, part.centres, part.sigma2, part.delta2
            if literal:
                self.loop.log_marginals(*given, part.log_marginal)
            else:
                self.loop.weigh(self.rng, chances[at : at + len(part.k)], *given, part.log_marginal)
            at += len(part.k)
        increment += self.particles.log_marginal

    def _normalise(self, increment: FloatArray, row: int) -> FloatArray:
        """Multiply the weights, note the log evidence, and return the normalised weights."""
        # mathematics: kernel-evidence
        most = len(self.log_total) - 1
        path = self.path["log_evidence_path"]
        before = path[row - 1] + self.log_total[min(most, row)] if row else 0.0
        self.log_weights = self.log_weights + increment
        total = float(np.logaddexp.reduce(self.log_weights))
        self.log_weights -= total
        path[row] = before + total - self.log_total[min(most, row + 1)]
        weights = np.exp(self.log_weights)
        return weights / weights.sum()

    def state(self) -> FilterState:
        """Return the state after the last row, from which a runner resumes to the same particles."""
        t = self.columns.t
        owners, columns, gram, moments = self.columns.parts()
        return FilterState(
            **self.particles.copies().arrays(),
            x=self.columns.x[:t].copy(),
            y=self.columns.y[:t].copy(),
            log_weights=self.log_weights.copy(),
            log_evidence=float(self.path["log_evidence_path"][t - 1]) if t else 0.0,
            owners=owners,
            columns=columns,
            gram=gram,
            moments=moments,
            **{name: array[:t].copy() for name, array in self.path.items()},
            bit_generator=self.rng.bit_generator.state,
        )

    def plain_state(self) -> Plain:
        """Return the state as plain data; it has what was recorded."""
        return state_to_plain(self.state())

    def news(self) -> dict[str, np.ndarray]:
        """Return nothing: all is in the state."""
        return {}

    def finish(self, completed: bool) -> FilterState:
        """Return the state, of the rows done where a run was interrupted."""
        return self.state()


class FilterJob:
    """The job of one filter, for :func:`run_chains`; picklable.

    Parameters
    ----------
    settings : KernelSettings
    x : ndarray (T, d)
    y : ndarray (T,)
        Rows in their order, without those of `state`.
    state : FilterState, optional
        State to resume from, with its own random numbers.
    """

    def __init__(
        self, settings: KernelSettings, x: FloatArray, y: FloatArray, state: FilterState | None = None
    ) -> None:
        self.settings, self.given = settings, state
        self.x = np.ascontiguousarray(x if state is None else np.concatenate([state.x, x]), dtype=float)
        self.y = np.ascontiguousarray(y if state is None else np.concatenate([state.y, y]), dtype=float)
        self.total = len(y)

    def start(self, seed: np.random.SeedSequence, chain: int) -> FilterRunner:
        """Return a runner before its first new row."""
        rng = np.random.Generator(np.random.PCG64(seed))
        if self.given is not None:
            rng.bit_generator.state = dict(self.given.bit_generator)
        return FilterRunner(self.settings, self.x, self.y, rng, self.given)

    def resume(self, state: Content, recorded: Mapping[str, np.ndarray], chain: int) -> FilterRunner:
        """Return the runner of a state."""
        known = state_from_plain(state, self.x, self.y, self.settings)
        rng = np.random.Generator(np.random.PCG64(0))
        rng.bit_generator.state = dict(known.bit_generator)
        return FilterRunner(self.settings, self.x, self.y, rng, known)


class Passes:
    """Filters of equally many rows, for :func:`run_chains`.

    Parameters
    ----------
    jobs : sequence of FilterJob
        What each pass does.
    """

    def __init__(self, jobs: Sequence[FilterJob]) -> None:
        self.jobs = list(jobs)
        self.total = self.jobs[0].total

    def start(self, seed: np.random.SeedSequence, chain: int) -> FilterRunner:
        """Return the runner of pass number `chain`."""
        return self.jobs[chain].start(seed, chain)

    def resume(self, state: Content, recorded: Mapping[str, np.ndarray], chain: int) -> FilterRunner:
        """Return the runner of a state of pass number `chain`."""
        return self.jobs[chain].resume(state, recorded, chain)


def run_passes(
    jobs: Sequence[FilterJob],
    rng: np.random.Generator,
    *,
    n_jobs: int | None = None,
    progress: bool | None = None,
    checkpoint: Checkpoint | None = None,
    watch: Stopwatch | None = None,
) -> list[FilterState]:
    """Return the states of filters after their passes, or after what Ctrl-C left of them.

    CPU seconds are added to a `watch`, where there is one.

    Raises
    ------
    KeyboardInterrupt
        If one was interrupted before its first row.
    """
    outcome = run_chains(
        Passes(jobs), len(jobs), rng, n_jobs=n_jobs, progress=progress, label="rows", checkpoint=checkpoint
    )
    if watch is not None:
        watch.add(sum(spent.cpu for spent in outcome.spent), outcome.aside)
    states: list[FilterState] = outcome.results
    if any(len(state.y) == 0 for state in states):
        raise KeyboardInterrupt("interrupted before the first row")
    return states

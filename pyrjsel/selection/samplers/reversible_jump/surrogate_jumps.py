"""Reversible jumps that propose a model by a surrogate chain, and coefficients around its mode.

From (gamma, b), a chain of fixed length that is reversible with respect to a surrogate pi~ over models
proposes gamma'. For each of the two models, m pairs of coefficient vectors are drawn from q, a Student
distribution at the posterior mode of its coefficients with the inverse Hessian as its scale; the vectors of a
pair are mirror images about the mode. All pairs are new, except that one pair of gamma consists of b and its
mirror image. With w the ratio of the posterior density of a model and its coefficients to q, and Z the
average of w over the 2 m vectors of a model, gamma' is accepted with probability

    min{1, [Z(gamma') pi~(gamma)] / [Z(gamma) pi~(gamma')]}.

The next coefficients are one of the vectors of the resulting model, chosen in proportion to w.

This is exact for every m. Extend the posterior to a model, m pairs and one marked vector b, with density
pi(gamma, b) / (2 m) times q of all pairs except that of b. The marginal distribution of (gamma, b) is the
posterior, and given these the other pairs are draws from q. The marginal density of the model and all pairs
is Z(gamma) times q of all pairs, and given these a vector is marked with probability proportional to w.
Drawing the other pairs, the Metropolis-Hastings step and marking a vector each leave the extended
distribution invariant. With more pairs the acceptance rate approaches that of a sampler with the coefficients
integrated out. (Andrieu, Doucet and Holenstein 2010, "Particle Markov chain Monte Carlo methods".)

Modes depend only on the model, and the surrogate only on data, priors and constraints: neither is part of the
state of a chain.
"""

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pyrjsel._typing import ByteArray, FloatArray, IntArray, WordArray
from pyrjsel.model_space import ModelSpace, Space, block_rates, term_blocks
from pyrjsel.selection.evidence._evidence import Evidence
from pyrjsel.selection.evidence.laplace import MarginalLikelihood
from pyrjsel.selection.evidence.surrogate import Surrogate
from pyrjsel.selection.regression.glm import Regression
from pyrjsel.selection.samplers._walk import Walk
from pyrjsel.selection.samplers.options import default_swaps, default_trades
from pyrjsel.selection.samplers.reversible_jump._rjmcmc import ReversibleJump
from pyrjsel.selection.samplers.surrogate_chain import MakeWalk, SurrogateChain

# Length of a chain, in proposals of each free term; pairs of coefficient vectors, an even number; degrees of
# freedom of their distribution.
TIME, PAIRS, DF = 5.0, 8, 8.0
# Chains for learning the surrogate: uncorrected ones, which search for the posterior; corrected ones, after
# which it is expanded again; and those for learning its corrections, twice.
LED, EXPANDED, LEARNT = 100, 200, (300, 600)
# Bytes of the modes that a chain keeps, the most recently used; others are computed again when needed.
KEPT_BYTES = 2**23


@dataclass(frozen=True, slots=True)
class Mode:
    """The mode of the coefficients of a model.

    Attributes
    ----------
    columns : int array (d,)
    at : ndarray (d,)
        The mode, internal coefficients.
    factor : ndarray (d, d)
        Lower Cholesky factor of minus the Hessian of the log posterior there.
    log_posterior, log_marginal : float
        The log posterior there and the Laplace value, from `ModeFinder`.
    """

    columns: IntArray
    at: FloatArray
    factor: FloatArray
    log_posterior: float
    log_marginal: float


def walk_maker(space: ModelSpace) -> MakeWalk:
    """Return a constructor of chains over the models of a space, with suitable moves."""
    blocks = term_blocks(space)
    rate = block_rates(len(blocks), None, 0.0)[1]

    def make(evidences: Sequence[Evidence], compiled: Space, gamma: ByteArray, powers: FloatArray) -> Walk:
        return Walk(
            list(evidences),
            compiled,
            gamma,
            powers,
            slots=default_swaps(space),
            families=blocks,
            family_rate=rate,
            trades=default_trades(space),
        )

    return make


def _single(regression: Regression, space: ModelSpace) -> MarginalLikelihood:
    return MarginalLikelihood(regression, b"", 2, regression.widest(space.max_size))


def learn_surrogate(regression: Regression, space: ModelSpace) -> Surrogate:
    """Return the surrogate of a fit, a function of data, priors and constraints alone.

    Raises
    ------
    DataError
        If the smallest model has no posterior mode.
    """
    marginal, gamma = _single(regression, space), space.empty_model()
    guide = SurrogateChain(marginal, space, walk_maker(space), TIME)
    found = Surrogate(marginal.expansion(gamma), np.zeros(space.n_terms))
    marginal.check_mode()
    for walks, corrected in ((LED, False), (EXPANDED, True)):
        gamma, _ = guide.walk(found, gamma, walks, corrected)
        if guide.models:
            found = Surrogate(guide.centre(), found.correction)
    for walks in LEARNT:
        gamma, _ = guide.walk(found, gamma, walks, True)
        found = guide.corrected(found)
    return found


class SurrogateJumps:
    """Surrogate jumps of one chain; see the module docstring.

    Parameters
    ----------
    regression : Regression
    space : ModelSpace
    surrogate : Surrogate
    time : float
        Length of a chain on the surrogate.
    pairs : int
        Number of pairs of coefficient vectors per model, even.
    """

    def __init__(
        self,
        regression: Regression,
        space: ModelSpace,
        surrogate: Surrogate,
        *,
        time: float = TIME,
        pairs: int = PAIRS,
    ) -> None:
        self.marginal = _single(regression, space)
        self.correction = surrogate.correction * space.free
        self.time, self.pairs = time, pairs
        first = space.empty_model()[None]
        self.walk = walk_maker(space)(
            surrogate.evidences(regression, 1), surrogate.space(space), first, np.ones(1)
        )
        self.modes: OrderedDict[bytes, Mode | None] = OrderedDict()
        widest = regression.widest(space.max_size)
        self.most = max(16, KEPT_BYTES // (8 * widest * (widest + 2)))

    def mode(self, gamma: ByteArray) -> Mode | None:
        """Return the mode of a model (J,); None if it has none."""
        key = gamma.tobytes()
        if key in self.modes:
            self.modes.move_to_end(key)
            return self.modes[key]
        finder = self.marginal.finder
        finder.mode(gamma)
        found = None
        if finder.status == 0:
            found = Mode(finder.columns, finder.at, finder.factor, finder.log_posterior, finder.log_marginal)
        self.modes[key] = found
        if len(self.modes) > self.most:
            self.modes.popitem(last=False)
        return found

    def place(self, gamma: ByteArray) -> float | None:
        """Move the surrogate chain to a model (J,); return log pi~ minus log prior, None if pi~ is 0."""
        try:
            self.walk.set_state(gamma[None])
        except ValueError:  # dependent columns, by the rank rule of the surrogate
            return None
        return float(self.walk.log_evidence()[0]) + float(gamma @ self.correction)

    def draws(
        self, rng: np.random.Generator, gamma: ByteArray, mode: Mode, b: FloatArray | None
    ) -> tuple[float, FloatArray, FloatArray]:
        """Return log Z minus the log prior of a model (J,), the vectors (2 m, d) and their weights (2 m,).

        The first of the vectors is `b` (D + 1,) if it is given.
        """
        # mathematics: jumps-weights
        d = mode.at.size
        direction = rng.standard_normal((self.pairs, d))
        radius = np.sqrt(np.sum(direction**2, axis=1) * (DF / rng.chisquare(DF, self.pairs)))
        if b is not None:
            own = (b[mode.columns] - mode.at) @ mode.factor
            radius[0] = np.sqrt(own @ own)
            if radius[0] > 0.0:  # at the mode itself any direction can be used
                direction[0] = own
        unit, points, weights = self.marginal.finder.integrate_at(
            gamma, mode.at, mode.factor, mode.log_posterior, radius, direction, DF
        )
        return mode.log_marginal + unit + float(np.log(weights.mean())), points, weights

    def jump(
        self, rng: np.random.Generator, gamma: ByteArray, b: FloatArray
    ) -> tuple[ByteArray, FloatArray, bool]:
        """Return the next model (J,) and coefficients (D + 1,), and whether the proposal was accepted."""
        # mathematics: jumps-extended, mathematics: jumps-surrogate
        mode, before = self.mode(gamma), self.place(gamma)
        if mode is None or before is None:
            return gamma, b, False
        log_z, points, weights = self.draws(rng, gamma, mode, b)
        self.walk.run(rng, 1, self.time)
        proposed = self.walk.gamma()[0]
        found, after = self.mode(proposed), self.place(proposed)
        accepted = False
        if found is not None and after is not None:
            log_new, new_points, new_weights = self.draws(rng, proposed, found, None)
            log_ratio = (log_new - after) - (log_z - before)
            # NaN if no vector of the proposed model has a finite density.
            accepted = log_ratio > -np.inf and rng.random() < np.exp(min(0.0, log_ratio))
            if accepted:
                gamma, mode, points, weights = proposed, found, new_points, new_weights
        edges = np.cumsum(weights)
        marked = int(np.searchsorted(edges, rng.random() * edges[-1], side="right"))
        if marked == 0 and not accepted:
            return gamma, b, False
        out = np.zeros_like(b)
        out[mode.columns] = points[min(marked, edges.size - 1)]
        return gamma, out, accepted


class SurrogateLoop:
    """A compiled chain with surrogate jumps at the start of each iteration; same methods as the chain.

    Parameters
    ----------
    loop : ReversibleJump
    jumps : SurrogateJumps
    count : int
        Number of jumps per iteration.
    """

    def __init__(self, loop: ReversibleJump, jumps: SurrogateJumps, count: int) -> None:
        self.loop, self.jumps, self.count = loop, jumps, count
        self.made = np.zeros(2, dtype=np.int64)

    def run(
        self,
        rng: np.random.Generator,
        n: int,
        *,
        done: int = 0,
        thin: int = 1,
        words: WordArray | None = None,
        log_posterior: FloatArray | None = None,
        coefficients: FloatArray | None = None,
        every: int = 1,
        sums: FloatArray | None = None,
    ) -> tuple[int, int]:
        """Run `n` iterations, recording as the chain does."""
        kept = kept_b = 0
        for i in range(n):
            state = gamma, b = self.loop.state()
            for _ in range(self.count):
                gamma, b, accepted = self.jumps.jump(rng, gamma, b)
                self.made += (1, int(accepted))
            if b is not state[1]:
                self.loop.set_state(gamma, b)
            more, more_b = self.loop.run(
                rng,
                1,
                done=done + i,
                thin=thin,
                words=None if words is None else words[kept:],
                log_posterior=None if log_posterior is None else log_posterior[kept:],
                coefficients=None if coefficients is None else coefficients[kept_b:],
                every=every,
                sums=sums,
            )
            kept, kept_b = kept + more, kept_b + more_b
        return kept, kept_b

    def set_counts(self, counts: np.ndarray) -> None:
        """Set the counts, as `counts` returned them."""
        self.loop.set_counts(np.ascontiguousarray(counts[:, :-1]))
        self.made = counts[:, -1].copy()

    def counts(self) -> np.ndarray:
        """Return proposals and acceptances by move, the jumps last."""
        return np.column_stack([self.loop.counts(), self.made])

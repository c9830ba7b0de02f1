"""Moves of several terms in plain numpy: the twin of ``_blocks.pyx``, from the definitions.

What is proposed, how probable that is, and how probable the way back would have been is written out for
whole models and states. Random numbers, after those for the flips and swaps of an iteration:

- trade: a uniform number for the direction, one for the term and, where several sets of its unit may move,
  one for the set; in: a uniform number for each term that leaves; out: one for each that enters and, before
  all but the first of them, one for whether that is so; then those of the coefficients and of the decision;
- family: a uniform number for the family and one for its terms; then as above.

Coefficients take a standard normal number a column and two exponential ones; with fixed proposals, these for
each term. Nothing is drawn after it is known that the new state has no mass or that no path leads back.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import reference_jumps as reference
from reference_jumps import Move, State, Student, Transition
from scipy.special import logsumexp

from pyrjsel._typing import ByteArray, FloatArray, IntArray
from pyrjsel.model_space import ModelSpace

# Terms on the other side of a trade at most, Newton steps behind a proposal, and bounds of the probability
# that an addition was the last.
MOST = 20
STEPS = 3
STOPS = (0.1, 0.9)
Models = list[ByteArray]


@dataclass(frozen=True)
class Blocks:
    """What moves of several terms need beside target and proposals.

    Attributes
    ----------
    transition : Transition
    families : sequence of int array
        Each a term with what heredity makes it need, itself last.
    trades, family_moves : int
        Proposals an iteration.
    entry : ndarray (J,), optional
        Weights with which trades choose the term that comes in; None is the same for all.
    """

    transition: Transition
    families: Sequence[IntArray] = ()
    trades: int = 0
    family_moves: int = 0
    entry: FloatArray | None = None

    @property
    def space(self) -> ModelSpace:
        """The models."""
        return self.transition.space

    @property
    def gaussian(self) -> bool:
        """Whether a Newton step ends at the maximum."""
        return self.transition.regression.family.name == "gaussian"

    # ------------------------------------------------------------------ models

    def unit(self, j: int) -> IntArray:
        """Return term `j` with what heredity makes it need, itself last."""
        return next((family for family in self.families if family[-1] == j), np.array([j]))

    def sets(self, gamma: ByteArray, j: int, inward: bool) -> Models:
        """Return `gamma` with (without) `j` and terms of its unit that go with it, bounds apart."""
        unit, loose = self.unit(j), replace(self.space, budget=math.inf, max_size=gamma.size)
        found = []
        for model in self.parts(gamma, unit):
            more, less = (model, gamma) if inward else (gamma, model)
            if model[j] != gamma[j] and (less <= more).all() and loose.feasible(model):
                found.append(model)
        return found

    @staticmethod
    def parts(gamma: ByteArray, unit: IntArray) -> Models:
        """Return `gamma` with every set of terms of a unit in."""
        models = []
        for pattern in range(2**unit.size):
            model = gamma.copy()
            model[unit] = pattern >> np.arange(unit.size) & 1
            models.append(model)
        return models

    def breaks(self, gamma: ByteArray) -> bool:
        """Whether a model breaks the budget or the largest size."""
        return bool(gamma.sum() > self.space.max_size or self.space.cost(gamma) > self.space.budget_limit)

    def change(self, gamma: ByteArray, j: int) -> float:
        """Return what flipping term `j` adds to the log prior, -inf where it may not be."""
        other = gamma.copy()
        other[j] ^= 1
        return float(self.space.log_prior(other)) - float(self.space.log_prior(gamma))

    def beside(self, gamma: ByteArray, inside: bool, j: int) -> list[int]:
        """Return the free terms inside (outside) that are not of the unit of term `j`."""
        free = np.flatnonzero((gamma == inside) & (self.space.free == 1))
        return [int(i) for i in free if i not in self.unit(j)]

    # ------------------------------------------------------------------ coefficients

    def columns(self, terms: Sequence[int]) -> np.ndarray:
        """Return the columns of terms, in this order."""
        blocks = [np.arange(self.transition.block(j).start, self.transition.block(j).stop) for j in terms]
        return np.concatenate([np.empty(0, dtype=int), *blocks])

    def newton(self, b: FloatArray, columns: np.ndarray) -> tuple[FloatArray, reference.Gaussian]:
        """Return `b` after a Newton step in these columns, cut where it is very long, and the step."""
        normal = self.transition.newton(b, columns, None if self.gaussian else 1.0)
        b = b.copy()
        b[columns] = normal.mean
        return b, normal

    def proposals(self, b: FloatArray, terms: Sequence[int], steps: int) -> list[Student]:
        """Return the laws from which blocks of `terms` are drawn, whose coefficients were `b` on the way."""
        fixed = self.transition.fixed
        if fixed is not None:
            state = State(np.zeros(0, dtype=np.uint8), b)
            return [self.transition.proposal(state, j) for j in terms]
        for _ in range(steps):
            b, normal = self.newton(b, self.columns(terms))
        return [Student(normal.mean, normal.precision)]

    def jointly(self, b: FloatArray, terms: Sequence[int]) -> list[Student]:
        """Return the laws of the blocks of `terms` that enter together, `b` being those that stay."""
        return self.proposals(b, terms, 1 if self.gaussian else STEPS) if len(terms) else []

    @staticmethod
    def sample(laws: Sequence[Student], rng: np.random.Generator) -> FloatArray:
        """Draw from one law after another."""
        return np.concatenate([np.empty(0), *(law.sample(rng) for law in laws)])

    @staticmethod
    def logpdf(laws: Sequence[Student], values: FloatArray) -> float:
        """Return the log density of one block after another."""
        ends = np.cumsum([law.mean.size for law in laws])[:-1]
        return sum(law.logpdf(part) for law, part in zip(laws, np.split(values, ends), strict=True))

    def log_bayes(self, b: FloatArray, j: int, inside: bool) -> float:
        """Return about the log Bayes factor of term `j`: by a Newton step, or by its own block."""
        block = self.transition.block(j)
        normal = self.transition.newton(b, block)
        at = b[block] if inside else normal.mean
        diagonal = np.diag(self.transition.regression.prior.precision)[block]
        log_det = np.linalg.slogdet(normal.precision)[1]
        return float(0.5 * (at @ normal.precision @ at - log_det + np.log(diagonal).sum()))

    # ------------------------------------------------------------------ paths

    def evictions(self, state: State, j: int, unit: ByteArray, path: list[int]) -> dict[int, float]:
        """Return the log probabilities of what leaves next on a path in of terms `unit`."""
        gamma = state.gamma.copy()
        gamma[path] = 0
        weights = {
            i: 0.5 * (self.change(gamma, i) - self.log_bayes(state.b, i, True))
            for i in self.beside(gamma, True, j)
        }
        return normalised(weights)

    def additions(
        self, gamma: ByteArray, b: FloatArray, j: int, unit: ByteArray, first: bool
    ) -> tuple[dict[int, float], float]:
        """Return log probabilities of what enters next on a path out of terms `unit`, and of a stop."""
        weights = {}
        for i in self.beside(gamma, False, j):
            larger = gamma | unit
            larger[i] = 1
            if not first or self.breaks(larger):
                weights[i] = 0.5 * (self.log_bayes(b, i, False) + self.change(gamma, i))
        top = max(weights.values(), default=-math.inf)
        if top == -math.inf:
            return {}, 1.0
        stop = 1 / (1 + math.exp(top)) if top < 700 else 0.0
        return normalised(weights), min(max(stop, STOPS[0]), STOPS[1])

    def enter_path(
        self, middle: State, j: int, unit: ByteArray, choose: "Chooser"
    ) -> tuple[float, list[int], list[Student]] | None:
        """Return log probability, terms and laws of blocks of a path out; None for no path."""
        gamma, b, log_p = middle.gamma.copy(), middle.b, 0.0
        path: list[int] = []
        while True:
            chances, stop = self.additions(gamma, b, j, unit, not path)
            if not chances:
                if not path or choose.wants_more(len(path)):
                    return None
                break
            if path:
                stop = 1.0 if len(path) == MOST else stop
                if choose.stops(stop, len(path)):
                    log_p += math.log(stop)
                    break
                log_p += math.log1p(-stop)
            i = choose.term(chances, len(path))
            if chances.get(i, -math.inf) == -math.inf:
                return None
            log_p += chances[i]
            gamma[i] = 1
            path.append(i)
            if not self.transition.has_prior(gamma):
                return None
            b, normal = self.newton(b, self.columns(path))
        if self.gaussian and self.transition.fixed is None:
            return log_p, path, [Student(normal.mean, normal.precision)]
        return log_p, path, self.proposals(b, path, STEPS - 1)

    def leave_path(
        self, state: State, j: int, unit: ByteArray, choose: "Chooser"
    ) -> tuple[float, list[int]] | None:
        """Return the log probability of what leaves on a path in, and the terms; None for no path."""
        path: list[int] = []
        log_p = 0.0
        gamma = state.gamma.copy()
        while self.breaks(gamma | unit):
            if len(path) == MOST or choose.stops(0.0, len(path)):
                return None
            chances = self.evictions(state, j, unit, path)
            i = choose.term(chances, len(path))
            if chances.get(i, -math.inf) == -math.inf:
                return None
            log_p += chances[i]
            gamma[i] = 0
            path.append(i)
        return (log_p, path) if path and not choose.wants_more(len(path)) else None

    # ------------------------------------------------------------------ moves

    def entries(self, gamma: ByteArray) -> tuple[IntArray, FloatArray]:
        """Return the terms that a trade from `gamma` may bring in, and the probability of each."""
        terms = np.flatnonzero((self.space.free == 1) & (gamma == 0))
        weights = np.ones(terms.size) if self.entry is None else self.entry[terms]
        return terms, weights / weights.sum()

    def log_entry(self, gamma: ByteArray, j: int) -> float:
        """Return the log probability that a trade in from `gamma` is of term `j`."""
        terms, chances = self.entries(gamma)
        return math.log(chances[list(terms).index(j)])

    def without(self, state: State, terms: Sequence[int]) -> State:
        """Return a state without terms."""
        gamma, b = state.gamma.copy(), state.b.copy()
        gamma[list(terms)] = 0
        b[self.columns(terms)] = 0.0
        return State(gamma, b)

    def with_terms(self, state: State, terms: Sequence[int], values: FloatArray) -> State:
        """Return a state with terms whose blocks are `values`."""
        gamma, b = state.gamma.copy(), state.b.copy()
        gamma[list(terms)] = 1
        b[self.columns(terms)] = values
        return State(gamma, b)

    def log_ratio(
        self,
        old: State,
        new: State,
        forth: tuple[Sequence[Student], Sequence[int]],
        back: tuple[Sequence[Student], Sequence[int]],
        log_paths: float,
    ) -> float:
        """Return the log acceptance ratio, of laws and terms that enter and that the way back would enter."""
        log_q = self.logpdf(forth[0], new.b[self.columns(forth[1])]) if forth[1] else 0.0
        log_q_back = self.logpdf(back[0], old.b[self.columns(back[1])]) if back[1] else 0.0
        target = self.transition.log_target
        return target(new) - target(old) + log_q_back - log_q + log_paths

    def trade_in(
        self, state: State, j: int, larger: ByteArray, choose: "Chooser", rng: "Drawer"
    ) -> tuple[State, float] | None:
        """Return the state after a trade of a path for what `larger` has more, and the log ratio."""
        unit = larger - state.gamma
        ways = len(self.sets(state.gamma, j, True))
        left = self.leave_path(state, j, unit, choose)
        if left is None:
            return None
        log_p, path = left
        enter = [int(i) for i in self.unit(j) if unit[i]]
        middle = self.without(state, path)
        gamma = middle.gamma | unit
        if not self.transition.has_prior(gamma):
            return None
        laws = self.jointly(middle.b, enter)
        new = self.with_terms(middle, enter, rng(laws))
        back = self.enter_path(middle, j, unit, Given(path[::-1]))
        if back is None:
            return None
        free = self.space.free == 1
        log_paths = back[0] - math.log((gamma[free] == 1).sum()) - math.log(len(self.sets(gamma, j, False)))
        log_paths -= log_p + self.log_entry(state.gamma, j) - math.log(ways)
        return new, self.log_ratio(state, new, (laws, enter), (back[2], back[1]), log_paths)

    def trade_out(
        self, state: State, j: int, smaller: ByteArray, choose: "Chooser", rng: "Drawer"
    ) -> tuple[State, float] | None:
        """Return the state after a trade of the terms that `smaller` lacks for a path, and the log ratio."""
        unit = state.gamma - smaller
        ways = len(self.sets(state.gamma, j, False))
        leave = [int(i) for i in self.unit(j) if unit[i]]
        middle = self.without(state, leave)
        forth = self.enter_path(middle, j, unit, choose)
        if forth is None:
            return None
        log_p, path, laws = forth
        new = self.with_terms(middle, path, rng(laws))
        back_laws = self.jointly(middle.b, leave)
        back = self.leave_path(new, j, unit, Given(path[::-1]))
        if back is None:
            return None
        free = self.space.free == 1
        log_paths = back[0] + self.log_entry(new.gamma, j)
        log_paths -= math.log(len(self.sets(new.gamma, j, True)))
        log_paths -= log_p - math.log((state.gamma[free] == 1).sum()) - math.log(ways)
        return new, self.log_ratio(state, new, (laws, path), (back_laws, leave), log_paths)

    def family(self, state: State, model: ByteArray, rng: "Drawer") -> tuple[State, float] | None:
        """Return the state with `model`, other terms keeping their blocks, and the log ratio."""
        if not self.transition.has_prior(model):
            return None
        leave = np.flatnonzero((state.gamma == 1) & (model == 0)).tolist()
        enter = np.flatnonzero((state.gamma == 0) & (model == 1)).tolist()
        unit = next(family for family in self.families if set(leave + enter) <= set(family))
        enter, leave = [i for i in unit if i in enter], [i for i in unit if i in leave]
        middle = self.without(state, leave)
        laws, back = self.jointly(middle.b, enter), self.jointly(middle.b, leave)
        new = self.with_terms(middle, enter, rng(laws))
        return new, self.log_ratio(state, new, (laws, enter), (back, leave), 0.0)


def normalised(weights: dict[int, float]) -> dict[int, float]:
    """Return log probabilities of log weights, of which none is too small for a number."""
    top = max(weights.values(), default=-math.inf)
    known = {i: max(weight, top - 700) for i, weight in weights.items() if weight > -math.inf}
    return {i: weight - float(logsumexp(list(known.values()))) for i, weight in known.items()}


class Given:
    """Choices of a path that is given."""

    def __init__(self, path: Sequence[int]) -> None:
        self.path = list(path)

    def term(self, chances: dict[int, float], at: int) -> int:
        """Return the next term."""
        return self.path[at]

    def stops(self, chance: float, at: int) -> bool:
        """Return whether the path ends here."""
        return at == len(self.path)

    def wants_more(self, at: int) -> bool:
        """Return whether the path goes on."""
        return at < len(self.path)


class Drawn(Given):
    """Choices at random."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng

    def term(self, chances: dict[int, float], at: int) -> int:
        """Return a term with its probability."""
        if not chances:
            return -1
        terms = list(chances)
        share = np.cumsum(np.exp(list(chances.values())))
        place = np.searchsorted(share, self.rng.random() * share[-1], side="right")
        return int(terms[place])

    def stops(self, chance: float, at: int) -> bool:
        """Return whether the path ends here."""
        return chance == 1.0 or (chance > 0 and self.rng.random() < chance)

    def wants_more(self, at: int) -> bool:
        """Return False: what is drawn ends where it must."""
        return False


Chooser = Given


class Drawer:
    """Draws blocks of their laws.

    Parameters
    ----------
    rng : numpy.random.Generator
    """

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng

    def __call__(self, laws: Sequence[Student]) -> FloatArray:
        """Return one block after another."""
        return Blocks.sample(laws, self.rng)


class Fixed(Drawer):
    """Blocks that are given.

    Parameters
    ----------
    values : ndarray
    """

    def __init__(self, values: FloatArray) -> None:
        self.values = values

    def __call__(self, laws: Sequence[Student]) -> FloatArray:
        """Return what is given."""
        return self.values


def trade(blocks: Blocks, state: State, rng: np.random.Generator) -> tuple[State, Move]:
    """Propose a trade."""
    inward = bool(rng.random() < 0.5)
    terms = np.flatnonzero((blocks.space.free == 1) & (state.gamma != inward))
    if not terms.size:
        return state, Move("trade", -math.inf, False)
    u = rng.random()
    if inward:
        terms, chances = blocks.entries(state.gamma)
        place = int(np.searchsorted(np.cumsum(chances), u, side="right"))
        j = int(terms[min(place, terms.size - 1)])
    else:
        j = int(terms[int(u * terms.size)])
    sets = blocks.sets(state.gamma, j, inward)
    if not sets:
        return state, Move("trade", -math.inf, False)
    model = sets[0] if len(sets) == 1 else sets[int(rng.random() * len(sets))]
    propose = blocks.trade_in if inward else blocks.trade_out
    return _decided("trade", state, propose(state, j, model, Drawn(rng), Drawer(rng)), rng)


def redraw_family(blocks: Blocks, state: State, rng: np.random.Generator) -> tuple[State, Move]:
    """Propose other terms of a random family."""
    families = sorted(blocks.families, key=lambda family: int(family[-1]))
    family = families[int(rng.random() * len(families))]
    others = [
        model
        for model in blocks.parts(state.gamma, family)
        if (model != state.gamma).any() and blocks.space.feasible(model)
    ]
    if not others:
        return state, Move("block", -math.inf, False)
    model = others[int(rng.random() * len(others))]
    return _decided("block", state, blocks.family(state, model, Drawer(rng)), rng)


def _decided(
    name: str, state: State, proposed: tuple[State, float] | None, rng: np.random.Generator
) -> tuple[State, Move]:
    if proposed is None or proposed[1] == -math.inf:
        return state, Move(name, -math.inf, False)
    new, log_ratio = proposed
    accepted = rng.random() < math.exp(min(0.0, log_ratio))
    return new if accepted else state, Move(name, log_ratio, bool(accepted))


def step(blocks: Blocks, state: State, rng: np.random.Generator) -> tuple[State, list[Move]]:
    """Return the state after one iteration, and its moves in order."""
    state, moves = reference.flips_and_swaps(blocks.transition, state, rng)
    for _ in range(blocks.trades):
        state, move = trade(blocks, state, rng)
        moves.append(move)
    for _ in range(blocks.family_moves if len(blocks.families) else 0):
        state, move = redraw_family(blocks, state, rng)
        moves.append(move)
    state, move = reference.update_coefficients(blocks.transition, state, rng)
    return state, [*moves, move]

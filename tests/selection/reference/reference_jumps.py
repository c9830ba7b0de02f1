"""The transition of the reversible-jump loop in plain numpy: slow, obvious, its twin.

It consumes the random numbers of the compiled loop in the same order, so that both give the same
draws from the same generator, to rounding. Every acceptance ratio is what the textbook says,

    log pi(x') + log q(x' -> x) - log pi(x) - log q(x -> x'),

with both densities written out anew; nothing is updated, cached or cancelled. A proposal with
pi(x') = 0 is rejected before anything is drawn for it.

Random numbers of one iteration, in this order:

1. for each of as many flips as there are free terms: a uniform number for the term; where the flip is
   possible, a standard normal one for each column that enters and two exponential ones, and a uniform
   one for the decision;
2. for each swap, if a free term is inside and one outside: two uniform numbers for the terms that
   leave and enter; where the swap is possible, the same numbers as for a flip;
3. a uniform number for the reach, a standard normal one for each column of the model and a uniform one
   for the decision.
"""

import math
from dataclasses import dataclass

import numpy as np
from slopes import derivatives

from pyrjsel._typing import BoolArray, ByteArray, FloatArray
from pyrjsel.model_space import ModelSpace
from pyrjsel.selection.regression.glm import Regression

# Columns are dependent where one of them has less than this norm left, relative to the largest
# singular value, once the others are taken out: the square root of the g-prior's tolerance.
RANK_TOLERANCE = 1e-5
# Degrees of freedom of the proposals of blocks.
DF = 4.0


@dataclass(frozen=True)
class State:
    """A state of the chain.

    Attributes
    ----------
    gamma : uint8 array (J,)
        The model.
    b : float64 array (D + 1,)
        Coefficients on the internal scale, zero outside the model.
    """

    gamma: ByteArray
    b: FloatArray


@dataclass(frozen=True)
class Move:
    """What became of one proposal: its name, log acceptance ratio and whether it was taken."""

    name: str
    log_ratio: float
    accepted: bool


@dataclass(frozen=True)
class Gaussian:
    """A normal distribution with `mean` (d,) and `precision` (d, d)."""

    mean: FloatArray
    precision: FloatArray

    def logpdf(self, x: FloatArray) -> float:
        """Return the log density at `x` (d,)."""
        distance = x - self.mean
        log_det = np.linalg.slogdet(self.precision)[1]
        constant = x.size * math.log(2 * math.pi)
        return float(0.5 * (log_det - constant - distance @ self.precision @ distance))

    def sample(self, rng: np.random.Generator) -> FloatArray:
        """Draw: the mean plus L'^-1 z for a precision L L' and standard normal z."""
        z = np.array([rng.standard_normal() for _ in self.mean])
        return self.mean + np.linalg.solve(np.linalg.cholesky(self.precision).T, z)


@dataclass(frozen=True)
class Student(Gaussian):
    """A Student distribution of four degrees of freedom with location `mean` and scale of `precision`."""

    def logpdf(self, x: FloatArray) -> float:
        """Return the log density at `x` (d,)."""
        half = 0.5 * (DF + x.size)
        distance = x - self.mean
        log_det = np.linalg.slogdet(self.precision)[1]
        constant = math.lgamma(half) - math.lgamma(0.5 * DF) - 0.5 * x.size * math.log(DF * math.pi)
        tail = half * math.log1p(distance @ self.precision @ distance / DF)
        return float(0.5 * log_det + constant - tail)

    def sample(self, rng: np.random.Generator) -> FloatArray:
        """Draw: a normal deviate over the root of a chi-square, the mean of two exponentials."""
        deviate = super().sample(rng) - self.mean
        chi_square = 0.5 * (rng.standard_exponential() + rng.standard_exponential())
        return self.mean + deviate / math.sqrt(chi_square)


@dataclass(frozen=True)
class Transition:
    """What the chain is run on: its target and its proposals.

    Attributes
    ----------
    regression : Regression
    space : ModelSpace
    n_swaps : int
        Swap proposals an iteration.
    fixed : None or tuple of ndarrays (D + 1,) and (D + 1, largest term)
        Mean, and lower Cholesky factors of the precisions, of each term's fixed proposal, as
        ``full_model_proposal`` makes them; None is one Newton step.
    """

    regression: Regression
    space: ModelSpace
    n_swaps: int
    fixed: tuple[FloatArray, FloatArray] | None = None

    def block(self, j: int) -> slice:
        """Return the columns of term `j`."""
        return slice(int(self.regression.term_start[j]), int(self.regression.term_start[j + 1]))

    def log_target(self, state: State) -> float:
        """Return the log posterior density of a state up to a constant; -inf where it is not allowed."""
        log_model = float(self.space.log_prior(state.gamma))
        if log_model == -math.inf or not self.has_prior(state.gamma):
            return -math.inf
        columns = self.regression.model_columns(state.gamma)
        log_prior = self.regression.prior.logpdf(state.b[columns], columns)
        return self.regression.loglik(state.b) + log_prior + log_model

    def has_prior(self, gamma: ByteArray) -> bool:
        """Return whether the model has a coefficient prior: a g-prior needs independent columns."""
        if self.regression.prior.rank_tol == 0:
            return True
        x = self.regression.columns[self.regression.model_columns(gamma)]
        if self.regression.weights is not None:
            x = x * np.sqrt(self.regression.weights)
        return bool(np.linalg.matrix_rank(x, rtol=RANK_TOLERANCE) == len(x))

    def newton(self, b: FloatArray, columns: slice | np.ndarray, reach: float | None = None) -> Gaussian:
        """Return the normal approximation by one Newton step from `b` in `columns`, the rest held.

        Its precision is X'WX + K, minus the Hessian of the log posterior at `b`. A proposal for all
        coefficients has a reach: of 1 for the step itself, cut where it is very long, below 1 for a
        Langevin step.
        """
        regression = self.regression
        x, prior = regression.columns[columns], regression.prior
        weights = np.ones(regression.y.size) if regression.weights is None else regression.weights
        eta = regression.offset + b @ regression.columns
        slope, information = derivatives(regression.family, x, regression.y, eta, weights)
        # b is zero outside the model, so that whole rows of K may be used.
        score = slope + prior.shift[columns] - prior.precision[columns] @ b
        precision = information + prior.precision[columns][:, columns]
        step = np.linalg.solve(precision, score)
        if reach is None:
            return Gaussian(b[columns] + step, precision)
        share, most = (1.0, 3.0 + 2.0 * math.sqrt(score.size)) if reach == 1.0 else (reach**2 / 2, 2 * reach)
        length = math.sqrt(step @ precision @ step)
        if share * length > most:
            share = most / length
        return Gaussian(b[columns] + share * step, precision / reach**2)

    def proposal(self, state: State, j: int) -> Student:
        """Return q_j, from which term `j` takes its block when it enters `state`, where it is outside."""
        block = self.block(j)
        if self.fixed is None:
            normal = self.newton(state.b, block)
            return Student(normal.mean, normal.precision)
        factor = self.fixed[1][block, : block.stop - block.start]
        return Student(self.fixed[0][block], factor @ factor.T)


def remove(transition: Transition, state: State, j: int) -> State:
    """Return `state` without term `j`."""
    gamma, b = state.gamma.copy(), state.b.copy()
    gamma[j] = 0
    b[transition.block(j)] = 0.0
    return State(gamma, b)


def insert(transition: Transition, state: State, j: int, values: FloatArray) -> State:
    """Return `state` with term `j`, whose block is `values`."""
    gamma, b = state.gamma.copy(), state.b.copy()
    gamma[j] = 1
    b[transition.block(j)] = values
    return State(gamma, b)


def allowed(transition: Transition, gamma: ByteArray) -> bool:
    """Return whether a model has posterior mass."""
    feasible = transition.space.log_prior(gamma) > -math.inf
    return bool(feasible) and transition.has_prior(gamma)


def birth_log_ratio(transition: Transition, state: State, j: int, values: FloatArray) -> float:
    """Return the log acceptance ratio of the entry of term `j` with block `values`.

    The choice of the term has the same probability both ways; so it has for the other moves.
    """
    new = insert(transition, state, j, values)
    log_q = transition.proposal(state, j).logpdf(values)
    return transition.log_target(new) - transition.log_target(state) - log_q


def death_log_ratio(transition: Transition, state: State, j: int) -> float:
    """Return the log acceptance ratio of the exit of term `j`."""
    new = remove(transition, state, j)
    log_q = transition.proposal(new, j).logpdf(state.b[transition.block(j)])
    return transition.log_target(new) + log_q - transition.log_target(state)


def swap_log_ratio(transition: Transition, state: State, j: int, k: int, values: FloatArray) -> float:
    """Return the log acceptance ratio of the exit of term `j` and entry of `k` with block `values`."""
    middle = remove(transition, state, j)
    new = insert(transition, middle, k, values)
    log_q = transition.proposal(middle, k).logpdf(values)
    log_q_back = transition.proposal(middle, j).logpdf(state.b[transition.block(j)])
    return transition.log_target(new) + log_q_back - transition.log_target(state) - log_q


def coefficients_log_ratio(
    transition: Transition, state: State, values: FloatArray, reach: float = 1.0
) -> float:
    """Return the log acceptance ratio of new coefficients `values` (d,) of all columns of the model."""
    columns = transition.regression.model_columns(state.gamma)
    new = State(state.gamma, state.b.copy())
    new.b[columns] = values
    log_q = transition.newton(state.b, columns, reach).logpdf(values)
    log_q_back = transition.newton(new.b, columns, reach).logpdf(state.b[columns])
    return transition.log_target(new) + log_q_back - transition.log_target(state) - log_q


def flip(transition: Transition, state: State, j: int, rng: np.random.Generator) -> tuple[State, Move]:
    """Propose that term `j` leaves or enters."""
    if state.gamma[j]:
        new = remove(transition, state, j)
        if not allowed(transition, new.gamma):
            return state, Move("death", -math.inf, False)
        return _decide("death", state, new, death_log_ratio(transition, state, j), rng)
    new = insert(transition, state, j, np.zeros(1))
    if not allowed(transition, new.gamma):
        return state, Move("birth", -math.inf, False)
    values = transition.proposal(state, j).sample(rng)
    new = insert(transition, state, j, values)
    return _decide("birth", state, new, birth_log_ratio(transition, state, j, values), rng)


def swap(
    transition: Transition, state: State, j: int, k: int, rng: np.random.Generator
) -> tuple[State, Move]:
    """Propose that term `j` leaves and term `k` enters."""
    middle = remove(transition, state, j)
    if not allowed(transition, insert(transition, middle, k, np.zeros(1)).gamma):
        return state, Move("swap", -math.inf, False)
    values = transition.proposal(middle, k).sample(rng)
    new = insert(transition, middle, k, values)
    return _decide("swap", state, new, swap_log_ratio(transition, state, j, k, values), rng)


def update_coefficients(transition: Transition, state: State, rng: np.random.Generator) -> tuple[State, Move]:
    """Propose new coefficients of all columns of the model."""
    columns = transition.regression.model_columns(state.gamma)
    u = rng.random()
    reach = 1.0 if u >= 0.25 else 0.25 if u < 0.125 else 0.0625 if u < 0.1875 else 0.015625
    values = transition.newton(state.b, columns, reach).sample(rng)
    new = State(state.gamma, state.b.copy())
    new.b[columns] = values
    return _decide("coefficients", state, new, coefficients_log_ratio(transition, state, values, reach), rng)


def flips_and_swaps(
    transition: Transition, state: State, rng: np.random.Generator
) -> tuple[State, list[Move]]:
    """Return the state after the flips and swaps of one iteration, and these in order."""
    free: BoolArray = transition.space.free == 1
    terms = np.flatnonzero(free)
    moves = []
    for _ in terms:
        state, move = flip(transition, state, _pick(terms, rng), rng)
        moves.append(move)
    for _ in range(transition.n_swaps):
        inside = np.flatnonzero(free & (state.gamma == 1))
        outside = np.flatnonzero(free & (state.gamma == 0))
        if inside.size and outside.size:
            j, k = _pick(inside, rng), _pick(outside, rng)
            state, move = swap(transition, state, j, k, rng)
            moves.append(move)
    return state, moves


def step(transition: Transition, state: State, rng: np.random.Generator) -> tuple[State, list[Move]]:
    """Return the state after one iteration without moves of several terms, and its moves in order."""
    state, moves = flips_and_swaps(transition, state, rng)
    state, move = update_coefficients(transition, state, rng)
    return state, [*moves, move]


def _pick(terms: np.ndarray, rng: np.random.Generator) -> int:
    return int(terms[int(rng.random() * terms.size)])


def _decide(
    name: str, state: State, new: State, log_ratio: float, rng: np.random.Generator
) -> tuple[State, Move]:
    accepted = rng.random() < math.exp(min(0.0, log_ratio))
    return new if accepted else state, Move(name, log_ratio, accepted)

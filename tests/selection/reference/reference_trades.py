"""Trades in plain numpy, slow and obvious: the reference implementation of ``_trades.pyx``.

A path is drawn by a function that asks for each choice: a generator of random numbers answers to make the
twin of the compiled loop, a list of earlier choices to find all paths, and a path to find its probability.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from pyrjsel._typing import ByteArray, FloatArray
from pyrjsel.model_space.space import ModelSpace

MOST, ON, LEAST, GREATEST, BLIND, EQUAL = 12, 2 / 3, 0.1, 0.95, 0.25, 0.5

# What is asked: the kind of the choice, and the probabilities of the answers.
Pick = Callable[[str, FloatArray], int]


class Path(NamedTuple):
    """Units that leave and units that come, each with its terms in the order in which they are flipped."""

    out: tuple[tuple[int, ...], ...]
    into: tuple[tuple[int, ...], ...]

    def back(self) -> "Path":
        """Return the path backwards."""
        return Path(*(tuple(unit[::-1] for unit in units[::-1]) for units in (self.into, self.out)))

    def flips(self) -> tuple[int, ...]:
        """Return all terms in the order in which they are flipped."""
        return tuple(j for unit in self.out + self.into for j in unit)


class Script:
    """Answers with given choices and then with the first that is possible; notes the others.

    Parameters
    ----------
    choices : list of int
    waiting : list of list of int
        Beginnings of other paths, added to.
    """

    def __init__(self, choices: list[int], waiting: list[list[int]]) -> None:
        self.choices, self.waiting = choices, waiting
        self.probability, self.asked = 1.0, 0

    def __call__(self, kind: str, chance: FloatArray) -> int:
        """Return the next choice."""
        if self.asked == len(self.choices):
            first, *others = np.flatnonzero(chance).tolist()
            self.waiting.extend([*self.choices, other] for other in others)
            self.choices.append(first)
        chosen = self.choices[self.asked]
        self.asked += 1
        self.probability *= float(chance[chosen])
        return chosen


class TradeTwin:
    """Trades in a space.

    Parameters
    ----------
    space : ModelSpace
    log_mass : callable
        Log posterior of a model (J,), -inf where there is none; already to the power of the replica.
    """

    def __init__(self, space: ModelSpace, log_mass: Callable[[ByteArray], float]) -> None:
        self.space, self.log_mass = space, log_mass
        self.parents = [set(space.parents_of(j).tolist()) for j in range(space.n_terms)]
        self.known: dict[tuple[bytes, bytes], tuple[float, FloatArray]] = {}

    # ------------------------------------------------------------------ what is needed

    def above(self, j: int) -> list[int]:
        """Return all terms that j needs under strong heredity, parents before their children."""
        found, more = set(), {j}
        while more:
            more = set().union(*(self.parents[q] for q in more))
            found |= more
        return sorted(found, key=lambda q: (len(self.above(q)), q))

    def alone(self, gamma: ByteArray, j: int) -> bool:
        """Return whether term j is in with nothing that needs it, bounds apart."""
        if not gamma[j] or not self.space.free[j]:
            return False
        return all(self.has_parents(without(gamma, j), q) for q in np.flatnonzero(gamma).tolist() if q != j)

    def has_parents(self, gamma: ByteArray, j: int) -> bool:
        """Return whether a term has the parents that it needs."""
        inside = [bool(gamma[q]) for q in self.parents[j]]
        return not inside or (all(inside) if self.space.heredity == "strong" else any(inside))

    def fits(self, gamma: ByteArray) -> bool:
        """Return whether a model keeps size and budget."""
        return bool(gamma.sum() <= self.space.max_size and self.space.cost(gamma) <= self.space.budget_limit)

    # ------------------------------------------------------------------ probabilities of the next unit

    def changes(self, gamma: ByteArray) -> FloatArray:
        """Return what flipping each free term changes the log mass by."""
        found = np.full(gamma.size, -np.inf)
        for j in np.flatnonzero(self.space.free):
            other = gamma.copy()
            other[j] ^= 1
            if self.space.feasible(other):
                found[j] = self.log_mass(other) - self.log_mass(gamma)
        return found

    def leaving(self, gamma: ByteArray) -> FloatArray:
        """Return the probabilities of terms to be the next that leaves."""
        change = np.where(gamma, self.changes(gamma), -np.inf)
        may = np.isfinite(change)
        if not may.any():
            return np.zeros(gamma.size)
        root = np.exp(0.5 * (change - change.max()))
        return EQUAL * may / may.sum() + (1 - EQUAL) * root / root.sum()

    def coming(self, gamma: ByteArray, gone: ByteArray) -> tuple[float, FloatArray]:
        """Return the probability that a further unit comes, and those of terms to be the next one."""
        key = gamma.tobytes(), gone.tobytes()
        if key not in self.known:
            self.known[key] = self._coming(gamma, gone)
        return self.known[key]

    def _coming(self, gamma: ByteArray, gone: ByteArray) -> tuple[float, FloatArray]:
        change = np.where(gamma | gone, -np.inf, self.changes(gamma))
        blind = np.zeros(gamma.size)
        for j in np.flatnonzero(self.space.free & (gamma == 0) & (gone == 0)):
            if not self.has_parents(gamma, int(j)):
                blind[j] = self.affordable(gamma, gone, int(j))
        alone = np.isfinite(change).any()
        if not alone and not blind.any():
            return 0.0, blind
        if not alone:
            return LEAST, blind / blind.sum()
        root = np.exp(0.5 * (change - change.max()))
        with np.errstate(over="ignore"):
            total = np.exp(change).sum()
        share = BLIND if blind.any() else 0.0
        found = (1 - share) * root / root.sum() + share * blind / max(1, blind.sum())
        return float(np.clip(1 - 1 / (1 + total), LEAST, GREATEST)), found

    def affordable(self, gamma: ByteArray, gone: ByteArray, j: int) -> bool:
        """Return whether term j can come with what it needs; under weak heredity, with one term at least."""
        other = gamma.copy()
        other[j] = 1
        if self.space.heredity == "weak":
            return bool(self.fits(other) and other.sum() + 1 <= self.space.max_size)
        needed = self.above(j)
        other[needed] = 1
        return bool(not gone[needed].any() and self.fits(other))

    # ------------------------------------------------------------------ a path

    def path(self, gamma: ByteArray, pick: Pick) -> Path | None:
        """Return the path that `pick` chooses, None where it leads nowhere."""
        gamma, gone = gamma.copy(), np.zeros_like(gamma)
        out: list[tuple[int, ...]] = []
        into: list[tuple[int, ...]] = []
        while True:
            chance = self.leaving(gamma)
            if not out and not chance.any():
                return None
            if not chance.any() or len(out) == MOST or (out and pick("leave", np.array([ON, 1 - ON]))):
                break
            out.append(self.take_out(gamma, pick("out", chance), pick))
            gone[list(out[-1])] = 1
        while True:
            go, chance = self.coming(gamma, gone)
            if go == 0 and not into:
                return None
            if go == 0 or len(into) == MOST or (into and pick("come", np.array([go, 1 - go]))):
                return Path(tuple(out), tuple(into))
            unit = self.put_in(gamma, gone, pick("in", chance), pick)
            if not unit:
                return None
            into.append(unit)

    def take_out(self, gamma: ByteArray, j: int, pick: Pick) -> tuple[int, ...]:
        """Take term j out with others; the terms."""
        unit, even = [j], np.array([0.5, 0.5])
        gamma[j] = 0
        if self.space.heredity == "strong":
            for q in reversed(self.above(j)):
                if self.alone(gamma, q) and pick(f"with {q}", even) == 0:
                    gamma[q] = 0
                    unit.append(q)
            return tuple(unit)
        while True:
            inside = [q for q in self.parents[j] if gamma[q]]
            if len(inside) != 1 or not self.alone(gamma, inside[0]) or pick(f"with {inside[0]}", even):
                return tuple(unit)
            j = inside[0]
            gamma[j] = 0
            unit.append(j)

    def put_in(self, gamma: ByteArray, gone: ByteArray, j: int, pick: Pick) -> tuple[int, ...]:
        """Put term j in with what it needs; the terms, none where they do not fit in."""
        unit = [j]
        if self.space.heredity == "strong":
            unit = [*(q for q in self.above(j) if not gamma[q]), j]
        else:
            while not self.has_parents(gamma, unit[0]):
                choice = np.array([q in self.parents[unit[0]] and not gone[q] for q in range(gamma.size)])
                if not choice.any():
                    return ()
                unit.insert(0, pick("parent", choice / choice.sum()))
        gamma[unit] = 1
        return tuple(unit) if self.fits(gamma) and np.isfinite(self.log_mass(gamma)) else ()

    # ------------------------------------------------------------------ all paths, one path, one trade

    def matrix(self, models: ByteArray) -> FloatArray:
        """Return the transition matrix of one trade between all the models (m, J) that have mass.

        Every path backwards is found among those of the model that it begins at, with its probability there.
        """
        number = {gamma.tobytes(): row for row, gamma in enumerate(models)}
        every = [{path: p for path, p in self.paths(gamma) if path is not None} for gamma in models]
        mass = np.array([self.log_mass(gamma) for gamma in models])
        found = np.zeros((len(models), len(models)))
        for row, gamma in enumerate(models):
            for path, p in every[row].items():
                other = number[flipped(gamma, path).tobytes()]
                back = every[other].get(path.back(), 0.0)
                found[row, other] += min(p, back * np.exp(mass[other] - mass[row]))
        return found + np.diag(1 - found.sum(axis=1))

    def paths(self, gamma: ByteArray) -> Iterator[tuple[Path | None, float]]:
        """Yield all paths from a model with their probabilities."""
        waiting: list[list[int]] = [[]]
        while waiting:
            script = Script(waiting.pop(), waiting)
            found = self.path(gamma, script)
            yield found, script.probability

    def log_probability(self, gamma: ByteArray, path: Path) -> float:
        """Return the log probability of a path."""
        found, n_out, n_into, coins = 0.0, 0, 0, list[int]()

        def pick(kind: str, chance: FloatArray) -> int:
            nonlocal found, n_out, n_into
            if kind == "leave":
                chosen = int(n_out == len(path.out))
            elif kind == "come":
                chosen = int(n_into == len(path.into))
            elif kind == "out":
                chosen, *rest = path.out[n_out]
                coins[:] = rest
                n_out += 1
            elif kind == "in":
                chosen, *rest = path.into[n_into][::-1]
                coins[:] = rest
                n_into += 1
            elif kind == "parent":
                chosen = coins.pop(0)
            else:
                chosen = int(int(kind.removeprefix("with ")) not in coins)
            with np.errstate(divide="ignore"):
                found += float(np.log(chance[chosen]))
            return chosen

        same = self.path(gamma, pick)
        return found if same == path else -np.inf

    def trade(self, gamma: ByteArray, rng: np.random.Generator) -> ByteArray:
        """Propose a trade; the model after it."""

        def pick(kind: str, chance: FloatArray) -> int:
            return int(
                min(np.searchsorted(np.cumsum(chance), rng.random(), "right"), np.flatnonzero(chance)[-1])
            )

        path = self.path(gamma, pick)
        if path is None:
            return gamma
        other = flipped(gamma, path)
        ratio = self.log_mass(other) - self.log_mass(gamma)
        ratio += self.log_probability(other, path.back()) - self.log_probability(gamma, path)
        return other if np.log(rng.random()) < ratio else gamma


def without(gamma: ByteArray, j: int) -> ByteArray:
    """Return a model without term j."""
    other = gamma.copy()
    other[j] = 0
    return other


def flipped(gamma: ByteArray, path: Path) -> ByteArray:
    """Return the model at the end of a path."""
    other = gamma.copy()
    for j in path.flips():
        other[j] ^= 1
    return other

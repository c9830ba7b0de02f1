"""Searches for good models with each of many terms, and the starts of chains that come of them.

The loop of one search is ``_search.pyx``. How many steps all of them may take depends on the settings of a
fit alone, so that a seed gives the same draws everywhere: terms are searched for in order of promise, until
the steps are spent. For the terms that are left, one flip from the best model is all that is looked at.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from pyrjsel._typing import ByteArray, FloatArray, IntArray
from pyrjsel.selection._evidence import Evidence
from pyrjsel.selection._search import Search
from pyrjsel.selection.gaussian import GaussianRegression
from pyrjsel.selection.gaussian_rows import GaussianRows
from pyrjsel.selection.marginal import MarginalLikelihood
from pyrjsel.selection.problem import Regression
from pyrjsel.selection.surrogate import Surrogate
from pyrjsel.selection.variance import variance_evidence
from pyrjsel.space import ModelSpace, Space

# Models of a posterior mass below exp(-WITHIN) times that of the best do not matter.
WITHIN = 7.0
# Steps (flips, and looks at all neighbours) of the searches of a fit: at least so many, and so many columns
# looked at, whatever the length of the run; else so many an iteration. An iteration takes at least four: one
# in twenty of what a run does.
FEWEST_STEPS, FEWEST_LOOKS = 256, 2**17
STEPS_AN_ITERATION = 0.1
# Part of burn-in after which chains look for other modes.
RESTART = 0.25
# Ways to satisfy weak heredity that are tried for a term, at most.
MOST_WAYS = 8
# Exchanges of two terms in the climb to the mode that a model belongs to, at most.
EXCHANGES = 10
# Kinds of gaussian priors whose evidence is conditional on sigma^2.
CONDITIONAL = ("unscaled", "unscaled spike")


@dataclass(frozen=True)
class Found:
    """The best model found that differs from a given one in a term.

    Attributes
    ----------
    term : int
    gamma : ndarray (J,) or None
        None where there is none, or none was looked for.
    log_mass : float
        Its log posterior mass by the evidence of the search; -inf where there is none.
    spread : float
        Log of the mass of the model and of its neighbours with the term (or without it) over its own.
    searched : bool
        Whether more than one flip was looked at.
    """

    term: int
    gamma: ByteArray | None
    log_mass: float
    spread: float
    searched: bool


def steps(n_terms: int, iterations: float) -> int:
    """Return how many steps the searches of a run of so many iterations may take.

    Examples
    --------
    >>> from pyrjsel.selection.search import steps
    >>> steps(60, 1000), steps(60, 40_000), steps(5000, 100)
    (2184, 4000, 256)
    """
    fewest = max(FEWEST_STEPS, FEWEST_LOOKS // max(1, n_terms))
    return max(fewest, int(STEPS_AN_ITERATION * iterations))


def ways_in(space: ModelSpace, term: int) -> list[IntArray]:
    """Return the sets of free terms with which a term can enter, each with parents before their children."""
    if not space.free[term]:
        return [np.empty(0, dtype=np.intc)]
    parents = space.parents_of(term).tolist()
    found: list[list[int]] = [[]]
    if space.heredity == "strong":
        for parent in parents:
            found = [[*way, *ways_in(space, parent)[0].tolist()] for way in found]
    elif space.heredity == "weak" and parents:
        found = [way.tolist() for parent in parents for way in ways_in(space, parent)]
    unique = {tuple(dict.fromkeys([*way, term])): None for way in found}
    return [np.array(way, dtype=np.intc) for way in list(unique)[:MOST_WAYS]]


def way_out(space: ModelSpace, gamma: ByteArray, term: int) -> IntArray:
    """Return a term of a model after the terms that cannot stay without it, children before parents."""
    left = gamma.copy()
    left[term] = 0
    gone = [term]
    for other in space.order:
        parents = space.parents_of(other)
        if left[other] and parents.size:
            inside = left[parents]
            if not (inside.all() if space.heredity == "strong" else inside.any()):
                left[other] = 0
                gone.append(int(other))
    return np.array(gone[::-1], dtype=np.intc)


class Explorer:
    """Searches around one model, for the best models that differ from it in given terms.

    Parameters
    ----------
    evidence : Evidence
        Marginal likelihoods, up to a constant.
    space : ModelSpace
        The models.
    compiled : Space
        The same, with the prior that goes with the evidence.
    most : int
        Steps after which no further term is searched for.
    """

    def __init__(self, evidence: Evidence, space: ModelSpace, compiled: Space, most: int) -> None:
        self.space, self.most = space, most
        self.smallest = space.empty_model()
        self.search = Search(evidence, compiled, self.smallest)

    @property
    def spent(self) -> bool:
        """Whether no steps are left."""
        return self.search.work >= self.most

    def log_mass(self, gamma: ByteArray) -> float:
        """Return the log posterior mass of a model, up to a constant; -inf where it has no prior."""
        try:
            self.search.set(gamma)
        except ValueError:
            return -np.inf
        return self.search.log_mass()

    def explore(self, gamma: ByteArray, terms: IntArray) -> list[Found]:
        """Return what is found for each of some free terms, in or out as they are not in a model (J,)."""
        if not len(terms):
            return []
        base = self.log_mass(gamma)
        changes, admitted = self.search.scores()
        self.search.set(self.smallest)
        alone = self.search.scores()[0]
        found = {}
        for term in self._order(gamma, changes, admitted, alone, terms):
            best = Found(term, None, -np.inf, 0.0, False)
            if admitted[term] and np.isfinite(changes[term]):
                near = gamma.copy()
                near[term] ^= 1
                best = Found(term, near, base + float(changes[term]), 0.0, False)
            found[term] = best if self.spent else self._best(gamma, term, best)
        return [found[term] for term in terms.tolist()]

    def _order(
        self,
        gamma: ByteArray,
        changes: FloatArray,
        admitted: np.ndarray,
        alone: FloatArray,
        terms: IntArray,
    ) -> list[int]:
        """Return terms by promise: those of the model, then the others by their ranks beside it and alone."""
        leaving = terms[gamma[terms] == 1]
        entering = terms[gamma[terms] == 0]
        inside = np.flatnonzero((gamma == 1) & (self.space.free == 1))
        room = float(np.max(changes[inside], initial=-np.inf)) if inside.size else 0.0
        beside = changes[entering] + np.where(admitted[entering], 0.0, min(room, 0.0))
        rank = np.minimum(_ranks(beside), _ranks(alone[entering]))
        return [
            *leaving[np.argsort(-changes[leaving], kind="stable")].tolist(),
            *entering[np.argsort(rank, kind="stable")].tolist(),
        ]

    def _best(self, gamma: ByteArray, term: int, best: Found) -> Found:
        """Return the best model that full searches find for a term."""
        search = self.search
        best = Found(term, best.gamma, best.log_mass, 0.0, True)
        if gamma[term]:
            searches = [(gamma, way_out(self.space, gamma, term), False)]
        else:
            searches = []
            for way in ways_in(self.space, term):
                searches += [(gamma, way, False), (self.smallest, way, False)]
                if self.space.bounded:
                    searches.append((gamma, way, True))
        for start, way, by_share in searches:
            value = search.reach(start, way, by_share=by_share)
            if value > best.log_mass or (best.gamma is None and np.isfinite(value)):
                best = Found(term, search.gamma(), value, search.spread(term), True)
        if gamma[term]:
            search.set(self.smallest)
            value = search.climb(term)
            if value > best.log_mass:
                best = Found(term, search.gamma(), value, search.spread(term), True)
        return best

    def modes(self, gamma: ByteArray) -> list[tuple[ByteArray, float]]:
        """Return the modes found from a model (J,), with log masses of them and their neighbours, best first.

        The first search climbs from the model itself: what it reaches is a mode. Models found for any term,
        within exp(-WITHIN) of the best, lead to the others.
        """
        free = np.flatnonzero(self.space.free)
        self.search.set(gamma)
        self.search.climb(exchanges=EXCHANGES)
        own = self.search.gamma()
        found = [item for item in self.explore(own, free) if item.gamma is not None and item.searched]
        masses = {own.tobytes(): (own, self._mass_around(own))}
        self.most *= 2  # climbs have as many steps as searches
        for item in sorted(found, key=lambda item: -item.log_mass):
            top = max(mass for _, mass in masses.values())
            if self.spent or item.log_mass + item.spread < top - WITHIN:
                break
            assert item.gamma is not None
            self.search.set(item.gamma)
            self.search.climb(exchanges=EXCHANGES)
            mode = self.search.gamma()
            if mode.tobytes() not in masses:
                masses[mode.tobytes()] = (mode, self._mass_around(mode))
        top = max(mass for _, mass in masses.values())
        return sorted(
            (pair for pair in masses.values() if pair[1] >= top - WITHIN), key=lambda pair: -pair[1]
        )

    def _mass_around(self, gamma: ByteArray) -> float:
        self.search.set(gamma)
        return self.search.log_mass() + self.search.spread()


def _ranks(values: FloatArray) -> IntArray:
    """Return the places of values in falling order."""
    found = np.empty(values.size, dtype=np.int64)
    found[np.argsort(-values, kind="stable")] = np.arange(values.size)
    return found


def evidence_at(regression: Any, gamma: ByteArray, variance: float | None = None) -> tuple[Evidence, bool]:
    """Return evidence for searches, and whether it is exact.

    For gaussian models it is, unless it is that given sigma^2 = `variance`. For others it is that of the
    surrogate expanded around the posterior mode of a model (J,).
    """
    whole = regression.whole if isinstance(regression, GaussianRows) else regression
    if isinstance(whole, GaussianRegression):
        if whole.prior.kind not in CONDITIONAL:
            return whole.evidence(), True
        evidence = variance_evidence(whole)
        evidence.condition(whole.total / whole.nu if variance is None else variance)
        return evidence, False
    assert isinstance(whole, Regression)
    marginal = MarginalLikelihood(whole, b"", 2, whole.n_columns)
    at = marginal.mode(gamma)
    marginal.check_mode()
    return Surrogate(at, np.zeros(whole.n_terms)).evidences(whole, 1)[0], False


# ---------------------------------------------------------------------- chains


def restart_after(burn_in: int, every: int) -> int:
    """Return the iteration of burn-in after which a chain looks for other modes: a multiple of `every`, or 0.

    Examples
    --------
    >>> from pyrjsel.selection.search import restart_after
    >>> restart_after(2000, 50), restart_after(100, 50)
    (500, 0)
    """
    return int(RESTART * burn_in) // every * every


def mode_to_start_from(modes: list[tuple[ByteArray, float]], chain: int) -> ByteArray:
    """Return the mode that a chain begins anew at.

    Modes get chains in proportion to the root of their masses: more than the posterior gives to the lesser
    ones, so that starts are dispersed. Places are those of a van der Corput sequence, which depend on the
    number of the chain alone.
    """
    masses = np.array([mass for _, mass in modes])
    share = np.cumsum(np.exp(0.5 * (masses - masses.max())))
    place, scale, number = 0.0, 0.5, chain + 1
    while number:
        place += scale * (number & 1)
        scale, number = 0.5 * scale, number >> 1
    return modes[int(np.searchsorted(share, place * share[-1], side="right"))][0]


def new_start(
    evidence: Evidence, space: ModelSpace, compiled: Space, gamma: ByteArray, chain: int, burn_in: int
) -> ByteArray | None:
    """Return the model where a chain begins anew in burn-in, None if it goes on from where it is.

    Parameters
    ----------
    evidence : Evidence
        With a state of its own.
    space, compiled : ModelSpace, Space
        The models, and the prior that goes with the evidence.
    gamma : ndarray (J,)
        Where the chain is.
    chain : int
        Its number.
    burn_in : int
        Iterations of burn-in, of which the search may cost a twentieth.
    """
    if not space.free.any():
        return None
    explorer = Explorer(evidence, space, compiled, steps(space.n_terms, burn_in))
    explorer.search.set(gamma)
    explorer.search.climb(exchanges=EXCHANGES)
    own = explorer.search.gamma()
    chosen = mode_to_start_from(explorer.modes(own), chain)
    return None if np.array_equal(chosen, own) else chosen

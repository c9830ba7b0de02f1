"""Searches for good models with each of many terms, and starts of chains at the modes found.

The loop of one search is ``_search.pyx``. The total number of steps depends only on the settings of a fit, so
that a seed gives the same draws everywhere: terms are searched by decreasing promise until the steps are used
up. For the remaining terms, a single flip of the best model is evaluated.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, overload

import numpy as np

from pyrjsel._typing import ByteArray, FloatArray, IntArray
from pyrjsel.model_space import ModelSpace, Space
from pyrjsel.model_space.chains import given_start
from pyrjsel.runtime import FitSettings
from pyrjsel.selection.evidence._evidence import Evidence
from pyrjsel.selection.evidence.gaussian import evidence_of, variance_evidence
from pyrjsel.selection.evidence.laplace import MarginalLikelihood
from pyrjsel.selection.evidence.spike_slab import single_models
from pyrjsel.selection.evidence.surrogate import Surrogate
from pyrjsel.selection.regression.gaussian import GaussianRegression
from pyrjsel.selection.regression.gaussian_rows import GaussianRows
from pyrjsel.selection.regression.glm import Regression
from pyrjsel.selection.samplers.mode_search._search import Search

# Models with a posterior mass below exp(-WITHIN) times that of the best are irrelevant.
WITHIN = 7.0
# Steps (flips and evaluations of all neighbours) of the searches of a fit: least numbers of steps and of
# evaluated columns regardless of the length of the run, and steps per iteration. An iteration takes at least
# four steps, so searches take at most about one twentieth of a run.
FEWEST_STEPS, FEWEST_LOOKS = 64, 2**17
STEPS_AN_ITERATION = 0.1
# Tolerance for the error of a surrogate, and largest number of modes weighted by marginal likelihoods.
SLACK, MOST_WEIGHED = 7.0, 16
# Proportion of burn-in after which chains search for other modes.
RESTART = 0.25
# Largest number of ways to satisfy weak heredity that are tried for a term.
MOST_WAYS = 8
# Largest number of terms of which all pairs are evaluated.
MOST_PAIRED = 2048
# Largest number of exchanges of two terms in the climb from a model to its mode.
EXCHANGES = 10
# Gaussian priors whose evidence is conditional on sigma^2.


@dataclass(frozen=True)
class Found:
    """The best model found that differs from a given one in a term.

    Attributes
    ----------
    term : int
    gamma : ndarray (J,) or None
        None if there is none, or if only the given model with this term flipped was evaluated.
    log_mass : float
        Its log posterior mass by the evidence of the search; -inf if there is none.
    spread : float
        Log ratio of the mass of the model and its neighbours with the term (or without it) to its own.
    searched : bool
        Whether more than one flip was evaluated.
    """

    term: int
    gamma: ByteArray | None
    log_mass: float
    spread: float
    searched: bool


class Explored(Sequence[Found]):
    """The best models found for each of some terms. Those of a single flip are made when they are used.

    Attributes
    ----------
    terms : int array (m,)
    log_mass : ndarray (m,)
        As in :class:`Found`.
    """

    def __init__(self, terms: IntArray, log_mass: FloatArray, searched: dict[int, Found]) -> None:
        self.terms, self.log_mass, self._searched = terms, log_mass, searched

    def __len__(self) -> int:
        return len(self.terms)

    @overload
    def __getitem__(self, place: int) -> Found: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Found]: ...
    def __getitem__(self, place: int | slice) -> Found | Sequence[Found]:
        if isinstance(place, slice):
            return Explored(self.terms[place], self.log_mass[place], self._searched)
        term = int(self.terms[place])
        found = self._searched.get(term)
        return Found(term, None, float(self.log_mass[place]), 0.0, False) if found is None else found


@dataclass(frozen=True)
class Mode:
    """A model that no flip and no exchange of two terms improves.

    Attributes
    ----------
    gamma : ndarray (J,)
    log_mass : float
    spread : float
        Log ratio of the mass of the model and all its neighbours to its own.
    """

    gamma: ByteArray
    log_mass: float
    spread: float


def steps(n_terms: int, iterations: float) -> int:
    """Return the number of steps of the searches of a run with a given number of iterations.

    Examples
    --------
    >>> from pyrjsel.selection.samplers.mode_search.search import steps
    >>> steps(60, 1000), steps(60, 40_000), steps(5000, 100)
    (2184, 4000, 64)
    """
    fewest = max(FEWEST_STEPS, FEWEST_LOOKS // max(1, n_terms))
    return max(fewest, int(STEPS_AN_ITERATION * iterations))


def ways_in(space: ModelSpace, term: int) -> list[IntArray]:
    """Return sets of free terms with which a free term can enter, each with parents before children.

    Under strong heredity there is one, of all terms that the term requires; under weak heredity at most
    MOST_WAYS are returned.
    """
    if space.heredity == "strong":
        needed, rest = {term}, [term]
        while rest:
            more = set(space.parents_of(rest.pop()).tolist()) - needed
            needed |= more
            rest += more
        ways = [[other for other in space.order.tolist() if other in needed]]
    else:
        ways = list(islice(_lines(space, term), MOST_WAYS))
    return [np.array([other for other in way if space.free[other]], dtype=np.intc) for way in ways]


def _lines(space: ModelSpace, term: int) -> Iterator[list[int]]:
    """Yield paths of terms, each a parent of the next, from a term without parents to `term`."""
    parents = space.parents_of(term).tolist() if space.heredity else []
    if not parents:
        yield [term]
    for parent in parents:
        for line in _lines(space, parent):
            yield [*line, term]


def way_out(space: ModelSpace, gamma: ByteArray, term: int) -> IntArray:
    """Return the terms of a model that require a term, children before parents, followed by the term."""
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
        The compiled space, with the prior that corresponds to the evidence.
    most : int
        Number of steps after which no further term is searched.
    """

    def __init__(self, evidence: Evidence, space: ModelSpace, compiled: Space, most: int) -> None:
        self.space, self.most = space, most
        self.smallest = space.empty_model()
        self.search = Search(evidence, compiled, self.smallest)

    @property
    def spent(self) -> bool:
        """Whether all steps are used up."""
        return self.search.work >= self.most

    def log_mass(self, gamma: ByteArray) -> float:
        """Return the log posterior mass of a model, up to a constant; -inf if it has no prior."""
        try:
            self.search.set(gamma)
        except ValueError:
            return -np.inf
        return self.search.log_mass()

    def explore(self, gamma: ByteArray, terms: IntArray, *, pairs: bool = False) -> Explored:
        """Return the best model found for each of some free terms, with it flipped from a model (J,).

        With `pairs`, terms that do much together with one other term, even if nothing alone, are among the
        first to be searched.
        """
        if not len(terms):
            return Explored(terms, np.empty(0), {})
        base = self.log_mass(gamma)
        changes, admitted = self.search.scores()
        self.search.set(self.smallest)
        alone = self.search.scores()[0]
        together = self._together(terms) if pairs and len(terms) <= MOST_PAIRED else alone[terms]
        log_mass = np.where(admitted, base + changes, -np.inf)
        searched: dict[int, Found] = {}
        for term in map(int, self._order(gamma, changes, admitted, alone, together, terms)):
            if self.spent:
                break
            searched[term] = self._best(gamma, term)
            log_mass[term] = searched[term].log_mass
        return Explored(terms, log_mass[terms], searched)

    def _order(
        self,
        gamma: ByteArray,
        changes: FloatArray,
        admitted: np.ndarray,
        alone: FloatArray,
        together: FloatArray,
        terms: IntArray,
    ) -> IntArray:
        """Return terms by promise: those of the model, then others by rank with it, alone and in pairs."""
        leaving = terms[gamma[terms] == 1]
        entering = terms[gamma[terms] == 0]
        inside = np.flatnonzero((gamma == 1) & (self.space.free == 1))
        room = float(np.max(changes[inside], initial=-np.inf)) if inside.size else 0.0
        beside = changes[entering] + np.where(admitted[entering], 0.0, min(room, 0.0))
        rank = np.minimum(_ranks(beside), _ranks(alone[entering]))
        rank = np.minimum(rank, _ranks(together[gamma[terms] == 0]))
        return np.concatenate(
            [
                leaving[np.argsort(-changes[leaving], kind="stable")],
                entering[np.argsort(rank, kind="stable")],
            ]
        )

    def _together(self, terms: IntArray) -> FloatArray:
        """Return the log mass of the best feasible model of each of m terms and at most one other, (m,)."""
        out, before = np.full(len(terms), -np.inf), self.search.work
        gamma = self.smallest.copy()
        for k, term in enumerate(terms):
            gamma[term] ^= 1
            if self.space.feasible(gamma) and (mass := self.log_mass(gamma)) > -np.inf:
                changes, admitted = self.search.scores()
                admitted[term] = False
                out[k] = mass + max(0.0, np.max(changes[admitted], initial=-np.inf))
            gamma[term] ^= 1
        self.most += self.search.work - before
        return out

    def _best(self, gamma: ByteArray, term: int) -> Found:
        """Return the best model from full searches for a term."""
        search, best = self.search, Found(term, None, -np.inf, 0.0, True)
        if gamma[term]:
            search.set(self.smallest)
            value = search.climb(term)
            best = Found(term, search.gamma(), value, search.spread(term), True)
            searches = [(gamma, way_out(self.space, gamma, term), False)]
        else:
            searches = []
            for way in ways_in(self.space, term):
                searches += [(gamma, way, False), (self.smallest, way, False)]
                if self.space.bounded:
                    searches.append((gamma, way, True))
        for start, way, by_share in searches:
            value = search.reach(start, way, by_share=by_share)
            if value > -np.inf and (best.gamma is None or value > best.log_mass - WITHIN):
                value = search.climb(term, exchanges=EXCHANGES)
            if value > best.log_mass:
                best = Found(term, search.gamma(), value, search.spread(term), True)
        return best

    def modes(self, gamma: ByteArray, within: float) -> list[Mode]:
        """Return the modes found, the first of them that of a model (J,).

        Others come from models found for any term, with masses within a factor exp(-within) of the best.
        """
        self.search.set(gamma)
        self.search.climb(exchanges=EXCHANGES)
        modes = [self._mode()]
        found = self.explore(modes[0].gamma, np.flatnonzero(self.space.free))
        self.most *= 2  # climbs may take as many steps as searches
        known = {modes[0].gamma.tobytes()}
        for place in np.argsort(-found.log_mass, kind="stable"):
            item = found[place]
            top = max(mode.log_mass + mode.spread for mode in modes)
            if self.spent or item.log_mass + item.spread < top - within:
                break
            if item.gamma is not None:
                self.search.set(item.gamma)
                self.search.climb(exchanges=EXCHANGES)
                mode = self._mode()
                if mode.gamma.tobytes() not in known:
                    known.add(mode.gamma.tobytes())
                    modes.append(mode)
        return modes

    def mode_of(self, gamma: ByteArray) -> ByteArray:
        """Return the mode reached from a model (J,) by climbing."""
        self.search.set(gamma)
        self.search.climb(exchanges=EXCHANGES)
        return self.search.gamma()

    def at(self, gamma: ByteArray) -> Mode:
        """Return a model (J,) in the form of a mode."""
        self.search.set(gamma)
        return self._mode()

    def _mode(self) -> Mode:
        search = self.search
        return Mode(search.gamma(), search.log_mass(), search.spread())


def _ranks(values: FloatArray) -> IntArray:
    """Return the ranks of values in decreasing order."""
    found = np.empty(values.size, dtype=np.int64)
    found[np.argsort(-values, kind="stable")] = np.arange(values.size)
    return found


def evidence_at(regression: Any, gamma: ByteArray, variance: float | None = None) -> tuple[Evidence, bool]:
    """Return the evidence for searches, and whether it is exact.

    It is exact for gaussian models, unless it is conditional on sigma^2 = `variance`. For others it comes
    from the surrogate expanded around the posterior mode of a model (J,).
    """
    whole = regression.whole if isinstance(regression, GaussianRows) else regression
    if isinstance(whole, GaussianRegression):
        if whole.prior.scaled:
            return evidence_of(whole), True
        evidence = variance_evidence(whole)
        evidence.condition(whole.total / whole.nu if variance is None else variance)
        return evidence, False
    assert isinstance(whole, Regression)
    marginal = MarginalLikelihood(whole, b"", 2, whole.n_columns)
    at = marginal.expansion(gamma)
    marginal.check_mode()
    return Surrogate(at, np.zeros(whole.n_terms)).evidences(whole, 1)[0], False


# ---------------------------------------------------------------------- chains


def given_starts(
    settings: FitSettings,
    start: str | Sequence[str] | None,
    space: ModelSpace,
    exists: Callable[[ByteArray], bool],
) -> ByteArray | None:
    """Return the starting models (m, J), assigned to chains in turn; None if not given.

    They are those of a restarted run, or else the model of the option `start`.

    Raises
    ------
    UnknownNameError
        If a term is unknown.
    ParameterError
        If the model is not feasible, or has no coefficient prior.
    """
    gamma = given_start(start, space, exists)
    if settings.anew is not None:
        return settings.anew.starts
    return None if gamma is None else gamma[None]


def restart_after(burn_in: int, every: int) -> int:
    """Return the iteration of burn-in at which a chain searches for modes: a multiple of `every`, or 0.

    Examples
    --------
    >>> from pyrjsel.selection.samplers.mode_search.search import restart_after
    >>> restart_after(2000, 50), restart_after(100, 50)
    (500, 0)
    """
    return int(RESTART * burn_in) // every * every


def next_stop(burn_in: int, done: int) -> int:
    """Return the next stop of a chain during burn-in: for a restart, or at its end."""
    restart = restart_after(burn_in, 1)
    return restart if done < restart else burn_in


def restart_is_due(job: Any, done: int, every: int) -> bool:
    """Return whether chains of a job search for other modes after a given number of iterations.

    They do so once during burn-in, at an iteration that depends only on its length, unless starts are given.
    """
    return job.starts is None and job.burn_in > 0 and done == restart_after(job.burn_in, every)


def mode_to_start_from(log_mass: FloatArray, chain: int) -> int:
    """Return the mode at which a chain restarts, from the log masses of modes.

    Modes get chains in proportion to the square root of their masses, so that starts are more dispersed than
    the posterior. Chains are assigned by a van der Corput sequence, which depends only on the number of the
    chain.

    Examples
    --------
    >>> import numpy as np
    >>> from pyrjsel.selection.samplers.mode_search.search import mode_to_start_from
    >>> [mode_to_start_from(np.log([0.1, 0.9]), chain) for chain in range(4)]
    [1, 1, 0, 1]
    >>> [mode_to_start_from(np.log([0.001, 0.999]), chain) for chain in range(4)]
    [1, 1, 1, 1]
    """
    order = np.argsort(-log_mass, kind="stable")
    share = np.cumsum(np.exp(0.5 * (log_mass[order] - log_mass.max())))
    place, scale, number = 0.0, 0.5, chain + 1
    while number:
        place += scale * (number & 1)
        scale, number = 0.5 * scale, number >> 1
    return int(order[np.searchsorted(share, place * share[-1], side="right")])


def new_start(
    regression: Any,
    space: ModelSpace,
    gamma: ByteArray,
    chain: int,
    iterations: int,
    variance: float | None = None,
) -> ByteArray | None:
    """Return the mode at which a chain restarts during burn-in; None if there is only one.

    Parameters
    ----------
    regression : Regression or GaussianRegression
        The problem.
    space : ModelSpace
        The models.
    gamma : ndarray (J,)
        The present model of the chain.
    chain : int
        Number of the chain.
    iterations : int
        Iterations of burn-in; the searches may take a twentieth of its time.
    variance : float, optional
        Present value of sigma^2, if the chain has one.
    """
    if not space.free.any():
        return None
    evidence, exact = evidence_at(regression, gamma, variance)
    explorer = Explorer(evidence, space, Space(space), steps(space.n_terms, iterations))
    modes = explorer.modes(gamma, WITHIN if exact else WITHIN + SLACK)
    if len(modes) == 1:
        return None
    modes = [modes[0], *sorted(modes[1:], key=lambda mode: -mode.log_mass)[: MOST_WEIGHED - 1]]
    mass = _weigh(regression, space, modes)
    some = np.flatnonzero(mass >= mass.max() - WITHIN)
    return modes[int(some[mode_to_start_from(mass[some], chain)])].gamma


def starts_anew(
    regression: Any,
    space: ModelSpace,
    models: Sequence[ByteArray],
    chains: int,
    variance: float | None = None,
) -> ByteArray:
    """Return the starting model of each chain in a restarted run, (chains, J).

    Of models that lead to the same mode, the first represents it. Modes get chains in proportion to the
    square roots of their masses, that of the first model at least one.

    Parameters
    ----------
    regression : Regression or GaussianRegression
        The problem.
    space : ModelSpace
        The models.
    models : sequence of ndarray (J,)
        Missed models, best first, then visited ones.
    chains : int
        Number of chains.
    variance : float, optional
        Present value of sigma^2, if chains have one.
    """
    evidence, _ = evidence_at(regression, models[0], variance)
    explorer = Explorer(evidence, space, Space(space), 0)
    modes: dict[bytes, Mode] = {}
    for gamma in models:
        if explorer.log_mass(gamma) > -np.inf:
            key = explorer.mode_of(gamma).tobytes()
            if key not in modes:
                modes[key] = explorer.at(gamma)
    found = list(modes.values())
    mass = _weigh(regression, space, found)
    some = np.flatnonzero(mass >= mass.max() - WITHIN)
    places = [int(some[mode_to_start_from(mass[some], chain)]) for chain in range(chains)]
    if 0 not in places:
        places[-1] = 0
    return np.array([found[place].gamma for place in places], dtype=np.uint8)


def _weigh(regression: Any, space: ModelSpace, modes: list[Mode]) -> FloatArray:
    """Return the log masses of modes and their neighbours, from exact values or Laplace values."""
    whole = regression.whole if isinstance(regression, GaussianRows) else regression
    gamma = np.array([mode.gamma for mode in modes], dtype=np.uint8)
    if isinstance(whole, GaussianRegression):
        value = single_models(whole).log_marginals(gamma)
    else:
        marginal = MarginalLikelihood(whole, b"", 2, whole.n_columns)
        exist = [marginal.exists(row) for row in gamma]
        value = np.full(len(gamma), -np.inf)
        value[exist] = [marginal.approximate(row).log_marginal for row in gamma[exist]]
    return np.asarray(value + space.log_prior(gamma) + [mode.spread for mode in modes])

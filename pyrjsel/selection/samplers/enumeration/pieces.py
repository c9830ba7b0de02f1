"""Enumeration of linear models that are too many for a list: sums over all of them, and the best ones."""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

import numpy as np
import pandas as pd

from pyrjsel._errors import DataError, NotAvailableError
from pyrjsel._typing import ByteArray, FloatArray, WordArray
from pyrjsel.model_space import (
    ModelSpace,
    PackedModels,
    PriorInclusion,
    PriorSizes,
    Space,
    free_order,
    pack,
    unpack,
    walk,
)
from pyrjsel.runtime import FitSettings
from pyrjsel.selection.posterior import Posterior
from pyrjsel.selection.regression.gaussian import GaussianRegression
from pyrjsel.selection.samplers._subsets import add_up
from pyrjsel.selection.samplers.enumeration.values import check_values, tree_values
from pyrjsel.selection.samplers.listing import (
    PARTS,
    ListJob,
    Part,
    no_chains,
    odds_of,
    run_parts,
    with_dependence,
)
from pyrjsel.selection.samplers.recording.gaussian_average import Tree, averaged_moments, closed
from pyrjsel.storage import Content, Plain

# Largest number of models of a piece; a worker has those of one in memory.
PIECE = 2**17
# Number of the best models that are listed.
KEPT = 2**17
# Mass of the others below which it is not mentioned.
LITTLE = 1e-9


@dataclass(frozen=True, eq=False)
class Piece:
    """A model with all its feasible extensions by terms of an order, from position `first` on."""

    start: ByteArray
    first: int
    count: int


def pieces_of(space: ModelSpace, most: int) -> list[Piece] | None:
    """Return a partition of a space in depth-first order; None if there are more than `most` models."""
    compiled, order, found, total = Space(space), free_order(space), [], 0
    left: list[tuple[ByteArray, int]] = [(space.empty_model(), 0)]
    constrained = space.constrained
    while left:
        start, first = left.pop()
        if constrained:
            count, complete, *_ = walk(compiled, start, order[first:], PIECE, False)
        else:
            count, complete = 2 ** (order.size - first), 2 ** (order.size - first) <= PIECE
        if complete:
            found.append(Piece(start, first, count))
            total += count
        elif total + min(count, PIECE) > most:
            return None
        else:
            grown = start.copy()
            grown[order[first]] = 1
            left.append((start, first + 1))
            if walk(compiled, start, order[first : first + 1], 2, False)[0] == 2:
                left.append((grown, first + 1))
        if total > most:
            return None
    return found


@dataclass(frozen=True, eq=False)
class Whole:
    """All models of a space, by pieces.

    Attributes
    ----------
    tree : Tree
        Without models.
    space : ModelSpace
    pieces : list of Piece
    lacking : bool
        Whether some models may have no coefficient prior.
    """

    tree: Tree
    space: ModelSpace
    pieces: list[Piece]
    lacking: bool

    @classmethod
    def of(cls, regression: GaussianRegression, space: ModelSpace, pieces: list[Piece]) -> "Whole":
        """Return the models in an order in which contiguous parts are like each other."""
        none = np.zeros((0, space.n_terms), dtype=np.uint8)
        sizes = np.sort(np.diff(regression.term_start))[::-1]
        tree = Tree.of(regression, space, none, most=int(sizes[: space.max_size].sum()))
        lacking = regression.prior.rank_tol > 0 and bool(regression.dependent())
        return cls(tree, space, [piece for k in range(PARTS) for piece in pieces[k::PARTS]], lacking)

    @property
    def count(self) -> int:
        """Number of models."""
        return sum(piece.count for piece in self.pieces)

    def models(self, piece: Piece) -> tuple[WordArray, FloatArray]:
        """Return the packed models of a piece, and their log prior probabilities up to a constant."""
        space = self.space
        order = free_order(space)[piece.first :]
        _, _, words, size, _, log_odds = walk(Space(space), piece.start, order, piece.count, True)
        log_prior = space.log_size[size - int(np.sum(space.free == 0))] + log_odds
        if space.by_order is not None:
            log_prior += space.log_open(unpack(words, space.n_terms))
        return words, log_prior


@dataclass
class PiecesJob(ListJob):
    """The job, with a line for the time before it."""

    @property
    def outlook(self) -> str:
        """Number of models and expected time, from a few pieces after the first, which takes longer."""
        whole: Whole = self.given
        part = Sums(whole, 1, 0)
        part.take(slice(0, 1))
        begun = time.process_time()
        part.take(slice(1, 4))
        counted = sum(piece.count for piece in whole.pieces[1:4])
        seconds = (time.process_time() - begun) / counted * whole.count
        return f"{whole.count:,} models take about {max(seconds, 1):,.0f} s of one core."


class Sums(Part):
    """Sums over the models of some pieces, and the best of them.

    Masses are relative to ``exp(top)``.
    """

    given: Whole
    # Arrays of a state, which a checkpoint contains.
    STATE = ("total", "terms", "prior", "sizes", "words", "log_mass", "value")

    def __init__(self, given: Whole, size: int, number: int) -> None:
        super().__init__(given, size, number)
        self.unit = 1
        self.subsets = given.tree.subsets()
        n_terms = given.space.n_terms
        # Number of models, of those without a prior, and the mass.
        self.total = np.zeros(3)
        self.top, self.terms = -np.inf, np.zeros((2, n_terms))  # mass without and with each term
        # The same of the prior over models that have one, of which not all need be listed, and by size.
        self.prior_top, self.prior, self.sizes = -np.inf, np.zeros((2, n_terms)), np.zeros(n_terms + 1)
        self.words = np.empty((0, pack(np.zeros((1, n_terms), dtype=np.uint8)).shape[1]), dtype=np.uint64)
        self.log_mass, self.value, self.least = np.empty(0), np.empty(0), -np.inf

    def take(self, models: slice) -> None:
        """Add up the models of some pieces."""
        for piece in self.given.pieces[models]:
            words, log_prior = self.given.models(piece)
            self._add(words, self._values(words), log_prior)

    def _values(self, words: WordArray) -> FloatArray:
        """Return log marginal likelihoods of packed models."""
        tree = self.given.tree
        value = tree_values(tree, self.subsets, tree.ordered(words, self.given.space.n_terms))
        check_values(value, tree.regression)
        return value

    def _add(self, words: WordArray, value: FloatArray, log_prior: FloatArray) -> None:
        log_mass = value + log_prior
        top = float(log_mass.max())
        self.total[:2] += len(words), np.isneginf(value).sum()
        if top == -np.inf:
            return
        if self.given.lacking:
            self._add_prior(words[value > -np.inf], log_prior[value > -np.inf])
        if top > self.top:
            self._raise(top)
        mass = np.exp(log_mass - self.top)
        self.total[2] += mass.sum()
        add_up(words, mass, self.terms)
        better = np.flatnonzero(log_mass > self.least)
        self.words = np.concatenate([self.words, words[better]])
        self.log_mass = np.concatenate([self.log_mass, log_mass[better]])
        self.value = np.concatenate([self.value, value[better]])
        if self.log_mass.size > 2 * KEPT:
            self.cut()

    def _add_prior(self, words: WordArray, log_prior: FloatArray) -> None:
        self._raise_prior(max(self.prior_top, float(log_prior.max())))
        mass = np.exp(log_prior - self.prior_top)
        add_up(words, mass, self.prior)
        counts = np.bitwise_count(words).sum(axis=1, dtype=np.int64)
        self.sizes += np.bincount(counts, weights=mass, minlength=self.sizes.size)

    def _raise_prior(self, top: float) -> None:
        """Make prior masses relative to a larger one."""
        factor = np.exp(self.prior_top - top) if self.prior_top > -np.inf else 0.0
        self.prior *= factor
        self.sizes *= factor
        self.prior_top = top

    def _raise(self, top: float) -> None:
        """Make masses relative to a larger one."""
        factor = np.exp(self.top - top) if self.top > -np.inf else 0.0
        self.total[2] *= factor
        self.terms *= factor
        self.top = top

    def cut(self) -> None:
        """Keep the best models alone, of equal ones the first."""
        if self.log_mass.size > KEPT:
            least = np.partition(self.log_mass, self.log_mass.size - KEPT)[self.log_mass.size - KEPT]
            best = self.log_mass > least
            best[np.flatnonzero(self.log_mass == least)[: KEPT - int(best.sum())]] = True
            self.words, self.log_mass, self.value = self.words[best], self.log_mass[best], self.value[best]
            self.least = float(least)

    def join(self, other: "Sums") -> None:
        """Add the sums of another part."""
        top = max(self.top, other.top)
        self._raise(top)
        other._raise(top)
        prior_top = max(self.prior_top, other.prior_top)
        self._raise_prior(prior_top)
        other._raise_prior(prior_top)
        for name in ("total", "terms", "prior", "sizes"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        for name in ("words", "log_mass", "value"):
            setattr(self, name, np.concatenate([getattr(self, name), getattr(other, name)]))
        self.cut()

    def prior_over(self, count: int) -> tuple[PriorInclusion, PriorSizes]:
        """Return the prior over the `count` models that have one."""
        n_terms, nothing = self.given.space.n_terms, np.zeros(self.sizes.size)
        inclusion, sizes = self.prior[1] / self.prior.sum(axis=0), self.sizes / self.sizes.sum()
        found = PriorInclusion(inclusion, np.zeros(n_terms), "exact", count, float(inclusion.sum()))
        return found, PriorSizes(sizes, nothing)

    def plain_state(self) -> Plain:
        """Return the position, the sums and the models."""
        return {
            **super().plain_state(),
            "top": np.array([self.top, self.prior_top]),
            **{name: getattr(self, name) for name in self.STATE},
        }

    def restored(self, state: Content, recorded: Mapping[str, np.ndarray]) -> Self:
        """Return the part at a saved state."""
        self.top, self.prior_top = map(float, state.array("top", float, (2,)))
        self.words = state.array("words", np.uint64, (None, self.words.shape[1]))
        for name in ("log_mass", "value"):
            setattr(self, name, state.array(name, float, (len(self.words),)))
        self.cut()
        for name in self.STATE[:4]:
            setattr(self, name, state.array(name, float, getattr(self, name).shape).copy())
        return super().restored(state, recorded)

    def finish(self, completed: bool) -> "Sums":
        """Return the sums."""
        self.cut()
        return self


def in_pieces(
    regression: GaussianRegression, space: ModelSpace, settings: FitSettings, most: int
) -> Posterior:
    """Return the posterior over all models of a space, of which the best are listed.

    Raises
    ------
    NotAvailableError
        If there are more than `most` models, or the prior has no closed form.
    DataError
        If no feasible model has a coefficient prior, or marginal likelihoods are infinite.
    KeyboardInterrupt
        On Ctrl-C, since part of the models do not give a posterior.
    """
    if not closed(regression) or regression.prior.given_variance or not regression.held:
        raise NotAvailableError(
            "Enumeration of more than 2**20 models supports priors with marginal likelihoods in closed form, "
            f"for up to 2,048 columns. Got a {type(regression.prior).__name__}: use another sampler."
        )
    pieces = pieces_of(space, most)
    if pieces is None:
        raise NotAvailableError(f"There are more than {most:,} feasible models: raise 'max_models'.")
    whole = Whole.of(regression, space, pieces)
    found, spent = run_parts(PiecesJob(Sums, len(pieces), whole), settings, "pieces of the model space")
    sums: Sums = found[0]
    for part in found[1:]:
        sums.join(part)
    count, deficient, total = int(sums.total[0]), int(sums.total[1]), float(sums.total[2])
    if deficient == count:
        raise DataError("No feasible model has linearly independent columns, as the g-prior needs.")
    order = np.argsort(-sums.log_mass, kind="stable")
    log_mass = sums.log_mass[order]
    probability = np.exp(log_mass - sums.top) / total
    outside = max(0.0, 1.0 - float(probability.sum()))
    outside = outside if outside > LITTLE else 0.0
    if outside == 0.0:
        probability /= probability.sum()
    packed = PackedModels(np.ascontiguousarray(sums.words[order]), space.n_terms)
    excluded, inclusion = sums.terms / sums.terms.sum(axis=0)
    odds, nothing = odds_of(log_mass), np.zeros(log_mass.size)
    notes = [with_dependence(deficient, count)] if deficient else []
    listed = f"The {len(packed):,} most probable of {count:,} models are listed"
    if len(packed) < count:
        notes.append(
            f"{listed}. The others hold {outside:.2g} of the posterior: they are in inclusion probabilities, "
            "and not in averages of coefficients, sizes and jointness."
            if outside
            else f"{listed}. The others hold less than {LITTLE:g} of the posterior."
        )
    return Posterior(
        sampler="enumerate",
        packed=packed,
        probability=probability,
        mcse=nothing,
        odds=odds,
        odds_mcse=np.where(np.isinf(odds), np.nan, 0.0),
        log_marginal=sums.value[order],
        inclusion=inclusion,
        inclusion_mcse=np.zeros(space.n_terms),
        moments=averaged_moments(regression, space, packed, probability / probability.sum()),
        **no_chains(space.n_terms),
        diagnostics=pd.DataFrame(
            {"models": [count], **spent.columns()}, index=pd.Index(["all"], name="chain")
        ),
        estimator=f"exact, from the marginal likelihoods of all {count - deficient:,} feasible models",
        entropy=settings.entropy(),
        pairs=0,
        notes=notes,
        excluded=excluded,
        outside=outside,
        prior=sums.prior_over(count - deficient) if whole.lacking else None,
    )

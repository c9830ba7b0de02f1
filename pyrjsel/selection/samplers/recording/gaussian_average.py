"""Model-averaged coefficients of gaussian models over a list."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Self

import numpy as np

from pyrjsel._typing import BoolArray, ByteArray, FloatArray, IntArray, WordArray
from pyrjsel.model_space import ModelSpace, PackedModels, pack, unpack
from pyrjsel.selection.evidence._student import StudentCdf
from pyrjsel.selection.evidence.gaussian import SingleModels, score_of
from pyrjsel.selection.evidence.spike_slab import SpikeModels, single_models
from pyrjsel.selection.posterior import Moments
from pyrjsel.selection.priors.gaussian import DOUBTFUL, Rules
from pyrjsel.selection.regression.gaussian import GaussianRegression
from pyrjsel.selection.samplers._subsets import Subsets
from pyrjsel.selection.samplers.listing import ListJob, Part, parts_of
from pyrjsel.storage import Content, Plain

# Models whose coefficients are averaged at a time.
TOGETHER = 2**16
# If the prior requires quadrature for each model, coefficients (under mixtures, only their probabilities of
# being positive) are averaged over the models with all but this proportion of the posterior mass.
REST = 1e-6
# Rows of sums that are moments (the last two given inclusion, for spike-and-slab priors), and the row with
# the mass of the summed models.
ROWS, SIGNED = [0, 1, 2, 3, 5, 6], 4


# Numbers of close columns that are kept for another pass along the same models.
AGAIN = 1024


@dataclass(frozen=True)
class Tree:
    """The models of a list in depth-first order, with data for compiled passes.

    Attributes
    ----------
    regression : GaussianRegression
    words : ndarray (m, words)
        Packed models, terms in the order of the tree.
    columns : ndarray (D,)
        The columns in the order of the tree.
    start : int32 array (J + 1,)
        Start of each term among them.
    most : int
        Largest number of columns of a model.
    order : ndarray (J,) or None
        The terms in the order of the tree; None if that is theirs.
    """

    regression: GaussianRegression
    words: WordArray
    columns: np.ndarray
    start: np.ndarray
    most: int
    order: IntArray | None

    @classmethod
    def of(cls, regression: GaussianRegression, space: ModelSpace, gamma: ByteArray) -> "Tree":
        """Order the terms as in the enumeration of `space` that gave `gamma` (m, J)."""
        always = np.flatnonzero(space.free == 0)
        order = np.concatenate([always, space.order[space.free[space.order] == 1]]).astype(np.intp)
        sizes = np.diff(regression.term_start)[order]
        blocks = [np.arange(*regression.starts[j : j + 2]) for j in order]
        same = bool(np.all(order == np.arange(order.size)))
        return cls(
            regression,
            pack(gamma if same else gamma[:, order]),
            np.concatenate([*blocks, np.empty(0, dtype=np.intp)]).astype(np.intp),
            np.concatenate([[0], np.cumsum(sizes)]).astype(np.intc),
            regression.largest_model(gamma) - 1,
            None if same else order,
        )

    def unordered(self, words: WordArray) -> ByteArray:
        """Return models (m, J), terms as they are, from packed ones in the order of the tree."""
        gamma = unpack(words, self.start.size - 1)
        if self.order is None:
            return gamma
        out = np.empty_like(gamma)
        out[:, self.order] = gamma
        return out

    def subsets(self) -> Subsets:
        """Return the compiled passes, which are not thread-safe."""
        regression, columns = self.regression, self.columns
        prior = regression.prior
        same = bool(np.all(columns == np.arange(columns.size)))
        matrix = regression.matrix

        @lru_cache(maxsize=AGAIN)
        def refined(
            before: tuple[int, ...], column: int
        ) -> tuple[float, FloatArray, float, FloatArray, float]:
            share, products, steps, form = regression.residual_of(columns[column], columns[list(before)])
            return share, products[columns[column:]], products[-1], steps, form

        return Subsets(
            score_of(regression, self.most),
            matrix if same else np.ascontiguousarray(matrix[np.ix_(columns, columns)]),
            regression.right[columns],
            self.start,
            prior.log_weights[columns],
            regression.penalty[columns],
            (regression.mean / regression.scale)[columns],
            self.most,
            *((DOUBTFUL, refined) if regression.close else ()),
        )


def closed(regression: GaussianRegression) -> bool:
    """Whether compiled passes along the tree support the prior."""
    return not regression.prior.in_state and bool(regression.mean.size)


def values_and_doubt(
    regression: GaussianRegression, subsets: Subsets, words: WordArray
) -> tuple[FloatArray, IntArray]:
    """Return values of packed models up to a constant, and the positions of those that are not accurate."""
    close, perfect = regression.close, regression.near_perfect
    value, shares = subsets.values(words, close or perfect)
    doubtful = shares[0] <= regression.prior.rank_tol
    if close:
        doubtful |= shares[1] < DOUBTFUL
    if perfect:
        doubtful |= shares[2] < DOUBTFUL
    return value, np.flatnonzero(doubtful) if regression.prior.rank_tol > 0 else np.empty(0, dtype=np.intp)


@dataclass(frozen=True)
class Weighted:
    """A list of models with their probabilities.

    Attributes
    ----------
    tree : Tree
    gamma : ndarray (m, J)
    probability : ndarray (m,)
    main : bool array (m,)
        Models included in averages of coefficients.
    rules : tuple of ndarray
        Quadrature rules over g, by number of columns.
    """

    tree: Tree
    gamma: ByteArray
    probability: FloatArray
    main: BoolArray
    rules: Rules


def averages_of(tree: Tree, gamma: ByteArray, probability: FloatArray) -> ListJob:
    """Return the job of sums of posterior moments over a list."""
    main, prior = probability > 0, tree.regression.prior
    if prior.quadrature:
        ordered = np.sort(probability)[::-1]
        kept = min(int(np.searchsorted(np.cumsum(ordered), 1.0 - REST)), ordered.size - 1)
        main = probability >= ordered[kept]
    rules = prior.rules(tree.regression, tree.most)
    given = Weighted(tree, gamma, probability, main, rules)
    return ListJob(Averages, len(gamma), given, parts_of(len(gamma)))


class Averages(Part):
    """Sums of posterior moments over a part of the list, from :class:`Weighted`."""

    given: Weighted

    def __init__(self, given: Weighted, size: int, number: int) -> None:
        super().__init__(given, size, number)
        regression = given.tree.regression
        self.sums = np.zeros((7, regression.n_columns))
        self.closed = closed(regression)
        if self.closed:
            self.subsets = given.tree.subsets()
            self.student = StudentCdf(regression.prior.freedom(regression, given.tree.most))
        self.single = single_models(regression)

    def take(self, models: slice) -> None:
        """Add up some of the models."""
        job = self.given
        weights, main = job.probability[models], job.main[models]
        if not weights.size:
            return
        regression = job.tree.regression
        alone = (weights > 0) & self._doubtful(job.tree.words[models]) if self.closed else main
        if self.closed:
            weights, main = np.where(alone, 0.0, weights), main & ~alone
            sums = np.zeros((4, regression.n_columns))
            self.subsets.average(
                job.tree.words[models], weights, main.astype(np.uint8), self.student, regression.centre,
                regression.total_weight, job.rules, sums,
            )  # fmt: skip
            self.sums[:4, 0] += sums[:, 0]
            self.sums[:4, job.tree.columns + 1] += sums[:, 1:]
            self.sums[SIGNED] += float(weights[main].sum())
            weights = job.probability[models]
        elif isinstance(self.single, SpikeModels):
            self.sums[ROWS] += self.single.sums(job.gamma[models][main], weights[main])
            self.sums[SIGNED] += float(weights[main].sum())
            return
        for row in np.flatnonzero(alone):
            found = self.single.moments(job.gamma[models][row], regression.origin)
            scale = regression.units[found.columns]
            values = [found.mean * scale, found.square * scale**2, found.positive, np.ones(scale.size)]
            self.sums[:4, found.columns] += weights[row] * np.array(values)
            self.sums[SIGNED] += weights[row]

    def _doubtful(self, words: WordArray) -> BoolArray:
        """Return the packed models whose sums of squares have lost too many digits, as a mask."""
        out, regression = np.zeros(len(words), bool), self.given.tree.regression
        if regression.close or regression.near_perfect:
            out[values_and_doubt(regression, self.subsets, words)[1]] = True
        return out

    def plain_state(self) -> Plain:
        """Return the position in the part, and the sums."""
        return {"at": self.at, "done": self.done, "sums": self.sums}

    def restored(self, state: Content, recorded: Mapping[str, np.ndarray]) -> Self:
        """Return the part at a saved state."""
        self.sums = state.array("sums", float, self.sums.shape)
        return super().restored(state, recorded)

    def finish(self, completed: bool) -> FloatArray:
        """Return the sums."""
        return self.sums


def averaged(regression: GaussianRegression, sums: FloatArray) -> Moments:
    """Return model-averaged moments from the sums of :class:`Averages`."""
    rows, signed = sums[:4].copy(), sums[SIGNED]
    if regression.prior.ratio is not None:
        return Moments.of_sums(sums[ROWS] / signed, regression.units, regression.origin)
    if not regression.prior.scaled:
        rows /= signed
    else:
        rows[2] /= signed
    return Moments.of_sums(rows, regression.units, regression.origin)


def averaged_moments(
    regression: GaussianRegression, space: ModelSpace, models: PackedModels, probability: FloatArray
) -> Moments:
    """Return the moments of coefficients, averaged over models (m, J) with given probabilities (m,)."""
    if regression.held:
        sums = []
        for at in range(0, len(models), TOGETHER):
            gamma = models[at : at + TOGETHER]
            # Neighbours in this order share their first terms, which compiled passes exploit.
            order = np.lexsort(gamma.T[::-1]) if gamma.shape[1] else np.arange(len(gamma))
            gamma = np.ascontiguousarray(gamma[order])
            mass = probability[at : at + TOGETHER][order]
            job = averages_of(Tree.of(regression, space, gamma), gamma, mass)
            worker = Averages(job.given, len(gamma), 0)
            worker.advance(len(gamma))
            sums.append(worker.sums)
        return averaged(regression, np.sum(sums, axis=0))
    single, total = SingleModels(regression), np.zeros((5, regression.n_columns))
    scale = regression.units
    for row, weight in zip(models, probability, strict=True):
        found = single.moments(row, regression.origin)
        own = scale[found.columns]
        total[:4, found.columns] += weight * np.array(
            [found.mean * own, found.square * own**2, found.positive, np.ones(own.size)]
        )
    total[4] = 1.0
    return averaged(regression, total)

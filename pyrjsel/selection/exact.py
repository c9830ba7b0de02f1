"""Enumeration for the gaussian family: marginal likelihoods of all models, and averages over them."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pyrjsel._errors import DataError
from pyrjsel._typing import ByteArray, FloatArray, WordArray
from pyrjsel.runtime import FitSettings
from pyrjsel.selection import unscaled
from pyrjsel.selection._conjugate import LOST
from pyrjsel.selection._student import StudentCdf
from pyrjsel.selection._subsets import Subsets
from pyrjsel.selection.gaussian import GaussianRegression
from pyrjsel.selection.listing import (
    PARTS,
    Part,
    feasible_models,
    inclusion_of,
    normalise,
    odds_of,
    run_parts,
    with_dependence,
)
from pyrjsel.selection.posterior import Moments, Posterior
from pyrjsel.selection.spike_models import SpikeModels, single_models
from pyrjsel.space import ModelSpace, PackedModels, pack
from pyrjsel.store import Content, Plain

# Under priors that need quadrature for each of them, coefficients are averaged (and under mixtures their
# probabilities of being positive) over the models that hold all but this share of the posterior mass.
REST = 1e-6
Rules = tuple[NDArray[np.intc], FloatArray, FloatArray]
# Rows of sums that are moments (the last two given that the term is in, for spikes and slabs), and the one
# with the mass that they are of.
ROWS, SIGNED = [0, 1, 2, 3, 5, 6], 4
NO_RULES: Rules = (np.zeros(2, dtype=np.intc), np.empty(0), np.empty(0))


@dataclass(frozen=True)
class ExactOptions:
    """Options of ``fit(sampler="enumerate")`` for gaussian models: none."""


@dataclass(frozen=True)
class Tree:
    """The models of a list in depth-first order, and what compiled passes over them need.

    Attributes
    ----------
    regression : GaussianRegression
    words : ndarray (m, words)
        Packed models, terms in the order of the tree.
    columns : ndarray (D,)
        The columns in the order of the tree.
    start : int32 array (J + 1,)
        Where terms begin among them.
    most : int
        Most columns of a model.
    """

    regression: GaussianRegression
    words: WordArray
    columns: np.ndarray
    start: np.ndarray
    most: int

    @classmethod
    def of(cls, regression: GaussianRegression, space: ModelSpace, gamma: ByteArray) -> "Tree":
        """Order the terms as the enumeration of `space` does, which made `gamma` (m, J)."""
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
        )

    def subsets(self) -> Subsets:
        """Return the compiled passes; not to be shared by threads."""
        regression, columns = self.regression, self.columns
        prior = regression.prior
        same = bool(np.all(columns == np.arange(columns.size)))
        matrix = regression.matrix
        return Subsets(
            regression.score(self.most),
            matrix if same else np.ascontiguousarray(matrix[np.ix_(columns, columns)]),
            regression.right[columns],
            self.start,
            prior.log_weights[columns],
            regression.penalty[columns],
            (regression.mean / regression.scale)[columns],
            self.most,
        )


def _closed(regression: GaussianRegression) -> bool:
    """Whether compiled passes along the tree know the prior."""
    return regression.prior.kind in ("normal", "g", "mixture") and bool(regression.mean.size)


@dataclass
class Values:
    """Log marginal likelihoods of a part of the list; a job of ``run_chains``."""

    tree: Tree
    gamma: ByteArray
    total: int = field(init=False)

    def __post_init__(self) -> None:
        self.total = -(-len(self.gamma) // PARTS)

    def start(self, seed: np.random.SeedSequence, chain: int) -> "_Values":
        """Return what goes through part number `chain`."""
        return _Values(self, chain)

    def resume(self, state: Content, recorded: Mapping[str, np.ndarray], chain: int) -> "_Values":
        """Return what has gone through some of it."""
        return _Values(self, chain).restored(state, recorded)


class _Values(Part):
    def __init__(self, job: Values, number: int) -> None:
        super().__init__(job.total, number)
        self.job = job
        regression = job.tree.regression
        self.subsets = job.tree.subsets() if _closed(regression) else None

    def take(self, models: slice) -> None:
        gamma, regression = self.job.gamma[models], self.job.tree.regression
        if not len(gamma):
            return
        if regression.prior.kind == "unscaled":
            self.keep(value=unscaled.log_marginals(regression, gamma))
        elif self.subsets is None:
            self.keep(value=single_models(regression).log_marginals(gamma))
        else:
            value, share = self.subsets.values(self.job.tree.words[models])
            tol = regression.prior.rank_tol
            doubtful = np.flatnonzero(share <= tol) if tol > 0 else np.empty(0, dtype=np.intp)
            if doubtful.size:
                # Only bounds of shares are known along the tree: what may be dependent is looked at again.
                value[doubtful] = regression.evidence().values(np.ascontiguousarray(gamma[doubtful]))
            self.keep(value=value + regression.constant)

    def finish(self, completed: bool) -> FloatArray:
        return self.all("value")


def check_values(values: FloatArray, regression: GaussianRegression) -> None:
    """Raise :class:`DataError` if marginal likelihoods are infinite or were lost to rounding."""
    if np.any(values == np.inf):
        raise DataError(
            f"The marginal likelihoods of {int(np.sum(values == np.inf)):,} models are infinite: their "
            "columns fit the response perfectly (R^2 = 1), and p(sigma^2) = 1 / sigma^2. Give a sigma_prior, "
            "such as InverseGamma(2, 1), or a smaller max_size."
        )
    lost = np.isnan(values) | (np.isinf(values) if regression.prior.rank_tol == 0 else False)
    if np.any(lost):
        raise DataError(LOST)


@dataclass
class Averages:
    """Sums of posterior moments over a part of the list; a job of ``run_chains``."""

    tree: Tree
    gamma: ByteArray
    probability: FloatArray
    total: int = field(init=False)

    def __post_init__(self) -> None:
        self.total = -(-len(self.gamma) // PARTS)
        regression = self.tree.regression
        self.main = self.probability > 0
        if regression.prior.kind in ("mixture", "unscaled", "unscaled spike"):
            ordered = np.sort(self.probability)[::-1]
            kept = min(int(np.searchsorted(np.cumsum(ordered), 1.0 - REST)), ordered.size - 1)
            self.main = self.probability >= ordered[kept]
        self.rules = NO_RULES
        if regression.prior.kind == "mixture":
            made = [regression.shrinkage.rule(d) for d in range(1, self.tree.most + 1)]
            edges = np.concatenate([[0, 0], np.cumsum([len(rule[0]) for rule in made])])
            parts = [np.concatenate([*(rule[k] for rule in made), np.empty(0)]) for k in (0, 1)]
            self.rules = (edges.astype(np.intc), parts[0], parts[1])

    def start(self, seed: np.random.SeedSequence, chain: int) -> "_Averages":
        """Return what goes through part number `chain`."""
        return _Averages(self, chain)

    def resume(self, state: Content, recorded: Mapping[str, np.ndarray], chain: int) -> "_Averages":
        """Return what has gone through some of it."""
        runner = _Averages(self, chain).restored(state, recorded)
        runner.sums = state.array("sums", float, runner.sums.shape)
        return runner


class _Averages(Part):
    def __init__(self, job: Averages, number: int) -> None:
        super().__init__(job.total, number)
        self.job = job
        regression = job.tree.regression
        self.sums = np.zeros((7, regression.n_columns))
        self.closed = _closed(regression)
        if self.closed:
            self.subsets, self.student = job.tree.subsets(), StudentCdf(regression.nu)
        self.single = single_models(regression)

    def take(self, models: slice) -> None:
        job = self.job
        weights, main = job.probability[models], job.main[models]
        if not weights.size:
            return
        regression = job.tree.regression
        if self.closed:
            sums = np.zeros((4, regression.n_columns))
            self.subsets.average(
                job.tree.words[models], weights, main.astype(np.uint8), self.student, regression.centre,
                regression.total_weight, job.rules, sums,
            )  # fmt: skip
            self.sums[:4, 0] += sums[:, 0]
            self.sums[:4, job.tree.columns + 1] += sums[:, 1:]
            self.sums[SIGNED] += float(weights[main].sum())
            return
        if isinstance(self.single, SpikeModels):
            self.sums[ROWS] += self.single.sums(job.gamma[models][main], weights[main])
            self.sums[SIGNED] += float(weights[main].sum())
            return
        for row in np.flatnonzero(main):
            found = self.single.moments(job.gamma[models][row], regression.origin)
            scale = np.concatenate([[1.0], regression.scale])[found.columns]
            values = [found.mean * scale, found.square * scale**2, found.positive, np.ones(scale.size)]
            self.sums[:4, found.columns] += weights[row] * np.array(values)
            self.sums[SIGNED] += weights[row]

    def plain_state(self) -> Plain:
        """Return how far it is, and the sums."""
        return {"at": self.at, "done": self.done, "sums": self.sums}

    def finish(self, completed: bool) -> FloatArray:
        return self.sums


def exact_posterior(
    regression: GaussianRegression, space: ModelSpace, settings: FitSettings, options: ExactOptions
) -> Posterior:
    """Return the posterior over all feasible models of `space`, without Monte Carlo error.

    Raises
    ------
    NotAvailableError
        If there are more than 2**20 feasible models.
    DataError
        If no feasible model has a coefficient prior (every one is rank-deficient), or marginal likelihoods
        are infinite.
    KeyboardInterrupt
        On Ctrl-C: a posterior over a part of the models would be no posterior.
    """
    gamma, log_prior = feasible_models(space)
    entropy = settings.entropy()
    tree = Tree.of(regression, space, gamma)
    found, spent = run_parts(Values(tree, gamma), settings, "models")
    values = np.concatenate(found)
    check_values(values, regression)
    deficient = int(np.sum(np.isinf(values)))
    notes, count = [], values.size
    if deficient == count:
        raise DataError("No feasible model has linearly independent columns, as the g-prior needs.")
    if deficient:
        notes.append(with_dependence(deficient, count))
    probability = normalise(values + log_prior)
    sums, more = run_parts(Averages(tree, gamma, probability), settings, "coefficients")
    moments = averaged(regression, np.sum(sums, axis=0))
    inclusion = inclusion_of(probability, gamma)

    log_mass = values + log_prior
    order = np.argsort(-log_mass, kind="stable")
    nothing = np.zeros(values.size)
    n_terms = space.n_terms
    which = (
        f"all {count - deficient:,} feasible models" if count - deficient > 1 else "the one feasible model"
    )
    odds = odds_of(log_mass[order])
    return Posterior(
        sampler="enumerate",
        packed=PackedModels.of(gamma[order]),
        probability=probability[order],
        mcse=nothing,
        odds=odds,
        odds_mcse=np.where(np.isinf(odds), np.nan, 0.0),
        log_marginal=values[order],
        inclusion=inclusion,
        inclusion_mcse=np.zeros(n_terms),
        ess=np.full(n_terms, np.nan),
        r_hat=np.full(n_terms, np.nan),
        stuck=np.zeros(n_terms, dtype=bool),
        disagree=np.zeros(n_terms, dtype=bool),
        moments=moments,
        draws=None,
        diagnostics=pd.DataFrame(
            {"models": [count], **(spent + more).columns()}, index=pd.Index(["all"], name="chain")
        ),
        estimator=f"exact, from the marginal likelihoods of {which}",
        entropy=entropy,
        pairs=0,
        notes=notes,
    )


def averaged(regression: GaussianRegression, sums: FloatArray) -> Moments:
    """Return model-averaged moments from the sums of :class:`Averages`."""
    rows, signed = sums[:4].copy(), sums[SIGNED]
    if regression.prior.ratio is not None:
        return Moments.of_sums(sums[ROWS] / signed, regression.scale, regression.origin)
    if regression.prior.kind == "unscaled":
        rows /= signed
    else:
        rows[2] /= signed
        if regression.nu <= 1:
            rows[0] = np.where(rows[3] > 0, np.nan, 0.0)  # a Cauchy posterior has no mean
    return Moments.of_sums(rows, regression.scale, regression.origin)

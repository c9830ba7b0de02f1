"""Reversible-jump MCMC: fixed proposals, moves and chains. The loop itself is in ``_rjmcmc.pyx``."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from pyrjsel._errors import NotAvailableError, ParameterError
from pyrjsel._typing import ByteArray, FloatArray, IntArray
from pyrjsel._validate import bad_value
from pyrjsel.families import Nuisance
from pyrjsel.model_space import ModelSpace, Space, term_blocks
from pyrjsel.runtime import FitSettings
from pyrjsel.selection.evidence.gaussian import SingleModels
from pyrjsel.selection.evidence.laplace import MarginalLikelihood
from pyrjsel.selection.evidence.surrogate import Surrogate
from pyrjsel.selection.posterior import Posterior
from pyrjsel.selection.priors.gaussian import DOUBTFUL
from pyrjsel.selection.regression.columns import clear_by
from pyrjsel.selection.regression.gaussian import GaussianRegression
from pyrjsel.selection.regression.gaussian_rows import NO_DENSITY, GaussianRows, state_nuisance
from pyrjsel.selection.regression.glm import Regression
from pyrjsel.selection.samplers.base import MCMC, Chain, Job, chain_models, no_counts
from pyrjsel.selection.samplers.options import is_gaussian
from pyrjsel.selection.samplers.recording.recorder import Block, Manner
from pyrjsel.selection.samplers.reversible_jump._gaussian_jump import GaussianJump
from pyrjsel.selection.samplers.reversible_jump._moves import MOVES
from pyrjsel.selection.samplers.reversible_jump._rjmcmc import ReversibleJump
from pyrjsel.selection.samplers.reversible_jump._size_jump import MixtureJump, ScaleJump, SizeJump
from pyrjsel.selection.samplers.reversible_jump.surrogate_jumps import (
    SurrogateJumps,
    SurrogateLoop,
    learn_surrogate,
)
from pyrjsel.storage import Content


def full_model_proposal(regression: Regression) -> tuple[FloatArray, FloatArray]:
    """Return the mean (D + 1,) and the precision factors (D + 1, largest term) of the terms' coefficients.

    The rows of term j in the second array are the lower Cholesky factor of the inverse of its posterior
    covariance in the full model, at the mode.

    Raises
    ------
    ParameterError
        If the full model has no posterior mode (linearly dependent columns under a g-prior).
    """
    full = np.ones(regression.n_terms, dtype=np.uint8)
    marginal = MarginalLikelihood(regression, b"", 2, regression.n_columns)
    mean = marginal.mode(full)
    if marginal.finder.status:
        raise ParameterError(
            "The 'proposal' option of sampler='rjmcmc' must be 'conditional' where the full model has "
            "linearly dependent columns. Got 'full' instead."
        )
    inverse = np.linalg.inv(marginal.finder.factor)
    covariance = inverse.T @ inverse
    sizes = np.diff(regression.term_start)
    factor = np.zeros((regression.n_columns, max(1, int(sizes.max(initial=0)))))
    for start, size in zip(regression.term_start[:-1], sizes, strict=True):
        block = slice(start, start + size)
        factor[block, :size] = np.linalg.cholesky(np.linalg.inv(covariance[block, block]))
    return mean, factor


def entry_weights(regression: Regression, space: ModelSpace) -> FloatArray:
    """Return the weights of the entering term in trades.

    A mixture of equal weights and weights proportional to the score statistics of the terms' columns
    (averaged) in the null model. They depend only on the data, so that chains are reversible.

    Parameters
    ----------
    regression : Regression
    space : ModelSpace

    Returns
    -------
    ndarray (J,)
        Positive weights; those of free terms sum to one.
    """
    free = np.asarray(space.free, dtype=float)
    starts, columns = regression.term_start - regression.leading, np.diff(regression.term_start)
    sums = np.concatenate([[0.0], np.cumsum(regression.scores())])
    score = free * (sums[starts[1:]] - sums[starts[:-1]]) / np.maximum(columns, 1)
    even = np.full(free.size, 1.0 / max(1.0, free.sum()))
    total = float(score.sum())
    return 0.5 * (even + score / total) if 0.0 < total < np.inf else even


# Number of best visited models whose neighbours are looked at. Neighbours matter if they have more than LARGE
# of the probability, and more than KNOWN times that by visits.
BEST, LARGE, KNOWN = 10, 0.02, 3.0


def make_chain(
    regression: Regression, space: ModelSpace, gamma: ByteArray, b: FloatArray, **rest: Any
) -> ReversibleJump:
    """Return a compiled chain at a model (J,) and the numbers of a state (D + 1 + nuisance,)."""
    common = (regression.compiled, Space(space), gamma, b)
    if not isinstance(regression, GaussianRows):
        prior, family = regression.prior, regression.family
        if prior.mixture is not None:
            rest["mixture"] = prior.mixture.conditional(prior.total_weight)
        if not family.expanded:
            return ReversibleJump(*common, **rest) if prior.mixture is None else MixtureJump(*common, **rest)
        more = {**family.of_jumps(), **rest}
        if family.scaled:
            return ScaleJump(*common, **more)
        return SizeJump(*common, weights=regression.row_weights, offset=regression.offset, **more)
    whole = regression.whole
    return GaussianJump(
        *common,
        rows=float(whole.n),
        sigma=(whole.a, whole.b),
        scaled=regression.scaled,
        typical=whole.total / whole.nu,
        mixture=whole.prior.conditional(float(whole.n)),
        **rest,
    )


# Moves in the order of their counts.
ALL_MOVES = (*MOVES, "surrogate")
# Trades per iteration if swaps are not enough. Measured on six problems with two distant modes of about
# equal mass (two linear and two logistic models of 60 terms, one at the price of five; a costly family of
# 31 terms; an interaction with a factor at a largest size), as effective draws of the mode per CPU second
# relative to 8 trades, geometric means of one or two runs of 3 s: with 1, 2, 4 and 16 trades 0.34, 0.57,
# 0.84 and 0.96 by `rjmcmc`, and 0.48, 0.60, 0.81 and 1.28 by `population` (0.08 without). Without distant
# modes, in a logistic model of 2,532 rows and 13 terms with prices from 0.5 to 2.5, one trade takes a
# quarter of the time of an iteration without any, and effective draws per CPU second hardly differ: by
# `rjmcmc` 109, 106 and 97 of the best model with 1, 4 and 8 trades (standard errors 3 to 6), and 48, 59 and
# 58 of the worst inclusion (20 without). With all 83 terms, one run each, 8 trades have two thirds of the
# effective draws per second of one.
TRADES = 8


@dataclass(frozen=True)
class JumpMoves:
    """The moves of an iteration besides flips and updates of coefficients.

    Attributes
    ----------
    swaps, trades, block_updates : int
    blocks : tuple of int array
        Each a term with the terms that heredity requires; see ``pyrjsel.model_space.term_blocks``.
    entry : ndarray (J,), optional
        Weights of the entering term in trades; None means equal weights.
    fixed : tuple of ndarray, optional
        Mean and precision factors of a fixed proposal for coefficients.
    surrogate : int
        Number of surrogate jumps.
    learnt : Surrogate, optional
        The surrogate for these jumps.
    """

    swaps: int = 0
    trades: int = 0
    block_updates: int = 0
    blocks: tuple[IntArray, ...] = ()
    entry: FloatArray | None = None
    fixed: tuple[FloatArray, FloatArray] | None = None
    surrogate: int = 0
    learnt: Surrogate | None = None

    @property
    def kinds(self) -> list[int]:
        """Positions in ALL_MOVES of the proposed moves; others are not counted."""
        others = (4, self.trades), (5, self.block_updates), (6, self.surrogate)
        return [0, 1, 2, 3, *(k for k, count in others if count)]

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the proposed moves."""
        return tuple(ALL_MOVES[k] for k in self.kinds)

    def all_counts(self, counts: np.ndarray) -> np.ndarray:
        """Return counts (2, kinds) in the form of the loops, (2, moves)."""
        found = no_counts(len(ALL_MOVES if self.surrogate else MOVES))
        found[:, self.kinds] = counts
        return found


class JumpChain(Chain):
    """Base of reversible-jump chains, whose states are models with coefficients."""

    @classmethod
    def nuisance(cls, regression: Any) -> Nuisance:
        """Return the parameters of states besides coefficients: sigma^2 of gaussian models, and log g."""
        return state_nuisance(regression.family) if is_gaussian(regression) else regression.nuisance

    @classmethod
    def single(cls, job: Job) -> MarginalLikelihood:
        """Return a mode finder for single models (at the first sigma^2 and g, if they are unknown)."""
        regression = job.regression
        return MarginalLikelihood(regression.first()[0], b"", 2, regression.widest(job.space.max_size))

    @classmethod
    def first_vector(cls, job: Job, chain: int, rng: np.random.Generator) -> tuple[ByteArray, FloatArray]:
        """Return the starting model of a chain, with its mode and the other parameters of states."""
        gamma, marginal = job.first_model(chain, rng), job.single()
        assert isinstance(marginal, MarginalLikelihood)
        b = marginal.mode(gamma)
        marginal.check_mode()
        return gamma, np.concatenate([b, job.regression.first()[1]])

    @classmethod
    def read_vectors(cls, job: Job, known: Content, *shape: int) -> dict[str, Any]:
        """Return the models and numbers of a saved state."""
        regression = job.regression
        width = regression.n_columns + len(regression.nuisance)
        return {"gamma": chain_models(job, known, *shape), "b": known.array("b", float, (*shape, width))}

    def new_loop(self, gamma: ByteArray, b: FloatArray) -> ReversibleJump:
        """Return a compiled chain at a state."""
        regression, moves = self.job.regression, self.job.setup
        fixed_mean, fixed_factor = moves.fixed or (None, None)
        return make_chain(
            regression,
            self.job.space,
            gamma,
            b,
            max_columns=regression.widest(self.job.space.max_size),
            raw_shift=regression.raw_shift,
            origin=regression.origin,
            n_swaps=moves.swaps,
            n_trades=moves.trades,
            n_family_moves=moves.block_updates,
            families=moves.blocks,
            entry=moves.entry,
            fixed_mean=fixed_mean,
            fixed_factor=fixed_factor,
        )

    @property
    def main(self) -> ReversibleJump:
        """The compiled chain with the posterior as its target."""
        raise NotImplementedError

    def position(self) -> tuple[ByteArray, float | None]:
        """Return the model that the chain is at, and sigma^2 if it has one."""
        gamma, b = self.main.state()
        regression = self.job.regression
        return gamma, float(b[regression.n_columns]) if regression.nuisance.names else None

    def move_to(self, gamma: ByteArray) -> None:
        """Go to the mode of a model, unless it has no coefficient prior by the rank rule of modes."""
        marginal = self.single(self.job)
        if marginal.exists(gamma):
            b = np.concatenate([marginal.mode(gamma), self.job.regression.first()[1]])
            self.main.set_state(gamma, b)


class RJMCMCChain(JumpChain):
    """One chain. Values of its state: model `gamma`, numbers `b`, and `counts` of moves."""

    loop: ReversibleJump
    # The same chain, with surrogate jumps if there are any.
    moving: ReversibleJump | SurrogateLoop

    @property
    def main(self) -> ReversibleJump:
        """The compiled chain."""
        return self.loop

    @classmethod
    def first(cls, job: Job, chain: int, rng: np.random.Generator) -> dict[str, Any]:
        """Return the values of a first state."""
        gamma, b = cls.first_vector(job, chain, rng)
        return {"gamma": gamma, "b": b, "counts": no_counts(len(job.setup.kinds))}

    @classmethod
    def read(cls, job: Job, known: Content) -> dict[str, Any]:
        """Return the values of a saved state."""
        counts = known.array("counts", np.int64, (2, len(job.setup.kinds)))
        return {**cls.read_vectors(job, known), "counts": counts}

    def restore(self, values: dict[str, Any]) -> None:
        """Create the loop at the values of a state."""
        self.loop = self.new_loop(values["gamma"], values["b"])
        self.moving, moves = self.loop, self.job.setup
        if moves.learnt is not None:
            jumps = SurrogateJumps(self.job.regression, self.job.space, moves.learnt)
            self.moving = SurrogateLoop(self.loop, jumps, moves.surrogate)
        self.moving.set_counts(moves.all_counts(values["counts"]))

    def values(self) -> dict[str, Any]:
        """Return the values of the state between two iterations."""
        gamma, b = self.loop.state()
        return {"gamma": gamma, "b": b, "counts": self.counts()}

    def run(self, n: int, block: Block | None = None) -> tuple[int, int]:
        """Run `n` iterations; return the numbers of draws and coefficient vectors written into the block."""
        return self.moving.run(self.rng, n, **self.into(block))

    def counts(self) -> np.ndarray:
        """Return the counts of the proposed moves."""
        return self.moving.counts()[:, self.job.setup.kinds]

    def clear(self) -> None:
        """Reset the counts at the end of burn-in."""
        self.moving.set_counts(self.job.setup.all_counts(no_counts(len(self.job.setup.kinds))))


def unreached(regression: GaussianRegression, space: ModelSpace, posterior: Posterior) -> list[str]:
    """Return a warning if chains hardly visit models of nearly dependent columns that matter.

    A single new coefficient has hardly any posterior probability there given the others. The best visited
    models and their neighbours are compared by marginal likelihoods.
    """
    best = posterior.packed[np.argsort(-posterior.probability, kind="stable")[:BEST]]
    flips = np.vstack([np.zeros(space.n_terms, np.uint8), np.eye(space.n_terms, dtype=np.uint8)])
    models = np.unique((best[:, None] ^ flips).reshape(-1, space.n_terms), axis=0)
    value = SingleModels(regression).log_marginals(models) + space.log_prior(models)
    share = np.exp(value - value.max())
    share /= share.sum()
    columns = [regression.model_columns(gamma)[1:] - 1 for gamma in models]
    close = np.array([not clear_by(regression.gram_of(each), DOUBTFUL) for each in columns])
    if share[close].sum() < LARGE:
        return []
    known = {gamma.tobytes(): p for gamma, p in zip(posterior.packed, posterior.probability, strict=True)}
    visits = np.array([known.get(gamma.tobytes(), 0.0) for gamma in models])
    visits /= visits.sum()
    if share[close].sum() <= KNOWN * visits[close].sum():
        return []
    most = " + ".join(space.terms_of(models[np.argmax(np.where(close, share, 0.0))]))
    text = (
        f"Chains hardly visit models of nearly dependent columns, such as {most}: by marginal likelihoods "
        f"such models have {share[close].sum():.2g} of the probability of the best visited models and their "
        f"neighbours, and {visits[close].sum():.2g} by visits. Fit with sampler='collapsed'."
    )
    return [text]


class RJMCMC(MCMC):
    """Reversible-jump MCMC over models and coefficients."""

    name = "rjmcmc"
    kind: ClassVar[type[Chain]] = RJMCMCChain

    def prepared(self, regression: Any, space: ModelSpace) -> Regression:
        """Return the regression in the form that chains use: reduced rows for a linear model."""
        if not is_gaussian(regression):
            return regression
        rows = GaussianRows.of(regression)
        regression.check_models(space.max_size)
        return rows

    def summarised(self, drawn: Any, job: Job, settings: FitSettings, **rest: Any) -> Posterior:
        """Return the posterior, with a warning about models of close columns that chains cannot enter."""
        posterior = super().summarised(drawn, job, settings, **rest)
        if isinstance(job.regression, GaussianRows) and job.regression.whole.close:
            posterior.alarm(unreached(job.regression.whole, job.space, posterior))
        return posterior

    def setup(
        self, regression: Any, space: ModelSpace, settings: FitSettings, options: Any, entropy: bytes
    ) -> JumpMoves:
        """Return the moves that chains make.

        Raises
        ------
        ParameterError
            If surrogate jumps are requested for linear models, or with mixtures of g-priors.
        NotAvailableError
            If marginal likelihoods are no integrals over a prior.
        """
        if regression.prior.rule is not None:
            raise NotAvailableError(NO_DENSITY)
        if options.surrogate and len(self.nuisance(regression) or ()):
            must = "0 for linear models, with mixtures of g-priors, and if theta, shape or sigma is unknown"
            raise bad_value("surrogate", must, options.surrogate)
        free = int(np.sum(space.free))
        swaps = free if space.bounded else -(-free // 4)
        if free < 2:
            swaps = 0
        elif options.swaps is not None:
            swaps = options.swaps
        groups = tuple(term_blocks(space))
        trades = options.trades
        if trades is None:
            trades = TRADES if space.bounded and (groups or not _alike(space)) else 0
        trades = trades if free > 1 else 0
        updates = -(-len(groups) // 4) if options.blocks is None else options.blocks
        return JumpMoves(
            swaps,
            trades,
            updates if groups else 0,
            groups,
            entry_weights(regression, space) if trades and options.entry == "score" else None,
            full_model_proposal(regression.first()[0]) if options.proposal == "full" else None,
            options.surrogate,
            learn_surrogate(regression, space) if options.surrogate else None,
        )

    def manner(self, job: Job, options: Any) -> Manner:
        """Return the properties of the chains that summaries depend on."""
        return Manner(self.name, job.setup.names)


def _alike(space: ModelSpace) -> bool:
    """Whether the constraints allow any free term in place of any other."""
    if not np.isfinite(space.budget):
        return True
    free = np.flatnonzero(space.free)
    items = [space.items_of(int(term)).tolist() for term in free]
    prices = {sum(float(space.item_cost[item]) for item in held) for held in items}
    shared = len({item for held in items for item in held}) < sum(map(len, items))
    return len(prices) < 2 and not shared

"""From the loops' blocks of draws to the posterior that results show; shared by all samplers."""

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from pyrjsel._errors import ConvergenceWarning
from pyrjsel._typing import ByteArray, FloatArray, WordArray
from pyrjsel._validate import listed
from pyrjsel.report.errors import IndicatorStats, indicator_stats, model_stats, scalar_stats
from pyrjsel.runtime import DrawnChains, FitSettings
from pyrjsel.selection.averages import VISITS_ALONE, Estimate
from pyrjsel.selection.draws import Draws
from pyrjsel.selection.layout import TermColumns
from pyrjsel.selection.posterior import Moments, Posterior
from pyrjsel.selection.predict import SingleModel
from pyrjsel.space import ModelSpace, ModelTable, pack, unpack
from pyrjsel.store import Content, Plain

# Models whose probabilities get Monte Carlo errors and a row in the table of models.
MODEL_ROWS = 1000
# Pairs of importance draws for the marginal likelihoods in that table.
TABLE_PAIRS = 64
# Split R-hat of the model size or log posterior over all chains beyond which they have plainly not converged.
WORST_R_HAT = 1.2
# A chain that takes a smaller share of its coefficient updates than this, of at least so many, is stuck.
LEAST_ACCEPTANCE = 0.01
FEWEST_PROPOSALS = 200
# Bytes that the coefficient draws of a fit may take; beyond it they are thinned.
COEFFICIENT_BYTES = 32 * 2**20


@dataclass
class Block:
    """Room for the draws of one block; the loop fills it."""

    words: WordArray
    log_posterior: FloatArray
    coefficients: FloatArray


@dataclass
class ChainDraws:
    """The draws of one chain: visited models once each, draws as indices into them.

    `error_variance` are error variances that go with the coefficients, in families that have one.
    """

    words: WordArray
    index: np.ndarray
    log_posterior: FloatArray
    coefficients: FloatArray
    sums: FloatArray
    counts: np.ndarray
    error_variance: FloatArray | None = None


@dataclass(frozen=True)
class Manner:
    """What summaries of the samplers differ in.

    Attributes
    ----------
    sampler : str
    moves : sequence of str
        Names of the moves that chains count.
    vital : str
        The move of which a chain that accepts hardly any is stuck.
    words : str
        What `vital` proposes, in the plural.
    least : float
        Share of accepted proposals of `vital` below which a chain is stuck.
    density : bool
        Whether log posteriors are densities of coefficients too, and not masses of models.
    pairs : int
        Pairs of importance draws for marginal likelihoods.
    """

    sampler: str
    moves: Sequence[str]
    vital: str = "coefficients"
    words: str = "coefficient updates"
    least: float = LEAST_ACCEPTANCE
    density: bool = True
    pairs: int = TABLE_PAIRS


# From the draws of each chain, the model of each draw and the models: inclusion probabilities.
Estimator = Callable[[Sequence[ChainDraws], np.ndarray, ByteArray], Estimate]

# From models and their probabilities: moments of coefficients.
Averager = Callable[[ByteArray, FloatArray], Moments]


def visit_estimate(chains: Sequence[ChainDraws], index: np.ndarray, gamma: ByteArray) -> Estimate:
    """Return the frequencies of visits as inclusion probabilities."""
    return Estimate(indicator_stats(index, gamma), None, VISITS_ALONE)


def thinning(regression: TermColumns, settings: FitSettings) -> int:
    """Return how many draws there are to a kept vector of coefficients."""
    vector = regression.n_columns * 8 * settings.chains
    return max(1, -(-settings.draws * vector // COEFFICIENT_BYTES))


class Collector:
    """Collects the blocks of one chain: each model is stored once, coefficients are thinned.

    Parameters
    ----------
    n_terms, n_columns : int
    every : int
        Draws to a vector of coefficients.
    n_extra : int, default 0
        Numbers at the end of these vectors that are no coefficients, an error variance the first.
    """

    # Lists of arrays of what was recorded, in order.
    series: ClassVar[tuple[str, ...]] = ("index", "log_posterior", "coefficients")

    def __init__(self, n_terms: int, n_columns: int, every: int, n_extra: int = 0) -> None:
        self.table = ModelTable(n_terms)
        self.every = every
        self.n_columns, self.n_extra = n_columns, n_extra
        self.n_words = pack(np.zeros((1, n_terms), dtype=np.uint8)).shape[1]
        self.sums = np.zeros((4, n_columns))
        self.index: list[np.ndarray] = []
        self.log_posterior: list[FloatArray] = []
        self.coefficients: list[FloatArray] = []
        self._models_seen = 0
        self._seen = dict.fromkeys(self.series, 0)

    def room(self, draws: int) -> Block:
        """Return arrays for at most `draws` draws."""
        return Block(
            np.zeros((draws, self.n_words), dtype=np.uint64),
            np.empty(draws),
            np.empty((draws // self.every + 1, self.n_columns + self.n_extra)),
        )

    def add(self, block: Block, kept: int, kept_coefficients: int) -> None:
        """Take the draws that a loop wrote into `block`."""
        if kept:
            self.index.append(self.table.add(block.words[:kept]).astype(np.int32))
            self.log_posterior.append(block.log_posterior[:kept].copy())
        if kept_coefficients:
            self.coefficients.append(block.coefficients[:kept_coefficients].copy())

    def all(self, name: str) -> np.ndarray:
        """Return one of the series as one array."""
        return np.concatenate([*getattr(self, name), self._empty(name)])

    def totals(self) -> dict[str, np.ndarray]:
        """Return the arrays of sums over draws: not copies."""
        return {"sums": self.sums}

    def snapshot(self) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
        """Return the sums, and what was recorded since the last snapshot."""
        recorded = {"words": self.table.words[self._models_seen :]}
        for name in self.series:
            parts = getattr(self, name)
            recorded[name] = np.concatenate([*parts[self._seen[name] :], self._empty(name)])
        self._look()
        return self.totals(), {name: array for name, array in recorded.items() if len(array)}

    def restore(self, totals: Content, recorded: Mapping[str, np.ndarray]) -> None:
        """Have what snapshots told, of a collector that has nothing yet.

        Raises
        ------
        StoreError
            If that does not fit the problem.
        """
        for name, into in self.totals().items():
            into[...] = totals.array(name, into.dtype, into.shape)
        known = Content({"words": np.empty((0, self.n_words), np.uint64), **recorded}, "the draws")
        self.table.add(known.array("words", np.uint64, (None, self.n_words)))
        for name in self.series:
            empty = self._empty(name)
            if name in recorded:
                getattr(self, name).append(known.array(name, empty.dtype, (None, *empty.shape[1:])))
        if any(index.size and not 0 <= index.min() <= index.max() < len(self.table) for index in self.index):
            raise known.wrong("index", f"rows of {len(self.table)} models")
        self._look()

    def _look(self) -> None:
        """Take note of what has been seen by a snapshot."""
        self._models_seen = len(self.table)
        self._seen = {name: len(getattr(self, name)) for name in self.series}

    def _empty(self, name: str) -> np.ndarray:
        if name == "coefficients":
            return np.empty((0, self.n_columns + self.n_extra))
        return np.empty(0, dtype=np.int32 if name == "index" else float)

    def finish(self, counts: np.ndarray) -> ChainDraws:
        """Return everything that was recorded."""
        vectors = self.all("coefficients")
        return ChainDraws(
            self.table.words,
            self.all("index"),
            self.all("log_posterior"),
            vectors[:, : self.n_columns],
            self.sums,
            counts,
            vectors[:, self.n_columns] if self.n_extra else None,
        )


def snapshot(state: Any, collector: Collector) -> tuple[Plain, dict[str, np.ndarray]]:
    """Return the state of a chain and what its collector has, for a checkpoint."""
    totals, recorded = collector.snapshot()
    chain = {
        name: [vars(item) for item in value] if isinstance(value, list) else value
        for name, value in vars(state).items()
    }
    return {"chain": chain, "totals": totals}, recorded


def draw_afterwards(
    single: SingleModel, models: ByteArray, index: np.ndarray, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray | None]:
    """Draw internal coefficients (m, D + 1) given each of the models `index` (m,), and error variances (m,).

    The latter are None in families that have none.
    """
    coefficients = np.zeros((index.size, single.regression.n_columns))
    variance: FloatArray | None = np.zeros(index.size)
    for row in np.unique(index):
        places = np.flatnonzero(index == row)
        coefficients[places], drawn = single.sample_with_variance(models[row], places.size, rng)
        if drawn is None:
            variance = None
        elif variance is not None:
            variance[places] = drawn
    return coefficients, variance


def n_draws(chain: ChainDraws) -> int:
    """Return the number of draws of a chain."""
    return int(chain.index.size)


def summarise(
    drawn: DrawnChains,
    *,
    regression: TermColumns,
    space: ModelSpace,
    manner: Manner,
    entropy: bytes,
    coefficients_every: int,
    estimator: Estimator = visit_estimate,
    averager: Averager | None = None,
) -> Posterior:
    """Merge the chains and estimate everything that is reported from their draws.

    Moments of coefficients come from the sums of the chains, or from an `averager` where there is one.

    Warns
    -----
    ConvergenceWarning
        If the run was interrupted; if chains disagree on inclusion probabilities; if R-hat of the model size
        or of the log posterior over all chains exceeds 1.2; if a chain accepted less than 1 % of its
        coefficient updates, or 10 % of its walks on a surrogate, of at least 200. Each text is also among the
        notes of the posterior.
    """
    chains: list[ChainDraws] = drawn.results
    draws = drawn.draws
    index, gamma = _merge(chains, draws, space)
    probability = np.bincount(index.ravel(), minlength=len(gamma)) / index.size
    stats = model_stats(index, np.arange(min(len(gamma), MODEL_ROWS)))
    mcse = np.full(len(gamma), np.nan)
    mcse[: stats.mcse.size] = stats.mcse
    estimate = estimator(chains, index, gamma)
    terms = estimate.terms
    log_posterior = np.stack([chain.log_posterior[:draws] for chain in chains])
    if manner.density:
        log_posterior += regression.log_scale(gamma)[index]
    kept = min(len(chain.coefficients) for chain in chains)
    found = Draws(
        index,
        gamma,
        np.asarray(space.cost(gamma), dtype=float),
        log_posterior,
        _coefficients(chains, kept, regression),
        coefficients_every,
        _stacked([chain.error_variance for chain in chains], kept),
    )
    stuck = terms.stuck & space.free.astype(bool)
    diagnostics = _diagnostics(chains, found, manner.moves, drawn.seconds)
    notes = [
        *drawn.notes,
        *_disagreement(terms, space),
        *_poor_mixing(diagnostics),
        *_stuck_chains(chains, manner),
    ]
    for text in notes:
        warnings.warn(text, ConvergenceWarning, stacklevel=4)
    return Posterior(
        sampler=manner.sampler,
        gamma=gamma,
        probability=probability,
        mcse=mcse,
        odds=stats.odds,
        odds_mcse=stats.odds_mcse,
        log_marginal=None,
        inclusion=terms.mean,
        inclusion_mcse=terms.mcse,
        ess=terms.ess,
        r_hat=terms.r_hat,
        stuck=stuck,
        disagree=terms.disagree,
        moments=averager(gamma, probability) if averager else _moments(chains, regression),
        draws=found,
        diagnostics=diagnostics,
        estimator=estimate.words,
        entropy=entropy,
        pairs=manner.pairs,
        notes=notes,
        excluded=estimate.excluded,
    )


def _coefficients(chains: list[ChainDraws], kept: int, regression: TermColumns) -> FloatArray:
    """Take the coefficients out of the chains, in units of the design's columns, (chains, kept, D + 1).

    Draws are in memory once: with thousands of columns they are most of what a fit holds.
    """
    out = np.empty((len(chains), kept, regression.n_columns))
    for place, chain in zip(out, chains, strict=True):
        regression.to_raw(chain.coefficients[:kept], place)
        chain.coefficients = chain.coefficients[:0].copy()
    return out


def _stacked(parts: Sequence[FloatArray | None], kept: int) -> FloatArray | None:
    """Return error variances by chain (chains, kept), None where there are none."""
    known = [part[:kept] for part in parts if part is not None]
    return np.stack(known) if known else None


def _merge(chains: list[ChainDraws], draws: int, space: ModelSpace) -> tuple[np.ndarray, ByteArray]:
    """Return the draws (chains, draws) as ranks of models by visits, and the models (m, J)."""
    table = ModelTable(space.n_terms)
    index = np.stack([table.add(chain.words)[chain.index[:draws]] for chain in chains])
    visits = np.bincount(index.ravel(), minlength=len(table))
    order = np.argsort(-visits, kind="stable")
    order = order[visits[order] > 0]
    rank = np.empty(len(table), dtype=np.int32)
    rank[order] = np.arange(order.size, dtype=np.int32)
    return rank[index], unpack(table.words[order], space.n_terms)


def _moments(chains: list[ChainDraws], regression: TermColumns) -> Moments:
    sums = np.sum([chain.sums for chain in chains], axis=0)
    # The intercept is in every draw.
    return Moments.of_sums(sums / sums[3, 0], regression.scale, regression.origin)


def _disagreement(terms: IndicatorStats, space: ModelSpace) -> list[str]:
    """Return a text on the inclusion probabilities on which the chains disagree."""
    bad = np.flatnonzero(terms.disagree)
    if not bad.size:
        return []
    names = [space.names[j] for j in bad]
    text = (
        f"Chains disagree on {bad.size} of {len(space.names)} inclusion probabilities by more than "
        f"the Monte Carlo errors within each: {listed(names)}. Their errors allow for the spread of the "
        "chains; run longer."
    )
    return [text]


def _poor_mixing(diagnostics: pd.DataFrame) -> list[str]:
    """Return a text on the R-hat over all chains that are too large."""
    quantities = {"the model size": "r_hat_size", "the log posterior": "r_hat_log_posterior"}
    found = {name: float(diagnostics[column]["all"]) for name, column in quantities.items()}
    bad = [f"{value:.2f} for {name}" for name, value in found.items() if value > WORST_R_HAT]
    if not bad:
        return []
    where = " and ".join(bad)
    return [f"R-hat over all chains is {where}, above {WORST_R_HAT}: they have not converged; run longer."]


def _stuck_chains(chains: list[ChainDraws], manner: Manner) -> list[str]:
    """Return a text on the chains that hardly moved in what is vital."""
    if manner.vital not in manner.moves:
        return []
    k = list(manner.moves).index(manner.vital)
    bad = []
    for c, chain in enumerate(chains):
        proposed, accepted = int(chain.counts[0, k]), int(chain.counts[1, k])
        if proposed >= FEWEST_PROPOSALS and accepted < manner.least * proposed:
            bad.append(f"chain {c} ({accepted:,} of {proposed:,})")
    if not bad:
        return []
    share = f"Less than {manner.least:.0%} of the {manner.words} were accepted in {listed(bad)}"
    return [f"{share}: these chains are stuck; run longer."]


def _diagnostics(
    chains: list[ChainDraws], draws: Draws, moves: Sequence[str], seconds: Sequence[float]
) -> pd.DataFrame:
    """Return acceptance, R-hat and ESS by chain, and over all chains in the row "all"."""
    rows: dict[object, dict[str, float]] = {}
    values = {"size": draws.size, "cost": draws.cost, "log_posterior": draws.log_posterior}
    groups: list[tuple[object, list[int]]] = [(c, [c]) for c in range(len(chains))]
    for label, members in [*groups, ("all", list(range(len(chains))))]:
        counts = np.sum([chains[c].counts for c in members], axis=0)
        row = {
            f"acceptance_{move}": counts[1, k] / counts[0, k] if counts[0, k] else np.nan
            for k, move in enumerate(moves)
        }
        for name, value in values.items():
            stats = scalar_stats(value[members])
            row[f"ess_{name}"], row[f"r_hat_{name}"] = stats.ess, stats.r_hat
        row["draws"] = draws.model.shape[1] * len(members)
        row["seconds"] = float(sum(seconds[c] for c in members))
        rows[label] = row
    frame = pd.DataFrame.from_dict(rows, orient="index")
    frame.index.name = "chain"
    return frame

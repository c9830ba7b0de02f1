"""Recording of draws in blocks, and of averages over segments of them, for all samplers."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import scipy

from pyrjsel._errors import StoreError
from pyrjsel._typing import FloatArray, WordArray
from pyrjsel.families import NONE, Nuisance, Values
from pyrjsel.model_space import PackedModels, SparseModels, SparseTable, pack, table_of
from pyrjsel.report.errors import IndicatorStats, indicator_stats
from pyrjsel.runtime import FitSettings, power_of_2
from pyrjsel.selection.posterior import Moments
from pyrjsel.selection.samplers.recording.averages import Averages, Segments
from pyrjsel.storage import Content

# Pairs of importance draws for marginal likelihoods in the table of models.
TABLE_PAIRS = 64
# Acceptance rate of coefficient updates below which a chain is stuck.
LEAST_ACCEPTANCE = 0.01
# Largest size in bytes of the coefficient draws of a fit, with fixed draws and with draws="auto"; they are
# thinned accordingly.
COEFFICIENT_BYTES, MOST_COEFFICIENT_BYTES = 32 * 2**20, 256 * 2**20
# Numbers drawn, or converted to the scale of the design, at a time.
NUMBERS = 2**17

VISITS_ALONE = "visit frequencies"


@dataclass(frozen=True)
class Estimate:
    """Inclusion probabilities.

    Attributes
    ----------
    terms : IndicatorStats
    excluded : ndarray (J,) or None
        Probabilities of exclusion.
    words : str
        Description of the estimator.
    """

    terms: IndicatorStats
    excluded: FloatArray | None
    words: str


@dataclass
class Block:
    """Arrays for the draws of one block, filled by the loop, and error variances of its coefficients."""

    words: WordArray
    log_posterior: FloatArray
    coefficients: FloatArray
    variance: FloatArray


@dataclass
class ChainDraws:
    """The draws of one chain: distinct visited models, and draws as indices of these.

    Attributes
    ----------
    words : ndarray of uint64 or SparseModels
        Distinct visited models.
    index, log_posterior, coefficients, sums, counts
        As in :class:`Collector`.
    nuisance : mapping of str to ndarray
        Nuisance parameters of the coefficient draws.
    averages : Segments, optional
        Sums over segments of draws.
    described : dict of str to ndarray (models,)
        Recorded values of visited models, if marginal likelihoods are integrals: the relative variance, and
        the effective number of weighted draws for moments of coefficients.
    effective : ndarray (models,), optional
        These numbers, including draws added at the end.
    """

    words: WordArray | SparseModels
    index: np.ndarray
    log_posterior: FloatArray
    coefficients: "FloatArray | scipy.sparse.csr_array"
    sums: FloatArray
    counts: np.ndarray
    nuisance: Values = field(default_factory=dict)
    averages: Segments | None = None
    described: dict[str, FloatArray] = field(default_factory=dict)
    effective: FloatArray | None = None


# Inclusion probabilities from the draws of each chain, the model of each draw, and the models.
Estimator = Callable[[Sequence[ChainDraws], np.ndarray, PackedModels], Estimate]

# Moments of coefficients from models and their probabilities.
Averager = Callable[[PackedModels, FloatArray], Moments]

# Errors of inclusion (J,) from chains, their draws, models of draws (C, D), models and inclusion.
Errors = Callable[[Sequence[ChainDraws], int, np.ndarray, PackedModels, FloatArray], FloatArray]


def visit_estimate(chains: Sequence[ChainDraws], index: np.ndarray, models: PackedModels) -> Estimate:
    """Return relative frequencies of visits as inclusion probabilities."""
    return Estimate(indicator_stats(index, models), None, VISITS_ALONE)


@dataclass(frozen=True)
class Manner:
    """Properties of a sampler that summaries depend on.

    Attributes
    ----------
    sampler : str
    moves : sequence of str
        Names of the counted moves.
    vital : str
        The move that must be accepted: a chain that hardly accepts it is stuck.
    words : str
        Plural name of the proposals of `vital`.
    least : float
        Acceptance rate of `vital` below which a chain is stuck.
    density : bool
        Whether log posteriors are joint densities with coefficients instead of masses of models.
    pairs : int
        Pairs of importance draws for marginal likelihoods.
    masses : bool
        Whether log posteriors are those of models, up to a constant: the order of models and their odds then
        come from these instead of visits.
    estimator : callable
        Estimator of inclusion probabilities.
    averager : callable, optional
        Computes moments of coefficients; None means the sums of chains.
    errors : callable, optional
        Errors of inclusion probabilities besides those of the draws.
    fewest : int
        Least number of draws per chain before a run can stop.
    refused : float
        Acceptance rate of `vital` in a chain below which a run is given up for another.
    remedy : str
        What to do about stuck chains.
    """

    sampler: str
    moves: Sequence[str]
    vital: str = "coefficients"
    words: str = "coefficient updates"
    least: float = LEAST_ACCEPTANCE
    density: bool = True
    pairs: int = TABLE_PAIRS
    masses: bool = False
    estimator: Estimator = visit_estimate
    averager: Averager | None = None
    errors: Errors | None = None
    fewest: int = 0
    refused: float = 0.0
    remedy: str = "run longer"


def thinning(width: int, settings: FitSettings) -> int:
    """Return the thinning interval of coefficient vectors of a given length.

    A power of 2, so that a longer run keeps a subset of the draws kept by a shorter one. A run with
    ``draws="auto"`` uses the interval of the longest run, with a larger limit, from the first round.
    """
    vector = width * 8 * settings.chains
    most = COEFFICIENT_BYTES if settings.accuracy is None else MOST_COEFFICIENT_BYTES
    return max(settings.every, power_of_2(-(-settings.planned * vector // most)))


class Series:
    """Rows that are recorded in blocks, in an array that doubles when it is full.

    Parameters
    ----------
    empty : ndarray (0, ...)
        Array with the type and shape of the rows.
    """

    def __init__(self, empty: np.ndarray) -> None:
        self._room = empty
        self._size = 0

    def __len__(self) -> int:
        return self._size

    @property
    def rows(self) -> np.ndarray:
        """The recorded rows, without a copy."""
        return self._room[: self._size]

    def append(self, rows: np.ndarray) -> None:
        """Append rows."""
        size = self._size + len(rows)
        if size > len(self._room):
            former = self.rows
            self._room = np.empty((max(size, 2 * len(former)), *former.shape[1:]), former.dtype)
            self._room[: len(former)] = former
        self._room[self._size : size] = rows
        self._size = size


class Collector:
    """Collects the blocks of one chain: each model is stored once, and coefficients are thinned.

    Parameters
    ----------
    n_terms, n_columns : int
    every : int
        Draws per vector of coefficients.
    nuisance : Nuisance
        Parameters that follow the coefficients in these vectors.
    rows : int, default 0
        Number of rows of averages over segments of draws.
    more : sequence of str
        Nuisance parameters with separate series.
    of_models : sequence of str
        Names of series with one number per model, recorded at its first visit.
    n_sums : int, default 4
        Number of rows of sums over coefficients.
    """

    def __init__(
        self,
        n_terms: int,
        n_columns: int,
        every: int,
        nuisance: Nuisance = NONE,
        rows: int = 0,
        more: Sequence[str] = (),
        of_models: Sequence[str] = (),
        n_sums: int = 4,
    ) -> None:
        self.table = table_of(n_terms)
        self.every = every
        self.nuisance, self.more = nuisance, more
        self.width = n_columns + len(nuisance)
        self.n_words = pack(np.zeros((1, n_terms), dtype=np.uint8)).shape[1]
        self.sums = np.zeros((n_sums, n_columns))
        self.averages = Averages(rows, n_terms) if rows else None
        # Recorded series, in order.
        self.series = {
            "index": Series(np.empty(0, dtype=np.int32)),
            "log_posterior": Series(np.empty(0)),
            "coefficients": Series(np.empty((0, self.width))),
            **{name: Series(np.empty(0)) for name in (*more, *of_models)},
        }
        self.of_models, self.described = of_models, 0
        self._models_seen = 0
        self._seen = dict.fromkeys(self.series, 0)

    def room(self, draws: int) -> Block:
        """Return arrays for at most `draws` draws."""
        return Block(
            np.zeros((draws, self.n_words), dtype=np.uint64),
            np.empty(draws),
            np.empty((draws // self.every + 1, self.width)),
            np.empty(draws // self.every + 1),
        )

    def add(self, block: Block, kept: int, kept_coefficients: int) -> None:
        """Add the draws that a loop wrote into `block`."""
        if kept:
            self.series["index"].append(self.table.add(block.words[:kept]))
            self.series["log_posterior"].append(block.log_posterior[:kept])
        if kept_coefficients:
            self.series["coefficients"].append(block.coefficients[:kept_coefficients])
            if "variance" in self.series:
                self.series["variance"].append(block.variance[:kept_coefficients])

    def describe(self, *numbers: float) -> None:
        """Record values of the model of the last draw, unless it was visited before."""
        if len(self.table) > self.described:
            self.described += 1
            for name, number in zip(self.of_models, numbers, strict=True):
                self.series[name].append(np.array([number]))

    def totals(self) -> dict[str, np.ndarray]:
        """Return the arrays of sums over draws, without copies."""
        more = {} if self.averages is None else self.averages.arrays(len(self.series["index"]))
        return {"sums": self.sums, **more}

    def news(self) -> dict[str, np.ndarray]:
        """Return the values recorded since the last call."""
        recorded = {"words": self.table.words[self._models_seen :]}
        for name, series in self.series.items():
            recorded[name] = series.rows[self._seen[name] :]
        self._look()
        return {name: array for name, array in recorded.items() if len(array)}

    def restore(self, totals: Content, recorded: Mapping[str, np.ndarray]) -> None:
        """Restore sums and recorded values in an empty collector.

        Raises
        ------
        StoreError
            If the values do not match the problem.
        """
        if self.sums.size:
            self.sums[...] = totals.array("sums", float, self.sums.shape)
        known = Content({"words": np.empty((0, self.n_words), np.uint64), **recorded}, "the draws")
        self.table.add(known.array("words", np.uint64, (None, self.n_words)))
        for name, series in self.series.items():
            if name in recorded:
                series.append(known.array(name, series.rows.dtype, (None, *series.rows.shape[1:])))
        index = self.series["index"].rows
        if self.averages is not None:
            self.averages.restore(totals)
        if len(index) != len(self.series["log_posterior"]):
            raise known.wrong("log_posterior", "that of each draw")
        if index.size and not 0 <= index.min() <= index.max() < len(self.table):
            raise known.wrong("index", f"rows of {len(self.table)} models")
        if any(len(self.series[name]) != len(self.table) for name in self.of_models):
            raise StoreError(f"the recorded values do not match the {len(self.table)} models")
        self.described = len(self.table)
        self._look()

    def _look(self) -> None:
        """Mark all values as reported."""
        self._models_seen = len(self.table)
        self._seen = {name: len(series) for name, series in self.series.items()}

    def finish(self, counts: np.ndarray) -> ChainDraws:
        """Return all recorded values."""
        coefficients, behind = self.nuisance.split(self.series["coefficients"].rows)
        return ChainDraws(
            self.table.models if isinstance(self.table, SparseTable) else self.table.words,
            self.series["index"].rows,
            self.series["log_posterior"].rows,
            coefficients,
            self.sums,
            counts,
            behind | {name: self.series[name].rows for name in self.more},
            described={name: self.series[name].rows for name in self.of_models},
        )


def recorded_by(found: ChainDraws, nuisance: Nuisance | None) -> dict[str, np.ndarray]:
    """Return the recorded values of a chain, with `nuisance` after coefficients; None omits coefficients."""
    held = {
        "words": found.words.words if isinstance(found.words, SparseModels) else found.words,
        "index": found.index,
        "log_posterior": found.log_posterior,
        **found.described,
    }
    if nuisance is None:
        return held
    assert isinstance(found.coefficients, np.ndarray)
    return held | recorded_vectors(found.coefficients, found.nuisance, nuisance)


def recorded_vectors(coefficients: FloatArray, values: Values, nuisance: Nuisance) -> dict[str, np.ndarray]:
    """Return series of coefficients followed by `nuisance`, and of the `values` stored separately.

    Parameters that exist only in states are omitted for draws.
    """
    aside = {name: np.asarray(value) for name, value in values.items() if name not in nuisance.names}
    return {**aside, "coefficients": nuisance.join(coefficients, values)}


class DrawsCoefficients(Protocol):
    """A source of draws of coefficients and nuisance parameters, given single models."""

    @property
    def regression(self) -> Any:
        """The regression of the models."""

    def sample(
        self, gamma: np.ndarray, size: int, rng: np.random.Generator, /
    ) -> tuple[FloatArray, dict[str, FloatArray]]:
        """Draw coefficients (size, D + 1) and nuisance parameters of a model (J,)."""


def draw_afterwards(
    single: DrawsCoefficients, models: PackedModels, index: np.ndarray, rng: np.random.Generator
) -> "tuple[scipy.sparse.csr_array, dict[str, FloatArray]]":
    """Draw coefficients (m, D + 1) and nuisance parameters (m,) given each of the models `index` (m,)."""
    width = single.regression.n_columns
    # Nonzero values, with their rows and columns.
    parts = [(np.empty(0), np.empty(0, dtype=np.intp), np.empty(0, dtype=np.intp))]
    nuisance = {name: np.zeros(index.size) for name in single.regression.family.nuisance.names}
    step = max(1, NUMBERS // width)
    order = np.argsort(index, kind="stable")
    visited, starts = np.unique(index[order], return_index=True)
    for number, every in zip(visited, np.split(order, starts)[1:], strict=True):
        model = models[number]
        for at in range(0, every.size, step):
            places = every[at : at + step]
            vectors, drawn = single.sample(model, places.size, rng)
            rows, columns = np.nonzero(vectors)
            parts.append((vectors[rows, columns], places[rows], columns))
            for name, value in drawn.items():
                nuisance[name][places] = value
    values, rows, columns = (np.concatenate(part) for part in zip(*parts, strict=True))
    return scipy.sparse.csr_array((values, (rows, columns)), shape=(index.size, width)), nuisance


def n_draws(chain: ChainDraws) -> int:
    """Return the number of draws of a chain."""
    return int(chain.index.size)

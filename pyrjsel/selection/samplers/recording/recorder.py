"""Recording of draws, block by block; shared by all samplers."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy import sparse

from pyrjsel._errors import StoreError
from pyrjsel._typing import FloatArray, WordArray
from pyrjsel.families import NONE, Nuisance, Values
from pyrjsel.model_space import ModelTable, PackedModels, pack, unpack
from pyrjsel.report.errors import indicator_stats
from pyrjsel.runtime import FitSettings, power_of_2
from pyrjsel.selection.posterior import Moments
from pyrjsel.selection.protocols import SingleModel
from pyrjsel.selection.regression.layout import TermColumns
from pyrjsel.selection.samplers.recording.rao_blackwell import VISITS_ALONE, Averages, Estimate, Segments
from pyrjsel.storage import Content

# Pairs of importance draws for the marginal likelihoods in that table.
TABLE_PAIRS = 64
# A chain that takes a smaller share of its coefficient updates than this, of at least so many, is stuck.
LEAST_ACCEPTANCE = 0.01
# Bytes that the coefficient draws of a fit may take; beyond it they are thinned.
COEFFICIENT_BYTES, MOST_COEFFICIENT_BYTES = 32 * 2**20, 256 * 2**20
# Numbers of them that are drawn, or taken to the scale of the design, together.
NUMBERS = 2**17


@dataclass
class Block:
    """Room for the draws of one block, and error variances of its coefficients; the loop fills it."""

    words: WordArray
    log_posterior: FloatArray
    coefficients: FloatArray
    variance: FloatArray


@dataclass
class ChainDraws:
    """The draws of one chain: visited models once each, draws as indices into them.

    Attributes
    ----------
    words, index, log_posterior, coefficients, sums, counts
        As a :class:`Collector` has them.
    nuisance : mapping of str to ndarray
        Nuisance parameters that go with the coefficients.
    averages : Segments, optional
        Sums over segments of draws; see ``rao_blackwell.py``.
    described : dict of str to ndarray (models,)
        What was recorded of the visited models, where marginal likelihoods are integrals: the relative
        variance, and the effective number of the weighted draws behind moments of coefficients.
    effective : ndarray (models,), optional
        These numbers, with the draws that were added in the end.
    """

    words: WordArray
    index: np.ndarray
    log_posterior: FloatArray
    coefficients: FloatArray | sparse.csr_array
    sums: FloatArray
    counts: np.ndarray
    nuisance: Values = field(default_factory=dict)
    averages: Segments | None = None
    described: dict[str, FloatArray] = field(default_factory=dict)
    effective: FloatArray | None = None


# From the draws of each chain, the model of each draw and the models: inclusion probabilities.
Estimator = Callable[[Sequence[ChainDraws], np.ndarray, PackedModels], Estimate]

# From models and their probabilities: moments of coefficients.
Averager = Callable[[PackedModels, FloatArray], Moments]

# From chains, their draws, models of draws (C, D), models and inclusion: errors of inclusion (J,).
Errors = Callable[[Sequence[ChainDraws], int, np.ndarray, PackedModels, FloatArray], FloatArray]


def visit_estimate(chains: Sequence[ChainDraws], index: np.ndarray, models: PackedModels) -> Estimate:
    """Return the frequencies of visits as inclusion probabilities."""
    return Estimate(indicator_stats(index, models), None, VISITS_ALONE)


@dataclass(frozen=True)
class Manner:
    """Properties of a sampler that summaries depend on.

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
    masses : bool
        Whether log posteriors are those of models, up to a constant: models are then in the order of these,
        which are known and not counted, and so are their odds.
    estimator : callable
        Where inclusion probabilities come from.
    averager : callable, optional
        Where moments of coefficients come from; None is the sums of chains.
    errors : callable, optional
        Errors that inclusion probabilities have beside those of the draws.
    fewest : int
        Draws per chain before a run may stop by itself.
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


def thinning(regression: TermColumns, settings: FitSettings) -> int:
    """Return how many draws there are to a kept vector of coefficients.

    A power of 2: what a longer run keeps, a shorter one has kept. A run that stops by itself keeps, from the
    first round on, what the longest run would, which has more room.
    """
    vector = regression.n_columns * 8 * settings.chains
    most = COEFFICIENT_BYTES if settings.accuracy is None else MOST_COEFFICIENT_BYTES
    return max(settings.every, power_of_2(-(-settings.planned * vector // most)))


class Series:
    """Rows that are recorded block by block, in one array that doubles where it is full.

    Parameters
    ----------
    empty : ndarray (0, ...)
        Of the type and shape of the rows.
    """

    def __init__(self, empty: np.ndarray) -> None:
        self._room = empty
        self._size = 0

    def __len__(self) -> int:
        return self._size

    @property
    def rows(self) -> np.ndarray:
        """The recorded draws; no copy."""
        return self._room[: self._size]

    def append(self, rows: np.ndarray) -> None:
        """Record rows."""
        size = self._size + len(rows)
        if size > len(self._room):
            former = self.rows
            self._room = np.empty((max(size, 2 * len(former)), *former.shape[1:]), former.dtype)
            self._room[: len(former)] = former
        self._room[self._size : size] = rows
        self._size = size


class Collector:
    """Collects the blocks of one chain: each model is stored once, coefficients are thinned.

    Parameters
    ----------
    n_terms, n_columns : int
    every : int
        Draws to a vector of coefficients.
    nuisance : Nuisance
        What these vectors have behind coefficients.
    rows : int, default 0
        Rows of averages over segments of draws.
    more : sequence of str
        Nuisance parameters that have series of their own.
    of_models : sequence of str
        Series of one number for each model, when it is first visited.
    n_sums : int, default 4
        Rows of sums over coefficients.
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
        self.table = ModelTable(n_terms)
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
        """Take the draws that a loop wrote into `block`."""
        if kept:
            self.series["index"].append(self.table.add(block.words[:kept]))
            self.series["log_posterior"].append(block.log_posterior[:kept])
        if kept_coefficients:
            self.series["coefficients"].append(block.coefficients[:kept_coefficients])
            if "variance" in self.series:
                self.series["variance"].append(block.variance[:kept_coefficients])

    def describe(self, *numbers: float) -> None:
        """Have what is known of the model of the last draw, unless it was visited before."""
        if len(self.table) > self.described:
            self.described += 1
            for name, number in zip(self.of_models, numbers, strict=True):
                self.series[name].append(np.array([number]))

    def totals(self) -> dict[str, np.ndarray]:
        """Return the arrays of sums over draws: not copies."""
        more = {} if self.averages is None else self.averages.totals()
        return {"sums": self.sums, **more}

    def news(self) -> dict[str, np.ndarray]:
        """Return what was recorded since this was last asked."""
        recorded = {"words": self.table.words[self._models_seen :]}
        for name, series in self.series.items():
            recorded[name] = series.rows[self._seen[name] :]
        self._look()
        return {name: array for name, array in recorded.items() if len(array)}

    def restore(self, totals: Content, recorded: Mapping[str, np.ndarray]) -> None:
        """Have sums, and what was recorded beside them, in a collector that has nothing yet.

        Raises
        ------
        StoreError
            If that does not fit the problem.
        """
        for name, into in self.totals().items():
            into[...] = totals.array(name, into.dtype, into.shape)
        known = Content({"words": np.empty((0, self.n_words), np.uint64), **recorded}, "the draws")
        self.table.add(known.array("words", np.uint64, (None, self.n_words)))
        for name, series in self.series.items():
            if name in recorded:
                series.append(known.array(name, series.rows.dtype, (None, *series.rows.shape[1:])))
        index = self.series["index"].rows
        if len(index) != len(self.series["log_posterior"]):
            raise known.wrong("log_posterior", "that of each draw")
        if index.size and not 0 <= index.min() <= index.max() < len(self.table):
            raise known.wrong("index", f"rows of {len(self.table)} models")
        if self.averages is not None:
            self.averages.check()
        if any(len(self.series[name]) != len(self.table) for name in self.of_models):
            raise StoreError(f"what is known of {len(self.table)} models is not of them")
        self.described = len(self.table)
        self._look()

    def _look(self) -> None:
        """Take note of what has been told of."""
        self._models_seen = len(self.table)
        self._seen = {name: len(series) for name, series in self.series.items()}

    def finish(self, counts: np.ndarray) -> ChainDraws:
        """Return everything that was recorded."""
        coefficients, behind = self.nuisance.split(self.series["coefficients"].rows)
        return ChainDraws(
            self.table.words.copy(),  # without the room that the table has for more
            self.series["index"].rows,
            self.series["log_posterior"].rows,
            coefficients,
            self.sums,
            counts,
            behind | {name: self.series[name].rows for name in self.more},
            described={name: self.series[name].rows for name in self.of_models},
        )


def recorded_by(found: ChainDraws, nuisance: Nuisance | None) -> dict[str, np.ndarray]:
    """Return what the chain of a result had recorded, `nuisance` behind coefficients; None: without these."""
    held = {
        "words": found.words,
        "index": found.index,
        "log_posterior": found.log_posterior,
        **found.described,
    }
    if nuisance is None:
        return held
    assert isinstance(found.coefficients, np.ndarray)
    return held | recorded_vectors(found.coefficients, found.nuisance, nuisance)


def recorded_vectors(coefficients: FloatArray, values: Values, nuisance: Nuisance) -> dict[str, np.ndarray]:
    """Return series of coefficients with `nuisance` behind them, and of the `values` that stand aside.

    Of draws, what is in states alone is not looked at.
    """
    aside = {name: np.asarray(value) for name, value in values.items() if name not in nuisance.names}
    return {**aside, "coefficients": nuisance.join(coefficients, values)}


def draw_afterwards(
    single: SingleModel, table: ModelTable, index: np.ndarray, rng: np.random.Generator
) -> tuple[sparse.csr_array, dict[str, FloatArray]]:
    """Draw coefficients (m, D + 1) given each of the models `index` (m,), and nuisance parameters (m,)."""
    width = single.regression.n_columns
    # Values that are not 0, with their rows and columns.
    parts = [(np.empty(0), np.empty(0, dtype=np.intp), np.empty(0, dtype=np.intp))]
    nuisance = {name: np.zeros(index.size) for name in single.regression.family.nuisance.names}
    step = max(1, NUMBERS // width)
    for row in np.unique(index):
        every = np.flatnonzero(index == row)
        model = unpack(table.words[row], table.n_terms)[0]
        for at in range(0, every.size, step):
            places = every[at : at + step]
            vectors, drawn = single.sample(model, places.size, rng)
            rows, columns = np.nonzero(vectors)
            parts.append((vectors[rows, columns], places[rows], columns))
            for name, value in drawn.items():
                nuisance[name][places] = value
    values, rows, columns = (np.concatenate(part) for part in zip(*parts, strict=True))
    return sparse.csr_array((values, (rows, columns)), shape=(index.size, width)), nuisance


def n_draws(chain: ChainDraws) -> int:
    """Return the number of draws of a chain."""
    return int(chain.index.size)

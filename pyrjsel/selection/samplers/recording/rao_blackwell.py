"""Inclusion probabilities from averages that walks over models collect, segment by segment of their draws.

Walks whose target is the posterior itself average the conditional probabilities of each term given all
others, h and 1 - h (Rao-Blackwell).

Walks on a surrogate pi~ that Metropolis-Hastings corrects have draws gamma_t of pi, and the same averages h_t
over the surrogate's path that starts at gamma_t. With v_t = pi~(gamma_t) / pi(gamma_t), the mean of
v_t (gamma_t - h_t) is 0: weighted by v, chains of pi are chains of pi~, of which both terms have the same
mean. So

    mean of gamma_t - (sum of v_t (gamma_t - h_t)) / (sum of v_t)

estimates what the mean of gamma_t does, and varies as the surrogate errs: where v is constant, only as
averages of h do.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pyrjsel._errors import StoreError
from pyrjsel._typing import BoolArray, FloatArray
from pyrjsel.model_space import PackedModels
from pyrjsel.report._batches import SHORTEST, Batches, combine
from pyrjsel.report.errors import IndicatorStats, indicator_stats

# Segments that a chain has at most, an even number; from half as many on they are batches: few enough for
# long ones, as in pyrjsel.report, and enough for the error of an error.
SEGMENTS = 40
# Draws of the longest, of more draws than a chain can have.
LONGEST = 2**32
# Rows of the averages of a walk, and of a corrected one.
WALK_ROWS, CORRECTED_ROWS = 2, 7
H, NOT_H = 0, 1
VISITS, WEIGHTED_VISITS, SQUARED_VISITS, WEIGHTED_H, WEIGHTED_NOT_H, WEIGHTS, SQUARES = range(CORRECTED_ROWS)
# Fewer draws than this with a term, or without it, do not tell by how much the surrogate errs there.
FEW_VISITS = 10
# Batch means of one and the same number differ by rounding: a running sum of n of them is off by about
# sqrt(n) times 1e-16 of itself, 1e-12 for n = 1e8.
ROUNDING = 1e-12

VISITS_ALONE = "visit frequencies"


class Averages:
    """Sums of rows of averages over segments of equally many draws of a chain.

    When all segments are full each two become one: how a chain is cut depends on the draws that it has, and
    not on how many it is to have.

    Parameters
    ----------
    rows : int
        Rows that are summed.
    n_terms : int

    Attributes
    ----------
    sums : ndarray (SEGMENTS, rows, J)
        Sums over draws.
    length : int64 array ()
        Draws of a segment.
    """

    def __init__(self, rows: int, n_terms: int) -> None:
        self.sums = np.zeros((SEGMENTS, rows, n_terms))
        self.length = np.array(1, dtype=np.int64)

    def at(self, draw: int) -> tuple[FloatArray, int]:
        """Return the sums (rows, J) of the segment that draw number `draw` falls in, and its end.

        Draws come in their order.
        """
        while draw >= SEGMENTS * self.length:
            half = SEGMENTS // 2
            np.add(self.sums[0::2], self.sums[1::2], out=self.sums[:half])
            self.sums[half:] = 0.0
            self.length *= 2
        segment = draw // int(self.length)
        return self.sums[segment], (segment + 1) * int(self.length)

    def totals(self) -> dict[str, np.ndarray]:
        """Return the arrays by name: not copies."""
        return {"averages": self.sums, "segment": self.length}

    def check(self) -> None:
        """Raise :class:`StoreError` if what was read into the arrays is none of this class."""
        if not 1 <= self.length <= LONGEST or int(self.length) & (int(self.length) - 1):
            raise StoreError(f"segments have {int(self.length)} draws, which is no power of 2")

    def of(self, iterations: int, thin: int, time: float) -> "Segments":
        """Return what a chain hands on after so many iterations, each of which has added `time`."""
        return Segments(self.sums, int(self.length), iterations / thin, time * thin)


@dataclass(frozen=True)
class Segments:
    """Sums over segments of a chain.

    Attributes
    ----------
    sums : ndarray (SEGMENTS, rows, J)
        Not a copy: the state of the chain has it too.
    length : int
        Draws of a segment.
    draws : float
        Draws that they are of; no whole number where a chain was interrupted between two.
    unit : float
        What the average of a 1 grows by with each draw.
    """

    sums: FloatArray
    length: int
    draws: float
    unit: float

    def batch_means(self, length: int, count: int, rows: slice) -> FloatArray:
        """Return averages (count, rows, J) over batches of `length` draws, a multiple of that of segments."""
        each = length // self.length
        sums = self.sums[: count * each, rows]
        return np.asarray(sums.reshape(count, each, *sums.shape[1:]).sum(axis=1) / (length * self.unit))


@dataclass(frozen=True)
class Estimate:
    """Inclusion probabilities.

    Attributes
    ----------
    terms : IndicatorStats
    excluded : ndarray (J,) or None
        Probabilities of exclusion.
    words : str
        What they are.
    """

    terms: IndicatorStats
    excluded: FloatArray | None
    words: str


def estimate(chains: Sequence[Any], index: np.ndarray, models: PackedModels) -> Estimate:
    """Estimate inclusion probabilities from the averages of all chains, which are taken out of them.

    Parameters
    ----------
    chains : sequence
        With `averages`, :class:`Segments`.
    index : ndarray (chains, draws)
        Model of each draw, as a row of `models`: R-hat, and which terms moved.
    models : PackedModels (m, J)

    Returns
    -------
    Estimate
        Of chains that were interrupted, whole batches alone count.
    """
    visits, draws = indicator_stats(index, models), index.shape[1]
    whole = all(chain.averages.draws == draws for chain in chains)
    segment = max(chain.averages.length for chain in chains)
    length = segment * max(1, -(-int(np.sqrt(draws)) // segment))
    batches = draws // length
    if draws < SHORTEST or batches < 2:
        return Estimate(visits, None, VISITS_ALONE)
    cut = Batches(draws if whole else batches * length, length, batches)
    totals, means = [], []
    for chain in chains:
        found = chain.averages
        chain.averages = replace(found, sums=found.sums[:0].copy())
        # Batches of averages of 1 - h are needed where batches are all that counts.
        rows = slice(1 if whole and found.sums.shape[1] == WALK_ROWS else None)
        means.append(found.batch_means(length, batches, rows))
        if whole:
            totals.append(found.sums.sum(axis=0) / (draws * found.unit))
    of_batches = np.stack(means)
    of_chains = np.stack(totals) if whole else of_batches.mean(axis=1)
    if of_chains.shape[1] == WALK_ROWS:
        mean = combine(of_chains[:, H], of_batches[:, :, H], cut)
        excluded = np.clip(of_chains[:, NOT_H].mean(axis=0), 0.0, 1.0)
        words = f"{VISITS_ALONE}; inclusion probabilities are averages of full conditional probabilities"
    else:
        mean, excluded, words = _corrected(of_chains, of_batches, cut)
        # What was never visited the surrogate alone knows, and by how much it errs there nobody does.
        stuck = visits.stuck
        mean = (
            np.where(stuck, visits.mean, mean[0]),
            np.where(stuck, visits.mcse, mean[1]),
            np.where(stuck, visits.disagree, mean[2]),
        )
        excluded = np.where(stuck, 1.0 - visits.mean, excluded)
    return Estimate(_described(mean, visits), excluded, words)


def _corrected(
    chains: FloatArray, batches: FloatArray, plan: Batches
) -> tuple[tuple[FloatArray, FloatArray, BoolArray], FloatArray, str]:
    """Return mean, error and disagreement, exclusion, and words, of chains of a corrected walk."""
    weight = chains[:, WEIGHTS]
    plain = combine(chains[:, VISITS], batches[:, :, VISITS], plan)
    control = (chains[:, WEIGHTED_VISITS] - chains[:, WEIGHTED_H]) / weight
    controls = (batches[:, :, WEIGHTED_VISITS] - batches[:, :, WEIGHTED_H]) / weight[:, None]
    p, share = (np.clip(x.mean(axis=0), 0, 1) for x in (chains[:, VISITS] - control, chains[:, VISITS]))
    binomial = np.maximum(p * (1.0 - p), share * (1.0 - share)) / plan.draws
    least = binomial * _misses(chains, p, plan.draws)
    found = combine(chains[:, VISITS] - control, batches[:, :, VISITS] - controls, plan, least)
    # A surrogate that errs much makes matters worse; one decision for all terms, since no visit of a rare
    # term would seem to have no error.
    of_visits = np.maximum(plain[1] ** 2, binomial / len(chains))
    if np.sum(found[1] ** 2) > np.sum(of_visits):
        return plain, 1.0 - plain[0], VISITS_ALONE
    outside = (weight - chains[:, WEIGHTED_VISITS] - chains[:, WEIGHTED_NOT_H]) / weight
    excluded = np.clip((1.0 - chains[:, VISITS] - outside).mean(axis=0), 0.0, 1.0)
    words = f"{VISITS_ALONE}; inclusion probabilities use averages under the surrogate as control variates"
    return found, excluded, words


def _misses(chains: FloatArray, p: FloatArray, draws: int) -> FloatArray:
    """Return the mean (J,) of (1 - v)^2, with and without a term, weighted by 1 - p and p.

    v is scaled to a mean of 1. Times p (1 - p), that is the variance of (gamma - p)(1 - v), and of an average
    if the draws were independent. Of a term that hardly ever moved, batches have seen one of the two sides
    alone, and the surrogate may be as wrong as it likes on the other: where draws are few, one more is
    assumed that it misses altogether, which is the error that visits alone would have.
    """
    weight = chains[:, WEIGHTS]
    whole = chains[:, SQUARES] / weight**2 - 1.0
    inside = chains[:, VISITS] - 2.0 * chains[:, WEIGHTED_VISITS] / weight
    inside = inside + chains[:, SQUARED_VISITS] / weight**2
    share = chains[:, VISITS].mean(axis=0)
    per_visit = []
    for part, missed in ((share, inside), (1.0 - share, whole - inside)):
        visits = len(chains) * draws * part
        more = visits < FEW_VISITS
        per_visit.append((len(chains) * draws * missed.mean(axis=0) + more) / (visits + more))
    return np.asarray(np.maximum((1.0 - p) * per_visit[0] + p * per_visit[1], 0.0))


def _described(found: tuple[FloatArray, FloatArray, BoolArray], visits: IndicatorStats) -> IndicatorStats:
    """Return the statistics of averages; ESS is that of independent draws of the same error."""
    mean, mcse, disagree = found
    # Control variates can leave [0, 1] within their error, and rounding by an ulp.
    mean = np.clip(mean, 0.0, 1.0)
    # A conditional probability that never changed has batches that differ by rounding alone. That it is the
    # same in all models visited does not say what it is in others: its error is unknown, and not 2e-16.
    known = mcse > ROUNDING
    mcse = np.where(known, mcse, np.nan)
    ess = np.full(mean.shape, np.nan)
    moved = known & ~visits.stuck
    ess[moved] = mean[moved] * (1.0 - mean[moved]) / mcse[moved] ** 2
    stuck = visits.stuck & ~known
    return replace(visits, mean=mean, mcse=mcse, ess=ess, stuck=stuck, disagree=disagree & known)

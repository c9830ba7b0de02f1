"""Batch means, between-chain spread and split R-hat of arrays that are already summed by batch."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import scipy

from pyrjsel._core import special
from pyrjsel._typing import BoolArray, ByteArray, FloatArray, IntArray
from pyrjsel.model_space import ByModel, PackedModels

# Fewest draws of a chain for batch means.
SHORTEST = 4
# Batches per chain, at most about this many: longer batches underestimate the error of a slowly mixing chain
# less, and thirty batches in each of four chains estimate it to within seven percent. Batches of length
# sqrt(draws) underestimated it by a third for chains with an autocorrelation time of 80.
MOST_BATCHES = 30
# Level of the test that the chains differ by more than their batches predict, for all quantities jointly.
LEVEL = 1e-3
# Draws whose inclusion vectors are processed together; 2^16 of 100 terms take 26 MB.
CHUNK = 2**16
# Entries of inclusion vectors that are processed together.
NUMBERS = 2**18
# Columns of batch means that are processed together.
COLUMNS = 256
# Terms whose batch means are in memory together, a multiple of COLUMNS: 2 MB for 30 batches of 4 chains.
TERMS = 2**11


@dataclass(frozen=True)
class Batches:
    """Division of a chain into batches.

    Attributes
    ----------
    draws : int
        Number of draws of the chain.
    length : int
        Draws of a batch.
    batches : int
        Number of batches.
    """

    draws: int
    length: int
    batches: int


@dataclass(frozen=True)
class Plan(Batches):
    """Division of a chain of `draws` draws into batches and halves.

    Attributes
    ----------
    draws : int
        Number of draws of a chain.
    length : int
        Draws per batch: floor(sqrt(draws)), or more if that would make over 30 batches.
    batches : int
        Batches per chain; the first ``draws - batches * length`` draws belong to none.
    half : int
        Draws of each half for R-hat; with an odd number of draws, the middle one belongs to neither.
    edges : ndarray of shape (segments + 1,)
        Boundaries of all batches and halves; both are sums over the segments between them.
    """

    half: int
    edges: IntArray

    @classmethod
    def of(cls, draws: int) -> "Plan":
        """Return the plan for chains of `draws` draws (at least one)."""
        # mathematics: errors-batches
        length = max(int(np.sqrt(draws)), draws // MOST_BATCHES)
        batches = draws // length
        half = draws // 2
        ends = draws - length * np.arange(batches, -1, -1)
        edges = np.unique(np.concatenate([ends, [0, half, draws - half, draws]]))
        return cls(draws, length, batches, half, edges)

    def parts(self) -> Iterator[IntArray]:
        """Yield the edges in parts of whole segments, each with at most CHUNK draws or one segment."""
        segment, last = 0, len(self.edges) - 1
        while segment < last:
            stop = int(np.searchsorted(self.edges, self.edges[segment] + CHUNK, side="right")) - 1
            stop = min(max(stop, segment + 1), last)
            yield self.edges[segment : stop + 1]
            segment = stop

    def batch_means(self, sums: FloatArray) -> FloatArray:
        """Return (batches, k) means from (segments, k) sums."""
        first = self.draws - self.batches * self.length
        starts = np.searchsorted(self.edges, first + self.length * np.arange(self.batches))
        return np.add.reduceat(sums, starts, axis=0) / self.length

    def half_means(self, sums: FloatArray) -> FloatArray:
        """Return (2, k) means of the halves from (segments, k) sums."""
        stop = int(np.searchsorted(self.edges, self.half))
        start = int(np.searchsorted(self.edges, self.draws - self.half))
        return np.stack([sums[:stop].sum(axis=0), sums[start:].sum(axis=0)]) / self.half


def inclusion_sums(chain: IntArray, gamma: ByteArray | PackedModels, plan: Plan) -> Iterator[FloatArray]:
    """Yield, part by part, (segments, J) counts of draws that include each term.

    Parameters
    ----------
    chain : ndarray of shape (draws,)
        Model of each draw, as a row of `gamma`.
    gamma : ndarray or PackedModels, shape (n_models, J)
        Terms of each model.
    plan : Plan
        Division of the chain.
    """
    for edges in plan.parts():
        models, column = np.unique(chain[edges[0] : edges[-1]], return_inverse=True)
        ones = np.ones(column.size, dtype=np.int32)
        # Each row of this matrix is a segment; its column sums count the visits of each model.
        visits = scipy.sparse.csr_matrix(
            (ones, column, edges - edges[0]), shape=(edges.size - 1, models.size)
        )
        visits.sum_duplicates()
        by_model = visits.tocsc()
        found = np.zeros((edges.size - 1, gamma.shape[1]))
        step = max(1, NUMBERS // max(1, gamma.shape[1]))
        for at in range(0, models.size, step):
            some = slice(at, at + step)
            found += by_model[:, some] @ gamma[models[some]].astype(np.int32)
        yield found


def scalar_sums(
    values: np.ndarray | ByModel, chain: int, about: float, plan: Plan, power: int = 1
) -> Iterator[FloatArray]:
    """Yield, part by part, (segments,) sums of the deviations of a chain from `about`, or of their powers."""
    for edges in plan.parts():
        part = values[chain, edges[0] : edges[-1]] - about
        yield np.add.reduceat(part**power if power > 1 else part, edges[:-1] - edges[0])


def visit_sums(chain: IntArray, models: IntArray, plan: Plan) -> Iterator[FloatArray]:
    """Yield, part by part, (segments, m) counts of draws in each of the m `models`."""
    order = np.argsort(models)
    m = models.size
    for edges in plan.parts():
        part = chain[edges[0] : edges[-1]]
        column = order[np.minimum(np.searchsorted(models, part, sorter=order), m - 1)]
        found = models[column] == part
        segment = np.repeat(np.arange(edges.size - 1), np.diff(edges))
        cell = segment[found] * m + column[found]
        yield np.bincount(cell, minlength=(edges.size - 1) * m).reshape(-1, m).astype(np.float64)


def combine(
    chain_means: FloatArray, batch_means: FloatArray, plan: Batches, least: FloatArray | float = 0.0
) -> tuple[FloatArray, FloatArray, BoolArray]:
    """Return the pooled means, their Monte Carlo errors, and whether the chains disagree.

    Parameters
    ----------
    chain_means : ndarray of shape (chains, k)
        Mean of each chain.
    batch_means : ndarray of shape (chains, batches, k)
        Batch means of each chain, in order.
    plan : Batches
        Division of each chain.
    least : ndarray of shape (k,)
        Lower bound of the variance of a chain mean, for variation that batches do not show.

    Returns
    -------
    mean, mcse : ndarray of shape (k,)
        `mcse` is computed from the variance of the batch means within chains; from their long-run variance if
        consecutive batches are correlated and it is larger; and from the spread of the chain means if the
        chains disagree and it is larger still. NaN for chains of fewer than 4 draws.
    disagree : ndarray of shape (k,)
        Whether the chain means differ by more than independent batches explain, by an F test of level 0.001
        for the k quantities jointly.
    """
    return pooled(chain_means, spread(batch_means, plan), plan, least)


def spread(batch_means: FloatArray, plan: Batches) -> FloatArray:
    """Return two variances of a chain mean, (2, k): within chains, and the long-run variance."""
    # mathematics: errors-within
    found = np.full((2, batch_means.shape[-1]), np.nan)
    if plan.draws < SHORTEST:
        return found
    for at in range(0, found.shape[1], COLUMNS):
        columns = slice(at, at + COLUMNS)
        some = batch_means[:, :, columns]
        # The mean of equal numbers can differ from them by rounding; deviations from the first are exactly
        # zero.
        found[0, columns] = (some - some[:, :1]).var(axis=1, ddof=1).mean(axis=0)
        found[1, columns] = slow_variance(some)
    return found * (plan.length / plan.draws)


def pooled(
    chain_means: FloatArray, variances: FloatArray, plan: Batches, least: FloatArray | float = 0.0
) -> tuple[FloatArray, FloatArray, BoolArray]:
    """Return the results of :func:`combine` from chain means and the variances of :func:`spread`."""
    # mathematics: errors-mcse
    chains = chain_means.shape[0]
    mean = chain_means.mean(axis=0)
    if plan.draws < SHORTEST:
        return mean, np.full(mean.shape, np.nan), np.zeros(mean.shape, dtype=bool)
    within = np.maximum(variances[0], least)
    variance = np.maximum(within, variances[1])
    if chains == 1:
        return mean, np.sqrt(variance), np.zeros(mean.shape, dtype=bool)
    between = chain_means.var(axis=0, ddof=1)
    # Chain means that differ by rounding only do not disagree, even if the batches do not vary at all.
    between[between <= (1e-12 * np.abs(mean)) ** 2] = 0.0
    # The long-run variance cannot be used here: it is centred on the mean of all chains and so contains the
    # differences that are tested.
    ratio = np.divide(between, within, out=np.zeros_like(within), where=within > 0)
    ratio[(within == 0) & (between > 0)] = np.inf
    # Bonferroni; quantities that are constant and equal in all chains are not tested.
    tested = max(1, int(np.count_nonzero((within > 0) | (between > 0))))
    disagree = special.fdtrc(chains - 1, chains * (plan.batches - 1), ratio) < LEVEL / tested
    disagree |= np.isinf(ratio)
    variance = np.where(disagree, np.maximum(between, variance), variance)
    return mean, np.sqrt(variance / chains), disagree


def slow_variance(batch_means: FloatArray) -> FloatArray:
    """Return the long-run variance of autocorrelated batch means; 0 where they appear uncorrelated.

    Geyer's initial monotone positive sequence, applied to the batches. Autocovariances are centred on the
    mean over all chains, pooled over chains, and divided by the number of all batches: centred on each
    chain's own mean, they would miss variation slower than the length of a chain.

    Parameters
    ----------
    batch_means : ndarray of shape (chains, batches, k)
        Batch means of each chain, in order; at least two batches.

    Returns
    -------
    ndarray of shape (k,)
        Positive where the lag-one autocorrelation of the batch means exceeds 2 / sqrt(chains * batches),
        twice its standard error under independence.
    """
    # mathematics: errors-long-run
    chains, batches, k = batch_means.shape
    total = chains * batches
    found = np.zeros(k)
    deviations = batch_means - batch_means[0, 0]
    deviations -= deviations.mean(axis=(0, 1))
    lag_0 = np.einsum("cbk,cbk->k", deviations, deviations) / total
    lag_1 = np.einsum("cbk,cbk->k", deviations[:, 1:], deviations[:, :-1]) / total
    slow = np.flatnonzero(lag_1 > 2 / np.sqrt(total) * lag_0)
    if slow.size == 0:
        return found
    deviations = deviations[:, :, slow]
    covered, smallest = -lag_0[slow], np.full(slow.size, np.inf)
    for lag in range(0, batches - 1, 2):
        pair = np.zeros(slow.size)
        for shift in (lag, lag + 1):
            pair += np.einsum("cbk,cbk->k", deviations[:, shift:], deviations[:, : batches - shift]) / total
        # A pair that is not positive remains the minimum, so no later pair counts.
        smallest = np.maximum(np.minimum(smallest, pair), 0.0)
        if not smallest.any():
            break
        covered += 2 * smallest
    found[slow] = covered
    return found


def split_r_hat(half_means: FloatArray, half_variances: FloatArray, half: int) -> FloatArray:
    """Return R-hat (k,) from means and variances (2 * chains, k) of half chains of `half` draws.

    NaN if no half chain varies.
    """
    within = half_variances.mean(axis=0)
    between = half_means.var(axis=0, ddof=1)
    total = (half - 1) / half * within + between
    return np.sqrt(np.divide(total, within, out=np.full_like(within, np.nan), where=within > 0))

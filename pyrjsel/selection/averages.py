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

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pyrjsel._typing import BoolArray, FloatArray
from pyrjsel.report._batches import SHORTEST, Plan, combine
from pyrjsel.report.errors import IndicatorStats, indicator_stats
from pyrjsel.space import PackedModels

# Rows of the averages of a walk, and of a corrected one.
WALK_ROWS, CORRECTED_ROWS = 2, 7
H, NOT_H = 0, 1
VISITS, WEIGHTED_VISITS, SQUARED_VISITS, WEIGHTED_H, WEIGHTED_NOT_H, WEIGHTS, SQUARES = range(CORRECTED_ROWS)
# Fewer draws than this with a term, or without it, do not tell by how much the surrogate errs there.
FEW_VISITS = 10

VISITS_ALONE = "frequencies of visits of the chains"


class Averages:
    """Sums of rows of averages over the segments of a chain.

    Parameters
    ----------
    draws : int
        Draws of a chain.
    rows : int
        Rows that are summed.
    n_terms : int

    Attributes
    ----------
    plan : Plan
    sums : ndarray (segments, rows, J)
        Sums over draws.
    """

    def __init__(self, draws: int, rows: int, n_terms: int) -> None:
        self.plan = Plan.of(draws)
        self.sums = np.zeros((self.plan.edges.size - 1, rows, n_terms))

    def at(self, draw: int) -> tuple[FloatArray, int]:
        """Return the sums (rows, J) of the segment that draw number `draw` falls in, and its end."""
        segment = int(np.searchsorted(self.plan.edges, draw, side="right")) - 1
        return self.sums[segment], int(self.plan.edges[segment + 1])


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


def estimate(
    sums: Iterable[FloatArray], plan: Plan, done: int, index: np.ndarray, models: PackedModels
) -> Estimate:
    """Estimate inclusion probabilities from the averages of all chains.

    Parameters
    ----------
    sums : iterable of ndarrays (segments, rows, J)
        By chain; gone through once.
    plan : Plan
        Of the draws that were asked for.
    done : int
        Draws of each chain; where they are fewer than planned, whole batches alone count.
    index : ndarray (chains, draws)
        Model of each draw, as a row of `models`: R-hat, and which terms moved.
    models : PackedModels (m, J)

    Returns
    -------
    Estimate
    """
    visits = indicator_stats(index, models)
    part = plan.completed(done)
    if part.batches == 0 or part.draws < SHORTEST:
        return Estimate(visits, None, VISITS_ALONE)
    if done >= plan.draws:
        part = plan
    totals, means = [], []
    for chain in sums:
        totals.append(chain.sum(axis=0))
        # Batches of averages of 1 - h are needed where batches are all that counts.
        rows = slice(1 if part is plan and len(totals[0]) == WALK_ROWS else None)
        means.append(_batches(chain[:, rows], plan, part.batches))
    batches = np.stack(means)
    chains = np.stack(totals) / plan.draws if part is plan else batches.mean(axis=1)
    if chains.shape[1] == WALK_ROWS:
        found = combine(chains[:, H], batches[:, :, H], part)
        excluded = np.clip(chains[:, NOT_H].mean(axis=0), 0.0, 1.0)
        words = f"{VISITS_ALONE}; those of terms are averages of their probabilities given all others"
    else:
        found, excluded, words = _corrected(chains, batches, part)
        # What was never visited the surrogate alone knows, and by how much it errs there nobody does.
        stuck = visits.stuck
        found = (
            np.where(stuck, visits.mean, found[0]),
            np.where(stuck, visits.mcse, found[1]),
            np.where(stuck, visits.disagree, found[2]),
        )
        excluded = np.where(stuck, 1.0 - visits.mean, excluded)
    return Estimate(_described(found, visits), excluded, words)


def estimate_of_chains(
    plan: Plan, chains: Sequence[Any], index: np.ndarray, models: PackedModels
) -> Estimate:
    """Estimate the same from chains with `averages`, each of as many draws as `index` (chains, draws) has.

    The averages are taken out of the chains.
    """
    return estimate(map(_taken, chains), plan, index.shape[1], index, models)


def _taken(chain: Any) -> FloatArray:
    """Take the averages out of a chain: with thousands of terms they are much of what it holds."""
    sums: FloatArray = chain.averages
    chain.averages = sums[:0].copy()
    return sums


def _batches(chain: FloatArray, plan: Plan, count: int) -> FloatArray:
    segments, rows, n_terms = chain.shape
    means = plan.batch_means(chain.reshape(segments, rows * n_terms))
    return means.reshape(len(means), rows, n_terms)[:count]


def _corrected(
    chains: FloatArray, batches: FloatArray, plan: Plan
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
    words = f"{VISITS_ALONE}; those of terms have averages over paths of the surrogate as control variates"
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
    known = mcse > 0
    mcse = np.where(known, mcse, np.nan)
    ess = np.full(mean.shape, np.nan)
    moved = known & ~visits.stuck
    ess[moved] = mean[moved] * (1.0 - mean[moved]) / mcse[moved] ** 2
    return replace(visits, mean=mean, mcse=mcse, ess=ess, stuck=~known, disagree=disagree)

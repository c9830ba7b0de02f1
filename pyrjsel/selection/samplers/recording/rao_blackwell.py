"""Inclusion probabilities from averages that chains over models record by segments of their draws.

Chains with the posterior as their target average the conditional probabilities h and 1 - h of each term given
all others (Rao-Blackwellisation).

Chains on a surrogate pi~ with Metropolis-Hastings correction have draws gamma_t from pi, and the same
averages h_t over the surrogate's path from gamma_t. With v_t = pi~(gamma_t) / pi(gamma_t), the mean of v_t
(gamma_t - h_t) is 0, because draws from pi weighted by v represent pi~, under which both terms have the same
mean. So

    mean of gamma_t - (sum of v_t (gamma_t - h_t)) / (sum of v_t)

estimates the mean of gamma_t, with a variance that depends on the error of the surrogate: if v is constant,
it is that of averages of h. A term in no draw, or in all, has the estimate of the surrogate, with unknown
error. pi~ is restricted to models that draws can show, with v not far above the average: of others hardly any
draw would be seen, so that the mean without them would not be 0 (``_corrected.pyx``).
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from pyrjsel._typing import BoolArray, FloatArray
from pyrjsel.model_space import PackedModels
from pyrjsel.report._batches import SHORTEST, TERMS, Batches, combine, pooled, spread
from pyrjsel.report.errors import IndicatorStats, indicator_stats
from pyrjsel.selection.samplers.recording.averages import WALK_ROWS, Segments
from pyrjsel.selection.samplers.recording.recorder import VISITS_ALONE, Estimate

# Rows of the averages of a corrected chain.
CORRECTED_ROWS = 7
H, NOT_H = 0, 1
VISITS, WEIGHTED_VISITS, SQUARED_VISITS, WEIGHTED_H, WEIGHTED_NOT_H, WEIGHTS, SQUARES = range(CORRECTED_ROWS)
# Fewest draws with and without a term for an estimate of the surrogate's error.
FEW_VISITS = 10
# Largest mean of a control variate, in errors: that of a right one is larger once in 16,000 terms.
FAR = 4.0
# Independent draws miss what they hold so often on average with a probability of one in a hundred.
MISSED = 4.6
# Batch means of a constant differ by rounding: a running sum of n terms has a relative error of about sqrt(n)
# times 1e-16, 1e-12 for n = 1e8.
ROUNDING = 1e-12


def estimate(chains: Sequence[Any], index: np.ndarray, models: PackedModels) -> Estimate:
    """Estimate inclusion probabilities from the averages of all chains, removing these from the chains.

    Parameters
    ----------
    chains : sequence
        Objects with `averages`, of :class:`Segments`.
    index : ndarray (chains, draws)
        Model of each draw, as a row of `models`, for R-hat and for terms that moved.
    models : PackedModels (m, J)

    Returns
    -------
    Estimate
        For interrupted chains, only complete batches are used.
    """
    visits, draws = indicator_stats(index, models), index.shape[1]
    whole = all(chain.averages.draws == draws for chain in chains)
    segment = max(chain.averages.length for chain in chains)
    length = segment * max(1, -(-int(np.sqrt(draws)) // segment))
    batches = draws // length
    if draws < SHORTEST or batches < 2:
        return Estimate(visits, None, VISITS_ALONE)
    cut = Batches(draws if whole else batches * length, length, batches)
    averages = [chain.averages for chain in chains]
    for chain in chains:
        chain.averages = None
    if averages[0].shape[0] == WALK_ROWS:
        mean, excluded = _of_walks(averages, cut, whole)
        words = f"{VISITS_ALONE}; inclusion probabilities are averages of full conditional probabilities"
    else:
        totals, means = [], []
        while averages:
            found = averages.pop(0)  # which frees memory
            means.append(found.batch_means(length, batches))
            totals.append(found.means(draws) if whole else means[-1].mean(axis=0))
        mean, excluded, words = _corrected(np.stack(totals), np.stack(means), cut)
        # Models never visited are known only through the surrogate, with unknown error. It is believed if
        # draws can well miss what it says.
        stuck = visits.stuck
        unlikely = stuck & (np.abs(mean[0] - visits.mean) * len(chains) * draws > MISSED)
        mean = (
            np.where(unlikely, visits.mean, mean[0]),
            np.where(stuck, visits.mcse, mean[1]),
            np.where(stuck, visits.disagree, mean[2]),
        )
        excluded = np.where(unlikely, 1.0 - visits.mean, excluded)
    return Estimate(_described(mean, visits), excluded, words)


def _of_walks(
    averages: Sequence[Segments], plan: Batches, whole: bool
) -> tuple[tuple[FloatArray, FloatArray, BoolArray], FloatArray]:
    """Return mean, error and disagreement, and exclusion, for chains with the posterior as their target.

    Batch means are computed for some terms at a time: those of many terms take memory.
    """
    size = averages[0].shape[1]
    means, variances = np.empty((len(averages), WALK_ROWS, size)), np.empty((2, size))
    for at in range(0, size, TERMS):
        terms = slice(at, at + TERMS)
        batches = np.stack([each.batch_means(plan.length, plan.batches, terms=terms) for each in averages])
        means[:, :, terms] = batches.mean(axis=1)
        variances[:, terms] = spread(batches[:, :, H], plan)
    if whole:
        means[:] = [each.means(plan.draws) for each in averages]
    excluded = np.clip(means[:, NOT_H].mean(axis=0), 0.0, 1.0)
    return pooled(means[:, H], variances, plan), excluded


def _corrected(
    chains: FloatArray, batches: FloatArray, plan: Batches
) -> tuple[tuple[FloatArray, FloatArray, BoolArray], FloatArray, str]:
    """Return mean, error and disagreement, exclusion, and description, for corrected chains."""
    # mathematics: walks-control-variate
    weight = chains[:, WEIGHTS]
    plain = combine(chains[:, VISITS], batches[:, :, VISITS], plan)
    if not weight.all():  # the surrogate has the first draw of a chain far less often than all others
        return plain, 1.0 - plain[0], VISITS_ALONE
    control = (chains[:, WEIGHTED_VISITS] - chains[:, WEIGHTED_H]) / weight
    controls = (batches[:, :, WEIGHTED_VISITS] - batches[:, :, WEIGHTED_H]) / weight[:, None]
    p, share = (np.clip(x.mean(axis=0), 0, 1) for x in (chains[:, VISITS] - control, chains[:, VISITS]))
    binomial = np.maximum(p * (1.0 - p), share * (1.0 - share)) / plan.draws
    least = binomial * _misses(chains, p, plan.draws)
    found = combine(chains[:, VISITS] - control, batches[:, :, VISITS] - controls, plan, least)
    # A poor surrogate increases the error; one decision for all terms, since a rare term without visits would
    # appear to have no error.
    of_visits = np.maximum(plain[1] ** 2, binomial / len(chains))
    # The control variate has the mean 0. Where the posterior hardly has models that the surrogate has often,
    # draws never show these, and neither the mean nor its error from batches is right.
    of_control = np.maximum(combine(control, controls, plan)[1] ** 2, binomial / len(chains))
    biased = np.abs(control.mean(axis=0)) > FAR * np.sqrt(of_control)
    if biased.any() or np.sum(found[1] ** 2) > np.sum(of_visits):
        return plain, 1.0 - plain[0], VISITS_ALONE
    outside = (weight - chains[:, WEIGHTED_VISITS] - chains[:, WEIGHTED_NOT_H]) / weight
    excluded = np.clip((1.0 - chains[:, VISITS] - outside).mean(axis=0), 0.0, 1.0)
    words = f"{VISITS_ALONE}; inclusion probabilities use averages under the surrogate as control variates"
    return found, excluded, words


def _misses(chains: FloatArray, p: FloatArray, draws: int) -> FloatArray:
    """Return the mean (J,) of (1 - v)^2 with and without a term, weighted by 1 - p and p.

    v is scaled to a mean of 1. Times p (1 - p), this is the variance of (gamma - p)(1 - v), for averages of
    independent draws. For a term that hardly ever moved, batches contain only one of the two sides, and the
    surrogate may be arbitrarily wrong on the other: if draws are few, one more draw is assumed that the
    surrogate misses, which gives the error of visits.
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
    """Return the statistics of averages; ESS is the number of independent draws with the same error."""
    mean, mcse, disagree = found
    # Control variates can leave [0, 1] within their error, and averages by rounding.
    mean = np.clip(mean, 0.0, 1.0)
    # A conditional probability that never changed has batches that differ only by rounding. It may differ in
    # models not visited: its error is unknown, not 2e-16.
    known = mcse > ROUNDING
    mcse = np.where(known, mcse, np.nan)
    ess = np.full(mean.shape, np.nan)
    moved = known & ~visits.stuck
    ess[moved] = mean[moved] * (1.0 - mean[moved]) / mcse[moved] ** 2
    stuck = visits.stuck & ~known
    return replace(visits, mean=mean, mcse=mcse, ess=ess, stuck=stuck, disagree=disagree & known)

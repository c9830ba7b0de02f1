"""Monte Carlo errors, effective sample sizes and R-hat from the draws of several chains."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from pyrjsel._core import special
from pyrjsel._errors import DataError
from pyrjsel._typing import BoolArray, FloatArray
from pyrjsel.model_space import ByModel, PackedModels
from pyrjsel.report._batches import (
    CHUNK,
    SHORTEST,
    TERMS,
    Plan,
    combine,
    inclusion_sums,
    pooled,
    scalar_sums,
    split_r_hat,
    spread,
    visit_sums,
)

# Number of models with a Monte Carlo error and a row in the table of models.
MODEL_ROWS = 1000
# Largest number of values that are ranked for R-hat.
RANKED = 2**18


@dataclass(frozen=True)
class IndicatorStats:
    """Inclusion of J terms estimated from draws; every array has shape (J,).

    Attributes
    ----------
    mean : ndarray of float
        Proportion of draws that include the term.
    mcse : ndarray of float
        Monte Carlo standard error of `mean`; NaN if unknown, as for a term that never moved.
    ess : ndarray of float
        Effective sample size, ``mean * (1 - mean) / mcse**2``; NaN for a stuck term.
    r_hat : ndarray of float
        Split R-hat; NaN for a stuck term.
    stuck : ndarray of bool
        Whether the term never moved in any chain.
    disagree : ndarray of bool
        Whether the chains differ by more than their batches predict, by a test of level 0.001 for
        all terms jointly; `mcse` is then at least the error implied by the spread of the chains.
    """

    mean: FloatArray
    mcse: FloatArray
    ess: FloatArray
    r_hat: FloatArray
    stuck: BoolArray
    disagree: BoolArray


@dataclass(frozen=True)
class ModelStats:
    """Probabilities of m models estimated from visits; every array has shape (m,).

    Attributes
    ----------
    probability, mcse : ndarray of float
        Proportion of draws in the model, and its Monte Carlo standard error.
    odds, odds_mcse : ndarray of float
        Posterior odds of the first model against this one, and their error by the delta method, including the
        covariance of the two proportions; infinite and NaN for a model that was not visited.
    disagree : ndarray of bool
        Whether the chains differ by more than their batches predict, by a test of level 0.001 for
        all m models jointly.
    """

    probability: FloatArray
    mcse: FloatArray
    odds: FloatArray
    odds_mcse: FloatArray
    disagree: BoolArray


@dataclass(frozen=True)
class ScalarStats:
    """Estimates for one real quantity from draws.

    Attributes
    ----------
    mean, sd : float
        Mean and standard deviation of the draws of all chains.
    mcse : float
        Monte Carlo standard error of `mean`; NaN if unknown.
    ess : float
        Effective sample size for the mean, ``(sd / mcse)**2``.
    r_hat : float
        Rank-normalised split R-hat, the larger of the values for the draws and the folded draws.
    disagree : bool
        Whether the chains differ by more than their batches predict, by a test of level 0.001.
    """

    mean: float
    sd: float
    mcse: float
    ess: float
    r_hat: float
    disagree: bool


def indicator_stats(model_index: ArrayLike, gamma: ArrayLike | PackedModels) -> IndicatorStats:
    """Estimate inclusion probabilities and their errors from the visited models.

    Errors come from batch means within each chain (about thirty batches, fewer in short chains), pooled over
    chains. If consecutive batches are correlated, their long-run variance is used where it is larger (Geyer's
    initial monotone positive sequence, over all chains). Draws are processed in parts, so that the (draws x
    J) inclusion matrix is never stored.

    Parameters
    ----------
    model_index : array_like of int, shape (chains, draws)
        Model of each draw, as a row of `gamma`.
    gamma : array_like or PackedModels, shape (n_models, J)
        1 or True where the model includes the term.

    Returns
    -------
    IndicatorStats
        With arrays of length J. Chains of fewer than 4 draws give means only.

    Examples
    --------
    >>> stats = indicator_stats([[0, 1, 1, 0, 1, 1, 0, 1, 0]], [[1, 0], [1, 1]])
    >>> stats.mean.round(3).tolist(), stats.stuck.tolist()
    ([1.0, 0.556], [True, False])
    """
    terms = gamma if isinstance(gamma, PackedModels) else np.asarray(gamma, dtype=np.uint8)
    index = np.asarray(model_index)
    chains, draws = index.shape
    plan = Plan.of(draws)
    k = terms.shape[1]
    means, variances, r_hat = np.empty((chains, k)), np.empty((2, k)), np.full(k, np.nan)
    for at in range(0, k, TERMS):
        part = slice(at, min(at + TERMS, k))
        some = terms.columns(part) if isinstance(terms, PackedModels) else terms[:, part]
        sums = [np.concatenate(list(inclusion_sums(chain, some, plan))) for chain in index]
        means[:, part] = [each.sum(axis=0) / draws for each in sums]
        variances[:, part] = spread(np.array([plan.batch_means(each) for each in sums]), plan)
        if draws >= SHORTEST:
            flat = np.concatenate([plan.half_means(each) for each in sums])
            r_hat[part] = split_r_hat(flat, flat * (1 - flat) * plan.half / (plan.half - 1), plan.half)
    mean, mcse, disagree = pooled(means, variances, plan)
    stuck = np.all((means == 0) | (means == 1), axis=0)
    mcse[stuck & ~disagree] = np.nan
    ess = _ess(mean * (1 - mean), mcse)
    ess[stuck] = np.nan
    return IndicatorStats(mean, mcse, ess, r_hat, stuck, disagree)


def model_stats(model_index: ArrayLike, models: ArrayLike) -> ModelStats:
    """Estimate probabilities of models, and odds of the first against each, from visits.

    Parameters
    ----------
    model_index : array_like of int, shape (chains, draws)
        Model of each draw.
    models : array_like of int, shape (m,)
        Models of interest, without repetition; the first is the reference of the odds.

    Returns
    -------
    ModelStats
        With arrays of length m.

    Examples
    --------
    >>> stats = model_stats([[7, 7, 2, 7, 2, 7, 7, 7, 2]], [7, 2])
    >>> stats.probability.round(3).tolist(), stats.odds.tolist()
    ([0.667, 0.333], [1.0, 2.0])
    """
    index, wanted = np.asarray(model_index), np.asarray(models)
    chains, draws = index.shape
    plan = Plan.of(draws)
    m = wanted.size
    batches = np.empty((chains, plan.batches, m))
    means = np.empty((chains, m))
    for c, chain in enumerate(index):
        sums = np.concatenate(list(visit_sums(chain, wanted, plan)))
        means[c] = sums.sum(axis=0) / draws
        batches[c] = plan.batch_means(sums)
    probability, mcse, disagree = combine(means, batches, plan)
    stuck = np.all((means == 0) | (means == 1), axis=0)
    mcse[stuck & ~disagree] = np.nan
    odds, odds_mcse = _odds(probability, means, batches, plan)
    return ModelStats(probability, mcse, odds, odds_mcse, disagree)


def _odds(
    probability: FloatArray, means: FloatArray, batches: FloatArray, plan: Plan
) -> tuple[FloatArray, FloatArray]:
    """Return the odds of model 0 against each model, and their errors."""
    # mathematics: errors-odds
    odds = np.full(probability.shape, np.inf if probability[0] > 0 else np.nan)
    odds_mcse = np.full(probability.shape, np.nan)
    seen = probability > 0
    odds[seen] = probability[0] / probability[seen]
    if probability[0] > 0:
        # Delta method: the log odds vary as x_0/p_0 - x_k/p_k, whose batch means include the covariance of
        # the two proportions.
        scale = probability[seen]
        change = batches[:, :, :1] / probability[0] - batches[:, :, seen] / scale
        _, error, _ = combine(means[:, :1] / probability[0] - means[:, seen] / scale, change, plan)
        # The error of a frequency that is constant in all chains is unknown, although the formula gives 0.
        error[(error == 0) & np.all((means[:, seen] == 0) | (means[:, seen] == 1), axis=0)] = np.nan
        odds_mcse[seen] = odds[seen] * error
        odds_mcse[0] = 0.0
    return odds, odds_mcse


def scalar_stats(values: ArrayLike | ByModel) -> ScalarStats:
    """Summarise the draws of one real quantity (model size, cost, log posterior).

    Parameters
    ----------
    values : array_like of float or ByModel, shape (chains, draws)
        The draws.

    Returns
    -------
    ScalarStats
        Mean, sd, Monte Carlo error, effective sample size and R-hat (from every k-th draw if there are more
        than 2**18). The last three are NaN for a quantity that never changes and for chains of fewer than 4
        draws.

    Raises
    ------
    DataError
        If a value is not finite.

    Examples
    --------
    >>> stats = scalar_stats([[3, 4, 4, 3, 5, 4], [4, 4, 3, 5, 4, 3]])
    >>> round(stats.mean, 3), round(stats.sd, 3)
    (3.833, 0.718)
    """
    x = values if isinstance(values, ByModel) else np.asarray(values)
    chains, draws = x.shape
    plan = Plan.of(draws)
    # The mean of equal numbers can differ from them by rounding; deviations from the first do not.
    origin = float(x[0, 0])
    sums = [np.concatenate(list(scalar_sums(x, c, origin, plan)))[:, None] for c in range(chains)]
    if not np.all(np.isfinite(sums)):
        raise DataError(
            "The 'values' parameter of scalar_stats must be finite. It has NaN or infinite values."
        )
    means = np.array([part.sum(axis=0) for part in sums]) / draws
    mean, mcse, disagree = combine(means, np.array([plan.batch_means(part) for part in sums]), plan)
    about = origin + float(mean[0])
    square = sum(float(part.sum()) for c in range(chains) for part in scalar_sums(x, c, about, plan, power=2))
    sd = float(np.sqrt(square / (chains * draws - 1))) if chains * draws > 1 else np.nan
    parts = (x[c, low : low + CHUNK] != x[c, 0] for c in range(chains) for low in range(0, draws, CHUNK))
    moved = any(part.any() for part in parts)
    error = float(mcse[0]) if moved or disagree[0] else np.nan
    ess = float(_ess(np.array([sd**2]), np.array([error]))[0]) if moved else np.nan
    r_hat = _rank_r_hat(x) if moved and draws >= SHORTEST else np.nan
    return ScalarStats(float(mean[0] + origin), sd, error, ess, r_hat, bool(disagree[0]))


def _ess(variance: FloatArray, mcse: FloatArray) -> FloatArray:
    """Return variance / mcse^2; infinite where mcse is 0, NaN where it is NaN."""
    out = np.where(np.isnan(mcse), np.nan, np.inf)
    return np.divide(variance, mcse**2, out=out, where=mcse > 0)


def _rank_r_hat(every: np.ndarray | ByModel) -> float:
    """Return the larger of bulk and folded R-hat from at most RANKED of the (chains, draws) values."""
    step = -(-every.shape[0] * every.shape[1] // RANKED)
    x: FloatArray = every[:, ::step].astype(np.float64)
    plan = Plan.of(x.shape[1])
    folded = np.abs(x - np.median(x))
    found = []
    for values in (x, folded):
        halves = np.concatenate([values[:, : plan.half], values[:, plan.draws - plan.half :]])
        scores = _normal_scores(halves)
        means, variances = scores.mean(axis=1)[:, None], scores.var(axis=1, ddof=1)[:, None]
        found.append(float(split_r_hat(means, variances, plan.half)[0]))
    # The folded draws of a quantity with two values can be constant although the draws are not.
    return float(np.nanmax(found)) if not np.all(np.isnan(found)) else np.nan


def _normal_scores(values: FloatArray) -> FloatArray:
    """Return normal quantiles of the average ranks of all `values` together."""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - 0.5 * (counts - 1))[inverse.reshape(values.shape)]
    scores: FloatArray = special.ndtri((ranks - 0.375) / (values.size + 0.25))
    return scores


# Above this shape averages over draws do not converge in practice (Vehtari et al. 2024, "Pareto smoothed
# importance sampling", JMLR 25); above 1 there is no expectation.
UNRELIABLE = 0.7
# Fewest values in a tail; the shape of fewer is not estimated.
FEWEST = 5
# Weight, in values of the tail, and mean of a prior on the shape.
PRIOR_WEIGHT, PRIOR_SHAPE = 10.0, 0.5


def pareto_shapes(values: FloatArray) -> FloatArray:
    """Return shapes k of generalised Pareto distributions of the largest values of each row.

    Of the ``min(m / 5, 3 sqrt(m))`` largest, by the empirical Bayes method of Zhang and Stephens (2009); -inf
    for fewer than five, and where most of them are equal.

    Parameters
    ----------
    values : ndarray (rows, m)
        Positive draws, in any unit.
    """
    m = values.shape[1]
    count = int(min(m / 5.0, 3.0 * np.sqrt(m)))
    out = np.full(len(values), -np.inf)
    if count < FEWEST:
        return out
    ordered = np.sort(np.partition(values, m - count - 1, axis=1)[:, m - count - 1 :], axis=1)
    x = ordered[:, 1:] - ordered[:, :1]
    quarter = x[:, int(count / 4.0 + 0.5) - 1]
    known = np.flatnonzero(quarter > 0.0)
    x, quarter = x[known], quarter[known]
    points = 30 + int(np.sqrt(count))
    place = 1.0 - np.sqrt(points / (np.arange(points) + 0.5))
    rate = 1.0 / x[:, -1:] + place / (3.0 * quarter[:, None])
    shape = np.log1p(-rate[:, :, None] * x[:, None]).mean(axis=2)
    fit = count * (np.log(-rate / shape) - shape - 1.0)
    weight = np.exp(fit - fit.max(axis=1, keepdims=True))
    rate = (weight * rate).sum(axis=1) / weight.sum(axis=1)
    found = np.log1p(-rate[:, None] * x).mean(axis=1)
    out[known] = (count * found + PRIOR_WEIGHT * PRIOR_SHAPE) / (count + PRIOR_WEIGHT)
    return out

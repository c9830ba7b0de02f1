"""Quadratic surrogates of log-likelihoods, for chains over models, and what they learn."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from pyrjsel._core import special
from pyrjsel._typing import ByteArray, FloatArray
from pyrjsel.families import Family
from pyrjsel.model_space import ModelSpace, Space
from pyrjsel.selection.evidence._adjusted import AdjustedEvidence
from pyrjsel.selection.evidence._conjugate import ConjugateEvidence
from pyrjsel.selection.priors._score import GaussianScore
from pyrjsel.selection.priors.base import CompiledPrior
from pyrjsel.selection.regression._gram import FullGram, Gram, SummedGram
from pyrjsel.selection.regression.glm import Regression

# Residual variance of log m - log m~ divided by the variance of the corrections, on the cohort and on
# simulated data: 0.15**2 / 0.3**2. Corrections of rarely visited terms stay near 0.
RIDGE = 0.25
# Columns up to which surrogates store all products of columns; of more, chains visit few.
STORED = 256
# Largest number of pairs of terms with corrections, and their size relative to those of terms, as expected.
MOST_PAIRS, PAIR_SCALES = 500, (0.3, 1.0)
# A model matters less for learning if its log mass is so much below that of the median visit, by the
# posterior and by the surrogate, which is learnt in so many passes.
NEAR, PASSES = 3.0, 3
# Share of a side of a term below which it gets the mass of its models, and least mass that is left to it.
FEW_SIDE, LOG_LEAST_SIDE = 0.01, float(np.log(5e-4))
# Largest range of linear predictors at an expansion point: exponentials of more become 0, and with them the
# sums over risk sets where one column orders all times.
WIDEST = 500.0


@dataclass(frozen=True)
class Surrogate:
    """A quadratic surrogate of the log-likelihood, for chains: its expansion point, as plain data.

    Around the linear predictor eta* of fixed coefficients b*, with r the score of the rows in eta and W minus
    the second derivative,

        log-likelihood(b) = const + c'b - b'H b / 2 + O(|eta - eta*|**3),
        H = X'WX,  c = X'r + H b*.

    With a prior exp(-b'K b / 2 + shift'b), the marginal likelihood of every model is then that of a gaussian
    model with known variance: a function of H + K and c + shift on the columns of the model, which a chain
    updates flip by flip. Its error is corrected by Metropolis-Hastings (``corrected_chain.py``): the
    surrogate affects the efficiency of chains, not their stationary distribution.

    The expansion point is the average linear predictor of the visited models, with the average coordinates
    of nuisance parameters, which are fixed. The remaining error is mostly additive over terms, and is learned
    as a correction of the log prior odds of each term; under mixtures of g-priors, with g fixed here, it
    depends on the number of terms besides.

    Attributes
    ----------
    at : ndarray (D + 1,) or (D + 1 + nuisance,)
        Internal coefficients b* of the expansion point, and coordinates of nuisance parameters. Without
        these, those of the family's methods are used.
    correction : ndarray (J,)
        Added to the log prior odds of each term.
    of_size : ndarray (free terms + 1,), optional
        Added to the log prior of models by their number of free terms.
    pairs : ndarray (J, J), optional
        Symmetric: added to the log mass for each pair of terms that a model has.
    """

    at: FloatArray
    correction: FloatArray
    of_size: FloatArray | None = None
    pairs: FloatArray | None = None

    def evidences(self, regression: Regression, count: int) -> Sequence[ConjugateEvidence | AdjustedEvidence]:
        """Return `count` evidences, each with its own state."""
        found = self._quadratic(regression, count)
        return found if self.pairs is None else [AdjustedEvidence(each, self.pairs) for each in found]

    def _quadratic(self, regression: Regression, count: int) -> list[ConjugateEvidence]:
        """Return the evidences without corrections."""
        # mathematics: walks-expansion
        columns, prior, family = regression.columns, regression.prior, regression.family
        b, nuisance = np.split(self.at, [regression.n_columns])
        if nuisance.size:
            values = family.parameters(nuisance).tolist()
            if family.scaled:
                prior = prior.rescaled((family.size / values[0]) ** 2)
            family = family.at(*values)
        w = np.ones(regression.y.size) if regression.weights is None else regression.weights
        linear = b @ columns
        if (spread := np.ptp(linear)) > WIDEST:
            b, linear = b * (WIDEST / spread), linear * (WIDEST / spread)
        eta = regression.offset + linear
        residual, weight = family.working(regression.y, eta, w)
        on_demand = len(columns) > STORED and type(family).information is Family.information
        if on_demand:
            rooted = columns * np.sqrt(family.expected_share * weight)
            diagonal, slope = np.einsum("ij,ij->i", rooted, rooted), rooted @ (b @ rooted)
        else:
            information = family.information(columns, regression.y, eta, w)
            diagonal, slope = np.diag(information), information @ b
        if prior.mixture is not None:
            prior = prior.given(self._log_g(prior, diagonal, regression.leading))
        precision = np.ascontiguousarray(prior.precision)
        gram: Gram = SummedGram(rooted, precision) if on_demand else FullGram(information + precision)
        cross = columns @ residual + slope + prior.shift
        # For independent coefficients, log det of the precision is a sum.
        known = prior.log_weights is not None
        return [
            ConjugateEvidence(
                GaussianScore.known(),
                gram,
                np.ascontiguousarray(cross),
                np.ascontiguousarray(regression.term_start),
                penalty=np.ascontiguousarray(prior.penalty),
                rank_tol=prior.rank_tol,
                log_weights=prior.log_weights,
                prior=None if known else FullGram(precision),
                flat=regression.leading if prior.flat and not known else 0,
            )
            for _ in range(count)
        ]

    def _log_g(self, prior: CompiledPrior, information: FloatArray, leading: int) -> float:
        """Return the log g of a mixture for which its known value stands in the surrogate.

        The most probable g given the coefficients of the expansion point that differ from 0, at least 1.
        """
        at = self.at[: information.size]
        far = np.flatnonzero(at[leading:] ** 2 * information[leading:] > 1.0) + leading
        if far.size == 0:
            return prior.typical_log_g
        form = float(at[far] @ prior.precision[np.ix_(far, far)] @ at[far])
        return float(np.log(max(form / far.size, 1.0)))

    def space(self, space: ModelSpace) -> Space:
        """Return the compiled space with the corrected prior over models."""
        log_odds = space.log_odds + self.correction * space.free
        log_size = space.log_size if self.of_size is None else space.log_size + self.of_size
        return Space(replace(space, log_odds=log_odds, log_size=log_size))

    def corrected(self, gamma: ByteArray, space: ModelSpace) -> float:
        """Return what is added to the log prior of a model (J,)."""
        # mathematics: walks-surrogate
        found = float(gamma @ self.correction)
        if self.of_size is not None:
            found += float(self.of_size[int(gamma @ space.free)])
        if self.pairs is not None:
            found += 0.5 * float(gamma @ self.pairs @ gamma)
        return found


def learn_corrections(
    at: FloatArray,
    gamma: ByteArray,
    log_ratio: FloatArray,
    weight: FloatArray,
    regression: Regression,
    space: ModelSpace,
) -> Surrogate:
    """Return the surrogate around `at` with corrections for terms, numbers of terms and pairs of terms.

    Under mixtures of g-priors with a quadratic function of the number of free terms. Beyond the numbers in
    `gamma` it goes on by half their range, and then is constant. Models whose g is known have none: their
    errors hardly depend on the number, so it would be learned from noise, and hide larger models. Pairs are
    shrunk as much as predicts models best that are left out, one at a time.

    Parameters
    ----------
    at : ndarray
    gamma : ndarray (m, J)
        Distinct models.
    log_ratio : ndarray (m,)
        Log ratio of the marginal likelihood to that of the surrogate without correction.
    weight : ndarray (m,)
        How much each model matters, such as the number of its visits.
    regression : Regression
    space : ModelSpace
    """
    if not len(gamma):
        return Surrogate(at, np.zeros(space.n_terms))
    n_terms, x, size = gamma.shape[1], gamma.astype(float), gamma @ space.free.astype(float)
    middle = np.average(size, weights=weight)
    spread = 1.0 + np.average((size - middle) ** 2, weights=weight)
    if regression.prior.mixture is not None:
        x = np.column_stack([x, (size - middle) ** 2 / spread])
    first, second = np.triu_indices(n_terms, 1)
    varied = np.ptp(gamma, axis=0) > 0
    both = varied[first] & varied[second]
    first, second = first[both], second[both]
    pairs = None
    if 0 < first.size <= MOST_PAIRS:
        products = gamma[:, first] * gamma[:, second]
        found, left = weighted_ridge(x, log_ratio, weight)
        for scale in PAIR_SCALES:
            more, missed = weighted_ridge(np.column_stack([x, scale * products]), log_ratio, weight)
            if missed < left:
                found, left, pairs = more[: x.shape[1]], missed, np.zeros((n_terms, n_terms))
                pairs[first, second] = pairs[second, first] = scale * more[x.shape[1] :]
    else:
        found, _ = weighted_ridge(x, log_ratio, weight)
    of_size = None
    if regression.prior.mixture is not None:
        beyond = 0.5 * (size.max() - size.min())
        learnt = np.clip(np.arange(space.log_size.size), size.min() - beyond, size.max() + beyond)
        of_size = found[-1] * (learnt - middle) ** 2 / spread
    return Surrogate(at, found[:n_terms], of_size, pairs)


def learn_masses(
    at: FloatArray,
    gamma: ByteArray,
    log_mass: FloatArray,
    log_ratio: FloatArray,
    visits: FloatArray,
    typical: float,
    regression: Regression,
    space: ModelSpace,
) -> Surrogate:
    """Return the surrogate around `at` with what models teach that it or the posterior thinks probable.

    Parameters
    ----------
    at : ndarray
    gamma : ndarray (m, J)
        Distinct models.
    log_mass, log_ratio : ndarray (m,)
        Their log posterior masses, and log ratios to those of the surrogate without corrections.
    visits : ndarray (m,)
    typical : float
        Log mass of the median visit.
    regression : Regression
    space : ModelSpace
    """
    assumed, learnt = log_mass, Surrogate(at, np.zeros(space.n_terms))
    for _ in range(PASSES if len(gamma) else 0):
        weight = visits * np.exp(np.minimum(np.maximum(log_mass, assumed) - typical + NEAR, 0.0))
        learnt = learn_corrections(at, gamma, log_ratio, weight, regression, space)
        left = log_ratio - [learnt.corrected(model, space) for model in gamma]
        assumed = log_mass - left + np.average(left, weights=weight)
    return with_sides(learnt, gamma, log_mass, log_ratio, space) if len(gamma) else learnt


def with_sides(
    surrogate: Surrogate, gamma: ByteArray, log_mass: FloatArray, log_ratio: FloatArray, space: ModelSpace
) -> Surrogate:
    """Return the surrogate with the right mass on sides that hardly any probable model is on.

    What it has learnt from probable models tells nothing of models with a term that none of them has, or
    without one that all have. Where it gives such a side too much, chains waste draws, and the surrogate's
    probabilities are wrong by that mass. The ratio is that of the sums over the models of the side. It never
    leaves less than LEAST_SIDE: other models there may be more probable.

    Parameters
    ----------
    surrogate : Surrogate
    gamma : ndarray (m, J)
        Distinct models.
    log_mass : ndarray (m,)
        Their log posterior masses.
    log_ratio : ndarray (m,)
        Log ratio of the posterior to that of the surrogate without corrections.
    space : ModelSpace
    """
    assumed = log_mass - log_ratio + [surrogate.corrected(model, space) for model in gamma]
    mass, assumed = (each - special.logsumexp(each) for each in (log_mass, assumed))
    share, correction = np.exp(mass) @ gamma, surrogate.correction.copy()
    for j in np.flatnonzero((np.minimum(share, 1.0 - share) < FEW_SIDE) & (space.free > 0)):
        side = gamma[:, j] == (share[j] < 0.5)
        if side.any():
            there = special.logsumexp(assumed[side])
            change = max(special.logsumexp(mass[side]), LOG_LEAST_SIDE) - there
            correction[j] += (1.0 if share[j] < 0.5 else -1.0) * min(change, 0.0)
    return replace(surrogate, correction=correction)


def weighted_ridge(x: FloatArray, y: FloatArray, weight: FloatArray) -> tuple[FloatArray, float]:
    """Return the slopes (k,) of a ridge regression with an intercept, and its mean squared error left out."""
    # mathematics: walks-ridge
    x, y = x - np.average(x, axis=0, weights=weight), y - np.average(y, weights=weight)
    rooted = x * np.sqrt(weight)[:, None]
    if x.shape[1] > len(x):
        inner = rooted @ rooted.T + RIDGE * np.eye(len(x))
        slopes = rooted.T @ np.linalg.solve(inner, np.sqrt(weight) * y)
        leverage = 1.0 - RIDGE * np.diag(np.linalg.inv(inner))
    else:
        inner = rooted.T @ rooted + RIDGE * np.eye(x.shape[1])
        solved = np.linalg.solve(inner, rooted.T)
        slopes = solved @ (np.sqrt(weight) * y)
        leverage = np.einsum("ij,ji->i", rooted, solved)
    leverage += weight / weight.sum()
    missed = (y - x @ slopes) / np.maximum(1.0 - leverage, 1e-6)
    return np.asarray(slopes), float(np.average(missed**2, weights=weight))

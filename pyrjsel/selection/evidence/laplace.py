"""Marginal likelihoods of models: Laplace's approximation and its importance-sampling correction."""

from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular
from scipy.special import ndtr

from pyrjsel._errors import DataError
from pyrjsel._once import alone, kept_property
from pyrjsel._typing import ByteArray, FloatArray
from pyrjsel.model_space import pack
from pyrjsel.selection.evidence._laplace import ModeFinder
from pyrjsel.selection.evidence.importance import DRAWS_A_COLUMN, log_det, log_student, match, radii
from pyrjsel.selection.evidence.separation import separated_models
from pyrjsel.selection.regression.glm import Regression

# Degrees of freedom of the Student proposal at the mode. Its tails are heavier than those of a posterior
# that is nearly normal, but no scale at the mode fits a skewed one: under a weak prior, a coefficient that
# separates the classes has a half-normal tail many times as long as the curvature at the mode says.
PROPOSAL_DF = 8.0
# Such models get further proposals, matched to the weighted draws of the one before; with heavier tails,
# since what those draws missed must not be missed again.
MATCHED_DF = 4.0
# Weights are even where the effective sample size is at least EVEN times what it would be for a normal
# posterior, and no draw that weighs more than HEAVY times the average holds more than SHARE of all weight.
# Matched proposals have the noise of the draws they are matched to, the more the more columns there are: they
# beat the one at the mode where weights are uneven, and nowhere else.
EVEN, SHARE, HEAVY = 0.5, 0.05, 25.0
# A first stage suffices where weights are even and its relative variance no more than this. More draws are as
# many as give that over MARGIN: from some dozens of pairs the variance is known to about such a factor. It
# goes with the estimate itself, so that integrals that stop where it is small would be too small, by half a
# percent: each half of the draws says whether the other is kept. With HALF_MARGIN for each, both are as often
# as with MARGIN for the whole. Fewer than JUDGED pairs know too little and are taken as they are.
VARIANCE, MARGIN, HALF_MARGIN = 2e-5, 2.0, 1.4
# In tables of visited models: wide models would take seconds each for more.
TABLE_VARIANCE = 1e-3
JUDGED = 64
# Matched proposals at most; the first gets at least FEWEST pairs and each twice as many as the one before,
# until there are MOST. A second stage at the mode gets what the variance asks for, and at most what matched
# ones take together.
STAGES = 4
FEWEST, MOST = 512, 4096
# Where more effective draws are asked for, so many times as many as should do; and pairs at most.
AIM, MOST_MORE = 2.0, 2**15


@dataclass(frozen=True)
class Integral:
    """The marginal likelihood of one model by importance sampling.

    Attributes
    ----------
    log_marginal : float
        Log marginal likelihood, constants of the family left out; -inf where the prior does not exist.
    variance : float
        Relative variance of the marginal likelihood; NaN where it is not estimated.
    columns : ndarray (d,)
        Columns of the model, the intercept (0) first.
    moments : ndarray (3, d)
        Posterior mean and mean square of each internal coefficient (the intercept: that of the
        design's own columns), and the probability that it is positive.
    samples, weights : ndarray (m, d) and (m,), or None
        Draws of internal coefficients and their importance weights.
    largest : float
        Share of the largest importance weight in their sum; NaN where there are none.
    stages : int
        Proposals that were used; the estimate is that of the last.
    effective : float
        Effective number of the weighted draws; NaN where there are none.
    draws : int
        Their number.
    """

    log_marginal: float
    variance: float
    columns: np.ndarray
    moments: FloatArray
    samples: FloatArray | None
    weights: FloatArray | None
    largest: float = np.nan
    stages: int = 1
    effective: float = np.nan
    draws: int = 0


@dataclass(frozen=True)
class _Stage:
    """Pairs of draws from one proposal, at given radii (pairs,); otherwise as in :class:`Integral`."""

    log_ratio: float
    variance: float
    moments: FloatArray
    points: FloatArray
    weights: FloatArray
    radius: FloatArray

    @classmethod
    def of(cls, found: tuple[float, float, Any, Any], radius: FloatArray) -> "_Stage":
        """Return what a compiled integral found."""
        log_ratio, variance, moments, (points, weights) = found
        return cls(log_ratio, variance, moments, points, weights, radius)

    @property
    def halves(self) -> tuple[slice, slice]:
        """The pairs of two halves, each stratified in itself in a first stage."""
        middle = self.pairs // 4 * 2
        return slice(0, middle), slice(middle, self.pairs)

    def variance_of(self, pairs: slice) -> float:
        """Return the relative variance of the integral by some of the pairs."""
        weights = self.weights.reshape(-1, 2)[pairs].sum(axis=1)
        return float(np.sum((weights[::2] - weights[1::2]) ** 2) / weights.sum() ** 2)

    def part(self, pairs: slice, shift: FloatArray) -> "_Stage":
        """Return some of the pairs; coefficients take `shift` (d,) from the intercept of raw columns."""
        rows = slice(2 * pairs.start, 2 * pairs.stop)
        points, weights = self.points[rows], self.weights[rows]
        raw = points.copy()
        raw[:, 0] -= points @ shift
        share = weights / weights.sum()
        return _Stage(
            self.log_ratio + float(np.log(weights.mean() / self.weights.mean())),
            self.variance_of(pairs),
            np.stack([share @ raw, share @ raw**2, share @ (raw > 0)]),
            points,
            weights,
            self.radius[pairs],
        )

    def joined(self, other: "_Stage", share: float) -> "_Stage":
        """Return the average of two estimates, `share` of it this one."""
        top = max(self.log_ratio, other.log_ratio)
        parts = np.array(
            [share * np.exp(self.log_ratio - top), (1.0 - share) * np.exp(other.log_ratio - top)]
        )
        total = float(parts.sum())
        one, two = parts / total
        weights = np.concatenate(
            [one * self.weights / self.weights.sum(), two * other.weights / other.weights.sum()]
        )
        return _Stage(
            top + float(np.log(total)),
            one**2 * self.variance + two**2 * other.variance,
            one * self.moments + two * other.moments,
            np.concatenate([self.points, other.points]),
            weights / weights.max(),
            np.concatenate([self.radius, other.radius]),
        )

    @property
    def pairs(self) -> int:
        return self.radius.size

    @property
    def largest(self) -> float:
        return float(self.weights.max() / self.weights.sum())

    @property
    def heavy(self) -> bool:
        """Whether a draw holds too much of the weight."""
        return self.largest > SHARE and self.largest * self.weights.size > HEAVY

    @property
    def efficiency(self) -> float:
        """Effective sample size over the number of draws."""
        return _efficiency(self.weights)

    @property
    def effective(self) -> float:
        """Effective sample size."""
        return self.efficiency * self.weights.size

    @property
    def even(self) -> bool:
        """Whether weights at the mode are as even as a normal posterior lets expect."""
        return not self.heavy and self.efficiency >= EVEN * self.normal_efficiency

    @property
    def scarce(self) -> bool:
        """Whether effective draws are too few to match a proposal to them."""
        return self.effective < DRAWS_A_COLUMN * self.points.shape[1]

    @property
    def normal_efficiency(self) -> float:
        """The same at the mode of a normal posterior, by the same radii."""
        log_density = log_student(self.radius, self.points.shape[1], PROPOSAL_DF)
        return _efficiency(np.exp(-0.5 * self.radius**2 - log_density))


# Public methods of the class below that use its search for modes, which is a workspace.
ALONE = alone("finder")


class MarginalLikelihood:
    """Marginal likelihoods of the models of one regression problem.

    The random numbers of a model come from a stream that is a function of `entropy` and of the model
    alone: every chain, thread and process gets the same value for the same model.

    Parameters
    ----------
    regression : Regression
    entropy : bytes
        Seed of the fit.
    pairs : int
        Pairs of antithetic importance draws a model, an even number; models for which 64 and more do not
        suffice get more, or other proposals.
    max_columns : int
        Most columns of a model, intercept included.
    variance : float, optional
        Relative variance of an integral that suffices; None is that of enumeration.
    """

    def __init__(
        self,
        regression: Regression,
        entropy: bytes,
        pairs: int,
        max_columns: int,
        variance: float | None = None,
    ) -> None:
        self.regression = regression
        self.entropy = entropy
        self.pairs = pairs
        self.max_columns = max_columns
        self.variance = VARIANCE if variance is None else variance

    @kept_property
    def finder(self) -> ModeFinder:
        """The compiled search for modes; it owns scratch space, which one thread may use at a time.

        The methods see to that; what looks at the search itself must have this object to itself.
        """
        return ModeFinder(self.regression.compiled, self.max_columns, self.regression.raw_shift)

    def __getstate__(self) -> dict[str, object]:
        state = self.__dict__.copy()
        state.pop("finder", None)  # raw pointers; made again where it is needed
        return state

    def stream(self, gamma: np.ndarray) -> np.random.Generator:
        """Return the random stream of model `gamma` (J,)."""
        digest = blake2b(self.entropy + pack(gamma).tobytes(), digest_size=16).digest()
        return np.random.Generator(np.random.Philox(key=int.from_bytes(digest, "little")))

    @ALONE
    def mode(self, gamma: np.ndarray) -> FloatArray:
        """Return the posterior mode of a model on the internal scale, (D + 1,), zero outside it."""
        return self.finder.mode(np.ascontiguousarray(gamma, dtype=np.uint8))

    @ALONE
    def integrate(
        self,
        gamma: np.ndarray,
        *,
        pairs: int | None = None,
        draws: bool = False,
        variance: float | None = None,
    ) -> Integral:
        """Integrate the likelihood of model `gamma` (J,) against its coefficient prior.

        Importance sampling from a Student distribution at the mode, with the inverse Hessian as its
        scale. Radii are stratified and every direction is used with both signs, which cuts the error
        of the plain estimate several times.

        Where weights are even but the draws too few, more come from the same proposal, for each half of
        the draws that does not suffice by the variance of the other. Where the
        posterior is too skewed for it, others follow, each with the weighted moments of the draws of the
        one before and more pairs. Where these, matched to the few effective draws of a wide model, have
        left its weights less even than they were at the mode, the last comes from the mode after all, unless
        heavy draws among many have shown what it misses.

        Else the last stage alone gives the estimate. That a later stage is the last is settled before it
        is drawn: the estimate is unbiased given the earlier stages, and does not stop where its weights
        happen to look well.

        `variance` is the relative variance of the integral that suffices; None is that of the object.
        """
        variance = self.variance if variance is None else variance
        gamma = np.ascontiguousarray(gamma, dtype=np.uint8)
        rng = self.stream(gamma)
        count, stages = pairs or self.pairs, 1
        stage = first = self._at_mode(gamma, count, rng, halves=JUDGED <= count < 2 * MOST)
        even = stage.even
        share = MARGIN * stage.variance / variance
        more = 2 * int(max(FEWEST, count, min(share * count, 2 * MOST)) / 2)
        if even and count >= JUDGED and more > count:
            halves = first.halves
            a, b = (HALF_MARGIN * first.variance_of(half) <= 2.0 * variance for half in halves)
            if not (a and b):
                stage, stages = self._at_mode(gamma, more, rng), 2
            if a != b:
                kept = first.part(
                    halves[1] if a else halves[0], self.regression.raw_shift[self.finder.columns]
                )
                stage = kept.joined(stage, kept.pairs / count)
        last = even or count < JUDGED
        while not last:
            stages += 1
            if stages > STAGES and _better_at_mode(first, stage):
                stage = self._at_mode(gamma, max(count, 2 * MOST), rng)
                break
            size = min(max(2 * stage.pairs, FEWEST), MOST)
            last = stages > STAGES or (not stage.heavy and stage.variance * stage.pairs <= variance * size)
            size = max(size, count) if last else size
            stage = self._matched(stage, size, rng)
        finder = self.finder
        return Integral(
            finder.log_marginal + stage.log_ratio,
            stage.variance,
            finder.columns,
            stage.moments,
            stage.points if draws else None,
            stage.weights if draws else None,
            stage.largest,
            stages,
            stage.effective,
            stage.weights.size,
        )

    def with_effective(
        self, gamma: np.ndarray, found: Integral, effective: float, most: int = MOST_MORE
    ) -> Integral:
        """Return the integral `found` of model `gamma` (J,), or one from `effective` effective draws.

        Of at most `most` pairs to begin with: the effective draws may be fewer all the same.
        """
        pairs = int(min(AIM * effective * found.draws / found.effective, 2 * most)) // 4 * 2
        if found.effective >= effective or 2 * pairs <= found.draws:
            return found
        better = self.integrate(gamma, pairs=pairs, draws=found.samples is not None)
        return better if better.effective > found.effective else found

    def _at_mode(
        self, gamma: ByteArray, pairs: int, rng: np.random.Generator, *, halves: bool = False
    ) -> "_Stage":
        """Return draws from the proposal at the mode, stratified as a whole or in two halves."""
        d = 1 + int(gamma @ np.diff(self.regression.term_start))
        first = pairs // 4 * 2 if halves else 0
        radius = np.concatenate([radii(d, size, PROPOSAL_DF, rng) for size in (first, pairs - first)])
        found = self.finder.integrate(gamma, radius, rng.standard_normal((pairs, d)), PROPOSAL_DF, draws=True)
        self.check_mode()
        return _Stage.of(found, radius)

    def _matched(self, stage: "_Stage", pairs: int, rng: np.random.Generator) -> "_Stage":
        """Return draws from a proposal that is matched to those of `stage`, for the same model."""
        finder = self.finder
        center, factor = match(stage.points, stage.weights, finder.at, finder.factor)
        d = center.size
        radius = radii(d, pairs, MATCHED_DF, rng)
        direction = rng.standard_normal((pairs, d))
        direction /= np.sqrt(np.sum(direction**2, axis=1, keepdims=True))
        log_density = log_student(radius, d, MATCHED_DF) - log_det(factor) - log_det(finder.factor)
        return _Stage.of(
            finder.reweigh(center, direction @ factor.T, radius, log_density, draws=True), radius
        )

    def is_uneven(self, gamma: ByteArray) -> bool:
        """Return whether importance weights of model `gamma` (J,) at its mode are uneven, or one is heavy."""
        gamma = np.ascontiguousarray(gamma, dtype=np.uint8)
        return not self._at_mode(gamma, self.pairs, self.stream(gamma)).even

    def check_mode(self) -> None:
        """Raise :class:`DataError` unless the last search found a mode."""
        if self.finder.status == 1:
            raise DataError("The columns of a model are linearly dependent: its g-prior does not exist.")
        if self.finder.status == 2:
            raise DataError(
                "The posterior mode of a model was not found: rescale its columns, or give its intercept a "
                "proper prior."
            )

    @ALONE
    def exists(self, gamma: np.ndarray) -> bool:
        """Return whether model `gamma` (J,) has a coefficient prior and a posterior mode."""
        self.mode(gamma)
        return self.finder.status == 0

    def log_marginal(self, gamma: np.ndarray) -> float:
        """Return the log marginal likelihood of model `gamma` (J,), constants of the family left out.

        For tables: its error is about 0.03.
        """
        return self.integrate(gamma, variance=TABLE_VARIANCE).log_marginal

    def log_marginals(self, gammas: np.ndarray) -> FloatArray:
        """Return the same of models `gammas` (m, J)."""
        return np.array([self.log_marginal(gamma) for gamma in gammas])

    @ALONE
    def deviance(self, gamma: np.ndarray) -> float:
        """Return the deviance of model `gamma` (J,) at the maximum of its likelihood."""
        best = self.finder.maximum_likelihood(np.ascontiguousarray(gamma, dtype=np.uint8))[0]
        return 2.0 * (self.regression.saturated - best)

    @ALONE
    def separated(self, gammas: np.ndarray) -> dict[int, tuple[int, ...]]:
        """Return the models among `gammas` (m, J) without maximum likelihood estimates, and their terms."""
        return separated_models(self.regression, self.finder, gammas)

    @ALONE
    def approximate(self, gamma: np.ndarray) -> Integral:
        """Return Laplace's approximation, a normal posterior at the mode; its error is not known."""
        self.mode(gamma)
        self.check_mode()
        finder, columns = self.finder, self.finder.columns
        half = solve_triangular(finder.factor, np.eye(columns.size), lower=True)
        to_raw = np.eye(columns.size)
        to_raw[0] -= self.regression.raw_shift[columns]
        mean = to_raw @ finder.at
        variance = np.sum((half @ to_raw.T) ** 2, axis=0)
        moments = np.stack([mean, mean**2 + variance, ndtr(mean / np.sqrt(variance))])
        return Integral(finder.log_marginal, np.nan, columns, moments, None, None)

    def sample(
        self, gamma: np.ndarray, size: int, rng: np.random.Generator
    ) -> tuple[FloatArray, dict[str, FloatArray]]:
        """Draw internal coefficients of model `gamma` given the data, (size, D + 1); no nuisance parameters.

        Systematic resampling of a weighted sample at least eight times as large, and of as many effective
        draws as are asked for, where up to 65,536 draws have them.
        """
        pairs = max(self.pairs, 4 * size + size % 2)
        found = self.integrate(gamma, pairs=pairs + pairs % 2, draws=True)
        found = self.with_effective(gamma, found, size)
        assert found.samples is not None
        assert found.weights is not None
        out = np.zeros((size, self.regression.n_columns))
        out[:, found.columns] = found.samples[resample(found.weights, size, rng)]
        return out, {}


def _better_at_mode(first: _Stage, matched: _Stage) -> bool:
    """Return whether the proposal at the mode, of `first`, beats those that followed up to `matched`.

    Heavy draws among many have shown that it misses a tail.
    """
    missing = first.heavy and first.weights.size >= DRAWS_A_COLUMN * first.points.shape[1]
    return matched.scarce and matched.efficiency < first.efficiency and not missing


def _efficiency(weights: FloatArray) -> float:
    """Return the effective sample size of weighted draws over their number."""
    return float(weights.sum() ** 2 / (weights @ weights) / weights.size)


def resample(weights: FloatArray, size: int, rng: np.random.Generator) -> np.ndarray:
    """Return `size` indices drawn systematically with the given weights, in random order."""
    edges = np.cumsum(weights)
    points = (np.arange(size) + rng.random()) / size * edges[-1]
    picked = np.minimum(np.searchsorted(edges, points, side="right"), weights.size - 1)
    return rng.permutation(picked)

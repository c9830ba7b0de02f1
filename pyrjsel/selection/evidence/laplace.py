"""Marginal likelihoods of generalised linear models, from expansions of second order.

Laplace's approximation at the mode of each model, its correction by importance sampling, and a surrogate for
chains, expanded at one point for all models.
"""

from dataclasses import dataclass, replace
from functools import partial
from hashlib import blake2b
from typing import cast

import numpy as np
from scipy.linalg import solve_triangular

from pyrjsel._errors import DataError
from pyrjsel._once import alone, kept_property
from pyrjsel._typing import ByteArray, FloatArray
from pyrjsel.model_space import pack
from pyrjsel.selection.evidence._importance import controlled, skewed_axes, weighted_moments
from pyrjsel.selection.evidence._laplace import ModeFinder
from pyrjsel.selection.evidence.importance import (
    CLOSE,
    DRAWS_A_COLUMN,
    Integral,
    SharedIntegrals,
    TwoPiece,
    inverse,
    log_control,
    log_student,
    match,
    normal_moments,
    quantiles,
    radii,
    resample,
    strata,
)
from pyrjsel.selection.evidence.joint import JointFinder
from pyrjsel.selection.evidence.joint_mixture import MixtureFinder
from pyrjsel.selection.evidence.proposal_mixture import ProposalMixture
from pyrjsel.selection.priors.base import CompiledPrior
from pyrjsel.selection.regression.glm import Regression

# Degrees of freedom of the Student proposal at the mode. Its tails are heavier than those of a nearly normal
# posterior, but the curvature at the mode does not fit a skewed one: under a weak prior, a coefficient that
# separates the classes has a half-normal tail many times as long as the curvature suggests.
PROPOSAL_DF = 8.0
# Such models get further proposals, matched to the previous weighted draws, with heavier tails to cover
# regions that those draws missed.
MATCHED_DF = 4.0
# Weights are even if the effective sample size is at least EVEN times that for a normal posterior, and no
# draw with more than HEAVY times the average weight has more than SHARE of the total. Matched proposals are
# noisy, the more so the more columns there are, so they are better than that at the mode only if weights are
# uneven.
EVEN, SHARE, HEAVY = 0.5, 0.05, 25.0
# With two scales an axis weights are even enough if matched proposals would hardly be better: of d columns
# those had an efficiency of about MATCHED exp(-d / WIDTH), .3 of five, .1 of fourteen and .001 of forty.
MATCHED, WIDTH = 0.5, 8.0
# The first stage is enough if weights are even and its relative variance is at most this. Otherwise the
# number of further draws aims at this divided by MARGIN, since some dozens of pairs estimate the variance
# only to about that factor. Variance and estimate are correlated, so that stopping at small variances would
# bias integrals by half a percent: instead, each half of the draws decides on the other. With HALF_MARGIN for
# each, both are kept as often as with MARGIN for the whole. Variances from less than RELIABLE pairs are often
# far too small, and must be smaller by as much as pairs are missing. Fewer than JUDGED pairs are too few to
# judge and are used as they are.
VARIANCE, MARGIN, HALF_MARGIN, JUDGED = 2e-5, 2.0, 1.4, 32
# Relative variances of improbable models may be larger: with TOTAL / probability, the error of a probability
# over all models, the root of the sum of p^2 v, is at most that of TOTAL. None is above LOOSE. Those of
# probable models are at most MOST_OF_ONE / probability^2: one alone has no larger error than all others.
TOTAL, LOOSE, MOST_OF_ONE = 1e-6, 1e-2, 2e-6
# Models with a smaller probability begin with at most RELIABLE pairs, others with at least as many, and with
# twice as many from ten times this.
RARE = 1e-3
# So few are not even begun with in models of d columns where d^2 is more than MANY times the number of rows
# and the root of the variance that is wanted: by the growth of errors, they would not be enough.
RELIABLE, MANY = 64, 7.0
# Where a posterior has a tail, at AWAY standard deviations along a coordinate with more than e^TAIL times
# the density of the normal one, such as that of a level without events, less than CAREFUL pairs often miss
# it, and their variance with it. Nearly normal posteriors have e^0.4 times at most, those of rare levels
# e^1.7. There the proposal has two scales an axis, from densities at distances PLACES.
AWAY, TAIL, PLACES, CAREFUL = 3.0, 1.0, (1.0, 3.0, 9.0), 128
# Step of third derivatives, in standard deviations: with longer ones, walls look like curvature.
STEP = 0.3
# For tables of visited models: more would take seconds for each wide model.
TABLE_VARIANCE = 1e-3
# Largest number of matched proposals; the first gets at least FEWEST pairs and each further one twice as
# many, up to MOST. A second stage at the mode gets the number required by the variance, at least twice that
# of the first, and at most that of all matched proposals.
STAGES = 5
# A stage that was to be the last is not if its variance is so many times what is wanted: the few draws of the
# one before it had missed a tail.
FAILED = 4.0
FEWEST, MOST = 256, 4096
# If more effective draws are requested: safety factor of the number of draws, and largest number of pairs.
AIM, MOST_MORE = 2.0, 2**15
# Weighted draws for each one that is resampled from them: most, rows times those of fewer, and how many times
# as many effective ones there are at least, if the posterior is normal.
RESAMPLED, ROWS_PER_DRAW, SPARE = 8.0, 80_000, 1.1
# Effective draws of the one relevant model, and least effective draws of each; see `needed`.
ENOUGH, FEW = 200.0, 20.0


@dataclass(frozen=True)
class _Stage:
    """Pairs of draws from one proposal; otherwise as in :class:`Integral`.

    Attributes
    ----------
    unit : float
        Logarithm of what a weight of 1 stands for, relative to Laplace's approximation.
    radius : ndarray (pairs,)
    log_c : ndarray (pairs,)
        Logarithms of the control variate.
    """

    unit: float
    log_ratio: float
    variance: float
    moments: FloatArray
    points: FloatArray
    weights: FloatArray
    radius: FloatArray
    log_c: FloatArray

    @classmethod
    def of(
        cls,
        unit: float,
        points: FloatArray,
        weights: FloatArray,
        radius: FloatArray,
        log_c: FloatArray,
        shift: FloatArray,
        normal: FloatArray | None,
    ) -> "_Stage":
        """Return the stage of draws and their weights.

        `shift` (d, L) converts intercepts to those of raw columns; `normal` has the moments (3, d) of
        Laplace's approximation, if that is the centre and scale of the proposal.
        """
        log_mean, variance = controlled(weights, radius, log_c)
        moments = weighted_moments(points, weights, log_c, shift, CLOSE, normal)
        return cls(unit, unit + log_mean, variance, moments, points, weights, radius, log_c)

    @property
    def halves(self) -> tuple[slice, slice]:
        """The pairs of two halves, each stratified separately in a first stage."""
        middle = self.pairs // 4 * 2
        return slice(0, middle), slice(middle, self.pairs)

    def variance_of(self, pairs: slice) -> float:
        """Return the relative variance of the integral over some of the pairs."""
        weights = self.weights[2 * pairs.start : 2 * pairs.stop]
        return controlled(weights, self.radius[pairs], self.log_c[pairs])[1]

    def part(self, pairs: slice, shift: FloatArray, normal: FloatArray | None = None) -> "_Stage":
        """Return some of the pairs; `shift` and `normal` as of :meth:`of`."""
        rows = slice(2 * pairs.start, 2 * pairs.stop)
        points, weights = self.points[rows], self.weights[rows]
        return self.of(self.unit, points, weights, self.radius[pairs], self.log_c[pairs], shift, normal)

    def joined(self, other: "_Stage", share: float) -> "_Stage":
        """Return the average of two estimates, with weight `share` of this one."""
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
            np.nan,
            top + float(np.log(total)),
            one**2 * self.variance + two**2 * other.variance,
            one * self.moments + two * other.moments,
            np.concatenate([self.points, other.points]),
            weights / weights.max(),
            np.concatenate([self.radius, other.radius]),
            np.concatenate([self.log_c, other.log_c]),
        )

    @property
    def pairs(self) -> int:
        return self.radius.size

    @property
    def largest(self) -> float:
        return float(self.weights.max() / self.weights.sum())

    @property
    def heavy(self) -> bool:
        """Whether a draw has too much of the weight."""
        return self.largest > SHARE and self.largest * self.weights.size > HEAVY

    @property
    def efficiency(self) -> float:
        """Effective sample size over the number of draws."""
        return _efficiency(self.weights)

    @property
    def effective(self) -> float:
        """Effective sample size."""
        return self.efficiency * self.weights.size

    def is_even(self, pieces: TwoPiece | None) -> bool:
        """Return whether weights at the mode are even enough not to look for a matched proposal."""
        if pieces is None:
            return not self.heavy and self.efficiency >= EVEN * self.normal_efficiency
        return self.efficiency >= MATCHED * float(np.exp(-self.points.shape[1] / WIDTH))

    @property
    def scarce(self) -> bool:
        """Whether effective draws are too few to match a proposal to them."""
        return self.effective < DRAWS_A_COLUMN * self.points.shape[1]

    @property
    def normal_efficiency(self) -> float:
        """The same at the mode of a normal posterior, by the same radii."""
        return _efficiency(np.exp(self.log_c))


NO_MAXIMUM = (
    "no finite maximum of the likelihood, as where a term separates the classes or a level has no events: "
    "the information there does not exist. Use a prior with information='null', leave out such terms, or "
    "merge levels."
)

NO_BEST_G = (
    "a marginal likelihood that increases without end in g: empirical Bayes has no g for it. Use a mixture "
    "of g-priors, or leave out terms that fit the response perfectly."
)


def no_maximum(prior: CompiledPrior) -> str:
    """Return what a model has if the search for its mode ends with status 3."""
    return NO_MAXIMUM if prior.at_maxima else NO_BEST_G


def check_modes(status: np.ndarray, prior: CompiledPrior) -> None:
    """Raise :class:`DataError` if searches of models ended with `status` (m,) at no mode for lack of one."""
    failed, endless = (int(np.sum(status == code)) for code in (2, 3))
    if failed:
        raise DataError(
            f"The posterior mode of {failed:,} of {len(status):,} models was not found: rescale the columns, "
            "or leave out terms that nearly determine the response."
        )
    if endless:
        raise DataError(f"{endless:,} of {len(status):,} models have {no_maximum(prior)}")


# Public methods of the class below that use its mode finder, a shared workspace.
ALONE = alone("finder")


def needed(probability: FloatArray) -> FloatArray:
    """Return the number of effective draws needed by models of given probabilities.

    Averages of coefficients use weighted draws, equivalent to an effective number of draws per model. With n
    effective draws, the variance of a coefficient is underestimated by about a proportion 1 / n. The error of
    an average over models has the variance

        sum over models of p^2 v / n,

    with probabilities p and variances v. If n >= max(FEW, ENOUGH p), the former is below 1 / FEW and the
    latter below that of ENOUGH draws.
    """
    return np.maximum(FEW, ENOUGH * probability)


class MarginalLikelihood:
    """Marginal likelihoods of the models of one regression problem.

    The random stream of a model depends only on `entropy` and on the model: every chain, thread and process
    gets the same value for the same model.

    Parameters
    ----------
    regression : Regression
    entropy : bytes
        Seed of the fit.
    pairs : int
        Pairs of antithetic importance draws per model, an even number; models for which 32 or more are not
        enough get more, or other proposals.
    max_columns : int
        Largest number of columns of a model, including the intercept.
    variance : float, optional
        Target relative variance of integrals; None is that of enumeration.
    shared : SharedIntegrals, optional
        Integrals that are computed once for several of these objects.
    """

    def __init__(
        self,
        regression: Regression,
        entropy: bytes,
        pairs: int,
        max_columns: int,
        variance: float | None = None,
        shared: SharedIntegrals | None = None,
    ) -> None:
        self.regression = regression
        self.entropy = entropy
        self.pairs = pairs
        self.max_columns = max_columns
        self.variance = VARIANCE if variance is None else variance
        self.shared = shared

    @property
    def at_maxima(self) -> bool:
        """Whether expansions at the maxima of likelihoods define marginal likelihoods, without an error."""
        return self.regression.prior.at_maxima

    @kept_property
    def finder(self) -> ModeFinder:
        """The compiled mode finder; its workspace may be used by one thread at a time.

        The methods ensure that; code that uses the finder directly needs exclusive access to this object.
        """
        if self.nuisance:
            # With the methods that families with nuisance parameters need.
            kind = JointFinder if self.regression.prior.mixture is None else MixtureFinder
            return cast(ModeFinder, kind(self.regression, self.max_columns))
        return ModeFinder(self.regression.compiled, self.max_columns)

    @property
    def nuisance(self) -> tuple[str, ...]:
        """Names of the parameters of the likelihood that are integrated out with the coefficients."""
        return self.regression.family.expanded

    @property
    def _shift(self) -> FloatArray:
        """The shifts of intercepts by each coordinate of the last model, (coordinates, L)."""
        shifts = self.regression.shifts(self.finder.columns)
        if not self.nuisance:
            return shifts
        return np.vstack([shifts, np.zeros((len(self.nuisance), shifts.shape[1]))])

    def __getstate__(self) -> dict[str, object]:
        state = self.__dict__.copy()
        state.pop("finder", None)  # raw pointers; recreated when needed
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
    def expansion(self, gamma: np.ndarray) -> FloatArray:
        """Return that mode with the coordinates of nuisance parameters behind it, (D + 1 + nuisance,)."""
        return np.append(self.mode(gamma), self.finder.at[self.finder.columns.size :])

    @ALONE
    def integrate(
        self,
        gamma: np.ndarray,
        *,
        pairs: int | None = None,
        draws: bool = False,
        variance: float | None = None,
        whole: float | None = None,
    ) -> Integral:
        """Integrate the likelihood of model `gamma` (J,) against its coefficient prior.

        Importance sampling from a Student distribution at the mode, with the inverse Hessian as its scale.
        Radii are stratified and every direction is used with both signs, which reduces the error several
        times.

        If weights are even but draws are too few, more come from the same proposal, for each half of the
        draws that is insufficient by the variance of the other. If the posterior is too skewed, other
        proposals follow, each with the weighted moments of the previous draws and more pairs. If these,
        matched to the few effective draws of a wide model, have less even weights than the proposal at the
        mode, the last stage uses the mode after all, unless heavy draws among many have shown that it misses
        a tail. Otherwise the last stage alone gives the estimate. Whether a later stage is the last is
        decided before it is drawn, unless its variance turns out to be several times what is wanted: given
        the earlier stages the estimate has the small bias of a ratio alone, see :func:`controlled`.

        Where the mode search has found another mode or a shoulder, all further stages have a mixture of
        proposals around both.

        `variance` is the target relative variance of the integral; None is that of the object. With `whole`,
        the log mass of all models divided by the prior of this one, it is larger for improbable models:
        TOTAL / probability, but at most LOOSE.
        """
        if self.at_maxima:
            return self.approximate(gamma)
        variance = self.variance if variance is None else variance
        gamma = np.ascontiguousarray(gamma, dtype=np.uint8)
        count = pairs or self.pairs
        if self.shared is None:
            return self._integrate(gamma, count, variance, whole, draws)
        key = self.entropy, pack(gamma).tobytes(), count, variance, whole
        return self.shared.get(key, partial(self._integrate, gamma, count, variance, whole, True), draws)

    def _integrate(
        self, gamma: ByteArray, count: int, variance: float, whole: float | None, draws: bool
    ) -> Integral:
        rng, stages = self.stream(gamma), 1
        self.finder.mode(gamma)
        self.check_mode()
        if whole is not None:
            probability = np.exp(min(self.finder.log_marginal - whole, 0.0))
            variance = max(variance, min(TOTAL / max(probability, TOTAL), LOOSE))
            variance = min(variance, MOST_OF_ONE / max(probability, TOTAL) ** 2)
            if probability <= RARE:
                count = min(count, RELIABLE)
            elif count >= JUDGED:
                count = max(count, RELIABLE if probability <= 10.0 * RARE else 2 * RELIABLE)
        if JUDGED <= count < RELIABLE and self._has_many_columns(variance):
            count = RELIABLE
        mixture = self._mixture()
        if count < JUDGED or mixture is not None:
            stage, skewed, pieces = self._at_mode(count, rng, halves=count >= JUDGED), False, None
        else:
            stage, skewed, pieces = self._first(count, rng)
        first, count = stage, stage.pairs
        at_mode = partial(self._at_mode, rng=rng, pieces=pieces)
        even = mixture is None and stage.is_even(pieces)
        slack, more = max(1.0, RELIABLE / count), 0
        if even and count >= JUDGED:
            share = slack * MARGIN * stage.variance / variance
            more = 2 * int(min(max(share, 2.0) * count, 2.0 * MOST) / 2)
        if more > count:
            halves, margin = first.halves, slack * HALF_MARGIN
            a, b = (margin * first.variance_of(half) <= 2.0 * variance for half in halves)
            if not (a and b):
                stage, stages = at_mode(more), 2
            if a != b:
                normal = self._normal_moments() if pieces is None else None
                kept = first.part(halves[1] if a else halves[0], self._shift, normal)
                stage = kept.joined(stage, kept.pairs / count)
        failed = not stage.is_even(pieces) and stage.heavy and stage.variance > FAILED * variance
        last = (even and not failed) or (count < JUDGED and mixture is None)
        while not last:
            stages += 1
            if mixture is None and stages > STAGES and _better_at_mode(first, stage, skewed):
                stage = at_mode(max(count, 2 * MOST))
                break
            size = min(max(stage.pairs * (2 if stages > 2 else 1), FEWEST), MOST)
            enough = MARGIN * stage.variance * stage.pairs / variance
            last = stages > STAGES or (not stage.heavy and enough <= MARGIN * size)
            if last and stages > 2:  # the next proposal is at least as good as that of this stage
                size = min(size, max(2 * int(enough / 2.0), 2 * RELIABLE))
            size = max(size, count) if last and count > FEWEST else size
            if mixture is None:
                stage = self._matched(stage, size, rng)
            else:
                mixture = mixture if stage is first else mixture.matched(stage.points, stage.weights)
                stage = self._mixed(mixture, size, rng)
            last = last and (stages > STAGES or stage.variance <= FAILED * variance)
        finder = self.finder
        return Integral(
            finder.log_marginal + stage.log_ratio,
            stage.variance,
            finder.columns,
            stage.moments[:, : finder.columns.size],
            stage.points if draws else None,
            stage.weights if draws else None,
            stage.largest,
            stages,
            stage.effective,
            stage.weights.size,
            stage.moments[0, finder.columns.size :],
        )

    def with_enough(self, gamma: np.ndarray, found: Integral, probability: float) -> Integral:
        """Return the integral `found` of model `gamma` (J,), or one with as many draws as needed."""
        want = float(needed(np.array(probability)))
        return self.with_effective(gamma, found, want, int(probability * MOST_MORE))

    def with_effective(
        self, gamma: np.ndarray, found: Integral, effective: float, most: int = MOST_MORE
    ) -> Integral:
        """Return the integral `found` of model `gamma` (J,), or one with `effective` effective draws.

        It uses at most `most` pairs, so there may be fewer effective draws.
        """
        if not found.effective < effective:
            return found
        pairs = int(min(AIM * effective * found.draws / found.effective, 2 * most)) // 4 * 2
        if 2 * pairs <= found.draws:
            return found
        better = self.integrate(gamma, pairs=pairs, draws=found.samples is not None)
        return better if better.effective > found.effective else found

    def _has_many_columns(self, variance: float) -> bool:
        """Return whether few pairs for the last model would have more than this relative variance."""
        d, rows = self.finder.at.size, self.regression.y.size
        return d * d > MANY * rows * float(np.sqrt(variance))

    def _first(self, count: int, rng: np.random.Generator) -> tuple["_Stage", bool, TwoPiece | None]:
        """Return draws at the mode of the last model, whether it is skewed, and the proposal if it is."""
        halves, skewed = count < 2 * MOST, self._has_tail()
        if not skewed:
            stage = self._at_mode(count, rng, halves=halves)
            if stage.is_even(None):
                return stage, False, None
        pieces = self._two_piece()
        if not skewed and pieces is None:
            return stage, True, None
        return self._at_mode(max(count, CAREFUL), rng, halves=halves, pieces=pieces), True, pieces

    def _has_tail(self) -> bool:
        """Return whether the posterior of the last model has a long tail along a coordinate."""
        half = inverse(self.finder.factor)
        covariance = half.T @ half
        (heights,) = self._heights(covariance / np.sqrt(np.diag(covariance))[:, None], (AWAY,))
        return bool(heights.max() + 0.5 * AWAY**2 > TAIL)

    def _two_piece(self) -> TwoPiece | None:
        """Return a proposal for the last model with two scales on each of the most skewed axes at its mode.

        There is none if g is unknown: its mixture has longer tails.
        """
        if self.regression.prior.mixture is not None:
            return None
        half = inverse(self.finder.factor)
        axes = skewed_axes(self._third(half)) @ half
        return TwoPiece.along(axes, np.array(PLACES), self._heights(axes, PLACES))

    def _third(self, axes: FloatArray) -> FloatArray:
        """Return third derivatives (d, d, d) of the log posterior at the mode along axes (d, d)."""
        at, hessian = self.finder.at, self.finder.hessian
        found = np.array([hessian(at - STEP * axis) - hessian(at + STEP * axis) for axis in axes])
        found[~np.isfinite(found)] = 0.0  # a flat prior, and a step at which a mean overflows
        found = axes @ found @ axes.T / (2.0 * STEP)
        return (found + found.transpose(1, 0, 2) + found.transpose(2, 1, 0)) / 3.0

    def _heights(self, axes: FloatArray, places: tuple[float, ...]) -> FloatArray:
        """Return log densities (places, d, 2) at both sides along axes (d, d), relative to the mode."""
        d, finder = len(axes), self.finder
        rays = np.concatenate([np.zeros((1, d)), *(place * axes for place in places)])
        rays = np.ascontiguousarray(np.concatenate([rays, rays[: len(rays) % 2]]))
        unit, _, weights = finder.reweigh(finder.at, rays, np.ones(len(rays)), np.zeros(len(rays)))
        with np.errstate(divide="ignore"):
            heights = np.log(weights) + unit
        return (heights[2 : 2 + 2 * d * len(places)] - heights[0]).reshape(len(places), d, 2)

    def _at_mode(
        self, pairs: int, rng: np.random.Generator, *, halves: bool = False, pieces: TwoPiece | None = None
    ) -> "_Stage":
        """Return draws from the proposal at the mode of the last model, in one set of strata or in two.

        It has two scales an axis if there are `pieces`.
        """
        d = self.finder.at.size
        first = pairs // 4 * 2 if halves else 0
        sizes = [first, pairs - first] if first else [pairs]
        radius = np.concatenate([radii(d, size, PROPOSAL_DF, rng) for size in sizes])
        direction, uniform = rng.standard_normal((pairs, d)), None
        if pieces is not None:
            rays, log_density = pieces.draw(radius, direction, rng.random((pairs, d)), PROPOSAL_DF)
            log_density = np.repeat(log_density, 2)
            drawn = self.finder.reweigh(self.finder.at, rays, np.ones(len(rays)), log_density, False)
            return self._stage(drawn, radius, PROPOSAL_DF, None)
        if self.regression.prior.mixture is not None:
            uniform = np.concatenate([rng.permutation(strata(size, rng)) for size in sizes])
        found = self.finder.integrate(radius, direction, PROPOSAL_DF, uniform)
        return self._stage(found, radius, PROPOSAL_DF, self._normal_moments())

    def _matched(self, stage: "_Stage", pairs: int, rng: np.random.Generator) -> "_Stage":
        """Return draws from a proposal matched to those of `stage`, for the same model."""
        finder = self.finder
        center, factor = match(stage.points, stage.weights, finder.at, finder.factor)
        d = center.size
        radius = radii(d, pairs, MATCHED_DF, rng)
        direction = rng.standard_normal((pairs, d))
        direction /= np.sqrt(np.sum(direction**2, axis=1, keepdims=True))
        log_density = log_student(radius, d, MATCHED_DF)
        log_density -= float(np.log(np.diag(factor) * np.diag(finder.factor)).sum())
        found = finder.reweigh(center, direction @ factor.T, radius, log_density)
        return self._stage(found, radius, MATCHED_DF, None)

    def _mixture(self) -> ProposalMixture | None:
        """Return proposals for the last model if its posterior has two modes or a shoulder."""
        return ProposalMixture.of(cast(JointFinder, self.finder)) if self.nuisance else None

    def _mixed(self, mixture: ProposalMixture, pairs: int, rng: np.random.Generator) -> "_Stage":
        """Return draws from a mixture of proposals, for the same model."""
        radius, points, values = mixture.draw(cast(JointFinder, self.finder), pairs, rng)
        found = float(values.max()), points, np.exp(values - values.max())
        return _Stage.of(*found, radius, np.zeros(radius.size), self._shift, None)

    def _stage(
        self,
        found: tuple[float, FloatArray, FloatArray],
        radius: FloatArray,
        df: float,
        normal: FloatArray | None,
    ) -> "_Stage":
        """Return the stage of draws of the mode finder."""
        unit, points, weights = found
        log_c = log_control(radius, points.shape[1], df)
        return _Stage.of(unit, points, weights, radius, log_c, self._shift, normal)

    def _normal_moments(self) -> FloatArray | None:
        """Return the moments (3, d) of the normal posterior at the mode; None if there is one for each g."""
        return None if self.finder.node_weights.size else normal_moments(*self._normal())

    def unevenness(self, gamma: ByteArray) -> int:
        """Return how uneven weights of model `gamma` (J,) are at its mode.

        0 if they are even with a Student proposal, 1 if they are with two scales an axis, 2 if not even then.
        """
        if self.at_maxima:
            return 0
        gamma, rng = np.ascontiguousarray(gamma, dtype=np.uint8), self.stream(gamma)
        self.finder.mode(gamma)
        self.check_mode()
        if self._at_mode(max(self.pairs, RELIABLE), rng).is_even(None):
            return 0
        stage, _, pieces = self._first(self.pairs, rng)
        return 1 if stage.is_even(pieces) else 2

    def check_mode(self) -> None:
        """Raise :class:`DataError` unless the last search found a mode."""
        if self.finder.status == 1:
            raise DataError("The columns of a model are linearly dependent: its g-prior does not exist.")
        if self.finder.status == 3:
            raise DataError(f"A model has {no_maximum(self.regression.prior)}")
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
        """Return the log marginal likelihood of model `gamma` (J,), without constants of the family.

        For tables, with an error of about 0.03.
        """
        return self.integrate(gamma, variance=TABLE_VARIANCE).log_marginal

    def log_marginals(self, gammas: np.ndarray) -> FloatArray:
        """Return the same for models `gammas` (m, J)."""
        return np.array([self.log_marginal(gamma) for gamma in gammas])

    @ALONE
    def deviance(self, gamma: np.ndarray) -> float:
        """Return the deviance of model `gamma` (J,) at the maximum of its likelihood."""
        best = self.finder.maximum_likelihood(np.ascontiguousarray(gamma, dtype=np.uint8))[0]
        return 2.0 * (self.regression.saturated - best)

    @ALONE
    def approximate(self, gamma: np.ndarray) -> Integral:
        """Return Laplace's approximation, a normal posterior at the mode (given g), with unknown error.

        Expansions at maxima are no approximations: they define the posterior, without an error.
        """
        self.mode(gamma)
        self.check_mode()
        moments, d = self._approximate_moments(), self.finder.columns.size
        found = Integral(
            self.finder.log_marginal,
            np.nan,
            self.finder.columns,
            moments[:, :d],
            None,
            None,
            nuisance=moments[0, d:],
        )
        return replace(found, variance=0.0, largest=0.0, effective=np.inf) if self.at_maxima else found

    def _approximate_moments(self) -> FloatArray:
        """Return moments (3, d) of the normal posterior at the mode, or of its mixture over g."""
        weight = self.finder.node_weights
        if weight.size == 0:
            mean, variance = (row[None] for row in self._normal())
            weight = np.ones(1)
        elif self.at_maxima:
            # Means and variances at one expansion are affine functions of the shrinkage factor.
            shrink = self.finder.node_shrinkage
            share = (shrink - shrink[0]) / (shrink[-1] - shrink[0]) if shrink.size > 1 else shrink
            first, last = self._normal_given(0), self._normal_given(shrink.size - 1)
            mean, variance = (a + share[:, None] * (b - a) for a, b in zip(first, last, strict=True))
        else:
            both = np.array([self._normal_given(k) for k in range(weight.size)])
            mean, variance = both[:, 0], both[:, 1]
        return weight @ normal_moments(mean, variance)

    def _normal_given(self, node: int) -> FloatArray:
        """Return means and variances (2, d) of the approximate posterior given a node of log g."""
        self.finder.visit(node)
        return self._normal()

    def _normal(self) -> FloatArray:
        """Return means and variances (2, d) of the normal posterior at the present mode."""
        shift, mean, half = self._shift, np.array(self.finder.at), inverse(self.finder.factor)
        # Intercepts of the design's own columns.
        mean[: shift.shape[1]] -= mean @ shift
        half[:, : shift.shape[1]] -= half @ shift
        return np.stack([mean, np.einsum("kl,kl->l", half, half)])

    def sample(
        self, gamma: np.ndarray, size: int, rng: np.random.Generator, whole: float | None = None
    ) -> tuple[FloatArray, dict[str, FloatArray]]:
        """Draw internal coefficients (size, D + 1) and nuisance parameters of model `gamma` given the data.

        Systematic resampling of a weighted sample that is eight times as large, or less if there are many
        rows, and has as many effective draws as requested, if 65,536 draws are enough. With `whole`, it is
        that of :meth:`integrate` if that is as large. Where expansions define the posterior, draws are
        independent.
        """
        if self.at_maxima:
            return self._sample_normal(gamma, size, rng), {}
        middles = (np.arange(self.pairs) + 0.5) / self.pairs
        d = self.regression.model_columns(gamma).size + len(self.nuisance)
        radius = np.sqrt(d * quantiles(d, PROPOSAL_DF, middles))
        least = SPARE / _efficiency(np.exp(log_control(radius, d, PROPOSAL_DF)))
        times = max(min(ROWS_PER_DRAW / self.regression.y.size, RESAMPLED), least)
        pairs = max(self.pairs, int(np.ceil(times * size / 4.0)) * 2)
        found = None if whole is None else self.integrate(gamma, draws=True, whole=whole)
        if found is None or min(found.draws / times, found.effective) < size:
            # Few draws need no precise integral: its relative variance is that of as many effective draws.
            variance = max(self.variance, 1.0 / (times * size))
            found = self.integrate(gamma, pairs=pairs, draws=True, variance=variance)
        found = self.with_effective(gamma, found, size)
        assert found.samples is not None
        assert found.weights is not None
        out = np.zeros((size, self.regression.n_columns))
        drawn = found.samples[resample(found.weights, size, rng)]
        out[:, found.columns] = drawn[:, : found.columns.size]
        behind = self.regression.family.parameters(drawn[:, found.columns.size :])
        return out, {name: behind[:, k] for k, name in enumerate(self.nuisance)}

    @ALONE
    def _sample_normal(self, gamma: np.ndarray, size: int, rng: np.random.Generator) -> FloatArray:
        """Draw coefficients (size, D + 1) from the normal distributions at the mode of each g."""
        self.mode(gamma)
        self.check_mode()
        finder, out = self.finder, np.zeros((size, self.regression.n_columns))
        weights = finder.node_weights
        owner = rng.choice(weights.size, size, p=weights) if weights.size else np.zeros(size, dtype=int)
        columns = finder.columns
        for k in np.unique(owner):
            if weights.size:
                finder.visit(int(k))
            rows = np.flatnonzero(owner == k)
            noise = rng.standard_normal((columns.size, rows.size))
            away = solve_triangular(finder.factor, noise, lower=True, trans="T")
            out[np.ix_(rows, columns)] = finder.at + away.T
        return out


def _better_at_mode(first: _Stage, matched: _Stage, skewed: bool) -> bool:
    """Return whether the proposal at the mode, of `first`, is better than those up to `matched`.

    It is not if heavy draws among many, or of a posterior known to be `skewed`, have shown that it misses a
    tail.
    """
    missing = first.heavy and (skewed or first.weights.size >= DRAWS_A_COLUMN * first.points.shape[1])
    return matched.scarce and matched.efficiency < first.efficiency and not missing


def _efficiency(weights: FloatArray) -> float:
    """Return the effective sample size of weighted draws divided by their number."""
    return float(weights.sum() ** 2 / (weights @ weights) / weights.size)

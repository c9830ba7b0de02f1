"""Marginal likelihoods of models of rows in chunks: modes of many models by the same passes."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Any

import numpy as np
from scipy.linalg import cho_solve, solve_triangular

from pyrjsel._typing import BoolArray, ByteArray, FloatArray, IntArray
from pyrjsel.model_space import pack
from pyrjsel.selection.evidence._conjugate import ConjugateEvidence
from pyrjsel.selection.evidence._importance import controlled, weighted_moments
from pyrjsel.selection.evidence.importance import (
    CLOSE,
    Integral,
    log_control,
    log_student,
    normal_moments,
    radii,
)
from pyrjsel.selection.evidence.laplace import PROPOSAL_DF
from pyrjsel.selection.priors._score import GaussianScore
from pyrjsel.selection.regression._gram import FullGram
from pyrjsel.selection.regression.chunk_passes import Modes, find_modes, square
from pyrjsel.selection.regression.chunked import ChunkedRegression
from pyrjsel.selection.regression.columns import independent


def full_mode(regression: ChunkedRegression) -> Modes:
    """Return the search for the mode of all columns, whether they are a feasible model or not.

    Coefficients are independent there, with the precisions of the prior, so that it exists whatever columns
    depend on each other.
    """
    prior, none = regression.prior, np.zeros(regression.n_columns)
    precision, start = np.diag(prior.precision).copy(), regression.start[None]
    precision[regression.leading :][precision[regression.leading :] == 0] = 1.0  # constant columns
    apart = replace(prior, precision=np.diag(precision), shift=none, penalty=none)
    return regression.modes(np.ones(start.shape, bool), start, replace(regression.point_prior, prior=apart))


@dataclass(frozen=True)
class Quadratic:
    """The log-likelihood to second order around one point, for all models.

    ``b'cross - b'information b / 2``, up to a constant, with parameters of the family as further coordinates
    of b, and with a normal prior like that near the parameters at that `point` (W,).
    """

    information: FloatArray
    cross: FloatArray
    point: FloatArray
    extra: int

    @classmethod
    def of(cls, full: Modes) -> "Quadratic":
        """Return the expansion at the mode of all columns."""
        # mathematics: selection-quadratic
        information = square(full.information[0], full.point.shape[1])
        cross = full.gradient[0] + information @ full.point[0]
        return cls(information, cross, full.point[0].copy(), full.prior.extra)

    @property
    def t(self) -> FloatArray:
        """Parameters of the family at the point, (K,)."""
        return self.point[self.point.size - self.extra :]

    def loss(self, point: FloatArray) -> float:
        """Return by how much the log-likelihood is lower at another point (W,)."""
        here, there = (float(self.cross @ p - 0.5 * p @ self.information @ p) for p in (self.point, point))
        return here - there

    def evidence(self, regression: ChunkedRegression) -> ConjugateEvidence:
        """Return marginal likelihoods, up to a constant."""
        prior, d = regression.prior, regression.n_columns
        known = prior.log_weights is not None
        near, pull = regression.point_prior.around(self.point)
        gram, cross = self.information + near, self.cross + pull
        if self.t.size:
            # Integrated over parameters of the family, but for the scale of the prior.
            share = np.linalg.solve(gram[d:, d:], gram[d:, :d]).T
            gram, cross = gram[:d, :d] - share @ gram[d:, :d], cross[:d] - share @ cross[d:]
            if regression.family.scaled:
                prior = prior.times(float(np.exp(2.0 * (regression.family.typical[0] - self.t[0]))))
        precision = np.ascontiguousarray(prior.precision)
        return ConjugateEvidence(
            GaussianScore.known(),
            FullGram(np.ascontiguousarray(gram)),
            np.ascontiguousarray(cross),
            regression.term_start,
            penalty=np.ascontiguousarray(prior.penalty),
            rank_tol=prior.rank_tol,
            log_weights=prior.log_weights,
            prior=None if known else FullGram(precision),
            flat=regression.leading if prior.flat and not known else 0,
        )

    def normal(self, regression: ChunkedRegression, columns: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return mode (d,) and Cholesky factor (d, d) of the precision of some coordinates given the data."""
        some, (near, pull) = np.ix_(columns, columns), regression.point_prior.around(self.point)
        factor = np.asarray(np.linalg.cholesky(self.information[some] + near[some]), float)
        return cho_solve((factor, True), (self.cross + pull)[columns]), factor


def columns_of(regression: ChunkedRegression, gammas: ByteArray) -> BoolArray:
    """Return the coordinates of models (m, J) as a mask (m, W): all but columns that a model lacks."""
    out = np.ones((len(gammas), regression.start.size), bool)
    inside = np.repeat(gammas.astype(bool), np.diff(regression.term_start), axis=1)
    out[:, regression.leading : regression.n_columns] = inside
    return out


def exists(regression: ChunkedRegression, gamma: ByteArray) -> bool:
    """Return whether model `gamma` (J,) has a coefficient prior."""
    if regression.prior.rank_tol == 0:
        return True
    columns = regression.model_columns(gamma)[regression.leading :] - regression.leading
    return independent(regression, columns)


def modes_of(regression: ChunkedRegression, quadratic: Quadratic, gammas: ByteArray) -> Modes:
    """Return the search for the modes of models (m, J), from those of the quadratic expansion."""
    inside = columns_of(regression, gammas)
    start = np.zeros(inside.shape)
    for row, columns in enumerate(inside):
        start[row, columns] = quadratic.normal(regression, np.flatnonzero(columns))[0]
        if regression.family.scaled:
            # The quadratic has the scale of all columns, with that a model's residuals have without some.
            of_row = max(quadratic.loss(start[row]), 0.0) / (regression.n * regression.family.expected_share)
            start[row, regression.n_columns] = quadratic.t[0] + 0.5 * np.log1p(2.0 * of_row)
    return regression.modes(inside, start)


def laplace_value(regression: ChunkedRegression, modes: Modes, row: int) -> float:
    """Return Laplace's log marginal likelihood of a model; -inf if it was not evaluated."""
    if not modes.known[row]:
        return -np.inf
    columns, slope, factor = np.flatnonzero(modes.inside[row]), modes.slope(row), modes.factor(row)
    half = solve_triangular(factor, slope, lower=True)
    inside, prior = modes.inside[row], regression.point_prior
    log_prior = prior.constant(inside) + float(prior.values(modes.point[row], inside))
    size = 0.5 * columns.size * np.log(2.0 * np.pi) - float(np.log(np.diag(factor)).sum())
    return float(modes.value[row] + log_prior + size + 0.5 * half @ half)


def moments_at(mode: FloatArray, factor: FloatArray, shifts: FloatArray) -> FloatArray:
    """Return moments (3, d) as of :class:`Integral` of a normal posterior, for `shifts` (d, L)."""
    half = solve_triangular(factor, np.eye(mode.size), lower=True)
    to_raw = np.eye(mode.size)
    to_raw[: shifts.shape[1]] -= shifts.T
    return normal_moments(to_raw @ mode, np.sum((half @ to_raw.T) ** 2, axis=0))


class Proposals:
    """Importance draws of some models at their modes, which one pass evaluates.

    Student draws with the inverse Hessian as their scale, radii stratified, every direction with both signs,
    as in :meth:`MarginalLikelihood.integrate`.

    Parameters
    ----------
    regression : ChunkedRegression
    modes : Modes
    gammas : ndarray (m, J)
        The models of `modes`.
    entropy : bytes
    pairs : int
    """

    def __init__(
        self, regression: ChunkedRegression, modes: Modes, gammas: ByteArray, entropy: bytes, pairs: int
    ) -> None:
        self.regression, self.modes, self.pairs = regression, modes, pairs
        self.points = np.zeros((len(gammas) * 2 * pairs, modes.point.shape[1]))
        self.radius = np.empty((len(gammas), pairs))
        for row, gamma in enumerate(gammas):
            digest = blake2b(entropy + pack(gamma[None])[0].tobytes(), digest_size=16).digest()
            rng = np.random.Generator(np.random.Philox(key=int.from_bytes(digest, "little")))
            columns, factor = np.flatnonzero(modes.inside[row]), modes.factor(row)
            self.radius[row] = radii(columns.size, pairs, PROPOSAL_DF, rng)
            direction = rng.standard_normal((pairs, columns.size))
            direction /= np.sqrt(np.sum(direction**2, axis=1, keepdims=True))
            away = solve_triangular(
                factor, (self.radius[row][:, None] * direction).T, lower=True, trans="T"
            ).T
            both = np.stack([away, -away], axis=1).reshape(2 * pairs, -1)
            block = self.points[2 * pairs * row : 2 * pairs * (row + 1)]
            block[:, columns] = self._centre(row)[columns] + both

    def integrals(self, values: FloatArray) -> list[Integral]:
        """Return the integrals, from the log-likelihoods at the points."""
        found, size = [], 2 * self.pairs
        for row in range(len(self.radius)):
            some = slice(size * row, size * (row + 1))
            found.append(self._integral(row, self.points[some], values[some]))
        return found

    def _centre(self, row: int) -> FloatArray:
        """Return the mode of a model, a Newton step from the last point."""
        return np.asarray(self.modes.point[row] + self.modes.step[row])

    def _integral(self, row: int, points: FloatArray, values: FloatArray) -> Integral:
        modes, regression = self.modes, self.regression
        columns, factor = np.flatnonzero(modes.inside[row]), modes.factor(row)
        own, d = np.ascontiguousarray(points[:, columns]), columns.size
        inside, target = modes.inside[row], regression.point_prior
        prior = target.constant(inside) + target.values(points, inside)
        density = np.repeat(log_student(self.radius[row], d, PROPOSAL_DF), 2)
        log_weight = values + prior - density
        top = float(log_weight.max())
        weight = np.exp(log_weight - top)
        log_c = log_control(self.radius[row], d, PROPOSAL_DF)
        log_mean, variance = controlled(weight, self.radius[row], log_c)
        shifts = regression.shifts(columns)
        normal = moments_at(self._centre(row)[columns], factor, shifts)
        share = weight / weight.sum()
        volume = 0.5 * d * np.log(2.0 * np.pi) - float(np.log(np.diag(factor)).sum())
        moments = weighted_moments(own, weight, log_c, shifts, CLOSE, normal)
        return Integral(
            top + log_mean + volume,
            variance,
            *regression.coefficients(columns, moments),
            None,
            None,
            largest=float(share.max()),
            effective=1.0 / float(share @ share),
            draws=weight.size,
        )


class Expansions:
    """Single models of a regression whose rows come in chunks, by expansions at their modes.

    Coefficients have the normal distribution of the expansion; marginal likelihoods of models that have
    importance integrals are these. Other models than those brought to their modes by a fit are brought there
    when they are asked for, by some passes.

    Parameters
    ----------
    regression : ChunkedRegression
    quadratic : Quadratic
    gammas : ndarray (m, J)
        Models with modes.
    modes : Modes
    values : ndarray (m,)
        Their log marginal likelihoods.
    correction : float
        Mean difference of log integrals and Laplace values, for further models.
    maximal : mapping of bytes to float
        Maxima of the log-likelihood, for models whose modes are far from them.
    """

    def __init__(
        self,
        regression: ChunkedRegression,
        quadratic: Quadratic,
        gammas: ByteArray,
        modes: Modes,
        values: FloatArray,
        correction: float,
        maximal: Mapping[bytes, float],
    ) -> None:
        self.maximal = maximal
        self.regression, self.quadratic, self.correction = regression, quadratic, correction
        self._known: dict[bytes, tuple[Modes, int, float]] = {}
        self._keep(gammas, modes, values)

    def _keep(self, gammas: ByteArray, modes: Modes, values: FloatArray) -> None:
        for row, (gamma, value) in enumerate(zip(gammas, values, strict=True)):
            if modes.known[row]:
                self._known[gamma.astype(np.uint8).tobytes()] = (modes, row, float(value))

    def _at(self, gamma: ByteArray) -> tuple[Modes, int, float]:
        key = np.asarray(gamma, dtype=np.uint8).tobytes()
        if key not in self._known:
            gammas = np.asarray(gamma, dtype=np.uint8)[None]
            modes = modes_of(self.regression, self.quadratic, gammas)
            find_modes(modes, self.regression.derivatives)
            self._keep(gammas, modes, np.array([laplace_value(self.regression, modes, 0) + self.correction]))
        return self._known[key]

    def log_marginals(self, gammas: ByteArray) -> FloatArray:
        """Return log marginal likelihoods of models (m, J), without constants of the family."""
        return np.array([self._at(gamma)[2] for gamma in gammas])

    def exists(self, gamma: ByteArray) -> bool:
        """Return whether model `gamma` (J,) has a coefficient prior."""
        return exists(self.regression, np.asarray(gamma))

    def deviance(self, gamma: ByteArray) -> float:
        """Return the deviance of model `gamma` (J,) at the maximum of its likelihood."""
        best = self.maximal.get(np.asarray(gamma, dtype=np.uint8).tobytes())
        if best is None:
            modes, row, _ = self._at(gamma)
            best = modes.maximum(row)
        return 2.0 * (self.regression.saturated - best)

    def approximate(self, gamma: ByteArray) -> Integral:
        """Return Laplace's approximation of model `gamma` (J,)."""
        modes, row, value = self._at(gamma)
        columns = np.flatnonzero(modes.inside[row])
        mode = (modes.point[row] + modes.step[row])[columns]
        moments = moments_at(mode, modes.factor(row), self.regression.shifts(columns))
        return Integral(value, np.nan, *self.regression.coefficients(columns, moments), None, None)

    def integrate(self, gamma: ByteArray, **options: Any) -> Integral:
        """Return Laplace's approximation, whatever the options of integrals are."""
        return self.approximate(gamma)

    def sample(
        self, gamma: ByteArray, size: int, rng: np.random.Generator
    ) -> tuple[FloatArray, dict[str, FloatArray]]:
        """Draw internal coefficients (size, D + 1), and an unknown size, from a normal distribution.

        At its mode if that is known, otherwise that of the quadratic expansion of all models.
        """
        columns = np.flatnonzero(columns_of(self.regression, np.asarray(gamma)[None])[0])
        held = self._known.get(np.asarray(gamma, dtype=np.uint8).tobytes())
        if held is None:
            mode, factor = self.quadratic.normal(self.regression, columns)
        else:
            modes, row, _ = held
            mode, factor = (modes.point[row] + modes.step[row])[columns], modes.factor(row)
        noise = rng.standard_normal((columns.size, size))
        out = np.zeros((size, self.regression.start.size))
        out[:, columns] = mode + solve_triangular(factor, noise, lower=True, trans="T").T
        width = self.regression.n_columns
        names = self.regression.nuisance.names
        if not names:
            return out, {}
        behind = self.regression.family.parameters(out[:, width:])
        return out[:, :width], {name: behind[:, k] for k, name in enumerate(names)}

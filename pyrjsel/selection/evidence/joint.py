"""Posterior modes and integrals over coefficients and nuisance parameters of the likelihood.

The K coordinates t of the parameters, such as their logarithms, are further coordinates of the expansion of
second order: the mode is that of (coefficients, t), and importance draws are of both.
"""

from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.linalg import cho_solve, lapack, solve_triangular

from pyrjsel._errors import DataError
from pyrjsel._typing import ByteArray, FloatArray
from pyrjsel.selection.evidence._laplace import ModeFinder
from pyrjsel.selection.evidence.importance import log_student
from pyrjsel.selection.regression.glm import Regression

CONVERGED, RANK_DEFICIENT, NOT_CONVERGED = 0, 1, 2
LOG_2PI = float(np.log(2.0 * np.pi))
MOST_NEWTON, MOST_HALVINGS = 400, 40
# As for modes of coefficients alone.
DECREMENT, ML_GAIN = 1e-10, 1e-9
# Below this a decrement that does not decrease any more is rounding, as of nearly dependent columns.
STALLED = 1e-4
# Rounding errors of a quadratic form relative to its diagonal part.
ROUNDING = 1e-14
# Longest step of t: the log-likelihood flattens out far from the mode, where it is not concave in t.
LONGEST = 1.0
# A scale below e^-VANISHED times the typical one goes to 0: rows tied within levels, say, fit perfectly.
VANISHED = 30.0
# Near saddle points: the gain of steps, and the smallest relative eigenvalue.
LITTLE, LEAST = 0.1, 1e-3
# Densities far from the mode are 0 where numbers overflow.
FAR_AWAY = np.errstate(over="ignore", invalid="ignore", divide="ignore")
# Directions whose linear predictors are computed at a time.
AT_ONCE = 32
# A further mode or a shoulder is looked for from the rows that the mode fits badly, by some EM steps, if
# equal weights give another fit, at a larger squared distance. It counts if its density is at least e^-DEEP
# of that at the mode, and e^BEYOND times that of a Student distribution there. Regular posteriors have e^2
# times at most, but for some of forty rows with df = 1.
EM_STEPS, LONGER, UNLIKE, DEEP, BEYOND, BEYOND_DF = 5, 1.5, 3.0, 15.0, 3.0, 8.0
# Modes at a smaller distance, in standard deviations, are one.
SAME = 0.1


class JointFinder:
    """Modes and integrals of models of one regression whose family has nuisance parameters.

    It has the methods of :class:`ModeFinder` that marginal likelihoods use, with t behind the coefficients in
    `at`, `factor`, moments and draws. Log marginal likelihoods include all constants of the family.
    """

    def __init__(self, regression: Regression, max_columns: int) -> None:
        self.regression = regression
        self.family: Any = regression.family
        start, prior = regression, regression.prior
        if prior.mixture is not None:
            start = replace(regression, prior=prior.given(prior.typical_log_g))
        self.given = ModeFinder(start.compiled, max_columns)
        self.weights = regression.row_weights
        self.status = NOT_CONVERGED
        self.log_marginal = -np.inf
        self.columns, self.at = np.empty(0, dtype=np.intp), np.empty(0)
        self.factor = np.empty((0, 0))
        # Another mode or a point on a shoulder of the posterior, and a Cholesky factor of its precision.
        self.apart: tuple[FloatArray, FloatArray] | None = None

    @property
    def node_weights(self) -> FloatArray:
        """Empty: there are no nodes of log g, which is known."""
        return np.empty(0)

    def mode(self, gamma: ByteArray) -> FloatArray:
        """Return the coefficients (D + 1,) at the posterior mode of a model (J,), zero outside it.

        `status` is 0 at a mode, 1 for a model without a prior, 2 if Newton's method failed; `log_marginal` is
        the Laplace value.
        """
        out = np.zeros(self.regression.n_columns)
        self.log_marginal, self.apart = -np.inf, None
        if self._load(gamma):
            self._find()
            if self.family.scaled and self.status == CONVERGED:
                self._look_apart()
            out[self.columns] = self.at[: self.columns.size]
        return out

    def _look_apart(self) -> None:
        """Set `apart`; a further mode with more mass, by Laplace's approximation, is the mode."""
        with self._given_g():
            points = self._other_fits()
        if not len(points):
            return
        away = points - self.at
        heights = self._log_targets(self.at, away, np.ones(len(away)))[1][::2] - self.log_posterior
        form = np.sum((away @ self.factor) ** 2, axis=1)
        above = heights + 0.5 * (BEYOND_DF + self.at.size) * np.log1p(form / BEYOND_DF)
        far = int(np.argmax(np.where(heights > -DEEP, above, -np.inf)))
        if not (above[far] > BEYOND and heights[far] > -DEEP):
            return
        at, factor, largest = self.at, self.factor, self.log_marginal
        with self._given_g():
            self.at = points[far]
            separate = (
                self._search(True) == CONVERGED and float(np.sum(((self.at - at) @ factor) ** 2)) > SAME**2
            )
            if not separate:
                _, gradient, hessian = self._expand(points[far], True)
                self.at, self.factor = points[far], self._factor(points[far], hessian, gradient)[1]
            apart = self.at, self.factor
        if separate:
            self._find()
            if self.status == CONVERGED and self.log_marginal > largest:
                self.apart = at, factor
                return
        self.at, self.apart = at, apart
        self._find()

    def _given_g(self) -> AbstractContextManager[None]:
        """Return a context in which `precision` is that of the prior given the most probable g."""
        return nullcontext()

    def _other_fits(self) -> FloatArray:
        """Return points (m, d) of the EM algorithm from other starts, as long as they are far from the mode.

        From the fit of rows that the mode fits badly, if equal weights of all rows give another fit [Hausman
        1978]; and from another df, if they are unknown.
        """
        d, at, weigh = self.columns.size, self.at, self.family.em_weights
        y, t = self.regression.y - self.regression.offset, at[self.columns.size :]
        r = y - at[:d] @ self.x
        weights = weigh(r, t)
        starts = [(other, weigh(r, other)) for other in self.family.other_tails(t)]
        away = self.factor[:d].T @ (self._fit(np.full(y.size, weights.mean()), y, t) - at[:d])
        if away @ away > UNLIKE:
            # By as much as weights lack to those of perfectly fitted rows.
            starts.append((t, (1.0 + 1e-9) * weigh(np.zeros(1), t) - weights))
        # A density that is no higher than at the mode counts beyond this.
        near, points = BEYOND_DF * np.expm1(2.0 * BEYOND / (BEYOND_DF + at.size)), []
        for t, weights in starts:
            b = self._fit(weights, y, t)
            for _ in range(EM_STEPS):
                point = np.append(b, t)
                away = self.factor.T @ (point - at)
                if away @ away < near:
                    break
                points.append(point)
                r = y - b @ self.x
                weights = weigh(r, t)
                t = np.append(0.5 * np.log(weights @ (r * r) / weights.sum()), t[1:])
                b = b + LONGER * (self._fit(weigh(r, t), y, t) - b)
        return np.array(points)

    def _fit(self, weights: FloatArray, y: FloatArray, t: FloatArray) -> FloatArray:
        """Return the most probable coefficients (d,) under normal errors with precisions (n,)."""
        factor, of_rows = self._factor_of_prior(t), self.x * weights
        lower = of_rows @ self.x.T + factor * self.precision
        return np.asarray(lapack.dposv(lower, of_rows @ y + factor * self.shift)[1])

    def _find(self) -> None:
        """Find the mode from the start in `at`; set `status` and the Laplace value."""
        self.status = self._newton(True)
        self.log_marginal = (
            self.log_posterior + self.constant + 0.5 * self.at.size * LOG_2PI - half_log_det(self.factor)
        )

    def laplace_values(self, gammas: ByteArray) -> tuple[FloatArray, np.ndarray]:
        """Return Laplace log marginal likelihoods and statuses of models (m, J)."""
        values, status = np.empty(len(gammas)), np.empty(len(gammas), dtype=np.intc)
        for k, gamma in enumerate(gammas):
            self.mode(gamma)
            values[k], status[k] = self.log_marginal, self.status
        return values, status

    def maximum_likelihood(self, gamma: ByteArray) -> tuple[float, float, float]:
        """Return the largest log-likelihood of a model, smallest and largest linear predictor there."""
        if not self._load(gamma):
            self.given.maximum_likelihood(gamma)
            self._start(self.given.columns, self.given.at)
        if self.family.is_unbounded(self.regression.y.size, self.columns.size):
            return np.inf, 0.0, 0.0
        if self._newton(False) != CONVERGED and self.at[self.columns.size] < self.typical - VANISHED:
            return np.inf, 0.0, 0.0
        whole = self.regression
        eta = self.family.rows(whole.y, whole.weights, whole.offset)[2]
        eta = eta + self.at[: self.columns.size] @ self.x
        return self.log_posterior, float(eta.min()), float(eta.max())

    def integrate(
        self,
        radius: FloatArray,
        direction: FloatArray,
        df: float,
        uniform: FloatArray | None = None,
    ) -> tuple[float, FloatArray, FloatArray]:
        """Draw from the proposal at the mode of the last model; as :meth:`ModeFinder.integrate`."""
        direction = direction / np.sqrt(np.sum(direction**2, axis=1, keepdims=True))
        return _weighed(*self._integrate(radius, direction, df, uniform))

    def _integrate(self, radius: FloatArray, direction: FloatArray, df: float, uniform: Any) -> Any:
        """Draw from the proposal at the mode; return draws and log weights."""
        rays = solve_triangular(self.factor, direction.T, lower=True, trans="T").T
        return self.weighted(self.at, rays, radius, log_student(radius, self.at.size, df))

    def reweigh(
        self,
        center: FloatArray,
        rays: FloatArray,
        radius: FloatArray,
        log_density: FloatArray,
        paired: bool = True,
    ) -> tuple[float, FloatArray, FloatArray]:
        """Draw from another proposal for the last model; as :meth:`ModeFinder.reweigh`."""
        points, values = self.weighted(center, rays, radius, log_density)
        return _weighed(points, values) if paired else _weighed(points[::2].copy(), values[::2])

    def weighted(
        self, center: FloatArray, rays: FloatArray, radius: FloatArray, log_density: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return draws (2 P, d) around a centre and their log weights."""
        points, values = self._log_targets(center, rays, radius)
        return points, values - self.log_posterior - np.repeat(log_density, 2)

    def _load(self, gamma: ByteArray) -> bool:
        """Start at the mode given the typical parameter; return whether the model has a prior."""
        given = self.given
        given.mode(gamma)
        self.status = given.status
        # Where the log-likelihood is not concave, that search can be slow: it is only the start of this one.
        if self.status not in ((CONVERGED, NOT_CONVERGED) if self.family.scaled else (CONVERGED,)):
            return False
        self._start(given.columns, given.at)
        # The constant of the prior density.
        prior, nothing = self.regression.prior, np.zeros(given.columns.size)
        self.constant = prior.logpdf(nothing, given.columns) + 0.5 * self.penalty
        return True

    def _start(self, columns: np.ndarray, b: FloatArray) -> None:
        prior = self.regression.prior
        self.columns = columns
        self.x = self.regression.columns[columns]
        self.precision = prior.precision[np.ix_(columns, columns)]
        self.shift, self.penalty = prior.shift[columns], float(prior.penalty[columns].sum())
        self.typical = float(self.family.typical[0])
        # Number of coefficients whose prior has the scale e^t, with the first coordinate.
        self.scales = columns.size - int(prior.flat) if self.family.scaled else 0
        self.at = np.append(b, self.family.typical)

    @FAR_AWAY
    def _expand(self, v: FloatArray, use_prior: bool) -> tuple[float, FloatArray, FloatArray]:
        """Return log posterior (or likelihood), gradient and minus the Hessian at (coefficients, t)."""
        d = self.columns.size
        b, t = v[:d], v[d:]
        eta = self.regression.offset + b @ self.x
        value, residual, weight, slope, curve, cross = self.family.joint(
            self.regression.y, self.weights, eta, t
        )
        gradient = np.append(self.x @ residual, slope)
        hessian = np.empty((v.size, v.size))
        hessian[:d, :d] = (self.x * weight) @ self.x.T
        hessian[d:, :d] = cross @ self.x.T
        hessian[:d, d:] = hessian[d:, :d].T
        hessian[d:, d:] = curve
        if use_prior:
            of_t, slope, curve = self.family.log_prior(t)
            factor, of_b = self._factor_of_prior(t), self._exponent(b)
            pull = factor * (self.shift - self.precision @ b)
            value += float(factor * of_b - self.scales * (t[0] - self.typical) + of_t)
            gradient[:d] += pull
            gradient[d:] += slope
            hessian[:d, :d] += factor * self.precision
            hessian[np.arange(d, v.size), np.arange(d, v.size)] += curve
            if self.family.scaled:
                gradient[d] -= 2.0 * factor * of_b + self.scales
                hessian[d, :d] += 2.0 * pull
                hessian[:d, d] += 2.0 * pull
                hessian[d, d] -= 4.0 * factor * of_b
        else:
            # Dependent columns and separation make it singular; the ridge does not change the maximum.
            hessian[np.arange(d), np.arange(d)] *= 1.0 + 1e-8
            hessian[np.arange(d), np.arange(d)] += 1e-12
        return value, gradient, hessian

    def hessian(self, at: FloatArray) -> FloatArray:
        """Return minus the Hessian of the log posterior of the last model; as :meth:`ModeFinder.hessian`."""
        return self._expand(at, True)[2]

    def _exponent(self, b: FloatArray) -> Any:
        """Return the log prior density of coefficients (..., d) without its constant."""
        return b @ self.shift - 0.5 * np.sum((b @ self.precision) * b, axis=-1) - 0.5 * self.penalty

    def _factor_of_prior(self, t: Any) -> Any:
        """Return the precision of coefficients at coordinates (..., K) divided by that at typical ones."""
        return np.exp(-2.0 * (t[..., 0] - self.typical)) if self.family.scaled else 1.0

    def _newton(self, use_prior: bool) -> int:
        """Maximise from `at`; set `at`, `factor` and `log_posterior`."""
        status = self._search(use_prior)
        why = self.family.degenerate(self.at[self.columns.size :])
        if why:
            raise DataError(why)
        return status

    def _search(self, use_prior: bool) -> int:
        """Return the status of that search."""
        v, start, previous, halvings = self.at, self.at, -np.inf, 0
        step, decrement = np.zeros(v.size), np.inf
        for _ in range(MOST_NEWTON):
            value, gradient, hessian = self._expand(v, use_prior)
            b, t = v[: self.columns.size], v[self.columns.size :]
            form = np.diag(self.precision) @ b**2 * self._factor_of_prior(t)
            if not value >= previous - 1e-9 * (1.0 + abs(previous)) - ROUNDING * form:
                halvings += 1
                if halvings > MOST_HALVINGS:
                    return NOT_CONVERGED
                step = 0.5 * step
                v = start + step
                continue
            self.at, self.log_posterior = v, value
            if not np.isfinite(hessian).all():
                return NOT_CONVERGED
            if not use_prior and value - previous < ML_GAIN:
                return CONVERGED
            concave, self.factor = self._factor(v, hessian, gradient)
            step = lapack.dpotrs(self.factor, gradient, lower=1)[0]
            last, decrement = decrement, float(step @ gradient)
            longest = float(np.abs(step[self.columns.size :]).max())
            long = longest > LONGEST
            reached = decrement < DECREMENT or last <= decrement < STALLED
            if use_prior and concave and not long and reached:
                self.at, self.log_posterior = v + step, value + 0.5 * decrement
                return CONVERGED
            if long:
                step *= LONGEST / longest
            start, previous, halvings = v, value, 0
            v = v + step
        return NOT_CONVERGED

    def _factor(self, v: FloatArray, hessian: FloatArray, gradient: FloatArray) -> tuple[bool, FloatArray]:
        """Return whether minus the Hessian at `v` is positive definite, and a Cholesky factor of it.

        If it is not, it is replaced by one that is: in t, where the log-likelihood can be convex, and in the
        linear predictor, if the family's can be convex there too. Near saddle points, where such steps gain
        little, eigenvalues relative to it are replaced by their absolute values.
        """
        try:
            return True, np.asarray(np.linalg.cholesky(hessian), dtype=np.float64)
        except np.linalg.LinAlgError:
            near, d = hessian.copy(), self.columns.size
            eta = self.regression.offset + v[:d] @ self.x
            more = self.family.lack_of_concavity(self.regression.y, eta, v[d:])
            near[:d, :d] += (self.x * more) @ self.x.T
            near[d:, :d] = near[:d, d:] = 0.0
            values, vectors = np.linalg.eigh(near[d:, d:])
            near[d:, d:] = (vectors * np.maximum(np.abs(values), 1e-3)) @ vectors.T
            factor = np.linalg.cholesky(near)
            if gradient @ cho_solve((factor, True), gradient) < LITTLE:
                half = solve_triangular(factor, hessian, lower=True)
                values, vectors = np.linalg.eigh(solve_triangular(factor, half.T, lower=True))
                factor = factor @ np.linalg.cholesky(
                    (vectors * np.maximum(np.abs(values), LEAST)) @ vectors.T
                )
            return False, np.asarray(factor, dtype=np.float64)

    def _log_prior(self, b: FloatArray, t: FloatArray, log_g: float | None) -> FloatArray:
        """Return log prior densities of coefficients (m, d), without their constant."""
        shift = self.scales * (t[:, 0] - self.typical)
        return np.asarray(self._factor_of_prior(t) * self._exponent(b) - shift)

    @FAR_AWAY
    def _log_targets(
        self, center: FloatArray, rays: FloatArray, radius: FloatArray, log_g: float | None = None
    ) -> tuple[FloatArray, FloatArray]:
        """Return points (2 P, d + K) and log posteriors there, without the constant of the prior.

        Points are ``center + radius rays`` and ``center - radius rays`` by turns. If g has a prior, given a
        value of it or integrated over it.
        """
        away, whole, d = radius[:, None] * rays, self.regression, self.columns.size
        points = np.stack([center + away, center - away], axis=1).reshape(-1, center.size)
        t = np.ascontiguousarray(points[:, d:])
        out = self._log_prior(points[:, :d], t, log_g)
        eta = whole.offset + center[:d] @ self.x
        for start in range(0, len(rays), AT_ONCE):
            some, two = slice(start, start + AT_ONCE), slice(2 * start, 2 * (start + AT_ONCE))
            images = rays[some, :d] @ self.x
            out[two] += self.family.joint_pairs(whole.y, self.weights, eta, images, radius[some], t[two])
        return points, np.where(np.isnan(out), -np.inf, out)


def _weighed(points: FloatArray, values: FloatArray) -> tuple[float, FloatArray, FloatArray]:
    """Return the largest of log weights, the draws, and their weights relative to the largest."""
    top = float(values.max())
    return top, points, np.exp(values - top)


def half_log_det(factor: FloatArray) -> float:
    """Return half the log determinant of a matrix with a Cholesky factor (d, d)."""
    return float(np.sum(np.log(np.diag(factor))))

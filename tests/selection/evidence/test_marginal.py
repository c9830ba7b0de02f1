"""Laplace values and importance-sampled integrals of single models against optimisers and quadrature."""

import pickle
from itertools import product

import numpy as np
import pytest
from balance_oracle import information_weights
from scipy import optimize, stats
from scipy.interpolate import CubicSpline

from pyrjsel._errors import DataError
from pyrjsel.selection.evidence import importance
from pyrjsel.selection.evidence._laplace import ModeFinder
from pyrjsel.selection.evidence.importance import SharedIntegrals, log_student, resample
from pyrjsel.selection.evidence.laplace import MarginalLikelihood
from pyrjsel.selection.priors.coefficients import GPrior, Normal

# Names of terms with one to three coefficients in all, rows, and what else.
PROBLEMS = {
    "intercept": ([], {"n": 30}),
    "one column": (["a"], {"n": 30, "weighted": True, "with_offset": True}),
    "two columns": (["a", "b"], {"n": 40, "with_offset": True}),
    "factor": (["f3"], {"n": 30, "weighted": True}),
    "few rows": (["a"], {"n": 6}),
}


class Joint:
    """Log of likelihood times prior of the model with all terms, in raw coefficients."""

    def __init__(self, case):
        x, prior = case.x, case.prior
        n = len(case.y)
        self.y, self.likelihood = case.y, case.likelihood
        self.w = np.ones(n) if case.weights is None else case.weights
        self.offset = np.zeros(n) if case.offset is None else case.offset
        self.x = np.column_stack([np.ones(n), x])
        self.d = self.x.shape[1]
        mean = self.w @ x / self.w.sum()
        sd = np.sqrt(self.w @ (x - mean) ** 2 / self.w.sum())
        # The prior is normal in R beta: rows R, mean, covariance, log |dR beta / dbeta| of slopes.
        self.rows, self.jacobian = np.eye(self.d), 0.0
        self.mean, covariance = np.zeros(self.d), np.eye(self.d)
        null = getattr(prior, "information", "unit") == "null"
        flat = prior.intercept == "flat" or (null and prior.intercept is None)
        if isinstance(prior, GPrior):
            g = {"n": self.w.sum(), "4n": 4 * self.w.sum()}.get(prior.g, prior.g)
            if not null and prior.intercept in (None, "joint"):
                covariance = g * np.linalg.inv((self.x.T * self.w) @ self.x)
            else:
                self.rows[0, 1:] = mean
                w = information_weights(case)
                centred = x - w @ x / w.sum()
                covariance[1:, 1:] = g * np.linalg.inv((centred.T * w) @ centred)
        else:
            covariance *= prior.scale**2
            self.mean[:] = prior.mean
            covariance[0, 0], self.mean[0] = 100.0, 0.0
            if prior.standardize:
                self.rows = np.diag(np.concatenate([[1.0], sd]))
                self.rows[0, 1:] = mean
                self.jacobian = np.log(sd).sum()
        if isinstance(prior.intercept, Normal):
            covariance[0, 0], self.mean[0] = prior.intercept.scale**2, prior.intercept.mean
        if flat:
            self.rows, self.mean, covariance = self.rows[1:], self.mean[1:], covariance[1:, 1:]
        self.precision = np.linalg.inv(covariance)
        self.normal = stats.multivariate_normal(self.mean, covariance) if len(self.rows) else None

    def log(self, beta):
        """At points (..., d)."""
        eta = self.offset + beta @ self.x.T
        value = self.likelihood.log(self.y, eta) @ self.w
        if self.normal is None:
            return value
        # pdf's own output has no axis for a single point.
        return value + self.normal.logpdf(beta @ self.rows.T).reshape(value.shape) + self.jacobian

    def gradient(self, beta):
        out = self.x.T @ (self.w * self.likelihood.score(self.y, self.offset + self.x @ beta))
        return out - self.rows.T @ self.precision @ (self.rows @ beta - self.mean)

    def hessian(self, beta):
        curvature = self.w * self.likelihood.curve(self.y, self.offset + self.x @ beta)
        return (self.x.T * curvature) @ self.x + self.rows.T @ self.precision @ self.rows

    def mode(self):
        found = optimize.root(
            self.gradient, np.zeros(self.d), jac=lambda beta: -self.hessian(beta), tol=1e-14
        )
        assert np.abs(self.gradient(found.x)).max() < 1e-9
        return found.x

    def laplace(self):
        mode = self.mode()
        log_det = np.linalg.slogdet(self.hessian(mode))[1]
        return self.log(mode) + 0.5 * self.d * np.log(2 * np.pi) - 0.5 * log_det

    def integrals(self, step=None, reach=11.0, first=0):
        """Log integral and raw moments (mean, mean square) by the trapezoidal rule.

        In coordinates in which the posterior has about unit variance, coefficient `first` along the first
        axis. The rule converges like exp(-2 pi^2 / step^2) for such smooth functions that vanish at the
        ends. Also the density of coefficient `first` at points, from steps half as long.
        """
        # Under the complementary log-log link posteriors have a short tail, where exp(-exp(x)) falls.
        step = step or (0.5 if self.likelihood.family.link == "cloglog" else 0.7)
        mode = self.mode()
        order = [first, *(k for k in range(self.d) if k != first)]
        inverse = np.linalg.inv(self.hessian(mode))[np.ix_(order, order)]
        scale = np.zeros((self.d, self.d))
        scale[order] = np.linalg.cholesky(inverse)
        half = np.arange(-reach, reach + step / 4, step / 2)
        axes = [half, *[np.arange(-reach, reach + step / 2, step)] * (self.d - 1)]
        grid = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, self.d)
        beta = mode + grid @ scale.T
        value = np.concatenate([self.log(part) for part in np.array_split(beta, 20)])
        top = value.max()
        mass = np.exp(value - top)
        total = mass.sum()
        log_integral = top + np.log(total * step**self.d / 2) + np.linalg.slogdet(inverse)[1] / 2
        mass /= total
        points = mode[first] + scale[first, 0] * half
        density = mass.reshape(half.size, -1).sum(axis=1) / (points[1] - points[0])
        return log_integral, np.stack([mass @ beta, mass @ beta**2]), (points, density)

    def positive(self):
        """Posterior probability that each coefficient is positive."""
        out = np.empty(self.d)
        for k in range(self.d):
            points, density = self.integrals(first=k)[2]
            below = CubicSpline(points, density).antiderivative()
            out[k] = below(points[-1]) - below(np.clip(0.0, points[0], points[-1]))
        return out


def problem(kit, name, prior, family="binomial", seed=3):
    names, options = PROBLEMS[name]
    return kit.case(names, seed=seed, coef_prior=prior, signal=0.6, family=family, **options)


def marginal_of(case, pairs=64, entropy=b"0123456789abcdef"):
    return MarginalLikelihood(case.regression, entropy, pairs, case.regression.n_columns)


def full_model(case):
    return np.ones(case.space.n_terms, dtype=np.uint8)


@pytest.mark.parametrize("name", PROBLEMS)
def test_modes_and_laplace_values(kit, coef_prior, name, family):
    case = problem(kit, name, coef_prior, family)
    joint, marginal, gamma = Joint(case), marginal_of(case), full_model(case)
    b = marginal.mode(gamma)
    finder = marginal.finder
    assert finder.status == 0
    # One step beyond a decrement of 1e-10 leaves coefficients at an error of about 1e-10.
    np.testing.assert_allclose(case.regression.to_raw(b), joint.mode(), rtol=1e-8, atol=1e-8)
    # The determinant is taken one step before the mode, within sqrt(1e-10) standard deviations of it.
    assert finder.log_marginal == pytest.approx(joint.laplace(), abs=2e-5)
    assert finder.log_likelihood == pytest.approx(case.regression.loglik(b), abs=1e-4)
    values, status = finder.laplace_values(gamma[None, :])
    assert values[0] == pytest.approx(finder.log_marginal, abs=1e-12)
    assert status[0] == 0
    found = marginal.approximate(gamma)
    assert np.isnan(found.variance)
    np.testing.assert_array_equal(found.columns, np.arange(joint.d))


@pytest.mark.parametrize("name", PROBLEMS)
def test_laplace_moments_are_normal(kit, coef_prior, name, family):
    case = problem(kit, name, coef_prior, family)
    joint = Joint(case)
    mean, square, positive = marginal_of(case).approximate(full_model(case)).moments
    scale = np.concatenate([[1.0], case.regression.scale])
    sd = np.sqrt(np.diag(np.linalg.inv(joint.hessian(joint.mode()))))
    np.testing.assert_allclose(mean / scale, joint.mode(), rtol=1e-7, atol=1e-7)
    np.testing.assert_allclose(np.sqrt(square - mean**2) / scale, sd, rtol=1e-4)
    np.testing.assert_allclose(positive, stats.norm.cdf(joint.mode() / sd), rtol=1e-3, atol=1e-7)


def test_the_quadrature_is_as_good_as_it_says(kit, coef_prior, family):
    for name in ("one column", "few rows"):
        joint = Joint(problem(kit, name, coef_prior, family))
        coarse, fine, wide = joint.integrals(), joint.integrals(step=0.35), joint.integrals(reach=18.0)
        # The tests below need 1e-6.
        assert coarse[0] == pytest.approx(fine[0], abs=1e-7)
        assert coarse[0] == pytest.approx(wide[0], abs=1e-7)
        # The density is interpolated by cubic splines over steps of 0.35 standard deviations.
        points, density = coarse[2]
        assert CubicSpline(points, density).integrate(points[0], points[-1]) == pytest.approx(1, abs=1e-4)


@pytest.mark.parametrize("name", PROBLEMS)
def test_integrals(kit, coef_prior, name, family):
    """Within 8 stated errors of the truth, with 64 pairs and with 20,000.

    The errors are estimated from 32 differences at least: a t distribution with 32 degrees of freedom
    passes 8 with probability 4e-9, in all 80 comparisons with less than 1e-6.
    """
    case = problem(kit, name, coef_prior, family)
    joint, gamma = Joint(case), full_model(case)
    exact, moments, _ = joint.integrals()
    for pairs in (64, 20_000):
        found = marginal_of(case).integrate(gamma, pairs=pairs)
        error = np.sqrt(found.variance)
        assert abs(found.log_marginal - exact) < 8 * error + 1e-6
        # Efficient: no more than a few percent a pair, 1/100 of that for many.
        assert error < 0.5 / np.sqrt(pairs)
    scale = np.concatenate([[1.0], case.regression.scale])
    sd = np.sqrt(moments[1] - moments[0] ** 2)
    # 40,000 draws, antithetic and stratified: 6 / sqrt(40,000 * efficiency of 1/2) of a standard deviation.
    np.testing.assert_allclose((found.moments[0] / scale - moments[0]) / sd, 0, atol=0.045)
    np.testing.assert_allclose(
        (found.moments[1] / scale**2 - found.moments[0] ** 2 / scale**2) / sd**2, 1, atol=0.09
    )
    # An indicator has a standard deviation of at most 1/2.
    np.testing.assert_allclose(found.moments[2], joint.positive(), atol=0.0225)
    np.testing.assert_array_equal(found.columns, np.arange(joint.d))


def replicated(case, exact, replications, pairs):
    """Estimates relative to the truth, and their reported relative variances."""
    gamma, ratio, variance = full_model(case), np.empty(replications), np.empty(replications)
    for r in range(replications):
        found = marginal_of(case, pairs, r.to_bytes(16, "little")).integrate(gamma)
        ratio[r], variance[r] = np.exp(found.log_marginal - exact), found.variance
    return ratio, variance


@pytest.mark.parametrize("name", ["one column", "two columns", "few rows"])
@pytest.mark.parametrize("pairs", [4, 16, 64])
def test_integrals_are_unbiased_and_their_errors_safe(kit, name, pairs):
    """Nine z-tests at 5.3 standard errors: false alarms 1e-6 in all.

    Differences of neighbouring strata hold what changes from one to the next beside what varies within
    them: with few columns, where radii are all that matters, the reported error is up to 2.7 times too
    large, and never too small. (With the variances of 500 values known to 6 %, the margin below is 5 sd.)
    """
    case = problem(kit, name, GPrior("n") if name != "few rows" else Normal(2.0))
    ratio, variance = replicated(case, Joint(case).integrals()[0], 500, pairs)
    z = (ratio.mean() - 1) / (ratio.std(ddof=1) / np.sqrt(ratio.size))
    assert abs(z) < 5.3
    assert 0.7 < variance.mean() / ratio.var(ddof=1) < 8.0


@pytest.mark.statistical
def test_errors_are_honest_where_directions_matter(kit):
    """Seven columns and 64 pairs, as in a fit: a margin of 5 standard deviations of a variance's estimate."""
    case = kit.case([*"abcd", "f3"], n=60, seed=3, coef_prior=GPrior("4n"), signal=0.6)
    # Only the spread of the values is looked at: any constant serves for the truth.
    near = marginal_of(case).integrate(full_model(case)).log_marginal
    ratio, variance = replicated(case, near, 500, 64)
    relative = ratio.var(ddof=1) / ratio.mean() ** 2
    assert 0.7 < variance.mean() / relative < 1.6


class TestStream:
    def gammas(self):
        return [np.array(g, dtype=np.uint8) for g in product((0, 1), repeat=5)]

    def case(self, kit):
        return kit.case(["a", "f3", "b", "c", "d"], coef_prior=GPrior("n"))

    def test_it_is_a_function_of_entropy_and_model(self, kit):
        case = self.case(kit)
        one, other = marginal_of(case), marginal_of(case, pairs=2)
        seen = {}
        for gamma in self.gammas():
            draws = one.stream(gamma).random(4)
            one.integrate(gamma)  # whatever is done in between
            np.testing.assert_array_equal(one.stream(gamma).random(4), draws)
            np.testing.assert_array_equal(other.stream(gamma.astype(np.int64)).random(4), draws)
            seen[gamma.tobytes()] = draws[0]
        assert len(set(seen.values())) == 32
        moved = marginal_of(case, entropy=b"0123456789abcdeg")
        assert not {moved.stream(gamma).random() for gamma in self.gammas()} & set(seen.values())

    def test_streams_have_no_common_part(self, kit):
        marginal = marginal_of(self.case(kit))
        draws = np.array([marginal.stream(gamma).random(200) for gamma in self.gammas()])
        assert np.unique(draws).size == draws.size
        # 32 * 31 / 2 correlations of 200 values: 6 standard errors are passed with 1e-6 in all.
        correlation = np.corrcoef(draws) - np.eye(32)
        assert np.abs(correlation).max() < 6 / np.sqrt(200)

    def test_integrals_do_not_depend_on_what_was_done_before(self, kit):
        case = self.case(kit)
        gammas = self.gammas()
        forward = marginal_of(case)
        values = [forward.integrate(gamma) for gamma in gammas]
        backward = marginal_of(case)
        for gamma, value in reversed(list(zip(gammas, values, strict=True))):
            again = backward.integrate(gamma)
            assert again.log_marginal == value.log_marginal
            assert again.variance == value.variance
            np.testing.assert_array_equal(again.moments, value.moments)


class TestLaplaceValues:
    def test_the_order_of_models_does_not_matter(self, kit, coef_prior):
        case = kit.case(["a", "f3", "b", "c"], coef_prior=coef_prior, weighted=True)
        gammas = np.array(list(product((0, 1), repeat=4)), dtype=np.uint8)
        values, status = marginal_of(case).finder.laplace_values(gammas)
        assert np.all(status == 0)
        single = marginal_of(case)
        for gamma, value in zip(gammas, values, strict=True):
            single.mode(gamma)
            # Other starts end at other points within the tolerance of the search.
            assert single.finder.log_marginal == pytest.approx(value, abs=2e-5)
        order = np.random.default_rng(1).permutation(16)
        mixed, _ = marginal_of(case).finder.laplace_values(np.ascontiguousarray(gammas[order]))
        np.testing.assert_allclose(mixed, values[order], atol=2e-5, rtol=0)

    def test_no_model_and_no_term(self, kit):
        case = kit.case([], coef_prior=GPrior("n"))
        finder = marginal_of(case).finder
        values, status = finder.laplace_values(np.empty((1, 0), dtype=np.uint8))
        assert values.shape == status.shape == (1,)
        assert np.isfinite(values[0])
        assert finder.laplace_values(np.empty((0, 0), dtype=np.uint8))[0].shape == (0,)

    def test_dependent_columns(self, kit):
        names = ["a", "a+b", "b"]
        gammas = np.array(list(product((0, 1), repeat=3)), dtype=np.uint8)
        dependent = gammas.sum(axis=1) == 3
        case = kit.case(names, coef_prior=GPrior("n"))
        marginal = marginal_of(case)
        values, status = marginal.finder.laplace_values(gammas)
        np.testing.assert_array_equal(status, np.where(dependent, 1, 0))
        np.testing.assert_array_equal(np.isneginf(values), dependent)
        for find in (marginal.integrate, marginal.approximate):
            with pytest.raises(DataError, match="linearly dependent"):
                find(gammas[-1])
        values, status = marginal_of(kit.case(names, coef_prior=Normal(1.0))).finder.laplace_values(gammas)
        assert np.all(status == 0)
        assert np.all(np.isfinite(values))

    def test_a_constant_column(self, kit):
        case = kit.case(["a", "b"], coef_prior=GPrior("n"))
        x = case.x.copy()
        x[:, 1] = 3.0
        regression = type(case.regression).build(x, case.y, [1, 1], GPrior("n"))
        finder = MarginalLikelihood(regression, b"", 2, 3).finder
        gammas = np.array(list(product((0, 1), repeat=2)), dtype=np.uint8)
        assert finder.laplace_values(gammas)[1].tolist() == [0, 1, 0, 1]

    def test_models_beyond_the_capacity_have_no_value(self, kit):
        case = kit.case(["a", "f3", "b"], coef_prior=Normal(1.0))
        finder = ModeFinder(case.regression.compiled, 3)
        values, status = finder.laplace_values(np.array([[1, 0, 1], [1, 1, 0]], dtype=np.uint8))
        assert np.isfinite(values[0])
        assert values[1] == -np.inf
        assert status.tolist() == [0, 1]


class TestMaximumLikelihood:
    def test_a_maximum(self, kit, family):
        case = kit.case(
            ["a", "f3"],
            n=60,
            coef_prior=GPrior("n"),
            weighted=True,
            with_offset=True,
            signal=0.4,
            family=family,
        )
        joint = Joint(case)
        joint.rows = joint.rows[:0]
        joint.precision, joint.mean, joint.normal = np.empty((0, 0)), joint.mean[:0], None
        value, smallest, largest = marginal_of(case).finder.maximum_likelihood(full_model(case))
        mode = joint.mode()
        # The search stops when a step gains less than 1e-9.
        assert value == pytest.approx(joint.log(mode), abs=1e-8)
        regression = case.regression
        offset = regression.family.rows(regression.y, regression.weights, regression.offset)[2]
        eta = offset + joint.x @ mode
        assert smallest == pytest.approx(eta.min(), rel=1e-3)
        assert largest == pytest.approx(eta.max(), rel=1e-3)

    def test_a_separated_model(self, kit):
        case = kit.case(["a"], n=20, coef_prior=Normal(1.0))
        y = (case.x[:, 0] > np.median(case.x)).astype(float)
        regression = type(case.regression).build(case.x, y, [1], Normal(1.0))
        finder = MarginalLikelihood(regression, b"", 2, 2).finder
        value, smallest, largest = finder.maximum_likelihood(np.ones(1, dtype=np.uint8))
        assert -1e-6 < value <= 0
        assert smallest < -14
        assert largest > 14


class TestSamples:
    def test_they_follow_the_posterior(self, kit, coef_prior):
        """z-tests of 2 moments of 2 coefficients under 8 priors at 6 standard errors: 6e-8 in all."""
        case = problem(kit, "one column", coef_prior)
        _, moments, _ = Joint(case).integrals()
        size = 4000
        b, nuisance = marginal_of(case).sample(full_model(case), size, np.random.default_rng(4))
        assert nuisance == {}
        raw = case.regression.to_raw(b)
        sd = np.sqrt(moments[1] - moments[0] ** 2)
        z = (raw.mean(axis=0) - moments[0]) / sd * np.sqrt(size)
        assert np.abs(z).max() < 6
        # A variance of draws that are resampled from 16,000 weighted ones: sqrt(2 / size), somewhat more.
        assert np.abs(raw.var(axis=0) / sd**2 - 1).max() < 6 * np.sqrt(3 / size)
        # In random order: no trend along the draws.
        assert abs(np.corrcoef(raw[:, 1], np.arange(size))[0, 1]) < 6 / np.sqrt(size)

    def test_columns_outside_the_model_are_zero(self, kit):
        case = kit.case(["a", "f3", "b"], coef_prior=GPrior("n"))
        b, _ = marginal_of(case).sample(np.array([0, 1, 0], dtype=np.uint8), 7, np.random.default_rng(1))
        assert b.shape == (7, 5)
        assert np.all(b[:, [1, 4]] == 0)
        assert np.all(b[:, [0, 2, 3]] != 0)

    def test_resampling_is_systematic(self):
        rng = np.random.default_rng(2)
        weights = rng.random(50) ** 3
        picked = resample(weights, 1000, rng)
        want = 1000 * weights / weights.sum()
        counts = np.bincount(picked, minlength=50)
        assert counts.sum() == 1000
        assert np.all(np.abs(counts - want) < 1)
        assert np.all(resample(np.array([0.0, 2.0, 0.0]), 20, rng) == 1)


@pytest.mark.parametrize("weighted", [False, True])
def test_weights_of_draws_at_many_rows(kit, weighted):
    """More rows than are processed at a time, and more directions: against sums over all rows."""
    case = kit.case(["a", "f3"], coef_prior=GPrior("n"), n=4500, weighted=weighted, with_offset=True)
    marginal, regression = marginal_of(case), case.regression
    finder, rng = marginal.finder, np.random.default_rng(3)
    finder.mode(full_model(case))
    radius, d = np.sort(rng.chisquare(4, 34)) ** 0.5, finder.at.size
    _, points, weights = finder.integrate(radius, rng.standard_normal((34, d)), 8.0)
    eta = regression.offset + points @ regression.columns
    w = np.ones(4500) if regression.weights is None else regression.weights
    prior = regression.prior
    density = np.repeat(log_student(radius, d, 8.0), 2)
    value = (eta * (w * regression.y) - w * np.logaddexp(0.0, eta)).sum(axis=1) - density
    value += points @ prior.shift - 0.5 * np.einsum("ij,jk,ik->i", points, prior.precision, points)
    # Rounding of sums of thousands of terms.
    np.testing.assert_allclose(np.log(weights), value - value.max(), rtol=0, atol=1e-9)


def test_arguments_that_do_not_fit_are_refused(kit):
    case = kit.case(["a", "f3"], coef_prior=GPrior("n"))
    finder, gamma = marginal_of(case).finder, full_model(case)
    with pytest.raises(ValueError, match="one entry a term"):
        finder.mode(gamma[:1])
    with pytest.raises(ValueError, match="one column a term"):
        finder.laplace_values(np.ones((2, 3), dtype=np.uint8))
    with pytest.raises(ValueError, match="no model has been integrated"):
        finder.integrate(np.ones(4), np.ones((4, 4)), 8.0)
    finder.mode(gamma)
    for radius, direction in (
        (np.ones(3), np.ones((3, 4))),  # odd
        (np.ones(4), np.ones((4, 3))),
        (np.ones(2), np.ones((4, 4))),
    ):
        with pytest.raises(ValueError, match="one row a pair"):
            finder.integrate(radius, direction, 8.0)
    small = ModeFinder(case.regression.compiled, 2)
    with pytest.raises(ValueError, match="more columns"):
        small.integrate_at(gamma, np.ones(4), np.eye(4), 0.0, np.ones(2), np.ones((2, 4)), 8.0)


# Integrals of three models, of few coefficients of one of them, and of many of another in two attempts.
COMPUTED = 5


def test_shared_integrals_are_the_same_whoever_computes_them(kit, monkeypatch):
    case = kit.case(["a", "b"], seed=3, coef_prior=GPrior("n"), n=60, signal=0.6)
    models = [np.array(model, dtype=np.uint8) for model in ((1, 0), (0, 1), (1, 1))]

    def found(shared):
        # Of two chains, the second draws few coefficients of one model and many of another.
        args = case.regression, b"0123456789abcdef", 32, 3, 1e-3, shared
        first, second = MarginalLikelihood(*args), MarginalLikelihood(*args)
        values = [first.integrate(model) for model in models]
        drawn = [second.sample(models[k], m, np.random.default_rng(1))[0] for k, m in ((0, 3), (1, 90))]
        return [(one.log_marginal, one.samples) for one in values], drawn

    calls = []
    compute = MarginalLikelihood._integrate
    monkeypatch.setattr(
        MarginalLikelihood, "_integrate", lambda self, *args: calls.append(args) or compute(self, *args)
    )
    alone = found(None)
    assert len(calls) == COMPUTED
    # Coefficients have integrals of their own, and the second model needs more draws than that.
    for numbers, computed in ((10**9, COMPUTED), (0, COMPUTED)):
        monkeypatch.setattr(importance, "NUMBERS", numbers)
        calls.clear()
        shared = SharedIntegrals()
        together = found(shared)
        assert len(calls) == computed
        assert together[0] == alone[0]
        for one, other in zip(alone[1], together[1], strict=True):
            np.testing.assert_array_equal(one, other)
        again = found(shared)
        assert again[0] == alone[0]
        assert len(calls) == computed + (0 if numbers else 2)
    # Another seed or target is another integral, and other processes have none.
    for seed, variance in ((b"0123456789abcdeg", 1e-3), (b"0123456789abcdef", 1e-7)):
        other = MarginalLikelihood(case.regression, seed, 32, 3, variance, shared)
        assert other.integrate(models[0]).log_marginal != alone[0][0][0]
    assert not pickle.loads(pickle.dumps(shared))._found

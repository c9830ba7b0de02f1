"""Evidence under spikes and slabs against the covariance of the rows, all columns in every model."""

from itertools import product

import linear_oracle
import numpy as np
import pytest

from pyrjsel.distributions import InverseGamma
from pyrjsel.selection.evidence import gaussian as variance
from pyrjsel.selection.evidence.gaussian import evidence_of
from pyrjsel.selection.priors.coefficients import Normal
from pyrjsel.selection.priors.spike_slab import SpikeSlab
from pyrjsel.selection.regression import gaussian
from pyrjsel.selection.regression.gaussian import GaussianRegression

SIZES = (1, 2, 1, 3)
SIGMAS = {
    "flat": None,
    "inverse gamma": InverseGamma(1.5, 0.8),
    "by size": InverseGamma([2.0, 2.2, 2.4, 2.6, 2.8], [1.0, 1.5, 0.7, 2.0, 0.4]),
}
# Per column, as a mapping from names would give them.
UNEVEN = SpikeSlab((0.1, 0.3, 0.05, 0.2, 1.0, 0.4, 0.1), (50.0, 4.0, 400.0, 1.5, 25.0, 30.0, 9.0))


def models(terms):
    return np.array(list(product((0, 1), repeat=terms)), dtype=np.uint8)


def rows_of(case, sigma, size):
    """The oracle's rows with the prior of sigma^2 for models of `size` terms."""
    a, b = (0.0, 0.0) if sigma is None else sigma.table(len(case.regression.starts) - 1)[:, size]
    return linear_oracle.Rows(case.x, case.y, case.weights, case.offset, a, b)


def given_variance(rows, prior, columns, variance):
    """log p(y, sigma^2 | model) by the covariance of the rows."""
    every = np.arange(rows.x.shape[1])
    if isinstance(prior, SpikeSlab):
        ratio = np.where(np.isin(every, columns), np.broadcast_to(prior.c, every.size), 1.0)
        s, m, used = np.diag(np.broadcast_to(prior.tau, every.size) ** 2 * ratio), np.zeros(every.size), every
    else:
        used = np.asarray(columns, dtype=int)
        s, m = prior.scale**2 * np.eye(used.size), np.full(used.size, prior.mean)
    value = rows.normal(used, s, m, variance).log_marginal
    prior_value = -np.log(variance)
    if rows.a:
        prior_value = InverseGamma(rows.a, rows.b).logpdf(variance)
    return value + prior_value


def check(evidence, want):
    """Values from scratch, changes by every flip, and a walk of 2,000 flips, within 1e-9."""
    gammas = models(len(SIZES))
    by_model = dict(zip(map(bytes, gammas), want, strict=True))
    np.testing.assert_allclose(evidence.values(gammas), want, rtol=0, atol=1e-9)
    for gamma, base in zip(gammas, want, strict=True):
        others = gamma ^ np.eye(gamma.size, dtype=np.uint8)
        changes = [by_model[bytes(other)] - base for other in others]
        np.testing.assert_allclose(evidence.changes_at(gamma), changes, rtol=0, atol=1e-9)
    evidence.values(gammas[:1])
    flips = np.random.default_rng(1).integers(0, gammas.shape[1], 2000).astype(np.intc)
    place = np.cumsum(np.eye(gammas.shape[1], dtype=int)[flips], axis=0) % 2
    walked = [by_model[bytes(row.astype(np.uint8))] for row in place]
    np.testing.assert_allclose(evidence.walk(flips), walked, rtol=0, atol=1e-9)


@pytest.mark.parametrize("n", [25, 6])
@pytest.mark.parametrize("sigma", SIGMAS.values(), ids=SIGMAS)
@pytest.mark.parametrize("tau", [UNEVEN, SpikeSlab(0.2, 100.0)], ids=["uneven", "even"])
def test_scaled(linear_kit, tau, sigma, n):
    prior = SpikeSlab(tau.tau, tau.c, scaled=True)
    case = linear_kit.case(SIZES, prior, n=n, sigma=sigma, weighted=True, with_offset=True)
    want = []
    for gamma in models(len(SIZES)):
        columns = case.regression.model_columns(gamma)[1:] - 1
        rows = rows_of(case, sigma, int(gamma.sum()))
        s = np.where(np.isin(np.arange(7), columns), np.broadcast_to(prior.c, 7), 1.0)
        s = np.diag(s * np.broadcast_to(prior.tau, 7) ** 2)
        want.append(rows.given_scale(np.arange(7), s, np.zeros(7))[0])
    check(evidence_of(case.regression), want)


@pytest.mark.parametrize("prior", [UNEVEN, Normal(0.7, mean=-0.2, scaled=False)], ids=["spikes", "normal"])
@pytest.mark.parametrize("sigma", SIGMAS.values(), ids=SIGMAS)
@pytest.mark.parametrize("n", [25, 6])
def test_given_sigma(linear_kit, prior, sigma, n):
    if isinstance(prior, Normal) and sigma is SIGMAS["by size"]:
        sigma = InverseGamma(2.5, 2.0)
    if n == 6 and sigma is None:
        sigma = InverseGamma(1.2, 0.3)
    case = linear_kit.case(SIZES, prior, n=n, sigma=sigma, weighted=True, with_offset=True)
    evidence = variance.variance_evidence(case.regression)
    for value in (0.3, 2.0, 40.0):
        want = []
        for gamma in models(len(SIZES)):
            columns = case.regression.model_columns(gamma)[1:] - 1
            want.append(given_variance(rows_of(case, sigma, int(gamma.sum())), prior, columns, value))
        evidence.condition(value)
        check(evidence, want)


@pytest.mark.parametrize("scaled", [True, False])
def test_columns_that_outnumber_rows_are_not_multiplied_out(linear_kit, monkeypatch, scaled):
    """The path for many columns gives what the one for few does."""
    prior, sigma = SpikeSlab(0.2, 100.0, scaled=scaled), InverseGamma(2.0, 1.0)
    case = linear_kit.case((1,) * 12, prior, n=8, sigma=sigma, weighted=True)
    few = variance.variance_evidence(case.regression)
    monkeypatch.setattr(gaussian, "SMALL_GRAM", 0)
    again = linear_kit.case((1,) * 12, prior, n=8, sigma=sigma, weighted=True)
    many = variance.variance_evidence(again.regression)
    assert not again.regression.held
    assert "gram" not in again.regression.__dict__
    if not scaled:
        few.condition(0.4)
        many.condition(0.4)
    gammas = models(12)[::37].copy()
    np.testing.assert_allclose(many.values(gammas), few.values(gammas), rtol=0, atol=1e-10)


def exact_value(x, y, tau, c, inside, variance_):
    """log p(y | sigma^2) with 60 digits, constants of pi left out."""
    import mpmath as mp

    with mp.workdps(60):
        root = mp.matrix((x - x.mean(axis=0)).tolist())
        left = mp.matrix((y - y.mean()).tolist())
        terms = zip(tau, c, inside, strict=True)
        s = mp.diag([mp.mpf(t) ** 2 * (mp.mpf(k) if i else 1) for t, k, i in terms])
        cov = variance_ * mp.eye(len(y)) + root * s * root.T
        # The direction of the intercept is independent of the others: what it adds is taken off.
        det = mp.log(mp.det(cov)) - mp.log(mp.mpf(variance_))
        return float(-(det + (left.T * mp.lu_solve(cov, left))[0]) / 2)


def test_columns_in_units_that_are_powers_of_ten_apart():
    """One prior for a column of millions and one of millionths, with 60 digits as the truth.

    Eigenvalues of the columns times tau are 1e24 apart: those of their product matrix would be off by more
    than the smallest of them, and log evidence by 0.1.
    """
    rng = np.random.default_rng(4)
    n, units = 20, np.array([1e6, 1e3, 1.0, 1e-3, 1e-6])
    x = (rng.normal(size=(n, 5)) + 0.5 * rng.normal(size=(n, 1))) * units
    y = x @ (0.4 / units) + rng.normal(size=n)
    prior, gammas = SpikeSlab(1.0, 100.0), models(5)[::3].copy()
    evidence = variance.variance_evidence(GaussianRegression.build(x, y, [1] * 5, prior))
    evidence.condition(0.7)
    want = [exact_value(x, y, np.ones(5), np.full(5, 100.0), gamma, 0.7) for gamma in gammas]
    found = evidence.values(gammas)
    np.testing.assert_allclose(found - found[0], np.array(want) - want[0], rtol=0, atol=1e-9)


@pytest.mark.parametrize("scaled", [True, False])
@pytest.mark.parametrize("kind", ["free", "tight", "equal"])
def test_long_walks_end_where_a_fresh_state_begins(kind, scaled):
    """After 60,000 flips; correlations of 1 - 1e-6, and columns that are equal.

    Measured: 1e-12 for all. Equal columns are no matter: the spikes whiten what they share.
    """
    rng = np.random.default_rng(3)
    n, groups = 80, np.arange(18) % 3
    x = rng.normal(size=(n, 18)) if kind == "free" else rng.normal(size=(n, 3))[:, groups]
    if kind == "tight":
        x += 1e-3 * rng.normal(size=(n, 18))
    y = x[:, :3].sum(axis=1) + rng.normal(size=n)
    regression = GaussianRegression.build(x, y, [1] * 18, SpikeSlab(0.05, 1e4, scaled=scaled))
    evidence, fresh = (variance.variance_evidence(regression) for _ in range(2))
    if not scaled:
        evidence.condition(1.3)
        fresh.condition(1.3)
    evidence.values(np.zeros((1, 18), dtype=np.uint8))
    for _ in range(15):
        evidence.walk(rng.integers(0, 18, 4000).astype(np.intc))
        gamma, value = evidence.model()
        assert value == pytest.approx(fresh.values(gamma[None])[0], abs=1e-10)
        np.testing.assert_allclose(evidence.neighbours(), fresh.changes_at(gamma), rtol=0, atol=1e-9)

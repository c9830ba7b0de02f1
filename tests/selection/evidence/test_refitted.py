"""Linear models whose sums of squares have lost their digits: values, moments and draws from the rows.

Expected values are least squares on another basis of the same columns, one without large correlations.
"""

import time
import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.polynomial import legendre

import pyrjsel as rj
from pyrjsel.selection.evidence._conjugate import ConjugateEvidence
from pyrjsel.selection.evidence._refitted import RefittedEvidence
from pyrjsel.selection.evidence.gaussian import SingleModels, evidence_of, provider_of, score_of
from pyrjsel.selection.priors.shrinkage import Shrinkage
from pyrjsel.selection.regression.gaussian import GaussianRegression

N = 60
RNG = np.random.default_rng(28)
A, E, Z = RNG.normal(size=(3, N))
PRIORS = (rj.GPrior("n"), rj.BIC(), rj.ZellnerSiow(), rj.EmpiricalBayes(), rj.HyperG(3))


def log_bayes_factor(prior, total, left, d, n):
    """Of a model of d columns that leave `left` of `total` against the null model."""
    if isinstance(prior, rj.BIC):
        return n / 2 * np.log(total / left) - d / 2 * np.log(n)
    if isinstance(prior, rj.GPrior):
        return (n - 1 - d) / 2 * np.log1p(n) - (n - 1) / 2 * np.log1p(n * left / total)
    if isinstance(prior, rj.EmpiricalBayes):
        g = max((total - left) / d / (left / (n - 1 - d)) - 1, 0)
        return (n - 1 - d) / 2 * np.log1p(g) - (n - 1) / 2 * np.log1p(g * left / total)
    odds = (total - left) / left
    return Shrinkage(prior, n, n - 1).integrals(d, np.array([odds]))[0, 0] + (n - 1) / 2 * np.log1p(odds)


def squares(y, *columns):
    """Residual sums of squares given nothing, and given columns."""
    x = np.column_stack([np.ones(y.size), *columns])
    rest = y - x @ np.linalg.lstsq(x, y, rcond=None)[0]
    return float(np.sum((y - y.mean()) ** 2)), float(rest @ rest)


@pytest.mark.parametrize("eps", [1e-3, 1e-5, 1e-7])
@pytest.mark.parametrize("prior", PRIORS, ids=repr)
def test_two_columns_that_differ_little(prior, eps):
    """a and b = a + eps e span what a and e do."""
    y = E + 2 * Z
    x = np.column_stack([A, A + eps * E])
    regression = GaussianRegression.build(x, y, [1, 1], prior)
    single = SingleModels(regression)
    none, both = (np.full(2, k, dtype=np.uint8) for k in (0, 1))
    want = log_bayes_factor(prior, *squares(y, A, E), 2, N)
    # Of b, 1e-16 is rounding: eps is known to 1e-16 / eps.
    close = {"rel": 0, "abs": 1e-7 if eps > 1e-6 else 1e-6}
    assert single.log_marginal(both) - single.log_marginal(none) == pytest.approx(want, **close)
    evidence = evidence_of(regression)
    assert isinstance(evidence, RefittedEvidence) == (eps < 1e-3)
    values = evidence.values(np.array([none, both]))
    assert values[1] - values[0] == pytest.approx(want, **close)
    fit = rj.LinearSelection(y, x, coef_prior=prior, model_prior=rj.Uniform()).fit(rng=1)
    row = fit.models.set_index("size")["log_marginal"]
    assert row[2] - row[0] == pytest.approx(want, **close)
    # The coefficient of b is that of e divided by eps.
    of_e = rj.LinearSelection(y, np.column_stack([A, E]), coef_prior=prior, always=["x1", "x2"]).fit(rng=1)
    of_b = rj.LinearSelection(y, x, coef_prior=prior, always=["x1", "x2"]).fit(rng=1)
    one, other = (each.coefficients.loc["x2"] for each in (of_e, of_b))
    np.testing.assert_allclose(other[["mean", "sd"]] * eps, one[["mean", "sd"]], rtol=1e-7 + 1e-14 / eps)
    assert other["prob_positive"] == pytest.approx(one["prob_positive"], abs=1e-6)
    # Draws of the same seed are the same up to the basis; intervals are of 4,000.
    np.testing.assert_allclose(of_b.conf_int().loc["x2"] * eps, of_e.conf_int().loc["x2"], atol=0.1)


def test_walks_go_through_models_of_both_kinds():
    """Flips and changes against single models, among columns that are nearly and that are dependent."""
    rng = np.random.default_rng(5)
    x = rng.normal(size=(40, 7))
    x[:, 3] = x[:, 0] + 1e-6 * x[:, 4]
    x[:, 5] = x[:, 1] - x[:, 2]
    y = x[:, 4] + rng.normal(size=40)
    regression = GaussianRegression.build(x, y, [1] * 7, rj.GPrior("n"))
    evidence, single = evidence_of(regression), SingleModels(regression)
    gamma = ((np.arange(2**7)[:, None] >> np.arange(7)) & 1).astype(np.uint8)
    want = np.array([single.log_marginal(row) - regression.constant for row in gamma])
    np.testing.assert_allclose(evidence.values(gamma), want, rtol=0, atol=1e-9)
    assert np.isinf(want).sum() == 16 + 16 - 2  # those with columns 1, 2 and 5, or 0, 3 and 4
    for start in (0, 9, 17, 64, 6):
        found = evidence.changes_at(gamma[start])
        np.testing.assert_allclose(found, want[start ^ (1 << np.arange(7))] - want[start], rtol=0, atol=1e-8)
    at = 0
    evidence.values(gamma[:1])
    for j, value in zip(flips := rng.integers(0, 7, 300), evidence.walk(flips.astype(np.intc)), strict=True):
        if np.isinf(want[at ^ (1 << j)]):
            assert np.isnan(value)
            continue
        at ^= 1 << j
        assert value == pytest.approx(want[at], abs=1e-8)


@pytest.mark.parametrize(
    ("prior", "n"), [(prior, 40) for prior in PRIORS] + [(PRIORS[0], 12), (PRIORS[2], 12)], ids=repr
)
def test_walks_through_terms_of_several_columns(prior, n):
    """With weights and a prior of the variance: changes and flips are those of single models."""
    rng = np.random.default_rng(6)
    x = rng.normal(size=(n, 14))
    x[:, 3] = x[:, 0] + 1e-5 * x[:, 4]
    x[:, 6] = x[:, 5] + 1e-6 * x[:, 7]
    x[:, 9] = 1e6 + x[:, 2] + 1e-4 * x[:, 8]
    x[:, 11] = x[:, 10] - x[:, 12]
    y, weights = x[:, 4] + x[:, 7] + rng.normal(size=n), rng.uniform(0.5, 2, n)
    sizes = [1, 2, 3, 1, 2, 1, 2, 1, 1]
    regression = GaussianRegression.build(
        x, y, sizes, prior, weights=weights, sigma_prior=rj.InverseGamma(2, 1)
    )
    evidence, single = evidence_of(regression), SingleModels(regression)
    assert isinstance(evidence, RefittedEvidence)

    def value(gamma):
        return single.log_marginal(gamma) - regression.constant

    gamma, refused = np.zeros(9, np.uint8), 0
    for j in rng.integers(0, 9, 60):
        now = value(gamma)
        want = [value(gamma ^ (np.arange(9) == k)) - now for k in range(9)]
        np.testing.assert_allclose(evidence.changes_at(gamma), want, rtol=0, atol=1e-6)
        (found,) = evidence.walk(np.array([j], np.intc))
        refused += np.isnan(found)
        if np.isfinite(want[j]):
            assert found == pytest.approx(now + want[j], abs=1e-6)
            gamma[j] ^= 1
    assert refused


def test_neighbours_of_close_columns_are_cheap():
    """All from one decomposition: some .04 ms, where a refit of each takes 10 ms."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(200, 31))
    x[:, 1] = x[:, 0] + 1e-5 * x[:, 1]
    evidence = evidence_of(GaussianRegression.build(x, rng.normal(size=200), [1] * 31, rj.GPrior("n")))
    gamma = (np.arange(31) < 8).astype(np.uint8)
    before = time.process_time()
    for _ in range(50):
        evidence.changes_at(gamma)
    assert time.process_time() - before < 0.1


@pytest.mark.parametrize("sampler", ["collapsed", "gibbs"])
def test_chains_agree_with_enumeration(sampler):
    frame = pd.DataFrame({"a": A, "b": A + 1e-6 * E, "c": np.cos(np.arange(N)), "y": 0.53 * E + Z})
    model = rj.linear("y ~ a + b + c", frame)
    exact = model.fit(rng=1).inclusion["posterior"]
    assert 0.2 < exact["b"] < 0.8
    found = model.fit(sampler=sampler, draws=400, rng=1).inclusion
    # By the errors that chains state, at 4 of them for three probabilities.
    assert (np.abs(found["posterior"] - exact) < 4 * found["mcse"] + 1e-3).all()


def test_an_error_of_a_refit_reaches_the_caller():
    def fail(gamma):
        raise MemoryError("no rows")

    x = np.column_stack([A, A + 1e-6 * E])
    regression = GaussianRegression.build(x, E, [1, 1], rj.GPrior("n"))
    inner = ConjugateEvidence(
        score_of(regression, 2), provider_of(regression), regression.right, regression.starts, rank_tol=1e-7
    )
    rows, rounding = regression.triangle, regression.rounding
    # All that is left is too little.
    evidence = RefittedEvidence(2, inner, rows, rounding, regression.starts, 0.0, 0.0, fail)
    assert np.isfinite(evidence.values(np.array([[1, 0]], dtype=np.uint8)))
    with pytest.raises(MemoryError, match="no rows"):
        evidence.values(np.array([[1, 1]], dtype=np.uint8))


@pytest.mark.parametrize("noise", [1e-3, 1e-4, 1e-5, 1e-6, 1e-7])
@pytest.mark.parametrize("prior", PRIORS, ids=repr)
def test_fits_that_leave_little_of_the_response(prior, noise):
    x = np.random.default_rng(3).normal(size=(N, 3))
    y = x[:, 0] + noise * E
    fit = rj.LinearSelection(y, x, coef_prior=prior, model_prior=rj.Uniform()).fit(rng=1)
    total = squares(y, x[:, 0])[0]
    want = {}
    for which in ((0,), (0, 1), (0, 2), (0, 1, 2)):
        # The residual given x1 is that of the noise, as far as the noise is known: to 1e-16 / noise.
        left = noise**2 * squares((y - x[:, 0]) / noise, *x[:, list(which)].T)[1]
        want[len(which), which] = log_bayes_factor(prior, total, left, len(which), N)
    found = fit.models.head(4)
    got = sorted(found["log_marginal"] - found["log_marginal"].max())
    expected = np.array(sorted(want.values()))
    np.testing.assert_allclose(got, expected - expected.max(), rtol=0, atol=1e-7 + N * 1e-15 / noise)
    if isinstance(prior, rj.BIC | rj.ZellnerSiow):
        # RSS over 55 to 57 where the sample's deviation has 60 and one mean: 5 % more at most.
        assert np.sqrt(fit.nuisance.loc["variance", "mean"]) == pytest.approx(noise * E.std(), rel=0.06)


def test_weights_of_bic_with_small_noise():
    """Extended precision (Gram-Schmidt in 80 bits) gives 1, .1293 and .1239 for each size of the noise."""
    rng = np.random.default_rng(26)
    x, e = rng.normal(size=(50, 3)), rng.normal(size=50)
    for noise in (1e-4, 1e-5, 1e-6, 1e-7):
        frame = pd.DataFrame(x, columns=list("abc")).assign(y=x[:, 0] + noise * e)
        fit = rj.linear("y ~ a + b + c", frame, coef_prior=rj.BIC(), model_prior=rj.Uniform()).fit(rng=1)
        np.testing.assert_allclose(fit.inclusion["posterior"], [1, 0.1293, 0.1239], atol=5e-5)


def test_a_perfect_fit_is_still_refused():
    frame = pd.DataFrame({"a": A, "c": E, "y": 3 * A - 0.1 * E + 7})
    with pytest.raises(rj.DataError, match=r"perfectly \(R\^2 = 1\)"):
        rj.linear("y ~ a + c", frame, coef_prior=rj.BIC())


YEAR = np.linspace(1990, 2024, 70)
CENTURY = (YEAR - 2007) / 17


@pytest.mark.parametrize("heredity", [None, "strong"])
def test_powers_of_calendar_years(heredity):
    """Cubics of years are those of decades: marginal likelihoods by Legendre polynomials."""
    y = 4 * CENTURY**3 - 3 * CENTURY + 0.5 * np.random.default_rng(27).normal(size=70)
    frame = pd.DataFrame({"year": YEAR, "y": y})
    basis = legendre.legvander(CENTURY, 3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = rj.linear("y ~ poly(year, 3)", frame, heredity=heredity, model_prior=rj.Uniform())
    models = model.fit(rng=1).models.set_index("terms")["log_marginal"]
    want = [log_bayes_factor(rj.GPrior("n"), *squares(y, *basis.T[1 : k + 1]), k, 70) for k in (1, 2, 3)]
    found = [model.fit(rng=1).single_model(list(model.term_names[:k])) for k in (1, 2, 3)]
    null = model.fit(rng=1).single_model([])
    for each, value in zip(found, want, strict=True):
        # Cubes are rounded to 1e-16 of values of which 6e-6 are left.
        assert each.log_marginal - null.log_marginal == pytest.approx(value, abs=1e-6)
    assert len(models) == (4 if heredity else 8)
    assert models.max() == pytest.approx(found[-1].log_marginal, abs=1e-9)


def test_sums_alone_refuse_and_say_why():
    frame = pd.DataFrame({"year": YEAR, "y": CENTURY**3 + 0.1 * np.random.default_rng(27).normal(size=70)})
    with pytest.warns(
        rj.RankWarning, match=r"less than 1e-5 of their length.*year are nearly dependent.*center"
    ):
        model = rj.linear("y ~ poly(year, 3)", [frame.iloc[:40], frame.iloc[40:]])
    assert np.isinf(model.fit(rng=1).models["log_marginal"]).any()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rj.linear("y ~ center(year) + I(center(year)**2) + I(center(year)**3)", frame)


def test_a_fifth_power_of_years_is_dependent_and_centring_is_offered():
    frame = pd.DataFrame({"year": YEAR, "y": CENTURY**3})
    with pytest.warns(rj.RankWarning, match=r"Powers and products of year .* use center\(\)"):
        rj.linear("y ~ poly(year, 5)", frame.assign(y=frame["y"] + np.cos(np.arange(70))))

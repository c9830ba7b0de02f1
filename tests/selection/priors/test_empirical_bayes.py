"""Empirical Bayes with the information of the null model, and with one g for all models.

References maximise their own marginal likelihoods: of plain numpy, of quadrature, of statsmodels' maxima by
the formulas of Li and Clyde (2018), and of R^2 by those of Liang et al. (2008).
"""

from itertools import combinations
from math import comb

import numpy as np
import pandas as pd
import pytest
from g_kit import Reference, data, enumerated, maximum, problem
from scipy.optimize import minimize_scalar
from scipy.special import logsumexp

import pyrjsel as rj
from pyrjsel.selection.evidence.laplace import MarginalLikelihood

NULL = {"information": "null"}


def best(value, low, high):
    """Return the maximum of a function of log g, and where it is."""
    grid = np.arange(low, high)
    top = grid[np.argmax([value(t) for t in grid])]
    found = minimize_scalar(
        lambda t: -value(t), bounds=(top - 1, top + 1), method="bounded", options={"xatol": 1e-10}
    )
    return -found.fun, found.x


def sets(p):
    return [chosen for size in range(p + 1) for chosen in combinations(range(p), size)]


def log_prior(chosen, p):
    """Of the default prior, uniform over sizes."""
    return -np.log((p + 1) * comb(p, len(chosen)))


def maximise_laplace(setting):
    family, effect, seed = setting
    kind, y, x, w, shift, given = problem(family, seed, p=4, effect=effect, weighted=True, offset=True)
    model = kind(y, x, coef_prior=rj.EmpiricalBayes(**NULL), **given)
    marginal = MarginalLikelihood(model.regression, bytes(16), 64, 5)
    found, want = [], []
    for size in (0, 1, 2, 4):
        marginal.mode(np.arange(4) < size)
        found.append(marginal.finder.log_marginal)
        one = Reference(family, y, x.iloc[:, :size].to_numpy(), w, shift)
        want.append(best(one.at, -14.0, 14.0)[0] if size else one.at(0.0))
    return np.array(found), np.array(want)


@pytest.mark.parametrize(
    "setting",
    [("binomial", 0.0, 5), ("binomial", 0.7, 5), ("poisson", 2.0, 5), ("poisson", 0.1, 7)],
    ids=repr,
)
def test_local_g_maximises_laplace_values(setting):
    """With effects, with none (g is 0, to 1e-9 n here) and with a weak one."""
    found, want = maximise_laplace(setting)
    # Modes are found to a Newton decrement of 1e-10, and 1e-8 is what g of 1e-6 instead of 0 costs.
    np.testing.assert_allclose(found - found[0], want - want[0], atol=1e-7)


@pytest.mark.parametrize("family", ["binomial", "poisson"])
def test_local_integrals_are_the_maxima_of_quadrature(family):
    kind, y, x, w, shift, given = problem(family, 6, weighted=True, offset=family == "poisson")
    results, found = enumerated(kind(y, x, coef_prior=rj.EmpiricalBayes(**NULL), **given), pairs=4096, rng=1)
    names = list(x)
    null = Reference(family, y, x.iloc[:, :0].to_numpy(), w, shift).at(0.0, nodes=40)
    for chosen in ((0,), (0, 1), (2,)):
        one = Reference(family, y, x.iloc[:, list(chosen)].to_numpy(), w, shift)
        want = best(lambda t, one=one: one.at(t, nodes=16), -9.0, 9.0)[0] - null
        # At Laplace's maximum instead of its own, an integral is 2e-5 below; integrals have errors of 2e-4,
        # and null models of no weight, which are not integrated, one of 1e-3.
        assert found[frozenset(names[k] for k in chosen)] == pytest.approx(want, abs=0.004)
    assert np.nanmax(results.posterior.inclusion_mcse) > 0


def test_local_g_in_chains_and_in_other_families():
    table, options = data("logit")
    prior = rj.EmpiricalBayes(**NULL)
    model = rj.logit("y ~ a + b + C(level)", table, coef_prior=prior, **options)
    exact = model.fit(sampler="enumerate", rng=1).posterior.inclusion
    found = model.fit(sampler="collapsed", draws=2000, rng=5).posterior
    # |z| < 5.5 in 3 comparisons: 2e-7.
    assert np.abs((found.inclusion - exact) / np.maximum(found.inclusion_mcse, 1e-4)).max() < 5.5
    with pytest.raises(rj.NotAvailableError, match="sampler='collapsed'"):
        model.fit(sampler="rjmcmc")
    # With one class against another, a multinomial model is a logistic one.
    table["y"] = (table["y"] > 0.5).astype(int)
    one = rj.logit("y ~ a + b", table, coef_prior=prior).fit(integration="laplace")
    other = rj.multinomial("C(y) ~ a + b", table, coef_prior=prior).fit(integration="laplace")
    np.testing.assert_allclose(one.posterior.inclusion, other.posterior.inclusion, rtol=1e-6)


# ---------------------------------------------------------------------- one g for all models


def test_global_g_of_linear_models():
    hald = rj.datasets.hald().data
    model = rj.linear("y ~ x1 + x2 + x3 + x4", hald, coef_prior=rj.EmpiricalBayes("global"))
    y, x, n = hald["y"].to_numpy(), hald[["x1", "x2", "x3", "x4"]].to_numpy(), len(hald)
    left = {}
    for chosen in sets(4):
        z = np.column_stack([np.ones(n), x[:, list(chosen)]])
        rest = y - z @ np.linalg.lstsq(z, y, rcond=None)[0]
        left[chosen] = rest @ rest / ((y - y.mean()) @ (y - y.mean()))

    def total(t):
        g = np.exp(t)
        return logsumexp(
            [
                0.5 * (n - 1 - len(k)) * np.log1p(g) - 0.5 * (n - 1) * np.log1p(g * r) + log_prior(k, 4)
                for k, r in left.items()
            ]
        )

    # Sums of 15 digits are flat within 3e-8 of the maximum.
    assert np.log(model.g) == pytest.approx(best(total, -3.0, 12.0)[1], abs=1e-6)
    known = rj.linear("y ~ x1 + x2 + x3 + x4", hald, coef_prior=rj.GPrior(model.g))
    found, same = model.fit(rng=1), known.fit(rng=1)
    pd.testing.assert_frame_equal(found.coefficients, same.coefficients)
    assert "Common g" in str(found.summary())
    # The posterior is one: reversible jumps have it too.
    jumps = model.fit(sampler="rjmcmc", draws=2000, rng=1).posterior
    # |z| < 5.5 in 4 comparisons: 2e-7.
    assert np.abs((jumps.inclusion - found.posterior.inclusion) / jumps.inclusion_mcse).max() < 5.5


@pytest.mark.parametrize("family", ["logit", "poisson"])
def test_global_g_of_the_observed_information(family):
    table, options = data(family)
    make = {"logit": rj.logit, "poisson": rj.poisson}[family]
    model = make("y ~ a + b + C(level)", table, coef_prior=rj.EmpiricalBayes("global"), **options)
    columns = [[table["a"]], [table["b"]], [(table["level"] == level).astype(float) for level in ("q", "r")]]
    parts = []
    for chosen in sets(3):
        likelihood, j, s, slopes = maximum(table, family, [x for k in chosen for x in columns[k]])
        fixed = likelihood - 0.5 * np.log(j) + log_prior(chosen, 3)
        parts.append((fixed, len(slopes), slopes @ s @ slopes))

    def total(t):
        left = np.log1p(np.exp(t))
        return logsumexp([fixed - 0.5 * d * left - 0.5 * q * np.exp(-left) for fixed, d, q in parts])

    # statsmodels' maxima have errors of 1e-8.
    assert np.log(model.g) == pytest.approx(best(total, -3.0, 9.0)[1], abs=1e-6)
    same = make(
        "y ~ a + b + C(level)", table, coef_prior=rj.GPrior(model.g, information="observed"), **options
    )
    assert enumerated(model)[1] == enumerated(same)[1]


@pytest.mark.parametrize("family", ["binomial", "poisson"])
def test_global_g_of_the_null_information(family):
    kind, y, x, w, shift, given = problem(family, 6, weighted=True, offset=True)
    prior = rj.EmpiricalBayes("global", **NULL)
    model = kind(y, x, coef_prior=prior, model_prior=rj.Uniform(), **given)
    models = [Reference(family, y, x.iloc[:, list(k)].to_numpy(), w, shift) for k in sets(3)]
    # The sum of Laplace values, to the accuracy of modes.
    want = best(lambda t: logsumexp([one.at(t) for one in models]), -3.0, 9.0)[1]
    assert np.log(model.g) == pytest.approx(want, abs=1e-6)
    # And that of quadrature, from which Laplace's is 1.3e-3 (binomial) and 6e-5 away with sixty rows.
    models = [Reference(family, y, x.iloc[:, list(k)].to_numpy(), w, shift) for k in sets(3)]
    want = best(lambda t: logsumexp([one.at(t, nodes=7) for one in models]), 0.0, 5.0)[1]
    assert np.log(model.g) == pytest.approx(want, abs=3e-3)


def test_global_g_depends_on_constraints_and_is_saved(tmp_path):
    table, options = data("poisson")
    model = rj.poisson("y ~ a + b + C(level)", table, coef_prior=rj.EmpiricalBayes("global"), **options)
    small = rj.poisson("y ~ a", table, coef_prior=rj.EmpiricalBayes("global"), always="a", **options)
    local = rj.poisson("y ~ a", table, coef_prior=rj.EmpiricalBayes(), always="a", **options)
    # With one model, the two are the same.
    ours, theirs = (kind.fit(rng=1).posterior.log_marginal[0] for kind in (small, local))
    assert ours == pytest.approx(theirs, abs=1e-9)
    assert small.g != model.g
    assert model._restrict(["a"]).g != model.g
    results = model.fit(rng=1)
    results.save(tmp_path / "fit.rjs")
    alone, whole = rj.load(tmp_path / "fit.rjs"), rj.load(tmp_path / "fit.rjs", data=table)
    assert alone.model.coef_prior == whole.model.coef_prior == model.coef_prior
    assert alone.model.g == whole.model.g == model.g
    assert str(alone.summary()) == str(results.summary())


def test_global_g_without_effects_is_zero():
    rng = np.random.default_rng(4)
    table = pd.DataFrame(rng.standard_normal((300, 3)), columns=["a", "b", "y"])
    table["y"] -= table["a"] * (table["a"] @ table["y"]) / (table["a"] @ table["a"])
    results = rj.linear("y ~ a", table, coef_prior=rj.EmpiricalBayes("global")).fit()
    assert results.model.g < 1e-8
    # All models are the null model.
    assert results.posterior.inclusion == pytest.approx(0.5, abs=1e-6)
    text = str(results.summary())
    assert "The g of all models is at its bound, 0" in text
    assert results.model._priors()["common g"] == 0.0
    with_effect = table.assign(y=table["y"] + table["a"])
    found = rj.linear("y ~ a", with_effect, coef_prior=rj.EmpiricalBayes("global")).fit()
    assert "at its bound" not in str(found.summary())


def test_errors_of_global_g():
    rng = np.random.default_rng(1)
    wide = pd.DataFrame(rng.standard_normal((40, 16)), columns=[*"abcdefghijklmnoy"])
    wide["z"] = (wide["y"] > 0).astype(int)
    prior = rj.EmpiricalBayes("global")
    with pytest.raises(rj.NotAvailableError, match=r"EmpiricalBayes\('global'\).*at most 16,384"):
        rj.logit("z ~ " + " + ".join("abcdefghijklmno"), wide, coef_prior=prior)
    wide["exact"] = 2.0 * wide["y"]
    with pytest.raises(rj.DataError, match="increases without end in g"):
        rj.linear("y ~ a + exact", wide, coef_prior=prior)
    with pytest.raises(rj.NotAvailableError, match="rows in chunks"):
        rj.logit("z ~ a + b", [wide[:20], wide[20:]], coef_prior=prior)
    with pytest.raises(rj.ParameterError, match="'scope' parameter of EmpiricalBayes must be one of 'local'"):
        rj.EmpiricalBayes("all")
    with pytest.raises(rj.ParameterError, match="'information' parameter of EmpiricalBayes"):
        rj.EmpiricalBayes(information="unit")
    assert repr(rj.EmpiricalBayes("global", "null")) == "EmpiricalBayes(scope='global', information='null')"

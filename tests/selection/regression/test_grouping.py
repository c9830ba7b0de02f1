"""Equal rows of logistic and Poisson regressions are one row with a weight: nothing else changes."""

import numpy as np
import pandas as pd
import pytest

import pyrjsel as rj
from pyrjsel.selection.regression import glm as grouping
from pyrjsel.selection.regression.glm import equal_rows

N = 300


def make(kind, n=N):
    """Rows with 24 distinct values of the columns; `e` has three values, as an offset or a column."""
    rng = np.random.default_rng(8)
    table = pd.DataFrame({"a": rng.integers(0, 2, n), "b": rng.integers(0, 4, n) - 1.5})
    table["g"] = rng.choice(["p", "q", "r"], n)
    table["e"] = rng.choice([-0.0, 0.0, 0.5, 1.0], n)
    eta = -0.5 + 0.8 * table["a"] + 0.3 * table["b"] + table["e"]
    if kind == "logit":
        table["y"] = (rng.random(n) < 1 / (1 + np.exp(-eta))).astype(float)
        table["w"] = rng.integers(0, 4, n).astype(float)
        table["share"] = np.where(
            table["w"] > 0, rng.binomial(table["w"].astype(int), 0.4) / table["w"].clip(1), 0
        )
    else:
        table["y"] = rng.poisson(np.exp(eta)).astype(float)
        table["w"] = rng.integers(0, 4, n).astype(float)
        table["share"] = table["y"]
    return table


CASES = {
    "plain": ("y ~ a + b + g + a:g", {}),
    "offset": ("y ~ a + b + g", {"offset": "e"}),
    "weights": ("share ~ a + b + g", {"weights": "w"}),
    "both": ("share ~ a + C(b) + g", {"weights": "w", "offset": "e"}),
    "normal prior": ("y ~ a*b + g", {"coef_prior": rj.Normal(1.5)}),
    "flat intercept": ("y ~ a + b", {"coef_prior": rj.GPrior("n", intercept="flat")}),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
@pytest.mark.parametrize("kind", ["logit", "poisson"])
def test_nothing_changes(kind, case, monkeypatch):
    """All rows against collapsed ones, to rounding: 1e-8 is a thousand times that of the sums."""
    formula, options = case
    table, make_model = make(kind), getattr(rj, kind)
    collapsed = make_model(formula, table, **options)
    monkeypatch.setattr(grouping, "PAYS", np.inf)
    whole = make_model(formula, table, **options)
    assert whole.regression.y.size == N
    assert collapsed.regression.y.size <= 100
    assert collapsed.nobs == whole.nobs == N
    # The same draws for the integrals; `rng` seeds both alike.
    one, two = collapsed.fit(rng=3), whole.fit(rng=3)
    np.testing.assert_allclose(one.inclusion["posterior"], two.inclusion["posterior"], rtol=0, atol=1e-8)
    models = [run.models.sort_values("terms") for run in (one, two)]
    assert models[0]["terms"].tolist() == models[1]["terms"].tolist()
    for name in ("posterior", "log_marginal", "deviance"):
        np.testing.assert_allclose(models[0][name], models[1][name], rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(one.coefficients["mean"], two.coefficients["mean"], rtol=1e-6, atol=1e-8)
    text = [[line for line in str(run.summary()).split("\n") if "Run time" not in line] for run in (one, two)]
    assert text[0] == text[1]
    for which in ("bma", "hpm"):
        np.testing.assert_allclose(one.predict(which=which), two.predict(which=which), atol=1e-7)
    pd.testing.assert_index_equal(one.predict().index, table.index)


def test_deviances_are_of_the_rows_as_given():
    """Against statsmodels on all rows: the saturated model is that of the rows, not of their groups."""
    sm = pytest.importorskip("statsmodels.api")
    for kind, family in (("logit", sm.families.Binomial()), ("poisson", sm.families.Poisson())):
        table = make(kind)
        model = getattr(rj, kind)("y ~ a + b", table, offset="e")
        assert model.regression.y.size < N / 2
        models = model.fit(rng=1).models
        exog = sm.add_constant(table[["a", "b"]])
        wanted = sm.GLM(table["y"], exog, family=family, offset=table["e"]).fit().deviance
        found = models.loc[models["terms"].map(len) == 2, "deviance"]
        np.testing.assert_allclose(found, wanted, rtol=1e-9)


@pytest.mark.parametrize("sampler", ["rjmcmc", "population"])
def test_samplers_run_on_collapsed_rows(sampler):
    """Inclusion within 6 Monte Carlo errors of the exact value: false alarms below 1e-8 a term."""
    table = make("logit")
    model = rj.logit("y ~ a + b + g", table)
    exact = model.fit(rng=1, pairs=4096).inclusion["posterior"]
    found = model.fit(sampler=sampler, draws=4000, chains=2, rng=5).inclusion
    assert np.all((found["posterior"] - exact).abs() <= 6 * found["mcse"] + 1e-3)


def test_separation_is_seen():
    table = make("logit").assign(y=lambda rows: rows["a"].astype(float))
    model = rj.logit("y ~ a + b + g", table)
    assert model.regression.y.size < N / 2
    with pytest.warns(rj.SeparationWarning, match="separated, completely or partially, by a"):
        model.fit(rng=1)


@pytest.mark.parametrize(("repeats", "pays"), [(2, True), (1, False)])
def test_when_it_pays(repeats, pays):
    x = np.repeat(np.random.default_rng(1).normal(size=(20, 3)), repeats, axis=0)
    assert (equal_rows(x, None) is not None) == pays
    # One row more than half of them.
    assert equal_rows(np.vstack([x, x[:1] + 1]), None) is None


def test_rows_are_told_apart():
    rng = np.random.default_rng(2)
    x = rng.integers(-1, 2, (500, 4)).astype(float)
    x[x == 0] *= rng.choice([-1.0, 1.0], np.sum(x == 0))  # 0.0 and -0.0 are equal
    offset = rng.choice([0.0, 1e-300], 500)
    found = equal_rows(x, offset)
    rows = np.column_stack([x, offset]) + 0.0
    _, inverse = np.unique(rows, axis=0, return_inverse=True)
    assert found.first.size == inverse.max() + 1
    pairs = np.unique(np.column_stack([inverse.ravel(), found.codes]), axis=0)
    assert len(pairs) == found.first.size
    np.testing.assert_array_equal(rows[found.first][found.codes], rows)
    assert np.all(np.diff(found.first) > 0)
    w = rng.uniform(0, 2, 500)
    w[inverse.ravel() == 3] = 0.0
    mean, total = found.merge(x[:, 0] + offset, w)
    np.testing.assert_allclose(total, [w[found.codes == k].sum() for k in range(total.size)])
    kept = total > 0
    assert not kept.all()
    np.testing.assert_allclose(mean[kept], (x[:, 0] + offset)[found.first][kept], atol=1e-12)


def test_rows_of_one_hash_are_not_merged(monkeypatch):
    """With a hash that forgets nearly all, different rows look equal: then nothing is collapsed."""
    x = np.repeat([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], 10, axis=0)
    assert equal_rows(x, None).first.size == 3
    monkeypatch.setattr(grouping, "SPREAD", np.uint64(0))
    assert equal_rows(x, None) is None

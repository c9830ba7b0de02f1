"""Factors that are partly in: the posterior is that of their dummy columns given as variables."""

import numpy as np
import pandas as pd
import pytest

import pyrjsel as rj


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(5)
    n = 160
    table = pd.DataFrame({"x": rng.choice(list("abcd"), n), "z": rng.normal(size=n)})
    mean = 0.3 + 1.2 * (table["x"] == "c") + 0.4 * table["z"] * (table["x"] != "a")
    table["y"] = mean + rng.normal(size=n)
    table["event"] = rng.random(n) < 1 / (1 + np.exp(0.5 - mean))
    table["count"] = rng.poisson(np.exp(mean / 2))
    for level in "bcd":
        table[f"x_{level}"] = 1.0 * (table["x"] == level)
    return table


CASES = {
    "linear": (rj.linear, "y", {}),
    "logit": (rj.logit, "event", {"coef_prior": rj.HyperG(), "heredity": "strong", "max_size": 4}),
    "poisson": (rj.poisson, "count", {"heredity": "weak"}),
}
MERGED, DUMMIES = "C(x, merge=True) * z", "(x_b + x_c + x_d) * z"


@pytest.mark.parametrize("case", CASES)
def test_the_posterior_is_that_of_the_dummy_columns(frame, case, tmp_path):
    build, response, options = CASES[case]
    merged = build(f"{response} ~ {MERGED}", frame, **options)
    dummies = build(f"{response} ~ {DUMMIES}", frame, **options)
    one, other = merged.fit(sampler="enumerate", rng=1), dummies.fit(sampler="enumerate", rng=1)
    # The same columns in the same order: the same computation, bit for bit.
    assert list(merged.term_names) == ["x[b]", "x[c]", "x[d]", "z", "x[b]:z", "x[c]:z", "x[d]:z"]
    assert np.array_equal(one.inclusion["posterior"], other.inclusion["posterior"])
    assert np.array_equal(one.coefficients["mean"], other.coefficients["mean"])
    if case != "linear":
        return
    one.save(tmp_path / "fit.rjs")
    new = frame[["x", "z"]].iloc[:9]
    expected = other.predict(frame.iloc[:9])
    for results in (one, rj.load(tmp_path / "fit.rjs")):
        assert np.array_equal(results.predict(new), expected)


def test_a_column_is_paid_once_and_a_level_may_have_its_own_cost(frame):
    formula = "y ~ C(x, merge=True) + z"
    models = rj.linear(formula, frame, costs={"x": 2, "z": 1}, budget=2)
    table = models.fit(rng=1).models
    # All levels for the price of the column, or z alone: 2**3 + 1 models.
    assert len(table) == 9
    costs = {frozenset(terms): cost for terms, cost in zip(table["terms"], table["cost"], strict=True)}
    assert costs[frozenset(["x[b]"])] == costs[frozenset(["x[b]", "x[c]", "x[d]"])] == 2
    priced = rj.linear(formula, frame, costs={"x": 2, "x[d]": 0.5, "z": 1}).fit(rng=1).models
    costs = {frozenset(terms): cost for terms, cost in zip(priced["terms"], priced["cost"], strict=True)}
    assert costs[frozenset(["x[d]"])] == 0.5
    assert costs[frozenset(["x[b]", "x[c]", "x[d]"])] == 2.5


def test_models_of_some_levels_and_models_from_chunks(frame):
    formula = "y ~ C(x, merge=True) + z"
    whole = rj.linear(formula, frame, always=["x[c]"]).fit(rng=1)
    assert whole.inclusion.loc["x[c]", "posterior"] == 1.0
    chunks = rj.linear(formula, [frame[:70], frame[70:]], always=["x[c]"]).fit(rng=1)
    # Sums over chunks add in another order.
    assert np.allclose(chunks.inclusion["posterior"], whole.inclusion["posterior"], rtol=1e-9)

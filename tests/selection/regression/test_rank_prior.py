"""Prior inclusion probabilities and Bayes factors where g-priors leave out models of dependent columns."""

import warnings
from itertools import product
from math import comb

import numpy as np
import pandas as pd
import pytest

import pyrjsel as rj
from pyrjsel.selection.regression.columns import IndependentColumns

QUICK = {"draws": 300, "burn_in": 100, "chains": 2, "rng": 1, "progress": False, "n_jobs": 1}


def make(kind, formula, frame, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rj.RankWarning)
        return kind(formula, frame, **options)


def fit(model, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rj.ConvergenceWarning)
        return model.fit(**options)


def wide(n=6, p=10):
    """More columns than rows, as in the report of a user."""
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(rng.normal(size=(n, p)), columns=[f"x{j}" for j in range(p)])
    frame["y"] = frame["x0"] + rng.normal(size=n)
    return frame


def tangled(n=40):
    """A double, a sum, a constant, and a factor that another one of more levels determines."""
    rng = np.random.default_rng(2)
    frame = pd.DataFrame({"x": rng.normal(size=n), "z": rng.normal(size=n)})
    frame["x2"], frame["s"], frame["one"] = 2 * frame["x"], frame["x"] - frame["z"], 3.0
    frame["f"] = rng.choice(list("abcd"), size=n)
    frame["g"] = np.where(frame["f"].isin(["a", "b"]), "u", "v")
    frame["w"] = rng.normal(size=n)
    frame["y"] = frame["x"] + rng.normal(size=n)
    frame["b"] = (frame["y"] > 0).astype(float)
    frame["k"] = rng.integers(1, 4, size=n)
    return frame


TANGLED = " ~ x + z + x2 + s + one + f + g + w"


def rank_says(model, weights=None):
    """All models, and whether numpy finds their columns, with the intercept, independent."""
    x, space = model.data.X, model.space
    root = np.ones(len(x)) if weights is None else np.sqrt(weights)
    owner = np.repeat(np.arange(space.n_terms), space.columns)
    gamma = np.array(list(product([0, 1], repeat=space.n_terms)), dtype=np.uint8)
    gamma = gamma[space.feasible(gamma)]
    good = []
    for row in gamma:
        columns = np.column_stack([np.ones(len(x)), x[:, row[owner] == 1]]) * root[:, None]
        good.append(np.linalg.matrix_rank(columns, tol=1e-8) == columns.shape[1])
    return gamma, np.array(good)


def by_hand(model, weights=None):
    gamma, good = rank_says(model, weights)
    weight = np.exp(model.space.log_prior(gamma[good]))
    return int(good.sum()), weight @ gamma[good] / weight.sum()


CASES = {
    "wide": lambda: make(rj.linear, "y ~ .", wide()),
    "wide, some always": lambda: make(rj.linear, "y ~ .", wide(), always=["x2", "x3"], max_size=6),
    "tangled": lambda: make(rj.linear, "y" + TANGLED, tangled(), model_prior=rj.TruncatedPoisson(3)),
    "always": lambda: make(rj.linear, "y" + TANGLED, tangled(), always="x2"),
    "weights": lambda: make(rj.linear, "y" + TANGLED, tangled(), weights="k", coef_prior=rj.HyperG(3)),
    "heredity": lambda: make(
        rj.linear, "y ~ (x + z + x2)**2 + w", tangled(), heredity="strong", model_prior=rj.Uniform()
    ),
    "logit": lambda: make(rj.logit, "b" + TANGLED, tangled(), model_prior=rj.Uniform()),
    "poisson": lambda: make(rj.poisson, "k ~ x + x2 + z + f + g", tangled()),
}


@pytest.mark.parametrize("case", CASES)
def test_prior_is_over_the_models_that_exist(case):
    """Of the model itself, in tables after enumeration and sampling: by brute force and numpy's ranks."""
    model = CASES[case]()
    weights = model.data.extras.get("weights")
    count, expected = by_hand(model, weights)
    # Sums of at most 1,024 weights.
    close = {"rtol": 1e-12, "atol": 1e-14}
    assert model.prior_inclusion.method == "exact"
    assert model.prior_inclusion.n_models == count
    np.testing.assert_allclose(model.prior_inclusion.probability, expected, **close)
    whole = fit(model, sampler="enumerate", rng=1, progress=False)
    assert np.isfinite(whole.posterior.log_marginal).sum() == count
    table = whole.inclusion
    np.testing.assert_allclose(table["prior"], expected, **close)
    assert (whole.prior_inclusion.mcse == 0).all()
    known = (expected > 0) & (expected < 1)
    odds = table["posterior"] / (1 - table["posterior"]) * (1 - expected) / expected
    np.testing.assert_allclose(table["bayes_factor"][known], odds[known], rtol=1e-9)
    assert table["bayes_factor"][~known].isna().all()
    text = " ".join(str(whole.summary()).split())
    assert f"Feasible models: {count:,} " in text
    assert f"of {model.count_models():,} models have linearly dependent columns: prior" in text
    assert f"over the other {count:,}." in text
    sampled = fit(model, sampler="rjmcmc" if case == "poisson" else "collapsed", **QUICK)
    np.testing.assert_allclose(sampled.inclusion["prior"], expected, **close)
    assert f"Feasible models: {count:,} " in " ".join(str(sampled.summary()).split())


def test_the_same_models_have_the_same_bayes_factors():
    """Models of more columns than rows allow do not exist, so that max_size changes nothing."""
    frame = wide()
    one = make(rj.linear, "y ~ .", frame).fit(progress=False).inclusion
    other = make(rj.linear, "y ~ .", frame, max_size=5).fit(progress=False).inclusion
    # Sums of different lists of models.
    pd.testing.assert_frame_equal(one, other, rtol=1e-12)
    assert one.loc["x0", "prior"] == pytest.approx(0.25, rel=1e-12)
    assert one.loc["x0", "bayes_factor"] == pytest.approx(2.40, abs=0.005)  # as reported, to three digits


def test_a_double_is_not_without_evidence():
    """Of x and 2x, models hold one: the prior is 1/4, and they share a Bayes factor."""
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(rng.normal(size=(30, 2)), columns=["x", "z"])
    frame["x2"] = 2 * frame["x"]
    frame["y"] = 2 * frame["x"] + rng.normal(size=30)
    table = make(rj.linear, "y ~ x + x2 + z", frame).fit(progress=False).inclusion
    # {}, three of one term, two of two: 1/4, 1/12 each, 1/12 each, over 2/3.
    np.testing.assert_allclose(table["prior"], [1 / 4, 1 / 4, 3 / 8], rtol=1e-12)
    # x or its double is next to certain: posterior odds of 1 for each of them, over prior odds of 1/3.
    assert table.loc["x", "bayes_factor"] == pytest.approx(3.0, rel=0.01)


def test_more_terms_than_rows_without_enumeration():
    """General position: up to N columns none is dependent, and the prior is that of a largest size."""
    frame = wide(15, 40)
    model = make(rj.linear, "y ~ .", frame)
    narrow = make(rj.linear, "y ~ .", frame, max_size=14)
    found = model.prior_inclusion
    np.testing.assert_allclose(found.probability, 7 / 40, rtol=1e-12)  # sizes 0 to 14 are alike
    np.testing.assert_array_equal(found.probability, narrow.prior_inclusion.probability)
    assert np.all(found.mcse < 2e-3 * found.probability)
    results = fit(model, sampler="collapsed", **QUICK)
    assert "estimated by sampling the prior" in " ".join(str(results.summary()).split())
    error, factor = results._inclusion["bayes_factor_mcse"], results.inclusion["bayes_factor"]
    assert (error[factor.notna()] > 0).all()


def test_factors_and_more_columns_than_rows():
    """Draws against brute force over sizes: single columns in general position, and what two factors take."""
    frame = wide(12, 20)
    frame["f"], frame["g"] = list("abcd") * 3, list("uvw") * 4
    model = make(rj.linear, "y ~ .", frame, model_prior=rj.Uniform())
    found = model.prior_inclusion

    # 11 columns at most; f takes three, g two.
    def ways(room):
        return sum(comb(20, k) for k in range(room + 1))

    def with_one(room):
        return sum(comb(19, k - 1) for k in range(1, room + 1))

    rooms = {(0, 0): 11, (1, 0): 8, (0, 1): 9, (1, 1): 6}
    whole = sum(ways(room) for room in rooms.values())
    f = (ways(8) + ways(6)) / whole
    g = (ways(9) + ways(6)) / whole
    x = sum(with_one(room) for room in rooms.values()) / whole
    expected = np.array([{"f": f, "g": g}.get(name, x) for name in model.term_names])
    assert found.method == "sampled"
    # 22 terms at 5 standard errors: a false alarm in 3e-4 of seeds (39 degrees); the seed is fixed.
    assert np.all(np.abs(found.probability - expected) <= 5 * found.mcse)
    assert np.all(found.mcse < 0.01)


@pytest.mark.parametrize("data", [False, True])
def test_saved_results_keep_the_prior(tmp_path, data):
    model = make(rj.linear, "y ~ .", wide(15, 30))
    for sampler in ("collapsed", "rjmcmc"):
        results = fit(model, sampler=sampler, **QUICK)
        results.save(tmp_path / "fit.rjs", data=data)
        again = rj.load(tmp_path / "fit.rjs")
        pd.testing.assert_frame_equal(again.inclusion, results.inclusion)
        assert str(again.summary()) == str(results.summary())
    small = fit(make(rj.linear, "y ~ .", wide()), sampler="enumerate", progress=False)
    small.save(tmp_path / "small.rjs", data=data)
    again = rj.load(tmp_path / "small.rjs")
    pd.testing.assert_frame_equal(again.inclusion, small.inclusion)
    assert str(again.summary()) == str(small.summary())


def test_groups_of_dependence():
    """Terms that no chain of dependences joins decide apart; together they decide as whole models do."""
    model = make(rj.linear, "y" + TANGLED, tangled())
    found = model._existence
    assert isinstance(found, IndependentColumns)
    names = [{model.term_names[j] for j in group} for group in found.groups]
    assert {frozenset(group) for group in names} == {
        frozenset({"x", "z", "x2", "s"}),
        frozenset({"one"}),
        frozenset({"f", "g"}),
    }
    gamma, good = rank_says(model)
    np.testing.assert_array_equal(found.exists(gamma), good)
    apart = np.ones(len(gamma), dtype=bool)
    for group in found.groups:
        part = np.zeros_like(gamma)
        part[:, group] = gamma[:, group]
        apart &= found.exists(part)
    np.testing.assert_array_equal(apart, good)
    assert found.most >= gamma[good].sum(axis=1).max()


def test_no_prior_without_a_model():
    frame = tangled()
    model = make(rj.linear, "y ~ x + x2 + z", frame, always=["x", "x2"])
    with pytest.raises(rj.DataError, match="No feasible model has linearly independent columns"):
        _ = model.prior_inclusion

"""Separated classes, dependent columns and more columns than rows: said, named, and handled as documented."""

import warnings

import numpy as np
import pandas as pd
import pytest

import pyrjsel as rj

N = 120


@pytest.fixture(scope="module")
def frame():
    """Columns that overlap (x, z), a copy and a sum of them, and classes that x and z explain in part."""
    rng = np.random.default_rng(21)
    data = pd.DataFrame(rng.normal(size=(N, 2)), columns=["x", "z"])
    eta = data["x"] - 0.7 * data["z"]
    data["y"] = (rng.random(N) < 1 / (1 + np.exp(-eta))).astype(int)
    return data.assign(copy=data["x"], total=2 * data["x"] - data["z"] + 1, constant=3.5)


def fit(model, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rj.ConvergenceWarning)
        return model.fit(**{"rng": 1, "progress": False, **options})


def dependent_model(formula, data, **options):
    with pytest.warns(rj.RankWarning) as caught:
        model = rj.logit(formula, data, **options)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    return model, str(caught[0].message)


def probabilities(results):
    return {
        frozenset(terms): p
        for terms, p in zip(results.models["terms"], results.models["posterior"], strict=True)
    }


# --- linear dependence ------------------------------------------------------------------------------


SPLINES = [
    "cr(x, df=4, constraints=None)",
    "cc(x, df=4, constraints=None)",
    "te(cr(x, df=3), cr(z, df=3), constraints=None)",
    "bs(x, df=5, include_intercept=True)",
]


@pytest.mark.parametrize("maker", [rj.logit, rj.linear])
@pytest.mark.parametrize("term", SPLINES)
def test_a_spline_that_spans_the_intercept(frame, maker, term):
    """A column is left out, as the warning says; with the intercept the rest spans what all do."""
    with pytest.warns(rj.RankWarning, match=r"The column .* is left out") as caught:
        model = maker(f"y ~ {term}", frame)
    assert len(caught) == 1
    assert model.dependent == ()
    whole = maker(f"y ~ {term}", frame, coef_prior=rj.Normal(1)).data.X
    kept = model.data.X
    assert kept.shape[1] == whole.shape[1] - 1
    one = np.ones((len(kept), 1))
    assert np.linalg.matrix_rank(np.hstack([one, kept])) == kept.shape[1] + 1
    assert np.linalg.matrix_rank(np.hstack([one, kept, whole])) == kept.shape[1] + 1
    assert np.isfinite(fit(model, sampler="enumerate").models["log_marginal"]).all()


def test_a_factor_with_a_level_of_weight_0(frame):
    """Its column is left out; the rest is as without the rows of that level."""
    data = frame.assign(c=[*"abc"] * (N // 3))
    used = data["c"] != "c"
    model, message = dependent_model("y ~ x + c", data, weights=used.astype(float))
    assert "The column 'c[T.c]' of c is left out" in message
    assert model.dependent == rj.logit("y ~ x + c", data[used]).dependent == ()
    assert model.design.column_names == ("x", "c[T.b]")


def test_a_spline_beside_its_own_variable(frame):
    """It spans the variable: no model holds both, but either may be in, and the summary lists no others."""
    model, message = dependent_model("y ~ z + x + bs(x, df=4)", frame)
    assert "in 2 of 3 terms: x, bs(x, df=4)." in message
    assert "left out" not in message
    results = fit(model, sampler="enumerate")
    assert results.nobs == model.nobs == N
    assert len(results.models) == 8
    text = str(results.summary())
    assert "Models: the best 6 of 8 enumerated" in text
    assert "inf" not in text.replace("information", "")


@pytest.mark.parametrize(
    ("formula", "named", "deficient"),
    [
        ("y ~ x + z + copy", ("x", "copy"), {"x", "copy"}),
        ("y ~ x + z + total", ("x", "z", "total"), {"x", "z", "total"}),
        ("y ~ x + z + constant", ("constant",), {"constant"}),
    ],
    ids=["duplicate", "sum", "constant"],
)
def test_dependent_columns_under_a_g_prior(frame, formula, named, deficient):
    """The warning names the terms; models that hold them all have posterior exactly 0, in both samplers."""
    model, message = dependent_model(formula, frame)
    assert f"in {len(named)} of 3 terms: {', '.join(named)}." in message
    assert "posterior probability 0" in message
    assert "Normal" in message
    exact = fit(model)
    everything = probabilities(exact)
    assert len(everything) == 8
    for terms, probability in everything.items():
        assert (probability == 0) == (deficient <= terms)
    assert sum(everything.values()) == pytest.approx(1)
    walked = fit(model, sampler="rjmcmc", draws=1500)
    visited = probabilities(walked)
    assert not any(deficient <= terms for terms in visited)
    # Against enumeration, at 7 standard errors: false alarms below 1e-9, seed fixed.
    for name, row in walked.inclusion.iterrows():
        gap = row["posterior"] - exact.inclusion.loc[name, "posterior"]
        assert abs(gap) <= 7 * np.nan_to_num(row["mcse"]) + 1e-12
    for results in (exact, walked):
        text = " ".join(str(results.summary()).split())
        assert (
            f"linearly dependent columns get prior and posterior probability 0 (terms: {', '.join(named)})"
            in text
        )
    text = " ".join(str(exact.summary()).split())
    count = sum(deficient <= terms for terms in everything)
    assert f"{count} of 8 models have linearly dependent columns: prior probabilities and Bayes" in text


@pytest.mark.parametrize("sampler", ["enumerate", "rjmcmc"])
def test_dependent_columns_under_a_normal_prior(frame, sampler):
    """No warning: the prior keeps the models proper, and every one of them has its probability."""
    model = rj.logit(
        "y ~ x + z + copy + constant", frame, coef_prior=rj.Normal(1.0), model_prior=rj.Uniform()
    )
    results = fit(model, sampler=sampler, draws=2500)
    found = probabilities(results)
    # Exchanging a column and its copy changes nothing.
    share = results.inclusion["posterior"]
    error = np.nan_to_num(results.inclusion["mcse"])
    assert abs(share["x"] - share["copy"]) < 7 * np.hypot(error[0], error[2]) + 1e-6
    assert found[frozenset({"x", "copy", "z"})] > 0.05
    assert "rest on the prior (terms: x, copy, constant)" in " ".join(str(results.summary()).split())
    # x with coefficient variance 2 where both copies are in: pulled less to zero than alone.
    assert results.predict().between(0, 1).all()


def test_copies_share_what_they_mean_under_a_normal_prior(frame):
    """A model with both copies is one with the sum of their coefficients, N(0, 2)."""
    twin = rj.logit("y ~ x + copy", frame, coef_prior=rj.Normal(1.0), always=["x", "copy"])
    alone = rj.logit("y ~ x", frame, coef_prior=rj.Normal(np.sqrt(2.0)), always="x")
    first, second = fit(twin, pairs=2000), fit(alone, pairs=2000)
    gap = first.models.loc[1, "log_marginal"] - second.models.loc[1, "log_marginal"]
    assert abs(gap) < 0.01  # importance sampling with 4,000 draws: relative errors below 0.2 %
    both = first.params["x"] + first.params["copy"]
    assert both == pytest.approx(second.params["x"], rel=0.01)


def test_duplicated_column_halves_in_two(frame):
    """Under the g-prior a column and its copy have the same posterior."""
    model, _ = dependent_model("y ~ x + z + copy", frame, model_prior=rj.Uniform())
    share = fit(model, integration="laplace").inclusion["posterior"]
    assert share["x"] == pytest.approx(share["copy"], rel=1e-9)  # the same numbers in another order
    assert share["x"] < 0.51


def test_factor_with_a_redundant_column(frame):
    """A factor whose levels follow from another factor."""
    region = np.array(list("abc"))[np.arange(N) % 3]
    data = frame.assign(region=region, coast=np.where(region == "a", "yes", "no"))
    model, message = dependent_model("y ~ x + region + coast", data)
    assert "2 of 3 terms: region, coast." in message
    found = probabilities(fit(model))
    assert all((p == 0) == ({"region", "coast"} <= terms) for terms, p in found.items())


def test_interaction_with_an_empty_cell(frame):
    """A cell without rows leaves a column of zeros."""
    first, second = np.array(list("ab"))[np.arange(N) % 2], np.array(list("uv"))[np.arange(N) // 2 % 2]
    second = np.where(first == "b", "u", second)
    model, message = dependent_model("y ~ f * s", frame.assign(f=first, s=second))
    assert "1 of 3 terms: f:s." in message
    found = probabilities(fit(model))
    assert all((p == 0) == ("f:s" in terms) for terms, p in found.items())


def test_weights_of_zero_can_make_columns_dependent(frame):
    """Only rows that count count."""
    data = frame.assign(almost=frame["x"].where(frame.index > 5, 0.0), w=(frame.index > 5).astype(float))
    model, message = dependent_model("y ~ x + almost", data, weights="w")
    assert "x, almost" in message
    free = rj.logit("y ~ x + almost", data)
    assert free.dependent == ()
    assert fit(model).models["posterior"].iloc[-1] == 0


def test_all_models_deficient(frame):
    model, _ = dependent_model("y ~ x + copy", frame, always=["x", "copy"])
    with pytest.raises(rj.DataError, match="linearly independent columns, as the g-prior needs"):
        fit(model)


def test_near_dependence_is_no_dependence(frame):
    """A correlation of 1 - 1e-6 is high, and leaves every model its prior."""
    noise = np.random.default_rng(1).normal(size=N)
    model = rj.logit("y ~ x + near", frame.assign(near=frame["x"] + 1e-3 * noise))
    assert model.dependent == ()
    assert (fit(model).models["posterior"] > 0).all()


# --- more columns than rows ---------------------------------------------------------------------------


@pytest.fixture(scope="module")
def short():
    """Twelve rows and thirteen columns."""
    rng = np.random.default_rng(5)
    x = pd.DataFrame(rng.normal(size=(12, 13))).add_prefix("x")
    return x.assign(y=[0, 1] * 6)


def test_columns_that_are_equal_in_many_equal_rows():
    """There are more columns than different rows, less one; but the rows are many."""
    data = pd.DataFrame({"y": [0, 1, 1] * 20, "flag": [True, False] * 30})
    with pytest.warns(rj.RankWarning, match=r"dependent, .* in 2 of 2 terms: C\(flag\), flag"):
        rj.logit("y ~ C(flag) + flag", data)


def test_more_columns_than_rows_under_a_g_prior(short):
    """Models of at most n - 1 columns beside the intercept have a g-prior."""
    with pytest.warns(rj.RankWarning, match="13 columns and 12 rows: models of more than 11 columns"):
        model = rj.logit("y ~ .", short)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rj.SeparationWarning)
        exact = fit(model, sampler="enumerate", integration="laplace")
        walked = fit(model, sampler="rjmcmc", draws=300)
    posterior = exact.posterior
    sizes = posterior.gamma.sum(axis=1)
    assert len(sizes) == 2**13
    assert (posterior.probability[sizes > 11] == 0).all()
    assert (posterior.probability[sizes <= 11] > 0).all()
    assert walked.draws.size.max() <= 11


def test_more_columns_than_rows_under_a_normal_prior(short):
    model = rj.logit("y ~ .", short, coef_prior=rj.Normal(0.3), model_prior=rj.Uniform())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rj.SeparationWarning)
        results = fit(model, sampler="rjmcmc", draws=300)
    assert results.draws.size.max() > 11
    assert results.predict().between(0, 1).all()


# --- separation -----------------------------------------------------------------------------------------


def separated_fit(model, **options):
    with pytest.warns(rj.SeparationWarning) as caught:
        results = fit(model, **options)
    assert len(caught) == 1
    return results, str(caught[0].message)


@pytest.fixture(scope="module")
def apart(frame):
    """Data with a column that tells the classes apart, and one that overlaps."""
    rng = np.random.default_rng(9)
    return frame.assign(gap=2 * frame["y"] - 1 + rng.uniform(-0.5, 0.5, N))[["y", "gap", "z"]]


@pytest.mark.parametrize("prior", [None, rj.Normal(2.0)], ids=["g-prior", "normal"])
@pytest.mark.parametrize("sampler", ["enumerate", "rjmcmc"])
def test_separated_classes(apart, prior, sampler):
    """Named in the warning and the summary; the model keeps its mass, and the prior keeps it finite."""
    model = rj.logit("y ~ gap + z", apart, coef_prior=prior)
    results, message = separated_fit(model, sampler=sampler, draws=500)
    assert "by gap in " in message
    assert "coefficient prior" in message
    assert set(results.separated) >= {("gap",), ("gap", "z")}
    assert set(results.separated.values()) == {("gap",)}
    assert results.inclusion.loc["gap", "posterior"] > 0.99
    assert np.isfinite(results.coefficients.to_numpy()).all()
    assert results.params["gap"] > 0
    separated = results.models[["gap" in terms for terms in results.models["terms"]]]
    np.testing.assert_allclose(separated["deviance"], 0, atol=1e-4)  # the limit of a perfect fit
    assert np.isfinite(results.models["log_marginal"]).all()
    text = " ".join(str(results.summary()).split())
    assert (
        "separated, completely or partially, by gap in the model gap: its posterior depends strongly" in text
    )


def test_only_terms_that_separate_are_named(apart):
    """Also where no smaller model is looked at."""
    results, message = separated_fit(rj.logit("y ~ gap + z", apart, always=["gap", "z"]))
    assert "by gap in the best model" in message
    assert results.separated == {("gap", "z"): ("gap",)}


def test_separation_warning_points_to_the_line_of_the_user(apart):
    model = rj.logit("y ~ gap + z", apart)
    with pytest.warns(rj.SeparationWarning) as caught:
        model.fit(rng=1, progress=False)
    assert [warning.filename for warning in caught] == [__file__]


def test_separation_through_an_empty_cell(frame):
    """No success at one level of a factor: separation in part."""
    level = np.array(list("abc"))[np.arange(N) % 3]
    y = frame["y"].where(level != "c", 0)
    model = rj.logit("y ~ z + g", frame.assign(g=level, y=y), always="g")
    results, message = separated_fit(model)
    assert "by g in " in message
    assert "completely or partially" in message
    assert results.separated[("g",)] == ("g",)
    assert results.params["g[T.c]"] < -1
    assert np.isfinite(results.params["g[T.c]"])


def test_separation_of_a_combination(frame):
    """Neither column separates alone, both together do."""
    rng = np.random.default_rng(2)
    x = rng.normal(size=(N, 2))
    y = (x[:, 0] + x[:, 1] > 0).astype(int)
    x[:, 0] += np.where(y == 1, 0.05, -0.05)
    data = pd.DataFrame(x, columns=["a", "b"]).assign(y=y)
    results, message = separated_fit(rj.logit("y ~ a + b", data))
    assert "by a, b in the best model" in message
    assert results.separated == {("a", "b"): ("a", "b")}


def test_grouped_rows_that_overlap_are_not_separated():
    """Proportions strictly between 0 and 1 overlap by themselves; with 0 and 1 alone they need not."""
    x = np.linspace(-2, 2, 9)
    y = np.where(x < 0, 0.0, 1.0)
    trials = np.full(9, 5.0)
    results, _ = separated_fit(rj.logit("y ~ x", pd.DataFrame({"x": x, "y": y}), weights=trials))
    assert results.separated == {("x",): ("x",)}
    y[4] = 0.4
    mixed = y.copy()
    mixed[[0, 8]] = 0.2, 0.8
    assert fit(rj.logit("y ~ x", pd.DataFrame({"x": x, "y": mixed}), weights=trials)).separated == {}
    nearly = np.where(x < 0, 1e-8, 1 - 1e-8)  # predictors of 18 fit this best, and no more
    assert fit(rj.logit("y ~ x", pd.DataFrame({"x": x, "y": nearly}), weights=trials)).separated == {}


def test_rows_without_weight_do_not_overlap(apart):
    """A row on the wrong side counts only if its weight does."""
    data = apart.copy()
    data.loc[0, "gap"] = -3.0 if data.loc[0, "y"] == 1 else 3.0
    assert ("gap",) not in fit(rj.logit("y ~ gap", data)).separated
    without = (data.index > 0).astype(float)
    results, _ = separated_fit(rj.logit("y ~ gap", data, weights=without))
    assert ("gap",) in results.separated


def test_large_predictors_are_not_separation(frame):
    """An offset, or one far row, gives large linear predictors, and the classes overlap all the same."""
    far = frame.assign(o=30.0 * frame["y"] - 15.0 + 20 * (frame.index % 2) * (1 - 2 * frame["y"]))
    assert fit(rj.logit("y ~ x", far, offset="o")).separated == {}
    outlier = frame.copy()
    outlier.loc[0, "x"] = 1e4
    assert fit(rj.logit("y ~ x + z", outlier)).separated == {}


def test_many_separated_models_are_summed_up(frame):
    rng = np.random.default_rng(4)
    gap = 2 * frame["y"] - 1
    data = pd.DataFrame({f"s{k}": gap + rng.uniform(-0.5, 0.5, N) for k in range(4)}).assign(y=frame["y"])
    results, message = separated_fit(rj.logit("y ~ .", data, coef_prior=rj.Normal(1.0)))
    assert len(results.separated) > 3
    text = " ".join(str(results.summary()).split())
    assert text.count("The classes are separated") == 3
    assert f"The same holds for {len(results.separated) - 3} more of the best models." in text
    assert "s0, s1, s2, s3" in message or "by s" in message

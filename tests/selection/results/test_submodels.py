"""Rows with missing inputs are averaged over the models that need only what they have."""

import pickle
import warnings
from itertools import product

import numpy as np
import pandas as pd
import pytest

import pyrjsel as rj
from pyrjsel.selection.results.measured import submodels
from pyrjsel.selection.results.measured.needs import fit_again

NAMES = list("abcdef")
ROWS, PATTERNS = 120, 100


def make_data(seed, rows=ROWS):
    """Six columns with weak effects, so that few models have little mass; their correlation is 0.3."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(rows, 6)) + np.sqrt(0.3 / 0.7) * rng.normal(size=(rows, 1))
    eta = x @ [0.35, 0.25, 0.15, 0.0, 0.0, -0.2]
    frame = pd.DataFrame(x, columns=NAMES)
    frame["linear"] = eta + rng.normal(size=rows)
    frame["logit"] = (rng.logistic(size=rows) < eta).astype(int)
    frame["poisson"] = rng.poisson(np.exp(0.5 * eta))
    frame["cox"] = rng.exponential(np.exp(-eta))
    frame["gamma"] = rng.gamma(2.0, np.exp(0.5 * eta) / 2.0)
    frame["negbin"] = rng.negative_binomial(3, 3 / (3 + np.exp(0.5 * eta)))
    frame["multinomial"] = np.array(["a", "b", "c"])[np.digitize(eta + rng.logistic(size=rows), [-1, 1])]
    return frame


@pytest.fixture(scope="module")
def data():
    return make_data(1)


def with_gaps(count, seed):
    """Rows with as many random patterns of missing values, each of at least one column."""
    rng = np.random.default_rng(seed)
    new = make_data(seed + 100, count)[NAMES]
    gone = rng.random((count, 6)) < rng.uniform(0.1, 0.9, (count, 1))
    gone[np.arange(count), rng.integers(6, size=count)] = True
    return new.mask(gone)


def model_of(name, terms, data, **options):
    more = {"event": None} if name == "cox" else {}
    make = getattr(rj, name)
    return make(f"{name} ~ {' + '.join(terms) or '1'}", data, model_prior=rj.Uniform(), **more, **options)


def fitted(name, terms, data, **options):
    return model_of(name, terms, data, **options).fit(rng=1, progress=False)


PRIORS = {
    "g": rj.GPrior(60.0),
    "hyper-g": rj.HyperG(3.0),
    "normal": rj.Normal(0.7),
    "unscaled": rj.Normal(0.7, scaled=False),
    "empirical": rj.EmpiricalBayes("local"),
}


@pytest.mark.parametrize("prior", PRIORS)
def test_linear_models_equal_fits_of_the_observed_terms(prior, data):
    """Over 100 patterns, to 1e-10 of the response, whose sd is 1; no false alarms."""
    results, new = fitted("linear", NAMES, data, coef_prior=PRIORS[prior]), with_gaps(PATTERNS, 2)
    frame = results.get_prediction(new, incomplete="submodels").summary_frame()
    np.testing.assert_array_equal(results.predict(new, incomplete="submodels"), frame["mean"])
    posterior, gamma = results.posterior.probability, results.posterior.gamma
    known, worst = {}, 0.0
    for row in range(PATTERNS):
        terms = new.columns[new.iloc[row].notna()]
        if tuple(terms) not in known:
            known[tuple(terms)] = fitted("linear", terms, data, coef_prior=PRIORS[prior])
        worst = max(
            worst, abs(known[tuple(terms)].predict(new.iloc[[row]]).iloc[0] - frame["mean"].iloc[row])
        )
        outside = [j for j, name in enumerate(NAMES) if name not in terms]
        mass = posterior[~gamma[:, outside].any(axis=1)].sum()
        assert frame["mass"].iloc[row] == pytest.approx(mass, rel=1e-12)
    assert worst < 1e-10
    assert len(known) > 30


@pytest.mark.parametrize(
    ("name", "columns"), [("logit", 5), ("poisson", 5), ("cox", 5), ("gamma", 3), ("negbin", 3)]
)
def test_others_equal_them_within_their_error(name, columns, data):
    """Both from independent draws: 99 % of 100 differences within 3.5 standard errors.

    Those of the fit are 4,000; of a pattern their share that its models have, or 1,000 new ones.

    Those of a pattern depend on the same draws; by Bonferroni's bound over at most 31 patterns of independent
    draws the probability that one falls outside is 1.4 %, and that two do 1e-4. Integrals add less than a
    tenth.
    """
    names = NAMES[:columns]
    results, new = fitted(name, names, data), with_gaps(PATTERNS, 2)[names]
    assert results.posterior.draws is None
    frame = results.get_prediction(new, incomplete="submodels").summary_frame()
    away, known = [], {}
    for row in range(PATTERNS):
        terms = tuple(new.columns[new.iloc[row].notna()])
        if terms not in known:
            known[terms] = fitted(name, terms, data)
        one = known[terms].get_prediction(new.iloc[[row]]).summary_frame().iloc[0]
        mass = frame["mass"].iloc[row]
        error = frame["mean_se"].iloc[row] / np.sqrt(4000 * mass if mass > 0.04 else 1000)
        error = np.hypot(error, one["mean_se"] / np.sqrt(4000))
        away.append(abs(one["mean"] - frame["mean"].iloc[row]) / (error + 1e-12))
    assert np.quantile(away, 0.99) < 3.5


def test_classes(data):
    results, new = fitted("multinomial", NAMES[:4], data), with_gaps(25, 3)[NAMES[:4]]
    frame = results.get_prediction(new, incomplete="submodels").summary_frame()
    found = results.predict(new, incomplete="submodels")
    np.testing.assert_allclose(found.sum(axis=1), 1.0, atol=1e-12)
    np.testing.assert_allclose(frame["mean"].to_numpy().reshape(-1, 3), found, atol=1e-12)
    for row in range(25):
        terms = new.columns[new.iloc[row].notna()]
        one = fitted("multinomial", terms, data)
        want = one.get_prediction(new.iloc[[row]]).summary_frame()
        mass = frame["mass"].iloc[3 * row]
        size = 4000 * mass if mass > 0.04 else 1000
        error = np.sqrt(1 / size + 1 / 4000) * want["mean_se"].to_numpy() + 1e-12
        # 75 differences within 5 standard errors: alarms in 4e-5 of the runs.
        assert np.all(np.abs(want["mean"].to_numpy() - found.iloc[row]) < 5 * error)
    likely = results.classify(new, incomplete="submodels")
    assert likely.tolist() == found.idxmax(axis=1).tolist()


@pytest.mark.parametrize(
    ("name", "sampler"),
    [
        *product(["linear", "logit"], ["rjmcmc", "population", "collapsed"]),
        ("linear", "gibbs"),  # of linear models alone
    ],
)
def test_samplers(sampler, name, data):
    """Draws kept, or new ones of rarely visited models; within 0.12 posterior sds of enumeration.

    With 2,000 draws and a mass above 0.1, 200 draws or more: a standard error of 0.07 at most of 200
    independent ones, of most rows below 0.03; means of linear models have that of the visits only.
    """
    new = with_gaps(40, 4)
    exact = fitted(name, NAMES, data).get_prediction(new, incomplete="submodels").summary_frame()
    options = {"sampler": sampler, "draws": 2000, "chains": 4, "progress": False, "rng": 3}
    results = model_of(name, NAMES, data).fit(**options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rj.MissingDataWarning)  # of models that no draw is in
        frame = results.get_prediction(new, incomplete="submodels").summary_frame()
    away = ((frame["mean"] - exact["mean"]) / exact["mean_se"]).abs()
    assert away.median() < 0.12
    assert away[exact["mass"] > 0.05].max() < 0.5
    some = exact["mass"] > 0.02
    np.testing.assert_allclose(frame["mass"][some], exact["mass"][some], atol=0.03)


def test_few_kept_draws_are_replaced(data):
    """Of models with 30 of 12,000 draws, whose weights are from visits: as 4,000 independent ones."""
    rng = np.random.default_rng(4)
    rare = data.assign(logit=(rng.logistic(size=ROWS) < 0.7 * data["b"]).astype(int))
    model = model_of("logit", NAMES[:4], rare)
    exact = model.fit(rng=1, progress=False)
    walked = model.fit(sampler="rjmcmc", draws=3000, chains=4, rng=1, progress=False)
    new = rare[NAMES[:4]].head(4).assign(b=np.nan)
    frames = [run.get_prediction(new, incomplete="submodels").summary_frame() for run in (exact, walked)]
    inside = walked.posterior.packed.within(np.array([True, False, True, True]))
    kept = inside[walked.draws.model].sum()
    assert 5 < kept < 200
    assert frames[1]["mass"].iloc[0] == pytest.approx(kept / walked.draws.model.size)
    assert len(walked._averaging_within(inside, 500, True, b"any").coefficients) == 500
    # Those who ask for more than the default get them.
    assert len(walked._averaging_within(inside, 5000, True, b"any").coefficients) == 5000
    many = walked.posterior.packed.within(np.array([True, True, True, False]))
    assert len(walked._averaging_within(many, 500, True, b"any").coefficients) > 500
    # Within half a posterior sd; three seeds were within 0.008. Averages of all models are 0.28 away.
    np.testing.assert_allclose(frames[0]["mean"], frames[1]["mean"], atol=0.03)


# --- complete rows, nothing, everything ---------------------------------------------------------------


@pytest.mark.parametrize("name", ["linear", "logit", "cox", "multinomial"])
def test_complete_rows_are_as_ever(name, data):
    results = fitted(name, NAMES[:4], data)
    new = data[NAMES].head(7)
    np.testing.assert_allclose(results.predict(new, incomplete="submodels"), results.predict(new), atol=1e-14)
    usual = results.get_prediction(new).summary_frame()
    found = results.get_prediction(new, incomplete="submodels").summary_frame()
    pd.testing.assert_frame_equal(found.drop(columns="mass"), usual, rtol=1e-12)
    assert (found["mass"] == 1.0).all()
    own = results.get_prediction(incomplete="submodels").summary_frame()
    assert len(own) == len(results.get_prediction().summary_frame())
    assert (own["mass"] == 1.0).all()
    none = results.get_prediction(new.iloc[:0], incomplete="submodels").summary_frame()
    assert len(none) == 0
    assert list(none.columns) == list(found.columns)


def test_nothing_observed_is_the_empty_model(data):
    results = fitted("linear", NAMES, data)
    new = pd.DataFrame({"a": [np.nan, 1.0], "z": [1.0, 2.0]}, index=["p", "p"])
    found = results.predict(new, incomplete="submodels")
    assert found.index.tolist() == ["p", "p"]
    assert found.iloc[0] == pytest.approx(data["linear"].mean())
    assert found.iloc[1] == pytest.approx(fitted("linear", ["a"], data).predict(new).iloc[1], abs=1e-10)


def test_survival_curves(data):
    results = fitted("cox", NAMES[:3], data)
    new = data[NAMES[:3]].head(3).copy()
    new.iloc[1, 0] = np.nan
    curves = results.get_prediction(new, incomplete="submodels").survival([0.5, 1.0])
    usual = results.get_prediction(new.iloc[[0, 2]]).survival([0.5, 1.0])
    np.testing.assert_allclose(curves.loc[[0, 2]], usual, rtol=1e-12)
    one = fitted("cox", ["b", "c"], data).get_prediction(new.iloc[[1]]).survival([0.5, 1.0])
    # Six standard errors, if a quarter of the draws or more are of these models.
    np.testing.assert_allclose(
        curves.loc[1, "mean"], one["mean"], atol=12 * one["mean_se"].max() / np.sqrt(2000)
    )
    assert curves.index.tolist() == [(row, at) for row in range(3) for at in (0.5, 1.0)]


def test_terms_of_a_formula():
    """A term is there where all its variables are; factors, functions, splines, interactions, offsets."""
    rng = np.random.default_rng(5)
    n = 150
    frame = pd.DataFrame(
        {
            "x": rng.uniform(1, 3, n),
            "z": rng.normal(size=n),
            "g": rng.choice(list("pqr"), n),
            "o": rng.normal(size=n),
        }
    )
    frame["y"] = 0.3 * np.log(frame["x"]) + 0.2 * frame["z"] + 0.3 * (frame["g"] == "q") + rng.normal(size=n)
    frame["y"] += frame["o"]
    formula = "y ~ np.log(x) + bs(z, df=4) + C(g) + x:z"
    options = {"model_prior": rj.Uniform(), "coef_prior": rj.GPrior(50.0), "offset": "o"}
    results = rj.linear(formula, frame, **options).fit(rng=1, progress=False)
    new = frame.head(4).copy().astype({"g": object})
    new.loc[0, "x"] = np.nan
    new.loc[1, "z"] = np.nan
    new.loc[2, "g"] = None
    found = results.predict(new, incomplete="submodels")
    for row, terms in enumerate(["bs(z, df=4) + C(g)", "np.log(x) + C(g)", "np.log(x) + bs(z, df=4) + x:z"]):
        part = rj.linear(f"y ~ {terms}", frame, **options).fit(rng=1, progress=False)
        assert found.iloc[row] == pytest.approx(part.predict(new.iloc[[row]]).iloc[0], abs=1e-10)
    assert found.iloc[3] == pytest.approx(results.predict(new).iloc[3], abs=1e-14)
    assert results.required_columns() == ["x", "z", "g", "o"]
    with pytest.raises(rj.UnknownNameError, match="'o'"):
        results.predict(new.drop(columns="o"), incomplete="submodels")
    new.loc[3, "o"] = np.nan
    assert np.isnan(results.predict(new, incomplete="submodels").iloc[3])


@pytest.mark.parametrize("heredity", ["strong", "weak"])
def test_heredity_and_global_empirical_bayes(heredity, data):
    """Models that heredity allows; the g of the fit is kept."""
    options = {"heredity": heredity, "coef_prior": rj.EmpiricalBayes("global"), "model_prior": rj.Uniform()}
    model = rj.linear("linear ~ a*b + c", data, **options)
    results = model.fit(rng=1, progress=False)
    new = data[NAMES[:3]].head(1).assign(b=np.nan)
    fixed = rj.linear("linear ~ a + c", data, coef_prior=rj.GPrior(model.g), model_prior=rj.Uniform())
    part = fixed.fit(rng=1, progress=False)
    assert results.predict(new, incomplete="submodels").iloc[0] == pytest.approx(
        part.predict(new).iloc[0], abs=1e-10
    )


# --- where it comes from, how it goes on -------------------------------------------------------------


def test_chunks(data, tmp_path):
    results = fitted("logit", NAMES, data)
    new = with_gaps(30, 6).drop(columns="f")
    whole = results.predict(new, incomplete="submodels")
    parts = results.predict([new[:11], new[11:]], incomplete="submodels")
    pd.testing.assert_series_equal(pd.concat(parts), whole, rtol=1e-12)
    new.to_parquet(tmp_path / "new.parquet")
    made = results.get_prediction(tmp_path / "new.parquet", incomplete="submodels")
    frame = pd.concat(made.summary_frame())
    np.testing.assert_allclose(frame["mean"], whole, rtol=1e-12)
    assert frame["mass"].between(0, 1).all()
    work = pickle.loads(pickle.dumps(made._of_chunk))
    pd.testing.assert_series_equal(work(new, 1, lambda found: found.mean()), whole, rtol=1e-12)


def test_dask(data):
    dask = pytest.importorskip("dask.dataframe")
    results, new = fitted("logit", NAMES, data), with_gaps(30, 6).drop(columns="f")
    parts = results.predict(dask.from_pandas(new, npartitions=3), incomplete="submodels")
    found = parts.compute(scheduler="sync")
    np.testing.assert_allclose(found, results.predict(new, incomplete="submodels"), rtol=1e-12)


@pytest.mark.parametrize("kind", ["text", "numbers", "matrix"])
def test_arrays(kind, data):
    X, new = data[NAMES], with_gaps(20, 7)
    if kind != "text":
        X, new = (frame.set_axis(range(6), axis=1) for frame in (X, new))
    if kind == "matrix":
        X, new = X.to_numpy(), new.to_numpy()
    results = rj.LinearSelection(data["linear"], X, model_prior=rj.Uniform()).fit(rng=1, progress=False)
    usual = fitted("linear", NAMES, data)
    found = results.predict(new, incomplete="submodels")
    np.testing.assert_allclose(found, usual.predict(with_gaps(20, 7), incomplete="submodels"), atol=1e-10)


def test_saved_results(data, tmp_path):
    """With the training data all is as before; without, kept draws do where there are 200 of them."""
    new = data[NAMES].head(3).assign(d=np.nan)
    walked = model_of("logit", NAMES, data).fit(sampler="rjmcmc", draws=1000, rng=1, progress=False)
    exact = fitted("logit", NAMES, data)
    rare = fitted("logit", NAMES[:4], data.assign(logit=1 * (data["d"] > data["poisson"] - 1)))
    for run, with_rows, works in (
        (walked, True, True),
        (walked, False, True),
        (exact, True, True),
        (exact, False, True),
        (rare, False, False),
    ):
        run.save(tmp_path / "run.rj", data=with_rows)
        loaded = rj.load(tmp_path / "run.rj")
        assert loaded.required_columns() == run.required_columns()
        if works:
            found = loaded.predict(new, incomplete="submodels")
            pd.testing.assert_series_equal(found, run.predict(new, incomplete="submodels"), rtol=1e-12)
        else:
            with pytest.raises(rj.NotAvailableError, match="training data"):
                loaded.predict(new, incomplete="submodels")


@pytest.mark.filterwarnings(
    "ignore:There are 1,100 columns",
    "ignore:The run has",
    "ignore:No chain",
    "ignore:Chains disagree",
    "ignore:R-hat",
)
def test_many_columns():
    rng = np.random.default_rng(8)
    X = rng.normal(size=(60, 1100)).astype(np.float32)
    y = 0.6 * X[:, 3] + rng.normal(size=60)
    model = rj.LinearSelection(y, X, model_prior=rj.BetaBinomial(1, 20))
    results = model.fit(sampler="collapsed", draws=500, chains=2, rng=1, progress=False)
    new = X[:5].astype(float)
    new[:, 900:] = np.nan  # mostly of terms in no model
    new[1, 3] = np.nan
    frame = results.get_prediction(new, incomplete="submodels").summary_frame()
    assert frame["mean"].notna().all()
    assert 0 < frame["mass"].iloc[1] < frame["mass"].iloc[0] <= 1
    own = results.required_columns("hpm")
    few = pd.DataFrame(X[:5].astype(float), columns=[f"x{j + 1}" for j in range(1100)])[own]
    np.testing.assert_array_equal(results.predict(few, which="hpm"), results.predict(X[:5], which="hpm"))
    with pytest.raises(rj.UnknownNameError, match=r"columns that the data do not have: .* and \d+ more[.]"):
        results.predict(few)


# --- rows without a prediction -------------------------------------------------------------------------


def test_models_with_too_little_mass(data):
    strong = data.assign(linear=data["linear"] + 6 * data["a"])
    results = fitted("linear", NAMES, strong)
    new = strong[NAMES].head(3).copy()
    new.loc[:1, "a"] = np.nan
    with pytest.warns(rj.MissingDataWarning) as caught:
        frame = results.get_prediction(new, incomplete="submodels").summary_frame()
    (text,) = [str(one.message) for one in caught]
    assert text.startswith("2 of 3 rows have predictions of NaN by get_prediction")
    assert "fit again with the terms ['b', 'c', 'd', 'e', 'f']" in text
    assert "LinearSelection.from_formula('linear ~ b + c + d + e + f', data, ...).fit()" in text
    assert frame["mean"].isna().tolist() == frame["mass"].isna().tolist() == [True, True, False]


def test_the_call_that_fits_again_is_short():
    """It lists the terms that rows have, or those that they lack, or some of these."""
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(rng.normal(size=(80, 61)), columns=["y", *(f"v{j}" for j in range(60))])
    model, names = rj.linear("y ~ .", frame), list(frame.columns[1:])
    assert fit_again(model, names[2:], names[:2]) == (
        "fit again without the terms ['v0', 'v1']: "
        "LinearSelection.from_formula('y ~ . - v0 - v1', data, ...).fit()"
    )
    assert rj.linear("y ~ . - v0 - v1", frame).term_names == tuple(names[2:])
    assert fit_again(model, names[30:], names[:30]).endswith("'v7', ... (30 in all)")
    model = rj.LinearSelection(frame["y"], frame[names])
    assert "LinearSelection(y, X[['v0']], ...)" in fit_again(model, names[:1], names[1:])
    assert "LinearSelection(y, X.drop(columns=['v0']), ...)" in fit_again(model, names[1:], names[:1])


def test_terms_that_are_always_in(data):
    results = fitted("linear", NAMES, data, always=["a"])
    new = data[NAMES].head(3).copy()
    new.loc[0, "a"] = new.loc[1, "b"] = np.nan
    with pytest.warns(rj.MissingDataWarning, match=r"1 of 3 rows lack .* always in \(a\)"):
        found = results.predict(new, incomplete="submodels")
    assert found.isna().tolist() == [True, False, False]
    part = fitted("linear", ["a", "c", "d", "e", "f"], data, always=["a"])
    assert found.iloc[1] == pytest.approx(part.predict(new.iloc[[1]]).iloc[0], abs=1e-10)
    with pytest.raises(rj.UnknownNameError, match="predict needs the column 'a'"):
        results.predict(new.drop(columns="a"), incomplete="submodels")


def test_rows_outside_knots_have_no_mass(data):
    results = fitted("linear", ["bs(a, df=4)", "b"], data)
    new = data[["a", "b"]].head(3).copy()
    new.loc[0, "a"], new.loc[1, "b"] = 99.0, np.nan
    with pytest.warns(rj.PyrjselWarning, match="1 of 3 rows are outside the boundary knots"):
        frame = results.get_prediction(new, incomplete="submodels").summary_frame()
    assert frame["mean"].isna().tolist() == frame["mass"].isna().tolist() == [True, False, False]


def test_invalid_rows(data):
    """An infinite value is an error or NaN, and not one that is unused."""
    results = fitted("linear", NAMES[:3], data)
    new = data[NAMES].head(4).copy()
    new.loc[0, "a"], new.loc[1, "b"], new.loc[2, "e"] = np.inf, np.nan, np.inf
    with pytest.raises(rj.DataError, match="With invalid='nan'"):
        results.predict(new, incomplete="submodels")
    with pytest.warns(rj.PyrjselWarning, match="1 of 4 rows cannot be used"):
        frame = results.get_prediction(new, incomplete="submodels", invalid="nan").summary_frame()
    assert frame["mean"].isna().tolist() == frame["mass"].isna().tolist() == [True, False, False, False]


BAD = {
    "another word": ({"incomplete": "drop"}, rj.ParameterError, "one of 'nan', 'submodels'. Got 'drop'"),
    **{
        which: ({"incomplete": "submodels", "which": which}, rj.ParameterError, f"'nan' with which='{which}'")
        for which in ("hpm", "mpm", "bpm")
    },
}


@pytest.mark.parametrize("case", BAD)
@pytest.mark.parametrize("method", ["predict", "get_prediction"])
def test_bad_calls(case, method, data):
    options, kind, pattern = BAD[case]
    results = fitted("linear", NAMES[:2], data)
    with pytest.raises(kind, match=pattern):
        getattr(results, method)(data, **options)


def test_no_known_column(data):
    results = fitted("linear", NAMES[:2], data)
    with pytest.raises(rj.DataError, match=r"none of the columns of the terms, such as 'a'[.] Got 'A', 'B'"):
        results.predict(pd.DataFrame({"A": [1.0], "B": [2.0]}), incomplete="submodels")


def test_spikes(data):
    model = rj.linear("linear ~ a + b", data, coef_prior=rj.SpikeSlab(0.05, 100.0))
    results = model.fit(draws=300, chains=2, rng=1, progress=False)
    assert results.required_columns("hpm") == ["a", "b"]
    with pytest.raises(rj.NotAvailableError, match="spike and slab"):
        results.predict(data, incomplete="submodels")


def test_patterns_share_draws_of_their_models(data, monkeypatch):
    """Few integrals for many patterns, none again, and the same predictions for each row alone."""
    strong = data.assign(logit=1 * (data["logit"] + 0.2 * data["a"] > 0.4))
    results, new = fitted("logit", NAMES, strong), with_gaps(60, 10)
    single, calls = type(results._marginal), []
    sample = single.sample
    results.predict(new.head(1).fillna(0.0))  # has the draws of all models

    def counted(self, gamma, size, rng, *args):
        calls.append((gamma.tobytes(), size))
        return sample(self, gamma, size, rng, *args)

    monkeypatch.setattr(single, "sample", counted)
    prediction = results.get_prediction(new, incomplete="submodels")
    mean = prediction.mean()
    assert 0 < len(calls) == len(set(calls)) < 4 * 64  # four sizes of the draws of 64 models
    known = len(calls)
    np.testing.assert_array_equal(prediction.mean(), mean)
    assert len(calls) == known
    monkeypatch.setattr(submodels, "MOST_KEPT", 0)
    np.testing.assert_array_equal(results.predict(new, incomplete="submodels"), mean)
    for row in (0, 30, 59):
        one = results.predict(new.iloc[[row]], incomplete="submodels")
        assert one.iloc[0] == pytest.approx(mean.iloc[row], rel=1e-12)


def test_one_warning_of_rows_without_a_mean(data):
    """However many patterns they have."""
    results, new = fitted("poisson", NAMES, data), 500.0 * with_gaps(40, 11)
    with pytest.warns(rj.ConvergenceWarning) as caught:
        mean = results.predict(new, incomplete="submodels")
    (text,) = [str(one.message) for one in caught if one.category is rj.ConvergenceWarning]
    assert text.startswith(f"The expected responses of {mean.isna().sum()} of 40 rows")
    with pytest.warns(rj.ConvergenceWarning, match=rf"of {mean.isna().sum()} of 40 rows") as caught:
        results.get_prediction(new, incomplete="submodels").summary_frame()
    assert len(caught) == 1


def test_no_warnings_where_all_is_well(data):
    results = fitted("logit", NAMES, data)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert results.predict(with_gaps(20, 9), incomplete="submodels").notna().all()

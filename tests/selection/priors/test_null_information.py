"""The default prior of logistic and Poisson models: unit information at the null model, flat intercept."""

import numpy as np
import pandas as pd
import pytest
from scipy import integrate, optimize
from scipy.special import expit, gammaln, xlogy

import pyrjsel as rj
from pyrjsel.selection.regression import glm as grouping

NULL = rj.GPrior("n", information="null")
MAKE = {"logit": rj.logit, "poisson": rj.poisson}


def mean_of(kind, eta):
    return expit(eta) if kind == "logit" else np.exp(eta)


def data(kind, n=60, seed=3):
    """Rows with weights (trials, rows behind a mean) and offsets far from one another."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame({"a": rng.normal(2.0, 1.5, n), "b": rng.integers(0, 3, n).astype(float)})
    table["c"] = table["a"] + rng.normal(size=n)
    table["o"] = rng.normal(0.5, 1.2, n)
    table["w"] = rng.integers(0, 5, n).astype(float)
    mean = mean_of(kind, table["o"] - 1.0 + 0.1 * table["b"])
    if kind == "logit":
        counts = rng.binomial(table["w"].astype(int), mean)
        table["z"] = (rng.random(n) < mean).astype(float)
    else:
        counts = rng.poisson(table["w"] * mean)
        table["z"] = rng.poisson(mean).astype(float)
    table["y"] = np.where(table["w"] > 0, counts / table["w"].clip(1), 0.0)
    return table


CASES = {
    "plain": ("z", {}),
    "offset": ("z", {"offset": "o"}),
    "weights": ("y", {"weights": "w"}),
    "both": ("y", {"weights": "w", "offset": "o"}),
}


def definition(kind, table, response, options, columns):
    """Return y, weights, offset, columns (n, d) and their prior precision, from the definition alone."""
    y = table[response].to_numpy()
    w = table["w"].to_numpy() if "weights" in options else np.ones(len(y))
    o = table["o"].to_numpy() if "offset" in options else np.zeros(len(y))
    a = optimize.bisect(lambda a: w @ (y - mean_of(kind, o + a)), -20, 20, xtol=1e-14)
    mu = mean_of(kind, o + a)
    w0 = w * mu * ((1 - mu) if kind == "logit" else 1)
    x = table[list(columns)].to_numpy().reshape(len(y), len(columns))
    centred = x - w0 @ x / w0.sum()
    return y, w, o, x, (centred.T * w0) @ centred / w.sum()


def log_marginal(kind, y, w, o, x, precision):
    """Integrate likelihood times prior on a grid around the mode: the trapezium rule, to all digits.

    With a flat intercept; coordinates are those of the Cholesky factor of the Hessian at the mode.
    """
    design = np.column_stack([np.ones(len(y)), x])
    d = design.shape[1]
    k = np.zeros((d, d))
    k[1:, 1:] = precision
    log_norm = 0.5 * np.linalg.slogdet(precision)[1] - 0.5 * (d - 1) * np.log(2 * np.pi) if d > 1 else 0.0

    def log_joint(b):
        eta = o + b @ design.T
        cumulant = np.logaddexp(0, eta) if kind == "logit" else np.exp(eta)
        return (y * eta - cumulant) @ w - 0.5 * np.einsum("...i,ij,...j", b, k, b) + log_norm

    b = np.zeros(d)
    for _ in range(60):
        mu = mean_of(kind, o + design @ b)
        curvature = w * mu * ((1 - mu) if kind == "logit" else 1)
        hessian = (design.T * curvature) @ design + k
        step = np.linalg.solve(hessian, design.T @ (w * (y - mu)) - k @ b)
        b = b + step * min(1.0, 2.0 / np.abs(step).max())
    assert np.abs(step).max() < 1e-9
    axis = np.linspace(-12, 12, 41)
    grid = np.stack(np.meshgrid(*[axis] * d, indexing="ij"), axis=-1)
    half = np.linalg.inv(np.linalg.cholesky(hessian)).T
    values = log_joint(b + grid @ half.T)
    top = values.max()
    total = np.exp(values - top)
    for _ in range(d):
        total = integrate.trapezoid(total, axis, axis=-1)
    k = w * y
    if kind == "logit":
        constant = gammaln(w + 1) - gammaln(k + 1) - gammaln(w - k + 1)
    else:
        constant = xlogy(k, w) - gammaln(k + 1)
    return top + np.log(total) + np.linalg.slogdet(half)[1] + constant.sum()


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
@pytest.mark.parametrize("kind", MAKE)
def test_enumeration_against_quadrature(kind, case):
    """Three terms, all eight models but the largest by quadrature in up to three dimensions.

    Relative errors of integrals are 5e-3 at most with 4,096 pairs; the fit says which.
    """
    response, options = case
    table = data(kind)
    results = MAKE[kind](f"{response} ~ a + b + c", table, **options).fit(rng=1, pairs=4096)
    assert results.model.coef_prior == NULL
    found = results.models.set_index("terms")["log_marginal"]
    for terms in [(), ("a",), ("b",), ("c",), ("a", "b"), ("a", "c"), ("b", "c")]:
        exact = log_marginal(kind, *definition(kind, table, response, options, terms))
        assert found[terms] == pytest.approx(exact, abs=5e-3), terms


@pytest.mark.parametrize("sampler", ["collapsed", "rjmcmc", "population"])
@pytest.mark.parametrize("kind", MAKE)
def test_samplers_against_enumeration(kind, sampler):
    """Within 6 Monte Carlo errors: false alarms below 1e-8 a term; chains at low powers too."""
    table = data(kind)
    model = MAKE[kind]("y ~ a + b + c", table, weights="w", offset="o")
    exact = model.fit(rng=1).inclusion["posterior"]
    options = {"hot": (1.0, 8.0), "tune": False} if sampler == "population" else {}
    found = model.fit(sampler=sampler, draws=3000, chains=2, rng=5, progress=False, **options).inclusion
    assert np.all((found["posterior"] - exact).abs() <= 6 * found["mcse"] + 2e-3)


@pytest.mark.parametrize("intercept", ["flat", rj.Normal(2.0, -0.5)])
def test_precision_and_intercept(intercept):
    table = data("logit")
    prior = rj.GPrior(7.0, information="null", intercept=intercept)
    model = rj.logit("y ~ a + b + c", table, weights="w", offset="o", coef_prior=prior)
    *_, precision = definition("logit", table, "y", {"weights": "w", "offset": "o"}, ["a", "b", "c"])
    scale, own = model.regression.scale, model.regression.prior
    wanted = precision * table["w"].sum() / 7.0 / np.outer(scale, scale)
    # Rounding of sums over sixty rows.
    np.testing.assert_allclose(own.precision[1:, 1:], wanted, rtol=1e-10)
    assert own.flat == (intercept == "flat")
    assert np.all(own.precision[0, 1:] == 0)
    proper = (0.0, 0.0, 0.0) if intercept == "flat" else (0.25, -0.125, 0.0625)
    assert (own.precision[0, 0], own.shift[0], own.penalty[0]) == proper


@pytest.mark.parametrize("n", [200, 1000])
@pytest.mark.parametrize(
    ("kind", "mean"),
    [("poisson", m) for m in (0.05, 1.0, 10.0, 100.0)] + [("logit", m) for m in (0.01, 0.02, 0.1, 0.5)],
)
def test_bayes_factors_near_those_of_bic(kind, mean, n):
    """A standard normal predictor without effect: within 0.7; GPrior("4n") is off by 3 at a mean of 100."""
    rng = np.random.default_rng(1)
    table = pd.DataFrame({"x": rng.normal(size=n)})
    table["y"] = rng.poisson(mean, n) if kind == "poisson" else np.arange(n) < mean * n
    results = MAKE[kind]("y ~ x", table.astype(float)).fit(rng=1)
    models = results.models.set_index("terms")
    bayes_factor = models.loc[[("x",)], "log_marginal"].iloc[0] - models.loc[[()], "log_marginal"].iloc[0]
    deviance = models.loc[[("x",)], "deviance"].iloc[0] - models.loc[[()], "deviance"].iloc[0]
    assert abs(bayes_factor + 0.5 * (deviance + np.log(n))) < 0.7


def test_4n_where_half_are_events():
    """The same prior but for rounding, with a flat intercept."""
    table = data("logit").assign(y=lambda rows: (np.arange(len(rows)) % 2).astype(float))
    one, other = (
        rj.logit("y ~ a + b", table, coef_prior=prior).regression.prior
        for prior in (NULL, rj.GPrior("4n", intercept="flat"))
    )
    np.testing.assert_allclose(one.precision, other.precision, rtol=1e-12, atol=1e-14)
    assert one.flat
    assert other.flat


@pytest.mark.parametrize("options", [{}, {"offset": "o"}], ids=["plain", "offset"])
@pytest.mark.parametrize("kind", MAKE)
def test_grouping_changes_nothing(kind, options, monkeypatch):
    """Rows, rows that the package groups, and groups given with weights: to rounding."""
    table = data(kind, n=240).round({"a": 0, "c": 0, "o": 0})
    keys = ["a", "b", "c", "o"]
    groups = table.groupby(keys)["z"].agg(["mean", "size"]).reset_index()
    groups = groups.rename(columns={"mean": "z", "size": "trials"})
    given = MAKE[kind]("z ~ a + b + c", groups, weights="trials", **options).fit(rng=1)
    monkeypatch.setattr(grouping, "PAYS", 1.0)
    grouped = MAKE[kind]("z ~ a + b + c", table, **options).fit(rng=1)
    monkeypatch.setattr(grouping, "PAYS", np.inf)
    whole = MAKE[kind]("z ~ a + b + c", table, **options).fit(rng=1)
    assert grouped.model.regression.y.size < whole.model.regression.y.size == len(table)
    for one in (given, grouped):
        models = [run.models.set_index("terms")["log_marginal"] for run in (one, whole)]
        difference = models[0] - models[1]
        # 1e-8 is a thousand times the rounding of sums over the rows.
        assert np.ptp(difference) < 1e-8
        np.testing.assert_allclose(one.inclusion["posterior"], whole.inclusion["posterior"], atol=1e-8)


def test_exposures_in_other_units():
    """An offset that is moved moves the intercept alone."""
    table = data("poisson")
    one, other = (
        rj.poisson("z ~ a + b", table.assign(o=table["o"] + shift), offset="o").fit(rng=1)
        for shift in (0.0, 9.0)
    )
    np.testing.assert_allclose(one.inclusion["posterior"], other.inclusion["posterior"], atol=1e-9)


def test_a_level_whose_rows_weigh_nothing_has_no_prior():
    """Exposures of exp(-800) leave no information: the term is named, and models with it have no prior."""
    table = data("poisson").assign(k=lambda rows: (np.arange(len(rows)) < 5).astype(float))
    table["o"] = np.where(table["k"] > 0, -800.0, table["o"])
    table["z"] = np.where(table["k"] > 0, 0.0, table["z"])
    with (
        pytest.warns(rj.RankWarning, match="dependent"),
        pytest.warns(rj.DataWarning, match="goes from -800 to"),
    ):
        model = rj.poisson("z ~ a + k", table, offset="o")
    assert model.dependent == ("k",)
    assert model.fit(rng=1).inclusion.loc["k", "posterior"] == 0


@pytest.mark.filterwarnings("ignore:The 'offset' of LogitSelection:pyrjsel.DataWarning")
def test_an_offset_that_determines_the_response_is_refused():
    table = data("logit")
    table["o"] = np.where(table["z"] == 1, 900.0, -900.0)
    with pytest.raises(rj.DataError, match="the offset determines the response"):
        rj.logit("z ~ a", table, offset="o")
    assert rj.logit("z ~ a", table, offset="o", coef_prior=rj.GPrior("4n")).regression.prior.flat is False


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"information": "full"}, "'information' parameter of GPrior must be one of 'unit', 'null'"),
        ({"information": "observed", "intercept": "joint"}, "'flat' where its information is 'observed'"),
        ({"information": "observed", "intercept": rj.Normal(1)}, "'flat' where its information is 'obs"),
        ({"information": None}, "'information' parameter"),
        (
            {"information": "null", "intercept": "joint"},
            "must be None, 'flat' or a Normal where its information",
        ),
        ({"information": "null", "intercept": "none"}, "'intercept' parameter"),
    ],
)
def test_bad_values(change, text):
    with pytest.raises(rj.ParameterError, match=text):
        rj.GPrior("n", **change)


def test_linear_models_have_one_prior_under_both():
    table = data("logit")
    one, other = (
        rj.linear("o ~ a + b + c", table, coef_prior=prior).fit() for prior in (NULL, rj.GPrior("n"))
    )
    pd.testing.assert_frame_equal(one.inclusion, other.inclusion)


def test_sensitivity_keeps_the_information():
    table = data("logit")
    for model in (rj.logit("z ~ a", table), rj.logit("z ~ a", table, coef_prior=rj.Normal(1.0))):
        study = model.sensitivity(g=[10, "n"], rng=1)
        assert {found.model.coef_prior.information for found in study.results.values()} == {"null"}
    study = rj.logit("z ~ a", table, coef_prior=rj.GPrior("4n")).sensitivity(g=[10, "n"], rng=1)
    assert {found.model.coef_prior.information for found in study.results.values()} == {"unit"}


def test_files_keep_the_information(tmp_path):
    table = data("logit")
    results = rj.logit("z ~ a + b", table).fit(rng=1)
    results.save(tmp_path / "fit.rjs")
    assert rj.load(tmp_path / "fit.rjs").model.coef_prior == NULL
    loaded = rj.load(tmp_path / "fit.rjs", data=table)
    np.testing.assert_array_equal(
        loaded.model.regression.prior.precision, results.model.regression.prior.precision
    )


def test_summaries_name_it():
    text = str(rj.logit("z ~ a", data("logit")).fit(rng=1).summary())
    assert "GPrior(g='n', information='null')" in text
    text = str(rj.logit("z ~ a", data("logit"), coef_prior=rj.GPrior("4n")).fit(rng=1).summary())
    assert "GPrior(g='4n')" in text

"""Multinomial models: maxima, marginal likelihoods, base classes, samplers, predictions, files, errors.

The passes are tested in ``tests/families``, jumps in ``samplers/reversible_jump``.
"""

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from grids import mode_of
from scipy.special import logsumexp, softmax
from scipy.stats import chi2, multivariate_t, norm
from scipy.stats.qmc import Sobol

import pyrjsel as rj
from pyrjsel.selection.evidence.laplace import MarginalLikelihood

FORMULA = "kind ~ a + b + C(level)"
INVARIANT = {
    "null": rj.GPrior("n", information="null"),
    "unit": rj.GPrior("4n"),
    "unit, flat": rj.GPrior(9.0, intercept="flat"),
    "hyper-g/n": rj.HyperGN(4),
    "robust": rj.Robust(),
    "observed": rj.GPrior("n", information="observed"),
    "best g": rj.EmpiricalBayes(),
    "bic": rj.BIC(),
}


@pytest.fixture(scope="module")
def table():
    """Sixty rows of three classes: an effect, two related columns, a factor."""
    rng = np.random.default_rng(6)
    x = rng.standard_normal((60, 2))
    frame = pd.DataFrame({"a": 3 + 2 * x[:, 0], "b": x[:, 0] + x[:, 1]})
    frame["level"] = rng.choice(["p", "q", "r"], 60)
    eta = np.column_stack([np.zeros(60), 0.3 + 0.9 * x[:, 0], 0.6 * (frame["level"] == "q") - 0.4 * x[:, 0]])
    frame["kind"] = np.array(["low", "mid", "top"])[(eta + rng.gumbel(size=eta.shape)).argmax(axis=1)]
    frame["n"] = rng.integers(1, 4, 60)
    return frame


@pytest.fixture(scope="module")
def model(table):
    return rj.multinomial(FORMULA, table)


@pytest.fixture(scope="module")
def enumerated(model):
    return model.fit(sampler="enumerate", rng=1)


@pytest.fixture(scope="module")
def drawn(model):
    return model.fit(sampler="rjmcmc", draws=300, burn_in=100, chains=2, rng=3)


def by_class(series, level):
    """Return a series of two levels as a frame with a column for each value of one."""
    return pd.DataFrame({key: part.droplevel(level) for key, part in series.groupby(level=level, sort=False)})


def with_base(table, base):
    """The data with another base class."""
    others = [level for level in ("low", "mid", "top") if level != base]
    return table.assign(kind=pd.Categorical(table["kind"], [base, *others]))


# ---------------------------------------------------------------------- maxima and integrals


def points_of_a_net(size, seed):
    """Return standard Student draws (2^16, size) with 6 df from a scrambled net, and their log densities."""
    net = Sobol(size + 1, rng=np.random.default_rng(seed)).random_base2(16)
    normal = norm.ppf(net[:, :size])
    scale = np.sqrt(chi2.ppf(net[:, size], 6) / 6)
    points = normal / scale[:, None]
    return points, multivariate_t(shape=np.eye(size), df=6).logpdf(points)


@pytest.mark.statistical
@pytest.mark.parametrize("d", [2, 3])
def test_marginal_likelihoods_of_several_columns(table, d):
    """Against importance sampling from scrambled nets around the mode, with code of its own.

    Its error comes from 8 nets. The false-alarm rate of each is below 1e-6.
    """
    y = np.searchsorted(["low", "mid", "top"], table["kind"])
    x = np.column_stack([table["a"], table["b"], table["level"] == "q"]).astype(float)[:, :d]
    names = ["a", "b", "c"][:d]
    p = np.bincount(y)[1:] / len(y)
    away = (x - x.mean(axis=0)) / x.std(axis=0)
    precision = np.kron(away.T @ away, np.diag(p) - np.outer(p, p)) / len(y)
    design, size = np.column_stack([np.ones(len(x)), away]), 2 * (1 + d)

    def values(flat):
        beta = flat.reshape(len(flat), 2, 1 + d)
        eta = np.einsum("nk,plk->pnl", design, beta)
        eta = np.concatenate([np.zeros((*eta.shape[:2], 1)), eta], axis=2)
        slopes = beta[:, :, 1:].transpose(0, 2, 1).reshape(len(flat), -1)
        prior = 0.5 * np.linalg.slogdet(precision)[1] - d * np.log(2 * np.pi)
        quadratic = np.einsum("pi,ij,pj->p", slopes, precision, slopes)
        chosen = eta[:, np.arange(len(y)), y].sum(axis=1)
        return chosen - logsumexp(eta, axis=2).sum(axis=1) - 0.5 * quadratic + prior

    mode, root = mode_of(values, np.zeros(size))
    found = []
    for seed in range(8):
        points, log_density = points_of_a_net(size, seed)
        logs = [values(mode + part @ root.T) for part in np.array_split(points, 32)]
        found.append(
            logsumexp(np.concatenate(logs) - log_density) - np.log(len(points)) + np.log(np.diag(root)).sum()
        )
    want, error = np.mean(found), np.std(found, ddof=1) / np.sqrt(8)
    assert error < 3e-4
    columns = pd.DataFrame(x, columns=names)
    results = rj.MultinomialSelection(table["kind"], columns, max_size=d, always=names).fit(rng=1)
    ours = results._marginal.integrate(np.ones(d, dtype=np.uint8), pairs=2**15)
    assert np.sqrt(ours.variance) < 3e-3
    assert abs(ours.log_marginal - want) < 6 * np.hypot(np.sqrt(ours.variance), error)


@pytest.mark.parametrize("name", INVARIANT)
def test_the_base_class_does_not_matter(table, name):
    """Log marginal likelihoods, coefficients and probabilities are the same with every base class."""
    found = []
    for base in ("low", "mid", "top"):
        data = with_base(table, base)
        results = rj.multinomial(FORMULA, data, coef_prior=INVARIANT[name]).fit(integration="laplace")
        assert results.classes[0] == base
        found.append(results)
    models = [each.models.set_index("terms")["log_marginal"].sort_index() for each in found]
    for other, log_marginal in zip(found[1:], models[1:], strict=True):
        # Rounding, and searches that end within 1e-10 of the maximum.
        np.testing.assert_allclose(log_marginal, models[0], rtol=0, atol=1e-7)
        np.testing.assert_allclose(other.inclusion["posterior"], found[0].inclusion["posterior"], atol=1e-8)
    of_low, of_mid = (by_class(each.coefficients["mean"], "column") for each in found[:2])
    # The log odds of "top" against "mid", from both.
    np.testing.assert_allclose(
        of_low.loc["top"] - of_low.loc["mid"], of_mid.loc["top"][of_low.columns], atol=1e-6
    )
    best = [each.best("bpm") for each in found]
    assert best[0] == best[1] == best[2]


def test_the_base_class_matters_under_independent_priors(table):
    fits = [
        rj.multinomial(FORMULA, with_base(table, base), coef_prior=rj.Normal(0.5)).fit(integration="laplace")
        for base in ("low", "mid")
    ]
    gap = fits[0].inclusion["posterior"] - fits[1].inclusion["posterior"]
    assert gap.abs().max() > 1e-3


@pytest.mark.parametrize(
    "prior",
    [
        None,
        rj.GPrior("4n"),
        rj.Normal(0.8, mean=0.2),
        rj.HyperGN(4),
        rj.BIC(),
        rj.GPrior("n", "null", rj.Normal(2.0)),
    ],
    ids=repr,
)
@pytest.mark.filterwarnings("ignore:The responses are overdispersed")
def test_two_classes_are_a_logistic_model(table, prior):
    """To rounding: the compiled sums differ in their order."""
    two = table[table["kind"] != "low"]
    found = [
        make(FORMULA, two, coef_prior=prior, weights="n").fit(integration="laplace", rng=1)
        for make in (rj.multinomial, rj.logit)
    ]
    one, other = (each.models.set_index("terms").sort_index() for each in found)
    # Searches end within 1e-10 of the maximum.
    np.testing.assert_allclose(one["log_marginal"], other["log_marginal"], rtol=0, atol=1e-7)
    np.testing.assert_allclose(one["deviance"], other["deviance"], rtol=0, atol=1e-8)
    np.testing.assert_allclose(
        found[0].coefficients["mean"], found[1].coefficients["mean"], rtol=1e-5, atol=1e-7
    )
    # A uniform number on the edge between two nodes of log g may choose either: some of 4,000 draws differ.
    tolerance = 1e-3 if isinstance(prior, rj.HyperGN) else 1e-6
    np.testing.assert_allclose(found[0].predict(two)["top"], found[1].predict(two), rtol=0, atol=tolerance)


@pytest.mark.filterwarnings("ignore::pyrjsel.ConvergenceWarning")
def test_two_classes_have_the_draws_of_a_logistic_model(table):
    two = table[table["kind"] != "low"]
    drawn = [
        make(FORMULA, two).fit(sampler="rjmcmc", draws=50, burn_in=20, chains=1, rng=2).draws
        for make in (rj.multinomial, rj.logit)
    ]
    np.testing.assert_array_equal(drawn[0].model, drawn[1].model)
    np.testing.assert_allclose(drawn[0].coefficients, drawn[1].coefficients, atol=1e-8)


# ---------------------------------------------------------------------- samplers


# ---------------------------------------------------------------------- results


def test_coefficients_are_by_class_and_column(enumerated):
    index = enumerated.coefficients.index
    assert index.names == ["class", "column"]
    assert index[:3].tolist() == [("mid", "Intercept"), ("mid", "a"), ("mid", "b")]
    assert list(enumerated.params.index) == list(index) == list(enumerated.conf_int().index)
    one = enumerated.single_model([*"a"])
    assert list(one.params.index) == [
        (level, name) for level in ("mid", "top") for name in ("Intercept", "a")
    ]
    assert "top: a" in str(one.summary())


def test_predictions_are_those_of_the_draws(drawn, table):
    """Probabilities by class are means over draws of softmax of linear predictors."""
    x = drawn.model.design.transform(table).X
    vectors = drawn.draws.coefficients.reshape(-1, 1 + x.shape[1], 2)
    eta = vectors[:, 0] + np.einsum("nd,mdl->nml", x, vectors[:, 1:])
    p = softmax(np.concatenate([np.zeros((*eta.shape[:2], 1)), eta], axis=2), axis=2)
    found = drawn.predict(table)
    np.testing.assert_allclose(found, p.mean(axis=1), rtol=1e-12)
    assert found.columns.tolist() == ["low", "mid", "top"]
    frame = drawn.get_prediction(table).summary_frame(0.2)
    np.testing.assert_allclose(by_class(frame["mean"], "class")[found.columns], found, rtol=1e-12)
    np.testing.assert_allclose(
        by_class(frame["mean_ci_upper"], "class")[found.columns], np.quantile(p, 0.9, axis=1), rtol=1e-12
    )
    assert drawn.classify(table).tolist() == found.idxmax(axis=1).tolist()
    np.testing.assert_allclose(found.sum(axis=1), 1.0, rtol=1e-12)
    y = np.searchsorted(["low", "mid", "top"], table["kind"])
    scores = drawn.score(table)
    own = found.to_numpy()[np.arange(60), y]
    assert scores.loc["log_score", "value"] == pytest.approx(np.log(own).mean())
    assert scores.loc["error_rate", "value"] == pytest.approx(np.mean(found.to_numpy().argmax(axis=1) != y))
    pd.testing.assert_frame_equal(scores, drawn.score(table.drop(columns="kind"), table["kind"]))
    pd.testing.assert_frame_equal(scores, drawn.score())


def test_rows_with_missing_inputs(enumerated, table):
    new = table.head(3).assign(a=[1.0, np.nan, 2.0])
    assert enumerated.predict(new).isna().all(axis=1).tolist() == [False, True, False]
    assert enumerated.classify(new).isna().tolist() == [False, True, False]
    with pytest.raises(rj.DataError, match="1 of 3"):
        enumerated.score(new)


def test_fitted_values_of_a_sharp_prior_are_those_at_the_maximum(table):
    """Under a prior that is all but flat, posterior means of probabilities are near the fitted ones."""
    results = rj.multinomial("kind ~ a", table, coef_prior=rj.GPrior(1e6), always=["a"]).fit(rng=1)
    fit = sm.MNLogit(table["kind"], sm.add_constant(table[["a"]])).fit(disp=0)
    # Means over coefficients with standard deviations of 0.3 differ from values at the centre by 0.02.
    assert np.abs(results.predict().to_numpy() - fit.predict()).max() < 0.03
    single = results.single_model(1)
    np.testing.assert_allclose(single.resid.sum(axis=1), 0.0, atol=1e-12)


def test_simulated_classes_and_checks(drawn):
    found = drawn.posterior_predictive(draws=200, rng=1)
    assert set(np.unique(found.to_numpy())) == {"low", "mid", "top"}
    share = (found == "mid").mean(axis=1)
    # Means of 200 draws of 0 or 1: six standard deviations.
    assert np.abs(share - drawn.predict()["mid"]).max() < 6 * 0.5 / np.sqrt(200)
    check = drawn.check(draws=200)
    assert check.index.tolist() == ["low", "mid", "top", "brier", "calibration"]
    # The data come from the model: intercepts fit proportions, and other statistics are not extreme.
    assert (check["p_value"] > 0.01).all()


def test_cross_validation(model, table):
    cv = model.cross_validate(3, which=["bma", "hpm"], rng=1, sampler="enumerate", integration="laplace")
    p = cv.predicted["bma"]
    assert p.columns.tolist() == ["low", "mid", "top"]
    y = np.searchsorted(p.columns, table["kind"])
    assert cv.scores.loc["bma", "error_rate"] == pytest.approx(np.mean(p.to_numpy().argmax(axis=1) != y))
    np.testing.assert_allclose(cv.log_density["bma"], np.log(p.to_numpy()[np.arange(60), y]), rtol=1e-9)
    # Each fold is predicted by a fit without it.
    fold = cv.fold == 1
    other = rj.multinomial(FORMULA, table[~fold]).fit(sampler="enumerate", integration="laplace", rng=5)
    # Averages over 4,000 draws of probabilities with deviations of 0.1.
    assert np.abs(other.predict(table[fold]) - p[fold]).to_numpy().max() < 0.02


# ---------------------------------------------------------------------- responses


@pytest.mark.parametrize(
    ("values", "classes"),
    [
        ([3, 1, 2], (1, 2, 3)),
        (pd.Categorical(["z", "y", "x"], ["z", "y", "x"]), ("z", "y", "x")),
        (["b", "c", "a"], ("a", "b", "c")),
    ],
)
def test_kinds_of_classes(values, classes):
    rng = np.random.default_rng(1)
    codes = rng.integers(0, 3, 60)
    response = pd.Series(values).take(codes).reset_index(drop=True)
    columns = pd.DataFrame({"x": rng.normal(size=60)})
    results = rj.MultinomialSelection(response, columns).fit(integration="laplace")
    assert results.classes == classes
    found = results.classify()
    assert found.dtype == response.dtype
    assert set(found) <= set(classes)
    assert results.score(columns, response)["rows"].iloc[0] == 60


def test_other_errors(table, enumerated):
    with pytest.raises(rj.NotAvailableError, match="offset"):
        rj.multinomial(FORMULA, table, offset="n")
    with pytest.raises(rj.NotAvailableError, match="offset"):
        enumerated.predict(table, offset=np.zeros(60))
    with pytest.raises(rj.NotAvailableError, match="offset"):
        rj.multinomial(FORMULA, [table[:30], table[30:]], offset="n")
    with pytest.raises(rj.DataError, match="'other'"):
        enumerated.score(table.assign(kind="other"))
    with pytest.raises(rj.DataError, match="weights"):
        rj.multinomial(FORMULA, table, weights=np.where(table["n"] == 1, -1.0, 1.0))
    rare = table.assign(w=np.where(table["kind"] == "top", 0.0, 1.0))
    with pytest.raises(rj.DataError, match=r"positive weight.*'top'"):
        rj.multinomial(FORMULA, rare, weights="w")


def test_separated_classes():
    """A column that tells a class apart: warned of, and named; the posterior is proper."""
    rng = np.random.default_rng(2)
    frame = pd.DataFrame({"x": rng.normal(size=60), "z": rng.normal(size=60)})
    frame["kind"] = np.where(frame["x"] > 0.5, "c", np.where(rng.random(60) < 0.5, "a", "b"))
    with pytest.warns(rj.SeparationWarning, match="by x"):
        results = rj.multinomial("kind ~ x + z", frame).fit(rng=1)
    assert results.inclusion["posterior"].loc["x"] > 0.99
    # Completely separated classes leave no posterior under heavy tails: two intercepts need lighter ones.
    frame["kind"] = np.select([frame["x"] > 0.5, frame["x"] < -0.5], ["c", "a"], "b")
    frame["x"] = np.where(frame["kind"] == "b", 0.0, frame["x"])
    frame["v"] = frame["kind"].map({"a": 1.0, "b": -1.0, "c": 1.0})
    with pytest.raises(rj.DataError, match="a > 4"):
        rj.multinomial("kind ~ x + v", frame, coef_prior=rj.HyperGN(3.9)).fit(integration="laplace")


def test_fewer_rows_than_columns():
    """Models with too many columns have no g-prior; a normal prior keeps them."""
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(rng.normal(size=(6, 6)), columns=[*"abcdef"]).assign(kind=[*"uvwuvw"])
    with pytest.warns(rj.RankWarning, match="^There are 6 columns and 6 rows: models of more than 5 columns"):
        model = rj.multinomial("kind ~ .", frame)
    gamma = np.array([[1, 1, 1, 1, 1, 0], [1] * 6], dtype=np.uint8)
    # Five columns are independent of the intercept in six rows.
    assert model._existence.exists(gamma).tolist() == [True, False]
    finder = MarginalLikelihood(model.regression, bytes(16), 8, model.regression.n_columns)
    assert [finder.exists(one) for one in gamma] == [True, False]
    normal = rj.multinomial("kind ~ .", frame, coef_prior=rj.Normal(1.0))
    finder = MarginalLikelihood(normal.regression, bytes(16), 8, normal.regression.n_columns)
    assert finder.exists(gamma[1])

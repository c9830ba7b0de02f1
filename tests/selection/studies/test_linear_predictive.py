"""Simulated responses, predictive checks and cross-validation of linear models, against closed forms."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
from predictive_oracle import Rows, laws, mixed, probabilities

import pyrjsel as rj

INVERSE_GAMMA = rj.InverseGamma(1.5, 2.0)
PRIORS = {
    "g": rj.GPrior("n"),
    "hyper-g": rj.HyperG(3),
    "hyper-g/n": rj.HyperGN(4),
    "zellner-siow": rj.ZellnerSiow(),
    "normal": rj.Normal(0.8),
    "normal, mean": rj.Normal(1.2, mean=0.4, standardize=True),
    "unscaled": rj.Normal(0.9, scaled=False),
}
TERMS = ("f", "x", "z")
COLUMNS = {"f": [0, 1], "x": [2], "z": [3]}
MODELS = list(product((0, 1), repeat=3))
LABELS = np.arange(21) % 3
# Coefficient vectors in place of 4,000, so that errors of 1 % or so are seen.
MANY = 150_000


def make_frame(n=21, seed=8):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"x": rng.normal(size=n) * 2 + 5, "z": rng.normal(size=n), "o": rng.normal(size=n)})
    frame["f"] = rng.permutation(np.resize(list("abc"), n))
    frame["w"] = rng.choice([0.25, 1.0, 4.0], n)
    mean = 2 + frame["o"] + 0.3 * frame["x"] + 0.7 * (frame["f"] == "b")
    return frame.assign(y=mean + rng.normal(size=n) / np.sqrt(frame["w"]))


FRAME = make_frame()


def rows_of(frame):
    x = np.column_stack([frame["f"] == "b", frame["f"] == "c", frame["x"], frame["z"]]).astype(float)
    return Rows(x, (frame["y"] - frame["o"]).to_numpy(), frame["w"].to_numpy(float))


def model_of(prior, frame=FRAME, **options):
    options = {"weights": "w", "offset": "o", "model_prior": rj.Uniform(), **options}
    return rj.linear("y ~ f + x + z", frame, coef_prior=prior, **options)


def all_laws(train, new, prior, sigma=None, models=MODELS):
    a, b = (0.0, 0.0) if sigma is None else (sigma.a, sigma.b)
    found = []
    for model in models:
        columns = [c for term, used in zip(TERMS, model, strict=True) if used for c in COLUMNS[term]]
        found.append(laws(train, new, columns, prior, a, b))
    return found


@pytest.fixture
def many(monkeypatch):
    for module in ("posterior_predictive", "tables"):
        monkeypatch.setattr(f"pyrjsel.selection.results.{module}.PREDICTION_DRAWS", MANY)


# --- held-out densities -----------------------------------------------------------------------------


def chosen(p, models):
    """Weights of the models that predict: the average, the best, and the median probability model."""
    median = models.index(tuple((p @ np.array(models) >= 0.5).astype(int)))
    unit = np.eye(len(models))
    return {"bma": p, "hpm": unit[np.argmax(p)], "mpm": unit[median]}


def check_densities(found, prior, labels, sigma=None, models=MODELS):
    """Densities of all rows at 7 standard errors, and expectations.

    Means of 150,000 numbers with tails like these are normal far enough out: false alarms below 1e-9 for
    all of some 60 densities.
    """
    rows = rows_of(FRAME)
    for label in np.unique(labels):
        test = labels == label
        every = all_laws(rows[~test], rows[test], prior, sigma, models)
        y = rows[test].y
        for which, p in chosen(probabilities(every), models).items():
            density = mixed(every, p, lambda each, y=y: each.density(y))
            square = mixed(every, p, lambda each, y=y: each.square_density(y))
            error = np.sqrt(square - density**2) / np.sqrt(MANY)
            gap = np.exp(found.log_density.loc[test, which]) - density
            assert (np.abs(gap) < 7 * error).all()
            assert np.median(error / density) < 0.005
            mean = mixed(every, p, lambda each: each.location)
            gap = found.predicted.loc[test, which] - FRAME.loc[test, "o"] - mean
            # No draws: what quadratures over g and sigma^2 leave.
            assert (np.abs(gap) < 1e-7).all()


LONG = {"hyper-g", "hyper-g/n", "zellner-siow"}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.statistical] * (name in LONG)) for name in PRIORS]
)
def test_held_out_densities(name, many):
    """A factor, weights and an offset: 8 models, each Student or a mixture of normal or Student laws."""
    found = model_of(PRIORS[name]).cross_validate(LABELS, rng=1, progress=False)
    check_densities(found, PRIORS[name], LABELS)


@pytest.mark.parametrize(
    "name", ["g", pytest.param("zellner-siow", marks=pytest.mark.statistical), "unscaled"]
)
def test_held_out_densities_with_a_prior_of_the_variance(name, many):
    model = model_of(PRIORS[name], sigma_prior=INVERSE_GAMMA)
    check_densities(model.cross_validate(LABELS, rng=2, progress=False), PRIORS[name], LABELS, INVERSE_GAMMA)


@pytest.mark.filterwarnings("ignore:Fold:pyrjsel.RankWarning")
def test_a_level_that_training_rows_lack(many):
    """A normal prior keeps the factor, whose effect is as in the prior; a g-prior leaves it out there."""
    labels = FRAME["f"].to_numpy()
    normal = model_of(PRIORS["normal"]).cross_validate(labels, rng=1, progress=False)
    check_densities(normal, PRIORS["normal"], labels)
    with (
        pytest.warns(rj.RankWarning, match=r"'f\[T.c\]' of f is left out"),
        pytest.raises(rj.DataError, match="No row has a held-out prediction"),
    ):
        model_of(PRIORS["g"]).cross_validate(labels, rng=1, progress=False)


def test_sampled_models_predict_as_enumerated_ones():
    """Coefficients and sigma^2 of draws: sums agree to a small part of their standard error of 4."""
    model = model_of(PRIORS["g"])
    scores = [
        model.cross_validate(LABELS, which="bma", rng=1, progress=False, **options).scores.loc["bma"]
        for options in ({}, {"sampler": "collapsed", "draws": 4000, "chains": 2})
    ]
    assert len(FRAME) * scores[0]["se"] > 1
    # Over seeds the sampler's sum has a standard deviation of 0.05.
    assert scores[1]["log_score"] == pytest.approx(scores[0]["log_score"], abs=0.3 / len(FRAME))


def test_errors_of_predictions_are_weighted():
    found = model_of(PRIORS["g"]).cross_validate(LABELS, rng=1, progress=False)
    for which in ("bma", "hpm", "mpm"):
        gap = FRAME["y"] - found.predicted[which]
        wanted = np.sqrt(np.average(gap**2, weights=FRAME["w"]))
        assert found.scores.loc[which, "rmse"] == pytest.approx(wanted)
    assert "rmse" in found.folds
    assert "rmse" in found.summary().as_text()


def test_rows_of_weight_zero_are_left_out():
    more = pd.concat([FRAME, FRAME.iloc[:2].assign(w=0.0, y=99.0)], ignore_index=True)
    with_zero, without = (
        model_of(PRIORS["g"], rows).cross_validate(labels, rng=1, progress=False)
        for rows, labels in ((more, np.append(LABELS, [0, 1])), (FRAME, LABELS))
    )
    pd.testing.assert_frame_equal(with_zero.log_density, without.log_density)
    pd.testing.assert_frame_equal(with_zero.scores, without.scores)


def test_a_constant_response_in_the_training_rows():
    frame = FRAME.assign(y=np.where(LABELS == 0, FRAME["y"], 1.0), o=0.0)
    with pytest.raises(
        rj.DataError, match=r"^Fold 0: The response of LinearSelection.cross_validate is constant"
    ):
        model_of(PRIORS["g"], frame).cross_validate(LABELS, rng=1, progress=False)


# --- simulated responses ----------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["g", "hyper-g", "unscaled"])
def test_moments_of_simulated_responses(name, many):
    """Means and covariances of new rows with weights of their own, at 7 standard errors.

    Squares of the products behind a covariance are Student ones: their errors are taken from the responses.
    """
    prior = PRIORS[name]
    new = make_frame(5, 9).assign(w=[0.1, 0.5, 1.0, 2.0, 1000.0])
    results = model_of(prior).fit(rng=1, progress=False)
    drawn = results.posterior_predictive(new, draws=MANY, rng=2).to_numpy()
    models = all_laws(rows_of(FRAME), rows_of(new), prior)
    p = probabilities(models)
    mean = mixed(models, p, lambda each: each.location)
    second = mixed(models, p, lambda each: each.covariance + np.outer(each.location, each.location))
    gap = drawn - new["o"].to_numpy()[:, None] - mean[:, None]
    assert (np.abs(gap.mean(axis=1)) < 7 * gap.std(axis=1) / np.sqrt(MANY)).all()
    products = gap[:, None] * gap[None]
    error = products.std(axis=2) / np.sqrt(MANY)
    wanted = second - np.outer(mean, mean)
    assert (np.abs(products.mean(axis=2) - wanted) < 7 * error).all()
    assert (error < 0.02 * np.sqrt(np.outer(np.diag(wanted), np.diag(wanted)))).all()


def test_rows_of_the_fit_have_their_weights():
    """Standard deviations of 4,000 responses of rows of weight 1/4 and 4; the models' part is small."""
    frame = make_frame(90, 3)
    results = model_of(PRIORS["g"], frame).fit(rng=1, progress=False)
    spread = results.posterior_predictive(draws=4000).std(axis=1)
    sigma = np.sqrt(results._averaged[1]["variance"].mean())
    # Coefficients add about 6 / 90 of sigma^2: 1 % to the sd of a row of weight 1/4, 3 % at 1, 13 % at 4; the
    # mean over rows of the sds of 4,000 draws errs by less than 1 %.
    assert spread[frame["w"] == 0.25].mean() == pytest.approx(2 * sigma, rel=0.1)
    assert spread[frame["w"] == 4.0].mean() == pytest.approx(sigma / 2, rel=0.15)
    single = results.posterior_predictive(frame, draws=4000, weights=np.ones(90)).std(axis=1)
    assert single.mean() == pytest.approx(sigma, rel=0.1)


# --- checks -----------------------------------------------------------------------------------------


def simple(errors, seed=5, n=300):
    """A line with errors that `errors` draws; weights are the inverses of w in the law of the errors."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"x": rng.normal(size=n), "z": rng.normal(size=n), "w": rng.choice([0.05, 1.0], n)})
    return frame.assign(y=1 + 0.5 * frame["x"] + errors(rng, frame["w"].to_numpy()))


def checked(frame, **options):
    return rj.linear("y ~ x + z", frame, **options).fit(rng=1, progress=False).check()


def test_data_from_the_model_pass():
    for frame, options in (
        (simple(lambda rng, w: rng.normal(size=w.size)), {}),
        (simple(lambda rng, w: rng.normal(size=w.size) / np.sqrt(w)), {"weights": "w"}),
    ):
        table = checked(frame, **options)
        assert list(table.index) == ["mean", "sd", "min", "max", "skewness"]
        assert table["p_value"].between(0.05, 1).all()
        assert (table["observed"] > table["ci_lower"]).all()
        assert (table["observed"] < table["ci_upper"]).all()


def test_weights_that_are_left_out_show():
    """Error variances of 20 and 1 are not those of one normal law: the extremes are too far out."""
    table = checked(simple(lambda rng, w: rng.normal(size=w.size) / np.sqrt(w)))
    assert table.loc[["min", "max"], "p_value"].max() < 0.03
    assert table.loc["mean", "p_value"] > 0.5


def test_weights_that_should_not_be_there_show():
    """Rows of weight 1/20 have a predictive standard deviation of 4.5 and observed ones of 1."""
    table = checked(simple(lambda rng, w: rng.normal(size=w.size)), weights="w")
    assert table.loc[["min", "max"], "p_value"].max() < 0.005
    assert (table.loc["max", ["observed"]] < table.loc["max", "ci_lower"]).all()


def test_errors_of_another_shape_show():
    heavy = checked(simple(lambda rng, w: rng.standard_t(2, w.size)))
    assert heavy.loc[["min", "max"], "p_value"].min() < 0.005
    lopsided = checked(simple(lambda rng, w: rng.exponential(size=w.size)))
    assert lopsided.loc["skewness", "p_value"] < 0.005
    assert lopsided.loc["skewness", "observed"] > lopsided.loc["skewness", "ci_upper"]


def test_statistics_of_a_constant_response():
    """A prior of sigma^2 makes it possible; nothing of it is skewed."""
    frame = FRAME.assign(y=0.1)
    model = rj.linear("y ~ x", frame, sigma_prior=INVERSE_GAMMA)
    table = model.fit(rng=1, progress=False).check()
    assert table.loc["skewness", "observed"] == 0
    assert table.loc["sd", "observed"] == pytest.approx(0, abs=1e-12)
    assert table.loc["sd", "p_value"] == 0


# --- rows that were not kept ------------------------------------------------------------------------


@pytest.fixture(scope="module")
def in_chunks():
    return rj.linear("y ~ f + x + z", [FRAME.iloc[:9], FRAME.iloc[9:]], weights="w", offset="o")


@pytest.mark.parametrize(
    ("call", "owner"),
    [
        (lambda model, results: results.check(), "check"),
        (lambda model, results: results.plot_check("sd"), "plot_check"),
        (lambda model, results: results.posterior_predictive(), "posterior_predictive"),
        (lambda model, results: model.cross_validate(3, rng=1), "LinearSelection.cross_validate"),
    ],
)
def test_what_needs_rows_says_so(call, owner, in_chunks):
    results = in_chunks.fit(rng=1, progress=False)
    with pytest.raises(
        rj.NotAvailableError, match=f"^{owner} needs rows: the data of the fit came in chunks"
    ):
        call(in_chunks, results)


def test_chunks_with_new_rows_and_other_priors(in_chunks):
    whole = rj.linear("y ~ f + x + z", FRAME, weights="w", offset="o")
    drawn = [
        model.fit(rng=1, progress=False).posterior_predictive(FRAME, draws=4000, rng=2).mean(axis=1)
        for model in (in_chunks, whole)
    ]
    # Sums in another order: the same draws but for rounding.
    np.testing.assert_allclose(*drawn, rtol=1e-6)
    studies = [model.sensitivity(g=[5, "n"], rng=1, progress=False) for model in (in_chunks, whole)]
    pd.testing.assert_frame_equal(*(study.inclusion for study in studies))
    pd.testing.assert_frame_equal(*(study.analyses for study in studies))

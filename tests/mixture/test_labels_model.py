"""Mixture classifiers whose target is the labels given the inputs, as users meet them."""

import warnings

import numpy as np
import pandas as pd
import pytest

import pyrjsel as rj

QUICK = {"draws": 200, "burn_in": 200, "chains": 2, "rng": 3, "progress": False, "n_jobs": 1}


def fit(model, **changes):
    with warnings.catch_warnings():
        # 200 draws are too few to agree.
        warnings.simplefilter("ignore", rj.ConvergenceWarning)
        return model.fit(**(QUICK | changes))


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(5)
    label = np.arange(90) % 3
    found = pd.DataFrame(rng.standard_normal((90, 3)), columns=["a", "b", "c"])
    found["a"] += 2.5 * label
    found["b"] *= 1.0 + (label == 0)
    found["species"] = pd.Categorical.from_codes(label, ["red", "green", "blue"])
    return found


@pytest.fixture(scope="module")
def results(frame):
    return fit(rj.mixture_classifier("species ~ .", frame))


def test_it_is_the_default(frame, results):
    assert results.model.target == "labels"
    assert results.model.background is None
    assert results.model.prior == rj.KernelPrior()
    text = str(results.summary())
    assert "Target:" in text
    assert "labels given inputs" in text
    assert "Background" not in text
    assert "units of the inputs" not in text
    assert results.inclusion.loc["a", "posterior"] > 0.95
    assert results.score(frame).loc["error_rate", "value"] < 0.3
    assert list(results.predict(frame).columns) == ["red", "green", "blue"]
    assert results.classify(frame).dtype == frame["species"].dtype


def test_log_likelihoods_are_those_of_the_labels(results):
    assert (results.draws.log_likelihood <= 0).all()
    assert results.draws.log_likelihood.mean() > 90 * np.log(1 / 3)


def test_units_of_inputs_do_not_matter(frame):
    other = frame.assign(a=1e6 * frame["a"] - 3.0, c=frame["c"] / 1e3)
    one, two = (fit(rj.mixture_classifier("species ~ .", data)) for data in (frame, other))
    # The same draws, but for rounding of inputs in units of their ranges.
    np.testing.assert_allclose(one.predict(frame), two.predict(other), rtol=1e-6, atol=1e-9)


def test_rows_without_a_label_are_left_out(frame, results):
    data = frame.copy()
    data.loc[[3, 50], "species"] = None
    with pytest.warns(rj.MissingDataWarning, match=r"2 of 90 rows .* target='joint' they are used"):
        model = rj.mixture_classifier("species ~ .", data)
    assert model.nobs == 88
    found = fit(model)
    alone = fit(rj.mixture_classifier("species ~ .", frame.drop(index=[3, 50])))
    np.testing.assert_array_equal(found.draws.log_posterior, alone.draws.log_posterior)
    data["species"] = pd.Series(pd.NA, index=data.index, dtype="string")
    with pytest.raises(rj.DataError, match="target='labels' needs"):
        rj.mixture_classifier("species ~ .", data, classes=["red", "green"])


def test_missing_inputs_are_integrated_out(frame):
    data = frame.copy()
    data.loc[::4, "a"] = np.nan
    results = fit(rj.mixture_classifier("species ~ .", data))
    assert "23 of 270 values, integrated out" in str(results.summary())
    gone = results.predict(data)[data["a"].isna()]
    known = results.predict(data)[data["a"].notna()]
    assert known.max(axis=1).mean() > gone.max(axis=1).mean() + 0.1


def test_costs_and_a_budget(frame):
    model = rj.mixture_classifier("species ~ .", frame, costs={"a": 3.0, "b": 1.0, "c": 1.0}, budget=2.0)
    results = fit(model)
    assert model.count_models() == 4
    assert results.inclusion.loc["a", "posterior"] == 0.0
    assert (results.draws.cost <= 2.0).all()


def test_several_numbers_of_kernels_are_compared(frame):
    results = fit(rj.mixture_classifier("species ~ .", frame, components=[1, 3]), folds=2)
    scores = results.comparison["log_score"]
    assert results.components == 3
    # One kernel says nothing of the classes.
    assert scores[1] == pytest.approx(np.log(1 / 3), abs=0.1)
    assert scores[3] > scores[1] + 0.2


@pytest.mark.parametrize("target", ["labels", "joint"])
def test_there_is_a_kernel_for_each_class(target):
    x = np.repeat(np.arange(5.0), 12) + np.random.default_rng(3).normal(0, 0.1, 60)
    labels = np.repeat(list("abcde"), 12)
    model = rj.MixtureClassifier(labels, x, target=target)
    assert model.components == (5,)
    assert fit(model).score().loc["error_rate", "value"] < 0.1
    assert rj.MixtureClassifier(labels[:24], x[:24], target=target).components == (3,)


def test_probabilities_approach_one_with_a_small_weight_prior():
    rng = np.random.default_rng(1)
    x = np.concatenate([rng.normal(-5, 0.5, 40), rng.normal(5, 0.5, 40)])
    labels = np.repeat(["low", "high"], 40)
    flat, sparse = (
        fit(rj.MixtureClassifier(labels, x, weight_prior=value, always="x1"), draws=1000).predict([[5.0]])
        for value in (1.0, 0.1)
    )
    assert flat["high"].iloc[0] > 0.95
    assert 1 - sparse["high"].iloc[0] < 0.5 * (1 - flat["high"].iloc[0])


@pytest.mark.filterwarnings("ignore::pyrjsel.ConvergenceWarning")
def test_files_and_longer_runs(frame, results, tmp_path):
    longer = fit(results.model, draws=150).extend(50)
    pd.testing.assert_frame_equal(longer.inclusion, results.inclusion)
    results.save(tmp_path / "fit.rjs")
    loaded = rj.load(tmp_path / "fit.rjs")
    pd.testing.assert_frame_equal(loaded.predict(frame), results.predict(frame))
    assert loaded.model.target == "labels"
    assert str(loaded.summary()) == str(results.summary())
    more = rj.load(tmp_path / "fit.rjs", data=frame).extend(30)
    np.testing.assert_array_equal(more.draws.log_posterior, results.extend(30).draws.log_posterior)


def test_joint_targets_have_weight_priors_too(frame):
    one, other = (
        fit(rj.mixture_classifier("species ~ a", frame, target="joint", always="a", weight_prior=value))
        for value in (0.1, 5.0)
    )
    spread = [found.posterior.weight.std(axis=-1).mean() for found in (one, other)]
    assert spread[0] > spread[1]
    assert "Weight prior:" in str(one.summary())


@pytest.mark.parametrize(
    ("options", "error", "said"),
    [
        ({"target": "both"}, rj.ParameterError, "'target' parameter .* one of 'labels', 'joint'"),
        ({"weight_prior": 0}, rj.ParameterError, r"'weight_prior' parameter .* \[0.1, inf\)"),
        ({"weight_prior": "flat"}, rj.ParameterError, "'weight_prior' parameter"),
        ({"background": None}, rj.ParameterError, "'background' parameter .* left out for target='labels'"),
        ({"background": "independent"}, rj.ParameterError, "'background' parameter"),
        ({"prior": rj.MixturePrior()}, rj.ParameterError, "KernelPrior or None for target='labels'"),
        ({"prior": rj.KernelPrior(), "target": "joint"}, rj.ParameterError, "MixturePrior or None"),
    ],
)
def test_bad_parameters(frame, options, error, said):
    with pytest.raises(error, match=said):
        rj.mixture_classifier("species ~ .", frame, **options)


@pytest.mark.parametrize("name", ["alpha", "g", "h"])
def test_bad_priors(name):
    with pytest.raises(rj.ParameterError, match=f"'{name}' parameter of KernelPrior"):
        rj.KernelPrior(**{name: 0})


def test_densities_need_the_joint_target(frame, results):
    with pytest.raises(rj.NotAvailableError, match="needs target='joint'"):
        results.density(frame)

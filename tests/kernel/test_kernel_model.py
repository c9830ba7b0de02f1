"""KernelRegression before and at the fit: what it is made of, and what it refuses."""

import inspect
import pickle

import numpy as np
import pandas as pd
import pytest

import pyrjsel as rj

N = 24


@pytest.fixture
def frame():
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(
        {
            "a": rng.normal(50.0, 10.0, N),
            "b": rng.normal(0.0, 0.1, N),
            "g": rng.choice(["u", "v", "w"], N),
        },
        index=range(100, 100 + N),
    )
    return frame.assign(y=1000.0 + frame["a"] + (frame["g"] == "v") * 20.0 + rng.normal(0, 2.0, N))


def small(model, **options):
    return model.fit(rng=1, **{"particles": 60, **options})


def test_formula_and_arrays_make_the_same_model(frame):
    from_formula = rj.kernel_regression("y ~ a + b + g", frame, width=2.0)
    from_arrays = rj.KernelRegression(frame["y"], frame[["a", "b", "g"]], width=2.0)
    assert from_formula.design.column_names == ("a", "b", "g[T.v]", "g[T.w]")
    assert from_arrays.design.column_names == from_formula.design.column_names
    for model in (from_formula, from_arrays):
        assert model.nobs == N
        np.testing.assert_allclose(model.x.mean(axis=0), 0.0, atol=1e-12)
        np.testing.assert_allclose(model.x.std(axis=0), 1.0, rtol=1e-12)
        np.testing.assert_allclose([model.y.mean(), model.y.std()], [0.0, 1.0], atol=1e-12)
    assert repr(from_formula) == (
        "<KernelRegression 'y ~ a + b + g': 24 rows, 4 inputs, gaussian kernel of width 2>"
    )
    assert "y from arrays" in repr(from_arrays)


def test_without_standardisation_rows_are_used_as_they_are(frame):
    model = rj.KernelRegression(frame["y"], frame[["a", "b"]], standardize=False)
    assert (model.x == frame[["a", "b"]].to_numpy()).all()
    assert (model.y == frame["y"]).all()


def test_variances_are_given_in_squared_units_of_the_response(frame):
    variance = frame["y"].var(ddof=0)
    model = rj.kernel_regression(
        "y ~ a", frame, noise_variance=4.0, coef_variance=9.0, noise_prior=rj.InverseGamma(2, 3)
    )
    settings = model.settings
    np.testing.assert_allclose(settings.noise_variance, 4.0 / variance)
    np.testing.assert_allclose(settings.coef_variance, 9.0 / variance)
    np.testing.assert_allclose([settings.a_y, settings.b_y], [2.0, 3.0 / variance])
    assert (settings.a_beta, settings.b_beta) == (0.01, 0.01)
    same = rj.kernel_regression("y ~ a", frame, noise_prior=(2, 3)).settings
    assert (same.a_y, same.b_y) == (settings.a_y, settings.b_y)
    results = small(model)
    assert results.sigma["mean"] == pytest.approx(2.0)
    assert results.sigma["sd"] == pytest.approx(0.0, abs=1e-7)


def test_short_name_method_and_class_take_the_same_parameters():
    def of(function):
        return {
            name: (p.default, p.kind)
            for name, p in inspect.signature(function).parameters.items()
            if name not in ("self", "formula", "data", "endog", "exog", "functions")
        }

    made = of(rj.KernelRegression.__init__)
    assert of(rj.kernel_regression) == of(rj.KernelRegression.from_formula) == made
    assert len(made) == 12


def test_models_and_results_can_be_pickled(frame):
    model = rj.kernel_regression("y ~ a + g", frame, width=2.0)
    results = small(pickle.loads(pickle.dumps(model)))
    pd.testing.assert_series_equal(results.predict(), small(model).predict())
    copy = pickle.loads(pickle.dumps(results))
    pd.testing.assert_series_equal(copy.predict(frame), results.predict(frame))


def test_rows_with_missing_values_are_dropped_and_counted(frame):
    frame.loc[103, "a"] = np.nan
    with pytest.warns(rj.MissingDataWarning, match="1 of 24") as caught:
        model = rj.kernel_regression("y ~ a", frame)
    assert caught[0].filename == __file__
    with pytest.warns(rj.MissingDataWarning) as caught:
        rj.KernelRegression(frame["y"], frame[["a"]])
    assert caught[0].filename == __file__
    results = small(model)
    assert (model.nobs, results.nobs) == (23, 23)
    assert "(1 dropped)" in str(results.summary())
    assert np.isnan(results.predict(frame).loc[103])
    with pytest.raises(rj.DataError, match="missing"):
        rj.kernel_regression("y ~ a", frame, missing="raise")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"width": 0}, "'width' parameter of KernelRegression must be a finite number in \\(0, inf\\)"),
        ({"width": -1.0}, "'width'"),
        ({"width": np.nan}, "'width'"),
        ({"width": "mean"}, "'width' parameter of KernelRegression must be a positive number, 'median'"),
        ({"width": []}, "'width'"),
        ({"width": [1.0, 0.0]}, "'width'"),
        ({"width": [1.0, 1.0]}, "different numbers"),
        ({"width": False}, "'width'"),
        ({"kernel": "sinc"}, "'kernel' parameter of KernelRegression must be one of"),
        ({"convention": "w"}, "'convention'"),
        ({"max_kernels": 0}, "'max_kernels' parameter of KernelRegression must be an int in \\[1, inf\\)"),
        ({"max_kernels": 25}, "must be at most the number of rows, 24.* Got 25"),
        ({"mean_kernels": 0.0}, "'mean_kernels'"),
        ({"noise_variance": 0.0}, "'noise_variance'"),
        ({"coef_variance": -1.0}, "'coef_variance'"),
        # Rounding errors of squares of the response would be the likelihood.
        ({"noise_variance": 1e-14}, "'noise_variance' .* factor of 1e\\+12 of the mean square"),
        ({"coef_variance": 1e30}, "'coef_variance' .* factor of 1e\\+12 of the mean square"),
        ({"noise_prior": (0, 0)}, "improper, since the likelihood.* does not fall to 0 .* interpolate"),
        ({"coef_prior": (0.0, 1.0)}, "improper, since the likelihood tends to a constant"),
        ({"coef_prior": (1.0, 0.0)}, "'coef_prior' parameter .* improper"),
        ({"noise_prior": (-1.0, 1.0)}, "InverseGamma"),
        ({"noise_prior": 1.0}, "'noise_prior' parameter of KernelRegression must be None, an InverseGamma"),
        ({"noise_prior": rj.InverseGamma([1, 2], 1)}, "one a and one b"),
        ({"standardize": 1}, "'standardize'"),
        ({"missing": "keep"}, "'missing'"),
    ],
)
def test_bad_parameters_of_a_model(frame, options, said):
    with pytest.raises(rj.ParameterError, match=said):
        rj.KernelRegression(frame["y"], frame[["a"]], **options)
    with pytest.raises(rj.ParameterError, match=said):
        rj.kernel_regression("y ~ a", frame, **options)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"sampler": "gibbs"}, "'sampler' parameter of KernelRegression.fit must be one of 'smc', 'mcmc'"),
        ({"particles": 0}, "'particles'"),
        ({"particles": 2.5}, "'particles'"),
        ({"move_fraction": 0.5}, "'move_fraction'"),
        ({"move_fraction": 0.0}, "'move_fraction'"),
        ({"row_order": "sorted"}, "'row_order'"),
        ({"importance": "literal"}, "'importance'"),
        ({"resampling": "none"}, "'resampling'"),
        ({"ess_threshold": 1.5}, "'ess_threshold'"),
        ({"rejuvenate": -1}, "'rejuvenate'"),
        ({"runs": 0}, "'runs'"),
        ({"rng": -1}, "'rng'"),
        ({"n_jobs": 0}, "'n_jobs'"),
        ({"progress": 1}, "'progress'"),
    ],
)
def test_bad_options_of_a_fit(frame, options, said):
    with pytest.raises(rj.ParameterError, match=said):
        rj.kernel_regression("y ~ a", frame).fit(**options)


def test_options_of_another_sampler_are_not_known(frame):
    model = rj.kernel_regression("y ~ a", frame)
    with pytest.raises(
        rj.UnknownNameError, match=r"unknown option 'partikles' for sampler='smc'.*'particles'"
    ):
        model.fit(partikles=10)
    with pytest.raises(rj.UnknownNameError, match="unknown option 'particles' for sampler='mcmc'"):
        model.fit(sampler="mcmc", particles=10)


def test_data_that_cannot_be_used(frame):
    constant = frame.assign(a=3.0, z=0.1)
    with pytest.raises(rj.DataError, match="inputs 'a', 'z' of KernelRegression are constant"):
        rj.kernel_regression("y ~ a + z + b", constant)
    with pytest.raises(rj.DataError, match="response 'y' of KernelRegression is constant"):
        rj.kernel_regression("y ~ a", frame.assign(y=0.1))
    with pytest.raises(rj.DataError, match="needs two rows"):
        rj.kernel_regression("y ~ a", frame.head(1))
    with pytest.raises(rj.DataError, match="one input at least"):
        rj.kernel_regression("y ~ 1", frame)
    with pytest.raises(rj.DataError, match="infinite"):
        rj.kernel_regression("y ~ a", frame.assign(a=np.inf))
    with pytest.raises(rj.DataError, match=r"inputs of KernelRegression must be at most 1e\+150 .*1e\+200"):
        rj.kernel_regression("y ~ a", frame.assign(a=np.geomspace(1.0, 1e200, N)))
    with pytest.raises(rj.DataError, match="response of KernelRegression must be at most"):
        rj.kernel_regression("y ~ a", frame.assign(y=np.geomspace(1.0, 1e200, N)))
    with pytest.raises(rj.FormulaError, match=r"no level is ever merged .* Write g alone"):
        rj.kernel_regression("y ~ a + C(g, merge=True)", frame.assign(g=np.resize(["p", "q"], N)))
    with pytest.raises(rj.UnknownNameError, match="'aa'"):
        rj.kernel_regression("y ~ aa", frame)


def test_equal_inputs_are_distinct_points():
    # Two places, twelve rows at each: more kernels than places are allowed, and do no harm.
    x = np.repeat([0.0, 1.0], 12)
    y = x + 0.1 * np.random.default_rng(4).standard_normal(24)
    results = rj.KernelRegression(y, x, mean_kernels=8.0, width=0.5).fit(particles=60, rng=2)
    assert results.n_kernels.loc[3:].sum() > 0.5
    # Four standard errors, 0.03 each, of a mean of 12 rows.
    np.testing.assert_allclose(results.predict([[0.0], [1.0]]), [0.0, 1.0], atol=0.12)
    assert np.isfinite(results.get_prediction().summary_frame()).to_numpy().all()

"""Offsets that are the same in all rows, and those that cannot be logarithms of exposures."""

import warnings

import numpy as np
import pandas as pd
import pytest

import pyrjsel as rj

RNG = np.random.default_rng(3)
ROWS = pd.DataFrame(RNG.normal(size=(80, 2)), columns=["a", "b"])
ROWS["y"] = RNG.poisson(np.exp(1 + 0.5 * ROWS["a"])) + 1
ROWS["low"] = (RNG.random(80) < 0.5).astype(int)
ROWS["exposure"] = RNG.uniform(1, 2000, 80)
MODELS = {
    "logit": (rj.logit, "low ~ a + b"),
    "probit": (rj.probit, "low ~ a + b"),
    "cloglog": (rj.cloglog, "low ~ a + b"),
    "poisson": (rj.poisson, "y ~ a + b"),
    "negbin": (rj.negbin, "y ~ a + b"),
    "gamma": (rj.gamma, "y ~ a + b"),
    "cox": (lambda *given, **options: rj.cox(*given, event=None, **options), "y ~ a + b"),
}


def made(kind, data, **options):
    make, formula = MODELS[kind]
    return make(formula, data, **options)


@pytest.mark.parametrize("kind", MODELS)
def test_a_constant_offset_changes_nothing(kind):
    """In sizes from which exp() is infinite; rounding errors are those of numbers like 800."""
    options = {"rng": 1, "sampler": "enumerate", "integration": "laplace"}
    want = made(kind, ROWS).fit(**options)
    found = made(kind, ROWS.assign(o=800.0), offset="o").fit(**options)
    np.testing.assert_allclose(found.inclusion["posterior"], want.inclusion["posterior"], rtol=1e-8)
    new = ROWS[:5]
    np.testing.assert_allclose(found.predict(new.assign(o=800.0)), want.predict(new), rtol=1e-8)
    if kind == "cox":
        curves = [
            results.get_prediction(new.assign(o=800.0)).survival([2, 4]).to_numpy()
            for results in (found, want)
        ]
        np.testing.assert_allclose(*curves, rtol=1e-8)


def test_relative_hazards_count_from_the_mean_offset(tmp_path):
    """Of formulas, arrays, chunks of new rows, and files without data."""
    rows = ROWS.assign(o=800 + ROWS["b"])
    want = rj.cox("y ~ a", ROWS.assign(o=ROWS["b"] - ROWS["b"].mean()), event=None, offset="o").fit(rng=1)
    found = rj.cox("y ~ a", rows, event=None, offset="o").fit(rng=1)
    arrays = rj.CoxSelection(rows["y"], rows[["a"]], event=None, offset=rows["o"]).fit(rng=1)
    np.testing.assert_allclose(found.predict(), want.predict(), rtol=1e-9)
    np.testing.assert_allclose(arrays.predict(), want.predict(), rtol=1e-9)
    pd.testing.assert_series_equal(pd.concat(found.predict([rows[:3], rows[3:]])), found.predict())
    found.predict()
    found.save(tmp_path / "fit.rjs")
    pd.testing.assert_series_equal(rj.load(tmp_path / "fit.rjs").predict(rows), found.predict())
    scores = [each.cross_validate(4, rng=1).scores for each in (found.model, want.model)]
    pd.testing.assert_frame_equal(*scores, rtol=1e-8)


@pytest.mark.parametrize("kind", MODELS)
def test_exposures_in_the_place_of_their_logarithms(kind):
    with pytest.warns(rj.DataWarning, match=r"'offset' of .* goes from .* to .*: log\(exposure\)"):
        made(kind, ROWS, offset="exposure", coef_prior=rj.Normal(1.0))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        made(kind, ROWS, offset=np.log(ROWS["exposure"]))
        made(kind, ROWS, offset=np.linspace(-15.0, 15.0, 80))


def test_exposures_in_arrays_and_chunks():
    with pytest.warns(rj.DataWarning, match="'offset' of NegbinSelection"):
        model = rj.NegbinSelection(ROWS["y"], ROWS[["a", "b"]], offset=30.1 * ROWS["low"])
    assert np.isfinite(model.fit(rng=1).inclusion["posterior"]).all()
    # Means are infinite in the search for the null model, which ends in an error of the package.
    chunks = [ROWS[:40], ROWS[40:]]
    with (
        pytest.warns(rj.DataWarning, match="'offset' of PoissonSelection"),
        pytest.raises(rj.DataError, match="no information: the offset determines the response"),
    ):
        rj.poisson("y ~ a + b", chunks, offset="exposure")


def test_offsets_of_linear_models_have_any_range():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rj.linear("y ~ a", ROWS, offset="exposure")
        rj.linear("y ~ a", ROWS, offset="exposure", errors="student")
    wide = rj.linear("y ~ a", ROWS, offset="exposure").fit()
    less = rj.linear("z ~ a", ROWS.assign(z=ROWS["y"] - ROWS["exposure"])).fit()
    np.testing.assert_allclose(wide.predict(ROWS), less.predict(ROWS) + ROWS["exposure"], rtol=1e-9)

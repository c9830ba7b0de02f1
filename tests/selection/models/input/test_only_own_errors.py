"""Whatever is passed anywhere: it is used, or refused by an error of the package, and no other leaves."""

import numpy as np
import pandas as pd
import pytest
from input_data import COSTS, FRAME, N, arrays, build, changed, walk

import pyrjsel as rj

NASTY = {
    "None": None,
    "0": 0,
    "-1": -1,
    "2.5": 2.5,
    "True": True,
    "'10'": "10",
    "'abc'": "abc",
    "''": "",
    "nan": float("nan"),
    "inf": float("inf"),
    "-0.0": -0.0,
    "1e300": 1e300,
    "[1]": [1],
    "[None]": [None],
    "[[1], [1, 2]]": [[1], [1, 2]],
    "{}": {},
    "()": (),
    "object()": object(),
    "array": np.array([1, 2]),
    "0d array": np.array(3),
    "Series": pd.Series([1]),
    "empty Series": pd.Series(dtype=float),
    "frame": FRAME,
    "bytes": b"x",
    "lambda": lambda: 1,
    "class": int,
    "float64": np.float64(3),
    "int64": np.int64(-5),
    "bool_": np.bool_(True),
    "NA": pd.NA,
    "NaT": pd.NaT,
    "complex": complex(1, 1),
    "timedelta64": np.timedelta64(3),
    "records": np.zeros(N, dtype=[("a", "f8")]),
    "raw bytes": np.zeros(N, dtype="V8"),
    "matrix": np.array([[1, 2]]).view(np.matrix),
    "surrogate": np.array(["\udcff", "b"] * (N // 2)),
}
# One call a parameter; the package may take the value or refuse it.
PLACES = {
    **{
        f"logit {name}": lambda value, name=name: build(**{name: value})
        for name in ("coef_prior", "model_prior", "costs", "always", "heredity", "max_size", "weights")
    },
    **{
        f"logit {name}": lambda value, name=name: build(**{name: value})
        for name in ("offset", "missing", "functions", "formula")
    },
    **{
        f"poisson {name}": lambda value, name=name: rj.poisson("w ~ x + z", FRAME, **{name: value})
        for name in ("coef_prior", "weights", "offset")
    },
    "poisson endog": lambda value: rj.PoissonSelection([] if value is None else value, FRAME[["x", "z"]]),
    "budget": lambda value: build(costs=COSTS, budget=value),
    "data": lambda value: rj.logit("y ~ x", value),
    "endog": lambda value: arrays(endog=[] if value is None else value),
    "exog": lambda value: rj.LogitSelection(FRAME["y"], value),
    **{
        f"fit {name}": lambda value, name=name: walk(**{name: value})
        for name in ("sampler", "draws", "burn_in", "thin", "chains", "rng", "n_jobs", "proposal")
    },
    "fit swaps": lambda value: walk(swaps=value),
    "fit start": lambda value: walk(start=value),
    "fit start at": lambda value: walk(start=[value]),
    "fit integration": lambda value: build().fit(integration=value, rng=1, progress=False),
    "fit pairs": lambda value: build().fit(pairs=value, rng=1, progress=False),
    **{
        f"collapsed {name}": lambda value, name=name: walk(sampler="collapsed", **{name: value})
        for name in ("sweeps", "swaps", "temperatures", "start", "integration", "pairs")
    },
    "collapsed temperatures of": lambda value: walk(sampler="collapsed", temperatures=(1.0, value)),
    "GPrior": lambda value: build(coef_prior=rj.GPrior(value)),
    "GPrior intercept": lambda value: build(coef_prior=rj.GPrior("n", intercept=value)),
    "Normal": lambda value: build(coef_prior=rj.Normal(value)),
    "Normal mean": lambda value: build(coef_prior=rj.Normal(1, mean=value)),
    "Normal standardize": lambda value: build(coef_prior=rj.Normal(1, standardize=value)),
    "Normal scaled": lambda value: build(coef_prior=rj.Normal(1, scaled=value)),
    "Normal intercept": lambda value: build(coef_prior=rj.Normal(1, intercept=value)),
    "Bernoulli": lambda value: build(model_prior=rj.Bernoulli(value)),
    "BetaBinomial": lambda value: build(model_prior=rj.BetaBinomial(1, value)),
    "TruncatedPoisson": lambda value: build(model_prior=rj.TruncatedPoisson(value)),
    "CostAdjusted": lambda value: build(model_prior=rj.CostAdjusted(value)),
    "price": lambda value: build(costs={**COSTS, "x": value}),
    "always one": lambda value: build(always=[value]),
    "sensitivity": lambda value: build("y ~ x").sensitivity(value, rng=1, progress=False),
    "sensitivity prior": lambda value: build("y ~ x").sensitivity([value], rng=1, progress=False),
    "sensitivity g": lambda value: build("y ~ x").sensitivity(g=value, rng=1, progress=False),
    "sensitivity scale": lambda value: build("y ~ x").sensitivity(scale=value, rng=1, progress=False),
    "sensitivity one g": lambda value: build("y ~ x").sensitivity(g=[value], rng=1, progress=False),
    "sensitivity model prior": lambda value: build("y ~ x").sensitivity(model_priors=[value], rng=1),
    "sensitivity rng": lambda value: build("y ~ x").sensitivity(g=[1], rng=value, progress=1),
    "cross_validate": lambda value: build("y ~ x").cross_validate(value, rng=1, progress=False),
    "cross_validate label": lambda value: build("y ~ x").cross_validate([value] * N, rng=1),
    "cross_validate which": lambda value: build("y ~ x").cross_validate(2, which=value, rng=1),
    "cross_validate stratify": lambda value: build("y ~ x").cross_validate(2, stratify=value, rng=1),
    "function": lambda value: build("y ~ x", functions={"f": value}),
    "function result": lambda value: build("y ~ f(x)", functions={"f": lambda x: value}),
}
RESULT_PLACES = {
    "summary": lambda r, value: r.summary(value),
    "best": lambda r, value: r.best(value),
    "conf_int": lambda r, value: r.conf_int(value),
    "predict": lambda r, value: r.predict(value),
    "predict which": lambda r, value: r.predict(FRAME, value),
    "predict draws": lambda r, value: r.predict(FRAME, draws=value),
    "predict offset": lambda r, value: r.predict(FRAME, offset=value),
    "summary_frame": lambda r, value: r.get_prediction(FRAME).summary_frame(value),
    "posterior_predictive": lambda r, value: r.posterior_predictive(value, draws=3),
    "posterior_predictive which": lambda r, value: r.posterior_predictive(None, value, draws=3),
    "posterior_predictive draws": lambda r, value: r.posterior_predictive(FRAME, draws=value),
    "posterior_predictive weights": lambda r, value: r.posterior_predictive(FRAME, draws=3, weights=value),
    "check": lambda r, value: r.check(value, draws=3),
    "check draws": lambda r, value: r.check({"mean": np.mean}, draws=value),
    "check function result": lambda r, value: r.check({"f": lambda y: value}, draws=3),
    "plot_check ax": lambda r, value: r.plot_check("mean", "no axes" if value is None else value, draws=3),
    "plot_models top": lambda r, value: r.plot_models(top=value, ax="no axes"),
    "plot_inclusion top": lambda r, value: r.plot_inclusion(top=value, ax="no axes"),
    "plot_inclusion sort": lambda r, value: r.plot_inclusion(sort=value, ax="no axes"),
    "plot_coefficients top": lambda r, value: r.plot_coefficients(top=value, ax="no axes"),
    "plot_coefficients standardize": lambda r, value: r.plot_coefficients(standardize=value, ax="no axes"),
    "plot_trace": lambda r, value: r.plot_trace([value]),
    "compare_samplers": lambda r, value: rj.compare_samplers(value),
    "compare_samplers one": lambda r, value: rj.compare_samplers([r, value]),
    "compare_samplers names": lambda r, value: rj.compare_samplers([r, r], names=value),
    "compare_samplers top": lambda r, value: rj.compare_samplers([r], top=value),
    "compare_samplers reference": lambda r, value: rj.compare_samplers([r], reference=value),
}


def refused(call):
    """Whether a call is refused, by an error or a warning of the package; any other exception leaves."""
    try:
        call()
    except (rj.PyrjselError, rj.PyrjselWarning):
        return True
    return False


@pytest.mark.parametrize("place", PLACES)
def test_only_errors_of_the_package(place):
    outcomes = [refused(lambda value=value: PLACES[place](value)) for value in NASTY.values()]
    assert sum(outcomes) > len(outcomes) / 2  # most of this is of no use anywhere


@pytest.mark.parametrize("place", RESULT_PLACES)
def test_only_errors_of_the_package_from_results(place, results, results_with_offset):
    for found in (results, results_with_offset):
        assert (
            sum(refused(lambda v=value, f=found: RESULT_PLACES[place](f, v)) for value in NASTY.values()) > 16
        )


@pytest.mark.parametrize("column", ["x", "g", "y", "w", "o"])
def test_only_errors_of_the_package_for_a_bad_cell(column, results):
    """A bad value in one cell, as data read from files have."""
    for value in NASTY.values():
        frame = FRAME.astype({column: object})
        frame.at[3, column] = value  # noqa: PD008 - loc would spread a list over rows
        refused(lambda frame=frame: build(data=frame, weights="w", offset="o"))
        refused(lambda frame=frame: results.predict(frame))


@pytest.mark.parametrize("factor", [1e-100, 1e-10, 1e10, 1e100])
def test_units_change_nothing_under_a_g_prior(factor):
    """Columns in absurd units give the posterior that they give in sane ones."""
    plain = build("y ~ x + z").fit(rng=1, progress=False)
    scaled = build("y ~ x + z", changed(x=factor * FRAME["x"])).fit(rng=1, progress=False)
    # The same random numbers, and rounding alone.
    np.testing.assert_allclose(scaled.inclusion["posterior"], plain.inclusion["posterior"], rtol=1e-9)
    np.testing.assert_allclose(scaled.params["x"] * factor, plain.params["x"], rtol=1e-9)

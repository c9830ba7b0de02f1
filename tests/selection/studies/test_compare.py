"""compare_samplers: every number against the results that it comes from, and what cannot be compared."""

import warnings

import numpy as np
import pandas as pd
import pytest

import pyrjsel as rj

FORMULA = "low ~ age + lwt + race + smoke"
COSTS = {"age": 1.0, "lwt": 2.0, "race": 0.5, "smoke": 0.5}
BIRTHS = rj.datasets.birthwt().data


def build(formula=FORMULA, data=BIRTHS, **options):
    return rj.logit(formula, data, **{"costs": COSTS, **options})


def fit(model, **options):
    """Fit with warnings of chains that are too short for the purpose left out."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rj.ConvergenceWarning)
        return model.fit(**{"progress": False, **options})


@pytest.fixture(scope="module")
def model():
    return build()


@pytest.fixture(scope="module")
def exact(model):
    return fit(model, sampler="enumerate", rng=1)


@pytest.fixture(scope="module")
def walk(model):
    return fit(model, sampler="rjmcmc", draws=1500, chains=3, rng=2)


@pytest.fixture(scope="module")
def population(model):
    return fit(model, sampler="population", draws=400, thin=2, chains=2, rng=3)


@pytest.fixture(scope="module")
def blink(model):
    """A run too short to visit most models."""
    return fit(model, sampler="rjmcmc", draws=4, chains=2, rng=4)


def by_terms(results, column):
    """A column of the table of models, by terms."""
    return dict(zip(results.models["terms"], results.models[column], strict=True))


def test_numbers_are_those_of_the_results(exact, walk, population):
    runs = {"exact": exact, "walk": walk, "population": population}
    table = rj.compare_samplers(runs, top=3)
    per_model = [f"{name}_{k}" for k in (1, 2, 3) for name in ("posterior", "mcse_percent", "z")]
    efficiency = ["ess", "ess_per_second", "relative_iterations", "relative_seconds"]
    assert list(table.columns) == ["sampler", "chains", "iterations", "cpu_seconds", *per_model, *efficiency]
    assert list(table.index) == list(runs)
    assert table.index.name == "run"
    assert table["sampler"].tolist() == ["enumerate", "rjmcmc", "population"]
    np.testing.assert_array_equal(table["chains"], [np.nan, 3, 2])
    np.testing.assert_array_equal(table["iterations"], [np.nan, 3 * 1500, 2 * 400 * 2])
    seconds = [run.diagnostics["cpu_seconds"]["all"] for run in runs.values()]
    np.testing.assert_array_equal(table["cpu_seconds"], seconds)
    assert walk.diagnostics["cpu_seconds"][[0, 1, 2]].sum() == pytest.approx(table["cpu_seconds"]["walk"])
    models = table.attrs["models"]
    assert models == exact.models["terms"].tolist()[:3]
    for k, terms in enumerate(models, start=1):
        for name, run in runs.items():
            assert table.loc[name, f"posterior_{k}"] == by_terms(run, "posterior")[terms]
            assert table.loc[name, f"mcse_percent_{k}"] == pytest.approx(100 * by_terms(run, "mcse")[terms])


def test_z_is_the_distance_in_standard_errors(exact, walk):
    table = rj.compare_samplers({"walk": walk, "exact": exact}, top=2)
    for k in (1, 2):
        gap = table[f"posterior_{k}"]["walk"] - table[f"posterior_{k}"]["exact"]
        error = np.sqrt((table[f"mcse_percent_{k}"] ** 2).sum()) / 100
        assert table[f"z_{k}"]["walk"] == pytest.approx(gap / error)
        assert np.isnan(table[f"z_{k}"]["exact"])


def test_efficiency(exact, walk, population):
    table = rj.compare_samplers([exact, walk, population], top=1)
    assert table.loc[1, ["ess", "ess_per_second", "relative_iterations", "relative_seconds"]].isna().all()
    # Relative to the first run that drew.
    assert table.loc[2, ["relative_iterations", "relative_seconds"]].tolist() == [1.0, 1.0]
    p, error = table["posterior_1"], table["mcse_percent_1"] / 100
    ess = p * (1 - p) / error**2
    np.testing.assert_allclose(table["ess"][[2, 3]], ess[[2, 3]])
    np.testing.assert_allclose(table["ess_per_second"][[2, 3]], (ess / table["cpu_seconds"])[[2, 3]])
    for name, column in (("iterations", "iterations"), ("seconds", "cpu_seconds")):
        expected = (error[3] / error[2]) ** 2 * table[column][3] / table[column][2]
        assert table[f"relative_{name}"][3] == pytest.approx(expected)


def test_without_a_reference_the_best_models_are_those_of_all_draws(walk, population, blink):
    runs = [blink, population, walk]
    table = rj.compare_samplers(runs, top=4)
    assert not [name for name in table.columns if name.startswith("z_")]
    mass = {}
    for run in runs:
        iterations = run.draws.model.size * run.settings.thin
        for terms, share in by_terms(run, "posterior").items():
            mass[terms] = mass.get(terms, 0.0) + iterations * share
    assert table.attrs["models"] == sorted(mass, key=mass.get, reverse=True)[:4]
    assert table["chains"].dtype.kind == "i"  # whole numbers where no enumeration is among the runs


def test_models_that_a_run_never_visited(exact, blink):
    table = rj.compare_samplers([exact, blink], top=16)
    models = table.attrs["models"]
    visited = by_terms(blink, "posterior")
    assert 0 < len(visited) < 16 == len(models)
    for k, terms in enumerate(models, start=1):
        if terms not in visited:
            assert table.loc[2, f"posterior_{k}"] == 0
            assert np.isnan(table.loc[2, f"mcse_percent_{k}"])
            assert np.isnan(table.loc[2, f"z_{k}"])
        else:
            assert table.loc[2, f"posterior_{k}"] == visited[terms]


def test_runs_of_the_printed_scheme_are_told_apart_by_their_names_alone(model, exact, population):
    printed = fit(model, sampler="population", scheme="paper", draws=400, thin=2, chains=2, rng=3)
    table = rj.compare_samplers({"exact": exact, "ours": population, "printed": printed}, top=1)
    assert table["sampler"].tolist() == ["enumerate", "population", "population"]
    assert list(table.index[1:]) == ["ours", "printed"]
    assert table.loc["ours", "posterior_1"] != table.loc["printed", "posterior_1"]


def test_a_run_that_visited_none_of_the_models(exact, model):
    worst = exact.models["terms"].iloc[-1]
    start = fit(model, sampler="rjmcmc", draws=1, burn_in=0, chains=1, rng=2, start=list(worst))
    best = exact.models["terms"].iloc[0]
    assert best not in by_terms(start, "posterior")
    table = rj.compare_samplers([exact, start], top=1)
    assert table.loc[2, "posterior_1"] == 0
    assert table.loc[2, ["mcse_percent_1", "z_1", "ess", "relative_seconds"]].isna().all()


def test_reference_from_outside_and_among_the_runs(exact, walk, population):
    outside = rj.compare_samplers([walk, population], reference=exact, top=2)
    among = rj.compare_samplers([walk, population, exact], top=2)
    pd.testing.assert_frame_equal(outside, among.iloc[:2], check_dtype=False)
    other = rj.compare_samplers([walk, exact], reference=walk, top=2)
    assert other.attrs["models"] == walk.models["terms"].tolist()[:2]
    assert np.isnan(other["z_1"][1])
    swapped = rj.compare_samplers([walk, exact], reference=exact, top=1)
    assert other["z_1"][2] == pytest.approx(-swapped["z_1"][1])


def test_names_of_runs(walk, blink):
    assert list(rj.compare_samplers([walk, blink], names=["long", "short"]).index) == ["long", "short"]
    assert list(rj.compare_samplers((walk, blink)).index) == [1, 2]
    assert list(rj.compare_samplers({("a", 1): walk}).index) == [("a", 1)]


def test_no_more_models_than_there_are(exact, walk):
    assert len(rj.compare_samplers([exact, walk], top=1000).attrs["models"]) == 16
    deficient = BIRTHS.assign(same=2 * BIRTHS["age"])
    with pytest.warns(rj.RankWarning):
        model = rj.logit("low ~ age + same", deficient)
    # The model of both columns has posterior probability 0.
    assert len(rj.compare_samplers([fit(model, rng=1)]).attrs["models"]) == 3


def test_laplace_values_have_no_known_error(model, exact):
    laplace = fit(model, sampler="enumerate", integration="laplace", rng=1)
    table = rj.compare_samplers([exact, laplace], top=1)
    assert np.isnan(table.loc[2, "mcse_percent_1"])
    assert table.loc[2, "posterior_1"] == laplace.models["posterior"][1]


def test_the_only_model():
    only = rj.logit("low ~ 1", BIRTHS)
    table = rj.compare_samplers([fit(only, rng=1), fit(only, sampler="rjmcmc", draws=20, rng=1)])
    assert table["posterior_1"].tolist() == [1.0, 1.0]
    assert table["z_1"].isna().all()
    assert table.attrs["models"] == [()]


OTHER = BIRTHS.assign(low=BIRTHS["low"].where(BIRTHS.index != BIRTHS.index[0], 1 - BIRTHS["low"]))
DIFFERENT = {
    "response": ({"data": OTHER}, "another response"),
    "rows": ({"data": BIRTHS.iloc[1:]}, "189 and 188 rows"),
    "order of rows": ({"data": BIRTHS.iloc[::-1]}, "another response"),
    "columns": ({"data": BIRTHS.assign(age=BIRTHS["age"] + 1)}, "other values in the columns of their terms"),
    "weights": ({"weights": np.arange(len(BIRTHS)) % 2 + 1.0}, "other weights"),
    "offset": ({"offset": np.linspace(0, 1, len(BIRTHS))}, "another offset"),
    "terms": ({"formula": "low ~ age + lwt + race"}, "other terms"),
    "budget": ({"budget": 3}, "another budget"),
    "costs": ({"costs": {**COSTS, "age": 1.5}}, "other costs"),
    "no costs": ({"costs": None}, "other costs"),
    "always": ({"always": "age"}, "other terms that are always in"),
    "max_size": ({"max_size": 2}, "another max_size"),
    "heredity": ({"heredity": "strong"}, "another heredity"),
    "model prior": ({"model_prior": rj.Uniform()}, "another model prior"),
    "g": (
        {"coef_prior": rj.GPrior("n")},
        r"another coefficient prior \(GPrior\(g='n', information='null'\); GPrior\(g='n'\)\)",
    ),
    "intercept": (
        {"coef_prior": rj.GPrior("n", "null", intercept=rj.Normal(2.0))},
        "another coefficient prior",
    ),
    "prior": ({"coef_prior": rj.Normal(2.0)}, "another coefficient prior"),
}


@pytest.mark.parametrize("case", DIFFERENT)
def test_other_posteriors_are_refused(case, walk):
    options, reason = DIFFERENT[case]
    other = fit(build(**options), sampler="rjmcmc", draws=10, chains=1, rng=1)
    with pytest.raises(rj.ParameterError, match=f"Run 1 and run 2 have {reason}"):
        rj.compare_samplers([walk, other])
    with pytest.raises(rj.ParameterError, match=f"Run 1 and the reference have {reason}"):
        rj.compare_samplers([walk], reference=other)


@pytest.mark.parametrize(
    "options",
    [
        {"coef_prior": rj.GPrior(float(len(BIRTHS)), information="null")},
        {"model_prior": rj.BetaBinomial(1.0, expected_size=2.0)},  # of four terms: b = 1
        {"weights": np.ones(len(BIRTHS)), "offset": np.zeros(len(BIRTHS))},
        {"costs": pd.Series(COSTS).iloc[::-1]},
        {"max_size": 4},
        {"data": BIRTHS.drop(columns="ptl").reset_index(drop=True)},
    ],
)
def test_the_same_posterior_written_in_another_way(options, walk):
    other = fit(build(**options), sampler="rjmcmc", draws=10, chains=1, rng=1)
    assert rj.compare_samplers([walk, other], top=1)["iterations"].tolist() == [4500, 10]


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"results": []}, "'results' parameter of compare_samplers.*at least one"),
        ({"results": {}}, "'results'.*at least one"),
        ({"results": None}, "'results'.*Got None"),
        ({"results": "ab"}, "'results'.*Got 'ab'"),
        ({"results": [1]}, "'results'.*sequence of SelectionResults"),
        ({"names": ["a", "b"]}, "'names'.*1 different strings"),
        ({"names": "a"}, "'names'.*Got 'a'"),
        ({"names": [["a"]]}, "'names'.*different strings"),
        ({"top": 0}, r"'top'.*\[1, inf\). Got 0"),
        ({"reference": "exact"}, "'reference'.*SelectionResults or None. Got 'exact'"),
    ],
)
def test_bad_arguments(options, match, walk):
    with pytest.raises(rj.ParameterError, match=match):
        rj.compare_samplers(**{"results": [walk], **options})


def test_bad_names(walk, blink):
    with pytest.raises(rj.ParameterError, match="2 different strings"):
        rj.compare_samplers([walk, blink], names=["a", "a"])
    with pytest.raises(rj.ParameterError, match=r"'names'.*mapping"):
        rj.compare_samplers({"a": walk}, names=["b"])
    # Results on their own are no sequence.
    with pytest.raises(rj.ParameterError, match="'results'"):
        rj.compare_samplers(walk)

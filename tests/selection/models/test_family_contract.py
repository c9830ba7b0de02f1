"""The contract of the models of all families, over the table of families.

Maxima are those of statsmodels or scipy, samplers agree with enumeration, predictions and checks fit the
data, files and longer runs give the same results, and summaries say what was assumed. What is particular to
a family is in the file with its name; jumps, modes and integrals are tested in ``samplers`` and ``evidence``,
likelihoods in ``tests/families``.
"""

import numpy as np
import pandas as pd
import pytest
from family_cases import FAMILIES, ROWS, rows
from fit_checks import assert_saved_alike
from scipy import stats
from turns import by_turns, every

import pyrjsel as rj
from pyrjsel.selection.comparable import same_data, same_space

SAMPLERS = ["rjmcmc", "collapsed", "population"]
PAIRS = list(FAMILIES)
QUICK = {"integration": "laplace"}
UNKNOWN = [name for name, family in FAMILIES.items() if family.nuisance]
KNOWN = [name for name, family in FAMILIES.items() if not family.nuisance]


@pytest.fixture(scope="module", params=FAMILIES)
def name(request):
    return request.param


@pytest.fixture(scope="module")
def case(name):
    return FAMILIES[name]


@pytest.fixture(scope="module")
def frame(case):
    return case.frame()


@pytest.fixture(scope="module")
def enumerated(case, frame):
    return case.model(frame=frame).fit(rng=1, pairs=1024)


@pytest.fixture(scope="module")
def walked(case, frame):
    return case.model(frame=frame).fit(sampler="collapsed", draws=150, burn_in=50, chains=2, rng=2)


# ---------------------------------------------------------------------- against references


@pytest.mark.parametrize("name", KNOWN, indirect=True)
def test_maxima_are_those_of_statsmodels(case, frame):
    """Deviance, maximum and observed information of a model, through BIC, which has these alone."""
    results = case.model("y ~ a + b", frame, coef_prior=rj.BIC(), always=["a", "b"]).fit()
    want = case.maximum(frame, ["a", "b"])
    np.testing.assert_allclose(results.coefficients["mean"], want.params, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(results.coefficients["sd"], want.error, rtol=1e-6)
    np.testing.assert_allclose(np.ravel(results.single_model().params), want.params, rtol=1e-6, atol=1e-9)
    row = results.models.iloc[0]
    # Theirs are rounded sums of logarithms; our search ends where a step gains less than 1e-9.
    assert row["deviance"] == pytest.approx(want.deviance, abs=1e-8)
    assert row["log_marginal"] == pytest.approx(
        want.value - 0.5 * want.params.size * np.log(want.n), abs=1e-6
    )


@pytest.mark.parametrize("name", [name for name in UNKNOWN if FAMILIES[name].maximum], indirect=True)
def test_joint_maxima_are_those_of_references(name, case, frame):
    """Coefficients, the unknown parameter, their information, and deviances."""
    model, deviance = case.model("y ~ a + b", frame), {}
    single = model.fit(rng=1, pairs=256)._marginal
    for gamma, terms in (([1, 1], ["a", "b"]), ([0, 0], [])):
        which, finder, want = np.array(gamma, dtype=np.uint8), single.finder, case.maximum(frame, terms)
        deviance[len(terms)] = single.deviance(which), want.value
        if name != "student":
            assert finder.maximum_likelihood(which)[0] == pytest.approx(want.value, abs=1e-8)
        v, point = np.zeros(model.regression.n_columns), finder.at
        v[finder.columns] = point[:-1]
        raw = model.regression.to_raw(v[None])[0][finder.columns]
        # The search ends where a step gains less than 1e-9 of the log-likelihood; scipy's is no better.
        tolerance = 2e-4 if name == "student" else 2e-6
        np.testing.assert_allclose(raw, want.params, rtol=tolerance, atol=tolerance)
        assert point[-1] == pytest.approx(want.size, abs=10 * tolerance)
        error = np.sqrt(np.diag(np.linalg.inv(finder.factor @ finder.factor.T)))[1 : 1 + len(terms)]
        if name != "student":
            scale = model.regression.scale[finder.columns[1:] - 1]
            np.testing.assert_allclose(error / scale, want.error[1 : 1 + len(terms)], rtol=2e-6)
    # Deviances may lack a constant.
    assert deviance[0][0] - deviance[2][0] == pytest.approx(2 * (deviance[2][1] - deviance[0][1]), abs=1e-6)
    if want.deviance is not None:
        assert deviance[0][0] == pytest.approx(want.deviance, abs=1e-6)


@pytest.mark.parametrize(("sampler", "name"), by_turns(SAMPLERS, PAIRS), indirect=["name"])
def test_samplers_agree_with_enumeration(case, frame, enumerated, sampler):
    """Inclusion, and moments of coefficients and of unknown parameters; under mixtures of g-priors too."""
    prior = case.priors.get(sampler)
    model = case.model(frame=frame, coef_prior=prior)
    exact = enumerated if prior is None else model.fit(rng=1, pairs=1024)
    found = model.fit(sampler=sampler, draws=400 if sampler == "collapsed" else 2500, rng=5)
    # |z| < 6 in 12 x 3 x 3 comparisons with errors from 50 batches: 1e-5, of which a third by default.
    error = np.fmax(found.posterior.inclusion_mcse, 1e-3)
    assert np.max(np.abs(found.posterior.inclusion - exact.posterior.inclusion) / error) < 6
    # Of 10,000 draws, or 1,600 of `collapsed`, 400 or more are effective, of 4,000 weighted ones a quarter.
    error = 6 * np.sqrt(1 / 400 + 1 / 1000)
    tables = [(found.coefficients, exact.coefficients)]
    if case.nuisance:
        tables.append((np.log(found.nuisance["mean"]).to_frame("mean"), log_moments(exact)))
    for one, other in tables:
        assert np.max(np.abs(one["mean"] - other["mean"]) / other["sd"]) < error


def log_moments(results):
    """Mean and relative deviation of unknown parameters."""
    table = results.nuisance
    return pd.DataFrame({"mean": np.log(table["mean"]), "sd": table["sd"] / table["mean"]})


# ---------------------------------------------------------------------- results


def test_predictions_fit_the_data(name, enumerated, frame):
    if name == "multinomial":
        # Intercepts fit the shares of classes.
        share = frame["y"].value_counts(normalize=True)
        assert np.abs(enumerated.predict(frame).mean() - share).max() < 0.02
        return
    found = enumerated.get_prediction(frame).summary_frame()
    # Means over draws; those of Cox models are relative hazards.
    np.testing.assert_allclose(found["mean"], enumerated.predict(frame), rtol=0.1)
    assert ((found["mean_ci_lower"] <= found["mean"]) & (found["mean"] <= found["mean_ci_upper"])).all()
    if "obs_ci_lower" in found:
        inside = (frame["y"] >= found["obs_ci_lower"]) & (frame["y"] <= found["obs_ci_upper"])
        # Of sixty intervals of 95 % or more, 12 or more miss their response with a chance below 1e-4.
        assert inside.sum() > ROWS - 12


def test_the_model_passes_its_own_checks(name, enumerated):
    """Responses are drawn from it: p-values below 1e-3 of four or five statistics are a fault."""
    if name.startswith("cox"):
        with pytest.raises(rj.NotAvailableError, match=r"no predictive checks for Cox models.*survival"):
            enumerated.check(rng=1)
    else:
        assert np.all(enumerated.check(rng=2)["p_value"] > 1e-3)


@pytest.mark.filterwarnings("ignore::pyrjsel.DispersionWarning")
@pytest.mark.parametrize("name", every(2, [name for name in PAIRS if FAMILIES[name].rival]), indirect=True)
def test_held_out_scores_prefer_it(case, frame):
    """Where responses vary as they do here, to a model in which they cannot."""
    score, rival = (
        model.cross_validate(4, rng=1, **quick).scores["log_score"]
        for model, quick in ((case.model(frame=frame), QUICK), (case.rival(frame), {}))
    )
    assert np.all(score > rival + 0.1)


def test_what_summaries_say(case, enumerated, walked):
    for results in (enumerated, walked):
        text = str(results.summary())
        assert text.strip().startswith(case.title)
        assert [fact for fact in case.facts if fact not in text] == []
    if not case.nuisance:
        with pytest.raises(rj.NotAvailableError, match="no unknown parameters"):
            _ = enumerated.nuisance
        return
    assert tuple(walked.nuisance.index) == case.nuisance
    for name in case.nuisance:
        mean, low, high = walked.nuisance.loc[name, ["mean", "ci_lower", "ci_upper"]]
        assert low < mean < high
        assert f"{mean:.4g} ({low:.4g}, {high:.4g})" in text


def test_saved_results(enumerated, frame, tmp_path):
    assert_saved_alike(enumerated, frame, tmp_path / "fit.zip")


def test_longer_runs_are_the_same_as_whole_ones(case, walked, frame, tmp_path):
    walked.save(tmp_path / "fit.zip")
    longer = rj.load(tmp_path / "fit.zip", data=frame).extend(50)
    whole = case.model(frame=frame).fit(sampler="collapsed", draws=200, burn_in=50, chains=2, rng=2)
    np.testing.assert_array_equal(longer.draws.model, whole.draws.model)
    np.testing.assert_array_equal(longer.draws.coefficients, whole.draws.coefficients)
    for name in case.nuisance:
        np.testing.assert_array_equal(longer.draws.nuisance[name], whole.draws.nuisance[name])


def test_draws_for_arviz(case, walked):
    pytest.importorskip("arviz")
    posterior = walked.to_arviz(coefficients=True).posterior
    # A Cox model has no intercept, and its draws have one.
    columns = posterior["coefficients"].shape[-1]
    np.testing.assert_array_equal(posterior["coefficients"], walked.draws.coefficients[..., -columns:])
    for name in case.nuisance:
        np.testing.assert_array_equal(posterior[name], walked.draws.nuisance[name])


@pytest.mark.filterwarnings("ignore:The run has:pyrjsel.ConvergenceWarning")
@pytest.mark.parametrize("name", every(7, PAIRS), indirect=True)
def test_many_terms(case):
    """More than can be enumerated: chains, which find the one with an effect."""
    frame, _, rng = rows(n=80)
    frame = frame.join(pd.DataFrame(rng.standard_normal((80, 22)), columns=[f"x{k}" for k in range(22)]))
    frame = frame.assign(**case.draw(1.2 * frame["x0"].to_numpy(), rng, frame["n"].to_numpy()))
    formula = "y ~ " + " + ".join(f"x{k}" for k in range(22))
    options = {"offset": None} if "offset" in case.options else {}
    results = case.model(formula, frame, **options).fit(draws=100, burn_in=50, chains=1, rng=1)
    assert results.posterior.sampler in ("collapsed", "rjmcmc")
    assert results.inclusion["posterior"].idxmax() == "x0"


def test_sensitivity(case, frame):
    priors = {"n": rj.GPrior("n"), "100": rj.GPrior(100.0)}
    found = case.model("y ~ a + b", frame).sensitivity(coef_priors=priors, rng=1)
    assert found.inclusion.notna().all(axis=None)


@pytest.mark.parametrize("name", [name for name in PAIRS if FAMILIES[name].others], indirect=True)
def test_models_with_other_likelihoods_are_not_compared(case, frame):
    models = [case.model(frame=frame, **options) for options in case.others]
    for k, one in enumerate(models):
        for other in models[k + 1 :]:
            assert same_data(one, other) == "another family"
    again = case.model(frame=frame, **case.others[0])
    assert same_data(models[0], again) is None
    assert same_space(models[0], again) is None


@pytest.mark.parametrize("name", UNKNOWN, indirect=True)
def test_surrogate_jumps_need_known_parameters(case, frame):
    with pytest.raises(rj.ParameterError, match=r"'surrogate' .* if theta, shape or sigma is unknown"):
        case.model(frame=frame).fit(sampler="rjmcmc", surrogate=1)


# ---------------------------------------------------------------------- calibration

AT = np.linspace(-1.5, 1.5, 24)
# The response by generator, intercept, slope and size; whether the last two have proper priors in the model.
DRAWN = {
    "negbin, theta": lambda rng, b, slope, size: {
        "y": rng.poisson(np.exp(b + slope * AT) * rng.gamma(size, 1 / size, 24))
    },
    "gamma, shape": lambda rng, b, slope, size: {"y": np.exp(b + slope * AT) * rng.gamma(size, 1 / size, 24)},
    "cox": lambda rng, b, slope, size: first_events(rng.exponential(np.exp(-slope * AT))),
    # An improper prior of sigma is invariant under changes of scale: ranks are uniform whatever its value.
    "student": lambda rng, b, slope, size: {"y": 3 + size * (slope * AT + rng.standard_t(4, 24))},
}


def first_events(time):
    """The order of exponential times, of which the last ones are censored once 18 of 24 have been seen."""
    end = np.sort(time)[17]
    return {"y": np.minimum(time, end), "died": time <= end}


@pytest.mark.statistical
@pytest.mark.parametrize("name", DRAWN, indirect=True)
def test_posteriors_of_draws_from_the_prior_are_calibrated(name, case):
    """Models, coefficients and sizes drawn from their priors have uniform ranks among posterior draws.

    600 data sets: up to three Kolmogorov-Smirnov tests at 3e-7 each, with ranks among 400 draws, and mean
    inclusion against the share of data sets with the term, within five standard errors: 6e-6 in all.
    """
    rng, found = np.random.default_rng(11), []
    sized = len(case.nuisance) > 0 and name != "student"
    options = {"coef_prior": rj.Normal(1.0, intercept=rj.Normal(0.7) if sized else None), "offset": None}
    if sized:
        options[f"{case.nuisance[0]}_prior"] = rj.LogNormal(0.5, 0.8)
    for seed in range(600):
        inside, size, b = rng.random() < 0.5, np.exp(rng.normal(0.5, 0.8)), rng.normal(0, 0.7)
        slope = rng.normal() * inside
        frame = pd.DataFrame({"a": AT, "n": 1, **DRAWN[name](rng, b, slope, size)})
        unit = size if name == "student" else 1.0  # the prior of its slope is in units of sigma
        if not frame["y"].any():
            continue  # such data are refused: their chance does not depend on ranks given the data
        results = case.model("y ~ a", frame, **options).fit(rng=seed)
        coefficients, values = results._averaged
        pick = rng.permutation(len(coefficients))[:400]
        within = coefficients[coefficients[:, 1] != 0, 1]
        ranks = [np.mean(values[own][pick] < size) for own in case.nuisance]
        ranks += [np.mean(coefficients[pick, 0] < b)] if sized else []
        ranks.append(
            np.mean(rng.permutation(within)[:400] < slope * unit) if inside and within.size > 200 else np.nan
        )
        found.append((results.inclusion["posterior"].iloc[0], inside, *ranks))
    p, inside, *ranks = np.array(found, dtype=float).T
    for each in ranks:
        assert stats.kstest(each[np.isfinite(each)], "uniform").pvalue > 3e-7
    assert abs(np.mean(p - inside)) < 5 * np.std(p - inside) / np.sqrt(p.size)

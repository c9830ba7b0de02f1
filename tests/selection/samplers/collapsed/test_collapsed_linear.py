"""Walks over gaussian models against the enumeration of the same models, whose numbers are exact.

The z-tests are Holm's procedure at level 1e-6 a test, of four chains of thirty batches each.
"""

import tracemalloc
import warnings

import numpy as np
import pandas as pd
import pytest
from selection_checks import far_away, fit
from turns import by_turns, every

import pyrjsel as rj
from pyrjsel.selection.regression.gaussian import GaussianRegression
from pyrjsel.selection.samplers.recording import gaussian_average
from pyrjsel.selection.samplers.recording.gaussian_average import averaged_moments

COSTS = {"a": 1.0, "b": 2.0, "c": 1.0, "f": 1.5, "d": 0.5}
FORMULA = "y ~ a + b + c + d + f + a:b + c:f"
PRIORS = {
    "g": {"coef_prior": rj.GPrior("n")},
    "hyper-g": {"coef_prior": rj.HyperG(3.0)},
    "Zellner-Siow": {"coef_prior": rj.ZellnerSiow()},
    "normal": {"coef_prior": rj.Normal(1.0)},
    "normal, shifted": {"coef_prior": rj.Normal(0.8, mean=0.2, standardize=True)},
}
SPACES = {
    "free": {},
    "budget": {"costs": COSTS, "budget": 4.0, "model_prior": rj.Uniform()},
    "strong heredity": {"heredity": "strong", "model_prior": rj.Bernoulli(0.4)},
    "weak heredity, size": {"heredity": "weak", "max_size": 3, "always": ("d",)},
}


def rows(n=60, seed=4):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 4))
    x[:, 1] += 0.8 * x[:, 0]
    x[:, 3] += 0.6 * x[:, 2]
    data = pd.DataFrame(x, columns=list("abcd"))
    data["f"] = pd.Categorical.from_codes(rng.integers(0, 3, size=n), list("uvw"))
    data["y"] = 1.0 + 0.45 * data["a"] - 0.3 * data["c"] + (data["f"] == "v") * 0.5 + rng.normal(size=n)
    return data


def make(prior="g", space="free", **more):
    return rj.linear(FORMULA, rows(), **PRIORS[prior], **SPACES[space], **more)


def walk(model, draws=4000, burn_in=300, **options):
    return fit(model, **{"sampler": "collapsed", "draws": draws, "burn_in": burn_in, "rng": 5, **options})


def faults(results, exact, least=0.02):
    """What lies too far from enumeration: inclusion, and models of a probability of at least `least`."""
    free = exact.inclusion["posterior"].between(1e-4, 1 - 1e-4)
    models = exact.models.set_index("terms")["posterior"]
    models = models[models >= least]
    found = results.models.set_index("terms").reindex(models.index)
    # 1.2: batch errors of short chains are a little too small (see selection_checks.FACTOR).
    return far_away(
        np.concatenate([results.inclusion["posterior"][free], found["posterior"]]),
        np.concatenate([exact.inclusion["posterior"][free], models]),
        1.2 * np.concatenate([results.inclusion["mcse"][free], found["mcse"]]),
        [*exact.inclusion.index[free], *map(str, models.index)],
    )


@pytest.mark.parametrize(("space", "prior"), by_turns(list(SPACES), list(PRIORS)))
def test_walks_find_the_posterior(space, prior):
    model = make(prior, space)
    exact, results = model.fit(sampler="enumerate", rng=1), walk(model)
    assert faults(results, exact) == {}
    assert np.nanmax(results.inclusion["mcse"]) < 0.01
    # Marginal likelihoods are those of the enumeration, absolutely.
    listed = exact.models.set_index("terms")["log_marginal"]
    found = results.models.set_index("terms")["log_marginal"]
    np.testing.assert_allclose(found, listed[found.index], rtol=0, atol=1e-8)


@pytest.mark.parametrize(
    ("space", "options"),
    every(
        3,
        by_turns(
            ["budget", "strong heredity"],
            [
                {"temperatures": 3},
                {"temperatures": (1.0, 0.5), "swaps": 0.0},
                {"sweeps": 0.2, "thin": 4},
                {"swaps": 20.0, "sweeps": 0.3},
                {"start": ("a", "f"), "burn_in": 0},
            ],
        ),
    ),
    ids=str,
)
def test_the_way_of_walking_does_not_matter(options, space):
    model = make("g", space)
    exact, results = model.fit(sampler="enumerate", rng=1), walk(model, **options)
    assert faults(results, exact) == {}


def test_conditional_probabilities_beat_visits():
    results = walk(make())
    assert "full conditional" in results.posterior.estimator
    visits = results.draws.included
    batches = visits.reshape(4 * 40, 100, -1).mean(axis=1)
    error = batches.std(axis=0, ddof=1) / np.sqrt(len(batches))
    inside = error > 1e-3
    assert inside.sum() >= 4
    assert np.all(results.inclusion["mcse"].to_numpy()[inside] < 0.8 * error[inside])
    # Exclusion is averaged by itself: probabilities near 1 leave a finite Bayes factor.
    factors = results.inclusion["bayes_factor"]
    assert np.all(np.isfinite(factors))
    np.testing.assert_allclose(results.posterior.excluded + results.posterior.inclusion, 1.0, atol=1e-9)


@pytest.mark.statistical
@pytest.mark.parametrize("space", ["free", "budget"])
def test_errors_are_what_they_say(space):
    """The mean square z-score of 40 runs lies between 0.6 and 1.6 (level 1e-6, scores correlated)."""
    model = make("g", space)
    truth = model.fit(sampler="enumerate", rng=1).inclusion["posterior"]
    free = truth.between(1e-3, 1 - 1e-3)
    runs = [walk(model, rng=seed, draws=500, burn_in=50).inclusion[free] for seed in range(40)]
    scores = np.array([(run["posterior"] - truth[free]) / run["mcse"] for run in runs])
    assert 0.6 < np.mean(scores**2) < 1.6


def test_averaged_coefficients_and_predictions():
    model = make("hyper-g")
    exact, results = model.fit(sampler="enumerate", rng=1), walk(model, draws=20_000)
    spread = exact.coefficients["sd"]
    for column in ("mean", "sd"):
        # 80,000 draws of models, whose moments are exact: some 1 % of an sd.
        assert np.all(np.abs(results.coefficients[column] - exact.coefficients[column]) < 0.05 * spread)
    chances = np.abs(results.coefficients["prob_positive"] - exact.coefficients["prob_positive"])
    assert chances.max() < 0.02
    assert results.draws.variance.shape == results.draws.coefficients.shape[:2]
    found, wanted = (run.get_prediction(rows(8, seed=1)).summary_frame(0.1) for run in (results, exact))
    # 2,000 draws against 4,000: quantiles to 10 % of the width of an interval.
    width = wanted["obs_ci_upper"] - wanted["obs_ci_lower"]
    for column in ("mean", "obs_ci_lower", "obs_ci_upper"):
        assert np.all(np.abs(found[column] - wanted[column]) < 0.12 * width)


def test_moments_of_many_models_are_the_same_in_blocks(monkeypatch):
    model = make("hyper-g")
    posterior = walk(model, draws=200).posterior
    arguments = (model.regression, model.space, posterior.gamma, posterior.probability)
    whole = averaged_moments(*arguments)
    monkeypatch.setattr(gaussian_average, "TOGETHER", 3)
    assert len(posterior.gamma) > 9
    parts = averaged_moments(*arguments)
    for name in ("mean", "sd", "prob_positive", "mean_included"):
        # Models of the last 1e-6 of the mass count in parts alone, as those of lesser blocks.
        np.testing.assert_allclose(getattr(parts, name), getattr(whole, name), rtol=1e-4, atol=1e-6)


def test_moments_without_a_gram_matrix_are_the_same(monkeypatch):
    """Where cross-products are not held, models are averaged one by one."""
    model = make("Zellner-Siow")
    results = walk(model, draws=200)
    posterior = results.posterior
    arguments = (model.regression, model.space, posterior.gamma, posterior.probability)
    other = averaged_moments(*arguments)
    monkeypatch.setattr(GaussianRegression, "held", property(lambda self: False))
    one_by_one = averaged_moments(*arguments)
    for name in ("mean", "sd", "prob_positive", "mean_included"):
        # Quadrature over g at two sets of nodes.
        np.testing.assert_allclose(getattr(one_by_one, name), getattr(other, name), rtol=1e-6, atol=1e-9)


def test_more_columns_than_rows():
    rng = np.random.default_rng(3)
    x = pd.DataFrame(rng.normal(size=(30, 60))).add_prefix("x")
    y = pd.Series(2.0 * x["x3"] - 1.5 * x["x40"] + rng.normal(size=30), name="y")
    for prior in (rj.GPrior("n"), rj.Normal(1.0)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", rj.RankWarning)
            model = rj.LinearSelection(y, x, coef_prior=prior, model_prior=rj.Bernoulli(0.01))
        results = walk(model, draws=200)
        assert results.best("hpm") == ("x3", "x40")
        assert results.draws.size.max() <= 29
        # Terms that no draw held have probabilities, errors and Bayes factors all the same.
        never = ~results.draws.included.any(axis=(0, 1))
        table = results.inclusion[never]
        assert len(table) > 0
        assert np.all((table["posterior"] > 0) & (table["mcse"] > 0) & table["ess"].isna())
        assert np.all(table["bayes_factor"] < 1)


def test_one_term_and_none_that_is_free():
    data = rows()
    for formula, rules in (("y ~ a", {}), ("y ~ a + c", {"always": ("a", "c")})):
        model = rj.linear(formula, data, **rules)
        exact, results = model.fit(sampler="enumerate", rng=1), walk(model, draws=300)
        np.testing.assert_allclose(
            results.inclusion["posterior"], exact.inclusion["posterior"], rtol=0, atol=1e-12
        )


def test_priors_without_a_closed_form_are_refused():
    model = rj.linear("y ~ a + b", rows(), coef_prior=rj.Normal(1.0, scaled=False))
    with pytest.raises(rj.NotAvailableError, match="closed form"):
        model.fit(sampler="collapsed")


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("sweeps", 0.0),
        ("sweeps", "fast"),
        ("swaps", -1.0),
        ("temperatures", 0),
        ("temperatures", "many"),
        ("temperatures", (0.5, 1.0)),
        ("temperatures", (1.0, 0.5, 0.5)),
        ("temperatures", ()),
        ("temperatures", 1.5),
        ("start", 3),
        ("start", ("nobody",)),
    ],
)
def test_options_are_checked(option, value):
    with pytest.raises(rj.PyrjselError, match=option):
        make().fit(sampler="collapsed", **{option: value})


def test_options_of_other_families_are_not_known():
    with pytest.raises(rj.UnknownNameError, match="pairs"):
        make().fit(sampler="collapsed", pairs=32)


def test_draws_of_coefficients_are_in_memory_once():
    rng = np.random.default_rng(1)
    x = rng.normal(size=(60, 2000))
    model = rj.LinearSelection(
        4 * x[:, 7] + rng.normal(size=60), x, coef_prior=rj.Normal(1.0), model_prior=rj.Bernoulli(1e-4)
    )
    tracemalloc.start()
    try:
        found = fit(model, sampler="collapsed", draws=500, burn_in=20, chains=4)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    # Once in the chains and once where they are gathered (which is filled as chains let go of theirs), a
    # quarter more for the chain at hand, and a tenth for the rest of the fit. Another copy is more than 3.
    assert peak < 2.6 * found.draws.coefficients.nbytes

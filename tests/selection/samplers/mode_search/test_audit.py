"""The audit of runs: modes that chains have missed are found and named, and chains begin anew at them."""

import warnings
from dataclasses import fields, replace

import numpy as np
import pandas as pd
import pytest

import pyrjsel as rj
from pyrjsel.selection import posterior
from pyrjsel.selection.evidence.laplace import MarginalLikelihood
from pyrjsel.selection.posterior import Audit
from pyrjsel.selection.samplers import runs as audits
from pyrjsel.selection.samplers.registry import SAMPLERS
from pyrjsel.selection.samplers.runs import audit_of

CHEAP = ["x1", "x2", "x3", "x4", "x5"]


def two_modes(family="linear", p=60, target=0.0, seed=0, prices=(10.0, 2.0), **constraints):
    """x0 alone, for all of the budget, or five cheap columns; their log odds are near `target`.

    The noise of x0 beside the sum of the five sets them, by bisection.
    """
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((200, p))
    x = (x - x.mean(axis=0)) / x.std(axis=0)
    total, noise = x[:, 1:6].sum(axis=1) / np.sqrt(5), x[:, 0].copy()
    error, u = rng.standard_normal(200), rng.random(200)
    names = [f"x{j}" for j in range(p)]
    costs = {name: prices[name != "x0"] for name in names}
    pair = np.zeros((2, p), dtype=np.uint8)
    pair[0, 0], pair[1, 1:6] = 1, 1
    low, high = 0.05, 3.0
    for _ in range(12):
        middle = 0.5 * (low + high)
        data = pd.DataFrame(x, columns=names)
        data["x0"] = total + middle * noise
        data["y"] = 1.5 * total + error if family == "linear" else u < 1 / (1 + np.exp(-2.0 * total))
        formula = "y ~ " + " + ".join(names)
        model = getattr(rj, family)(formula, data, costs=costs, budget=10.0, **constraints)
        with_draws = model.fit(
            draws=2, burn_in=0, chains=1, rng=1, progress=False, sampler="collapsed"
        ).posterior
        single = model._make_marginal(with_draws)
        value = single.log_marginals(pair) + model.space.log_prior(pair)
        if value[0] - value[1] > target:
            low = middle
        else:
            high = middle
    return model


@pytest.fixture(scope="module")
def linear():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rj.PyrjselWarning)
        return two_modes()


def fit(model, **options):
    """Results, and the texts of their warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        results = model.fit(**{"rng": 1, "draws": 300, "progress": False, **options})
    assert all(warning.category is rj.ConvergenceWarning for warning in caught)
    return results, [str(warning.message) for warning in caught]


# What moves between the modes is switched off: trades, where a sampler has them, and hot chains.
STAY = {
    sampler.name: {"trades": 0} if any(item.name == "trades" for item in fields(sampler.options)) else {}
    for sampler in SAMPLERS
    if sampler.name != "enumerate" and not sampler.chunked
}
STAY["population"].update(hot=(), cold=(2.0, 4.0))


@pytest.mark.parametrize("sampler", STAY)
def test_chains_begin_anew_at_the_mode_behind_the_budget(linear, sampler):
    results, _ = fit(linear, sampler=sampler, **STAY[sampler], burn_in=100)
    gamma, draws = results.posterior.packed, results.draws.model
    starts = {linear.space.terms_of(gamma[rows[0]]) for rows in draws}
    assert any("x0" in terms for terms in starts)
    assert results.audit.loc["x0", "visited"]


@pytest.mark.parametrize("sampler", STAY)
def test_a_mode_that_chains_missed_is_named(linear, sampler):
    """Chains that are told where to start do not look for modes in burn-in."""
    for start, missed, term in ((CHEAP, ["x0"], "x0 is in no draw"), (["x0"], CHEAP, "x0 is in every draw")):
        results, texts = fit(linear, sampler=sampler, start=start, chains=1, draws=100, **STAY[sampler])
        if results.audit.loc["x0", "visited"]:
            continue
        (text,) = (text for text in texts if text.startswith("No chain visited"))
        assert text.startswith(
            f"No chain visited the model {' + '.join(missed)}. Its posterior odds against the"
        )
        assert term in text
        assert text in results.posterior.notes
        assert text[:60] in " ".join(str(results.summary()).split())
        found = results.posterior.audit
        assert not found.clean
        assert linear.space.terms_of(found.missed[0]) == tuple(missed)
        assert abs(found.missed_log_odds[0]) < 1.0
        return
    pytest.fail("chains must have stayed where they started")


def test_odds_are_those_of_marginal_likelihoods(linear):
    results, _ = fit(linear, start=CHEAP, trades=0, chains=1, draws=100)
    single, space = results._marginal, linear.space
    best = np.array([space.names.index(name) for name in results.best()])
    gamma = np.zeros((2, space.n_terms), dtype=np.uint8)
    gamma[0, best], gamma[1, 0] = 1, 1
    value = single.log_marginals(gamma) + space.log_prior(gamma)
    row = results.audit.loc["x0"]
    assert row["model"] == ("x0",)
    assert (row["visited"], row["question"], row["found_by"]) == (False, "with", "search")
    # The walk and single models differ by rounding.
    np.testing.assert_allclose(row["log_odds"], value[1] - value[0], rtol=0, atol=1e-7)


def test_a_missed_mode_of_a_logistic_model_is_named():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rj.PyrjselWarning)
        model = two_modes("logit", p=20)
    results, texts = fit(model, sampler="collapsed", start=CHEAP, trades=0, chains=1, draws=100, burn_in=0)
    assert any(text.startswith("No chain visited the model x0.") for text in texts)
    pair = np.array([np.isin(model.space.names, terms) for terms in (["x0"], results.best())], dtype=np.uint8)
    other = MarginalLikelihood(model.regression, b"sixteen bytes...", 1024, model.regression.n_columns)
    integrals = [[single.integrate(gamma) for gamma in pair] for single in (results._marginal, other)]
    prior = model.space.log_prior(pair)
    wanted = integrals[1][0].log_marginal - integrals[1][1].log_marginal + prior[0] - prior[1]
    error = np.sqrt(sum(found.variance for pair in integrals for found in pair))
    assert 0.0 < error < 0.1
    # Integrals of two seeds: 5 errors, a false alarm in two million.
    np.testing.assert_allclose(results.posterior.audit.missed_log_odds[0], wanted, rtol=0, atol=5 * error)
    results, _ = fit(model, sampler="collapsed", draws=100, burn_in=60)
    assert results.audit.loc["x0", "visited"]


def test_the_table_of_what_was_visited():
    births = rj.datasets.birthwt().data
    model = rj.logit("low ~ age + lwt + race + smoke + ht", births, always="age")
    results, texts = fit(model, sampler="collapsed", draws=500)
    table, space = results.audit, model.space
    assert list(table.index) == list(model.term_names)
    assert texts == []
    assert table["visited"].all()
    gamma, mass = results.posterior.gamma, np.empty(len(results.posterior.packed))
    for rows, values in zip(results.draws.model, results.draws.log_posterior, strict=True):
        mass[rows] = values
    for j, (term, row) in enumerate(table.iterrows()):
        assert term in row["model"]
        np.testing.assert_allclose(
            row["log_odds"], mass[gamma[:, j] == 1].max() - mass.max(), rtol=0, atol=1e-12
        )
    assert table.loc["age", "model"] == space.terms_of(gamma[np.argmax(mass)])
    assert "Audit" not in str(results.summary())


def test_a_clean_audit_is_one_line(linear):
    results, _ = fit(linear, draws=200, burn_in=100)
    assert results.posterior.audit.clean
    never = int((~results.audit["visited"]).sum())
    assert never > 0
    line = f"Audit: for the {never} terms that never moved, no missed model matters."
    assert line in " ".join(str(results.summary()).split())


def test_rare_terms_of_a_right_sampler_are_no_alarm():
    """Terms of inclusion probabilities near 1e-3 are missed by short runs, which is no mode missed."""
    rng = np.random.default_rng(3)
    data = pd.DataFrame(rng.standard_normal((300, 25)), columns=[f"x{j}" for j in range(25)])
    data["y"] = data["x0"] + rng.standard_normal(300)
    model = rj.linear("y ~ " + " + ".join(data.columns[:-1]), data, model_prior=rj.Bernoulli(0.02))
    unvisited = 0
    for sampler in ("collapsed", "gibbs", "rjmcmc"):
        for seed in range(6):
            results, texts = fit(model, sampler=sampler, draws=150, rng=seed)
            assert not any(text.startswith("No chain visited") for text in texts)
            unvisited += int((~results.audit["visited"]).sum())
    assert unvisited > 50


def test_saved_results_have_their_audit(linear, tmp_path):
    results, _ = fit(linear, start=CHEAP, trades=0, chains=1, draws=60)
    results.save(tmp_path / "results.rj")
    loaded = rj.load(tmp_path / "results.rj")
    pd.testing.assert_frame_equal(loaded.audit, results.audit)
    assert not loaded.posterior.audit.clean
    np.testing.assert_array_equal(loaded.posterior.audit.missed, results.posterior.audit.missed)
    results.posterior.audit = None
    results.save(tmp_path / "old.rj")
    with pytest.raises(rj.NotAvailableError, match="without an audit"):
        rj.load(tmp_path / "old.rj").audit  # noqa: B018


def test_files_with_an_audit_of_something_else_are_refused(linear, tmp_path):
    results, _ = fit(linear, start=CHEAP, trades=0, chains=1, draws=60)
    good = results.posterior.audit
    wrong = [
        replace(good, how=np.full_like(good.how, 9)),
        replace(good, log_odds=np.full_like(good.log_odds, np.nan)),
        replace(good, missed=np.ones_like(good.missed)),
        replace(good, missed_terms=good.missed_terms + 60),
        replace(good, missed_log_odds=np.full_like(good.missed_log_odds, np.inf)),
    ]
    for bad in wrong:
        results.posterior.audit = bad
        results.save(tmp_path / "bad.rj")
        with pytest.raises(rj.StoreError):
            rj.load(tmp_path / "bad.rj")


def test_enumeration_has_nothing_to_audit():
    results, texts = fit(rj.linear("y ~ x1 + x2 + x3 + x4", rj.datasets.hald().data), sampler="enumerate")
    with pytest.raises(rj.NotAvailableError, match="visits every model"):
        results.audit  # noqa: B018
    assert texts == []


def test_the_audit_is_a_function_of_the_posterior(linear):
    results, _ = fit(linear, start=CHEAP, trades=0, chains=1, draws=100)
    one, two = results.posterior.audit, audit_of(linear, results.posterior)
    for name in vars(one):
        np.testing.assert_array_equal(np.asarray(getattr(one, name)), np.asarray(getattr(two, name)))


@pytest.mark.parametrize("sampler", ["collapsed", "gibbs", "rjmcmc", "population"])
def test_draws_with_restarts_do_not_depend_on_jobs_nor_on_being_cut(linear, sampler, tmp_path):
    """Chains begin anew within these burn-ins; a checkpoint and `extend` go on to the draws of one run."""
    options = {"sampler": sampler, "draws": 40, "burn_in": 60}
    one, _ = fit(linear, n_jobs=1, **options)
    two, _ = fit(linear, n_jobs=2, checkpoint=tmp_path / "here", **options)
    half, _ = fit(linear, n_jobs=1, **{**options, "draws": 25})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rj.ConvergenceWarning)
        longer = half.extend(15, n_jobs=1, progress=False)
    wanted = one.posterior.packed[one.draws.model.ravel()]
    for other in (two, longer):
        np.testing.assert_array_equal(other.posterior.packed[other.draws.model.ravel()], wanted)
    pd.testing.assert_frame_equal(two.audit, one.audit)
    pd.testing.assert_frame_equal(longer.audit, one.audit)


def test_spikes_and_conditional_evidence_are_audited():
    rng = np.random.default_rng(4)
    data = pd.DataFrame(rng.standard_normal((80, 8)), columns=list("abcdefgh"))
    data["y"] = 2 * data["a"] + rng.standard_normal(80)
    spikes = (rj.SpikeSlab(0.05, 40.0, scaled=True), rj.SpikeSlab(0.05, 40.0))
    for prior in (*spikes, rj.Normal(1.0, scaled=False)):
        model = rj.linear("y ~ a + b + c + d + e + f + g + h", data, coef_prior=prior, max_size=2)
        results, _ = fit(model, sampler="gibbs", draws=100)
        assert isinstance(results.posterior.audit, Audit)
        assert results.audit.loc["a", "question"] == "without"
        assert results.posterior.audit.clean
        gamma = results.posterior.audit.models[0]
        single = results._marginal
        pair = np.stack([results.posterior.packed[0], gamma])
        value = single.log_marginals(pair) + model.space.log_prior(pair)
        assert value[1] < value[0] - 7.0
        assert results.audit.loc["a", "log_odds"] < -7.0


def test_criteria_are_what_the_documentation_says():
    assert (audits.WITHIN, audits.LARGE, audits.EXPECTED) == (7.0, 0.02, 20.0)


@pytest.mark.parametrize("whole", [2**12, 10])
def test_models_with_a_flipped_term_are_saved(whole, tmp_path, monkeypatch):
    """Files have a model for each term, or, of many terms, the few models that are flipped."""
    monkeypatch.setattr(posterior, "WHOLE", whole)
    rng = np.random.default_rng(1)
    x = rng.standard_normal((60, 200))
    y = x[:, 0] - x[:, 1] + rng.standard_normal(60)
    model = rj.LinearSelection(y, x, coef_prior=rj.Normal(1.0, standardize=True), max_size=8)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rj.ConvergenceWarning)  # the run is short
        results = model.fit(sampler="collapsed", draws=20, burn_in=10, chains=1, rng=1)
    table = results.audit
    assert set(table["found_by"]) == {"visits", "search", "flip"}
    # Models "with" a term have it.
    assert all(
        (name in found) == (kind == "with")
        for name, kind, found in zip(table.index, table["question"], table["model"], strict=True)
    )
    results.save(tmp_path / "fit.rjs")
    pd.testing.assert_frame_equal(rj.load(tmp_path / "fit.rjs").audit, table)

"""From a formula to predictions: the whole of a pattern model."""

import numpy as np
import pandas as pd
import pytest

import pyrjsel as rj

# Runs are as short as tests want them; that few effective draws are told of is tested beside the samplers.
pytestmark = pytest.mark.filterwarnings("ignore:The run has .* effective draws")


def simulated(n, rng):
    """Return cases whose response depends on whether two features agree, and a third that does nothing."""
    frame = pd.DataFrame({
        "a": rng.choice(["u", "v"], n), "b": rng.random(n) < 0.5, "c": rng.integers(1, 4, n)
    })  # fmt: skip
    agree = (frame["a"] == "u") == frame["b"]
    return frame.assign(y=np.where(rng.random(n) < np.where(agree, 0.9, 0.1), "yes", "no"))


@pytest.mark.parametrize("prior", ["cauchy", "gaussian"])
def test_an_interaction_is_found(prior, rng):
    cases, others = simulated(300, rng), simulated(200, rng)
    model = rj.pattern_logit("y ~ interactions(a, b, c, order=2)", cases, prior=prior)
    results = model.fit(draws=100, chains=2, rng=1)
    probability = results.predict(others)
    assert probability.columns.tolist() == ["no", "yes"]
    assert probability.sum(axis=1).to_numpy() == pytest.approx(1)  # up to rounding
    agree = (others["a"] == "u") == others["b"]
    # 300 cases tell 0.9 and 0.1 from 0.5 with any reasonable prior, for every level of c.
    assert probability["yes"][agree].min() > 0.7
    assert probability["yes"][~agree].max() < 0.3
    assert results.score(others).loc["error_rate", "value"] < 0.2


def test_three_classes_of_a_text():
    symbols = rj.datasets.english_text().data["symbol"]
    model = rj.PatternLogit.from_sequence(symbols[:600], order=4)
    results = model.fit(draws=60, chains=2, rng=1)
    rest = rj.histories(symbols[600:1600], 4)
    probability = results.predict(rest)
    assert probability.columns.tolist() == [1, 2, 3]
    assert probability.sum(axis=1).to_numpy() == pytest.approx(1)
    score = results.score(rest)["value"]
    shares = symbols[600:1600].value_counts(normalize=True)
    # Half are consonants; what came before tells much more, as in the paper (0.8 to 0.9).
    assert score["log_score"] > (shares * np.log(shares)).sum() + 0.1
    assert score["error_rate"] < 1 - shares.max() - 0.1
    assert results.classify(rest).isin([1, 2, 3]).all()


def test_the_same_seed_gives_the_same_draws_whatever_the_workers(rng):
    model = rj.pattern_logit("y ~ interactions(a, b, c)", simulated(60, rng))
    one, other = (model.fit(draws=20, chains=2, rng=7, n_jobs=jobs) for jobs in (1, 2))
    assert (one.draws.s == other.draws.s).all()
    pd.testing.assert_frame_equal(one.predict(), other.predict())
    again = model.fit(draws=20, chains=2, rng=8)
    assert (one.draws.s != again.draws.s).any()


def test_levels_that_no_case_has(rng):
    cases = simulated(60, rng)
    results = rj.pattern_logit("y ~ interactions(a, b, c)", cases).fit(draws=20, chains=1, rng=1)
    new = pd.DataFrame({"a": ["u", "w"], "b": [True, False], "c": [1, 9]})
    with pytest.raises(rj.DataError, match="unseen levels of the column 'a'"):
        results.predict(new)
    assert results.predict(new, unseen="prior").sum(axis=1).to_numpy() == pytest.approx(1)


@pytest.mark.parametrize(
    ("options", "error", "match"),
    [
        ({"draws": 0}, rj.ParameterError, "'draws' parameter of PatternLogit.fit must be an int in"),
        ({"burn_in": -1}, rj.ParameterError, "'burn_in' parameter of PatternLogit.fit"),
        ({"thin": 0}, rj.ParameterError, "'thin' parameter"),
        ({"chains": 0}, rj.ParameterError, "'chains' parameter"),
        ({"rng": -1}, rj.ParameterError, "'rng' parameter"),
        ({"n_jobs": 0}, rj.ParameterError, "'n_jobs' parameter"),
        ({"progress": 1}, rj.ParameterError, "'progress' parameter"),
        ({"sampler": "gibbs"}, rj.ParameterError, "'sampler' parameter of PatternLogit.fit must be one of"),
        ({"widths": 2.0}, rj.UnknownNameError, "'widths'"),
        ({"sampler": "slice", "width": 0}, rj.ParameterError, "'width' parameter"),
    ],
)
def test_fits_that_cannot_be(options, error, match, rng):
    model = rj.pattern_logit("y ~ interactions(a, b)", simulated(30, rng))
    with pytest.raises(error, match=match):
        model.fit(**options)


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"prior": "normal"}, "'prior' parameter of PatternLogit must be one of 'cauchy', 'gaussian'"),
        ({"sigma_prior": 1.0}, "'sigma_prior' parameter of PatternLogit must be None, a LogNormal or an Inv"),
        ({"sigma_prior": [rj.LogNormal(0, 1)] * 3}, "must have 2 entries, one for each order"),
        ({"sigma_0": 0}, "'sigma_0' parameter of PatternLogit"),
    ],
)
def test_priors_that_cannot_be(options, match, rng):
    with pytest.raises(rj.ParameterError, match=match):
        rj.pattern_logit("y ~ interactions(a, b)", simulated(30, rng), **options)


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("order", "error", "amlp"), [(3, 0.2252, 0.4817), (10, 0.1564, 0.4070), (20, 0.1574, 0.4081)]
)
def test_published_figures_of_the_hidden_markov_chain(order, error, amlp):
    """Over 5,000 cases the standard errors are 0.005 and 0.009; another 500 cases of the fit add to them."""
    data = rj.datasets.hmm_sequences(rng=1).data
    features = ", ".join(f"x{j}" for j in range(21 - order, 21))
    model = rj.pattern_logit(f"x21 ~ sequence({features})", data[:500])
    score = model.fit(draws=250, chains=2, rng=1).score(data[500:])["value"]
    assert score["error_rate"] == pytest.approx(error, abs=0.02)
    assert score["log_score"] == pytest.approx(-amlp, abs=0.03)

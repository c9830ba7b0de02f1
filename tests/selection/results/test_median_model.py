"""The median probability model, and what stands in for it where it is not allowed."""

import warnings
from itertools import permutations

import numpy as np
import pandas as pd
import pytest

import pyrjsel as rj


def fit(model, **options):
    """Fit with warnings of chains that are too short for the purpose left out."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rj.ConvergenceWarning)
        return model.fit(**{"rng": 1, "progress": False, **options})


def symmetric(effect, n=120):
    """Rows in which the columns a, b and c may change places: every permutation of every row is there."""
    rng = np.random.default_rng(11)
    x = rng.normal(size=(n, 3))
    y = (rng.random(n) < 1 / (1 + np.exp(-effect(x)))).astype(int)
    rows = [pd.DataFrame(x[:, list(order)], columns=list("abc")) for order in permutations(range(3))]
    return pd.concat([frame.assign(y=y) for frame in rows], ignore_index=True)


def distance(results, terms):
    share = results.inclusion["posterior"]
    return sum((share[name] - (name in terms)) ** 2 for name in share.index)


def check_stand_in(results, reason):
    """The median model is refused with a reason, once a call, and the closest possible one stands in."""
    calls = {
        "best": lambda: results.best("mpm"),
        "predict": lambda: results.predict(which="mpm"),
        "get_prediction": lambda: results.get_prediction(which="mpm"),
    }
    for call in calls.values():
        with pytest.warns(rj.PyrjselWarning, match=reason) as caught:
            call()
        assert [warning.filename for warning in caught] == [__file__]
    with pytest.warns(rj.PyrjselWarning, match=reason):
        found = results.best("mpm")
    possible = results.models[results.models["posterior"] > 0]
    assert found in set(possible["terms"])
    assert distance(results, found) == pytest.approx(min(distance(results, t) for t in possible["terms"]))
    text = " ".join(str(results.summary()).split())
    assert "The median probability model (" in text
    return found


@pytest.mark.parametrize("sampler", ["enumerate", "rjmcmc"])
def test_median_model_beyond_the_budget(sampler):
    """Any two of three terms fit the budget and share the posterior: each is in two models of three."""
    data = symmetric(lambda x: 0.5 * x.sum(axis=1))
    model = rj.logit("y ~ a + b + c", data, costs=dict.fromkeys("abc", 1.0), budget=2)
    results = fit(model, sampler=sampler, draws=500)
    assert (results.inclusion["posterior"] > 0.55).all()
    found = check_stand_in(results, r"\(a, b, c\) is not allowed: it costs 3, but the budget is 2")
    assert len(found) == 2


def test_median_model_against_heredity():
    """The interaction is in every model that matters, and each of its three parents in a third of them."""
    data = symmetric(lambda x: 2 * x.prod(axis=1))
    results = fit(rj.logit("y ~ a + b + c + a:b:c", data, heredity="weak"))
    assert results.inclusion.loc["a:b:c", "posterior"] > 0.99
    assert (results.inclusion.loc[["a", "b", "c"], "posterior"] < 0.45).all()
    found = check_stand_in(results, r"\(a:b:c\) is not allowed: weak heredity requires one of a, b, c")
    assert len(found) == 2


def test_median_model_with_dependent_columns():
    """Any two of three dependent columns make the same model: all three have no g-prior."""
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(rng.normal(size=(200, 2)), columns=["a", "b"])
    frame["y"] = (rng.random(200) < 1 / (1 + np.exp(-2 * frame["a"] + 2 * frame["b"]))).astype(int)
    with pytest.warns(rj.RankWarning):
        model = rj.logit("y ~ a + b + c", frame.assign(c=2 * frame["a"] + frame["b"]))
    results = fit(model)
    assert (results.inclusion["posterior"] > 0.6).all()
    found = check_stand_in(results, r"\(a, b, c\) is not allowed: its columns are linearly dependent")
    assert len(found) == 2


@pytest.mark.parametrize("sampler", ["enumerate", "rjmcmc"])
def test_median_model_that_is_allowed(sampler):
    """All terms with inclusion probability one half and more; no warning (here warnings are errors)."""
    data = symmetric(lambda x: x.sum(axis=1)).assign(d=np.tile(np.repeat([0.0, 1.0], 60), 6))
    results = fit(rj.logit("y ~ a + b + c + d", data, model_prior=rj.Uniform()), sampler=sampler, draws=500)
    assert results.best("mpm") == ("a", "b", "c")
    share = results.inclusion["posterior"]
    assert [name for name in share.index if share[name] >= 0.5] == ["a", "b", "c"]
    assert results._median_problem is None
    assert "median probability model" not in str(results.summary())


def test_terms_that_are_always_in_are_in_the_median_model():
    data = symmetric(lambda x: x[:, 0] * 0)
    results = fit(rj.logit("y ~ a + b", data, always="b"))
    assert results.best("mpm") == ("b",)

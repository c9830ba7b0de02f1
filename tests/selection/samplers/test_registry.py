"""The registry of samplers: what `fit`, the command line, documentation and files take from it."""

import argparse
import re
import warnings
from dataclasses import fields

import numpy as np
import pandas as pd
import pytest

import pyrjsel as rj
from pyrjsel._command import add_arguments
from pyrjsel.selection.samplers import registry
from pyrjsel.selection.samplers.registry import NAMES, SAMPLERS, most_enumerated, samplers_of


def data(n=40):
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(rng.normal(size=(n, 3)), columns=[*"abc"])
    frame["y"] = frame["a"] + rng.normal(size=n)
    return frame


def model(family="linear"):
    frame = data()
    if family == "linear":
        return rj.linear("y ~ a * b + c", frame, heredity="strong")
    frame["y"] = (frame["y"] > 0).astype(int)
    return rj.logit("y ~ a * b + c", frame, heredity="strong")


def fit(problem, sampler, **options):
    with warnings.catch_warnings():
        # Chains this short disagree as often as not.
        warnings.simplefilter("ignore", rj.ConvergenceWarning)
        return problem.fit(sampler=sampler, draws=40, burn_in=8, chains=2, rng=1, progress=False, **options)


def extend(results):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rj.ConvergenceWarning)
        return results.extend(20, progress=False)


def test_names_of_a_family_are_different():
    for problem in (model(), model("logit")):
        known = samplers_of(problem.regression)
        assert list(known) == [s.name for s in SAMPLERS if s.supports(problem.regression)]
    chunked = {s.name for s in SAMPLERS if s.chunked}
    assert set(samplers_of(model().regression)) == set(NAMES) - chunked


def test_auto_enumerates_where_that_takes_seconds():
    linear, logit = model(), model("logit")
    unscaled = rj.linear("y ~ a", data(), coef_prior=rj.Normal(1.0, scaled=False))
    unknown = rj.logit("c > 0 ~ a + b", data(460), coef_prior=rj.HyperG())
    # 60,000,000 / (4,000 + 40); the same without rows; and an eighth of 60,000,000 / (4,000 + 460).
    for each, most in ((linear, 2**20), (logit, 14_851), (unscaled, 15_000), (unknown, 1_681)):
        assert most_enumerated(each.regression) == most
        assert each.fit(progress=False).sampler == "enumerate"


def test_auto_enumerates_few_models_where_integrals_are_hard(monkeypatch):
    """An eighth of what it enumerates if the pilot finds them regular."""
    problem = model("logit")
    count = problem.count_models()
    for hard, most, wanted in (
        (True, 8 * count, "enumerate"),
        (True, 8 * count - 1, "rjmcmc"),
        (False, count, "enumerate"),
        (False, count - 1, "collapsed"),
    ):
        found = ("rjmcmc", {"surrogate": 1}) if hard else ("collapsed", {})
        monkeypatch.setattr(
            "pyrjsel.selection.samplers.automatic.sampler_of", lambda *given, found=found: found
        )
        monkeypatch.setattr(registry, "most_enumerated", lambda regression, most=most: most)
        assert registry.automatic(problem.regression, problem.space, ())[0] == wanted


def test_auto_does_not_enumerate_a_million_integrals():
    """A logistic fit of 2^16 models takes a fraction of a second; enumeration would take half a minute."""
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(rng.normal(size=(200, 16))).add_prefix("x")
    frame["y"] = (frame["x0"] + rng.logistic(size=200) > 0).astype(int)
    assert rj.logit("y ~ .", frame).fit(rng=1, progress=False).sampler == "collapsed"


def test_one_list_of_names():
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    (choices,) = (item.choices for item in parser._actions if item.dest == "sampler")
    assert choices == ("auto", *NAMES)
    listed = re.search(r"sampler : \{(.*)\}", rj.LogitSelection.fit.__doc__)[1]
    assert [name.strip('"') for name in listed.split(", ")] == ["auto", *NAMES]


@pytest.mark.parametrize("sampler", SAMPLERS, ids=lambda sampler: sampler.options.__name__)
def test_options_are_documented_where_they_are(sampler):
    """Each by its own class or the one that it extends, and by `fit`."""
    own = "\n".join(kind.__doc__ or "" for kind in sampler.options.__mro__)
    for item in fields(sampler.options):
        assert f"\n    {item.name} : " in own
        assert re.search(rf"\n +{item.name} : ", rj.LogitSelection.fit.__doc__)
    names = {item.name for item in fields(sampler.options)}
    assert names.isdisjoint(getattr(sampler.options, "renamed", {}))
    assert names >= set(getattr(sampler.options, "renamed", {}).values())
    assert names >= set(getattr(sampler.options, "before", {}))


OLD = {
    "collapsed": {"slots": 2.0, "families": 2.0},
    "gibbs": {"slots": 2, "families": 2, "sweep": "collapsed"},
    "rjmcmc": {"families": 2},
    "population": {"families": 2, "temperatures": "fixed"},
}


def saved_as_before(sampler, path):
    """Results, and their file with the names that options had in earlier versions."""
    problem = model()
    renamed = samplers_of(problem.regression)[sampler].options.renamed
    results = fit(problem, sampler, **{renamed[name]: value for name, value in OLD[sampler].items()})
    wanted, own = results.options, fit(problem, sampler)
    for name in OLD[sampler]:
        results.options.__dict__[name] = results.options.__dict__.pop(renamed[name])
    results.save(path, data=True)
    for name in OLD[sampler]:
        wanted.__dict__[renamed[name]] = wanted.__dict__.pop(name)
    assert wanted != own.options
    return results, renamed


@pytest.mark.parametrize("sampler", OLD)
def test_files_with_earlier_names_of_options(sampler, tmp_path):
    results, _ = saved_as_before(sampler, tmp_path / "a.rjs")
    found = rj.load(tmp_path / "a.rjs")
    assert found.options == results.options
    longer, want = extend(found), extend(results)
    np.testing.assert_array_equal(longer.draws.model, want.draws.model)
    np.testing.assert_array_equal(longer.draws.log_posterior, want.draws.log_posterior)


@pytest.mark.parametrize("sampler", OLD)
def test_an_option_under_two_names_is_refused(sampler, tmp_path):
    results, renamed = saved_as_before(sampler, tmp_path / "a.rjs")
    name = next(iter(OLD[sampler]))
    results.options.__dict__[name] = results.options.__dict__[renamed[name]]
    results.save(tmp_path / "b.rjs", data=True)
    with pytest.raises(rj.StoreError, match="options"):
        rj.load(tmp_path / "b.rjs")


def test_a_sampler_of_another_family_is_not_known():
    with pytest.raises(rj.UnknownNameError, match="unknown sampler 'gibbs' for binomial models"):
        model("logit").fit(sampler="gibbs")


@pytest.mark.parametrize("name", ["slots", "families"])
def test_earlier_names_are_no_options(name):
    with pytest.raises(rj.UnknownNameError, match=f"unknown option '{name}'"):
        fit(model(), "collapsed", **{name: 1})

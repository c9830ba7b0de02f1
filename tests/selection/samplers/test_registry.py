"""The registry of samplers: what `fit`, documentation and files take from it."""

import re
import warnings
from dataclasses import fields

import numpy as np
import pandas as pd
import pytest

import pyrjsel as rj
from pyrjsel.selection.samplers import registry
from pyrjsel.selection.samplers.automatic import draws_of
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
    student = rj.linear("y ~ a + b", data(), errors="student")
    classes = rj.multinomial("k ~ a + b", data().assign(k=[*"pqrs"] * 10))
    # 60,000,000 / (4,000 + 40), the same without rows, a half with 460 rows, a third, and a ninth of it
    # with 40 rows of three differences of classes.
    for each, most in (
        (linear, 2**20),
        (logit, 14_851),
        (unscaled, 15_000),
        (unknown, 6_726),
        (student, 4_950),
        (classes, 1_618),
    ):
        assert most_enumerated(each.regression) == most
        assert each.fit(progress=False).sampler == "enumerate"
    # 60,000,000 / (4,000 + 40 + 15 * 2,000)
    assert most_enumerated(logit.regression, 2000.0) == 1_762
    # 2^10 of 40 rows, however many draws they take.
    assert most_enumerated(logit.regression, 1e6) == 1_024


def test_auto_enumerates_few_models_where_integrals_are_hard(monkeypatch):
    problem = model("logit")
    count = problem.count_models()
    for most, of_hard, of_these, wanted in (
        (count, count, 0, "enumerate"),
        (count, count - 1, count, "enumerate"),
        (count, count - 1, count - 1, "collapsed"),
        (count - 1, 0, count, "collapsed"),
    ):
        known = {0.0: most, registry.MOST_DRAWS: of_hard, 77.0: of_these}
        monkeypatch.setattr("pyrjsel.selection.samplers.automatic.draws_of", lambda *given: 77.0)
        monkeypatch.setattr(registry, "most_enumerated", lambda of, draws=0.0, known=known: known[draws])
        assert registry.automatic(problem.regression, problem.space, ())[0] == wanted


@pytest.mark.filterwarnings("ignore::pyrjsel.RankWarning")
def test_draws_of_integrals():
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(rng.normal(size=(1000, 8))).add_prefix("x")
    frame["y"] = (frame["x0"] + rng.logistic(size=1000) > 0).astype(int)
    frame["same"] = frame["x0"] + frame["x1"]  # models of all three have no prior
    for rows, prior, low, high in ((1000, None, 64, 150), (60, None, 100, 2**14), (1000, rj.BIC(), 0, 0)):
        problem = rj.logit("y ~ .", frame[:rows], coef_prior=prior)
        assert low <= draws_of(problem.regression, problem.space) <= high


def test_auto_does_not_enumerate_a_million_integrals():
    """A logistic fit of 2^16 models takes a fraction of a second; enumeration would take half a minute."""
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(rng.normal(size=(200, 16))).add_prefix("x")
    frame["y"] = (frame["x0"] + rng.logistic(size=200) > 0).astype(int)
    assert rj.logit("y ~ .", frame).fit(rng=1, progress=False).sampler == "collapsed"


def test_one_list_of_names():
    listed = re.search(r"sampler : \{(.*)\}", rj.LogitSelection.fit.__doc__)[1]
    assert [name.strip('"') for name in listed.split(", ")] == ["auto", *NAMES]


@pytest.mark.parametrize("sampler", SAMPLERS, ids=lambda sampler: sampler.options.__name__)
def test_options_are_documented_where_they_are(sampler):
    """Each by its own class or the one that it extends, and by `fit`."""
    own = "\n".join(kind.__doc__ or "" for kind in sampler.options.__mro__)
    for item in fields(sampler.options):
        assert f"\n    {item.name} : " in own
        assert re.search(rf"\n +{item.name} : ", rj.LogitSelection.fit.__doc__)


def test_a_sampler_of_another_family_is_not_known():
    with pytest.raises(rj.UnknownNameError, match="unknown sampler 'gibbs' for binomial models"):
        model("logit").fit(sampler="gibbs")


@pytest.mark.parametrize("prior", [rj.Robust(), rj.Intrinsic(), rj.BetaPrime(), rj.CCH(1, 2, 1)], ids=repr)
def test_auto_does_not_try_jumps_under_priors_without_them(prior):
    """With 30 rows and 14 columns, where a pilot would look for wide models."""
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(rng.normal(size=(30, 14))).add_prefix("x")
    frame["y"] = (frame["x0"] + rng.logistic(size=30) > 0).astype(int)
    problem = rj.logit("y ~ .", frame, coef_prior=prior, max_size=8)
    assert registry.automatic(problem.regression, problem.space, ()) == ("collapsed", {})

"""The name under which messages know the user's call."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest
from joblib import Parallel, delayed

import pyrjsel as rj
from pyrjsel import _called
from pyrjsel._called import called, named

FRAME = pd.DataFrame({"y": [0, 1, 0, 1, 1, 0, 1, 0], "x": np.arange(8.0), "z": [3.0, 1, 4, 1, 5, 9, 2, 6]})


def package_module(text):
    """Return the names that a module of the package would define with this text."""
    names = {"__name__": f"{_called.PACKAGE}.made_up"}
    names |= {"called": called, "named": named, "dataclass": dataclass}
    exec(compile(text, "made_up.py", "exec"), names)
    return names


OURS = package_module(
    """
class Thing:
    def __init__(self):
        self.name = inner()

    @property
    def size(self):
        return inner()

    def look(self, by=None):
        return inner() if by is None else by()

    @classmethod
    def from_formula(cls):
        return inner()

class Model(Thing):
    def fit(self):
        return [inner() for _ in range(1)][0]

@dataclass
class Record:
    width: float = 1.0

    def __post_init__(self):
        self.name = inner()

def make():
    return Record().name

def inner():
    return called()

def under_another_name():
    with named("sampler='made up'"):
        return inner()
"""
)


def test_functions_methods_and_constructors():
    thing, model = OURS["Thing"](), OURS["Model"]()
    assert OURS["inner"]() == "inner"
    assert (thing.name, model.name) == ("Thing", "Model")
    assert (thing.size, thing.look()) == ("size", "look")
    assert (model.fit(), model.look()) == ("Model.fit", "Model.look")
    assert OURS["Model"].from_formula() == "Model"


def test_a_public_dataclass_goes_by_its_class_wherever_it_is_made(monkeypatch):
    """One that users do not know goes by what made it (``fit`` with options of one sampler, below)."""
    monkeypatch.setattr(rj, "Record", OURS["Record"], raising=False)
    assert OURS["make"]() == "Record"


def test_another_name_holds_inside_alone():
    assert OURS["under_another_name"]() == "sampler='made up'"
    assert OURS["inner"]() == "inner"


def test_a_call_in_the_users_own_function_is_the_users():
    """Called back by a method, and calling the package again."""
    assert OURS["Thing"]().look(lambda: [OURS["inner"]()][0]) == "inner"


def test_libraries_on_the_stack_are_passed_over():
    """Joblib runs this in the same thread; its frames lie between two of the package."""
    text = "def across(run):\n    return run(inner_again)\n\ndef inner_again():\n    return called()\n"
    ours = package_module(text)
    assert ours["across"](lambda work: work()) == "inner_again"
    across = package_module(
        "def across(Parallel, delayed, work):\n    return Parallel(n_jobs=1)([delayed(work)()])[0]\n"
    )["across"]
    assert across(Parallel, delayed, ours["inner_again"]) == "across"


def test_libraries_are_known_by_name_wherever_they_are_installed():
    """As for those that pip puts into the user's own folder, or into that of an application."""
    theirs = {"__name__": "joblib.made_up"}
    exec(compile("def run(work):\n    return work()\n", "/home/me/app/joblib/made_up.py", "exec"), theirs)
    across = package_module("def across(run, work):\n    return run(work)\n")["across"]
    assert across(theirs["run"], OURS["inner"]) == "across"


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda model: rj.logit("y ~ x", FRAME, missing="no"), "LogitSelection"),
        (lambda model: model.fit(draws=0, sampler="rjmcmc"), "LogitSelection.fit"),
        (lambda model: model.fit(sampler="rjmcmc", swaps=-1), "sampler='rjmcmc'"),
        (lambda model: rj.Normal(-1), "Normal"),
        (lambda model: rj.kernel_regression("z ~ x", FRAME).fit(particles=0), "KernelRegression.fit"),
        (lambda model: rj.kernel_regression("z ~ x", FRAME).fit(runs=0), "KernelRegression.fit"),
        (lambda model: rj.mixture_classifier("y ~ x + z", FRAME).fit(start=1), "MixtureClassifier.fit"),
        (lambda model: model.fit(sampler="enumerate", progress=False).summary(top=0), "summary"),
    ],
)
def test_what_users_meet(call, name):
    with pytest.raises(rj.ParameterError, match=f"parameter of {name} must be"):
        call(rj.logit("y ~ x + z", FRAME))

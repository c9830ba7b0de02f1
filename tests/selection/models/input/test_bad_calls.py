"""Calls of a model or its results that cannot be answered: errors that name what is wrong."""

from functools import partial

import numpy as np
import pandas as pd
import pytest
from input_data import COSTS, FRAME, N, arrays, at_row_3, build, changed, check, walk

import pyrjsel as rj

# Parameters, the class of the error, and what its message must say.
FIT_CASES = {
    "unknown sampler": ({"sampler": "enumarate"}, rj.UnknownNameError, "sampler 'enumarate'.*'enumerate'"),
    "sampler in capitals": ({"sampler": "RJMCMC"}, rj.UnknownNameError, "Known: auto, enumerate, rjmcmc"),
    "sampler is None": ({"sampler": None}, rj.UnknownNameError, "sampler None"),
    "unknown option": ({"propsal": "full"}, rj.UnknownNameError, "'propsal'.*Did you mean 'proposal'"),
    "option of another sampler": (
        {"pairs": 4},
        rj.UnknownNameError,
        "unknown option 'pairs' for sampler='rjmcmc'",
    ),
    "draws 0": ({"draws": 0}, rj.ParameterError, r"'draws' parameter of LogitSelection.fit.*\[1, .*Got 0"),
    "draws negative": ({"draws": -5}, rj.ParameterError, "'draws'.*Got -5"),
    "draws a float": ({"draws": 100.0}, rj.ParameterError, "'draws'.*int.*Got 100.0"),
    "draws a bool": ({"draws": True}, rj.ParameterError, "'draws'.*Got True"),
    "draws a word": ({"draws": "100"}, rj.ParameterError, "'draws'.*Got '100'"),
    "draws NaN": ({"draws": float("nan")}, rj.ParameterError, "'draws'.*Got nan"),
    "draws without end": ({"draws": 10**30}, rj.ParameterError, "'draws'.*1000000000"),
    "chains 0": ({"chains": 0}, rj.ParameterError, r"'chains'.*\[1, .*Got 0"),
    "chains without end": ({"chains": 10**9}, rj.ParameterError, "'chains'.*10000"),
    "thin 0": ({"thin": 0}, rj.ParameterError, r"'thin'.*\[1, .*Got 0"),
    "burn_in negative": ({"burn_in": -1}, rj.ParameterError, r"'burn_in'.*\[0, .*Got -1"),
    "rng a word": ({"rng": "1"}, rj.ParameterError, "'rng'.*Generator.*Got '1'"),
    "rng negative": ({"rng": -1}, rj.ParameterError, "'rng'.*non-negative int"),
    "n_jobs 0": ({"n_jobs": 0}, rj.ParameterError, "'n_jobs' parameter of LogitSelection.fit.*other than 0"),
    "n_jobs a float": ({"n_jobs": 2.0}, rj.ParameterError, "'n_jobs'.*Got 2.0"),
    "n_jobs a bool": ({"n_jobs": True}, rj.ParameterError, "'n_jobs'.*Got True"),
    "progress a word": ({"progress": "yes"}, rj.ParameterError, "'progress'.*True or False"),
    "unknown proposal": ({"proposal": "best"}, rj.ParameterError, "'proposal'.*'conditional', 'full'"),
    "swaps negative": ({"swaps": -1}, rj.ParameterError, "'swaps'.*Got -1"),
    "start a term": ({"start": "x"}, rj.ParameterError, "'start'.*'empty' or a sequence of terms. Got 'x'"),
    "start a number": ({"start": 3}, rj.ParameterError, "'start'.*sequence of terms. Got 3"),
    "start at an unknown term": ({"start": ["q"]}, rj.UnknownNameError, "unknown term 'q' in 'start'"),
    "start at a missing value": ({"start": [pd.NA]}, rj.UnknownNameError, "unknown term <NA> in 'start'"),
    "unknown integration": (
        {"sampler": "enumerate", "integration": "exact"},
        rj.ParameterError,
        "'integration'.*'importance', 'laplace'",
    ),
    "odd pairs": ({"sampler": "enumerate", "pairs": 3}, rj.ParameterError, "'pairs'.*even int. Got 3"),
}

RESULT_CASES = {
    "top=0": (
        lambda r: r.summary(top=0),
        rj.ParameterError,
        r"'top' parameter of summary.*\[1, inf\). Got 0",
    ),
    "top a float": (lambda r: r.summary(2.0), rj.ParameterError, "'top'.*Got 2.0"),
    "unknown model": (lambda r: r.best("xyz"), rj.ParameterError, "'which'.*'hpm', 'mpm', 'bpm'. Got 'xyz'"),
    "average has no terms": (lambda r: r.best("bma"), rj.ParameterError, "'which'.*'hpm', 'mpm'"),
    "unknown average": (
        lambda r: r.predict(FRAME, which="BMA"),
        rj.ParameterError,
        "'which' parameter of predict",
    ),
    "alpha 0": (
        lambda r: r.conf_int(0),
        rj.ParameterError,
        r"'alpha' parameter of conf_int.*\(0, 1\). Got 0",
    ),
    "alpha 1": (lambda r: r.conf_int(1.0), rj.ParameterError, "'alpha'.*Got 1.0"),
    "alpha NaN": (
        lambda r: r.get_prediction().summary_frame(np.nan),
        rj.ParameterError,
        "'alpha'.*summary_frame",
    ),
    "missing column": (
        lambda r: r.predict(FRAME[["x", "z"]]),
        rj.UnknownNameError,
        "predict needs the column 'g', which the data do not have.*use incomplete='submodels'",
    ),
    "unseen level": (
        lambda r: r.predict(changed(g=["a", "b", "q"] * (N // 3))),
        rj.DataError,
        "unseen levels of the column 'g'.*'q'.*'a', 'b', 'c'",
    ),
    "another kind": (lambda r: r.predict(changed(x="1")), rj.DataError, "'x'.*must hold real values.*text"),
    "infinite input": (lambda r: r.predict(at_row_3("x", np.inf)), rj.DataError, "infinite.*'x'"),
    "new an array": (lambda r: r.predict(FRAME.to_numpy()), rj.DataError, "'new' of predict.*DataFrame"),
    "new a word": (lambda r: r.get_prediction("x"), rj.DataError, "'new' of get_prediction.*Parquet"),
    "offset without rows": (
        lambda r: r.predict(offset=np.zeros(N)),
        rj.DataError,
        "'offset' parameter of predict",
    ),
    "offset too short": (lambda r: r.predict(FRAME, offset=[1.0]), rj.DataError, "'offset'.*60 rows. Got 1"),
    "ax no axes": (
        lambda r: r.plot_inclusion(ax=3),
        rj.ParameterError,
        "'ax' parameter of plot_inclusion.*Got 3",
    ),
    "figure for axes": (
        lambda r: r.plot_models(ax="new"),
        rj.ParameterError,
        "'ax' parameter of plot_models",
    ),
    "no models to plot": (
        lambda r: r.plot_models(top=0),
        rj.ParameterError,
        "'top' parameter of plot_models",
    ),
    "no terms to plot": (
        lambda r: r.plot_inclusion(top=0),
        rj.ParameterError,
        "'top' parameter of plot_inclusion",
    ),
    "draws of an enumeration": (lambda r: r.draws, rj.NotAvailableError, "Enumeration has no draws.*rjmcmc"),
}


@pytest.mark.parametrize("case", FIT_CASES)
def test_fit(case):
    options, kind, pattern = FIT_CASES[case]
    check(lambda: walk(**options), kind, pattern)


@pytest.mark.parametrize("case", RESULT_CASES)
def test_results(case, results):
    call, kind, pattern = RESULT_CASES[case]
    check(lambda: call(results), kind, pattern)


def test_start_that_breaks_a_constraint():
    model = build(costs=COSTS, budget=2)
    check(lambda: walk(model, start=["g"]), rj.ParameterError, "'start'.*feasible.*costs 3.*budget is 2")


def test_full_model_proposal_needs_a_full_model():
    with pytest.warns(rj.RankWarning):
        model = build("y ~ x + twice", changed(twice=2 * FRAME["x"]))
    check(lambda: walk(model, proposal="full"), rj.ParameterError, "'proposal'.*'conditional'.*dependent")
    check(lambda: walk(model, start=["x", "twice"]), rj.ParameterError, "'start'.*independent")


def test_too_many_models_to_enumerate():
    x = np.random.default_rng(1).normal(size=(N, 21))
    spikes = rj.LinearSelection(FRAME["z"], x, coef_prior=rj.SpikeSlab(0.1, 10))
    for model, other in ((arrays(exog=x), "collapsed"), (spikes, "gibbs")):
        message = f"at most 1,048,576; this space has 2,097,152.*'{other}'.*budget="
        check(partial(model.fit, sampler="enumerate"), rj.NotAvailableError, message)


def test_offset_that_was_an_array_is_asked_for(results_with_offset):
    check(lambda: results_with_offset.predict(FRAME), rj.DataError, "array as offset: predict needs 'offset'")

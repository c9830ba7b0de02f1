"""What notebooks show of models and results: their facts and summaries as HTML."""

import numpy as np
import pandas as pd
import pytest

import pyrjsel as rj

RNG = np.random.default_rng(8)
FRAME = pd.DataFrame({"y": RNG.integers(0, 2, 60), "x<1>": RNG.normal(size=60), "z": RNG.normal(size=60)})
LABELS = pd.DataFrame({"y": FRAME["y"], "a": RNG.integers(0, 2, 60), "b": RNG.integers(0, 2, 60)})
SHORT = {"draws": 200, "rng": 1, "progress": False}
# A model, the options of its fit, and what it is called.
ROOMS = {
    "logit": (lambda: rj.logit('y ~ Q("x<1>") + z', FRAME), {"rng": 1}, "Logistic"),
    "linear": (lambda: rj.linear('z ~ Q("x<1>")', FRAME), {"rng": 1}, "Linear"),
    "patterns": (lambda: rj.pattern_logit("y ~ interactions(a, b)", LABELS), SHORT, "patterns"),
    "kernel": (lambda: rj.kernel_regression("z ~ y", FRAME), {"particles": 50, "rng": 1}, "Kernel"),
    "mixture": (lambda: rj.mixture_classifier("y ~ z", FRAME), SHORT, "Mixture"),
}


@pytest.mark.filterwarnings("ignore::pyrjsel.ConvergenceWarning")
@pytest.mark.parametrize("room", ROOMS)
def test_models_and_results(room):
    make, options, word = ROOMS[room]
    model = make()
    page = model._repr_html_()
    assert word in page
    assert "<table" in page
    assert "x<1>" not in page  # escaped
    for fact in ("Formula", "Observations", "60"):
        assert fact in page
    results = model.fit(**options)
    assert results._repr_html_() == results.summary().as_html()
    # Looking at a model does not change what it prints.
    assert model._repr_html_() == page


def test_studies():
    model = rj.logit("y ~ z", FRAME)
    for found in (model.sensitivity(g=["n", "4n"], rng=1), model.cross_validate(3, rng=1)):
        assert found._repr_html_() == found.summary().as_html()


def test_a_model_says_its_constraints():
    page = rj.logit('y ~ Q("x<1>") + z', FRAME, max_size=1, model_prior=rj.Bernoulli(0.25))._repr_html_()
    for text in ("Largest size", "Bernoulli(p=0.25)", "Feasible models"):
        assert text in page

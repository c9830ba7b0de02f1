"""Summaries of all kinds of models state the same facts by the same names, in one order."""

import numpy as np
import pandas as pd
import pytest

import pyrjsel as rj

# All labels, in their order.
DATA = [
    *("Response", "Observations", "Classes", "Events", "Zero counts", "Trials", "Successes", "Mean (sd)"),
    *("Weights", "Offset", "Missing inputs"),
]
SPACE = [
    *("Terms", "Inputs", "Features", "Always in", "Budget", "Heredity", "Largest size", "Feasible models"),
    *("Kernel", "Components", "Target", "Background"),
    *("Patterns", "Number of patterns", "Number of groups", "Groups / patterns"),
]
PRIORS = [
    *("Coefficient prior", "Component prior", "Weight prior", "Noise prior", "Error variance prior"),
    *("Scale prior", "Model prior"),
]
SAMPLER = [
    *("Sampler", "Particles", "Rejuvenation", "Row order", "Runs"),
    *("Chains x draws", "Burn-in, thinning"),
]
POSTERIOR = [
    *("Sigma, 95 % interval", "Pearson chi2 / df", "Components in use", "Posterior size", "Log evidence"),
]
ORDER = [*DATA, *SPACE, *PRIORS, *SAMPLER, *POSTERIOR, "Run time"]
RUN = {"draws": 20, "chains": 2, "burn_in": 5, "rng": 1}


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(1)
    found = pd.DataFrame(rng.standard_normal((40, 3)), columns=["a", "b", "c"])
    found["y"] = found["a"] + 0.3 * rng.standard_normal(40)
    found["n"] = rng.poisson(np.exp(found["a"]))
    found["kind"] = np.where(found["y"] > 0, "red", "blue")
    found["u"], found["v"] = np.where(found["a"] > 0, "x", "z"), rng.choice(["p", "q"], 40)
    found.loc[0, ["a", "y", "kind", "u"]] = None
    return found


PRICES = {"costs": {"a": 1.0, "b": 2.0, "c": 1.0}, "budget": 4.0}
FITS = {
    "logit": lambda data: rj.logit("kind ~ a + b + c", data, **PRICES).fit(sampler="collapsed", **RUN),
    "linear": lambda data: rj.linear("y ~ a * b", data, always="a", max_size=2).fit(sampler="gibbs", **RUN),
    "poisson": lambda data: rj.poisson("n ~ a + b", data, offset="c").fit(sampler="rjmcmc", **RUN),
    "enumerate": lambda data: rj.linear("y ~ a + b", data).fit(sampler="enumerate"),
    "patterns": lambda data: rj.pattern_logit("kind ~ interactions(u, v, order=2)", data).fit(**RUN),
    "filter": lambda data: rj.kernel_regression("y ~ a", data).fit(particles=20, runs=2, rng=1),
    "chains": lambda data: rj.kernel_regression("y ~ a", data).fit(sampler="mcmc", **RUN),
    "labels": lambda data: rj.mixture_classifier("kind ~ a + b + c", data, **PRICES).fit(**RUN),
    "joint": lambda data: rj.mixture_classifier(
        "kind ~ a + b + c", data, target="joint", missing="drop", always="a", max_size=2
    ).fit(**RUN),
}


@pytest.mark.filterwarnings("ignore::pyrjsel.PyrjselWarning")
@pytest.mark.parametrize("name", FITS)
def test_facts_have_one_order(frame, name):
    results = FITS[name](frame)
    facts = results.summary().info
    labels = [label for label, _ in facts]
    assert set(labels) <= set(ORDER)
    places = [ORDER.index(label) for label in labels]
    assert (np.diff(places) > 0).all()
    always = {"Response", "Observations", "Model prior", "Sampler", "Posterior size", "Run time"}
    assert always - set(labels) == ({"Model prior", "Posterior size"} if name == "patterns" else set())
    said = dict(facts)
    assert said["Sampler"].split(", ")[0] == results.sampler
    assert ("Chains x draws" in said) == (name not in ("filter", "enumerate"))
    assert "dropped)" in said["Observations"] or name == "poisson"
    # A model states the facts of its fits, before any.
    head = results.model._repr_html_()
    for label in labels[: labels.index("Sampler")]:
        assert label.replace("&", "&amp;") in head
    assert "Run time" not in head


@pytest.mark.filterwarnings("ignore::pyrjsel.PyrjselWarning")
def test_tables_and_draws_have_one_name_for_observations(frame):
    pytest.importorskip("arviz")
    named = frame.dropna().set_index(pd.Index([f"row {i}" for i in range(39)]))
    for name in ("logit", "chains", "patterns", "labels"):
        results = FITS[name](named)
        (observed,) = results.to_arviz().observed_data.data_vars.values()
        assert observed.dims == ("row",)
        assert observed["row"].to_numpy().tolist() == named.index.tolist()
        if hasattr(results, "score"):
            assert results.score(named).columns.tolist() == ["value", "se", "rows"]
            assert (results.score(named)["rows"] == 39).all()

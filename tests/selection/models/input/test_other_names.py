"""Options of fits by the names that other packages have for them: the error says the right one."""

import numpy as np
import pandas as pd
import pytest

import pyrjsel as rj

RNG = np.random.default_rng(3)
FRAME = pd.DataFrame({"y": RNG.integers(0, 2, 40), "x": RNG.normal(size=40), "z": RNG.normal(size=40)})
LABELS = pd.DataFrame({"y": FRAME["y"], "a": RNG.integers(0, 2, 40), "b": RNG.integers(0, 2, 40)})
MODELS = {
    "selection": lambda: rj.logit("y ~ x + z", FRAME),
    "patterns": lambda: rj.pattern_logit("y ~ interactions(a, b)", LABELS),
    "kernel": lambda: rj.kernel_regression("y ~ x + z", FRAME),
    "mixture": lambda: rj.mixture_classifier("y ~ x + z", FRAME),
}
NAMES = {
    "seed": "rng",
    "random_state": "rng",
    "n_draws": "draws",
    "iterations": "draws",
    "n_samples": "draws",
    "tune": "burn_in",
    "burnin": "burn_in",
    "warmup": "burn_in",
    "n_chains": "chains",
    "cores": "n_jobs",
    "verbose": "progress",
}


@pytest.mark.parametrize("room", MODELS)
def test_names_of_other_packages(room):
    model = MODELS[room]()
    options = {"sampler": "mcmc"} if room == "kernel" else {}
    for name, meant in NAMES.items():
        with pytest.raises(rj.UnknownNameError, match=f"unknown option {name!r}.* is called {meant!r} here"):
            model.fit(**options, **{name: 1})


def test_a_filter_has_particles():
    model = MODELS["kernel"]()
    for name in ("n_samples", "n_particles", "draws"):
        with pytest.raises(rj.UnknownNameError, match=f"{name!r}.* It is called 'particles'"):
            model.fit(**{name: 100})


def test_an_option_that_a_sampler_has_is_not_taken_for_another():
    results = MODELS["selection"]().fit(sampler="population", tune=False, draws=100, rng=1, progress=False)
    assert results.options.tune is False


def test_slips_of_the_pen_are_guessed():
    with pytest.raises(rj.UnknownNameError, match=r"'chain'.* Did you mean 'chains'"):
        MODELS["selection"]().fit(chain=2)


def test_studies_say_it_too():
    with pytest.raises(rj.UnknownNameError, match=r"'n_chains'.* 'chains'"):
        MODELS["selection"]().cross_validate(3, n_chains=2, rng=1)
    with pytest.raises(rj.UnknownNameError, match=r"'cores'.* 'n_jobs'"):
        MODELS["selection"]().sensitivity(g=["n", "4n"], cores=2, rng=1)

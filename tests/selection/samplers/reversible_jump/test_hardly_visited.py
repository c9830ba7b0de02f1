"""Linear models of nearly dependent columns, which reversible jumps hardly visit."""

import warnings

import numpy as np
import pandas as pd
import pytest

import pyrjsel as rj

HARDLY = r"Chains hardly visit models of nearly dependent columns, such as x \+ x2:"


def frame(eps, effect):
    rng = np.random.default_rng(1)
    x, e, noise = rng.normal(size=(3, 120))
    return pd.DataFrame({"x": x, "x2": x + eps * e, "y": effect * e + noise})


def close(prior, **options):
    return rj.linear("y ~ x + x2", frame(3e-7, 0.25), coef_prior=prior, model_prior=rj.Uniform(), **options)


@pytest.mark.parametrize("sampler", ["rjmcmc", "population"])
@pytest.mark.parametrize("prior", [rj.GPrior("n"), rj.HyperG(3)], ids=repr)
def test_models_that_jumps_hardly_visit_are_reported(sampler, prior):
    model = close(prior)
    assert model.fit(rng=1, sampler="enumerate").inclusion["posterior"].min() > 0.2
    with pytest.warns(rj.ConvergenceWarning, match=HARDLY):
        fit = model.fit(rng=2, sampler=sampler, draws=500)
    assert "Chains hardly visit" in str(fit.summary())


@pytest.mark.parametrize(
    "model",
    [
        close(rj.GPrior("n"), max_size=1),
        rj.linear("y ~ x + x2", frame(3e-7, 0.0), model_prior=rj.Bernoulli(0.02)),
        rj.linear("y ~ x + x2", frame(1.0, 0.0)),
    ],
    ids=["not allowed", "without mass", "not close"],
)
def test_nothing_is_said_of_models_that_do_not_matter(model):
    with warnings.catch_warnings():
        warnings.simplefilter("error", rj.PyrjselWarning)
        fit = model.fit(rng=2, sampler="rjmcmc", draws=2000)
    np.testing.assert_allclose(
        fit.inclusion["posterior"],
        model.fit(rng=1, sampler="enumerate").inclusion["posterior"],
        atol=0.02,  # five Monte Carlo errors
    )

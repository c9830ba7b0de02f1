"""The pilot before chains on surrogates: what "auto" takes."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.special import fdtri
from sklearn.datasets import load_breast_cancer

import pyrjsel as rj
from pyrjsel.selection.evidence.importance import quantiles
from pyrjsel.selection.evidence.laplace import MarginalLikelihood
from pyrjsel.selection.samplers.automatic import pilot_of, sampler_of
from pyrjsel.selection.samplers.collapsed.integrals import Integrals


def rows(n, p, seed=0):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(rng.normal(size=(n, p)), columns=[f"x{j}" for j in range(p)]), rng


def regular(n=300, p=24):
    x, rng = rows(n, p)
    y = rng.random(n) < 1 / (1 + np.exp(-0.8 * x["x0"] - 0.4 * x["x1"]))
    return rj.LogitSelection(y.to_numpy(float), x)


def separating():
    """Three rows of 60, all events, that one variable sets apart under a wide prior."""
    x, rng = rows(60, 24, seed=2)
    y = (rng.random(60) < 0.3).astype(float)
    x["g"] = (np.arange(60) < 3).astype(float)
    y[:3] = 1
    return rj.LogitSelection(y, x, coef_prior=rj.Normal(25.0))


def crowded():
    x, rng = rows(30, 60, seed=1)
    y = rng.random(30) < 1 / (1 + np.exp(-2 * x["x0"] - 2 * x["x1"]))
    return rj.LogitSelection(y.to_numpy(float), x, coef_prior=rj.Normal(1.0))


def wide():
    """The best models have at most three terms, most of the posterior is of models of more than twelve."""
    x, rng = rows(60, 100)
    y = rng.random(60) < 1 / (1 + np.exp(1.2 * x["x1"] - 1.5 * x["x0"]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rj.RankWarning)
        return rj.LogitSelection(y.to_numpy(float), x)


def two_modes():
    """Of the modes of one dear variable and of five cheap ones a surrogate has too much of one."""
    x, rng = rows(200, 40, seed=4)
    eta = 1.8 * x["x0"] + 0.9 * x[["x1", "x2", "x3", "x4", "x5"]].sum(axis=1)
    y = rng.random(200) < 1 / (1 + np.exp(-eta))
    costs = {name: 10.0 if name == "x0" else 2.0 for name in x}
    return rj.LogitSelection(y.to_numpy(float), x, costs=costs, budget=10.0)


def dependent():
    """Twenty-four columns of four factors and noise, and few events."""
    rng = np.random.default_rng(1)
    factors = rng.normal(size=(200, 4)) @ rng.normal(size=(4, 24))
    x = pd.DataFrame(factors + 0.1 * rng.normal(size=factors.shape)).add_prefix("x")
    y = x["x0"] + 0.5 * rng.normal(size=200) > 2.5
    return rj.ProbitSelection(y.to_numpy(float), x)


def nearly_separated():
    """Cells of breasts, whose classes 30 columns nearly separate: few models are skewed, walks rejected."""
    found = load_breast_cancer(as_frame=True)
    x = found.data.rename(columns=lambda name: name.replace(" ", "_"))
    return rj.LogitSelection(found.target.to_numpy(float), x)


MAKERS = {
    "nearly separated": nearly_separated,
    "dependent": dependent,
    "two modes": two_modes,
    "regular": regular,
    "separating": separating,
    "crowded": crowded,
    "wide": wide,
}


@pytest.mark.parametrize(
    ("name", "sampler", "usual"),
    [
        ("regular", "collapsed", {}),
        ("two modes", "collapsed", {}),
        ("separating", "collapsed", {}),
        ("dependent", "rjmcmc", {"surrogate": 1}),
        ("nearly separated", "rjmcmc", {"surrogate": 1}),
        ("crowded", "rjmcmc", {}),
        ("wide", "rjmcmc", {}),
    ],
)
def test_what_auto_takes(name, sampler, usual):
    model = MAKERS[name]()
    assert sampler_of(model.regression, model.space) == (sampler, usual)
    assert pilot_of(model.regression, model.space) == pilot_of(model.regression, model.space)
    # Options of one sampler alone ask for that one.
    assert sampler_of(model.regression, model.space, {"pairs"}) == ("collapsed", {})
    assert sampler_of(model.regression, model.space, {"start"}) == (sampler, usual)


def test_fits_follow_it_whatever_the_seed():
    for model, sampler in ((regular(), "collapsed"), (dependent(), "rjmcmc")):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", rj.PyrjselWarning)
            found = [model.fit(draws=10, burn_in=20, chains=1, rng=seed, progress=False) for seed in (1, 2)]
        assert [run.sampler for run in found] == [sampler] * 2


def test_a_level_that_separates_is_right_by_default():
    """Within 4 Monte Carlo errors (a false alarm of 1e-4, at most once for a seed) of quadrature in two
    coefficients where the other terms do not matter: the odds of {g} against the model without terms.
    """
    model = separating()
    with pytest.warns(rj.SeparationWarning, match="by g in"):
        results = model.fit(draws=4000, rng=1, progress=False)
    assert results.sampler == "collapsed"
    exact = MarginalLikelihood(model.regression, b"0" * 16, 2**15, 3)
    gammas = np.zeros((2, 25), dtype=np.uint8)
    gammas[1, 24] = 1
    wanted = np.diff([exact.integrate(g).log_marginal + float(model.space.log_prior(g)) for g in gammas])[0]
    models = results.models.set_index("terms")
    mass = models.loc[[("g",), ()], "posterior"].to_numpy()
    error = models.loc[[("g",), ()], "mcse"].to_numpy() / mass
    assert abs(np.log(mass[0] / mass[1]) - wanted) < 4 * np.hypot(*error) + 0.01


def test_integrals_are_a_function_of_seed_and_model():
    """In any order, in any chain: to the last bit."""
    model = regular()
    entropy, rng = b"a seed of 16 byt", np.random.default_rng(3)
    gammas = (rng.random((40, 24)) < 0.2).astype(np.uint8)

    def masses(order):
        single = MarginalLikelihood(model.regression, entropy, 64, 25, 1e-3)
        table = Integrals(single, model.space, True)
        return {int(k): table.of(gammas[k]).log_mass for k in order}

    one, other = masses(range(40)), masses(rng.permutation(40))
    assert all(one[k] == other[k] for k in range(40))


@pytest.mark.parametrize("d", [1, 2, 7, 60])
@pytest.mark.parametrize("df", [4.0, 8.0])
def test_quantiles_of_radii(d, df):
    """Against scipy's, which are good to twelve digits."""
    p = np.concatenate([np.linspace(1e-6, 1 - 1e-6, 5000), [0.0, 1e-15, 1 - 1e-15, 0.0024, 0.0025]])
    np.testing.assert_allclose(quantiles(d, df, p), fdtri(d, df, p), rtol=1e-10)


def test_collapsed_against_enumeration():
    """Within 6 Monte Carlo errors of the exact inclusion: false alarms below 1e-8 a term."""
    x, rng = rows(120, 9, seed=4)
    y = rng.random(120) < 1 / (1 + np.exp(-0.8 * x["x0"] - 0.5 * x["x1"]))
    model = rj.LogitSelection(y.to_numpy(float), x)
    exact = model.fit(rng=1, progress=False).inclusion["posterior"]
    found = model.fit(sampler="collapsed", draws=600, chains=2, rng=5, progress=False).inclusion
    # A term in every draw has no error.
    assert np.all((found["posterior"] - exact).abs() <= 6 * found["mcse"].fillna(0) + 1e-3)

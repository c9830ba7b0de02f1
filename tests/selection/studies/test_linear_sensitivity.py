"""Linear models under several priors: normalised log marginal likelihoods, g, scales, mixtures of g."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
from linear_oracle import Rows, answer
from scipy.special import logsumexp

import pyrjsel as rj

INVERSE_GAMMA = rj.InverseGamma(2.0, 1.5)
PRIORS = {
    "unit": rj.GPrior("n"),
    "g": rj.GPrior(5.0),
    "hyper-g": rj.HyperG(3),
    "hyper-g/n": rj.HyperGN(4),
    "zellner-siow": rj.ZellnerSiow(),
    "normal": rj.Normal(0.8, mean=0.3),
    "unscaled": rj.Normal(0.9, scaled=False),
}


def make_frame(n=30, seed=4):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"x": rng.normal(size=n) + 3, "z": rng.normal(size=n), "o": rng.normal(size=n)})
    frame["f"] = np.array(list("abc"))[rng.integers(0, 3, n)]
    frame["w"] = rng.choice([0.0, 0.5, 1.0, 3.0], n)
    frame["y"] = 1 + frame["o"] + 0.5 * frame["x"] + (frame["f"] == "b") + rng.normal(size=n)
    return frame


FRAME = make_frame()


def model_of(**options):
    return rj.linear("y ~ f + x + z", FRAME, weights="w", offset="o", **options)


def wanted(prior, inclusion, sigma=None):
    """Log marginal likelihood averaged over models, and inclusion, by the covariance of the rows."""
    x = np.column_stack([FRAME["f"] == "b", FRAME["f"] == "c", FRAME["x"], FRAME["z"]]).astype(float)
    more = {} if sigma is None else {"a": sigma.a, "b": sigma.b}
    rows = Rows(x, FRAME["y"].to_numpy(), FRAME["w"].to_numpy(), FRAME["o"].to_numpy(), **more)
    models = np.array(list(product((0, 1), repeat=3)))
    columns = [[c for j, own in enumerate(([0, 1], [2], [3])) if model[j] for c in own] for model in models]
    size = models.sum(axis=1)
    joint = [answer(rows, prior, each).log_marginal for each in columns]
    joint += size * np.log(inclusion) + (3 - size) * np.log(1 - inclusion)
    total = logsumexp(joint)
    return total, np.exp(joint - total) @ models


@pytest.mark.statistical
@pytest.mark.parametrize("sigma", [None, INVERSE_GAMMA], ids=["flat", "inverse gamma"])
def test_log_marginals_of_the_analysis_have_all_constants(sigma):
    """Quadrature over g and sigma^2 is good to 1e-8; differences between priors are log Bayes factors."""
    model = model_of(model_prior=rj.Bernoulli(0.3), sigma_prior=sigma)
    study = model.sensitivity(PRIORS, rng=1, progress=False)
    found = [wanted(prior, 0.3, sigma) for prior in PRIORS.values()]
    values = [value for value, _ in found]
    np.testing.assert_allclose(study.analyses["log_marginal"], values, atol=1e-6)
    assert np.ptp(values) > 1
    np.testing.assert_allclose(study.inclusion, np.column_stack([p for _, p in found]), atol=1e-6)
    np.testing.assert_allclose(study.analyses["expected_size"], [p.sum() for _, p in found], atol=1e-6)


def test_values_of_g():
    """The n of g is the number of rows with weight; what is not varied stays, that of sigma^2 too."""
    rows = int((FRAME["w"] > 0).sum())
    assert rows < len(FRAME)
    model = model_of(coef_prior=rj.ZellnerSiow(), model_prior=rj.Bernoulli(0.4), sigma_prior=INVERSE_GAMMA)
    study = model.sensitivity(g=[5, "n"], rng=1, progress=False)
    for key, g in {"g=5": 5.0, "g=n": float(rows)}.items():
        value, inclusion = wanted(rj.GPrior(g), 0.4, INVERSE_GAMMA)
        assert study.analyses.loc[key, "log_marginal"] == pytest.approx(value, abs=1e-8)
        np.testing.assert_allclose(study.inclusion[key], inclusion, atol=1e-8)
    assert study._places == (5.0, rows)
    flat = model_of(coef_prior=rj.GPrior(2, intercept="flat")).sensitivity(g=[7], rng=1, progress=False)
    assert flat.results["g=7"].model.coef_prior == rj.GPrior(7, intercept="flat")


@pytest.mark.parametrize("base", [rj.Normal(3.0, scaled=False), rj.Normal(3.0, mean=0.2, standardize=True)])
def test_values_of_the_scale(base):
    """Of a prior in units of sigma or not, with its mean."""
    study = model_of(coef_prior=base, model_prior=rj.Bernoulli(0.4)).sensitivity(
        scale=[0.5, 2.0], rng=1, progress=False
    )
    for scale in (0.5, 2.0):
        prior = rj.Normal(scale, mean=base.mean, standardize=base.standardize, scaled=base.scaled)
        value, _ = wanted(prior, 0.4)
        assert study.analyses.loc[f"scale={scale:g}", "log_marginal"] == pytest.approx(value, abs=1e-6)


def test_scale_of_a_model_with_another_prior_is_in_units_of_sigma():
    study = model_of(model_prior=rj.Bernoulli(0.5)).sensitivity(scale=[0.7], rng=1, progress=False)
    value, _ = wanted(rj.Normal(0.7), 0.5)
    assert study.analyses.loc["scale=0.7", "log_marginal"] == pytest.approx(value, abs=1e-8)


def test_mixtures_beside_model_priors():
    study = model_of().sensitivity(
        [rj.HyperG(3), rj.GPrior(9.0)], model_priors={"few": rj.Bernoulli(0.1)}, rng=1, progress=False
    )
    assert list(study.results) == [("HyperG(a=3)", "few"), ("GPrior(g=9.0)", "few")]
    for (name, _), prior in zip(study.results, (rj.HyperG(3), rj.GPrior(9.0)), strict=True):
        value, inclusion = wanted(prior, 0.1)
        assert study.analyses.loc[(name, "few"), "log_marginal"] == pytest.approx(value, abs=1e-6)
        np.testing.assert_allclose(study.inclusion[name, "few"], inclusion, atol=1e-6)
    assert "Linear model selection: sensitivity" in study.summary().as_text()


def test_priors_of_other_families_are_named():
    with pytest.raises(rj.ParameterError, match=r"^Prior spikes: The 'coef_prior'.*LogitSelection"):
        rj.logit("low ~ age", rj.datasets.birthwt().data).sensitivity(
            {"spikes": rj.SpikeSlab(0.1, 10)}, rng=1
        )
    joint = {"joint": rj.GPrior(3.0, intercept="joint")}
    with pytest.raises(rj.ParameterError, match=r"^Prior joint: The 'intercept' parameter of GPrior"):
        model_of().sensitivity(joint, rng=1)


def test_a_perfect_fit_names_the_prior():
    """A g-prior has a posterior there, a mixture has none."""
    frame = FRAME.assign(y=1 + 2 * FRAME["x"])
    model = rj.linear("y ~ x + z", frame)
    with pytest.raises(
        rj.DataError, match=r"^Prior mixed: The columns of LinearSelection.sensitivity fit .* perfectly"
    ):
        model.sensitivity({"fixed": rj.GPrior(9.0), "mixed": rj.HyperG(3)}, rng=1, progress=False)


def test_log_marginal_is_unknown_after_sampling():
    study = model_of().sensitivity(g=[5], rng=1, sampler="collapsed", draws=1000, chains=2, progress=False)
    assert study.analyses["log_marginal"].isna().all()
    exact = model_of().sensitivity(g=[5], rng=1, progress=False)
    # Averages of conditional probabilities over 2,000 draws: errors of 1 % or so.
    np.testing.assert_allclose(study.inclusion, exact.inclusion, atol=0.06)

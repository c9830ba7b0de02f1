"""Data that are hard on the numbers: strong effects in many rows, far offsets, columns far from zero."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit, logsumexp
from scipy.stats import norm

import pyrjsel as rj


def strong_effects(n, effects, seed):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, len(effects)))
    eta = -1 + x @ np.array(effects)
    return pd.DataFrame(x, columns=[f"x{j}" for j in range(len(effects))]).assign(
        y=(rng.random(n) < expit(eta)).astype(float)
    )


@pytest.mark.parametrize(
    ("n", "effects", "seed"), [(10_000, (4.0,), 3), (20_000, (2.0, 2.0, -2.0), 2), (1_000, (6.0,), 5)]
)
def test_chains_do_not_freeze_on_the_way_to_the_mode(n, effects, seed):
    # A chain enters the model many posterior sds from its mode, where whole Newton steps are not accepted.
    frame = strong_effects(n, effects, seed)
    model = rj.logit("y ~ .", frame)
    right = model.fit(sampler="enumerate", rng=1)
    found = model.fit(sampler="rjmcmc", draws=1_000, rng=2)
    by_chain = found.diagnostics.iloc[:-1]
    # Near the mode whole steps are accepted over 90 % of the time, 0 % where a chain is stuck.
    assert by_chain["acceptance_coefficients"].min() > 0.5
    # 4,000 draws with an autocorrelation below 10 have an error of a twentieth of a sd; six of those.
    off = (found.params - right.params).abs() / right.bse
    assert off.max() < 0.3, off
    np.testing.assert_allclose(found.bse, right.bse, rtol=0.25)  # 400 draws: 3.5 %, and the same six


@pytest.mark.parametrize("shift", [40.0, -40.0, 500.0])
@pytest.mark.parametrize("prior", [rj.GPrior("4n", intercept="flat"), rj.Normal(2.0, intercept="flat")])
def test_a_constant_offset_moves_a_flat_intercept_and_nothing_else(prior, shift):
    frame = strong_effects(80, (1.0, 0.0), 7)
    near = rj.logit("y ~ .", frame, coef_prior=prior, offset=np.zeros(80)).fit(
        sampler="enumerate", rng=1, integration="laplace"
    )
    model = rj.logit("y ~ .", frame, coef_prior=prior, offset=np.full(80, shift))
    far = model.fit(sampler="enumerate", rng=1, integration="laplace")
    # Laplace values of the same integrals; searches from other starts agree to about 1e-6.
    np.testing.assert_allclose(far.inclusion["posterior"], near.inclusion["posterior"], atol=1e-5)
    assert far.params["Intercept"] + shift == pytest.approx(near.params["Intercept"], abs=1e-4)
    drawn = model.fit(sampler="rjmcmc", draws=500, rng=3)
    assert drawn.diagnostics["acceptance_coefficients"].min() > 0.5
    # 2,000 draws: errors of about 0.02, refused at six of them.
    np.testing.assert_allclose(drawn.inclusion["posterior"], near.inclusion["posterior"], atol=0.15)


@pytest.mark.parametrize("scale", [10.0, 1.0])
def test_columns_far_from_zero_keep_their_normal_prior(scale):
    # Seconds since 1970 over a month: the prior of the intercept of such a column couples it to the slope,
    # and the determinant of their joint precision cannot be had from that matrix in double precision.
    rng = np.random.default_rng(4)
    n = 120
    days = rng.normal(size=n) * 30
    y = (rng.random(n) < expit(days / 30)).astype(float)
    seconds = 1.6e9 + days * 86_400
    model = rj.LogitSelection(y, pd.DataFrame({"t": seconds}), coef_prior=rj.Normal(scale))
    table = model.fit(sampler="enumerate", rng=1, pairs=1000).models
    got = dict(zip(table["terms"], table["log_marginal"], strict=True))
    # The same integral over the intercept a of centred seconds and u = slope * centre, on a grid far wider
    # than the posterior (sds of about 0.2 and 10) and far finer: the trapezoidal rule is exact to 1e-10.
    centre = seconds.mean()
    a, step = np.linspace(-3, 3, 241), np.linspace(-80, 80, 321)
    log_posterior = np.empty((a.size, step.size))
    for i, level in enumerate(a):
        u = level + step
        eta = level + np.outer(u, (seconds - centre) / centre)
        log_prior = norm.logpdf(level - u, 0, 10) + norm.logpdf(u / centre, 0, scale) - np.log(centre)
        log_posterior[i] = eta @ y - np.logaddexp(0, eta).sum(axis=1) + log_prior
    want = logsumexp(log_posterior) + np.log((a[1] - a[0]) * (step[1] - step[0]))
    assert got["t",] == pytest.approx(want, abs=5e-3)  # the integration error is about 1e-3
    assert got[()] > got["t",]

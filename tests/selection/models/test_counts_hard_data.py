"""Counts that are hard on numbers: large, rare, with far offsets, with rows that no event ever reaches."""

import warnings

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from scipy import integrate

import pyrjsel as rj


def frame_of(n, effects, seed, level=0.0, columns=3):
    """Rows whose log rates are linear in standard normal columns."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.normal(size=(n, columns)), columns=[f"x{k}" for k in range(columns)])
    rate = np.exp(level + frame.to_numpy()[:, : len(effects)] @ np.array(effects))
    return frame.assign(y=rng.poisson(rate).astype(float))


def fit(model, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rj.SeparationWarning)
        return model.fit(**{"rng": 1, "progress": False, **options})


def glm(frame, terms, **options):
    X = sm.add_constant(frame[list(terms)], has_constant="add")
    return sm.GLM(frame["y"], X, family=sm.families.Poisson(), **options).fit(tol=1e-14, maxiter=200)


@pytest.mark.parametrize(
    ("level", "effects"),
    [(13.8, (0.3, -0.2)), (13.8, (1e-3,)), (5.0, (3.0, -2.0)), (-2.0, (4.0,)), (0.0, (6.0, 5.0))],
    ids=["a million", "a million, small effects", "large effects", "few and many", "up to a trillion"],
)
def test_modes_deviances_and_samplers(level, effects):
    """Wide flat priors: the full model's posterior is that of maximum likelihood, for both samplers."""
    frame = frame_of(150, effects, 3, level)
    prior = rj.GPrior(1e12, intercept="flat")
    terms = ["x0", "x1", "x2"]
    model = rj.poisson("y ~ x0 + x1 + x2", frame, coef_prior=prior, always=terms)
    exact, theirs = fit(model, pairs=2000), glm(frame, terms)
    # A deviance is a difference of sums whose terms are y log y: rounding leaves 1e-15 of these.
    size = float((frame["y"] * np.log(np.maximum(frame["y"], 1))).sum())
    assert exact.models["deviance"].iloc[0] == pytest.approx(theirs.deviance, rel=1e-6, abs=1e-13 * size)
    # 4,000 draws leave 0.016 sd of a mean and 1.1 % of a sd; skewness adds terms of order 1/sqrt(events).
    gap = (exact.params.to_numpy() - theirs.params.to_numpy()) / theirs.bse.to_numpy()
    assert np.abs(gap).max() < 0.25
    np.testing.assert_allclose(exact.bse, theirs.bse, rtol=0.06)
    drawn = fit(model, sampler="rjmcmc", draws=1000)
    assert drawn.diagnostics["acceptance_coefficients"].min() > 0.5
    # 4,000 draws with an autocorrelation below 10: errors of a twentieth of a sd; six of those.
    assert ((drawn.params - exact.params).abs() / exact.bse).max() < 0.3
    np.testing.assert_allclose(drawn.bse, exact.bse, rtol=0.25)


@pytest.mark.parametrize("shift", [40.0, -40.0, 600.0, -600.0])
@pytest.mark.parametrize("prior", [rj.GPrior("4n", intercept="flat"), rj.Normal(2.0, intercept="flat")])
def test_the_unit_of_exposure_moves_a_flat_intercept_and_nothing_else(prior, shift):
    frame = frame_of(80, (0.5, 0.0), 7)
    near = fit(rj.poisson("y ~ .", frame, coef_prior=prior, offset=np.zeros(80)), integration="laplace")
    model = rj.poisson("y ~ .", frame, coef_prior=prior, offset=np.full(80, shift))
    far = fit(model, integration="laplace")
    # Laplace values of the same integrals; searches from other starts agree to about 1e-6.
    np.testing.assert_allclose(far.inclusion["posterior"], near.inclusion["posterior"], atol=1e-5)
    assert far.params["Intercept"] + shift == pytest.approx(near.params["Intercept"], abs=1e-4)
    drawn = fit(model, sampler="rjmcmc", draws=500)
    assert drawn.diagnostics["acceptance_coefficients"].min() > 0.5
    # 2,000 draws: errors of about 0.02, refused at six of them.
    np.testing.assert_allclose(drawn.inclusion["posterior"], near.inclusion["posterior"], atol=0.15)


def test_rare_events_against_quadrature():
    """Three events in 400 rows: a posterior as skewed as a gamma law of shape 3."""
    n, a_sd, b_sd = 400, 10.0, 2.0
    x = np.repeat([0.0, 1.0], n // 2)
    y = np.zeros(n)
    y[[5, 300, 301]] = 1.0
    prior = rj.Normal(b_sd, intercept=rj.Normal(a_sd))
    model = rj.PoissonSelection(y, pd.DataFrame({"x": x}), coef_prior=prior, model_prior=rj.Uniform())
    found = dict(zip(*fit(model, pairs=2000).models[["terms", "log_marginal"]].to_numpy().T, strict=True))

    def density(b, a):
        log = 3 * a + 2 * b - (n / 2) * (np.exp(a) + np.exp(a + b))
        log += -0.5 * (a / a_sd) ** 2 - np.log(a_sd) - 0.5 * (b / b_sd) ** 2 - np.log(b_sd)
        return np.exp(log) / (2 * np.pi)

    # Beyond these ends the integrand is below 1e-12 of its peak; scaled so that quadrature sees it.
    scale = density(0.5, np.log(1 / n * 2))
    both, _ = integrate.dblquad(lambda b, a: density(b, a) / scale, -16, 0, -8, 10, epsrel=1e-9)
    # Four thousand draws of skewed posteriors: relative errors of at most half a percent.
    assert found["x",] == pytest.approx(np.log(both * scale), abs=0.02)
    alone, _ = integrate.quad(
        lambda a: np.exp(3 * a - n * np.exp(a) + 18.0 - 0.5 * (a / a_sd) ** 2), -16, 1, epsrel=1e-11
    )
    want = np.log(alone) - 18.0 - np.log(a_sd * np.sqrt(2 * np.pi))
    assert found[()] == pytest.approx(want, abs=0.02)


def test_tiny_rates():
    """A few events a billion person-years: offsets of 20 and intercepts of -20."""
    rng = np.random.default_rng(5)
    n = 60
    frame = pd.DataFrame({"x": rng.normal(size=n), "z": rng.normal(size=n)})
    people = rng.uniform(1e8, 1e9, n)
    frame["y"] = rng.poisson(people * np.exp(-19.5 + 0.8 * frame["x"]))
    assert 20 < frame["y"].sum() < 400
    model = rj.poisson(
        "y ~ x + z", frame, offset=np.log(people), coef_prior=rj.GPrior("4n", intercept="flat")
    )
    results = fit(model, pairs=1000)
    theirs = glm(frame, ["x"], offset=np.log(people))
    assert results.best() == ("x",)
    # g = 4 n pulls the coefficient by 1 / 241, which is 0.03 of its error; means of the skewed posterior of
    # some 90 events are about 1 / sqrt(90) of an error off its mode.
    assert results.params["Intercept"] == pytest.approx(theirs.params["const"], abs=0.2 * theirs.bse["const"])
    assert results.coefficients.loc["x", "mean_included"] == pytest.approx(
        theirs.params["x"], abs=0.2 * theirs.bse["x"]
    )


def test_one_huge_count_among_zeros():
    """A row that dominates everything; nothing overflows and the samplers agree."""
    rng = np.random.default_rng(8)
    frame = pd.DataFrame(rng.normal(size=(40, 2)), columns=["x", "z"])
    frame["y"] = np.where(np.arange(40) == 7, 1e6, rng.poisson(0.5, 40))
    model = rj.poisson("y ~ x + z", frame, coef_prior=rj.Normal(3.0), model_prior=rj.Uniform())
    exact = fit(model, pairs=1000)
    assert np.isfinite(exact.models["log_marginal"]).all()
    assert exact.best() == ("x", "z")
    drawn = fit(model, sampler="rjmcmc", draws=1000)
    assert drawn.best() == ("x", "z")
    assert ((drawn.params - exact.params).abs() / exact.bse).max() < 0.3


def test_chains_come_home_from_far_away():
    """Chains that start at models drawn from the prior, whose modes lie where the data are not."""
    frame = frame_of(100, (1.5, -1.0), 9, level=3.0, columns=8)
    model = rj.poisson("y ~ .", frame)
    exact = fit(model)
    for sampler in ("rjmcmc", "population"):
        found = fit(model, sampler=sampler, draws=800)
        assert found.best() == exact.best()
        gap = (found.inclusion["posterior"] - exact.inclusion["posterior"]).abs()
        # At 7 standard errors (of at least one visit in 3,200): false alarms below 1e-9, seed fixed.
        assert (gap < 7 * np.maximum(found.inclusion["mcse"].fillna(0), 3e-4)).all()

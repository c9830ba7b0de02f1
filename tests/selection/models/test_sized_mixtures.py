"""Mixtures of g-priors with an unknown theta or shape, against quadrature and enumeration."""

from functools import partial

import numpy as np
import pandas as pd
import pytest
from fit_checks import assert_long_chains_agree
from grids import by_grid
from scipy import optimize, stats
from scipy.special import logsumexp

import pyrjsel as rj

N = 40
FORMULA = "y ~ a + b + C(level)"
KINDS = {"negbin": rj.negbin, "gamma": rj.gamma}
LOG_SIZE = (0.0, 2.0)


def density(kind, y, eta, t):
    """Log densities of responses at linear predictors and a log size."""
    if kind == "negbin":
        return stats.nbinom.logpmf(y, np.exp(t), 1 / (1 + np.exp(eta - t)))
    return stats.gamma.logpdf(y, np.exp(t), scale=np.exp(eta - t))


@pytest.fixture(scope="module")
def tables():
    """Forty responses of each kind: an effect, two related columns, a factor, an offset."""
    rng = np.random.default_rng(3)
    x = rng.standard_normal((N, 2))
    frame = pd.DataFrame({"a": 1 + x[:, 0], "b": 2 * (x[:, 0] + x[:, 1])})
    frame["level"] = rng.choice(["p", "q", "r"], N)
    frame["shift"] = rng.normal(0, 0.3, N)
    mean = np.exp(0.7 + 0.35 * frame["a"] - 0.3 * (frame["level"] == "q") + frame["shift"])
    rate = mean * rng.gamma(1.5, 1 / 1.5, N)
    return {"negbin": frame.assign(y=rng.poisson(rate)), "gamma": frame.assign(y=rate)}


def model_of(kind, tables, prior, formula="y ~ a + b", **options):
    return KINDS[kind](formula, tables[kind], offset="shift", coef_prior=prior, **options)


class Quadrature:
    """Integrals over intercept, coefficients and log size given g, and over g, of one model."""

    def __init__(self, kind, frame, terms):
        self.kind, self.y, offset = kind, frame["y"].to_numpy(), frame["shift"].to_numpy()
        self.offset, x, d = offset, frame[terms].to_numpy(), len(terms)

        # The information of the null model at its most probable size.
        def loss(v):
            return -density(kind, self.y, v[0] + offset, v[1]).sum() - stats.norm.logpdf(v[1], *LOG_SIZE)

        def profile(t):
            return optimize.minimize_scalar(lambda a: loss((a, t)), bounds=(-3, 5), method="bounded").fun

        size = np.exp(optimize.minimize_scalar(profile, bounds=(-4, 6), method="bounded").x)
        a = optimize.minimize_scalar(lambda a: loss((a, np.log(size))), bounds=(-3, 5), method="bounded").x
        mean = np.exp(a + offset)
        w = mean * size / (mean + size) if kind == "negbin" else np.full(N, size)
        x = x - w @ x / w.sum()
        self.x, self.d, self.information = np.column_stack([np.ones(N), x]), d, (x.T * w) @ x

    def log_joint(self, v, g):
        """Log density of points (m, 1 + d + 1) of intercept, coefficients and log size, and the response."""
        eta = v[:, :-1] @ self.x.T + self.offset
        form = np.sum((v[:, 1:-1] @ self.information) * v[:, 1:-1], axis=1) / g
        constant = 0.5 * np.linalg.slogdet(self.information)[1] - 0.5 * self.d * np.log(2 * np.pi * g)
        prior = constant - 0.5 * form + stats.norm.logpdf(v[:, -1], *LOG_SIZE)
        return density(self.kind, self.y, eta, v[:, -1:]).sum(axis=1) + prior

    def given(self, g):
        """The integral given g, by a sum over a grid rotated as the posterior is."""
        start = np.append(np.log(self.y.mean()), np.zeros(self.d + 1))
        return by_grid(partial(self.log_joint, g=g), start, 1.0, 7)[0]

    def over_g(self, prior):
        t = np.arange(-11.0, 17.0 if self.d == 1 else 22.0)
        heights = [self.given(g) for g in np.exp(prior.log_g_at(t, N, self.d))]
        return logsumexp(heights + prior.density_at(t, N, self.d))


MIXTURES = [
    rj.HyperG(3),
    rj.ZellnerSiow(),
    rj.HyperGN(4),
    rj.Robust(),
    rj.Intrinsic(),
    rj.CCH(1.0, 20.0, 1.0),
]


@pytest.mark.parametrize(
    ("kind", "terms", "prior"),
    [
        ("negbin", ["a"], MIXTURES[0]),
        ("gamma", ["b"], MIXTURES[3]),
        *(
            pytest.param(("negbin", "gamma")[k % 2], ["a", "b"], prior, marks=pytest.mark.statistical)
            for k, prior in enumerate(MIXTURES)
        ),
    ],
    ids=repr,
)
def test_integrals_agree_with_quadrature(tables, kind, terms, prior):
    fit = model_of(kind, tables, prior).fit(rng=3)
    gamma = np.array([name in terms for name in ("a", "b")], dtype=np.uint8)
    found = fit._marginal.integrate(gamma, pairs=2**15 if len(terms) == 1 else 2**18)
    want = Quadrature(kind, tables[kind], terms).over_g(prior)
    # Six standard errors: 2e-8 in 8 cases. Sums over g have an error of 5e-5, those over coefficients too.
    assert found.variance < (3e-7 if len(terms) == 1 else 2e-7)
    assert abs(found.log_marginal - want) < 6 * np.sqrt(found.variance) + 1e-4


@pytest.mark.statistical
@pytest.mark.parametrize("prior", [rj.HyperG(3), rj.HyperGN(4), rj.ZellnerSiow()], ids=repr)
@pytest.mark.parametrize("kind", KINDS)
def test_long_chains_agree_with_enumeration(tables, kind, prior):
    model = model_of(kind, tables, prior, FORMULA)
    exact = model.fit(rng=1, pairs=8192)
    for sampler, draws in (("rjmcmc", 60_000), ("population", 20_000)):
        found = model.fit(sampler=sampler, draws=draws, rng=2)
        # 3 comparisons of 12 cases: 7e-8.
        assert_long_chains_agree(found, exact)
        assert np.abs(found.posterior.inclusion - exact.posterior.inclusion).max() < 6 * 3e-3
        assert found.nuisance["mean"].iloc[0] == pytest.approx(exact.nuisance["mean"].iloc[0], rel=0.02)


@pytest.mark.parametrize("kind", KINDS)
def test_one_g_for_all_models(tables, kind):
    """Empirical Bayes with the information of the null model; its g is at the maximum of the sum."""
    model = model_of(kind, tables, rj.EmpiricalBayes("global", information="null"))
    fits = {
        g: model_of(kind, tables, rj.GPrior(g, information="null", intercept="flat")).fit(rng=1)
        for g in (model.g, model.g / 3, model.g * 3)
    }
    np.testing.assert_allclose(model.fit(rng=1).posterior.inclusion, fits[model.g].posterior.inclusion)
    prior = {(): 1 / 3, ("a",): 1 / 6, ("b",): 1 / 6, ("a", "b"): 1 / 3}
    totals = [
        logsumexp(fit.models["log_marginal"], b=fit.models["terms"].map(prior).to_numpy(float))
        for fit in fits.values()
    ]
    assert totals[0] > max(totals[1:])


@pytest.mark.parametrize(
    "prior",
    [rj.HyperG(information="observed"), rj.EmpiricalBayes(), rj.EmpiricalBayes("local", "null"), rj.AIC()],
    ids=repr,
)
@pytest.mark.parametrize("kind", KINDS)
def test_rules_are_refused(tables, kind, prior):
    unknown = {"negbin": "theta", "gamma": "shape"}[kind]
    with pytest.raises(
        rj.NotAvailableError, match=f"unknown {unknown} supports .*mixtures.*or give {unknown}"
    ):
        model_of(kind, tables, prior)


def test_jumps_need_a_prior_with_a_full_conditional(tables):
    with pytest.raises(rj.NotAvailableError, match=r"full conditional.*Robust.*sampler='collapsed'"):
        model_of("negbin", tables, rj.Robust()).fit(sampler="rjmcmc", rng=1)
    with pytest.raises(rj.ParameterError, match=r"'surrogate' .* mixtures"):
        model_of("negbin", tables, rj.HyperG()).fit(sampler="rjmcmc", surrogate=1, rng=1)


def test_a_level_without_events():
    """Its coefficient has no lower bound in the likelihood, and the prior of g a heavy tail."""
    rng = np.random.default_rng(4)
    frame = pd.DataFrame({"level": np.repeat(["p", "q", "r"], 20), "x": rng.standard_normal(60)})
    frame["y"] = np.where(frame["level"] == "q", 0, rng.poisson(2 * rng.gamma(1.5, 1 / 1.5, 60)))
    model = rj.negbin("y ~ C(level) + x", frame, coef_prior=rj.HyperG(3))
    with pytest.warns(rj.SeparationWarning):
        exact = model.fit(rng=1, pairs=2**14)
    assert exact.inclusion.loc["C(level)", "posterior"] > 0.99
    with pytest.warns(rj.SeparationWarning):
        found = model.fit(sampler="rjmcmc", draws=4000, rng=1)
    assert found.inclusion.loc["x", "posterior"] == pytest.approx(
        exact.inclusion.loc["x", "posterior"], abs=0.06
    )


def test_rows_in_chunks_with_few_distinct_ones():
    """They are combined, as those of a data frame."""
    rng = np.random.default_rng(5)
    frame = pd.DataFrame({"a": rng.integers(0, 2, 300), "b": rng.integers(0, 3, 300)})
    frame["y"] = rng.poisson(np.exp(0.3 * frame["a"]) * rng.gamma(2, 0.5, 300))
    options = {"coef_prior": rj.ZellnerSiow()}
    whole = rj.negbin("y ~ a + b", frame, **options).fit(rng=1)
    parts = rj.negbin("y ~ a + b", lambda: iter([frame[:120], frame[120:]]), **options).fit(rng=1)
    np.testing.assert_allclose(parts.posterior.inclusion, whole.posterior.inclusion, rtol=1e-6)


@pytest.mark.parametrize("family", ["negbin", "gamma", "student"])
def test_trades_are_accepted(tables, family):
    """Whether log-likelihoods are negative or, in small units, positive."""
    costs, options = {"a": 1.0, "b": 2.0, "c": 3.0}, {"errors": "student"} if family == "student" else {}
    make = rj.linear if family == "student" else KINDS[family]
    frame = tables["negbin" if family == "negbin" else "gamma"].assign(c=np.arange(N) % 3)
    unit = 1.0 if family == "negbin" else 1e-4
    model = make("y ~ a + b + c", frame.assign(y=unit * frame["y"]), costs=costs, budget=4, **options)
    found, exact = model.fit(sampler="rjmcmc", draws=2000, rng=1), model.fit(rng=1)
    assert found.diagnostics.loc["all", "acceptance_trade"] > 0.02
    away = found.posterior.inclusion - exact.posterior.inclusion
    # |z| < 6 in 3 comparisons of 3 cases: 2e-8; integrals have errors of half a percent.
    assert np.all(np.abs(away) < 6 * np.hypot(found.posterior.inclusion_mcse, 0.003))

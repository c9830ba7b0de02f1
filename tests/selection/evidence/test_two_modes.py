"""Student-t errors and two groups of rows: posteriors with two modes, or a mode and a shoulder."""

import itertools
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from fit_checks import inclusion_z
from scipy import stats
from scipy.special import logsumexp

import pyrjsel as rj
from pyrjsel.selection.evidence.laplace import MarginalLikelihood
from pyrjsel.selection.evidence.proposal_mixture import ProposalMixture

NAMES = ["x0", "x1", "x2"]
# In ten thousandths: sums over importance draws of each model from mixtures of Student distributions around
# the modes of 200 searches from fits of random rows, 150,000 draws; standard errors are below 0.001.
RIGHT = [0.6134, 0.2617, 0.2319]


def table(seed, n=None, share=0.45):
    """Two groups of rows with opposite slopes, and a few outliers."""
    rng = np.random.default_rng(seed)
    n = int(rng.choice([16, 30, 40])) if n is None else n
    x = rng.normal(size=(n, 3))
    other = rng.random(n) < share
    y = np.where(other, 2 * x[:, 0], -2 * x[:, 0] + x[:, 1]) + 0.15 * rng.standard_normal(n)
    y[rng.random(n) < 0.1] += 8
    return pd.DataFrame(x, columns=NAMES).assign(y=y)


def tight_and_wide(n=24):
    """Nearly a half of the responses in a tight group, the others widely spread."""
    rng = np.random.default_rng(4)
    x, tight = rng.normal(size=n), rng.random(n) < 0.5
    return pd.DataFrame({"x0": x, "y": np.where(tight, 0.2 + 0.8 * x, rng.normal(4.0, 20.0, n))})


def by_sums(frame, df, prior):
    """Log marginal likelihood of the model with x0, by sums over a grid of all coordinates."""
    x, y = frame["x0"].to_numpy(), frame["y"].to_numpy()
    nodes = np.arange(-3.5, 3.5, 0.1), np.arange(-6.0, 6.0, 0.1), np.arange(-2.5, 2.5, 0.125)
    a, b, t = np.meshgrid(*nodes, indexing="ij", sparse=True)
    sd = prior.scale if isinstance(prior, rj.Normal) else np.sqrt(prior.g / ((x - x.mean()) ** 2).sum())
    value = np.log(2.0) + stats.norm.logpdf(b, 0.0, np.exp(t) * sd) + y.size * (stats.t.logpdf(0.0, df) - t)
    # One logarithm for four rows.
    for rows in np.array_split(np.arange(y.size), -(-y.size // 4)):
        product = 1.0
        for i in rows:
            product = product * (1.0 + ((y[i] - a - b * x[i]) * np.exp(-t)) ** 2 / df)
        value = value - 0.5 * (df + 1.0) * np.log(product)
    return logsumexp(value) + np.log(0.1 * 0.1 * 0.125)


def integral(frame, df, prior, **options):
    """The integral of the model with x0, and the object that makes it."""
    model = rj.linear("y ~ x0", frame, errors="student", df=df, coef_prior=prior)
    regression = model.regression
    marginal = MarginalLikelihood(regression, b"0123456789abcdef", 256, regression.n_columns)
    return marginal.integrate(np.ones(1, dtype=np.uint8), **options), marginal


CASES = {
    "a shoulder": (table(3), 1.0, rj.GPrior(40.0)),
    "two modes": (table(14, 16), 1.0, rj.GPrior(16.0)),
    "under a normal prior": (table(0, 16), 1.0, rj.Normal(3.0)),
    "two degrees of freedom": (table(7, 16), 2.0, rj.GPrior(16.0)),
}


@pytest.mark.parametrize("case", CASES)
def test_integrals_agree_with_sums_over_a_grid(case):
    found, marginal = integral(*CASES[case])
    assert marginal.finder.apart is not None
    # Six standard errors: 2e-9 in each case. Halving the steps changes the sums by less than 1e-4.
    assert found.variance < 1e-4
    assert abs(found.log_marginal - by_sums(*CASES[case])) < 6 * np.sqrt(found.variance) + 1e-3


def test_fits_have_the_right_probabilities():
    for seed in range(2):
        found = rj.linear("y ~ x0 + x1 + x2", table(3), errors="student", df=1).fit(rng=seed)
        # Of 144 fits of the kind, none was off by more than .006; one that misses the shoulder is by .03.
        np.testing.assert_allclose(found.posterior.inclusion, RIGHT, atol=0.01)


def test_unknown_degrees_of_freedom():
    """Normal errors of all rows and heavy tails around some are two modes; against sums over df."""
    frame, prior = tight_and_wide(), rj.GPrior("n")
    found, marginal = integral(frame, "estimate", prior)
    assert marginal.finder.apart is not None
    u = np.arange(-7.0, 5.6, 0.6)
    df = 0.5 + np.exp(u)
    given = [integral(frame, each, prior, pairs=512)[0].log_marginal for each in df]
    law = stats.gamma(2, scale=10)
    want = logsumexp(given + law.logpdf(df) - law.logsf(0.5) + u + np.log(0.6))
    # Six standard errors of both, 2e-9; sums over steps of 0.6 are exact to 1e-3.
    assert abs(found.log_marginal - want) < 6 * np.sqrt(2 * found.variance) + 2e-3


def test_unknown_g():
    """Against a sum over log g under HyperGN."""
    frame = table(3)
    found, marginal = integral(frame, 1.0, rj.HyperGN(3.0))
    assert marginal.finder.apart is not None
    log_g, n = np.arange(-6.0, 14.0, 1.0), len(frame)
    given = [
        integral(frame, 1.0, rj.GPrior(float(np.exp(each))), pairs=256)[0].log_marginal for each in log_g
    ]
    law = -np.log(2 * n) - 1.5 * np.log1p(np.exp(log_g) / n) + log_g
    want = logsumexp(given + law)
    # Six standard errors of both, 2e-9; the sum leaves out 1e-3 of the prior.
    assert abs(found.log_marginal - want) < 6 * np.sqrt(2 * found.variance) + 4e-3


def test_regular_posteriors_have_one_mode():
    rng = np.random.default_rng(2)
    x = rng.standard_normal((100, 3))
    frame = pd.DataFrame(x, columns=NAMES).assign(y=0.5 * x[:, 0] + rng.standard_t(4, 100))
    for df in (1, 2, 4, "estimate"):
        finder = rj.linear("y ~ x0 + x1 + x2", frame, errors="student", df=df).fit(rng=1)._marginal.finder
        for gamma in itertools.product([0, 1], repeat=3):
            finder.mode(np.array(gamma, dtype=np.uint8))
            assert finder.status == 0
            assert finder.apart is None


def test_any_components_give_the_same_integral():
    """A second place that is none, 20,000 pairs; six standard errors of two estimates: 2e-9."""
    rng = np.random.default_rng(2)
    x = rng.standard_normal(40)
    frame = pd.DataFrame({"x0": x, "y": x + rng.standard_t(4, 40)})
    found, marginal = integral(frame, 4.0, rj.GPrior("n"), pairs=4096)
    finder = marginal.finder
    finder.apart = finder.at + 1.0, 2.0 * finder.factor
    stage = marginal._mixed(ProposalMixture.of(finder), 20_000, rng)
    again = marginal._mixed(ProposalMixture.of(finder).matched(stage.points, stage.weights), 20_000, rng)
    assert again.variance < stage.variance
    for each in (stage, again):
        away = finder.log_marginal + each.log_ratio - found.log_marginal
        assert abs(away) < 6 * np.sqrt(found.variance + each.variance)


def test_draws_beyond_all_numbers_have_no_weight():
    """Neither a warning nor NaN; and integrals without an effective number of draws stay as they are."""
    found, marginal = integral(tight_and_wide(), "estimate", rj.GPrior("n"))
    finder = marginal.finder
    rays = np.array([[0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0], [1.0, 1.0, 1.0, -1.0]])
    values = finder.weighted(finder.at, rays, np.full(3, 1e3), np.zeros(3))[1]
    assert np.all(values < -100)
    unknown = replace(found, effective=np.nan)
    assert marginal.with_effective(np.ones(1, dtype=np.uint8), unknown, 500.0) is unknown


@pytest.mark.statistical
@pytest.mark.filterwarnings("ignore:The MCSE of the inclusion")
def test_fits_agree_with_long_chains():
    """Two samplers on 8 data sets, three comparisons each at 4e-8: 2e-6 in all."""
    for seed in range(0, 32, 4):
        frame, df = table(seed, share=[0.45, 0.35, 0.25][seed % 3]), [1, 2, 4, "estimate"][seed // 4 % 4]
        model = rj.linear("y ~ x0 + x1 + x2", frame, errors="student", df=df)
        chains = model.fit(sampler="rjmcmc", draws=20_000, rng=2)
        for sampler in ("enumerate", "collapsed"):
            found = model.fit(sampler=sampler, rng=1)
            # An error is unknown where a term is in every draw.
            assert np.nanmax(inclusion_z(chains, found)) < 5.5
            assert np.abs(chains.posterior.inclusion - found.posterior.inclusion).max() < 0.02

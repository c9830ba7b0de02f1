"""Integrals over g against arithmetic of 30 digits, and draws of g against their distribution."""

import mpmath as mp
import numpy as np
import pytest
from scipy import stats
from scipy.integrate import quad
from scipy.special import hyp2f1
from turns import by_turns

import pyrjsel as rj
from pyrjsel.distributions import draw
from pyrjsel.selection.priors._score import GaussianScore
from pyrjsel.selection.priors.shrinkage import Shrinkage

PRIORS = [rj.HyperG(3), rj.HyperG(2.1), rj.HyperGN(4), rj.ZellnerSiow()]


def log_weight(prior, n, d, nu, r2, t):
    """The log integrand over t = log g as Liang et al. (2008) print it, in mpmath."""
    g = mp.exp(t)
    if isinstance(prior, rj.HyperG):
        a = mp.mpf(prior.a)
        density = (a - 2) / 2 * (1 + g) ** (-a / 2)
    elif isinstance(prior, rj.HyperGN):
        a = mp.mpf(prior.a)
        density = (a - 2) / (2 * n) * (1 + g / n) ** (-a / 2)
    else:
        density = mp.sqrt(mp.mpf(n) / 2) / mp.gamma(0.5) * g ** mp.mpf(-1.5) * mp.exp(-n / (2 * g))
    factor = (nu - d) / mp.mpf(2) * mp.log1p(g) - nu / mp.mpf(2) * mp.log1p(g * (1 - r2))
    return factor + t + mp.log(density)


def exact(prior, n, d, nu, r2):
    """Return log B, E[g / (1 + g)] and E[(g / (1 + g))^2]; the trapezoidal rule with a step of 1/8.

    Half the step and ten digits more give the same doubles in all cases below.
    """
    with mp.workdps(30):
        r2 = mp.mpf(r2)
        coarse = np.arange(-70, 220, 1.0)
        height = np.array([float(log_weight(prior, n, d, nu, r2, mp.mpf(float(t)))) for t in coarse])
        used = coarse[height > height.max() - 50]
        step = mp.mpf(1) / (8 if d < 40 else 16)
        count = int((used[-1] - used[0] + 2) / step) + 1
        points = [mp.mpf(float(used[0])) - 1 + k * step for k in range(count)]
        weights = [mp.exp(log_weight(prior, n, d, nu, r2, t)) for t in points]
        shrink = [1 / (1 + mp.exp(-t)) for t in points]
        products = [w * s for w, s in zip(weights, shrink, strict=True)]
        total = mp.fsum(weights)
        first = mp.fsum(products) / total
        second = mp.fsum(w * s for w, s in zip(products, shrink, strict=True)) / total
        return float(mp.log(total * step)), float(first), float(second)


SIZES = [(5, 1), (5, 3), (47, 15), (1000, 60), (10**6, 1), (10**6, 60)]


@pytest.mark.parametrize(
    ("prior", "size"),
    by_turns(PRIORS, [(*size, r2) for size in SIZES for r2 in (0.0, 0.3, 1 - 1e-8)]),
    ids=repr,
)
def test_quadrature_and_interpolants(prior, size):
    """Log Bayes factors to 1e-9 (relative beyond 1), shrinkage to 1e-10, from rules and from interpolants."""
    n, d, r2 = size
    want = exact(prior, n, d, n - 1, r2)
    shrinkage = Shrinkage(prior, n, n - 1)
    assert shrinkage.log_factor(d, r2) == pytest.approx(want[0], rel=1e-9, abs=1e-9)
    np.testing.assert_allclose(shrinkage.factors(d, r2), want[1:], rtol=0, atol=1e-10)
    score = GaussianScore.mixture(n - 1.0, 1.0, shrinkage, most=d)
    assert score.value(d, 0.0, r2) == pytest.approx(want[0], rel=1e-9, abs=1e-9)
    found = score.moments(d, r2)
    np.testing.assert_allclose(found[:2], want[1:], rtol=0, atol=1e-10)
    inner = want[1] - r2 * want[2], 1 - r2 * want[1]
    # What is left of S for a fit of 1 - 1e-8 keeps the digits that 1 - R^2 has.
    np.testing.assert_allclose(found[2:], inner, rtol=1e-7, atol=1e-10)


def test_hyper_g_has_a_closed_form():
    """(a - 2) / (d + a - 2) 2F1((n - 1) / 2, 1; (d + a) / 2; R^2): eq. 17 of Liang et al."""
    for n, d, a, r2 in [(20, 3, 3.0, 0.5), (13, 2, 4.0, 0.9), (30, 7, 2.5, 0.1)]:
        want = np.log((a - 2) / (d + a - 2) * hyp2f1((n - 1) / 2, 1, (d + a) / 2, r2))
        assert Shrinkage(rj.HyperG(a), n, n - 1).log_factor(d, r2) == pytest.approx(want, abs=1e-10)


@pytest.mark.parametrize("prior", PRIORS, ids=repr)
def test_interpolants_everywhere(prior):
    """Against the rule itself on random R^2, for many numbers of columns; interpolants err by 1e-11."""
    rng = np.random.default_rng(1)
    for n in (8, 60, 3000):
        shrinkage = Shrinkage(prior, n, n - 1)
        for d in (1, 2, 4, 9, 25, 58, 300):
            if d > n - 2:
                continue
            score = GaussianScore.mixture(n - 1.0, 1.0, shrinkage, most=d)
            r2 = 1 - np.maximum(np.exp(-rng.exponential(4, 60)), 1e-12)
            found = np.array([score.value(d, 0.0, value) for value in r2])
            np.testing.assert_allclose(found, shrinkage.log_factor(d, r2), rtol=1e-12, atol=1e-10)
            left = np.array([score.moments(d, value)[:2] for value in r2])
            np.testing.assert_allclose(left.T, shrinkage.factors(d, r2), rtol=0, atol=1e-10)


def test_the_null_model_is_the_base():
    for prior in PRIORS:
        shrinkage = Shrinkage(prior, 20, 19)
        assert shrinkage.log_factor(0, 0.0) == 0.0
        assert GaussianScore.mixture(19.0, 2.0, shrinkage, most=3).value(0, 0.0, 0.0) == pytest.approx(
            -9.5 * np.log(2)
        )


@pytest.mark.parametrize("prior", PRIORS, ids=repr)
def test_densities_are_normalised(prior):
    n = 30
    total = quad(lambda t: np.exp(prior.log_density(t, n)), -60, 700, limit=2000, points=[-5, 0, 5, 10, 50])[
        0
    ]
    assert total == pytest.approx(1.0, abs=1e-8)
    g = np.array([0.5, 3.0, 200.0])
    np.testing.assert_allclose(prior.logpdf(g, n) + np.log(g), prior.log_density(np.log(g), n))


def test_zellner_siow_is_an_inverse_gamma():
    n, g = 24, np.array([0.4, 5.0, 90.0])
    np.testing.assert_allclose(rj.ZellnerSiow().logpdf(g, n), stats.invgamma(0.5, scale=n / 2).logpdf(g))


@pytest.mark.parametrize("prior", PRIORS, ids=repr)
@pytest.mark.parametrize(("n", "d", "r2"), [(12, 2, 0.6), (200, 8, 0.3), (9, 8, 0.99)])
def test_draws_of_g(prior, n, d, r2):
    """Kolmogorov-Smirnov, 12 tests of 1e-8 each."""
    shrinkage = Shrinkage(prior, n, n - 1)
    drawn = shrinkage.sample(d, r2 / (1 - r2), 20_000, np.random.default_rng(n + d))
    assert drawn.shape == (20_000,)
    nodes, probability = shrinkage.posterior(d, r2 / (1 - r2))
    edges = np.cumsum(probability)
    # The sum of the rule up to the middle between two nodes is the integral so far, to about 1e-4.
    middle = nodes + 0.5 * (nodes[1] - nodes[0])
    assert stats.kstest(np.log(drawn), lambda t: np.interp(t, middle, edges)).pvalue > 1e-8
    first, second = shrinkage.factors(d, r2)
    shrink = drawn / (1 + drawn)
    error = np.sqrt(max(second - first**2, 0) / drawn.size)
    assert abs(shrink.mean() - first) < 6 * error + 1e-12


def test_draws_from_a_coarse_grid():
    """A grid so coarse that its envelope is far off the density: rejection makes up for it (1e-8)."""
    nodes = np.arange(-8.0, 8.5, 2.0)
    drawn = draw(lambda t: -0.5 * t[None] ** 2, nodes, 100_000, np.random.default_rng(5))
    assert stats.kstest(drawn, stats.norm.cdf).pvalue > 1e-8


def test_signs_are_averaged_over_g():
    """The coarse rule for distribution functions, against the fine one."""
    for prior in PRIORS:
        for n, d, r2 in [(12, 2, 0.6), (200, 8, 0.3), (40, 1, 0.05), (1000, 40, 0.9)]:
            shrinkage = Shrinkage(prior, n, n - 1)
            nodes, probability = shrinkage.posterior(d, r2 / (1 - r2))
            shrink = 1 / (1 + np.exp(-nodes))
            coarse, log_prior = shrinkage.rule(d)
            weight = log_prior - 0.5 * (n - 1) * np.log1p(-r2 * coarse)
            weight = np.exp(weight - weight.max())
            for ratio in (0.3, 2.0, 6.0):
                want = probability @ stats.t.cdf(ratio * np.sqrt(shrink / (1 - r2 * shrink)), n - 1)
                found = (
                    weight / weight.sum() @ stats.t.cdf(ratio * np.sqrt(coarse / (1 - r2 * coarse)), n - 1)
                )
                assert found == pytest.approx(want, abs=1e-7)


@pytest.mark.parametrize("make", [rj.HyperG, rj.HyperGN])
@pytest.mark.parametrize("a", [2, 1.5, -1, np.inf, np.nan, "3", True, None])
def test_a_must_be_above_two(make, a):
    with pytest.raises(rj.ParameterError, match=rf"'a' parameter of {make.__name__} must be .*\(2, inf\)"):
        make(a)

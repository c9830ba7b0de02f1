"""Families with a size: expansions of their log-likelihoods, against scipy and finite differences."""

import numpy as np
import pytest
from scipy import special, stats

import pyrjsel as rj
from pyrjsel.families import Gamma, NegativeBinomial
from pyrjsel.families._family import log_likelihoods

N = 40


def counts(rng, w, mean):
    return rng.poisson(w * mean * rng.gamma(1.2, 1 / 1.2, w.size)) / w


def positive(rng, w, mean):
    return mean * rng.gamma(1.2 * w) / (1.2 * w)


# The class, responses, and log densities of means of w responses.
FAMILIES = {
    "negbin": (
        NegativeBinomial,
        counts,
        lambda y, w, eta, s: stats.nbinom.logpmf(np.round(w * y), w * s, 1 / (1 + np.exp(eta) / s)),
    ),
    "gamma": (
        Gamma,
        positive,
        lambda y, w, eta, s: stats.gamma.logpdf(y, w * s, scale=np.exp(eta) / (w * s)),
    ),
}


def rows(respond):
    """Responses, weights and linear predictors."""
    rng = np.random.default_rng(5)
    w, eta = rng.integers(1, 4, N).astype(float), rng.normal(0.4, 0.8, N)
    return respond(rng, w, np.exp(eta)), w, eta


@pytest.mark.parametrize("name", FAMILIES)
def test_derivatives_in_eta_and_the_log_size(name):
    made, respond, law = FAMILIES[name]
    y, w, eta = rows(respond)
    family, t, h = made().for_rows(y, w, None), 0.3, 1e-4

    def value(eta, t):
        return family.joint(y, w, eta, np.array([t]))[0]

    middle, slope, weight, (by_t,), ((curve,),), (cross,) = family.joint(y, w, eta, np.array([t]))
    assert middle == pytest.approx(law(y, w, eta, np.exp(t)).sum(), rel=1e-12)
    image = np.linspace(-0.2, 0.3, y.size)
    pair = family.joint_pairs(y, w, eta, image[None], np.array([0.7]), np.array([[t], [t + h]]))
    for found, at, moved in zip(pair, (t, t + h), (0.7, -0.7), strict=True):
        want = value(eta + moved * image, at) + stats.norm.logpdf(at, 0, 2)
        assert found == pytest.approx(want, rel=1e-12)
    # Errors of differences: 1e-8 of third and fourth derivatives, and 1e-14 / h**2 of rounding, times 100.
    up, down = value(eta, t + h), value(eta, t - h)
    assert by_t == pytest.approx((up - down) / (2 * h), abs=1e-5)
    assert curve == pytest.approx((2 * middle - up - down) / h**2, abs=1e-3)
    for k in (0, 7, 23):
        e = np.zeros(N)
        e[k] = h
        assert slope[k] == pytest.approx((value(eta + e, t) - value(eta - e, t)) / (2 * h), abs=1e-5)
        second = (2 * middle - value(eta + e, t) - value(eta - e, t)) / h**2
        assert weight[k] == pytest.approx(second, abs=1e-3)
        mixed = value(eta + e, t - h) + value(eta - e, t + h) - value(eta + e, t + h) - value(eta - e, t - h)
        assert cross[k] == pytest.approx(mixed / (4 * h * h), abs=1e-3)
    _, slope, curve = family.log_prior(np.array([t]))
    assert (slope[0], curve[0]) == (-t / 4, 0.25)


@pytest.mark.parametrize("name", FAMILIES)
def test_what_loops_are_given(name):
    """Gamma functions and linear terms are the log-likelihood without the passes."""
    made, respond, law = FAMILIES[name]
    y, w, eta = rows(respond)
    given, size = made().for_rows(y, w, None).of_jumps(), np.array([2.3])
    (a, b, c), (slope, rest) = given["gammas"], given["linear"]
    share = given["share"] * w * y
    found = log_likelihoods(made.passes, eta[None] - np.log(size), w * y, share, w, size)[0]
    found += c @ special.gammaln(a + b * size) + slope * size[0] + rest
    assert found == pytest.approx(law(y, w, eta, size[0]).sum(), rel=1e-12)
    assert given["log_prior"] == (0.0, 2.0)


@pytest.mark.parametrize("model", [rj.NegbinSelection, rj.GammaSelection])
def test_weights_too_small_for_their_derivatives_are_named(model):
    """Below 1e-145 inverses cannot be squared; above, the size of a small weight does not matter."""
    rng = np.random.default_rng(5)
    x, y = rng.normal(size=(60, 1)), rng.poisson(3, 60) + 1.0
    weights = np.r_[5e-324, np.ones(59)]
    with pytest.raises(rj.DataError, match=r"'weights' must be 0 or at least 1e-145\. Got 4.94066e-324"):
        model(y, x, weights=weights)
    found = []
    for weights[0] in (1e-145, 1e-40):
        found.append(model(y, x, weights=weights).fit(rng=1).inclusion["posterior"].iloc[0])
    # The same integral; draws of its proposal differ by the rounding of modes.
    assert found[0] == pytest.approx(found[1], abs=1e-6)

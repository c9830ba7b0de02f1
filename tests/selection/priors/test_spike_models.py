"""Single models and enumeration under spikes and slabs, against the covariance of the rows and quadrature."""

from itertools import product

import linear_oracle
import numpy as np
import pytest
from turns import every

from pyrjsel.distributions import InverseGamma
from pyrjsel.runtime import FitSettings
from pyrjsel.selection.evidence.spike_slab import SpikeModels
from pyrjsel.selection.priors.spike_slab import SpikeSlab
from pyrjsel.selection.regression.gaussian import GaussianRegression
from pyrjsel.selection.samplers.enumeration.gaussian import GaussianEnumeration
from pyrjsel.selection.samplers.options import ExactOptions

SIZES = (1, 2, 1)
BY_SIZE = InverseGamma([2.0, 2.4, 3.0, 2.1], [1.0, 0.5, 2.0, 0.7])
PRIORS = {
    "scaled": SpikeSlab(0.2, 50.0, scaled=True),
    "unscaled": SpikeSlab(0.2, 50.0),
    "unscaled, by column": SpikeSlab((0.3, 0.1, 0.4, 0.2), (9.0, 100.0, 4.0, 30.0), standardize=True),
}
SETTINGS = {
    "flat": {},
    "inverse gamma, weights, offset": {
        "sigma": InverseGamma(1.5, 0.8), "weighted": True, "with_offset": True,
    },
    "by size": {"sigma": BY_SIZE},
    "fewer rows than columns": {"sigma": InverseGamma(3.0, 2.0), "n": 4},
}  # fmt: skip
CASES = [(prior, setting) for prior in PRIORS for setting in SETTINGS]


def answers(case, sigma):
    """What the oracle says of all models."""
    found = []
    for gamma in product((0, 1), repeat=len(SIZES)):
        a, b = (0.0, 0.0) if sigma is None else sigma.table(len(SIZES))[:, sum(gamma)]
        rows = linear_oracle.Rows(case.x, case.y, case.weights, case.offset, a, b)
        columns = case.regression.model_columns(np.array(gamma))[1:] - 1
        found.append(linear_oracle.answer(rows, case.prior, columns))
    return found


def make(linear_kit, prior, setting):
    options = SETTINGS[setting]
    case = linear_kit.case(SIZES, PRIORS[prior], seed=2, **options)
    return case, answers(case, options.get("sigma"))


@pytest.mark.parametrize(("prior", "setting"), every(2, CASES, 1))
def test_marginal_likelihoods_and_moments(linear_kit, prior, setting):
    case, want = make(linear_kit, prior, setting)
    single = SpikeModels(case.regression)
    np.testing.assert_allclose(
        single.log_marginals(case.models), [item.log_marginal for item in want], rtol=0, atol=1e-9
    )
    for gamma, item in zip(case.models, want, strict=True):
        assert single.exists(gamma)
        assert single.log_marginal(gamma) == pytest.approx(item.log_marginal, abs=1e-9)
        found = single.moments(gamma)
        np.testing.assert_array_equal(found.columns, np.arange(5))
        np.testing.assert_allclose(found.mean, item.mean, rtol=1e-8, atol=1e-9)
        np.testing.assert_allclose(found.square, item.square, rtol=1e-8)
        np.testing.assert_allclose(found.positive, item.positive, rtol=0, atol=1e-8)
        assert found.variance == pytest.approx(item.variance, rel=1e-8)


def fit_exact(case):
    settings = FitSettings(1, 0, 1, 1, np.random.default_rng(1), 1, False)
    return GaussianEnumeration().posterior(case.regression, case.space, settings, ExactOptions())


@pytest.mark.parametrize(("prior", "setting"), every(2, CASES, 1))
def test_enumeration(linear_kit, prior, setting):
    case, want = make(linear_kit, prior, setting)
    mass = np.array([item.log_marginal for item in want]) + np.asarray(case.space.log_prior(case.models))
    weight = np.exp(mass - mass.max())
    weight /= weight.sum()
    posterior = fit_exact(case)
    np.testing.assert_allclose(posterior.inclusion, weight @ case.models, rtol=0, atol=1e-9)
    order = [int("".join(map(str, gamma)), 2) for gamma in posterior.gamma]
    np.testing.assert_allclose(posterior.probability, weight[order], rtol=0, atol=1e-9)
    np.testing.assert_allclose(posterior.log_marginal, [want[i].log_marginal for i in order], atol=1e-9)
    moments = posterior.moments
    mean, square = (weight @ [getattr(item, name) for item in want] for name in ("mean", "square"))
    # Models that hold 1e-6 of the mass may be left out.
    np.testing.assert_allclose(moments.mean, mean, rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(moments.sd, np.sqrt(square - mean**2), rtol=1e-5)
    np.testing.assert_allclose(moments.prob_positive, weight @ [item.positive for item in want], atol=1e-5)
    inside = np.column_stack([np.ones(8), np.repeat(case.models, SIZES, axis=1)]) * weight[:, None]
    first = np.sum(inside * [item.mean for item in want], axis=0) / inside.sum(axis=0)
    second = np.sum(inside * [item.square for item in want], axis=0) / inside.sum(axis=0)
    np.testing.assert_allclose(moments.mean_included, first, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(moments.sd_included, np.sqrt(second - first**2), rtol=1e-4)


@pytest.mark.parametrize(("prior", "setting"), every(4, CASES, 0))
def test_draws_have_the_moments(linear_kit, prior, setting):
    """4,000 independent draws: 5.5 standard errors of means, 4e-8 each; 6.5 where they are estimated."""
    case, _ = make(linear_kit, prior, setting)
    single, gamma = SpikeModels(case.regression), np.array([1, 0, 1], dtype=np.uint8)
    want = single.moments(gamma)
    size = 4_000
    b, nuisance = single.sample(gamma, size, np.random.default_rng(5))
    variance = nuisance["variance"]
    raw = case.regression.to_raw(b)
    spread = np.sqrt(want.square - want.mean**2)
    np.testing.assert_array_less(np.abs(raw.mean(axis=0) - want.mean), 5.5 * spread / np.sqrt(size))
    # Variances of coefficients: their own draws say how much squares vary.
    away = (raw - want.mean) ** 2
    error = away.std(axis=0) / np.sqrt(size)
    np.testing.assert_array_less(np.abs(away.mean(axis=0) - spread**2), 6.5 * error)
    assert abs(variance.mean() - want.variance) < 6.5 * variance.std() / np.sqrt(size)


def test_means_that_do_not_exist():
    """Two rows leave one degree of freedom: coefficients are Cauchy."""
    x, y = np.array([[0.0], [1.0]]), np.array([0.0, 2.0])
    regression = GaussianRegression.build(x, y, [1], SpikeSlab(0.5, 9.0, scaled=True))
    found = SpikeModels(regression).moments(np.array([1]))
    assert np.all(np.isnan(found.mean))
    assert np.all(np.isinf(found.square))
    assert np.isinf(found.variance)
    assert 0.5 < found.positive[1] < 1

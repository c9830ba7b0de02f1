"""The log evidence by tempering, against enumeration with quadrature, and its errors."""

from itertools import combinations

import numpy as np
import pytest
from scipy.special import gammaln, logsumexp

import pyrjsel as rj
from pyrjsel.kernel.samplers.tempering import TemperingJob, tempered_evidence, tempered_runs

NODES = 90


def log_density(log_v, a, b):
    """Log density of log v for an inverse gamma v."""
    return a * np.log(b) - gammaln(a) - a * log_v - b * np.exp(-log_v)


def exact(model):
    """The log evidence: all sets of centres, and integrals over the logs of both variances."""
    settings, x, y = model.settings, model.x, model.y
    t, kernels = len(y), model.kernels[0](x, x)
    # Beyond these ranges posterior densities of variances are below e^-15 of the largest.
    noise, coef = (np.linspace(low, high, NODES) for low, high in ((-12.0, 9.0), (-13.0, 13.0)))
    grid = log_density(noise, settings.a_y, settings.b_y)[:, None]
    grid = grid + log_density(coef, settings.a_beta, settings.b_beta)
    grid += np.log((noise[1] - noise[0]) * (coef[1] - coef[0]))
    sizes = np.arange(min(settings.max_kernels, t) + 1)
    log_size = sizes * np.log(settings.mean_kernels) - gammaln(sizes + 1.0)
    log_size -= logsumexp(log_size)
    parts = []
    for k in sizes:
        log_set = log_size[k] - (gammaln(t + 1) - gammaln(k + 1) - gammaln(t - k + 1))
        for chosen in combinations(range(t), int(k)):
            columns = np.column_stack([np.ones(t), model.x[:, : settings.trend], kernels[:, list(chosen)]])
            values, vectors = np.linalg.eigh(columns @ columns.T)
            variance = np.exp(noise)[:, None, None] + np.exp(coef)[:, None] * np.maximum(values, 0.0)
            square = (vectors.T @ y) ** 2
            log_rows = -0.5 * (np.log(2 * np.pi * variance) + square / variance).sum(axis=2)
            parts.append(log_set + logsumexp(log_rows + grid))
    return float(logsumexp(parts))


def small(seed=4, rows=6, **options):
    rng = np.random.default_rng(seed)
    x = rng.uniform(-3, 3, (rows, 1))
    y = np.sinc(x[:, 0]) + 0.1 * rng.standard_normal(rows)
    usual = {"width": 1.3, "mean_kernels": 2.0, "noise_prior": (0.5, 0.5), "coef_prior": (0.5, 0.5)}
    return rj.KernelRegression(y, x, standardize=False, **usual | options)


def runs(model, count, seed, particles=250, steps=None):
    job = TemperingJob(model.settings, model.x, model.y, particles, effective=0.9, sweeps=3)
    return tempered_runs(job, np.random.SeedSequence(seed).spawn(count), steps)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"rows": 5, "noise_prior": (2.0, 0.1)},
        {"rows": 4, "max_kernels": 2, "mean_kernels": 0.5},
        {"rows": 5, "trend": "linear"},
    ],
)
def test_evidences_are_unbiased(options):
    model = small(**options)
    wanted = exact(model)
    ratio = np.exp([run.log_evidence - wanted for run in runs(model, 100, 1)])
    error = ratio.std(ddof=1) / 10
    assert error < 0.02
    assert abs(ratio.mean() - 1.0) < 5.2 * error  # a Student deviate of 99 degrees: beyond it 1e-6


def test_powers_can_be_given():
    model = small()
    wanted = exact(model)
    for steps in (4, 12):
        found = [run.log_evidence for run in runs(model, 40, 2, steps=steps)]
        # The log of the mean of few steps is biased by half its variance, which is small here.
        assert np.mean(found) == pytest.approx(wanted, abs=0.05)


def test_fixed_variances():
    """One set of centres at a time, the evidence is that of a normal distribution."""
    model = small(noise_variance=0.02, coef_variance=1.5, noise_prior=None, coef_prior=None)
    t, kernels = 6, model.kernels[0](model.x, model.x)
    parts = []
    for k in range(t + 1):
        log_set = k * np.log(2.0) - gammaln(k + 1.0)
        log_set -= gammaln(t + 1) - gammaln(k + 1) - gammaln(t - k + 1)
        for chosen in combinations(range(t), k):
            columns = np.column_stack([np.ones(t), kernels[:, list(chosen)]])
            cover = 0.02 * np.eye(t) + 1.5 * columns @ columns.T
            log_det = np.linalg.slogdet(2 * np.pi * cover)[1]
            parts.append(log_set - 0.5 * (log_det + model.y @ np.linalg.solve(cover, model.y)))
    sizes = np.arange(t + 1)
    wanted = logsumexp(parts) - logsumexp(sizes * np.log(2.0) - gammaln(sizes + 1.0))
    ratio = np.exp([run.log_evidence - wanted for run in runs(model, 100, 3)])
    assert abs(ratio.mean() - 1.0) < 5.2 * ratio.std(ddof=1) / 10


@pytest.mark.statistical
def test_errors_cover():
    """r.m.s. deviates of 200 seeds; of eight runs each they are Student's with 7 degrees, r.m.s. 1.18."""
    model = small()
    wanted = exact(model)
    deviates = []
    for seed in range(200):
        job = TemperingJob(model.settings, model.x, model.y, 250)
        value, error = tempered_evidence(job, np.random.SeedSequence(seed).spawn(8))
        deviates.append((value - wanted) / error)
    found = float(np.sqrt(np.mean(np.square(deviates))))
    print(f"r.m.s. {found:.2f}")
    assert found < 1.3


def test_results_of_mcmc_have_an_evidence():
    model = small(rows=8)
    results = model.fit(sampler="mcmc", draws=400, chains=2, rng=1, progress=False)
    table = model.evidence(rng=2)
    assert results.log_evidence == pytest.approx(table["log_evidence"].iloc[0], abs=6 * table["se"].iloc[0])
    assert 0.0 < results.log_evidence_se < 0.1
    assert results.log_evidence == results.log_evidence


def test_widths_are_weighed_by_tempering():
    rng = np.random.default_rng(3)
    x = np.sort(rng.uniform(-10, 10, 20))
    y = 3.0 * np.sinc(x / np.pi) + 0.2 * rng.standard_normal(20)
    model = rj.KernelRegression(y, x, width=[0.5, 1.0])
    results = model.fit(particles=60, rng=1, progress=False)
    table = model.evidence(particles=60, rng=5)
    gap = results.widths["log_evidence"] - table["log_evidence"]
    # Two sets of eight runs: Student deviates with about 14 degrees, beyond 8 with probability 1e-6.
    assert (np.abs(gap) < 8 * np.hypot(table["se"], results.widths["se"])).all()
    assert results.width == table["log_evidence"].idxmax()
    stream = model.fit(particles=60, rng=1, progress=False, evidence="stream").widths
    assert stream["se"].isna().all()
    scaled = rj.KernelRegression(10 * y, x, width=[0.5, 1.0]).evidence(particles=60, rng=5)
    np.testing.assert_allclose(scaled["log_evidence"], table["log_evidence"] - 20 * np.log(10), rtol=1e-9)


def test_many_rows_make_columns_as_they_are_proposed():
    rng = np.random.default_rng(1)
    x = rng.uniform(-3, 3, 1100)
    y = np.sin(x) + 0.3 * rng.standard_normal(1100)
    model = rj.KernelRegression(y, x, mean_kernels=3.0)
    table = model.evidence(particles=20, runs=2, steps=5, rng=1)
    assert np.isfinite(table["log_evidence"].iloc[0])


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"particles": 1}, "'particles' parameter of KernelRegression.evidence"),
        ({"runs": 1}, "'runs' parameter"),
        ({"steps": 0}, "'steps' parameter"),
        ({"rng": -1}, "'rng' parameter"),
    ],
)
def test_bad_parameters(options, said):
    with pytest.raises(rj.ParameterError, match=said):
        small().evidence(**options)


def test_bad_evidence_options():
    with pytest.raises(rj.ParameterError, match="'evidence' parameter"):
        small().fit(evidence="bayes")

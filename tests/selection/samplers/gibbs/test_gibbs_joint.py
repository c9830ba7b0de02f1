"""Joint-distribution tests (Geweke 2004): draws of (data, parameters) by two simulators that must agree."""

import gibbs_kit
import numpy as np
import pytest

from pyrjsel.distributions import InverseGamma
from pyrjsel.selection.regression.gaussian import GaussianRegression

pytestmark = pytest.mark.statistical
SIZES, NAMES = (1, 2, 1), ["a", "b", "a:b"]
BY_SIZE = InverseGamma([4.0, 5.0, 6.0, 5.0], [3.0, 2.0, 6.0, 4.0])
PRIORS = {
    "scaled": (gibbs_kit.SPIKES["scaled"], False),
    "scaled, classical": (gibbs_kit.SPIKES["scaled"], True),
    "unscaled": (gibbs_kit.SPIKES["unscaled"], False),
    "unscaled, classical": (gibbs_kit.SPIKES["unscaled"], True),
    "normal": (gibbs_kit.UNSCALED_NORMAL, False),
}
# A term at the price of three others: trades lead from one to the other.
PRICED = {
    "sizes": (2, 1, 1, 1),
    "names": ["a", "b", "c", "d"],
    "sigma": InverseGamma([4.0, 5.0, 6.0, 5.0, 4.5], [3.0, 2.0, 6.0, 4.0, 3.0]),
    "space": {"costs": {"a": 3.0, "b": 1.0, "c": 1.0, "d": 1.0}, "budget": 3.0},
}
TRADES = 6
STEPS = 12_000
# Batch means of 60 batches: beyond 7 standard errors of a Student with 59 degrees of freedom is 3e-9; the
# batches are 10 times as long as the chains remember.
BATCHES, ERRORS = 60, 7.0


def summaries(gamma, b, variance):
    """Numbers of which both simulators have the same mean."""
    return np.concatenate(
        [
            gamma,
            [gamma[0] * gamma[1], np.log(variance), np.log(variance) ** 2],
            b,
            b**2,
            b[0] * gamma,
            [b[0] * b[1]],
        ]
    )


def draw_prior(twin, models, chances, rng):
    """Model, coefficients and sigma^2 from the prior."""
    gamma = models[rng.choice(len(models), p=chances)]
    a, scale = twin.sigma[:, int(gamma.sum())]
    variance = scale / rng.standard_gamma(a)
    columns, precision, mean = twin._prior(gamma)
    b = np.zeros(twin.cross.size)
    spread = np.sqrt((variance if twin.scaled else 1.0) / precision)
    b[columns] = mean + spread * rng.standard_normal(columns.size)
    return gamma, b, variance


@pytest.mark.parametrize("prior", PRIORS)
def test_both_simulators_agree(linear_kit, prior):
    coef_prior, classical = PRIORS[prior]
    sigma = BY_SIZE if "normal" not in prior else InverseGamma(5.0, 4.0)
    case = linear_kit.case(SIZES, coef_prior, n=12, seed=3, names=NAMES, sigma=sigma, heredity="weak")
    check(case, classical, sigma)


@pytest.mark.parametrize("prior", ["scaled", "unscaled", "normal"])
def test_both_simulators_agree_with_trades(linear_kit, prior):
    coef_prior, classical = PRIORS[prior]
    sizes, names, sigma, space = PRICED.values()
    sigma = sigma if "normal" not in prior else InverseGamma(5.0, 4.0)
    case = linear_kit.case(sizes, coef_prior, n=12, seed=3, names=names, sigma=sigma, **space)
    proposed, accepted = check(case, classical, sigma, swaps=0, trades=TRADES)
    assert proposed == TRADES * STEPS
    assert accepted > 0.01 * proposed


def check(case, classical, sigma, **moves):
    """Compare both simulators; trades that were proposed and accepted."""
    coef_prior, sizes, trades = case.prior, np.diff(case.regression.term_start).tolist(), np.zeros(2)
    twin = gibbs_kit.twin_of(case, case.space.empty_model(), 1.0, classical=classical)
    x = case.regression.rooted.T
    models = case.models[np.isfinite(np.asarray(case.space.log_prior(case.models)))]
    chances = np.exp(np.asarray(case.space.log_prior(models)))
    rng = np.random.default_rng(11)
    chances /= chances.sum()
    independent = np.array([summaries(*draw_prior(twin, models, chances, rng)) for _ in range(STEPS)])
    chained = np.empty_like(independent)
    gamma, b, variance = draw_prior(twin, models, chances, rng)
    raw = x * case.regression.scale + case.regression.mean
    for i in range(STEPS):
        y = x @ b + np.sqrt(variance) * rng.standard_normal(len(x))
        regression = GaussianRegression.build(raw, y, sizes, coef_prior, sigma_prior=sigma)
        problem = Problem(regression, case.space)
        job = gibbs_kit.job_of(problem, classical=classical, draws=1, drawn=1, **moves)
        runner = gibbs_kit.runner_at(job, gamma, variance, int(rng.integers(2**60)))
        runner.advance(1)
        found = runner.finish(True)
        if "trade" in job.setup.names:
            trades += runner.counts()[:, job.setup.names.index("trade")]
        gamma = runner.collector.table.gamma()[0]
        vectors = (
            found.coefficients if job.kind.nuisance(regression) is not None else found.coefficients.toarray()
        )
        b, variance = vectors[0, 1:], float(found.nuisance["variance"][0])
        chained[i] = summaries(gamma, b, variance)
    means, error = [], 0.0
    for draws in (independent, chained):
        batches = draws.reshape(BATCHES, -1, draws.shape[1]).mean(axis=1)
        means.append(batches.mean(axis=0))
        error = np.hypot(error, batches.std(axis=0, ddof=1) / np.sqrt(BATCHES))
    assert np.all(np.abs(means[0] - means[1]) < ERRORS * error + 1e-12)
    assert np.all(error[:3] > 0)
    return trades


class Problem:
    """What a job needs of a case."""

    def __init__(self, regression, space):
        self.regression, self.space = regression, space

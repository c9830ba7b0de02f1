"""Log marginal likelihoods hold all constants of the likelihood: against integrals in closed form."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.special import betaln, gammaln

import pyrjsel as rj

RNG = np.random.default_rng(12)
N = 40
FRAME = pd.DataFrame({"x": RNG.normal(size=N), "trials": RNG.integers(2, 9, N)})
FRAME["share"] = RNG.binomial(FRAME["trials"], 0.4) / FRAME["trials"]
FRAME["count"] = RNG.poisson(3.0, N)
FRAME["log_exposure"] = np.log(RNG.uniform(0.5, 2.0, N))
FLAT = rj.GPrior("n", intercept="flat")
SAVED = Path(__file__).resolve().parents[2] / "saved"


def null_value(results):
    """Return the log marginal likelihood of the model without terms."""
    models = results.models
    return float(models.loc[[terms == () for terms in models["terms"]], "log_marginal"].item())


def binomial_truth():
    """Return the integral over a flat logit: a beta function times binomial coefficients."""
    n, k = FRAME["trials"], FRAME["share"] * FRAME["trials"]
    ways = gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1)
    return ways.sum() + betaln(k.sum(), n.sum() - k.sum())


def poisson_truth(y, exposure):
    """Return the integral over a flat log rate: a gamma function over factorials."""
    total = y.sum()
    each = (y * np.log(exposure) - gammaln(y + 1)).sum()
    return each + gammaln(total) - total * np.log(exposure.sum())


def test_trials():
    results = rj.logit("share ~ x", FRAME, weights="trials", coef_prior=FLAT).fit(rng=1)
    # The relative error of the integral is below 0.5 %.
    assert null_value(results) == pytest.approx(binomial_truth(), abs=0.02)


def test_trials_and_their_single_outcomes_differ_by_binomial_coefficients():
    n, k = FRAME["trials"].to_numpy(), np.rint(FRAME["share"] * FRAME["trials"]).astype(int)
    single = pd.DataFrame(
        {"y": np.concatenate([np.repeat([1, 0], [a, b - a]) for a, b in zip(k, n, strict=True)])}
    ).assign(x=np.repeat(FRAME["x"].to_numpy(), n))
    together = rj.logit("share ~ x", FRAME, weights="trials", coef_prior=FLAT).fit(
        sampler="enumerate", integration="laplace"
    )
    apart = rj.logit("y ~ x", single, coef_prior=FLAT).fit(sampler="enumerate", integration="laplace")
    ways = (gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1)).sum()
    gap = together.models.set_index("terms")["log_marginal"] - apart.models.set_index("terms")["log_marginal"]
    # Searches for modes stop where a step gains less than 1e-9.
    np.testing.assert_allclose(gap, ways, rtol=0, atol=1e-6)


def test_counts():
    ones = pd.Series(np.ones(N))
    results = rj.poisson("count ~ x", FRAME, coef_prior=FLAT).fit(rng=1)
    assert null_value(results) == pytest.approx(poisson_truth(FRAME["count"], ones), abs=0.02)
    results = rj.poisson("count ~ x", FRAME, offset="log_exposure", coef_prior=FLAT).fit(rng=1)
    truth = poisson_truth(FRAME["count"], np.exp(FRAME["log_exposure"]))
    assert null_value(results) == pytest.approx(truth, abs=0.02)


def test_rows_of_weight_zero_and_rows_that_are_collapsed_change_nothing():
    twice = pd.concat([FRAME.assign(w=1.0), FRAME.assign(w=0.0)], ignore_index=True)
    results = rj.poisson("count ~ x", twice, weights="w", coef_prior=FLAT).fit(rng=1)
    assert null_value(results) == pytest.approx(
        poisson_truth(FRAME["count"], pd.Series(np.ones(N))), abs=0.02
    )
    # One distinct row of columns in two is collapsed: constants are those of the rows as given.
    few = FRAME.assign(x=np.arange(N) % 3)
    results = rj.poisson("count ~ x", few, coef_prior=FLAT).fit(rng=1)
    assert null_value(results) == pytest.approx(
        poisson_truth(FRAME["count"], pd.Series(np.ones(N))), abs=0.02
    )


def test_single_outcomes_have_no_constants():
    births = rj.datasets.birthwt().data
    model = rj.logit("low ~ age", births)
    assert model.regression.log_constant == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("sampler", ["enumerate", "collapsed"])
def test_sampled_and_saved_results_have_them_too(tmp_path, sampler):
    options = {} if sampler == "enumerate" else {"draws": 500, "chains": 2}
    results = rj.poisson("count ~ x", FRAME, coef_prior=FLAT).fit(
        sampler=sampler, rng=1, progress=False, **options
    )
    truth = poisson_truth(FRAME["count"], pd.Series(np.ones(N)))
    assert null_value(results) == pytest.approx(truth, abs=0.05)
    results.save(tmp_path / "a.rjs")
    again = rj.load(tmp_path / "a.rjs")
    pd.testing.assert_frame_equal(again.models, results.models)
    again.save(tmp_path / "b.rjs")
    pd.testing.assert_frame_equal(rj.load(tmp_path / "b.rjs").models, results.models)


def test_sensitivity_has_them():
    study = rj.poisson("count ~ x", FRAME, model_prior=rj.Uniform()).sensitivity(g=["n"], rng=1)
    models = study.results["g='n'" if "g='n'" in study.results else next(iter(study.results))].models
    wanted = np.logaddexp.reduce(models["log_marginal"]) - np.log(2)
    assert study.analyses["log_marginal"].item() == pytest.approx(wanted, abs=1e-10)

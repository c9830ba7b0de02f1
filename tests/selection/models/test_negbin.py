"""Negative binomial models with known and with unknown theta, as users meet them.

Jumps, temperatures, modes and integrals at a known theta are tested with those of the other families, in
``samplers/reversible_jump`` and ``evidence``; its likelihood in ``tests/families``.
"""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import pyrjsel as rj

N = 90
FORMULA = "y ~ a + b + C(level)"


@pytest.fixture(scope="module")
def table():
    """Ninety overdispersed counts: an effect, two related columns, a factor, an offset."""
    rng = np.random.default_rng(8)
    x = rng.standard_normal((N, 2))
    frame = pd.DataFrame({"a": x[:, 0], "b": x[:, 0] + x[:, 1]})
    frame["level"] = rng.choice(["p", "q", "r"], N)
    frame["shift"] = rng.normal(0, 0.3, N)
    rate = np.exp(0.7 + 0.4 * frame["a"] - 0.3 * (frame["level"] == "q") + frame["shift"])
    return frame.assign(y=rng.poisson(rate * rng.gamma(1.5, 1 / 1.5, N)))


@pytest.fixture(scope="module")
def even():
    """Poisson counts, whose theta has no upper limit."""
    rng = np.random.default_rng(9)
    frame = pd.DataFrame({"a": rng.standard_normal(60), "b": rng.standard_normal(60), "shift": 0.0})
    return frame.assign(y=rng.poisson(np.exp(0.5 + 0.3 * frame["a"])))


@pytest.fixture(scope="module", params=["known", "unknown"])
def model(request, table):
    theta = 1.5 if request.param == "known" else None
    return rj.negbin(FORMULA, table, offset="shift", theta=theta)


@pytest.fixture(scope="module")
def enumerated(model):
    return model.fit(rng=1)


def test_a_large_theta_is_the_poisson_model(even):
    known = rj.negbin("y ~ a + b", even, theta=1e8).fit(rng=1, pairs=1024)
    poisson = rj.poisson("y ~ a + b", even).fit(rng=1, pairs=1024)
    # Log-likelihoods differ by some 60 y^2 / theta, and integrals by as little: draws are the same.
    np.testing.assert_allclose(known.posterior.inclusion, poisson.posterior.inclusion, atol=1e-4)
    for name in ("log_marginal", "deviance"):
        np.testing.assert_allclose(known.models[name], poisson.models[name], atol=1e-3)


def test_repeated_rows_are_combined(table):
    """The constants of theta are those of the rows as they were."""
    narrow = table[["level", "y"]].reset_index(drop=True)
    model = rj.negbin("y ~ C(level)", narrow)
    assert model.regression.y.size == 3
    single = model.fit(rng=1)._marginal
    single.mode(np.ones(1, dtype=np.uint8))
    point = single.finder.at
    t, b = point[-1], point[:-1]
    eta = model.regression.offset + b @ model.regression.columns[single.finder.columns]
    value = model.regression.family.joint(model.regression.y, model.regression.row_weights, eta, point[-1:])[
        0
    ]
    means = dict(zip(model.regression.y, np.exp(eta), strict=True))
    mean = (
        narrow.groupby("level")["y"]
        .transform("mean")
        .map(lambda y: means[min(means, key=lambda m: abs(m - y))])
    )
    want = stats.nbinom.logpmf(narrow["y"], np.exp(t), 1 / (1 + mean / np.exp(t))).sum()
    assert value == pytest.approx(want, rel=1e-12)


def test_predictions_have_the_variance_of_the_family(enumerated, table):
    frame = enumerated.get_prediction(table).summary_frame()
    found = enumerated.predict(table)
    assert np.abs(frame["mean"] / found - 1).max() < 0.1
    inside = (table["y"] >= frame["obs_ci_lower"]) & (table["y"] <= frame["obs_ci_upper"])
    # Of 90 independent intervals of 95 % or more, 14 or more miss their count with a chance below 1e-4.
    assert inside.sum() > N - 14
    poisson = rj.poisson(FORMULA, table, offset="shift").fit(rng=1)
    narrow = poisson.get_prediction(table).summary_frame()
    width = (frame["obs_ci_upper"] - frame["obs_ci_lower"]) / (
        narrow["obs_ci_upper"] - narrow["obs_ci_lower"]
    )
    assert width.mean() > 1.3


def test_the_dispersion_is_tested_if_theta_is_known(table):
    assert rj.negbin(FORMULA, table, theta=1.5).fit(rng=1).dispersion.ratio < 1.5
    assert rj.negbin(FORMULA, table).fit(rng=1).dispersion is None
    with pytest.warns(rj.DispersionWarning, match=r"overdispersed.*Leave out theta"):
        rj.negbin(FORMULA, table, theta=1e3).fit(rng=1)


def test_weights_that_look_like_frequencies():
    """The sum of n counts has n theta, not theta: of 400 equal rows a table of frequencies is no summary."""
    rng = np.random.default_rng(0)
    rows = pd.DataFrame({"a": np.arange(400) % 2})
    rows["y"] = rng.poisson(np.exp(0.3 + 0.5 * rows["a"]) * rng.gamma(1.5, 1 / 1.5, 400))
    counted = rows.groupby(["a", "y"]).size().rename("n").reset_index()
    with pytest.warns(rj.DataWarning, match=r"'weights' of NegbinSelection .*repeat the rows"):
        rj.negbin("y ~ a", counted, weights="n")
    known = rj.negbin("y ~ a", counted, weights="n", theta=1.5).fit(rng=1)
    every_row = rj.negbin("y ~ a", rows, theta=1.5).fit(rng=1)
    np.testing.assert_allclose(known.inclusion["posterior"], every_row.inclusion["posterior"], rtol=1e-9)
    means = rows.groupby(["a", np.arange(400) // 20])["y"].agg(["mean", "size"]).reset_index()
    rj.negbin("mean ~ a", means, weights="size")
    rj.negbin("y ~ a", rows, weights=np.ones(400))
    rj.negbin("y ~ a", rows, weights=np.where(np.arange(400) < 3, 2.0, 1.0))  # whole by chance

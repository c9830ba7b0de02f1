"""Prior and posterior over the number of terms: against enumeration, of samplers, from files, in plots."""

import warnings
from itertools import combinations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

import pyrjsel as rj
from pyrjsel.model_space import enumerate_models, unpack


def frame(n=80, p=5, seed=0):
    rng = np.random.default_rng(seed)
    data = pd.DataFrame(rng.normal(size=(n, p)), columns=[f"v{j}" for j in range(p)])
    data["y"] = data["v0"] + 0.3 * data["v1"] + 0.4 * data["v0"] * data["v1"] + rng.normal(size=n)
    data["low"] = (data["y"] > 0).astype(int)
    return data


def by_hand(model):
    """The prior by number of terms, over all models."""
    gamma = unpack(enumerate_models(model.space), model.space.n_terms)
    weight = np.exp(model.space.log_prior(gamma))
    share = np.bincount(gamma.sum(axis=1), weights=weight) / weight.sum()
    return share


COSTS = {f"v{j}": 1.0 + (j > 2) for j in range(5)}
OPTIONS = (
    {},
    {"heredity": "strong"},
    {"heredity": "weak", "model_prior": rj.TruncatedPoisson(2)},
    {"heredity": "strong", "model_prior": rj.BetaBinomial(by="size")},
    {"heredity": "strong", "costs": COSTS, "budget": 4},
    {"always": "v0", "max_size": 4, "model_prior": rj.Bernoulli(0.3)},
    {"heredity": "strong", "always": "v0", "model_prior": rj.Bernoulli(expected_size=2)},
)


@pytest.mark.parametrize("options", OPTIONS, ids=range(len(OPTIONS)))
def test_prior_sizes_are_exact(options):
    model = rj.linear("y ~ (v0 + v1 + v2 + v3)**2 + v4", frame(), **options)
    table, expected = model.prior_sizes(), by_hand(model)
    assert table.index.name == "size"
    assert (table["mcse"] == 0).all()
    # Sums of up to 2,048 weights, through their logs.
    np.testing.assert_allclose(table["prior"], expected[table.index], rtol=1e-10)
    assert expected[table.index].sum() == pytest.approx(1.0, abs=1e-12)
    # The mean is that of prior inclusion probabilities.
    assert table["prior"] @ table.index == pytest.approx(model.prior_inclusion.expected_size, rel=1e-10)


def test_prior_sizes_of_spaces_that_are_too_large_are_drawn():
    """Main effects that differ in what they let in: 18 of them and 100 random pairs.

    False alarms: the mean size is 40 batches from that of inclusion probabilities, within 6 errors: 1e-6 with
    the tails of Student's t.
    """
    rng = np.random.default_rng(1)
    data = pd.DataFrame(rng.normal(size=(30, 24)), columns=[f"v{j}" for j in range(24)])
    data["y"] = rng.normal(size=30)
    pairs = list(combinations(range(24), 2))
    chosen = [pairs[k] for k in rng.choice(len(pairs), 100, replace=False)]
    formula = "y ~ " + " + ".join([f"v{j}" for j in range(24)] + [f"v{a}:v{b}" for a, b in chosen])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rj.RankWarning)
        model = rj.linear(formula, data, heredity="strong", coef_prior=rj.Normal(1.0))
    table = model.prior_sizes()
    assert model.prior_inclusion.method == "exact"
    assert table["prior"].sum() == pytest.approx(1.0, abs=1e-12)
    assert (table["mcse"] > 0).sum() > 20
    share = model.prior_inclusion.expected_size
    error = np.sqrt((table["prior"] * (table.index - share) ** 2).sum() / 20_000)
    assert abs(table["prior"] @ table.index - share) < 6 * error


def test_after_enumeration_sizes_are_sums_over_models():
    results = rj.linear("y ~ (v0 + v1 + v2)**2", frame(), heredity="strong").fit()
    table = results.sizes
    count = results.posterior.gamma.sum(axis=1)
    for size, row in table.iterrows():
        assert row["posterior"] == pytest.approx(
            results.posterior.probability[count == size].sum(), abs=1e-14
        )
    assert (table["mcse"] == 0).all()
    np.testing.assert_allclose(table["prior"], by_hand(results.model), rtol=1e-10)
    assert f"(prior {table['prior'] @ table.index:.2f})" in str(results.summary())


def test_integrals_have_errors():
    """One model's error is that of its size, where it is the only one of it."""
    results = rj.logit("low ~ v0 + v1", frame()).fit(sampler="enumerate", pairs=200, rng=1)
    count = results.posterior.gamma.sum(axis=1)
    both = int(np.flatnonzero(count == 2)[0])
    assert 0 < results.sizes.loc[2, "mcse"] <= results.posterior.mcse[both] * (1 + 1e-12)


@pytest.mark.parametrize("sampler", ["collapsed", "gibbs", "rjmcmc"])
def test_drawn_sizes_are_those_of_enumeration(sampler):
    """Six Monte Carlo errors of at most six sizes: 1e-8; sizes of 1e-3 may be missed or seen once."""
    model = rj.linear("y ~ v0 + v1 + v2 + v3 + v4", frame())
    exact = model.fit().sizes
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rj.ConvergenceWarning)
        found = model.fit(sampler=sampler, draws=4000, chains=2, rng=3, progress=False).sizes
    pd.testing.assert_series_equal(found["prior"], exact["prior"])
    assert (exact["posterior"] > 0.02).sum() >= 3
    away = (found["posterior"] - exact["posterior"]).abs()
    assert (away <= 6 * found["mcse"].fillna(0) + 1e-3).all()


@pytest.mark.parametrize("with_rows", [True, False])
@pytest.mark.parametrize("sampler", ["enumerate", "collapsed"])
def test_sizes_survive_a_file(tmp_path, sampler, with_rows):
    data = frame()
    data["v5"] = data["v0"] + data["v1"]  # without a g-prior for some models
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rj.RankWarning)
        warnings.simplefilter("ignore", rj.ConvergenceWarning)
        model = rj.linear("y ~ v0 + v1 + v5 + v2 + v0:v2", data, heredity="strong")
        options = {} if sampler == "enumerate" else {"draws": 200, "chains": 2, "progress": False}
        results = model.fit(sampler=sampler, rng=1, **options)
        results.save(tmp_path / "fit.rjs", data=with_rows)
        loaded = rj.load(tmp_path / "fit.rjs")
    pd.testing.assert_frame_equal(loaded.sizes, results.sizes)
    gamma = unpack(enumerate_models(model.space), 5)
    exists = gamma[:, [0, 1, 2]].sum(axis=1) < 3
    weight = np.exp(model.space.log_prior(gamma)) * exists
    expected = np.bincount(gamma.sum(axis=1), weights=weight) / weight.sum()
    np.testing.assert_allclose(results.sizes["prior"], expected[results.sizes.index], rtol=1e-10)


def test_the_plot_shows_the_table():
    results = rj.linear("y ~ (v0 + v1 + v2)**2", frame(), heredity="strong").fit()
    own = Figure().subplots()
    assert results.plot_sizes(ax=own) is own
    table = results.sizes
    seen = [bar.get_height() for bar in own.patches]
    shown = table.loc[(table >= 0.001).any(axis=1)]
    np.testing.assert_allclose(seen, shown["posterior"])
    np.testing.assert_allclose(own.lines[0].get_ydata(), shown["prior"])
    assert [text.get_text() for text in own.get_legend().get_texts()] == ["prior", "posterior ± 2 MCSE"]
    ax = results.plot_sizes()
    assert ax.get_xlabel() == "Number of terms"
    plt.close(ax.figure)
    with pytest.raises(rj.ParameterError, match="'ax'"):
        results.plot_sizes(ax=3)


def test_mixtures_have_prior_sizes():
    rng = np.random.default_rng(0)
    data = pd.DataFrame(rng.normal(size=(40, 3)), columns=["a", "b", "c"])
    data["k"] = rng.choice(["x", "z"], 40)
    table = rj.mixture_classifier("k ~ a + b + c", data, model_prior=rj.Bernoulli(0.5)).prior_sizes()
    np.testing.assert_allclose(table["prior"], [1 / 8, 3 / 8, 3 / 8, 1 / 8], rtol=1e-12)

"""Jointness of pairs of terms, its Monte Carlo errors, and its plot."""

import tracemalloc

import numpy as np
import pytest

from pyrjsel import MixtureClassifier, NotAvailableError, ParameterError, datasets, linear
from pyrjsel.model_space import PackedModels
from pyrjsel.report import MEASURES, jointness_errors, jointness_table, plot_jointness

NAMES = ["a", "b", "c", "d"]
GAMMA = np.array([[1, 1, 0, 0], [1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 0, 0], [1, 0, 1, 0]])
MASS = np.array([0.3, 0.2, 0.1, 0.25, 0.15])


def by_definition(i, j, measure):
    """Return a measure from the probabilities of events, term by term."""
    one, other = GAMMA[:, i] == 1, GAMMA[:, j] == 1
    p = [float(MASS[event].sum()) for event in (one & other, one & ~other, ~one & other, ~one & ~other)]
    a, b, c, d = p
    if measure == "joint":
        return a
    if measure == "ley-steel":
        return a / (a + b + c)
    if measure == "yule":
        return (a * d - b * c) / (a * d + b * c)
    return np.log(a * d) - np.log(b * c) if b * c else np.inf


@pytest.mark.parametrize("measure", MEASURES)
def test_measures_follow_their_definitions(measure):
    table = jointness_table(NAMES, PackedModels.of(GAMMA), MASS, measure)
    np.testing.assert_array_equal(table.to_numpy(), table.to_numpy().T)
    assert table.index.tolist() == table.columns.tolist() == NAMES
    for i, j in ((0, 1), (0, 2)):
        # Sums of five numbers.
        assert table.iloc[i, j] == pytest.approx(by_definition(i, j, measure), rel=1e-13)
    expected = GAMMA.T @ MASS if measure == "joint" else np.full(4, np.nan)
    np.testing.assert_allclose(np.diag(table), expected, rtol=1e-13)
    # Of a term that is in no model nothing is known.
    assert measure in ("joint", "ley-steel") or np.isnan(table.loc["a", "d"])


def test_tables_are_computed_in_parts(monkeypatch):
    """The same to rounding, with little memory besides the table: a whole one of each cell would be more."""
    rng = np.random.default_rng(1)
    gamma = (rng.random((60, 700)) < 0.3).astype(np.uint8)
    names, mass = [f"x{j}" for j in range(700)], rng.dirichlet(np.ones(60))
    tracemalloc.start()
    table = jointness_table(names, PackedModels.of(gamma), mass, "yule").to_numpy()
    monkeypatch.setattr("pyrjsel.report.jointness.NUMBERS", 50 * 700)
    tracemalloc.reset_peak()
    before = tracemalloc.get_traced_memory()[0]
    parts = jointness_table(names, PackedModels.of(gamma), mass, "yule").to_numpy()
    peak = tracemalloc.get_traced_memory()[1] - before
    tracemalloc.stop()
    np.testing.assert_allclose(parts, table, rtol=1e-12, atol=1e-14)
    np.testing.assert_array_equal(parts, parts.T)
    assert peak < 2 * parts.nbytes


@pytest.mark.parametrize("measure", MEASURES)
def test_slopes_are_derivatives(measure):
    cells = [np.array([value]) for value in (0.3, 0.2, 0.1, 0.4)]
    slopes = MEASURES[measure].gradient(tuple(cells))
    for k, slope in enumerate(slopes):
        ends = []
        for step in (-1e-6, 1e-6):
            moved = [cell + step * (k == place) for place, cell in enumerate(cells)]
            ends.append(MEASURES[measure].value(tuple(moved))[0])
        # Central differences are accurate to about 1e-12 of third derivatives of up to 1e3, and rounding.
        assert slope[0] == pytest.approx((ends[1] - ends[0]) / 2e-6, rel=1e-6, abs=1e-8)


@pytest.mark.parametrize("measure", MEASURES)
def test_errors_are_those_of_independent_draws(measure):
    rng = np.random.default_rng(7)
    runs = 200
    index = rng.choice(len(GAMMA), size=(runs, 1, 900), p=MASS)
    models = PackedModels.of(GAMMA)
    pair = ("a", "b")
    values, errors = np.empty(runs), np.empty(runs)
    for run, draws in enumerate(index):
        share = np.bincount(draws[0], minlength=len(GAMMA)) / draws.size
        values[run] = jointness_table(NAMES, models, share, measure).loc[pair]
        errors[run] = jointness_errors(NAMES, models, draws, measure).loc[pair]
    # The standard deviation of 200 values has a relative error of 5 %; fixed seed, five standard errors.
    assert values.std() / np.sqrt(np.mean(errors**2)) == pytest.approx(1.0, abs=0.25)


def test_errors_are_unknown_where_nothing_moves():
    index = np.random.default_rng(1).integers(0, 4, size=(2, 400))
    table = jointness_errors(NAMES, PackedModels.of(GAMMA), index, "yule")
    assert table.loc["a", "b"] > 0
    assert np.isnan(table.loc["a", "d"])
    assert np.isnan(table.loc["a", "c"])  # the only model with c is never visited
    assert np.isnan(np.diag(table)).all()


def test_results_have_jointness(hald_results):
    exact, drawn = hald_results
    assert exact.jointness("joint").loc["x1", "x1"] == pytest.approx(exact.inclusion.loc["x1", "posterior"])
    assert exact.jointness().loc["x2", "x4"] < -0.9
    gap = (drawn.jointness("joint") - exact.jointness("joint")) / drawn.jointness("joint", mcse=True)
    assert np.abs(gap.to_numpy()).max() < 5  # ten errors of a fixed seed; beyond 5 with probability 6e-6
    with pytest.raises(NotAvailableError, match="Enumeration has no draws"):
        exact.jointness(mcse=True)
    with pytest.raises(ParameterError, match="'measure' parameter"):
        exact.jointness("phi")
    with pytest.raises(ParameterError, match="'mcse' parameter"):
        exact.jointness(mcse=1)


@pytest.fixture(scope="module")
def hald_results():
    model = linear("y ~ .", datasets.hald().data)
    return model.fit(), model.fit(sampler="gibbs", draws=2000, rng=1)


@pytest.mark.filterwarnings("ignore::pyrjsel.ConvergenceWarning")
def test_inputs_of_a_mixture_have_jointness():
    rng = np.random.default_rng(3)
    x = rng.standard_normal((60, 4))
    labels = np.where(x[:, 0] + rng.standard_normal(60) > 0, "yes", "no")
    results = MixtureClassifier(labels, x).fit(draws=200, burn_in=100, rng=1)
    shares = np.asarray(results.posterior.packed).T @ results.posterior.probability
    np.testing.assert_allclose(np.diag(results.jointness("joint")), shares, rtol=1e-12)
    assert results.jointness("joint", mcse=True).shape == (4, 4)


def test_plot_shows_uncertain_terms_in_order(hald_results):
    plt = pytest.importorskip("matplotlib.pyplot")
    ax = hald_results[0].plot_jointness("joint", top=3)
    names = [label.get_text() for label in ax.get_yticklabels()]
    assert names == [label.get_text() for label in ax.get_xticklabels()] == ["x2", "x3", "x4"]
    table = hald_results[0].jointness("joint")
    assert ax.texts[1].get_text() == f"{table.loc['x2', 'x3']:.2f}"
    with pytest.raises(ParameterError, match="'top' parameter"):
        hald_results[0].plot_jointness(top=0)
    plt.close("all")


def test_plot_holds_infinite_values():
    plt = pytest.importorskip("matplotlib.pyplot")
    table = jointness_table(NAMES, PackedModels.of(GAMMA), MASS, "doppelhofer-weeks")
    assert np.isinf(table.loc["a", "c"])
    ax = plot_jointness(table, GAMMA.T @ MASS, "doppelhofer-weeks")
    drawn, limit = np.asarray(ax.collections[0].get_array()), ax.collections[0].norm.vmax
    plt.close("all")
    assert np.isfinite(limit)
    assert np.nanmax(drawn) == limit

"""Plots of predictive checks and of sensitivity to priors: what they draw, and what they refuse."""

import numpy as np
import pytest

from pyrjsel._errors import ParameterError
from pyrjsel.report import plot_check, plot_sensitivity
from pyrjsel.report.plots.checks import BARS, bar_edges

plt = pytest.importorskip("matplotlib.pyplot")


@pytest.fixture
def axes():
    figure, ax = plt.subplots()
    yield ax
    plt.close(figure)


def test_few_values_get_a_bar_each():
    values = np.array([3.0, 0.0, 1.0, 1.0, 3.0, 3.0])
    np.testing.assert_allclose(bar_edges(values), [-0.5, 0.5, 2.0, 4.0])
    counts, _ = np.histogram(values, bar_edges(values))
    np.testing.assert_array_equal(counts, [1, 2, 3])


@pytest.mark.parametrize("value", [0.0, 1e-3, -1e6])
def test_one_value_gets_a_bar_with_a_width(value):
    low, high = bar_edges(np.full(5, value))
    assert low < value < high


def test_many_values_share_bars():
    values = np.random.default_rng(1).normal(size=500)
    edges = bar_edges(values)
    assert len(edges) == BARS + 1
    assert edges[0] == values.min()
    assert edges[-1] == values.max()


def test_a_constant_observation_is_a_line(axes):
    plot_check("max", [1.0, 2.0, 2.0], [5.0, 5.0, 5.0], 0.0, ax=axes)
    assert axes.lines[0].get_xdata()[0] == 5.0
    assert axes.get_xlim()[1] > 5.0


def test_dollar_signs_are_no_mathematics(axes):
    plot_check("$_a", [1.0, 2.0], [1.0, 1.5], 0.5, ax=axes)
    axes.figure.canvas.draw()
    plot_sensitivity(["$_b"], [[0.1, 0.2]], ["$_c", "d$"], ax=axes)
    axes.figure.canvas.draw()
    assert axes.get_xticklabels()[0].get_text() == r"\$_c"


@pytest.mark.parametrize(
    ("replicated", "observed", "pattern"),
    [
        ([1.0, np.nan], [1.0, 1.0], "'replicated'.*finite"),
        ([1.0, 2.0], [1.0, np.inf], "'observed'.*finite"),
    ],
)
def test_checks_that_cannot_be_drawn(replicated, observed, pattern):
    with pytest.raises(ParameterError, match=pattern):
        plot_check("a", replicated, observed, 0.5)


def test_long_names_of_priors_are_turned(axes):
    names = [f"Normal(scale={k}.0, standardize=True)" for k in range(3)]
    plot_sensitivity(["a"], [[0.1, 0.2, 0.3]], names, ax=axes)
    assert {label.get_rotation() for label in axes.get_xticklabels()} == {30.0}


def test_more_terms_than_colours_differ(axes):
    shares = np.random.default_rng(2).random((20, 3))
    plot_sensitivity([f"x{k}" for k in range(20)], shares, ["a", "b", "c"], top=20, ax=axes)
    looks = {(line.get_color(), line.get_linestyle()) for line in axes.lines}
    assert len(looks) == 20

"""Plots of series, intervals and frontiers, and draws for ArviZ."""

import numpy as np
import pytest
from matplotlib.figure import Figure

from pyrjsel import ParameterError
from pyrjsel.report import plot_frontier, plot_intervals, plot_lines, to_arviz


def test_lines_with_errors_stand_next_to_each_other():
    series = {"a": ([1, 2], [0.5, 0.4], [0.1, 0.1]), "b": ([1, 2], [0.5, 0.4], [0.1, 0.1])}
    ax = plot_lines(series, ax=Figure().subplots(), xlabel="Order", ylabel="Score")
    assert [bar[0].get_xdata().tolist() for bar in ax.containers] == [[0.96, 1.96], [1.04, 2.04]]
    segments = ax.containers[0][2][0].get_segments()
    assert np.allclose([segment[:, 1] for segment in segments], [[0.3, 0.7], [0.2, 0.6]])
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["a", "b"]


def test_lines_without_errors_stand_where_they_are():
    ax = plot_lines({"a": ([1, 2], [10, 100])}, ax=Figure().subplots(), log=True)
    assert ax.containers[0][0].get_xdata().tolist() == [1, 2]
    assert ax.get_yscale() == "log"
    assert ax.get_legend() is None


def test_intervals():
    ax = plot_intervals(
        ["a", "b"],
        [0, 1],
        [-1, 0.5],
        [1, 200],
        inner=([-0.5, 0.8], [0.5, 2]),
        symlog=True,
        ax=Figure().subplots(),
    )
    wide, narrow = (collection.get_segments() for collection in ax.collections[:2])
    assert [segment[:, 0].tolist() for segment in wide] == [[-1, 1], [0.5, 200]]
    assert [segment[:, 0].tolist() for segment in narrow] == [[-0.5, 0.5], [0.8, 2]]
    assert ax.get_xscale() == "symlog"


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ({"middle": [0, np.nan]}, "middle"),
        ({"lower": [0, np.inf]}, "intervals"),
        ({"inner": ([0, 0], [np.inf, 0])}, "intervals"),
        ({"ax": 3}, "ax"),
    ],
)
def test_errors_of_intervals(changes, name):
    given = {
        "names": ["a", "b"],
        "middle": [0, 1],
        "lower": [-1, 0],
        "upper": [1, 2],
        "ax": Figure().subplots(),
    }
    with pytest.raises(ParameterError, match=f"'{name}'"):
        plot_intervals(**(given | changes))


@pytest.mark.parametrize(
    ("series", "ax"),
    [
        ({"a": ([1], [np.nan])}, None),
        ({}, 3),
    ],
)
def test_errors_of_lines(series, ax):
    with pytest.raises(ParameterError, match="plot_lines"):
        plot_lines(series, ax=Figure().subplots() if ax is None else ax)


def test_arviz_has_groups_dimensions_and_labels():
    draws = np.arange(12.0).reshape(2, 3, 2)
    found = to_arviz(
        {"posterior": {"b": (["term"], draws)}, "observed_data": {"y": (["row"], [0, 1])}},
        {"term": ["x", "z"], "row": ["r", "s"]},
    )
    assert found.posterior["b"].dims == ("chain", "draw", "term")
    assert found.posterior["b"].sel(term="z").to_numpy().tolist() == draws[:, :, 1].tolist()
    assert found.observed_data["y"].sel(row="s") == 1


def test_frontier():
    ax = plot_frontier([0, 1, 4], [9.0, 5.0, 4.0], [1.0, 0.2, 0.5], ax=Figure().subplots(), ylabel="D")
    np.testing.assert_array_equal(ax.collections[0].get_offsets(), [[0, 9], [1, 5], [4, 4]])
    areas = ax.collections[0].get_sizes()
    assert areas[0] > areas[2] > areas[1]
    assert ax.get_ylabel() == "D"


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ({"deviance": [1.0, np.inf]}, "deviance"),
        ({"ax": 3}, "ax"),
    ],
)
def test_errors_of_the_frontier(changes, name):
    given = {"budget": [0, 1], "deviance": [2, 1], "posterior": [1, 1], "ax": Figure().subplots()}
    with pytest.raises(ParameterError, match=f"'{name}' parameter of plot_frontier"):
        plot_frontier(**(given | changes))

"""Plots of curves with bands, and of what goes on from row to row."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.figure import Figure

import pyrjsel as rj
from pyrjsel.report import plot_band, plot_path


@pytest.fixture
def ax():
    return Figure().subplots()


def test_a_path_with_marks_and_a_level(ax):
    shown = plot_path(
        [3.0, 1.0, 2.0], marks=[False, True, False], level=3.0, ax=ax, xlabel="Rows", ylabel="n"
    )
    assert shown is ax
    np.testing.assert_array_equal(ax.lines[0].get_ydata(), [3.0, 3.0])
    np.testing.assert_array_equal(ax.lines[1].get_xydata(), [[1, 3], [2, 1], [3, 2]])
    np.testing.assert_array_equal(ax.collections[0].get_offsets(), [[2, 1]])
    assert (ax.get_xlabel(), ax.get_ylabel(), ax.get_ylim()[0]) == ("Rows", "n", 0.0)


def test_a_curve_with_bands_points_and_ticks(ax):
    plot_band(
        [0.0, 1.0, 2.0],
        [1.0, 2.0, 3.0],
        {"wide": ([0, 1, 2], [2, 3, 4]), "narrow": ([0.5, 1.5, 2.5], [1.5, 2.5, 3.5])},
        points=([0.5, 1.5], [1.0, 2.0]),
        ticks=([0.2, 0.4, 0.6], [0.5, 2.0, 0.0]),
        ax=ax,
        xlabel="x",
        ylabel="y",
    )
    np.testing.assert_array_equal(ax.lines[0].get_xydata(), [[0, 1], [1, 2], [2, 3]])
    wide, narrow, points = ax.collections
    assert (wide.get_label(), narrow.get_label()) == ("wide", "narrow")
    assert wide.get_alpha() < narrow.get_alpha()
    corners = {tuple(corner) for corner in wide.get_paths()[0].vertices}
    assert {(0.0, 0.0), (2.0, 2.0), (2.0, 4.0), (0.0, 2.0)} <= corners
    np.testing.assert_array_equal(points.get_offsets(), [[0.5, 1.0], [1.5, 2.0]])
    assert [(line.get_xdata()[0], line.get_alpha()) for line in ax.lines[1:]] == [
        (0.2, 0.5), (0.4, 1.0), (0.6, 0.0)
    ]  # fmt: skip


def test_new_figures():
    one, two = plot_path([1.0]), plot_band([0, 1], [0, 1], {})
    assert one.figure is not two.figure
    assert two.get_legend() is None
    plt.close("all")


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: plot_path([1.0, np.nan]), "'values'"),
        (lambda: plot_path([1.0], ax="here"), "'ax'"),
        (lambda: plot_band([0.0, 1.0], [1, np.inf], {}), "'curve'"),
        (lambda: plot_band([0.0, 1.0], [1, 2], {"b": ([0, 1], [2, np.nan])}), "bands\\['b'\\]"),
        (lambda: plot_band([0.0, 1.0], [1, 2], {}, points=([0], [np.inf])), "'points'"),
        (lambda: plot_band([0.0, 1.0], [1, 2], {}, ticks=([0], [np.nan])), "'ticks'"),
        (lambda: plot_band([0.0, 1.0], [1, 2], {}, ax=3), "'ax'"),
    ],
)
def test_what_cannot_be_drawn(call, said):
    with pytest.raises(rj.ParameterError, match=said):
        call()
    plt.close("all")

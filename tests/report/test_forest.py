"""The plot of coefficients: that dots and whiskers are the numbers that were given."""

import sys
from itertools import pairwise

import numpy as np
import pytest

from pyrjsel._errors import NotAvailableError, ParameterError
from pyrjsel.report.plots._drawing import BLUE, GREY
from pyrjsel.report.plots.forest import plot_coefficients

matplotlib = pytest.importorskip("matplotlib")
plt = pytest.importorskip("matplotlib.pyplot")

NAMES = ["a", "b", "c"]
NUMBERS = {
    "inclusion": [0.2, 0.9, 0.0],
    "mean": [0.1, -1.0, 0.0],
    "ci_lower": [0.0, -2.0, 0.0],
    "ci_upper": [0.6, 0.0, 0.0],
    "mean_included": [0.5, -1.1, np.nan],
    "sd_included": [0.2, 0.4, np.nan],
}


@pytest.fixture(autouse=True)
def nothing_left_behind():
    """Close figures, and check that no setting was changed for good."""
    before = dict(matplotlib.rcParams)
    yield
    plt.close("all")
    assert dict(matplotlib.rcParams) == before


def draw(names=NAMES, numbers=None, **options):
    return plot_coefficients(names, **{**NUMBERS, **(numbers or {})}, **options)


def marks(ax, label):
    return next(c for c in ax.collections if c.get_label().startswith(label))


def whiskers(ax, colour):
    """Return the ends of the lines of one colour, by row."""
    found = next(
        c
        for c in ax.collections
        if hasattr(c, "get_segments") and matplotlib.colors.to_hex(c.get_color()[0]) == colour.lower()
    )
    return np.array([segment[:, 0] for segment in found.get_segments()])


def test_marks_are_the_numbers():
    ax = draw(sort=False, label="Log odds")
    assert [text.get_text() for text in ax.get_yticklabels()] == NAMES
    assert ax.yaxis_inverted()
    averaged, given = marks(ax, "all models"), marks(ax, "given inclusion")
    np.testing.assert_allclose(averaged.get_offsets(), np.c_[NUMBERS["mean"], range(3)])
    np.testing.assert_allclose(whiskers(ax, BLUE), [[0, 0.6], [-2, 0], [0, 0]])
    # Column c was in no model, and has no mark of this kind.
    np.testing.assert_allclose(np.asarray(given.get_offsets())[:, 0], [0.5, -1.1])
    np.testing.assert_allclose(whiskers(ax, GREY), [[0.1, 0.9], [-1.9, -0.3]])
    assert averaged.get_sizes() == pytest.approx([4 + 0.2 * 36, 4 + 0.9 * 36, 4])
    assert ax.get_xlabel() == "Log odds"
    assert any(np.all(np.asarray(line.get_xdata()) == 0) for line in ax.lines)  # the line at zero


def test_rows_are_sorted_by_inclusion_and_cut():
    assert [text.get_text() for text in draw().get_yticklabels()] == ["b", "a", "c"]
    ax = draw(top=2, sort=False)
    assert [text.get_text() for text in ax.get_yticklabels()] == ["a", "b"]
    assert ax.get_xlabel().endswith("(the 2 most probable of 3 columns)")


@pytest.mark.parametrize("count", [13, 83])
def test_rows_do_not_overlap(count):
    numbers = {name: np.linspace(0.9, 0.1, count) for name in NUMBERS}
    ax = draw([f"column_{k}" for k in range(count)], numbers)
    ax.figure.canvas.draw()
    boxes = [label.get_window_extent() for label in ax.yaxis.get_ticklabels()]
    assert all(a.y0 >= b.y1 for a, b in pairwise(boxes))
    assert all(box.x0 >= 0 for box in boxes)
    legend, label = ax.get_legend().get_window_extent(), ax.xaxis.label.get_window_extent()
    for box in (legend, label):
        assert box.x0 >= 0
        assert box.x1 <= ax.figure.bbox.x1


def test_a_cut_label_fits_the_figure():
    numbers = {name: np.linspace(0.9, 0.1, 83) for name in NUMBERS}
    label = "Coefficient per standard deviation of the column"
    ax = draw([f"column_with_a_name_{k}" for k in range(83)], numbers, top=15, label=label)
    ax.figure.canvas.draw()
    box = ax.xaxis.label.get_window_extent()
    assert 0 <= box.x0 < box.x1 <= ax.figure.bbox.x1


def test_intervals_of_no_width_and_large_numbers():
    numbers = {"mean": [1.0, 1.0, 1.0], "ci_lower": [1.0, -1e300, 1.0], "ci_upper": [1.0, 1e300, 1.0]}
    ax = draw(np.array(NAMES), numbers, sort=False)
    ax.figure.canvas.draw()
    np.testing.assert_array_equal(whiskers(ax, BLUE), [[1, 1], [-1e300, 1e300], [1, 1]])


def test_no_columns():
    ax = draw([], {name: [] for name in NUMBERS})
    ax.figure.canvas.draw()
    assert list(ax.get_yticklabels()) == []


def test_axes_of_the_caller_are_used():
    fig, ax = plt.subplots()
    assert draw(ax=ax) is ax
    assert plt.get_fignums() == [fig.number]


def test_without_matplotlib(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(NotAvailableError, match="matplotlib"):
        draw()


@pytest.mark.parametrize(
    ("numbers", "options", "match"),
    [
        *[
            ({name: [0.1, bad, 0.2]}, {}, f"'{name}' parameter of plot_coefficients.*finite numbers")
            for name in NUMBERS
            if name != "inclusion"
            for bad in (np.inf, 1e308)
        ],
        *[
            ({name: [0.1, np.nan, 0.2]}, {}, f"'{name}'.*finite numbers, none beyond 1e\\+300")
            for name in ("mean", "ci_lower", "ci_upper")
        ],
        ({"mean_included": [np.inf, 0, 0]}, {}, "'mean_included'.*finite numbers or NaN"),
        ({}, {"top": 0}, "'top' parameter of plot_coefficients"),
        ({}, {"sort": "size"}, "'sort' parameter"),
        ({}, {"ax": 3}, "'ax' parameter"),
    ],
)
def test_bad_arguments(numbers, options, match):
    with pytest.raises(ParameterError, match=match):
        draw(numbers=numbers, **options)

"""The plot of traces: that lines, bars and dots are the draws and their shares."""

import sys
from fractions import Fraction

import numpy as np
import pytest

from pyrjsel._errors import DataError, NotAvailableError, ParameterError
from pyrjsel.report.plots.traces import CHAIN_COLOURS, MOST_POINTS, plot_trace

matplotlib = pytest.importorskip("matplotlib")
plt = pytest.importorskip("matplotlib.pyplot")

SIZE = np.array([[2, 2, 3, 5, 3, 2], [2, 3, 3, 3, 3, 2]])
SHARES = {2: (3 / 6, 2 / 6), 3: (2 / 6, 4 / 6), 5: (1 / 6, 0)}  # of chains 0 and 1, counted by hand


@pytest.fixture(autouse=True)
def nothing_left_behind():
    """Close figures, and check that no setting was changed for good."""
    before = dict(matplotlib.rcParams)
    yield
    plt.close("all")
    assert dict(matplotlib.rcParams) == before


def colour(artist):
    return matplotlib.colors.to_hex(artist.get_color(), keep_alpha=False).upper()


def test_lines_are_the_draws():
    axes = plot_trace({"Size": SIZE, "Change": np.diff(SIZE, axis=1)})
    assert axes.shape == (2, 2)
    for ax, values, first in ((axes[0, 0], SIZE, 1), (axes[1, 0], np.diff(SIZE, axis=1), 2)):
        assert len(ax.lines) == 2
        for chain, line in enumerate(ax.lines):
            np.testing.assert_array_equal(line.get_ydata(), values[chain])
            np.testing.assert_array_equal(line.get_xdata(), np.arange(first, 7))
            assert colour(line) == CHAIN_COLOURS[chain].upper()
    assert [ax.get_ylabel() for ax in axes[:, 0]] == ["Size", "Change"]
    assert axes[1, 0].get_xlabel() == "Draw"
    assert axes[1, 1].get_xlabel() == "Share of draws"
    assert [text.get_text() for text in axes[0, 0].get_legend().get_texts()] == ["chain 0", "chain 1"]
    # Differences begin at the second draw, and stand below the draw that they lead to.
    assert axes[0, 0].get_shared_x_axes().joined(axes[0, 0], axes[1, 0])


def test_bars_and_dots_are_the_shares():
    (row,) = plot_trace({"Size": SIZE})
    bars = {bar.get_y() + bar.get_height() / 2: bar.get_width() for bar in row[1].patches}
    assert bars == pytest.approx({value: sum(share) / 2 for value, share in SHARES.items()})
    for chain, dots in enumerate(row[1].collections):
        found = {value: share for share, value in np.asarray(dots.get_offsets())}
        assert found == pytest.approx({value: share[chain] for value, share in SHARES.items()})
    assert len(row[1].collections) == 2
    assert row[0].get_ylim() == row[1].get_ylim()
    low, high = row[1].get_ylim()
    assert low < 2 - 0.4  # a bar is 0.8 high where values are 1 apart
    assert high > 5 + 0.4


def test_histogram_of_many_values():
    rng = np.random.default_rng(1)
    values = rng.normal(size=(3, 900))
    (row,) = plot_trace({"Log posterior": values})
    pooled, *each = row[1].patches
    assert len(each) == 3
    edges = pooled.get_data().edges
    assert edges.size == 31  # bins: the square root of 900
    for chain, outline in enumerate(each):
        expected = np.histogram(values[chain], edges)[0] / 900
        np.testing.assert_allclose(outline.get_data().values, expected, atol=1e-15)
    np.testing.assert_allclose(pooled.get_data().values, np.histogram(values, edges)[0] / 2700, atol=1e-15)
    low, high = row[1].get_ylim()
    assert low < values.min()
    assert high > values.max()


def test_values_on_the_edges_of_bins_count_as_in_numpy():
    values = np.arange(11.0)[None]
    (row,) = plot_trace({"Log posterior": values}, continuous=["Log posterior"])
    found = row[1].patches[0].get_data()
    np.testing.assert_array_equal(found.edges, np.arange(11))
    np.testing.assert_allclose(found.values, np.histogram(values, found.edges)[0] / 11)


def test_continuous_quantities_have_no_bars_even_in_short_runs():
    values = np.array([[0.5, 0.5, 0.7]])
    (row,) = plot_trace({"Log posterior": values}, continuous=["Log posterior"])
    assert [type(patch).__name__ for patch in row[1].patches] == ["StepPatch"]
    (row,) = plot_trace({"Cost": values})
    assert [type(patch).__name__ for patch in row[1].patches] == ["Rectangle"] * 2


def test_costs_that_differ_by_rounding_are_one_value():
    (row,) = plot_trace({"Cost": [[0.1 + 0.2, 0.3, 0.5, 0.3]]})
    assert 0.1 + 0.2 != 0.3
    bars = {round(bar.get_y() + bar.get_height() / 2, 9): bar.get_width() for bar in row[1].patches}
    assert bars == pytest.approx({0.3: 0.75, 0.5: 0.25})


@pytest.mark.parametrize("value", [0.0, -3000.0, 1e16, 1e299, 5e-324])
def test_values_that_differ_by_rounding_alone_are_drawn_as_one(value):
    """A chain that is stuck has one log posterior but for rounding, which leaves no room for bins."""
    values = [[value, np.nextafter(value, np.inf)] * 5]
    for continuous in ([], ["Cost"]):
        (row,) = plot_trace({"Cost": values}, continuous=continuous)
        row[0].figure.canvas.draw()
        low, high = row[1].get_ylim()
        assert low < value < high
        if continuous:
            shares = row[1].patches[0].get_data().values
            assert sorted(shares)[-1] == pytest.approx(1) == sum(shares)
        else:
            assert [bar.get_width() for bar in row[1].patches] == [1.0]


def test_the_largest_values():
    values = np.linspace(-1e300, 1e300, 50)[None]
    (row,) = plot_trace({"Log posterior": values})
    row[0].figure.canvas.draw()
    assert sum(row[1].patches[0].get_data().values) == pytest.approx(1)


def test_numbers_of_other_kinds():
    for values in ([[True, False]], [[Fraction(1), 0]], [[np.float32(1), np.int8(0)]]):
        np.testing.assert_array_equal(plot_trace({"Size": values})[0, 0].lines[0].get_ydata(), [1.0, 0.0])


def test_long_runs_are_thinned_and_say_so():
    rng = np.random.default_rng(2)
    draws = 3 * MOST_POINTS - 10
    values = rng.integers(0, 2, size=(2, draws))
    (row,) = plot_trace({"Size": values})
    line = row[0].lines[1]
    np.testing.assert_array_equal(line.get_ydata(), values[1, ::3])
    np.testing.assert_array_equal(line.get_xdata(), np.arange(1, draws + 1, 3))
    assert row[0].get_xlabel() == "Draw (1 in 3 shown)"
    dots = np.asarray(row[1].collections[1].get_offsets())
    np.testing.assert_allclose(dots[:, 0], [1 - values[1].mean(), values[1].mean()])  # of all draws


def test_one_draw_one_value_one_chain():
    axes = plot_trace({"Size": [[4]], "Terms changed": np.empty((1, 0))})
    np.testing.assert_array_equal(axes[0, 0].lines[0].get_ydata(), [4])
    assert axes[0, 0].lines[0].get_marker() == "."
    assert axes[0, 0].get_ylim() == (3, 5)
    assert axes[0, 0].get_legend() is None
    assert not axes[1, 1].patches
    axes[0, 0].figure.canvas.draw()
    (row,) = plot_trace({"Log posterior": [[-3.0, -3.0]]}, continuous=["Log posterior"])
    assert row[0].get_ylim() == (-4, -2)


def test_many_chains_have_colours_but_no_legend():
    (row,) = plot_trace({"Size": np.arange(24).reshape(12, 2)})
    assert row[0].get_legend() is None
    assert [colour(line) for line in row[0].lines] == [
        CHAIN_COLOURS[chain % len(CHAIN_COLOURS)].upper() for chain in range(12)
    ]


def test_axes_of_the_caller_are_used():
    fig, grid = plt.subplots(2, 2)
    axes = plot_trace({"Size": SIZE, "Change": np.diff(SIZE, axis=1)}, ax=grid)
    for left, right in axes:  # although they are not shared
        assert left.get_ylim() == right.get_ylim()
        assert left.get_xlim() == axes[0, 0].get_xlim()
    assert all(one is other for one, other in zip(axes.flat, grid.flat, strict=True))
    assert plt.get_fignums() == [fig.number]
    assert plot_trace({"Size": SIZE}, ax=[list(grid[0])])[0, 1] is grid[0, 1]


def test_without_matplotlib(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(NotAvailableError, match=r"pip install 'pyrjsel\[plots\]'"):
        plot_trace({"Size": SIZE})


@pytest.mark.parametrize(
    ("call", "kind", "match"),
    [
        (lambda: plot_trace({"a": [[1.0, np.nan]]}), DataError, "'a' of plot_trace must be finite"),
        (lambda: plot_trace({"a": [[-1e308, 1e308]]}), DataError, "'a' of plot_trace.*beyond 1e\\+300"),
        (lambda: plot_trace({"a": [[1.0, np.inf]]}), DataError, "'a' of plot_trace must be finite"),
        (lambda: plot_trace({"a": SIZE}, ax=[1, 2]), ParameterError, r"'ax'.*Axes of shape \(1, 2\)"),
        (lambda: plot_trace({"a": SIZE}, ax=[[1, 2]]), ParameterError, "'ax' parameter of plot_trace"),
    ],
)
def test_bad_arguments(call, kind, match):
    with pytest.raises(kind, match=match):
        call()


# ---------------------------------------------------------------------- colours

# Machado, Oliveira and Fernandes (2009), Table 1, severity 1.0: linear RGB as seen without a kind of cones.
SEEN = {
    "protanopia": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "deuteranopia": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
    "tritanopia": [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.303900],
    ],
    "full sight": np.eye(3),
}
# From linear sRGB to CIE XYZ, each over that of white (IEC 61966-2-1).
XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])


def lab(colours, seen):
    """CIELAB (n, 3) of colours as somebody sees them."""
    values = np.array([matplotlib.colors.to_rgb(colour) for colour in colours])
    linear = np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)
    xyz = np.clip(linear @ np.transpose(seen), 0, 1) @ (XYZ / XYZ.sum(axis=1, keepdims=True)).T
    f = np.where(xyz > (6 / 29) ** 3, np.cbrt(xyz), xyz / (3 * (6 / 29) ** 2) + 4 / 29)
    return np.stack([116 * f[:, 1] - 16, 500 * (f[:, 0] - f[:, 1]), 200 * (f[:, 1] - f[:, 2])], axis=1)


@pytest.mark.parametrize("sight", SEEN)
def test_colours_are_told_apart_by_everybody(sight):
    """Those of chains; classes and lines of other plots take the first of them."""
    values = lab(CHAIN_COLOURS, SEEN[sight])
    apart = np.linalg.norm(values[:, None] - values[None], axis=2) + 1e9 * np.eye(len(values))
    # Two to three is just seen side by side. They are 17 and 14 at least; of other palettes, such as red and
    # green of equal lightness, some are below 5.
    assert apart[:4, :4].min() > 15
    assert apart.min() > 12

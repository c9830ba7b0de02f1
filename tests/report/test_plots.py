"""Plots: what they draw, where, and that they leave matplotlib as it was."""

import sys
from itertools import pairwise

import numpy as np
import pytest

from pyrjsel._errors import NotAvailableError, ParameterError
from pyrjsel.report.plots._drawing import BLUE
from pyrjsel.report.plots.models import plot_inclusion, plot_models

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
plt = pytest.importorskip("matplotlib.pyplot")

NAMES = ["a", "b", "c", "d"]
PRIOR = [0.5, 0.25, 0.5, 0.5]
POSTERIOR = [0.2, 0.9, 0.6, 0.05]
MCSE = [0.01, 0.02, float("nan"), 0.1]


@pytest.fixture(autouse=True)
def nothing_left_behind():
    """Close figures, and check that no setting was changed for good."""
    before = dict(matplotlib.rcParams)
    yield
    plt.close("all")
    assert dict(matplotlib.rcParams) == before


def labels(axis):
    return [label.get_text() for label in axis.get_ticklabels()]


def dots(ax):
    """Return the offsets of the posterior's and of the prior's marks."""
    found = {c.get_label(): np.asarray(c.get_offsets()) for c in ax.collections if c.get_label()[0] != "_"}
    return next(v for k, v in found.items() if k.startswith("posterior")), found["prior"]


def test_inclusion_shows_sorted_terms_with_whiskers():
    ax = plot_inclusion(NAMES, PRIOR, POSTERIOR, MCSE)
    assert labels(ax.yaxis) == ["b", "c", "a", "d"]
    assert ax.yaxis_inverted()
    posterior, prior = dots(ax)
    np.testing.assert_allclose(posterior, np.c_[[0.9, 0.6, 0.2, 0.05], range(4)])
    np.testing.assert_allclose(prior[:, 0], [0.25, 0.5, 0.5, 0.5])
    whiskers = next(
        c
        for c in ax.collections
        if hasattr(c, "get_segments") and matplotlib.colors.to_hex(c.get_color()[0]) == BLUE.lower()
    )
    ends = np.array([segment[:, 0] for segment in whiskers.get_segments()])
    # No whisker for c, whose error is not known; that of d ends at 0.
    np.testing.assert_allclose(ends, [[0.86, 0.94], [0.18, 0.22], [0.0, 0.25]], rtol=1e-12)  # rounding


def test_inclusion_in_order_and_cut_short():
    ax = plot_inclusion(NAMES, PRIOR, POSTERIOR, sort=False, top=3)
    assert labels(ax.yaxis) == ["a", "b", "c"]
    assert "the 3 highest of 4 terms" in ax.get_xlabel()
    assert ax.get_legend().get_texts()[1].get_text() == "posterior"


def test_models_show_mass_and_terms():
    gamma = np.array([[1, 0, 1, 0], [0, 0, 1, 0], [1, 1, 1, 1]])
    ax = plot_models(NAMES, gamma, [0.5, 0.3, 0.01])
    mesh = next(c for c in ax.collections if hasattr(c, "get_coordinates"))
    np.testing.assert_allclose(mesh.get_coordinates()[0, :, 0], [0, 0.5, 0.8, 0.81])
    np.testing.assert_array_equal(np.asarray(mesh.get_array()).reshape(4, 3), gamma.T)
    assert labels(ax.yaxis) == NAMES
    assert "3 models with 0.810 in all" in ax.get_xlabel()
    upper = ax.child_axes[0]
    assert labels(upper.xaxis) == ["1", "2"]  # the third is too narrow for a number
    np.testing.assert_allclose(upper.get_xticks(), [0.25, 0.65])


@pytest.mark.parametrize("count", [13, 83])
def test_rows_do_not_overlap(count):
    names = [f"term_{j}" for j in range(count)]
    share = np.linspace(0.9, 0.1, count)
    axes = [
        plot_inclusion(names, np.full(count, 0.5), share),
        plot_models(names, np.ones((3, count), dtype=np.uint8), [0.5, 0.2, 0.1]),
    ]
    for ax in axes:
        ax.figure.canvas.draw()
        boxes = [label.get_window_extent() for label in ax.yaxis.get_ticklabels()]
        assert all(a.y0 >= b.y1 for a, b in pairwise(boxes))
        assert all(box.x0 >= 0 for box in boxes)


def test_axes_of_the_caller_are_used():
    _, ax = plt.subplots()
    assert plot_inclusion(NAMES, PRIOR, POSTERIOR, ax=ax) is ax
    _, ax = plt.subplots()
    assert plot_models(NAMES, [[1, 0, 0, 0]], [0.5], ax=ax) is ax
    assert len(plt.get_fignums()) == 2


def test_names_are_not_mathematics_and_not_endless():
    ax = plot_inclusion(["x$_1$", "long" * 30], [0.5, 0.5], [0.9, 0.1])
    ax.figure.canvas.draw()
    assert labels(ax.yaxis)[0] == r"x\$_1\$"
    assert len(labels(ax.yaxis)[1]) == 36


def test_without_matplotlib(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(NotAvailableError, match=r"pip install 'pyrjsel\[plots\]'"):
        plot_inclusion(NAMES, PRIOR, POSTERIOR)
    with pytest.raises(NotAvailableError, match="matplotlib"):
        plot_models(NAMES, [[1, 0, 0, 0]], [0.5])


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (lambda: plot_inclusion(NAMES, PRIOR, POSTERIOR, top=0), "'top' parameter"),
        (lambda: plot_inclusion(NAMES, PRIOR, POSTERIOR, sort="yes"), "'sort' parameter"),
    ],
)
def test_bad_arguments(call, match):
    with pytest.raises(ParameterError, match=match):
        call()


@pytest.mark.parametrize("count", [40, 83])
def test_models_of_many_terms_have_rows_of_those_that_are_used(count):
    names = [f"term_{j}" for j in range(count)]
    gamma = np.zeros((3, count), dtype=np.uint8)
    gamma[0, [2, 30]] = gamma[1, [30, 39]] = 1
    ax = plot_models(names, gamma, [0.5, 0.3, 0.01])
    note = "terms in none of them left out"
    shown = [2, 30, 39] if count == 83 else list(range(count))
    assert labels(ax.yaxis) == [names[j] for j in shown]
    np.testing.assert_array_equal(ax.collections[0].get_array().reshape(-1, 3), gamma[:, shown].T)
    assert (f"(80 {note})" in ax.get_xlabel()) == (count == 83)
    assert (note in ax.get_xlabel()) == (count == 83)
    nothing = plot_models(names, np.zeros((1, count)), [0.5])
    assert labels(nothing.yaxis) == names  # not an empty picture

"""The plots of results: that they show what the tables say."""

import warnings

import numpy as np
import pytest

import pyrjsel as rj

matplotlib = pytest.importorskip("matplotlib")
plt = pytest.importorskip("matplotlib.pyplot")


@pytest.fixture(autouse=True)
def figures_are_closed():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def births():
    data = rj.datasets.birthwt().data.drop(columns="bwt")
    return rj.logit("low ~ .", data).fit(rng=1, progress=False)


@pytest.fixture(scope="module")
def pneumonia():
    """A short walk over 83 terms under the budget."""
    cohort = rj.datasets.pneumonia()
    model = rj.logit("mortality ~ .", cohort.data, costs=cohort.costs, budget=10)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rj.ConvergenceWarning)
        return model.fit(draws=60, burn_in=60, chains=2, rng=1, progress=False)


def rows(ax):
    return [label.get_text() for label in ax.get_yticklabels()]


def dots(ax, label):
    """The horizontal places of the marks of a series, by row."""
    marks = next(c for c in ax.collections if c.get_label().startswith(label))
    return np.asarray(marks.get_offsets())[:, 0]


def image(ax):
    """What is drawn, as an array of colours."""
    ax.figure.canvas.draw()
    return np.asarray(ax.figure.canvas.buffer_rgba())


@pytest.mark.parametrize("name", ["births", "pneumonia"])
def test_inclusion(name, request):
    results = request.getfixturevalue(name)
    table = results.inclusion.sort_values("posterior", ascending=False, kind="stable")
    ax = results.plot_inclusion()
    assert rows(ax) == list(table.index)
    np.testing.assert_allclose(dots(ax, "posterior"), table["posterior"])
    np.testing.assert_allclose(dots(ax, "prior"), table["prior"])
    assert image(ax).min() == 0  # black text and lines: something is there
    height, width = ax.figure.get_size_inches()[::-1]
    assert height > 0.13 * len(table)  # rows of text do not overlap
    assert width < 10


def test_inclusion_of_the_best_terms_in_order(pneumonia):
    ax = pneumonia.plot_inclusion(top=12, sort=False)
    best = set(pneumonia.inclusion["posterior"].sort_values(ascending=False, kind="stable").index[:12])
    assert rows(ax) == [name for name in pneumonia.model.term_names if name in best]
    assert "12 highest of 83 terms" in ax.get_xlabel()


@pytest.mark.parametrize("name", ["births", "pneumonia"])
def test_models(name, request):
    results = request.getfixturevalue(name)
    ax = results.plot_models(top=5)
    assert rows(ax) == list(results.model.term_names)
    table = results.models.iloc[:5]
    mesh = next(c for c in ax.collections if type(c).__name__ == "QuadMesh")
    inside = np.asarray(mesh.get_array()).reshape(len(rows(ax)), -1)
    for column, terms in zip(inside.T, table["terms"], strict=True):
        assert [name for name, value in zip(rows(ax), column, strict=True) if value] == list(terms)
    edges = np.asarray(mesh.get_coordinates())[0, :, 0]
    np.testing.assert_allclose(np.diff(edges), table["posterior"], atol=1e-12)  # differences of sums
    assert f"with {table['posterior'].sum():.3f} in all" in ax.get_xlabel()
    assert image(ax).min() == 0


def test_models_are_at_most_those_there_are(births):
    ax = births.plot_models(top=10_000)
    assert f"({len(births.models)} models" in ax.get_xlabel()


def test_given_axes_are_used_and_returned(births):
    fig, (left, right) = plt.subplots(1, 2)
    assert births.plot_inclusion(left, top=3) is left
    assert births.plot_models(ax=right, top=3) is right
    assert plt.get_fignums() == [fig.number]
    assert len(rows(left)) == 3
    assert len(rows(right)) == 8


def test_without_axes_each_plot_has_a_figure(births):
    first, second = births.plot_inclusion(), births.plot_models()
    assert first.figure is not second.figure
    assert len(plt.get_fignums()) == 2


def test_smallest_spaces():
    """No terms, and one that is always in."""
    data = rj.datasets.birthwt().data
    nothing = rj.logit("low ~ 1", data).fit(rng=1, progress=False)
    fixed = rj.logit("low ~ age", data, always="age").fit(rng=1, progress=False)
    for results, names in ((nothing, []), (fixed, ["age"])):
        for ax in (results.plot_inclusion(), results.plot_models()):
            assert rows(ax) == names
            assert image(ax).min() == 0


def test_dollar_signs_are_no_mathematics():
    data = rj.datasets.birthwt().data[["low", "lwt", "age"]].rename(columns={"lwt": "$w_1", "age": "a$"})
    results = rj.logit("low ~ .", data).fit(rng=1, progress=False)
    assert image(results.plot_inclusion()).min() == 0
    assert image(results.plot_models()).min() == 0

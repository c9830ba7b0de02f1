"""The plots of results: that they show what the tables say."""

import warnings

import numpy as np
import pytest

import pyrjsel as rj
from pyrjsel.report import plot_densities

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


@pytest.fixture(scope="module")
def walk():
    """Sampled draws over terms without prices, one of them a factor of two columns."""
    data = rj.datasets.birthwt().data
    model = rj.logit("low ~ race + age + lwt + smoke", data)
    return model.fit(sampler="rjmcmc", draws=700, chains=3, rng=1, progress=False)


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
    table = results.models.iloc[:5]
    used = {term for terms in table["terms"] for term in terms}
    everything = name == "births"  # few enough terms for rows of all of them
    assert rows(ax) == [term for term in results.model.term_names if everything or term in used]
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
        for ax in (results.plot_inclusion(), results.plot_models(), results.plot_coefficients()):
            assert rows(ax) == names
            assert image(ax).min() == 0


def test_dollar_signs_are_no_mathematics():
    data = rj.datasets.birthwt().data[["low", "lwt", "age"]].rename(columns={"lwt": "$w_1", "age": "a$"})
    results = rj.logit("low ~ .", data).fit(rng=1, progress=False)
    assert image(results.plot_inclusion()).min() == 0
    assert image(results.plot_models()).min() == 0
    assert image(results.plot_coefficients()).min() == 0


def whiskers(ax):
    """The ends of the intervals over all models, by row."""
    lines = [c for c in ax.collections if hasattr(c, "get_segments")]
    thickest = max(lines, key=lambda c: c.get_linewidth()[0])
    return np.array([segment[:, 0] for segment in thickest.get_segments()])


def test_coefficients_in_units_of_the_table(walk):
    ax = walk.plot_coefficients(standardize=False, sort=False)
    table = walk.coefficients.drop(index="Intercept")
    assert rows(ax) == list(table.index) == ["race[T.black]", "race[T.other]", "age", "lwt", "smoke"]
    np.testing.assert_allclose(dots(ax, "all models"), table["mean"])
    np.testing.assert_allclose(dots(ax, "given inclusion"), table["mean_included"])
    np.testing.assert_allclose(whiskers(ax), table[["ci_lower", "ci_upper"]])
    assert ax.get_xlabel() == "Coefficient per unit of the column"


@pytest.mark.parametrize("name", ["walk", "births", "pneumonia"])
def test_coefficients_per_standard_deviation(name, request):
    results = request.getfixturevalue(name)
    ax = results.plot_coefficients()
    inclusion = [
        results.inclusion["posterior"][term.name] for term in results.model.design.terms for _ in term.columns
    ]
    order = np.argsort(-np.array(inclusion), kind="stable")
    sd = results.model.data.X.std(axis=0)
    table = results.coefficients.drop(index="Intercept").mul(sd, axis=0).iloc[order]
    assert rows(ax) == list(table.index)
    np.testing.assert_allclose(dots(ax, "all models"), table["mean"], atol=1e-12)
    np.testing.assert_allclose(whiskers(ax), table[["ci_lower", "ci_upper"]], atol=1e-12)
    included = table["mean_included"].dropna()
    np.testing.assert_allclose(dots(ax, "given inclusion"), included, atol=1e-12)
    areas = next(c for c in ax.collections if c.get_label().startswith("all models")).get_sizes()
    assert (np.diff(areas) <= 0).all()  # the more probable the larger
    assert ax.get_xlabel() == "Coefficient per standard deviation of the column"
    assert image(ax).min() == 0


def test_coefficients_of_grouped_rows_are_those_of_single_rows():
    """Standard deviations are weighted: a row with weight 2 counts as two."""
    data = rj.datasets.birthwt().data[["low", "lwt", "age"]].iloc[::3]
    grouped = rj.logit("low ~ lwt + age", data.assign(w=1 + np.arange(63) % 2), weights="w")
    single = rj.logit("low ~ lwt + age", data.loc[data.index.repeat(1 + np.arange(63) % 2)])
    both = [each.fit(rng=1, progress=False).plot_coefficients() for each in (grouped, single)]
    # The same integrals in another order of summation.
    np.testing.assert_allclose(*[dots(ax, "all models") for ax in both], rtol=1e-6)


def test_trace_of_a_priced_model(pneumonia):
    axes = pneumonia.plot_trace()
    draws = pneumonia.draws
    shown = {
        "Size (terms)": draws.size,
        "Cost": draws.cost,
        "Log posterior": draws.log_posterior,
        "Terms changed": (draws.included[:, 1:] != draws.included[:, :-1]).sum(axis=2),
    }
    assert axes.shape == (4, 2)
    assert [ax.get_ylabel() for ax in axes[:, 0]] == list(shown)
    for ax, values in zip(axes[:, 0], shown.values(), strict=True):
        for line, chain in zip(ax.lines, values, strict=True):
            np.testing.assert_array_equal(line.get_ydata(), chain)
            assert line.get_xdata()[-1] == 60
    # Costs are at most the budget, and the shares of all costs are one.
    bars = axes[1, 1].patches
    assert sum(bar.get_width() for bar in bars) == pytest.approx(1)
    found = [bar.get_y() + bar.get_height() / 2 for bar in bars]
    np.testing.assert_allclose(found, np.unique(np.round(draws.cost, 9)))
    assert image(axes[0, 0]).min() == 0


def test_trace_of_a_model_without_prices(walk):
    axes = walk.plot_trace()
    assert [ax.get_ylabel() for ax in axes[:, 0]] == ["Size (terms)", "Log posterior", "Terms changed"]
    assert axes[-1, 0].get_xlabel() == "Draw (1 in 2 shown)"
    np.testing.assert_array_equal(axes[1, 0].lines[2].get_ydata(), walk.draws.log_posterior[2, ::2])
    _, grid = plt.subplots(3, 2)
    assert walk.plot_trace(ax=grid)[2, 1] is grid[2, 1]
    with pytest.raises(rj.ParameterError, match=r"'ax' parameter of plot_trace.*\(3, 2\)"):
        walk.plot_trace(ax=plt.subplots(4, 2)[1])


@pytest.mark.filterwarnings("ignore:The run has:pyrjsel.ConvergenceWarning")
def test_the_log_posterior_is_continuous_in_short_runs_too(walk):
    short = walk.model.fit(sampler="rjmcmc", draws=10, chains=1, rng=1, progress=False)
    axes = short.plot_trace()
    kinds = [{type(patch).__name__ for patch in ax.patches} for ax in axes[:, 1]]
    assert kinds == [{"Rectangle"}, {"StepPatch"}, {"Rectangle"}]


def test_enumeration_has_no_trace(births):
    with pytest.raises(
        rj.NotAvailableError, match=r"Enumeration has no draws.*such as 'collapsed' or 'rjmcmc'"
    ):
        births.plot_trace()
    assert plt.get_fignums() == []


def test_bad_parameters_of_coefficients(births):
    with pytest.raises(rj.ParameterError, match="'standardize' parameter of plot_coefficients"):
        births.plot_coefficients(standardize="yes")
    with pytest.raises(rj.ParameterError, match="'top' parameter of plot_coefficients"):
        births.plot_coefficients(top=0)
    with pytest.raises(rj.ParameterError, match="'ax' parameter of plot_coefficients"):
        births.plot_coefficients(3)


@pytest.mark.parametrize("name", ["births", "walk"])
def test_densities_and_spikes(name, request):
    """Spikes as high as columns are improbable, curves as high as they are probable, over what they are."""
    results = request.getfixturevalue(name)
    axes = results.plot_coefficients(kind="density", standardize=False)
    table = results.coefficients.iloc[1:]
    regression = results.model.regression
    share = dict(
        zip(table.index, np.repeat(results.posterior.inclusion, np.diff(regression.term_start)), strict=True)
    )
    titles = [ax.get_title() for ax in axes]
    assert set(titles) == set(table.index)
    assert [share[title] for title in titles] == sorted(share.values(), reverse=True)
    for ax, title in zip(axes, titles, strict=True):
        spikes = [part for part in ax.collections if hasattr(part, "get_segments")]
        heights = [segment[:, 1].max() for part in spikes for segment in part.get_segments()]
        assert heights == pytest.approx([1 - share[title]] if share[title] < 1 else [])
        x, y = ax.lines[0].get_data()
        if share[title] > 0.05:
            assert y.max() == pytest.approx(share[title])
            # The smallest share is 0.13, of which 520 draws remain or more: the mean has an error of at most
            # 0.044 sd, of which 0.3 is six; leaving out the farthest 1 % of a distribution with tails like
            # these moves it by less than what is left.
            middle, sd = table.loc[title, ["mean_included", "sd_included"]]
            assert np.average(x, weights=y) == pytest.approx(middle, abs=0.3 * sd)
    for one, other in zip(axes, results.plot_coefficients(kind="density"), strict=True):
        # The same curve over coefficients per standard deviation of the column.
        (x, y), (scaled, height) = one.lines[0].get_data(), other.lines[0].get_data()
        column = list(table.index).index(one.get_title())
        np.testing.assert_allclose(scaled, x * regression.scale[column], rtol=1e-9)
        np.testing.assert_allclose(height, y, rtol=1e-6)
    plt.close("all")
    few = results.plot_coefficients(kind="density", top=2)
    assert [ax.get_title() for ax in few] == titles[:2]
    own = plt.subplots(1, 2)[1]
    assert list(results.plot_coefficients(own, kind="density", top=2)) == list(own)


def test_columns_that_are_hardly_ever_drawn_have_no_curve():
    draws = np.zeros((100, 2))
    draws[:60, 0] = np.linspace(1.0, 2.0, 60)
    draws[:40, 1] = np.linspace(1.0, 2.0, 40)
    first, second = plot_densities(["a", "b"], [0.6, 0.4], draws)
    assert len(first.lines[0].get_xdata()) > 0
    assert len(second.lines[0].get_xdata()) == 0


def test_bad_parameters_of_densities(births):
    for given, match in [
        ({"kind": "violin"}, "'kind' parameter of plot_coefficients"),
        ({"ax": plt.figure().subplots(), "top": 2}, "'ax' parameter"),
        ({"top": 0}, "'top' parameter"),
    ]:
        with pytest.raises(rj.ParameterError, match=match):
            births.plot_coefficients(**{"kind": "density", **given})
    with pytest.raises(rj.ParameterError, match="'draws' parameter"):
        plot_densities(["a"], [0.5], [[np.inf]])
    spikes = rj.linear("y ~ x", {"x": [1.0, 2, 3, 5], "y": [1.0, 2, 2, 3]}, coef_prior=rj.SpikeSlab(0.1, 10))
    with pytest.raises(rj.NotAvailableError, match="no coefficient is 0"):
        spikes.fit().plot_coefficients(kind="density")

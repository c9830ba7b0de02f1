"""Results of mixture classifiers: tables, predictions, scores, plots; labels of kernels do not matter."""

import dataclasses
import warnings

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from scipy import stats

import pyrjsel as rj
from pyrjsel.mixture.results import MixtureResults
from pyrjsel.report.plots.traces import CHAIN_COLOURS

mpl.use("Agg")

INCLUSION = [
    "prior",
    "posterior",
    "mcse",
    "ess",
    "r_hat",
    "bayes_factor",
    "cost",
    "columns",
]
QUICK = {"draws": 100, "burn_in": 100, "chains": 2, "rng": 3, "progress": False, "n_jobs": 1}


def fit(model, **changes):
    with warnings.catch_warnings():
        # 100 draws are too few to agree.
        warnings.simplefilter("ignore", rj.ConvergenceWarning)
        return model.fit(**(QUICK | changes))


@pytest.fixture(scope="module")
def pima():
    data = rj.datasets.pima().data
    train, test = (data[data["split"] == part].drop(columns="split") for part in ("train", "test"))
    # Few rows and inputs that are nearly normal, so that some come and go.
    train = train.head(60)
    model = rj.mixture_classifier(
        "type ~ glu + bp + skin + bmi", train, target="joint", always=["glu", "bmi"], max_size=3
    )
    return fit(model), train, test


@pytest.fixture(scope="module")
def three():
    rng = np.random.default_rng(2)
    y = np.arange(60) % 3
    frame = pd.DataFrame({"y": y, "a": rng.standard_normal(60) + 2 * y, "b": rng.standard_normal(60) - y})
    frame.loc[50:, "y"] = None
    return fit(rj.mixture_classifier("y ~ a + b", frame, target="joint")), frame


def permuted(results, rng):
    """The same results, kernels numbered anew in every draw."""
    posterior = results.posterior
    chains, kept, D, _ = posterior.mean.shape
    order = rng.permuted(np.tile(np.arange(D), (chains, kept, 1)), axis=2)
    changed = dataclasses.replace(
        posterior,
        mean=np.take_along_axis(posterior.mean, order[..., None], axis=2),
        variance=np.take_along_axis(posterior.variance, order[..., None], axis=2),
        weight=np.take_along_axis(posterior.weight, order[:, :, None], axis=3),
    )
    return MixtureResults(results.model, changed, results.components)


def test_tables(pima):
    results, *_ = pima
    included = results.draws.included
    assert included.shape == (2, 100, 4)
    table = results.inclusion
    np.testing.assert_allclose(table["posterior"], included.mean(axis=(0, 1)))
    assert list(table.columns) == INCLUSION
    odds = table["posterior"] / (1 - table["posterior"]) / (table["prior"] / (1 - table["prior"]))
    moved = table["bayes_factor"].notna()
    assert moved.any()
    np.testing.assert_allclose(table["bayes_factor"][moved], odds[moved])
    models = results.models
    assert list(models.columns) == ["terms", "size", "cost", "posterior", "mcse", "odds", "odds_mcse"]
    assert results.covered == pytest.approx(models["posterior"].sum())
    best = set(models["terms"].iloc[0])
    names = np.array(results.model.term_names)
    same = (included == np.isin(names, list(best))).all(axis=2)
    assert models["posterior"].iloc[0] == pytest.approx(same.mean())
    assert models["size"].max() <= 3
    assert results.draws.size.max() <= 3
    assert results.draws.occupied.shape == results.draws.log_likelihood.shape == (2, 100)
    assert {"acceptance_add", "ess_size", "r_hat_log_posterior"} <= set(results.diagnostics.columns)


def test_summary(pima, three):
    shown = str(pima[0].summary(top=1))
    for text in ("Mixture classifier", "No (43), Yes (17)", "Largest size:", "Models: the best 1 of 2"):
        assert text in shown
    assert "<table" in three[0].summary().as_html()
    assert "60 (10 without label)" in str(three[0].summary())
    with pytest.raises(rj.ParameterError, match="'top'"):
        pima[0].summary(0)
    assert "best subset" in repr(pima[0])


def by_hand(results, X):
    """Class probabilities of complete rows: the formula, one kernel at a time."""
    posterior, scaling = results.posterior, results.model.scaling
    z = (X - scaling.midpoint) / scaling.spread
    shares = []
    for mean, variance, weight, prior in zip(
        *(
            each.reshape(-1, *each.shape[2:])
            for each in (posterior.mean, posterior.variance, posterior.weight, posterior.prior)
        ),
        strict=True,
    ):
        inside = ~np.isnan(mean[0])
        kernel = np.stack(
            [
                stats.norm.pdf(z[:, inside], m[inside], np.sqrt(v[inside])).prod(axis=1)
                for m, v in zip(mean, variance, strict=True)
            ]
        )
        joint = prior * (weight @ kernel).T
        shares.append(joint / joint.sum(axis=1, keepdims=True))
    return np.mean(shares, axis=0)


def test_predictions(pima):
    results, train, test = pima
    found = results.predict(test)
    assert found.index.equals(test.index)
    assert found.columns.tolist() == ["No", "Yes"]
    np.testing.assert_allclose(
        found, by_hand(results, test[["glu", "bp", "skin", "bmi"]].to_numpy(float)), rtol=1e-9
    )
    shuffled = test.sample(frac=1, random_state=1)[test.columns[::-1]]
    pd.testing.assert_frame_equal(results.predict(shuffled).loc[test.index], found)
    pd.testing.assert_frame_equal(results.predict(), results.predict(train))
    assert ((found["Yes"] > 0.5) == (results.classify(test) == "Yes")).all()


def test_missing_inputs_of_new_rows_are_integrated_out(pima):
    results, _, test = pima
    row = test.head(1)
    # What the class probabilities average to over the density of the input, on a fine grid.
    grid = np.linspace(-300, 500, 40_001)
    posterior = results.posterior
    one = dataclasses.replace(
        posterior,
        **{
            key: getattr(posterior, key)[:1, :1]
            for key in ("mean", "variance", "weight", "prior", "index", "log_posterior")
        },
    )
    single = MixtureResults(results.model, one, results.components)
    chosen = list(results.model.space.terms_of(posterior.models[posterior.index[0, 0]]))
    name = chosen[0]
    many = row.loc[row.index.repeat(len(grid))].assign(**{name: grid})
    density = single.density(many, chosen) * posterior.prior[0, 0]
    share = density.sum() / density.to_numpy().sum()
    gap = single.predict(row.assign(**{name: np.nan}))
    np.testing.assert_allclose(gap.iloc[0], share, rtol=1e-6)


def test_labels_come_back_as_what_they_were(pima, three):
    results, _, test = pima
    found = results.classify(test)
    assert found.dtype == test["type"].dtype
    assert found.index.equals(test.index)
    assert found.name == "type"
    # Whole numbers that have gaps are floats in the data frame.
    assert three[0].classify().dtype == np.int64
    assert set(three[0].classify()) == {0, 1, 2}


def test_nothing_depends_on_how_kernels_are_numbered(pima):
    results, _, test = pima
    other = permuted(results, np.random.default_rng(8))
    assert not np.array_equal(other.posterior.weight, results.posterior.weight)
    np.testing.assert_allclose(other.predict(test), results.predict(test), rtol=1e-12)
    np.testing.assert_allclose(other.density(test, "glu"), results.density(test, "glu"), rtol=1e-12)
    pd.testing.assert_frame_equal(other.inclusion, results.inclusion)
    pd.testing.assert_frame_equal(other.score(test), results.score(test), rtol=1e-12)
    assert str(other.summary()) == str(results.summary())
    rings = [sorted(map(tuple, rings_of(one.plot_components(["glu", "bmi"])))) for one in (results, other)]
    np.testing.assert_allclose(*rings, rtol=1e-12)
    close_all()


def rings_of(ax):
    """Centre, width and height of each ellipse."""
    drawn = ax.collections[0]
    return np.column_stack([drawn.get_offsets(), drawn.get_widths(), drawn.get_heights()])


def close_all():
    mpl.pyplot.close("all")


def test_densities(pima):
    results, _, test = pima
    # Over its range and far beyond, the density of one input integrates to one.
    grid = np.linspace(-300, 600, 3001)
    # bp is selected in some of the draws.
    assert 0 < results.inclusion.loc["bp", "posterior"] < 1
    for name in ("glu", "bp"):
        found = results.density(pd.DataFrame({name: grid}), name)
        np.testing.assert_allclose(np.trapezoid(found, grid, axis=0), 1.0, rtol=1e-3)
    # Two inputs, one of them missing: that of the other in the same draws.
    both = results.density(test, ["glu", "bmi"])
    gap = results.density(test.assign(bmi=np.nan), ["glu", "bmi"])
    assert (both.to_numpy() != gap.to_numpy()).all()
    pd.testing.assert_frame_equal(
        results.density(), results.density(inputs=list(results.models["terms"].iloc[0]))
    )
    with pytest.raises(rj.UnknownNameError, match="'glue'"):
        results.density(test, ["glue"])
    with pytest.raises(rj.ParameterError, match="different names"):
        results.density(test, ["glu", "glu"])
    rarely = rj.mixture_classifier("type ~ glu", test, target="joint", model_prior=rj.Bernoulli(1e-100))
    with pytest.raises(rj.NotAvailableError, match="density needs 'inputs': the best subset has none"):
        fit(rarely, chains=1).density()
    with pytest.raises(rj.NotAvailableError, match="There are none"):
        # A subset has three of them at most.
        results.density(test, list(results.model.term_names))


def test_scores(pima, three):
    results, _, test = pima
    table, probability = results.score(test), results.predict(test)
    true = (test["type"] == "Yes").to_numpy()
    chosen = np.where(true, probability["Yes"], probability["No"])
    assert table.loc["error_rate", "value"] == pytest.approx((chosen < 0.5).mean())
    assert table.loc["log_score", "value"] == pytest.approx(np.log(chosen).mean())
    assert table.loc["log_score", "se"] == pytest.approx(stats.sem(np.log(chosen)))
    assert table.loc["brier", "value"] == pytest.approx(np.mean((probability["Yes"] - true) ** 2))
    pd.testing.assert_frame_equal(table, results.score(test.drop(columns="type"), test["type"]))
    frame = three[1].dropna()
    share = three[0].predict(frame).to_numpy()
    onehot = np.eye(3)[frame["y"].astype(int)]
    assert three[0].score(frame).loc["brier", "value"] == pytest.approx(
        0.5 * ((share - onehot) ** 2).sum(axis=1).mean()
    )
    # Rows without a label cannot be scored, and are not dropped unsaid.
    with pytest.raises(rj.DataError, match="no missing values"):
        three[0].score(three[1])
    pd.testing.assert_frame_equal(three[0].score(), three[0].score(frame))
    with pytest.raises(rj.DataError, match="unseen levels"):
        results.score(test.assign(type="Maybe"))
    with pytest.raises(rj.DataError, match="one row with a label"):
        results.score(test.iloc[:0])
    with pytest.raises(rj.DataError, match="The rows of score are 332"):
        results.score(test, ["Yes"])


def test_calibration(pima, three):
    results, _, test = pima
    table = results.calibration(test, bins=5)
    said = results.predict(test)["Yes"]
    true = test["type"] == "Yes"
    for number, row in table.iterrows():
        inside = (said >= row["lower"]) & (said < row["upper"])
        assert row["rows"] == inside.sum()
        assert number == pytest.approx(5 * row["upper"])
        assert row["predicted"] == pytest.approx(said[inside].mean())
        assert row["observed"] == pytest.approx(true[inside].mean())
        assert row["se"] == pytest.approx(np.sqrt((said * (1 - said))[inside].sum()) / inside.sum())
    other = results.calibration(test, of="No", bins=5)
    np.testing.assert_allclose(other["observed"][::-1], 1 - table["observed"])
    # Of three classes, the most probable: never below a third.
    assert three[0].calibration(bins=3)["lower"].min() >= 1 / 3
    assert three[0].calibration(of=2)["rows"].sum() == 50
    with pytest.raises(rj.UnknownNameError, match="unknown class 'Maybe'"):
        results.calibration(test, of="Maybe")
    with pytest.raises(rj.ParameterError, match="'bins'"):
        results.calibration(test, bins=0)


def test_plots(pima, three):
    results, _, test = pima
    assert results.plot_inclusion().get_xlabel() == "Inclusion probability"
    assert "Cumulative" in results.plot_models(top=3).get_xlabel()
    axes = results.plot_trace()
    assert [ax.get_ylabel() for ax in axes[:, 0]] == ["Size (inputs)", "Log posterior", "Components in use"]
    ax = results.plot_calibration(test)
    assert ax.get_xlabel() == "Predicted probability of Yes"
    assert "most probable class" in three[0].plot_calibration().get_xlabel()
    ax = results.plot_components(["glu", "bmi"], draws=5)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("glu", "bmi")
    assert len(rings_of(ax)) == 5 * 3
    ax = three[0].plot_components()
    assert {text.get_text() for text in ax.get_legend().get_texts()} == {"0", "1", "2", "no label"}
    _, ax = mpl.pyplot.subplots()
    assert three[0].plot_components(ax=ax) is ax
    close_all()


def test_kernels_are_where_they_are(three):
    results = three[0]
    posterior, scaling = results.posterior, results.model.scaling
    ax = results.plot_components(["b", "a"], draws=10_000)
    mean = posterior.mean.reshape(-1, 2)[:, ::-1]
    known = ~np.isnan(mean).any(axis=1)
    unit = scaling.spread[::-1]
    radius = np.sqrt(posterior.variance.reshape(-1, 2)[:, ::-1]) * unit
    rings = np.column_stack([mean * unit + scaling.midpoint[::-1], 2 * radius])[known]
    np.testing.assert_allclose(rings_of(ax), rings)
    share = posterior.weight * posterior.prior[..., None]
    best = np.moveaxis(share, 3, 2).reshape(-1, 3).argmax(axis=1)[known]
    colours = np.array([mpl.colors.to_rgb(colour) for colour in CHAIN_COLOURS[:3]])
    np.testing.assert_allclose(ax.collections[0].get_edgecolors()[:, :3], colours[best])
    close_all()


def test_plots_that_cannot_be_made(pima, three):
    results = pima[0]
    with pytest.raises(rj.ParameterError, match="the names of two inputs"):
        results.plot_components(["glu"])
    with pytest.raises(rj.UnknownNameError, match="'glue'"):
        results.plot_components(["glu", "glue"])
    with pytest.raises(rj.ParameterError, match="'draws'"):
        results.plot_components(draws=0)
    with pytest.raises(rj.ParameterError, match="'ax'"):
        results.plot_components(ax=3)
    alone = fit(rj.mixture_classifier("y ~ a", three[1], target="joint"), draws=20)
    with pytest.raises(rj.ParameterError, match="needs two inputs"):
        alone.plot_components()


def test_costs_have_a_trace(three):
    results = fit(rj.mixture_classifier("y ~ a + b", three[1].dropna(), costs={"a": 1, "b": 2}), draws=30)
    assert [ax.get_ylabel() for ax in results.plot_trace()[:, 0]][1] == "Cost"
    close_all()


def test_arviz(pima):
    pytest.importorskip("arviz")
    results = pima[0]
    found = results.to_arviz()
    np.testing.assert_array_equal(found.posterior["included"].to_numpy(), results.draws.included)
    assert found.posterior["included"].dims == ("chain", "draw", "term")
    assert found.posterior["class_probability"].sel({"class": "Yes"}).shape == (2, 100)
    np.testing.assert_array_equal(found.sample_stats["lp"].to_numpy(), results.draws.log_posterior)
    thinned = dataclasses.replace(
        results.posterior,
        every=3,
        **{
            name: getattr(results.posterior, name)[:, ::3] for name in ("mean", "variance", "weight", "prior")
        },
    )
    other = MixtureResults(results.model, thinned, results.components).to_arviz()
    np.testing.assert_array_equal(other.posterior["size"].to_numpy(), results.draws.size[:, ::3])
    assert other.posterior["class_probability"].shape == (2, 34, 2)


def test_rows_far_away_have_probabilities(three):
    far = pd.DataFrame({"a": [1e300, -1e8], "b": [0.0, 1e250]})
    found = three[0].predict(far)
    np.testing.assert_allclose(found.sum(axis=1), 1.0)
    assert (three[0].density(far).to_numpy() == 0).all()

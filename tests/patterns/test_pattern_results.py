"""Results of pattern models: tables, scores, single coefficients, plots, and what cannot be asked for."""

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from scipy import stats

import pyrjsel as rj
from pyrjsel.patterns.options import SliceOptions
from pyrjsel.patterns.results import PatternResults
from pyrjsel.patterns.sampler import PatternDraws, PatternPosterior, diagnose
from pyrjsel.runtime import FitSettings

mpl.use("Agg")
# Runs are as short as tests want them; that few effective draws are told of is tested beside the samplers.
pytestmark = pytest.mark.filterwarnings("ignore:The run has .* effective draws")


def fit(model, **changes):
    return model.fit(
        **({"draws": 60, "thin": 2, "burn_in": 100, "chains": 2, "rng": 3, "progress": False} | changes)
    )


@pytest.fixture(scope="module")
def births():
    data = rj.datasets.birthwt().data
    return fit(rj.pattern_logit("low ~ interactions(race, smoke, ht, ui, order=3)", data)), data


@pytest.fixture(scope="module")
def text():
    symbols = rj.datasets.english_text().data["symbol"]
    train, test = symbols[:420], symbols[420:720]
    model = rj.PatternLogit.from_sequence(train, order=6)
    return fit(model), rj.histories(test, 6)


def from_prior(model, n_draws, rng):
    """Results whose draws are from the prior, which is the posterior of no data."""
    prior = model.prior
    log_sigma = np.array([prior.sample(rng) for _ in range(n_draws)])
    sigma = np.exp(np.insert(log_sigma, 0, prior.log_sigma_0, axis=1))
    counts = model.compression.counts
    if prior.family == "cauchy":
        s = (sigma @ counts.T) * rng.standard_cauchy((n_draws, counts.shape[0]))
    else:
        s = np.sqrt(sigma**2 @ counts.T) * rng.standard_normal((n_draws, counts.shape[0]))
    draws = PatternDraws(s[None, :, None], log_sigma[None], rng.normal(size=(1, n_draws)))
    settings = FitSettings.check(
        draws=n_draws, burn_in=0, thin=1, chains=1, rng=1, n_jobs=None, progress=None
    )
    return PatternResults(
        model, PatternPosterior("slice", draws, diagnose(draws), [0.0], settings, [], SliceOptions(), None)
    ), sigma


def test_tables(births):
    results, _ = births
    model = results.model
    assert results.sigma.index.tolist() == [0, 1, 2, 3]
    assert results.sigma.loc[0, "median"] == pytest.approx(np.exp(0.5))
    sigma = np.exp(results.draws.log_sigma)
    assert results.sigma["median"].to_numpy()[1:] == pytest.approx(np.median(sigma, axis=(0, 1)))
    assert results.sigma["r_hat"].to_numpy()[1:] == pytest.approx(results.diagnostics["r_hat"].to_numpy()[:3])
    assert results.n_groups == model.n_groups == len(results.groups)
    assert results.compression.loc[3, ["groups", "patterns"]].tolist() == [model.n_groups, model.n_patterns]
    table = results.coefficients
    assert table.index.names == ["group", "class"]
    assert table.loc[(4, 1), "median"] == pytest.approx(np.median(results.draws.s[:, :, 0, 4]))
    assert table.loc[(4, 1), "pattern"] == results.groups.loc[4, "pattern"]


def test_compression_is_that_of_models_of_each_order(births, text):
    for results, data in ((births[0], births[1]), (text[0], None)):
        for order in range(1, results.model.order + 1):
            if data is not None:
                model = rj.pattern_logit(f"low ~ interactions(race, smoke, ht, ui, order={order})", data)
            else:
                codes = results.model.features.codes
                model = rj.PatternLogit(results.model.y, codes, kind="sequence", order=order)
            row = results.compression.loc[order]
            assert (row["groups"], row["patterns"]) == (model.n_groups, model.n_patterns)


def test_summary(births, text):
    shown = str(births[0].summary(top=3))
    assert "Groups / patterns" in shown
    assert "(default)" in shown
    assert "with the largest medians" in shown
    assert "Coefficients are log odds of 1; those of 0 are 0." in shown
    assert "order 6" in str(text[0].summary())
    assert "<table" in text[0].summary().as_html()


def test_predictions(births):
    results, data = births
    shuffled = data.sample(frac=1, random_state=1)
    found, fitted = results.predict(shuffled), results.predict()
    assert found.columns.tolist() == [0, 1]
    # Cases of the fit express their groups whole: nothing is drawn.
    pd.testing.assert_frame_equal(found.loc[data.index], fitted, rtol=1e-12)
    assert (results.classify(data) == (fitted[1] > 0.5).astype(int)).all()
    pd.testing.assert_frame_equal(results.predict(data.head(), draws=3), fitted.head(), rtol=1e-12)


def test_rows_with_missing_values_have_no_prediction(births):
    """The others have theirs; a score of such rows would be one of other rows than were given."""
    results, data = births
    new = data.head(4).astype({"ht": float})
    new.loc[1, "ht"] = np.nan
    found = results.predict(new)
    assert found.isna().all(axis=1).tolist() == [False, True, False, False]
    pd.testing.assert_frame_equal(found.drop(index=1), results.predict(data.head(4)).drop(index=1))
    classes = results.classify(new)
    assert classes.isna().tolist() == [False, True, False, False]
    assert (classes.drop(1) == results.classify(data.head(4)).drop(1)).all()
    with pytest.raises(rj.DataError, match=r"data of score must have no missing values\. Got some in 1 row"):
        results.score(new)


def test_predictions_average_over_splits(text):
    results, new = text
    one, many = results.predict(new), results.predict(new, draws=20)
    assert one.shape == (294, 3)
    assert one.to_numpy().sum(axis=1) == pytest.approx(np.ones(294))
    pd.testing.assert_frame_equal(one, results.predict(new))
    # 120 draws of probabilities, of which only parts are noise: six errors are below .3.
    assert 0 < np.abs(one - many).to_numpy().max() < 0.3


def test_missing_values_as_levels():
    """A missing value is what a level of text that sorts after the others is: the same draws."""
    data = rj.datasets.birthwt().data[["low", "race", "smoke"]]
    holes = data.assign(
        race=data["race"].astype(object).mask(data.index % 5 == 0), smoke=data["smoke"].astype(str)
    )
    filled = holes.assign(race=holes["race"].fillna("~"))
    formula = "low ~ interactions(race, smoke)"
    results, other = (
        fit(rj.pattern_logit(formula, frame, missing=missing), draws=20, thin=1)
        for frame, missing in ((holes, "level"), (filled, "raise"))
    )
    np.testing.assert_array_equal(results.draws.s, other.draws.s)
    new = pd.DataFrame({"race": ["white", None, None], "smoke": ["1", "0", "1"]})
    pd.testing.assert_frame_equal(results.predict(new), other.predict(new.fillna("~")))
    pd.testing.assert_frame_equal(results.score(holes), other.score(filled))
    for gap in (None, np.nan, pd.NA):
        found = results.expand({"race": gap, "smoke": "1"})
        pd.testing.assert_frame_equal(found, other.expand({"race": "~", "smoke": "1"}))
    count = holes["race"].isna().sum()
    assert f"Missing values are a level of their own (observations by feature: race {count})." in str(
        results.summary()
    )
    # No row of the fit lacks smoke.
    unseen = new.assign(smoke=None)
    with pytest.raises(rj.DataError, match="missing values of the term 'smoke' in 3 rows"):
        results.predict(unseen)
    pd.testing.assert_frame_equal(
        results.predict(unseen, unseen="prior"),
        other.predict(new.fillna("~").assign(smoke="?"), unseen="prior"),
    )
    with pytest.raises(rj.UnknownNameError, match="unknown level None"):
        results.expand({"smoke": None})


def test_scores(births, text):
    results, data = births
    table, probability = results.score(data), results.predict(data).to_numpy()
    chosen = probability[np.arange(len(data)), data["low"]]
    assert table.loc["log_score", "value"] == pytest.approx(np.log(chosen).mean())
    assert table.loc["error_rate", "value"] == pytest.approx((chosen < 0.5).mean())
    assert table.loc["log_score", "se"] == pytest.approx(stats.sem(np.log(chosen)))
    assert table["rows"].tolist() == [len(data)] * 2
    pd.testing.assert_frame_equal(table, results.score(data.drop(columns="low"), data["low"]))
    pd.testing.assert_frame_equal(table, results.score(), rtol=1e-12)
    # The shares of the three classes alone lose 1.05, which the order of letters is known to better.
    assert text[0].score(text[1]).loc["log_score", "value"] > -0.95


@pytest.mark.parametrize("response", ["ftv > 0", "C(low)", "C(low, levels=[1, 0])"])
def test_scores_of_classes_of_a_computed_response(response, births):
    _, data = births
    results = fit(rj.pattern_logit(f"{response} ~ interactions(race, smoke)", data))
    true = data["ftv"] > 0 if response.startswith("ftv") else data["low"]
    pd.testing.assert_frame_equal(results.score(data), results.score(data[["race", "smoke"]], true))
    with pytest.raises(rj.DataError, match=r"unseen levels|must hold 0 and 1"):
        results.score(data[["race", "smoke"]], true.astype(int) + 2)


@pytest.mark.parametrize("prior", ["cauchy", "gaussian"])
@pytest.mark.parametrize("kind", ["interactions", "sequence"])
def test_expanded_coefficients_have_their_prior_where_there_are_no_data(kind, prior):
    rng = np.random.default_rng(5)
    codes = rng.integers(0, 2, size=(10, 4))
    codes[:, 1] = codes[:, 2]
    model = rj.PatternLogit([0, 1] * 5, codes, kind=kind, order=3, prior=prior, sigma_0=1.0)
    results, sigma = from_prior(model, 20_000, rng)
    names = model.features.names
    # A group's only pattern, one of several in a group, and one that no case has.
    patterns = [{}, {names[3]: 0}, {names[2]: 1, names[3]: 0}, dict(zip(names[1:], (0, 1, 1), strict=True))]
    law = stats.cauchy if prior == "cauchy" else stats.norm
    for pattern in patterns:
        values = results.expand(pattern)
        assert values.shape == (20_000, 1)
        # 4 x 4 tests of level 1e-7.
        level = law.cdf(values[1].to_numpy() / sigma[:, len(pattern)])
        assert stats.kstest(level, "uniform").pvalue > 1e-7
    # Alone in its group, a coefficient is the sum.
    assert results.expand({})[1].to_numpy() == pytest.approx(results.draws.s[0, :, 0, 0])


def test_expanded_coefficients_follow_their_sum(births):
    results, _ = births
    groups = results.model.compression
    several = int(np.flatnonzero((groups.counts.sum(axis=1) > 1) & (groups.counts[:, 2] > 0))[0])
    fixed = np.flatnonzero(groups.shortest[several] >= 0)
    features = results.model.features
    pattern = {features.names[j]: features.levels[j][groups.shortest[several, j]] for j in fixed}
    part, whole = results.expand(pattern)[1].to_numpy(), results.draws.s[:, :, 0, several].ravel()
    # Spearman's rho of independent draws has an error of 1/sqrt(120); 5 of them.
    assert stats.spearmanr(part, whole).statistic > 5 / np.sqrt(120)


def test_patterns_of_sequences_are_their_last_symbols(text):
    results, _ = text
    names = results.model.features.names
    one = results.expand([1, 2])
    pd.testing.assert_frame_equal(one, results.expand({names[-2]: 1, names[-1]: 2}))
    assert one.columns.tolist() == list(results.model.classes)
    assert one.index.names == ["chain", "draw"]
    letters = rj.PatternLogit.from_sequence("abracadabra" * 4, order=3)
    assert fit(letters).expand("br").shape == (120, 5)


def test_arviz(births):
    arviz = pytest.importorskip("arviz")
    found = births[0].to_arviz()
    assert found.posterior["sigma"].dims == ("chain", "draw", "order")
    assert found.posterior["s"].shape == births[0].draws.s.shape
    assert found.observed_data["low"].size == 189
    assert len(arviz.summary(found, var_names=["sigma"])) == 3


def test_plots(births, text):
    import matplotlib.pyplot as plt

    results, data = births
    ax = results.plot_compression()
    assert ax.get_yscale() == "log"
    assert results.plot_coefficients(top=5).get_xscale() == "symlog"
    assert results.plot_trace().shape == (4, 2)
    assert results.plot_trace(orders=[2]).shape == (2, 2)
    other = fit(rj.pattern_logit("low ~ interactions(race, smoke, ht, ui, order=1)", data, prior="gaussian"))
    again = fit(rj.pattern_logit("low ~ interactions(race, smoke, ht, ui, order=2)", data))
    ax = results.plot_scores(data, [again, other], measure="error_rate")
    assert ax.get_ylabel() == "Error rate"
    # Bars of the two priors stand next to each other.
    lines = {bar.get_label(): bar[0].get_xdata().tolist() for bar in ax.containers}
    assert lines == {"Cauchy": [1.96, 2.96], "Gaussian": [1.04]}
    assert other.plot_coefficients().get_xscale() == "linear"
    assert "→" in text[0].plot_coefficients(top=3).get_yticklabels()[0].get_text()
    plt.close("all")


def test_errors(births, text):
    results, data = births
    with pytest.raises(rj.DataError, match="unseen"):
        results.predict(data.head().assign(race="other kind"))
    assert results.predict(data.head().assign(race="other kind"), unseen="prior").notna().all().all()
    with pytest.raises(rj.UnknownNameError, match="smoke"):
        results.predict(data[["race"]])
    with pytest.raises(rj.ParameterError, match="'draws' parameter of predict"):
        results.predict(data, draws=0)
    with pytest.raises(rj.ParameterError, match="'unseen'"):
        results.predict(data, unseen="drop")
    with pytest.raises(rj.DataError, match="true classes 3"):
        results.score(data.head(), [0, 1, 0])
    with pytest.raises(rj.UnknownNameError, match="low"):
        results.score(data.drop(columns="low"))
    with pytest.raises(rj.DataError, match="one row"):
        results.score(data.iloc[:0])
    with pytest.raises(rj.UnknownNameError, match="age"):
        results.expand({"age": 3})
    with pytest.raises(rj.UnknownNameError, match="'blue'"):
        results.expand({"race": "blue"})
    with pytest.raises(rj.ParameterError, match="order 3 at most"):
        results.expand({"race": "white", "smoke": 0, "ht": 0, "ui": 0})
    with pytest.raises(rj.ParameterError, match="a mapping"):
        results.expand("ab")
    with pytest.raises(rj.ParameterError, match="without a gap"):
        text[0].expand({"x3": 1})
    with pytest.raises(rj.ParameterError, match="at most 6 symbols"):
        text[0].expand([1] * 7)
    with pytest.raises(rj.ParameterError, match="'measure'"):
        results.plot_scores(data, measure="loss")
    with pytest.raises(rj.ParameterError, match="must differ"):
        results.plot_scores(data, [results])
    with pytest.raises(rj.ParameterError, match="'others'"):
        results.plot_scores(data, [1])
    with pytest.raises(rj.ParameterError, match="'orders'"):
        results.plot_trace(orders=[9])
    with pytest.raises(rj.ParameterError, match="'top'"):
        results.summary(top=0)

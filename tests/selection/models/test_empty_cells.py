"""Interactions with empty cells: columns that terms do without, under priors of the columns' span."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest

import pyrjsel as rj

LEFT_OUT = r"The column 'g\[T.g3\]:h\[T.h2\]' of g:h is left out"
NO_PREDICTION = r"1 row given to predict has no prediction .*: it differs .* cell: 'g\[T"


def frame(empty=("g3", "h2"), n=200):
    rng = np.random.default_rng(37)
    g, h = np.array(["g1", "g2", "g3"])[rng.integers(0, 3, n)], np.array(["h1", "h2"])[rng.integers(0, 2, n)]
    made = pd.DataFrame({"g": g, "h": h})[~((g == empty[0]) & (h == empty[1]))].reset_index(drop=True)
    made["y"] = np.where((made.g == "g2") & (made.h == "h2"), 3.0, 0) + rng.normal(size=len(made))
    made["b"] = (made.y > 1).astype(int)
    made["c"] = rng.poisson(np.exp(made.y.clip(-2, 3) / 2))
    made["t"] = np.exp(made.y / 3)
    made["k"] = np.array(["u", "v", "w"])[np.digitize(made.y, [0, 2])]
    made["cell"] = made.g + made.h
    return made


FRAME = frame()
CASES = {
    "linear": (rj.linear, "y", {}),
    "BIC": (rj.linear, "y", {"coef_prior": rj.BIC()}),
    "Zellner-Siow": (rj.linear, "y", {"coef_prior": rj.ZellnerSiow()}),
    "student": (rj.linear, "y", {"errors": "student"}),
    "logit": (rj.logit, "b", {"coef_prior": rj.HyperG(4)}),
    "poisson": (rj.poisson, "c", {}),
    "gamma": (rj.gamma, "t", {}),
    "cox": (rj.cox, "t", {"event": None}),
    "AIC": (rj.poisson, "c", {"coef_prior": rj.AIC()}),
}


def evidence(make, formula, always, options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit = make(formula, FRAME, always=always, **options).fit(sampler="enumerate", rng=1)
    return fit.models["log_marginal"].iloc[0]


@pytest.mark.parametrize("case", CASES)
def test_the_interaction_is_the_observed_cells(case):
    """The five observed cells span what g*h does, so that models of either are the same."""
    make, response, options = CASES[case]
    cells = evidence(make, f"{response} ~ cell", ["cell"], options)
    with pytest.warns(rj.RankWarning, match=LEFT_OUT):
        model = make(f"{response} ~ g * h", FRAME, always=["g", "h", "g:h"], **options)
    assert model.design.terms[2].columns == ("g[T.g2]:h[T.h2]",)
    both = evidence(make, f"{response} ~ g * h", ["g", "h", "g:h"], options)
    # Integrals of other than linear models have errors of some .003 (of the same order as in `integration`).
    exact = (make is rj.linear and "errors" not in options) or isinstance(options.get("coef_prior"), rj.AIC)
    assert both == pytest.approx(cells, abs=1e-8 if exact else 0.02)


def test_the_cells_have_nearly_all_of_the_posterior():
    """The log Bayes factor of five cells against g + h is 23.3 (from R^2 and the formula of the g-prior)."""
    difference = evidence(rj.linear, "y ~ cell", ["cell"], {}) - evidence(
        rj.linear, "y ~ g + h", ["g", "h"], {}
    )
    assert difference == pytest.approx(23.32, abs=0.01)
    with pytest.warns(rj.RankWarning, match=LEFT_OUT) as caught:
        fit = rj.linear("y ~ g * h", FRAME).fit(rng=1)
    assert len(caught) == 1
    assert fit.inclusion.loc["g:h", "posterior"] > 0.999
    assert np.isfinite(fit.models["log_marginal"]).all()


@pytest.mark.parametrize("prior", [rj.Normal(1), rj.SpikeSlab(0.1, 10)], ids=repr)
def test_normal_priors_keep_all_columns(prior):
    with warnings.catch_warnings():
        warnings.simplefilter("error", rj.RankWarning)
        model = rj.linear("y ~ g * h", FRAME, coef_prior=prior)
    assert len(model.design.terms[2].columns) == 2


CELLS = pd.DataFrame([(g, h) for g in ("g1", "g2", "g3") for h in ("h1", "h2")], columns=["g", "h"])


@pytest.mark.parametrize("empty", [("g3", "h2"), ("g1", "h1"), ("g1", "h2"), ("g2", "h1")])
@pytest.mark.filterwarnings("ignore:The column:pyrjsel.RankWarning")
def test_only_the_empty_cell_has_no_prediction(empty, tmp_path):
    data = frame(empty)
    gone = ((CELLS.g == empty[0]) & (CELLS.h == empty[1])).to_numpy()
    fit = rj.linear("y ~ g * h", data, always=["g", "h", "g:h"]).fit(rng=1)
    fit.save(tmp_path / "whole", data=True)
    fit.save(tmp_path / "short")
    chunks = rj.linear("y ~ g * h", [data.iloc[:80], data.iloc[80:]], always=["g", "h", "g:h"]).fit(rng=1)
    means = data.groupby(["g", "h"])["y"].mean()
    shrunk = [
        data.y.mean() + len(data) / (len(data) + 1) * (means[g, h] - data.y.mean())
        for g, h in CELLS[~gone].itertuples(index=False)
    ]
    for each in (
        fit,
        chunks,
        rj.load(tmp_path / "whole"),
        rj.load(tmp_path / "short"),
        rj.load(tmp_path / "short", data=data),
        pickle.loads(pickle.dumps(fit)),
    ):
        with pytest.warns(rj.ExtrapolationWarning, match=NO_PREDICTION):
            found = each.predict(CELLS).to_numpy()
        np.testing.assert_array_equal(np.isnan(found), gone)
        # Under a g-prior with g = n the mean of each cell, shrunk towards that of all rows.
        np.testing.assert_allclose(found[~gone], shrunk, rtol=1e-9)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fit.predict(CELLS[~gone])


@pytest.mark.filterwarnings("ignore:The column:pyrjsel.RankWarning")
def test_part_of_the_terms_keeps_what_it_knows():
    model = rj.linear("y ~ g * h", FRAME)
    one = model.design.restrict(["g:h"])
    assert one.column_names == ("g[T.g2]:h[T.h2]",)
    with pytest.warns(rj.ExtrapolationWarning):
        x = one.transform(CELLS).X[:, 0]
    np.testing.assert_array_equal(x, [0, 0, 0, 1, 0, np.nan])
    alias = rj.linear("y ~ g * h", frame(("g1", "h1"))).design.restrict(["g:h"])
    np.testing.assert_array_equal(alias.transform(CELLS).X[:, 0], [0, 0, 0, 1, 0, 0])


def test_folds_leave_out_rows_that_others_do_not_know():
    data = frame()
    data.loc[0, "g"] = "rare"
    fold = np.arange(len(data)) % 4
    with pytest.warns() as caught:
        cv = rj.linear("y ~ g * h", data).cross_validate(fold, rng=1)
    texts = [str(each.message) for each in caught]
    assert any(text.startswith("Fold 0: The column 'g[T.rare]' of g is left out") for text in texts)
    assert any(text.startswith(f"1 of {len(data)} rows have no held-out prediction") for text in texts)
    assert cv.log_density.isna().to_numpy().nonzero()[0].tolist() == [0, 0, 0]
    assert cv.folds["rows"].sum() == 3 * (len(data) - 1)
    scored = cv.log_density.iloc[1:]
    np.testing.assert_allclose(cv.scores["log_score"], scored.mean(), rtol=1e-12)
    gap = (cv.predicted["bma"] - data["y"]).iloc[1:]
    assert cv.scores.loc["bma", "rmse"] == pytest.approx(np.sqrt(np.mean(gap**2)), rel=1e-12)


@pytest.mark.filterwarnings("ignore:The column:pyrjsel.RankWarning")
def test_a_level_with_few_rows_moves_no_other_term():
    """A row in a level of its own: the interaction stays, and x hardly moves."""
    rng = np.random.default_rng(2)
    data = frame(n=120).assign(x=lambda d: rng.normal(size=len(d)))
    plain = rj.linear("y ~ g * h + x", data, always=["g", "h"], model_prior=rj.Uniform()).fit(rng=1)
    data.loc[data.index[-1], "g"] = "g4"
    with pytest.warns(
        rj.RankWarning, match=r"'g\[T.g3\]:h\[T.h2\]', 'g\[T.g4\]:h\[T.h2\]' of g:h are left out"
    ):
        model = rj.linear("y ~ g * h + x", data, always=["g", "h"], model_prior=rj.Uniform())
    rare = model.fit(rng=1)
    assert model.design.terms[-1].columns == ("g[T.g2]:h[T.h2]",)
    # One row less is left for the variance and for x, of 100.
    moved = rare.inclusion["posterior"] - plain.inclusion["posterior"]
    assert moved.abs().max() < 0.05
    assert plain.inclusion.loc["g:h", "posterior"] > 0.99


def test_weights_of_zero_count_as_no_rows():
    data = frame(("none", "none"))
    data["w"] = np.where((data.g == "g3") & (data.h == "h2"), 0.0, 1.0)
    with pytest.warns(rj.RankWarning, match=LEFT_OUT):
        fit = rj.linear("y ~ g * h", data, weights="w").fit(rng=1)
    assert fit.inclusion.loc["g:h", "posterior"] > 0.999


def test_a_term_without_any_column_keeps_its_warning():
    """Two levels by two with an empty cell leave nothing of the interaction."""
    data = FRAME[FRAME.g != "g2"]
    with pytest.warns(rj.RankWarning, match="posterior probability 0"):
        fit = rj.linear("y ~ g * h", data).fit(rng=1)
    assert fit.inclusion.loc["g:h", "posterior"] == 0


@pytest.mark.filterwarnings("ignore:The column:pyrjsel.RankWarning", "ignore::pyrjsel.SeparationWarning")
def test_scores_of_classes_need_predictions():
    fit = rj.multinomial("k ~ g * h", FRAME, always=["g", "h", "g:h"]).fit(rng=1, draws=100)
    with (
        pytest.warns(rj.ExtrapolationWarning, match="1 row given to score has no prediction"),
        pytest.raises(rj.DataError, match=r"no cell that the fit lacks\. 1 of 6 have none"),
    ):
        fit.score(CELLS.assign(k="u"))


def test_saved_aliases_are_checked():
    with pytest.warns(rj.RankWarning):
        design = rj.linear("y ~ g * h", FRAME).design
    state = design.to_dict()
    again = type(design).from_dict(state)
    assert again.column_names == design.column_names
    good = state["aliases"]
    for bad in (
        {"dropped": [], "combination": good["combination"][:0]},
        {"dropped": [9], "combination": good["combination"]},
        {"dropped": [4.0], "combination": good["combination"]},
        {"dropped": [3, 4], "combination": np.zeros((2, 6))},  # both columns of g:h
        {"dropped": [4], "combination": good["combination"][:, :3]},
        {"dropped": [4]},
    ):
        with pytest.raises(rj.DataError, match="saved design"):
            type(design).from_dict({**state, "aliases": bad})

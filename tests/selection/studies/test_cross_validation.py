"""Held-out predictions: the right densities of the right rows, and their scores."""

import warnings
from dataclasses import replace
from itertools import product

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from scipy.special import expit
from selection_oracle import Problem, Term, lattice, log_likelihood

import pyrjsel as rj
from pyrjsel.runtime import Refits, deal

FORMULA = "low ~ age + lwt + race + smoke"
WHICH = ["bma", "hpm", "mpm"]


@pytest.fixture(scope="module")
def births():
    return rj.datasets.birthwt().data


@pytest.fixture(scope="module")
def model(births):
    return rj.logit(FORMULA, births)


@pytest.fixture(scope="module")
def validated(model):
    return model.cross_validate(4, rng=1, progress=False)


# --- against integration ----------------------------------------------------------------------------

PRIOR = {"kind": "normal", "mean": 0.0, "sd": 1.0, "standardize": False, "intercept": [0.0, 2.0]}
OPTIONS = {"coef_prior": rj.Normal(1.0, intercept=rj.Normal(2.0)), "model_prior": rj.Uniform()}
LABELS = np.arange(18) % 3


def small(family, trials):
    rng = np.random.default_rng(11)
    n = LABELS.size
    frame = pd.DataFrame({"x": rng.normal(size=n), "z": rng.normal(size=n), "o": rng.normal(size=n) / 2})
    frame["w"] = rng.integers(2, 6, n) if trials else 1
    eta = frame["o"] + 0.3 + 0.9 * frame["x"]
    if family == "binomial":
        return frame.assign(y=rng.binomial(frame["w"], expit(eta)) / frame["w"])
    return frame.assign(y=rng.poisson(frame["w"] * np.exp(eta)) / frame["w"])


def oracle(frame, family):
    terms = tuple(Term(name, frame[[name]].to_numpy(), (name,)) for name in "xz")
    y, w, o = (frame[name].to_numpy(float) for name in "ywo")
    return Problem(terms, y, w, o, ("Intercept", "x", "z"), family=family)


def rows_of(problem, rows):
    terms = tuple(replace(term, columns=term.columns[rows]) for term in problem.terms)
    return replace(problem, terms=terms, y=problem.y[rows], w=problem.w[rows], o=problem.o[rows])


def constant(problem, row):
    """What the density of a number of events has beside the log-likelihood."""
    y, w, eta = problem.y[row], problem.w[row], 0.3
    kernel = log_likelihood(rows_of(problem, np.array([row])), np.array([eta]))
    if problem.family == "binomial":
        return stats.binom.logpmf(np.round(w * y), w, expit(eta)) - kernel
    return stats.poisson.logpmf(np.round(w * y), w * np.exp(eta)) - kernel


def held_out(problem, train, row):
    """Densities of a row under each model given other rows, their mean squares, and the models' log mass.

    The expectation of a density is a ratio of marginal likelihoods, with the row and without it; that of
    its square has the row twice.
    """
    values = []
    for name in ("".join(digits) for digits in product("01", repeat=2)):
        parts = [rows_of(problem, np.append(train, np.repeat(row, times))) for times in (0, 1, 2)]
        zero, one, two = (lattice(part, name, PRIOR) for part in parts)
        more = constant(problem, row)
        values.append((np.exp(one - zero + more), np.exp(two - zero + 2 * more), zero))
    return (np.array(value) for value in zip(*values, strict=True))


@pytest.mark.parametrize(("family", "trials"), [("binomial", False), ("binomial", True), ("poisson", True)])
def test_densities(family, trials):
    """Densities of the average and of the best model, at 7 standard errors: false alarms below 1e-9 in all.

    4,000 draws made by resampling are at least 2,000 independent ones' worth; probabilities of models err by
    less than 0.5 %, which moves an average by less than that times its models' largest difference.
    """
    frame = small(family, trials)
    problem = oracle(frame, family)
    make = rj.logit if family == "binomial" else rj.poisson
    weights = {"weights": "w"} if trials else {}
    if not trials:
        frame["y"] = frame["y"].astype(int)
    model = make("y ~ x + z", frame, offset="o", **OPTIONS, **weights)
    found = model.cross_validate(LABELS, rng=1, progress=False)
    for row, label in enumerate(LABELS):
        density, square, mass = held_out(problem, np.flatnonzero(label != LABELS), row)
        p = np.exp(mass - mass.max())
        p /= p.sum()
        mean, best = p @ density, int(np.argmax(p))
        spread = np.sqrt(p @ square - mean**2)
        allowed = 7 * spread / np.sqrt(2000) + 0.005 * np.ptp(density)
        assert abs(np.exp(found.log_density["bma"].iloc[row]) - mean) < allowed
        if np.sort(p)[-1] > 1.05 * np.sort(p)[-2]:
            alone = np.sqrt(square[best] - density[best] ** 2)
            gap = abs(np.exp(found.log_density["hpm"].iloc[row]) - density[best])
            assert gap < 7 * alone / np.sqrt(2000)
    assert found.scores.loc["bma", "log_score"] == pytest.approx(found.log_density["bma"].mean())


def grid_density(frame, train, row, g):
    """The density of a 0/1 response under both models of one column: a g-prior made of the training rows."""
    x, y = frame["x"].to_numpy()[train], frame["y"].to_numpy()[train]
    mean, gram = x.mean(), ((x - x.mean()) ** 2).sum()
    a = np.linspace(-6, 6, 401)[:, None]
    b = np.linspace(-1, 1, 401)[None, :] * 8 * np.sqrt(g / gram)
    step_a, step_b = a[1, 0] - a[0, 0], b[0, 1] - b[0, 0]
    sd_a, sd_b = np.sqrt(g / train.size), np.sqrt(g / gram)

    def joint(slope):
        eta = a[..., None] + slope[..., None] * (x - mean)
        value = np.where(y == 1, -np.logaddexp(0, -eta), -np.logaddexp(0, eta)).sum(axis=-1)
        return np.exp(value + stats.norm.logpdf(a, 0, sd_a))

    with_x = joint(b) * stats.norm.pdf(b, 0, sd_b) * step_b * step_a
    without = joint(np.zeros((1, 1))) * step_a
    p, q = expit(a + b * (frame["x"].iloc[row] - mean)), expit(a)
    total = with_x.sum() + without.sum()
    first = (with_x * p).sum() + (without * q).sum()
    second = (with_x * p**2).sum() + (without * q**2).sum()
    success = first / total
    sd = np.sqrt(second / total - success**2)
    return (success if frame["y"].iloc[row] == 1 else 1 - success), sd


def test_g_prior_is_that_of_the_training_rows():
    """The unequal folds have columns of very different spread; at 7 standard errors, as above."""
    rng = np.random.default_rng(12)
    x = np.concatenate([rng.normal(size=16) * 0.4, 3.0 + rng.normal(size=6)])
    y = np.append((rng.random(16) < expit(x[:16])).astype(int), [0, 1, 1, 0, 1, 1])
    frame = pd.DataFrame({"x": x, "y": y})
    labels = np.repeat(["narrow", "wide"], [16, 6])
    model = rj.logit("y ~ x", frame, coef_prior=rj.GPrior("n"), model_prior=rj.Uniform())
    found = model.cross_validate(labels, which="bma", rng=1, progress=False)
    for row in range(22):
        train = np.flatnonzero(labels != labels[row])
        density, sd = grid_density(frame, train, row, train.size)
        assert abs(np.exp(found.log_density["bma"].iloc[row]) - density) < 7 * sd / np.sqrt(2000) + 0.003


def test_each_row_is_predicted_without_its_fold(births, validated):
    """The same numbers as from a model of the training rows alone, with the stream of its fold."""
    _, *streams = np.random.default_rng(1).spawn(5)  # the first deals the folds
    for label, stream in enumerate(streams, start=1):
        test = validated.fold == label
        alone = rj.logit(FORMULA, births[~test]).fit(rng=stream, progress=False)
        for which in WHICH:
            wanted = alone.predict(births[test], which)
            pd.testing.assert_series_equal(validated.predicted.loc[test, which], wanted, check_names=False)
            y = births.loc[test, "low"]
            density = np.log(np.where(y == 1, wanted, 1 - wanted))
            np.testing.assert_allclose(validated.log_density.loc[test, which], density, rtol=1e-9)


# --- scores -----------------------------------------------------------------------------------------


def test_scores(validated, births):
    density, y = validated.log_density, births["low"]
    scores = validated.scores
    assert list(scores.columns) == ["log_score", "se", "brier"]
    assert list(scores.index) == WHICH
    for which in WHICH:
        row = scores.loc[which]
        assert row["log_score"] == pytest.approx(density[which].mean())
        assert row["se"] == pytest.approx(density[which].sem())
        assert row["brier"] == pytest.approx(((y - validated.predicted[which]) ** 2).mean())


def test_differences_are_paired(validated):
    density, found = validated.log_density, validated.differences
    assert list(found.index) == [("bma", "hpm"), ("bma", "mpm"), ("hpm", "mpm")]
    for (one, two), row in found.iterrows():
        gap = density[one] - density[two]
        assert row["difference"] == pytest.approx(gap.mean(), abs=1e-14)
        assert row["se"] == pytest.approx(gap.sem(), abs=1e-14)
    # Pairs vary much less than rows do.
    assert found.loc[("bma", "hpm"), "se"] < 0.7 * validated.scores.loc["bma", "se"]


def test_folds_add_up(validated):
    found = validated.folds
    assert list(found.index) == list(product([1, 2, 3, 4], WHICH))
    assert (found.groupby("which")["rows"].sum() == 189).all()
    for score in ("log_score", "brier"):
        mean = (found[score] * found["rows"]).groupby("which").sum() / 189
        pd.testing.assert_series_equal(mean, validated.scores[score].sort_index(), check_names=False)


def test_counts_have_a_root_mean_squared_error():
    frame = small("poisson", True)
    model = rj.poisson("y ~ x", frame, weights="w", offset="o")
    found = model.cross_validate(3, which="bma", rng=1, progress=False)
    gap = frame["y"] - found.predicted["bma"]
    assert found.scores.loc["bma", "rmse"] == pytest.approx(np.sqrt(np.average(gap**2, weights=frame["w"])))
    assert "rmse" in found.folds


def test_better_terms_have_a_better_score():
    """A strong effect: the model that may use it predicts better by many standard errors."""
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({"x": rng.normal(size=200), "z": rng.normal(size=200)})
    frame["y"] = (rng.random(200) < expit(2 * frame["x"])).astype(int)
    one = rj.logit("y ~ x", frame).cross_validate(5, which="bma", rng=1, progress=False)
    two = rj.logit("y ~ z", frame).cross_validate(one.fold, which="bma", rng=1, progress=False)
    pd.testing.assert_series_equal(one.fold, two.fold)
    gap = one.log_density["bma"] - two.log_density["bma"]
    assert gap.sum() > 3 * np.sqrt(200) * gap.std()


# --- folds ------------------------------------------------------------------------------------------


def test_folds_of_equal_size_and_alike(validated, births):
    counts = validated.fold.value_counts()
    assert counts.max() - counts.min() <= 1
    events = births.groupby(validated.fold)["low"].sum()
    assert events.max() - events.min() <= 2
    assert validated.fold.name == "fold"
    # Neither sorted rows nor their classes say which fold a row is in.
    assert validated.fold.iloc[:20].nunique() == 4


def test_folds_without_strata(births):
    model = rj.logit("low ~ 1", births)
    events = [
        births.groupby(model.cross_validate(9, stratify=False, rng=seed, progress=False).fold)["low"].sum()
        for seed in (1, 2)
    ]
    assert all(counts.size == 9 for counts in events)
    assert max(counts.max() - counts.min() for counts in events) > 3


def test_continuous_responses_are_dealt_at_random():
    """Every fold gets one of each five neighbours, and which one is chance."""
    y = np.random.default_rng(5).permutation(100) / 7
    fold, other = (deal(y, 5, np.random.default_rng(seed)) for seed in (1, 2))
    for place in np.split(np.argsort(y), 20):
        assert sorted(fold[place]) == [0, 1, 2, 3, 4]
    assert 40 < np.sum(fold != other) < 100  # 80 are expected, with standard deviation 4 or so


def test_same_seed_same_folds(model, validated):
    again = model.cross_validate(4, rng=1, which="hpm", progress=False)
    pd.testing.assert_series_equal(again.fold, validated.fold)
    pd.testing.assert_series_equal(again.log_density["hpm"], validated.log_density["hpm"])
    other = model.cross_validate(4, rng=2, which="hpm", progress=False)
    assert not other.fold.equals(validated.fold)


def test_labels(births):
    """Of rows used or of all rows, in an array or aligned by the index."""
    frame = births.astype({"age": float}).set_axis([f"row{k}" for k in range(189)])
    frame.loc[["row3", "row100"], "age"] = np.nan
    with pytest.warns(rj.MissingDataWarning):
        model = rj.logit("low ~ age", frame)
    labels = pd.Series(np.where(np.arange(189) % 3 == 0, "b", "a"), frame.index)
    used = labels.drop(["row3", "row100"])
    first = model.cross_validate(labels.to_numpy(), rng=1, progress=False)
    assert first.fold.to_dict() == used.to_dict()
    for same in (labels[::-1], used, used.to_numpy(), used.tolist(), used.astype("category")):
        again = model.cross_validate(same, rng=1, progress=False)
        pd.testing.assert_frame_equal(again.log_density, first.log_density)
    assert list(first.folds.index.get_level_values("fold").unique()) == ["a", "b"]


@pytest.mark.parametrize("kind", ["f2", ">f8", ">i4", "u1", "U1"])
def test_labels_of_every_type(births, kind):
    model = rj.logit("low ~ age", births)
    labels = np.arange(189) % 3
    want, found = (
        model.cross_validate(each, rng=1, progress=False) for each in (labels, labels.astype(kind))
    )
    np.testing.assert_array_equal(found.log_density, want.log_density)


@pytest.mark.parametrize("kind", ["c32", "V8", [("a", "f8")]], ids=str)
def test_labels_that_are_none(births, kind):
    labels = (np.arange(189) % 3).astype(kind)
    with pytest.raises(rj.DataError, match=r"'folds' of .* must be"):
        rj.logit("low ~ age", births).cross_validate(labels, rng=1)


def test_rows_of_weight_zero_are_left_out():
    frame = small("binomial", True)
    more = pd.concat([frame, frame.iloc[:2].assign(w=0)], ignore_index=True)
    labels = np.append(LABELS, [0, 1])
    with_zero, without = (
        rj.logit("y ~ x", rows, weights="w", offset="o", **OPTIONS).cross_validate(
            given, rng=1, progress=False
        )
        for rows, given in ((more, labels), (frame, LABELS))
    )
    pd.testing.assert_frame_equal(with_zero.log_density, without.log_density)
    pd.testing.assert_frame_equal(with_zero.scores, without.scores)


@pytest.mark.filterwarnings("ignore:Fold:pyrjsel.RankWarning", "ignore:Fold:pyrjsel.SeparationWarning")
def test_missing_level_in_the_training_rows():
    """Under a g-prior rows of a level that the others lack have no prediction; a normal prior has them.

    Without the rows of the reference level the columns of the others add up to the intercept.
    """
    rng = np.random.default_rng(4)
    frame = pd.DataFrame({"x": rng.normal(size=60), "site": np.repeat(list("abc"), 20)})
    frame["y"] = (rng.random(60) < expit(frame["x"] + 2 * (frame["site"] == "b"))).astype(int)
    with (
        pytest.warns(rj.RankWarning, match=r"'site\[T.c\]' of site is left out"),
        pytest.raises(rj.DataError, match=r"No row has a held-out prediction .*Leave out the factor"),
    ):
        rj.logit("y ~ x + site", frame).cross_validate(frame["site"], rng=1, progress=False)
    halves = np.where(frame["site"] == "a", "a", np.arange(60) % 2).astype(str)  # a, and two of b and c
    with (
        pytest.warns(rj.ExtrapolationWarning, match="20 of 60 rows have no held-out prediction"),
        pytest.warns(rj.RankWarning, match=r"Fold a: The column 'site\[T.c\]' of site"),
    ):
        found = rj.logit("y ~ x + site", frame).cross_validate(halves, rng=1, progress=False)
    np.testing.assert_array_equal(found.log_density["bma"].isna(), frame["site"] == "a")
    assert found.folds.loc[("a", "bma"), "rows"] == 0
    assert np.isfinite(found.scores).all(axis=None)
    normal = rj.logit("y ~ x + site", frame, coef_prior=rj.Normal(2.0))
    kept = normal.cross_validate(frame["site"], rng=1, progress=False)
    assert np.isfinite(kept.log_density).all(axis=None)


def test_samplers(births):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rj.ConvergenceWarning)
        found = rj.logit("low ~ lwt + smoke", births).cross_validate(
            2, rng=1, sampler="rjmcmc", draws=1500, chains=2, progress=False
        )
    exact = rj.logit("low ~ lwt + smoke", births).cross_validate(found.fold, rng=2, progress=False)
    # Predictions of 3,000 correlated draws: the scores agree to a small part of their standard error of 5.
    assert found.scores.loc["bma", "log_score"] == pytest.approx(
        exact.scores.loc["bma", "log_score"], abs=0.5 / len(exact.fold)
    )


# --- errors -----------------------------------------------------------------------------------------

BAD = {
    "one fold": (
        {"folds": 1},
        rj.ParameterError,
        r"'folds' parameter of LogitSelection.cross_validate.*\[2, 189\].*Got 1",
    ),
    "too many": ({"folds": 190}, rj.ParameterError, r"'folds'.*\[2, 189\].*Got 190"),
    "a float": ({"folds": 5.0}, rj.ParameterError, "'folds'.*label for each row. Got 5.0"),
    "a bool": ({"folds": True}, rj.ParameterError, "'folds'.*Got True"),
    "a word": ({"folds": "site"}, rj.ParameterError, "'folds'.*Got 'site'"),
    "none": ({"folds": None}, rj.ParameterError, "'folds'.*Got None"),
    "too short": ({"folds": [1, 2, 3]}, rj.DataError, r"'folds'.*189 rows. Got shape \(3,\)"),
    "a matrix": ({"folds": np.zeros((189, 2))}, rj.DataError, r"'folds'.*Got shape \(189, 2\)"),
    "ragged": ({"folds": [[1], [1, 2]]}, rj.DataError, "'folds'.*one-dimensional"),
    "another index": ({"folds": pd.Series([1, 2], [500, 501])}, rj.DataError, r"'folds'.*shape \(2,\)"),
    "missing label": ({"folds": [None, *"ab" * 94]}, rj.DataError, "'folds'.*missing ones"),
    "one label": ({"folds": np.ones(189)}, rj.DataError, "'folds'.*two different labels. Got 1"),
    "labels that are lists": (
        {"folds": pd.Series([[k % 2] for k in range(189)])},
        rj.DataError,
        "'folds'.*labels such as numbers or text",
    ),
    "unknown predictor": ({"which": ["bma", "best"]}, rj.ParameterError, "'which'.*'mpm'.*Got .*'best'"),
    "no predictor": ({"which": []}, rj.ParameterError, "'which' parameter of LogitSelection.cross_validate"),
    "twice": ({"which": ["bma", "bma"]}, rj.ParameterError, "'which'.*each once"),
    "which None": ({"which": None}, rj.ParameterError, "'which'.*Got None"),
    "stratify": ({"stratify": 1}, rj.ParameterError, "'stratify' parameter of LogitSelection.cross_validate"),
    "rng": ({"rng": "x"}, rj.ParameterError, "'rng' parameter of LogitSelection.cross_validate"),
    "option": ({"folds": 2, "pears": 2}, rj.UnknownNameError, "^Fold 1: .*'pears'"),
    "draws": ({"folds": 2, "draws": 0}, rj.ParameterError, "^Fold 1: The 'draws' parameter"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_calls(case, model):
    options, kind, pattern = BAD[case]
    with pytest.raises(kind, match=pattern) as caught:
        model.cross_validate(**options)
    assert str(caught.value).endswith((".", "?"))


def test_one_class_in_the_training_rows(births):
    with pytest.raises(rj.DataError, match=r"^Fold 0: The response 'low' must have both classes. Got only 1"):
        rj.logit("low ~ age", births).cross_validate(births["low"], rng=1, progress=False)


def test_labels_of_rows_where_some_were_dropped(births):
    frame = births.astype({"age": float})
    frame.loc[0, "age"] = np.nan
    with pytest.warns(rj.MissingDataWarning):
        model = rj.logit("low ~ age", frame)
    with pytest.raises(rj.DataError, match=r"labels of the 188 rows used, or of the 189 of the data. Got"):
        model.cross_validate([1, 2], rng=1)


def test_warnings_name_the_folds(births):
    frame = births.assign(apart=births["low"] * 2.0 + births["age"] / 100)
    with pytest.warns(rj.SeparationWarning, match="^Folds 1, 2: The classes are separated") as caught:
        rj.logit("low ~ apart", frame).cross_validate(2, rng=1, progress=False)
    assert len(caught) == 1
    assert caught[0].filename == __file__


def test_warnings_that_differ_in_numbers_are_one():
    refits = Refits("Fold")
    for label, text in {"1": "3 of 8 models", "2": "1 of 8 models", "3": "no model", "4": "no model"}.items():
        with refits.named(label):
            warnings.warn(text, rj.ConvergenceWarning, stacklevel=1)
    with pytest.warns(rj.ConvergenceWarning) as caught:
        refits.warn()
    assert [str(item.message) for item in caught] == [
        "Folds 1, 2: 3 of 8 models (The numbers are those of fold 1.)",
        "Folds 3, 4: no model",
    ]


# --- what people look at ----------------------------------------------------------------------------


def test_summary(validated):
    text = validated.summary().as_text()
    for word in ("cross-validation", "Held-out scores", "bma - hpm", "brier", "Folds:", "log score"):
        assert word in text
    assert f"{validated.scores.loc['bma', 'log_score']:.3f}" in text
    assert "<table" in validated.summary().as_html()


def test_one_predictor_has_no_differences(model):
    found = model.cross_validate(2, which="hpm", rng=1, progress=False)
    assert found.differences.shape == (0, 2)
    assert "Differences" not in found.summary().as_text()
    assert list(found.log_density.columns) == ["hpm"]


def test_repr(validated):
    score = validated.scores["log_score"]
    best = score.idxmax()
    assert repr(validated) == (
        f"<CrossValidation: 4 folds, 189 rows, best {best} with log score {score[best]:.3f}>"
    )

"""PatternLogit before it is fitted: what it is made from, what it says of itself, and what it refuses."""

import inspect
import pickle

import numpy as np
import pandas as pd
import pytest
from pattern_cases import described, make_features
from reference_groups import enumerate_groups

import pyrjsel as rj


@pytest.fixture
def frame(rng):
    frame = pd.DataFrame(
        {
            "a": rng.choice(["u", "v", "w"], 40),
            "b": rng.random(40) < 0.4,
            "c": pd.Categorical(rng.choice(["lo", "hi"], 40), ["lo", "hi"]),
            "d": rng.integers(1, 4, 40),
        }
    )
    return frame.assign(y=rng.choice(["no", "yes"], 40))


def test_formula_and_arrays_make_the_same_model(frame):
    from_formula = rj.pattern_logit("y ~ interactions(a, b, c, d, order=3)", frame)
    from_arrays = rj.PatternLogit(frame["y"], frame[["a", "b", "c", "d"]], order=3)
    codes = np.column_stack([
        frame["a"].map({"u": 0, "v": 1, "w": 2}), frame["b"], frame["c"] == "hi", frame["d"] - 1
    ])  # fmt: skip
    expected = described(enumerate_groups(make_features(codes, "interactions", 3)))
    for model in (from_formula, from_arrays):
        assert described(model.compression) == expected
        assert model.classes == ("no", "yes")
        assert model.y.tolist() == (frame["y"] == "yes").astype(int).tolist()
        assert (model.nobs, model.order, model.n_groups) == (40, 3, len(expected))
        pd.testing.assert_frame_equal(model.groups, from_formula.groups)
        assert model.groups["patterns"].sum() == model.n_patterns
    assert repr(from_formula).startswith(
        "<PatternLogit 'y ~ interactions(a, b, c, d, order=3)': 40 cases, 2 "
    )
    assert repr(from_arrays).startswith("<PatternLogit y from arrays: 40 cases, 2 classes")


def test_the_order_is_that_of_all_features_where_none_is_given(frame):
    assert rj.pattern_logit("y ~ interactions(a, b, c)", frame).order == 3
    assert rj.pattern_logit("y ~ sequence(a, b, c, order=2)", frame).order == 2
    assert rj.PatternLogit(frame["y"], frame[["a", "b"]]).order == 2


def test_a_sequence_in_columns(frame):
    model = rj.pattern_logit("y ~ sequence(a, b, c)", frame)
    assert model.features.kind == "sequence"
    # The last is the most recent: patterns of order 1 fix it.
    first = model.groups[model.groups["orders"] == "1"]["pattern"]
    assert sorted(first) == ["c=hi", "c=lo"]
    other = rj.PatternLogit(frame["y"], frame[["a", "b", "c"]], kind="sequence")
    pd.testing.assert_frame_equal(model.groups, other.groups)


def test_without_compression_there_is_a_group_a_pattern(frame):
    for call in ("interactions", "sequence"):
        model = rj.pattern_logit(f"y ~ {call}(a, b, c, d)", frame, compress=False)
        small = rj.pattern_logit(f"y ~ {call}(a, b, c, d)", frame)
        assert model.n_groups == model.n_patterns == small.n_patterns > small.n_groups
        assert (model.compression.counts.sum(axis=1) == 1).all()


TEXT = "abracadabra and abracadabra again"


@pytest.mark.parametrize(
    ("sequence", "classes"),
    [
        (TEXT, tuple(sorted(set(TEXT)))),
        (list(TEXT), tuple(sorted(set(TEXT)))),
        (np.array([ord(letter) for letter in TEXT]), tuple(sorted(map(ord, set(TEXT))))),
        (pd.Series(list(TEXT), index=range(7, 40), dtype="string"), tuple(sorted(set(TEXT)))),
        (pd.Categorical(list(TEXT), sorted(set(TEXT), reverse=True)), tuple(sorted(set(TEXT), reverse=True))),
        ([letter == "a" for letter in TEXT], (False, True)),
        (np.random.default_rng(0).integers(26, size=400), tuple(range(26))),
    ],
)
def test_a_sequence_is_cut_into_overlapping_histories(sequence, classes):
    model = rj.PatternLogit.from_sequence(sequence, order=4)
    assert model.classes == classes
    assert model.features.names == ("x1", "x2", "x3", "x4")
    symbols = list(sequence)
    for i in range(model.nobs):
        window = [model.features.levels[j][model.features.codes[i, j]] for j in range(4)]
        assert [*window, model.classes[model.y[i]]] == symbols[i : i + 5]
    assert model.nobs == len(symbols) - 4
    # The same from the cut sequence, with a formula.
    cut = rj.histories(sequence, 4)
    assert cut.to_numpy().tolist() == [symbols[i : i + 5] for i in range(model.nobs)]
    again = rj.pattern_logit("next ~ sequence(.)", cut)
    assert (again.n_groups, again.n_patterns) == (model.n_groups, model.n_patterns)
    assert (model.features.encode(cut) == model.features.codes).all()


def test_models_can_be_pickled(frame):
    for model in (
        rj.pattern_logit("y ~ interactions(a, I(d > 1), C(c))", frame),
        rj.PatternLogit.from_sequence(TEXT, order=3),
    ):
        copy = pickle.loads(pickle.dumps(model))
        pd.testing.assert_frame_equal(copy.groups, model.groups)
        new = frame if model.design.formula else rj.histories(TEXT, 3)
        assert (copy.features.encode(new) == model.features.codes).all()


def test_rows_with_missing_values(frame):
    frame.loc[3, "a"] = None
    for make in (
        lambda **options: rj.pattern_logit("y ~ interactions(a, b)", frame, **options),
        lambda **options: rj.PatternLogit.from_formula("y ~ interactions(a, b)", frame, **options),
        lambda **options: rj.PatternLogit(frame["y"], frame[["a", "b"]], **options),
    ):
        with pytest.warns(rj.MissingDataWarning, match="1 of 40 rows") as caught:
            model = make()
        assert caught[0].filename == __file__
        assert (model.nobs, model.data.n_dropped) == (39, 1)
        with pytest.raises(rj.DataError, match="1 of 40 rows have missing values"):
            make(missing="raise")


def test_missing_values_as_levels_of_formulas_and_arrays(frame):
    frame.loc[[3, 8], "a"] = None
    frame["b"] = frame["b"].astype("boolean").mask(frame.index.isin([8, 9]))
    # A level of text that sorts after the others is what a missing value is.
    filled = frame.assign(a=frame["a"].fillna("z"), b=frame["b"].astype(object).map({False: "f", True: "t"}))
    filled["b"] = filled["b"].fillna("z")
    for call in ("interactions", "sequence"):
        expected = rj.pattern_logit(f"y ~ {call}(d, a, b)", filled)
        columns = frame[["d", "a", "b"]]
        for model in (
            rj.pattern_logit(f"y ~ {call}(d, a, b)", frame, missing="level"),
            rj.PatternLogit(frame["y"], columns, kind=call, missing="level"),
        ):
            assert described(model.compression) == described(expected.compression)
            assert model.features.levels == ((1, 2, 3), ("u", "v", "w", None), (False, True, None))
        assert "b=(missing)" in model.groups["pattern"].tolist()
        assert (rj.pattern_logit(f"y ~ {call}(d, a)", frame, missing="level").nobs, model.nobs) == (40, 40)


def test_missing_symbols():
    symbols = list(TEXT)
    symbols[7] = None
    sequence = pd.Series(symbols)
    cut = rj.histories(sequence, 4, missing="level")
    assert cut.isna().sum().tolist() == [1, 1, 1, 1, 1]
    with pytest.warns(rj.MissingDataWarning, match=r"1 of 29 rows have missing values \(next: 1\)") as caught:
        level = rj.PatternLogit.from_sequence(sequence, 4, missing="level")
    assert caught[0].filename == __file__
    assert level.features.levels == ((*sorted(set(TEXT)), None),) * 4
    assert level.data.index.tolist() == [i for i in range(29) if i != 3]
    assert (level.features.encode(cut.drop(index=3)) == level.features.codes).all()
    # A symbol of its own that is never a response is the same.
    written = rj.histories([symbol or "~" for symbol in symbols], 4)
    other = rj.pattern_logit("next ~ sequence(.)", written[written["next"] != "~"])
    named = level.groups.assign(pattern=level.groups["pattern"].str.replace("(missing)", "~"))
    pd.testing.assert_frame_equal(named, other.groups)
    with pytest.warns(rj.MissingDataWarning, match="5 of 29 rows"):
        drop = rj.PatternLogit.from_sequence(sequence, 4, missing="drop")
    assert (drop.nobs, drop.data.n_dropped) == (24, 5)
    assert drop.data.missing.to_dict() == {"x1": 1, "x2": 1, "x3": 1, "x4": 1, "next": 1}
    assert (drop.features.encode(cut.dropna()) == drop.features.codes).all()
    with pytest.raises(rj.DataError, match=r"must have no missing values. Got some in x1: 1"):
        drop.features.encode(cut)
    # Without a missing symbol in the fit it is an unseen level.
    whole = rj.PatternLogit.from_sequence(TEXT, 4, missing="level")
    assert None not in whole.features.levels[0]
    position = whole.features.levels[0].index
    assert whole.features.encode(cut, "mark")[4].tolist() == [*map(position, symbols[4:7]), -1]
    with pytest.raises(rj.DataError, match="an unseen level"):
        whole.features.encode(cut)
    for make in (rj.histories, rj.PatternLogit.from_sequence):
        with pytest.raises(rj.ParameterError, match="'missing' parameter"):
            make(TEXT, 4, missing="skip")


@pytest.mark.parametrize(
    ("formula", "change", "error", "match"),
    [
        (
            "y ~ a + b",
            {},
            rj.FormulaError,
            r"only interactions\(...\) or sequence\(...\) on its right-hand side",
        ),
        ("y ~ a + interactions(b, c)", {}, rj.FormulaError, "must have only "),
        (
            "y ~ interactions(a, b, order=3)",
            {},
            rj.ParameterError,
            "at most the number of features, 2. Got 3",
        ),
        ("y ~ interactions(a, b, order=0)", {}, rj.ParameterError, "'order' parameter"),
        (
            "y ~ interactions(a, b)",
            {"a": "u"},
            rj.DataError,
            "feature 'a' of PatternLogit must have at least two",
        ),
        ("y ~ sequence(a, b)", {"b": True}, rj.DataError, "feature 'b'"),
        (
            "y ~ interactions(a, b)",
            {"y": "no"},
            rj.DataError,
            "response 'y' of PatternLogit must have at least two",
        ),
        ("y ~ interactions(a, e)", {"e": np.linspace(0, 1, 40)}, rj.DataError, "must be labels"),
        ("y ~ interactions(a, e)", {"e": pd.Timestamp("2020-01-01")}, rj.DataError, "must hold numbers"),
        ("y ~ interactions(a, e)", {}, rj.UnknownNameError, "'e'"),
        ("y ~ interactions(a, y)", {}, rj.FormulaError, "response 'y' on the right-hand side"),
        ("C(y) ~ interactions(a, y == 'no')", {}, rj.FormulaError, "in the feature \"y == 'no'\""),
        ("I(d > 1) ~ interactions(a, I(d > 1))", {}, rj.FormulaError, "on the right-hand side"),
    ],
)
def test_formulas_and_data_that_cannot_be(formula, change, error, match, frame):
    with pytest.raises(error, match=match):
        rj.pattern_logit(formula, frame.assign(**change))


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"kind": "trees"}, "'kind' parameter of PatternLogit must be one of 'interactions', 'sequence'"),
        ({"order": 3}, "'order' parameter of PatternLogit must be at most the number of features, 2"),
        ({"order": 1.0}, "'order' parameter"),
        ({"compress": 1}, "'compress' parameter of PatternLogit must be True or False"),
        ({"missing": "skip"}, "'missing' parameter"),
    ],
)
def test_parameters_that_cannot_be(options, match, frame):
    with pytest.raises(rj.ParameterError, match=match):
        rj.PatternLogit(frame["y"], frame[["a", "b"]], **options)


@pytest.mark.parametrize(
    ("sequence", "order", "error", "match"),
    [
        ("abc", 3, rj.DataError, "must be longer than the order, 3. Got 3 symbols"),
        ("", 1, rj.DataError, "must be longer than the order"),
        ("abc", 0, rj.ParameterError, "'order' parameter of PatternLogit.from_sequence"),
        ("aaaa", 1, rj.DataError, "must have at least two levels"),
        ("ab" + "a" * 5, 2, rj.DataError, "at least two classes in the rows used. Got only 'a'"),
        ([1, 2, None, 1], 1, rj.DataError, "must have no missing values. Got 1"),
        ([[1, 2], [2, 1]], 1, rj.DataError, r"one-dimensional. Got shape \(2, 2\)"),
        ([[1, 2], [2]], 1, rj.DataError, "one-dimensional"),
        ([0.5, 1.5, 0.5], 1, rj.DataError, "must be labels"),
    ],
)
def test_sequences_that_cannot_be(sequence, order, error, match):
    with pytest.raises(error, match=match):
        rj.PatternLogit.from_sequence(sequence, order)


def test_the_short_name_has_the_parameters_of_the_class():
    short = inspect.signature(rj.pattern_logit).parameters
    formula = inspect.signature(rj.PatternLogit.from_formula).parameters
    assert list(short) == list(formula)
    assert all(short[name].default == formula[name].default for name in short)
    whole = inspect.signature(rj.PatternLogit).parameters
    assert all(whole[name].default == short[name].default for name in set(whole) & set(short))


def test_more_patterns_than_integers_hold():
    ends = np.repeat([[0], [1]], 2, axis=0)
    model = rj.PatternLogit([0, 1, 0, 1], ends + np.zeros((1, 80), dtype=int))
    # All patterns of three groups: of all cases, of the first two and of the last two.
    assert model.n_groups == 3
    assert model.groups["patterns"].tolist() == [1.0, 2.0**80 - 1, 2.0**80 - 1]
    with pytest.warns(rj.ConvergenceWarning, match="The run has 1 draw"):
        results = model.fit(draws=1, burn_in=5, chains=1, rng=1, progress=False)
    assert results.compression["patterns"].iloc[-1] == pytest.approx(2.0**81)
    assert "2,417,851,639" in str(results.summary())
    with pytest.raises(rj.DataError, match="more than 1e"):
        rj.PatternLogit([0, 1, 0, 1], ends + np.zeros((1, 400), dtype=int))

"""Designs of labels: formulas of one call, arrays, levels, and the codes of new rows."""

import pickle

import numpy as np
import pandas as pd
import pytest

import pyrjsel as rj
from pyrjsel import DataError, FormulaError, MissingDataWarning, ParameterError, UnknownNameError
from pyrjsel.design import InputDesign, LabelDesign

CALLS = ("interactions", "sequence")


@pytest.fixture
def frame():
    return pd.DataFrame(
        {
            "y": ["no", "yes", "no", "maybe"],
            "text": ["b", "a", "b", "a"],
            "flag": [True, False, True, True],
            "grade": pd.Categorical(["lo", "hi", "lo", "hi"], ["lo", "mid", "hi"]),
            "count": pd.array([3, 1, 3, 2], dtype="Int64"),
            "dose": [0.5, 2.5, 0.5, 2.5],
            "odd name": [1, 2, 2, 1],
        }
    )


def design(formula, frame, **options):
    return LabelDesign.from_formula(formula, frame, CALLS, **options)


def test_every_kind_of_column_is_a_feature(frame):
    made, rows = design("y ~ interactions(text, flag, grade, count, C(dose), Q('odd name'), order=3)", frame)
    assert (made.call, made.order, made.response) == ("interactions", 3, "y")
    assert made.classes == ("maybe", "no", "yes")
    assert made.names == ("text", "flag", "grade", "count", "C(dose)", "odd name")
    # Categories in their order, without those that do not occur; all else sorted.
    assert made.levels == (("a", "b"), (False, True), ("lo", "hi"), (1, 2, 3), (0.5, 2.5), (1, 2))
    assert [type(level) for level in made.levels[3]] == [int] * 3
    assert rows.y.tolist() == [1, 2, 1, 0]
    assert rows.codes.tolist() == [
        [1, 1, 0, 2, 0, 0],
        [0, 0, 1, 0, 1, 1],
        [1, 1, 0, 2, 0, 1],
        [0, 1, 1, 1, 1, 0],
    ]
    assert (made.encode(frame) == rows.codes).all()
    assert (made.encode_response(frame) == rows.y).all()


@pytest.mark.parametrize(
    ("values", "classes"),
    [
        ([0, 1, 1, 0], (0, 1)),
        ([1.0, 2.0, 2.0, 1.0], (1, 2)),
        ([True, False, True, False], (False, True)),
        (pd.Categorical(list("bacb"), ["c", "b", "a"]), ("c", "b", "a")),
        (pd.array(["u", "v", "u", "u"], dtype="string"), ("u", "v")),
        (np.array([-1, 7, 7, -1], dtype=np.int8), (-1, 7)),
    ],
)
def test_every_kind_of_column_is_a_response(values, classes, frame):
    made, rows = design("y ~ sequence(text, flag)", frame.assign(y=values))
    assert made.classes == classes
    assert [made.classes[code] for code in rows.y] == list(values)
    assert isinstance(made.classes[0], type(classes[0]))


def test_a_dot_is_every_other_column_in_order(frame):
    small = frame[["text", "y", "grade", "count"]]
    assert design("y ~ sequence(.)", small)[0].names == ("text", "grade", "count")
    assert design("y ~ interactions(., order=2)", small)[0].order == 2
    assert design("I(y == 'no') ~ interactions(.)", small)[0].names == ("text", "grade", "count")
    assert design("y ~ interactions(I(count > 1), .)", small)[0].names[0] == "I(count > 1)"


def test_features_may_be_computed(frame):
    made, rows = design(
        "I(count > 1) ~ interactions(text == 'a', np.floor(dose), C(count, levels=[3, 2, 1]))", frame
    )
    assert made.classes == (False, True)
    assert made.levels == ((False, True), (0, 2), (3, 2, 1))
    assert rows.codes.tolist() == [[0, 0, 0], [1, 1, 2], [0, 0, 0], [1, 1, 1]]
    own = design("y ~ interactions(half(dose), flag)", frame, functions={"half": lambda x: np.round(x / 2)})[
        0
    ]
    assert own.levels[0] == (0, 1)
    assert own.encode(pd.DataFrame({"dose": [2.4], "flag": [True]})).tolist() == [[1, 1]]


def test_rows_with_missing_values_are_dropped_and_counted(frame):
    frame = pd.concat([frame, frame.assign(text="a", flag=False)], ignore_index=True)
    frame.loc[1, "text"] = None
    frame.loc[3, "y"] = None
    with pytest.warns(
        MissingDataWarning, match=r"2 of 8 rows have missing values \(y: 1, text: 1\)"
    ) as caught:
        made, rows = LabelDesign.from_formula("y ~ interactions(text, flag)", frame, CALLS)
    assert caught[0].filename == __file__
    assert rows.index.tolist() == [0, 2, 4, 5, 6, 7]
    assert (rows.n_rows, rows.n_dropped, rows.missing.to_dict()) == (8, 2, {"y": 1, "text": 1})
    assert rows.codes.tolist() == [[1, 1], [1, 1], [0, 0], [0, 0], [0, 0], [0, 0]]
    with pytest.raises(DataError, match="Use missing='drop' to drop them"):
        design("y ~ interactions(text, flag)", frame, missing="raise")
    # Whole numbers stay whole where a gap has made them floats.
    holes = frame.assign(count=[1.0, 2.0, None, 3.0, 1.0, 2.0, 3.0, 1.0])
    with pytest.warns(MissingDataWarning):
        made, _ = LabelDesign.from_formula("y ~ interactions(count)", holes, CALLS)
    assert made.levels == ((1, 2, 3),)
    assert isinstance(made.levels[0][0], int)


@pytest.fixture
def holes(frame):
    frame = pd.concat([frame, frame], ignore_index=True)
    frame["text"] = ["b", None, "b", "a", "b", "a", None, "a"]
    frame["flag"] = pd.array([True, False, None, True, False, None, True, True], dtype="boolean")
    frame["grade"] = pd.Categorical(["lo", None, "lo", "lo", "lo", None, "lo", "lo"], ["lo", "mid", "hi"])
    frame["count"] = [3, np.nan, 3, 1, 3, 1, 3, 1]
    frame["dose"] = [0.5, 2.5, np.nan, 2.5, 0.5, np.nan, 0.5, 2.5]
    return frame


def test_missing_values_as_levels(holes):
    formula = (
        "y ~ interactions(text, flag, grade, count, C(dose), I((dose > 1) & (count > 2)), Q('odd name'))"
    )
    made, rows = design(formula, holes, missing="level")
    assert rows.n_dropped == 0
    assert rows.missing.empty
    # The last level; one beside it is enough, and an expression has no value where a column of it has none.
    assert made.levels == (
        ("a", "b", None), (False, True, None), ("lo", None), (1, 3, None), (0.5, 2.5, None),
        (False, None), (1, 2),
    )  # fmt: skip
    assert made.gaps == (True, True, True, True, True, True, False)
    assert [type(level) for level in made.levels[3]] == [int, int, type(None)]
    assert rows.codes[:4].tolist() == [
        [1, 1, 0, 1, 0, 0, 0], [2, 0, 1, 2, 1, 1, 1], [1, 2, 0, 1, 2, 1, 1], [0, 1, 0, 0, 1, 0, 0],
    ]  # fmt: skip
    made = pickle.loads(pickle.dumps(made))
    assert (made.encode(holes) == rows.codes).all()
    # Whatever says that there is no value.
    new = pd.DataFrame(
        {"text": [None, np.nan], "flag": pd.NA, "grade": None, "count": np.nan, "dose": np.nan}
    )
    new["odd name"] = 2
    assert made.encode(new).tolist() == [[2, 2, 1, 2, 2, 1, 1]] * 2
    # Where no row of the fit has none, it is an unseen level.
    new["odd name"] = [np.nan, 1]
    assert made.encode(new, unseen="mark")[:, -1].tolist() == [-1, 0]
    with pytest.raises(DataError, match=r"missing values of the term 'odd name' in 1 rows.*an unseen level"):
        made.encode(new)


def test_rows_without_a_response_are_dropped_where_missing_values_are_levels(holes):
    holes.loc[[1, 5], "y"] = None
    with pytest.warns(MissingDataWarning, match=r"2 of 8 rows have missing values \(y: 2\)") as caught:
        made, rows = LabelDesign.from_formula("y ~ interactions(text, count)", holes, CALLS, missing="level")
    assert caught[0].filename == __file__
    assert (rows.index.tolist(), rows.n_dropped, rows.missing.to_dict()) == ([0, 2, 3, 4, 6, 7], 2, {"y": 2})
    # Rows that are dropped give no levels: no other has no count.
    assert made.levels == (("a", "b", None), (1, 3))
    with pytest.raises(DataError, match=r"must have no missing values. Got some in y: 2 rows"):
        made.encode_response(holes)
    with pytest.warns(MissingDataWarning):
        made, rows = LabelDesign.from_arrays(holes["y"], holes[["text", "count"]], missing="level")
    assert made.levels == (("a", "b", None), (1, 3))
    with pytest.raises(DataError, match=r"feature 'text' of .* has no value in the rows used"):
        design("y ~ interactions(text)", holes.dropna(subset="y").assign(text=None), missing="level")
    with pytest.raises(DataError, match=r"feature 'flag' of .* must have at least two"):
        design("y ~ interactions(flag)", holes.dropna(subset="y").assign(flag=True), missing="level")
    with pytest.raises(DataError, match="infinite values in the column"):
        design("y ~ interactions(C(dose))", holes.dropna(subset="y").assign(dose=np.inf), missing="level")
    with pytest.raises(ParameterError, match="one of 'drop', 'raise', 'level'"):
        design("y ~ interactions(text)", holes, missing="keep")


@pytest.mark.parametrize(
    ("formula", "error", "match"),
    [
        (
            "y ~ text",
            FormulaError,
            r"must have only interactions\(...\) or sequence\(...\) on its right-hand side",
        ),
        ("y ~ text + grade", FormulaError, r"Write 'y ~ interactions\(text, grade\)'"),
        ("y ~ flag + interactions(text, grade)", FormulaError, "must have only "),
        ("y ~ interactions(text) + sequence(grade)", FormulaError, "must have only "),
        ("y ~ interactions(text):flag", FormulaError, "must have only "),
        ("y ~ interactions(text)*2", FormulaError, "must have only "),
        ("y ~ interactions(text)(flag)", FormulaError, "must have only "),
        ("y ~ interactions(text) - 1", FormulaError, "must have only "),
        ("y ~ bs(dose, df=4)", FormulaError, "must have only "),
        ("y ~ 1", FormulaError, "must have only "),
        ("y ~ interactions", FormulaError, "must have only "),
        ("y ~ interactions()", FormulaError, "no features"),
        ("y ~ interactions(order=2)", FormulaError, "no features"),
        ("y ~ interactions(text, text)", FormulaError, "feature 'text' twice"),
        ("y ~ interactions(., text)", FormulaError, "feature 'text' twice"),
        ("y ~ interactions(text, order=flag)", FormulaError, "one order=, an int. Got 'order=flag'"),
        ("y ~ interactions(text, order=-1)", FormulaError, "one order="),
        ("y ~ interactions(text, order=1, order=2)", FormulaError, "one order="),
        ("y ~ interactions(text, depth=2)", FormulaError, "Got 'depth=2'"),
        (
            "y ~ interactions(text, interactions(flag))",
            FormulaError,
            "calls of 'interactions' are not allowed",
        ),
        ("y ~ interactions(text, __import__('os').system('ls'))", FormulaError, "not allowed"),
        ("y ~ interactions(text, *flag)", FormulaError, "cannot be read"),
        ("y ~ interactions(text, **flag)", FormulaError, "cannot be read"),
        ("y ~ interactions(text.str)", FormulaError, r"Q\('text.str'\)"),
        ("y ~ interactions(C(text, Sum), flag)", FormulaError, "a contrast, but labels cannot have one"),
        ("y ~ interactions(text, 3)", FormulaError, "uses no column"),
        ("interactions(text)", FormulaError, "has no response"),
        ("~ interactions(text)", FormulaError, "has no response"),
        (". ~ interactions(text)", FormulaError, "one response"),
        ("y + flag ~ interactions(text)", FormulaError, "one response"),
        ("y ~ flag ~ interactions(text)", FormulaError, "one response"),
        ("y ~ interactions(texts)", UnknownNameError, "Did you mean 'text'"),
        (
            "y ~ interactions(dose, flag)",
            DataError,
            r"must be labels.*Got real numbers instead; bin them with np.floor.*C\(dose\) in",
        ),
        ("dose ~ interactions(text, flag)", DataError, "'dose' of LabelDesign must be labels"),
        ("y ~ interactions(text, one)", DataError, "feature 'one' of .* must have at least two levels"),
        ("one ~ interactions(text, flag)", DataError, "response 'one' of .* must have at least two levels"),
        (3, ParameterError, "'formula' parameter"),
    ],
)
def test_formulas_that_cannot_be(formula, error, match, frame):
    with pytest.raises(error, match=match):
        design(formula, frame.assign(one=1))


def test_functions_cannot_be_called_as_the_formula_calls(frame):
    with pytest.raises(ParameterError, match="names other than the formula's own"):
        design("y ~ interactions(text)", frame, functions={"sequence": np.abs})


def test_new_rows(frame):
    made = pickle.loads(pickle.dumps(design("y ~ interactions(text, grade, C(dose), flag)", frame)[0]))
    new = pd.DataFrame(
        {"text": ["b", "z"], "grade": ["hi", "mid"], "dose": [2.5, 1.0], "flag": [0, 1], "more": 1}
    )
    assert made.encode(new, unseen="mark").tolist() == [[1, 1, 1, 0], [-1, -1, -1, 1]]
    with pytest.raises(
        DataError, match=r"unseen levels of the column 'text'.*'z'. Levels in the fit: 'a', 'b'"
    ):
        made.encode(new)
    for change, error, match in (
        ({"text": None}, DataError, r"must have no missing values. Got some in text: 1 rows"),
        ({"text": 1}, DataError, "must hold text values, as in the fit. Got integer values"),
        ({"flag": 2}, DataError, "was boolean in the fit"),
        ({"dose": np.inf}, DataError, "infinite"),
    ):
        with pytest.raises(error, match=match):
            made.encode(new.head(1).assign(**change))
    with pytest.raises(UnknownNameError, match="'dose'"):
        made.encode(new.drop(columns="dose"))
    with pytest.raises(ParameterError, match="'unseen' parameter"):
        made.encode(new, unseen="drop")
    with pytest.raises(DataError, match="'perhaps'"):
        made.encode_response(pd.DataFrame({"y": ["perhaps"]}))


def test_arrays(frame):
    made, rows = LabelDesign.from_arrays(frame["y"], frame[["text", "count"]])
    assert (made.formula, made.response, made.names) == ("", "y", ("text", "count"))
    assert rows.codes.tolist() == [[1, 2], [0, 0], [1, 2], [0, 1]]
    made, rows = LabelDesign.from_arrays([0, 1, 1], np.array([["u", "v"], ["v", "v"], ["u", "w"]]))
    assert (made.names, made.levels) == (("x1", "x2"), (("u", "v"), ("v", "w")))
    assert made.encode([["v", "w"]]).tolist() == [[1, 1]]
    with pytest.raises(DataError, match="must match"):
        LabelDesign.from_arrays([0, 1], frame[["text"]])
    with pytest.raises(DataError, match="matrix of 2 columns"):
        made.encode([["v", "w", "v"]])


def test_columns_whose_levels_are_known():
    made = LabelDesign.of_columns("z", (1, 2), ("x1", "x2"), (("a", "b"), ("a", "b")))
    assert (made.response, made.classes, made.names) == ("z", (1, 2), ("x1", "x2"))
    new = pd.DataFrame({"x1": ["b", "a"], "x2": ["a", "c"], "z": [2, 1]})
    assert made.encode(new, unseen="mark").tolist() == [[1, 0], [0, -1]]
    assert made.encode_response(new).tolist() == [1, 0]
    made = LabelDesign.of_columns("z", (1, 2), ("x1", "x2"), (("a", "b", None), ("a", "b")), True)
    assert made.levels == (("a", "b", None), ("a", "b"))
    new = pd.DataFrame({"x1": ["b", None], "x2": [None, "a"]})
    assert made.encode(new, unseen="mark").tolist() == [[1, -1], [2, 0]]


def test_many_whole_numbers_are_labels_on_request():
    frame = pd.DataFrame({"y": [0, 1] * 22, "age": [*range(22)] * 2, "b": [0, 1, 1, 0] * 11})
    formula = "y ~ interactions({}, b)"
    for column in (frame["age"], frame["age"].astype(float)):
        data = frame.assign(age=column)
        with pytest.raises(DataError, match=r"'age' .*at most 20 distinct whole numbers.*Got 22.*C\(age\)"):
            LabelDesign.from_formula(formula.format("age"), data, ("interactions",))
        with pytest.raises(DataError, match="at most 20 distinct whole numbers"):
            LabelDesign.from_arrays(data["y"], data[["age", "b"]])
    design, _ = LabelDesign.from_formula(formula.format("C(age)"), frame, ("interactions",))
    assert len(design.levels[0]) == 22
    for marked in (frame["age"].astype(str), frame["age"].astype("category")):
        design, _ = LabelDesign.from_arrays(frame["y"], frame[["b"]].assign(age=marked))
        assert len(design.levels[1]) == 22
    # Twenty are few enough, and classes and symbols are labels in any number.
    below = frame[frame["age"] < 20]
    few, _ = LabelDesign.from_arrays(below["y"], below[["age", "b"]])
    assert few.levels[0] == tuple(range(20))
    many, _ = LabelDesign.from_arrays(frame["age"], frame[["b"]])
    assert len(many.classes) == 22


def test_intervals_of_cut_are_ordered_labels():
    frame = pd.DataFrame({"y": [0, 1] * 10, "age": np.arange(20.0)})
    edges = [-1.0, 2.0, 11.0, 20.0]
    cut = pd.cut(frame["age"], edges)
    levels = ("(-1.0, 2.0]", "(2.0, 11.0]", "(11.0, 20.0]")  # sorted as text, the second would be the last
    for column in (cut, cut.astype("interval"), pd.cut(frame["age"], edges, labels=levels)):
        data = frame.assign(age=column)
        design, rows = LabelDesign.from_formula("y ~ interactions(age)", data, ("interactions",))
        assert design.levels == (levels,)
        assert rows.codes[:, 0].tolist() == cut.cat.codes.tolist()
        new = pd.DataFrame({"age": pd.cut([15.0, 1.0], edges)})
        assert design.encode(new).tolist() == [[2], [0]]
    classes, rows = InputDesign.from_arrays(cut.where(frame["age"] > 0), frame[["y"]])
    assert classes.classes == levels
    assert rows.y.tolist() == [-1, *cut.cat.codes[1:]]
    assert classes.decode(np.array([2, 0]), pd.RangeIndex(2)).tolist() == [levels[2], levels[0]]
    named = [f"age[T.{level}]" for level in levels[1:]]
    assert list(rj.linear("y ~ age", frame.assign(age=cut)).design.column_names) == named
    halves = lambda: iter([frame.assign(age=cut)[:10], frame.assign(age=cut)[10:]])  # noqa: E731
    assert list(rj.linear("y ~ age", halves).design.column_names) == named

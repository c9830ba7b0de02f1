"""Designs of numeric inputs and a label: missing values stay, labels of every kind come back."""

import pickle

import numpy as np
import pandas as pd
import pytest

from pyrjsel import DataError, FormulaError, MissingDataWarning, ParameterError, UnknownNameError
from pyrjsel.design import InputDesign


@pytest.fixture
def frame():
    return pd.DataFrame(
        {
            "y": ["no", "yes", None, "maybe", "no"],
            "a": [1.0, np.nan, 3.0, 4.0, 8.0],
            "b": [1, 2, 3, 4, 5],
            "flag": [True, False, True, True, False],
            "race": list("uvuvu"),
        }
    )


def design(formula, frame, **options):
    return InputDesign.from_formula(formula, frame, **options)


def test_missing_inputs_and_labels_stay(frame):
    made, rows = design("y ~ a + np.log(b) + flag + I(a * b)", frame)
    assert made.names == ("a", "np.log(b)", "flag", "I(a * b)")
    assert made.classes == ("maybe", "no", "yes")
    assert rows.y.tolist() == [1, 2, -1, 0, 1]
    expected = np.column_stack(
        [frame["a"], np.log(frame["b"]), frame["flag"].astype(float), frame["a"] * frame["b"]]
    )
    np.testing.assert_array_equal(rows.X, expected)
    assert rows.missing.to_dict() == {"a": 1}
    assert (rows.n, rows.n_dropped, rows.n_unlabelled) == (5, 0, 1)
    assert [(term.name, term.variables) for term in made.terms][3] == ("I(a * b)", ("a", "b"))
    assert repr(made) == "<InputDesign 'y ~ a + np.log(b) + flag + I(a * b)': 4 inputs>"


def test_all_other_columns(frame):
    made, _ = design("y ~ . - race", frame)
    assert made.names == ("a", "b", "flag")


def test_new_rows_use_what_was_learned_from_known_values(frame):
    made, rows = design("y ~ center(a) + b", frame)
    known = frame["a"].dropna()
    np.testing.assert_allclose(rows.X[:, 0], frame["a"] - known.mean())
    new = pd.DataFrame({"b": [9, None], "a": [None, 5.0]}, index=["p", "q"])
    X, index = made.transform(new)
    np.testing.assert_allclose(X, [[np.nan, 9], [5 - known.mean(), np.nan]])
    assert index.tolist() == ["p", "q"]
    again, _ = pickle.loads(pickle.dumps(made)).transform(new)
    np.testing.assert_array_equal(again, X)
    restricted = made.restrict([1])
    assert restricted.names == ("b",)
    assert restricted.transform(new[["b"]])[0].shape == (2, 1)
    with pytest.raises(UnknownNameError, match="'a'"):
        made.transform(new[["b"]])


@pytest.mark.parametrize(
    ("values", "codes", "kind"),
    [
        (pd.Categorical(["u", None, "w", "u"], ["w", "v", "u"]), [1, -1, 0, 1], "category"),
        (pd.array(["u", None, "w", "u"], dtype="string"), [0, -1, 1, 0], "string"),
        (pd.array([True, None, False, True], dtype="boolean"), [1, -1, 0, 1], "boolean"),
        (pd.array([3, None, 1, 3], dtype="Int64"), [1, -1, 0, 1], "Int64"),
        ([3.0, np.nan, 1.0, 3.0], [1, -1, 0, 1], "int64"),
        ([True, True, False, True], [1, 1, 0, 1], "bool"),
    ],
)
def test_labels_come_back_in_their_own_type(values, codes, kind):
    frame = pd.DataFrame({"y": values, "x": [1.0, 2.0, 3.0, 4.0]})
    made, rows = design("y ~ x", frame)
    assert rows.y.tolist() == codes
    known = rows.y >= 0
    found = made.decode(rows.y[known], frame.index[known])
    assert found.dtype == kind
    assert found.tolist() == frame["y"][known].tolist()
    if kind == "category":
        # All categories, those that do not occur too.
        assert found.cat.categories.tolist() == ["w", "v", "u"]
    arrays, same = InputDesign.from_arrays(frame["y"], frame[["x"]])
    assert same.y.tolist() == codes
    assert arrays.decode(rows.y[known], frame.index[known]).dtype == kind


def test_classes_that_are_given(frame):
    made, rows = design("y ~ b", frame, classes=["yes", "no", "maybe", "never"])
    assert made.classes == ("yes", "no", "maybe", "never")
    assert rows.y.tolist() == [1, 0, -1, 2, 1]
    with pytest.raises(DataError, match="that are not among its classes: 'maybe'"):
        design("y ~ b", frame, classes=["yes", "no"])
    unlabelled = frame.assign(y=None)
    made, rows = design("y ~ b", unlabelled, classes=["yes", "no"])
    assert rows.y.tolist() == [-1] * 5
    assert made.labels.encode_response(frame.iloc[[1, 0]]).tolist() == [0, 1]
    with pytest.raises(DataError, match=r"missing in every row\. Name the classes with the 'classes'"):
        design("y ~ b", unlabelled)
    with pytest.raises(DataError, match="missing in every row"):
        design("C(y) ~ b", unlabelled, classes=["yes", "no"])
    grades = frame.assign(y=pd.Categorical(["a", "b", None, "a", "b"]))
    with pytest.raises(ParameterError, match="categories of the column 'y'"):
        design("y ~ b", grades, classes=["a", "b", "c"])


@pytest.mark.parametrize("classes", ["ab", [1], [1, 1], [1, None], 5, [1.0, np.nan], []])
def test_classes_that_are_none(classes, frame):
    with pytest.raises(ParameterError, match="'classes' parameter"):
        design("y ~ b", frame, classes=classes)


def test_missing_rows_can_be_dropped_or_refused(frame):
    with pytest.warns(MissingDataWarning, match=r"1 of 5 rows have missing values \(a: 1\)"):
        _, rows = design("y ~ a", frame, missing="drop")
    # The row without a label has all inputs.
    assert rows.y.tolist() == [1, -1, 0, 1]
    assert rows.n_dropped == 1
    with pytest.raises(DataError, match="Use missing='drop' to drop them"):
        design("y ~ a", frame, missing="raise")


@pytest.mark.parametrize(
    ("formula", "error", "match"),
    [
        ("y ~ race", DataError, r"The input 'race' .* Got labels instead: factors are not supported"),
        ("y ~ C(race, merge=True)", DataError, r"such as I\(race == '\w+'\), or leave it out"),
        ("y ~ C(b)", DataError, "factors are not supported as inputs"),
        ("y ~ bs(b, df=4)", DataError, "must be one column. Got 4"),
        ("y ~ b:flag", FormulaError, "without interactions"),
        ("y ~ b*flag", FormulaError, "without interactions"),
        ("flag ~ b + flag", FormulaError, "has its response 'flag' on the right"),
        ("y ~ 1", DataError, "needs at least one input"),
        ("y ~ nowhere", UnknownNameError, "'nowhere'"),
        ("I(b > 9) ~ a", DataError, "at least two levels"),
    ],
)
def test_what_is_refused(formula, error, match, frame):
    with pytest.raises(error, match=match):
        design(formula, frame)


def test_infinite_values_and_no_rows(frame):
    with pytest.raises(DataError, match="infinite values in the column"):
        design("y ~ a", frame.assign(a=[1, 2, np.inf, 4, 5]))
    with pytest.raises(DataError, match="have no rows"):
        design("y ~ a", frame.iloc[:0])


def test_an_input_without_any_value(frame):
    made, rows = design("y ~ a + b", frame.assign(a=None))
    assert np.isnan(rows.X[:, 0]).all()
    assert made.transform(frame.drop(columns="a").assign(a=np.nan))[0].shape == (5, 2)


def test_new_rows_of_an_arrow_table_are_found_by_name():
    """Not by place, as those of a matrix are."""
    pa = pytest.importorskip("pyarrow")
    frame = pd.DataFrame({"a": [1.0, 2.0, 3.0], "b": [10.0, 20.0, 30.0]})
    made, rows = InputDesign.from_arrays(list("uvu"), frame)
    table = pa.Table.from_pandas(frame[["b", "a"]])
    np.testing.assert_array_equal(made.transform(table)[0], rows.X)


def test_a_series_is_no_matrix_of_new_rows():
    made, _ = InputDesign.from_arrays(list("uvu"), [1.0, 2.0, 3.0])
    with pytest.raises(DataError, match="must be a DataFrame or a matrix"):
        made.transform(pd.Series([1.0, 2.0]))

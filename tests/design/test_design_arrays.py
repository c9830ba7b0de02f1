"""Designs from a response and a matrix or data frame."""

import pickle

import numpy as np
import pandas as pd
import pytest

from pyrjsel import DataError, MissingDataWarning, UnknownNameError
from pyrjsel.design import Design
from pyrjsel.design.frame import shared_matrix


def test_a_matrix_is_one_term_a_column():
    X = np.random.default_rng(0).normal(size=(20, 3))
    y = np.arange(20)
    design, data = Design.from_arrays(y, X)
    assert design.response == "y"
    assert [term.name for term in design.terms] == list(design.column_names) == ["x1", "x2", "x3"]
    assert [(term.start, term.stop, term.parents) for term in design.terms] == [
        (0, 1, ()),
        (1, 2, ()),
        (2, 3, ()),
    ]
    np.testing.assert_array_equal(data.X, X)
    np.testing.assert_array_equal(data.y, y)
    assert data.X.flags.f_contiguous
    assert data.y.dtype == np.float64
    data.X[:] = 0.0
    assert X.all()


def test_frames_keep_names_order_and_index():
    frame = pd.DataFrame(
        {"age": [30, 40, 50], "race": ["b", "a", "c"], 7: [True, False, True], "a b": [0.5, 1, 2]},
        index=["p", "q", "r"],
    )
    y = pd.Series([1.0, 2, 4], index=frame.index, name="outcome")
    design, data = Design.from_arrays(y, frame)
    assert design.response == "outcome"
    assert [term.name for term in design.terms] == ["age", "race", "7", "a b"]
    assert design.column_names == ("age", "race[T.b]", "race[T.c]", "7", "a b")
    np.testing.assert_array_equal(data.X, [[30, 1, 0, 1, 0.5], [40, 0, 0, 0, 1], [50, 0, 1, 1, 2]])
    pd.testing.assert_index_equal(data.index, frame.index)
    np.testing.assert_array_equal(design.transform(frame.iloc[[2, 0]]).X, data.X[[2, 0]])
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(design)).transform(frame).X, data.X)
    assert repr(design) == "<Design 'from arrays': 4 terms, 5 columns>"


def test_shapes_of_the_response_and_of_one_column():
    X = np.array([1.0, 3.0, 2.0])
    for endog in (
        [1, 2, 3],
        np.array([[1], [2], [3]]),
        pd.DataFrame({"y": [1, 2, 3]}),
        pd.Series([1, 2, 3], name="y"),
    ):
        design, data = Design.from_arrays(endog, X)
        np.testing.assert_array_equal(data.y, [1, 2, 3])
        assert design.column_names == ("x1",)
    design, _ = Design.from_arrays([1, 2, 3], pd.Series(X, name="dose"))
    assert design.column_names == ("dose",)
    np.testing.assert_array_equal(design.transform(np.array([5.0, 6.0])).X, [[5.0], [6.0]])
    _, data = Design.from_arrays(pd.Series([1, 2, 3], index=["a", "b", "c"]), X)
    assert list(data.index) == ["a", "b", "c"]


def test_missing_values_and_extras():
    X = np.array([[1.0, 2], [np.nan, 3], [4, 5], [6, np.nan], [7, 1]])
    with pytest.warns(MissingDataWarning, match=r"3 of 5 rows .*\(y: 1, x1: 1, x2: 1\)") as caught:
        _, data = Design.from_arrays([1.0, 2, np.nan, 4, 5], X, extras={"weights": [1, 2, 3, 4, 5]})
    assert caught[0].filename == __file__
    np.testing.assert_array_equal(data.positions, [0, 4])
    np.testing.assert_array_equal(data.X, X[[0, 4]])
    np.testing.assert_array_equal(data.extras["weights"], [1, 5])
    frame = pd.DataFrame({"n": [5, 6, 7], "x": [1.0, 2, 4]})
    design, data = Design.from_arrays([1.0, 0, 2], frame, extras={"weights": "n"})
    assert design.column_names == ("x",)
    np.testing.assert_array_equal(data.extras["weights"], [5, 6, 7])
    np.testing.assert_array_equal(design.transform(frame).extras["weights"], [5, 6, 7])


def test_new_rows_as_frame_or_matrix():
    X = np.random.default_rng(1).normal(size=(10, 3))
    design, _ = Design.from_arrays(np.arange(10.0), pd.DataFrame(X, columns=["a", "b", "c"]))
    np.testing.assert_array_equal(design.transform(X[:4]).X, X[:4])
    frame = pd.DataFrame(X[:4, ::-1], columns=["c", "b", "a"], index=[9, 8, 7, 6])
    rows = design.transform(frame)
    np.testing.assert_array_equal(rows.X, X[:4])
    assert list(rows.index) == [9, 8, 7, 6]
    gap = X[:3].copy()
    gap[1, 2] = np.nan
    np.testing.assert_array_equal(np.isnan(design.transform(gap).X).all(axis=1), [False, True, False])
    with pytest.raises(DataError, match=r"a matrix of 3 columns. Got shape \(4, 2\)"):
        design.transform(X[:4, :2])
    with pytest.raises(DataError, match=r"Got shape \(3,\)"):
        design.transform(X[0])
    with pytest.raises(DataError, match="Got a Series"):
        design.transform(pd.Series(X[0]))
    with pytest.raises(UnknownNameError, match="'b'"):
        design.transform(frame[["a", "c"]])
    np.testing.assert_array_equal(design.response_of({"y": [3.0]}), [3.0])


@pytest.mark.parametrize(
    ("endog", "exog", "words"),
    [
        ([1, 2], np.ones((3, 2)) * 2, "has 2 rows, but its 'exog' 3"),
        ([[1, 2], [3, 4]], np.eye(2), "'endog' of .* must be one column"),
        (["a", "b"], np.eye(2), "must be numeric or boolean"),
        ([1, 2], np.zeros((2, 2, 2)), "must be a DataFrame or a matrix"),
        ([1, 2], {"x": [1, 2]}, "Got a mapping"),
        ([1, 2], np.array([[1.0, 3], [1, 4]]), r"constant column\(s\) 'x1' of ones"),
        ([1, 2], pd.DataFrame({"const": [1.0, 1.0], "x": [1, 2]}), r"constant column\(s\) 'const' of ones"),
        ([1, 2], np.array([[1.0, np.inf], [3, 4]]), r"infinite values in the column\(s\) 'x2'"),
        ([1, np.inf], np.eye(2), r"infinite values in the column\(s\) 'y'"),
        (pd.Series([1, 2], index=[1, 2]), pd.DataFrame({"x": [1, 3]}), "same index"),
        ([1, 2], pd.DataFrame({"y": [1, 3]}), "name of the response"),
        ([1, 2], pd.DataFrame([[1, 3], [2, 4]], columns=["x", "x"]), "more than one column named 'x'"),
        ([1, 2], pd.DataFrame({"g": ["a", "a"]}), "at least two levels"),
        ([1, 2], pd.DataFrame({"t": pd.date_range("2020-01-01", periods=2)}), "days since"),
        ([], np.empty((0, 2)), "no rows"),
    ],
)
def test_bad_arrays_say_what_is_wrong(endog, exog, words):
    with pytest.raises(DataError, match=words):
        Design.from_arrays(endog, exog)


def test_a_matrix_of_objects_is_read_by_column():
    X = np.array([[1, "a"], [2, "b"], [4, "a"]], dtype=object)
    design, data = Design.from_arrays([1, 2, 3], X)
    assert design.column_names == ("x1", "x2[T.b]")
    np.testing.assert_array_equal(data.X, [[1, 0], [2, 1], [4, 0]])
    np.testing.assert_array_equal(design.transform(X).X, data.X)


def test_the_formula_of_the_same_columns_gives_the_same_terms():
    rng = np.random.default_rng(4)
    frame = pd.DataFrame(rng.normal(size=(15, 4)), columns=list("abcd"))
    y = pd.Series(rng.normal(size=15), name="y")
    arrays, data = Design.from_arrays(y, frame)
    formula, other = Design.from_formula("y ~ .", frame.assign(y=y))
    assert arrays.terms == formula.terms
    np.testing.assert_array_equal(data.X, other.X)


@pytest.mark.parametrize("at", [None, 0, 300, 7])
@pytest.mark.parametrize("kind", [float, int, bool])
def test_many_columns_are_read_from_one_matrix(at, kind, monkeypatch):
    x = np.random.default_rng(5).integers(0, 3, size=(40, 300)).astype(kind)
    frame, y = pd.DataFrame(x).add_prefix("x"), np.arange(40.0)
    if at is not None:
        frame.insert(at, "y", y)
    first, matrix = shared_matrix(frame)
    assert (matrix is not None) == (at != 7)
    if matrix is not None:
        assert np.shares_memory(matrix, frame["x9"].to_numpy())
        np.testing.assert_array_equal(matrix[:, 5], frame.iloc[:, first + 5])

    def made():
        return Design.from_formula("y ~ .", frame) if at is not None else Design.from_arrays(y, frame)

    (design, data), _ = made(), monkeypatch.setattr("pyrjsel.design.frame.MANY", 1000)
    other, wanted = made()
    assert design.terms == other.terms
    np.testing.assert_array_equal(data.X, wanted.X)
    np.testing.assert_array_equal(data.X, x)


def test_five_thousand_columns():
    X = np.random.default_rng(6).normal(size=(12, 5000))
    design, data = Design.from_arrays(np.arange(12.0), X)
    assert len(design.terms) == 5000
    np.testing.assert_array_equal(data.X, X)
    np.testing.assert_array_equal(design.transform(X).X, X)

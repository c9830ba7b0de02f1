"""Which rows a design uses: kinds of columns, missing and infinite values, weights and offsets."""

import datetime as dt
import decimal
import warnings

import numpy as np
import pandas as pd
import pytest

from pyrjsel import DataError, MissingDataWarning, ParameterError, UnknownNameError
from pyrjsel.design import Design


def column_frame(x):
    return pd.DataFrame({"y": [1.0, 2.0, 4.0, 3.0], "x": x})


NUMBERS = [1, 2, 3, 5]
NUMERIC_KINDS = {
    "int8": pd.array(NUMBERS, "int8"),
    "uint64": np.array(NUMBERS, dtype=np.uint64),
    "float32": np.array(NUMBERS, dtype=np.float32),
    "longdouble": np.array(NUMBERS, dtype=np.longdouble),
    "Int64": pd.array(NUMBERS, "Int64"),
    "UInt8": pd.array(NUMBERS, "UInt8"),
    "Float64": pd.array(NUMBERS, "Float64"),
    "object of int": np.array(NUMBERS, dtype=object),
    "object of float": np.array([1.0, 2, 3, 5], dtype=object),
    "decimals": [decimal.Decimal(value) for value in NUMBERS],
    "sparse": pd.arrays.SparseArray(NUMBERS),
}


@pytest.mark.parametrize("kind", NUMERIC_KINDS)
def test_numbers_of_every_dtype_become_floats(kind):
    frame = column_frame(NUMERIC_KINDS[kind])
    design, data = Design.from_formula("y ~ x + I(x/2)", frame)
    np.testing.assert_array_equal(data.X, np.column_stack([NUMBERS, np.array(NUMBERS) / 2]))
    np.testing.assert_array_equal(design.transform(frame).X, data.X)
    np.testing.assert_array_equal(design.transform(column_frame(np.array(NUMBERS, float))).X, data.X)


def test_columns_backed_by_pyarrow():
    pa = pytest.importorskip("pyarrow")
    decimals = [decimal.Decimal(value) for value in NUMBERS]
    for values, kind in [(NUMBERS, pa.int64()), (NUMBERS, pa.float64()), (decimals, pa.decimal128(10, 2))]:
        _, data = Design.from_formula("y ~ x", column_frame(pd.array(values, dtype=pd.ArrowDtype(kind))))
        np.testing.assert_array_equal(data.X[:, 0], NUMBERS)
    for kind in (pa.string(), pa.large_string(), pa.dictionary(pa.int32(), pa.string())):
        design, data = Design.from_formula("y ~ x", column_frame(pd.array(WORDS, dtype=pd.ArrowDtype(kind))))
        assert design.column_names == ("x[T.q]", "x[T.r]")
        np.testing.assert_array_equal(data.X, [[0, 0], [1, 0], [0, 1], [0, 0]])
    _, data = Design.from_formula("y ~ x", column_frame(pd.array(BOOLEANS, dtype=pd.ArrowDtype(pa.bool_()))))
    np.testing.assert_array_equal(data.X[:, 0], BOOLEANS)
    days = pd.array([dt.date(2020, 1, day) for day in NUMBERS], dtype=pd.ArrowDtype(pa.date32()))
    with pytest.raises(DataError, match=r"'x'.*date"):
        Design.from_formula("y ~ x", column_frame(days))


BOOLEANS = [True, False, True, True]


@pytest.mark.parametrize(
    "x",
    [np.array(BOOLEANS), pd.array(BOOLEANS, "boolean"), np.array(BOOLEANS, dtype=object)],
    ids=["bool", "boolean", "object"],
)
def test_booleans_of_every_dtype_are_one_column(x):
    frame = column_frame(x)
    design, data = Design.from_formula("y ~ x", frame)
    assert design.column_names == ("x",)
    np.testing.assert_array_equal(data.X[:, 0], [1, 0, 1, 1])
    for same in ([1, 0, 1, 1], [1.0, 0, 1, 1], BOOLEANS, pd.array(BOOLEANS, "boolean")):
        np.testing.assert_array_equal(design.transform(column_frame(same)).X, data.X)
    with pytest.raises(DataError, match=r"'x'.*boolean in the fit and must hold"):
        design.transform(column_frame([0, 1, 2, 1]))


WORDS = ["p", "q", "r", "p"]


@pytest.mark.parametrize(
    "x",
    [
        np.array(WORDS, dtype=object),
        pd.array(WORDS, "str"),
        pd.array(WORDS, "string"),
        pd.Categorical(WORDS),
        pd.Categorical(WORDS, ordered=True),
        pd.Categorical(WORDS, categories=["p", "never", "q", "r"]),
    ],
    ids=["object", "str", "string", "category", "ordered", "unused"],
)
def test_labels_of_every_dtype_have_treatment_contrasts(x):
    frame = column_frame(x)
    design, data = Design.from_formula("y ~ x", frame)
    assert design.column_names == ("x[T.q]", "x[T.r]")
    np.testing.assert_array_equal(data.X, [[0, 0], [1, 0], [0, 1], [0, 0]])
    for same in (
        WORDS,
        pd.Categorical(WORDS),
        pd.Categorical(WORDS, ["r", "q", "p", "z"]),
        pd.array(WORDS, "string"),
    ):
        np.testing.assert_array_equal(design.transform(column_frame(same)).X, data.X)


def test_levels_follow_the_categories_or_the_alphabet():
    frame = column_frame(pd.Categorical(["lo", "hi", "mid", "hi"], ["lo", "mid", "hi"]))
    assert Design.from_formula("y ~ x", frame)[0].column_names == ("x[T.mid]", "x[T.hi]")
    frame = column_frame(["lo", "hi", "mid", "hi"])
    assert Design.from_formula("y ~ x", frame)[0].column_names == ("x[T.lo]", "x[T.mid]")
    frame = column_frame(pd.Categorical([10, 9, 10, 2]))
    design, data = Design.from_formula("y ~ x", frame)
    assert design.column_names == ("x[T.9]", "x[T.10]")
    np.testing.assert_array_equal(design.transform(column_frame([10.0, 9, 10, 2])).X, data.X)
    np.testing.assert_array_equal(design.transform(column_frame(pd.array([10, 9, 10, 2], "Int64"))).X, data.X)


@pytest.mark.parametrize(
    ("x", "words"),
    [
        (pd.date_range("2020-01-01", periods=4), "Convert it to a number, such as days"),
        (pd.date_range("2020-01-01", periods=4, tz="UTC"), "Convert it to a number, such as days"),
        (pd.to_timedelta([1, 2, 3, 4], "D"), "Convert it to a number"),
        (np.array([1j, 2, 3, 4]), "real and imaginary parts"),
        (np.array([1, "a", 2, "b"], dtype=object), "such as 1 and 'a'"),
        (np.array([True, "a", False, "b"], dtype=object), "mixed"),
        ([1, 2, 3, [1]], "mixed"),
        ([dt.date(2020, 1, day) for day in (1, 2, 3, 4)], "date"),
        ([b"a", b"b", b"a", b"b"], "bytes"),
        (pd.Categorical(pd.to_datetime(["2020-01-01", "2021-01-01"] * 2)), "rename_categories"),
        (np.array([1, 2, 3, 2**53 + 1]), r"beyond 2\*\*53"),
        (pd.array([1, 2, None, 2**60], "Int64"), r"beyond 2\*\*53"),
    ],
)
def test_columns_that_cannot_be_used_are_named(x, words):
    with pytest.raises(DataError, match=words) as caught:
        Design.from_formula("y ~ x", column_frame(x))
    assert "'x'" in str(caught.value)


def test_the_response_must_be_one_numeric_column():
    frame = column_frame(WORDS)
    with pytest.raises(DataError, match=r"The response 'x' .* as in I\(x == '[pqr]'\)"):
        Design.from_formula("x ~ y", frame, events=True)
    with pytest.raises(DataError, match=r"The response 'x' .* or boolean\. Got \d labels instead; use rj"):
        Design.from_formula("x ~ y", frame)
    with pytest.raises(DataError, match=r"must be one column. Got 3"):
        Design.from_formula("bs(y, df=3) ~ x", frame)
    frame["b"] = BOOLEANS
    _, data = Design.from_formula("b ~ y", frame)
    np.testing.assert_array_equal(data.y, [1, 0, 1, 1])


def test_a_factor_of_one_level_is_named():
    with pytest.raises(DataError, match=r"factor 'x'.*at least two levels.*only 'p'"):
        Design.from_formula("y ~ x", column_frame(["p", "p", "p", "p"]))
    frame = column_frame(["p", "p", None, "q"])
    frame.loc[3, "y"] = np.nan
    with pytest.warns(MissingDataWarning), pytest.raises(DataError, match="at least two levels"):
        Design.from_formula("y ~ x", frame)
    with pytest.raises(DataError, match=r"C\(x, levels=\['p', 'q'\]\).* that are not among its levels: 'r'"):
        Design.from_formula("y ~ C(x, levels=['p', 'q'])", column_frame(WORDS))


def missing_frame():
    return pd.DataFrame(
        {
            "y": [1.0, np.nan, 3.0, 4.0, 5.0, 7.0],
            "x": pd.array([1, 2, None, 4, 5, 6], "Int64"),
            "g": ["a", "b", None, "b", "a", "b"],
            "unused": [np.nan] * 6,
            "w": [1.0, 2.0, 3.0, np.nan, 1.0, 2.0],
        },
        index=list("uvwxyz"),
    )


def test_rows_with_missing_values_are_dropped_and_counted():
    frame = missing_frame()
    with pytest.warns(MissingDataWarning) as caught:
        design, data = Design.from_formula("y ~ x*g", frame, extras={"weights": "w"})
    assert len(caught) == 1
    assert str(caught[0].message) == (
        "3 of 6 rows have missing values (y: 1, x: 1, g: 1, w: 1) and were dropped from the data of Design."
    )
    assert caught[0].filename == __file__
    assert data.missing.to_dict() == {"y": 1, "x": 1, "g": 1, "w": 1}
    assert (data.n_rows, data.n_dropped) == (6, 3)
    np.testing.assert_array_equal(data.positions, [0, 4, 5])
    assert data.positions.dtype == np.int64
    assert list(data.index) == ["u", "y", "z"]
    np.testing.assert_array_equal(data.y, [1, 5, 7])
    np.testing.assert_array_equal(data.extras["weights"], [1, 1, 2])
    np.testing.assert_array_equal(data.X[:, [design.column_names.index("x")]], [[1], [5], [6]])
    np.testing.assert_array_equal(design.transform(frame.loc[data.index]).X, data.X)


def test_no_warning_where_nothing_is_missing_that_is_used():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        _, data = Design.from_formula("y ~ x", missing_frame().loc[["u", "x", "y"]])
    assert data.missing.empty
    assert data.n_dropped == 0
    np.testing.assert_array_equal(data.positions, [0, 1, 2])


def test_missing_values_can_be_refused():
    with pytest.raises(DataError, match=r"2 of 6 rows have missing values \(y: 1, x: 1\)"):
        Design.from_formula("y ~ x", missing_frame(), missing="raise")
    with pytest.raises(ParameterError, match="'missing' parameter"):
        Design.from_formula("y ~ x", missing_frame(), missing="ignore")
    with pytest.raises(DataError, match=r"no complete row: 6 of 6 rows have missing values"):
        Design.from_formula("y ~ unused", missing_frame())
    with pytest.raises(DataError, match="have no rows"):
        Design.from_formula("y ~ x", missing_frame().iloc[:0])


@pytest.mark.parametrize("gap", [None, np.nan, pd.NaT, pd.NA], ids=["None", "NaN", "NaT", "NA"])
@pytest.mark.parametrize(
    "values", [[1, 2, 5], ["p", "q", "q"], [True, False, True]], ids=["number", "text", "boolean"]
)
def test_every_way_of_saying_missing_counts(gap, values):
    frame = column_frame(np.array([*values[:1], gap, *values[1:]], dtype=object))
    with pytest.warns(MissingDataWarning, match=r"1 of 4 rows have missing values \(x: 1\)"):
        _, data = Design.from_formula("y ~ x", frame)
    np.testing.assert_array_equal(data.positions, [0, 2, 3])


def test_levels_lost_with_the_dropped_rows_are_gone():
    frame = column_frame(pd.Categorical(["a", "b", "c", "a"]))
    frame.loc[2, "y"] = np.nan
    with pytest.warns(MissingDataWarning):
        design, _ = Design.from_formula("y ~ x", frame)
    assert design.column_names == ("x[T.b]",)
    with pytest.raises(DataError, match=r"unseen levels of the column 'x'.*'c'.*Levels in the fit: 'a', 'b'"):
        design.transform(frame)


def test_transforms_learn_from_the_rows_used_alone():
    frame = pd.DataFrame({"y": [1.0, 2, np.nan, 4], "x": [1.0, 2.0, 300.0, 3.0]})
    with pytest.warns(MissingDataWarning):
        _, data = Design.from_formula("y ~ center(x)", frame)
    np.testing.assert_array_equal(data.X[:, 0], [-1, 0, 1])


def test_infinite_values_are_named():
    frame = pd.DataFrame(
        {"y": [1.0, 2, 3], "x": [1.0, np.inf, 2], "z": [-np.inf, 1, 2], "w": [1.0, 2, np.inf]}
    )
    with pytest.raises(DataError, match=r"infinite values in the column\(s\) 'x', 'z'"):
        Design.from_formula("y ~ x + I(z > 0)", frame)
    with pytest.raises(DataError, match=r"column\(s\) 'w'"):
        Design.from_formula("y ~ 1", frame, extras={"weights": "w"})
    with pytest.raises(DataError, match=r"column\(s\) 'offset'"):
        Design.from_formula("y ~ 1", frame, extras={"offset": [0.0, np.inf, 1.0]})
    with pytest.raises(DataError, match=r"column\(s\) 'z'"):
        Design.from_formula("z ~ 1", frame)


def test_no_terms_at_all():
    design, data = Design.from_formula("y ~ 1", column_frame(NUMBERS))
    assert design.terms == design.column_names == ()
    assert data.X.shape == (4, 0)
    assert design.transform(column_frame(NUMBERS)[:2]).X.shape == (2, 0)


def test_extras_as_columns_arrays_and_series():
    frame = pd.DataFrame({"y": [1.0, 2, 3], "x": [1.0, 5, 2], "n": [10, 20, 30]}, index=["a", "b", "c"])
    shuffled = pd.Series([3.0, 1.0, 2.0], index=["c", "a", "b"])
    _, data = Design.from_formula(
        "y ~ x", frame, extras={"weights": "n", "offset": [0.5, 0, 1], "other": shuffled, "none": None}
    )
    assert set(data.extras) == {"weights", "offset", "other"}
    np.testing.assert_array_equal(data.extras["weights"], [10, 20, 30])
    np.testing.assert_array_equal(data.extras["offset"], [0.5, 0, 1])
    np.testing.assert_array_equal(data.extras["other"], [1, 2, 3])
    assert all(values.dtype == np.float64 for values in data.extras.values())


def test_missing_extras_are_missing_rows():
    frame = column_frame(NUMBERS)
    with pytest.warns(MissingDataWarning, match=r"\(weights: 1\)"):
        _, data = Design.from_formula("y ~ x", frame, extras={"weights": [1, None, 2, 3]})
    np.testing.assert_array_equal(data.extras["weights"], [1, 2, 3])
    named = frame.rename(columns={"x": "weights"}).astype({"weights": float})
    named.loc[0, "weights"] = np.nan
    with pytest.warns(MissingDataWarning, match=r"2 of 4 rows .*\(weights: 1, weights=: 1\)"):
        Design.from_formula("y ~ weights", named, extras={"weights": [1, None, 2, 3]})


@pytest.mark.parametrize(
    ("value", "error", "words"),
    [
        ("nn", UnknownNameError, "Did you mean 'n'"),
        ([1.0, 2.0], DataError, "each of the 3 rows. Got 2"),
        (np.ones((3, 2)), DataError, "one-dimensional"),
        (3.0, DataError, "one-dimensional"),
        (["a", "b", "c"], DataError, "must be numeric"),
        ("g", DataError, "must be numeric"),
        (pd.Series([1.0, 2, 3], index=["a", "b", "z"]), DataError, "index does not match"),
        (pd.Series([1.0, 2, 3], index=["a", "b", "b"]), DataError, "index does not match"),
        (pd.Series([1.0, 2]), DataError, "each of the 3 rows"),
    ],
)
def test_bad_extras_are_named(value, error, words):
    frame = pd.DataFrame({"y": [1.0, 2, 3], "n": [10, 20, 30], "g": ["a", "b", "a"]}, index=["a", "b", "c"])
    with pytest.raises(error, match=words) as caught:
        Design.from_formula("y ~ n", frame, extras={"weights": value})
    assert "weights" in str(caught.value) or "'nn'" in str(caught.value)


def test_extras_must_be_a_mapping():
    with pytest.raises(ParameterError, match="'extras' parameter"):
        Design.from_formula("y ~ x", column_frame(NUMBERS), extras=["x"])


def test_the_data_are_left_alone():
    frame = missing_frame()
    before = frame.copy()
    with pytest.warns(MissingDataWarning):
        _, data = Design.from_formula("y ~ x + g + standardize(w)", frame, extras={"offset": "w"})
    data.y[:] = 0.0
    data.X[:] = 0.0
    data.extras["offset"][:] = 0.0
    pd.testing.assert_frame_equal(frame, before)
    plain = pd.DataFrame({"y": [1.0, 2, 3], "x": [3.0, 1, 2], "w": [1.0, 1, 2]})
    before = plain.copy()
    _, data = Design.from_formula("y ~ x", plain, extras={"weights": "w"})
    data.y[:] = data.X[:, 0] = data.extras["weights"][:] = 0.0
    pd.testing.assert_frame_equal(plain, before)

"""New rows get the columns of the fit, a row at a time or all at once, or an error that says why not."""

import numpy as np
import pandas as pd
import pytest

from pyrjsel import DataError, PyrjselWarning, UnknownNameError
from pyrjsel.design import Design


@pytest.fixture
def frame():
    rng = np.random.default_rng(11)
    n = 60
    return pd.DataFrame(
        {
            "y": rng.normal(size=n),
            "g": rng.choice(["p", "q", "r"], n),
            "s": rng.random(n) < 0.5,
            "k": rng.integers(1, 4, n),
            "c": pd.Categorical(rng.choice(["lo", "hi"], n), ["lo", "hi"]),
            "x": rng.normal(size=n),
            "z": rng.exponential(size=n),
        },
        index=rng.permutation(n),
    )


FORMULAS = [
    "y ~ g*s + C(k):x",
    "y ~ bs(x, df=5) + cr(z, df=4):g + cc(z, df=3)",
    "y ~ te(cr(x, df=3), cr(z, df=3), constraints='center')",
    "y ~ standardize(x) + center(z):c + scale(k, ddof=1)",
    "y ~ bs(standardize(np.log1p(z)), df=4)*s",
    "y ~ C(g, Sum):C(c, Helmert) + I(x**2 > z) + np.where(s, x, z)",
]


@pytest.mark.parametrize("formula", FORMULAS)
def test_rows_one_by_one_equal_the_fit(formula, frame):
    design, data = Design.from_formula(formula, frame)
    whole = design.transform(frame)
    np.testing.assert_array_equal(whole.X, data.X)
    pd.testing.assert_index_equal(whole.index, frame.index)
    one_by_one = np.vstack([design.transform(frame.iloc[[i]]).X for i in range(len(frame))])
    # Matrix products of one row and of many may round their sums of 9 terms differently.
    np.testing.assert_allclose(one_by_one, data.X, rtol=0, atol=1e-14)
    order = np.random.default_rng(2).permutation(len(frame))
    np.testing.assert_allclose(design.transform(frame.iloc[order]).X, data.X[order], rtol=0, atol=1e-14)


def test_order_index_and_other_columns(frame):
    design, data = Design.from_formula("y ~ g + x", frame)
    new = frame[["z", "x", "g"]].iloc[[5, 3]].assign(more="?", other=pd.Timestamp("2020-01-01"))
    new.index = ["first", "second"]
    rows = design.transform(new)
    assert list(rows.index) == ["first", "second"]
    np.testing.assert_array_equal(rows.X, data.X[[5, 3]])
    np.testing.assert_array_equal(design.transform({"x": [1.5], "g": ["q"]}).X, [[1.0, 0.0, 1.5]])
    empty = design.transform(frame.iloc[:0])
    assert empty.X.shape == (0, 3)
    assert len(empty.index) == 0


def test_incomplete_rows_are_nan_throughout(frame):
    design, data = Design.from_formula("y ~ g + bs(x, df=4) + s", frame)
    new = frame.iloc[:5].astype({"s": "boolean"})
    new.iloc[1, new.columns.get_loc("g")] = None
    new.iloc[2, new.columns.get_loc("x")] = np.nan
    new.iloc[3, new.columns.get_loc("s")] = pd.NA
    new.iloc[4, new.columns.get_loc("z")] = np.nan
    X = design.transform(new).X
    assert np.isnan(X[1:4]).all()
    np.testing.assert_array_equal(X[[0, 4]], data.X[[0, 4]])
    gone = frame.iloc[:2].assign(x=None)
    assert np.isnan(design.transform(gone).X).all()
    assert np.isnan(design.transform({"g": [None], "x": [np.nan], "s": [None]}).X).all()


def test_unseen_levels_are_named(frame):
    design, _ = Design.from_formula("y ~ x + g*C(k)", frame)
    with pytest.raises(
        DataError,
        match=r"unseen levels of the column 'g'.*term 'g': 't', 'u'. Levels in the fit.*'p', 'q', 'r'",
    ):
        design.transform({"x": [1.0, 1, 1], "g": ["t", "p", "u"], "k": [1, 2, 3]})
    with pytest.raises(DataError, match=r"column 'k' in the term 'C\(k\)': 7"):
        design.transform({"x": [1.0], "g": ["p"], "k": [7]})
    # Floats that equal the integers of the fit are those levels.
    assert design.transform({"x": [1.0], "g": ["p"], "k": [2.0]}).X.shape == (1, len(design.column_names))


@pytest.mark.parametrize(
    ("column", "values"),
    [
        ("g", [1, 2]),
        ("g", pd.Categorical([1, 2])),
        ("x", ["1", "2"]),
        ("x", pd.Categorical(["1.0", "2.0"])),
        ("k", ["1", "2"]),
        ("s", ["True", "False"]),
        ("c", [0, 1]),
        ("c", [True, False]),
    ],
)
def test_another_kind_of_values_is_named(column, values, frame):
    design, _ = Design.from_formula("y ~ g + x + C(k) + s + c + I(g == 'p')", frame)
    new = frame.iloc[:2].assign(**{column: values})
    with pytest.raises(DataError, match=f"column '{column}' of the new data .* as in the fit"):
        design.transform(new)


def test_missing_columns_come_with_the_term_that_needs_them(frame):
    design, _ = Design.from_formula("y ~ x + np.log1p(z):g", frame)
    with pytest.raises(UnknownNameError, match=r"column 'z'.*The term 'np.log1p\(z\):g' needs it"):
        design.transform(frame[["x", "g"]])
    with pytest.raises(DataError, match="more than one column named 'x'"):
        design.transform(pd.concat([frame, frame[["x"]]], axis=1))
    for new in ([[1.0, 2.0]], np.ones((3, 3)), frame["x"], None):
        with pytest.raises(DataError, match=r"'new' of transform must be a DataFrame"):
            design.transform(new)


def test_infinite_and_undefined_inputs(frame):
    design, _ = Design.from_formula("y ~ np.log(z) + x", frame)
    with pytest.raises(DataError, match=r"infinite values in the column\(s\) 'x'"):
        design.transform({"z": [1.0, 2.0], "x": [np.inf, 1.0]})
    with pytest.raises(DataError, match=r"NaN for the term 'np.log\(z\)' in 1 of 2"):
        design.transform({"z": [1.0, -2.0], "x": [0.0, 1.0]})


def test_splines_outside_their_boundary_knots(frame):
    design, data = Design.from_formula("y ~ bs(x, df=4) + bs(z, df=3)", frame)
    inside = {"x": frame["x"].tolist(), "z": frame["z"].tolist()}
    new = {"x": [100.0, *inside["x"], 0.0, np.nan, -100.0], "z": [1.0, *inside["z"], 1e6, 1.0, -1e6]}
    with pytest.warns(
        PyrjselWarning, match=r"3 of \d+ rows are outside .* are NaN. .*'bs\(x, df=4\)'"
    ) as caught:
        found = design.transform(new)
    assert caught[0].filename == __file__
    gone = np.isnan(found.X).all(axis=1)
    assert np.flatnonzero(gone).tolist() == [0, len(frame) + 1, len(frame) + 2, len(frame) + 3]
    np.testing.assert_array_equal(found.X[~gone], data.X)
    with pytest.warns(PyrjselWarning, match="1 of 1 rows"):
        assert np.isnan(design.transform({"x": [1e9], "z": [1.0]}).X).all()
    wide, _ = Design.from_formula("y ~ bs(x, df=4, lower_bound=-100, upper_bound=100) + cr(x, df=3)", frame)
    assert np.isfinite(wide.transform({"x": [0.0, 100.0]}).X).all()


def test_extras_of_new_rows(frame):
    design, _ = Design.from_formula("y ~ x", frame, extras={"weights": "z", "offset": np.ones(len(frame))})
    new = frame.iloc[:3].copy()
    new.iloc[1, new.columns.get_loc("z")] = np.nan
    rows = design.transform(new)
    np.testing.assert_array_equal(rows.extras["weights"], [new["z"].iloc[0], np.nan, new["z"].iloc[2]])
    assert rows.extras["offset"] is None
    assert np.isfinite(rows.X).all()
    given = design.transform(new, extras={"offset": [1.0, 2, 3], "weights": None})
    np.testing.assert_array_equal(given.extras["offset"], [1, 2, 3])
    assert given.extras["weights"] is None
    np.testing.assert_array_equal(design.transform(new, extras={"offset": "x"}).extras["offset"], new["x"])
    with pytest.raises(UnknownNameError, match=r"unknown column 'z' as 'weights'"):
        design.transform(new[["x"]])
    with pytest.raises(DataError, match="each of the 3 rows"):
        design.transform(new, extras={"offset": [1.0]})


def test_the_response_of_new_rows(frame):
    design, data = Design.from_formula("I(np.log1p(z) > 0.5) ~ x", frame)
    np.testing.assert_array_equal(design.response_of(frame), data.y)
    np.testing.assert_array_equal(design.response_of({"z": [0.0, np.nan, 9.0]}), [0.0, np.nan, 1.0])
    with pytest.raises(UnknownNameError, match="column 'z'"):
        design.response_of(frame[["x"]])
    centred, data = Design.from_formula("center(y) ~ x", frame)
    np.testing.assert_array_equal(centred.response_of(frame.iloc[:4]), data.y[:4])


def test_numbers_of_the_fit_may_be_categories_in_new_rows_and_vice_versa():
    frame = pd.DataFrame({"y": np.arange(6.0), "k": [1, 2, 3] * 2, "flag": [True, False] * 3})
    design, _ = Design.from_formula("y ~ k + flag", frame)
    new = pd.DataFrame({"k": pd.Categorical([1, 2, None]), "flag": pd.Categorical([False, True, True])})
    np.testing.assert_array_equal(design.transform(new).X, [[1, 0], [2, 1], [np.nan, np.nan]])
    levels, _ = Design.from_formula("y ~ k", frame.astype({"k": "category"}))
    np.testing.assert_array_equal(levels.transform(frame[:3]).X, [[0, 0], [1, 0], [0, 1]])
    with pytest.raises(DataError, match=r"'k' .*must hold integer values.*Got categories of kind text"):
        design.transform(new.assign(k=pd.Categorical(["1", "2", "2"])))

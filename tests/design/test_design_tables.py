"""Tables of polars and pyarrow: the same designs, to the last bit, as the same rows in pandas."""

import sys

import numpy as np
import pandas as pd
import pytest

import pyrjsel as rj
from pyrjsel import DataError, MissingDataWarning
from pyrjsel.design import Design, as_pandas

pa = pytest.importorskip("pyarrow")
pytest.importorskip("narwhals")

ORDER = ["low", "mid", "high"]


def make_columns():
    """Plain lists, None where a value is missing."""
    rng = np.random.default_rng(3)
    n = 60
    dose = [ORDER[k] for k in rng.integers(0, 3, n)]
    count: list = rng.integers(0, 9, n).tolist()
    flag: list = (rng.random(n) < 0.5).tolist()
    word: list = [f"w{k}" for k in rng.integers(0, 3, n)]
    real: list = rng.normal(size=n).tolist()
    count[3], flag[10], word[20], real[30], dose[40] = None, None, None, None, None
    return {
        "y": rng.integers(0, 2, n).tolist(),
        "real": real,
        "count": count,
        "flag": flag,
        "word": word,
        "dose": dose,
        "label": rng.integers(1, 4, n).tolist(),
        "w": rng.integers(1, 4, n).tolist(),
    }


COLUMNS = make_columns()
FORMULA = "y ~ real + C(count) + flag + word + C(label) + dose:real + np.log(1 + count)"


def in_pandas(dose=None):
    frame = pd.DataFrame(COLUMNS)
    frame["count"] = frame["count"].astype("Int64")
    frame["flag"] = frame["flag"].astype("boolean")
    frame["dose"] = frame["dose"].astype(dose if dose is not None else object)
    return frame


def in_arrow(dose):
    table = pa.table(COLUMNS)
    if dose is None:
        return table
    codes = pa.array([None if name is None else ORDER.index(name) for name in COLUMNS["dose"]], pa.int8())
    column = pa.DictionaryArray.from_arrays(codes, pa.array(ORDER))
    return table.set_column(table.column_names.index("dose"), "dose", column)


def in_polars(dose):
    pl = pytest.importorskip("polars")
    frame = pl.DataFrame(COLUMNS)
    return frame if dose is None else frame.with_columns(pl.col("dose").cast(pl.Enum(ORDER)))


def design_of(data, **options):
    with pytest.warns(MissingDataWarning, match=r"5 of 60 rows have missing values"):
        return Design.from_formula(FORMULA, data, **options)


@pytest.mark.parametrize("make", [in_arrow, in_polars])
@pytest.mark.parametrize("dose", [None, pd.CategoricalDtype(ORDER)])
def test_the_design_of_a_table_is_that_of_pandas(make, dose):
    data = make(dose)
    design, rows = design_of(data, extras={"weights": "w"})
    expected, known = design_of(in_pandas(dose), extras={"weights": "w"})
    assert design.column_names == expected.column_names
    assert "C(count)[T.1]" in design.column_names  # integers that lack some stay integers
    # The reference is the first of the given order, or of the alphabet.
    assert ("dose[T.high]:real" in design.column_names) == (dose is not None)
    np.testing.assert_array_equal(rows.X, known.X)
    np.testing.assert_array_equal(rows.y, known.y)
    np.testing.assert_array_equal(rows.extras["weights"], known.extras["weights"])
    pd.testing.assert_series_equal(rows.missing, known.missing)
    np.testing.assert_array_equal(rows.positions, known.positions)
    # New rows, those with missing values among them.
    found, wanted = design.transform(data), design.transform(in_pandas(dose))
    np.testing.assert_array_equal(found.X, wanted.X)
    assert found.index.equals(pd.RangeIndex(60))


@pytest.mark.parametrize("make", [in_arrow, in_polars])
def test_fits_are_the_same_to_the_last_bit(make):
    data = make(pd.CategoricalDtype(ORDER))
    frame = in_pandas(pd.CategoricalDtype(ORDER))
    costs = {"real": 1, "word": 2, "dose": 3}
    formula = "y ~ real + word + dose"
    options = {"costs": costs, "weights": "w", "budget": 5}
    with pytest.warns(MissingDataWarning):
        models = [rj.linear(formula, rows, **options) for rows in (data, frame)]
    one, other = (model.fit(rng=1, progress=False) for model in models)
    for name in ("inclusion", "models", "coefficients"):
        pd.testing.assert_frame_equal(getattr(one, name), getattr(other, name), check_exact=True)
    pd.testing.assert_series_equal(one.predict(data), other.predict(frame), check_exact=True)


@pytest.mark.parametrize("make", [in_arrow, in_polars])
def test_matrices_responses_and_weights(make):
    data, frame = make(None), in_pandas()
    names = ["real", "label", "word"]
    wide, y, weights = data.select(names), data["y"], data["w"]
    with pytest.warns(MissingDataWarning):
        found = rj.LogitSelection(y, wide, weights=weights, costs={"real": 1, "label": 1, "word": 1})
    with pytest.warns(MissingDataWarning):
        expected = rj.LogitSelection(frame["y"], frame[names], weights=frame["w"])
    np.testing.assert_array_equal(found.data.X, expected.data.X)
    np.testing.assert_array_equal(found.data.y, expected.data.y)
    np.testing.assert_array_equal(found.data.extras["weights"], expected.data.extras["weights"])
    assert found.term_names == expected.term_names
    # A response without an index goes with rows that have one.
    labelled = frame[names].set_axis([f"r{k}" for k in range(60)])
    with pytest.warns(MissingDataWarning):
        mixed = rj.LogitSelection(y, labelled, weights=weights)
    assert mixed.data.index[0] == "r0"
    np.testing.assert_array_equal(mixed.data.X, expected.data.X)
    np.testing.assert_array_equal(mixed.data.extras["weights"], expected.data.extras["weights"])
    with pytest.raises(DataError, match="'endog' of LogitSelection has 60 rows, but its 'exog' 59"):
        rj.LogitSelection(y, labelled[1:])


@pytest.mark.filterwarnings("ignore::pyrjsel.ConvergenceWarning")
@pytest.mark.parametrize("make", [in_arrow, in_polars])
def test_patterns_kernels_and_chunks(make):
    data, frame = make(None), in_pandas()
    formula = "y ~ interactions(word, label, order=2)"
    fits = []
    for rows in (data, frame):
        with pytest.warns(MissingDataWarning):
            model = rj.pattern_logit(formula, rows)
        fits.append(model.fit(draws=20, burn_in=5, chains=1, rng=1, progress=False))
    present = frame[frame["word"].notna()]
    pd.testing.assert_frame_equal(
        fits[0].predict(as_pandas(data)[frame["word"].notna()]), fits[1].predict(present), check_exact=True
    )
    models = [rj.kernel_regression("w ~ label", rows) for rows in (data, frame)]
    np.testing.assert_array_equal(models[0].x, models[1].x)
    whole = rj.linear("w ~ label", frame)
    chunked = rj.linear("w ~ label", [data.slice(0, 20), data.slice(20, 40)])
    assert chunked.nobs == whole.nobs
    np.testing.assert_allclose(
        chunked.fit(rng=1).inclusion["posterior"], whole.fit(rng=1).inclusion["posterior"], rtol=1e-10
    )


def test_categories_of_polars_without_an_order_are_text():
    """Their order is that in which they have appeared, in this frame or, in older versions, in any."""
    pl = pytest.importorskip("polars")
    rows = pl.DataFrame(COLUMNS).sort("dose", descending=True, nulls_last=True)
    assert rows["dose"][0] == "mid"
    design, _ = design_of(rows.with_columns(pl.col("dose").cast(pl.Categorical)))
    assert [name for name in design.column_names if "dose" in name] == [
        "dose[T.low]:real",
        "dose[T.mid]:real",
    ]


def test_integers_beyond_floats_are_still_refused():
    table = pa.table({"y": [1, 2, 3], "a": [2**53 + 1, None, 3]})
    with pytest.raises(DataError, match=r"integers beyond 2\*\*53"):
        Design.from_formula("y ~ a", table)


def test_an_index_that_arrow_remembers():
    frame = pd.DataFrame({"y": [1.0, 2, 4], "a": [0.0, 1, 1]}, index=["r", "s", "t"])
    _, rows = Design.from_formula("y ~ .", pa.Table.from_pandas(frame))
    assert rows.index.tolist() == ["r", "s", "t"]


def test_errors(monkeypatch):
    with pytest.raises(DataError, match=r"table must have different column names"):
        as_pandas(pa.table([[1], [2]], names=["a", "a"]))
    pl = pytest.importorskip("polars")
    lazy = pl.DataFrame(COLUMNS).lazy()
    for make in (rj.logit, rj.linear):
        with pytest.raises(
            DataError, match=r"Got LazyFrame instead\. Call collect\(\) to make it a DataFrame"
        ):
            make("y ~ label", lazy)
    monkeypatch.setitem(sys.modules, "narwhals.stable.v1", None)
    with pytest.raises(rj.NotAvailableError, match=r"A polars DataFrame.*pip install 'pyrjsel\[tables\]'"):
        rj.logit("y ~ label", pl.DataFrame(COLUMNS))


def test_wide_integers_of_polars_are_integers():
    polars = pytest.importorskip("polars")
    plain = polars.DataFrame({"y": [1.0, 2.0, 4.0, 3.0], "k": [1, -2, 3, 3], "g": [7, 7, 8, None]})
    table = plain.cast({"k": polars.Int128, "g": polars.UInt128})
    with pytest.warns(MissingDataWarning, match="g: 1"):
        design, data = Design.from_formula("y ~ k + C(g)", table)
    np.testing.assert_array_equal(data.X, [[1, 0], [-2, 0], [3, 1]])
    assert design.layout.factors[1].levels == (7, 8)
    for value in (2**70, -(2**70)):
        beyond = table.with_columns(polars.lit(value, dtype=polars.Int128).alias("k"))
        with pytest.raises(DataError, match=r"'k' .*beyond 2\*\*53"):
            Design.from_formula("y ~ k", beyond)

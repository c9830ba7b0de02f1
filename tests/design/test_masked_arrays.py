"""A masked cell of an array of ``numpy.ma`` is a missing value, wherever arrays are taken."""

import numpy as np
import pandas as pd
import pytest

import pyrjsel as rj
from pyrjsel._validate import unmasked
from pyrjsel.sklearn import SelectionClassifier, SelectionRegressor

N, LOST = 40, [3, 17]


def column(kind, seed):
    rng = np.random.default_rng(seed)
    return {
        "float": rng.normal(size=N),
        "int": rng.integers(5, size=N),
        "bool": rng.random(N) < 0.5,
        "count": rng.integers(1, 4, size=N),
        "text": rng.choice(["a", "b", "c"], size=N),
    }[kind]


def masked(values, fill=77):
    """Return values of which some are masked, with something else beneath the mask."""
    values = np.array(values)
    if values.dtype.kind in "fi":
        values[LOST] = fill
    return np.ma.array(values, mask=np.isin(np.arange(N), LOST))


def gone(values):
    """Return the values with what pandas takes for missing."""
    return pd.Series(values).astype(object).where(~np.isin(np.arange(N), LOST), None).infer_objects()


@pytest.mark.parametrize("kind", ["float", "int", "bool", "text"])
def test_masked_cells_are_gone_and_the_rest_keeps_its_type(kind):
    found = unmasked(masked(column(kind, 1)))
    assert type(found) is np.ndarray
    assert np.flatnonzero(pd.isna(found)).tolist() == LOST
    kept = np.delete(np.arange(N), LOST)
    assert found[kept].tolist() == column(kind, 1)[kept].tolist()
    whole = unmasked(np.ma.array(column(kind, 1)))
    assert whole.dtype == column(kind, 1).dtype
    assert type(whole) is np.ndarray


ROWS = {
    "response": lambda mark: (mark(column("float", 1)), column("float", 2), {}),
    "column": lambda mark: (column("float", 1), mark(column("float", 2)), {}),
    "weights": lambda mark: (column("float", 1), column("float", 2), {"weights": mark(column("count", 3))}),
    "offset": lambda mark: (column("float", 1), column("float", 2), {"offset": mark(column("float", 3))}),
    "labels": lambda mark: (column("float", 1), {"x": mark(column("text", 2))}, {}),
}


@pytest.mark.filterwarnings("ignore::pyrjsel.PyrjselWarning")
@pytest.mark.parametrize("where", ROWS)
def test_rows_with_a_masked_cell_are_left_out_of_a_selection(where):
    def fitted(mark):
        endog, exog, options = ROWS[where](mark)
        if isinstance(exog, dict):
            return rj.linear("y ~ x", {"y": endog, **exog})
        return rj.LinearSelection(endog, exog, **options)

    one, other = fitted(masked), fitted(gone)
    assert one.nobs == N - len(LOST)
    pd.testing.assert_frame_equal(one.fit(rng=1).inclusion, other.fit(rng=1).inclusion, check_exact=True)


@pytest.mark.filterwarnings("ignore::pyrjsel.PyrjselWarning")
@pytest.mark.parametrize(
    "make",
    [
        lambda mark: rj.KernelRegression(mark(column("float", 1)), column("float", 2)),
        lambda mark: rj.KernelRegression(column("float", 1), mark(column("float", 2))),
        lambda mark: rj.PatternLogit(mark(column("int", 1)), pd.DataFrame({"x": column("text", 2)})),
        lambda mark: rj.pattern_logit(
            "y ~ interactions(x)", {"y": column("bool", 1), "x": mark(column("int", 2))}
        ),
        lambda mark: rj.MixtureClassifier(column("bool", 1), mark(column("float", 2)), missing="drop"),
    ],
    ids=["kernel response", "kernel input", "pattern response", "pattern feature", "mixture input"],
)
def test_rows_with_a_masked_cell_are_left_out_in_other_rooms(make):
    one, other = make(masked), make(gone)
    assert one.nobs == other.nobs == N - len(LOST)
    if isinstance(one, rj.PatternLogit):
        pd.testing.assert_frame_equal(one.groups, other.groups)


def test_a_masked_label_of_a_mixture_is_none():
    classes = masked(column("int", 1) > 2)
    found = rj.MixtureClassifier(classes, column("float", 2), target="joint")
    assert np.flatnonzero(np.asarray(found.y) < 0).tolist() == LOST


def test_a_masked_symbol_of_a_sequence_is_missing():
    with pytest.raises(rj.DataError, match=r"no missing values.* Got 2"):
        rj.PatternLogit.from_sequence(masked(column("text", 1)), order=1, missing="raise")


def test_masked_inputs_of_new_rows_have_no_prediction():
    x = np.column_stack([column("float", 2), column("float", 3)])
    results = rj.LinearSelection(column("float", 1), x).fit(rng=1)
    found = results.predict(np.ma.array(x, mask=np.arange(2 * N).reshape(N, 2) == 5))
    assert np.flatnonzero(found.isna()).tolist() == [2]


def test_a_function_of_a_formula_that_masks_a_cell_is_refused():
    def cut(values):
        return np.ma.masked_greater(values, 1.0)

    data = {"y": column("float", 1), "x": column("float", 2)}
    with pytest.raises(rj.DataError, match=r"NaN for the term 'cut\(x\)'"):
        rj.linear("y ~ cut(x)", data, functions={"cut": cut})


@pytest.mark.parametrize("place", range(3))
def test_scikit_learn_estimators_refuse_masked_cells_as_they_refuse_nan(place):
    given = [column("float", 2)[:, None], column("bool", 1), np.ones(N)]
    given[place] = np.ma.array(given[place], mask=np.isin(np.arange(N), LOST).reshape(given[place].shape))
    with pytest.raises(ValueError, match=r"NaN|Unknown label"):
        SelectionClassifier(random_state=1).fit(given[0], given[1], given[2])
    if place != 1:
        with pytest.raises(ValueError, match="NaN"):
            SelectionRegressor(random_state=1).fit(given[0], column("float", 4), given[2])

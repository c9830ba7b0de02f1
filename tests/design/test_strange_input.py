"""Input that no file could hold or no number stands for is refused by name, before any fit."""

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import pyrjsel as rj

N, HALF = 30, "\ud800"


def rows(**renamed):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"y": rng.normal(size=N), "b": np.arange(N) % 2, "x": rng.normal(size=N), "z": rng.normal(size=N)}
    )
    frame["c"] = pd.Series(np.array(["u", "v", "u"] * 10, dtype=object), dtype=object)
    frame.columns = pd.Index([renamed.get(name, name) for name in frame.columns], dtype=object)
    return frame


def halved():
    """Rows with half of a surrogate pair among the labels."""
    return rows().assign(c=pd.Series(["u", HALF] * 15, dtype=object))


NAMES = {
    "a term": lambda: rj.linear("y ~ .", rows(x=HALF)),
    "a column that is not used": lambda: rj.linear("y ~ z", rows(x=HALF)),
    "a quoted name": lambda: rj.linear(r"y ~ Q('\ud800')", rows(x=HALF)),
    "a response": lambda: rj.LinearSelection(pd.Series(rows()["y"].to_numpy(), name=HALF), rows()[["x"]]),
    "weights": lambda: rj.linear("y ~ z", rows(x=HALF), weights=HALF),
    "an array's column": lambda: rj.LinearSelection(rows()["y"], rows(x=HALF).drop(columns=["y", "c"])),
    "a chunk": lambda: rj.linear("y ~ .", lambda: iter([rows(x=HALF)])),
    "a mixture's input": lambda: rj.mixture_classifier("c ~ .", rows(x=HALF)),
    "a kernel's input": lambda: rj.kernel_regression("y ~ .", rows(x=HALF).drop(columns="c")),
    "a feature": lambda: rj.PatternLogit(rows()["b"], rows(c=HALF).drop(columns=["x", "y", "z"])),
    "a level": lambda: rj.linear("y ~ c", halved()),
    "a level of a function": lambda: rj.linear(
        "y ~ f(x)", rows(), functions={"f": lambda x: np.where(x > 0, HALF, "a").astype(object)}
    ),
    "a class": lambda: rj.mixture_classifier("c ~ x", halved()),
    "a class of patterns": lambda: rj.PatternLogit(halved()["c"], rows()[["b"]]),
    "a level of patterns": lambda: rj.PatternLogit(rows()["b"], halved()[["c"]]),
    "a symbol": lambda: rj.PatternLogit.from_sequence("ab" * 20 + HALF + "a", order=1),
}


@pytest.mark.parametrize("what", NAMES)
def test_names_that_are_no_unicode_are_refused(what):
    with pytest.raises(rj.DataError, match=r"must be valid Unicode. Got '\\ud800' instead"):
        NAMES[what]()


@pytest.mark.parametrize("levels", ["[None]", "[None, 'u', 'v']", "['u', ['v']]"])
def test_levels_that_are_no_labels_are_refused(levels):
    with pytest.raises(rj.FormulaError, match="levels= that is not a list of distinct numbers or strings"):
        rj.linear(f"y ~ C(c, levels={levels})", rows())


@pytest.mark.parametrize(
    "exog", [rows()[[]], np.empty((N, 0)), pd.DataFrame(index=range(N))], ids=["frame", "array", "index"]
)
def test_a_pattern_model_needs_a_column(exog):
    with pytest.raises(rj.DataError, match="'exog' of PatternLogit must have at least one column"):
        rj.PatternLogit(rows()["b"], exog)


def of(values):
    return {"f": lambda x: np.array([values[int(number > 0)] for number in x], dtype=object)}


MODELS = {
    "selection": lambda formula, functions: rj.linear(formula.format("y"), rows(), functions=functions),
    "kernel": lambda formula, functions: rj.kernel_regression(
        formula.format("y"), rows(), functions=functions
    ),
    "mixture": lambda formula, functions: rj.mixture_classifier(
        formula.format("c"), rows(), functions=functions
    ),
}


@pytest.mark.parametrize("room", MODELS)
@pytest.mark.parametrize("values", [[10**400, 1], [10**400, 1.5]], ids=["int", "mixed"])
def test_integers_beyond_every_float_are_refused(room, values):
    with pytest.raises(rj.DataError, match=r"integers too large for floats in 'f\(x\)'"):
        MODELS[room]("{} ~ f(x)", of(values))


@pytest.mark.parametrize("values", [[Fraction(10**400, 3), 1], [1j, 2j], ["a", 1]])
def test_levels_of_other_kinds_are_refused(values):
    with pytest.raises(rj.DataError, match="text, numbers or booleans"):
        rj.linear("y ~ C(f(x))", rows(), functions=of(values))
    with pytest.raises(rj.DataError, match=r"text, numbers or booleans|mixed kind"):
        rj.pattern_logit("b ~ interactions(C(f(x)))", rows(), functions=of(values))


@pytest.mark.parametrize("kind", ["complex128", "datetime64[ns]"])
def test_arrays_that_are_no_numbers_do_not_reach_transforms(kind):
    with pytest.raises(rj.FormulaError, match=f"an array of {kind.replace('[', '.').replace(']', '.')}"):
        rj.linear("y ~ center(f(x))", rows(), functions={"f": lambda x: x.astype(np.int64).astype(kind)})


@pytest.mark.parametrize("options", [{}, {"budget": 5.0}, {"budget": 1e308}])
@pytest.mark.parametrize("cost", [1e308, 1e150])
def test_prices_whose_sums_are_no_numbers_are_refused(cost, options):
    prices = {"x": cost, "z": cost}
    with pytest.raises(rj.ParameterError, match=r"'costs' parameter of .* add up to at most 1e\+150"):
        rj.linear("y ~ x + z", rows(), costs=prices, **options)
    with pytest.raises(rj.ParameterError, match=r"'costs' parameter of .* add up to at most 1e\+150"):
        rj.mixture_classifier("c ~ x + z", rows(), costs=prices, **options)


@pytest.mark.filterwarnings("ignore::pyrjsel.ConvergenceWarning")
def test_large_prices_are_taken_whose_sums_are_numbers():
    results = rj.linear("y ~ x + z", rows(), costs={"x": 4e149, "z": 4e149}, budget=1e150).fit(
        sampler="collapsed", draws=50, chains=2, rng=1
    )
    assert set(results.models["cost"]) <= {0.0, 4e149, 8e149}
    assert np.isfinite(results.draws.cost.std())
    assert len(str(results.summary())) > 0


def test_relative_costs_whose_odds_are_no_numbers_are_refused():
    with pytest.raises(rj.ParameterError, match="CostAdjusted must give finite prior odds"):
        rj.linear("y ~ x + z", rows(), model_prior=rj.CostAdjusted({"x": 1e308, "z": 1e-308}))


ODD = {
    "records": np.zeros(6, dtype=[("a", "f8")]),
    "raw bytes": np.zeros(6, dtype="V8"),
    "integers of 128 bits": "Int128",
}


def odd(kind):
    if kind != "integers of 128 bits":
        return ODD[kind]
    polars = pytest.importorskip("polars")
    return polars.Series([2**100, *range(5)], dtype=polars.Int128)


@pytest.mark.parametrize("kind", ODD)
def test_types_that_pandas_does_not_have_are_refused_in_every_room(kind):
    values, y = odd(kind), np.array([0.0, 1.0, 1.0, 0.0, 1.0, 0.0])
    for call in (
        lambda: rj.LinearSelection(values, y),
        lambda: rj.LinearSelection(y, values),
        lambda: rj.LinearSelection(y, y[::-1], weights=values),
        lambda: rj.logit("y ~ x", {"y": y, "x": values}),
        lambda: rj.KernelRegression(y, values),
        lambda: rj.KernelRegression(values, y),
        lambda: rj.MixtureClassifier(y, values),
        lambda: rj.PatternLogit(values, {"x": y}),
        lambda: rj.PatternLogit.from_sequence(values, order=1),
    ):
        with pytest.raises(rj.DataError, match=r"must (be|hold)|cannot be converted to pandas|beyond 2"):
            call()


def test_integers_of_128_bits_are_integers():
    polars = pytest.importorskip("polars")
    x = polars.Series([1, 2, 3, 3, 2, 1], dtype=polars.Int128)
    y = [1.0, 2.0, 4.0, 3.0, 2.5, 1.5]
    found = [
        rj.linear("y ~ C(x)", data).fit().inclusion
        for data in ({"x": x, "y": y}, polars.DataFrame({"x": x, "y": y}), {"x": x.to_list(), "y": y})
    ]
    for one in found[:2]:
        pd.testing.assert_frame_equal(one, found[2])


def test_text_that_no_file_can_hold_is_refused_in_arrays():
    """Half of a surrogate pair, which pandas' own text cannot hold either."""
    y, text = np.arange(6.0) % 4, np.array(["\udcff", "b"] * 3)
    with pytest.raises(rj.DataError, match=r"levels of the factor 'x1' .* valid Unicode"):
        rj.LinearSelection(y, text)
    with pytest.raises(rj.DataError, match="must be numeric or boolean"):
        rj.MixtureClassifier(y > 1, text)


@pytest.mark.parametrize("kind", ODD)
def test_training_data_of_such_types_are_refused_by_load(kind, tmp_path):
    y, x = np.array([0.0, 1.0, 1.5, 0.0, 1.0, 0.5]), np.arange(6.0)
    rj.LinearSelection(y, x).fit().save(tmp_path / "a.rj")
    for data in ((odd(kind), x), (y, odd(kind)), ([[1], [1, 2]] * 3, x)):
        with pytest.raises(rj.DataError, match=r"must (be|hold)|cannot be converted to pandas|beyond 2"):
            rj.load(tmp_path / "a.rj", data=data)


@pytest.mark.filterwarnings("ignore::pyrjsel.PyrjselWarning")
def test_numbers_are_no_labels_of_a_fit(tmp_path):
    labels, x = np.array(["u", "v", "w"] * 4), np.arange(12.0) % 5
    rj.MultinomialSelection(labels, x).fit(rng=1).save(tmp_path / "a.rj")
    with pytest.raises(rj.DataError, match=r"must (be labels|hold text)"):
        rj.load(tmp_path / "a.rj", data=(x, x))


@pytest.mark.parametrize(
    "classes", [np.array(2), {0, 1}, b"ab", np.array([1, 2], "m8[D]"), np.zeros(2, [("a", "f8")])], ids=str
)
def test_classes_are_an_ordered_sequence_of_labels(classes):
    with pytest.raises(rj.ParameterError, match=r"'classes' parameter .* must be a sequence of two or more"):
        rj.MixtureClassifier([0, 1] * 3, np.arange(6.0), classes=classes)


def test_numbers_in_an_array_without_dimensions():
    y, x = [0, 1] * 3, np.arange(6.0)
    with pytest.raises(rj.ParameterError, match=r"'components' parameter .* must be an int"):
        rj.MixtureClassifier(y, x, components=np.array(2.5))
    with pytest.raises(rj.ParameterError, match=r"'width' parameter .* must be a positive number"):
        rj.KernelRegression(y, x, width=np.array(2.0))

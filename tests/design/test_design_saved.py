"""A design goes to plain data or a pickle and back, and computes the same bits."""

import copy
import json
import pickle
import warnings

import numpy as np
import pandas as pd
import pytest

from pyrjsel import DataError, ParameterError, PyrjselError, PyrjselWarning
from pyrjsel.design import Design


def make_frame(n=50):
    rng = np.random.default_rng(5)
    return pd.DataFrame(
        {
            "y": rng.normal(size=n),
            "g": rng.choice(["p", "q", "r"], n),
            "s": rng.random(n) < 0.5,
            "k": pd.Categorical(rng.integers(1, 4, n)),
            "x": rng.normal(size=n),
            "z": rng.exponential(size=n),
            "a 'b'": rng.normal(size=n),
        }
    )


FORMULAS = [
    "y ~ .",
    "y ~ 1",
    "center(y) ~ g*s*x + k:z",
    "y ~ bs(x, df=5) + cr(z, df=4, constraints='center'):g + cc(z, df=3)",
    "y ~ te(cr(x, df=3), bs(standardize(z), df=4), constraints='center')",
    "I(g == 'p') ~ standardize(x) + C(k, Poly):center(z) + scale(x, rescale=False)",
    "np.log(z) ~ C(g, [[1, 0], [0, 1], [-1, -1]]) + np.where(s, x, z) + Q(\"a 'b'\")",
]


def only_plain(value):
    if isinstance(value, dict):
        return all(type(key) is str and only_plain(item) for key, item in value.items())
    if isinstance(value, list):
        return all(only_plain(item) for item in value)
    if isinstance(value, np.ndarray):
        return value.dtype == np.float64
    return value is None or type(value) in (str, int, float, bool)


@pytest.mark.parametrize("formula", FORMULAS)
def test_plain_data_and_pickles_give_the_same_design(formula):
    frame = make_frame()
    design, data = Design.from_formula(
        formula, frame, extras={"weights": "z", "offset": np.zeros(len(frame))}
    )
    state = design.to_dict()
    assert only_plain(state)
    for other in (Design.from_dict(state), pickle.loads(pickle.dumps(design)), copy.deepcopy(design)):
        assert other.terms == design.terms
        assert other.column_names == design.column_names
        assert (other.formula, other.response) == (design.formula, design.response)
        np.testing.assert_array_equal(other.transform(frame).X, data.X)
        np.testing.assert_array_equal(other.response_of(frame), data.y)
        assert other.transform(frame).extras.keys() == {"weights", "offset"}
        again = other.to_dict()
        assert repr(again) == repr(state)


def through_json(value):
    """Return plain data as a file would: arrays of numbers through their exact text, tuples as lists."""

    def encode(item):
        return {"array": [number.hex() for number in item.ravel().tolist()], "shape": item.shape}

    def decode(item):
        if item.keys() == {"array", "shape"}:
            return np.array([float.fromhex(number) for number in item["array"]]).reshape(item["shape"])
        return item

    return json.loads(json.dumps(value, default=encode), object_hook=decode)


@pytest.mark.parametrize("formula", FORMULAS)
def test_a_file_in_between_changes_nothing(formula):
    frame = make_frame()
    design, data = Design.from_formula(formula, frame)
    other = Design.from_dict(through_json(design.to_dict()))
    np.testing.assert_array_equal(other.transform(frame).X, data.X)


def test_read_only_arrays_are_fine_and_not_kept():
    frame = make_frame()
    design, data = Design.from_formula("y ~ bs(x, df=4) + g", frame)
    state = design.to_dict()
    state["factors"][0]["transforms"][0]["knots"].flags.writeable = False
    other = Design.from_dict(state)
    np.testing.assert_array_equal(other.transform(frame).X, data.X)
    design.to_dict()["terms"][1]["parts"][0]["contrasts"][0][:] = 7.0
    np.testing.assert_array_equal(design.transform(frame).X, data.X)


def test_no_rows_of_data_are_inside():
    frame = make_frame(5000)
    frame["g"] = np.where(frame["x"] > 0, "p", "q")
    design, _ = Design.from_formula("y ~ bs(x, df=5) + g*standardize(z)", frame)
    # Knots, means, contrasts and names; 5,000 rows of one column would be 40,000 bytes.
    assert len(pickle.dumps(design)) < 6_000


def halved(values):
    return values / 2


def test_users_functions_are_asked_for():
    frame = make_frame()
    design, data = Design.from_formula("y ~ halved(x)*g", frame, functions={"halved": halved, "idle": abs})
    assert design.to_dict()["functions"] == ["halved"]
    with pytest.raises(ParameterError, match=r"'functions' parameter of from_dict must be .*'halved'"):
        Design.from_dict(design.to_dict())
    other = Design.from_dict(design.to_dict(), {"halved": halved})
    np.testing.assert_array_equal(other.transform(frame).X, data.X)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(design)).transform(frame).X, data.X)
    local, _ = Design.from_formula("y ~ f(x)", frame, functions={"f": lambda v: v})
    with pytest.raises((pickle.PicklingError, AttributeError)):
        pickle.dumps(local)


def paths(value, start=()):
    """Yield the place of everything in nested plain data."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield (*start, key)
        yield from paths(item, (*start, key))


def changed(state, path, make):
    state = copy.deepcopy(state)
    target = state
    for key in path[:-1]:
        target = target[key]
    make(target, path[-1])
    return state


WRONG = [
    None,
    3,
    -1,
    2.5,
    True,
    "x",
    "np.load('x')",
    [],
    [1],
    {},
    {"a": 1},
    np.zeros(3),
    np.zeros((2, 2)),
    np.full(1, np.nan),
]


def test_malformed_plain_data_give_errors_of_the_package():
    frame = make_frame()
    design, _ = Design.from_formula(
        "y ~ g*bs(x, df=4) + halved(z)", frame, functions={"halved": halved}, extras={"weights": "z"}
    )
    state = design.to_dict()
    functions = {"halved": halved}
    count = 0
    for path in list(paths(state)):

        def drop(target, key):
            del target[key]

        for wrong in [drop, *WRONG]:

            def put(target, key, wrong=wrong):
                target[key] = wrong

            broken = changed(state, path, drop if wrong is drop else put)
            try:
                read = Design.from_dict(broken, functions)
            except PyrjselError:
                count += 1
                continue
            try:
                with warnings.catch_warnings():
                    # Changed knots leave rows outside them.
                    warnings.filterwarnings("ignore", ".*outside the boundary knots", PyrjselWarning)
                    read.transform(frame)
            except PyrjselError:
                count += 1
    # Most changes make no sense; the rest (another formula text, another name of a column) are read.
    assert count > 800
    for nothing in (None, 3, "x", [], {}):
        with pytest.raises(DataError, match="saved design given to from_dict cannot be read"):
            Design.from_dict(nothing)
    with pytest.raises(DataError, match="version 99"):
        Design.from_dict({**state, "version": 99}, functions)


def test_designs_are_frozen():
    design, _ = Design.from_formula("y ~ x", make_frame())
    with pytest.raises(AttributeError):
        design.formula = "y ~ z"
    with pytest.raises(AttributeError):
        design.terms[0].name = "z"
    assert repr(design) == "<Design 'y ~ x': 1 term, 1 column>"

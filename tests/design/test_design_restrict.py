"""A design of some of the terms: the same columns of fewer variables, as plain data too."""

import pickle

import numpy as np
import pandas as pd
import pytest

from pyrjsel import UnknownNameError
from pyrjsel.design import Design


def half(values):
    return values / 2


def make_frame(n=40):
    rng = np.random.default_rng(8)
    return pd.DataFrame(
        {
            "y": rng.normal(size=n),
            "g": rng.choice(["p", "q", "r"], n),
            "s": rng.random(n) < 0.5,
            "x": rng.normal(size=n),
            "z": rng.exponential(size=n),
            "a b": rng.normal(size=n),
        }
    )


FORMULA = "np.log(z) ~ g*s + bs(x, df=4) + half(x):g + Q('a b') + center(x):Q('a b') + half(Q('a b'))"


@pytest.mark.parametrize(
    ("keep", "formula", "needed"),
    [
        (["g:s"], "np.log(z) ~ g:s", ["g", "s"]),
        (["a b", "g"], "np.log(z) ~ g + Q('a b')", ["g", "a b"]),
        (["center(x):a b"], "np.log(z) ~ center(x):Q('a b')", ["x", "a b"]),
        (["bs(x, df=4)", "half(x):g"], "np.log(z) ~ bs(x, df=4) + half(x):g", ["g", "x"]),
        ([], "np.log(z) ~ 1", []),
    ],
)
def test_kept_terms_have_the_columns_that_they_had(keep, formula, needed):
    frame = make_frame()
    functions = {"half": half}
    whole, data = Design.from_formula(FORMULA, frame, functions=functions, extras={"weights": "z"})
    design = whole.restrict(keep)
    assert sorted(term.name for term in design.terms) == sorted(keep)
    assert design.formula == formula
    parts = [data.X[:, term.start : term.stop] for term in whole.terms if term.name in keep]
    expected = np.hstack([np.empty((len(frame), 0)), *parts])
    assert list(design.column_names) == [
        name for term in whole.terms if term.name in keep for name in term.columns
    ]
    called = {"half": half} if any("half" in name for name in keep) else {}
    assert dict(design.functions) == called
    state = design.to_dict()
    for other in (design, Design.from_dict(state, called), pickle.loads(pickle.dumps(design))):
        assert other.terms == design.terms
        assert other.formula == design.formula
        rows = other.transform(frame[needed], extras={"weights": None})
        np.testing.assert_array_equal(rows.X, expected)
        np.testing.assert_array_equal(other.response_of(frame[["z"]]), data.y)
        assert repr(other.to_dict()) == repr(state)
    again, _ = Design.from_formula(design.formula, frame, functions=functions)
    assert [term.name for term in again.terms] == [term.name for term in design.terms]
    assert [term.factors for term in again.terms] == [term.factors for term in design.terms]


def test_what_is_part_of_what_is_worked_out_anew():
    frame = make_frame().rename(columns={"a b": "w"})
    whole, _ = Design.from_formula("y ~ x*z*w", frame)
    three = {term.name: term for term in whole.restrict(["x", "z:w", "x:z:w"]).terms}
    assert three["x:z:w"].parents == three["x:z:w"].near_parents == (0, 1)
    assert whole.terms[-1].parents == (0, 1, 2, 3, 4, 5)


def test_learned_transforms_do_not_look_at_new_rows():
    frame = make_frame()
    whole, data = Design.from_formula("y ~ z + standardize(x)", frame)
    rows = whole.restrict(["standardize(x)"]).transform(frame[["x"]][:5])
    np.testing.assert_array_equal(rows.X, data.X[:5, [1]])


def test_arrays():
    x = np.random.default_rng(2).normal(size=(20, 4))
    whole, _ = Design.from_arrays(x[:, 0] > 0, x)
    design = whole.restrict(["x4", "x2"])
    assert (design.formula, design.column_names) == ("", ("x2", "x4"))
    np.testing.assert_array_equal(design.transform(x[:3, [1, 3]]).X, x[:3, [1, 3]])
    np.testing.assert_array_equal(Design.from_dict(design.to_dict()).transform(x[:, [1, 3]]).X, x[:, [1, 3]])


def test_a_name_that_is_no_term_is_refused():
    whole, _ = Design.from_formula("y ~ x + z", make_frame())
    with pytest.raises(UnknownNameError, match=r"restrict got an unknown term 'xx' in 'keep'"):
        whole.restrict(["x", "xx"])

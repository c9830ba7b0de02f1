"""Factors whose levels can merge: the columns of the factor, each level a term of its own."""

import numpy as np
import pandas as pd
import pytest

import pyrjsel as rj
from pyrjsel import DataError, FormulaError
from pyrjsel.design import Design, Work, as_chunks

N = 120


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(1)
    return pd.DataFrame(
        {
            "y": rng.normal(size=N),
            "x": rng.choice(list("abcd"), N),
            "k": rng.integers(0, 3, N),
            "z": rng.normal(size=N),
            "a b": rng.choice(["u", "v", "w"], N),
        }
    )


FORMULAS = {
    "C(x, merge=True)": ["x[b]", "x[c]", "x[d]"],
    "C(k, Treatment(1), merge=True)*z": ["k[0]", "k[2]", "z", "k[0]:z", "k[2]:z"],
    "C(x, levels=['d', 'c', 'b', 'a'], merge=True)": ["x[c]", "x[b]", "x[a]"],
    "C(x, merge=True):z": ["x[a]:z", "x[b]:z", "x[c]:z", "x[d]:z"],
    "C(x, None, merge=True):k + C(Q('a b'), merge=True)": [
        *["a b[v]", "a b[w]"],
        *["x[a]:k", "x[b]:k", "x[c]:k", "x[d]:k"],
    ],
    "C(k, merge=True):bs(z, df=4) + z": [
        *["z", "k[0]:bs(z, df=4)", "k[1]:bs(z, df=4)", "k[2]:bs(z, df=4)"],
    ],
    # Without main effects the columns that lack one of the factors are terms too.
    "C(k, merge=True):C(Q('a b'))": ["C(a b)", "k[1]:C(a b)", "k[2]:C(a b)"],
    "C(k, merge=True)*C(Q('a b'), merge=True)": [
        *["k[1]", "k[2]", "a b[v]", "a b[w]"],
        *["k[1]:a b[v]", "k[2]:a b[v]", "k[1]:a b[w]", "k[2]:a b[w]"],
    ],
    "C(x, merge=False) + z": ["C(x, merge=False)", "z"],
}


@pytest.mark.parametrize("right", FORMULAS)
def test_the_columns_are_those_of_the_factor_and_each_level_is_a_term(frame, right):
    design, rows = Design.from_formula(f"y ~ {right}", frame)
    names = [term.name for term in design.terms]
    assert sorted(names) == sorted(FORMULAS[right])
    assert [term.name for term in design.terms if term.order == 1] == [
        name for name in FORMULAS[right] if ":" not in name
    ]
    plain = right.replace(", merge=True", "").replace(", merge=False", "")
    _, expected = Design.from_formula(f"y ~ {plain}", frame)
    assert sorted(map(tuple, rows.X.T)) == sorted(map(tuple, expected.X.T))
    for place, term in enumerate(design.terms):
        if term.stop - term.start == 1:
            assert term.columns == (term.name,)
        # The definition of a parent: every factor of it is a factor of the term.
        near = [i for i, one in enumerate(design.terms) if set(one.factors) < set(term.factors)]
        assert list(term.parents) == near, place

    shuffled = frame.sample(30, random_state=1)
    state = design.to_dict()
    for other in (design, Design.from_dict(state), design.restrict(names[1:])):
        columns = [list(design.column_names).index(name) for name in other.column_names]
        assert np.array_equal(other.transform(shuffled).X, rows.X[shuffled.index][:, columns])
    assert Design.from_dict(state).terms == design.terms

    def stacked(one, other):
        return np.vstack([one, other])

    chunks = as_chunks([frame[:50], frame[50:51], frame[51:]])
    for listed in (None, names[::-1], names[1:]):
        drawn, reduced = Design.from_chunks(
            f"y ~ {right}", chunks, lambda left: Work(lambda data: data.X, stacked), listed=listed
        )
        assert [term.name for term in drawn.terms] == list(listed or names)
        columns = [list(design.column_names).index(name) for name in drawn.column_names]
        # Splines get the same knots from chunks; products may differ in the order of factors, not in bits.
        assert np.array_equal(reduced.value, rows.X[:, columns])


@pytest.mark.parametrize(
    ("right", "reason"),
    [
        ("C(x, Sum, merge=True)", "its contrast must be Treatment"),
        ("C(x, [[0], [1], [1], [1]], merge=True)", "its contrast must be Treatment"),
        ("C(x, merge=1)", "merge= must be True or False"),
        ("C(x, merge=z)", "merge= must be True or False"),
        ("I(C(x, merge=True) == 'a')", "cannot be part of another expression"),
        ("C(x, merge=True, fuse=True)", "contrast=, levels= and merge="),
        ("C(x, merge=True) + C(x, levels=['a', 'b', 'c', 'd'], merge=True)", "two terms the name 'x\\[b\\]'"),
    ],
)
def test_what_merging_cannot_be_is_refused(frame, right, reason):
    with pytest.raises(FormulaError, match=reason):
        Design.from_formula(f"y ~ {right}", frame)


def test_labels_that_are_not_coded_do_not_merge(frame):
    with pytest.raises(FormulaError, match="labels cannot have one"):
        rj.pattern_logit("C(k > 0) ~ interactions(C(x, merge=True), z > 0)", frame)


def test_levels_of_new_rows_and_of_files_are_those_of_the_fit(frame):
    design, _ = Design.from_formula("y ~ C(x, merge=True)", frame)
    with pytest.raises(DataError, match=r"unseen levels of the column 'x' in the term 'x\[b\]': 'q'"):
        design.transform(frame.assign(x="q"))
    for level in (4, -1, True, "b"):
        state = design.to_dict()
        state["factors"][1]["level"] = level
        with pytest.raises(DataError, match="cannot be read"):
            Design.from_dict(state)

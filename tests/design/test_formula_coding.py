"""Columns, names and order of a formula against patsy's own, and what terms say about each other."""

import numpy as np
import pandas as pd
import patsy
import pytest

import pyrjsel as rj
from pyrjsel import DataError, FormulaError, MissingDataWarning, ParameterError, UnknownNameError
from pyrjsel.design import Design


def make_frame(n=120, seed=0):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "y": rng.normal(size=n),
            "a": rng.choice(["red", "green", "blue"], n),
            "b": rng.choice(["u", "v"], n),
            "c": pd.Categorical(rng.choice(["lo", "mid", "hi"], n), ["lo", "mid", "hi"], ordered=True),
            "x": rng.normal(size=n),
            "z": rng.exponential(size=n) + 0.1,
            "k": rng.integers(1, 4, n),
            "a b": rng.normal(size=n),
            "class": rng.normal(size=n),
        }
    )


SAME_AS_PATSY = [
    "x",
    "x + z + k",
    "a + b + x",
    "x + a",
    "c + x:c",
    "a*b",
    "a*b*x",
    "a:b",
    "a:b + x:a",
    "x + a:x + C(k)",
    "(a + x + z)**2",
    "(a + b + c + x)**3 - a:b",
    "a/x + z",
    "(a + b)/x",
    "x/(z + k)",
    "bs(x, df=5) + cr(z, df=4, constraints=None) + cc(z, df=4, constraints=None)",
    "bs(x, knots=[-0.5, 0.5], degree=2, lower_bound=-5, upper_bound=5):a",
    "te(cr(x, df=3), cc(z, df=4), constraints='center')",
    "cr(z, df=3, constraints='center')",
    "bs(np.log(z), df=4):x",
    "C(a, Treatment('red')) + C(k, Sum) + C(c, Poly)",
    "C(a, Helmert):C(b, Diff) + C(k, Treatment(reference=2))",
    "C(k, levels=[3, 1, 2])",
    "C(k, [[1, 0], [0, 1], [-1, -1]])",
    "I(x**2) + I(x*z - 1) + x//2 + x%2",
    "np.where(x > 0, x, 2) + np.minimum(x, z) + np.clip(x, -1, 1)",
    "np.log(z) + np.log1p(z) + np.sqrt(z)*a + np.round(z, 1)",
    "C(np.floor(z)) + x",
    "Q('a b'):x + Q(\"class\")",
    "x + z - x",
    "1",
]


def by_patsy(right, frame):
    """Return terms, names of their columns and the columns as patsy has them, by degree and then as written.

    patsy itself sorts by numeric factors first, when it makes the columns.
    """
    matrix = patsy.dmatrix(right, frame)
    info = matrix.design_info
    written = sorted(patsy.ModelDesc.from_formula(right).rhs_termlist, key=lambda term: len(term.factors))
    order = [info.term_slices[term] for term in written if term.factors]
    places = [place for where in order for place in range(where.start, where.stop)]
    names = []
    for name in (info.column_names[place] for place in places):
        for quoted in ("a b", "class"):
            name = name.replace(f"Q('{quoted}')", quoted).replace(f'Q("{quoted}")', quoted)
        names.append(name)
    terms = [term.name() for term in written if term.factors]
    return terms, [where.stop - where.start for where in order], names, np.asarray(matrix)[:, places]


@pytest.mark.parametrize("right", SAME_AS_PATSY)
def test_columns_equal_those_of_patsy(right):
    frame = make_frame()
    design, data = Design.from_formula(f"y ~ {right}", frame)
    _, _, names, expected = by_patsy(right, frame)
    assert list(design.column_names) == names
    # The same products of the same numbers in the same order: equal to the bit.
    np.testing.assert_array_equal(data.X, expected)
    assert data.X.flags.f_contiguous
    assert data.X.dtype == np.float64
    np.testing.assert_array_equal(data.y, frame["y"])


@pytest.mark.parametrize("seed", range(5))
def test_random_formulas_equal_those_of_patsy(seed):
    rng = np.random.default_rng(seed)
    frame = make_frame(80, seed + 100)
    pieces = ["x", "z", "k", "a", "b", "c", "C(k)", "np.log(z)", "bs(x, df=4)"]
    for _ in range(6):
        terms = [":".join(rng.choice(pieces, rng.integers(1, 4), replace=False)) for _ in range(5)]
        right = " + ".join(terms)
        design, data = Design.from_formula(f"y ~ {right}", frame)
        names, widths, _, expected = by_patsy(right, frame)
        np.testing.assert_array_equal(data.X, expected)
        assert [term.name for term in design.terms] == names
        assert [term.stop - term.start for term in design.terms] == widths
        assert [term.start for term in design.terms] == [sum(widths[:place]) for place in range(len(widths))]


@pytest.mark.parametrize(
    ("right", "order"),
    [
        ("x + c + b + x:b", "x c b x:b"),
        ("x:a + b:a + z + a", "z a x:a b:a"),
        ("x*a*z", "x a z x:a x:z a:z x:a:z"),
        ("z + a + x + a:x - a", "z x a:x"),
        ("a:b:x + b:x + c", "c b:x a:b:x"),
        # A power stands where it is named, but after its parents.
        ("z + poly(x, 3) + a", "z x I(x**2) I(x**3) a"),
        ("I(x**2) + z + x + a", "z x I(x**2) a"),
        ("I(x**3) + I(x**2) + x + z", "x I(x**2) I(x**3) z"),
        ("I(x**2):z + x:z + z", "z x:z I(x**2):z"),
        ("I(x**4) + x:I(x**2) + x + z", "x z x:I(x**2) I(x**4)"),
    ],
)
def test_terms_are_listed_by_degree_and_then_as_the_formula_names_them(right, order):
    frame = make_frame()
    design, data = Design.from_formula(f"y ~ {right}", frame)
    assert [term.name.replace(" ** ", "**") for term in design.terms] == order.split()
    assert data.X.shape[1] == design.terms[-1].stop
    for term in design.terms:
        assert all(parent < design.terms.index(term) for parent in term.parents)
    # The same columns read back, and from the formula of its terms written out.
    again = Design.from_dict(design.to_dict())
    assert again.column_names == design.column_names
    np.testing.assert_array_equal(again.transform(frame).X, data.X)
    written, same = Design.from_formula(design.restrict([t.name for t in design.terms]).formula, frame)
    assert written.column_names == design.column_names
    np.testing.assert_array_equal(same.X, data.X)


@pytest.mark.parametrize(
    "right",
    ["center(x)", "standardize(z)", "scale(x, ddof=1)", "standardize(x, rescale=False)", "center(k):x"],
)
def test_centring_and_scaling_equal_those_of_patsy(right):
    frame = make_frame()
    _, data = Design.from_formula(f"y ~ {right}", frame)
    expected = np.asarray(patsy.dmatrix(right, frame))[:, 1:]
    # patsy sums row by row and numpy pairwise: a few ulps of values of order one.
    np.testing.assert_allclose(data.X, expected, rtol=0, atol=1e-13)


def test_transforms_of_transforms():
    frame = make_frame()
    design, data = Design.from_formula("y ~ bs(standardize(x), df=4):a + center(center(z) + 5)", frame)
    # patsy loses the boundary knots of this one in the last bit, so it gets the inner transform ready made.
    frame["s"] = (frame["x"] - frame["x"].mean()) / frame["x"].std(ddof=0)
    expected = np.asarray(patsy.dmatrix("bs(s, df=4):a + center(z)", frame))[:, 1:]
    expected = np.roll(expected, 1, axis=1)  # the main effect, which patsy has last, comes first
    # Means of 120 numbers of order one: a few ulps.
    np.testing.assert_allclose(data.X, expected, rtol=0, atol=1e-12)
    np.testing.assert_allclose(design.transform(frame.iloc[7:9]).X, data.X[7:9], rtol=0, atol=1e-13)


def test_booleans_are_columns_of_their_own_name():
    frame = pd.DataFrame({"y": [1.0, 2, 3, 5], "s": [True, False, True, True], "x": [1.0, 2, 3, 4]})
    design, data = Design.from_formula("y ~ s + I(x > 2) + s:x + C(s)", frame)
    assert design.column_names == ("s", "I(x > 2)", "C(s)[T.True]", "s[False]:x", "s[True]:x")
    np.testing.assert_array_equal(data.X[:, 0], [1, 0, 1, 1])
    np.testing.assert_array_equal(data.X[:, 1], [0, 0, 1, 1])
    np.testing.assert_array_equal(data.X[:, 3:], [[0, 1], [2, 0], [0, 3], [0, 4]])


def test_sums_of_comparisons_count():
    frame = pd.DataFrame({"y": [1.0, 2, 3], "x": [1.0, 2, 3]})
    _, data = Design.from_formula("y ~ I((x > 1) + (x > 2)) + I(1 < x < 3) + I(~(x > 1))", frame)
    np.testing.assert_array_equal(data.X, [[0, 0, 1], [1, 1, 0], [2, 0, 0]])


def test_integers_do_not_overflow():
    frame = pd.DataFrame({"y": [1.0, 2, 3], "x": np.array([100, 120, 127], dtype=np.int8)})
    _, data = Design.from_formula("y ~ I(x**2) + I(x + 100) + I(x**-1)", frame)
    np.testing.assert_array_equal(data.X[:, :2], [[200, 10000], [220, 14400], [227, 16129]])
    np.testing.assert_allclose(data.X[:, 2], [1 / 100, 1 / 120, 1 / 127], rtol=1e-15)  # one rounding each


def test_labels_compare_and_select():
    frame = make_frame()
    design, data = Design.from_formula(
        "I(a == 'red') ~ I(a != 'red') + np.where(x > 0, 'p', 'n') + I(c)", frame
    )
    np.testing.assert_array_equal(data.y, frame["a"] == "red")
    assert design.column_names[1] == "np.where(x > 0, 'p', 'n')[T.p]"
    assert design.response == "I(a == 'red')"
    with pytest.raises(DataError, match="'Red' is not one of the values"):
        Design.from_formula("I(a == 'Red') ~ x", frame)


def test_dot_stands_for_the_other_columns_in_their_order():
    frame = make_frame()
    design, _ = Design.from_formula("np.log(z) ~ .", frame, extras={"weights": "k", "offset": "x"})
    assert sorted(term.name for term in design.terms) == sorted(["y", "a", "b", "c", "a b", "class"])
    design, _ = Design.from_formula("y ~ .", frame[["y", "x", "class", "z", "k", "a b"]])
    assert [term.name for term in design.terms] == ["x", "class", "z", "k", "a b"]
    design, _ = Design.from_formula("y ~ . - x - Q('a b') + x:z", frame[["y", "x", "z", "a b"]])
    assert [term.name for term in design.terms] == ["z", "x:z"]
    design, _ = Design.from_formula("y ~ .**2", frame[["y", "x", "z", "k"]])
    assert {term.name for term in design.terms} == {"x", "z", "k", "x:z", "x:k", "z:k"}


def test_dot_with_names_that_are_not_strings():
    frame = pd.DataFrame([[1.0, 2, 3], [2, 4, 5], [3, 1, 0]], columns=["y", 7, ("u", 1)])
    design, _ = Design.from_formula("y ~ .", frame)
    assert [term.name for term in design.terms] == ["7", "('u', 1)"]
    doubled = pd.DataFrame([[1.0, 2, 3], [2, 4, 5]], columns=["y", 7, "7"])
    with pytest.raises(DataError, match="more than one column named '7'"):
        Design.from_formula("y ~ .", doubled)
    design, _ = Design.from_formula("y ~ 1", doubled)
    assert design.terms == ()


def test_duplicate_columns_matter_only_where_they_are_used():
    frame = pd.DataFrame([[1.0, 2, 3, 4], [2, 4, 5, 7], [0, 1, 0, 1]], columns=["y", "x", "x", "z"])
    Design.from_formula("y ~ z", frame)
    with pytest.raises(DataError, match="more than one column named 'x'"):
        Design.from_formula("y ~ x", frame)


def test_parents_are_all_subterms_and_near_parents_the_largest():
    frame = make_frame()
    design, _ = Design.from_formula("y ~ x*z*k + a:x", frame)
    names = [term.name for term in design.terms]
    by_name = {term.name: term for term in design.terms}
    top = by_name["x:z:k"]
    assert {names[i] for i in top.parents} == {"x", "z", "k", "x:z", "x:k", "z:k"}
    assert {names[i] for i in top.near_parents} == {"x:z", "x:k", "z:k"}
    assert {names[i] for i in by_name["a:x"].parents} == {"x"}
    assert by_name["x"].parents == by_name["x"].near_parents == ()
    gap, _ = Design.from_formula("y ~ x + x:z:k + x:z", frame)
    names = [term.name for term in gap.terms]
    assert [names[i] for i in gap.terms[names.index("x:z:k")].near_parents] == ["x:z"]
    assert {names[i] for i in gap.terms[names.index("x:z:k")].parents} == {"x", "x:z"}


def test_many_factors_find_their_parents():
    rng = np.random.default_rng(3)
    names = [f"v{i}" for i in range(12)]
    frame = pd.DataFrame(rng.normal(size=(30, 13)), columns=["y", *names])
    design, _ = Design.from_formula(f"y ~ v1 + v1:v2 + v11 + {':'.join(names)}", frame)
    last = design.terms[-1]
    assert last.factors == tuple(names)
    assert last.parents == (0, 1, 2)
    assert last.near_parents == (1, 2)


def test_terms_name_their_variables_and_columns():
    frame = make_frame()
    design, data = Design.from_formula(
        "y ~ np.log(z*x**2):Q('a b') + C(a, Sum) + np.where(x > z, k, 0)", frame
    )
    by_name = {term.name: term for term in design.terms}
    assert by_name["np.log(z * x ** 2):a b"].variables == ("z", "x", "a b")
    assert by_name["np.log(z * x ** 2):a b"].factors == ("np.log(z * x ** 2)", "a b")
    assert by_name["np.where(x > z, k, 0)"].variables == ("x", "z", "k")
    assert by_name["C(a, Sum)"].columns == ("C(a, Sum)[S.blue]", "C(a, Sum)[S.green]")
    for term in design.terms:
        assert design.column_names[term.start : term.stop] == term.columns
    assert design.terms[-1].stop == data.X.shape[1]


def test_one_factor_written_in_two_ways_is_one_term():
    frame = make_frame()
    design, _ = Design.from_formula(
        "y ~ x + Q('x') + x:z + z:x + C(a, Treatment('red')) + C(a,Treatment(\"red\"))", frame
    )
    assert [term.name for term in design.terms] == ["x", "C(a, Treatment('red'))", "x:z"]


def test_names_that_would_mean_two_things_are_refused():
    frame = pd.DataFrame({"y": [1.0, 2, 4], "a": [1.0, 3, 2], "b": [3.0, 1, 1], "a:b": [0.0, 1, 1]})
    with pytest.raises(FormulaError, match="two terms the name 'a:b'"):
        Design.from_formula("y ~ a:b + Q('a:b')", frame)
    frame = pd.DataFrame({"y": [1.0, 2, 4], "g": ["p", "q", "q"], "g[T.q]": [3.0, 1, 1]})
    with pytest.raises(FormulaError, match=r"two (terms|columns) the name 'g\[T.q\]'"):
        Design.from_formula("y ~ .", frame)


@pytest.mark.parametrize(
    ("formula", "words"),
    [
        ("y ~ x - 1", "removes the intercept"),
        ("y ~ 0 + x", "removes the intercept"),
        ("y ~ -1 + x", "removes the intercept"),
        ("y ~ (x - 1) + z", "removes the intercept"),
        ("~ x", "no response"),
        ("x", "no response"),
        ("", "no response"),
        ("y ~ ", "cannot be read"),
        ("y ~ x ~ z", "more than one '~'"),
        ("y + x ~ z", "one response"),
        (". ~ x", "one response"),
        ("1 ~ x", "one response"),
        ("y ~ 2*x", "number 2"),
        ("y ~ x:1", "interaction with the intercept"),
        ("y ~ (x + z)**11", "from 1 to 10"),
        ("y ~ (x + z)**0", "from 1 to 10"),
        ("y ~ (x + z)**k", "whole number"),
        ("y ~ (x + z)**1.5", "whole number"),
        ("y ~ x**2.5", "whole number"),
        ("y ~ x**2 + z", r"is x alone; write the power as I\(x\*\*2\)"),
        ("y ~ (x + z)**-1", "whole number"),
        ("y ~ - x", "begins with a minus"),
        ("y ~ x^2", r"write the power as I\(x\*\*2\)"),
        ("y ~ (x + z", "Unmatched"),
        ("y ~ x z", r"write \+ between terms, or .* Q\('x z'\)"),
        ("y ~ bs(x)", "must specify either df or knots"),
        ("y ~ bs(x, df=1000000000)", "larger than the number of rows, 120"),
        ("y ~ bs(x, df=30, degree=29)", "larger than 20"),
        ("y ~ bs(x, dof=4)", "dof"),
        ("y ~ C(k, Treatment(9))", "out of range"),
        ("y ~ C(k, [[1, 0], [0, 1]])", "one row for each of the levels"),
        ("y ~ I(bs(x, df=4)*z)", "shapes"),
    ],
)
def test_bad_formulas_say_what_is_wrong(formula, words):
    with pytest.raises(FormulaError, match=words):
        Design.from_formula(formula, make_frame())


def test_the_formula_must_be_text_and_the_data_a_frame():
    frame = make_frame()
    for formula in (None, 3, ["y", "x"]):
        with pytest.raises(ParameterError, match="'formula' parameter of Design"):
            Design.from_formula(formula, frame)
    with pytest.raises(DataError, match="must be a DataFrame"):
        Design.from_formula("y ~ x", [[1.0, 2.0]])
    with pytest.raises(DataError, match="cannot be made into a data frame"):
        Design.from_formula("y ~ x", {"y": [1, 2], "x": [1, 2, 3]})
    _, data = Design.from_formula("y ~ x", {"y": np.array([1, 2, 4]), "x": [1, 2, 3]})
    np.testing.assert_array_equal(data.X, [[1], [2], [3]])


def test_an_unknown_name_comes_with_a_guess():
    with pytest.raises(UnknownNameError, match="Did you mean 'class'"):
        Design.from_formula("y ~ clas", make_frame())
    with pytest.raises(UnknownNameError, match=r"The term 'np.log\(zz\)' needs it"):
        Design.from_formula("y ~ np.log(zz)", make_frame())


def test_explosions_of_terms_are_stopped():
    frame = pd.DataFrame(
        np.random.default_rng(0).normal(size=(5, 101)), columns=["y", *[f"v{i}" for i in range(100)]]
    )
    with pytest.raises(FormulaError, match="more than 50000 terms"):
        Design.from_formula("y ~ (.)**10", frame)
    with pytest.raises(FormulaError, match="at most 200000"):
        Design.from_formula("y ~ " + "+".join(["v1"] * 100_000), frame)


def test_thousands_of_terms_need_no_deep_recursion():
    rng = np.random.default_rng(1)
    names = [f"v{i}" for i in range(3000)]
    frame = pd.DataFrame(rng.normal(size=(6, 3001)), columns=["y", *names])
    design, data = Design.from_formula("y ~ " + " + ".join(names), frame)
    assert [term.name for term in design.terms] == names
    np.testing.assert_array_equal(data.X, frame[names])
    design, _ = Design.from_formula("y ~ . - " + " - ".join(names[1:]), frame)
    assert [term.name for term in design.terms] == names[:1]


def test_results_of_functions_are_checked():
    frame = make_frame()
    with pytest.raises(DataError, match=r"NaN for the term 'np.log\(x\)' in \d+ of 120 rows"):
        Design.from_formula("y ~ np.log(x)", frame)
    with pytest.raises(DataError, match=r"infinite values for the term 'np.log\(x - x\)' in 120 of 120"):
        Design.from_formula("y ~ np.log(x - x)", frame)
    with pytest.raises(DataError, match=r"NaN for the term 'np.sqrt\(x\)'"):
        Design.from_formula("np.sqrt(x) ~ z", frame)
    huge = frame.assign(x=1e200, z=np.linspace(1e200, 2e200, len(frame)))
    with pytest.raises(DataError, match="infinite values in the column"):
        Design.from_formula("y ~ x:z", huge)


def test_users_functions():
    frame = make_frame()
    functions = {
        "half": lambda v: v / 2,
        "pair": lambda v: np.column_stack([v, v**2]),
        "first": lambda s: [t[0] for t in s],
    }
    design, data = Design.from_formula("y ~ half(x) + pair(z) + first(a)", frame, functions=functions)
    assert design.column_names == ("half(x)", "pair(z)[0]", "pair(z)[1]", "first(a)[T.g]", "first(a)[T.r]")
    np.testing.assert_array_equal(data.X[:, 0], frame["x"] / 2)
    np.testing.assert_array_equal(data.X[:, 2], frame["z"] ** 2)

    def spoil(v):
        v[0] = 99.0
        return v

    before = frame.copy()
    with pytest.raises(ValueError, match="read-only"):
        Design.from_formula("y ~ spoil(x)", frame, functions={"spoil": spoil})
    pd.testing.assert_frame_equal(frame, before)
    # Where rows are dropped the columns are copies, and other terms use them still.
    frame.loc[3, "z"] = np.nan
    with pytest.warns(MissingDataWarning), pytest.raises(ValueError, match="read-only"):
        Design.from_formula("y ~ spoil(x) + z", frame, functions={"spoil": spoil})
    frame = make_frame()
    for made, words in [
        (lambda v: 3.0, "shape"),
        (lambda v: v[:-1], "shape"),
        (lambda v: v * 1j, "complex"),
        (lambda v: np.array([None] * len(v)), "without missing values"),
    ]:
        with pytest.raises((FormulaError, DataError), match=words):
            Design.from_formula("y ~ f(x)", frame, functions={"f": made})


@pytest.mark.parametrize(
    ("functions", "words"),
    [
        ([abs], "a mapping of names"),
        ({"x": abs}, "uses as a column"),
        ({"C": abs}, "other than the formula's own"),
        ({"np": abs}, "other than the formula's own"),
        ({"two words": abs}, "identifiers"),
        ({"f": 3}, "functions"),
        ({"f": patsy.center}, "stateful transform"),
    ],
)
def test_bad_functions_are_refused(functions, words):
    with pytest.raises(ParameterError, match=words):
        Design.from_formula("y ~ x", make_frame(), functions=functions)


TWICE = [0.1 + 0.2, 0.3, 0.7, 0.1 * 7, 1.1, 1.1 * (1 + 5e-10), 1.1 * (1 + 2e-7), 30.0, 0.1 * 300 + 1e-13]


def test_numbers_that_are_equal_up_to_rounding_are_one_level():
    frame = pd.DataFrame({"y": np.arange(18.0) % 7, "x": TWICE * 2})
    levels = (0.3, 0.7, 1.1, 1.1 * (1 + 2e-7), 30.0)
    expected = np.eye(5)[[0, 0, 1, 1, 2, 2, 3, 4, 4] * 2, 1:]
    design, data = Design.from_formula("y ~ C(x)", frame)
    assert design.layout.factors[0].levels == levels
    np.testing.assert_array_equal(data.X, expected)
    new = pd.DataFrame({"x": [0.1 + 0.2, 0.3 * (1 - 2e-16), 30.0]})
    np.testing.assert_array_equal(design.transform(new).X, np.eye(5)[[0, 0, 4], 1:])
    single = frame["x"][:9].astype(np.float32)  # as in files of Stata
    np.testing.assert_array_equal(design.transform({"x": single}).X, expected[:9])
    with pytest.raises(DataError, match=r"unseen levels .*0\.301"):
        design.transform({"x": [0.301]})
    _, data = Design.from_formula(f"y ~ C(x, levels={list(levels)})", frame)
    np.testing.assert_array_equal(data.X, expected)
    categories = frame.assign(x=pd.Categorical(frame["x"]))
    np.testing.assert_array_equal(Design.from_formula("y ~ x", categories)[1].X, expected)
    halves = [frame[:5], frame[5:]]
    model = rj.linear("y ~ C(x)", halves)
    assert model.design.layout.factors[0].levels == levels
    np.testing.assert_array_equal(model.design.transform(frame).X, expected)


def test_whole_numbers_are_never_one_level():
    whole = np.tile([4e9, 4e9 + 1, 4e9 + 2], 6)
    for x in (whole, whole.astype(np.int64)):
        design, _ = Design.from_formula("y ~ C(x)", pd.DataFrame({"y": np.arange(18.0) % 7, "x": x}))
        assert len(design.layout.factors[0].levels) == 3


# Identifiers that Python takes for one another: the micro sign and the Greek letter, wide letters,
# a ligature.
ALIKE = [("\u00b5g", "\u03bcg"), ("\uff58", "x"), ("\ufb01t", "fit")]


@pytest.mark.parametrize(("name", "other"), ALIKE)
def test_names_of_columns_are_used_as_they_are(name, other):
    frame = pd.DataFrame({"y": np.arange(6.0), name: [1.0, 3, 2, 5, 4, 8], other: [0.5, 2, 7, 1, 1, 3]})
    for one in (name, other):
        for right, values in (
            (one, frame[one]),
            (f"I({one} + 1)", frame[one] + 1),
            (f"np.sqrt({one})", frame[one] ** 0.5),
        ):
            design, data = Design.from_formula(f"y ~ {right}", frame)
            np.testing.assert_array_equal(data.X[:, 0], values)
            assert design.terms[0].variables == (one,)
            again = Design.from_dict(design.to_dict())
            np.testing.assert_array_equal(again.transform(frame[[one]]).X[:, 0], values)
    both, _ = Design.from_formula(f"y ~ {name} * {other} + poly({name}, 2)", frame)
    assert [term.name for term in both.terms] == [name, other, f"I({name} ** 2)", f"{name}:{other}"]
    assert Design.from_formula("y ~ .", frame)[0].column_names == (name, other)
    with pytest.raises(UnknownNameError, match=name):
        Design.from_formula(f"y ~ I({name} + 1)", frame[["y", other]])


BOOLEANS = (
    *("b", "b + x", "b:x", "b * x", "x + b:x", "b:c", "b + b:c"),
    *("g:b", "g + g:b", "b + b:g", "I(x > 0):x", "I(b & c):x", "b:x:g", "I(~b):x"),
)


@pytest.mark.parametrize("right", BOOLEANS)
def test_booleans_in_interactions_are_factors_as_in_r(right):
    """The columns of R's model.matrix, of which patsy's span the same space; without a redundant one."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"y": rng.normal(size=12), "x": rng.normal(size=12), "g": [*"uvw"] * 4})
    frame = frame.assign(b=[True, False] * 6, c=[True, True, False] * 4)
    design, data = Design.from_formula(f"y ~ {right}", frame)
    theirs = np.asarray(patsy.dmatrix(right, frame))
    ours = np.column_stack([np.ones(12), data.X])
    assert ours.shape == theirs.shape
    assert (
        np.linalg.matrix_rank(np.hstack([ours, theirs])) == np.linalg.matrix_rank(theirs) == theirs.shape[1]
    )
    again = Design.from_dict(design.to_dict())
    np.testing.assert_array_equal(again.transform(frame).X, data.X)
    # New rows may have them as 0 and 1, and chunks have one value alone.
    np.testing.assert_array_equal(design.transform(frame.astype({"b": float})[3:]).X, data.X[3:])
    parts = [part for _, part in frame.groupby("b")]
    chunked = rj.linear(f"y ~ {right}", parts).design
    assert chunked.column_names == design.column_names
    np.testing.assert_array_equal(chunked.transform(frame).X, data.X)


def test_names_of_columns_of_booleans():
    frame = pd.DataFrame({"y": np.arange(8.0), "b": [True, False] * 4, "x": [1.0, 5, 2, 4, 3, 1, 1, 9]})
    assert Design.from_formula("y ~ b * x", frame)[0].column_names == ("b", "x", "b:x")
    assert Design.from_formula("y ~ b:x", frame)[0].column_names == ("b[False]:x", "b[True]:x")
    numbers = frame.astype({"b": int})
    assert Design.from_formula("y ~ b:x", numbers)[0].column_names == ("b:x",)
    assert Design.from_formula("y ~ I(b * 1):x", frame)[0].column_names == ("I(b * 1):x",)


N = 20
ACROSS = {
    "centred": lambda v: v - v.mean(),
    "summed": np.cumsum,
    "scaled": lambda v: v / v.max(),
    "ranked": lambda v: pd.factorize(v)[0],
    "quantiles": lambda v: pd.qcut(v, 3, labels=["low", "mid", "high"]).astype(object),
    "with rows of its own": lambda v: v * np.arange(N),
}
BY_ROW = {
    "numbers": lambda v: np.log(np.abs(v)),
    "columns": lambda v: np.column_stack([v, v**2]),
    "labels": lambda v: np.where(v > 0, "above", "below"),
    "objects": lambda v: np.where(v > 0, "above", "below").astype(object),
}


@pytest.mark.parametrize("function", ACROSS.values(), ids=ACROSS)
def test_functions_that_look_at_other_rows_are_refused(function):
    frame = pd.DataFrame(np.random.default_rng(1).normal(size=(N, 2)), columns=["y", "x"])
    for data in (frame, [frame]):
        with pytest.raises(ParameterError, match="'own', which does not work row by row"):
            rj.linear("y ~ own(x)", data, functions={"own": function})


@pytest.mark.parametrize("function", BY_ROW.values(), ids=BY_ROW)
def test_functions_of_rows_pass(function):
    frame = pd.DataFrame(np.random.default_rng(1).normal(size=(N, 2)), columns=["y", "x"])
    for data in (frame, [frame[:9], frame[9:]]):
        assert rj.linear("y ~ own(x)", data, functions={"own": function}).nobs == N


@pytest.mark.parametrize("right", ["I(np.log(a) > 1)", "I((0 != np.log(a)) * 1.0)", "I(0 < np.log(a) < 1)"])
def test_what_is_not_known_is_not_false(right):
    """No comparison with NaN holds; one with an infinite value does, or does not."""
    frame = pd.DataFrame({"y": np.arange(6.0), "a": [1.0, 4.0, -1.0, 9.0, 0.0, 2.0]})
    with pytest.raises(rj.DataError, match=r"computed NaN for the term .* in 1 of 6 rows"):
        rj.linear(f"y ~ {right}", frame)
    frame.loc[2, "a"] = 3.0
    rj.linear(f"y ~ {right}", frame)

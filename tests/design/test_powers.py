"""Powers as terms with parents, poly(), and the parents of many interactions."""

import time
from itertools import combinations

import numpy as np
import pandas as pd
import pytest

import pyrjsel as rj
from pyrjsel.design import Design
from pyrjsel.model_space import enumerate_models, unpack


def frame(n=40):
    rng = np.random.default_rng(0)
    data = pd.DataFrame(rng.normal(size=(n, 4)), columns=["x", "z", "w", "a b"])
    data["f"] = rng.choice(list("uvw"), n)
    data["y"] = rng.normal(size=n)
    return data


def lineage(right):
    """Order and nearest parents of each term, by names."""
    terms = Design.from_formula(f"y ~ {right}", frame())[0].terms
    return {term.name: (term.order, {terms[j].name for j in term.near_parents}) for term in terms}


def test_a_power_asks_for_the_power_below():
    found = lineage("x + I(x**2) + I(x**3) + z")
    assert found == {
        "x": (1, set()),
        "z": (1, set()),
        "I(x ** 2)": (2, {"x"}),
        "I(x ** 3)": (3, {"I(x ** 2)"}),
    }
    terms = Design.from_formula("y ~ I(x**3) + x + I(x**2)", frame())[0].terms
    assert [term.parents for term in terms] == [(), (0,), (0, 1)]


def test_parents_of_a_monomial_are_those_of_one_degree_less_that_divide_it():
    found = lineage("(x + I(x**2)) * z + z:I(z**2) + I(z**2)")
    assert found["x:z"] == (2, {"x", "z"})
    assert found["I(x ** 2):z"] == (3, {"x:z", "I(x ** 2)"})
    assert found["z:I(z ** 2)"] == (3, {"I(z ** 2)"})  # z cubed
    factors = lineage("poly(x, 2) * f")
    assert factors["x:f"] == (2, {"x", "f"})
    assert factors["I(x ** 2):f"] == (3, {"x:f", "I(x ** 2)"})


def test_of_what_the_formula_does_not_name_the_next_smaller_take_the_place():
    assert lineage("x + I(x**3)")["I(x ** 3)"] == (3, {"x"})
    assert lineage("I(x**2)") == {"I(x ** 2)": (2, set())}
    assert lineage("x + z + x:z:w")["x:z:w"] == (3, {"x", "z"})
    assert lineage("x + x:z + w + x:z:w")["x:z:w"] == (3, {"x:z", "w"})


def test_functions_that_are_no_powers_have_no_parents():
    found = lineage(
        "x + np.exp(x) + I(abs(x)**1.5) + I(2**x) + I((x + z)**1) + I(x**1) + bs(x, df=4) + I(1 / x)"
    )
    assert {order for order, _ in found.values()} == {1}
    assert all(not near for _, near in found.values())
    assert lineage("x + np.exp(z) + x:np.exp(z)")["x:np.exp(z)"] == (2, {"x", "np.exp(z)"})
    assert lineage("x + I(x**2.0)")["I(x ** 2.0)"] == (2, {"x"})


SQUARES = (
    "I(x * x)",
    "I((x - 3)**2)",
    "I(x**2 / 10)",
    "I(-2 * x**2 + x - 1)",
    "np.square(x)",
    "square(x)",
    "I(center(x)**2)",
    "I(standardize(x) ** 2)",
    "scale(I(x**2))",
    "I(x * center(x))",
)


@pytest.mark.parametrize("square", SQUARES)
def test_origin_and_unit_do_not_hide_a_square(square):
    ((name, (order, near)),) = [item for item in lineage(f"x + z + {square}").items() if item[0] not in "xz"]
    assert (order, near) == (2, {"x"})
    cubed = lineage(f"x + {square} + I((x + 1)**3)")
    assert cubed["I((x + 1) ** 3)"] == (3, {name})
    models = rj.linear(f"y ~ x + {square}", frame(), heredity="strong", model_prior=rj.Uniform()).fit().models
    assert sorted(models["terms"], key=len) == [(), ("x",), ("x", name)]


def test_products_are_interactions_whatever_their_origin_and_unit():
    for product in ("I(x * z)", "I(center(x) * z / 7)", "I((x - 1) * (z + 2))", "scale(x):z", "I(x * z + x)"):
        found = lineage(f"x + z + w + {product}")
        assert next(item for name, item in found.items() if name not in "xzw") == (2, {"x", "z"})
    assert lineage("x + I(x**2) + z + I(x * x * z)")["I(x * x * z)"] == (3, {"I(x ** 2)", "z"})
    # Of another variable than a column too.
    assert lineage("np.log(abs(x)) + I(np.log(abs(x))**2)")["I(np.log(abs(x)) ** 2)"][1] == {"np.log(abs(x))"}
    assert lineage("I(x - z) + I((x - z)**2)")["I((x - z) ** 2)"][1] == {"I(x - z)"}
    assert lineage("C(f, merge=True) + x")["f[v]"] == (1, set())


def test_heredity_names_the_powers_that_it_does_not_see():
    own = {"twice": lambda v: v**2 + v, "bent": lambda v: np.maximum(v, 0.0)}
    hidden = {
        "x + twice(x)": r"twice\(x\) \(of x\)",
        "x + I(abs(x)**2)": r"I\(abs\(x\) \*\* 2\) \(of x\)",
        "x + z + I((x - z)**2)": r"I\(\(x - z\) \*\* 2\) \(of x, z\)",
        # Only one of their parents is seen.
        "x + h + I(x * (h == 'm'))": r"\(of x, h\)",
        "x + C(h) + I(x * (h == 'm'))": r"\(of x, h\)",
    }
    data = frame().assign(h=lambda d: np.where(d["z"] > 0, "m", "f"))
    for right, said in hidden.items():
        with pytest.warns(rj.DataWarning, match=said):
            rj.linear(f"y ~ {right}", data, functions=own, heredity="weak")
        rj.linear(f"y ~ {right}", data, functions=own)
    # None of these is a polynomial, or all functions of two values are linear.
    data = frame().assign(w=lambda d: (d["w"] > 0) * 1.0)
    usual = (
        "x + z + w + twice(w) + bent(x) + np.exp(x) + I(x > 0) + I(x + z) + np.log(abs(x)) + bs(x, df=4) + f"
    )
    rj.linear(f"y ~ {usual}", data, functions=own, heredity="strong", coef_prior=rj.Normal(1.0))


def test_hidden_powers_are_looked_for_in_some_rows_first():
    """All 300,000 rows of six functions took seconds of CPU time; some of them take next to none."""
    rng = np.random.default_rng(0)
    data = pd.DataFrame(rng.normal(size=(300_000, 3)), columns=[*"xzy"])
    data["rare"] = np.where(np.arange(len(data)) % 10_000 == 7, data["x"], 0.0)  # few rows tell
    own = {"twice": lambda v: v**2 + v, "curved": np.exp}
    usual = "x + z + curved(x) + np.sin(x) + np.cos(z) + np.exp(z) + np.tanh(x * z) + np.exp(x * z / 10)"
    start = time.process_time()
    rj.linear(f"y ~ {usual}", data, functions=own)
    between = time.process_time()
    rj.linear(f"y ~ {usual}", data, functions=own, heredity="strong")
    assert time.process_time() - between < between - start + 1.0
    for name in ("x", "rare"):
        with pytest.warns(rj.DataWarning, match=rf"twice\({name}\)"):
            rj.linear(f"y ~ {name} + twice({name})", data, functions=own, heredity="strong")


def test_poly_is_short_for_powers():
    short, data = Design.from_formula("y ~ poly(x, 3) + z", frame())
    long, same = Design.from_formula("y ~ x + I(x**2) + I(x**3) + z", frame())
    assert [term.name for term in short.terms] == [term.name for term in long.terms]
    np.testing.assert_array_equal(data.X, same.X)
    assert lineage("poly(x, 1)") == {"x": (1, set())}
    assert list(lineage("poly(x, degree=2)")) == ["x", "I(x ** 2)"]
    assert list(lineage("poly(Q('a b'), 2)")) == ["a b", "I(a b ** 2)"]
    assert list(lineage("poly(x, 2):z")) == ["x:z", "I(x ** 2):z"]
    assert list(lineage("poly(x, 3) - I(x**2)")) == ["x", "I(x ** 3)"]


def test_a_function_of_the_user_called_poly_wins():
    design, data = Design.from_formula("y ~ poly(x)", frame(), functions={"poly": lambda x: x - 1})
    assert [term.name for term in design.terms] == ["poly(x)"]
    np.testing.assert_array_equal(data.X[:, 0], frame()["x"] - 1)


@pytest.mark.parametrize("degree", ["0", "-1", "1.5", "21", "True", "z", "'2'"])
def test_degrees_that_cannot_be(degree):
    with pytest.raises(rj.FormulaError, match=r"the degree of poly\(\) must be an int from 1 to 20"):
        rj.linear(f"y ~ poly(x, {degree})", frame())


def test_polynomials_that_cannot_be():
    for right, why in (
        ("poly(x + z, 2)", "must be a column of the data"),
        ("poly(2, 2)", "uses no column"),
        ("poly(x)", "write poly\\(x, 3\\)"),
        ("poly(x, 2, raw=True)", "write poly\\(x, 2\\), whose powers are raw"),
        ("poly(degree=2, x=x)", "write poly\\(x, 3\\)"),
        ("polynomial(x, 2)", "calls of .* are not allowed"),
        ("np.poly(x, 2)", "calls of .* are not allowed"),
    ):
        with pytest.raises(rj.FormulaError, match=why):
            rj.linear(f"y ~ {right}", frame())
    with pytest.raises(rj.DataError, match=r"I\(f \*\* 2\).*text or categories"):
        rj.linear("y ~ poly(f, 2)", frame())
    with pytest.raises(rj.FormulaError, match="not allowed"):
        rj.linear("poly(y, 2) ~ x", frame())


DESIGNS = (
    "poly(x, 3) + poly(z, 2)",
    "poly(x, 2) * z",
    "poly(x, 2) * f",
    "poly(x, 2)**2 + w",
    "x + I(x**3) + z + x:I(z**2)",
)


@pytest.mark.parametrize("heredity", ["strong", "weak"])
@pytest.mark.parametrize("right", DESIGNS)
def test_under_heredity_no_power_is_without_what_it_needs(right, heredity):
    """Feasible models by sets of names; the prior sums to one, and the column `prior` is exact."""
    for prior in (rj.BetaBinomial(1, 2), rj.Bernoulli(0.3), rj.TruncatedPoisson(1.5)):
        model = rj.linear(f"y ~ {right}", frame(), heredity=heredity, model_prior=prior)
        needs = {name: near for name, (_, near) in lineage(right).items()}
        names = model.term_names
        enough = {"strong": set.issuperset, "weak": lambda inside, near: not near or bool(near & inside)}[
            heredity
        ]
        expected = {
            subset
            for k in range(len(names) + 1)
            for subset in combinations(names, k)
            if all(enough(set(subset), needs[name]) for name in subset)
        }
        gamma = unpack(enumerate_models(model.space), len(names))
        assert {model.space.terms_of(row) for row in gamma} == expected
        mass = np.exp(model.space.log_prior(gamma))
        # Sums of at most 100 numbers.
        assert mass.sum() == pytest.approx(1.0, abs=1e-13)
        table = model.fit(sampler="enumerate").inclusion
        np.testing.assert_allclose(table["prior"], mass @ gamma, rtol=0, atol=1e-13)


def test_twelve_factors_take_no_minute():
    """4,095 terms, 531,441 pairs of a term and what it holds: half a second of CPU time, at most two here."""
    data = pd.DataFrame(np.random.default_rng(0).normal(size=(30, 13)), columns=[*"abcdefghijkl", "y"])
    start = time.process_time()
    design, _ = Design.from_formula("y ~ " + "*".join("abcdefghijkl"), data)
    assert time.process_time() - start < 2.0
    by_name = {frozenset(term.factors): j for j, term in enumerate(design.terms)}
    last = design.terms[by_name[frozenset("abcdefghijkl")]]
    assert len(last.parents) == 4094
    assert {len(design.terms[j].factors) for j in last.near_parents} == {11}
    some = design.terms[by_name[frozenset("bdgk")]]
    assert {design.terms[j].name for j in some.parents} == {
        design.terms[by_name[frozenset(part)]].name for k in (1, 2, 3) for part in combinations("bdgk", k)
    }

"""A formula, typed or from a file, can reach columns and the listed functions and nothing else."""

import ast

import numpy as np
import pandas as pd
import pytest

from pyrjsel import FormulaError, PyrjselError, UnknownNameError
from pyrjsel.design import Design
from pyrjsel.design.safety import ARRAY_FUNCTIONS, read_expression

ATTACKS = [
    "__import__('os').system('touch {path}')",
    "np.__class__",
    "().__class__.__bases__",
    "I(().__class__.__bases__)",
    "np.load('x')",
    "np.lib",
    "np.log.__globals__",
    "np.fromfile('{path}')",
    "I(np.memmap('{path}', mode='w+', shape=3))",
    "open('{path}', 'w')",
    "I(open('{path}', 'w'))",
    "I(x).__class__",
    "x.__class__",
    "x.tofile('{path}')",
    "eval('1')",
    "I(eval('x'))",
    "exec('1')",
    "compile('1', '', 'eval')",
    "getattr(np, 'load')",
    "globals()",
    "(lambda: 1)()",
    "I(lambda: x)",
    "I([i for i in x])",
    "I({{i for i in x}})",
    "I((i for i in x))",
    "I({{'a': x}})",
    "f'{{x}}'",
    "I(f'{{x!r}}' == 'a')",
    "Q.__globals__",
    "Q(f'x')",
    "Q(x)",
    "Q('x', 'x')",
    "Q(name='x')",
    "I(Q)(x)",
    "C(x, __import__('os'))",
    "C(x, contrast=Treatment(open('{path}', 'w')))",
    "C(x, levels=open('{path}', 'w'))",
    "C(x, levels=[open('{path}', 'w')])",
    "C(x, Treatment.__init__)",
    "Treatment(x)",
    "bs(x, df=open('{path}', 'w'))",
    "bs(x, **{{'df': 4}})",
    "bs(*[x, 4])",
    "I(*x)",
    "np.log(x, x)",
    "np.log(x, out=x)",
    "np.exp(x, x)",
    "np.clip(x, 0, 1, x)",
    "np.clip(x, 0, 1, out=x)",
    "np.where(x > 0)",
    "np.round(x, 2, x)",
    "np.linalg.norm(x)",
    "np.random.normal(x)",
    "x[0]",
    "x[...]",
    "I((q := x))",
    "I(x if x else x)",
    "I(await x)",
    "I(yield x)",
    "I(x and x)",
    "I(not x)",
    "I(x in x)",
    "I(x is x)",
    "I(x @ x)",
    "I(x << 2)",
    "I(x*1j)",
    "I(x*b'a')",
    "I(x*...)",
    "I(x*1e999)",
    "I(x*{digits})",
    "I(x + 9**9**9)",
    "I(x + (-9)**0.5)",
    "I(x*'a'*10**9)",
    "I([x]*10**9)",
    "'%1000000000d' % x",
    "print(x)",
    "np.pi*x + I(np.pi*x)",
    "__builtins__",
    "I(__builtins__)",
    "__name__:x",
    "x; import os",
    "x\nimport os",
    "'a'",
    "True",
    "I(None)",
    "I({minuses}x)",
    "{long}",
]


def spelled(attack, path):
    return attack.format(path=path, digits="9" * 400, minuses="-" * 3000, long="I(" + "x+" * 6000 + "x)")


@pytest.fixture
def frame():
    return pd.DataFrame({"y": [0.0, 1.0, 1.0, 0.0], "x": [1.0, 2.0, 3.0, 4.0]})


@pytest.mark.parametrize("attack", ATTACKS)
@pytest.mark.parametrize("side", ["right", "left", "product"])
def test_nothing_else_is_reached(attack, side, frame, tmp_path):
    target = tmp_path / "made"
    code = spelled(attack, target)
    formula = {"right": f"y ~ {code}", "left": f"{code} ~ x", "product": f"y ~ x:{code}"}[side]
    before = frame.copy()
    with pytest.raises((FormulaError, PyrjselError)):
        Design.from_formula(formula, frame)
    pd.testing.assert_frame_equal(frame, before)
    assert not target.exists()


def compute_everything(state, frame):
    design = Design.from_dict(state)
    design.transform(frame)
    design.response_of(frame)


@pytest.mark.parametrize("attack", ATTACKS)
def test_a_saved_design_passes_the_same_list(attack, frame, tmp_path):
    target = tmp_path / "made"
    design, _ = Design.from_formula("y ~ I(x + 1)", frame)
    for place in ("factors", "response"):
        state = design.to_dict()
        item = state["factors"][0] if place == "factors" else state["response"]
        item["code"] = spelled(attack, target)
        with pytest.raises(PyrjselError):
            compute_everything(state, frame)
    assert not target.exists()


def test_a_quoted_name_is_a_name_and_no_code(frame, tmp_path):
    target = tmp_path / "made"
    code = f"__import__('os').system('touch {target}')"
    with pytest.raises(UnknownNameError):
        Design.from_formula(f"y ~ Q({code!r})", frame)
    odd = frame.rename(columns={"x": code})
    design, data = Design.from_formula("y ~ .", odd)
    assert [term.name for term in design.terms] == [code]
    np.testing.assert_array_equal(Design.from_dict(design.to_dict()).transform(odd).X, data.X)
    assert not target.exists()


def test_columns_and_functions_do_not_mix():
    frame = pd.DataFrame(
        {"y": [1.0, 2, 4], "np": [1.0, 2, 3], "C": ["a", "b", "b"], "open": [3.0, 2, 2], "bs": [1, 5, 1]}
    )
    design, data = Design.from_formula("y ~ np + C(C) + open + I(bs + np.log(np))", frame)
    assert [term.name for term in design.terms] == ["np", "C(C)", "open", "I(bs + np.log(np))"]
    np.testing.assert_array_equal(data.X[:, 3], frame["bs"] + np.log(frame["np"]))


def test_the_message_names_the_piece_and_the_list(frame):
    with pytest.raises(FormulaError) as caught:
        Design.from_formula("y ~ x + np.log(load(x))", frame, functions={"own": abs})
    message = str(caught.value)
    assert "load(x)" in message
    assert "calls of 'load' are not allowed" in message
    assert all(f"np.{name}" in message for name in ARRAY_FUNCTIONS)
    assert "own" in message


def test_functions_of_numpy_need_no_prefix(frame):
    plain, data = Design.from_formula("y ~ log(x) + I(sqrt(x) + abs(x)) + round(x, 1)", frame)
    assert [term.name for term in plain.terms] == ["log(x)", "I(sqrt(x) + abs(x))", "round(x, 1)"]
    _, expected = Design.from_formula("y ~ np.log(x) + I(np.sqrt(x) + np.abs(x)) + np.round(x, 1)", frame)
    np.testing.assert_array_equal(data.X, expected.X)
    again = Design.from_dict(plain.to_dict())
    np.testing.assert_array_equal(again.transform(frame).X, data.X)
    # The same function with and without its prefix is one term, as it is called first.
    twice, _ = Design.from_formula("y ~ log(x) + np.log(x)", frame)
    assert [term.name for term in twice.terms] == ["log(x)"]


def test_a_function_of_the_user_comes_before_one_of_numpy(frame):
    design, data = Design.from_formula("y ~ log(x)", frame, functions={"log": lambda x: 2 * x})
    np.testing.assert_array_equal(data.X[:, 0], 2 * frame["x"])
    assert design.functions.keys() == {"log"}


def test_functions_without_prefix_take_no_more_than_with_it(frame):
    for text in ("log(x, x)", "log(x, out=x)", "sqrt(*[x])", "where(x)", "np(x)", "log.at(x)"):
        with pytest.raises(FormulaError, match="not allowed"):
            Design.from_formula(f"y ~ {text}", frame)


def test_every_listed_function_of_numpy_works(frame):
    arguments = {
        "minimum": "x, 2",
        "maximum": "x, 2",
        "where": "x > 2, x, 0",
        "clip": "x, 1, 2",
        "round": "x",
    }
    for name in ARRAY_FUNCTIONS:
        piece = arguments.get(name, "x")
        design, data = Design.from_formula(f"y ~ np.{name}({piece}) + x", frame)
        x = frame["x"].to_numpy()
        expected = eval(f"np.{name}({piece})", {"np": np, "x": x})
        np.testing.assert_array_equal(data.X[:, int(design.column_names[0] == "x")], expected)


def test_labels_lose_only_their_quotes():
    expression = read_expression("np.log(Q('é b')) + Q(\"c\") * f(x, 'Q(1)')", ("f",))
    assert expression.label == "np.log(é b) + c * f(x, 'Q(1)')"
    assert expression.variables == ("é b", "c", "x")
    assert expression.functions == ("f",)
    assert not any(
        isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Q"
        for node in ast.walk(expression.tree)
    )


@pytest.mark.parametrize(
    "piece", ["np.log(x, x)", "np.clip(x, 0, 1, x)", "np.where(x > 2)", "np.round(x, 1, x)"]
)
def test_counts_of_arguments_are_checked_before_the_call(piece, frame):
    with pytest.raises(FormulaError, match=r"takes .* argument\(s\) in a formula"):
        Design.from_formula(f"y ~ {piece}", frame)

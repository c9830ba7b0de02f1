"""Formulas whose right-hand side is a single call: ``y ~ interactions(a, b, order=2)``."""

import ast
import io
import tokenize
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pyrjsel._called import called
from pyrjsel._errors import FormulaError
from pyrjsel._validate import bad_value, show
from pyrjsel.design.formula import Node, parse, read_node
from pyrjsel.design.safety import MAX_FORMULA, Expression, column_expression, is_plain_name, read_expression

_OPEN, _CLOSE = ("(", "[", "{"), (")", "]", "}")


@dataclass(frozen=True, eq=False)
class Call:
    """A parsed formula of one call.

    Attributes
    ----------
    response : Expression
        The left-hand side.
    name : str
        Name of the called function.
    factors : tuple of Expression
        Arguments of the call, in order.
    order : int or None
        The value of ``order=``.
    """

    response: Expression
    name: str
    factors: tuple[Expression, ...]
    order: int | None


def parse_call(
    text: object,
    names: Sequence[str],
    others: Callable[[Expression], Sequence[str]],
    functions: tuple[str, ...],
) -> Call:
    """Parse a formula of one call.

    Parameters
    ----------
    text : str
        The formula.
    names : sequence of str
        Names that the right-hand side may call.
    others : callable
        Given the response, returns the columns of ``.``.
    functions : tuple of str
        Names of the user's functions.

    Raises
    ------
    ParameterError
        If `text` is not a string.
    FormulaError
        If it cannot be parsed, has no response, has it on both sides, has another right-hand side or a factor
        twice, or has an expression that is not allowed.
    """
    example = f"'y ~ {names[0]}(a, b)'"
    if not isinstance(text, str):
        raise bad_value("formula", f"a string such as {example}", text)
    start = f"The formula {show(text)} of {called()}"
    if len(text) > MAX_FORMULA:
        raise FormulaError(f"{start} has {len(text)} characters; at most {MAX_FORMULA} are allowed.")
    root = parse(text)
    if root.kind != "~" or len(root.args) != 2:
        raise FormulaError(f"{start} has no response; write {example}.")
    left, right = (read_node(node) for node in root.args)
    if left.kind != "code" or left.code == ".":
        raise FormulaError(f"{start} must have one response on the left.")
    response = read_expression(left.code, functions)
    calls = " or ".join(f"{name}(...)" for name in names)
    name, pieces = _pieces(right)
    if name not in names:
        inputs = [part.strip() for part in text.partition("~")[2].split("+")]
        if all(part.isidentifier() for part in inputs):
            example = f"'{left.code} ~ {names[0]}({', '.join(inputs)})'"
        raise FormulaError(f"{start} must have only {calls} on its right-hand side. Write {example}.")
    factors: dict[str, Expression] = {}
    order: int | None = None
    for piece in pieces:
        keyword, value = _keyword(piece)
        if keyword == "order" and order is None and value.isdecimal():
            order = int(value)
        elif keyword:
            raise FormulaError(f"{start} may give {name}() one order=, an int. Got {show(piece)}.")
        else:
            every = [column_expression(column) for column in others(response)] if piece == "." else []
            for factor in every or [read_expression(piece, functions)]:
                if factor.key == response.key or _column(response) in factor.variables:
                    raise FormulaError(
                        f"{start} has its response {response.label!r} on the right-hand side, in the feature "
                        f"{factor.label!r}. Leave that feature out."
                    )
                if factor.key in factors:
                    raise FormulaError(f"{start} gives {name}() the feature {factor.label!r} twice.")
                factors[factor.key] = factor
    if not factors:
        raise FormulaError(f"{start} gives {name}() no features.")
    return Call(response, name, tuple(factors.values()), order)


def _column(expression: Expression) -> str | None:
    """Return the column that an expression is, by itself or in ``C()``; None if it is computed."""
    tree = expression.tree
    if isinstance(tree, ast.Call) and isinstance(tree.func, ast.Name) and tree.func.id == "C" and tree.args:
        tree = tree.args[0]
    return tree.id if isinstance(tree, ast.Name) else None


def _pieces(node: Node) -> tuple[str, list[str]]:
    """Return the name and the arguments of a call; the name is empty for anything else."""
    if node.kind != "code":
        return "", []
    # Tokens are used because arguments such as a single dot cannot be parsed by ast.
    tokens = list(tokenize.generate_tokens(io.StringIO(node.code).readline))
    tokens = [token for token in tokens if token.type not in (tokenize.NEWLINE, tokenize.ENDMARKER)]
    if len(tokens) < 3 or tokens[0].type != tokenize.NAME or tokens[1].string != "(":
        return "", []
    depth, begin, pieces = 0, tokens[1].end[1], []
    for position, token in enumerate(tokens):
        if token.type == tokenize.OP:
            depth += (token.string in _OPEN) - (token.string in _CLOSE)
            if depth == 0 and position < len(tokens) - 1 and position > 0:
                return "", []  # the call is part of an expression
            if (depth == 1 and token.string == ",") or depth == 0:
                pieces.append(node.code[begin : token.start[1]].strip())
                begin = token.end[1]
    return tokens[0].string, [piece for piece in pieces if piece]


def _keyword(piece: str) -> tuple[str, str]:
    """Return the name and the value of ``name = value``, or an empty name."""
    name, sign, value = piece.partition("=")
    if sign and not value.startswith("=") and is_plain_name(name.strip()):
        return name.strip(), value.strip()
    return "", piece

"""Expansion of formulas such as ``y ~ (a + b)**2 - a`` to a list of terms, each a set of factors.

The operators have their meaning of R and patsy. Chains of + and - are unrolled, so that a formula of
thousands of terms needs no deep recursion, and the number of terms is limited during the expansion.
"""

import ast
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from pyrjsel._called import called
from pyrjsel._errors import FormulaError
from pyrjsel._validate import bad_value, show
from pyrjsel.design.formula import Node, parse, read_node
from pyrjsel.design.safety import (
    MAX_FORMULA,
    MAX_POWER,
    UNIT_SPLINES,
    Expression,
    column_expression,
    is_plain_name,
    read_expression,
)

MAX_TERMS = 50_000
_MAX_NESTING = 100
POLY = "poly"
MAX_DEGREE = 20  # of a polynomial


@dataclass(frozen=True, eq=False)
class Parsed:
    """A parsed formula.

    Attributes
    ----------
    response : Expression
        The left-hand side.
    factors : tuple of Expression
        The distinct factors in order of appearance.
    terms : tuple of tuples of int
        The factors of each distinct term, by position, in order of appearance; without the intercept.
    """

    response: Expression
    factors: tuple[Expression, ...]
    terms: tuple[tuple[int, ...], ...]


@dataclass
class _Sum:
    """A sum of terms under construction. `intercept` is None if the formula does not mention it."""

    intercept: bool | None = None
    terms: dict[frozenset[int], tuple[int, ...]] = field(default_factory=dict)


def parse_terms(
    text: object,
    others: Callable[[Expression], Sequence[str]],
    functions: tuple[str, ...],
) -> Parsed:
    """Parse a formula.

    Parameters
    ----------
    text : str
        The formula.
    others : callable
        Given the response, returns the columns of ``.``.
    functions : tuple of str
        Names of the user's functions.

    Raises
    ------
    ParameterError
        If `text` is not a string.
    FormulaError
        If it cannot be parsed, has no response, removes the intercept, or has an expression that is not
        allowed.
    """
    if not isinstance(text, str):
        raise bad_value("formula", "a string such as 'y ~ a + b'", text)
    if len(text) > MAX_FORMULA:
        raise FormulaError(
            f"The formula of {called()} has {len(text)} characters; at most {MAX_FORMULA} are allowed. "
            "Use arrays instead of a formula for designs with that many terms."
        )
    root = parse(text)
    if root.kind != "~" or len(root.args) != 2:
        raise FormulaError(f"The formula {show(text)} of {called()} has no response; write 'y ~ a + b'.")
    left, right = (read_node(node) for node in root.args)
    reader = _Algebra(functions, text)
    response = reader.response(left)
    reader.others = lambda: others(response)
    total = reader.evaluate(right, 0)
    if total.intercept is False:
        raise FormulaError(
            f"The formula {show(text)} of {called()} removes the intercept, which all models include. "
            "Leave out '- 1' or '+ 0'."
        )
    # Factors of terms removed by a minus are not needed.
    every = list(reader.factors.values())
    used = sorted({factor for term in total.terms.values() for factor in term})
    place = {old: new for new, old in enumerate(used)}
    terms = tuple(tuple(place[factor] for factor in term) for term in total.terms.values())
    factors = [every[factor] for factor in used]
    if any(factor.call in UNIT_SPLINES for factor in factors):
        factors = list(_centred(factors, terms))
    return Parsed(response, tuple(factors), terms)


def _centred(factors: Sequence[Expression], terms: Sequence[tuple[int, ...]]) -> Iterator[Expression]:
    """Mark splines whose columns sum to the intercept or to another term, unless they are centred."""
    present = {frozenset(), *map(frozenset, terms)}
    for k, factor in enumerate(factors):
        repeated = factor.call in UNIT_SPLINES and any(
            k in term and frozenset(term) - {k} in present for term in terms
        )
        yield replace(factor, centred=True) if repeated else factor


class _Algebra:
    def __init__(self, functions: tuple[str, ...], text: str) -> None:
        self._functions = functions
        self._text = text
        self._positions: dict[str, int] = {}
        self.factors: dict[str, Expression] = {}
        self.others: Callable[[], Sequence[str]] = tuple

    def response(self, node: Node) -> Expression:
        """Return the left-hand side, which must be a single expression."""
        if node.kind == "~":
            raise self._error("has more than one '~'")
        if node.kind != "code" or node.code == "." or _is_number(node.code):
            raise self._error(
                "must have one response on the left; write arithmetic inside I(), as in I(a + b)"
            )
        return read_expression(node.code, self._functions)

    def evaluate(self, node: Node, depth: int) -> _Sum:
        """Return the sum of terms that a node denotes."""
        if depth > _MAX_NESTING:
            raise self._error(f"nests parentheses more than {_MAX_NESTING} deep")
        if node.kind == "code":
            return self._leaf(node.code)
        if node.kind in "+-":
            return self._chain(node, depth)
        if node.kind == "~":
            raise self._error("has more than one '~'")
        left = self.evaluate(read_node(node.args[0]), depth + 1)
        if node.kind == "**":
            total = self._power(left, read_node(node.args[1]))
            base, power = (read_node(item).code for item in node.args)
            if is_plain_name(base) and power != "1":
                power = f"{base}**{power}"
                raise self._error(f"has {power}, which is {base} alone; write the power as I({power})")
            return total
        right = self.evaluate(read_node(node.args[1]), depth + 1)
        if node.kind == ":":
            return self._interact(left, right)
        if node.kind == "*":
            return self._join(left, right, self._interact(left, right))
        # "/": the terms on the right are nested in all factors on the left together.
        everything = tuple(dict.fromkeys(factor for term in left.terms.values() for factor in term))
        return self._join(left, self._interact(self._sum([everything]) if everything else left, right))

    def _chain(self, node: Node, depth: int) -> _Sum:
        steps: list[tuple[str, Node]] = []
        while node.kind in ("+", "-") and len(node.args) == 2:
            steps.append((node.kind, read_node(node.args[1])))
            node = read_node(node.args[0])
        if node.kind in ("+", "-"):
            steps.append((node.kind, read_node(node.args[0])))
            total = _Sum()
            if node.kind == "-" and steps[-1][1].code not in ("0", "1"):
                raise self._error("begins with a minus, but there is no term to remove yet")
        else:
            total = self.evaluate(node, depth + 1)
        for sign, operand in reversed(steps):
            part = self.evaluate(operand, depth + 1)
            if sign == "+":
                total.terms.update((key, term) for key, term in part.terms.items() if key not in total.terms)
                self._check_count(len(total.terms))
                total.intercept = total.intercept if part.intercept is None else part.intercept
            else:
                for key in part.terms:
                    total.terms.pop(key, None)
                if part.intercept is not None:
                    total.intercept = not part.intercept
        return total

    def _leaf(self, code: str) -> _Sum:
        if code in ("0", "1"):
            return _Sum(intercept=code == "1")
        if _is_number(code):
            raise self._error(f"has the number {code}; numbers other than 0 and 1 go after ** or inside I()")
        if code == ".":
            return self._sum((self._factor(column_expression(name)),) for name in self.others())
        return self._sum((self._factor(self._read(piece)),) for piece in self._powers(code))

    def _read(self, code: str) -> Expression:
        return read_expression(code, self._functions)

    def _powers(self, code: str) -> list[str]:
        """Expand ``poly(x, degree)`` into its factors; return any other code unchanged."""
        if not code.startswith(POLY) or POLY in self._functions:
            return [code]
        try:
            call = ast.parse(code, mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return [code]  # which is refused with a reason when it is read
        if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == POLY):
            return [code]
        given = [*call.args, *(item.value for item in call.keywords if item.arg == "degree")]
        if len(given) != 2 or len(call.args) + len(call.keywords) != 2 or not call.args:
            raw = ", whose powers are raw" if any(item.arg == "raw" for item in call.keywords) else ""
            first = ast.unparse(call.args[0]) if call.args else "x"
            second = ast.unparse(given[1]) if len(given) > 1 else "3"
            raise self._error(f"has {show(code)}; write poly({first}, {second}){raw}")
        column = ast.get_source_segment(code, given[0]) or ""
        if not isinstance(self._read(column).tree, ast.Name):
            raise self._error(f"has {show(code)}; the first argument of poly() must be a column of the data")
        degree = given[1].value if isinstance(given[1], ast.Constant) else None
        if type(degree) is not int or not 1 <= degree <= MAX_DEGREE:
            raise self._error(f"has {show(code)}; the degree of poly() must be an int from 1 to {MAX_DEGREE}")
        return [column, *(f"I({column} ** {power})" for power in range(2, degree + 1))]

    def _factor(self, expression: Expression) -> int:
        self.factors.setdefault(expression.key, expression)
        return self._positions.setdefault(expression.key, len(self._positions))

    def _power(self, base: _Sum, exponent: Node) -> _Sum:
        if base.intercept is not None:
            raise self._error("applies a power to the intercept")
        if not (exponent.kind == "code" and exponent.code.isdecimal() and 1 <= len(exponent.code) <= 3):
            raise self._error("must have a whole number after **; write powers of values inside I()")
        power = int(exponent.code)
        if not 1 <= power <= MAX_POWER:
            raise self._error(f"has the power {power}; powers must be from 1 to {MAX_POWER}")
        total = self._join(base)
        layer = base
        for _ in range(1, min(power, max(len(base.terms), 1))):
            layer = self._interact(base, layer)
            total = self._join(total, layer)
        return total

    def _interact(self, left: _Sum, right: _Sum) -> _Sum:
        if left.intercept is not None or right.intercept is not None:
            raise self._error("has an interaction with the intercept")
        return self._sum(
            tuple(dict.fromkeys(one + other)) for one in left.terms.values() for other in right.terms.values()
        )

    def _join(self, *parts: _Sum) -> _Sum:
        if len(parts) > 1 and any(part.intercept is not None for part in parts):
            raise self._error("has an interaction with the intercept")
        return self._sum(term for part in parts for term in part.terms.values())

    def _sum(self, terms: Iterable[tuple[int, ...]]) -> _Sum:
        total = _Sum()
        for term in terms:
            total.terms.setdefault(frozenset(term), term)
            self._check_count(len(total.terms))
        return total

    def _check_count(self, count: int) -> None:
        if count > MAX_TERMS:
            raise self._error(f"has more than {MAX_TERMS} terms")

    def _error(self, reason: str) -> FormulaError:
        return FormulaError(f"The formula {show(self._text)} of {called()} {reason}.")


def _is_number(code: str) -> bool:
    try:
        float(code)
    except ValueError:
        return False
    return code.lower() not in ("nan", "inf", "infinity")

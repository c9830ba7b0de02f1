"""Checks of the expressions in a formula.

A factor is parsed with :mod:`ast` and checked against a short list of allowed nodes, names and calls; it is
never compiled or passed to ``eval``. Checked expressions are computed by :mod:`pyrjsel.design.evaluate`,
which uses the same list and has no other access to objects. Formulas from saved files are checked in the same
way.
"""

import ast
import keyword
import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np

from pyrjsel._called import called
from pyrjsel._errors import FormulaError, ParameterError
from pyrjsel._validate import bad_value, check_unicode, show
from pyrjsel.design.advice import RANDOM, WHOLE_NAME, advice, cure_of

MAX_FORMULA = 200_000  # characters of a formula: 5,000 terms of 30 characters and some room
MAX_FACTOR = 10_000  # characters of one factor
MAX_DEPTH = 150  # nesting of one factor; the check is recursive, so this is far below Python's own limit
MAX_POWER = 10  # of (a + b)**power
MAX_INTEGER = 2**53  # every integer up to this one is a float64


@dataclass(frozen=True)
class ArrayFunction:
    """An elementwise numpy function and its number of positional arguments.

    Too many arguments would reach ``out=``, and overwrite the user's columns.
    """

    function: Callable[..., object]
    least: int
    most: int


def _array_functions() -> dict[str, ArrayFunction]:
    names = "log log2 log10 log1p exp expm1 sqrt cbrt square abs sign sin cos tan tanh arctan floor ceil"
    table = {name: ArrayFunction(getattr(np, name), 1, 1) for name in names.split(" ")}
    table["minimum"] = ArrayFunction(np.minimum, 2, 2)
    table["maximum"] = ArrayFunction(np.maximum, 2, 2)
    table["where"] = ArrayFunction(np.where, 3, 3)
    table["clip"] = ArrayFunction(np.clip, 3, 3)
    table["round"] = ArrayFunction(np.round, 1, 2)
    return table


ARRAY_FUNCTIONS: Mapping[str, ArrayFunction] = MappingProxyType(_array_functions())
ARRAY_MODULES = ("np", "numpy")
UNIT_SPLINES = ("cr", "cc", "te")  # their columns sum to 1
SPLINES = ("bs", *UNIT_SPLINES)
STATEFUL = (*SPLINES, "center", "standardize", "scale")
CONTRASTS = ("Treatment", "Sum", "Helmert", "Diff", "Poly")
RESERVED = frozenset(("C", "I", "Q", *STATEFUL, *CONTRASTS, *ARRAY_MODULES))

_ARITHMETIC = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow)
_LOGIC = (ast.BitAnd, ast.BitOr, ast.BitXor)
_COMPARISONS = (ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE)


def allowed_text(functions: tuple[str, ...] = ()) -> str:
    """Return a sentence on the allowed parts of a formula."""
    own = f", and from functions= {', '.join(functions)}" if functions else ""
    return (
        f"A formula may use columns of the data, numbers, strings, arithmetic and comparisons. It may call "
        f"C, I, Q, {', '.join(STATEFUL)}, the contrasts {', '.join(CONTRASTS)} inside C, and of numpy, with "
        f"or without the prefix, np.{', np.'.join(sorted(ARRAY_FUNCTIONS))}{own}; poly(x, 3) is short for "
        "x + I(x**2) + I(x**3). "
        "Pass other functions by name, as functions={...}, and write a column with such a name in Q()."
    )


# A product of powers, by the key of what is raised.
Powers = dict[str, int]
# Transforms that change only origin and unit.
LINEAR = ("I", "center", "standardize", "scale")


@dataclass(frozen=True, eq=False)
class Expression:
    """A checked factor of a formula.

    Attributes
    ----------
    code : str
        The source as in the formula, with white space normalised.
    label : str
        The source for display: ``Q("a b")`` becomes ``a b``, and ``C(x, merge=True)`` becomes ``x``.
    key : str
        Two factors are the same if their keys are equal.
    tree : ast.expr
        The syntax tree, in which ``Q("a b")`` is a plain name.
    variables : tuple of str
        The columns that it uses, in order of appearance.
    functions : tuple of str
        The user's functions that it calls.
    centred : bool
        Whether the spline that it is learns to be centred, unless its call says otherwise.
    """

    code: str
    label: str
    key: str
    tree: ast.expr
    variables: tuple[str, ...]
    functions: tuple[str, ...]
    centred: bool = False

    @property
    def call(self) -> str | None:
        """The function of the formula that it calls as a whole: ``"C"``, ``"I"`` and the like."""
        return call_name(self.tree)


def column_expression(name: str) -> Expression:
    """Return the factor that is the column `name`."""
    code = name if is_plain_name(name) else f"Q({name!r})"
    tree = ast.Name(id=name, ctx=ast.Load())
    return Expression(code, name, column_key(name), tree, (name,), ())


def level_expression(expression: Expression, level: object) -> Expression:
    """Return a factor that merges levels as the indicator of one of them: ``x[b]``."""
    return replace(
        expression, label=f"{expression.label}[{level}]", key=f"level {level!r} of {expression.key}"
    )


def is_boolean(node: ast.expr, flags: Collection[str]) -> bool:
    """Whether a factor is True or False in each row, where the columns `flags` are."""
    if call_name(node) == "I":
        return is_boolean(node.args[0], flags)  # type: ignore[attr-defined]
    return (
        (isinstance(node, ast.Name) and node.id in flags)
        or isinstance(node, ast.Compare)
        or (isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Invert))
        or (isinstance(node, ast.BinOp) and isinstance(node.op, _LOGIC))
    )


def powers_of(expression: Expression) -> Powers:
    """Return the powers of a factor, by key of the base: x**3 for ``I(x**3)`` and ``I((x - 1)**3 / 10 + x)``.

    A polynomial is the power or the product that leads it: where lower powers are in the model, other origins
    and units do not change what it says. Any other factor is the first power of itself.
    """
    # Indicators of the levels of a factor have keys of their own.
    if isinstance(expression.tree, ast.Name) or expression.call == "C":
        return {expression.key: 1}
    return _leading(expression.tree)


def _leading(node: ast.expr) -> Powers:
    """Return the powers of the leading product of a polynomial; none for a number."""
    itself = {column_key(node.id) if isinstance(node, ast.Name) else ast.dump(node): 1}
    if isinstance(node, ast.Constant):
        return {}
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.UAdd, ast.USub)):
        return _leading(node.operand)
    if isinstance(node, ast.Call) and call_name(node) in LINEAR and node.args:
        return _leading(node.args[0])
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "square":
        return _product(_leading(node.args[0]), 2)
    if not isinstance(node, ast.BinOp):
        return itself
    left = _leading(node.left)
    if isinstance(node.op, ast.Pow):
        power = node.right.value if isinstance(node.right, ast.Constant) else None
        whole = isinstance(power, (int, float)) and 1 <= power <= MAX_INTEGER and power == int(power)
        return _product(left, int(power)) if whole else itself  # type: ignore[arg-type]
    right = _leading(node.right)
    if isinstance(node.op, ast.Mult):
        return {key: left.get(key, 0) + right.get(key, 0) for key in {**left, **right}}
    if isinstance(node.op, ast.Div) and not right:
        return left
    if isinstance(node.op, (ast.Add, ast.Sub)):
        for one, other in ((left, right), (right, left)):
            if all(one.get(key, 0) >= power for key, power in other.items()):
                return one
    return itself


def _product(powers: Powers, times: int) -> Powers:
    return {key: power * times for key, power in powers.items()}


def is_plain_name(name: str) -> bool:
    """Whether `name` can stand in a formula without ``Q()``."""
    return name.isascii() and name.isidentifier() and not keyword.iskeyword(name) and not _dunder(name)


def read_expression(code: str, functions: tuple[str, ...]) -> Expression:
    """Read a factor, or raise :class:`FormulaError` if it has anything that is not allowed.

    Parameters
    ----------
    code : str
        A Python expression.
    functions : tuple of str
        The names of the user's functions.

    Returns
    -------
    Expression

    Raises
    ------
    FormulaError
        If `code` is not an expression, or contains anything that is not on the list.
    """
    if is_plain_name(code):
        return column_expression(code)
    if len(code) > MAX_FACTOR:
        raise FormulaError(
            f"The formula of {called()} has a factor of {len(code)} characters; at most {MAX_FACTOR} are "
            f"allowed: {show(code)}."
        )
    if not code.isprintable():
        # Line breaks would shift the positions that ast reports; those of the formula are already blanks.
        raise FormulaError(f"The formula of {called()} has unprintable characters at {show(code)}.")
    try:
        tree = ast.parse(code, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        reason = advice(code) or error.msg if isinstance(error, SyntaxError) else "it is nested too deeply"
        raise FormulaError(f"The formula of {called()} cannot be read at {show(code)}: {reason}.") from error
    reader = _Reader(code, functions)
    tree = reader.read(tree, 0)
    if not reader.variables:
        raise FormulaError(
            f"The formula of {called()} has the term {show(code)}, which uses no column of the data. "
            "Write numbers other than 0 and 1 inside I(), and unusual column names inside Q()."
        )
    label = reader.label()
    key = column_key(tree.id) if isinstance(tree, ast.Name) else ast.dump(tree)
    return Expression(code, label, key, tree, tuple(reader.variables), tuple(reader.called))


def check_functions(functions: object, *, needed: Sequence[str] = ()) -> dict[str, Callable[..., object]]:
    """Return the user's functions as a dict that has those `needed`, or raise :class:`ParameterError`."""
    known = functions if isinstance(functions, Mapping) else {}
    lacking = [name for name in needed if name not in known]
    if lacking:
        must = f"a mapping that includes the functions the formula calls: {', '.join(map(repr, lacking))}"
        raise bad_value("functions", must, functions)
    if functions is None:
        return {}
    if not isinstance(functions, Mapping):
        raise bad_value("functions", "a mapping of names to functions", functions)
    for name, function in functions.items():
        if not isinstance(name, str) or not is_plain_name(name):
            raise bad_value("functions", "a mapping whose keys are identifiers", name)
        if name in RESERVED:
            must = f"a mapping with names other than the formula's own ({', '.join(sorted(RESERVED))})"
            raise bad_value("functions", must, name)
        if not callable(function):
            raise bad_value("functions", f"a mapping of names to functions (see {name!r})", function)
        if hasattr(function, "__patsy_stateful_transform__"):
            raise ParameterError(
                f"The 'functions' parameter of {called()} has the stateful transform {name!r}, which would "
                "learn anew from the rows to be predicted. Pass a function that works row by row."
            )
    return dict(functions)


def stateful_calls(tree: ast.expr) -> list[ast.Call]:
    """Return the calls of stateful transforms in `tree`, outer ones first."""
    return [node for node in _preorder(tree) if isinstance(node, ast.Call) and call_name(node) in STATEFUL]


def _preorder(node: ast.AST) -> Iterator[ast.AST]:
    yield node
    for child in ast.iter_child_nodes(node):
        yield from _preorder(child)


def call_name(node: ast.expr) -> str | None:
    """Return the name of a function that a node calls by name, without a module."""
    return node.func.id if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) else None


def column_key(name: str) -> str:
    """Return the key of the factor that is the column `name`."""
    return f"column {name}"


def _dunder(name: str) -> bool:
    return name.startswith("__")


class _Reader:
    """Checks a factor, collects its variables and replaces ``Q("...")`` by plain names."""

    def __init__(self, code: str, functions: tuple[str, ...]) -> None:
        self._code = code
        self._functions = functions
        self._quotes: list[tuple[int, int, str]] = []
        self._shown: tuple[int, int] | None = None
        self.variables: dict[str, None] = {}
        self.called: dict[str, None] = {}

    def label(self) -> str:
        """Return the source with each ``Q("a b")`` as ``a b``, and of ``C(x, merge=True)`` only ``x``."""
        raw = self._code.encode()  # ast counts in bytes
        start, stop = self._shown or (0, len(raw))
        parts = []
        for begin, end, name in sorted(self._quotes):
            parts += [raw[start:begin], name.encode()]
            start = end
        return b"".join([*parts, raw[start:stop]]).decode()

    def read(self, node: ast.expr, depth: int) -> ast.expr:
        """Return `node` checked, with ``Q()`` replaced."""
        if depth > MAX_DEPTH:
            raise self._refusal(node, f"it is nested more than {MAX_DEPTH} deep")
        below = depth + 1
        if isinstance(node, ast.Constant):
            self._check_constant(node)
        elif isinstance(node, ast.Name):
            if not self._code.isascii():
                # Python would take the micro sign for a Greek letter, and full-width letters for others.
                node.id = ast.get_source_segment(self._code, node) or node.id
            self._check_name(node)
            self.variables[node.id] = None
        elif isinstance(node, ast.Call):
            return self._read_call(node, below)
        elif isinstance(node, ast.BinOp):
            if not isinstance(node.op, _ARITHMETIC + _LOGIC):
                raise self._refusal(node, "this operator is not allowed")
            self._check_logic(node)
            node.left, node.right = self.read(node.left, below), self.read(node.right, below)
        elif isinstance(node, ast.UnaryOp):
            if not isinstance(node.op, (ast.UAdd, ast.USub, ast.Invert)):
                raise self._refusal(node, "'not' is not elementwise; write ~(...)")
            node.operand = self.read(node.operand, below)
        elif isinstance(node, ast.Compare):
            if not all(isinstance(op, _COMPARISONS) for op in node.ops):
                raise self._refusal(node, "'in' and 'is' are not elementwise; write (x == a) | (x == b)")
            node.left = self.read(node.left, below)
            node.comparators = [self.read(item, below) for item in node.comparators]
        elif isinstance(node, (ast.Tuple, ast.List)):
            if depth == 0:
                raise self._refusal(node, "write + between terms")
            node.elts = [self.read(item, below) for item in node.elts]
        else:
            raise self._refusal(node, self._never(node))
        return node

    def _never(self, node: ast.expr) -> str:
        """Return why an expression of this kind is refused."""
        if isinstance(node, ast.BoolOp):
            return "'and' and 'or' are not elementwise; write & and | between ()"
        if isinstance(node, ast.Attribute):
            return f"{WHOLE_NAME}, or one that has a dot in it as Q({self._piece(node)!r})"
        if isinstance(node, ast.Subscript):
            return f"{WHOLE_NAME}, and a level of a factor as a comparison, I(x == 'a')"
        if isinstance(node, ast.IfExp):
            return "write np.where(condition, a, b)"
        return f"{type(node).__name__} is not allowed"

    def _check_logic(self, node: ast.BinOp) -> None:
        """Refuse powers and random effects as R writes them: here ^ and | are between conditions."""
        if isinstance(node.op, ast.BitXor) and _is_number(node.right):
            power = f"{self._piece(node.left)}**{self._piece(node.right)}"
            raise self._refusal(node, f"write the power as I({power})")
        if (
            isinstance(node.op, ast.BitOr)
            and isinstance(node.right, ast.Call)
            and _is_call(node.right, "trials")
        ):
            raise self._unknown(node.right, "trials", "")
        if isinstance(node.op, ast.BitOr) and _is_number(node.left):
            raise self._refusal(node, RANDOM.format(self._piece(node.right)))

    def _read_call(self, node: ast.Call, depth: int) -> ast.expr:
        if any(item.arg is None for item in node.keywords):
            raise self._refusal(node, "** is not allowed in a call")
        if isinstance(node.func, ast.Attribute):
            self._check_array_call(node)
        elif isinstance(node.func, ast.Name):
            name = node.func.id
            if name == "Q":
                return self._read_quote(node)
            if name == "C":
                return self._read_categorical(node, depth)
            if name in CONTRASTS:
                raise self._refusal(node, "a contrast is allowed only inside C(), as in C(x, Sum)")
            if name == "I":
                if len(node.args) != 1 or node.keywords:
                    raise self._refusal(node, "I() takes one argument")
            elif name in self._functions:
                self.called[name] = None
            elif name in ARRAY_FUNCTIONS:
                node.func = ast.Attribute(ast.Name(ARRAY_MODULES[0], ast.Load()), name, ast.Load())
                self._check_array_call(node)
            elif name not in STATEFUL:
                raise self._unknown(node, name, f"calls of {name!r} are not allowed")
            elif name == "te" and not any(_is_call(item, *SPLINES) for item in node.args):
                raise self._unknown(node, "t2", "te() takes splines")
        else:
            raise self._refusal(node, "only functions called by name are allowed")
        node.args = [self.read(item, depth) for item in node.args]
        for item in node.keywords:
            item.value = self.read(item.value, depth)
        return node

    def _check_array_call(self, node: ast.Call) -> None:
        function = node.func
        if not (
            isinstance(function, ast.Attribute)
            and isinstance(function.value, ast.Name)
            and function.value.id in ARRAY_MODULES
            and function.attr in ARRAY_FUNCTIONS
        ):
            name = self._piece(function)
            known = name.rpartition(".")[2] in ARRAY_FUNCTIONS and isinstance(function, ast.Attribute)
            if known and name.count(".") == 1:
                raise self._refusal(node, f"write np.{name.rpartition('.')[2]}()")
            raise self._unknown(node, name, f"calls of {name!r} are not allowed")
        entry = ARRAY_FUNCTIONS[function.attr]
        if node.keywords:
            raise self._refusal(node, f"np.{function.attr} takes no keyword arguments in a formula")
        if any(isinstance(item, ast.Starred) for item in node.args):
            raise self._refusal(node, "* is not allowed in a call")
        if not entry.least <= len(node.args) <= entry.most:
            count = str(entry.least) if entry.least == entry.most else f"{entry.least} to {entry.most}"
            raise self._refusal(node, f"np.{function.attr} takes {count} argument(s) in a formula")

    def _read_quote(self, node: ast.Call) -> ast.expr:
        if len(node.args) != 1 or node.keywords or not isinstance(node.args[0], ast.Constant):
            raise self._refusal(node, "Q() takes the name of a column as one string")
        name = node.args[0].value
        if not isinstance(name, str):
            raise self._refusal(node, "Q() takes the name of a column as one string")
        check_unicode((name,), "names of columns")
        self._quotes.append((node.col_offset, node.end_col_offset or 0, name))
        self.variables[name] = None
        return ast.Name(id=name, ctx=ast.Load())

    def _read_categorical(self, node: ast.Call, depth: int) -> ast.expr:
        named = {item.arg: item.value for item in node.keywords}
        if not 1 <= len(node.args) <= 3 or set(named) - {"contrast", "levels", "merge"}:
            raise self._refusal(
                node,
                "C() takes a column, and optionally contrast=, levels= and merge=; write "
                "a reference level as C(x, Treatment('a'))",
            )
        if ("contrast" in named and len(node.args) > 1) or ("levels" in named and len(node.args) > 2):
            raise self._refusal(node, "C() got the same argument twice")
        contrast = node.args[1] if len(node.args) > 1 else named.get("contrast")
        levels = node.args[2] if len(node.args) > 2 else named.get("levels")
        if contrast is not None:
            self._check_contrast(contrast)
        if levels is not None and not _literal(levels):
            raise self._refusal(levels, "levels= must be a list of numbers or strings, such as ['a', 'b']")
        merge = named.get("merge")
        if merge is not None:
            self._check_merge(node, merge, contrast, depth)
        node.args[0] = self.read(node.args[0], depth)
        return node

    def _check_merge(self, node: ast.Call, merge: ast.expr, contrast: ast.expr | None, depth: int) -> None:
        if not (isinstance(merge, ast.Constant) and isinstance(merge.value, bool)):
            raise self._refusal(merge, "merge= must be True or False")
        if not merge.value:
            return
        if depth > 1:
            raise self._refusal(node, "C() with merge=True cannot be part of another expression")
        name = contrast.func if isinstance(contrast, ast.Call) else contrast
        if isinstance(contrast, ast.Constant) and contrast.value is None:
            name = None
        if name is not None and not (isinstance(name, ast.Name) and name.id == "Treatment"):
            reason = "merge=True compares levels with a reference, so that its contrast must be Treatment"
            raise self._refusal(node, reason)
        shown = node.args[0]
        self._shown = shown.col_offset, shown.end_col_offset or 0

    def _check_contrast(self, node: ast.expr) -> None:
        name: ast.expr = node.func if isinstance(node, ast.Call) else node
        if isinstance(name, ast.Name) and name.id in CONTRASTS:
            if not isinstance(node, ast.Call):
                return
            values = [*node.args, *(item.value for item in node.keywords)]
            if all(item.arg is not None for item in node.keywords) and all(_literal(item) for item in values):
                return
        elif _literal(node) and (not isinstance(node, ast.Constant) or node.value is None):
            return
        must = f"one of {', '.join(CONTRASTS)} or a list of rows"
        raise self._refusal(node, f"the contrast of C() must be {must}")

    def _check_name(self, node: ast.Name) -> None:
        if _dunder(node.id):
            raise self._refusal(node, "names that begin with two underscores are not allowed outside Q()")

    def _check_constant(self, node: ast.Constant) -> None:
        if not _plain_constant(node.value):
            raise self._refusal(node, "this constant is not allowed")

    def _refusal(self, node: ast.AST, reason: str, rest: str = "") -> FormulaError:
        piece = show(self._piece(node))
        return FormulaError(
            f"The formula of {called()} contains {piece}, which is not allowed: {reason}.{rest}"
        )

    def _piece(self, node: ast.AST) -> str:
        return ast.get_source_segment(self._code, node) or self._code

    def _unknown(self, node: ast.Call, name: str, reason: str) -> FormulaError:
        """Return the error for a call that formulas do not have, with what to write if that is known."""
        inside = self._piece(node)[len(self._piece(node.func)) :].strip()[1:-1]
        cure = cure_of(name, inside)
        return (
            self._refusal(node, cure)
            if cure
            else self._refusal(node, reason, f" {allowed_text(self._functions)}")
        )


def _is_call(node: ast.expr, *names: str) -> bool:
    """Whether `node` calls one of the functions `names`."""
    return call_name(node) in names


def _is_number(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) in (int, float)


def _plain_constant(value: object) -> bool:
    if value is None or isinstance(value, (bool, str)):
        return True
    if isinstance(value, int):
        return abs(value) <= MAX_INTEGER
    return isinstance(value, float) and math.isfinite(value)


def _literal(node: ast.expr, depth: int = 0) -> bool:
    """Whether `node` is a number with or without sign, a string, None, or a list of these."""
    if isinstance(node, ast.Constant):
        return _plain_constant(node.value)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.UAdd)):
        inner = node.operand
        return isinstance(inner, ast.Constant) and type(inner.value) in (int, float) and _literal(inner)
    if isinstance(node, (ast.List, ast.Tuple)) and depth < 3:
        return all(_literal(item, depth + 1) for item in node.elts)
    return False

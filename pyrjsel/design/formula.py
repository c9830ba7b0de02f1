"""Interface to patsy: its parser, its coding of factors, and its splines.

patsy gets names, numbers of columns, levels and contrasts, but no data except the arguments of splines.
"""

import re
import tokenize
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
import patsy
from patsy.parse_formula import parse_formula

from pyrjsel._called import called
from pyrjsel._errors import FormulaError
from pyrjsel._typing import FloatArray
from pyrjsel._validate import show
from pyrjsel.design.advice import advice

# Learned attributes of patsy's splines, without their leading underscore.
SPLINE_STATE: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "bs": ("degree", "knots"),
        "cr": ("knots", "constraints"),
        "cc": ("knots", "constraints"),
        "te": ("constraints",),
    }
)
_ATTRIBUTES = {"degree": "_degree", "knots": "_all_knots", "constraints": "_constraints"}


@dataclass(frozen=True)
class Node:
    """A node of a parsed formula: an operator with its arguments, or a piece of code.

    Attributes
    ----------
    kind : str
        ``"~"``, ``"+"``, ``"-"``, ``"*"``, ``"/"``, ``":"``, ``"**"``, or ``"code"``.
    args : tuple
        Child nodes of patsy; converted with :func:`read_node`.
    code : str
        Source of a node of kind ``"code"``.
    """

    kind: str
    args: tuple[Any, ...]
    code: str


@dataclass(frozen=True, eq=False)
class CodingFactor:
    """Properties of a factor that its coding needs; a boolean one is coded as a factor of two levels."""

    label: str
    n_columns: int = 1
    levels: tuple[object, ...] | None = None
    contrast: object = None
    boolean: bool = False


@dataclass(frozen=True, eq=False)
class Subterm:
    """A block of columns of a term: the products of its factors' columns, the first factor varying fastest.

    Attributes
    ----------
    factors : tuple of int
        Positions of its factors.
    contrasts : tuple of (ndarray, shape (levels, columns), or None)
        Contrast matrix of each categorical factor; None for a numeric one, and for a boolean one as 0 and 1.
    """

    factors: tuple[int, ...]
    contrasts: tuple[FloatArray | None, ...]


def parse(text: str) -> Node:
    """Return the root of a parsed formula, or raise :class:`FormulaError`."""
    try:
        return read_node(parse_formula(re.sub(r"[\r\n\f\v]+", " ", text)))
    except (
        patsy.PatsyError,
        AssertionError,
        IndexError,
        KeyError,
        RecursionError,
        SyntaxError,
        ValueError,
        tokenize.TokenError,
    ) as error:
        # The second line of patsy's message repeats the formula.
        reason = str(error).split("\n")[0] or "bad syntax"
        reason = advice(text) or reason.replace(
            "expected a noun, but instead the expression ended", "a term is missing at its end"
        ).replace("expected a noun, not", "a term must stand in place of")
        raise FormulaError(f"The formula {show(text)} of {called()} cannot be read: {reason}.") from error


def read_node(node: Any) -> Node:
    """Return a node of patsy as a :class:`Node`."""
    if node.type in ("PYTHON_EXPR", "ZERO", "ONE", "NUMBER"):
        return Node("code", (), str(node.token.extra))
    return Node(str(node.type), tuple(node.args), "")


class _Factor:
    """A factor in patsy's protocol with a shape but no data."""

    origin = None

    def __init__(self, position: int, spec: CodingFactor) -> None:
        self.position = position
        self._spec = spec
        if spec.boolean:
            self._value: Any = patsy.builtins.C([], _Flag(), (False, True))
        elif spec.levels is None:
            self._value = np.zeros((1, spec.n_columns))
        else:
            self._value = patsy.builtins.C([], _patsy_contrast(spec), spec.levels)

    def name(self) -> str:
        # Labels may collide ("a:b" the column, a:b the interaction), which patsy does not allow.
        return f"\0{self.position}\0"

    def memorize_passes_needed(self, state: object, env: object) -> int:
        return 0

    def eval(self, state: object, data: object) -> Any:
        return self._value


def code_terms(
    terms: Sequence[tuple[int, ...]], factors: Sequence[CodingFactor]
) -> tuple[list[tuple[Subterm, ...]], list[tuple[str, ...]]]:
    """Code the factors of a formula with an intercept without redundant columns.

    Parameters
    ----------
    terms : sequence of tuples of int
        The factors of each term, by position; without the intercept.
    factors : sequence of CodingFactor
        The factors.

    Returns
    -------
    subterms : list of tuples of Subterm
        Subterms of each term.
    columns : list of tuples of str
        Names of the columns of each term.

    Raises
    ------
    FormulaError
        If a contrast does not match its levels.
    """
    made = [_Factor(position, spec) for position, spec in enumerate(factors)]
    patsy_terms = [patsy.Term([made[position] for position in term]) for term in terms]
    try:
        info = patsy.design_matrix_builders(
            [[patsy.INTERCEPT, *patsy_terms]], lambda: iter([{}]), patsy.EvalEnvironment([])
        )[0]
    except (patsy.PatsyError, ValueError, TypeError, IndexError, AttributeError) as error:
        raise FormulaError(f"The formula of {called()} cannot be coded: {error}.") from error
    labels = [
        re.sub("\0(\\d+)\0", lambda found: factors[int(found[1])].label, name) for name in info.column_names
    ]
    # patsy lists those without numeric factors first, then the others by the set of their numeric factors.
    coded = {
        id(term): tuple(_subterm(piece, factors) for piece in pieces)
        for term, pieces in info.term_codings.items()
    }
    columns = {id(term): tuple(labels[where]) for term, where in info.term_slices.items()}
    return [coded[id(term)] for term in patsy_terms], [columns[id(term)] for term in patsy_terms]


def _subterm(piece: Any, factors: Sequence[CodingFactor]) -> Subterm:
    contrasts: list[FloatArray | None] = []
    for factor in piece.factors:
        coding = piece.contrast_matrices.get(factor)
        itself = coding is None or (factors[factor.position].boolean and coding.matrix.shape[1] == 1)
        contrasts.append(None if itself else np.array(coding.matrix, dtype=np.float64))
    return Subterm(tuple(factor.position for factor in piece.factors), tuple(contrasts))


class _Flag:
    """The coding of a boolean: itself, or one column for each value where lower terms do not span it."""

    def code_with_intercept(self, levels: Sequence[object]) -> Any:
        return patsy.ContrastMatrix(np.eye(2), ["[False]", "[True]"])

    def code_without_intercept(self, levels: Sequence[object]) -> Any:
        return patsy.ContrastMatrix(np.array([[0.0], [1.0]]), [""])


class _Indicators:
    """Treatment contrasts whose columns are named as those of full coding: ``x[b]``, not ``x[T.b]``."""

    def __init__(self, coding: Any) -> None:
        self._coding = coding

    def code_with_intercept(self, levels: Sequence[object]) -> Any:
        return self._coding.code_with_intercept(levels)

    def code_without_intercept(self, levels: Sequence[object]) -> Any:
        coded = self._coding.code_without_intercept(levels)
        names = [f"[{levels[level]}]" for level in coded.matrix.argmax(axis=0)]
        return patsy.ContrastMatrix(coded.matrix, names)


def _patsy_contrast(spec: CodingFactor) -> Any:
    contrast: Any = spec.contrast
    if contrast is None:
        return None
    try:
        if contrast.name is None:
            rows = np.array(contrast.args[0], dtype=np.float64)
            if rows.ndim != 2 or len(rows) != len(spec.levels or ()):
                raise ValueError(
                    f"its shape {rows.shape} must have one row for each of the levels {spec.levels}"
                )
            return rows
        coding = getattr(patsy.builtins, contrast.name)(*contrast.args, **dict(contrast.named))
        return _Indicators(coding) if contrast.merge else coding
    except (patsy.PatsyError, ValueError, TypeError) as error:
        raise FormulaError(f"The contrast of {spec.label!r} of {called()} is invalid: {error}.") from error


def learn_spline(name: str, args: Sequence[object], named: Mapping[str, object]) -> dict[str, object]:
    """Return the state that patsy's spline `name` learns from its arguments, as plain arrays and numbers."""
    spline = getattr(patsy, name).__patsy_stateful_transform__()
    spline.memorize_chunk(*args, **named)
    spline.memorize_finish()
    state: dict[str, object] = {}
    for key in SPLINE_STATE[name]:
        value = getattr(spline, _ATTRIBUTES[key])
        if key == "degree":
            state[key] = int(value)
        else:
            state[key] = None if value is None else np.array(value, dtype=np.float64)
    return state


def apply_spline(
    name: str, state: Mapping[str, object], args: Sequence[object], named: Mapping[str, object]
) -> FloatArray:
    """Return the columns of patsy's spline `name` for the arguments, with a learned state."""
    spline = getattr(patsy, name).__patsy_stateful_transform__()
    for key in SPLINE_STATE[name]:
        value = state[key]
        # patsy sorts the knots in place; a saved state must not change.
        setattr(spline, _ATTRIBUTES[key], value.copy() if isinstance(value, np.ndarray) else value)
    return np.asarray(spline.transform(*args, **named), dtype=np.float64)

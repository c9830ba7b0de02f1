"""Conversion of designs to plain data and back.

The dict holds str, int, bool, None, lists, dicts and float64 arrays. No code in it is run on reading: every
expression is checked against the same list as a formula of a user.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import numpy as np

from pyrjsel._called import called
from pyrjsel._errors import DataError
from pyrjsel._typing import FloatArray
from pyrjsel.design.build import Response
from pyrjsel.design.formula import Subterm
from pyrjsel.design.frame import Kind, Level
from pyrjsel.design.layout import Factor, Layout, Variable, width
from pyrjsel.design.safety import Expression, check_functions, read_expression, stateful_calls
from pyrjsel.design.terms import Aliases, Term, make_terms
from pyrjsel.design.transforms import State, check_state

VERSION = 1
_KINDS = ("real", "integer", "boolean", "text")


def called_functions(
    state: object, functions: Mapping[str, Callable[..., object]] | None
) -> dict[str, Callable[..., object]]:
    """Return the user's functions that a design calls, after a check of the version of its plain data.

    Raises
    ------
    DataError
        If the data are not those of a design, or have another version.
    ParameterError
        If a required function is missing.
    """
    version = take(state, "version", int)
    if version != VERSION:
        raise bad(f"it has version {version}, and this release reads {VERSION}")
    names = strings(state, "functions")
    own = check_functions(functions, needed=names)
    return {name: own[name] for name in names}


def layout_to_dict(layout: Layout) -> dict[str, Any]:
    """Return a layout as plain data."""
    return {
        "variables": [variable_to_dict(variable) for variable in layout.variables.values()],
        "factors": [factor_to_dict(factor) for factor in layout.factors],
        "terms": [
            {
                "factors": list(members),
                "parts": [
                    {"factors": list(part.factors), "contrasts": [_copied(item) for item in part.contrasts]}
                    for part in parts
                ],
            }
            for members, parts in zip(layout.members, layout.subterms, strict=True)
        ],
        "columns": list(layout.column_names),
    }


def factor_to_dict(factor: Factor) -> dict[str, Any]:
    """Return a factor as plain data."""
    return {
        "code": factor.expression.code,
        "n_columns": factor.n_columns,
        "levels": None if factor.levels is None else list(factor.levels),
        "transforms": _states_to_list(factor.states),
        **({} if factor.level is None else {"level": factor.level}),
    }


def response_to_dict(response: Response) -> dict[str, Any]:
    """Return a response as plain data."""
    return {
        "code": response.expression.code,
        "transforms": _states_to_list(response.states),
        "variables": [variable_to_dict(variable) for variable in response.variables.values()],
        **({} if response.levels is None else {"levels": list(response.levels)}),
    }


def layout_from_dict(state: Mapping[str, Any], functions: tuple[str, ...]) -> Layout:
    """Return the layout from plain data.

    Raises
    ------
    DataError
        If an entry is missing, has the wrong type, or is inconsistent with others.
    FormulaError
        If a factor has an expression that is not allowed.
    """
    variables = variables_from_dict(state)
    factors = [factor_from_dict(item, variables, functions) for item in dicts(state, "factors")]
    members, coded = [], []
    for item in dicts(state, "terms"):
        term = _positions(item, "factors", len(factors))
        if not term or len(set(term)) < len(term):
            raise bad("a term has no factors, or one twice")
        members.append(term)
        coded.append(tuple(_part(part, term, factors) for part in dicts(item, "parts")))
    if len({frozenset(term) for term in members}) < len(members):
        raise bad("two terms have the same factors")
    widths = [sum(width(part, factors) for part in parts) for parts in coded]
    names = strings(state, "columns")
    if len(names) != sum(widths) or not all(widths) or len(set(names)) < len(names):
        raise bad(f"it names {len(names)} columns for the {sum(widths)} of its terms, or one twice")
    used = {name for factor in factors for name in factor.expression.variables}
    if used != set(variables):
        raise bad("its columns of the data are not those of its factors")
    terms = make_terms(members, widths, names, [factor.expression for factor in factors])
    if len({term.name for term in terms}) < len(terms):
        raise bad("two terms have the same name")
    return Layout(terms, tuple(members), tuple(coded), tuple(factors), variables, tuple(names))


def response_from_dict(state: Mapping[str, Any], functions: tuple[str, ...]) -> Response:
    """Return the response from plain data; raises as :func:`layout_from_dict` does."""
    variables = variables_from_dict(state)
    expression, states = _expression(state, functions)
    if set(expression.variables) != set(variables):
        raise bad("its response does not use the columns it lists")
    listed = take(state, "levels", (list, tuple)) if "levels" in state else None
    return Response(expression, states, variables, _levels(listed, expression))


def take(state: object, key: str, kind: type | tuple[type, ...]) -> Any:
    """Return an entry of a saved design, or raise :class:`DataError`."""
    if not isinstance(state, Mapping):
        raise bad(f"a {type(state).__name__} stands where a mapping with {key!r} is needed")
    if key not in state:
        raise bad(f"{key!r} is missing")
    value = state[key]
    kinds = kind if isinstance(kind, tuple) else (kind,)
    if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
        raise bad(f"{key!r} is a {type(value).__name__}")
    return value


def dicts(state: object, key: str) -> Sequence[Mapping[str, Any]]:
    """Return an entry that must be a list of mappings."""
    value = take(state, key, (list, tuple))
    if not all(isinstance(item, Mapping) for item in value):
        raise bad(f"{key!r} must hold mappings")
    return cast("Sequence[Mapping[str, Any]]", value)


def strings(state: object, key: str) -> list[str]:
    """Return an entry that must be a list of strings."""
    value = take(state, key, (list, tuple))
    if not all(isinstance(item, str) for item in value):
        raise bad(f"{key!r} must hold strings")
    return list(value)


def bad(reason: str) -> DataError:
    """Return the error for a saved design that cannot be read."""
    return DataError(f"The saved design given to {called()} cannot be read: {reason}.")


def _copied(array: Any) -> Any:
    return None if array is None else np.array(array, dtype=np.float64)


def _states_to_list(states: Sequence[State]) -> list[dict[str, Any]]:
    return [
        {key: np.array(value) if isinstance(value, np.ndarray) else value for key, value in state.items()}
        for state in states
    ]


def variable_to_dict(variable: Variable) -> dict[str, Any]:
    """Return a column of the data as plain data."""
    return {"name": variable.name, "kind": variable.kind, "categorical": variable.categorical}


def variables_from_dict(state: object) -> dict[str, Variable]:
    """Return the columns of the data from plain data, by name."""
    variables: dict[str, Variable] = {}
    for item in dicts(state, "variables"):
        name, kind = take(item, "name", str), take(item, "kind", str)
        if kind not in _KINDS:
            raise bad(f"the column {name!r} is of an unknown kind")
        variables[name] = Variable(name, cast("Kind", kind), take(item, "categorical", bool))
    return variables


def _expression(item: Mapping[str, Any], functions: tuple[str, ...]) -> tuple[Expression, tuple[State, ...]]:
    expression = read_expression(take(item, "code", str), functions)
    calls = stateful_calls(expression.tree)
    states = dicts(item, "transforms")
    if len(states) != len(calls):
        raise bad(f"{expression.label!r} has {len(states)} states for {len(calls)} transforms")
    names = [call.func.id for call in calls if hasattr(call.func, "id")]
    return expression, tuple(check_state(name, one) for name, one in zip(names, states, strict=True))


def factor_from_dict(
    item: Mapping[str, Any], variables: Mapping[str, Variable], functions: tuple[str, ...]
) -> Factor:
    """Return the factor from plain data; raises as :func:`layout_from_dict` does."""
    expression, states = _expression(item, functions)
    if not set(expression.variables) <= set(variables):
        raise bad(f"{expression.label!r} uses a column that it does not list")
    n_columns = take(item, "n_columns", int)
    levels = _levels(take(item, "levels", (list, tuple, type(None))), expression)
    if n_columns < 1 or (n_columns > 1 and levels is not None):
        raise bad(f"{expression.label!r} has {n_columns} columns")
    factor = Factor(expression, states, n_columns, levels)
    if "level" not in item:
        return factor
    level = take(item, "level", int)
    if levels is None or not 0 <= level < len(levels):
        raise bad(f"{expression.label!r} has no level {level}")
    return factor.indicator(level)


def _levels(listed: Sequence[Any] | None, expression: Expression) -> tuple[Level, ...] | None:
    """Return the levels of a factor or a response, if it has any."""
    if listed is None:
        return None
    if not all(isinstance(level, (str, int, float, bool)) for level in listed):
        raise bad(f"{expression.label!r} has levels that are not text, numbers or booleans")
    levels = tuple(listed)
    if len(set(levels)) < max(len(levels), 1):
        raise bad(f"{expression.label!r} has no levels, or one twice")
    return levels


def _positions(item: Mapping[str, Any], key: str, count: int) -> tuple[int, ...]:
    value = take(item, key, (list, tuple))
    if not all(type(position) is int and 0 <= position < count for position in value):
        raise bad(f"{key!r} must hold positions below {count}")
    return tuple(value)


def _part(item: Mapping[str, Any], term: tuple[int, ...], factors: Sequence[Factor]) -> Subterm:
    members = _positions(item, "factors", len(factors))
    contrasts = take(item, "contrasts", (list, tuple))
    if not members or not set(members) <= set(term) or len(contrasts) != len(members):
        raise bad("the parts of a term do not fit its factors")
    checked: list[FloatArray | None] = []
    for position, contrast in zip(members, contrasts, strict=True):
        levels = factors[position].levels
        if levels is None:
            if contrast is not None and not np.array_equal(contrast, np.eye(2)):  # of a boolean
                raise bad("a numeric factor has a contrast")
            checked.append(_copied(contrast))
            continue
        if not (
            isinstance(contrast, np.ndarray)
            and contrast.dtype == np.float64
            and contrast.ndim == 2
            and contrast.shape[0] == len(levels)
            and np.isfinite(contrast).all()
        ):
            raise bad("a factor has no contrast that fits its levels")
        checked.append(np.array(contrast))
    return Subterm(members, tuple(checked))


def aliases_to_dict(aliases: Aliases | None) -> dict[str, Any]:
    """Return the entry of columns left out of their terms, if there are any."""
    if aliases is None:
        return {}
    return {"aliases": {"dropped": aliases.dropped.tolist(), "combination": aliases.combination}}


def aliases_from_dict(design: Mapping[str, Any], terms: Sequence[Term]) -> Aliases | None:
    """Return the columns left out of `terms` from the plain data of a design."""
    if "aliases" not in design:
        return None
    state = take(design, "aliases", Mapping)
    dropped, made = take(state, "dropped", list), take(state, "combination", np.ndarray)
    size = sum(len(term.columns) for term in terms)
    if not dropped or not all(type(k) is int and 0 <= k < size for k in dropped):
        raise bad("'dropped' must be positions of columns")
    if dropped != sorted(set(dropped)) or made.shape != (len(dropped), size + 1) or made.dtype != float:
        raise bad("'dropped' and 'combination' do not fit together")
    found = Aliases(np.array(dropped, dtype=np.int64), made)
    if not all(term.columns for term in found.terms(terms)):
        raise bad("a term has no column left")
    return found

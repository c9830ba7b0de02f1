"""Which terms are always in, and which come before which."""

from collections.abc import Sequence

from pyrjsel._errors import ParameterError
from pyrjsel._validate import bad_value, unknown_name


def check_always(always: object, names: tuple[str, ...], owner: str) -> set[str]:
    """Return the names of the terms that are in every model, given as one name or several."""
    if isinstance(always, str):
        always = (always,)
    try:
        kept = list(always)  # type: ignore[call-overload]
    except TypeError as error:
        raise bad_value("always", owner, "a name or names of terms", always) from error
    for name in kept:
        if not isinstance(name, str):
            raise bad_value("always", owner, "a name or names of terms", always)
        if name not in names:
            raise unknown_name(name, "in 'always' the term", owner, names)
    return set(kept)


def topological_order(parents: Sequence[Sequence[int]]) -> list[int]:
    """Return all terms, those of lower order first; within one order as they come."""
    depth = [0] * len(parents)
    changed = True
    rounds = 0
    while changed:
        changed = False
        rounds += 1
        if rounds > len(parents) + 1:
            raise ParameterError("The parents of terms must not form a circle.")
        for term, above in enumerate(parents):
            least = 1 + max((depth[parent] for parent in above), default=-1)
            if least > depth[term]:
                depth[term] = least
                changed = True
    return sorted(range(len(parents)), key=lambda term: (depth[term], term))

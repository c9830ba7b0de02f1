"""Terms: the units that enter or leave a model whole, and which of them are part of which."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from pyrjsel.design.safety import Expression

# Subsets of an interaction's factors are looked up one by one up to this many factors: 2**10 look-ups.
_ENUMERATED = 10


@dataclass(frozen=True)
class Term:
    """A unit that enters or leaves a model whole. The intercept is not a term.

    Attributes
    ----------
    name : str
        As the user would write it: ``"age"``, ``"C(race)"``, ``"age:smoke"``, ``"bs(age, df=4)"``;
        ``Q("a b")`` shows as ``"a b"``.
    columns : tuple of str
        Names of its design columns.
    start, stop : int
        Its columns are ``X[:, start:stop]``.
    variables : tuple of str
        The columns of the data that it uses.
    factors : tuple of str
        Names of its factors: ``("age", "smoke")`` for ``"age:smoke"``.
    parents : tuple of int
        Positions of all terms whose factors are a proper subset of this one's.
    near_parents : tuple of int
        The maximal ones among `parents`.

    Examples
    --------
    >>> import pandas as pd
    >>> from pyrjsel.design import Design
    >>> frame = pd.DataFrame({"y": [1.0, 2.0, 4.0], "age": [30, 40, 50], "smoke": [True, False, True]})
    >>> design, _ = Design.from_formula("y ~ age*smoke", frame)
    >>> design.terms[2].name, design.terms[2].variables, design.terms[2].parents
    ('age:smoke', ('age', 'smoke'), (0, 1))
    """

    name: str
    columns: tuple[str, ...]
    start: int
    stop: int
    variables: tuple[str, ...]
    factors: tuple[str, ...]
    parents: tuple[int, ...]
    near_parents: tuple[int, ...]


def make_terms(
    members: Sequence[tuple[int, ...]],
    widths: Sequence[int],
    column_names: Sequence[str],
    expressions: Sequence[Expression],
) -> tuple[Term, ...]:
    """Return the terms of a design.

    Parameters
    ----------
    members : sequence of J tuples of int
        The factors of each term, by position.
    widths : sequence of J int
        How many columns each term has.
    column_names : sequence of str
        Names of all columns in order.
    expressions : sequence of Expression
        The factors.
    """
    known = {frozenset(term): position for position, term in enumerate(members)}
    terms = []
    start = 0
    for term, width in zip(members, widths, strict=True):
        parents = _parents(frozenset(term), known)
        used = [name for position in term for name in expressions[position].variables]
        labels = tuple(expressions[position].label for position in term)
        terms.append(
            Term(
                name=":".join(labels),
                columns=tuple(column_names[start : start + width]),
                start=start,
                stop=start + width,
                variables=tuple(dict.fromkeys(used)),
                factors=labels,
                parents=parents,
                near_parents=tuple(
                    one
                    for one in parents
                    if not any(set(members[one]) < set(members[other]) for other in parents)
                ),
            )
        )
        start += width
    return tuple(terms)


def _parents(term: frozenset[int], known: Mapping[frozenset[int], int]) -> tuple[int, ...]:
    if len(term) > _ENUMERATED:
        return tuple(sorted(position for other, position in known.items() if other < term))
    ordered = sorted(term)
    subsets = (frozenset(part) for size in range(1, len(ordered)) for part in combinations(ordered, size))
    return tuple(sorted(known[part] for part in subsets if part in known))

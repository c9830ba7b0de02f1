"""Terms, which enter or leave a model as a whole, and their parents.

A term is a monomial in its factors, where ``I(x**3)`` is the third power of ``x``, as is ``I((x - 1)**3)``.
The parents of a monomial are the other monomials that divide it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from heapq import heapify, heappop, heappush
from itertools import combinations_with_replacement, product
from math import prod

import numpy as np

from pyrjsel._called import warn
from pyrjsel._errors import DataWarning
from pyrjsel._typing import BoolArray, FloatArray, IntArray
from pyrjsel._validate import listed
from pyrjsel.design.safety import Expression, powers_of

# Differences from the combination, relative to its terms, that are rounding.
ROUNDING = 1e-6
# Largest number of divisors of a monomial that are looked up one by one.
_ENUMERATED = 2**10

# Polynomials that are looked for in values: their degree, relative residual and number of variables.
MOST = 4
EXACT = 1e-9
SEVERAL = 3
# Rows of which some are looked at before all: most functions are no polynomials there already.
FEW = 1000

# A monomial: its variables with their powers, in a fixed order.
Monomial = tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class Term:
    """A term of a model, included or excluded as a whole. The intercept is not a term.

    Attributes
    ----------
    name : str
        Name as in a formula: ``"age"``, ``"C(race)"``, ``"age:smoke"``, ``"bs(age, df=4)"``;
        ``Q("a b")`` shows as ``"a b"``.
    columns : tuple of str
        Names of its design columns.
    start, stop : int
        The columns of the term are ``X[:, start:stop]``.
    variables : tuple of str
        The columns of the data that the term uses.
    factors : tuple of str
        Names of its factors: ``("age", "smoke")`` for ``"age:smoke"``.
    parents : tuple of int
        Positions of all terms that divide this one: ``x``, ``z``, ``x:z`` and ``I(x**2)`` for ``I(x**2):z``.
    near_parents : tuple of int
        Those of them with a degree lower by one (or, if not in the formula, the next lower).
    order : int
        Degree of the term: 1 for ``"age"`` and ``"np.log(age)"``, 2 for ``"age:smoke"`` and ``"I(age**2)"``.

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
    order: int


@dataclass(frozen=True, eq=False)
class Aliases:
    """Columns of a design that are left out, and the combinations of columns that they equal in the fit.

    Attributes
    ----------
    dropped : ndarray of int64 (k,)
        The columns, in increasing order.
    combination : ndarray (k, D + 1)
        Constants, and coefficients of all D columns of the design.
    """

    dropped: IntArray
    combination: FloatArray

    @property
    def inside(self) -> BoolArray:
        """Mask of the columns that are kept, (D,)."""
        mask = np.ones(self.combination.shape[1] - 1, dtype=bool)
        mask[self.dropped] = False
        return mask

    def unlike(self, X: FloatArray) -> BoolArray:
        """Return the rows of `X` (n, D) where a column that is left out differs from the combination.

        Those that lack a column of a combination, which are NaN there, are not compared.
        """
        out = np.zeros(len(X), dtype=bool)
        for place, (constant, *factors) in zip(self.dropped, self.combination, strict=True):
            used = np.flatnonzero(factors)
            some, own = X[:, used], np.array(factors)[used]
            away = np.abs(X[:, place] - (some @ own + constant))
            size = np.abs(X[:, place]) + np.abs(some) @ np.abs(own) + np.abs(constant)
            out |= away > ROUNDING * size
        return out

    def terms(self, terms: Sequence[Term]) -> tuple[Term, ...]:
        """Return the terms of the design with the columns that are kept."""
        made, at, inside = [], 0, self.inside
        for term in terms:
            kept = [term.columns[k - term.start] for k in range(term.start, term.stop) if inside[k]]
            made.append(replace(term, columns=tuple(kept), start=at, stop=at + len(kept)))
            at += len(kept)
        return tuple(made)

    def after(self, first: "Aliases") -> "Aliases":
        """Return the aliases of a design of which `first` has left out columns, and these are of the rest."""
        inside = np.flatnonzero(first.inside)
        wide = np.zeros((self.dropped.size, inside.size + first.dropped.size + 1))
        wide[:, 0], wide[:, 1 + inside] = self.combination[:, 0], self.combination[:, 1:]
        dropped = np.concatenate([first.dropped, inside[self.dropped]])
        order = np.argsort(dropped)
        return Aliases(dropped[order], np.vstack([first.combination, wide])[order])

    def restrict(self, columns: IntArray) -> "Aliases | None":
        """Return the aliases of the design's `columns` alone; None if none of them is left out.

        A combination that needs other columns is not known any more: its constant is NaN.
        """
        own = np.isin(self.dropped, columns)
        if not own.any():
            return None
        part = self.combination[own]
        gone = np.setdiff1d(np.arange(part.shape[1] - 1), columns)
        known = ~np.any(part[:, 1 + gone] != 0.0, axis=1)
        narrow = np.where(known[:, None], part[:, np.append(0, 1 + columns)], 0.0)
        narrow[~known, 0] = np.nan
        return Aliases(np.searchsorted(columns, self.dropped[own]), narrow)


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
        Number of columns of each term.
    column_names : sequence of str
        Names of all columns in order.
    expressions : sequence of Expression
        The factors.
    """
    monomials = [_monomial(term, expressions) for term in members]
    near, parents = _lineage(monomials)
    terms = []
    start = 0
    for place, (term, width) in enumerate(zip(members, widths, strict=True)):
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
                parents=parents[place],
                near_parents=near[place],
                order=_degree(monomials[place]),
            )
        )
        start += width
    return tuple(terms)


def sort_terms(members: Sequence[tuple[int, ...]], expressions: Sequence[Expression]) -> list[int]:
    """Return the order in which a design lists the terms of a formula, by position.

    By number of factors, then by the order of the formula; but parents come first, as ``x`` in ``y ~ I(x**2)
    + x``.

    Parameters
    ----------
    members : sequence of J tuples of int
        The factors of each term, by position, in the order of the formula.
    expressions : sequence of Expression
        The factors.
    """
    ranks = [(len(term), place) for place, term in enumerate(members)]
    monomials = [_monomial(term, expressions) for term in members]
    if all(_degree(monomial) == rank[0] for monomial, rank in zip(monomials, ranks, strict=True)):
        return [place for _, place in sorted(ranks)]  # without powers all parents have fewer factors
    near, _ = _lineage(monomials)
    children: list[list[int]] = [[] for _ in members]
    for place, parents in enumerate(near):
        for parent in parents:
            children[parent].append(place)
    waits = [len(parents) for parents in near]
    ready = [rank for rank, parents in zip(ranks, near, strict=True) if not parents]
    heapify(ready)
    order = []
    while ready:
        _, place = heappop(ready)
        order.append(place)
        for child in children[place]:
            waits[child] -= 1
            if not waits[child]:
                heappush(ready, ranks[child])
    return order


def _monomial(term: tuple[int, ...], expressions: Sequence[Expression]) -> Monomial:
    powers: dict[str, int] = {}
    for position in term:
        for key, power in powers_of(expressions[position]).items():
            powers[key] = powers.get(key, 0) + power
    return tuple(sorted(powers.items()))


def _degree(monomial: Monomial) -> int:
    return monomial[0][1] if len(monomial) == 1 else sum(power for _, power in monomial)


def _lineage(monomials: Sequence[Monomial]) -> tuple[list[tuple[int, ...]], list[tuple[int, ...]]]:
    """Return the nearest divisors of each monomial among the others, and all divisors, by position."""
    if all(_degree(monomial) == 1 for monomial in monomials):
        return [()] * len(monomials), [()] * len(monomials)
    known: dict[Monomial, list[int]] = {}
    for position, monomial in enumerate(monomials):
        known.setdefault(monomial, []).append(position)
    near: list[tuple[int, ...]] = [()] * len(monomials)
    # Sets of positions as bits of an int: there are 3**12 pairs of ancestors in a*b*...*l.
    above = [0] * len(monomials)
    for monomial in sorted(known, key=_degree):
        nearest = tuple(sorted(p for divisor in _nearest(monomial, known) for p in known[divisor]))
        bits = 0
        for position in nearest:
            bits |= above[position] | 1 << position
        for position in known[monomial]:
            near[position], above[position] = nearest, bits
    return near, [_positions(bits) for bits in above]


def _positions(bits: int) -> tuple[int, ...]:
    if not bits:
        return ()  # of all terms of a wide design without interactions
    packed = np.frombuffer(bits.to_bytes((bits.bit_length() + 7) // 8, "little"), dtype=np.uint8)
    return tuple(np.flatnonzero(np.unpackbits(packed, bitorder="little")).tolist())


def _nearest(monomial: Monomial, known: Mapping[Monomial, object]) -> list[Monomial]:
    """Return the maximal known proper divisors of a monomial."""
    if _degree(monomial) == 1:
        return []
    less = [
        (*monomial[:i], *([(key, power - 1)] if power > 1 else []), *monomial[i + 1 :])
        for i, (key, power) in enumerate(monomial)
    ]
    if all(divisor in known for divisor in less):
        return less
    if prod(power + 1 for _, power in monomial) <= _ENUMERATED:
        ranges = [[(key, k) for k in range(power + 1)] for key, power in monomial]
        every = (tuple(pair for pair in pairs if pair[1]) for pairs in product(*ranges))
        found = [divisor for divisor in every if divisor in known and divisor != monomial]
    else:
        found = [other for other in known if other != monomial and _divides(other, dict(monomial))]
    kept: list[Monomial] = []
    for divisor in sorted(found, key=_degree, reverse=True):
        if not any(_divides(divisor, dict(other)) for other in kept):
            kept.append(divisor)
    return kept


def _divides(divisor: Monomial, powers: Mapping[str, int]) -> bool:
    return all(powers.get(key, 0) >= power for key, power in divisor)


def check_powers(terms: Sequence[Term], X: FloatArray) -> None:
    """Warn of terms whose values are powers or products of other terms, though heredity cannot see it.

    Parameters
    ----------
    terms : tuple of J Term
        The terms.
    X : ndarray, shape (n, D)
        Their columns.
    """
    narrow = [term for term in terms if len(term.columns) == 1]
    alone = [t for t in narrow if t.name in [name for v in t.variables for name in (v, f"C({v})")]]
    plain = {term.variables[0]: X[:, term.start] for term in alone}
    hidden = []
    for term in narrow:
        known = [plain[name] for name in term.variables if name in plain]
        seen = {name for parent in term.near_parents for name in terms[parent].variables}
        if len(term.factors) > 1 or seen >= set(term.variables) or term in alone:
            continue
        if len(known) == len(term.variables) <= SEVERAL and _polynomial_degree(X[:, term.start], known) > 1:
            hidden.append(f"{term.name} (of {listed(term.variables)})")
    if hidden:
        warn(
            f"Heredity does not see that these terms are powers or products of others: {listed(hidden)}. "
            "Write them as I(x**2) and x:z, so that models with them must have those terms.",
            DataWarning,
        )


def _polynomial_degree(values: FloatArray, known: list[FloatArray]) -> int:
    """Return the degree, up to 4, of values (n,) as a polynomial in columns (n,); 0 if they are none.

    It is 1 too where rows do not tell.
    """
    if len(values) > FEW:
        some = np.random.default_rng(0).choice(len(values), FEW, replace=False)
        if _polynomial_degree(values[some], [column[some] for column in known]) == 0:
            return 0
    spans = [np.ptp(column) or 1.0 for column in known]
    points = np.column_stack(
        [(column - column.mean()) / span for column, span in zip(known, spans, strict=True)]
    )
    distinct = np.unique(points, axis=0)
    basis = [np.ones(len(values))]
    for degree in range(1, MOST + 1):
        products = combinations_with_replacement(range(len(known)), degree)
        basis += [points[:, list(product)].prod(axis=1) for product in products]
        if len(distinct) <= 2 * len(basis):
            return 1  # any values would be
        matrix = np.column_stack(basis)
        residual = values - matrix @ np.linalg.lstsq(matrix, values)[0]
        if np.abs(residual).max() <= EXACT * np.ptp(values):
            return degree
    return 0

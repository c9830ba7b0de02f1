"""The layout of a design: the plain data needed to compute its columns for any rows."""

import math
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from pyrjsel._called import called
from pyrjsel._errors import DataError
from pyrjsel._typing import FloatArray, IntArray
from pyrjsel.design.categories import Categories, level_codes
from pyrjsel.design.evaluate import Evaluator
from pyrjsel.design.formula import Subterm
from pyrjsel.design.frame import Column, Kind, Level
from pyrjsel.design.safety import Expression, level_expression
from pyrjsel.design.terms import Term, make_terms
from pyrjsel.design.transforms import State

Members = tuple[int, ...]


@dataclass(frozen=True)
class Variable:
    """Kind of a column of the training data."""

    name: str
    kind: Kind
    categorical: bool


@dataclass(frozen=True, eq=False)
class Factor:
    """A factor with its learned levels and transforms.

    Attributes
    ----------
    expression : Expression
        Its expression.
    states : tuple of dict
        States of its transforms, outer ones first.
    n_columns : int
        Number of columns of a numeric factor; 1 for a categorical one.
    levels : tuple or None
        The levels of a categorical factor; None for a numeric one.
    level : int or None
        For the indicator of one level of a factor whose levels can merge, the position of the level; its
        expression is that of :func:`level_expression`.
    """

    expression: Expression
    states: tuple[State, ...]
    n_columns: int
    levels: tuple[Level, ...] | None
    level: int | None = None

    def indicator(self, level: int) -> "Factor":
        """Return the indicator of one level, by position."""
        assert self.levels is not None
        return replace(self, expression=level_expression(self.expression, self.levels[level]), level=level)


@dataclass(frozen=True, eq=False)
class Layout:
    """Terms, factors and codings of a design.

    Attributes
    ----------
    terms : tuple of J Term
        The terms.
    members : tuple of J tuples of int
        The factors of each term, by position.
    subterms : tuple of J tuples of Subterm
        Blocks of columns of each term.
    factors : tuple of Factor
        The factors.
    variables : mapping of str to Variable
        The columns of the data that the factors use.
    column_names : tuple of D str
        Names of the columns.
    """

    terms: tuple[Term, ...]
    members: tuple[tuple[int, ...], ...]
    subterms: tuple[tuple[Subterm, ...], ...]
    factors: tuple[Factor, ...]
    variables: Mapping[str, Variable]
    column_names: tuple[str, ...]

    def matrix(
        self,
        columns: Mapping[str, Column],
        n_rows: int,
        functions: Mapping[str, Callable[..., object]],
    ) -> FloatArray:
        """Return the columns of the design for complete rows.

        Parameters
        ----------
        columns : mapping of str to Column
            The variables, n rows each.
        n_rows : int
            Number n of rows.
        functions : mapping of str to callable
            The user's functions.

        Returns
        -------
        ndarray, shape (n, D), Fortran order
        """
        evaluator = Evaluator(columns, n_rows, functions)
        values: dict[str, FloatArray | IntArray] = {}
        for factor in self.factors:
            if factor.expression.code not in values:  # indicators of the levels of a factor share theirs
                value = evaluator.apply(factor.expression, factor.states)
                values[factor.expression.code] = _checked(value, factor)
        return self.assemble(values, n_rows)

    def assemble(self, values: Mapping[str, FloatArray | IntArray], n_rows: int) -> FloatArray:
        """Return the columns of the design from the values of the factors, by their code."""
        listed = [values[factor.expression.code] for factor in self.factors]
        return assemble(self.subterms, listed, n_rows, self.column_names)

    def restrict(self, keep: Sequence[int]) -> "Layout":
        """Return the layout of a subset of the terms, with unchanged columns.

        Parameters
        ----------
        keep : sequence of int
            Positions of the terms, in the new order.

        Returns
        -------
        Layout
            The layout, without unused factors and variables.
        """
        used = sorted({factor for term in keep for factor in self.members[term]})
        place = {old: new for new, old in enumerate(used)}
        factors = tuple(self.factors[factor] for factor in used)
        expressions = [factor.expression for factor in factors]
        members = tuple(tuple(place[factor] for factor in self.members[term]) for term in keep)
        subterms = tuple(
            tuple(
                Subterm(tuple(place[factor] for factor in part.factors), part.contrasts)
                for part in self.subterms[term]
            )
            for term in keep
        )
        names = tuple(name for term in keep for name in self.terms[term].columns)
        widths = [len(self.terms[term].columns) for term in keep]
        needed = dict.fromkeys(name for expression in expressions for name in expression.variables)
        return Layout(
            terms=make_terms(members, widths, names, expressions),
            members=members,
            subterms=subterms,
            factors=factors,
            variables={name: self.variables[name] for name in needed},
            column_names=names,
        )

    def arrange(self, listed: Sequence[str]) -> "Layout":
        """Return the layout of the same terms, or some of them, in another order.

        Parameters
        ----------
        listed : sequence of str
            Names of terms in the new order, and of those that remain; if there are others among them, nothing
            changes.
        """
        places = {term.name: place for place, term in enumerate(self.terms)}
        if not set(listed) <= set(places):
            return self
        return self.restrict([places[name] for name in listed])


def _checked(value: FloatArray | Categories, factor: Factor) -> FloatArray | IntArray:
    label = factor.expression.label
    if isinstance(value, Categories):
        if factor.levels is None:
            raise DataError(
                f"{called()} computed labels for the term {label!r}, which had numbers in the fit."
            )
        return level_codes(value, factor.levels, factor.expression)
    if factor.levels is not None:
        raise DataError(f"{called()} computed numbers for the term {label!r}, which had labels in the fit.")
    if value.shape[1] != factor.n_columns:
        raise DataError(
            f"{called()} computed {value.shape[1]} columns for the term {label!r}, "
            f"which had {factor.n_columns} in the fit."
        )
    return value


def assemble(
    subterms: Sequence[Sequence[Subterm]],
    values: Sequence[FloatArray | IntArray],
    n_rows: int,
    column_names: Sequence[str],
) -> FloatArray:
    """Return the columns of a design: products of its factors' columns.

    Parameters
    ----------
    subterms : sequence of sequences of Subterm
        Blocks of columns of each term.
    values : sequence of ndarray
        By factor: float64 (n, k) for a numeric factor, or int64 (n,) positions of levels.
    n_rows : int
        Number n of rows.
    column_names : sequence of D str
        Names of the columns.

    Returns
    -------
    ndarray, shape (n, D), Fortran order

    Raises
    ------
    DataError
        If a product overflows.
    """
    X = np.empty((n_rows, len(column_names)), order="F")
    position = 0
    for term in subterms:
        for subterm in term:
            blocks = [
                # Values of a boolean are floats, in one column.
                values[factor] if contrast is None else contrast[values[factor].ravel().astype(np.intp)]
                for factor, contrast in zip(subterm.factors, subterm.contrasts, strict=True)
            ]
            position = _multiply(blocks, X, position)
    bad = [] if np.isfinite(X).all() else np.flatnonzero(~np.isfinite(X).all(axis=0)).tolist()
    if bad:
        names = ", ".join(repr(column_names[column]) for column in bad[:8])
        text = f"{called()} computed infinite values in the column(s) {names}."
        raise DataError.of_rows(text, np.asarray(~np.isfinite(X).all(axis=1)))
    return X


def _multiply(blocks: Sequence[np.ndarray], X: FloatArray, start: int) -> int:
    """Write all products of one column per block, the first varying fastest; return the next position."""
    widths = [block.shape[1] for block in blocks]
    total = math.prod(widths)
    for offset in range(total):
        rest = offset
        target = X[:, start + offset]
        for place, block in enumerate(blocks):
            rest, column = divmod(rest, widths[place])
            if place == 0:
                target[:] = block[:, column]
            else:
                with np.errstate(over="ignore"):
                    target *= block[:, column]
    return start + total


def width(subterm: Subterm, factors: Sequence[Factor]) -> int:
    """Return the number of columns of a subterm."""
    counts = [
        factors[factor].n_columns if contrast is None else contrast.shape[1]
        for factor, contrast in zip(subterm.factors, subterm.contrasts, strict=True)
    ]
    return math.prod(counts)


def split_levels(
    terms: Sequence[Members],
    coded: Sequence[tuple[Subterm, ...]],
    names: Sequence[tuple[str, ...]],
    factors: Sequence[Factor],
    merging: AbstractSet[int],
) -> tuple[list[Members], list[tuple[Subterm, ...]], list[tuple[str, ...]], list[Factor]]:
    """Split the terms of factors whose levels can merge into one term for each level.

    Parameters
    ----------
    terms : sequence of tuples of int
        The factors of each term, by position.
    coded : sequence of tuples of Subterm
        Subterms of each term.
    names : sequence of tuples of str
        Names of the columns of each term.
    factors : sequence of Factor
        The factors.
    merging : set of int
        Positions of the factors whose levels can merge; all have treatment contrasts.

    Returns
    -------
    terms, coded, names : list
        The same for the terms after the split. A subterm without any of the factors in `merging`, as in
        ``a:C(x, merge=True)`` without main effects, is a term of its own.
    factors : list of Factor
        The other factors, and the indicators of the levels of those in `merging`.
    """
    made: list[Factor] = []
    places: dict[tuple[int, int | None], int] = {}

    def place(factor: int, level: int | None) -> int:
        if (factor, level) not in places:
            places[factor, level] = len(made)
            made.append(factors[factor] if level is None else factors[factor].indicator(level))
        return places[factor, level]

    split: dict[Members, tuple[list[Subterm], list[str]]] = {}
    for term, subterms, columns in zip(terms, coded, names, strict=True):
        whole = None if merging & set(term) else tuple(place(factor, None) for factor in term)
        start = 0
        for subterm in subterms:
            widths = [
                factors[factor].n_columns if contrast is None else contrast.shape[1]
                for factor, contrast in zip(subterm.factors, subterm.contrasts, strict=True)
            ]
            # The first factor varies fastest.
            grid = np.arange(start, start + np.prod(widths)).reshape(widths, order="F")
            start += grid.size
            choices = [
                [slice(one, one + 1) for one in range(count)] if factor in merging else [slice(None)]
                for factor, count in zip(subterm.factors, widths, strict=True)
            ]
            for picked in product(*choices):
                contrasts = tuple(
                    None if contrast is None else contrast[:, one]
                    for contrast, one in zip(subterm.contrasts, picked, strict=True)
                )
                members = tuple(
                    place(factor, None if factor not in merging or one is None else int(one.argmax()))
                    for factor, one in zip(subterm.factors, contrasts, strict=True)
                )
                parts, labels = split.setdefault(whole or members, ([], []))
                parts.append(Subterm(members, contrasts))
                labels += [columns[column] for column in grid[picked].ravel(order="F")]
    return (
        list(split),
        [tuple(parts) for parts, _ in split.values()],
        [tuple(labels) for _, labels in split.values()],
        made,
    )

"""Factors whose levels can merge with the reference: one term for each level."""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from itertools import product

import numpy as np

from pyrjsel.design.formula import Subterm
from pyrjsel.design.layout import Factor

Members = tuple[int, ...]


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

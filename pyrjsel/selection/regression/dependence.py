"""Dependent columns of a design, in words."""

from collections.abc import Sequence

import numpy as np

from pyrjsel._validate import listed
from pyrjsel.design.terms import Term
from pyrjsel.selection.regression.columns import Ranked, dependent_alone

# Columns whose mean is more than this many standard deviations are far from 0.
FAR = 30.0


def warning(
    regression: Ranked, terms: Sequence[Term], dependent: Sequence[int], n: int, by_sums: bool
) -> str:
    """Return a warning about the `dependent` terms of a regression of `n` rows, whose models have no prior.

    `by_sums`: only sums over the rows are known.
    """
    predictors = int(regression.term_start[0])
    columns = sum(len(term.columns) for term in terms)
    most = regression.most_columns // predictors
    if columns > most and len(dependent) == len(terms):
        text = (
            f"There are {columns:,} columns and {n:,} rows: models of more than {most:,} "
            "columns, and others of dependent columns,"
        )
    else:
        text = (
            "Columns are linearly dependent, on one another or on the intercept, in "
            f"{len(dependent)} of {len(terms)} terms: {listed([terms[j].name for j in dependent])}. Models "
            "that hold all terms of a dependence"
        )
    text += " have no g-prior and get posterior probability 0; a Normal prior keeps them."
    alone = [terms[j].name for j in dependent_alone(regression, dependent)]
    if alone:
        text += (
            f" No model can hold {listed(alone)}, whose columns are dependent by themselves: splines "
            "by cr(), cc() and te() need constraints='center', and bs() no include_intercept; "
            "factors need rows of positive weight at every level."
        )
    if by_sums:
        text += (
            " Sums over rows do not tell columns that differ by less than 1e-5 of their length from "
            "dependent ones: give a DataFrame."
        )
    centre = _to_centre(regression, [terms[j] for j in dependent])
    if centre:
        text += f" Powers and products of {listed(centre)} are nearly dependent far from 0: use center()."
    return text


def _to_centre(regression: Ranked, terms: Sequence[Term]) -> list[str]:
    """Return the variables of several of the terms whose columns are far from 0 for their spread."""
    far = np.abs(regression.mean) > FAR * regression.scale
    lead = int(regression.term_start[0])
    close = [t for t in terms if far[lead * t.start : lead * t.stop].any()]
    names = [name for term in close for name in term.variables]
    return sorted({name for name in names if names.count(name) > 1})

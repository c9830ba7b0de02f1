"""Checks of the columns of a regression: names, sizes, offsets, and dependent columns."""

from collections.abc import Mapping, Sequence

import numpy as np
from scipy.linalg import eigh, lstsq, qr

from pyrjsel._called import called, warn
from pyrjsel._errors import DataError, DataWarning, FormulaError
from pyrjsel._typing import FloatArray, IntArray
from pyrjsel._validate import listed
from pyrjsel.design import Aliases, Design, DesignData
from pyrjsel.design.terms import Term
from pyrjsel.families import Family
from pyrjsel.selection.priors.gaussian import RANK_TOL
from pyrjsel.selection.regression.columns import (
    CLEAR,
    LEAST,
    NAMED,
    UNCENTRED,
    Ranked,
    clear_by,
)
from pyrjsel.selection.regression.summed_rows import SummedRows

# Limits of numbers whose squares, and sums of these, are within the range of a float64.
SMALLEST, LARGEST = 1e-145, 1e145
INTERCEPT = "Intercept"
# Largest ordinary range of offsets on a log scale: exposures do not differ by a factor of exp(30) = 1e13.
WIDEST_OFFSET = 30.0


def check_right_side(design: Design) -> None:
    """Raise :class:`FormulaError` if a term uses the response.

    A variable of a computed response, as in ``I(after > before) ~ before``, may be a term; the labels of a
    response with an event may not.
    """
    response = design.response
    own = {
        name
        for name, variable in design.left.variables.items()
        if name == response or variable.kind == "text" or variable.categorical
    }
    for term in design.terms:
        if response in term.factors or not own.isdisjoint(term.variables):
            raise FormulaError(
                f"The formula {design.formula!r} of {called()} has its response {response!r} on the "
                f"right-hand side, in the term {term.name!r}. Leave that term out."
            )


def check_columns(design: Design, largest: FloatArray, extras: Mapping[str, FloatArray]) -> None:
    """Raise :class:`DataError` if a column has the intercept's name or numbers that cannot be squared.

    `largest` (D + 1,) are the largest absolute values of the columns and of the response; for `extras` the
    smallest and largest values are enough.
    """
    if INTERCEPT in design.column_names:
        raise DataError(
            f"The data of {called()} have a column {INTERCEPT!r}, which is the name of the constant that is "
            "always included. Leave it out, or give it another name."
        )
    odd = (largest > LARGEST) | ((largest < SMALLEST) & (largest > 0))
    every = (*design.column_names, design.response)
    names = [name for name, bad in zip(every, odd, strict=True) if bad]
    sizes = {key: float(np.max(np.abs(values))) for key, values in extras.items()}
    names += [key for key, size in sizes.items() if size > LARGEST]
    # Some small weights and offsets are harmless, but not weights that are all tiny.
    names += ["weights"] if 0 < sizes.get("weights", 1.0) < SMALLEST else []
    if names:
        raise DataError(
            f"The data of {called()} must have absolute values between {SMALLEST:g} and {LARGEST:g} (or 0), "
            f"whose squares are numbers; rescale {listed(names)}."
        )


def check_offset(family: Family, extras: Mapping[str, FloatArray]) -> None:
    """Warn of an offset, or its smallest and largest value, that cannot be on the scale of the link."""
    offset = extras.get("offset")
    if offset is None or family.link == "identity" or not np.size(offset):
        return
    low, high = float(np.min(offset)), float(np.max(offset))
    if high - low > WIDEST_OFFSET:
        warn(
            f"The 'offset' of {called()} goes from {low:g} to {high:g}: it is added to the linear predictor "
            f"(link: {family.link}), so that rows differ by a factor of exp({high - low:.0f}). Is it an "
            "exposure? Then give its logarithm: log(exposure).",
            DataWarning,
        )


# Columns whose mean is more than this many standard deviations are far from 0.
FAR = 30.0
# Rows of which some are looked at before all.
FEW = 1000


def dependence_warning(
    regression: Ranked, terms: Sequence[Term], dependent: Sequence[int], n: int, by_sums: bool
) -> str:
    """Return a warning about the `dependent` terms of a regression of `n` rows, whose models have no prior.

    `by_sums`: only sums over the rows are known.
    """
    predictors = int(regression.term_start[0])
    columns = sum(len(term.columns) for term in terms)
    most = regression.most_columns // predictors
    # A few different rows, many times each, are no wide data: there columns depend on one another.
    wide = columns > most and columns >= n and len(dependent) == len(terms)
    if wide:
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
    if wide:
        text += " If models should be small, say so by 'max_size' or 'model_prior'."
    if by_sums:
        text += (
            " Sums over rows do not tell columns that differ by less than 1e-5 of their length from "
            "dependent ones: give a DataFrame."
        )
    centre = _to_centre(regression, [terms[j] for j in dependent])
    if centre:
        one = f"center({centre[0]})"
        text += (
            f" Powers and products of {listed(centre)} are nearly dependent far from 0: use center(), as in "
            f"{one} + I({one}**2)."
        )
    return text


def _to_centre(regression: Ranked, terms: Sequence[Term]) -> list[str]:
    """Return the variables of several of the terms whose columns are far from 0 for their spread."""
    far = np.abs(regression.mean) > FAR * regression.scale
    lead = int(regression.term_start[0])
    close = [t for t in terms if far[lead * t.start : lead * t.stop].any()]
    names = [name for term in close for name in term.variables]
    return sorted({name for name in names if names.count(name) > 1})


def left_out(terms: Sequence[Term], data: DesignData | SummedRows) -> Aliases | None:
    """Return the columns without which terms span the same given the intercept and their parents.

    These are constant, as in an empty cell, or combinations of the columns of parents and of earlier ones of
    the term, on the rows of positive weight, as in R's ``lm``. A term keeps at least one column.
    """
    several = [term for term in terms if len(term.columns) > 1]
    if not several:
        return None
    # Columns that are independent on some of the rows are so on all of them.
    step = data.n // max(FEW, 20 * terms[-1].stop) if isinstance(data, DesignData) else 1
    if step > 1 and not _gone(terms, _Columns.of(data, step)):
        return None
    columns = _Columns.of(data)
    gone = _gone(terms, columns)
    if not gone:
        return None
    combination = np.zeros((len(gone), columns.mean.size + 1))
    for row, column in zip(combination, gone, strict=True):
        (term,) = (t for t in several if t.start <= column < t.stop)
        basis = np.setdiff1d(np.append(_above(terms, term), np.arange(term.start, column)), gone)
        columns.combine(column, basis, row)
    return Aliases(np.array(gone), combination)


def _above(terms: Sequence[Term], term: Term) -> IntArray:
    """Return the columns of the parents of a term."""
    none = np.empty(0, dtype=np.int64)
    return np.concatenate([none, *(np.arange(terms[k].start, terms[k].stop) for k in term.parents)])


def _gone(terms: Sequence[Term], columns: "_Columns") -> list[int]:
    """Return the columns that are left out, in increasing order."""
    gone: list[int] = []
    if columns.clear():
        return gone
    for term in terms:
        if len(term.columns) > 1:
            above = np.setdiff1d(_above(terms, term), gone)
            own = columns.dependent(above, np.arange(term.start, term.stop))
            gone += own if len(own) < len(term.columns) else []
    return gone


def left_out_text(terms: Sequence[Term], names: Sequence[str], aliases: Aliases) -> str:
    """Return a warning about the columns of `terms` that are left out, of all `names`."""
    columns = [repr(names[k]) for k in aliases.dropped]
    owners = [term.name for term in terms if np.isin(np.arange(term.start, term.stop), aliases.dropped).any()]
    one = len(columns) == 1
    return (
        f"The column{'' if one else 's'} {listed(columns)} of {listed(owners)} {'is' if one else 'are'} left "
        f"out of {called()}: given the intercept and the other columns, no row shows "
        f"{'its' if one else 'their'} effect, as where a cell is empty. New rows that would are predicted as "
        "NaN."
    )


class _Columns:
    """Centred columns by rows, or by sums over them, which only tell larger differences."""

    def __init__(self, mean: FloatArray, scale: FloatArray, rows: FloatArray, least: FloatArray) -> None:
        self.mean, self.scale, self.rows, self.least = mean, scale, rows, least

    @classmethod
    def of(cls, data: DesignData | SummedRows, step: int = 1) -> "_Columns":
        """Return the columns of the rows of positive weight, or of every `step`-th row."""
        if isinstance(data, DesignData):
            weights = data.extras.get("weights")
            x = data.X if weights is None or weights.all() else data.X[weights > 0]
            x = x if step == 1 else x[::step]
            mean = x.mean(axis=0)
            largest = np.max(np.abs(x), axis=0, initial=0.0)
            rows, least = x.T - mean[:, None], LEAST
        else:
            mean, largest = data.sums.statistics.mean[:-1], data.sums.largest[:-1]
            products = data.sums.statistics.products[:-1, :-1]
            scale = np.sqrt(np.where(np.diag(products) > 0, np.diag(products), 1.0))
            values, vectors = eigh(products / np.outer(scale, scale))
            rows, least = scale[:, None] * vectors * np.sqrt(np.maximum(values, 0.0)), np.sqrt(RANK_TOL)
        length, root = np.sqrt(np.einsum("ij,ij->i", rows, rows)), np.sqrt(data.n / step)
        length[length <= 1e-13 * largest * root] = 0.0
        scale = np.where(length > 0, length, 1.0)
        rounding = np.maximum(least, UNCENTRED * largest * root / scale)
        return cls(mean, length, rows / scale[:, None], rounding)

    def clear(self) -> bool:
        """Whether not even all columns together are near a dependence, as far as that is quickly seen."""
        few = len(self.rows) <= min(NAMED, self.rows.shape[1])
        return few and bool(np.all(self.scale > 0)) and clear_by(self.rows @ self.rows.T, CLEAR)

    def dependent(self, above: IntArray, own: IntArray) -> list[int]:
        """Return those of the columns `own` that depend on the intercept, those `above` and earlier ones."""
        constant = [int(k) for k in own if self.scale[k] == 0]
        both = np.concatenate([above, own])
        both = both[self.scale[both] > 0]
        if clear_by(self.rows[both] @ self.rows[both].T, CLEAR):
            return constant
        rows = self.rows[both]
        if len(both) < rows.shape[1]:
            (triangle,) = qr(rows.T, mode="r", check_finite=False)
            rows = triangle[: len(both)].T
        basis, rank, found = np.zeros(rows.shape), 0, constant
        for k, row in zip(both, rows, strict=True):
            left = row.copy()
            for _ in range(2):  # the second time for what rounding has left
                left -= (basis[:rank] @ left) @ basis[:rank]
            size = float(np.sqrt(left @ left))
            if size > self.least[k]:
                basis[rank] = left / size
                rank += 1
            elif k >= own[0]:
                found.append(int(k))
        return sorted(found)

    def combine(self, column: int, basis: IntArray, out: FloatArray) -> None:
        """Write the combination of the intercept and the columns `basis` that equals a column."""
        factors = np.zeros(basis.size)
        if self.scale[column] > 0:
            factors = lstsq(self.rows[basis].T, self.rows[column])[0]
            factors *= self.scale[column] / np.where(self.scale[basis] > 0, self.scale[basis], 1.0)
            factors[np.abs(factors) < LEAST * np.max(np.abs(factors))] = 0.0
        means = np.append(self.mean[column], -factors * self.mean[basis])
        # Not what rounding leaves: all columns of a row may be 0.
        constant = 0.0 if abs(means.sum()) < LEAST * np.abs(means).sum() else means.sum()
        out[1 + basis], out[0] = factors, constant

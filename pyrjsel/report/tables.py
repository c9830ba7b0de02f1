"""Tables of results as data frames in full precision: made, kept, copied, and checked in saved results."""

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, TypeVar

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from pyrjsel._called import called
from pyrjsel._errors import ParameterError
from pyrjsel._once import turn
from pyrjsel._typing import FloatArray
from pyrjsel._validate import bad_value
from pyrjsel.model_space import ModelSpace, PriorInclusion
from pyrjsel.report.errors import IndicatorStats
from pyrjsel.report.texts import HIDDEN
from pyrjsel.storage import Content, frame_from_plain

Table = TypeVar("Table", pd.DataFrame, pd.Series)


def own_copy(table: Table) -> Table:
    """Return a copy that shares nothing with a table, safe to use in another thread.

    Copies made by pandas share the lazily built hash tables of their indexes.

    Parameters
    ----------
    table : DataFrame or Series
        The table.

    Returns
    -------
    DataFrame or Series
        The copy.
    """
    with turn(table, "copy"):
        found: Table = table.copy()
        found.index = table.index.copy(deep=True)
        if isinstance(found, pd.DataFrame):
            found.columns = table.columns.copy(deep=True)
        return found


def kept_table(make: Callable[[Any], Table]) -> Callable[[Any], Table]:
    """Cache the table that a method returns, and return copies.

    Changes of a copy affect neither the object nor other copies. If several threads call, the first computes
    the table and the others wait. Apply beneath ``property``.

    Parameters
    ----------
    make : callable
        A method without parameters.

    Returns
    -------
    callable
        The method; the table is cached on the object, apart from its attributes.

    Examples
    --------
    >>> class Results:
    ...     @property
    ...     @kept_table
    ...     def odds(self):
    ...         return pd.Series([1.0, 2.0])
    >>> results = Results()
    >>> odds = results.odds
    >>> odds *= 100
    >>> results.odds.tolist()
    [1.0, 2.0]
    """
    place = f"_kept_{make.__name__}"

    @wraps(make)
    def hand_out(self: Any) -> Table:
        with turn(self, place):
            if place not in self.__dict__:
                self.__dict__[place] = make(self)
        table: Table = self.__dict__[place]
        return own_copy(table)

    return hand_out


# With more terms than this, they are listed by posterior probability instead of formula order.
LONG_TABLE = 20
# Most terms in such a list; the table of inclusion has all.
MOST_TERMS = 100
# Largest relative error of prior odds for which a Bayes factor is computed.
MOST_PRIOR_ERROR = 0.3

INCLUSION_COLUMNS = [
    "prior",
    "prior_mcse",
    "posterior",
    "mcse",
    "ess",
    "r_hat",
    "bayes_factor",
    "bayes_factor_mcse",
    "cost",
    "columns",
]
MODEL_COLUMNS = [
    "terms",
    "size",
    "cost",
    "posterior",
    "mcse",
    "odds",
    "odds_mcse",
    "log_marginal",
    "deviance",
]
COEFFICIENT_COLUMNS = [
    "mean",
    "sd",
    "ci_lower",
    "ci_upper",
    "prob_positive",
    "mean_included",
    "sd_included",
]
# Relative differences of odds that are attributed to rounding.
ROUNDING = 1e-9


def inclusion_bayes_factor(
    prior: ArrayLike, posterior: ArrayLike, excluded: ArrayLike | None = None
) -> FloatArray:
    """Return posterior odds over prior odds of inclusion.

    Parameters
    ----------
    prior, posterior : array_like of shape (J,)
        Probabilities of inclusion.
    excluded : array_like of shape (J,), optional
        Posterior probabilities of exclusion, if known more precisely than one minus `posterior`, which is
        dominated by rounding for `posterior` near one.

    Returns
    -------
    ndarray of shape (J,)
        0 and inf for a posterior of 0 and 1 (inf also beyond 1e308); NaN if the prior is 0, 1 or NaN, or the
        posterior is NaN.

    Raises
    ------
    ParameterError
        If a value is outside [0, 1] or the lengths differ.

    Examples
    --------
    >>> inclusion_bayes_factor([0.5, 0.5, 1.0], [0.75, 1.0, 1.0]).tolist()
    [3.0, inf, nan]
    """
    a = _probabilities(prior, "prior")
    b = _probabilities(posterior, "posterior")
    if a.shape != b.shape:
        raise bad_value("posterior", f"of length {a.size}", posterior)
    out_of = 1 - b if excluded is None else _probabilities(excluded, "excluded")
    if out_of.shape != b.shape:
        raise bad_value("excluded", f"of length {a.size}", excluded)
    known = (a > 0) & (a < 1) & ~np.isnan(b)
    out = np.full(a.shape, np.nan)
    # With millions of rows, probabilities of exclusion can be subnormal or 0.
    with np.errstate(divide="ignore", over="ignore"):
        out[known] = b[known] / out_of[known] * ((1 - a[known]) / a[known])
    return out


def inclusion_of(
    space: ModelSpace, prior: PriorInclusion, stats: IndicatorStats, excluded: ArrayLike, priced: bool
) -> pd.DataFrame:
    """Return the table of inclusion of a space's terms; see :func:`inclusion_table`.

    Parameters
    ----------
    space : ModelSpace
    prior : PriorInclusion
    stats : IndicatorStats
        Posterior inclusion.
    excluded : array_like of shape (J,)
        Posterior probabilities of exclusion.
    priced : bool
        Whether terms have costs.
    """
    free = space.free.astype(bool)
    table = inclusion_table(
        space.names,
        prior.probability,
        stats.mean,
        np.where(free, stats.mcse, 0.0),
        stats.ess,
        stats.r_hat,
        space.term_costs() if priced else np.nan,
        excluded,
        prior.mcse,
        space.columns,
    )
    # Draws that all agree give a bound on a Bayes factor, not an estimate.
    table.loc[stats.stuck & free, ["bayes_factor", "bayes_factor_mcse"]] = np.nan
    return table


def without_errors(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table of inclusion without columns that a summary shows only through the digits of others."""
    return table.drop(columns=list(HIDDEN))


def inclusion_table(
    names: Sequence[str],
    prior: ArrayLike,
    posterior: ArrayLike,
    mcse: ArrayLike,
    ess: ArrayLike,
    r_hat: ArrayLike,
    cost: ArrayLike,
    excluded: ArrayLike | None = None,
    prior_mcse: ArrayLike = 0.0,
    n_columns: ArrayLike = 1,
) -> pd.DataFrame:
    """Return the table of inclusion by term.

    Parameters
    ----------
    names : sequence of str, length J
        Terms.
    prior, posterior : array_like of shape (J,)
        Probabilities of inclusion; a prior of 1 means that the term is in every model.
    mcse, ess, r_hat : array_like of shape (J,) or scalar
        Monte Carlo error of `posterior`, effective sample size, and R-hat; NaN if unknown.
    cost : array_like of shape (J,) or scalar
        Cost of each term.
    excluded : array_like of shape (J,), optional
        Posterior probabilities of exclusion; see :func:`inclusion_bayes_factor`.
    prior_mcse : array_like of shape (J,) or scalar, default 0
        Monte Carlo error of `prior` if it was estimated.
    n_columns : array_like of int, shape (J,), or scalar, default 1
        Number of design columns of each term.

    Returns
    -------
    DataFrame
        Indexed by ``term``, with columns ``prior``, ``prior_mcse``, ``posterior``, ``mcse``, ``ess``,
        ``r_hat``, ``bayes_factor`` (of inclusion; NaN where prior odds have a relative error above 30 %),
        ``bayes_factor_mcse`` (delta method, from the errors of both), ``cost``, and ``columns`` (how many the
        term has).

    Raises
    ------
    ParameterError
        If a column has the wrong length or a probability is outside [0, 1].

    Examples
    --------
    >>> inclusion_table(["x"], [0.5], [0.9], [0.01], [900.0], [1.0], [2.0]).bayes_factor.round(6)["x"]
    np.float64(9.0)
    """
    given = {
        "prior": _probabilities(prior, "prior"),
        "prior_mcse": prior_mcse,
        "posterior": _probabilities(posterior, "posterior"),
        "mcse": mcse,
        "ess": ess,
        "r_hat": r_hat,
        "cost": cost,
    }
    columns = {key: _column(values, key, len(names)) for key, values in given.items()}
    factor = inclusion_bayes_factor(columns["prior"], columns["posterior"], excluded)
    before = _odds_error(columns["prior"], 1 - columns["prior"], columns["prior_mcse"])
    after = _odds_error(
        columns["posterior"], 1 - columns["posterior"] if excluded is None else excluded, columns["mcse"]
    )
    factor[before > MOST_PRIOR_ERROR] = np.nan
    columns["bayes_factor"] = factor
    with np.errstate(invalid="ignore"):  # the error of infinite odds is unknown
        columns["bayes_factor_mcse"] = np.where(np.isinf(factor), np.nan, factor * np.hypot(before, after))
    index = pd.Index(list(names), name="term", dtype=object)
    table = pd.DataFrame(columns, index=index, columns=INCLUSION_COLUMNS)
    table["columns"] = np.full(len(names), n_columns, dtype=np.int64)
    return table


def shown_inclusion(inclusion: pd.DataFrame) -> tuple[str, pd.DataFrame]:
    """Return the table of inclusion as printed in a summary, with its caption.

    Parameters
    ----------
    inclusion : DataFrame
        Table of :func:`inclusion_table`.

    Returns
    -------
    caption : str
    table : DataFrame
        If there are more than 20 terms, in order of decreasing probability and at most 100.

    Examples
    --------
    >>> shown_inclusion(inclusion_table(["x"], [0.5], [0.9], [0.01], [900.0], [1.0], [2.0]))[0]
    'Inclusion'
    """
    if len(inclusion) <= LONG_TABLE:
        return "Inclusion", inclusion
    caption = "Inclusion, highest first"
    posterior = inclusion["posterior"].to_numpy()
    order = np.argsort(-posterior, kind="stable")
    if len(inclusion) > MOST_TERMS:
        caption = f"{caption}: {MOST_TERMS} of {len(inclusion):,}"
        caption += f" (the others: at most {posterior[order[MOST_TERMS]]:.2g} each)"
    return caption, inclusion.iloc[order[:MOST_TERMS]]


def model_table(
    terms: Sequence[tuple[str, ...]],
    size: ArrayLike,
    cost: ArrayLike,
    posterior: ArrayLike,
    mcse: ArrayLike,
    odds: ArrayLike,
    odds_mcse: ArrayLike,
    log_marginal: ArrayLike | None = None,
    deviance: ArrayLike | None = None,
) -> pd.DataFrame:
    """Return the table of models by rank.

    Parameters
    ----------
    terms : sequence of tuple of str, length m
        Terms of each model, best model first.
    size : array_like of int, shape (m,)
        Number of terms.
    cost : array_like of shape (m,) or scalar
        Cost of each model.
    posterior, mcse : array_like of shape (m,) or scalar
        Posterior probability and its Monte Carlo error.
    odds, odds_mcse : array_like of shape (m,) or scalar
        Posterior odds of the first model against each, and their Monte Carlo error. If odds are exact and
        probabilities are relative frequencies, the latter need not decrease with rank.
    log_marginal : array_like of shape (m,) or scalar, optional
        Log marginal likelihood, NaN if unknown; None omits the column.
    deviance : array_like of shape (m,) or scalar, optional
        Smallest deviance found; None omits the column.

    Returns
    -------
    DataFrame
        Indexed by ``rank`` from 1, columns named as the parameters.

    Raises
    ------
    ParameterError
        If a column has the wrong length or the odds decrease from rank to rank.

    Examples
    --------
    >>> nan = float("nan")
    >>> model_table([("a",), ()], [1, 0], 0.0, [0.8, 0.2], nan, [1.0, 4.0], nan).terms[1]
    ('a',)
    """
    m = len(terms)
    numbers = {
        "cost": cost,
        "posterior": _probabilities(posterior, "posterior"),
        "mcse": mcse,
        "odds": odds,
        "odds_mcse": odds_mcse,
        "log_marginal": log_marginal,
        "deviance": deviance,
    }
    columns: dict[str, Any] = {
        key: _column(values, key, m) for key, values in numbers.items() if values is not None
    }
    if np.any(columns["odds"][1:] < (1.0 - ROUNDING) * columns["odds"][:-1]):
        raise bad_value("odds", "in increasing order, since rows are ranks", odds)
    sizes = np.asarray(size)
    if sizes.shape != (m,) or (m > 0 and sizes.dtype.kind not in "iu"):
        raise bad_value("size", f"a vector of {m} ints", size)
    columns["size"] = sizes.astype(np.int64)
    cells = np.empty(m, dtype=object)  # a list of tuples would become a matrix
    for row, names in enumerate(terms):
        cells[row] = tuple(names)
    columns["terms"] = cells
    index = pd.RangeIndex(1, m + 1, name="rank")
    return pd.DataFrame(columns, index=index, columns=[name for name in MODEL_COLUMNS if name in columns])


def coefficient_table(
    names: Sequence[str],
    mean: ArrayLike,
    sd: ArrayLike,
    ci_lower: ArrayLike,
    ci_upper: ArrayLike,
    prob_positive: ArrayLike,
    mean_included: ArrayLike,
    sd_included: ArrayLike,
) -> pd.DataFrame:
    """Return the table of model-averaged coefficients by design column.

    Parameters
    ----------
    names : sequence of str, length K
        Columns of the design.
    mean, sd : array_like of shape (K,) or scalar
        Posterior mean and standard deviation over all models; coefficients of excluded columns are 0.
    ci_lower, ci_upper : array_like of shape (K,) or scalar
        Ends of a posterior interval.
    prob_positive : array_like of shape (K,) or scalar
        Posterior probability of a positive coefficient.
    mean_included, sd_included : array_like of shape (K,) or scalar
        Mean and standard deviation given inclusion of the column; NaN if it was never included.

    Returns
    -------
    DataFrame
        Indexed by ``column``, columns named as the parameters.

    Raises
    ------
    ParameterError
        If a column has the wrong length or the ends of an interval are reversed.

    Examples
    --------
    >>> table = coefficient_table(["x"], [1.0], [0.5], [0.0], [2.0], [0.9], [1.1], [0.4])
    >>> table.loc["x", ["ci_lower", "ci_upper"]].tolist()
    [0.0, 2.0]
    """
    given = {
        "mean": mean,
        "sd": sd,
        "ci_lower": ci_lower,
        "ci_upper": ci_upper,
        "prob_positive": _probabilities(prob_positive, "prob_positive"),
        "mean_included": mean_included,
        "sd_included": sd_included,
    }
    columns = {key: _column(values, key, len(names)) for key, values in given.items()}
    if np.any(columns["ci_lower"] > columns["ci_upper"]):
        raise bad_value("ci_lower", "at most ci_upper", ci_lower)
    index = pd.Index(list(names), name="column", dtype=object)
    return pd.DataFrame(columns, index=index, columns=COEFFICIENT_COLUMNS)


def covered_mass(models: pd.DataFrame) -> float:
    """Return the posterior mass of the listed `models`.

    Examples
    --------
    >>> import pandas as pd
    >>> covered_mass(pd.DataFrame({"posterior": [0.5, 0.25]}))
    0.75
    """
    return float(models["posterior"].sum())


def _column(values: ArrayLike, name: str, length: int) -> FloatArray:
    """Return `values` as a float vector; a scalar is repeated."""
    array = np.asarray(values, dtype=np.float64)
    if array.ndim == 0:
        return np.full(length, float(array))
    if array.shape != (length,):
        raise ParameterError(
            f"The {name!r} parameter of {called()} must have shape ({length},), one value per row. "
            f"Got shape {array.shape} instead."
        )
    return array


def _odds_error(inside: FloatArray, outside: ArrayLike, error: FloatArray) -> FloatArray:
    """Return relative errors of the odds of probabilities `inside` and `outside`; 0 if these are exact."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        return np.where(error == 0, 0.0, error / inside / np.asarray(outside, dtype=np.float64))


def _probabilities(values: ArrayLike, name: str) -> FloatArray:
    """Return `values` as floats, each NaN or in [0, 1] up to rounding."""
    array = np.asarray(values, dtype=np.float64)
    # Sums of many probabilities can exceed 1 by rounding; a larger excess is an error.
    if np.any((array < -1e-9) | (array > 1 + 1e-9)):
        raise bad_value(name, "probabilities in [0, 1]", values)
    return array


SHARE, POSITIVE, ANY = (0.0, 1.0), (0.0, np.inf), (-np.inf, np.inf)
# Smallest and largest valid number of a column, by its name or prefix.
RANGES = {
    **dict.fromkeys(("rate", "posterior", "error_rate", "acceptance"), SHARE),
    **dict.fromkeys(("ess", "r", "mcse", "sd", "se", "difference_se"), POSITIVE),
    **dict.fromkeys(("draws", "models", "integrated", "seconds", "cpu_seconds"), POSITIVE),
}
# Columns without missing values.
COMPLETE = ("posterior", "error_rate", "draws", "models", "integrated")
TYPES = (np.dtype(np.float64), np.dtype(np.int64))


def table_from_plain(
    content: Content,
    key: str,
    index: Sequence[Any] | None = None,
    columns: Sequence[str] | None = None,
) -> pd.DataFrame:
    """Return a table of diagnostics or of several fits.

    Parameters
    ----------
    content : Content
        Content of the file.
    key : str
        Name of the table.
    index : sequence, optional
        Required row labels.
    columns : sequence of str, optional
        Required columns.

    Returns
    -------
    DataFrame
        The table as it was saved.

    Raises
    ------
    StoreError
        If rows or columns differ, or a number is out of range.
    """
    frame = frame_from_plain(content.part(key), columns)
    if index is not None and frame.index.tolist() != list(index):
        raise content.wrong(key, f"a table by {', '.join(map(str, index))}")
    for name in frame.columns:
        values = frame[name].to_numpy()
        if values.dtype not in TYPES:
            raise content.wrong(key, f"a table of numbers, which {name!r} is not")
        low, high = RANGES.get(str(name), RANGES.get(str(name).partition("_")[0], ANY))
        infinite = str(name).startswith(("ess", "r_hat"))
        good = (values >= low) & (values <= high) & (infinite | np.isfinite(values))
        if not (good | (np.isnan(values) & (name not in COMPLETE))).all():
            raise content.wrong(key, f"a table whose {name!r} are in [{low:g}, {high:g}]")
    return frame

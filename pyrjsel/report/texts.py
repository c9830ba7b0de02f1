"""Numbers as text, with as many decimals as the Monte Carlo error justifies, and sentences of summaries."""

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from pyrjsel._validate import check_choice, listed

NOTHING = "–"
# Effective sample sizes from here on, as averages of conditional probabilities can have, are shown as powers
# of ten.
LONG_COUNT = 1e7
# A probability is never shown with more decimals than this.
MOST = 4


def decimals(error: float) -> int:
    """Return the decimals of a number with Monte Carlo error `error`: 3 for 0.004, 4 at most."""
    if not error > 0:  # exact, or unknown
        return MOST
    return min(max(math.ceil(-math.log10(error)), 1), MOST)


def probability(value: float, error: float = 0.0) -> str:
    """Return a probability; 0 and 1 without a known error are shown without decimals."""
    if math.isnan(value):
        return NOTHING
    if math.isnan(error) and value in (0.0, 1.0):
        return f"{value:.0f}"
    places = decimals(error)
    half = 0.5 * 10.0**-places
    if 0 < value < half:
        return f"<{10.0**-places:.{places}f}"
    if 1 - half < value < 1:
        return f">{1 - 10.0**-places:.{places}f}"
    return f"{value:.{places}f}"


def prior(value: float, error: float = 0.0) -> str:
    """Return a prior probability with three decimals, fewer where `error` is large."""
    return probability(value, max(1e-3, error))


def error_of_probability(value: float, error: float = 0.0) -> str:
    """Return a Monte Carlo error with one decimal more than its estimate."""
    if math.isnan(value):
        return NOTHING
    if value == 0:
        return "0"
    places = min(decimals(value) + 1, MOST)
    if value < 0.5 * 10.0**-places:
        return f"<{10.0**-places:.{places}f}"
    return f"{value:.{places}f}"


def ratio(value: float, error: float = 0.0) -> str:
    """Return odds or a Bayes factor with three significant digits, fewer where `error` is large."""
    if math.isnan(value):
        return NOTHING
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    if 0 < value < 0.0005:
        return "<0.001"
    digits = 3
    if error > 0 and value > 0:
        digits = min(max(1 + math.floor(math.log10(value / error)), 2), 4)
    return significant(value, digits)


def bayes_factor(value: float, error: float = 0.0) -> str:
    """Return a Bayes factor with three significant digits, down to one where `error` is large."""
    if error > 0 and 0.0005 <= value < math.inf:
        digits = 1 if math.isinf(error) else 1 + math.floor(math.log10(value / error))
        return significant(value, min(max(digits, 1), 3))
    return ratio(value)


def two_digits(value: float, error: float = 0.0) -> str:
    """Return a positive number (the error of odds) with two significant digits."""
    return significant(value, 2)


def significant(value: float, digits: int) -> str:
    """Return `value` with at least `digits` significant digits, in scientific notation from 100,000 on."""
    if math.isnan(value):
        return NOTHING
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    if value == 0:
        return "0"
    if abs(value) >= 1e5 or abs(value) < 1e-4:
        return f"{value:.{digits - 1}e}"
    # Rounded first: 9.996 with three digits is 10.0, not 10.00. Digits before the point are never rounded.
    rounded = float(f"{value:.{digits - 1}e}")
    places = max(digits - 1 - math.floor(math.log10(abs(rounded))), 0)
    return f"{value:.{places}f}"


def count(value: float, error: float = 0.0) -> str:
    """Return a count as a whole number."""
    if math.isnan(value):
        return NOTHING
    return "inf" if math.isinf(value) else f"{value:.0f}"


def effective(value: float, error: float = 0.0) -> str:
    """Return an effective sample size: a whole number, or two significant digits of a very large one."""
    return f"{value:.1e}" if LONG_COUNT <= value < math.inf else count(value)


def fixed(places: int) -> Callable[[float, float], str]:
    """Return a formatter with `places` decimals."""

    def form(value: float, error: float = 0.0) -> str:
        return NOTHING if math.isnan(value) else f"{value:.{places}f}"

    return form


def general(value: float, error: float = 0.0) -> str:
    """Return a number such as a cost without trailing zeros."""
    return NOTHING if math.isnan(value) else f"{value:.6g}"


def coefficient(value: float, error: float = 0.0) -> str:
    """Return a coefficient to three significant digits of its posterior standard deviation."""
    if math.isnan(value):
        return NOTHING
    if not error > 0 or math.isinf(error):
        return significant(value, 4)
    places = 2 - math.floor(math.log10(error))
    return f"{value:.{max(places, 0)}f}" if places <= 6 else significant(value, 4)


KINDS: dict[str, Callable[[float, float], str]] = {
    "probability": probability,
    "prior": prior,
    "mcse": error_of_probability,
    "ratio": ratio,
    "bayes_factor": bayes_factor,
    "two_digits": two_digits,
    "count": count,
    "effective": effective,
    "fixed2": fixed(2),
    "fixed3": fixed(3),
    "general": general,
    "coefficient": coefficient,
}

# Column -> (kind, column with its error). Others: floats and ints "general", the rest as str.
COLUMNS: dict[str, tuple[str, str | None]] = {
    "prior": ("prior", "prior_mcse"),
    "posterior": ("probability", "mcse"),
    "mcse": ("mcse", None),
    "ess": ("effective", None),
    "r_hat": ("fixed3", None),
    "bayes_factor": ("bayes_factor", "bayes_factor_mcse"),
    "cost": ("general", None),
    "columns": ("count", None),
    "size": ("count", None),
    "odds": ("ratio", "odds_mcse"),
    "odds_mcse": ("two_digits", None),
    "log_marginal": ("fixed2", None),
    "deviance": ("fixed2", None),
    "mean": ("coefficient", "sd"),
    "sd": ("coefficient", "sd"),
    "ci_lower": ("coefficient", "sd"),
    "ci_upper": ("coefficient", "sd"),
    "prob_positive": ("prior", None),
    "mean_included": ("coefficient", "sd_included"),
    "sd_included": ("coefficient", "sd_included"),
}


# Columns shown in a summary only through the digits of others.
HIDDEN = ("prior_mcse", "bayes_factor_mcse")
# Columns of Monte Carlo errors, not shown where all errors of probabilities are 0.
ERRORS = ("mcse", "odds_mcse")


def format_column(frame: pd.DataFrame, name: str, formats: Mapping[str, str]) -> list[str]:
    """Return the cells of column `name` as text; `formats` maps columns to kinds."""
    column = frame[name]
    if not pd.api.types.is_numeric_dtype(column) or pd.api.types.is_bool_dtype(column):
        return [join_terms(cell) if isinstance(cell, tuple) else str(cell) for cell in column]
    default, error_name = COLUMNS.get(name, ("general", None))
    kind = formats.get(name, default)
    check_choice(kind, f"formats[{name!r}]", KINDS)
    errors = frame[error_name] if error_name in frame.columns else np.zeros(len(frame))
    return [KINDS[kind](float(v), float(e)) for v, e in zip(column, errors, strict=True)]


def join_terms(terms: tuple[str, ...]) -> str:
    """Return the terms of a model as the right-hand side of a formula."""
    return " + ".join(terms) if terms else "(no terms)"


def covered_caption(models: pd.DataFrame, listed: int, how: str = "visited", count: int | None = None) -> str:
    """Return the caption of a model table, with the posterior mass that it covers.

    Parameters
    ----------
    models : DataFrame
        The model table, with column ``posterior``.
    listed : int
        Number of rows that are printed, from the top.
    how : str
        How the models were found: "visited" or "enumerated".
    count : int, optional
        Number of models found, if those of the table are only the best of them.

    Returns
    -------
    str
        A sentence for the caption of the printed table.

    Examples
    --------
    >>> import pandas as pd
    >>> covered_caption(pd.DataFrame({"posterior": [0.5, 0.2, 0.1]}), 2)
    'Models: the best 2 of 3 visited, which hold 0.700 of the posterior mass (all 3: 0.800)'
    >>> covered_caption(pd.DataFrame({"posterior": [0.5, 0.2, 0.1]}), 2, "enumerated", 4096)
    'Models: the best 2 of 4,096 enumerated, which hold 0.700 of the posterior mass (the best 3: 0.800)'
    """
    posterior = models["posterior"]
    known = len(posterior)
    total = known if count is None else count
    listed = min(listed, known)
    mass = _mass(posterior.iloc[:listed])
    if total == 1:
        return f"Models: the only one {how}, which holds {mass} of the posterior mass"
    if listed == total:
        return f"Models: all {total:,} {how}, which hold {mass} of the posterior mass"
    text = f"Models: the best {listed:,} of {total:,} {how}, which hold {mass} of the posterior mass"
    if listed == known:
        return text
    return f"{text} ({'all' if known == total else 'the best'} {known:,}: {_mass(posterior)})"


def dropped_note(n_dropped: int, n_rows: int, missing: pd.Series) -> str:
    """Return a note on dropped rows.

    Parameters
    ----------
    n_dropped, n_rows : int
        Numbers of dropped rows and of all rows.
    missing : Series
        Missing values by column.

    Returns
    -------
    str
        A sentence.

    Examples
    --------
    >>> import pandas as pd
    >>> dropped_note(3, 1200, pd.Series({"age": 1, "sex": 2}))
    '3 of 1,200 rows were dropped for missing values (by column: sex 2, age 1).'
    """
    counts = missing.sort_values(ascending=False, kind="stable")
    where = listed([f"{name} {count}" for name, count in counts.items()])
    return f"{n_dropped:,} of {n_rows:,} rows were dropped for missing values (by column: {where})."


def repr_short(prior: object) -> str:
    """Return the repr of a prior without the parameters that are not set."""
    text = repr(prior)
    for unset in (", information='unit'", ", intercept=None", ", expected_size=None"):
        text = text.replace(unset, "")
    return text


def results_html(results: Any) -> str:
    """Return the summary of results as HTML, for notebooks."""
    found: str = results.summary().as_html()
    return found


def _mass(posterior: pd.Series) -> str:
    # Probabilities of very many models do not sum to one to the last digit.
    return prior(min(round(float(posterior.sum()), 9), 1.0))

"""Sentences and short texts of summaries; rendering is in ``render.py``."""

from typing import Any

import pandas as pd

from pyrjsel._validate import listed
from pyrjsel.report._formats import prior


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

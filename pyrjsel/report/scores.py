"""Scores of predicted class probabilities."""

from collections.abc import Mapping

import numpy as np
import pandas as pd

from pyrjsel._typing import FloatArray, IntArray


def score_table(scores: Mapping[str, FloatArray]) -> pd.DataFrame:
    """Return means of scores over observations, with their standard errors.

    Parameters
    ----------
    scores : mapping of str to ndarray, shape (n,)
        Scores of the same n observations by name, n at least 1.

    Returns
    -------
    DataFrame
        One row per score; columns ``value``, ``se`` (standard error over observations; NaN for one
        observation or an infinite score) and ``rows``, the number of observations.

    Examples
    --------
    >>> import numpy as np
    >>> score_table({"error_rate": np.array([0.0, 0.0, 1.0, 0.0])}).loc["error_rate"].tolist()
    [0.25, 0.25, 4.0]
    """
    rows = {}
    for name, values in scores.items():
        known = len(values) > 1 and np.isfinite(values).all()
        error = values.std(ddof=1) / np.sqrt(len(values)) if known else np.nan
        rows[name] = (values.mean(), error, len(values))
    return pd.DataFrame.from_dict(rows, orient="index", columns=["value", "se", "rows"])


def class_scores(probability: FloatArray, true: IntArray) -> pd.DataFrame:
    """Return error rate, log score and Brier score of predicted class probabilities.

    Parameters
    ----------
    probability : ndarray, shape (n, K)
        Predicted probabilities.
    true : ndarray of int64, shape (n,)
        True classes as column numbers.

    Returns
    -------
    DataFrame
        As of :func:`score_table`; the Brier score is half the squared distance from 1 for the true class and
        0 for the others.

    Examples
    --------
    >>> import numpy as np
    >>> class_scores(np.array([[0.25, 0.75], [1.0, 0.0]]), np.array([1, 0]))["value"].round(2).to_dict()
    {'error_rate': 0.0, 'log_score': -0.14, 'brier': 0.03}
    """
    distance = probability.copy()
    distance[np.arange(len(true)), true] -= 1.0
    return score_table(
        {
            "error_rate": (probability.argmax(axis=1) != true).astype(np.float64),
            "log_score": log_chosen(probability, true),
            "brier": 0.5 * (distance**2).sum(axis=1),
        }
    )


def log_chosen(probability: FloatArray, true: IntArray) -> FloatArray:
    """Return the log probabilities (n,) of the true classes, -inf for a probability of 0.

    Parameters
    ----------
    probability : ndarray, shape (n, K)
        Predicted probabilities.
    true : ndarray of int64, shape (n,)
        True classes as column numbers.

    Returns
    -------
    ndarray, shape (n,)

    Examples
    --------
    >>> import numpy as np
    >>> log_chosen(np.array([[0.25, 0.75], [1.0, 0.0]]), np.array([1, 1])).round(2).tolist()
    [-0.29, -inf]
    """
    with np.errstate(divide="ignore"):
        return np.log(probability[np.arange(len(true)), true])


def calibration_table(probability: FloatArray, event: FloatArray, bins: int) -> pd.DataFrame:
    """Return observed proportions of an event by bins of predicted probability.

    Parameters
    ----------
    probability : ndarray, shape (n,)
        Predicted probabilities.
    event : ndarray, shape (n,)
        1 if the event happened, else 0.
    bins : int
        Number of bins of equal length in [0, 1].

    Returns
    -------
    DataFrame
        One row per bin with observations, numbered from 1; columns ``lower``, ``upper``, ``predicted`` (mean
        probability), ``observed`` (proportion of events), ``se`` (of `observed`, if the probabilities are
        right) and ``rows``, the number of observations.

    Examples
    --------
    >>> import numpy as np
    >>> calibration_table(np.array([0.1, 0.3, 0.8]), np.array([0, 1, 1]), 2)["observed"].tolist()
    [0.5, 1.0]
    """
    place = np.minimum((probability * bins).astype(np.int64), bins - 1)
    rows = np.bincount(place, minlength=bins)
    (used,) = np.nonzero(rows)
    sums = [
        np.bincount(place, weights=values, minlength=bins)[used] / rows[used]
        for values in (probability, event, probability * (1 - probability))
    ]
    return pd.DataFrame(
        {
            "lower": used / bins,
            "upper": (used + 1) / bins,
            "predicted": sums[0],
            "observed": sums[1],
            "se": np.sqrt(sums[2] / rows[used]),
            "rows": rows[used],
        },
        index=pd.Index(used + 1, name="bin"),
    )

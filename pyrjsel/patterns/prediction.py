"""Class probabilities of new observations, averaged over draws."""

from collections.abc import Iterator

import numpy as np

from pyrjsel._core import special
from pyrjsel._typing import FloatArray
from pyrjsel.patterns._linear import predictors
from pyrjsel.patterns.features import CodeArray, Features
from pyrjsel.patterns.groups import Groups
from pyrjsel.patterns.matching import Matches, match

# Number of sums added per call of the compiled code, 0.1 to 0.2 s; a split costs as much as PART sums.
BLOCK, PART = 10_000_000, 30
# Number of linear predictors in memory at a time: 8 MB.
HELD = 1_000_000


def linear_predictors(
    sums: FloatArray,
    sigma: FloatArray,
    prior: str,
    matches: Matches,
    rng: np.random.Generator,
) -> Iterator[FloatArray]:
    """Draw linear predictors of new observations, in blocks.

    Parameters
    ----------
    sums : ndarray of float64, shape (D, C, G)
        Draws of the sum of the coefficients of each group, by class.
    sigma : ndarray of float64, shape (D, O + 1)
        Draws of the scales by order.
    prior : {"cauchy", "gaussian"}
        Family of the coefficient prior.
    matches : Matches
        Groups that the observations match.
    rng : Generator
        Random number generator. Sums of groups that match in part are split, and coefficients of patterns
        that do not occur in the training data are drawn from their prior, separately for each draw,
        observation and class.

    Yields
    ------
    ndarray of float64, shape (observations, D, C)
        Linear predictors.
    """
    n_draws, n_classes, _ = sums.shape
    work = np.diff(matches.indptr) + 1
    parts = np.concatenate([[0], np.cumsum(matches.part >= 0)])[matches.indptr]
    work = (work + PART * np.diff(parts)) * n_draws * n_classes
    most = max(HELD // (n_draws * n_classes), 1)
    first = 0
    while first < len(work):
        within = np.cumsum(work[first : first + most]) <= BLOCK
        out = np.empty((max(int(within.sum()), 1), n_draws, n_classes))
        predictors(
            rng,
            sums,
            sigma,
            prior == "cauchy",
            first,
            matches.indptr,
            matches.group,
            matches.part,
            matches.inside,
            matches.outside,
            matches.unseen,
            out,
        )
        yield out
        first += len(out)


def class_probabilities(predictor: FloatArray) -> FloatArray:
    """Return probabilities of classes, along the last axis, from linear predictors.

    Parameters
    ----------
    predictor : ndarray of float64, shape (..., C)
        Linear predictors of the second of two classes (C = 1), or of each of more than two.

    Returns
    -------
    ndarray of float64, shape (..., K)
        K is 2 if C is 1, else C.
    """
    if predictor.shape[-1] == 1:
        return np.concatenate([special.expit(-predictor), special.expit(predictor)], axis=-1)
    return np.asarray(special.softmax(predictor, axis=-1))


def predict_probabilities(
    sums: FloatArray,
    sigma: FloatArray,
    prior: str,
    groups: Groups,
    features: Features,
    new: CodeArray,
    rng: np.random.Generator,
    repeats: int = 1,
    *,
    unseen_levels: bool = False,
) -> FloatArray:
    """Return class probabilities of new observations, averaged over draws.

    Parameters
    ----------
    sums, sigma, prior, rng
        As for :func:`linear_predictors`.
    groups : Groups
        Groups of patterns.
    features : Features
        Features of the training data.
    new : ndarray of int32, shape (m, p)
        New observations as positions among the levels of `features`; -1 is an unseen level.
    repeats : int, default 1
        Number of splits and prior draws per posterior draw.
    unseen_levels : bool, default False
        Whether coefficients of patterns with an unseen level are drawn from their prior; otherwise they are
        0.

    Returns
    -------
    ndarray of float64, shape (m, K)
        Probabilities.
    """
    n_classes = 2 if sums.shape[1] == 1 else sums.shape[1]
    done = []
    for matches in match(groups, features, new, unseen_levels=unseen_levels):
        total = np.zeros((len(matches.unseen), n_classes))
        for _ in range(repeats):
            blocks = linear_predictors(sums, sigma, prior, matches, rng)
            total += np.concatenate([class_probabilities(block).mean(axis=1) for block in blocks])
        done.append(total / repeats)
    return np.concatenate(done) if done else np.empty((0, n_classes))

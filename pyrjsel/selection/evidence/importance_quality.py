"""Warnings about importance-sampling integrals of relevant models."""

from collections.abc import Sequence

import numpy as np

from pyrjsel._typing import FloatArray
from pyrjsel._validate import beyond, counted
from pyrjsel.report.mixing import SHARE
from pyrjsel.runtime import above
from pyrjsel.selection.evidence.laplace import needed

# Models of at least this probability get more draws if needed, out of MOST_MORE pairs shared by probability.
MATTERS = 1e-3
# Largest posterior probability of models with too few effective draws.
TOLERATED = 0.05
# Relative errors of marginal likelihoods that may be too small, from few draws with most of the weight, and
# what they must contribute to errors of probabilities to be reported: a fifth of the usual target.
POOR, NOTICED = 0.05, 1e-3


def few_effective(probability: FloatArray, effective: FloatArray) -> list[str]:
    """Return a warning if too much of the posterior is in models with too few effective draws.

    Parameters
    ----------
    probability, effective : ndarray (m,)
        Probabilities and effective draws of models; the latter NaN without draws.

    Returns
    -------
    list of str
        One text, or empty.
    """
    short = effective < needed(probability)
    share = float(probability[short].sum())
    if share <= TOLERATED:
        return []
    text = (
        f"Models holding {share:.0%} of the posterior have too few effective importance draws (minimum "
        f"{effective[short].min():.0f}): their coefficients are imprecise and standard deviations may be too "
        "small. Increase 'pairs', or use sampler='rjmcmc'."
    )
    return [text]


def poor_integrals(probability: FloatArray, variance: FloatArray, pairs: int) -> list[str]:
    """Return a warning if marginal likelihoods of relevant models have large errors.

    Parameters
    ----------
    probability, variance : ndarray (m,)
        Probabilities of models, and relative variances of their marginal likelihoods.
    pairs : int
        Pairs of draws for each of these.

    Returns
    -------
    list of str
        One text, or empty.
    """
    matters = probability > MATTERS
    p, error = probability[matters], np.sqrt(variance[matters])
    poor = error > POOR
    bad, share = int(poor.sum()), (p * (1.0 - p) * error)[poor]
    if not np.sqrt(share @ share) > NOTICED:
        return []
    largest = beyond(float(error.max()), POOR, 0, percent=True)
    many = f"{bad} of the {error.size} models" if error.size > 1 else "the one model"
    text = (
        f"The marginal likelihoods of {many} with posterior probability above {MATTERS} have relative "
        f"Monte Carlo errors above {POOR:.0%} (the largest: {largest}), and these may be "
        f"underestimated: increase 'pairs' (now {pairs:,}), or use sampler='rjmcmc'."
    )
    return [text]


def imprecise_integrals(
    inclusion_mcse: FloatArray, error: FloatArray, names: Sequence[str], target: float, pairs: int
) -> list[str]:
    """Return a text on inclusion probabilities whose MCSE exceeds the target because of integration errors.

    Parameters
    ----------
    inclusion_mcse, error : ndarray (J,)
        MCSE of terms, and the part due to integration.
    names : sequence of str
        Names of the terms.
    target : float
        Target MCSE.
    pairs : int
        Pairs of draws for each model.

    Returns
    -------
    list of str
        One text, or empty.
    """
    large = np.flatnonzero((inclusion_mcse > target) & (error > SHARE * target))
    if not large.size:
        return []
    j = int(large[np.argmax(error[large])])
    more = f" (and of {counted(large.size - 1, 'other term')})" if large.size > 1 else ""
    text = (
        f"The MCSE of the inclusion of {names[j]}{more} is {above(float(inclusion_mcse[j]), target)}: the "
        f"errors of marginal likelihoods contribute {error[j]:.2g}, which more draws do not reduce. "
        f"Increase 'pairs' (now {pairs:,}), or use sampler='rjmcmc'."
    )
    return [text]

"""Whether integrals by weighted draws are good enough where they matter.

Averages of coefficients are made of weighted draws, those of a model as good as an effective number of them.

Of n effective draws of a model, the variance of a coefficient comes out too small by about its n-th part. The
error of an average over models has the variance

    sum over models of p^2 v / n,

p their probabilities and v variances. Models with n >= max(FEW, ENOUGH p) keep the former below 1 / FEW, and
the latter below that of ENOUGH draws.
"""

from collections.abc import Sequence

import numpy as np

from pyrjsel._typing import FloatArray
from pyrjsel._validate import beyond, counted
from pyrjsel.report.stopping import SHARE
from pyrjsel.runtime import above
from pyrjsel.selection.evidence.laplace import MOST_MORE, Integral, MarginalLikelihood

ENOUGH, FEW = 200.0, 20.0
# Models of at least this probability get more draws where they need them, and share MOST_MORE pairs by their
# probabilities.
MATTERS = 1e-3
# Share of the posterior that may be in models with too few.
TOLERATED = 0.05
# Relative errors of marginal likelihoods beyond which they are mentioned.
POOR = 0.05


def needed(probability: FloatArray) -> FloatArray:
    """Return how many effective draws models of given probabilities need."""
    return np.maximum(FEW, ENOUGH * probability)


def with_enough(
    marginal: MarginalLikelihood, gamma: np.ndarray, found: Integral, probability: float
) -> Integral:
    """Return the integral `found` of model `gamma` (J,), or one with the draws that it needs."""
    want = float(needed(np.array(probability)))
    return marginal.with_effective(gamma, found, want, int(probability * MOST_MORE))


def few_effective(probability: FloatArray, effective: FloatArray) -> list[str]:
    """Return what is said where too much of the posterior is in models with too few effective draws.

    Parameters
    ----------
    probability, effective : ndarray (m,)
        Of models; the latter NaN where no draws were made.

    Returns
    -------
    list of str
        One text, or none.
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
    """Return what is said of marginal likelihoods with large errors among the models that matter.

    Parameters
    ----------
    probability, variance : ndarray (m,)
        Of models; relative variances of their marginal likelihoods.
    pairs : int
        Pairs of draws for each of these.

    Returns
    -------
    list of str
        One text, or none.
    """
    error = np.sqrt(variance[probability > MATTERS])
    bad = int(np.sum(error > POOR))
    if not bad:
        return []
    largest = beyond(float(error.max()), POOR, 0, percent=True)
    many = f"{bad} of the {error.size} models" if error.size > 1 else "the one model"
    text = (
        f"The marginal likelihoods of {many} with posterior probability above {MATTERS} have relative "
        f"Monte Carlo errors above {POOR:.0%} (the largest: {largest}), and these may be too "
        f"small: raise pairs (now {pairs:,}), or use sampler='rjmcmc'."
    )
    return [text]


def imprecise_integrals(
    inclusion_mcse: FloatArray, error: FloatArray, names: Sequence[str], target: float, pairs: int
) -> list[str]:
    """Return a text on inclusion probabilities whose MCSE is larger than what was asked for, by integrals.

    Parameters
    ----------
    inclusion_mcse, error : ndarray (J,)
        Of terms: the whole MCSE, and the part of the integrals.
    names : sequence of str
        Of terms.
    target : float
        What was asked for.
    pairs : int
        Pairs of draws for each model.

    Returns
    -------
    list of str
        One text, or none.
    """
    large = np.flatnonzero((inclusion_mcse > target) & (error > SHARE * target))
    if not large.size:
        return []
    j = int(large[np.argmax(error[large])])
    more = f" (and of {counted(large.size - 1, 'other term')})" if large.size > 1 else ""
    text = (
        f"The MCSE of the inclusion of {names[j]}{more} is {above(float(inclusion_mcse[j]), target)}: the "
        f"errors of marginal likelihoods alone make it {error[j]:.2g}, and more draws do not lower these. "
        f"Raise pairs (now {pairs:,}), or use sampler='rjmcmc'."
    )
    return [text]

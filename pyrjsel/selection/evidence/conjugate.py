"""Compiled marginal likelihoods of gaussian regressions, for chains over models."""

from pyrjsel._errors import NotAvailableError
from pyrjsel.selection.evidence._conjugate import ConjugateEvidence
from pyrjsel.selection.evidence.sampled_variance import FEWEST_KEPT, variance_evidence
from pyrjsel.selection.priors._score import GaussianScore
from pyrjsel.selection.regression._gram import ColumnGram, FullGram
from pyrjsel.selection.regression.gaussian import GaussianRegression


def score_of(regression: GaussianRegression, most: int) -> GaussianScore:
    """Return the score of the prior for models of at most `most` columns.

    Raises
    ------
    NotAvailableError
        For priors that do not scale with sigma, and for spike-and-slab priors.
    """
    if regression.prior.in_state:
        raise NotAvailableError(
            "Marginal likelihoods under SpikeSlab or priors with scaled=False have no closed form. "
            "Fit with sampler='gibbs'."
        )
    return regression.prior.score(regression, most)


def provider_of(regression: GaussianRegression) -> FullGram | ColumnGram:
    """Return the rows of X'WX + P for one thread: stored, or computed on demand."""
    if regression.held:
        return FullGram(regression.matrix)
    assert regression.rooted is not None
    capacity = max(FEWEST_KEPT, regression.n // 8)
    return ColumnGram(regression.rooted, regression.prior.precision, capacity)


def evidence_of(
    regression: GaussianRegression, provider: FullGram | ColumnGram | None = None
) -> ConjugateEvidence:
    """Return log marginal likelihoods for chains over models, up to ``regression.constant``.

    Parameters
    ----------
    regression : GaussianRegression
    provider : FullGram or ColumnGram, optional
        From :func:`provider_of`; several chains of one thread may share one.

    Returns
    -------
    ConjugateEvidence
        Marginal likelihoods of this regression.

    Raises
    ------
    NotAvailableError
        For priors that do not scale with sigma.
    """
    if regression.prior.scaled and regression.prior.ratio is not None:
        return variance_evidence(regression)
    most = regression.widest(regression.n_terms) - 1
    return ConjugateEvidence(
        score_of(regression, most),
        provider_of(regression) if provider is None else provider,
        regression.right,
        regression.starts,
        log_weights=regression.prior.log_weights,
        penalty=regression.penalty,
        rank_tol=regression.prior.rank_tol,
        most=most,
    )

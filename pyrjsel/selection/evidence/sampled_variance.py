"""Evidence and full conditionals of gaussian regressions with sigma^2 in the state of a sampler."""

import numpy as np

from pyrjsel._errors import NotAvailableError
from pyrjsel.selection.evidence._spike import DensityEvidence, SpikeEvidence
from pyrjsel.selection.evidence._variance import NormalEvidence, VarianceEvidence
from pyrjsel.selection.regression._gram import ColumnGram, FullGram
from pyrjsel.selection.regression.gaussian import GaussianRegression

# Number of rows of a Gram matrix that are kept if they are computed on demand.
FEWEST_KEPT = 64


def variance_evidence(regression: GaussianRegression) -> VarianceEvidence:
    """Return log marginal likelihoods: for spike-and-slab priors that scale with sigma, or given sigma^2.

    Values include all constants, with improper densities of the flat intercept and of log sigma^2 taken as 1;
    values given sigma^2 are log p(y, sigma^2 | model).

    Raises
    ------
    NotAvailableError
        For priors with marginal likelihoods in closed form, except spike-and-slab priors.
    """
    prior = regression.prior
    volume = 0.5 * (regression.log_weight - np.log(regression.total_weight))
    capacity = max(FEWEST_KEPT, regression.n)
    if prior.given_variance:
        if regression.held:
            base: FullGram | ColumnGram = FullGram(regression.gram)
        else:
            assert regression.rooted is not None
            base = ColumnGram(regression.rooted, np.zeros(regression.mean.size), capacity)
        return NormalEvidence(
            base,
            regression.cross,
            regression.starts,
            regression.square,
            prior.precision,
            prior.mean,
            regression.sigma,
            float(regression.rows),
            volume,
        )
    if prior.ratio is None:
        raise NotAvailableError("Under this prior sigma^2 and the coefficients are integrated out.")
    spectrum = regression.spectrum
    return SpikeEvidence(
        spectrum.columns,
        spectrum.value,
        spectrum.image,
        spectrum.rest,
        prior.precision,
        prior.ratio,
        regression.starts,
        regression.sigma,
        float(regression.rows),
        volume,
        prior.scaled,
        capacity,
    )


def density_evidence(regression: GaussianRegression) -> DensityEvidence:
    """Return log p(coefficients, sigma^2 | model) of a regression with a spike-and-slab prior."""
    prior = regression.prior
    assert prior.ratio is not None
    return DensityEvidence(prior.precision, prior.ratio, regression.starts, regression.sigma, prior.scaled)

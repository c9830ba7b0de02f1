"""Distributions that are priors in more than one kind of model."""

from pyrjsel.priors.inverse_gamma import InverseGamma
from pyrjsel.priors.log_normal import LogNormal

__all__ = ["InverseGamma", "LogNormal"]

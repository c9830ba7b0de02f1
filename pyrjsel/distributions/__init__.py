"""Distributions that are priors in more than one kind of model."""

from pyrjsel.distributions.inverse_gamma import InverseGamma
from pyrjsel.distributions.log_normal import LogNormal

__all__ = ["InverseGamma", "LogNormal"]

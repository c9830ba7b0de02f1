"""Distributions used as priors in several kinds of models."""

from pyrjsel.distributions.inverse_gamma import InverseGamma
from pyrjsel.distributions.log_normal import LogNormal

__all__ = ["InverseGamma", "LogNormal"]

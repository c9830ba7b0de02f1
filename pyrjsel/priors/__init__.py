"""Distributions that are priors in more than one kind of model."""

from pyrjsel.priors.inverse_gamma import InverseGamma

__all__ = ["InverseGamma"]

"""Likelihood families: log-likelihood, link, deviance and checks of the response."""

from pyrjsel.families.binomial import Binomial
from pyrjsel.families.family import Family

__all__ = ["Binomial", "Family"]

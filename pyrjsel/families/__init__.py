"""Likelihood families: log-likelihood, link, deviance and checks of the response."""

from pyrjsel.families.binomial import Binomial

__all__ = ["Binomial"]

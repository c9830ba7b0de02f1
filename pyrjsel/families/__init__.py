"""Likelihood families: log-likelihood, link, deviance and checks of the response."""

from pyrjsel._lazy import names_of

__getattr__, __dir__, __all__ = names_of(__name__)

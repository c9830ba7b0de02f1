"""Bayesian model and variable selection: formulas and data frames in, tables of models out."""

from pyrjsel import _compiled as _compiled  # first: the others import compiled modules
from pyrjsel._lazy import names_of

__getattr__, __dir__, __all__ = names_of(__name__)

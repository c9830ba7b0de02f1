"""Bayesian model and variable selection: formulas and data frames in, tables of models out."""

from pyrjsel import datasets
from pyrjsel._errors import (
    ConvergenceWarning,
    DataError,
    FormulaError,
    MissingDataWarning,
    NotAvailableError,
    ParameterError,
    PyrjselError,
    PyrjselWarning,
    RankWarning,
    SeparationWarning,
    UnknownNameError,
)
from pyrjsel._version import __version__

__all__ = [
    "ConvergenceWarning",
    "DataError",
    "FormulaError",
    "MissingDataWarning",
    "NotAvailableError",
    "ParameterError",
    "PyrjselError",
    "PyrjselWarning",
    "RankWarning",
    "SeparationWarning",
    "UnknownNameError",
    "__version__",
    "datasets",
]

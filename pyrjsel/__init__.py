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
from pyrjsel.selection import (
    CrossValidation,
    GPrior,
    LogitSelection,
    Normal,
    PoissonSelection,
    SelectionResults,
    SensitivityResults,
    compare_samplers,
    logit,
    poisson,
)
from pyrjsel.space import Bernoulli, BetaBinomial, CostAdjusted, TruncatedPoisson, Uniform

__all__ = [
    "Bernoulli",
    "BetaBinomial",
    "ConvergenceWarning",
    "CostAdjusted",
    "CrossValidation",
    "DataError",
    "FormulaError",
    "GPrior",
    "LogitSelection",
    "MissingDataWarning",
    "Normal",
    "NotAvailableError",
    "ParameterError",
    "PoissonSelection",
    "PyrjselError",
    "PyrjselWarning",
    "RankWarning",
    "SelectionResults",
    "SensitivityResults",
    "SeparationWarning",
    "TruncatedPoisson",
    "Uniform",
    "UnknownNameError",
    "__version__",
    "compare_samplers",
    "datasets",
    "logit",
    "poisson",
]

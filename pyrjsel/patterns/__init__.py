"""Logistic models with all interaction patterns of categorical features, their parameters compressed."""

from pyrjsel.patterns.compression import find_groups
from pyrjsel.patterns.features import Features
from pyrjsel.patterns.groups import Groups
from pyrjsel.patterns.split import split_cauchy, split_cauchy_cdf, split_cauchy_ppf, split_gaussian

__all__ = [
    "Features",
    "Groups",
    "find_groups",
    "split_cauchy",
    "split_cauchy_cdf",
    "split_cauchy_ppf",
    "split_gaussian",
]

"""Logistic models with all interaction patterns of categorical features, their parameters compressed."""

from pyrjsel.patterns.features import Features, histories
from pyrjsel.patterns.groups import Groups, find_groups
from pyrjsel.patterns.loading import read_results
from pyrjsel.patterns.model import PatternLogit, pattern_logit
from pyrjsel.patterns.results import PatternResults
from pyrjsel.patterns.split import split_cauchy, split_cauchy_cdf, split_cauchy_ppf, split_gaussian

__all__ = [
    "Features",
    "Groups",
    "PatternLogit",
    "PatternResults",
    "find_groups",
    "histories",
    "pattern_logit",
    "read_results",
    "split_cauchy",
    "split_cauchy_cdf",
    "split_cauchy_ppf",
    "split_gaussian",
]

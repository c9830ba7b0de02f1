"""Logistic models with all interaction patterns of categorical features, their parameters compressed."""

from pyrjsel.patterns.compression import find_groups
from pyrjsel.patterns.features import Features
from pyrjsel.patterns.groups import Groups

__all__ = ["Features", "Groups", "find_groups"]

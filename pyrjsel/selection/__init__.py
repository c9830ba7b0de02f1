"""Variable selection in regression models: priors, samplers, results."""

from pyrjsel.selection.compare import compare_samplers
from pyrjsel.selection.models import LogitSelection, PoissonSelection
from pyrjsel.selection.priors import GPrior, Normal
from pyrjsel.selection.results import SelectionResults
from pyrjsel.selection.short import logit, poisson

__all__ = [
    "GPrior",
    "LogitSelection",
    "Normal",
    "PoissonSelection",
    "SelectionResults",
    "compare_samplers",
    "logit",
    "poisson",
]

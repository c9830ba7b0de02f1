"""Variable selection in regression models: priors, samplers, results."""

from pyrjsel.selection.compare import compare_samplers
from pyrjsel.selection.model import LogitSelection
from pyrjsel.selection.priors import GPrior, Normal
from pyrjsel.selection.results import SelectionResults
from pyrjsel.selection.short import logit

__all__ = ["GPrior", "LogitSelection", "Normal", "SelectionResults", "compare_samplers", "logit"]

"""Variable selection in regression models: priors, samplers, results."""

from pyrjsel.selection.model import LogitSelection, logit
from pyrjsel.selection.priors import GPrior, Normal
from pyrjsel.selection.results import SelectionResults

__all__ = ["GPrior", "LogitSelection", "Normal", "SelectionResults", "logit"]

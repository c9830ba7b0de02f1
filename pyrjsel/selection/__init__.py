"""Variable selection in regression models: priors, samplers, results."""

from pyrjsel.selection.compare import compare_samplers
from pyrjsel.selection.linear import LinearSelection
from pyrjsel.selection.loading import read_results
from pyrjsel.selection.mixtures import HyperG, HyperGN, ZellnerSiow
from pyrjsel.selection.models import LogitSelection, PoissonSelection
from pyrjsel.selection.priors import GPrior, Normal
from pyrjsel.selection.results import SelectionResults
from pyrjsel.selection.sensitivity import SensitivityResults
from pyrjsel.selection.short import linear, logit, poisson
from pyrjsel.selection.spikes import SpikeSlab
from pyrjsel.selection.validation import CrossValidation

__all__ = [
    "CrossValidation",
    "GPrior",
    "HyperG",
    "HyperGN",
    "LinearSelection",
    "LogitSelection",
    "Normal",
    "PoissonSelection",
    "SelectionResults",
    "SensitivityResults",
    "SpikeSlab",
    "ZellnerSiow",
    "compare_samplers",
    "linear",
    "logit",
    "poisson",
    "read_results",
]

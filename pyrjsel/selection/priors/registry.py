"""The registry of coefficient priors, which models, loading, the command line and documentation read."""

from collections.abc import Mapping

from pyrjsel.selection.priors.base import CoefficientPrior
from pyrjsel.selection.priors.coefficients import GPrior, Normal
from pyrjsel.selection.priors.g_mixtures import HyperG, HyperGN, ZellnerSiow
from pyrjsel.selection.priors.spike_slab import SpikeSlab

# Priors that models with an error variance know, and models without one.
GAUSSIAN: tuple[type[CoefficientPrior], ...] = (GPrior, HyperG, HyperGN, ZellnerSiow, Normal, SpikeSlab)
GENERALISED: tuple[type[CoefficientPrior], ...] = (GPrior, Normal)

# All of them, by the names that files and the command line know them by.
COEF_PRIORS: Mapping[str, type[CoefficientPrior]] = {
    prior.__name__: prior for prior in dict.fromkeys((*GENERALISED, *GAUSSIAN))
}

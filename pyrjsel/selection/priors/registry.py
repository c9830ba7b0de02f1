"""Registry of coefficient priors, used by models, loading and documentation."""

from collections.abc import Mapping

from pyrjsel.selection.priors.base import CoefficientPrior
from pyrjsel.selection.priors.coefficients import GPrior, Normal
from pyrjsel.selection.priors.confluent import CCH, BetaPrime, Intrinsic, Robust
from pyrjsel.selection.priors.criteria import AIC, BIC, EmpiricalBayes
from pyrjsel.selection.priors.g_mixtures import HyperG, HyperGN, ZellnerSiow
from pyrjsel.selection.priors.spike_slab import SpikeSlab

# Priors supported by models with an error variance, and by models without.
MIXTURES: tuple[type[CoefficientPrior], ...] = (
    HyperG,
    HyperGN,
    ZellnerSiow,
    Robust,
    Intrinsic,
    BetaPrime,
    CCH,
)
RULES: tuple[type[CoefficientPrior], ...] = (EmpiricalBayes, BIC, AIC)
GAUSSIAN: tuple[type[CoefficientPrior], ...] = (GPrior, *MIXTURES, *RULES, Normal, SpikeSlab)
GENERALISED: tuple[type[CoefficientPrior], ...] = (GPrior, *MIXTURES, *RULES, Normal)

# All priors, by their names in files.
COEF_PRIORS: Mapping[str, type[CoefficientPrior]] = {
    prior.__name__: prior for prior in dict.fromkeys((*GENERALISED, *GAUSSIAN))
}

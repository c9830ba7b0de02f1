"""Variable selection in regression models: priors, samplers, results."""

from pyrjsel.selection.models.cox import CoxSelection, cox
from pyrjsel.selection.models.gamma import GammaSelection, gamma
from pyrjsel.selection.models.glm import (
    CloglogSelection,
    LogitSelection,
    PoissonSelection,
    ProbitSelection,
    cloglog,
    logit,
    poisson,
    probit,
)
from pyrjsel.selection.models.linear import LinearSelection, linear
from pyrjsel.selection.models.loading import read_results
from pyrjsel.selection.models.multinomial import MultinomialSelection, multinomial
from pyrjsel.selection.models.negbin import NegbinSelection, negbin
from pyrjsel.selection.priors.coefficients import GPrior, Normal
from pyrjsel.selection.priors.confluent import CCH, BetaPrime, Intrinsic, Robust
from pyrjsel.selection.priors.criteria import AIC, BIC, EmpiricalBayes
from pyrjsel.selection.priors.g_mixtures import HyperG, HyperGN, ZellnerSiow
from pyrjsel.selection.priors.spike_slab import SpikeSlab
from pyrjsel.selection.results.classes.results import ClassModelResults, ClassResults
from pyrjsel.selection.results.results import SelectionResults
from pyrjsel.selection.results.single import SingleModelResults
from pyrjsel.selection.studies.compare_samplers import compare_samplers
from pyrjsel.selection.studies.cross_validation import CrossValidation
from pyrjsel.selection.studies.sensitivity import SensitivityResults

__all__ = [
    "AIC",
    "BIC",
    "CCH",
    "BetaPrime",
    "ClassModelResults",
    "ClassResults",
    "CloglogSelection",
    "CoxSelection",
    "CrossValidation",
    "EmpiricalBayes",
    "GPrior",
    "GammaSelection",
    "HyperG",
    "HyperGN",
    "Intrinsic",
    "LinearSelection",
    "LogitSelection",
    "MultinomialSelection",
    "NegbinSelection",
    "Normal",
    "PoissonSelection",
    "ProbitSelection",
    "Robust",
    "SelectionResults",
    "SensitivityResults",
    "SingleModelResults",
    "SpikeSlab",
    "ZellnerSiow",
    "cloglog",
    "compare_samplers",
    "cox",
    "gamma",
    "linear",
    "logit",
    "multinomial",
    "negbin",
    "poisson",
    "probit",
    "read_results",
]

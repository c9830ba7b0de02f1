"""Bayesian model and variable selection: formulas and data frames in, tables of models out."""

from typing import TYPE_CHECKING

from pyrjsel import _compiled as _compiled  # first: the others import compiled modules
from pyrjsel._errors import (
    ConvergenceWarning,
    DataError,
    DataWarning,
    DispersionWarning,
    ExtrapolationWarning,
    FormulaError,
    MissingDataWarning,
    NotAvailableError,
    ParameterError,
    PyrjselError,
    PyrjselWarning,
    RankWarning,
    SeparationWarning,
    StoreError,
    UnknownNameError,
    WorkerError,
    WorkerWarning,
)
from pyrjsel._lazy import lazy
from pyrjsel._version import __version__

if TYPE_CHECKING:
    from pyrjsel import datasets
    from pyrjsel._loading import load
    from pyrjsel.distributions import InverseGamma, LogNormal
    from pyrjsel.kernel import KernelRegression, KernelResults, kernel_regression
    from pyrjsel.mixture import (
        KernelPrior,
        MixtureClassifier,
        MixturePrior,
        MixtureResults,
        mixture_classifier,
    )
    from pyrjsel.model_space import Bernoulli, BetaBinomial, CostAdjusted, TruncatedPoisson, Uniform
    from pyrjsel.patterns import (
        PatternLogit,
        PatternResults,
        histories,
        pattern_logit,
        split_cauchy,
        split_cauchy_cdf,
        split_cauchy_ppf,
        split_gaussian,
    )
    from pyrjsel.results import pool
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
    "Bernoulli",
    "BetaBinomial",
    "BetaPrime",
    "ClassModelResults",
    "ClassResults",
    "CloglogSelection",
    "ConvergenceWarning",
    "CostAdjusted",
    "CoxSelection",
    "CrossValidation",
    "DataError",
    "DataWarning",
    "DispersionWarning",
    "EmpiricalBayes",
    "ExtrapolationWarning",
    "FormulaError",
    "GPrior",
    "GammaSelection",
    "HyperG",
    "HyperGN",
    "Intrinsic",
    "InverseGamma",
    "KernelPrior",
    "KernelRegression",
    "KernelResults",
    "LinearSelection",
    "LogNormal",
    "LogitSelection",
    "MissingDataWarning",
    "MixtureClassifier",
    "MixturePrior",
    "MixtureResults",
    "MultinomialSelection",
    "NegbinSelection",
    "Normal",
    "NotAvailableError",
    "ParameterError",
    "PatternLogit",
    "PatternResults",
    "PoissonSelection",
    "ProbitSelection",
    "PyrjselError",
    "PyrjselWarning",
    "RankWarning",
    "Robust",
    "SelectionResults",
    "SensitivityResults",
    "SeparationWarning",
    "SingleModelResults",
    "SpikeSlab",
    "StoreError",
    "TruncatedPoisson",
    "Uniform",
    "UnknownNameError",
    "WorkerError",
    "WorkerWarning",
    "ZellnerSiow",
    "__version__",
    "cloglog",
    "compare_samplers",
    "cox",
    "datasets",
    "gamma",
    "histories",
    "kernel_regression",
    "linear",
    "load",
    "logit",
    "mixture_classifier",
    "multinomial",
    "negbin",
    "pattern_logit",
    "poisson",
    "pool",
    "probit",
    "split_cauchy",
    "split_cauchy_cdf",
    "split_cauchy_ppf",
    "split_gaussian",
]

# Packages, imported when they or one of their names are first used.
_OWNERS = {
    "_loading": "load",
    "distributions": "InverseGamma LogNormal",
    "kernel": "KernelRegression KernelResults kernel_regression",
    "mixture": "KernelPrior MixtureClassifier MixturePrior MixtureResults mixture_classifier",
    "model_space": "Bernoulli BetaBinomial CostAdjusted TruncatedPoisson Uniform",
    "patterns": (
        "PatternLogit PatternResults histories pattern_logit split_cauchy split_cauchy_cdf "
        "split_cauchy_ppf split_gaussian"
    ),
    "results": "pool",
    "selection.models.cox": "CoxSelection cox",
    "selection.models.gamma": "GammaSelection gamma",
    "selection.models.glm": (
        "CloglogSelection LogitSelection PoissonSelection ProbitSelection cloglog logit poisson probit"
    ),
    "selection.models.linear": "LinearSelection linear",
    "selection.models.multinomial": "MultinomialSelection multinomial",
    "selection.models.negbin": "NegbinSelection negbin",
    "selection.priors.coefficients": "GPrior Normal",
    "selection.priors.confluent": "CCH BetaPrime Intrinsic Robust",
    "selection.priors.criteria": "AIC BIC EmpiricalBayes",
    "selection.priors.g_mixtures": "HyperG HyperGN ZellnerSiow",
    "selection.priors.spike_slab": "SpikeSlab",
    "selection.results.classes.results": "ClassModelResults ClassResults",
    "selection.results.results": "SelectionResults",
    "selection.results.single": "SingleModelResults",
    "selection.studies.compare_samplers": "compare_samplers",
    "selection.studies.cross_validation": "CrossValidation",
    "selection.studies.sensitivity": "SensitivityResults",
}

__getattr__, __dir__ = lazy(__name__, _OWNERS, "datasets design families report runtime selection storage")

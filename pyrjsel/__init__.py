"""Bayesian model and variable selection: formulas and data frames in, tables of models out."""

from typing import TYPE_CHECKING

from pyrjsel import _compiled as _compiled  # first: the others import compiled modules
from pyrjsel._errors import (
    ConvergenceWarning,
    DataError,
    DispersionWarning,
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
    from pyrjsel.selection import (
        AIC,
        BIC,
        CCH,
        BetaPrime,
        ClassModelResults,
        ClassResults,
        CloglogSelection,
        CoxSelection,
        CrossValidation,
        EmpiricalBayes,
        GammaSelection,
        GPrior,
        HyperG,
        HyperGN,
        Intrinsic,
        LinearSelection,
        LogitSelection,
        MultinomialSelection,
        NegbinSelection,
        Normal,
        PoissonSelection,
        ProbitSelection,
        Robust,
        SelectionResults,
        SensitivityResults,
        SingleModelResults,
        SpikeSlab,
        ZellnerSiow,
        cloglog,
        compare_samplers,
        cox,
        gamma,
        linear,
        logit,
        multinomial,
        negbin,
        poisson,
        probit,
    )

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
    "DispersionWarning",
    "EmpiricalBayes",
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
    "selection": (
        "AIC BIC CCH BetaPrime ClassModelResults ClassResults CloglogSelection CoxSelection "
        "CrossValidation EmpiricalBayes GammaSelection GPrior HyperG HyperGN Intrinsic "
        "LinearSelection LogitSelection MultinomialSelection NegbinSelection Normal "
        "PoissonSelection ProbitSelection Robust SelectionResults SensitivityResults "
        "SingleModelResults SpikeSlab ZellnerSiow cloglog compare_samplers cox gamma linear "
        "logit multinomial negbin poisson probit"
    ),
}

__getattr__, __dir__ = lazy(
    __name__, _OWNERS, "datasets design families model_space report results runtime storage"
)

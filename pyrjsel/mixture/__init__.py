"""Mixture classifiers with selection of inputs."""

from pyrjsel.mixture.loading import read_results
from pyrjsel.mixture.model import MixtureClassifier, mixture_classifier
from pyrjsel.mixture.priors import KernelPrior, MixturePrior
from pyrjsel.mixture.results import MixtureResults

__all__ = [
    "KernelPrior",
    "MixtureClassifier",
    "MixturePrior",
    "MixtureResults",
    "mixture_classifier",
    "read_results",
]

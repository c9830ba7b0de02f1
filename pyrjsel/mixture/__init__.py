"""Mixture classifiers with selection of inputs."""

from pyrjsel.mixture.loading import read_results
from pyrjsel.mixture.model import MixtureClassifier
from pyrjsel.mixture.priors import MixturePrior
from pyrjsel.mixture.results import MixtureResults
from pyrjsel.mixture.short import mixture_classifier

__all__ = ["MixtureClassifier", "MixturePrior", "MixtureResults", "mixture_classifier", "read_results"]

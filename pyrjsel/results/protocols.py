"""The interface of fitted models and posteriors that results use."""

from collections.abc import Sequence
from typing import Any, ClassVar, Protocol

from pyrjsel._typing import FloatArray
from pyrjsel.model_space import ModelSpace, PackedModels, PriorInclusion


class FittedModel(Protocol):
    """A fitted model, as its results use it."""

    title: ClassVar[str]
    design: Any
    data: Any

    @property
    def nobs(self) -> int:
        """Number of observations used."""


class ModelOverSpace(FittedModel, Protocol):
    """A model that selects terms."""

    space: ModelSpace
    _priced: bool

    @property
    def term_names(self) -> Sequence[str]:
        """Names of the J terms."""

    @property
    def prior_inclusion(self) -> PriorInclusion:
        """Prior inclusion probabilities under the constraints."""


class ModelPosterior(Protocol):
    """Posterior probabilities of models in decreasing order; errors and odds of the first of these."""

    @property
    def packed(self) -> PackedModels:
        """The models."""

    @property
    def probability(self) -> FloatArray:
        """Their probabilities."""

    @property
    def mcse(self) -> FloatArray:
        """Monte Carlo errors of these."""

    @property
    def odds(self) -> FloatArray:
        """Odds of the first model against each."""

    @property
    def odds_mcse(self) -> FloatArray:
        """Monte Carlo errors of these."""

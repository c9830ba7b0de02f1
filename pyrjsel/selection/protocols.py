"""Interface of selection models for results, studies and audits."""

from collections.abc import Sequence
from typing import Any, ClassVar, Protocol, Self

from pyrjsel._typing import FloatArray
from pyrjsel.design import Aliases, Design
from pyrjsel.families import Family
from pyrjsel.model_space import ModelPrior, ModelSpace, PriorInclusion, PriorSizes
from pyrjsel.selection.evidence.expansions import Expansions
from pyrjsel.selection.evidence.gaussian import SingleModels
from pyrjsel.selection.evidence.laplace import MarginalLikelihood
from pyrjsel.selection.posterior import Posterior
from pyrjsel.selection.specification import Choices

# Evaluators of single models: marginal likelihoods, deviances, moments, draws.
SingleModel = MarginalLikelihood | SingleModels | Expansions


class SelectionModel(Protocol):
    """A selection model, as its results and studies with several fits use it."""

    title: ClassVar[str]
    design: Design
    data: Any
    space: ModelSpace
    regression: Any
    coef_prior: Any
    model_prior: ModelPrior
    dependent: Sequence[str]
    g: float | None
    _family: Family
    _choices: Choices
    _aliases: Aliases | None
    _priced: bool
    _default_prior: ClassVar[Any]

    @property
    def term_names(self) -> Sequence[str]:
        """Names of the J terms."""

    @property
    def nobs(self) -> int:
        """Number of observations used."""

    @property
    def prior_inclusion(self) -> PriorInclusion:
        """Prior inclusion probabilities under the constraints."""

    @property
    def _prior_sizes(self) -> PriorSizes: ...

    @property
    def _lacks_models(self) -> bool: ...

    def fit(self, *args: Any, **options: Any) -> Any:
        """Find the posterior."""

    def _priors(self) -> dict[str, object]: ...
    def _prior_numbers(self) -> dict[str, tuple[str, list[FloatArray]]]: ...
    def _n_observations(self) -> float: ...
    def _response(self, data: Any) -> FloatArray: ...
    def _predicted(self, made: Any, rng: Any) -> Any: ...
    def _response_facts(self) -> list[tuple[str, str]]: ...
    def _make_marginal(self, posterior: Posterior) -> SingleModel: ...
    def _restrict(self, keep: Any) -> Self: ...
    def _remake(self, design: Design, data: Any, choices: Choices) -> Self: ...

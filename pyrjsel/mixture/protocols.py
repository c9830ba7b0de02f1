"""The model as its results and comparisons of several numbers of kernels see it."""

from collections.abc import Sequence
from typing import Any, ClassVar, Protocol

from pyrjsel._typing import FloatArray, IntArray
from pyrjsel.design import InputDesign
from pyrjsel.design.frame import Level
from pyrjsel.mixture.options import MixtureOptions
from pyrjsel.mixture.priors import KernelPrior, MixturePrior
from pyrjsel.mixture.problem import MixtureProblem, Scaling
from pyrjsel.model_space import ModelPrior, ModelSpace, PriorInclusion
from pyrjsel.storage import Plain


class MixtureModel(Protocol):
    """A mixture classifier, as its results see it."""

    title: ClassVar[str]
    design: InputDesign
    data: Any
    left_out: tuple[str, ...]
    scaling: Scaling
    components: tuple[int, ...]
    target: str
    background: str | None
    proposal: str
    prior: KernelPrior | MixturePrior
    weight_prior: float
    model_prior: ModelPrior
    space: ModelSpace
    _priced: bool
    _constraints: dict[str, Plain]

    @property
    def nobs(self) -> int:
        """Number of rows used, those without a label included."""

    @property
    def classes(self) -> tuple[Level, ...]:
        """The classes of the response, in order."""

    @property
    def y(self) -> IntArray:
        """Position of the label of each row among the classes, -1 where it is missing."""

    @property
    def z(self) -> FloatArray:
        """Inputs of the rows in range units."""

    @property
    def term_names(self) -> Sequence[str]:
        """Names of the inputs."""

    @property
    def prior_inclusion(self) -> PriorInclusion:
        """Prior inclusion probabilities under the constraints."""

    def _problem(self, components: int) -> MixtureProblem: ...

    def _without(self, rows: IntArray, components: int) -> MixtureProblem: ...

    def _identity(
        self, options: MixtureOptions, components: Sequence[int], folds: int | None = None
    ) -> dict[str, Plain]: ...

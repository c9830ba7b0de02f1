"""The model as its results see it."""

from typing import Any, ClassVar, Protocol

from pyrjsel._typing import FloatArray
from pyrjsel.design import Design
from pyrjsel.distributions import InverseGamma
from pyrjsel.kernel.kernels import Kernel
from pyrjsel.kernel.specification import Scaling
from pyrjsel.kernel.state import KernelSettings
from pyrjsel.storage import Plain


class KernelModel(Protocol):
    """A kernel regression, as its results see it."""

    title: ClassVar[str]
    design: Design
    data: Any
    standardize: bool
    scaling: Scaling
    convention: str
    widths: tuple[float, ...]
    kernels: tuple[Kernel, ...]
    noise_prior: InverseGamma | None
    coef_prior: InverseGamma | None
    settings: KernelSettings
    automatic: bool

    @property
    def nobs(self) -> int:
        """Number of rows."""

    @property
    def x(self) -> FloatArray:
        """Inputs of the rows as kernels see them, shape (n, d)."""

    @property
    def y(self) -> FloatArray:
        """The response as it is fitted, shape (n,)."""

    def _identity(self, sampler: str, settings: KernelSettings) -> dict[str, Plain]: ...

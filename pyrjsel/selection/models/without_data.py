"""Stand-ins for training data in results loaded without it."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from pyrjsel._errors import NotAvailableError
from pyrjsel._typing import ByteArray, FloatArray
from pyrjsel.design import HOW, Absent
from pyrjsel.families import Family
from pyrjsel.model_space import pack
from pyrjsel.selection.regression.chunked import ChunkedRegression
from pyrjsel.selection.regression.columns import TermColumns


@dataclass(frozen=True)
class RankRule(Absent):
    """Placeholder for a compiled prior: only its tolerance for linear dependence."""

    rank_tol: float


@dataclass(frozen=True, eq=False)
class AbsentRegression(TermColumns, Absent):
    """Placeholder for a regression without training data.

    Attributes
    ----------
    mean, scale : ndarray (D,)
    term_start : int32 array (J + 1,)
    family : Family
    prior : RankRule
    log_constant : float
        Constant omitted in saved log marginal likelihoods.
    chunked : bool
        Whether the rows were read in each pass.
    """

    mean: FloatArray
    scale: FloatArray
    term_start: NDArray[np.intc]
    family: Family
    prior: RankRule
    log_constant: float = 0.0
    chunked: bool = False


@dataclass
class KnownModels(Absent):
    """Saved values of single models, in place of those computed from rows.

    Attributes
    ----------
    regression : AbsentRegression or ChunkedRegression
    gamma : ndarray (m, J)
    log_marginals_known, deviances : ndarray (m,)
        Values for the rows of `gamma`.
    """

    regression: AbsentRegression | ChunkedRegression
    gamma: ByteArray
    log_marginals_known: FloatArray
    deviances: FloatArray
    place: dict[bytes, int] = field(init=False)

    def __post_init__(self) -> None:
        self.place = {row.tobytes(): number for number, row in enumerate(pack(self.gamma))}

    def _row(self, gamma: ByteArray) -> int:
        number = self.place.get(pack(gamma[None])[0].tobytes())
        if number is None:
            raise NotAvailableError(f"A model that is not among those saved needs the training data: {HOW}.")
        return number

    def log_marginals(self, gammas: ByteArray) -> FloatArray:
        """Return log p(y | model) of models (m, J)."""
        return self.log_marginals_known[[self._row(gamma) for gamma in gammas]]

    def deviance(self, gamma: ByteArray) -> float:
        """Return the deviance of a model (J,)."""
        return float(self.deviances[self._row(gamma)])

"""What stands for the rows of a fit in results that were loaded without them."""

from dataclasses import dataclass, field
from typing import NoReturn

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pyrjsel._errors import NotAvailableError
from pyrjsel._typing import ByteArray, FloatArray, IntArray
from pyrjsel.families import Family
from pyrjsel.selection.layout import TermColumns
from pyrjsel.space import pack

HOW = "they are not in the file. Load it with them: rj.load(path, data=...)"


@dataclass(frozen=True, eq=False)
class AbsentRows:
    """What is known of rows that were not saved.

    Attributes
    ----------
    n, n_rows, n_dropped : int
        Rows that were used, all rows, and those that were left out.
    missing : Series
        Number of rows in which each column is missing, for the columns where that is not 0.
    facts : list of (str, str)
        What a summary says of the response.
    digest : str
        Of the rows.
    positions : ndarray (n,) or None
        Where the rows are in the data; None if they are all of them, or came in chunks.
    summed : bool
        Whether they came in chunks.
    """

    n: int
    n_rows: int
    n_dropped: int
    missing: pd.Series
    facts: list[tuple[str, str]]
    digest: str
    positions: IntArray | None
    summed: bool

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        raise NotAvailableError(f"This needs the rows of the fit, and {HOW}.")


@dataclass(frozen=True)
class RankRule:
    """Of a prior that was compiled for rows: the share of a column that counts as linear dependence."""

    rank_tol: float


@dataclass(frozen=True, eq=False)
class AbsentRegression(TermColumns):
    """What is left of a regression problem without its rows.

    Attributes
    ----------
    mean, scale : ndarray (D,)
    term_start : int32 array (J + 1,)
    family : Family
    prior : RankRule
    """

    mean: FloatArray
    scale: FloatArray
    term_start: NDArray[np.intc]
    family: Family
    prior: RankRule

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        raise NotAvailableError(f"This needs the rows of the fit, and {HOW}.")


@dataclass
class KnownModels:
    """What was saved of single models, in place of what works them out from rows.

    Attributes
    ----------
    regression : AbsentRegression
    gamma : ndarray (m, J)
    log_marginals_known, deviances : ndarray (m,)
        Of the rows of `gamma`.
    """

    regression: AbsentRegression
    gamma: ByteArray
    log_marginals_known: FloatArray
    deviances: FloatArray
    place: dict[bytes, int] = field(init=False)

    def __post_init__(self) -> None:
        self.place = {row.tobytes(): number for number, row in enumerate(pack(self.gamma))}

    def _row(self, gamma: ByteArray) -> int:
        number = self.place.get(pack(gamma[None])[0].tobytes())
        if number is None:
            raise NotAvailableError(
                f"A model that is not among those saved needs the rows of the fit: {HOW}."
            )
        return number

    def log_marginals(self, gammas: ByteArray) -> FloatArray:
        """Return log p(y | model) of models (m, J)."""
        return self.log_marginals_known[[self._row(gamma) for gamma in gammas]]

    def deviance(self, gamma: ByteArray) -> float:
        """Return the deviance of a model (J,)."""
        return float(self.deviances[self._row(gamma)])

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__") or name == "place":
            raise AttributeError(name)
        raise NotAvailableError(f"This needs the rows of the fit, and {HOW}.")

"""Errors and warnings of the package.

Every error derives from :class:`PyrjselError` and, where Python has a fitting one, from that
too, so that both ``except pyrjsel.PyrjselError`` and ``except ValueError`` work.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Self

    import numpy as np


class PyrjselError(Exception):
    """Base class of all errors that the package raises deliberately."""


class ParameterError(PyrjselError, ValueError):
    """A parameter has an invalid value."""


class FormulaError(PyrjselError, ValueError):
    """A formula cannot be parsed, or calls a function that is not allowed."""


class DataError(PyrjselError, ValueError):
    """The data cannot be used: empty, infinite, of a single class, or of the wrong type.

    Attributes
    ----------
    rows : ndarray of bool, shape (n,), or None
        The rows that cannot be used, if it is about some of n rows.
    names : tuple of str
        Columns of the data with these values.
    """

    rows: "np.ndarray | None" = None
    names: tuple[str, ...] = ()

    @classmethod
    def of_rows(cls, text: str, rows: "np.ndarray", names: "Sequence[str]" = ()) -> "Self":
        """Return an error about some rows.

        Parameters
        ----------
        text : str
            The message.
        rows : ndarray of bool, shape (n,)
            These rows.
        names : sequence of str
            Columns with the values.

        Returns
        -------
        DataError
            With both.
        """
        made = cls(text)
        made.rows, made.names = rows, tuple(names)
        return made


class UnknownNameError(PyrjselError, KeyError):
    """A name (of a column, term, sampler or option) is unknown."""

    def __str__(self) -> str:
        # KeyError shows the repr of its message, which makes a sentence hard to read.
        return str(self.args[0]) if self.args else ""


class NotAvailableError(PyrjselError, AttributeError):
    """A feature that this result, sampler or prior does not support."""


class StoreError(PyrjselError, ValueError):
    """A file cannot be read, or is a checkpoint of a different run."""


class WorkerError(PyrjselError, RuntimeError):
    """Worker processes kept dying, and the run cannot continue without their chains."""


class PyrjselWarning(UserWarning):
    """Base class of every warning of the package."""


class ConvergenceWarning(PyrjselWarning):
    """Chains disagree, have few effective draws, were interrupted or missed a mode; means may not exist."""


class SeparationWarning(PyrjselWarning):
    """A linear combination of the columns separates the classes, or the observations without events."""


class DispersionWarning(PyrjselWarning):
    """Counts or proportions are overdispersed; posterior probabilities are too extreme."""


class RankWarning(PyrjselWarning):
    """Columns are linearly dependent; some models are excluded or depend on the prior."""


class ExtrapolationWarning(PyrjselWarning):
    """Predictions are for rows unlike those of the fit: far from all of them, or in an empty cell."""


class DataWarning(PyrjselWarning):
    """The data can be used, but are probably not what was meant."""


class MissingDataWarning(PyrjselWarning):
    """Rows with missing values were dropped."""


class WorkerWarning(PyrjselWarning):
    """A worker process died, and its chains were restarted."""

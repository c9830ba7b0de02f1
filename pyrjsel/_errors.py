"""Errors and warnings of the package.

Every error derives from :class:`PyrjselError` and, where Python has a fitting one, from that
too, so that both ``except pyrjsel.PyrjselError`` and ``except ValueError`` work.
"""


class PyrjselError(Exception):
    """Base class of every error that the package raises on purpose."""


class ParameterError(PyrjselError, ValueError):
    """A parameter has a value that it must not have."""


class FormulaError(PyrjselError, ValueError):
    """A formula cannot be read, or calls what it may not call."""


class DataError(PyrjselError, ValueError):
    """The data cannot be used: empty, infinite, of one class, of the wrong kind."""


class UnknownNameError(PyrjselError, KeyError):
    """A name (of a column, term, sampler or option) is not known."""

    def __str__(self) -> str:
        # KeyError shows the repr of its message, which makes a sentence hard to read.
        return str(self.args[0]) if self.args else ""


class NotAvailableError(PyrjselError, AttributeError):
    """Something that this result, sampler or prior does not have."""


class StoreError(PyrjselError, ValueError):
    """A file cannot be read, or is a checkpoint of another run."""


class WorkerError(PyrjselError, RuntimeError):
    """Worker processes died again and again, and the run cannot do without what they had to do."""


class PyrjselWarning(UserWarning):
    """Base class of every warning of the package."""


class ConvergenceWarning(PyrjselWarning):
    """Chains disagree or are worth too few draws, a sampler was interrupted, or a mode was not reached."""


class SeparationWarning(PyrjselWarning):
    """A linear combination of the columns separates the classes, or the rows without events."""


class DispersionWarning(PyrjselWarning):
    """Counts or proportions vary more than their family allows; probabilities are too sure."""


class RankWarning(PyrjselWarning):
    """Columns are linearly dependent; some models are left out or depend on the prior."""


class MissingDataWarning(PyrjselWarning):
    """Rows with missing values were dropped."""


class WorkerWarning(PyrjselWarning):
    """A worker process died, and what it was doing was begun again."""

"""What results need of the model that was fitted."""

from typing import Any, ClassVar, Protocol


class FittedModel(Protocol):
    """A model, as its results see it."""

    title: ClassVar[str]
    design: Any
    data: Any

    @property
    def nobs(self) -> int:
        """Number of rows used."""

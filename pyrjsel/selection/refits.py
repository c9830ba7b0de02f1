"""Fits of a model again, with other rows or priors: named in errors and warnings."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from pyrjsel._errors import PyrjselError
from pyrjsel._validate import listed

if TYPE_CHECKING:
    from pyrjsel.design import DesignData
    from pyrjsel.selection.choices import Choices
    from pyrjsel.selection.model import Selection
    from pyrjsel.selection.results import SelectionResults
    from pyrjsel.selection.summed import SummedRows


class Refits:
    """Fits of the same kind, one after another.

    Parameters
    ----------
    kind : str
        What tells them apart, such as "Fold".
    """

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.caught: dict[tuple[type[Warning], str], list[str]] = {}

    @contextmanager
    def named(self, label: str) -> Iterator[None]:
        """Name the fit in errors of the package, and keep its warnings for :meth:`warn`."""
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            try:
                yield
            except PyrjselError as error:
                raise type(error)(f"{self.kind} {label}: {error}") from error
        for item in found:
            labels = self.caught.setdefault((item.category, str(item.message)), [])
            if label not in labels:
                labels.append(label)

    def warn(self, stacklevel: int) -> None:
        """Warn once of each thing that fits warned of, and name these; `stacklevel` 2 is the caller."""
        for (category, text), labels in self.caught.items():
            several = "s" if len(labels) > 1 else ""
            warnings.warn(f"{self.kind}{several} {listed(labels)}: {text}", category, stacklevel)


def refit(
    model: Selection,
    data: DesignData | SummedRows,
    choices: Choices,
    rng: np.random.Generator,
    options: Mapping[str, Any],
) -> SelectionResults:
    """Fit `model` on other rows of its design, or with other choices.

    Raises
    ------
    KeyboardInterrupt
        If sampling was interrupted: those that ask for several fits want none of the others then.
    """
    results = model._remake(model.design, data, choices, 2).fit(rng=rng, **options)
    draws, settings = results.posterior.draws, results.settings
    if draws is not None and draws.model.shape != (settings.chains, settings.draws):
        raise KeyboardInterrupt("interrupted in one of several fits")
    return results

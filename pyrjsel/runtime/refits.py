"""Repeated fits of a model with other rows or priors, identified in errors and warnings."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from pyrjsel._errors import PyrjselError
from pyrjsel._once import catching_warnings
from pyrjsel._validate import listed
from pyrjsel._warnings import warn


class Refits:
    """Fits of the same kind, one after another.

    Parameters
    ----------
    kind : str
        Kind of fit, such as "Fold".
    """

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.caught: dict[tuple[type[Warning], str], list[str]] = {}

    @contextmanager
    def named(self, label: str) -> Iterator[None]:
        """Name the fit in errors of the package, and collect its warnings for :meth:`warn`."""
        with catching_warnings, warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            try:
                yield
            except PyrjselError as error:
                raise type(error)(f"{self.kind} {label}: {error}") from error
        for item in found:
            labels = self.caught.setdefault((item.category, str(item.message)), [])
            if label not in labels:
                labels.append(label)

    def warn(self) -> None:
        """Issue each collected warning once, with the fits that it concerns."""
        for (category, text), labels in self.caught.items():
            several = "s" if len(labels) > 1 else ""
            warn(f"{self.kind}{several} {listed(labels)}: {text}", category)

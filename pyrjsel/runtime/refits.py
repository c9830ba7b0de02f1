"""Repeated fits of a model with other rows or priors: folds of rows, and names in errors and warnings."""

import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from pyrjsel._called import warn
from pyrjsel._errors import PyrjselError
from pyrjsel._once import catching_warnings
from pyrjsel._typing import FloatArray, IntArray
from pyrjsel._validate import listed

NUMBER = re.compile(r"\d[\d.,]*\b")


class Refits:
    """Fits of the same kind, one after another.

    Parameters
    ----------
    kind : str
        Kind of fit, such as "Fold".
    """

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.caught: dict[tuple[type[Warning], str], dict[str, str]] = {}

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
            text = str(item.message)
            # Texts of the same kind, whose numbers differ from fit to fit, are one warning.
            texts = self.caught.setdefault((item.category, NUMBER.sub("#", text)), {})
            texts.setdefault(label, text)

    def warn(self) -> None:
        """Issue each collected warning once, with the fits that it concerns."""
        for (category, _), texts in self.caught.items():
            labels, several = list(texts), "s" if len(texts) > 1 else ""
            text, *others = texts.values()
            alike = (
                ""
                if set(others) <= {text}
                else f" (The numbers are those of {self.kind.lower()} {labels[0]}.)"
            )
            warn(f"{self.kind}{several} {listed(labels)}: {text}{alike}", category)


def deal(y: FloatArray, count: int, rng: np.random.Generator) -> IntArray:
    """Assign observations to folds in the order of `y`, ties at random: each `count` to different folds.

    Sizes differ by at most one, and every fold has about the same distribution of `y`.
    """
    order = np.lexsort((rng.random(y.size), y))
    fold = np.empty(y.size, dtype=np.int64)
    for begin in range(0, y.size, count):
        block = order[begin : begin + count]
        fold[block] = rng.permutation(count)[: block.size]
    return fold

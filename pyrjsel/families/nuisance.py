"""Parameters besides coefficients: the variance of a gaussian, a dispersion, degrees of freedom."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from pyrjsel._typing import FloatArray

# Draws of nuisance parameters by name, the last axis over draws; empty for families that have none.
Values = Mapping[str, FloatArray]


@dataclass(frozen=True)
class Nuisance:
    """Names of the nuisance parameters of a regression, and their positions in the state of a chain.

    In the state of a chain they follow the coefficients, those of `names` first. The latter are stored with
    draws of coefficients in results and files and used in predictions; those of `inner` exist only in states.

    Attributes
    ----------
    names : tuple of str
        Parameters of the likelihood, all of them positive.
    inner : tuple of str
        Other parameters, such as log g.
    """

    names: tuple[str, ...] = ()
    inner: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.names) + len(self.inner)

    def split(self, vectors: FloatArray) -> tuple[FloatArray, dict[str, FloatArray]]:
        """Return coefficients (m, D + 1) and nuisance parameters (m,) of vectors (m, D + 1 + number)."""
        width = vectors.shape[1] - len(self)
        return vectors[:, :width], {name: vectors[:, width + k] for k, name in enumerate(self.names)}

    def join(self, coefficients: FloatArray, values: Values) -> FloatArray:
        """Return vectors (m, D + 1 + number), in which those of `inner` are 0."""
        own = np.zeros((len(coefficients), len(self)))
        for k, name in enumerate(self.names):
            own[:, k] = values[name]
        return np.column_stack([coefficients, own])


NONE = Nuisance()

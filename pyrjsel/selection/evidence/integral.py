"""The integral of one model, and the integrals that the chains of a run share."""

from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace

import numpy as np

from pyrjsel._typing import FloatArray

# Largest number of shared integrals, of about 1 kB each, and numbers in all their weighted draws.
MOST, NUMBERS = 2**15, 2**23
# Largest number of shared Laplace values, of about 150 bytes each.
MOST_MODES = 2**18


@dataclass(frozen=True)
class Integral:
    """The marginal likelihood of one model by importance sampling.

    Attributes
    ----------
    log_marginal : float
        Log marginal likelihood, without constants of the family; -inf if the prior does not exist.
    variance : float
        Relative variance of the marginal likelihood; NaN if not estimated.
    columns : ndarray (d,)
        Columns of the model, the intercept (0) first.
    moments : ndarray (3, d)
        Posterior mean and mean square of each internal coefficient (the intercept: that of the
        design's own columns), and the probability that it is positive.
    samples, weights : ndarray (m, d + nuisance) and (m,), or None
        Draws of internal coefficients, followed by coordinates of nuisance parameters, and their importance
        weights.
    largest : float
        Largest importance weight as a proportion of their sum; NaN without weights.
    stages : int
        Number of proposals; the estimate is that of the last.
    effective : float
        Effective number of weighted draws; NaN without draws.
    draws : int
        Number of draws.
    nuisance : ndarray (nuisance,), optional
        Posterior means of the coordinates of nuisance parameters.
    """

    log_marginal: float
    variance: float
    columns: np.ndarray
    moments: FloatArray
    samples: FloatArray | None
    weights: FloatArray | None
    largest: float = np.nan
    stages: int = 1
    effective: float = np.nan
    draws: int = 0
    nuisance: FloatArray | None = None


class SharedIntegrals:
    """Integrals of models, with weighted draws while there is room.

    An integral depends on the seed of the fit and on the model alone: results are the same whoever computes
    it. A copy in another process is empty.
    """

    def __init__(self) -> None:
        self._found: dict[Hashable, Integral] = {}
        self._room = NUMBERS
        # Laplace values of packed models.
        self.modes: dict[bytes, float] = {}

    def make_room(self) -> None:
        """Forget the Laplace values if there are too many."""
        if len(self.modes) > MOST_MODES:
            self.modes.clear()

    def get(self, key: Hashable, compute: Callable[[], Integral], draws: bool) -> Integral:
        """Return the integral of a key, with its weighted draws or without them; compute it if it is new.

        Parameters
        ----------
        key : hashable
            What the integral depends on.
        compute : callable
            Returns it with its draws.
        draws : bool
            Whether weighted draws are needed.
        """
        found = self._found.get(key)
        if found is None or (draws and found.samples is None):
            found = compute()
            self._keep(key, found)
        return found if draws else replace(found, samples=None, weights=None)

    def _keep(self, key: Hashable, found: Integral) -> None:
        if len(self._found) >= MOST:
            self._found, self._room = {}, NUMBERS
        size = 0 if found.samples is None else found.samples.size + found.draws
        if size > self._room:
            found = replace(found, samples=None, weights=None)
        else:
            self._room -= size
        self._found[key] = found

    def __reduce__(self) -> "tuple[type[SharedIntegrals], tuple[()]]":
        return SharedIntegrals, ()

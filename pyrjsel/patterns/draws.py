"""Draws of a pattern model."""

from dataclasses import dataclass

from pyrjsel._typing import FloatArray


@dataclass(frozen=True, eq=False, repr=False)
class PatternDraws:
    """Draws of all chains after burn-in and thinning.

    Attributes
    ----------
    s : ndarray (chains, draws, C, G)
        Sums of the coefficients of each group. C is 1 for two classes, the first of which has coefficients
        0, and K for K > 2 classes.
    log_sigma : ndarray (chains, draws, O)
        Log scales of orders 1 to O.
    log_posterior : ndarray (chains, draws)
        Log joint density of the responses, the sums and the log scales.
    """

    s: FloatArray
    log_sigma: FloatArray
    log_posterior: FloatArray

    def __repr__(self) -> str:
        chains, draws, free, groups = self.s.shape
        return f"<PatternDraws: {chains} chains x {draws} draws of {free} x {groups} sums>"

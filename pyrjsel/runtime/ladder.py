"""Inverse temperatures of replicas: validation, and adaptation during burn-in."""

from collections.abc import Sequence

import numpy as np

from pyrjsel._typing import FloatArray, IntArray
from pyrjsel._validate import bad_value, check_int, check_real

# Target acceptance rate of exchanges between neighbours: slightly above 0.23, the optimum for the time to
# traverse the ladder, which is safer if the posterior is rugged.
EXCHANGE_RATE = 0.3
# Size of an adaptation step on the log of the gap: gain / sqrt(step number) times the error of the rate.
GAIN = 3.0
# Gaps between neighbours are log(t_k / t_(k+1)): initial value and bounds.
FIRST_GAP, GAPS = 0.25, (0.005, 3.0)
# Smallest inverse temperature.
HOTTEST = 0.02
# Most temperatures.
MOST = 100
# Proposed exchanges before a rate is used for a step.
FEWEST = 20

Temperatures = int | str | Sequence[float]


def check_temperatures(value: object, auto: int, gap: float = FIRST_GAP) -> tuple[FloatArray, bool]:
    """Return the inverse temperatures of the replicas (K,) and whether they are adapted.

    Parameters
    ----------
    value : "auto", int or sequence of float
        A number of temperatures to be adapted, or the inverse temperatures themselves.
    auto : int
        Number of temperatures for "auto".
    gap : float
        Initial gaps, if they are adapted.

    Raises
    ------
    ParameterError
        If it is anything else, or the values do not decrease from 1.
    """
    must = "'auto', an int of at least 1, or inverse temperatures decreasing from 1, such as (1, 0.7, 0.4)"
    if isinstance(value, str):
        if value != "auto":
            raise bad_value("temperatures", must, value)
        value = auto
    if isinstance(value, Sequence):
        if not 1 <= len(value) <= MOST:
            raise bad_value("temperatures", must, value)
        powers = np.array([check_real(t, "temperatures", low=0, open_low=True) for t in value])
        if powers[0] != 1.0 or np.any(np.diff(powers) >= 0):
            raise bad_value("temperatures", must, value)
        return powers, False
    count = check_int(value, "temperatures", low=1, high=MOST)
    return np.maximum(np.exp(-gap * np.arange(count)), HOTTEST ** (np.arange(count) / count)), True


def adapted(powers: FloatArray, exchanged: IntArray, step: int) -> tuple[FloatArray, IntArray]:
    """Return the inverse temperatures after one adaptation step, and the counts with used ones reset to 0.

    Parameters
    ----------
    powers : ndarray (K,)
    exchanged : ndarray (2, K - 1)
        Proposed and accepted exchanges of neighbours since the last reset.
    step : int
        Number of the step, from 1.

    Returns
    -------
    powers : ndarray (K,)
    exchanged : ndarray (2, K - 1)
    """
    if powers.size < 2:
        return powers, exchanged
    gaps, counts = -np.diff(np.log(powers)), exchanged.copy()
    ripe = counts[0] >= FEWEST
    rates = counts[1, ripe] / counts[0, ripe]
    gaps[ripe] *= np.exp(GAIN / np.sqrt(step) * (rates - EXCHANGE_RATE))
    counts[:, ripe] = 0
    gaps = np.clip(gaps, *GAPS)
    total = gaps.sum()
    gaps *= min(1.0, -np.log(HOTTEST) / total)
    return np.exp(-np.concatenate([[0.0], np.cumsum(gaps)])), counts

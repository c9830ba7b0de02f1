"""The temperatures of replicas: what users give, and how they are adapted in burn-in."""

from collections.abc import Sequence

import numpy as np

from pyrjsel._typing import FloatArray, IntArray
from pyrjsel._validate import bad_value, check_int, check_real

# Share of exchanges between neighbours that adaptation aims at: near the optimum of 0.23 for the time to
# pass through a ladder, on the side of fewer temperatures lost where the posterior is rugged.
EXCHANGE_RATE = 0.3
# Steps of the adaptation: gain / sqrt(number of the step) times what the rate is off, on the log of the gap.
GAIN = 3.0
# Gaps between neighbours are log(t_k / t_(k+1)); the first ones, and their bounds.
FIRST_GAP, GAPS = 0.25, (0.005, 3.0)
# The hottest replica is no hotter than this.
HOTTEST = 0.02
# Temperatures at most.
MOST = 100
# Exchanges to propose before a rate is worth a step.
FEWEST = 20

Temperatures = int | str | Sequence[float]


def check_temperatures(
    value: object, owner: str, auto: int, gap: float = FIRST_GAP
) -> tuple[FloatArray, bool]:
    """Return the powers of the replicas (K,) and whether they are adapted.

    Parameters
    ----------
    value : "auto", int or sequence of float
        A number of temperatures to be adapted, or the powers themselves.
    owner : str
        Who asks, for messages.
    auto : int
        How many "auto" is.
    gap : float
        Gaps to begin with, where they are adapted.

    Raises
    ------
    ParameterError
        If it is something else, or the powers do not fall from 1.
    """
    must = "'auto', an int of at least 1, or powers that fall from 1 towards 0, such as (1, 0.7, 0.4)"
    if isinstance(value, str):
        if value != "auto":
            raise bad_value("temperatures", owner, must, value)
        value = auto
    if isinstance(value, Sequence):
        if not 1 <= len(value) <= MOST:
            raise bad_value("temperatures", owner, must, value)
        powers = np.array([check_real(t, "temperatures", owner, low=0, open_low=True) for t in value])
        if powers[0] != 1.0 or np.any(np.diff(powers) >= 0):
            raise bad_value("temperatures", owner, must, value)
        return powers, False
    count = check_int(value, "temperatures", owner, low=1, high=MOST)
    return np.maximum(np.exp(-gap * np.arange(count)), HOTTEST ** (np.arange(count) / count)), True


def adapted(powers: FloatArray, exchanged: IntArray, step: int) -> tuple[FloatArray, IntArray]:
    """Return the powers after one step of adaptation, and counts with those that were used set to 0.

    Parameters
    ----------
    powers : ndarray (K,)
    exchanged : ndarray (2, K - 1)
        Exchanges of neighbours that were proposed and accepted since they were counted last.
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

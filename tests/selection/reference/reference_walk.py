"""The walk over models in plain numpy, slow and obvious: the generator of the process, as a matrix.

Models are numbered: bit j of the number says whether term j is in. Rates of events are written down as the
text of ``_walk.pyx`` says; ``scipy.linalg.expm`` of the generator times a length of time is then the
transition matrix of one draw.
"""

from collections.abc import Sequence

import numpy as np

from pyrjsel._typing import BoolArray, FloatArray, IntArray


def flips(log_mass: FloatArray, power: float = 1.0) -> FloatArray:
    """Return the rates (m, m) of flips; `log_mass` (m,) of all m = 2**J models, -inf for those without mass.

    Terms that are not free need no mention: the models without them have no mass.
    """
    rates = np.zeros((log_mass.size, log_mass.size))
    for model in np.flatnonzero(np.isfinite(log_mass)):
        for j in range(log_mass.size.bit_length() - 1):
            other = model ^ (1 << j)
            if np.isfinite(log_mass[other]):
                rates[model, other] = min(1.0, np.exp(power * (log_mass[other] - log_mass[model])))
    return rates


def slots(log_mass: FloatArray, free: BoolArray, power: float = 1.0) -> FloatArray:
    """Return the transition matrix (m, m) of one slot move; `free` (J,) says which terms may leave."""
    matrix = np.zeros((log_mass.size, log_mass.size))
    for model in np.flatnonzero(np.isfinite(log_mass)):
        inside = [j for j in np.flatnonzero(free) if model >> j & 1]
        if not inside:
            matrix[model, model] = 1.0
        for i in inside:
            left = model ^ (1 << i)
            others = [left | 1 << j for j in np.flatnonzero(free) if not left >> j & 1]
            if not np.isfinite(log_mass[left]):
                others = [model]
            weights = np.exp(power * (log_mass[others] - log_mass[others].max()))
            matrix[model, others] += weights / weights.sum() / len(inside)
    return matrix


def families(log_mass: FloatArray, members: Sequence[IntArray], power: float = 1.0) -> FloatArray:
    """Return the transition matrix (m, m) of drawing one of the families `members` anew."""
    matrix = np.zeros((log_mass.size, log_mass.size))
    for model in np.flatnonzero(np.isfinite(log_mass)):
        for family in members:
            own = sum(1 << j for j in family.tolist())
            others = [other for other in range(log_mass.size) if other & ~own == model & ~own]
            weights = np.exp(power * (log_mass[others] - log_mass[others].max()))
            matrix[model, others] += weights / weights.sum() / len(members)
    return matrix


def generator(
    log_mass: FloatArray,
    free: BoolArray,
    slot_rate: float,
    power: float = 1.0,
    members: Sequence[IntArray] = (),
    family_rate: float = 0.0,
) -> FloatArray:
    """Return the generator (m, m) of one replica."""
    rates = flips(log_mass, power) + slot_rate * slots(log_mass, free, power)
    rates += family_rate * families(log_mass, members, power)
    return rates - np.diag(rates.sum(axis=1))


def joint_generator(
    log_mass: FloatArray,
    free: BoolArray,
    slot_rate: float,
    powers: tuple[float, float],
    exchange_rate: float,
    members: Sequence[IntArray] = (),
    family_rate: float = 0.0,
) -> FloatArray:
    """Return the generator (m * m, m * m) of two replicas; state ``x * m + y`` has x at the first power."""
    m = log_mass.size
    first, second = (generator(log_mass, free, slot_rate, power, members, family_rate) for power in powers)
    joint = np.kron(first, np.eye(m)) + np.kron(np.eye(m), second)
    for x in np.flatnonzero(np.isfinite(log_mass)):
        for y in np.flatnonzero(np.isfinite(log_mass)):
            accepted = min(1.0, np.exp((powers[0] - powers[1]) * (log_mass[y] - log_mass[x])))
            joint[x * m + y, y * m + x] += exchange_rate * accepted
            joint[x * m + y, x * m + y] -= exchange_rate * accepted
    return joint

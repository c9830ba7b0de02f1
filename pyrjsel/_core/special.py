"""The functions of `scipy.special`, which is imported when the first of them is used.

It takes longer to import than any other part of scipy that this package needs.
"""

from typing import Any

import numpy as np
import scipy

from pyrjsel._typing import FloatArray


def log_beta(a: FloatArray | float, b: FloatArray | float) -> FloatArray:
    """Return logarithms of beta functions of positive numbers, also where subnormal numbers are made zero.

    Some libraries switch this on for the whole process; `betaln` is then infinite for arguments near 170, the
    reciprocals of whose gamma functions are subnormal.
    """
    found = scipy.special.betaln(a, b)
    gammaln = scipy.special.gammaln
    return np.where(np.isfinite(found), found, gammaln(a) + gammaln(b) - gammaln(np.add(a, b)))


def __getattr__(name: str) -> Any:
    value = getattr(scipy.special, name)
    globals()[name] = value
    return value

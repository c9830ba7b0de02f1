"""The functions of `scipy.special`, which is imported when the first of them is used.

It takes longer to import than any other part of scipy that this package needs.
"""

from typing import Any

import scipy


def __getattr__(name: str) -> Any:
    value = getattr(scipy.special, name)
    globals()[name] = value
    return value

"""Warnings that point at the line of the user's code which led to them."""

import sys
import warnings

from pyrjsel._called import inside


def warn(message: str, category: type[Warning]) -> None:
    """Warn, and point at the innermost line of the user's own code on the stack.

    Parameters
    ----------
    message : str
        What is to be said.
    category : type
        A class of warnings of :mod:`pyrjsel`.
    """
    warnings.warn(message, category, stacklevel=1 + sum(1 for _ in inside(sys._getframe())))

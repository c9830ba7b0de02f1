"""Warnings that point at the line of the user's code which led to them."""

import os
import sys
import warnings

HERE = os.path.dirname(os.path.abspath(__file__)) + os.sep


def warn(message: str, category: type[Warning]) -> None:
    """Warn, and point at the first frame on the stack that is not of this package.

    Parameters
    ----------
    message : str
        What is to be said.
    category : type
        A class of warnings of :mod:`pyrjsel`.
    """
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_code.co_filename.startswith(HERE):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)

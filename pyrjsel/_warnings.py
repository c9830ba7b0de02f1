"""Warnings that point at the user's code."""

import os
import sys
import warnings

HERE = os.path.dirname(os.path.abspath(__file__)) + os.sep


def warn(message: str, category: type[Warning]) -> None:
    """Issue a warning that points at the first frame on the stack outside this package.

    Parameters
    ----------
    message : str
        Text of the warning.
    category : type
        Warning class of :mod:`pyrjsel`.
    """
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_code.co_filename.startswith(HERE):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)

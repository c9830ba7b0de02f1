"""Log evidence of kernel regression by repeated filters."""

import numpy as np

from pyrjsel._typing import FloatArray


def pool_evidence(log_evidences: FloatArray) -> tuple[float, float]:
    """Return the log of the mean of evidences, and its standard error.

    Parameters
    ----------
    log_evidences : ndarray (R,)
        Of R passes.

    Returns
    -------
    float
        Natural logarithm.
    float
        That of the log by the delta method; NaN of one pass.
    """
    top = float(log_evidences.max())
    ratios = np.exp(log_evidences - top)
    mean = float(ratios.mean())
    error = float(ratios.std(ddof=1) / np.sqrt(len(ratios)) / mean) if len(ratios) > 1 else float("nan")
    return top + float(np.log(mean)), error

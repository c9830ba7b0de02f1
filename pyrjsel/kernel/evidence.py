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
        That of the log; NaN of one pass. It is that of the delta method, which cannot say much more than 1
        however far passes are apart, or the standard error of the mean of the logs if that is larger.
    """
    top = float(log_evidences.max())
    ratios = np.exp(log_evidences - top)
    mean = float(ratios.mean())
    if len(ratios) == 1:
        return top, float("nan")
    spread = max(float(ratios.std(ddof=1)) / mean, float(log_evidences.std(ddof=1)))
    return top + float(np.log(mean)), spread / float(np.sqrt(len(ratios)))

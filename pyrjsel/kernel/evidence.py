"""Log evidence of kernel regression by repeated filters."""

import numpy as np

from pyrjsel._typing import FloatArray
from pyrjsel.kernel.filter import FilterJob
from pyrjsel.kernel.state import FilterState, KernelSettings
from pyrjsel.runtime import run_chains


def repeat_evidence(
    settings: KernelSettings,
    x: FloatArray,
    y: FloatArray,
    runs: int,
    rng: np.random.Generator,
    *,
    n_jobs: int | None = None,
    progress: bool | None = None,
) -> FloatArray:
    """Return the log evidence ``log p(y)`` of independent passes over the same rows.

    Their evidences, not the logs, are unbiased; the logs' standard deviation is the Monte Carlo error of one
    pass, and above about 1 it says that there are too few particles.

    Parameters
    ----------
    settings : KernelSettings
    x : ndarray (T, d)
    y : ndarray (T,)
        Rows in the order in which they are seen.
    runs : int
        Number of passes.
    rng : numpy.random.Generator
        Source of the seeds.
    n_jobs : int, optional
        Passes at a time, as in `run_chains`.
    progress : bool, optional
        Whether to show a progress bar.

    Returns
    -------
    ndarray
        One for each pass; after Ctrl-C of those that had got through, which may be none.
    """
    job = FilterJob(settings, x, y)
    outcome = run_chains(job, runs, rng, n_jobs=n_jobs, progress=progress, label="evidence")
    found: list[FilterState] = outcome.results
    return np.array([state.log_evidence for state in found if len(state.y) == job.total])


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

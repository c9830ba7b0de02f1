"""When a run of the batch sampler stops by itself: once the figures of its summary are accurate."""

from collections.abc import Sequence
from functools import partial

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pyrjsel._typing import FloatArray
from pyrjsel.kernel.state import KernelDraws
from pyrjsel.report import indicator_stats, scalar_stats
from pyrjsel.report.errors import model_stats
from pyrjsel.report.stopping import NEVER, inclusion_figures, mixing_figures
from pyrjsel.runtime import Accuracy, Figure, Rule

# Default accuracy of automatic runs. Errors are in posterior deviations: 0.05
# is 400 effective draws. Chains remember some 10 to 300 iterations, of which a run that stops by itself keeps
# every tenth: a first round of 4,000 takes some hundredths of a second. All draws are in memory, which takes
# 40 MB for the longest run of four chains of up to 50 kernels, and predictions go through all of them.
USUAL = Accuracy(mcse=0.05, max_draws=10_000, first=400)
# Burn-in and thinning of such a run.
WARM, THIN = 1000, 10
# Centres that a summary lists where nothing is said, the most probable ones.
TOP = 10
# A quantity of two values has a deviation of at most one half.
LARGEST_SD = 0.5

# Quantities of the diagnostics, in words.
WORDS = {
    "kernels": "number of kernels",
    "log_sigma": "log sigma",
    "log_marginal": "log marginal likelihood",
}


def quantities(k: NDArray[np.int32], sigma2: FloatArray, log_marginal: FloatArray) -> dict[str, FloatArray]:
    """Return the quantities of the diagnostics, shape (chains, draws), by name."""
    return {"kernels": k.astype(np.float64), "log_sigma": 0.5 * np.log(sigma2), "log_marginal": log_marginal}


def stopping(labels: pd.Index, mcse: float) -> Rule:
    """Return when a run stops on rows with such labels.

    The number of kernels, log sigma and the log marginal likelihood have Monte Carlo errors of at most `mcse`
    posterior deviations; probabilities, of numbers of kernels and of the centres that a summary lists, errors
    of at most half of `mcse`.
    """
    return partial(_figures, labels=labels, mcse=mcse)


def _figures(chains: Sequence[KernelDraws], draws: int, *, labels: pd.Index, mcse: float) -> list[Figure]:
    k = np.stack([chain.k[:draws] for chain in chains])
    centres = np.stack([chain.centres[:draws] for chain in chains])
    series = quantities(
        k,
        np.stack([chain.sigma2[:draws] for chain in chains]),
        np.stack([chain.log_marginal[:draws] for chain in chains]),
    )
    found = []
    for name, values in series.items():
        stats = scalar_stats(values)
        if stats.mcse > mcse * stats.sd:
            text = f"the MCSE of the {WORDS[name]}, in posterior deviations,"
            found.append(Figure.of_error(text, stats.mcse / stats.sd, mcse))
    target = LARGEST_SD * mcse
    return [
        *found,
        *_sizes(k, target),
        *_occupancies(centres, labels, target),
        *mixing_figures((WORDS[name], values) for name, values in series.items()),
    ]


def _sizes(k: NDArray[np.int32], target: float) -> list[Figure]:
    """Return the numbers of kernels whose probabilities are not accurate enough."""
    sizes = np.unique(k)
    mcse = model_stats(k, sizes).mcse
    # The one number that all draws have may be less probable than 1 by as much.
    error = np.where(np.isnan(mcse), NEVER / k.size, mcse)
    return [
        Figure.of_error(f"the error of the probability of {size} kernels", float(error[i]), target)
        for i, size in enumerate(sizes.tolist())
        if error[i] > target
    ]


def _occupancies(centres: NDArray[np.int32], labels: pd.Index, target: float) -> list[Figure]:
    """Return the most probable centres whose probabilities are not accurate enough."""
    chains, draws, most = centres.shape
    flat = centres.reshape(chains * draws, most)
    counts = np.bincount(flat[flat >= 0], minlength=len(labels))
    rows = np.argsort(-counts, kind="stable")[:TOP]
    rows = rows[counts[rows] > 0]
    if not rows.size:
        return []
    held = np.stack([(flat == row).any(axis=1) for row in rows], axis=1)
    stats = indicator_stats(np.arange(len(flat)).reshape(chains, draws), held)
    names = [f"row {label} among the centres" for label in labels[rows]]
    return inclusion_figures(stats.mcse, np.ones(len(rows), dtype=bool), names, len(flat), target)

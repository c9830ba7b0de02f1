"""The table of model sizes: how many terms the prior and the posterior expect."""

from __future__ import annotations

import numpy as np
import pandas as pd

from pyrjsel._typing import FloatArray
from pyrjsel.model_space import PriorSizes
from pyrjsel.report import model_stats
from pyrjsel.selection.posterior import Posterior


def posterior_sizes(posterior: Posterior, n_terms: int) -> tuple[FloatArray, FloatArray]:
    """Return the posterior probabilities of 0 to `n_terms` terms, and their Monte Carlo errors.

    After enumeration errors are those of the integrals: of a size at most the root of the sum of squares over
    its models, and over all others.
    """
    probability, mcse = np.zeros(n_terms + 1), np.full(n_terms + 1, np.nan)
    if posterior.draws is None:
        sizes = posterior.packed.sizes()
        probability += np.bincount(sizes, weights=posterior.probability, minlength=n_terms + 1)
        square = np.nan_to_num(posterior.mcse) ** 2
        inside = np.bincount(sizes, weights=square, minlength=n_terms + 1)
        return probability, np.sqrt(np.minimum(inside, np.maximum(square.sum() - inside, 0.0)))
    drawn = posterior.draws.size
    seen = np.unique(drawn)
    stats = model_stats(drawn, seen)
    probability[seen], mcse[seen] = stats.probability, stats.mcse
    return probability, mcse


def sizes_table(prior: PriorSizes, posterior: Posterior, n_terms: int) -> pd.DataFrame:
    """Return prior and posterior probabilities by number of terms, fewest to most that there can be."""
    probability, mcse = posterior_sizes(posterior, n_terms)
    table = pd.DataFrame({"prior": prior.probability, "posterior": probability, "mcse": mcse})
    table.index.name = "size"
    possible = np.flatnonzero((table["prior"] != 0) | (table["posterior"] > 0))
    return table.iloc[possible.min() : possible.max() + 1]

"""How well chains mixed: a table of diagnostics, and what is to be said of it."""

from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from pyrjsel._validate import listed
from pyrjsel.report.errors import IndicatorStats, scalar_stats
from pyrjsel.space import ByModel

# Split R-hat of the model size or log posterior over all chains beyond which they have plainly not converged.
WORST_R_HAT = 1.2


def chain_diagnostics(
    counts: Sequence[ArrayLike],
    moves: Sequence[str],
    values: Iterable[tuple[str, np.ndarray | ByModel]],
    seconds: Sequence[float],
) -> pd.DataFrame:
    """Return acceptance, effective sample sizes and R-hat by chain, and over all chains in the row "all".

    Parameters
    ----------
    counts : sequence of array_like of int, shape (2, moves)
        Proposals and acceptances of each chain.
    moves : sequence of str
        Names of the moves.
    values : iterable of (str, ndarray or ByModel, of shape (chains, draws))
        Quantities by name, at least one; gone through once, one at a time.
    seconds : sequence of float
        Of each chain.

    Returns
    -------
    DataFrame
        A row a chain and one of all.

    Examples
    --------
    >>> size = np.array([[1, 2, 1, 2, 2, 1, 2, 1]])
    >>> found = chain_diagnostics([[[10], [4]]], ["flip"], [("size", size)], [0.5])
    >>> found.columns.tolist()
    ['acceptance_flip', 'ess_size', 'r_hat_size', 'draws', 'seconds']
    """
    rows: dict[object, dict[str, float]] = {}
    everyone = range(len(counts))
    groups: list[tuple[object, range]] = [*((c, range(c, c + 1)) for c in everyone), ("all", everyone)]
    for label, members in groups:
        proposed, accepted = np.sum([np.asarray(counts[c]) for c in members], axis=0)
        rows[label] = {
            f"acceptance_{move}": accepted[k] / proposed[k] if proposed[k] else np.nan
            for k, move in enumerate(moves)
        }
    for name, value in values:
        for label, members in groups:
            stats = scalar_stats(value[members[0] : members[-1] + 1])
            rows[label] |= {f"ess_{name}": stats.ess, f"r_hat_{name}": stats.r_hat}
        draws = value.shape[1]
    for label, members in groups:
        rows[label] |= {"draws": draws * len(members), "seconds": float(sum(seconds[c] for c in members))}
    frame = pd.DataFrame.from_dict(rows, orient="index")
    frame.index.name = "chain"
    return frame


def disagreement(terms: IndicatorStats, names: Sequence[str]) -> list[str]:
    """Return a text on the inclusion probabilities on which the chains disagree, if there are any."""
    bad = np.flatnonzero(terms.disagree).tolist()
    if not bad:
        return []
    text = (
        f"Chains disagree on {len(bad)} of {len(names)} inclusion probabilities by more than "
        f"the Monte Carlo errors within each: {listed([names[j] for j in bad])}. Their errors allow for the "
        "spread of the chains; run longer."
    )
    return [text]


def poor_mixing(diagnostics: pd.DataFrame) -> list[str]:
    """Return a text on the R-hat of size and log posterior over all chains, if one is too large."""
    quantities = {"the model size": "r_hat_size", "the log posterior": "r_hat_log_posterior"}
    found = {name: float(diagnostics[column]["all"]) for name, column in quantities.items()}
    bad = [f"{value:.2f} for {name}" for name, value in found.items() if value > WORST_R_HAT]
    if not bad:
        return []
    where = " and ".join(bad)
    return [f"R-hat over all chains is {where}, above {WORST_R_HAT}: they have not converged; run longer."]

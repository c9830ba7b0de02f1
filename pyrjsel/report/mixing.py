"""Diagnostics of chains: warnings about poor mixing, and estimates not yet accurate enough to stop."""

from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from pyrjsel._validate import beyond, counted, listed
from pyrjsel.model_space import ByModel
from pyrjsel.report.errors import IndicatorStats, scalar_stats
from pyrjsel.runtime import Figure, RunTime, above

# Largest acceptable split R-hat over all chains; above it, the chains have clearly not converged.
WORST_R_HAT = 1.2
# Fewest effective draws for a reliable estimate: 100 leave a probability of one
# half uncertain by 0.05, and the ends of a 95 % interval by a quarter of the posterior deviation.
LEAST_ESS = 100
# Monte Carlo error of an average of conditional probabilities that is acceptable whatever its effective
# sample size, which compares it with draws of 0 and 1 and is uninformative for probabilities near these.
PRECISE = 0.01


def chain_diagnostics(
    counts: Sequence[ArrayLike],
    moves: Sequence[str],
    values: Iterable[tuple[str, np.ndarray | ByModel]],
    spent: Sequence[RunTime],
) -> pd.DataFrame:
    """Return acceptance, effective sample sizes and R-hat by chain, and over all chains in the row "all".

    Parameters
    ----------
    counts : sequence of array_like of int, shape (2, moves)
        Proposals and acceptances of each chain.
    moves : sequence of str
        Names of the moves.
    values : iterable of (str, ndarray or ByModel, of shape (chains, draws))
        At least one quantity, by name; iterated over once.
    spent : sequence of RunTime
        Run time of each chain.

    Returns
    -------
    DataFrame
        One row per chain, and one over all chains.

    Examples
    --------
    >>> size = np.array([[1, 2, 1, 2, 2, 1, 2, 1]])
    >>> found = chain_diagnostics([[[10], [4]]], ["flip"], [("size", size)], [RunTime(0.4, 0.5)])
    >>> found.columns.tolist()
    ['acceptance_flip', 'ess_size', 'r_hat_size', 'draws', 'seconds', 'cpu_seconds']
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
        rows[label] |= {
            "draws": draws * len(members),
            "seconds": float(sum(spent[c].clock for c in members)),
            "cpu_seconds": float(sum(spent[c].cpu for c in members)),
        }
    frame = pd.DataFrame.from_dict(rows, orient="index")
    frame.index.name = "chain"
    return frame


def selection_notes(
    terms: IndicatorStats, names: Sequence[str], diagnostics: pd.DataFrame, averaged: bool = False
) -> list[str]:
    """Return warnings about the chains of a variable selection.

    Parameters
    ----------
    terms : IndicatorStats
        Inclusion of the terms; stuck terms have no effective sample size and are omitted.
    names : sequence of str
        Names of the terms.
    diagnostics : DataFrame
        Table of :func:`chain_diagnostics`, with size and log posterior among the quantities.
    averaged : bool, default False
        Whether inclusion probabilities are averages of conditional ones. These can be precise although the
        draws vary little: those with an MCSE of at most 0.01 are not reported as having few effective draws.
        Nor is disagreement of chains reported for them: the MCSE includes their spread, and if one visit in a
        thousand decides, batch means are too far from normal for a test.
    """
    row = diagnostics.loc["all"]
    quantities = {"the model size": "size", "the log posterior": "log_posterior"}
    r_hat = pd.Series({name: row[f"r_hat_{column}"] for name, column in quantities.items()})
    ess = pd.Series({name: row[f"ess_{column}"] for name, column in quantities.items()})
    few = np.where(terms.mcse <= PRECISE, np.nan, terms.ess) if averaged else terms.ess
    known = np.flatnonzero(~np.isnan(few)).tolist()
    of_terms = pd.Series(few[known], index=[f"the inclusion of {names[j]}" for j in known])
    return disagreement(terms, names, PRECISE if averaged else 0.0) + poor_mixing(
        r_hat, pd.concat([ess, of_terms]), int(diagnostics["draws"]["all"])
    )


def disagreement(terms: IndicatorStats, names: Sequence[str], precise: float = 0.0) -> list[str]:
    """Return a warning about inclusion probabilities on which the chains disagree, if any.

    Those with an MCSE of at most `precise` are omitted.
    """
    bad = np.flatnonzero(terms.disagree & ~(terms.mcse <= precise)).tolist()
    if not bad:
        return []
    text = (
        f"Chains disagree on {len(bad)} of {len(names)} inclusion probabilities by more than "
        f"the Monte Carlo errors within each: {listed([names[j] for j in bad])}. Their errors allow for the "
        "spread of the chains; run longer."
    )
    return [text]


def poor_mixing(r_hat: pd.Series, ess: pd.Series, draws: int, worst: float = WORST_R_HAT) -> list[str]:
    """Return a warning about quantities with a large R-hat, or else about those with few effective draws.

    Parameters
    ----------
    r_hat, ess : Series of float
        R-hat and effective sample sizes over all chains, by name; NaN if unknown, as for constant quantities.
    draws : int
        Number of draws of all chains.
    worst : float
        Largest acceptable R-hat.
    """
    bad = r_hat[r_hat > worst].sort_values(ascending=False)
    if len(bad):
        more = f" and above {worst} for {len(bad) - 1} more" if len(bad) > 1 else f", above {worst}"
        which = f"{beyond(bad.iloc[0], worst)} for {bad.index[0]}{more}"
        return [f"R-hat over all chains is {which}: they have not converged; run longer."]
    few = ess[ess < LEAST_ESS].sort_values()
    if len(few):
        more = (
            f" and fewer than {LEAST_ESS} of {len(few) - 1} more"
            if len(few) > 1
            else f", fewer than {LEAST_ESS}"
        )
        which = f"{np.floor(few.iloc[0]):.0f} effective draws of {few.index[0]}{more}"
        return [f"The run has {which}: these estimates are unreliable; run longer."]
    if draws < LEAST_ESS:
        which = f"{counted(draws, 'draw')}, fewer than {LEAST_ESS}"
        return [f"The run has {which}: its estimates are unreliable; run longer."]
    return []


# Largest acceptable R-hat over all chains.
R_HAT = 1.05
# Errors that more draws do not reduce are compensated by more draws up to this proportion of the target: 1 /
# (1 - 0.8^2) = 2.8 times as many. Larger ones must be reduced at their source.
SHARE = 0.8
# An event that did not occur in n draws has a probability of at most 3 / n, with 95 % confidence.
NEVER = 3.0


def inclusion_figures(
    mcse: np.ndarray,
    free: np.ndarray,
    names: Sequence[str],
    draws: int,
    target: float,
    other: np.ndarray | None = None,
) -> list[Figure]:
    """Return the inclusion probabilities whose Monte Carlo errors are above a target.

    Parameters
    ----------
    mcse : ndarray (J,)
        Error of each term; NaN for those that never changed.
    free : ndarray (J,)
        Whether a term may change.
    names : sequence of str
    draws : int
        Number of draws of all chains.
    target : float
    other : ndarray (J,), optional
        Errors that more draws do not reduce; omitted if too large to be compensated.

    Returns
    -------
    list of Figure
    """
    # mathematics: errors-never
    found = []
    kept = np.zeros(mcse.size) if other is None else np.where(other <= SHARE * target, other, 0.0)
    whole = np.hypot(mcse, kept)
    large = np.isnan(mcse) | (whole > target)
    for j in np.flatnonzero(large & free.astype(bool)).tolist():
        if np.isnan(mcse[j]):
            most = NEVER / draws
            bound = above(most, target)
            text = f"the inclusion of {names[j]} never changed, which bounds its error by {bound}"
            found += [Figure(text, most / target)] if most > target else []
        else:
            text = f"the MCSE of the inclusion of {names[j]} is {above(float(whole[j]), target)}"
            found.append(Figure(text, float(mcse[j] ** 2 / (target**2 - kept[j] ** 2))))
    return found


def mixing_figures(quantities: Iterable[tuple[str, np.ndarray | ByModel]]) -> list[Figure]:
    """Return values of R-hat that are too large, and quantities with too few effective draws.

    Parameters
    ----------
    quantities : iterable of (str, ndarray or ByModel, of shape (chains, draws))
        Draws by name.

    Returns
    -------
    list of Figure
    """
    found = []
    for name, values in quantities:
        stats = scalar_stats(values)
        if stats.r_hat > R_HAT:
            text = f"R-hat of the {name} is {above(stats.r_hat, R_HAT)}"
            found.append(Figure(text, (stats.r_hat - 1.0) / (R_HAT - 1.0)))
        if stats.ess < LEAST_ESS:
            found.append(few_draws(name, stats.ess))
    return found


def few_draws(name: str, ess: float) -> Figure:
    """Return the figure of a quantity with too few effective draws."""
    text = f"the {name} has {ess:.3g} effective draws, fewer than {LEAST_ESS}"
    return Figure(text, LEAST_ESS / ess)

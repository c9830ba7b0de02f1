"""Stopping rule of runs over models with ``draws="auto"``: all reported figures are accurate."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from pyrjsel.model_space import ByModel, ModelSpace
from pyrjsel.report.errors import model_stats
from pyrjsel.report.stopping import inclusion_figures, mixing_figures
from pyrjsel.runtime import Figure, FitSettings, Rule
from pyrjsel.selection.regression.layout import TermColumns
from pyrjsel.selection.samplers.recording.model_average import merged
from pyrjsel.selection.samplers.recording.recorder import ChainDraws, Manner

# Number of models whose odds against the best must have a relative error of at most ODDS; for models with a
# posterior probability below RARE, this multiple of it.
MODELS, ODDS, RARE, RARE_TIMES = 3, 0.05, 0.01, 10.0


def stopping(
    settings: FitSettings,
    regression: TermColumns,
    space: ModelSpace,
    manner: Manner,
    before: int = 0,
) -> Rule:
    """Return the stopping rule of a sampler: inclusion probabilities, odds of the best models, and mixing."""
    mcse = settings.asked_mcse
    return partial(
        _figures,
        regression=regression,
        space=space,
        manner=manner,
        before=before,
        target=mcse,
    )


def _figures(
    chains: Sequence[ChainDraws],
    draws: int,
    *,
    regression: TermColumns,
    space: ModelSpace,
    manner: Manner,
    before: int,
    target: float,
) -> list[Figure]:
    # Copies, since summaries remove arrays from chains.
    copies = [replace(chain) for chain in chains]
    index, models, log_posterior = merged(copies, draws, regression, space, manner, before)
    terms = manner.estimator(copies, index, models).terms
    other = None if manner.errors is None else manner.errors(chains, draws, index, models, terms.mean)
    found = inclusion_figures(terms.mcse, space.free, space.names, index.size, target, other)
    if not manner.masses:
        found += _odds(index, len(models))
    costs = np.concatenate([space.cost(block) for block in models.blocks()])
    sizes = ByModel(models.sizes(), index)
    if draws < manner.fewest:
        name = (
            f"the number of draws per chain is {draws:,}, below the {manner.fewest:,} that nearly dependent"
        )
        found.append(Figure(f"{name} columns require", manner.fewest / draws))
    return found + mixing_figures(
        [("size", sizes), ("cost", ByModel(costs, index)), ("log posterior", log_posterior)]
    )


def _odds(index: np.ndarray, models: int) -> list[Figure]:
    """Return the inaccurate odds of the best model against others."""
    stats = model_stats(index, np.arange(min(models, 1 + MODELS)))
    found = []
    for k in range(1, stats.odds.size):
        target = ODDS * (RARE_TIMES if stats.probability[k] < RARE else 1.0)
        error = float(stats.odds_mcse[k] / stats.odds[k])
        if error > target:
            name = f"the relative MCSE of the odds of model 1 against model {k + 1}"
            found.append(Figure.of_error(name, error, target))
    return found

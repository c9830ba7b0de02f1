"""Repeated fits of a model with other rows or priors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from pyrjsel.design import DesignData
from pyrjsel.selection.protocols import SelectionModel
from pyrjsel.selection.regression.summed_rows import SummedRows
from pyrjsel.selection.results.results import SelectionResults
from pyrjsel.selection.specification import Choices


def refit(
    model: SelectionModel,
    data: DesignData | SummedRows,
    choices: Choices,
    rng: np.random.Generator,
    options: Mapping[str, Any],
) -> SelectionResults:
    """Fit `model` on other rows of its design, or with other choices.

    Raises
    ------
    KeyboardInterrupt
        If sampling was interrupted, which ends the whole study.
    """
    results: SelectionResults = model._remake(model.design, data, choices).fit(rng=rng, **options)
    draws, settings = results.posterior.draws, results.settings
    if draws is not None and draws.model.shape != (settings.chains, settings.draws):
        raise KeyboardInterrupt("interrupted in one of several fits")
    return results

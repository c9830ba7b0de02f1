"""Runs of samplers, with an audit and restarts if it finds missed modes.

Chains that have not visited a mode cannot estimate its probability, and those that find it late estimate it
poorly. A run with ``draws="auto"`` therefore restarts if its audit finds a relevant model that no chain has
visited: the draws so far are discarded, and new chains with their own seeds start, some of them from the
missed models. All this depends only on the draws.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from pyrjsel._errors import ConvergenceWarning
from pyrjsel._typing import ByteArray
from pyrjsel._warnings import warn
from pyrjsel.model_space import ModelSpace
from pyrjsel.runtime import FitSettings
from pyrjsel.selection.posterior import Posterior
from pyrjsel.selection.protocols import SelectionModel
from pyrjsel.selection.samplers.base import Sampler
from pyrjsel.selection.samplers.mode_search.audit import audit_of, best_visited
from pyrjsel.selection.samplers.mode_search.search import MOST_WEIGHED, starts_anew

# Largest number of restarts.
MOST_ANEW = 2


def run(
    model: SelectionModel, sampler: Sampler, settings: FitSettings, options: Any
) -> tuple[Posterior, FitSettings]:
    """Return the posterior from a sampler, and the settings of its last run.

    Raises
    ------
    KeyboardInterrupt
        If the last run was interrupted before any chain had a draw.
    """
    begun = time.perf_counter()
    while True:
        posterior = sampler.posterior(model.regression, model.space, settings, options)
        if posterior.draws is None:
            return posterior, settings
        posterior.audit = audit_of(model, posterior)
        text = posterior.audit.warning(model.space)
        if text is None:
            return posterior, settings
        if not _may_begin_anew(posterior, settings, begun):
            posterior.alarm([text])
            return posterior, settings
        found = posterior.audit.missed[0]
        settings = settings.begins_anew(found, _starts(model, posterior, settings), begun)


def warn_of(posterior: Posterior) -> None:
    """Issue the warnings about a posterior."""
    for text in posterior.alarms:
        warn(text, ConvergenceWarning)


def note_of(settings: FitSettings, space: ModelSpace) -> list[str]:
    """Return the note of a summary on restarts."""
    if settings.anew is None:
        return []
    names = [" + ".join(space.terms_of(gamma)) or "(no terms)" for gamma in settings.anew.found]
    if len(names) == 1:
        return [f"The run was restarted from a model that the audit found: {names[0]}."]
    times = "twice" if len(names) == 2 else f"{len(names)} times"
    return [f"The run was restarted {times}, from models that the audits found: {'; '.join(names)}."]


def _may_begin_anew(posterior: Posterior, settings: FitSettings, begun: float) -> bool:
    """Whether a run with missed models is restarted: not after Ctrl-C, nor beyond the limits."""
    whole = posterior.ends is not None and posterior.ends.complete
    runs = 0 if settings.anew is None else len(settings.anew.found)
    return whole and settings.earlier is None and runs < MOST_ANEW and settings.lasts(begun)


def _starts(model: SelectionModel, posterior: Posterior, settings: FitSettings) -> ByteArray:
    """Return the starting model of each chain of the next run."""
    draws, audit = posterior.draws, posterior.audit
    assert draws is not None
    assert audit is not None
    models = [*audit.missed[:MOST_WEIGHED], best_visited(model, posterior)]
    if settings.anew is not None:
        models += [*settings.anew.starts]
    variance = None if draws.variance is None else float(np.mean(draws.variance))
    return starts_anew(model.regression, model.space, models, settings.chains, variance)

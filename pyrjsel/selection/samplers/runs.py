"""Runs of samplers: audited, and begun anew where the audit finds what chains have missed.

Chains that have never visited a mode say nothing of its share, and those that come upon it late say it wrong.
A run that stops by itself therefore begins anew where its audit finds a model that matters and that no chain
has visited: the draws so far are let go, and there are new chains with seeds of their own, some of which
start from what was missed. Nothing of this depends on anything but the draws.
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

# Runs that begin anew, at most.
MOST_ANEW = 2


def run(
    model: SelectionModel, sampler: Sampler, settings: FitSettings, options: Any
) -> tuple[Posterior, FitSettings]:
    """Return the posterior that a sampler finds, and the settings of the run that it is of.

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
    """Warn of what is wrong with a posterior."""
    for text in posterior.alarms:
        warn(text, ConvergenceWarning)


def note_of(settings: FitSettings, space: ModelSpace) -> list[str]:
    """Return what a summary says of a run that began anew."""
    if settings.anew is None:
        return []
    names = [" + ".join(space.terms_of(gamma)) or "(no terms)" for gamma in settings.anew.found]
    if len(names) == 1:
        return [f"The run was restarted from a model that the audit found: {names[0]}."]
    times = "twice" if len(names) == 2 else f"{len(names)} times"
    return [f"The run was restarted {times}, from models that the audits found: {'; '.join(names)}."]


def _may_begin_anew(posterior: Posterior, settings: FitSettings, begun: float) -> bool:
    """Whether a run with missed models is followed by another one: not after Ctrl-C, nor beyond limits."""
    whole = posterior.ends is not None and posterior.ends.complete
    runs = 0 if settings.anew is None else len(settings.anew.found)
    return whole and settings.earlier is None and runs < MOST_ANEW and settings.lasts(begun)


def _starts(model: SelectionModel, posterior: Posterior, settings: FitSettings) -> ByteArray:
    """Return what each chain of the next run starts from."""
    draws, audit = posterior.draws, posterior.audit
    assert draws is not None
    assert audit is not None
    models = [*audit.missed[:MOST_WEIGHED], best_visited(model, posterior)]
    if settings.anew is not None:
        models += [*settings.anew.starts]
    variance = None if draws.variance is None else float(np.mean(draws.variance))
    return starts_anew(model.regression, model.space, models, settings.chains, variance)

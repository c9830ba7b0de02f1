"""Registry of samplers, read by `fit`, `extend`, loading, the documentation and the command line."""

from collections.abc import Collection, Mapping
from typing import Any

from pyrjsel._errors import NotAvailableError
from pyrjsel._validate import unknown_name
from pyrjsel.model_space import ModelSpace, count_dfs
from pyrjsel.selection.samplers.automatic import sampler_of
from pyrjsel.selection.samplers.base import Sampler, is_gaussian
from pyrjsel.selection.samplers.collapsed.sampler import Collapsed, CorrectedCollapsed
from pyrjsel.selection.samplers.enumeration.chunks import ChunksSampler
from pyrjsel.selection.samplers.enumeration.gaussian import GaussianEnumeration
from pyrjsel.selection.samplers.enumeration.glm import Enumeration
from pyrjsel.selection.samplers.gibbs.sampler import GibbsSampler
from pyrjsel.selection.samplers.listing import MOST_MODELS
from pyrjsel.selection.samplers.reversible_jump.population import PopulationRJMCMC
from pyrjsel.selection.samplers.reversible_jump.rjmcmc import RJMCMC

AUTO = "auto"
# "auto" enumerates models that take an integral each if their number times (ROWS + rows) is at most this,
# which takes two seconds. An integral takes as long as passes over ROWS rows do, and one over an unknown g as
# long as UNKNOWN_G others. So do those of skewed posteriors: without a pilot that finds them regular, the
# number is smaller by SKEWED.
INTEGRATED, ROWS, UNKNOWN_G, SKEWED = 60_000_000, 4_000, 8, 8
# Entries of the same name are one sampler for different families.
SAMPLERS: tuple[Sampler, ...] = (
    GaussianEnumeration(),
    Enumeration(),
    GibbsSampler(),
    RJMCMC(),
    PopulationRJMCMC(),
    Collapsed(),
    CorrectedCollapsed(),
    ChunksSampler(),
)
NAMES = tuple(dict.fromkeys(sampler.name for sampler in SAMPLERS))


def samplers_of(regression: Any) -> Mapping[str, Sampler]:
    """Return the samplers that support a regression, by name."""
    return {sampler.name: sampler for sampler in SAMPLERS if sampler.supports(regression)}


def sampler_named(
    name: object, regression: Any, space: ModelSpace, options: Collection[str]
) -> tuple[Sampler, dict[str, Any]]:
    """Return a sampler by name; "auto" chooses it from the regression, the space and the given `options`.

    Also return options that "auto" sets, which given ones override.

    Raises
    ------
    UnknownNameError
        If there is no sampler of this name for the family.
    NotAvailableError
        If it does not support a matrix that stays as it is given.
    """
    known = samplers_of(regression)
    if getattr(regression, "wide", False) and name in NAMES and name not in known:
        raise NotAvailableError(
            f"The sampler {name!r} needs columns in float64, and a matrix of this size is used as it is "
            f"given: use {' or '.join(map(repr, known))}, or give the matrix as float64 in memory."
        )
    if not isinstance(name, str) or name not in (AUTO, *known):
        raise unknown_name(name, "sampler", (AUTO, *known), f"for {regression.family.name} models")
    chosen, usual = automatic(regression, space, options) if name == AUTO else (name, {})
    return known[chosen], usual


def automatic(regression: Any, space: ModelSpace, options: Collection[str]) -> tuple[str, dict[str, Any]]:
    """Return the name of the sampler that "auto" chooses, and options for it."""
    if getattr(regression, "chunked", False):
        return "chunks", {}
    if getattr(regression, "wide", False):
        return "collapsed", {}
    most = most_enumerated(regression)
    count, all_counted = count_dfs(space, most)
    if is_gaussian(regression):
        if all_counted or "max_models" in options:
            return "enumerate", {}
        return "collapsed" if in_closed_form(regression) else "gibbs", {}
    if all_counted and count <= most // SKEWED:
        return "enumerate", {}
    name, usual = sampler_of(regression, space, options)
    return ("enumerate", {}) if all_counted and name == "collapsed" else (name, usual)


def most_enumerated(regression: Any) -> int:
    """Return the largest number of models that "auto" enumerates: as many as take seconds if regular."""
    if is_gaussian(regression):
        return MOST_MODELS if in_closed_form(regression) else INTEGRATED // ROWS
    unknown = 1 if regression.prior.mixture is None else UNKNOWN_G
    return INTEGRATED // (unknown * (ROWS + regression.y.size))


def in_closed_form(regression: Any) -> bool:
    """Return whether marginal likelihoods of a linear regression have a closed form, up to an unknown g."""
    return samplers_of(regression)["gibbs"].nuisance(regression) is None

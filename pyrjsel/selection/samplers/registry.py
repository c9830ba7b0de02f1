"""Registry of samplers, read by `fit`, `extend`, loading and the documentation."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pyrjsel._errors import NotAvailableError
from pyrjsel._lazy import late
from pyrjsel._validate import unknown_name
from pyrjsel.model_space import ModelSpace, count_dfs
from pyrjsel.runtime import WARM
from pyrjsel.selection.samplers.options import (
    MOST_MODELS,
    ChunksOptions,
    CollapsedOptions,
    CorrectedOptions,
    EnumerateOptions,
    ExactOptions,
    GibbsOptions,
    PopulationOptions,
    RJMCMCOptions,
    is_gaussian,
)

if TYPE_CHECKING:
    from pyrjsel.selection.samplers import automatic as by_pilot
    from pyrjsel.selection.samplers.base import Sampler
    from pyrjsel.selection.samplers.collapsed import sampler as collapsed
    from pyrjsel.selection.samplers.enumeration import chunks, gaussian, glm
    from pyrjsel.selection.samplers.gibbs import sampler as gibbs
    from pyrjsel.selection.samplers.reversible_jump import population, rjmcmc
else:
    by_pilot = late("pyrjsel.selection.samplers.automatic")
    collapsed = late("pyrjsel.selection.samplers.collapsed.sampler")
    chunks = late("pyrjsel.selection.samplers.enumeration.chunks")
    gaussian = late("pyrjsel.selection.samplers.enumeration.gaussian")
    glm = late("pyrjsel.selection.samplers.enumeration.glm")
    gibbs = late("pyrjsel.selection.samplers.gibbs.sampler")
    population = late("pyrjsel.selection.samplers.reversible_jump.population")
    rjmcmc = late("pyrjsel.selection.samplers.reversible_jump.rjmcmc")

AUTO = "auto"
# "auto" enumerates models that take an integral each if their number times (ROWS + rows + A_DRAW draws) is at
# most this, which takes some seconds. Draws are those of an integral, MOST_DRAWS at most. Integrals over a g
# or a parameter of the likelihood take UNKNOWN_G and NUISANCE times as long, those of K classes (K - 1)^2.
INTEGRATED, ROWS, A_DRAW, MOST_DRAWS = 60_000_000, 4_000, 15, 2**14
UNKNOWN_G, NUISANCE = 2, 3
# FEW models of few rows, together at most FEW_ROWS, are enumerated however many draws they take: chains visit
# nearly all of them. With 15 rows of three classes and 10 terms these had no useful result after minutes.
FEW, FEW_ROWS = 2**10, 200_000

# What samplers do, for the documentation of `fit`.
ALL = "Enumeration of all feasible models, with their marginal likelihoods."
GIBBS = "Gibbs sampling: terms are drawn one after the other from their full conditionals; for linear models."
JUMPS = "Reversible-jump MCMC over models and coefficients."
POPULATION = "Reversible-jump MCMC at several temperatures with exchanges of states."
COLLAPSED = "MCMC over models with coefficients integrated out."
CHUNKS = "Laplace's approximation of models of rows in chunks, checked by importance sampling."


@dataclass(frozen=True)
class Entry:
    """A sampler by name, with its options and abilities, before it is imported.

    Attributes
    ----------
    name : str
        Name in ``fit(sampler=...)``. Entries of the same name are one sampler for different families.
    options : type
        Dataclass of its options; its docstring is their documentation.
    kind : callable
        Returns the class, whose modules are imported by the first call.
    text : str
        What it does, for the documentation of ``fit``.
    linear : bool or None
        Whether it is for linear models, as opposed to generalised linear ones; None is for both.
    warm : int
        Default burn-in where `draws` is "auto".
    chunked : bool
        Whether it is for regressions whose rows are read in each pass.
    wide : bool
        Whether it supports matrices of many columns that stay as they are given.
    """

    name: str
    options: type
    kind: Callable[[], type[Sampler]]
    text: str
    linear: bool | None = None
    warm: int = WARM
    chunked: bool = False
    wide: bool = False

    def make(self) -> Sampler:
        """Return the sampler."""
        return self.kind()()

    def supports(self, regression: Any) -> bool:
        """Whether models of the regression's family can be sampled."""
        if self.chunked != getattr(regression, "chunked", False):
            return False
        if getattr(regression, "wide", False) and not self.wide:
            return False
        return self.linear is None or self.linear == is_gaussian(regression)


SAMPLERS = (
    Entry("enumerate", ExactOptions, lambda: gaussian.GaussianEnumeration, ALL, linear=True),
    Entry("enumerate", EnumerateOptions, lambda: glm.Enumeration, ALL, linear=False),
    Entry("gibbs", GibbsOptions, lambda: gibbs.GibbsSampler, GIBBS, linear=True),
    Entry("rjmcmc", RJMCMCOptions, lambda: rjmcmc.RJMCMC, JUMPS, warm=500),
    Entry("population", PopulationOptions, lambda: population.PopulationRJMCMC, POPULATION, warm=2000),
    Entry("collapsed", CollapsedOptions, lambda: collapsed.Collapsed, COLLAPSED, linear=True, wide=True),
    Entry("collapsed", CorrectedOptions, lambda: collapsed.CorrectedCollapsed, COLLAPSED, linear=False),
    Entry("chunks", ChunksOptions, lambda: chunks.ChunksSampler, CHUNKS, linear=False, chunked=True),
)
NAMES = tuple(dict.fromkeys(sampler.name for sampler in SAMPLERS))


def samplers_of(regression: Any) -> Mapping[str, Entry]:
    """Return the samplers that support a regression, by name."""
    return {sampler.name: sampler for sampler in SAMPLERS if sampler.supports(regression)}


def sampler_named(
    name: object, regression: Any, space: ModelSpace, options: Collection[str]
) -> tuple[Entry, dict[str, Any]]:
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
        if all_counted:
            return "enumerate", {}
        return "collapsed" if in_closed_form(regression) else "gibbs", {}
    if all_counted and (
        count <= most_enumerated(regression, MOST_DRAWS)
        or count <= most_enumerated(regression, by_pilot.draws_of(regression, space))
    ):
        return "enumerate", {}
    return by_pilot.sampler_of(regression, space, options)


def stand_in(regression: Any, name: str, options: Mapping[str, Any]) -> tuple[Sampler, Any, int] | None:
    """Return what takes over from the sampler that "auto" chose, with its options and default burn-in."""
    if name != "collapsed" or is_gaussian(regression) or not by_pilot.has_jumps(regression, options):
        return None
    jumps = samplers_of(regression)["rjmcmc"]
    return jumps.make(), jumps.options(**{**by_pilot.jumps_for(regression), **options}), jumps.warm


def most_enumerated(regression: Any, draws: float = 0.0) -> int:
    """Return the largest number of models that "auto" enumerates if an integral takes so many draws."""
    if is_gaussian(regression):
        return MOST_MODELS if in_closed_form(regression) else INTEGRATED // ROWS
    times = regression.leading**2
    if regression.prior.mixture is not None:
        times *= UNKNOWN_G
    if regression.family.expanded:
        times *= NUISANCE
    rows = regression.y.size
    few = min(FEW, FEW_ROWS / (times * max(1, rows)))
    return int(max(few, INTEGRATED / (times * (ROWS + rows + A_DRAW * draws))))


def in_closed_form(regression: Any) -> bool:
    """Return whether marginal likelihoods of a linear regression have a closed form, up to an unknown g."""
    return not regression.prior.in_state

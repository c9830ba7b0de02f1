"""Draws of a selection: the run to be extended, and groups for ArviZ."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from pyrjsel._errors import NotAvailableError
from pyrjsel._typing import FloatArray
from pyrjsel.families import Nuisance, Values
from pyrjsel.model_space import chain_visits
from pyrjsel.results import RecordedRun
from pyrjsel.runtime import FitSettings
from pyrjsel.selection.comparable import identity
from pyrjsel.selection.posterior import Draws, Posterior
from pyrjsel.selection.protocols import SelectionModel
from pyrjsel.selection.samplers.recording.recorder import recorded_vectors, thinning
from pyrjsel.selection.samplers.registry import samplers_of
from pyrjsel.selection.samplers.runs import run, warn_of

Longer = TypeVar("Longer")

# Dimensions and values by name, beside those of chains and draws; groups of them, and labels of dimensions.
Variables = dict[str, tuple[list[str], Any]]
Groups = tuple[dict[str, Variables], dict[str, Sequence[Any]]]

# Chains in which ArviZ gets independent draws: its diagnostics and plots of ranks compare chains.
CHAINS = 4
# Recorded values that are thinned further than the draws.
THINNED = ("coefficients", "variance")


def recorded_run(
    model: SelectionModel,
    posterior: Posterior,
    settings: FitSettings,
    options: Any,
    results_of: Callable[[Posterior, FitSettings], Longer],
) -> RecordedRun[Longer]:
    """Return the run of a posterior, which can be extended.

    Raises
    ------
    NotAvailableError
        After enumeration.
    """
    found = posterior.draws
    if found is None:
        raise NotAvailableError("Enumeration has no chains to extend or to pool: it has all models.")

    sampler = samplers_of(model.regression)[posterior.sampler].make()
    nuisance = sampler.nuisance(model.regression)

    def go_on(settings: FitSettings) -> Longer:
        step = thinning(model.regression.n_columns, settings) // found.coefficients_every
        longer, *_ = run(model, sampler, settings.thinned(step, THINNED), options)
        warn_of(longer)
        return results_of(longer, settings.finished(longer.asked))

    return RecordedRun(
        settings,
        None if posterior.ends is None else replace(posterior.ends, entropy=posterior.entropy),
        found.model.shape[1],
        lambda: _recorded(found, nuisance),
        lambda: identity(model, posterior.sampler, options),
        go_on,
        # Coefficients that chains do not record are drawn again at the end.
        every=1 if nuisance is None else found.coefficients_every,
    )


def arviz_groups(
    model: SelectionModel,
    draws: Draws,
    columns: Iterable[str] | None,
    density: Callable[[FloatArray, Values], FloatArray] | None = None,
) -> Groups:
    """Return the draws as groups of variables for ArviZ, with coefficients if their columns are given.

    `density` returns log densities (n, m) of the responses given m draws of coefficients, if they are needed.
    """
    kept = slice(None)
    if columns is not None:
        every, count = draws.coefficients_every, draws.coefficients.shape[1]
        kept = slice(0, every * count, every)
    visited = draws.model[:, kept]
    posterior: Variables = {
        "included": (["term"], draws.models.astype(np.int8)[visited]),
        "size": ([], draws.size[:, kept]),
    }
    if model._priced:
        posterior["cost"] = ([], draws.cost[:, kept])
    stats: Variables = {"lp": ([], draws.log_posterior[:, kept]), "model": ([], visited)}
    groups = {"posterior": posterior, "sample_stats": stats}
    if columns is None:
        return _with_data(model, groups, {})
    return _with_coefficients(model, groups, columns, draws.coefficients, draws.nuisance, density)


def arviz_of_models(
    model: SelectionModel,
    coefficients: FloatArray,
    nuisance: Values,
    columns: Iterable[str],
    density: Callable[[FloatArray, Values], FloatArray] | None,
) -> Groups:
    """Return independent draws (m, D + 1) from enumerated models as chains, in groups for ArviZ."""

    def split(values: np.ndarray) -> np.ndarray:
        return values.reshape(CHAINS, -1, *values.shape[1:])

    starts = model.regression.term_start[:-1]
    included = np.logical_or.reduceat(coefficients != 0, starts, axis=1).astype(np.uint8)
    posterior: Variables = {
        "included": (["term"], split(included.astype(np.int8))),
        "size": ([], split(included.sum(axis=1, dtype=np.int64))),
    }
    if model._priced:
        posterior["cost"] = ([], split(np.asarray(model.space.cost(included))))
    drawn = {name: split(values) for name, values in nuisance.items()}
    return _with_coefficients(model, {"posterior": posterior}, columns, split(coefficients), drawn, density)


def _with_coefficients(
    model: SelectionModel,
    groups: dict[str, Variables],
    columns: Iterable[str],
    coefficients: FloatArray,
    nuisance: Values,
    density: Callable[[FloatArray, Values], FloatArray] | None,
) -> Groups:
    """Add coefficients (chains, m, D + 1), nuisance parameters (chains, m), and log densities if needed."""
    shown = slice(int(not model._family.has_intercept), None)
    groups["posterior"]["coefficients"] = (["coefficient"], coefficients[..., shown])
    for name, values in nuisance.items():
        sigma = name == "variance"
        groups["posterior"]["sigma" if sigma else name] = ([], np.sqrt(values) if sigma else values)
    if density is not None:
        chains, m, width = coefficients.shape
        flat = {name: values.reshape(-1) for name, values in nuisance.items()}
        values = density(coefficients.reshape(-1, width), flat).T.reshape(chains, m, -1)
        groups["log_likelihood"] = {model.design.response: (["row"], values)}
    return _with_data(model, groups, {"coefficient": list(columns)[shown]})


def _with_data(
    model: SelectionModel, groups: dict[str, Variables], coords: dict[str, Sequence[Any]]
) -> Groups:
    """Add the response, if the data are available, and labels."""
    coords["term"] = model.term_names
    response: FloatArray | None = getattr(model.data, "y", None)
    if response is not None:
        groups["observed_data"] = {model.design.response: (["row"], response)}
        coords["row"] = model.data.index.to_flat_index().tolist()
    return groups, coords


def _recorded(draws: Draws, nuisance: Nuisance | None) -> list[dict[str, np.ndarray]]:
    """Return the recorded values of each chain."""
    return [_recorded_chain(draws, chain, nuisance) for chain in range(len(draws.model))]


def _recorded_chain(draws: Draws, chain: int, nuisance: Nuisance | None) -> dict[str, np.ndarray]:
    words, index = chain_visits(draws.model[chain], draws.packed.words)
    held = {"words": words, "index": index, "log_posterior": draws.log_posterior[chain]}
    if nuisance is None:
        return held
    kept = draws.vectors.shape[0] // len(draws.model)
    vectors = draws.vectors[chain * kept : (chain + 1) * kept].toarray()
    values = {name: value[chain] for name, value in draws.nuisance.items()}
    return held | recorded_vectors(vectors, values, nuisance)

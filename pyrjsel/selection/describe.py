"""The facts and notes of a summary of selection results."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pyrjsel.space import count_models

if TYPE_CHECKING:
    from pyrjsel.selection.results import SelectionResults


def describe(results: SelectionResults) -> tuple[list[tuple[str, str]], list[str]]:
    """Return (label, value) pairs on what was fitted and how, and notes."""
    model, posterior, settings = results.model, results.posterior, results.settings
    data, space = model.data, model.space
    count = count_models(space)
    info = [
        ("Response", model.design.response),
        ("Observations", f"{model.nobs:,}"),
        ("Terms", f"{space.n_terms} ({space.n_free} free)"),
        ("Feasible models", "not counted" if count is None else f"{count:,}"),
        ("Coefficient prior", repr_short(model.coef_prior)),
        ("Model prior", repr_short(model.model_prior)),
        ("Sampler", posterior.sampler),
        ("Expected size", f"{posterior.inclusion.sum():.2f} terms"),
    ]
    if np.isfinite(space.budget):
        info.insert(4, ("Budget", f"{space.budget:g}"))
    if space.heredity:
        info.insert(4, ("Heredity", space.heredity))
    if space.max_size < space.n_terms:
        info.insert(4, ("Largest size", str(space.max_size)))
    if posterior.draws is not None:
        chains, draws = posterior.draws.model.shape
        info += [
            ("Chains x draws", f"{chains} x {draws:,}"),
            ("Burn-in, thinning", f"{settings.burn_in:,}, {settings.thin}"),
        ]
    info.append(("Seconds", f"{posterior.diagnostics.loc['all', 'seconds']:.1f}"))
    return info, _notes(results)


def repr_short(prior: object) -> str:
    """Return the repr of a prior without the parameters that are not set."""
    return repr(prior).replace(", intercept=None", "").replace(", expected_size=None", "")


def _notes(results: SelectionResults) -> list[str]:
    model, posterior = results.model, results.posterior
    data, prior = model.data, model.prior_inclusion
    notes = [f"Posterior probabilities are {posterior.estimator}."]
    if posterior.draws is None and np.any(posterior.mcse > 0):
        notes.append("MCSE is the error of the importance-sampling integrals.")
    if data.n_dropped:
        where = ", ".join(f"{name} {count}" for name, count in data.missing.items())
        notes.append(
            f"{data.n_dropped} of {data.n_rows} rows were dropped for missing values (by column: {where})."
        )
    if prior.method != "exact":
        notes.append("Prior inclusion probabilities were estimated by sampling the prior.")
    if model.dependent:
        kind = "get posterior probability 0" if model.regression.prior.rank_tol else "rest on the prior"
        notes.append(
            f"Models with linearly dependent columns {kind} (terms: {', '.join(model.dependent)})."
        )
    for terms, culprits in results.separated.items():
        notes.append(
            f"The model {' + '.join(terms) or '1'} separates the classes (through {', '.join(culprits)}): "
            "its posterior depends strongly on the coefficient prior."
        )
    return notes + posterior.notes

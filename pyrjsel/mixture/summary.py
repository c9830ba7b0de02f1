"""The facts, tables and notes of a summary of mixture results."""

from typing import Any

import numpy as np
import pandas as pd

from pyrjsel._validate import listed
from pyrjsel.mixture.protocols import MixtureModel
from pyrjsel.mixture.tables import MixtureTables
from pyrjsel.model_space import count_models, space_facts
from pyrjsel.report import covered_caption, repr_short, shown_inclusion

# What a summary says beside its tables: (label, value) pairs, and notes.
Description = tuple[list[tuple[str, str]], list[str]]

BACKGROUND_WORDS = {
    "gaussian": "gaussian: one normal distribution of all inputs",
    "independent": "independent: a normal distribution for each input",
    None: "none: densities of the selected inputs alone",
}
# A class with fewer rows than this is named in a note.
FEW_ROWS = 2


def describe(results: MixtureTables) -> Description:
    """Return (label, value) pairs on what was fitted and how, and notes."""
    model, posterior = results.model, results.posterior
    settings = posterior.settings
    chains, draws = posterior.index.shape
    info = [
        *_data_facts(model),
        *space_facts(model.space, count_models(model.space), "Inputs"),
        ("Kernels", f"{results.components} (with rows: {posterior.occupied.mean():.2f} on average)"),
        ("Background", BACKGROUND_WORDS[model.background]),
        ("Prior", repr(model.prior)),
        ("Model prior", repr_short(model.model_prior)),
        ("Proposal", model.proposal),
        ("Chains x draws", f"{chains} x {draws:,}"),
        ("Burn-in, thinning", f"{settings.burn_in:,}, {settings.thin}"),
        ("Posterior size", f"{posterior.inclusion.mean.sum():.2f} inputs"),
        settings.run_time.fact(sum(posterior.seconds)),
    ]
    return info, _notes(results)


def model_facts(model: MixtureModel) -> list[tuple[str, str]]:
    """Return (label, value) pairs on a model: data, constraints, kernels and priors."""
    return [
        *_data_facts(model),
        *space_facts(model.space, count_models(model.space), "Inputs"),
        ("Kernels", " or ".join(str(count) for count in model.components)),
        ("Background", BACKGROUND_WORDS[model.background]),
        ("Prior", repr(model.prior)),
        ("Model prior", repr_short(model.model_prior)),
    ]


def tables(results: MixtureTables, rows: pd.DataFrame) -> list[tuple[Any, ...]]:
    """Return the tables of a summary, with `rows` of the table of models, under their captions."""
    whole = pd.DataFrame({"posterior": results.posterior.probability})
    found: list[tuple[Any, ...]] = [
        shown_inclusion(results._inclusion),
        (covered_caption(whole, len(rows)), rows),
    ]
    if len(results.model.components) > 1:
        formats = dict.fromkeys(results.comparison.columns, "fixed3")
        found.append(("Numbers of kernels by the log score of rows held out", results.comparison, formats))
    return found


def _data_facts(model: MixtureModel) -> list[tuple[str, str]]:
    data = model.data
    counts = np.bincount(data.y[data.y >= 0], minlength=len(model.classes))
    rows = f"{data.n:,}"
    aside = [
        f"{count:,} {what}"
        for count, what in ((data.n_unlabelled, "without label"), (data.n_dropped, "left out"))
        if count
    ]
    facts = [
        ("Response", model.design.response),
        ("Observations", rows + (f" ({', '.join(aside)})" if aside else "")),
        ("Classes", listed([f"{name} ({n:,})" for name, n in zip(model.classes, counts, strict=True)])),
    ]
    gaps = int(np.isnan(data.X).sum())
    if gaps:
        facts.append(("Missing inputs", f"{gaps:,} of {data.X.size:,} values, imputed"))
    return facts


def _notes(results: MixtureTables) -> list[str]:
    model, posterior = results.model, results.posterior
    notes = ["Posterior probabilities are frequencies of visits."]
    if model.background is None:
        notes.append("Without a background the posterior over subsets depends on the units of the inputs.")
    if model.left_out:
        notes.append(f"Left out, since constant or missing: {listed(model.left_out)}.")
    counts = np.bincount(model.y[model.y >= 0], minlength=len(model.classes))
    few = [f"{name} ({n})" for name, n in zip(model.classes, counts, strict=True) if n < FEW_ROWS]
    if few:
        notes.append(f"Classes whose weights rest on their prior, for lack of rows: {listed(few)}.")
    stats = posterior.inclusion
    stuck = stats.stuck & model.space.free.astype(bool) & (model.prior_inclusion.probability > 0)
    for where, moved in (("every draw", stats.mean < 0.5), ("no draw", stats.mean > 0.5)):
        names = [model.term_names[j] for j in np.flatnonzero(stuck & ~moved)]
        if names:
            notes.append(f"In {where} of any chain, so that their errors are unknown: {listed(names)}.")
    return notes + posterior.notes

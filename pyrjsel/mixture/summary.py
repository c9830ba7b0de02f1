"""The facts and notes of a summary of mixture results."""

from collections.abc import Sequence

import numpy as np

from pyrjsel._validate import listed
from pyrjsel.mixture.posterior import MixturePosterior
from pyrjsel.mixture.protocols import MixtureModel
from pyrjsel.model_space import count_models, space_facts
from pyrjsel.report import repr_short
from pyrjsel.results import (
    Description,
    Facts,
    chain_facts,
    class_fact,
    row_facts,
    size_fact,
    stuck_notes,
)

BACKGROUND_WORDS = {
    "gaussian": "gaussian: one normal distribution of all inputs",
    "independent": "independent: a normal distribution for each input",
    None: "none: densities of the selected inputs alone",
}
TARGET_WORDS = {"labels": "labels given inputs", "joint": "labels and inputs"}
# A class with fewer rows than this is named in a note.
FEW_ROWS = 2


def describe(model: MixtureModel, posterior: MixturePosterior, components: int, sampler: str) -> Description:
    """Return what was fitted and how, and notes."""
    settings = posterior.settings
    info = [
        *_facts(model, [components]),
        ("Sampler", f"{sampler}, {model.proposal} proposals"),
        *chain_facts(settings, posterior.index.shape),
        ("Components in use", f"{posterior.occupied.mean():.2f} on average"),
        size_fact(posterior.inclusion.mean.sum(), model.prior_inclusion.expected_size, "inputs"),
        settings.run_time.fact(),
    ]
    return Description(info, _notes(model, posterior))


def model_facts(model: MixtureModel) -> Facts:
    """Return (label, value) pairs on a model: data, constraints, components and priors."""
    return _facts(model, model.components)


def _facts(model: MixtureModel, components: Sequence[int]) -> Facts:
    joint = [("Background", BACKGROUND_WORDS[model.background])] if model.target == "joint" else []
    return [
        *_data_facts(model),
        *space_facts(model.space, count_models(model.space), "Inputs"),
        ("Components", " or ".join(str(count) for count in components)),
        ("Target", TARGET_WORDS[model.target]),
        *joint,
        ("Component prior", repr(model.prior)),
        ("Weight prior", f"{model.weight_prior:g}"),
        ("Model prior", repr_short(model.model_prior)),
    ]


def _data_facts(model: MixtureModel) -> Facts:
    data = model.data
    facts = [
        *row_facts(model.design.response, data.n, data.n_dropped, data.n_unlabelled),
        class_fact(model.classes, data.y),
    ]
    gaps = int(np.isnan(data.X).sum())
    if gaps:
        treated = (
            "imputed" if model.target == "joint" and model.background == "gaussian" else "integrated out"
        )
        facts.append(("Missing inputs", f"{gaps:,} of {data.X.size:,} values, {treated}"))
    return facts


def _notes(model: MixtureModel, posterior: MixturePosterior) -> list[str]:
    notes = ["Posterior probabilities are frequencies of visits."]
    if model.background is None and model.target == "joint":
        notes.append("Without a background the posterior over subsets depends on the units of the inputs.")
    if model.left_out:
        notes.append(f"Left out, since constant or missing: {listed(model.left_out)}.")
    counts = np.bincount(model.y[model.y >= 0], minlength=len(model.classes))
    few = [f"{name} ({n})" for name, n in zip(model.classes, counts, strict=True) if n < FEW_ROWS]
    if few:
        notes.append(f"Classes whose weights rest on their prior, for lack of rows: {listed(few)}.")
    stats = posterior.inclusion
    stuck = stats.stuck & model.space.free.astype(bool) & (model.prior_inclusion.probability > 0)
    return [*notes, *stuck_notes(model.term_names, stuck, stats.mean, stats.mcse), *posterior.notes]

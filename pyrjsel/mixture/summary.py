"""The facts and notes of a summary of mixture results."""

import numpy as np

from pyrjsel._validate import listed
from pyrjsel.mixture.posterior import MixturePosterior
from pyrjsel.mixture.protocols import MixtureModel
from pyrjsel.model_space import count_models, space_facts
from pyrjsel.report import repr_short
from pyrjsel.results import Description, chain_facts, stuck_notes

BACKGROUND_WORDS = {
    "gaussian": "gaussian: one normal distribution of all inputs",
    "independent": "independent: a normal distribution for each input",
    None: "none: densities of the selected inputs alone",
}
TARGET_WORDS = {"labels": "labels given inputs", "joint": "labels and inputs"}
# A class with fewer rows than this is named in a note.
FEW_ROWS = 2


def describe(model: MixtureModel, posterior: MixturePosterior, components: int) -> Description:
    """Return what was fitted and how, and notes."""
    settings = posterior.settings
    info = [
        *_data_facts(model),
        *space_facts(model.space, count_models(model.space), "Inputs"),
        ("Kernels", f"{components} (with rows: {posterior.occupied.mean():.2f} on average)"),
        *_prior_facts(model),
        ("Proposal", model.proposal),
        *chain_facts(settings, posterior.index.shape),
        ("Posterior size", f"{posterior.inclusion.mean.sum():.2f} inputs"),
        settings.run_time.fact(sum(posterior.seconds)),
    ]
    return Description(info, _notes(model, posterior))


def model_facts(model: MixtureModel) -> list[tuple[str, str]]:
    """Return (label, value) pairs on a model: data, constraints, kernels and priors."""
    return [
        *_data_facts(model),
        *space_facts(model.space, count_models(model.space), "Inputs"),
        ("Kernels", " or ".join(str(count) for count in model.components)),
        *_prior_facts(model),
    ]


def _prior_facts(model: MixtureModel) -> list[tuple[str, str]]:
    joint = [("Background", BACKGROUND_WORDS[model.background])] if model.target == "joint" else []
    return [
        ("Target", TARGET_WORDS[model.target]),
        *joint,
        ("Prior", repr(model.prior)),
        ("Weight prior", f"{model.weight_prior:g}"),
        ("Model prior", repr_short(model.model_prior)),
    ]


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

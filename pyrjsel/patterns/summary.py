"""Facts, tables and notes of a summary of pattern results."""

import numpy as np
import pandas as pd

from pyrjsel._validate import listed
from pyrjsel.distributions import InverseGamma, LogNormal
from pyrjsel.patterns.groups import as_whole
from pyrjsel.patterns.priors import DEVIATION, FIRST_W, LAST_W
from pyrjsel.patterns.protocols import PatternModel
from pyrjsel.patterns.sampler import PatternPosterior
from pyrjsel.report import dropped_note
from pyrjsel.results import Description, Facts, chain_facts, class_fact, row_facts


def describe(model: PatternModel, posterior: PatternPosterior) -> Description:
    """Return the facts and notes of a summary."""
    settings = posterior.settings
    facts = [
        *model_facts(model),
        ("Sampler", posterior.sampler),
        *chain_facts(settings, posterior.draws.log_posterior.shape),
        settings.run_time.fact(),
    ]
    return Description(facts, [*_notes(model), *posterior.notes])


def model_facts(model: PatternModel) -> Facts:
    """Return (label, value) pairs on a model: data, patterns and priors."""
    groups = model.compression
    return [
        *row_facts(model.design.response, model.nobs, model.data.n_dropped),
        class_fact(model.classes, model.y),
        ("Features", str(model.features.n_features)),
        ("Patterns", f"{groups.kind}, order {model.order}"),
        ("Number of patterns", f"{model.n_patterns:,}"),
        ("Number of groups", f"{model.n_groups:,}" + ("" if groups.compressed else " (not compressed)")),
        ("Groups / patterns", f"{model.n_groups / model.n_patterns:.3f}"),
        ("Coefficient prior", f"{model.prior.family}, sigma_0 = {np.exp(model.prior.log_sigma_0):.3g}"),
        ("Scale prior", scale_text(model)),
    ]


def scale_text(model: PatternModel) -> str:
    """Return the priors of the scales as a short text."""
    scales, kind = model.prior.scales, model.prior.family
    if all(scale == scales[0] for scale in scales):
        return repr(scales[0])
    normal = [scale for scale in scales if isinstance(scale, LogNormal)]
    if len(normal) == len(scales) and len({scale.s for scale in normal}) == 1:
        first, last = normal[0], normal[-1]
        if np.allclose(np.diff([scale.w for scale in normal], n=2), 0.0):
            default = (first.w, last.w, first.s) == (FIRST_W[kind], LAST_W[kind], DEVIATION[kind])
            return f"LogNormal, w from {first.w:g} to {last.w:g}, s = {first.s:g}" + (
                " (default)" if default else ""
            )
    return "by order: " + listed([repr(scale) for scale in scales], most=3)


def tables(
    sigma: pd.DataFrame,
    compression: pd.DataFrame,
    coefficients: pd.DataFrame,
    diagnostics: pd.DataFrame,
    top: int,
) -> list[tuple[str, pd.DataFrame, dict[str, str]]]:
    """Return the tables of a summary: scales by order, and the `top` largest sums."""
    steps = compression.diff().fillna(compression)
    scales = sigma[["median", "ci_lower", "ci_upper", "mcse", "ess", "r_hat"]].copy()
    for place, name in enumerate(("patterns", "groups")):
        scales.insert(place, name, as_whole(steps[name].to_numpy()))
    scales.loc[0, "mcse"] = np.nan
    scales.index = pd.Index([f"order {o}" for o in scales.index])
    formats = {
        **dict.fromkeys(("median", "ci_lower", "ci_upper"), "ratio"),
        "mcse": "two_digits",
        **dict.fromkeys(("patterns", "groups"), "count"),
    }
    log_posterior = diagnostics.loc[["log_posterior"]].rename(index={"log_posterior": "log posterior"})
    sums = largest(coefficients, top)
    several = len(set(coefficients.index.get_level_values("class"))) > 1
    sums.index = pd.Index(
        [
            f"{pattern}: {name}" if several else pattern
            for (_, name), pattern in zip(sums.index, sums["pattern"], strict=True)
        ]
    )
    sums = sums[["patterns", "cases", "median", "sd", "ci_lower", "ci_upper"]]
    return [
        (
            "Scales, patterns and groups by order; MCSE, ESS and R-hat are those of log sigma",
            scales,
            formats,
        ),
        ("Log posterior", log_posterior, {"mcse": "two_digits"}),
        (
            f"Sums of coefficients by group: the {len(sums)} of {len(coefficients)} with the largest medians",
            sums.drop(columns="sd"),
            {"median": "fixed3", "ci_lower": "fixed3", "ci_upper": "fixed3"},
        ),
    ]


def largest(coefficients: pd.DataFrame, top: int) -> pd.DataFrame:
    """Return the `top` rows with the largest absolute medians, in descending order."""
    order = np.argsort(-np.abs(coefficients["median"].to_numpy()), kind="stable")
    return coefficients.iloc[order[:top]]


def _notes(model: PatternModel) -> list[str]:
    notes = []
    if len(model.classes) == 2:
        notes.append(
            f"Coefficients are log odds of {model.classes[1]!r}; those of {model.classes[0]!r} are 0."
        )
    notes.append(
        "A group is labelled by one of its patterns of lowest order; the likelihood depends only on the sum "
        "of its coefficients."
    )
    if any(isinstance(scale, InverseGamma) for scale in model.prior.scales):
        notes.append("Inverse gamma priors are on sigma, not on sigma^2.")
    features = model.features
    gaps = [
        f"{name} {np.count_nonzero(codes == levels.index(None)):,}"
        for name, levels, codes in zip(features.names, features.levels, features.codes.T, strict=True)
        if None in levels
    ]
    if gaps:
        notes.append(f"Missing values are a level of their own (observations by feature: {listed(gaps)}).")
    if model.data.n_dropped:
        notes.append(dropped_note(model.data.n_dropped, model.data.n_rows, model.data.missing))
    return notes

"""Results as files: what is read."""

from typing import Any

import numpy as np

from pyrjsel.design import AbsentRows, input_design_from_plain, input_rows_from_plain
from pyrjsel.mixture.model import MixtureClassifier
from pyrjsel.mixture.options import PROPOSALS, MixtureOptions
from pyrjsel.mixture.posterior import MixturePosterior
from pyrjsel.mixture.priors import LEAST_SHAPE, KernelPrior, MixturePrior
from pyrjsel.mixture.problem import BACKGROUNDS, TARGETS, Scaling
from pyrjsel.mixture.results import MixtureResults
from pyrjsel.mixture.saving import KIND
from pyrjsel.mixture.specification import Constrained, Specification
from pyrjsel.model_space import PackedModels
from pyrjsel.report import table_from_plain
from pyrjsel.report.errors import MODEL_ROWS, indicator_stats, model_stats
from pyrjsel.results import (
    Description,
    constraints_from_plain,
    model_prior_from_plain,
    options_from_plain,
)
from pyrjsel.runtime import FitSettings
from pyrjsel.storage import Content, Given, described, register

COMPARISON = ("log_score", "se", "difference", "difference_se", "error_rate")


def read_results(content: Content, given: Given) -> MixtureResults:
    """Return the results in a file."""
    content.text("class", ("MixtureClassifier",))
    model = _model(content, given)
    chosen = content.integer("chosen", low=1)
    if chosen not in model.components:
        raise content.wrong("chosen", "one of the numbers of components")
    comparison = None
    if "comparison" in content:
        comparison = table_from_plain(content, "comparison", model.components, COMPARISON)
        comparison.index.name = "components"
    elif len(model.components) > 1:
        raise content.wrong("comparison", "a table by number of components")
    said = Description.from_plain(content.part("description"))
    posterior = _posterior(content, model, chosen)
    known = said if isinstance(model.data, AbsentRows) else None
    return MixtureResults(model, posterior, chosen, comparison, known)


def _model(content: Content, given: Given) -> MixtureClassifier:
    design = input_design_from_plain(content.plain("design"), given.functions)
    data: Any = input_rows_from_plain(content.part("rows"), design, given.data)
    left_out = tuple(content.sequence("left_out"))
    scaling = _scaling(content.part("scaling"), len(design.names))
    components = content.sequence("components", (int,))
    if not components or min(components) < 1 or max(components) > data.n:
        raise content.wrong("components", f"numbers from 1 to {data.n}")
    background = content.plain("background")
    if not isinstance(background, (str, type(None))) or background not in BACKGROUNDS:
        raise content.wrong("background", f"one of {BACKGROUNDS}")
    proposal = content.text("proposal", PROPOSALS)
    target = content.text("target", TARGETS)
    kind: type[Any] = MixturePrior if target == "joint" else KernelPrior
    prior = described(content.plain("prior"), {kind.__name__: kind})
    if not isinstance(prior, kind):
        raise content.wrong("prior", "a prior of components")
    weight_prior = content.number("weight_prior", LEAST_SHAPE)
    subsets = Constrained.of(
        design,
        data,
        model_prior_from_plain(content),
        **constraints_from_plain(content.part("constraints")),
    )
    return MixtureClassifier._from_parts(
        Specification(
            design,
            data,
            left_out,
            scaling,
            tuple(components),
            target,
            background,
            proposal,
            prior,
            weight_prior,
            subsets,
        )
    )


def _scaling(content: Content, width: int) -> Scaling:
    spread = content.array("spread", float, (width,), finite=True)
    if (spread <= 0).any():
        raise content.wrong("spread", "positive")
    return Scaling(content.array("midpoint", float, (width,), finite=True), spread)


def _posterior(content: Content, model: MixtureClassifier, components: int) -> MixturePosterior:
    p, K = len(model.term_names), len(model.classes)
    gamma = content.array("gamma", np.uint8, (None, p))
    index = content.array("index", np.int32, (None, None))
    chains, draws = index.shape
    if (gamma > 1).any():
        raise content.wrong("gamma", "zeros and ones")
    if not index.size or index.min() < 0 or index.max() >= len(gamma):
        raise content.wrong("index", f"rows of {len(gamma)} subsets")
    packed = PackedModels.of(gamma)
    settings = FitSettings.from_plain(content.part("settings"))
    every = content.integer("every", low=1)
    part, kept = content.part("draws"), -(-draws // every)
    shapes = {
        "mean": (components, p),
        "variance": (components, p),
        "weight": (K, components),
        "prior": (K,),
    }
    arrays: dict[str, Any] = {
        name: part.numbers(name, (chains, kept, *shape), 0.0, 1.0)
        if name in ("weight", "prior")
        else part.array(name, float, (chains, kept, *shape))
        for name, shape in shapes.items()
    }
    for name in ("weight", "prior"):
        if (abs(arrays[name].sum(axis=-1) - 1.0) > 1e-6).any():
            raise part.wrong(name, "probabilities")
    inside = ~np.isnan(arrays["mean"])
    if not np.isfinite(arrays["mean"][inside]).all() or not (arrays["variance"][inside] > 0).all():
        raise part.wrong("variance", "positive where there is a mean")
    diagnostics = table_from_plain(content, "diagnostics", [*range(chains), "all"])
    return MixturePosterior(
        packed=packed,
        index=index,
        probability=np.bincount(index.ravel(), minlength=len(packed)) / index.size,
        log_posterior=part.numbers("log_posterior", index.shape),
        log_likelihood=part.numbers("log_likelihood", index.shape),
        occupied=part.counts("occupied", index.shape, components, np.int32),
        **arrays,
        every=every,
        inclusion=indicator_stats(index, packed),
        model_stats=model_stats(index, np.arange(min(len(packed), MODEL_ROWS))),
        diagnostics=diagnostics,
        seconds=content.seconds(),
        settings=settings,
        options=options_from_plain(content, MixtureOptions),
        ends=settings.ends_of(content),
        notes=content.sequence("notes"),
    )


register(KIND, read_results)

"""Results as files: what is read."""

import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from pyrjsel._errors import PyrjselError, PyrjselWarning, StoreError
from pyrjsel._once import catching_warnings
from pyrjsel.design import AbsentRows, Design, other_rows, rows_from_plain
from pyrjsel.priors import InverseGamma
from pyrjsel.runtime import FitSettings
from pyrjsel.selection.absent import AbsentRegression, KnownModels, RankRule
from pyrjsel.selection.audit import Audit
from pyrjsel.selection.choices import Choices
from pyrjsel.selection.draws import Draws
from pyrjsel.selection.identity import rows_of
from pyrjsel.selection.linear import LinearSelection
from pyrjsel.selection.mixtures import HyperG, HyperGN, ZellnerSiow
from pyrjsel.selection.model import Selection
from pyrjsel.selection.models import LogitSelection, PoissonSelection
from pyrjsel.selection.posterior import Moments, Posterior
from pyrjsel.selection.priors import GPrior, Normal
from pyrjsel.selection.results import TABLE_ROWS, SelectionResults
from pyrjsel.selection.saving import BY_MODEL, BY_ROW, BY_TERM, FLAGS, KIND, MOMENTS, SCHEMA
from pyrjsel.selection.spikes import SpikeSlab
from pyrjsel.space import ModelPrior, PackedModels, PriorInclusion, prior_makers
from pyrjsel.store import (
    Content,
    Given,
    described,
    digest,
    frame_from_plain,
    register,
)

CLASSES: Mapping[str, type[Selection]] = {
    kind.__name__: kind for kind in (LinearSelection, LogitSelection, PoissonSelection)
}
OWNER = "load"


COEF_PRIORS: Mapping[str, Callable[..., Any]] = {
    kind.__name__: kind for kind in (GPrior, HyperG, HyperGN, Normal, SpikeSlab, ZellnerSiow)
}


def read_results(content: Content, schema: int, given: Given) -> SelectionResults:
    """Return the results in a file; reads schemas 1 and 2."""
    kind = CLASSES[content.text("class", CLASSES)]
    design = Design.from_dict(content.plain("design"), given.functions, owner=OWNER)
    choices = _choices(content.part("choices"))
    rows = content.part("rows")
    with catching_warnings, warnings.catch_warnings():
        warnings.simplefilter("ignore", PyrjselWarning)  # all was said when the model was made
        if given.data is not None and rows.flag("summed"):
            extras = dict(design.extra_columns)
            model = kind._from_rows(design.formula, given.data, choices, extras, "drop", given.functions, 2)
            if digest(rows_of(model)) != rows.text("digest"):
                raise other_rows()
            return _results(content, model)
        data = rows_from_plain(rows, design, given.data)
        if isinstance(data, AbsentRows):
            return _results(content, _without_rows(kind, design, choices, data, content))
        model = kind.__new__(kind)
        model._build(design, data, choices, 2)
    return _results(content, model)


def _choices(content: Content) -> Choices:
    coef_prior = described(content.plain("coef_prior"), COEF_PRIORS)
    heredity = content.text("heredity", ("weak", "strong")) if "heredity" in content else None
    model_prior = described(content.plain("model_prior"), prior_makers(heredity))
    sigma_prior = described(content.plain("sigma_prior"), {"InverseGamma": InverseGamma})
    if not isinstance(model_prior, ModelPrior):
        raise content.wrong("model_prior", "a prior over models")
    if sigma_prior is not None and not isinstance(sigma_prior, InverseGamma):
        raise content.wrong("sigma_prior", "a prior of a variance")
    costs = None
    if "costs" in content:
        prices = content.part("costs")
        costs = {name: prices.number(name) for name, _ in prices.items()}
    return Choices(
        coef_prior,
        model_prior,
        costs,
        content.number("budget") if "budget" in content else None,
        tuple(content.sequence("always")),
        heredity,
        content.integer("max_size") if "max_size" in content else None,
        tuple(content.sequence("known")),
        sigma_prior,
    )


def _without_rows(
    kind: type[Selection], design: Design, choices: Choices, rows: AbsentRows, content: Content
) -> Selection:
    """Return a model that answers what it can."""
    facts = content.sequence("facts", (list,))
    if not all(len(fact) == 2 and all(isinstance(part, str) for part in fact) for fact in facts):
        raise content.wrong("facts", "pairs of text")
    n_observations = content.number("n_observations")
    if n_observations <= 0:
        raise content.wrong("n_observations", "positive")
    model: Any = kind.__new__(kind)
    model.design, model.data = design, rows
    model._facts = [(fact[0], fact[1]) for fact in facts]
    model._constrain(choices, n_observations)
    model.dependent = tuple(content.sequence("dependent"))
    sizes = [len(term.columns) for term in design.terms]
    columns, width = content.part("regression"), sum(sizes)
    scale = columns.array("scale", float, (width,), finite=True)
    if (scale <= 0).any():
        raise columns.wrong("scale", "positive")
    model.regression = AbsentRegression(
        columns.array("mean", float, (width,), finite=True),
        scale,
        np.concatenate([[1], 1 + np.cumsum(sizes)]).astype(np.intc),
        kind._family,
        RankRule(columns.number("rank_tol")),
        _log_constant(columns, model),
    )
    return model


def _log_constant(content: Content, model: Selection) -> float:
    """Return what saved marginal likelihoods leave out; NaN where an older file does not say it.

    Nothing is left out of those of gaussian responses and of single 0/1 outcomes.
    """
    if "log_constant" in content:
        return content.number("log_constant")
    single = model._family.name == "binomial" and "weights" not in model.design.extra_columns
    return 0.0 if single or isinstance(model, LinearSelection) else np.nan


# ---------------------------------------------------------------------- results


def _results(content: Content, model: Selection) -> SelectionResults:
    posterior = _posterior(content.part("posterior"), model)
    if "audit" in content:  # files did not always have it
        posterior.audit = Audit.from_plain(content.part("audit"), model.space)
    seed = np.random.SeedSequence(int.from_bytes(posterior.entropy, "little"))
    settings = FitSettings.from_plain(content.part("settings"), OWNER, seed)
    separated = {}
    for pair in content.sequence("separated", (list,)):
        if len(pair) != 2 or not all(isinstance(names, list) for names in pair):
            raise content.wrong("separated", "pairs of terms")
        terms, culprits = (tuple(str(name) for name in names) for names in pair)
        separated[terms] = culprits
    options = None
    if "options" in content:
        options = _options(content.part("options"), model, posterior.sampler)
        posterior.ends = settings.ends_of(content)
    results = SelectionResults(model, posterior, settings, separated, options)
    median, width = content.part("median"), model.regression.n_columns
    gamma = _zeros_and_ones(median, "gamma", (len(model.term_names),))
    problem = median.text("problem") if "problem" in median else None
    # What is worked out from rows, where it is asked for, was worked out before it was saved.
    results.__dict__["_median"] = (gamma, problem)
    if posterior.draws is None:
        coefficients = content.array("averaged", float, (None, width))
        variance = None
        if "averaged variance" in content:
            variance = content.array("averaged variance", float, (len(coefficients),))
        if not len(coefficients):
            raise content.wrong("averaged", "draws")
        results.__dict__["_averaged"] = (coefficients, variance)
    if "prior inclusion" in content:
        results.__dict__["prior_inclusion"] = _prior_inclusion(content.part("prior inclusion"), model)
    elif (
        isinstance(model.regression, AbsentRegression) and model._lacks_models and posterior.draws is not None
    ):
        # Files did not always have it.
        unknown = np.full(len(model.term_names), np.nan)
        results.__dict__["prior_inclusion"] = PriorInclusion(unknown, unknown, "unknown", None, np.nan)
    if isinstance(model.regression, AbsentRegression):
        rows = min(TABLE_ROWS, posterior.odds.size)
        known = content.part("models")
        results.__dict__["_marginal"] = KnownModels(
            model.regression,
            posterior.packed[:rows],
            known.array("log_marginal", float, (rows,)),
            known.array("deviance", float, (rows,)),
        )
    return results


def _prior_inclusion(content: Content, model: Selection) -> PriorInclusion:
    shape = (len(model.term_names),)
    probability = content.array("probability", float, shape)
    if np.any((probability < 0) | (probability > 1)):
        raise content.wrong("probability", "probabilities")
    count = content.text("n_models") if "n_models" in content else None
    if count is not None and not count.isdecimal():
        raise content.wrong("n_models", "a number in digits")
    return PriorInclusion(
        probability,
        content.array("mcse", float, shape),
        content.text("method", ("exact", "sampled", "unknown")),
        None if count is None else int(count),
        float(probability.sum()),
    )


def _options(content: Content, model: Selection, sampler: str) -> Any:
    given = {name: described(value, {}) for name, value in content.items()}
    try:
        kind = model._samplers[sampler][0]
        # What options that the file does not know are in earlier versions: chains go on as they were drawn.
        return kind(**{**getattr(kind, "before", {}), **given})
    except (KeyError, PyrjselError, TypeError) as error:
        raise content.wrong("options", "those of the sampler") from error


def _zeros_and_ones(content: Content, name: str, shape: tuple[int | None, ...]) -> np.ndarray:
    found = content.array(name, np.uint8, shape)
    if (found > 1).any():
        raise content.wrong(name, "zeros and ones")
    return found


def _posterior(content: Content, model: Selection) -> Posterior:
    n_terms, width = len(model.term_names), model.regression.n_columns
    packed = PackedModels.of(_zeros_and_ones(content, "gamma", (None, n_terms)))
    m = len(packed)
    rows = len(content.array("odds", float, (None,)))
    if not 1 <= rows <= m:
        raise content.wrong("odds", f"those of 1 to {m} models")

    arrays: dict[str, Any] = {
        name: content.array(name, float, (size,))
        for names, size in ((BY_MODEL, m), (BY_ROW, rows), (BY_TERM, n_terms))
        for name in names
    }
    arrays.update({name: content.array(name, bool, (n_terms,)) for name in FLAGS})
    probability = content.array("probability", float, (m,), finite=True)
    if (probability < 0).any() or not 0.99 < probability.sum() < 1.01:
        raise content.wrong("probability", "probabilities")
    moments = content.array("moments", float, (len(MOMENTS), width))
    return Posterior(
        sampler=content.text("sampler"),
        packed=packed,
        **arrays,
        log_marginal=content.array("log_marginal", float, (m,)) if "log_marginal" in content else None,
        moments=Moments(*moments),
        draws=_draws(content.part("draws"), model, packed) if "draws" in content else None,
        diagnostics=_diagnostics(content),
        estimator=content.text("estimator"),
        entropy=content.raw("entropy", 16),
        pairs=content.integer("pairs"),
        notes=content.sequence("notes"),
        excluded=content.array("excluded", float, (n_terms,)) if "excluded" in content else None,
    )


def _diagnostics(content: Content) -> pd.DataFrame:
    frame = frame_from_plain(content.part("diagnostics"))
    if not len(frame) or "seconds" not in frame:
        raise content.wrong("diagnostics", "a table with seconds")
    return frame


def _draws(content: Content, model: Selection, packed: PackedModels) -> Draws:
    index = content.array("model", np.int32, (None, None))
    chains, draws = index.shape
    if not index.size or index.min() < 0 or index.max() >= len(packed):
        raise content.wrong("model", f"rows of {len(packed)} models")
    every = content.integer("coefficients_every", low=1)
    kept = -(-draws // every)
    vectors = _sparse(content.part("coefficients"), chains * kept, model.regression.n_columns)
    variance = content.array("variance", float, (chains, kept)) if "variance" in content else None
    if (variance is None) != (not isinstance(model, LinearSelection)):
        raise StoreError("its error variances are not those of its family")
    return Draws(
        index,
        packed,
        np.concatenate([model.space.cost(block) for block in packed.blocks()]),
        content.array("log_posterior", float, (chains, draws)),
        vectors,
        every,
        variance,
    )


def _sparse(content: Content, rows: int, width: int) -> sparse.csr_array:
    """Return compressed sparse rows (rows, width)."""
    indptr = content.array("indptr", np.int64, (rows + 1,))
    values = content.array("values", float, (None,))
    indices = content.array("indices", np.int32, values.shape)
    if indptr[0] != 0 or indptr[-1] != values.size or (np.diff(indptr) < 0).any():
        raise content.wrong("indptr", f"from 0 to {values.size}, rising")
    if indices.size and (indices.min() < 0 or indices.max() >= width):
        raise content.wrong("indices", f"columns below {width}")
    return sparse.csr_array((values, indices, indptr), shape=(rows, width))


register(KIND, SCHEMA, read_results)

"""Loading of saved results."""

import warnings
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import scipy

from pyrjsel._errors import PyrjselWarning
from pyrjsel._once import catching_warnings
from pyrjsel._typing import ByteArray, FloatArray
from pyrjsel.design import AbsentRows, Design, other_rows, rows_from_plain
from pyrjsel.distributions import InverseGamma
from pyrjsel.families import Family, Student, Values
from pyrjsel.model_space import PackedModels, PriorInclusion, PriorSizes
from pyrjsel.report import table_from_plain
from pyrjsel.results import (
    TABLE_ROWS,
    constraints_from_plain,
    model_prior_from_plain,
    options_from_plain,
    pairs_from_plain,
)
from pyrjsel.runtime import FitSettings
from pyrjsel.selection.comparable import rows_of
from pyrjsel.selection.models.base import Selection
from pyrjsel.selection.models.linear import LinearSelection
from pyrjsel.selection.models.registry import CLASSES
from pyrjsel.selection.models.without_data import AbsentRegression, KnownModels, RankRule
from pyrjsel.selection.posterior import Audit, Draws, Moments, Posterior
from pyrjsel.selection.priors.registry import COEF_PRIORS
from pyrjsel.selection.regression.chunked import ChunkedRegression
from pyrjsel.selection.regression.columns import starts_of
from pyrjsel.selection.results.checks.dispersion import Dispersion
from pyrjsel.selection.results.results import SelectionResults
from pyrjsel.selection.results.saving import FLAGS, KIND, MOMENTS
from pyrjsel.selection.results.tables import Known
from pyrjsel.selection.samplers.enumeration.chunks import ChunksSampler
from pyrjsel.selection.samplers.registry import samplers_of
from pyrjsel.selection.specification import Choices
from pyrjsel.storage import (
    Content,
    Given,
    described,
    digest,
    register,
)

# Tolerance for agreement of dependent figures; probabilities below `LEAST` have fewer digits.
ROUNDING, LEAST = 1e-6, 1e-290
# Families of which users choose something, and those that they can choose in place of that of a class.
INSTEAD: Mapping[type[Selection], type[Family]] = {LinearSelection: Student}
FAMILIES = {
    kind.__name__: kind for kind in (*(type(model._family) for model in CLASSES.values()), *INSTEAD.values())
}
NUISANCE = {name for kind in FAMILIES.values() for name in kind().nuisance.names}


def read_results(content: Content, given: Given) -> SelectionResults:
    """Return the results in a file."""
    kind = CLASSES[content.text("class", CLASSES)]
    design = Design.from_dict(content.plain("design"), given.functions)
    choices = _choices(content.part("choices"), kind)
    rows = content.part("rows")
    with catching_warnings, warnings.catch_warnings():
        warnings.simplefilter("ignore", PyrjselWarning)  # warnings were issued when the model was made
        if given.data is not None and rows.flag("summed"):
            extras = dict(design.extra_columns)
            listed = [term.name for term in design.terms]
            model: Selection = kind._from_rows(
                design.formula, given.data, choices, extras, "drop", given.functions, listed
            )
            if digest(rows_of(model)) != rows.text("digest"):
                raise other_rows()
            return _results(content, model)
        data = rows_from_plain(rows, design, given.data)
        if isinstance(data, AbsentRows):
            return _results(content, _without_rows(kind, design, choices, data, content))
        model = kind._from_parts(design, data, choices)
    return _results(content, model)


def _choices(content: Content, kind: type[Selection]) -> Choices:
    coef_prior = described(content.plain("coef_prior"), COEF_PRIORS)
    heredity = content.text("heredity", ("weak", "strong")) if "heredity" in content else None
    sigma_prior = described(content.plain("sigma_prior"), {"InverseGamma": InverseGamma})
    if sigma_prior is not None and not isinstance(sigma_prior, InverseGamma):
        raise content.wrong("sigma_prior", "a prior of a variance")
    family = described(content.plain("family"), FAMILIES) if "family" in content else None
    if family is not None and not isinstance(family, INSTEAD.get(kind, type(kind._family))):
        raise content.wrong("family", "that of the class")
    return Choices(
        coef_prior=coef_prior,
        model_prior=model_prior_from_plain(content),
        heredity=heredity,
        sigma_prior=sigma_prior,
        family=family,
        **constraints_from_plain(content),
    )


def _without_rows(
    kind: type[Selection], design: Design, choices: Choices, rows: AbsentRows, content: Content
) -> Selection:
    """Return the model without its training data."""
    n_observations = content.number("n_observations")
    if n_observations <= 0:
        raise content.wrong("n_observations", "positive")
    dependent = tuple(content.sequence("dependent"))
    if not {*dependent} <= {term.name for term in design.terms}:
        raise content.wrong("dependent", "terms of the model")
    sizes, family = [len(term.columns) for term in design.terms], kind._family_of(design.left, choices)
    columns, width = content.part("regression"), sum(sizes) * family.predictors
    scale = columns.array("scale", float, (width,), finite=True)
    if (scale <= 0).any():
        raise columns.wrong("scale", "positive")
    regression = AbsentRegression(
        columns.array("mean", float, (width,), finite=True),
        scale,
        starts_of(sizes, family.predictors),
        family,
        RankRule(columns.number("rank_tol")),
        columns.number("log_constant"),
        chunked=content.part("posterior").text("sampler") == ChunksSampler.name,
    )
    facts = pairs_from_plain(content, "facts")
    g = columns.number("g") if "g" in columns else None
    return kind._without_rows(design, rows, choices, n_observations, facts, dependent, regression, g)


def _check_models(anew: Content, model: Selection) -> None:
    """Raise :class:`StoreError` if the starts of a restarted run are not models."""
    for name in ("found", "starts"):
        gamma = anew.array(name, np.uint8, (None, model.space.n_terms))
        if (gamma > 1).any() or not model.space.feasible(gamma).all():
            raise anew.wrong(name, "models of the space")


# ---------------------------------------------------------------------- results


def _results(content: Content, model: Selection) -> SelectionResults:
    posterior = _posterior(content.part("posterior"), model)
    if "audit" in content:
        posterior.audit = Audit.from_plain(content.part("audit"), model.space)
    seed = np.random.SeedSequence(int.from_bytes(posterior.entropy, "little"))
    settings = FitSettings.from_plain(content.part("settings"), seed)
    if settings.anew is not None:
        _check_models(content.part("settings").part("anew"), model)
    separated = {}
    for pair in content.sequence("separated", (list,)):
        if len(pair) != 2 or not all(isinstance(names, list) for names in pair):
            raise content.wrong("separated", "pairs of terms")
        terms, culprits = (tuple(names) for names in pair)
        if not {*terms, *culprits} <= set(model.term_names):
            raise content.wrong("separated", "terms of the model")
        separated[terms] = culprits
    options = None
    if "options" in content:
        options = options_from_plain(content, samplers_of(model.regression)[posterior.sampler].options)
        posterior.ends = settings.ends_of(content)
    dispersion = _dispersion(content.part("dispersion")) if "dispersion" in content else None
    known = Known(
        separated,
        dispersion,
        _median(content.part("median"), model, posterior),
        _averaged(content, model) if posterior.draws is None else None,
        _prior_inclusion(content, model),
        _prior_sizes(content, model),
        _single(content.part("models"), model, posterior),
    )
    return model._results_class()(model, posterior, settings, options, known)


def _median(content: Content, model: Selection, posterior: Posterior) -> tuple[ByteArray, str | None]:
    """Return the median probability model, or its replacement and the reason."""
    gamma = _zeros_and_ones(content, "gamma", (len(model.term_names),))
    problem = content.text("problem") if "problem" in content else None
    # Quantities that need the training data were computed before saving.
    usual = ((posterior.inclusion >= 0.5) | (model.space.free == 0)).astype(np.uint8)
    if not model.space.feasible(gamma) or (problem is None) != np.array_equal(gamma, usual):
        raise content.wrong("gamma", "the median probability model, or one in its place")
    return gamma, problem


def _averaged(content: Content, model: Selection) -> tuple[FloatArray, Values]:
    """Return draws of coefficients and nuisance parameters after enumeration."""
    coefficients = content.numbers("averaged", (None, model.regression.n_columns))
    nuisance = _nuisance(content, model, "averaged {}", (len(coefficients),))
    if not len(coefficients):
        raise content.wrong("averaged", "draws")
    return coefficients, nuisance


def _single(content: Content, model: Selection, posterior: Posterior) -> KnownModels | None:
    """Return the saved values of single models."""
    if not isinstance(model.regression, AbsentRegression | ChunkedRegression):
        return None
    rows = min(TABLE_ROWS, posterior.odds.size)
    return KnownModels(
        model.regression,
        posterior.packed[:rows],
        content.numbers("log_marginal", (rows,), infinite=True),
        content.numbers("deviance", (rows,), infinite=True),
    )


def _prior_sizes(content: Content, model: Selection) -> PriorSizes | None:
    """Return the saved prior over sizes, which depends on the training data."""
    shape = (model.space.n_terms + 1,)
    if "prior sizes" in content:
        part = content.part("prior sizes")
        probability, mcse = (part.array(name, float, shape) for name in ("probability", "mcse"))
        known = not np.isnan(probability).all()  # all are unknown or none
        if known and not (np.all((probability >= 0) & (mcse >= 0)) and abs(probability.sum() - 1) < ROUNDING):
            raise part.wrong("probability", "probabilities of all sizes and their errors")
        return PriorSizes(probability, mcse)
    return None


def _dispersion(content: Content) -> Dispersion:
    found = Dispersion(content.number("statistic"), content.integer("df", low=1), content.number("p_value"))
    if not (found.statistic >= 0 and 0 <= found.p_value <= 1):
        raise content.wrong("statistic", "a chi-square with its p-value")
    return found


def _prior_inclusion(content: Content, model: Selection) -> PriorInclusion | None:
    """Return the saved prior inclusion probabilities, which depend on the training data."""
    shape = (len(model.term_names),)
    if "prior inclusion" not in content:
        return None
    content = content.part("prior inclusion")
    method = content.text("method", ("exact", "sampled", "unknown"))
    probability = content.numbers("probability", shape, 0.0, 1.0, unknown=method != "exact")
    count = content.text("n_models") if "n_models" in content else None
    if count is not None and not count.isdecimal():
        raise content.wrong("n_models", "a number in digits")
    return PriorInclusion(
        probability,
        content.numbers("mcse", shape, 0.0, unknown=True),
        method,
        None if count is None else int(count),
        float(probability.sum()),
    )


def _zeros_and_ones(content: Content, name: str, shape: tuple[int | None, ...]) -> np.ndarray:
    found = content.array(name, np.uint8, shape)
    if (found > 1).any():
        raise content.wrong(name, "zeros and ones")
    return found


def _packed(content: Content, n_terms: int) -> PackedModels:
    """Return the models, which are packed if there are many terms."""
    if "words" not in content:
        return PackedModels.of(_zeros_and_ones(content, "gamma", (None, n_terms)))
    found = PackedModels(content.array("words", np.uint64, (None, None)), n_terms)
    if not found.valid():
        raise content.wrong("words", f"models of {n_terms} terms")
    return found


def _posterior(content: Content, model: Selection) -> Posterior:
    n_terms, width = len(model.term_names), model.regression.n_columns
    packed = _packed(content, n_terms)
    m = len(packed)
    rows = len(content.array("odds", float, (None,)))
    if not 1 <= rows <= m:
        raise content.wrong("odds", f"those of 1 to {m} models")

    share: dict[str, Any] = {"low": 0.0, "high": 1.0}
    error: dict[str, Any] = {"low": 0.0, "unknown": True}
    arrays: dict[str, Any] = {
        "probability": content.numbers("probability", (m,), **share),
        "mcse": content.numbers("mcse", (m,), **error),
        "odds": content.numbers("odds", (rows,), 0.0, infinite=True),
        "odds_mcse": content.numbers("odds_mcse", (rows,), infinite=True, **error),
        "inclusion": content.numbers("inclusion", (n_terms,), **share),
        "inclusion_mcse": content.numbers("inclusion_mcse", (n_terms,), **error),
        "ess": content.numbers("ess", (n_terms,), infinite=True, **error),
        "r_hat": content.numbers("r_hat", (n_terms,), infinite=True, **error),
        **{name: content.array(name, bool, (n_terms,)) for name in FLAGS},
    }
    odds = arrays["odds"]
    if (odds[1:] < (1.0 - 1e-9) * odds[:-1]).any():  # as in tables of models
        raise content.wrong("odds", "rising, since the most probable models come first")
    draws = _draws(content.part("draws"), model, packed) if "draws" in content else None
    chains = [] if draws is None else range(len(draws.model))
    diagnostics = table_from_plain(content, "diagnostics", [*chains, "all"])
    if "seconds" not in diagnostics:
        raise content.wrong("diagnostics", "a table with seconds")
    pairs = content.integer("pairs")
    if pairs % 2:
        raise content.wrong("pairs", "an even int")
    posterior = Posterior(
        sampler=content.text("sampler", samplers_of(model.regression)),
        packed=packed,
        **arrays,
        log_marginal=_log_marginal(content, m),
        moments=_moments(content, width),
        draws=draws,
        diagnostics=diagnostics,
        estimator=content.text("estimator"),
        entropy=content.raw("entropy", 16),
        pairs=pairs,
        notes=content.sequence("notes"),
        excluded=content.numbers("excluded", (n_terms,), **share) if "excluded" in content else None,
    )
    _check_figures(content, posterior, model)
    return posterior


def _log_marginal(content: Content, m: int) -> FloatArray | None:
    """Return log marginal likelihoods, -inf for models that do not exist."""
    if "log_marginal" not in content:
        return None
    found = content.numbers("log_marginal", (m,), infinite=True)
    if (found == np.inf).any():
        raise content.wrong("log_marginal", "below infinity")
    return found


def _moments(content: Content, width: int) -> Moments:
    found = Moments(*content.numbers("moments", (len(MOMENTS), width), unknown=True, infinite=True))
    positive = found.prob_positive
    spread = np.concatenate([found.sd, found.sd_included])
    infinite = np.isinf(np.concatenate([found.mean, found.mean_included]))
    if (spread < 0).any() or infinite.any() or not ((positive >= 0) & (positive <= 1)).all():
        raise content.wrong("moments", "those of coefficients")
    return found


def _check_figures(content: Content, posterior: Posterior, model: Selection) -> None:
    """Raise :class:`StoreError` if dependent figures are inconsistent.

    Between machines they differ by rounding of sums over at most 2**20 models.
    """
    probability, odds, packed = posterior.probability, posterior.odds, posterior.packed
    if abs(probability.sum() - 1.0) > ROUNDING:
        raise content.wrong("probability", "probabilities of all models")
    if posterior.draws is None:
        # Visited models are sorted by mass if that is known, which can differ from the order of visits.
        # Models with the same column space have equal probability up to rounding.
        if (np.diff(probability) > ROUNDING * probability[1:]).any():
            raise content.wrong("probability", "probabilities of all models, the largest first")
        likely = probability[: odds.size] > LEAST
        share = probability[: odds.size][likely] / probability[0]
        if not np.allclose(odds[likely] * share, 1.0, rtol=ROUNDING):
            raise content.wrong("odds", "those of the probabilities")
    if len(np.unique(packed.words, axis=0)) < len(packed):
        raise content.wrong("gamma", "different models")
    if not all(np.all(model.space.feasible(block)) for block in packed.blocks()):
        raise content.wrong("gamma", "models that the constraints allow")
    if posterior.excluded is not None and not np.allclose(
        posterior.excluded + posterior.inclusion, 1.0, rtol=0.0, atol=ROUNDING
    ):
        raise content.wrong("excluded", "one less the probabilities of inclusion")
    if posterior.draws is None:
        inside = sum(
            block_probability @ block
            for block_probability, block in zip(_blocks(probability, packed), packed.blocks(), strict=True)
        )
        if not np.allclose(inside, posterior.inclusion, rtol=0.0, atol=ROUNDING):
            raise content.wrong("inclusion", "sums of the probabilities of models")
        return
    index = posterior.draws.model
    visits = np.bincount(index.ravel(), minlength=len(packed)) / index.size
    if not np.allclose(visits, probability, rtol=0.0, atol=ROUNDING):
        raise content.wrong("probability", "frequencies of the draws")


def _blocks(values: FloatArray, packed: PackedModels) -> Iterator[FloatArray]:
    at = 0
    for block in packed.blocks():
        yield values[at : at + len(block)]
        at += len(block)


def _draws(content: Content, model: Selection, packed: PackedModels) -> Draws:
    index = content.array("model", np.int32, (None, None))
    chains, draws = index.shape
    if not index.size or index.min() < 0 or index.max() >= len(packed):
        raise content.wrong("model", f"rows of {len(packed)} models")
    every = content.integer("coefficients_every", low=1)
    kept = -(-draws // every)
    vectors = _sparse(content.part("coefficients"), chains * kept, model.regression.n_columns)
    return Draws(
        index,
        packed,
        np.concatenate([model.space.cost(block) for block in packed.blocks()]),
        content.numbers("log_posterior", (chains, draws)),
        vectors,
        every,
        _nuisance(content, model, "{}", (chains, kept)),
    )


def _nuisance(
    content: Content, model: Selection, member: str, shape: tuple[int, ...]
) -> dict[str, FloatArray]:
    """Return draws of the nuisance parameters of a model, from the entries of their names."""
    own = model._family.nuisance.names
    for name in NUISANCE:
        if (member.format(name) in content) != (name in own):
            raise content.wrong(member.format(name), "that of a family with this parameter")
    return {name: content.numbers(member.format(name), shape, 0.0) for name in own}


def _sparse(content: Content, rows: int, width: int) -> "scipy.sparse.csr_array":
    """Return compressed sparse rows (rows, width)."""
    indptr = content.array("indptr", np.int64, (rows + 1,))
    values = content.numbers("values", (None,))
    indices = content.array("indices", np.int32, values.shape)
    if indptr[0] != 0 or indptr[-1] != values.size or (np.diff(indptr) < 0).any():
        raise content.wrong("indptr", f"from 0 to {values.size}, rising")
    if indices.size and (indices.min() < 0 or indices.max() >= width):
        raise content.wrong("indices", f"columns below {width}")
    return scipy.sparse.csr_array((values, indices, indptr), shape=(rows, width))


register(KIND, read_results)

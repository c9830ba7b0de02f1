"""Saving of results."""

import numpy as np
import scipy

from pyrjsel.design import rows_to_plain, sums_to_plain
from pyrjsel.results import constraints_to_plain
from pyrjsel.selection.comparable import rows_of
from pyrjsel.selection.posterior import WHOLE, Posterior
from pyrjsel.selection.protocols import SelectionModel
from pyrjsel.selection.regression.summed_rows import SummedRows
from pyrjsel.selection.results.tables import PosteriorTables
from pyrjsel.storage import Plain, digest, frame_to_plain, plain

KIND = "selection results"
# Arrays of a posterior by shape: one number per model, per listed model, or per term.
BY_MODEL, BY_ROW = ("probability", "mcse"), ("odds", "odds_mcse")
BY_TERM = ("inclusion", "inclusion_mcse", "ess", "r_hat")
FLAGS = ("stuck", "disagree")
MOMENTS = ("mean", "sd", "prob_positive", "mean_included", "sd_included")


def content_of(results: PosteriorTables, with_rows: bool) -> Plain:
    """Return the content of a results file."""
    model, posterior = results.model, results.posterior
    table = results.models
    averaged, nuisance = results._averaged if posterior.draws is None else (None, {})
    median, problem = results._median
    return {
        "class": type(model).__name__,
        "design": model.design.to_dict(),
        "choices": _choices(model),
        "rows": _rows(model, with_rows),
        "n_observations": float(model.space.context.n_observations),
        "facts": [list(fact) for fact in model._response_facts()],
        "regression": {
            "mean": model.regression.mean,
            "scale": model.regression.scale,
            "rank_tol": float(model.regression.prior.rank_tol),
            "log_constant": float(model.regression.log_constant),
            "g": model.g,
        },
        "dependent": list(model.dependent),
        "settings": results.settings.to_plain(),
        "options": None if results.options is None else plain(vars(results.options)),
        "ends": None if posterior.ends is None else posterior.ends.to_plain(),
        "posterior": _posterior(posterior),
        "audit": None if posterior.audit is None else posterior.audit.to_plain(),
        "models": {
            "log_marginal": results._log_marginals(len(table)),
            "deviance": table["deviance"].to_numpy(dtype=float),
        },
        "prior inclusion": _prior_inclusion(results),
        "prior sizes": _prior_sizes(results),
        "separated": [[list(terms), list(culprits)] for terms, culprits in results.separated.items()],
        "dispersion": None if results.dispersion is None else vars(results.dispersion),
        "median": {"gamma": median, "problem": problem},
        "averaged": averaged,
        **{f"averaged {name}": value for name, value in nuisance.items()},
    }


def _unlisted(results: PosteriorTables) -> bool:
    """Whether the prior is over models that depend on the data and are not all listed."""
    told = results.posterior.draws, results._known.prior_inclusion
    return results.model._lacks_models and any(each is not None for each in told)


def _prior_inclusion(results: PosteriorTables) -> Plain:
    """Return the prior inclusion probabilities if they depend on the training data."""
    if not _unlisted(results):
        return None
    prior = results.prior_inclusion
    return {
        "probability": prior.probability,
        "mcse": prior.mcse,
        "method": prior.method,
        "n_models": None if prior.n_models is None else str(prior.n_models),
    }


def _prior_sizes(results: PosteriorTables) -> Plain:
    """Return the prior over the number of terms if it depends on the training data."""
    if not _unlisted(results):
        return None
    return {"probability": results._prior_sizes.probability, "mcse": results._prior_sizes.mcse}


def _choices(model: SelectionModel) -> Plain:
    choices = model._choices
    return {
        "coef_prior": plain(model.coef_prior),
        "model_prior": plain(model.model_prior),
        "sigma_prior": plain(choices.sigma_prior),
        "family": plain(choices.family),
        "heredity": choices.heredity,
        **constraints_to_plain(
            choices.costs, choices.budget, choices.always, choices.max_size, choices.known
        ),
    }


def _rows(model: SelectionModel, with_rows: bool) -> Plain:
    if isinstance(model.data, SummedRows):
        return sums_to_plain(model.data, with_rows, digest(rows_of(model)))
    return rows_to_plain(model.data, with_rows)


def _posterior(posterior: Posterior) -> Plain:
    draws = posterior.draws
    kept = (*BY_MODEL, *BY_ROW, *BY_TERM, *FLAGS, "log_marginal", "excluded")
    few = posterior.packed.n_terms <= WHOLE
    return {
        **{name: getattr(posterior, name) for name in kept},
        **({"gamma": posterior.gamma} if few else {"words": posterior.packed.words}),
        **{name: getattr(posterior, name) for name in ("sampler", "estimator", "entropy", "pairs")},
        "notes": list(posterior.notes),
        "moments": np.stack([getattr(posterior.moments, name) for name in MOMENTS]),
        "diagnostics": frame_to_plain(posterior.diagnostics),
        "draws": None
        if draws is None
        else {
            "model": draws.model,
            "log_posterior": draws.log_posterior,
            "coefficients": _sparse(draws.vectors),
            "coefficients_every": int(draws.coefficients_every),
            **draws.nuisance,
        },
    }


def _sparse(vectors: "scipy.sparse.csr_array") -> Plain:
    return {
        "indptr": vectors.indptr.astype(np.int64),
        "indices": vectors.indices.astype(np.int32),
        "values": vectors.data,
    }

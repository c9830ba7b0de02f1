"""Facts and notes of a summary of selection results."""

from __future__ import annotations

import numpy as np

from pyrjsel._validate import listed
from pyrjsel.model_space import count_models, space_facts
from pyrjsel.report import dropped_note, repr_short
from pyrjsel.results import Description, Facts, chain_facts, row_facts, size_fact, stuck_notes
from pyrjsel.selection.posterior import Moments, Posterior
from pyrjsel.selection.protocols import SelectionModel
from pyrjsel.selection.results.checks.dispersion import text as dispersion_text
from pyrjsel.selection.results.tables import PosteriorTables
from pyrjsel.selection.samplers.recording.recorder import VISITS_ALONE
from pyrjsel.selection.samplers.runs import note_of
from pyrjsel.selection.specification import LEAST_G

# Number of separated models with separate notes.
SEPARATED_NOTES = 3
# Total probability of models without integrals that is usual after enumeration.
LITTLE = 1e-6


def describe(results: PosteriorTables) -> Description:
    """Return facts and notes."""
    model, posterior, settings = results.model, results.posterior, results.settings
    count = results.prior_inclusion.n_models if model._lacks_models else count_models(model.space)
    info = [*_model_facts(model, count), ("Sampler", posterior.sampler)]
    if posterior.draws is not None:
        info += chain_facts(settings, posterior.draws.model.shape)
    # After enumeration they are known only from draws, which would make the summary random.
    if posterior.draws is not None and posterior.draws.nuisance:
        gaussian = posterior.draws.variance is not None
        for name, (mean, _, low, high) in (results.sigma[:1] if gaussian else results.nuisance).iterrows():
            interval = f"{mean:.4g} ({low:.4g}, {high:.4g})"
            info.append((f"{str(name).capitalize()}, 95 % interval", interval))
    if results.dispersion is not None:
        found = results.dispersion
        info.append(("Pearson chi2 / df", f"{found.ratio:.2f} ({found.df:,} df, best model)"))
    info += [
        size_fact(posterior.inclusion.sum(), results.prior_inclusion.expected_size, "terms"),
        settings.run_time.fact(),
    ]
    return Description(info, _notes(results))


def model_facts(model: SelectionModel) -> Facts:
    """Return (label, value) pairs on a model: data, constraints and priors."""
    return _model_facts(model, count_models(model.space))


def _model_facts(model: SelectionModel, count: int | None) -> Facts:
    priors = {**model._priors(), "model prior": model.model_prior}
    return [
        *_data_facts(model),
        *space_facts(model.space, count),
        *((name.capitalize(), repr_short(prior)) for name, prior in priors.items()),
    ]


def _data_facts(model: SelectionModel) -> Facts:
    facts = row_facts(model.design.response, model.nobs, model.data.n_dropped) + model._response_facts()
    for extra in ("weights", "offset"):
        if extra in model.design.extra_columns:
            facts.append((extra.capitalize(), model.design.extra_columns[extra] or "an array"))
    return facts


def _notes(results: PosteriorTables) -> list[str]:
    model, posterior = results.model, results.posterior
    data, prior = model.data, results.prior_inclusion
    notes = [f"Posterior probabilities are {posterior.estimator}."]
    notes += _integral_notes(posterior)
    if model.g is not None and model.g < LEAST_G:
        notes.append(
            "The g of all models is at its bound, 0: the marginal likelihood decreases in it. Coefficients "
            "are then 0, and posterior probabilities of models are prior ones, which say nothing of terms."
        )
    if posterior.draws is not None and posterior.estimator != VISITS_ALONE:
        notes.append(
            "The MCSE of averages covers the visited models and their neighbours only, not modes that no "
            "chain has visited."
        )
    notes += _lacking_moments(posterior.moments)
    if data.n_dropped:
        notes.append(dropped_note(data.n_dropped, data.n_rows, data.missing))
    if prior.method == "sampled":
        notes.append("Prior inclusion probabilities were estimated by sampling the prior.")
    if prior.method == "unknown":
        notes.append("Prior inclusion probabilities and Bayes factors are unknown.")
    if model.dependent:
        kind = "get prior and posterior probability 0" if model._lacks_models else "rest on the prior"
        notes.append(f"Models with linearly dependent columns {kind} (terms: {listed(model.dependent)}).")
    # A term that is in no feasible model has a known inclusion probability of 0.
    stuck = posterior.stuck & (prior.probability > 0)
    notes += stuck_notes(model.term_names, stuck, posterior.inclusion, posterior.inclusion_mcse)
    notes += note_of(results.settings, model.space)
    audited = None if posterior.audit is None else posterior.audit.line()
    if audited is not None:
        notes.append(audited)
    for terms, culprits in list(results.separated.items())[:SEPARATED_NOTES]:
        notes.append(
            f"{model.regression.family.apart} by {', '.join(culprits)} in the model "
            f"{' + '.join(terms) or '1'}: its posterior depends strongly on the coefficient prior."
        )
    more = len(results.separated) - SEPARATED_NOTES
    if more > 0:
        notes.append(f"The same holds for {more} more of the best models.")
    if results.dispersion is not None and results.dispersion.over:
        notes.append(dispersion_text(results.dispersion, model.regression.family))
    if results._median_problem is not None:
        notes.append(results._median_problem)
    return notes + posterior.notes


def _lacking_moments(moments: Moments) -> list[str]:
    """Return a note if coefficients have no posterior mean or standard deviation because of heavy tails."""
    if np.isnan(moments.mean).any():
        return ["Coefficients have no posterior mean: there are too few rows for the error variance."]
    if np.isinf(moments.sd).any():
        return ["Coefficients have no posterior standard deviation: there are too few rows."]
    return []


def _integral_notes(posterior: Posterior) -> list[str]:
    """Return notes on the integration errors of enumeration."""
    if posterior.draws is not None or not np.any(posterior.mcse > 0):
        return []
    notes = ["MCSE is the error of the importance-sampling integrals."]
    rest = np.isnan(posterior.mcse) & (posterior.probability > 0)
    left, mass = int(np.sum(rest)), float(posterior.probability[rest].sum())
    if left:
        several = f"{left:,} model{'s' if left > 1 else ''}"
        size = "below 1e-6" if mass < LITTLE else f"{mass:.2g}"
        notes.append(
            f"{several} of posterior probability {size} together were not integrated: theirs are Laplace "
            "approximations without MCSE."
        )
    return notes

"""The posterior of generalised linear models whose rows come in chunks."""

from typing import Any

import numpy as np
import pandas as pd

from pyrjsel._called import warn
from pyrjsel._errors import DataError, SeparationWarning
from pyrjsel._typing import ByteArray, FloatArray
from pyrjsel.model_space import ModelSpace, PackedModels
from pyrjsel.runtime import FitSettings, RunTime, run_chains
from pyrjsel.selection.evidence.expansions import Expansions, columns_of, laplace_value, moments_at
from pyrjsel.selection.evidence.importance_quality import POOR
from pyrjsel.selection.evidence.laplace import FEW
from pyrjsel.selection.evidence.surrogate import weighted_ridge
from pyrjsel.selection.posterior import Moments, Posterior
from pyrjsel.selection.samplers.base import Sampler
from pyrjsel.selection.samplers.enumeration.passes import MOST_PASSES, OUTSIDE, Passes, Task
from pyrjsel.selection.samplers.listing import (
    inclusion_error,
    inclusion_of,
    no_chains,
    normalise,
    odds_error,
    odds_of,
    probability_error,
    with_dependence,
)


class ChunksSampler(Sampler):
    """Laplace's approximation of models of rows in chunks, checked by importance sampling."""

    name = "chunks"

    def posterior(self, regression: Any, space: ModelSpace, settings: FitSettings, options: Any) -> Posterior:
        """Return the posterior over the models of `space`.

        Raises
        ------
        DataError
            If no feasible model has a coefficient prior, a mode is not found, or rows differ between passes.
        KeyboardInterrupt
            On Ctrl-C before models have values.
        """
        entropy = settings.entropy()
        outcome = run_chains(
            Task(regression, space, entropy, options),
            1,
            np.random.default_rng(0),  # unused: the random stream of a model depends on the fit's entropy
            n_jobs=1,
            progress=settings.progress,
            label="passes",
            checkpoint=settings.checkpoint,
        )
        settings.watch.add(sum(outcome.spent, RunTime()).cpu, outcome.aside)
        passes = outcome.results[0]
        if passes.modes is None or not passes.modes.known.any():
            if outcome.completed:
                raise DataError(
                    f"The mode of all columns was not found in {MOST_PASSES} passes: rescale the columns."
                )
            raise KeyboardInterrupt("interrupted before models have marginal likelihoods")
        return _posterior(passes, outcome.completed, sum(outcome.spent, RunTime()))


def _posterior(passes: Passes, completed: bool, spent: RunTime) -> Posterior:
    """Return the posterior of the passes so far."""
    job, regression, modes = passes.job, passes.job.regression, passes.modes
    assert modes is not None
    assert passes.quadratic is not None
    if passes.laplace.size == 0:
        passes.laplace = np.array([laplace_value(regression, modes, row) for row in range(len(modes.point))])
    found = np.isfinite(passes.laplace)
    brought = passes.rows[found]

    # Values of the quadratic expansion, corrected by those of the models that were brought to their modes.
    # Models far from all of these would spoil the correction.
    main = found & (np.arange(found.size) < max(passes.main, 1))
    near, lesson = passes.gamma[passes.rows[main]], passes.laplace[main] - passes.values[passes.rows[main]]
    # mathematics: selection-chunks-regression
    slope, centre = weighted_ridge(near.astype(float), lesson, np.ones(len(near)))[0], near.mean(axis=0)
    left = lesson - lesson.mean() - (near - centre) @ slope
    values = passes.values + lesson.mean() + (passes.gamma - centre) @ slope
    # Those with a term that is in none, or without one that is in all of them, are corrected by one such
    # model.
    for row in np.flatnonzero(found & ~main):
        model = passes.gamma[passes.rows[row]]
        apart = np.flatnonzero(np.all(near != model, axis=0))
        if apart.size:
            miss = (passes.laplace[row] - values[passes.rows[row]]) / apart.size
            for term in apart:
                values[passes.gamma[:, term] == model[term]] += miss
    values[brought] = passes.laplace[found]
    variance = np.full(values.size, float(left @ left) / max(left.size - 1, 1))
    variance[brought] = 0.0

    # Differences of integrals and Laplace values: their mean corrects the other models, their spread is the
    # error of these.
    correction, measured = 0.0, bool(passes.integrals)
    best = passes.rows[passes.best]
    if measured:
        gap = np.array([each.log_marginal for each in passes.integrals]) - passes.laplace[passes.best]
        share = normalise(passes.laplace[passes.best] + passes.log_prior[best])
        # mathematics: selection-chunks
        correction = float(share @ gap)
        spread = float(np.mean((gap - correction) ** 2))
        values += correction
        variance += spread
        values[best] += gap - correction
        variance[best] = [each.variance for each in passes.integrals]
    log_mass = values + passes.log_prior
    order = np.argsort(-log_mass, kind="stable")
    gamma, values, log_mass, variance = (
        passes.gamma[order],
        values[order],
        log_mass[order],
        variance[order],
    )
    probability = normalise(log_mass)
    integrated, known = np.isin(order, best[: len(passes.integrals)]), np.isin(order, brought)
    mcse, odds, odds_mcse = (
        probability_error(probability, variance),
        odds_of(log_mass),
        odds_error(log_mass, variance),
    )
    mcse[~integrated] = odds_mcse[~integrated] = np.nan
    inclusion = inclusion_of(probability, gamma)
    # Models that were not brought to their modes have no deviance, and are not listed.
    listed = int(np.argmin(np.append(known, False)))
    single = Expansions(
        regression,
        passes.quadratic,
        passes.gamma[passes.rows],
        modes,
        _values_of(passes, correction),
        correction,
        passes.maximal,
    )
    moments = _average(passes, single, gamma, probability, known)
    notes, alarms = _notes(passes, completed, probability, known, integrated, variance)
    for culprit in _separated(passes):
        warn(culprit, SeparationWarning)
        notes.append(culprit)
    error = inclusion_error(gamma, probability, inclusion, variance)
    return Posterior(
        sampler=ChunksSampler.name,
        packed=PackedModels.of(gamma),
        probability=probability,
        mcse=mcse,
        odds=odds[:listed],
        odds_mcse=odds_mcse[:listed],
        log_marginal=values,
        inclusion=inclusion,
        inclusion_mcse=error if measured else np.full_like(error, np.nan),
        moments=moments,
        **no_chains(job.space.n_terms),
        diagnostics=pd.DataFrame(
            {
                "models": [passes.count],
                "expanded": [brought.size],
                "integrated": [len(passes.integrals)],
                "passes": [regression.passes + passes.made],
                **spent.columns(),
            },
            index=pd.Index(["all"], name="chain"),
        ),
        estimator="Laplace approximations of marginal likelihoods, corrected by importance sampling",
        entropy=job.entropy,
        pairs=job.options.pairs,
        notes=notes + alarms,
        alarms=alarms,
        single=single,
    )


def _values_of(passes: Passes, correction: float) -> FloatArray:
    """Return the log marginal likelihoods of the models that were brought to their modes."""
    values = passes.laplace + correction
    for row, found in zip(passes.best, passes.integrals, strict=False):
        values[row] = found.log_marginal
    return values


def _average(
    passes: Passes, single: Expansions, gamma: ByteArray, probability: FloatArray, known: np.ndarray
) -> Moments:
    """Average the moments of models: of normal expansions at their modes, or of the quadratic one."""
    regression = passes.job.regression
    sums = np.zeros((4, regression.n_columns))
    integrals = {
        passes.gamma[passes.rows[row]].tobytes(): found
        for row, found in zip(passes.best, passes.integrals, strict=False)
    }
    enough = np.cumsum(probability) <= 1.0 - 1e-6
    enough[0] = True
    total = probability[enough].sum()
    for model, weight, expanded in zip(gamma[enough], probability[enough], known[enough], strict=True):
        if expanded:
            near = single.approximate(model)
            columns, moments = near.columns, near.moments
            found = integrals.get(model.tobytes())
            if found is not None:
                # Antithetic draws have precise means; normal variances are better than those of so few draws.
                mean = found.moments[0]
                moments = np.stack([mean, mean**2 + moments[1] - moments[0] ** 2, moments[2]])
        else:
            columns = np.flatnonzero(columns_of(regression, model[None])[0])
            moments = moments_at(*single.quadratic.normal(regression, columns), regression.shifts(columns))
            columns, moments = regression.coefficients(columns, moments)
        sums[:3, columns] += weight / total * moments
        sums[3, columns] += weight / total
    scale = regression.units
    return Moments.of(sums[0] / scale, sums[1] / scale**2, sums[2], sums[3])


def _notes(
    passes: Passes,
    completed: bool,
    probability: FloatArray,
    known: np.ndarray,
    integrated: np.ndarray,
    variance: FloatArray,
) -> tuple[list[str], list[str]]:
    """Return notes, and those that are warnings too."""
    alarms: list[str] = []
    made = passes.job.regression.passes + passes.made
    covered = (
        f"Rows in chunks: {made} passes. Models that hold {probability[known].sum():.6g} of the posterior "
        f"were brought to their modes, those with {probability[integrated].sum():.4g} of it were integrated."
    )
    notes = [covered]
    if passes.outside > 0.0:
        text = (
            f"Chains on a quadratic expansion of the log-likelihood found {passes.count:,} models; the "
            f"others hold at most about {passes.outside:.2g} of the posterior."
        )
        (alarms if passes.outside > OUTSIDE else notes).append(text)
    if passes.deficient:
        notes.append(with_dependence(passes.deficient, passes.count))
    if passes.integrals:
        effective = np.array([found.effective for found in passes.integrals])
        error = np.sqrt(variance[~integrated].max(initial=0.0))
        notes.append(
            f"Other models have Laplace values, with a relative error of about {error:.2g} by comparison "
            "with the integrals; errors of inclusion contain it."
        )
        poor = float(np.sqrt(variance[integrated].max()))
        if poor > POOR or effective.min() < FEW:
            alarms.append(
                f"Posteriors of some of the best models are far from normal: their integrals have relative "
                f"errors of up to {poor:.2g}, and {effective.min():.0f} effective draws or more. Increase "
                f"'pairs' (now {passes.job.options.pairs}), or give a DataFrame."
            )
    else:
        alarms.append(
            f"The run ended after {made} passes, "
            f"{'before all modes were found' if completed else 'by Ctrl-C'}: marginal likelihoods are "
            "approximations with unknown error."
        )
    return notes, alarms


def _separated(passes: Passes) -> list[str]:
    """Return a warning if the likelihoods of relevant models have no maximum."""
    regression, space = passes.job.regression, passes.job.space
    suspects = [passes.suspects[k] for k in range(passes.suspects.size) if passes.strays(k)]
    if not suspects:
        return []
    terms = " + ".join(space.terms_of(passes.gamma[passes.rows[suspects[0]]])) or "1"
    several = (
        f"{len(suspects)} of the {passes.relevant} best models" if passes.relevant > 1 else "the best model"
    )
    text = (
        f"{regression.family.apart} it seems, in {several} (as in {terms}): maximum likelihood estimates are "
        "infinite there, and the posterior depends strongly on the coefficient prior."
    )
    return [text]

"""Exact enumeration: the marginal likelihood of every feasible model."""

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

from pyrjsel._core import special
from pyrjsel._errors import DataError
from pyrjsel._typing import ByteArray, FloatArray
from pyrjsel.model_space import ModelSpace, PackedModels
from pyrjsel.runtime import FitSettings
from pyrjsel.selection.evidence.importance import Integral
from pyrjsel.selection.evidence.importance_quality import MATTERS, few_effective, poor_integrals
from pyrjsel.selection.evidence.laplace import MarginalLikelihood, check_modes
from pyrjsel.selection.posterior import Moments, Posterior
from pyrjsel.selection.regression.glm import Regression
from pyrjsel.selection.samplers.base import Sampler
from pyrjsel.selection.samplers.listing import (
    ListJob,
    Part,
    feasible_models,
    inclusion_error,
    inclusion_of,
    no_chains,
    normalise,
    odds_error,
    odds_of,
    parts_of,
    probability_error,
    run_parts,
    with_dependence,
)

# Models are integrated until the others have less than this proportion of the Laplace posterior mass; these
# keep their Laplace values, shifted by the average correction. Laplace values of skewed posteriors can be
# several times too small: the others then have several times this proportion, which is still far below the
# integration error of the relevant models.
REST = 1e-6
# Saved numbers of an integral, besides columns and moments; the first two are counts.
NUMBERS = ("stages", "draws", "log_marginal", "variance", "largest", "effective")


@dataclass(frozen=True)
class Wanted:
    """Quantities to compute for each model of a list.

    Attributes
    ----------
    regression : Regression
    gamma : ndarray (m, J)
    entropy : bytes
    pairs : int
        Pairs of importance draws per model.
    exact : bool
        Whether Laplace values are corrected by importance sampling.
    whole : ndarray (m,), optional
        Log mass of all models divided by the prior of each, for the precision of their integrals.
    """

    regression: Regression
    gamma: ByteArray
    entropy: bytes
    pairs: int
    exact: bool
    whole: FloatArray | None = None

    def over(self, part: type[Part]) -> ListJob:
        """Return the job of processing the list."""
        models = len(self.gamma)
        return ListJob(part, models, self, parts_of(models * len(self.regression.y)))


class Values(Part):
    """Laplace values of a part of the list."""

    given: Wanted

    def __init__(self, given: Wanted, size: int, number: int) -> None:
        super().__init__(given, size, number)
        widest = given.regression.largest_model(given.gamma)
        self.marginal = MarginalLikelihood(given.regression, given.entropy, given.pairs, widest)

    def take(self, models: slice) -> None:
        """Compute the values of some of the models."""
        part = self.given.gamma[models]
        if len(part):
            values, status = self.marginal.finder.laplace_values(part)
            self.keep(value=values, status=status)

    def finish(self, completed: bool) -> Any:
        """Return the values, and whether modes were found."""
        return self.all("value"), self.all("status", np.intc)


class Integrals(Values):
    """Integrals of a part of the list."""

    def __init__(self, given: Wanted, size: int, number: int) -> None:
        super().__init__(given, size, number)
        self.unit = 1  # integrals are slow and independent of each other

    def take(self, models: slice) -> None:
        """Integrate some of the models."""
        given = self.given
        assert given.whole is not None
        for gamma, whole in zip(given.gamma[models], given.whole[models], strict=True):
            if given.exact:
                found = self.marginal.integrate(gamma, whole=float(whole))
            else:
                found = self.marginal.approximate(gamma)
            numbers = [getattr(found, name) for name in NUMBERS]
            self.keep(numbers=np.array([numbers]), columns=found.columns, moments=found.moments.T)

    def finish(self, completed: bool) -> Any:
        """Return the integrals."""
        if not self.kept:
            return []
        numbers, columns, moments = (
            np.concatenate(self.kept[name]) for name in ("numbers", "columns", "moments")
        )
        # The first column of a model is the intercept.
        ends = np.append(np.flatnonzero(columns == 0), columns.size)
        return [
            Integral(
                columns=columns[a:b],
                moments=moments[a:b].T,
                samples=None,
                weights=None,
                stages=int(row[0]),
                draws=int(row[1]),
                **dict(zip(NUMBERS[2:], row[2:].tolist(), strict=True)),
            )
            for row, (a, b) in zip(numbers, pairwise(ends.tolist()), strict=True)
        ]


class Enumeration(Sampler):
    """Enumeration of all feasible models, with their marginal likelihoods."""

    name = "enumerate"

    def posterior(self, regression: Any, space: ModelSpace, settings: FitSettings, options: Any) -> Posterior:
        """Return the posterior over all feasible models of `space`.

        Raises
        ------
        NotAvailableError
            If there are more than 2**20 feasible models.
        DataError
            If no feasible model has a coefficient prior (every one is rank-deficient).
        KeyboardInterrupt
            On Ctrl-C, since part of the models do not give a posterior.

        There are warnings if marginal likelihoods of models with probability of at least 0.001 have relative
        errors above 5 %, or if coefficients have too few effective draws.
        """
        gamma, log_prior = feasible_models(space)
        count = len(gamma)
        entropy = settings.entropy()

        pairs = options.pairs_for(regression)
        wanted = Wanted(regression, gamma, entropy, pairs, options.exact)
        found, spent = run_parts(wanted.over(Values), settings, "Laplace")
        values, status = (np.concatenate(parts) for parts in zip(*found, strict=True))
        notes: list[str] = []
        alarms: list[str] = []
        check_modes(status, regression.prior)
        deficient = int(np.sum(status == 1))
        if deficient:
            notes.append(with_dependence(deficient, count))
        if not np.any(np.isfinite(values)):
            raise DataError("No feasible model has linearly independent columns, as the g-prior needs.")

        log_mass = values + log_prior
        order = np.argsort(-log_mass, kind="stable")
        gamma, values, log_prior = gamma[order], values[order], log_prior[order]
        log_mass = log_mass[order]
        probability = normalise(log_mass)
        kept = int(np.searchsorted(np.cumsum(probability), 1.0 - REST) + 1)
        kept = min(kept, int(np.sum(np.isfinite(log_mass))))
        defined = regression.prior.at_maxima  # by expansions, without an error
        exact = options.exact or defined
        wanted = replace(wanted, gamma=gamma[:kept], whole=special.logsumexp(log_mass) - log_prior[:kept])
        found, more = run_parts(wanted.over(Integrals), settings, "integrals")
        integrals = [integral for part in found for integral in part]
        variance = np.full(len(gamma), 0.0 if exact else np.nan)
        if exact:
            correction = np.array([found.log_marginal for found in integrals]) - values[:kept]
            values = values.copy()
            values[:kept] += correction
            values[kept:] += float(np.average(correction, weights=probability[:kept]))
            variance[:kept] = [found.variance for found in integrals]
            log_mass = values + log_prior
            order = np.argsort(-log_mass, kind="stable")
            gamma, values, log_mass, variance = gamma[order], values[order], log_mass[order], variance[order]
            probability = normalise(log_mass)
            rank = np.empty(len(order), dtype=np.int64)
            rank[order] = np.arange(len(order))
            places = rank[:kept]
            alarms += poor_integrals(probability, variance, pairs)
            marginal = MarginalLikelihood(regression, entropy, pairs, regression.largest_model(gamma))
            for k in np.flatnonzero(probability[places] >= MATTERS):
                place = places[k]
                integrals[k] = marginal.with_enough(gamma[place], integrals[k], probability[place])
            effective = np.array([found.effective for found in integrals])
            alarms += few_effective(probability[places], effective)
        else:
            places = np.arange(kept)
            notes.append("The error of Laplace's approximation is not estimated, and no MCSE is shown.")

        inclusion = inclusion_of(probability, gamma)
        moments = _average(regression, integrals, probability[places], gamma, probability)
        which = (
            f"all {count - deficient:,} feasible models"
            if count - deficient > 1
            else "the one feasible model"
        )
        words = (
            f"marginal likelihoods of {which} by importance sampling at each mode"
            if exact and not defined
            else f"marginal likelihoods of {which} by expansions at the maxima of their likelihoods"
            if defined
            else f"Laplace approximations of the marginal likelihoods of {which}"
        )
        # Models that were not integrated have unknown errors, negligible in sums over models.
        unknown_where = np.ones(len(gamma), dtype=bool)
        unknown_where[places] = not exact
        mcse, odds_mcse = probability_error(probability, variance), odds_error(log_mass, variance)
        mcse[unknown_where] = odds_mcse[unknown_where] = np.nan
        return Posterior(
            sampler=self.name,
            packed=PackedModels.of(gamma),
            probability=probability,
            mcse=mcse,
            odds=odds_of(log_mass),
            odds_mcse=odds_mcse,
            log_marginal=values,
            inclusion=inclusion,
            inclusion_mcse=inclusion_error(gamma, probability, inclusion, variance),
            moments=moments,
            **no_chains(space.n_terms),
            diagnostics=pd.DataFrame(
                {"models": [count], "integrated": [kept if exact else 0], **(spent + more).columns()},
                index=pd.Index(["all"], name="chain"),
            ),
            estimator=words,
            entropy=entropy,
            pairs=pairs,
            notes=notes + alarms,
            alarms=alarms,
        )


def _average(
    regression: Regression,
    integrals: list[Integral],
    weights: FloatArray,
    gamma: ByteArray,
    probability: FloatArray,
) -> Moments:
    """Average the moments of models, without models that were not integrated."""
    size = regression.n_columns
    sums = np.zeros((4, size))
    total = weights.sum()
    for found, weight in zip(integrals, weights / total, strict=True):
        sums[:3, found.columns] += weight * found.moments
        sums[3, found.columns] += weight
    scale = regression.units
    return Moments.of(sums[0] / scale, sums[1] / scale**2, sums[2], sums[3])

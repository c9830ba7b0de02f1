"""Enumeration for the gaussian family: marginal likelihoods of all models."""

from typing import Any

import numpy as np
import pandas as pd

from pyrjsel._errors import DataError
from pyrjsel._typing import ByteArray, FloatArray
from pyrjsel.model_space import ModelSpace, PackedModels
from pyrjsel.runtime import FitSettings
from pyrjsel.selection.posterior import Posterior
from pyrjsel.selection.samplers.base import Sampler
from pyrjsel.selection.samplers.enumeration.values import check_values, list_values
from pyrjsel.selection.samplers.listing import (
    ListJob,
    Part,
    feasible_models,
    inclusion_of,
    no_chains,
    normalise,
    odds_of,
    parts_of,
    run_parts,
    with_dependence,
)
from pyrjsel.selection.samplers.recording.gaussian_average import Tree, averaged, averages_of, closed


class Values(Part):
    """Log marginal likelihoods of a part of the list, from the tree and the models."""

    def __init__(self, given: tuple[Tree, ByteArray], size: int, number: int) -> None:
        super().__init__(given, size, number)
        self.tree, self.gamma = given
        self.subsets = self.tree.subsets() if closed(self.tree.regression) else None

    def take(self, models: slice) -> None:
        """Compute the values of some of the models."""
        if len(self.gamma[models]):
            self.keep(value=list_values(self.tree, self.gamma, models, self.subsets))

    def finish(self, completed: bool) -> FloatArray:
        """Return the values."""
        return self.all("value")


class GaussianEnumeration(Sampler):
    """Enumeration of all feasible models, with their marginal likelihoods."""

    name = "enumerate"

    def posterior(self, regression: Any, space: ModelSpace, settings: FitSettings, options: Any) -> Posterior:
        """Return the posterior over all feasible models of `space`, without Monte Carlo error.

        Raises
        ------
        NotAvailableError
            If there are more than 2**20 feasible models.
        DataError
            If no feasible model has a coefficient prior (every one is rank-deficient), or marginal
            likelihoods are infinite.
        KeyboardInterrupt
            On Ctrl-C, since part of the models do not give a posterior.
        """
        gamma, log_prior = feasible_models(space, "gibbs" if regression.prior.in_state else "collapsed")
        entropy = settings.entropy()
        tree = Tree.of(regression, space, gamma)
        found, spent = run_parts(
            ListJob(Values, len(gamma), (tree, gamma), parts_of(len(gamma))), settings, "models"
        )
        values = np.concatenate(found)
        check_values(values, regression)
        deficient = int(np.sum(np.isinf(values)))
        notes, count = [], values.size
        if deficient == count:
            raise DataError("No feasible model has linearly independent columns, as the g-prior needs.")
        if deficient:
            notes.append(with_dependence(deficient, count))
        probability = normalise(values + log_prior)
        job = averages_of(tree, gamma, probability)
        sums, more = run_parts(job, settings, "coefficients")
        moments = averaged(regression, np.sum(sums, axis=0))
        inclusion = inclusion_of(probability, gamma)

        log_mass = values + log_prior
        order = np.argsort(-log_mass, kind="stable")
        nothing = np.zeros(values.size)
        which = (
            f"all {count - deficient:,} feasible models"
            if count - deficient > 1
            else "the one feasible model"
        )
        odds = odds_of(log_mass[order])
        return Posterior(
            sampler=self.name,
            packed=PackedModels.of(gamma[order]),
            probability=probability[order],
            mcse=nothing,
            odds=odds,
            odds_mcse=np.where(np.isinf(odds), np.nan, 0.0),
            log_marginal=values[order],
            inclusion=inclusion,
            inclusion_mcse=np.zeros(space.n_terms),
            moments=moments,
            **no_chains(space.n_terms),
            diagnostics=pd.DataFrame(
                {"models": [count], **(spent + more).columns()}, index=pd.Index(["all"], name="chain")
            ),
            estimator=f"exact, from the marginal likelihoods of {which}",
            entropy=entropy,
            pairs=0,
            notes=notes,
        )

"""The table of inclusion: posterior probabilities of terms beside their prior ones."""

from __future__ import annotations

import numpy as np
import pandas as pd

from pyrjsel._once import kept_property
from pyrjsel.model_space import PriorInclusion, PriorSizes, prior_inclusion_of, sizes_of
from pyrjsel.report import IndicatorStats, inclusion_of, kept_table, without_errors
from pyrjsel.selection.posterior import Posterior
from pyrjsel.selection.protocols import SelectionModel
from pyrjsel.selection.results.sizes import sizes_table


class Included:
    """The attributes of :class:`SelectionResults` on the inclusion of terms."""

    model: SelectionModel
    posterior: Posterior

    @kept_property
    def prior_inclusion(self) -> PriorInclusion:
        """Prior inclusion probabilities under the constraints, over the models that have a coefficient prior.

        Models with linearly dependent columns have none under a g-prior. Enumeration knows them one by one.
        """
        model, posterior = self.model, self.posterior
        if not model._lacks_models or posterior.draws is not None or posterior.log_marginal is None:
            return model.prior_inclusion
        exist = np.isfinite(posterior.log_marginal)
        return prior_inclusion_of(model.space, posterior.packed.words[exist])

    @kept_property
    def _prior_sizes(self) -> PriorSizes:
        """The prior over the number of terms, over the same models."""
        model, posterior = self.model, self.posterior
        if not model._lacks_models or posterior.draws is not None or posterior.log_marginal is None:
            return model._prior_sizes
        exist = np.isfinite(posterior.log_marginal)
        log_prior = np.concatenate([model.space.log_prior(block) for block in posterior.packed.blocks()])
        return sizes_of(model.space, posterior.packed.sizes()[exist], log_prior[exist])

    @property
    @kept_table
    def sizes(self) -> pd.DataFrame:
        """Number of terms of the model, those that are always in included.

        Columns ``prior`` (under the constraints; see ``model.prior_sizes()`` for its error), ``posterior``
        and ``mcse``, its Monte Carlo standard error: NaN of a size that all draws have or none.
        """
        return sizes_table(self._prior_sizes, self.posterior, self.model.space.n_terms)

    @property
    def inclusion(self) -> pd.DataFrame:
        """Inclusion by term.

        Columns ``prior`` (under the constraints, over the models that have a coefficient prior; its error is
        that of `prior_inclusion`), ``posterior``, ``mcse``, ``ess``, ``r_hat``, ``bayes_factor`` (posterior
        over prior odds of inclusion; NaN where the relative error of the latter is above 30 %) and ``cost``.
        After enumeration `mcse` is the integration error (NaN for Laplace values) and `ess` and `r_hat` are
        NaN; so are all three, and the Bayes factor, for a term that never moved in any chain. The samplers
        ``collapsed`` and ``gibbs`` of linear models average probabilities of terms given all others, and
        know `posterior`, `mcse` and Bayes factor of terms that never moved, too. Their `ess`, and that of
        ``collapsed`` for other models, is that of independent draws of the same error, and can exceed the
        number of draws. Errors speak of the models that chains visited and those next to them:
        of a mode that no chain has found, neither `mcse` nor `r_hat` knows, however small.
        """
        return without_errors(self._inclusion)

    @property
    @kept_table
    def _inclusion(self) -> pd.DataFrame:
        """The same with the errors of prior inclusion probabilities and Bayes factors."""
        posterior, model = self.posterior, self.model
        stats = IndicatorStats(
            posterior.inclusion,
            posterior.inclusion_mcse,
            posterior.ess,
            posterior.r_hat,
            posterior.stuck,
            posterior.disagree,
        )
        excluded = posterior.excluded
        if excluded is None:
            excluded = np.array([posterior.probability[column == 0].sum() for column in posterior.gamma.T])
        return inclusion_of(model.space, self.prior_inclusion, stats, excluded, model._priced)

"""The posterior of a mixture classifier in tables."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from pyrjsel._errors import NotAvailableError
from pyrjsel._once import kept_property
from pyrjsel._typing import FloatArray
from pyrjsel.mixture.posterior import MixturePosterior
from pyrjsel.mixture.protocols import MixtureModel
from pyrjsel.model_space import ModelDraws
from pyrjsel.report import inclusion_of, kept_table, model_table, own_copy, without_errors


@dataclass(frozen=True, repr=False)
class SubsetDraws(ModelDraws):
    """Draws of subsets of inputs, of all chains after burn-in and thinning.

    Attributes
    ----------
    model, packed, model_cost
        As in :class:`pyrjsel.model_space.ModelDraws`.
    log_posterior : ndarray (chains, draws)
        Unnormalised log density of labels, inputs, kernels, weights and subset, the inputs that are not
        selected among them by the background.
    log_likelihood : ndarray (chains, draws)
        Log density of labels and inputs given kernels, weights and subset.
    occupied : ndarray of int32 (chains, draws)
        Kernels that have a row.
    """

    log_likelihood: FloatArray
    occupied: np.ndarray


class MixtureTables:
    """The tables of :class:`MixtureResults`."""

    def __init__(
        self,
        model: MixtureModel,
        posterior: MixturePosterior,
        components: int,
        comparison: pd.DataFrame | None = None,
    ) -> None:
        self.model = model
        self.posterior = posterior
        self.components = components
        self._comparison = comparison

    # ------------------------------------------------------------------ tables

    @property
    def comparison(self) -> pd.DataFrame:
        """Held-out scores by number of kernels, over the rows with labels.

        Columns ``log_score`` (mean over rows of the log probability of their class; the largest is fitted)
        and its standard error ``se``; ``difference`` from the largest and ``difference_se``, paired by row;
        ``error_rate``.

        Raises
        ------
        NotAvailableError
            If there was one number of kernels only.
        """
        if self._comparison is None:
            raise NotAvailableError(
                "One number of kernels was fitted: components=[2, 3, 5] compares several."
            )
        return own_copy(self._comparison)

    @property
    def inclusion(self) -> pd.DataFrame:
        """Inclusion by input.

        Columns ``prior`` (under the constraints), ``posterior`` (share of the draws), ``mcse``, ``ess``,
        ``r_hat``, ``bayes_factor`` (posterior over prior odds of inclusion; NaN where the relative error of
        the latter is above 30 %) and ``cost``. Those from `mcse` on but `cost` are NaN for an input that
        never moved in any chain.
        """
        return without_errors(self._inclusion)

    @property
    @kept_table
    def _inclusion(self) -> pd.DataFrame:
        """The same with the errors of prior inclusion probabilities and Bayes factors."""
        model, posterior = self.model, self.posterior
        excluded = posterior.probability @ (1.0 - posterior.models)
        return inclusion_of(model.space, model.prior_inclusion, posterior.inclusion, excluded, model._priced)

    @property
    @kept_table
    def models(self) -> pd.DataFrame:
        """The best subsets by rank, at most 1,000.

        Columns ``terms``, ``size``, ``cost``, ``posterior`` (share of the draws, never renormalised over the
        rows of the table), ``mcse``, ``odds`` (of the best against this) and ``odds_mcse``.
        """
        return self._model_rows(self.posterior.model_stats.odds.size)

    @property
    def nobs(self) -> int:
        """Number of rows used, those without a label included."""
        return self.model.nobs

    def _model_rows(self, rows: int) -> pd.DataFrame:
        posterior, space, stats = self.posterior, self.model.space, self.posterior.model_stats
        gamma = posterior.packed[:rows]
        return model_table(
            [space.terms_of(row) for row in gamma],
            gamma.sum(axis=1, dtype=np.int64),
            np.asarray(space.cost(gamma)) if self.model._priced else np.full(len(gamma), np.nan),
            posterior.probability[:rows],
            stats.mcse[:rows],
            stats.odds[:rows],
            stats.odds_mcse[:rows],
        )

    @property
    def covered(self) -> float:
        """Posterior mass that the rows of `models` hold."""
        return float(min(self.posterior.probability[: self.posterior.model_stats.odds.size].sum(), 1.0))

    @property
    def diagnostics(self) -> pd.DataFrame:
        """How the sampler did, by chain and over all.

        Acceptance rates by move (NaN where a move was never proposed) and of exchanges between replica k and
        the next (``acceptance_replicas_k``), ESS and R-hat of size and log posterior, draws, seconds
        by the clock and CPU seconds.
        """
        return own_copy(self.posterior.diagnostics)

    @kept_property
    def draws(self) -> SubsetDraws:
        """The draws of all chains: subsets, log posterior, log likelihood, kernels with rows."""
        posterior = self.posterior
        return SubsetDraws(
            posterior.index,
            posterior.packed,
            np.asarray(self.model.space.cost(posterior.models), dtype=float),
            posterior.log_posterior,
            posterior.log_likelihood,
            posterior.occupied,
        )

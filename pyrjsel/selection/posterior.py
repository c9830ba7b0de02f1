"""The posterior that a sampler returns: models, inclusion, coefficients, draws, diagnostics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from pyrjsel._typing import BoolArray, ByteArray, FloatArray
from pyrjsel.model_space import PackedModels
from pyrjsel.runtime import Ends
from pyrjsel.selection.audit import Audit
from pyrjsel.selection.draws import Draws


@dataclass(frozen=True)
class Moments:
    """Model-averaged coefficients of the design's own columns, intercept first; shapes (D + 1,).

    Attributes
    ----------
    mean, sd, prob_positive : ndarray
        Over all models; a coefficient outside a model is 0 there.
    mean_included, sd_included : ndarray
        Given inclusion; NaN where a column is in no model.
    """

    mean: FloatArray
    sd: FloatArray
    prob_positive: FloatArray
    mean_included: FloatArray
    sd_included: FloatArray

    @classmethod
    def of_sums(cls, sums: FloatArray, scale: FloatArray, centre: float = 0.0) -> Moments:
        """From averages (4 or 6, D + 1) of internal coefficients with the intercept of the design's columns.

        Rows are those of :meth:`of`; columns of the design have standard deviations `scale` (D,). Means and
        mean squares are those of the intercept less `centre`: far from 0, a square would not know the spread.
        """
        unit = np.concatenate([[1.0], scale])
        powers = np.array([1, 2, 0, 0, 1, 2])[: len(sums)]
        found = cls.of(*(sums / unit ** powers[:, None]))
        for mean in (found.mean, found.mean_included):
            mean[0] += centre
        return found

    @classmethod
    def of(
        cls,
        first: FloatArray,
        second: FloatArray,
        positive: FloatArray,
        included: FloatArray,
        first_in: FloatArray | None = None,
        second_in: FloatArray | None = None,
    ) -> Moments:
        """From E[b], E[b^2], P(b > 0) and P(included) over all models, of the design's own columns.

        The last two are parts of the first two: of the models that include a column, where it has
        coefficients in others too.
        """
        variance = np.maximum(second - first**2, 0.0)
        share = np.where(included > 0, included, np.nan)
        inner = (first if first_in is None else first_in) / share
        inner_square = (second if second_in is None else second_in) / share
        return cls(
            first,
            np.sqrt(variance),
            np.clip(positive, 0.0, 1.0),
            inner,
            np.sqrt(np.maximum(inner_square - inner**2, 0.0)),
        )


@dataclass
class Posterior:
    """The posterior over models and coefficients that a sampler found.

    Models are in falling order of posterior mass where this is known of each, else of how often they were
    visited; J terms, m models.

    Attributes
    ----------
    sampler : str
    packed : PackedModels (m, J)
    probability, mcse : ndarray (m,)
    odds, odds_mcse : ndarray
        Of the best model against each of the first models, as many as were worked out.
    log_marginal : ndarray (m,) or None
        Where the sampler knows it.
    inclusion, inclusion_mcse, ess, r_hat : ndarray (J,)
    stuck, disagree : ndarray (J,)
        Terms that never moved; terms on which chains disagree by more than their errors.
    moments : Moments
    draws : Draws or None
    diagnostics : DataFrame
    estimator : str
        Where the probabilities come from, in words.
    entropy : bytes
        Seed of the random streams of single models.
    pairs : int
        Importance draws (pairs) a model, wherever marginal likelihoods are integrated.
    notes : list of str
    excluded : ndarray (J,), optional
        Probabilities of exclusion, where they are known better than as those of the models without a term.
    ends : Ends, optional
        Where the chains ended, of a sampler that draws.
    asked : int, optional
        Draws that each chain was to have, of a sampler that draws.
    audit : Audit, optional
        What a search found that no chain has visited, of a sampler that draws.
    alarms : list of str
        Those of the notes that are warnings when the results are made.
    """

    sampler: str
    packed: PackedModels
    probability: FloatArray
    mcse: FloatArray
    odds: FloatArray
    odds_mcse: FloatArray
    log_marginal: FloatArray | None
    inclusion: FloatArray
    inclusion_mcse: FloatArray
    ess: FloatArray
    r_hat: FloatArray
    stuck: BoolArray
    disagree: BoolArray
    moments: Moments
    draws: Draws | None
    diagnostics: pd.DataFrame
    estimator: str
    entropy: bytes
    pairs: int
    notes: list[str] = field(default_factory=list)
    excluded: FloatArray | None = None
    ends: Ends | None = None
    asked: int | None = None
    audit: Audit | None = None
    alarms: list[str] = field(default_factory=list)

    def alarm(self, texts: Sequence[str]) -> None:
        """Have more notes that are warnings when the results are made."""
        self.notes += texts
        self.alarms += texts

    @property
    def gamma(self) -> ByteArray:
        """The models as an array (m, J), made on demand."""
        return np.asarray(self.packed)

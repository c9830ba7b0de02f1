"""Posterior returned by a sampler: models, inclusion, coefficients, draws, diagnostics."""

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
    """Model-averaged coefficients of the design's own columns, intercept first, shapes (D + 1,).

    Attributes
    ----------
    mean, sd, prob_positive : ndarray
        Over all models; coefficients of excluded columns are 0.
    mean_included, sd_included : ndarray
        Given inclusion; NaN for a column that is in no model.
    """

    mean: FloatArray
    sd: FloatArray
    prob_positive: FloatArray
    mean_included: FloatArray
    sd_included: FloatArray

    @classmethod
    def of_sums(cls, sums: FloatArray, scale: FloatArray, centre: float = 0.0) -> Moments:
        """Make moments from averages (4 or 6, D + 1) of internal coefficients and the raw-scale intercept.

        Rows are those of :meth:`of`; columns of the design have standard deviations `scale` (D,). The
        intercept enters minus `centre`, since mean squares far from 0 would lose the spread.
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
        """Make moments from E[b], E[b^2], P(b > 0) and P(included) over all models, on the raw scale.

        The last two are the parts of the first two from models that include a column, if it has coefficients
        in other models too.
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
    """The posterior over models and coefficients, as found by a sampler.

    Models are sorted by decreasing posterior mass if known, otherwise by number of visits; J terms, m models.

    Attributes
    ----------
    sampler : str
    packed : PackedModels (m, J)
    probability, mcse : ndarray (m,)
    odds, odds_mcse : ndarray
        Odds of the best model against each of the first models, as many as were computed.
    log_marginal : ndarray (m,) or None
        Log marginal likelihoods, if the sampler computes them.
    inclusion, inclusion_mcse, ess, r_hat : ndarray (J,)
    stuck, disagree : ndarray (J,)
        Terms that never moved; terms on which chains disagree by more than their errors.
    moments : Moments
    draws : Draws or None
    diagnostics : DataFrame
    estimator : str
        Source of the probabilities, in words.
    entropy : bytes
        Seed of the random streams of single models.
    pairs : int
        Pairs of importance draws per model, if marginal likelihoods are integrated.
    notes : list of str
    excluded : ndarray (J,), optional
        Probabilities of exclusion, if more accurate than sums over models without a term.
    ends : Ends, optional
        Final states of chains.
    asked : int, optional
        Requested draws per chain.
    audit : Audit, optional
        Record of the search for missed models.
    alarms : list of str
        Notes that are also issued as warnings when the results are created.
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
        """Add notes that are also issued as warnings when the results are created."""
        self.notes += texts
        self.alarms += texts

    @property
    def gamma(self) -> ByteArray:
        """The models as an array (m, J), unpacked on demand."""
        return np.asarray(self.packed)

"""What a sampler returns: models, inclusion, coefficients, draws, diagnostics, and the record of an audit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
import scipy
from numpy.typing import NDArray

from pyrjsel._typing import BoolArray, ByteArray, FloatArray, IntArray
from pyrjsel._validate import counted, listed
from pyrjsel.families import Values
from pyrjsel.model_space import ModelDraws, ModelSpace, PackedModels, pack
from pyrjsel.runtime import Ends
from pyrjsel.storage import Content, Plain

# Ways in which a model was found.
VISITS, SEARCH, FLIP, NOTHING = range(4)
HOW = ("visits", "search", "flip", "nothing")


# Numbers of terms up to which files have a model for each of them.
WHOLE = 2**12


@dataclass(frozen=True, eq=False)
class TermModels:
    """A model for each of J terms: one of a few models, perhaps with the term flipped.

    Attributes
    ----------
    bases : PackedModels (m, J)
        The models.
    row : int32 array (J,)
        Row of the model of each term; -1 for none, which reads as zeros.
    flipped : bool array (J,)
        Whether the term is flipped in it.
    """

    bases: PackedModels
    row: NDArray[np.int32]
    flipped: BoolArray

    def __len__(self) -> int:
        return self.row.size

    def __getitem__(self, which: Any) -> ByteArray:
        """Return the models of some terms, (k, J), or of one, (J,)."""
        terms = np.arange(len(self))[which]
        each = np.atleast_1d(terms)
        gamma = np.zeros((each.size, len(self)), dtype=np.uint8)
        known = np.flatnonzero(self.row[each] >= 0)
        gamma[known] = self.bases[self.row[each[known]]]
        gamma[known, each[known]] ^= self.flipped[each[known]]
        return gamma[0] if np.ndim(terms) == 0 else gamma

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return self[:] if dtype is None else self[:].astype(dtype, copy=False)

    def blocks(self) -> Iterator[ByteArray]:
        """Yield the models that exist, some at a time."""
        step = max(1, 2**22 // max(1, len(self)))
        known = np.flatnonzero(self.row >= 0)
        for at in range(0, known.size, step):
            yield self[known[at : at + step]]

    def named(self, names: Sequence[str]) -> list[tuple[str, ...]]:
        """Return the names of the terms of each model."""
        bases = [np.flatnonzero(base) for base in self.bases]
        found: list[tuple[str, ...]] = []
        for term, (row, flipped) in enumerate(zip(self.row.tolist(), self.flipped.tolist(), strict=True)):
            inside = bases[row] if row >= 0 else np.empty(0, dtype=np.intp)
            inside = np.setxor1d(inside, term) if flipped else inside
            found.append(tuple([names[other] for other in inside.tolist()]))
        return found


@dataclass(frozen=True)
class Audit:
    """Models found by a search that no chain has visited.

    Attributes
    ----------
    without : bool array (J,)
        Terms in all draws, for which the best model without the term is searched; otherwise that with the
        term.
    models : TermModels (J, J)
        The best model by term.
    log_odds : float array (J,)
        Log posterior odds against the best visited model; NaN without a model.
    how : uint8 array (J,)
        How it was found; positions in HOW.
    missed : uint8 array (m, J)
        Relevant models that were found and not visited, best first.
    missed_terms : int array (m,)
        Terms for which they were found.
    missed_log_odds : float array (m,)
        Their log odds.
    """

    without: BoolArray
    models: TermModels
    log_odds: FloatArray
    how: ByteArray
    missed: ByteArray
    missed_terms: IntArray
    missed_log_odds: FloatArray

    @property
    def clean(self) -> bool:
        """Whether no relevant model was missed."""
        return not len(self.missed)

    @property
    def visited(self) -> BoolArray:
        """Whether chains have visited the model for each term, (J,)."""
        return self.how == VISITS

    def table(self, space: ModelSpace) -> pd.DataFrame:
        """Return the table of results."""
        return pd.DataFrame(
            {
                "visited": self.visited,
                "question": np.where(self.without, "without", "with"),
                "model": pd.Series(self.models.named(space.names), dtype=object).to_numpy(),
                "log_odds": self.log_odds,
                "found_by": [HOW[code] for code in self.how],
            },
            index=pd.Index(list(space.names), name="term", dtype=object),
        )

    def warning(self, space: ModelSpace) -> str | None:
        """Return the warning about missed models, None if there are none."""
        if self.clean:
            return None
        gamma, term = self.missed[0], int(self.missed_terms[0])
        where = "in every draw" if self.without[term] else "in no draw"
        text = (
            f"No chain visited the model {' + '.join(space.terms_of(gamma)) or '(no terms)'}. Its posterior "
            f"odds against the best visited model are {np.exp(min(self.missed_log_odds[0], 700.0)):.2g}: "
            f"{space.names[term]} is {where}, and posterior probabilities leave such models out."
        )
        others = [space.names[j] for j in self.missed_terms[1:]]
        if others:
            text += f" The same holds of models found for {listed(others)}."
        return text + " Run longer, with more chains, or from another `start`."

    def line(self) -> str | None:
        """Return the note of a summary on a clean audit; for missed models there is the warning."""
        asked = int(np.sum(~self.visited))
        if not asked or not self.clean:
            return None
        flips = int(np.sum(self.how == FLIP))
        text = f"Audit: for the {counted(asked, 'term')} that never moved, no missed model matters"
        return text + (f" (for {flips:,} of them only one flip was evaluated)." if flips else ".")

    def to_plain(self) -> Plain:
        """Return the audit as plain data."""
        models, few = self.models, len(self.models) <= WHOLE
        return {
            "without": self.without,
            "words": pack(models[:]) if few else models.bases.words,
            **({} if few else {"row": models.row}),
            "log_odds": self.log_odds,
            "how": self.how,
            "missed": self.missed,
            "missed_terms": self.missed_terms,
            "missed_log_odds": self.missed_log_odds,
        }

    @classmethod
    def from_plain(cls, content: Content, space: ModelSpace) -> Audit:
        """Return the audit of a file.

        Raises
        ------
        StoreError
            If it does not match the space.
        """
        n_terms = space.n_terms
        how = content.array("how", np.uint8, (n_terms,))
        log_odds = content.array("log_odds", float, (n_terms,))
        missed = content.array("missed", np.uint8, (None, n_terms))
        terms = content.array("missed_terms", np.int64, (len(missed),))
        if (how >= len(HOW)).any():
            raise content.wrong("how", f"codes below {len(HOW)}")
        if not np.array_equal(np.isfinite(log_odds), how != NOTHING):
            raise content.wrong("log_odds", "a number for each model")
        # Without "row" there is a model for each term.
        apart = "row" not in content
        words = content.array("words", np.uint64, (n_terms if apart else None, None))
        row = np.arange(n_terms, dtype=np.int32) if apart else content.array("row", np.int32, (n_terms,))
        row[apart & (how == NOTHING)] = -1
        bases = PackedModels(words, n_terms)
        models = TermModels(bases, row, (how == FLIP) & (not apart))
        if not np.array_equal(row >= 0, how != NOTHING) or (row >= len(bases)).any():
            raise content.wrong("row", f"rows of {len(bases)} models")
        if not bases.valid():
            raise content.wrong("words", "models of the space")
        if not all(
            space.feasible(block).all()
            for block in (models if apart or space.constrained else bases).blocks()
        ):
            raise content.wrong("words", "models of the space")
        if (missed > 1).any() or (len(missed) and not space.feasible(missed).all()):
            raise content.wrong("missed", "models of the space")
        if terms.size and not 0 <= terms.min() <= terms.max() < n_terms:
            raise content.wrong("missed_terms", f"terms below {n_terms}")
        return cls(
            content.array("without", bool, (n_terms,)),
            models,
            log_odds,
            how,
            missed,
            terms,
            content.array("missed_log_odds", float, (len(missed),), finite=True),
        )


@dataclass(frozen=True, repr=False)
class Draws(ModelDraws):
    """Draws of all chains after burn-in and thinning.

    Attributes
    ----------
    model, packed, model_cost
        As in :class:`pyrjsel.model_space.ModelDraws`.
    log_posterior : ndarray (chains, draws)
        Unnormalised log posterior density of model and coefficients, in units of the design's columns; for
        the sampler ``collapsed`` that of the model, with coefficients integrated out. For reversible jumps of
        linear models it includes sigma^2 and is conditional on g.
    vectors : sparse array (chains * kept, D + 1)
        Coefficients of the design's columns, intercept first, 0 outside the model, for every
        `coefficients_every`-th draw, chain by chain. Sparse, since most of thousands of columns are 0.
    coefficients_every : int
    nuisance : mapping of str to ndarray (chains, kept)
        Corresponding nuisance parameters.
    """

    vectors: scipy.sparse.csr_array
    coefficients_every: int
    nuisance: Values = field(default_factory=dict)

    @property
    def variance(self) -> FloatArray | None:
        """Corresponding error variances, (chains, kept), for families that have one."""
        return self.nuisance.get("variance")

    @property
    def coefficients(self) -> FloatArray:
        """Coefficients of every `coefficients_every`-th draw, (chains, kept, D + 1); computed on demand."""
        return self.vectors.toarray().reshape(len(self.model), -1, self.vectors.shape[1])


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
    def of_sums(cls, sums: FloatArray, unit: FloatArray, centre: float = 0.0) -> Moments:
        """Make moments from averages (4 or 6, D + 1) of internal coefficients and the raw-scale intercept.

        Rows are those of :meth:`of`; columns have standard deviations `unit` (D + 1,), the intercept 1. It
        enters minus `centre`, since mean squares far from 0 would lose the spread.
        """
        powers = (1, 2, 0, 0, 1, 2)[: len(sums)]
        found = cls.of(*(row / unit**power for row, power in zip(sums, powers, strict=True)))
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
    single : object, optional
        Evaluator of single models, if only the sampler can make it.
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
    single: Any = None

    def alarm(self, texts: Sequence[str]) -> None:
        """Add notes that are also issued as warnings when the results are created."""
        self.notes += texts
        self.alarms += texts

    @property
    def gamma(self) -> ByteArray:
        """The models as an array (m, J), unpacked on demand."""
        return np.asarray(self.packed)

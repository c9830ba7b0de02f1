"""Record of an audit: for each term, a model that chains have not visited, and its odds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from pyrjsel._typing import BoolArray, ByteArray, FloatArray, IntArray
from pyrjsel._validate import counted, listed
from pyrjsel.model_space import ModelSpace, PackedModels, pack
from pyrjsel.storage import Content, Plain

# Ways in which a model was found.
VISITS, SEARCH, FLIP, NOTHING = range(4)
HOW = ("visits", "search", "flip", "nothing")


@dataclass(frozen=True)
class Audit:
    """Models found by a search that no chain has visited.

    Attributes
    ----------
    without : bool array (J,)
        Terms in all draws, for which the best model without the term is searched; otherwise that with the
        term.
    models : PackedModels (J, J)
        The best model by term; zeros if there is none.
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
    models: PackedModels
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
        rows = self.models[:]
        return pd.DataFrame(
            {
                "visited": self.visited,
                "question": np.where(self.without, "without", "with"),
                "model": pd.Series([space.terms_of(row) for row in rows], dtype=object).to_numpy(),
                "log_odds": self.log_odds,
                "found_by": [HOW[code] for code in self.how],
            },
            index=pd.Index(space.names, name="term", dtype=object),
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
        return {
            "without": self.without,
            "words": self.models.words,
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
        words = content.array("words", np.uint64, (n_terms, pack(np.zeros((1, n_terms), np.uint8)).shape[1]))
        models = PackedModels(words, n_terms)
        how = content.array("how", np.uint8, (n_terms,))
        log_odds = content.array("log_odds", float, (n_terms,))
        missed = content.array("missed", np.uint8, (None, n_terms))
        terms = content.array("missed_terms", np.int64, (len(missed),))
        if (how >= len(HOW)).any():
            raise content.wrong("how", f"codes below {len(HOW)}")
        if not np.array_equal(np.isfinite(log_odds), how != NOTHING):
            raise content.wrong("log_odds", "a number for each model")
        known = models[how != NOTHING]
        if not np.array_equal(pack(models[:]), words) or (len(known) and not space.feasible(known).all()):
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

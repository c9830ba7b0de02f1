"""The audit of a run: what no chain has visited is searched for.

For every term that no draw holds, the best feasible model with it is searched for; for every free term that
all draws hold, the best one without it. A model that should have been visited and was not shows a mode that
the chains missed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from pyrjsel._errors import DataError
from pyrjsel._typing import BoolArray, ByteArray, FloatArray, IntArray, WordArray
from pyrjsel._validate import counted, listed
from pyrjsel.selection.marginal import MarginalLikelihood
from pyrjsel.selection.posterior import Posterior
from pyrjsel.selection.predict import SingleModel
from pyrjsel.selection.search import SLACK, WITHIN, Explorer, Found, evidence_at, steps
from pyrjsel.space import ModelSpace, PackedModels, Space, pack, unpack
from pyrjsel.store import Content, Plain

if TYPE_CHECKING:
    from pyrjsel.selection.model import Selection

# How a model was found.
VISITS, SEARCH, FLIP, NOTHING = range(4)
HOW = ("visits", "search", "flip", "nothing")
# A missed model counts where its mass, with that of its neighbours, is more than KNOWN times what inclusion
# probabilities have of its term already, and more than LARGE, or worth more than EXPECTED visits in this run.
KNOWN, LARGE, EXPECTED = 3.0, 0.02, 20.0
# Where the evidence of the searches is a surrogate: models that get Laplace's approximation, and that are
# integrated, at most.
MOST_APPROXIMATED, MOST_INTEGRATED = 64, 16
# Models most often visited of which the best is looked for, where visits are all that is known.
MOST_VISITED = 5
# Entries of visited models that are unpacked together.
BLOCK = 2**19


@dataclass(frozen=True)
class Audit:
    """What a search found that no chain has visited.

    Attributes
    ----------
    without : bool array (J,)
        Terms in all draws, of which the best model without them is asked for; else it is that with a term.
    models : PackedModels (J, J)
        The best model by term; of those without one, zeros.
    log_odds : float array (J,)
        Log posterior odds against the best visited model; NaN where there is no model.
    how : uint8 array (J,)
        How it was found; places in HOW.
    missed : uint8 array (m, J)
        Models found and not visited that matter, best first.
    missed_terms : int array (m,)
        The terms that they were found for.
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
        """Whether no model was missed that matters."""
        return not len(self.missed)

    @property
    def visited(self) -> BoolArray:
        """Whether chains have visited the model of each term, (J,)."""
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
        """Return what a warning says of missed models, None where there are none."""
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
        """Return the line of a summary on a clean audit; missed models have the text of their warning."""
        asked = int(np.sum(~self.visited))
        if not asked or not self.clean:
            return None
        flips = int(np.sum(self.how == FLIP))
        text = f"Audit: for the {counted(asked, 'term')} that never moved, no missed model matters"
        return text + (f" (for {flips:,} of them one flip was looked at)." if flips else ".")

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
            If it is not one of this space.
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


def audit_of(model: Selection, posterior: Posterior) -> Audit:
    """Return the audit of a posterior that chains have drawn; nothing in it is random.

    Parameters
    ----------
    model : Selection
        What was fitted.
    posterior : Posterior
        With draws.
    """
    space, packed = model.space, posterior.packed
    free = space.free.astype(bool)
    single = model._make_marginal(posterior)
    order, odds = _visited_odds(posterior, space, single)
    best = packed[order[0]]
    ever = _together(np.bitwise_or.reduce(packed.words, axis=0), space)
    always = _together(np.bitwise_and.reduce(packed.words, axis=0), space) & free
    asked = np.flatnonzero((~ever | always) & free)
    words, log_odds, how = _visited_models(packed, order, odds, ever)
    missed: list[tuple[float, int, ByteArray]] = []
    if asked.size:
        draws = posterior.draws
        assert draws is not None
        words[asked], log_odds[asked], how[asked] = 0, np.nan, NOTHING
        variance = None if draws.variance is None else float(np.mean(draws.variance))
        evidence, exact = evidence_at(model.regression, best, variance)
        explorer = Explorer(evidence, space, Space(space), steps(space.n_terms, draws.model.size))
        base = explorer.log_mass(best)
        found = [item for item in explorer.explore(best, asked) if np.isfinite(item.log_mass)]
        values = {item.term: item.log_mass - base for item in found}
        values.update(_better(found, values, best, space, single, exact))
        start = pack(best)[0]
        for item in found:
            if np.isfinite(values[item.term]):
                how[item.term] = SEARCH if item.searched else FLIP
                log_odds[item.term] = values[item.term]
                words[item.term] = start if item.gamma is None else pack(item.gamma)[0]
                if item.gamma is None:
                    words[item.term, item.term // 64] ^= np.uint64(1) << np.uint64(item.term % 64)
                elif _matters(item, values[item.term], posterior, order[0], draws.model.size):
                    missed.append((values[item.term], item.term, item.gamma))
    missed.sort(key=lambda each: (-each[0], each[1]))
    return Audit(
        always,
        PackedModels(words, space.n_terms),
        log_odds,
        how,
        np.array([each[2] for each in missed], dtype=np.uint8).reshape(len(missed), space.n_terms),
        np.array([each[1] for each in missed], dtype=np.int64),
        np.array([each[0] for each in missed], dtype=np.float64),
    )


def best_visited(model: Selection, posterior: Posterior) -> ByteArray:
    """Return the best of the models (J,) that chains have visited, as audits know it."""
    order, _ = _visited_odds(posterior, model.space, model._make_marginal(posterior))
    return posterior.packed[order[0]]


def _together(words: WordArray, space: ModelSpace) -> BoolArray:
    """Return packed bits as an array (J,)."""
    return np.asarray(unpack(words[None], space.n_terms)[0], dtype=bool)


def _visited_odds(
    posterior: Posterior, space: ModelSpace, single: SingleModel
) -> tuple[IntArray, FloatArray]:
    """Return the rows of visited models from the best on, and their log odds against it.

    Where marginal likelihoods of visited models are not known, visits say which models are good, and marginal
    likelihoods which of those most often visited is the best.
    """
    draws = posterior.draws
    assert draws is not None
    if posterior.log_marginal is not None:
        value = np.empty(len(posterior.packed))
        for rows, log_mass in zip(draws.model, draws.log_posterior, strict=True):
            value[rows] = log_mass
    else:
        value = np.log(posterior.probability)
        few = np.argsort(-value, kind="stable")[:MOST_VISITED]
        models = posterior.packed[few]
        known = single.log_marginals(models) + space.log_prior(models)
        first = few[np.argmax(known)]
        order = np.argsort(-value, kind="stable")
        return np.concatenate([[first], order[order != first]]), value - value[first]
    order = np.argsort(-value, kind="stable")
    return order, value - value[order[0]]


def _visited_models(
    packed: PackedModels, order: IntArray, odds: FloatArray, ever: BoolArray
) -> tuple[WordArray, FloatArray, ByteArray]:
    """Return by term the best visited model with it, packed, its log odds, and how it was found."""
    words = np.zeros((packed.n_terms, packed.words.shape[1]), dtype=np.uint64)
    log_odds, left = np.full(packed.n_terms, np.nan), ever.copy()
    step = max(1, BLOCK // max(1, packed.n_terms))
    for at in range(0, order.size, step):
        models = packed[order[at : at + step]]
        terms = np.flatnonzero(left & models.any(axis=0))
        rows = order[at + models.argmax(axis=0)[terms]]
        words[terms], log_odds[terms], left[terms] = packed.words[rows], odds[rows], False
        if not left.any():
            break
    return words, log_odds, np.where(ever, VISITS, NOTHING).astype(np.uint8)


def _better(
    found: list[Found],
    values: dict[int, float],
    best: ByteArray,
    space: ModelSpace,
    single: SingleModel,
    exact: bool,
) -> dict[int, float]:
    """Return log odds against the best visited model by marginal likelihoods, of what may matter."""
    slack = WITHIN if exact else WITHIN + SLACK
    some = [item for item in found if values[item.term] > -slack and not (exact and item.gamma is None)]
    some.sort(key=lambda item: -values[item.term])
    if not some:
        return {}
    if not isinstance(single, MarginalLikelihood):
        models = np.array([best, *(_model(item, best) for item in some)], dtype=np.uint8)
        value = single.log_marginals(models) + space.log_prior(models)
        return {item.term: float(own - value[0]) for item, own in zip(some, value[1:], strict=True)}
    base = single.approximate(best).log_marginal + float(space.log_prior(best))
    known: dict[int, float] = {}
    for item in some[:MOST_APPROXIMATED]:
        known[item.term] = _log_mass(single.approximate, _model(item, best), space) - base
    base = _log_mass(single.integrate, best, space)
    near = [item for item in some[:MOST_APPROXIMATED] if known[item.term] > -WITHIN - 1.0]
    for item in sorted(near, key=lambda item: -known[item.term])[:MOST_INTEGRATED]:
        known[item.term] = _log_mass(single.integrate, _model(item, best), space) - base
    return known


def _model(item: Found, best: ByteArray) -> ByteArray:
    """Return the model found (J,)."""
    gamma = best.copy() if item.gamma is None else item.gamma
    if item.gamma is None:
        gamma[item.term] ^= 1
    return gamma


def _log_mass(find: Any, gamma: ByteArray, space: ModelSpace) -> float:
    """Return the log posterior mass of a model, up to a constant; -inf where it has no posterior mode."""
    try:
        return float(find(gamma).log_marginal + space.log_prior(gamma))
    except DataError:  # a coefficient prior that does not exist by the rank rule of the modes
        return -np.inf


def _matters(item: Found, log_odds: float, posterior: Posterior, best: int, draws: int) -> bool:
    """Return whether a model that was not visited should have been."""
    if not item.searched or log_odds <= -WITHIN:
        return False
    top = float(posterior.probability[best])
    relative = np.log(top) + log_odds + item.spread
    mass = float(np.exp(relative - np.logaddexp(0.0, relative)))
    entering = bool(item.gamma is not None and item.gamma[item.term])
    out = 1.0 - posterior.inclusion if posterior.excluded is None else posterior.excluded
    known = float((posterior.inclusion if entering else out)[item.term])
    return mass > KNOWN * known and (mass > LARGE or mass * draws > EXPECTED)

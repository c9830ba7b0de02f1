"""Predictions of rows with missing inputs, each averaged over the models that it has all variables of."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from pyrjsel._called import called, warn
from pyrjsel._errors import MissingDataWarning
from pyrjsel._once import kept_property
from pyrjsel._typing import BoolArray, ByteArray, FloatArray, IntArray
from pyrjsel._validate import listed
from pyrjsel.families import Values
from pyrjsel.selection.results.measured.needs import fit_again
from pyrjsel.selection.results.prediction import NewRows, Prediction, warn_of_endless

# Least posterior mass of the models that a row is averaged over, fewest kept draws of their coefficients, and
# most new ones: each of their models takes time.
LEAST_MASS, FEWEST_DRAWS, NEW_DRAWS = 1e-6, 200, 1000
# Fewest draws of one model, which take no longer than one, and most numbers that are kept of all models.
DRAWN, MOST_KEPT = 25, 10_000_000


@dataclass(frozen=True, eq=False)
class Pattern:
    """Rows that have the same terms, and the models that need no others.

    Attributes
    ----------
    rows : int array
        Positions of the rows.
    has : bool array (J,)
        The terms that they have.
    inside : bool array (m,)
        The models.
    mass : float
        Their posterior mass; NaN for rows that cannot be predicted.
    """

    rows: IntArray
    has: BoolArray
    inside: BoolArray
    mass: float

    @property
    def label(self) -> bytes:
        """Label of the stream of random numbers."""
        return hashlib.blake2b(b"submodels" + np.packbits(self.has).tobytes(), digest_size=16).digest()


@dataclass(frozen=True, eq=False)
class Submodels:
    """Averages over the models that rows with missing inputs have all variables of; sent to workers.

    Attributes
    ----------
    results : SelectionResults
    draws : int
        Number of draws of coefficients.
    spread : bool
        Whether intervals are needed.
    """

    results: Any
    draws: int
    spread: bool
    _drawn: dict[tuple[bytes, int], tuple[FloatArray, Values]] = field(default_factory=dict)

    @kept_property
    def terms(self) -> BoolArray:
        """The terms of a model with posterior mass, and those that are always in, (J,)."""
        return np.asarray(self.results.posterior.packed.ever() | self.required)

    @property
    def required(self) -> BoolArray:
        """The terms that are always in, (J,)."""
        return np.asarray(self.results.model.space.free == 0)

    def prediction(self, new: NewRows) -> SubmodelPrediction:
        """Return predictions of rows; those of the fit have all terms."""
        x, offset, index, observed = new.x, new.extras["offset"], new.index, new.observed
        has = np.ones((len(index), self.terms.size), bool) if observed is None else observed
        found = np.zeros(len(index), bool)
        if not self.results.model.design.wide:
            found = np.isnan(x).any(axis=1)  # rows that cannot be used; what they lack is 0
        patterns = list(self._patterns(has))
        self._warn(patterns, found, index)
        return SubmodelPrediction(self, x, np.where(found, np.nan, offset), index, patterns)

    def _patterns(self, has: BoolArray) -> Iterator[Pattern]:
        """Yield the patterns of rows."""
        posterior, places = self.results.posterior, np.flatnonzero(self.terms)
        bits = np.packbits(has[:, places], axis=1)
        keys = np.zeros((len(has), max(8, bits.shape[1])), np.uint8)
        keys[:, : bits.shape[1]] = bits
        # Short ones as numbers, which are sorted in less time than rows.
        whole = keys.view(np.uint64)[:, 0] if keys.shape[1] == 8 else keys
        _, first, group = np.unique(whole, axis=0, return_index=True, return_inverse=True)
        group = group.ravel()
        order = np.argsort(group, kind="stable")
        ends = np.searchsorted(group[order], np.arange(first.size + 1))
        positive = posterior.probability > 0
        for k, row in enumerate(first):
            rows, own = order[ends[k] : ends[k + 1]], np.zeros(self.terms.size, bool)
            own[places] = has[row, places]
            inside = posterior.packed.within(own)
            mass = float(posterior.probability[inside].sum() / posterior.probability.sum())
            if not np.any(positive & ~inside):
                mass = 1.0
            elif mass < LEAST_MASS or np.any(self.required & ~own):
                mass = np.nan
            yield Pattern(rows, own, inside, mass)

    def _warn(self, patterns: list[Pattern], lost: BoolArray, index: pd.Index) -> None:
        """Warn of rows that cannot be predicted."""
        names, required = self.results.model.term_names, self.required
        gone = [each for each in patterns if np.isnan(each.mass) and not lost[each.rows].all()]
        fixed = [each for each in gone if np.any(required & ~each.has)]
        light = [each for each in gone if not np.any(required & ~each.has)]

        def count(some: list[Pattern]) -> str:
            return f"{sum(int(np.sum(~lost[each.rows])) for each in some):,} of {len(index):,} rows"

        if fixed:
            terms = np.flatnonzero(np.any([required & ~each.has for each in fixed], axis=0))
            warn(
                f"{count(fixed)} lack a variable of a term that is always in "
                f"({listed([names[j] for j in terms])}): their predictions by {called()} are NaN.",
                MissingDataWarning,
            )
        if light:
            most = max(light, key=lambda each: each.rows.size)
            known, without = (
                [names[j] for j in np.flatnonzero(self.terms & has)] for has in (most.has, ~most.has)
            )
            warn(
                f"{count(light)} have predictions of NaN by {called()}: models that need only what these "
                f"rows have hold less than {LEAST_MASS:g} of the posterior mass. For "
                f"{most.rows.size:,} of them, {fit_again(self.results.model, known, without)}",
                MissingDataWarning,
            )

    def sample(self, gamma: ByteArray, size: int, rng: np.random.Generator) -> tuple[FloatArray, Values]:
        """Return draws of one model, as :class:`SingleModel` does: some of those that patterns share."""
        key = gamma.tobytes(), DRAWN << ((size - 1) // DRAWN).bit_length()
        found = self._drawn.get(key)
        if found is None:
            label = hashlib.blake2b(b"model%d" % key[1] + key[0], digest_size=16).digest()
            found = self.results._marginal.sample(gamma, key[1], self.results._stream(label))
            if len(self._drawn) * found[0].size > MOST_KEPT:
                self._drawn.clear()
            self._drawn[key] = found
        some = rng.permutation(key[1])[:size]
        return found[0][some], {name: values[some] for name, values in found[1].items()}

    def of(self, pattern: Pattern, x: Any, offset: FloatArray, index: pd.Index) -> Prediction:
        """Return the predictions of those rows that have a pattern."""
        results, whole = self.results, not pattern.mass < 1.0
        size, spread = self.draws, self.spread
        averaged = (
            results._averaging(None, size, spread)
            if whole
            else results._averaging_within(pattern.inside, size, spread, pattern.label, self.sample)
        )
        offset = offset[pattern.rows] if pattern.mass <= 1.0 else np.full(pattern.rows.size, np.nan)
        made: Prediction = results._predicted_by(averaged, x, offset, index[pattern.rows], pattern.rows)
        return made


class SubmodelPrediction:
    """Predictions of rows, each averaged over the models that need no other variables than it has.

    Parameters
    ----------
    models : Submodels
    x : ndarray (rows, D), or WideMatrix
        Columns of the design, 0 where they are missing.
    offset : ndarray (rows,)
    index : Index
        Labels of the rows.
    patterns : list of Pattern
    """

    def __init__(
        self, models: Submodels, x: Any, offset: FloatArray, index: pd.Index, patterns: list[Pattern]
    ) -> None:
        self._models, self._x, self._offset = models, x, offset
        self.index, self._patterns = index, patterns

    @property
    def mass(self) -> pd.Series:
        """Posterior mass of the models that each row is averaged over; NaN without a prediction."""
        out = np.full(len(self.index), np.nan)
        for each in self._patterns:
            out[each.rows] = each.mass
        out[np.isnan(self._offset)] = np.nan
        return pd.Series(out, index=self.index.copy(), name="mass")

    def _joined(self, of: Callable[[Prediction], Any]) -> Any:
        """Return ``of`` the predictions of each pattern, in the order of the rows."""
        models, parts, endless = self._models, [], list[BoolArray]()
        patterns = self._patterns or [Pattern(np.empty(0, np.intp), models.terms, models.terms, 1.0)]
        for each in patterns:
            part = models.of(each, self._x, self._offset, self.index)
            parts.append(of(replace(part, tell=endless.append)))
        if endless:
            warn_of_endless(np.concatenate(endless))  # once for all patterns
        rows = np.concatenate([each.rows for each in patterns])
        whole = parts[0] if len(parts) == 1 else pd.concat(parts)
        size = len(whole) // max(1, len(rows))  # classes or times of a row
        order = np.argsort(rows, kind="stable")[:, None] * size + np.arange(size)
        found = whole.iloc[order.ravel()]
        return found.set_axis(self.index.copy()) if size == 1 and found.index.nlevels == 1 else found

    def mean(self) -> pd.Series | pd.DataFrame:
        """Return the posterior mean of each row's expected response, as :meth:`Prediction.mean` does."""
        return self._joined(lambda part: part.mean())

    def summary_frame(self, alpha: float = 0.05) -> pd.DataFrame:
        """Return predictions with intervals.

        Parameters
        ----------
        alpha : float, default 0.05
            One minus the probability of the intervals.

        Returns
        -------
        DataFrame
            As :meth:`Prediction.summary_frame`, with a column ``mass``: the posterior mass of the models that
            the row is averaged over, 1 for complete rows and NaN for rows without a prediction.

        Raises
        ------
        ParameterError
            If `alpha` is not in (0, 1).
        """
        found = self._joined(lambda part: part.summary_frame(alpha))
        return found.assign(mass=np.repeat(self.mass.to_numpy(), len(found) // max(1, len(self.index))))

    def classify(self) -> np.ndarray:
        """Return the position of the most probable class of each row, -1 for rows without a prediction."""
        mean = self.mean().to_numpy()
        out, known = np.full(len(mean), -1, dtype=np.int64), ~np.isnan(mean).any(axis=1)
        out[known] = mean[known].argmax(axis=1)
        return out

    def survival(self, times: ArrayLike, alpha: float = 0.05) -> pd.DataFrame:
        """Return probabilities of survival, as :meth:`SurvivalPrediction.survival` does."""
        return self._joined(lambda part: part.survival(times, alpha))  # type: ignore[attr-defined]

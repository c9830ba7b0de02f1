"""The passes over rows in chunks that generalised linear models take, and what they find."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from pyrjsel._errors import DataError
from pyrjsel._typing import ByteArray
from pyrjsel.model_space import ModelSpace, Space, count_dfs, pack, unpack
from pyrjsel.model_space.chains import dispersed_start
from pyrjsel.selection.evidence.expansions import (
    Proposals,
    Quadratic,
    exists,
    full_mode,
    laplace_value,
    modes_of,
)
from pyrjsel.selection.evidence.importance import Integral
from pyrjsel.selection.regression.chunk_passes import Modes, PointPrior
from pyrjsel.selection.regression.chunked import ChunkedRegression
from pyrjsel.selection.samplers._walk import Walk
from pyrjsel.selection.samplers.listing import feasible_models, normalise
from pyrjsel.selection.samplers.options import (
    MOST_MODELS,
    WIDEST_START,
    ChunksOptions,
    default_swaps,
    default_trades,
)
from pyrjsel.storage import Content, Plain

# Models are brought to their modes until the others have less than this proportion of the posterior of the
# quadratic expansion.
REST = 1e-4
# Models scored at a time by the quadratic expansion.
BLOCK = 2**14
# Limit of passes of a fit: a dozen are usual.
MOST_PASSES = 60
# Models of at least this posterior probability are checked for separation.
MASS = 0.005
# A Newton step of the likelihood from the mode that gains more than this needs passes to its maximum, at most
# so many: fitted log odds of separated classes grow by about one a pass.
GAIN, MOST_MAXIMA = 0.1, 20
# The prior of searches for maxima: of columns that depend on each other, none has a maximum of its own.
FAINT = 1e-9
# Chains over models where there are too many for a list, and the proportion of their draws outside the models
# of the others that is tolerated.
CHAINS, OUTSIDE = 4, 0.05
# Usual numbers of passes: to the mode of all columns, to those of models, for integrals.
USUAL = (5, 2, 1)
STAGES = ("full", "models", "integrals", "maxima", "done")


@dataclass(eq=False)
class Task:
    """The job of the passes, for ``run_chains``."""

    regression: ChunkedRegression
    space: ModelSpace
    entropy: bytes
    options: ChunksOptions
    total: int = field(default=MOST_PASSES, init=False)

    @property
    def outlook(self) -> str:
        """A line for the time before the first pass."""
        regression, left = self.regression, sum(USUAL)
        reader, made = regression.rows.reader, regression.passes
        # The last pass evaluates many draws for each row, which takes longer than to read it.
        integrals = min(self.options.integrals_for(reader.n_rows), 2**self.space.n_terms)
        draws = 2 * self.options.pairs * integrals
        seconds = left * reader.seconds + draws * reader.n_rows * regression.evaluation_seconds()
        return (
            f"About {made + left} passes over {reader.n_rows:,} rows, {made} of them made; the others take "
            f"about {max(seconds, 1):,.0f} s."
        )

    def start(self, seed: np.random.SeedSequence, chain: int) -> "Passes":
        """Return the passes, none of which is done."""
        return Passes(self)

    def resume(self, state: Content, recorded: Mapping[str, np.ndarray], chain: int) -> "Passes":
        """Return the passes at a saved state."""
        return Passes(self).restored(state)


def _visited(job: Task, quadratic: Quadratic) -> tuple[ByteArray, float]:
    """Return the models (m, J) that chains visit under the quadratic expansion, and the mass outside them.

    The proportion of draws of a chain outside the models of the others estimates the mass outside these, and
    is an upper bound for that outside all.
    """
    space = job.space
    seed = np.random.SeedSequence(int.from_bytes(job.entropy, "little"))
    found = []
    for number, child in enumerate(seed.spawn(CHAINS)):
        rng = np.random.Generator(np.random.PCG64(child))
        evidence = quadratic.evidence(job.regression)
        known = partial(exists, job.regression)
        start = space.empty_model() if number == 0 else dispersed_start(space, known, rng, WIDEST_START)
        walk = Walk(
            [evidence],
            Space(space),
            start[None],
            np.ones(1),
            slots=default_swaps(space),
            trades=default_trades(space),
        )
        walk.run(rng, job.options.steps // 5 + 1, 1.0)
        words = np.zeros((job.options.steps, pack(start[None]).shape[1]), dtype=np.uint64)
        walk.run(rng, job.options.steps, 1.0, words=words, log_mass=np.empty(len(words)))
        found.append(words)
    keys = [{row.tobytes() for row in words} for words in found]
    out = []
    for number, words in enumerate(found):
        others = set().union(*(keys[k] for k in range(CHAINS) if k != number))
        out.append(np.mean([row.tobytes() not in others for row in words]))
    models = np.unique(np.concatenate(found), axis=0)
    return np.ascontiguousarray(unpack(models, space.n_terms)), float(np.mean(out))


class Passes:
    """The passes over the rows after the first: to the mode of all columns, to those of models, integrals."""

    def __init__(self, job: Task) -> None:
        self.job = job
        self.done = self.made = 0
        self.stage = "full"
        self.full = full_mode(job.regression)
        self.quadratic: Quadratic | None = None
        self.gamma = np.empty((0, job.space.n_terms), dtype=np.uint8)
        self.log_prior = self.values = np.empty(0)
        self.count = self.deficient = self.main = 0
        self.outside = 0.0  # mass of models that are not in the list, where not all are
        self.rows = np.empty(0, dtype=np.int64)  # of the models in the list that are brought to their modes
        self.modes: Modes | None = None
        self.laplace = np.empty(0)
        self.proposals: Proposals | None = None
        self.best = np.empty(0, dtype=np.int64)
        self.integrals: list[Integral] = []
        self.suspects = np.empty(0, dtype=np.int64)
        self.relevant = self.climbs = 0
        self.maxima: Modes | None = None

    def advance(self, n: int) -> None:
        """Make `n` more passes, fewer if all is done."""
        self.done += n
        for _ in range(n):
            if self.stage == "done":
                return
            self.made += 1
            self._pass()

    def _pass(self) -> None:
        regression = self.job.regression
        if self.stage == "full":
            self.full.take(regression.derivatives(self.full.points))
            if not self.full.open.size:
                self._expand()
        elif self.stage == "models":
            assert self.modes is not None
            self.modes.take(regression.derivatives(self.modes.points))
            if not self.modes.open.size:
                self._aim()
        elif self.stage == "maxima":
            self._climb()
        else:
            assert self.proposals is not None
            self.integrals = self.proposals.integrals(regression.log_likelihoods(self.proposals.points))
            self._suspect()

    def _suspect(self) -> None:
        """Choose relevant models whose likelihood may have no maximum."""
        modes, regression = self.modes, self.job.regression
        assert modes is not None
        top = np.flatnonzero(normalise(self.laplace + self.log_prior[self.rows]) >= MASS)
        near, gain = top, modes.rise
        if regression.family.scaled:
            # The prior keeps the scale of errors away from its maximum, if columns explain nearly all.
            near, gain = np.arange(len(modes.point)), modes.gain
        self.suspects = np.array([k for k in near.tolist() if gain(k) > GAIN], dtype=np.int64)
        self.relevant = top.size
        self.stage = "maxima" if self.suspects.size else "done"
        if self.suspects.size:
            prior, none = modes.prior.prior, np.zeros(regression.n_columns)
            faint = replace(prior, precision=FAINT * prior.precision, shift=none, penalty=none)
            self.maxima = regression.modes(
                modes.inside[self.suspects],
                modes.point[self.suspects],
                PointPrior(faint, regression.family),  # of parameters of the family as it is
            )

    def _climb(self) -> None:
        """Bring the suspects nearer to the maxima of their likelihoods."""
        assert self.maxima is not None
        self.climbs += 1
        try:
            self.maxima.take(self.job.regression.derivatives(self.maxima.points))
        except DataError:  # no information is left where linear predictors are extreme
            self.climbs = MOST_MAXIMA
        rising = [k for k in self.maxima.open if not self.strays(k)]
        if not rising or self.climbs >= MOST_MAXIMA:
            self.stage = "done"

    @property
    def maximal(self) -> dict[bytes, float]:
        """Maxima of the log-likelihood of suspects that have one, by model."""
        found = self.maxima
        if found is None:
            return {}
        kept = [k for k in np.flatnonzero(found.known).tolist() if not self.strays(k)]
        return {self.gamma[self.rows[self.suspects[k]]].tobytes(): found.maximum(k) for k in kept}

    def strays(self, k: int) -> bool:
        """Return whether linear predictors of a suspect may be diverging."""
        assert self.maxima is not None
        return self.job.regression.family.strays(*self.maxima.ends[k])

    @property
    def integrated(self) -> int:
        """Largest number of models with integrals."""
        return self.job.options.integrals_for(self.job.regression.rows.reader.n_rows)

    def _expand(self) -> None:
        """Score all models by the quadratic expansion, and choose those to be brought to their modes."""
        job = self.job
        self.quadratic = Quadratic.of(self.full)
        evidence = self.quadratic.evidence(job.regression)
        if count_dfs(job.space, MOST_MODELS)[1]:
            gamma, log_prior = feasible_models(job.space)
        else:
            gamma, self.outside = _visited(job, self.quadratic)
            log_prior = np.asarray(job.space.log_prior(gamma))
        values = np.concatenate(
            [evidence.values(gamma[at : at + BLOCK]) for at in range(0, len(gamma), BLOCK)]
        )
        self.count, self.deficient = len(gamma), int(np.sum(np.isneginf(values)))
        if self.deficient == self.count:
            raise DataError("No feasible model has linearly independent columns, as the g-prior needs.")
        log_mass = values + log_prior
        order = np.argsort(-log_mass, kind="stable")
        self.gamma, self.log_prior, self.values = gamma[order], log_prior[order], values[order]
        covered = np.cumsum(normalise(log_mass[order]))
        # With few rows the expansion is poor, and modes are quick: those of all that may get integrals.
        wanted = max(int(np.searchsorted(covered, 1.0 - REST)) + 1, self.integrated)
        self.main = min(wanted, job.options.models, self.count - self.deficient)
        # And the best model with and without each term, for Bayes factors of terms that are sure.
        ends = [
            int(np.argmax(self.gamma[:, j] == value)) for j in range(job.space.n_terms) for value in (0, 1)
        ]
        held = np.isfinite(self.values[ends]) & (np.array(ends) >= self.main)
        self.rows = np.concatenate([np.arange(self.main), np.unique(np.array(ends)[held])]).astype(np.int64)
        self.modes = modes_of(job.regression, self.quadratic, self.gamma[self.rows])
        self.stage = "models"

    def _aim(self) -> None:
        """Choose the models that get integrals, and their draws."""
        job, modes = self.job, self.modes
        assert modes is not None
        rows = range(len(modes.point))
        self.laplace = np.array([laplace_value(job.regression, modes, row) for row in rows])
        log_mass = self.laplace + self.log_prior[self.rows]
        best = np.argsort(-log_mass, kind="stable")[: self.integrated]
        self.best = best
        part = job.regression.modes(modes.inside[best], modes.point[best])
        part.restore({name: array[best] for name, array in modes.state().items()})
        models = self.gamma[self.rows[best]]
        self.proposals = Proposals(job.regression, part, models, job.entropy, job.options.pairs)
        self.stage = "integrals"

    def expected(self) -> tuple[int, int]:
        """Return the number of passes made over the rows, and of all that are expected."""
        to_full, to_models, more = USUAL
        if self.stage == "full":
            left = max(1, to_full - self.made) + to_models + more
        elif self.stage == "models":
            assert self.modes is not None
            left = (1 if self.modes.known.any() else to_models) + more
        else:
            left = 0 if self.stage == "done" else 1
        made = self.job.regression.passes + self.made
        return made, made + left

    # ------------------------------------------------------------------ states

    def finish(self, completed: bool) -> "Passes":
        """Return the passes."""
        return self

    def plain_state(self) -> Plain:
        """Return the state between two passes."""
        modes = self.modes or self.full
        return {
            "done": self.done,
            "made": self.made,
            "stage": self.stage,
            "full": self.full.state(),
            "modes": modes.state(),
            "climbs": self.climbs,
            **({} if self.maxima is None else {"maxima": self.maxima.state()}),
        }

    def news(self) -> dict[str, np.ndarray]:
        """Return nothing: the state has all."""
        return {}

    def restored(self, state: Content) -> "Passes":
        """Return the passes at a saved state; integrals are made again."""
        self.done = state.integer("done", high=MOST_PASSES)
        self.made = state.integer("made", high=self.done)
        stage = state.text("stage", STAGES)
        self.full.restore(_arrays(state.part("full"), self.full))
        if stage != "full":
            self._expand()
            assert self.modes is not None
            self.modes.restore(_arrays(state.part("modes"), self.modes))
        if stage in ("integrals", "maxima", "done"):
            self._aim()
        if stage in ("maxima", "done"):
            self._pass()
        if self.maxima is not None and "maxima" in state:
            self.maxima.restore(_arrays(state.part("maxima"), self.maxima))
            self.climbs = state.integer("climbs", high=MOST_MAXIMA)
        self.stage = stage
        return self


def _arrays(content: Content, modes: Modes) -> dict[str, np.ndarray]:
    """Return the arrays of a saved search."""
    return {name: content.array(name, float, array.shape) for name, array in modes.state().items()}

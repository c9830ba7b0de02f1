"""Lists of all models: parallel processing, and probabilities, odds and inclusion from log masses."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from pyrjsel._called import called
from pyrjsel._errors import NotAvailableError
from pyrjsel._typing import ByteArray, FloatArray
from pyrjsel.model_space import ModelSpace, count_dfs, count_models, enumerate_models, unpack
from pyrjsel.runtime import FitSettings, RunTime, run_chains
from pyrjsel.selection.samplers.options import MOST_MODELS
from pyrjsel.storage import Content, Plain

# Number of parts of a list that is not short, which workers process; fixed, so that results do not depend on
# the number of workers.
PARTS = 8
# Models processed at a time: few enough for Ctrl-C, many enough for a small overhead.
UNIT = 256
# Linear models, or models times rows of others, up to which a list is one part: what parts have in common is
# made for each, and threads take time to start.
FEW = 1024


def feasible_models(space: ModelSpace, instead: str = "collapsed") -> tuple[ByteArray, FloatArray]:
    """Return all feasible models (m, J), depth-first, and their log prior probabilities up to a constant.

    Raises
    ------
    NotAvailableError
        If there are more than 2**20; it names the sampler `instead`.
    """
    if not count_dfs(space, MOST_MODELS)[1]:
        count = count_models(space, MOST_MODELS)
        raise NotAvailableError(
            f"{called()} with sampler='enumerate' lists all feasible models, at most {MOST_MODELS:,}; this "
            f"space has {'more' if count is None else f'{count:,}'}. Use sampler={instead!r}, or restrict it "
            "by budget=, max_size= or heredity=."
        )
    gamma = np.ascontiguousarray(unpack(enumerate_models(space, MOST_MODELS), space.n_terms))
    log_prior = space.log_size[_inside(gamma, space.free).astype(np.intp)] + _inside(gamma, space.log_odds)
    if space.by_order is not None:
        block = 2**16
        for at in range(0, len(gamma), block):
            log_prior[at : at + block] += space.log_open(gamma[at : at + block])
    return gamma, log_prior


class Part:
    """Processes a part of a list in steps; the results do not depend on the steps, to the last bit.

    Parameters
    ----------
    given : Any
        Data for the computation.
    size : int
        Number of models of a part, except for the last parts.
    number : int
        Number of the part.
    """

    def __init__(self, given: Any, size: int, number: int) -> None:
        self.given = given
        self.at = self.done = number * size
        self.stop = self.at + size
        self.unit = UNIT
        self.kept: dict[str, list[np.ndarray]] = {}
        self.told = 0

    def advance(self, n: int) -> None:
        """Process `n` more models."""
        self.at += n
        while self.done + self.unit <= self.at or self.done < self.stop <= self.at:
            end = min(self.done + self.unit, self.stop)
            self.take(slice(self.done, end))
            self.done = end

    def take(self, models: slice) -> None:
        """Process some of the models, without those beyond the list."""
        raise NotImplementedError

    def keep(self, **found: np.ndarray) -> None:
        """Keep arrays, which are concatenated along their first axis."""
        for name, array in found.items():
            self.kept.setdefault(name, []).append(array)

    def all(self, name: str, dtype: Any = float) -> np.ndarray:
        """Return the values kept under a name."""
        return np.concatenate([*self.kept.get(name, []), np.empty(0, dtype=dtype)])

    def finish(self, completed: bool) -> Any:
        """Return the result."""
        raise NotImplementedError

    def plain_state(self) -> Plain:
        """Return the position in the part."""
        return {"at": self.at, "done": self.done}

    def news(self) -> dict[str, np.ndarray]:
        """Return the values kept since the last call."""
        new = {name: parts[self.told :] for name, parts in self.kept.items()}
        self.told = max(map(len, self.kept.values()), default=0)
        return {name: np.concatenate(parts) for name, parts in new.items() if parts}

    def restored(self, state: Content, recorded: Mapping[str, np.ndarray]) -> Self:
        """Return the part at a saved state, with the values kept before."""
        self.at = state.integer("at", self.at, self.stop)
        self.done = state.integer("done", self.done, self.stop)
        self.kept = {name: [array] for name, array in recorded.items()}
        self.told = 1 if recorded else 0
        return self


@dataclass
class ListJob:
    """The job of processing a list of models by parts, for ``run_chains``.

    Attributes
    ----------
    part : type of Part
        Class that processes a part.
    length : int
        Number of models of the list.
    given : Any
        Data for the parts.
    parts : int, default PARTS
        Number of parts.
    """

    part: type[Part]
    length: int
    given: Any
    parts: int = PARTS
    total: int = field(init=False)

    def __post_init__(self) -> None:
        self.total = -(-self.length // self.parts)

    def start(self, seed: np.random.SeedSequence, chain: int) -> Part:
        """Return part number `chain`."""
        return self.part(self.given, self.total, chain)

    def resume(self, state: Content, recorded: Mapping[str, np.ndarray], chain: int) -> Part:
        """Return a partly processed part."""
        return self.part(self.given, self.total, chain).restored(state, recorded)


def parts_of(work: int) -> int:
    """Return the number of parts of a list of so many linear models, or models times rows of others."""
    return 1 if work <= FEW else PARTS


def run_parts(job: ListJob, settings: FitSettings, label: str) -> tuple[list[Any], RunTime]:
    """Return the result of each part of the list, and the total run time.

    Raises
    ------
    KeyboardInterrupt
        On Ctrl-C, since part of the models do not give a posterior.
    """
    outcome = run_chains(
        job,
        job.parts,
        np.random.default_rng(0),  # unused: the random stream of a model depends on the fit's entropy
        n_jobs=settings.n_jobs,
        progress=settings.progress,
        label=label,
        checkpoint=settings.checkpoint,
    )
    if not outcome.completed:
        raise KeyboardInterrupt("enumeration was interrupted; part of the models do not give a posterior")
    spent = sum(outcome.spent, RunTime())
    settings.watch.add(spent.cpu, outcome.aside)
    return outcome.results, spent


def with_dependence(deficient: int, count: int) -> str:
    """Return a note on the models of a list that have no coefficient prior."""
    return (
        f"{deficient:,} of {count:,} models have linearly dependent columns: prior probabilities and Bayes "
        f"factors are over the other {count - deficient:,}."
    )


def no_chains(n_terms: int) -> dict[str, Any]:
    """Return the fields of a posterior that are of chains, without any."""
    unknown, never = np.full(n_terms, np.nan), np.zeros(n_terms, dtype=bool)
    return {"ess": unknown, "r_hat": unknown, "stuck": never, "disagree": never, "draws": None}


def normalise(log_mass: FloatArray) -> FloatArray:
    """Return probabilities of models with the given log masses."""
    # mathematics: selection-posterior
    mass = np.exp(log_mass - log_mass.max())
    return np.asarray(mass / mass.sum())


def probability_error(probability: FloatArray, variance: FloatArray) -> FloatArray:
    """Delta method: d log p_k = e_k - sum p_l e_l for relative errors e of the marginal likelihoods."""
    total = float(probability**2 @ variance)
    own = variance * ((1 - probability) ** 2 - probability**2)
    return np.asarray(probability * np.sqrt(np.maximum(own + total, 0.0)))


def odds_of(log_mass: FloatArray) -> FloatArray:
    """Return the odds of the first model against each."""
    with np.errstate(over="ignore"):  # a model of negligible mass has odds inf
        return np.asarray(np.exp(log_mass[0] - log_mass))


def odds_error(log_mass: FloatArray, variance: FloatArray) -> FloatArray:
    """Return the errors of these odds."""
    odds = odds_of(log_mass)
    odds[np.isinf(odds)] = np.nan  # the error of infinite odds is unknown
    error = odds * np.sqrt(variance[0] + variance)
    error[0] *= 0.0  # against itself; unknown variances remain unknown
    return np.asarray(error)


def _inside(gamma: ByteArray, values: FloatArray | ByteArray) -> FloatArray:
    """Return the sums (m,) of the values (J,) of the terms of each model, in blocks."""
    block = 2**16
    weight = values.astype(float)
    return np.concatenate([gamma[at : at + block] @ weight for at in range(0, len(gamma), block)])


def sum_inside(mass: FloatArray, gamma: ByteArray) -> FloatArray:
    """Return the mass (J,) of the models with each term, in blocks."""
    block = 2**16
    parts = [mass[at : at + block] @ gamma[at : at + block] for at in range(0, len(gamma), block)]
    return np.asarray(np.sum(parts, axis=0))


def sum_outside(mass: FloatArray, gamma: ByteArray) -> FloatArray:
    """Return the mass (J,) of the models without each term, not as a difference, to avoid rounding errors."""
    block = 2**16
    parts = [mass[at : at + block] @ (1 - gamma[at : at + block]) for at in range(0, len(gamma), block)]
    return np.asarray(np.sum(parts, axis=0))


def inclusion_of(probability: FloatArray, gamma: ByteArray) -> FloatArray:
    """Return inclusion probabilities (J,), which are 1 only if no model without the term has any mass.

    Sums can round to 1, which would suggest a certainty that does not exist.
    """
    inside = np.minimum(sum_inside(probability, gamma), 1.0)
    for j in np.flatnonzero(inside > 1.0 - 1e-9):
        certain = not np.any(probability[gamma[:, j] == 0] > 0)
        inside[j] = 1.0 if certain else min(inside[j], np.nextafter(1.0, 0.0))
    return inside


def inclusion_error(
    gamma: ByteArray, probability: FloatArray, inclusion: FloatArray, variance: FloatArray
) -> FloatArray:
    """Delta method: d P_j = sum p_k (gamma_kj - P_j) e_k."""
    # mathematics: errors-integrals
    mass = probability**2 * variance
    without = sum_inside(mass, gamma) * sum_outside(probability, gamma) ** 2
    return np.sqrt(without + sum_outside(mass, gamma) * inclusion**2)

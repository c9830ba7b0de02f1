"""Several passes of the filter side by side: other widths, or the same again."""

from collections.abc import Mapping, Sequence

import numpy as np

from pyrjsel.kernel.filter import FilterJob, FilterRunner
from pyrjsel.kernel.state import FilterState
from pyrjsel.runtime import Checkpoint, Stopwatch, run_chains
from pyrjsel.store import Content


class Passes:
    """Filters of equally many rows, for :func:`run_chains`.

    Parameters
    ----------
    jobs : sequence of FilterJob
        What each pass does.
    """

    def __init__(self, jobs: Sequence[FilterJob]) -> None:
        self.jobs = list(jobs)
        self.total = self.jobs[0].total

    def start(self, seed: np.random.SeedSequence, chain: int) -> FilterRunner:
        """Return the runner of pass number `chain`."""
        return self.jobs[chain].start(seed, chain)

    def resume(self, state: Content, recorded: Mapping[str, np.ndarray], chain: int) -> FilterRunner:
        """Return the runner of a state of pass number `chain`."""
        return self.jobs[chain].resume(state, recorded, chain)


def run_passes(
    jobs: Sequence[FilterJob],
    rng: np.random.Generator,
    *,
    n_jobs: int | None = None,
    progress: bool | None = None,
    checkpoint: Checkpoint | None = None,
    watch: Stopwatch | None = None,
) -> list[FilterState]:
    """Return the states of filters after their passes, or after what Ctrl-C left of them.

    CPU seconds are added to a `watch`, where there is one.

    Raises
    ------
    KeyboardInterrupt
        If one was interrupted before its first row.
    """
    outcome = run_chains(
        Passes(jobs), len(jobs), rng, n_jobs=n_jobs, progress=progress, label="rows", checkpoint=checkpoint
    )
    if watch is not None:
        watch.add(sum(spent.cpu for spent in outcome.spent), outcome.aside)
    states: list[FilterState] = outcome.results
    if any(len(state.y) == 0 for state in states):
        raise KeyboardInterrupt("interrupted before the first row")
    return states

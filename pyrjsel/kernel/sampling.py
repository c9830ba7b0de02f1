"""Fits: from rows and options to what a sampler gave."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd
from scipy.special import logsumexp

from pyrjsel._typing import FloatArray
from pyrjsel.kernel.chain import run_mcmc
from pyrjsel.kernel.evidence import pool_evidence
from pyrjsel.kernel.filter import FilterJob
from pyrjsel.kernel.kernels import Kernel
from pyrjsel.kernel.options import FilterOptions
from pyrjsel.kernel.passes import run_passes
from pyrjsel.kernel.runs import ChainRun, FilterRun, same_rows
from pyrjsel.kernel.state import KernelSettings
from pyrjsel.kernel.stopping import stopping
from pyrjsel.runtime import Checkpoint, FitSettings, RunTime, Stopwatch


def fit_filter(
    settings: KernelSettings,
    kernels: Sequence[Kernel],
    widths: Sequence[float],
    x: FloatArray,
    y: FloatArray,
    index: pd.Index,
    options: FilterOptions,
    rng: np.random.Generator,
    n_jobs: int | None,
    progress: bool | None,
    checkpoint: Checkpoint | None,
) -> FilterRun:
    """Pass over the rows once for each width and run, and return the runs of the width of largest evidence.

    All passes take the rows in the same order, so that evidences can be compared after each row.

    Parameters
    ----------
    settings : KernelSettings
        Of any width.
    kernels : sequence of Kernel
        By width.
    widths : sequence of float
        As they were given.
    x, y : ndarray (n, d), ndarray (n,)
        Rows, as they are fitted.
    index : Index
        Their labels.
    options : FilterOptions
    rng : Generator
    n_jobs, progress
        As for ``fit``.
    checkpoint : Checkpoint, optional
        Where the passes write down where they are.

    Returns
    -------
    FilterRun
        After Ctrl-C of as many rows as the slowest pass has seen.
    """
    clock = 0.0 if checkpoint is None else checkpoint.clock
    watch = Stopwatch(RunTime(0.0, clock))
    order = rng.permutation(len(y)) if options.row_order == "random" else np.arange(len(y))
    each = [replace(settings, kernel=kernel) for kernel in kernels]
    jobs = [FilterJob(one, x[order], y[order]) for one in each for _ in range(options.runs)]
    states = run_passes(jobs, rng, n_jobs=n_jobs, progress=progress, checkpoint=checkpoint, watch=watch)
    rows = min(len(state.y) for state in states)
    found = [
        pool_evidence(
            np.array([state.log_evidence_path[rows - 1] for state in states[place : place + options.runs]])
        )
        for place in range(0, len(states), options.runs)
    ]
    evidence = np.array([value for value, _ in found])
    table = pd.DataFrame(
        {
            "log_evidence": evidence,
            "se": [error for _, error in found],
            "posterior": np.exp(evidence - logsumexp(evidence)),
        },
        index=pd.Index(widths, name="width"),
    )
    place = int(np.argmax(evidence))
    chosen = same_rows(states[place * options.runs : (place + 1) * options.runs])
    missed = len(y) - len(chosen[0].y)
    spent = watch.read()
    run = FilterRun(
        settings=each[place],
        place=place,
        states=chosen,
        index=index[order][: len(chosen[0].y)],
        order=order[: len(chosen[0].y)].astype(np.int64),
        widths=table,
        row_order=options.row_order,
        seconds=spent.clock,
        missed=missed,
        run_time=spent,
    )
    run.warn(missed)
    return run


def fit_chains(
    settings: KernelSettings,
    x: FloatArray,
    y: FloatArray,
    index: pd.Index,
    fit: FitSettings,
) -> ChainRun:
    """Sample the posterior of all rows by MCMC.

    Parameters
    ----------
    settings : KernelSettings
    x, y : ndarray (n, d), ndarray (n,)
        Rows, as they are fitted.
    index : Index
        Their labels.
    fit : FitSettings
        Draws or their accuracy, burn-in, thinning, chains, seed, workers and progress.

    Returns
    -------
    ChainRun
        After Ctrl-C of the draws so far.
    """
    draws, drawn = run_mcmc(settings, x, y, fit, stopping(index, fit.asked_mcse))
    seconds = sum(drawn.seconds)
    run = ChainRun(settings, draws, x, y, index, fit.finished(drawn.asked), seconds, drawn.notes, drawn.ends)
    run.warn()
    return run

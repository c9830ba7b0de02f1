"""Posteriors of two modes against enumeration: how often fits are off, and whether they say so.

Of each kind 25 problems, each with a seed of its own, with the sampler forced and the number of draws left to
the run: fits with errors above 0.1, those of them that do not warn, and the root mean square of errors over
Monte Carlo errors.
"""

import time
import warnings
from pathlib import Path

import numpy as np
import pytest
from by_path import module

import pyrjsel as rj

two_modes = module(Path(__file__).parent / "two_modes.py")

FITS = 25


def fit(model, seed, **options):
    """Results, whether they warn, and seconds."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        start = time.process_time()
        found = model.fit(rng=seed, n_jobs=1, progress=False, **options)
        spent = time.process_time() - start
    return found, any(issubclass(one.category, rj.ConvergenceWarning) for one in caught), spent


@pytest.mark.parametrize("kind", two_modes.KINDS)
def test_bench_two_modes(kind, table):
    errors, silent, z, times = [], 0, [], []
    for seed in range(FITS):
        model, _, _ = two_modes.problem(kind, seed)
        exact = fit(model, seed, sampler="enumerate")[0].inclusion["posterior"]
        found, warned, spent = fit(model, seed, sampler="collapsed")
        away = found.inclusion["posterior"] - exact
        errors.append(np.abs(away).max())
        silent += errors[-1] > 0.1 and not warned
        open_terms = exact.between(0.01, 0.99)
        z.append((away / found.inclusion["mcse"])[open_terms])
        times.append(spent)
    off = int(np.sum(np.array(errors) > 0.1))
    table.add("two modes", f"{kind}: fits off by 0.1 of {FITS}", off, "", note=f"{silent} silent")
    table.add("two modes", f"{kind}: r.m.s. z", np.sqrt(np.nanmean(np.concatenate(z) ** 2)), "", target=1.3)
    table.add("two modes", f"{kind}: largest error", max(errors), "")
    table.add("two modes", f"{kind}: a fit", np.median(times), "s")
    assert silent == 0

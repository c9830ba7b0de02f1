"""Default fits under a budget that keeps two modes apart, of sixty columns: how often they are off.

A hundred fits a family, of as many problems, with all that can be said left out: those with an inclusion
probability that is off by more than 0.1, those of them that do not warn, and the root mean square of errors
over Monte Carlo errors.
"""

from pathlib import Path

import numpy as np
import pytest
from by_path import module

bounded_designs = module(Path(__file__).with_name("bounded_designs.py"))

SEEDS = range(5)


@pytest.mark.parametrize("family", bounded_designs.two_modes.MODELS)
def test_bench_bounded(family, table):
    rows = list(bounded_designs.campaign(family, SEEDS))
    silent = 0
    for price in bounded_designs.BUDGET:
        some = [row for row in rows if row["price"] == price]
        off = [row for row in some if row["error"] > 0.1]
        silent += sum(not row["warned"] for row in off)
        z = np.concatenate([row["z"] for row in some])
        what, times = f"{family}, price of {price}", [row["seconds"] for row in some]
        table.add("bounded designs", f"{what}: fits off by 0.1 of {len(some)}", len(off), "")
        table.add("bounded designs", f"{what}: r.m.s. z", np.sqrt(np.nanmean(z**2)), "", target=1.3)
        table.series("bounded designs", f"{what}: a fit", times, "s")
    assert silent == 0
    assert sum(row["error"] > 0.1 for row in rows) <= 0.01 * len(rows)
    # What the truth leaves approximate must not matter.
    assert max(row["rest"] for row in rows) < 0.05

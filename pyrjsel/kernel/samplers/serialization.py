"""States of the samplers as plain data, for checkpoints and files of results, and back with checks."""

from collections.abc import Callable
from dataclasses import fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyrjsel._typing import FloatArray
from pyrjsel.kernel.samplers.columns import Columns
from pyrjsel.kernel.state import MOVES, FilterState, KernelSettings, Particles
from pyrjsel.storage import Content, Plain

# From the owners of columns (m,), -1 those of fixed ones: the columns (m, t).
MakeColumns = Callable[[NDArray[np.int32]], FloatArray]
# Sums of weights differ from 1 by no more than rounding, and of that by far less.
ROUNDING = 1e-6
LEAST_VARIANCE = np.finfo(float).tiny
Parts = tuple[NDArray[np.int32], FloatArray, FloatArray, FloatArray]


def columns_to_plain(columns: Columns) -> Plain:
    """Return owners, columns and inner products."""
    return dict(zip(("owners", "columns", "gram", "moments"), columns.parts(), strict=True))


def parts_from_plain(content: Content, t: int, fixed: int, columns: MakeColumns | None = None) -> Parts:
    """Return the same, over `t` rows; columns that were not kept are made of their owners.

    The first `fixed` columns are nobody's.
    """
    owners = content.array("owners", np.int32, (None,))
    m = len(owners)
    others = owners[fixed:]
    first = [-1] * fixed
    if owners[:fixed].tolist() != first or (others < 0).any() or (others >= t).any():
        raise content.wrong("owners", f"{first} and different rows")
    if len(set(others)) < len(others):
        raise content.wrong("owners", f"{first} and different rows")
    return (
        owners,
        columns(owners) if columns and "columns" not in content else content.array("columns", float, (m, t)),
        content.numbers("gram", (m, m)),
        content.numbers("moments", (m,)),
    )


def particles_from_plain(content: Content, n: int, settings: KernelSettings, t: int) -> Particles:
    """Return `n` particles whose centres are among `t` rows."""
    most = int(settings.max_kernels)
    k = content.array("k", np.int32, (n,))
    centres = content.array("centres", np.int32, (n, most))
    inside = np.arange(most) < k[:, None]
    rising = np.diff(centres, axis=1)[inside[:, 1:]] > 0
    if (k < 0).any() or (k > most).any() or not rising.all():
        raise content.wrong("centres", "rising rows, k of each particle")
    if (centres[~inside] != -1).any() or (centres[inside] < 0).any() or (centres[inside] >= t).any():
        raise content.wrong("centres", f"rows below {t}, and -1 beyond the first k")
    numbers = [
        content.numbers(
            item.name,
            (n, settings.most_columns) if item.name in ("beta", "mean") else (n,),
            LEAST_VARIANCE if item.name in ("sigma2", "delta2") else -np.inf,
        )
        for item in fields(Particles)[2:]
    ]
    return Particles(k, centres, *numbers)


def moves_from_plain(content: Content, rows: int) -> dict[str, Any]:
    """Return how often moves of each kind were tried and accepted, (rows, kinds) each."""
    tried, accepted = (content.counts(name, (rows, len(MOVES))) for name in ("moves_tried", "moves_accepted"))
    if (accepted > tried).any():
        raise content.wrong("moves_accepted", "no more than were tried")
    return {"moves_tried": tried, "moves_accepted": accepted}


def state_to_plain(state: FilterState) -> Plain:
    """Return the state of a filter, without its rows."""
    return {name: value for name, value in vars(state).items() if name not in ("x", "y")}


def state_from_plain(
    content: Content,
    x: FloatArray,
    y: FloatArray,
    settings: KernelSettings,
    columns: MakeColumns | None = None,
) -> FilterState:
    """Return the state of a filter of some of the rows `x` (T, d) and `y` (T,), the first ones."""
    path = content.numbers("log_evidence_path", (None,))
    n, t = int(settings.particles), len(path)
    if t > len(y):
        raise content.wrong("log_evidence_path", f"of at most {len(y)} rows")
    particles = particles_from_plain(content, n, settings, t)
    owners, values, gram, moments = parts_from_plain(content, t, settings.fixed, columns)
    if np.setdiff1d(particles.held(), owners).size:
        raise content.wrong("owners", "rows with the centres of all particles among them")
    log_weights = content.numbers("log_weights", (n,), high=ROUNDING, infinite=True)
    if abs(np.exp(log_weights).sum() - 1.0) > ROUNDING:
        raise content.wrong("log_weights", "logarithms of weights that add up to 1")
    return FilterState(
        **particles.arrays(),
        x=x[:t].copy(),
        y=y[:t].copy(),
        log_weights=log_weights,
        log_evidence=content.number("log_evidence"),
        owners=owners,
        columns=values,
        gram=gram,
        moments=moments,
        ess=content.numbers("ess", (t,), 0.0, n * (1.0 + ROUNDING)),
        resampled=content.array("resampled", bool, (t,)),
        ancestors=content.counts("ancestors", (t,), n),
        mean_k=content.numbers("mean_k", (t,), 0.0, settings.max_kernels * (1.0 + ROUNDING)),
        log_evidence_path=path,
        **moves_from_plain(content, t),
        bit_generator=content.pcg64("bit_generator"),
    )

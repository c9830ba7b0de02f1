"""Weighted particles: their start, resampling, invariant moves, and the compiled loop of their model."""

import numpy as np
from numpy.typing import NDArray

from pyrjsel._core import special
from pyrjsel._typing import FloatArray, IntArray
from pyrjsel.kernel._filter import ParticleLoop
from pyrjsel.kernel.samplers.columns import Columns
from pyrjsel.kernel.state import KernelSettings, Particles


def resample(scheme: str, weights: FloatArray, rng: np.random.Generator) -> IntArray:
    """Return the ancestors (N,), in increasing order, of N particles with equal weights.

    Particle i has ``N weights[i]`` descendants on average under each scheme (Douc, Cappe and Moulines 2005).

    Parameters
    ----------
    scheme : str
        ``"systematic"``, ``"stratified"``, ``"multinomial"`` or ``"residual"``.
    weights : ndarray (N,)
        Of sum 1.
    rng : numpy.random.Generator
        Source of randomness.

    Returns
    -------
    ndarray (N,), int64
        Positions of ancestors.
    """
    n = len(weights)
    if scheme == "residual":
        sure = np.floor(n * weights).astype(np.int64)
        rest = n * weights - sure
        certain = np.repeat(np.arange(n), sure)
        left = n - len(certain)
        if not left:
            return certain
        return np.sort(np.concatenate([certain, _invert(rest / rest.sum(), np.sort(rng.random(left)))]))
    if scheme == "systematic":
        points = (np.arange(n) + rng.random()) / n
    elif scheme == "stratified":
        points = (np.arange(n) + rng.random(n)) / n
    else:
        points = np.sort(rng.random(n))
    return _invert(weights, points)


def _invert(weights: FloatArray, points: FloatArray) -> IntArray:
    """Return where the distribution function passes each point; never a weight of 0."""
    total = np.cumsum(weights)
    # The last sum is 1 but for rounding; a point beyond it belongs to the last weight above 0.
    return np.minimum(np.searchsorted(total, points, side="right"), np.flatnonzero(weights)[-1])


def loop_of(settings: KernelSettings) -> ParticleLoop:
    """Return the compiled loop of a model."""
    return ParticleLoop(
        mean_kernels=float(settings.mean_kernels),
        most=int(settings.max_kernels),
        a_y=float(settings.a_y),
        b_y=float(settings.b_y),
        a_beta=float(settings.a_beta),
        b_beta=float(settings.b_beta),
        draw_noise=settings.noise_variance is None,
        draw_coef=settings.coef_variance is None,
        move_fraction=settings.blind_fraction,
        literal=settings.importance == "paper",
        fixed=settings.fixed,
    )


def log_density(values: FloatArray, a: float, b: float) -> FloatArray:
    """Return the logs of the densities of ``IG(a, b)``."""
    return a * np.log(b) - special.gammaln(a) - (a + 1.0) * np.log(values) - b / values


def start(
    settings: KernelSettings, n: int, first: float, rng: np.random.Generator
) -> tuple[Particles, FloatArray]:
    """Return `n` particles without kernels before the first row, and the logs of their weights.

    The weights are the prior over the start law. A variance that is drawn comes from ``IG(a + 1/2, b + y^2 /
    2)``, its posterior if it alone made the response y of the first row, or else from ``IG(a + h, b)``, with
    even chances, since a draw of ``IG(a, b)`` is hardly ever near the data where a is small. h is 1/2 for one
    such variance and 1/4 each for two: the likelihood of the first row is at most ``sigma^-1``, ``delta^-1``
    and ``(sigma delta)^(-1/2)``, and so bounds the weights.

    Parameters
    ----------
    settings : KernelSettings
    n : int
    first : float
        The response of the first row.
    rng : numpy.random.Generator

    Returns
    -------
    Particles
    ndarray (n,)
    """
    # mathematics: kernel-start-law
    most = int(settings.max_kernels)
    log_weights = np.zeros(n)
    spread = 0.25 if settings.noise_variance is None and settings.coef_variance is None else 0.5
    variances = []
    for fixed, a, b in (
        (settings.noise_variance, settings.a_y, settings.b_y),
        (settings.coef_variance, settings.a_beta, settings.b_beta),
    ):
        if fixed is not None:
            variances.append(np.full(n, float(fixed)))
            continue
        laws = ((a + spread, b), (a + 0.5, b + 0.5 * first**2))
        draws = [scale / rng.standard_gamma(shape, n) for shape, scale in laws]
        drawn = np.where(rng.random(n) < 0.5, *draws)
        log_laws = [log_density(drawn, shape, scale) for shape, scale in laws]
        log_weights += log_density(drawn, a, b) - np.logaddexp(*log_laws) + np.log(2)
        variances.append(drawn)
    particles = Particles(
        np.zeros(n, dtype=np.int32),
        np.full((n, most), -1, dtype=np.int32),
        np.zeros((n, settings.most_columns)),
        np.zeros((n, settings.most_columns)),
        variances[0],
        variances[1],
        np.zeros(n),
    )
    return particles, log_weights - np.log(n)


def refresh(
    loop: ParticleLoop,
    columns: Columns,
    particles: Particles,
    moves: int,
    pool: NDArray[np.int32],
    rng: np.random.Generator,
    counts: tuple[IntArray, IntArray],
) -> None:
    """Make invariant moves of the particles and draw their coefficients and variances, in place.

    `pool` has independent uniform rows, whose columns are there; all particles propose them, each begins at
    a place of its own. `counts` are added to: moves tried and accepted, by kind.
    """
    loop.see(columns.slot[: columns.t], columns.gram, columns.moments, columns.yy)
    for part in particles.chunks():
        loop.refresh(rng, pool, moves, part.in_order(), *counts)

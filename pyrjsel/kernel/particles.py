"""The particles of a sampler as arrays, their start, and the compiled loop of their model."""

from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from pyrjsel._typing import FloatArray, IntArray
from pyrjsel.kernel._filter import ParticleLoop
from pyrjsel.kernel.columns import Columns
from pyrjsel.kernel.state import KernelSettings

# Particles of a call of the compiled loop, which then takes some hundredths of a second.
CHUNK = 1000


@dataclass
class Particles:
    """Arrays with an entry for each particle, as in `FilterState`."""

    k: NDArray[np.int32]
    centres: NDArray[np.int32]
    beta: FloatArray
    mean: FloatArray
    sigma2: FloatArray
    delta2: FloatArray
    log_marginal: FloatArray

    def take(self, which: IntArray | slice) -> "Particles":
        """Return some of the particles; a slice gives views."""
        return Particles(*(getattr(self, field.name)[which] for field in fields(self)))

    def held(self) -> NDArray[np.int32]:
        """Return the rows of the centres of all particles, with repeats."""
        return self.centres[self.centres >= 0]

    def chunks(self) -> "list[Particles]":
        """Return views of the particles, some at a time."""
        return [self.take(slice(low, low + CHUNK)) for low in range(0, len(self.k), CHUNK)]


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
    )


def start(settings: KernelSettings, n: int, rng: np.random.Generator) -> tuple[Particles, FloatArray]:
    """Return `n` particles without kernels before the first row, and the logs of their weights.

    Variances come from ``IG(a + 1/2, b)``, since a draw of ``IG(a, b)`` is hardly ever near the data where a
    is small; the first row bounds the ratio of the two, which the weights are.
    """
    most = int(settings.max_kernels)
    log_weights = np.zeros(n)
    variances = []
    for fixed, a, b in (
        (settings.noise_variance, settings.a_y, settings.b_y),
        (settings.coef_variance, settings.a_beta, settings.b_beta),
    ):
        if fixed is not None:
            variances.append(np.full(n, float(fixed)))
            continue
        drawn = b / rng.standard_gamma(a + 0.5, n)
        log_weights += gammaln(a + 0.5) - gammaln(a) - 0.5 * np.log(b) + 0.5 * np.log(drawn)
        variances.append(drawn)
    particles = Particles(
        np.zeros(n, dtype=np.int32),
        np.full((n, most), -1, dtype=np.int32),
        np.zeros((n, most + 1)),
        np.zeros((n, most + 1)),
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
        loop.refresh(
            rng,
            pool,
            moves,
            part.k,
            part.centres,
            part.beta,
            part.mean,
            part.sigma2,
            part.delta2,
            part.log_marginal,
            *counts,
        )

"""Settings and states of the samplers of kernel regression, as plain data."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyrjsel._called import called
from pyrjsel._errors import ParameterError
from pyrjsel._typing import FloatArray, IntArray
from pyrjsel._validate import bad_value, check_choice, check_int, check_real

# K(rows, centres): kernel values (n, m) of rows (n, d) at centres (m, d).
KernelFunction = Callable[[FloatArray, FloatArray], FloatArray]

RESAMPLING = ("systematic", "stratified", "multinomial", "residual")
IMPORTANCE = ("exact", "paper")
# Kinds of rejuvenation moves, in the order of the columns of `moves_tried`.
MOVES = ("birth", "death", "shift")

# Particles of a call of the compiled loop, which then takes some hundredths of a second.
CHUNK = 1000
# c of Vermaak, Godsill and Doucet (2003).
PAPER_FRACTION = 0.25


@dataclass(frozen=True)
class KernelSettings:
    """The model and the options of its samplers.

    Attributes
    ----------
    kernel : callable
        ``kernel(rows, centres)`` returns the kernel values (n, m) of rows (n, d) at centres (m, d).
    mean_kernels : float
        Lambda of the prior of the number of kernels, ``p(k)`` proportional to ``Lambda^k / k!``.
    max_kernels : int
        Most kernels of a model.
    a_y, b_y : float
        Shape and scale of the inverse gamma prior of the noise variance sigma^2.
    a_beta, b_beta : float
        Those of the variance delta^2 of the coefficients.
    noise_variance, coef_variance : float, optional
        What sigma^2 and delta^2 are fixed at; None has them drawn.
    particles : int
        Number of particles N.
    move_fraction : float, optional
        c of the chances of births and deaths among earlier rows, between 0 and 1/2. None is 0.25 without
        rejuvenation or with the weights of the paper, and else none of either.
    ess_threshold : float
        Particles are resampled where the effective sample size is below this share of N; 0 is never.
    resampling : str
        ``"systematic"``, ``"stratified"``, ``"multinomial"`` or ``"residual"``.
    importance : str
        ``"exact"``, or ``"paper"`` for the biased weights of Vermaak, Godsill and Doucet (2003).
    rejuvenate : int
        Moves of each particle in a sweep that leaves its posterior invariant; there is one sweep at each row,
        and up to 8 where few particles are left after resampling. From 1,024 rows on, a share of the
        particles moves at a row that changes little: a half, and the smaller, the more rows there are.
    trend : int
        Inputs with a linear trend beside the kernels: none or all of them, the first ones of a row.
    """

    kernel: KernelFunction
    mean_kernels: float = 1.0
    max_kernels: int = 50
    a_y: float = 0.01
    b_y: float = 0.01
    a_beta: float = 0.01
    b_beta: float = 0.01
    noise_variance: float | None = None
    coef_variance: float | None = None
    particles: int = 250
    move_fraction: float | None = None
    ess_threshold: float = 0.5
    resampling: str = "systematic"
    importance: str = "exact"
    rejuvenate: int = 8
    trend: int = 0

    def __post_init__(self) -> None:
        if not callable(self.kernel):
            raise bad_value("kernel", "a function of rows and centres", self.kernel)
        check_real(self.mean_kernels, "mean_kernels", low=0, open_low=True)
        check_int(self.max_kernels, "max_kernels", low=1)
        for name, what in (("y", "sigma^2 -> 0 where kernels interpolate"), ("beta", "delta^2 -> 0")):
            for part in (f"a_{name}", f"b_{name}"):
                value = getattr(self, part)
                if isinstance(value, (int, float)) and not isinstance(value, bool) and value == 0:
                    raise ParameterError(
                        f"The {part!r} parameter of {called()} must be above 0. Got 0 instead: the "
                        f"posterior is improper then, since the likelihood stays positive as {what}."
                    )
                check_real(value, part, low=0, open_low=True)
        for name in ("noise_variance", "coef_variance"):
            if getattr(self, name) is not None:
                check_real(getattr(self, name), name, low=0, open_low=True)
        check_int(self.particles, "particles", low=1)
        if self.move_fraction is not None:
            check_real(self.move_fraction, "move_fraction", low=0, high=0.5, open_low=True, open_high=True)
        check_real(self.ess_threshold, "ess_threshold", low=0, high=1)
        check_choice(self.resampling, "resampling", RESAMPLING)
        check_choice(self.importance, "importance", IMPORTANCE)
        check_int(self.rejuvenate, "rejuvenate", low=0)
        check_int(self.trend, "trend", low=0)

    @property
    def fixed(self) -> int:
        """Columns that every model has: the intercept, and those of a trend."""
        return 1 + int(self.trend)

    @property
    def most_columns(self) -> int:
        """Most columns of a model."""
        return int(self.max_kernels) + self.fixed

    @property
    def blind_fraction(self) -> float:
        """Largest chance of a birth, and of a death, that is not asked whether it fits: c.

        Sets that have come by one are rarely good with the variances of before, and those that are have all
        of the weight that such moves have: few particles miss them, and with them a share of the evidence at
        every row. Births and deaths of rejuvenation are asked.
        """
        if self.move_fraction is not None:
            return float(self.move_fraction)
        return 0.0 if self.rejuvenate and self.importance == "exact" else PAPER_FRACTION


@dataclass
class Particles:
    """Arrays with an entry for each particle.

    Attributes
    ----------
    k : ndarray (N,), int32
        Number of kernels of each particle.
    centres : ndarray (N, max_kernels), int32
        Rows of the centres, increasing, in the first k entries; the others are -1.
    beta : ndarray (N, most_columns)
        A draw of the coefficients, those of fixed columns first; entries beyond k more are 0.
    mean : ndarray (N, most_columns)
        Posterior means of the coefficients given centres, sigma2 and delta2.
    sigma2, delta2 : ndarray (N,)
        Variances of noise and coefficients.
    log_marginal : ndarray (N,)
        ``log p(y_1..t | centres, sigma2, delta2)``.
    """

    k: NDArray[np.int32]
    centres: NDArray[np.int32]
    beta: FloatArray
    mean: FloatArray
    sigma2: FloatArray
    delta2: FloatArray
    log_marginal: FloatArray

    def arrays(self) -> dict[str, np.ndarray]:
        """Return these arrays by name."""
        return {item.name: getattr(self, item.name) for item in fields(Particles)}

    def in_order(self) -> list[np.ndarray]:
        """Return these arrays in the order of the attributes, as loops take them."""
        return list(self.arrays().values())

    def copies(self) -> "Particles":
        """Return copies of these arrays."""
        return Particles(*(array.copy() for array in self.in_order()))

    def take(self, which: IntArray | slice) -> "Particles":
        """Return some of the particles; a slice gives views."""
        return Particles(*(array[which] for array in self.in_order()))

    def held(self) -> NDArray[np.int32]:
        """Return the rows of the centres of all particles, with repeats."""
        return self.centres[self.centres >= 0]

    def chunks(self) -> "list[Particles]":
        """Return views of the particles, some at a time."""
        return [self.take(slice(low, low + CHUNK)) for low in range(0, len(self.k), CHUNK)]


@dataclass
class FilterState(Particles):
    """A filter after t rows: everything that its next rows depend on.

    Rows are numbered from 0 in the order in which they were seen, and a centre is the number of its row.

    Attributes
    ----------
    k, centres, beta, mean, sigma2, delta2, log_marginal
        As in `Particles`.
    x : ndarray (t, d)
    y : ndarray (t,)
    log_weights : ndarray (N,)
        Normalised.
    log_evidence : float
        ``log p(y_1..t)``.
    owners : ndarray (m,), int32
        Rows of the cached columns; the first, -1, are the intercept's and those of a trend.
    columns : ndarray (m, t)
        Kernel values of all rows at each owner; fixed columns first.
    gram : ndarray (m, m)
        Inner products of columns; those of columns that no particle holds together need not be.
    moments : ndarray (m,)
        Inner products of columns and y.
    ess : ndarray (t,)
        Effective sample size at each row, before resampling.
    resampled : ndarray (t,), bool
        Whether particles were resampled at the row.
    ancestors : ndarray (t,), int64
        Number of particles at the row before that have descendants after it.
    mean_k : ndarray (t,)
        Posterior mean of the number of kernels at each row.
    log_evidence_path : ndarray (t,)
        ``log p(y_1..s)`` at each row s.
    moves_tried, moves_accepted : ndarray (t, 3), int64
        Rejuvenation moves of each row, by kind (births, deaths, shifts).
    bit_generator : mapping
        State of the PCG64.
    """

    x: FloatArray
    y: FloatArray
    log_weights: FloatArray
    log_evidence: float
    owners: NDArray[np.int32]
    columns: FloatArray
    gram: FloatArray
    moments: FloatArray
    ess: FloatArray
    resampled: NDArray[np.bool_]
    ancestors: IntArray
    mean_k: FloatArray
    log_evidence_path: FloatArray
    moves_tried: IntArray
    moves_accepted: IntArray
    bit_generator: Mapping[str, Any]


@dataclass
class KernelDraws(Particles):
    """Draws of the batch sampler; the first axis is that of chains, the second that of draws.

    Attributes
    ----------
    k, centres, beta, mean, sigma2, delta2, log_marginal
        As in `Particles`.
    moves_tried, moves_accepted : ndarray (C, 3), int64
    """

    moves_tried: IntArray
    moves_accepted: IntArray

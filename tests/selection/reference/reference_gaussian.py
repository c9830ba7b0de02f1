"""What reversible jumps do for gaussian models in plain numpy: the twin of ``_gaussian_jump.pyx``.

Sums of squares are taken over the rows of the data, and the density of the state is written out. Flips,
swaps and updates of coefficients are those of ``reference_jumps.py``, moves of several terms those of
``reference_blocks.py``, for the regression that a gaussian model is at the sigma^2 and g of the state.

Random numbers of one iteration: a standard gamma one for sigma^2; under a mixture of g-priors one for the
latent t (none where the prior of 1 / g is a gamma distribution), one for 1 / g, and a standard exponential
one; then those of ``reference.step``.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import reference_jumps as reference
from reference_blocks import Blocks, step

from pyrjsel._typing import ByteArray, FloatArray, IntArray
from pyrjsel.model_space import ModelSpace
from pyrjsel.selection.regression.gaussian_rows import GaussianRows


def draw_log_g(
    conditional: tuple[float, float, float], d: int, half_form: float, log_g: float, rng: np.random.Generator
) -> float:
    """Return a draw of log g given `d` coefficients; see ``Mixture.conditional``."""
    shape, power, unit = conditional
    shape += 0.5 * d
    latent = rng.standard_gamma(power) / (1 + unit * math.exp(-log_g)) if power else 1.0
    # A gamma variate of shape a is one of shape a + 1 times U^(1 / a).
    first = math.log(unit * latent + half_form) - math.log(rng.standard_gamma(shape + 1))
    return first + rng.standard_exponential() / shape


@dataclass(frozen=True)
class State(reference.State):
    """A state of the chain: model, internal coefficients, and the scales.

    Attributes
    ----------
    variance : float
        sigma^2.
    log_g : float
        Logarithm of g; 0 but for mixtures of g-priors.
    """

    variance: float
    log_g: float


@dataclass(frozen=True)
class GaussianTwin:
    """What the chain is run on.

    Attributes
    ----------
    rows : GaussianRows
        Of a regression whose rows are known.
    space : ModelSpace
    n_swaps : int
        Swap proposals an iteration.
    fixed : None or tuple of ndarrays
        As for ``reference.Transition``.
    families, trades, family_moves
        As for ``reference_blocks.Blocks``.
    """

    rows: GaussianRows
    space: ModelSpace
    n_swaps: int
    fixed: tuple[FloatArray, FloatArray] | None = None
    families: Sequence[IntArray] = ()
    trades: int = 0
    family_moves: int = 0

    def residual(self, b: FloatArray) -> float:
        """Return the weighted sum of squared residuals of the rows at internal coefficients `b` (D + 1,)."""
        whole = self.rows.whole
        assert whole.rooted is not None
        assert whole.y is not None
        assert whole.offset is not None
        root = np.ones(whole.y.size) if whole.weights is None else np.sqrt(whole.weights)
        return float(np.sum((root * (whole.y - whole.offset - b[0]) - b[1:] @ whole.rooted) ** 2))

    def form(self, b: FloatArray, gamma: ByteArray) -> float:
        """Return the quadratic form of the prior at sigma^2 = g = 1."""
        prior = self.rows.whole.prior
        inside = self.rows.model_columns(gamma)[1:] - 1
        if prior.rank_tol == 0:
            return float(prior.precision[inside] @ (b[1:][inside] - prior.mean[inside]) ** 2)
        assert self.rows.whole.rooted is not None
        return float(np.sum((b[1:] @ self.rows.whole.rooted) ** 2)) / getattr(prior, "g", 1.0)

    def size(self, gamma: ByteArray) -> int:
        """Return how many coefficients have prior variances that are multiples of sigma^2."""
        return int(self.rows.model_columns(gamma).size - 1) if self.rows.scaled else 0

    def log_target(self, state: State) -> float:
        """Return log p(y, gamma, b, sigma^2 | g), up to a constant."""
        whole = self.rows.whole
        at = reference.Transition(self.rows.at(state.variance, state.log_g), self.space, 0)
        constant = -0.5 * whole.n * math.log(2 * math.pi * state.variance)
        log_prior = -(whole.a + 1) * math.log(state.variance) - whole.b / state.variance
        return at.log_target(state) + constant + log_prior

    def draw_scales(self, state: State, rng: np.random.Generator, t: float = 1.0) -> State:
        """Return the state with sigma^2 and g from their full conditionals at temperature `t`."""
        whole, size = self.rows.whole, self.size(state.gamma)
        form = self.form(state.b, state.gamma)
        own = math.exp(-state.log_g) * form if self.rows.scaled else 0.0
        shape = t * (0.5 * (whole.n + size) + whole.a + 1) - 1
        variance = t * (0.5 * (self.residual(state.b) + own) + whole.b) / rng.standard_gamma(shape)
        log_g = state.log_g
        conditional = whole.prior.conditional(whole.n)
        if conditional is not None:
            log_g = draw_log_g(conditional, size, 0.5 * t * form / variance, log_g, rng)
        return State(state.gamma, state.b, variance, log_g)

    def step(self, state: State, rng: np.random.Generator) -> tuple[State, list[reference.Move]]:
        """Return the state after one iteration, and its moves in order."""
        state = self.draw_scales(state, rng)
        at = reference.Transition(
            self.rows.at(state.variance, state.log_g), self.space, self.n_swaps, self.fixed
        )
        blocks = Blocks(at, self.families, self.trades, self.family_moves)
        found, moves = step(blocks, state, rng)
        return State(found.gamma, found.b, state.variance, state.log_g), moves

"""Reversible-jump chains of gaussian models, with sigma^2 and g in their states.

Given v = sigma^2 and g, a gaussian model is a regression with known weights and a normal prior: flips, swaps
and updates of coefficients are the same as for other families. Each iteration begins with draws of v and,
under a mixture of g-priors, of g.

The target at inverse temperature t. With coefficients u = b / (s sqrt(g)) of d columns besides the flat
intercept under a mixture, and u = b / s under other priors, where s^2 is a typical sigma^2, it has the
density

    (p(y | b, v, gamma) p(u | v, gamma) p(v) p(gamma))^t p(g)

over (gamma, u, v, g). (A power of the density of (b, g) is not integrable for t > 1, since it is unbounded as
b and g go to 0, nor for small t as g goes to infinity, since p(g) has heavy tails. And a power of densities
of b would depend on the unit of the response: each further column would give a factor s^(1 - t).) It is
proper if t (n + d + 2 a + 2) > d + 3, with an inverse gamma prior of shape a, or a = 0 for p(v) = 1 / v; d is
replaced by 0 if prior variances are not multiples of v. Then, given the rest,

    v ~ IG(t ((n + d) / 2 + a + 1) - 1, t (RSS / 2 + Q / 2 + b0)),

with Q the quadratic form of the prior at v = 1, and 1 / g has the gamma distribution of
``Mixture.conditional``. In models without an error variance (``_size_jump.pyx``) the same holds with
s = v = 1.
"""

cimport cython
from libc.math cimport exp, log

import numpy as np

from pyrjsel._core.random cimport (
    bitgen_of, bitgen_t, random_standard_gamma,
)
from pyrjsel.selection.regression._problem cimport Problem, prior_dimension, prior_exponent
from pyrjsel.selection.samplers.reversible_jump._rjmcmc cimport ReversibleJump, draw_log_g

cdef double LOG_2PI = 1.8378770664093454836
# Draws of sigma^2 that differ from a typical one by more than this factor are rejected. Only tempered chains
# over two or three rows come near it, where the tail of the target is a power of sigma^2 close to 0.
cdef double LEAST = 1e-200, MOST = 1e200


@cython.final
cdef class GaussianJump(ReversibleJump):
    """A reversible-jump chain whose state ends with sigma^2 and log g.

    Parameters
    ----------
    problem : Problem
        Gaussian problem, with the precision of the prior at sigma^2 = g = 1, a flat intercept, and no
        weights.
    space, gamma, **rest
        As for :class:`Moves`.
    b : float64 array (D + 3,)
        Coefficients on the internal scale, sigma^2, and log g (0 except for mixtures of g-priors).
    rows : float
        Number of rows of the data.
    sigma : tuple of (float, float)
        a and b of sigma^2 ~ IG(a, b), or zeros.
    scaled : bool
        Whether prior variances are multiples of sigma^2.
    typical : float
        A typical sigma^2, in the unit of the response.
    mixture : tuple of (float, float, float) or None
        Result of ``Mixture.conditional``.
    """

    cdef double rows, a, b0, least, most, log_unit, log_scales
    cdef bint scaled, mixed
    cdef double shape, power, unit
    cdef double[::1] shares      # 1 / sigma^2 for each row of the problem

    def __init__(self, Problem problem not None, space, gamma, b, *, double rows, sigma, bint scaled,
                 double typical, mixture=None, **rest):
        self.n_extra = 2
        self.rows = rows
        self.a, self.b0 = sigma
        self.scaled = scaled
        self.least, self.most = LEAST * typical, MOST * typical
        self.log_unit = 0.5 * log(typical)
        self.mixed = mixture is not None
        if self.mixed:
            self.shape, self.power, self.unit = mixture
        if not 0.0 < b[len(b) - 2] < np.inf:
            raise ValueError("sigma^2 must be positive and finite")
        self.shares = np.empty(problem.c.n)
        ReversibleJump.__init__(self, problem, space, gamma, b, **rest)

    cdef int refresh(self) noexcept nogil:
        """Recompute everything from the state, the scales first."""
        # mathematics: jumps-tempered
        cdef int i, width = self.p.n_columns
        cdef double variance = self.b[width], log_g = self.b[width + 1]
        for i in range(self.p.n):
            self.shares[i] = 1.0 / variance
        self.own.w = &self.shares[0]
        self.own.scale = exp(-log_g) / variance if self.scaled else 1.0
        self.own.log_constant = self.log_unit - 0.5 * (LOG_2PI + log(variance) if self.scaled else LOG_2PI)
        self.own.log_unit = self.log_unit + 0.5 * log_g
        self.log_scales = (-0.5 * self.rows * (LOG_2PI + log(variance))
                           - (self.a + 1.0) * log(variance) - self.b0 / variance)
        return ReversibleJump.refresh(self)

    cdef double log_target(self) noexcept nogil:
        return ReversibleJump.log_target(self) + self.log_scales

    cdef void iterate(self, bitgen_t* rng) noexcept nogil:
        self.draw_scales(rng)
        ReversibleJump.iterate(self, rng)

    cdef void draw_scales(self, bitgen_t* rng) noexcept nogil:
        """Draw sigma^2 and g from their full conditionals, without a recomputation."""
        # mathematics: jumps-tempered-variance
        cdef int width = self.p.n_columns, size
        cdef double* variance = &self.b[width]
        cdef double* log_g = &self.b[width + 1]
        cdef double form, half, shape, new
        self.refresh()
        size = prior_dimension(self.p, self.d) if self.scaled else 0
        self.own.scale = 1.0
        self.gather(self.b, self.small)
        form = -prior_exponent(self.p, self.d, self.cols, self.small)
        half = self.b0 - self.loglik * variance[0]
        if self.scaled:
            half += exp(-log_g[0]) * form
        shape = self.t * (0.5 * (self.rows + size) + self.a + 1.0) - 1.0
        new = self.t * half / random_standard_gamma(rng, shape)
        if self.least < new < self.most:
            variance[0] = new
        if self.mixed:
            log_g[0] = draw_log_g(rng, self.shape + 0.5 * size, self.power, self.unit,
                                  self.t * form / variance[0], log_g[0])

    def log_density(self):
        """Return log-likelihood plus log prior of sigma^2, log coefficient prior, log model prior."""
        loglik, log_prior, log_model = ReversibleJump.log_density(self)
        return loglik + self.log_scales, log_prior, log_model

    def draw(self, rng):
        """Draw sigma^2 and g once, at the chain's temperature."""
        cdef bitgen_t* bits = bitgen_of(rng)
        with rng.bit_generator.lock, nogil:
            self.draw_scales(bits)
            self.refresh()

"""Reversible-jump chains whose state ends with a positive parameter of the likelihood.

A size s, such as theta of negative binomial counts or the shape of gamma responses: the likelihood given s is
that of the family's passes with weights ``share w y + s w`` and the offset ``-log(s)``. Sigma, the scale of
Student-t errors: the passes of the family take it behind the weights, and it is the scale of the prior of
coefficients. Given either, flips, swaps and updates of coefficients are the same as for other families. Each
iteration begins with an update of the logarithm t of the parameter given the coefficients, by slice sampling
[Neal 2003] with the density of (gamma, b, t) to the power of the chain's inverse temperature; under Student-t
errors that of (gamma, b / s, t), with a typical sigma s, which does not depend on the unit of the response.
Under a mixture of g-priors log g is behind the parameter, and is drawn first; powers are then those of the
density given g, as in ``_gaussian_jump.pyx``.
"""

cimport cython
from libc.math cimport exp, lgamma, log

import numpy as np

from pyrjsel._core.random cimport (
    bitgen_of, bitgen_t, random_standard_exponential, random_standard_uniform,
)
from pyrjsel.selection.regression._problem cimport Problem, prior_dimension, prior_exponent
from pyrjsel.selection.samplers.reversible_jump._rjmcmc cimport ReversibleJump, draw_log_g

cdef double HALF_LOG_2PI = 0.9189385332046727418
# Width of the first interval of a slice, and most intervals: a log size varies by a tenth to a few units, and
# its prior bounds it; log sigma varies by tenths.
cdef double WIDTH = 1.0
cdef double LOG_2 = 0.6931471805599453
cdef enum:
    MOST_STEPS = 64


cdef class SliceJump(ReversibleJump):
    """A reversible-jump chain whose state ends with a positive parameter, updated by slice sampling.

    Parameters
    ----------
    problem : Problem
        Its prior is that at g = 1 if there is a `mixture`.
    space, gamma, **rest
        As for :class:`Moves`.
    b : float64 array (D + 2,) or (D + 3,)
        Coefficients on the internal scale, the parameter, and log g if it is unknown.
    mixture : tuple of (float, float, float), optional
        Result of ``Mixture.conditional``.
    """

    cdef double apart            # terms of the log target that depend on the parameter alone
    cdef bint mixed
    cdef double shape, power, unit

    def __init__(self, Problem problem not None, space, gamma, b, *, mixture=None, **rest):
        self.mixed = mixture is not None
        if self.mixed:
            self.shape, self.power, self.unit = mixture
        self.n_extra = 2 if self.mixed else 1
        ReversibleJump.__init__(self, problem, space, gamma, b, **rest)

    cdef double log_g(self) noexcept nogil:
        """Log g of the state, 0 if it is known."""
        return self.b[self.p.n_columns + 1] if self.mixed else 0.0

    cdef double log_target(self) noexcept nogil:
        return ReversibleJump.log_target(self) + self.apart

    cdef double height_now(self) noexcept nogil:
        """The same as `height` at the present state, to the power of the chain."""
        return self.t * (self.loglik + self.apart)

    cdef double height(self, double t, double now) noexcept nogil:
        """Terms of the log target at logarithm `t` that depend on it, to the power of the chain.

        `now` is the logarithm of the state, to which all else belongs.
        """
        return 0.0

    cdef void draw_g(self, bitgen_t* rng) noexcept nogil:
        """Draw g from its full conditional, without a recomputation."""
        cdef double half_form
        self.refresh()
        self.gather(self.b, self.small)
        half_form = -self.t * prior_exponent(self.p, self.d, self.cols, self.small) * exp(self.log_g())
        self.b[self.p.n_columns + 1] = draw_log_g(rng, self.shape + 0.5 * prior_dimension(self.p, self.d),
                                                  self.power, self.unit, half_form, self.log_g())

    cdef void draw_parameter(self, bitgen_t* rng) noexcept nogil:
        """Draw g and update the parameter given the coefficients, without a recomputation."""
        cdef double now, level, low, high, t
        cdef int left, right
        if self.mixed:
            self.draw_g(rng)
        self.refresh()
        now = log(self.b[self.p.n_columns])
        level = self.height_now() - random_standard_exponential(rng)
        low = now - WIDTH * random_standard_uniform(rng)
        high = low + WIDTH
        left = <int> (MOST_STEPS * random_standard_uniform(rng))
        right = MOST_STEPS - 1 - left
        while left > 0 and self.height(low, now) > level:
            low -= WIDTH
            left -= 1
        while right > 0 and self.height(high, now) > level:
            high += WIDTH
            right -= 1
        while True:
            t = low + (high - low) * random_standard_uniform(rng)
            if self.height(t, now) > level or t == now:
                break
            if t < now:
                low = t
            else:
                high = t
        self.b[self.p.n_columns] = exp(t)

    cdef void iterate(self, bitgen_t* rng) noexcept nogil:
        self.draw_parameter(rng)
        ReversibleJump.iterate(self, rng)

    def log_density(self):
        """Return log-likelihood plus log prior of the parameter, log coefficient prior, log model prior."""
        loglik, log_prior, log_model = ReversibleJump.log_density(self)
        return loglik + self.apart, log_prior, log_model

    def draw(self, rng):
        """Update the parameter once, at the chain's temperature."""
        cdef bitgen_t* bits = bitgen_of(rng)
        with rng.bit_generator.lock, nogil:
            self.draw_parameter(bits)
            self.refresh()


@cython.final
cdef class SizeJump(SliceJump):
    """A reversible-jump chain whose parameter is a size.

    Parameters
    ----------
    problem : Problem
        At any size: only its responses, columns and prior are used.
    space, gamma, b, **rest
        As for :class:`SliceJump`.
    weights, offset : float64 arrays (n,)
        Weights and offset of the rows.
    share : float
        Multiple of weighted responses in the weights of the passes.
    gammas : float64 array (3, m)
        Terms of the log-likelihood without eta: a, b and c of ``c log Gamma(a + b s)``.
    linear : tuple of (float, float)
        Such terms: c and d of ``c s + d``.
    log_prior : tuple of (float, float)
        Mean and standard deviation of the normal prior of the log size.
    """

    cdef const double[::1] weights, start
    cdef const double[:, ::1] gammas
    cdef double[::1] totals, moved, other
    cdef double share, slope, constant, mean, sd

    def __init__(self, Problem problem not None, space, gamma, b, *, const double[::1] weights not None,
                 const double[::1] offset not None, double share, const double[:, ::1] gammas not None,
                 linear, log_prior, **rest):
        cdef Py_ssize_t n = problem.c.n
        if weights.shape[0] != n or offset.shape[0] != n or gammas.shape[0] != 3:
            raise ValueError("weights, offset and gammas must fit the problem")
        if not 0.0 < b[problem.c.n_columns] < np.inf:
            raise ValueError("the size must be positive and finite")
        self.weights, self.start, self.gammas, self.share = weights, offset, gammas, share
        self.slope, self.constant = linear
        self.mean, self.sd = log_prior
        self.totals, self.moved, self.other = np.empty(n), np.empty(n), np.empty(n)
        SliceJump.__init__(self, problem, space, gamma, b, **rest)

    cdef double without_eta(self, double size) noexcept nogil:
        """The terms of the log target that depend on the size alone: constants of rows, and its prior."""
        cdef Py_ssize_t k
        cdef double value = self.slope * size + self.constant, z = (log(size) - self.mean) / self.sd
        for k in range(self.gammas.shape[1]):
            value += self.gammas[2, k] * lgamma(self.gammas[0, k] + self.gammas[1, k] * size)
        return value - 0.5 * z * z - log(self.sd) - HALF_LOG_2PI

    cdef int refresh(self) noexcept nogil:
        """Recompute everything from the state, weights, offset and scale of the prior first."""
        cdef Py_ssize_t i
        cdef double size = self.b[self.p.n_columns], t = log(size)
        for i in range(self.p.n):
            self.totals[i] = self.share * self.p.wy[i] + self.weights[i] * size
            self.moved[i] = self.start[i] - t
        self.own.w = &self.totals[0]
        self.own.offset = &self.moved[0]
        self.own.scale = exp(-self.log_g())
        self.own.log_unit = 0.5 * self.log_g()
        self.apart = self.without_eta(size)
        return ReversibleJump.refresh(self)

    cdef double height(self, double t, double now) noexcept nogil:
        """Log-likelihood and log prior at log size `t`, to the power of the chain; `now` is that of eta."""
        cdef Py_ssize_t i
        cdef double size = exp(t)
        for i in range(self.p.n):
            self.other[i] = self.share * self.p.wy[i] + self.weights[i] * size
        # The first column is constant.
        return self.t * (self.p.shifted(self.p.n, self.eta, self.p.columns, now - t, self.p.wy,
                                        &self.other[0], self.eta_new) + self.without_eta(size))


@cython.final
cdef class ScaleJump(SliceJump):
    """A reversible-jump chain whose parameter is sigma, the scale of Student-t errors.

    Parameters
    ----------
    problem : Problem
        At a typical sigma, with the prior there; its passes are those of the family.
    space, gamma, b, **rest
        As for :class:`SliceJump`.
    errors : tuple of (float, float, float)
        Degrees of freedom, the typical sigma, and the log density of an error of 0 with sigma = 1.
    """

    cdef double df, log_typical, constant
    cdef double[::1] numbers, other      # weights, df and df sigma^2, as passes take them

    def __init__(self, Problem problem not None, space, gamma, b, *, errors, **rest):
        cdef Py_ssize_t n = problem.c.n
        if not 0.0 < b[problem.c.n_columns] < np.inf:
            raise ValueError("sigma must be positive and finite")
        self.df, typical, self.constant = errors
        self.log_typical = log(typical)
        self.numbers, self.other = np.ones(n + 2), np.ones(n + 2)
        self.numbers[n] = self.other[n] = self.df
        SliceJump.__init__(self, problem, space, gamma, b, **rest)

    cdef double without_eta(self, double t) noexcept nogil:
        """The terms of the log target that depend on sigma alone: constants, and its prior."""
        return self.p.n * (self.constant - t) + LOG_2

    cdef int refresh(self) noexcept nogil:
        """Recompute everything from the state, the scales first."""
        cdef double sigma = self.b[self.p.n_columns], t = log(sigma), log_g = self.log_g()
        self.numbers[self.p.n + 1] = self.df * sigma * sigma
        self.own.w = &self.numbers[0]
        self.own.scale = exp(2.0 * (self.log_typical - t) - log_g)
        self.own.log_constant = 2.0 * self.log_typical - t - HALF_LOG_2PI
        self.own.log_unit = self.log_typical + 0.5 * log_g
        self.apart = self.without_eta(t)
        return ReversibleJump.refresh(self)

    cdef double of_prior(self, double t, double now) noexcept nogil:
        """Terms of the log prior of coefficients that depend on sigma; the exponent is scaled as at `now`."""
        cdef double form
        self.gather(self.b, self.small)
        form = prior_exponent(self.p, self.d, self.cols, self.small)
        return exp(2.0 * (now - t)) * form - prior_dimension(self.p, self.d) * t

    cdef double height_now(self) noexcept nogil:
        cdef double now = log(self.b[self.p.n_columns])
        return SliceJump.height_now(self) + self.t * self.of_prior(now, now)

    cdef double height(self, double t, double now) noexcept nogil:
        self.other[self.p.n + 1] = self.df * exp(2.0 * t)
        return self.t * (self.p.shifted(self.p.n, self.eta, self.p.columns, 0.0, self.p.wy, &self.other[0],
                                        self.eta_new) + self.without_eta(t) + self.of_prior(t, now))

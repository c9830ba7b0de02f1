"""Reversible-jump chains whose states end with positive parameters of the likelihood, or with g.

A size s, such as theta of negative binomial counts or the shape of gamma responses: the likelihood given s is
that of the family's passes with weights ``share w y + s w`` and the offset ``-log(s)``. Sigma, the scale of
Student-t errors: the passes of the family take it behind the weights, and it is the scale of the prior of
coefficients. Given either, flips, swaps and updates of coefficients are the same as for other families. Each
iteration begins with an update of the logarithm t of the parameter given the coefficients, by slice sampling
[Neal 2003] with the density of (gamma, b, t) to the power of the chain's inverse temperature; under Student-t
errors that of (gamma, b / s, t), with a typical sigma s, which does not depend on the unit of the response.
Degrees of freedom of Student-t errors, if unknown, follow sigma; the slice is that of ``log(df - 1/2)``.
Under a mixture of g-priors log g is behind the parameters, and is drawn first. Powers are those of the
density given df and g, as in ``_gaussian_jump.pyx``.
"""

cimport cython
from libc.math cimport INFINITY, exp, lgamma, log

import numpy as np

from pyrjsel._core.random cimport (
    bitgen_of, bitgen_t, random_standard_exponential, random_standard_uniform,
)
from pyrjsel.families._student cimport log_at_zero
from pyrjsel.families.tails import LEAST_DF as _LEAST, LOG_CONSTANT as _CONSTANT, RATE as _RATE
from pyrjsel.selection.regression._problem cimport Problem, prior_dimension, prior_exponent
from pyrjsel.selection.samplers.reversible_jump._rjmcmc cimport ReversibleJump, draw_log_g

cdef double HALF_LOG_2PI = 0.9189385332046727418
# Width of the first interval of a slice, and most intervals: a log size varies by a tenth to a few units, and
# its prior bounds it; log sigma varies by tenths, and log(df - 1/2) by a unit.
cdef double WIDTH = 1.0
cdef double LOG_2 = 0.6931471805599453
cdef enum:
    MOST_STEPS = 64
# Prior of df, and the smallest coordinate: below, where the prior has a mass of 1e-16, df would round to 1/2.
cdef double LEAST_DF = _LEAST, DF_RATE = _RATE, DF_CONSTANT = _CONSTANT, LEAST_U = -34.0


cdef class SliceJump(ReversibleJump):
    """A reversible-jump chain whose state ends with positive parameters, updated by slice sampling.

    Parameters
    ----------
    problem : Problem
        Its prior is that at g = 1 if there is a `mixture`.
    space, gamma, **rest
        As for :class:`Moves`.
    b : float64 array (D + 1 + parameters,) or (D + 2 + parameters,)
        Coefficients on the internal scale, the parameters, and log g if it is unknown.
    parameters : int
    mixture : tuple of (float, float, float), optional
        Result of ``Mixture.conditional``.
    """

    cdef double apart            # terms of the log target that depend on the parameters alone
    cdef double log_typical      # the scale of coefficients at g = 1, of which powers are taken
    cdef int parameters
    cdef bint mixed
    cdef double shape, power, unit

    def __init__(self, Problem problem not None, space, gamma, b, *, int parameters=1, mixture=None,
                 **rest):
        self.mixed = mixture is not None
        if self.mixed:
            self.shape, self.power, self.unit = mixture
        self.parameters = parameters
        self.n_extra = parameters + self.mixed
        ReversibleJump.__init__(self, problem, space, gamma, b, **rest)

    cdef double log_g(self) noexcept nogil:
        """Log g of the state, 0 if it is known."""
        return self.b[self.p.n_columns + self.parameters] if self.mixed else 0.0

    cdef double log_target(self) noexcept nogil:
        return ReversibleJump.log_target(self) + self.apart

    cdef double scale_without_g(self) noexcept nogil:
        """The factor of the prior's precision at g = 1."""
        return 1.0

    cdef int refresh(self) noexcept nogil:
        """Recompute everything from the state, the scale of the prior first."""
        cdef double log_g = self.log_g()
        self.own.scale = self.scale_without_g() * exp(-log_g)
        self.own.log_unit = self.log_typical + 0.5 * log_g
        return ReversibleJump.refresh(self)

    cdef double coordinate(self, int k) noexcept nogil:
        """The coordinate of the k-th parameter."""
        return log(self.b[self.p.n_columns + k])

    cdef double parameter(self, int k, double t) noexcept nogil:
        """The k-th parameter at a coordinate."""
        return exp(t)

    cdef double height_now(self, int k) noexcept nogil:
        """The same as `height` at the present state, to the power of the chain."""
        return self.t * (self.loglik + self.apart)

    cdef double height(self, int k, double t, double now) noexcept nogil:
        """Terms of the log target that depend on the k-th parameter, at coordinate `t`, as tempered.

        `now` is the coordinate of the state, to which all else belongs.
        """
        return 0.0

    cdef void draw_g(self, bitgen_t* rng) noexcept nogil:
        """Draw g from its full conditional, without a recomputation."""
        cdef double half_form
        self.refresh()
        self.own.scale = self.scale_without_g()
        self.gather(self.b, self.small)
        half_form = -self.t * prior_exponent(self.p, self.d, self.cols, self.small)
        self.b[self.p.n_columns + self.parameters] = draw_log_g(
            rng, self.shape + 0.5 * prior_dimension(self.p, self.d), self.power, self.unit, half_form,
            self.log_g())

    cdef void draw_parameter(self, int k, bitgen_t* rng) noexcept nogil:
        """Update the k-th parameter given all else, without a recomputation."""
        cdef double now, level, low, high, t
        cdef int left, right
        self.refresh()
        now = self.coordinate(k)
        level = self.height_now(k) - random_standard_exponential(rng)
        low = now - WIDTH * random_standard_uniform(rng)
        high = low + WIDTH
        left = <int> (MOST_STEPS * random_standard_uniform(rng))
        right = MOST_STEPS - 1 - left
        while left > 0 and self.height(k, low, now) > level:
            low -= WIDTH
            left -= 1
        while right > 0 and self.height(k, high, now) > level:
            high += WIDTH
            right -= 1
        while True:
            t = low + (high - low) * random_standard_uniform(rng)
            if self.height(k, t, now) > level or t == now:
                break
            if t < now:
                low = t
            else:
                high = t
        self.b[self.p.n_columns + k] = self.parameter(k, t)

    cdef void draw_parameters(self, bitgen_t* rng) noexcept nogil:
        """Draw g and update the parameters given the coefficients, without a recomputation."""
        cdef int k
        if self.mixed:
            self.draw_g(rng)
        for k in range(self.parameters):
            self.draw_parameter(k, rng)

    cdef void iterate(self, bitgen_t* rng) noexcept nogil:
        self.draw_parameters(rng)
        ReversibleJump.iterate(self, rng)

    def log_density(self):
        """Return log-likelihood plus log prior of the parameter, log coefficient prior, log model prior."""
        loglik, log_prior, log_model = ReversibleJump.log_density(self)
        return loglik + self.apart, log_prior, log_model

    def draw(self, rng):
        """Update the parameters once, at the chain's temperature."""
        cdef bitgen_t* bits = bitgen_of(rng)
        with rng.bit_generator.lock, nogil:
            self.draw_parameters(bits)
            self.refresh()


@cython.final
cdef class MixtureJump(SliceJump):
    """A reversible-jump chain whose state ends with log g, and has no other parameters."""

    def __init__(self, Problem problem not None, space, gamma, b, *, mixture, **rest):
        SliceJump.__init__(self, problem, space, gamma, b, parameters=0, mixture=mixture, **rest)


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
        """Recompute everything from the state, weights and offset first."""
        cdef Py_ssize_t i
        cdef double size = self.b[self.p.n_columns], t = log(size)
        for i in range(self.p.n):
            self.totals[i] = self.share * self.p.wy[i] + self.weights[i] * size
            self.moved[i] = self.start[i] - t
        self.own.w = &self.totals[0]
        self.own.offset = &self.moved[0]
        self.apart = self.without_eta(size)
        return SliceJump.refresh(self)

    cdef double height(self, int k, double t, double now) noexcept nogil:
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
    """A reversible-jump chain whose parameters are sigma, the scale of Student-t errors, and unknown df.

    Parameters
    ----------
    problem : Problem
        At typical parameters, with the prior there; its passes are those of the family.
    space, gamma, b, **rest
        As for :class:`SliceJump`.
    errors : tuple of (float, float)
        Degrees of freedom, which do not matter if they are unknown, and the typical sigma.
    tails : bool
        Whether df are unknown.
    """

    cdef double known
    cdef double[::1] numbers, other      # weights, df and df sigma^2, as passes take them

    def __init__(self, Problem problem not None, space, gamma, b, *, errors, bint tails, **rest):
        cdef Py_ssize_t n = problem.c.n, width = problem.c.n_columns
        if not 0.0 < b[width] < np.inf:
            raise ValueError("sigma must be positive and finite")
        if tails and not LEAST_DF < b[width + 1] < np.inf:
            raise ValueError("df must be above 0.5 and finite")
        self.known, typical = errors
        self.log_typical = log(typical)
        self.numbers, self.other = np.ones(n + 2), np.ones(n + 2)
        SliceJump.__init__(self, problem, space, gamma, b, parameters=2 if tails else 1, **rest)

    cdef double scale_without_g(self) noexcept nogil:
        return exp(2.0 * (self.log_typical - log(self.b[self.p.n_columns])))

    cdef double df(self) noexcept nogil:
        return self.b[self.p.n_columns + 1] if self.parameters == 2 else self.known

    cdef double coordinate(self, int k) noexcept nogil:
        return log(self.b[self.p.n_columns + k] - (LEAST_DF if k else 0.0))

    cdef double parameter(self, int k, double t) noexcept nogil:
        return exp(t) + (LEAST_DF if k else 0.0)

    cdef double without_eta(self, double t, double df) noexcept nogil:
        """The terms of the log target that depend on sigma and df alone: constants and the prior of sigma."""
        return self.p.n * (log_at_zero(df) - t) + LOG_2

    cdef double of_df(self, double u) noexcept nogil:
        """The log prior density of the coordinate of df."""
        cdef double df = LEAST_DF + exp(u)
        return DF_CONSTANT + log(df) - DF_RATE * df + u if u > LEAST_U else -INFINITY

    cdef int refresh(self) noexcept nogil:
        """Recompute everything from the state, the scales first."""
        cdef double sigma = self.b[self.p.n_columns], t = log(sigma)
        self.numbers[self.p.n] = self.df()
        self.numbers[self.p.n + 1] = self.df() * sigma * sigma
        self.own.w = &self.numbers[0]
        self.own.log_constant = 2.0 * self.log_typical - t - HALF_LOG_2PI
        self.apart = self.without_eta(t, self.df())
        return SliceJump.refresh(self)

    cdef double of_prior(self, double t, double now) noexcept nogil:
        """Terms of the log prior of coefficients that depend on sigma; the exponent is scaled as at `now`."""
        cdef double form
        self.gather(self.b, self.small)
        form = prior_exponent(self.p, self.d, self.cols, self.small)
        return exp(2.0 * (now - t)) * form - prior_dimension(self.p, self.d) * t

    cdef double height_now(self, int k) noexcept nogil:
        cdef double now = self.coordinate(k)
        return SliceJump.height_now(self, k) + (self.of_df(now) if k else self.t * self.of_prior(now, now))

    cdef double height(self, int k, double t, double now) noexcept nogil:
        cdef double log_sigma = self.coordinate(0) if k else t, df = LEAST_DF + exp(t) if k else self.df()
        cdef double value
        self.other[self.p.n] = df
        self.other[self.p.n + 1] = df * exp(2.0 * log_sigma)
        value = self.t * (self.p.shifted(self.p.n, self.eta, self.p.columns, 0.0, self.p.wy, &self.other[0],
                                         self.eta_new) + self.without_eta(log_sigma, df))
        return value + (self.of_df(t) if k else self.t * self.of_prior(t, now))

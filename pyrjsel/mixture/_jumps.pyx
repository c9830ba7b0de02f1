"""Reversible jumps over the inputs that a mixture classifier uses: an input enters, one leaves, or two are
exchanged.

The kernels of the rows are summed out: the target is p(labels | ...) with sum_d w_cd prod_{i in S} N(z_ni;
m_di, v_di)^t for each row, over m(z_S)^t, times the prior. A conditional proposal still needs kernels of the
rows to look at. They are drawn from their conditional given all but the inputs that move: the law is the same
for a move and for its return, so it cancels.

Given such kernels of the rows, an input that enters gets precisions of the kernels that hold rows from
gamma distributions q_d that are centred on what these rows say, then beta_i and the other precisions given
those, then means from their normal conditionals. Densities of all but the first cancel out, so that the
density of the rows times the prior, over the density of the proposal, is

    p(u of kernels with rows) prod_d [integral of N(m; 0, 1) prod_{n in d} N(z_n; m, 1/u_d)^t dm] / q_d(u_d);

the density of the rows at their kernels is divided out again, and that summed over kernels takes its place.
With prior proposals everything comes from the prior. A move costs O(N D + s^2) with s selected inputs.
"""

from libc.math cimport INFINITY, fmax, fmin, lgamma, log, sqrt
from libc.string cimport memcpy

from pyrjsel._core._vecmath cimport log_sum_exp, log_sum_shares
from pyrjsel._core.random cimport (
    bitgen_t, random_standard_gamma, random_standard_normal, random_standard_uniform,
)
from pyrjsel.mixture._chain cimport ADD, REMOVE
from pyrjsel.mixture._gibbs cimport Gibbs
from pyrjsel.mixture._random cimport below

cdef double LOG_2PI = 1.8378770664093454836
# Steps to the rate at which q_d are centred: any number of them gives a right sampler.
cdef int STEPS = 4


cdef class Jumps(Gibbs):
    """A chain that moves between subsets."""

    # ------------------------------------------------------------------ proposals for one input

    cdef void fit(self, int i) noexcept nogil:
        """Sums of input i, and the rates of q_d from them alone."""
        cdef int d, _, occupied = 0
        cdef double beta = self.g / self.h, total, shape, value
        cdef const double* count = self.count + i * self.n_kernels
        cdef const double* square = self.square + i * self.n_kernels
        if not self.conditional:
            return
        self.add_up(i)
        for d in range(self.n_kernels):
            occupied += count[d] > 0.0
        for _ in range(STEPS):
            total = self.h
            for d in range(self.n_kernels):
                if count[d] > 0.0:
                    value = shape_of(self.alpha, count[d]) / (beta + 0.5 * square[d])
                    total += fmin(value, self.most)
            beta = (self.g + occupied * self.alpha) / total
        for d in range(self.n_kernels):
            shape = shape_of(self.alpha, count[d])
            # Where rows ask for more than the largest precision, most proposals stay below it.
            self.rate[d] = fmax(beta + 0.5 * square[d], (shape + 2.0 * sqrt(shape)) / self.most)

    cdef double log_prior_share(self, int i, const double* precision, const double* part) noexcept nogil:
        """Log prior density of kernels of input i over the density with which they are proposed.

        `part` is the log density of the input by kernel and row. With conditional proposals the sums of the
        input are looked at, after `fit`.
        """
        cdef int d, occupied = 0
        cdef double value = -self.log_mass, total = self.h, u, count, centre, x, shape
        if not self.conditional:
            return value
        value = 0.0
        for d in range(self.n_kernels):
            count, u = self.count[i * self.n_kernels + d], precision[d]
            if count == 0.0:
                continue
            centre = self.centre[i * self.n_kernels + d]
            value += 0.5 * count * (log(u) - LOG_2PI) - 0.5 * u * self.square[i * self.n_kernels + d]
            occupied += 1
            total += u
            x = 1.0 + count * u
            value -= 0.5 * (log(x) + count * u * centre * centre / x)
            shape = shape_of(self.alpha, count)
            value += lgamma(shape) - shape * log(self.rate[d]) + self.rate[d] * u
            value += (self.alpha - shape) * log(u)
        value += self.log_joint[occupied] - (self.g + occupied * self.alpha) * log(total)
        return value - chosen_sum(self.n, self.kernel, part)

    cdef bint draw(self, int i, bitgen_t* rng) noexcept nogil:
        """Propose kernels of input i; False where a precision is too large."""
        cdef int d, occupied = 0
        cdef double total = self.h, value
        cdef const double* count = self.count + i * self.n_kernels
        if self.conditional:
            for d in range(self.n_kernels):
                if count[d] > 0.0:
                    occupied += 1
                    value = random_standard_gamma(rng, shape_of(self.alpha, count[d])) / self.rate[d]
                    if not 0.0 < value <= self.most:
                        return False
                    self.new_precision[d] = value
                    total += value
        self.new_beta = random_standard_gamma(rng, self.g + occupied * self.alpha) / total
        for d in range(self.n_kernels):
            if not self.conditional or count[d] == 0.0:
                value = random_standard_gamma(rng, self.alpha) / self.new_beta
                if not 0.0 < value <= self.most:
                    return False
                self.new_precision[d] = value
        for d in range(self.n_kernels):
            if self.conditional:
                self.new_mean[d] = self.draw_mean(i, d, self.new_precision[d], rng)
            else:
                self.new_mean[d] = random_standard_normal(rng)
        return True

    # ------------------------------------------------------------------ moves

    cdef double ratio(self, int out, int into, bitgen_t* rng) noexcept nogil:
        """The log acceptance ratio of a move that takes `out` out or `into` in (-1: none), which is flipped.

        Leaves the densities of the rows in the new state in `new_log_kernel` and `new_log_row`. Without a
        generator the kernels of the rows, and the kernels that are proposed, are what they are.
        """
        # mathematics: mixture-gain, mathematics: mixture-birth
        cdef double value
        cdef int size = self.m.n_free
        cdef Py_ssize_t at, total = <Py_ssize_t> self.n_kernels * self.n
        cdef double* leaving = self.part
        cdef double* entering = self.part + total
        cdef const double* chance = self.chance
        value = self.flipped(out if out >= 0 else into, into if out >= 0 else -1)
        if value == -INFINITY:
            return value
        memcpy(self.new_log_kernel, self.log_kernel, total * sizeof(double))
        memcpy(self.new_log_row, self.log_row, self.n * sizeof(double))
        if out >= 0:
            at = out * self.n_kernels
            self.one_input(out, self.precision + at, self.mean + at, leaving)
            for at in range(total):
                self.new_log_kernel[at] -= leaving[at]
            log_sum_shares(self.n, self.n_kernels, self.new_log_kernel, self.new_log_row, self.new_chance)
            chance = self.new_chance
        if rng != NULL and self.conditional:
            self.allocate(chance, rng)
        if out >= 0:
            self.fit(out)
            value -= self.log_prior_share(out, self.precision + out * self.n_kernels, leaving)
        if into >= 0:
            self.fit(into)
            if rng != NULL and not self.draw(into, rng):
                return -INFINITY
            self.one_input(into, self.new_precision, self.new_mean, entering)
            value += self.log_prior_share(into, self.new_precision, entering)
            for at in range(total):
                self.new_log_kernel[at] += entering[at]
            log_sum_exp(self.n, self.n_kernels, -1, self.new_log_kernel, self.new_log_row)
        value += difference(self.n, self.new_log_row, self.log_row)
        if out < 0:
            return value - self.t * self.null.entering(into) - self.log_choice(size)
        if into < 0:
            return value + self.t * self.null.leaving(out) + self.log_choice(size - 1)
        return value - self.t * self.null.exchanging(out, into)

    cdef void move(self, bitgen_t* rng) noexcept nogil:
        cdef int size = self.m.n_free, move = self.kind(size, rng), d, at, out = -1, into = -1
        cdef double value
        if move < 0:
            return
        if move != ADD:
            out = self.pick(1, below(size, rng))
        if move != REMOVE:
            into = self.pick(0, below(self.n_free - size, rng))
        self.proposed[move] += 1
        value = self.ratio(out, into, rng)
        if value == -INFINITY or not log(random_standard_uniform(rng)) < value:
            self.flip_back(out if out >= 0 else into, into if out >= 0 else -1)
            return
        self.accepted[move] += 1
        self.log_kernel, self.new_log_kernel = self.new_log_kernel, self.log_kernel
        self.log_row, self.new_log_row = self.new_log_row, self.log_row
        log_sum_shares(self.n, self.n_kernels, self.log_kernel, self.log_row, self.chance)
        if out >= 0:
            self.null.take_out(out)
        if into >= 0:
            self.null.put_in(into)
            self.beta[into] = self.new_beta
            for d in range(self.n_kernels):
                at = into * self.n_kernels + d
                self.precision[at], self.mean[at] = self.new_precision[d], self.new_mean[d]

    # ------------------------------------------------------------------ one ratio

    def log_ratio(self, int out, int into, const double[::1] precision=None, const double[::1] mean=None):
        """Return the log acceptance ratio of a move from the present state, which does not change.

        `out` leaves and `into` enters (-1: none), with the given kernels, proposed at the kernels that the
        rows have; it does not depend on their beta.
        """
        cdef int d
        cdef double value
        self.refresh()
        self.densities()
        if into >= 0:
            for d in range(self.n_kernels):
                self.new_precision[d], self.new_mean[d] = precision[d], mean[d]
        value = self.ratio(out, into, NULL)
        self.flip_back(out if out >= 0 else into, into if out >= 0 else -1)
        return value


# Sums have four parts, since an addition to the same one would wait for the last.

cdef double difference(int n, const double* x, const double* y) noexcept nogil:
    """The sum of x - y."""
    cdef double a = 0.0, b = 0.0, c = 0.0, d = 0.0
    cdef int i, whole = n - n % 4
    for i in range(0, whole, 4):
        a += x[i] - y[i]
        b += x[i + 1] - y[i + 1]
        c += x[i + 2] - y[i + 2]
        d += x[i + 3] - y[i + 3]
    for i in range(whole, n):
        a += x[i] - y[i]
    return (a + b) + (c + d)


cdef double chosen_sum(Py_ssize_t n, const int* row, const double* x) noexcept nogil:
    """The sum of x (rows, n) over columns, of each the element in the given row."""
    cdef double a = 0.0, b = 0.0, c = 0.0, d = 0.0
    cdef Py_ssize_t i, whole = n - n % 4
    for i in range(0, whole, 4):
        a += x[row[i] * n + i]
        b += x[row[i + 1] * n + i + 1]
        c += x[row[i + 2] * n + i + 2]
        d += x[row[i + 3] * n + i + 3]
    for i in range(whole, n):
        a += x[row[i] * n + i]
    return (a + b) + (c + d)


cdef inline double shape_of(double alpha, double n) noexcept nogil:
    """The shape of q_d for a kernel that holds rows worth n of them."""
    return alpha + 0.5 * fmax(n - 1.0, 0.0)

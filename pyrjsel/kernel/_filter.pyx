"""The particles of kernel regression: moves, weights, invariant moves and Gibbs draws, the compiled loop.

A particle is a set U of k centres (rows, increasing) with the variances sigma^2 of the noise and delta^2 of
the coefficients, which are integrated out, and drawn at the end of each row. Columns of kernel values are
cached for all particles at once: the loop sees their inner products alone (``gram``, ``moments``). The first
f slots are columns of all particles, the intercept and those of a trend, and ``slot[row]`` is the place of
the column of the centre at a row.

With A = K'K + rho I, rho = sigma^2 / delta^2, A = L L' and v = L^{-1} K'y::

    log p(y | U, sigma^2, delta^2) = -t/2 log(2 pi sigma^2) + (k+f)/2 log rho - 1/2 log|A|
                                     - (y'y - v'v) / (2 sigma^2)

A birth, death or shift changes it by a solve with L, O(k^2); L is made anew where a move is accepted, O(k^3),
so that rounding does not build up. A pivot of L is at least rho in exact arithmetic, and is kept there, and
above rounding: a combination of columns that is zero up to rounding has a coefficient whose variance is at
most that of the noise divided by `DEPENDENT` of the column's sum of squares, or more of it with more rows.
"""

cimport cython
from libc.math cimport INFINITY, exp, fmax, fmin, lgamma, log, sqrt
from libc.string cimport memcpy

import numpy as np

from pyrjsel._core.random cimport (
    bitgen_of,
    bitgen_t,
    random_standard_exponential,
    random_standard_gamma,
    random_standard_normal,
    random_standard_uniform,
)

cdef enum:                      # moves of the filter
    ZERO = 0
    BIRTH = 1
    DEATH = 2

cdef struct particles_t:        # arrays of `Particles`
    int* k
    int* centres
    double* beta
    double* mean
    double* sigma2
    double* delta2
    double* log_marginal

cdef particles_t pointers_of(arrays):
    """Pointers into the arrays of `Particles`, in their order, which must be kept."""
    cdef particles_t p
    cdef int[::1] k = arrays[0]
    cdef int[:, ::1] centres = arrays[1]
    cdef double[:, ::1] beta = arrays[2], mean = arrays[3]
    cdef double[::1] sigma2 = arrays[4], delta2 = arrays[5], log_marginal = arrays[6]
    p.k, p.centres, p.beta, p.mean = &k[0], &centres[0, 0], &beta[0, 0], &mean[0, 0]
    p.sigma2, p.delta2, p.log_marginal = &sigma2[0], &delta2[0], &log_marginal[0]
    return p

cdef double LOG_2PI = 1.8378770664093453
cdef double LOG_2 = 0.6931471805599453
# Proportion of a diagonal entry of A below which its pivot is due to rounding, and the rows from which on it
# grows with their square root, as the rounding of sums does.
cdef double DEPENDENT = 1e-14, SUMMED = 50.0
# Shares of rejuvenation moves that are births and deaths; the others are shifts.
BIRTH_SHARE = DEATH_SHARE = 0.3
cdef double SHARE = BIRTH_SHARE
# Deviation of a proposed step of log rho.
cdef double STEP = 2.0


@cython.final
cdef class ParticleLoop:
    """The loops over particles of one model.

    Parameters
    ----------
    mean_kernels : float
    most : int
        Most kernels of a particle.
    a_y, b_y, a_beta, b_beta : float
        Of the inverse gamma priors of sigma^2 and delta^2.
    draw_noise, draw_coef : bool
        Whether sigma^2 and delta^2 are drawn.
    move_fraction : float
    literal : bool
        Whether weights are those that the paper prints.
    fixed : int
        Columns of all particles, f.
    """

    cdef object arrays
    cdef double log_mean, mean, a_y, b_y, a_beta, b_beta, c
    cdef bint draw_noise, draw_coef, literal
    cdef int most, fixed, ld    # ld = most + fixed
    cdef int* index             # (ld) slots of the columns of a particle, in the order of L
    cdef int* order             # (ld) which these are, the fixed ones first and centres behind them
    cdef double* factor         # (ld, ld) L, column-major
    cdef double* half           # (ld) v
    cdef double* row            # (ld) scratch
    cdef double* unit           # (ld) scratch
    cdef double* score          # (ld + 1) scratch
    # The data at a row, set by `see`.
    cdef object seen
    cdef int t, ld_gram
    cdef double left            # y'y - v'v
    cdef double gained, log_det     # of the last change: how much less is left, and log |A| - (k+f) log rho
    cdef double dependent       # proportion of a diagonal entry of A that is rounding
    cdef double yy, count       # count: what the rows are worth, t times the power of the likelihood
    cdef const int* slot        # (t)
    cdef const double* gram     # (m, ld_gram)
    cdef const double* moments  # (m)

    def __init__(self, *, double mean_kernels, int most, double a_y, double b_y, double a_beta, double b_beta,
                 bint draw_noise, bint draw_coef, double move_fraction, bint literal, int fixed=1):
        cdef int[:, ::1] index = np.zeros((2, most + fixed), dtype=np.int32)
        cdef double[:, ::1] factor = np.zeros((most + fixed, most + fixed))
        cdef double[:, ::1] scratch = np.zeros((4, most + fixed + 1))
        self.arrays = (index, factor, scratch)
        self.mean, self.log_mean, self.most = mean_kernels, log(mean_kernels), most
        self.fixed, self.ld = fixed, most + fixed
        self.a_y, self.b_y, self.a_beta, self.b_beta = a_y, b_y, a_beta, b_beta
        self.draw_noise, self.draw_coef = draw_noise, draw_coef
        self.c, self.literal = move_fraction, literal
        self.index, self.order, self.factor = &index[0, 0], &index[1, 0], &factor[0, 0]
        self.half, self.row, self.unit = &scratch[0, 0], &scratch[1, 0], &scratch[2, 0]
        self.score = &scratch[3, 0]

    def propose(self, rng, int t, int[::1] k, int[:, ::1] centres, double[::1] log_factor):
        """Move each particle, in place, before the data of the newest row are seen.

        With the weights of the paper that is its move from t - 1 to t rows. With exact ones it is a birth or
        death, if any, among the rows before, which leaves the prior of sets invariant: :meth:`weigh` follows.

        Parameters
        ----------
        rng : numpy.random.Generator
        t : int
            Rows including the new one, which is row t - 1.
        k : int32 array (N,)
        centres : int32 array (N, most)
        log_factor : float64 array (N,)
            Written: the log of the weight but for the ratio of marginal likelihoods, 0 of exact ones.
        """
        cdef bitgen_t* bits = bitgen_of(rng)
        cdef Py_ssize_t i
        with rng.bit_generator.lock, nogil:
            for i in range(k.shape[0]):
                log_factor[i] = 0.0
                if self.literal:
                    log_factor[i] = self.literal_move(bits, t, &k[i], &centres[i, 0])
                elif self.c > 0.0:
                    self.step(bits, t - 1, &k[i], &centres[i, 0])

    def weigh(self, rng, const double[::1] chance, int[::1] k, int[:, ::1] centres, const double[::1] sigma2,
              const double[::1] delta2, double[::1] out):
        """Let each particle take the newest row as a centre, or not, in place; its column must be there.

        Parameters
        ----------
        rng : numpy.random.Generator
        chance : float64 array (N,)
            Probabilities with which particles are asked; 0 for those that are not.
        k, centres, sigma2, delta2 : arrays
            Of the particles, as in `FilterState`.
        out : float64 array (N,)
            Written: the log of the weight times the marginal likelihood of the rows before.
        """
        cdef bitgen_t* bits = bitgen_of(rng)
        cdef Py_ssize_t i
        with rng.bit_generator.lock, nogil:
            for i in range(k.shape[0]):
                out[i] = self.adapt(bits, chance[i], &k[i], &centres[i, 0], sigma2[i], delta2[i])

    def set_priors(self, double a_y, double b_y, double a_beta, double b_beta):
        """Change the inverse gamma priors of sigma^2 and delta^2."""
        self.a_y, self.b_y, self.a_beta, self.b_beta = a_y, b_y, a_beta, b_beta

    def see(self, const int[::1] slot, const double[:, ::1] gram, const double[::1] moments, double yy,
            double power=1.0):
        """Set the data.

        For the likelihood of the rows given the coefficients to a power, the sums are `power` times those of
        the rows.

        Parameters
        ----------
        slot : int32 array (t,)
            Slot of the column of the centre at each row, -1 where it is not cached.
        gram : float64 array (m, m)
        moments : float64 array (m,)
        yy : float
            y'y.
        power : float
        """
        self.seen = (slot, gram, moments)
        self.count = power * slot.shape[0]
        self.dependent = DEPENDENT * fmax(1.0, sqrt(slot.shape[0] / SUMMED))
        self.t, self.ld_gram, self.yy = slot.shape[0], gram.shape[1], yy
        self.slot, self.gram, self.moments = &slot[0], &gram[0, 0], &moments[0]

    def log_marginals(self, const int[::1] k, const int[:, ::1] centres, const double[::1] sigma2,
                      const double[::1] delta2, double[::1] out):
        """Write ``log p(y | U, sigma^2, delta^2)`` of each particle into `out`."""
        cdef Py_ssize_t i
        with nogil:
            for i in range(k.shape[0]):
                self.take(k[i], &centres[i, 0])
                out[i] = self.factorise(k[i] + self.fixed, sigma2[i], delta2[i])

    def refresh(self, rng, const int[::1] pool, int moves, particles, long long[::1] tried,
                long long[::1] accepted):
        """Make invariant moves of each particle, and draw its coefficients and variances; in place.

        Parameters
        ----------
        rng : numpy.random.Generator
        pool : int32 array (P,)
            Independent uniform rows, all cached, P >= `moves`: what births and shifts propose.
        moves : int
            Of each particle.
        particles : sequence of arrays
            Those of `Particles`, in its order.
        tried, accepted : int64 array (3,)
            Added to: births, deaths and shifts.
        """
        cdef bitgen_t* bits = bitgen_of(rng)
        cdef particles_t p = pointers_of(particles)
        cdef Py_ssize_t i, count = len(particles[0])
        if pool.shape[0] < moves or (moves and pool.shape[0] == 0):
            raise ValueError("pool must have an entry for each move")
        with rng.bit_generator.lock, nogil:
            for i in range(count):
                self.renew(bits, &pool[0], pool.shape[0], moves, &p, i, &tried[0], &accepted[0])

    def iterate(self, rng, Py_ssize_t n, pool, int moves, particle, draws, long long[::1] tried,
                long long[::1] accepted, *, Py_ssize_t after, Py_ssize_t thin):
        """Make `n` iterations of one particle, and record it after every `thin`-th after burn-in.

        Parameters
        ----------
        rng : numpy.random.Generator
        n : int
        pool : int32 array (`moves`,) or None
            As of :meth:`refresh`; None draws rows in each iteration, which must all be cached.
        moves : int
        particle, draws : sequence of arrays
            Those of `Particles`, in its order: of the state, and of draws with enough room.
        tried, accepted : int64 array (3,)
        after : int
            Iterations before these since the end of burn-in; negative before it.
        thin : int

        Returns
        -------
        int
            Number of recorded draws.
        """
        cdef bitgen_t* bits = bitgen_of(rng)
        cdef particles_t p = pointers_of(particle), out = pointers_of(draws)
        cdef int[::1] rows = np.empty(moves, dtype=np.int32) if pool is None else pool
        cdef bint drawn = pool is None
        cdef Py_ssize_t _, kept = 0
        cdef int move
        if rows.shape[0] != moves or moves < 1:
            raise ValueError("pool must have an entry for each move")
        with rng.bit_generator.lock, nogil:
            for _ in range(n):
                if drawn:
                    for move in range(moves):
                        rows[move] = <int> (random_standard_uniform(bits) * self.t)
                self.renew(bits, &rows[0], moves, moves, &p, 0, &tried[0], &accepted[0])
                after += 1
                if after > 0 and after % thin == 0:
                    self.copy(&p, &out, kept)
                    kept += 1
        return kept

    cdef void renew(self, bitgen_t* bits, const int* pool, Py_ssize_t n_pool, int moves, particles_t* p,
                    Py_ssize_t i, long long* tried, long long* accepted) noexcept nogil:
        """Make invariant moves of particle i, and draw its coefficients and variances."""
        cdef int* centres = p.centres + i * self.most
        cdef int d
        self.take(p.k[i], centres)
        self.factorise(p.k[i] + self.fixed, p.sigma2[i], p.delta2[i])
        if moves:
            self.rejuvenate(bits, pool, n_pool, moves, &p.k[i], centres, &p.sigma2[i], &p.delta2[i], tried,
                            accepted)
        d = p.k[i] + self.fixed
        self.draw(bits, d, p.beta + i * self.ld, &p.sigma2[i], &p.delta2[i])
        p.log_marginal[i] = self.factorise(d, p.sigma2[i], p.delta2[i])
        self.solve_t(d, p.mean + i * self.ld, 0.0, NULL)

    cdef void copy(self, const particles_t* p, particles_t* out, Py_ssize_t i) noexcept nogil:
        """Copy the first particle to place i of others."""
        out.k[i], out.sigma2[i], out.delta2[i] = p.k[0], p.sigma2[0], p.delta2[0]
        out.log_marginal[i] = p.log_marginal[0]
        memcpy(out.centres + i * self.most, p.centres, self.most * sizeof(int))
        memcpy(out.beta + i * self.ld, p.beta, self.ld * sizeof(double))
        memcpy(out.mean + i * self.ld, p.mean, self.ld * sizeof(double))

    # ------------------------------------------------------------------ the filter's moves

    cdef double birth_chance(self, int k) noexcept nogil:
        """Chance that a set of k centres gets another one."""
        return self.c * fmin(1.0, self.mean / (k + 1)) if k < self.most else 0.0

    cdef double death_chance(self, int k) noexcept nogil:
        """Chance that a set of k centres loses one."""
        return self.c * fmin(1.0, k / self.mean)

    cdef double adapt(self, bitgen_t* bits, double chance, int* size, int* centres, double sigma2,
                      double delta2) noexcept nogil:
        """Let a set take the newest row in, or not, and return the log of what the data say of the choices.

        From a set U' of k centres among the t - 1 rows before, the next one is U', or U' with the newest row,
        or that in place of one of the centres. Backwards, a set with the newest row comes from the set
        without it with probability 1/2, and from each of the t - k sets with another row in its place with
        probability 1/2 / (t - k), where there are any. With s_t(k) = p(k) / C(t, k), the joint probability of
        the next set U and the way back, relative to that of U', is the ratio of the marginal likelihoods
        times s_t(k) / s_{t-1}(k) = (t - k) / t if U = U', s_t(k + 1) / s_{t-1}(k) / 2 = Lambda / (2 t) for an
        additional centre, and s_t(k) / s_{t-1}(k) / (2 (t - k)) = 1 / (2 t) in place of a centre. The next
        set is drawn in proportion to these, so that the weight is their sum, whatever is drawn.

        Where a set is asked with a `chance` below 1, sets with the newest row count 1 / chance times; one
        that is not asked stays. On average over both each set has the same weight.
        """
        # mathematics: kernel-filter-weight, mathematics: kernel-way-back
        cdef int k = size[0], d = k + self.fixed, slot = self.slot[self.t - 1], i, chosen = 0
        cdef double base, top, total = 0.0, u
        cdef double* score = self.score
        self.take(k, centres)
        base = self.factorise(d, sigma2, delta2)
        if chance == 0.0:
            return base + log((self.t - k) / <double> self.t)
        score[0] = log(self.t - k) + log(chance)
        score[1] = self.log_mean - (LOG_2 if k + 1 < self.t else 0.0)
        score[1] = score[1] + self.change(d, 0, slot, sigma2, delta2) if k < self.most else -INFINITY
        top = fmax(score[0], score[1])
        for i in range(k):
            score[2 + i] = self.change(d, self.fixed + i, slot, sigma2, delta2) - LOG_2
            top = fmax(top, score[2 + i])
        for i in range(k + 2):
            score[i] = exp(score[i] - top)
            total += score[i]
        u = random_standard_uniform(bits) * total
        while chosen < k + 1 and u >= score[chosen]:
            u -= score[chosen]
            chosen += 1
        if chosen > 1:
            remove(centres, k, chosen - 2)
            k -= 1
        if chosen > 0:
            centres[k] = self.t - 1
            size[0] = k + 1
        return base + top + log(total / (self.t * chance))

    cdef double literal_move(self, bitgen_t* bits, int t, int* size, int* centres) noexcept nogil:
        """The move of the paper, where the newest row is like the others, and the weight that it prints."""
        cdef int k = size[0], kind = self.step(bits, t, size, centres), new = size[0]
        cdef double log_pick = 0.0
        if kind != ZERO:
            log_pick = -log(t - k) if kind == BIRTH else -log(k)
        return ((new - k) * self.log_mean + (k * log(t - 1) if k else 0.0) + lgamma(k + 1.0)
                - new * log(t) - lgamma(new + 1.0) - log_pick)

    cdef int step(self, bitgen_t* bits, int rows, int* size, int* centres) noexcept nogil:
        """Make a zero, birth or death move among the first `rows` rows, and return which."""
        cdef int k = size[0], place, row
        cdef double u = random_standard_uniform(bits), birth = self.birth_chance(k) if k < rows else 0.0
        if u < birth:
            # The row-th of the rows that are not centres.
            row = <int> (random_standard_uniform(bits) * (rows - k))
            place = 0
            while place < k and centres[place] <= row:
                place += 1
                row += 1
            insert(centres, k, place, row)
            size[0] = k + 1
            return BIRTH
        if u < birth + self.death_chance(k):
            remove(centres, k, <int> (random_standard_uniform(bits) * k))
            centres[k - 1] = -1
            size[0] = k - 1
            return DEATH
        return ZERO

    # ------------------------------------------------------------------ marginal likelihood

    cdef void take(self, int k, const int* centres) noexcept nogil:
        """Find the slots of a particle's columns."""
        cdef int i
        for i in range(self.fixed + k):
            self.order[i] = i
            self.index[i] = i if i < self.fixed else self.slot[centres[i - self.fixed]]

    cdef double factorise(self, int d, double sigma2, double delta2) noexcept nogil:
        """Make L and v of the d columns, and return the log marginal likelihood.

        The next column is always the one of which the others so far leave the most: where columns are nearly
        dependent, others are no combinations of them with large coefficients, which multiply rounding.
        """
        # mathematics: kernel-marginal
        cdef int i, j, l
        cdef double rho = sigma2 / delta2, log_det = 0.0, explained = 0.0, pivot, scale
        cdef double* column
        cdef double* rest = self.unit
        cdef const double* products
        for j in range(d):
            rest[j] = self.gram[self.index[j] * (self.ld_gram + 1)] + rho
            self.half[j] = self.moments[self.index[j]]
        for j in range(d):
            l = j
            for i in range(j + 1, d):
                if rest[i] > rest[l]:
                    l = i
            if l != j:
                self.exchange(j, l)
            products = self.gram + <Py_ssize_t> self.index[j] * self.ld_gram
            column = self.factor + <Py_ssize_t> j * self.ld
            pivot = sqrt(self.pivot_of(rest[j], products[self.index[j]] + rho, rho))
            column[j] = pivot
            log_det += log(pivot)
            scale = 1.0 / pivot
            for i in range(j + 1, d):
                column[i] = products[self.index[i]]
            for l in range(j):
                subtract(d - j - 1, self.factor[<Py_ssize_t> l * self.ld + j],
                         self.factor + <Py_ssize_t> l * self.ld + j + 1, column + j + 1)
            for i in range(j + 1, d):
                # No more than the pivot but for rounding, which solves with L would multiply.
                column[i] = fmax(-pivot, fmin(pivot, column[i] * scale))
                rest[i] -= column[i] * column[i]
            self.half[j] *= scale
            explained += self.half[j] * self.half[j]
            subtract(d - j - 1, self.half[j], column + j + 1, self.half + j + 1)
        # v'v <= y'y but for rounding.
        self.left = fmax(self.yy - explained, 0.0)
        return (-0.5 * self.count * (LOG_2PI + log(sigma2)) + 0.5 * d * log(rho) - log_det
                - 0.5 * self.left / sigma2)

    cdef double pivot_of(self, double left, double whole, double rho) noexcept nogil:
        """A squared pivot of L, of which `left` are left of the diagonal entry `whole` of A."""
        return fmax(fmax(left, rho), self.dependent * whole)

    cdef void exchange(self, int j, int l) noexcept nogil:
        """Exchange two columns that are not in L yet."""
        cdef int i
        cdef double* row
        self.index[j], self.index[l] = self.index[l], self.index[j]
        self.order[j], self.order[l] = self.order[l], self.order[j]
        self.unit[j], self.unit[l] = self.unit[l], self.unit[j]
        self.half[j], self.half[l] = self.half[l], self.half[j]
        for i in range(j):
            row = self.factor + <Py_ssize_t> i * self.ld
            row[j], row[l] = row[l], row[j]

    cdef void solve(self, int d, int first, double* b) noexcept nogil:
        """b := L^{-1} b, whose entries before `first` are 0."""
        cdef int j
        cdef const double* column
        for j in range(first, d):
            column = self.factor + <Py_ssize_t> j * self.ld
            b[j] /= column[j]
            subtract(d - j - 1, b[j], column + j + 1, b + j + 1)

    cdef double solve_t(self, int d, double* out, double scale, bitgen_t* bits) noexcept nogil:
        """out := L'^{-1} (v + z), z = scale * standard normals, and return z'z; entries beyond d are 0."""
        cdef int i, j
        cdef double total, noise, square = 0.0
        cdef double* b = self.row
        cdef const double* column
        for j in range(d):
            b[j] = self.half[j]
            if bits != NULL:
                noise = scale * random_standard_normal(bits)
                b[j] += noise
                square += noise * noise
        for j in range(d - 1, -1, -1):
            column = self.factor + <Py_ssize_t> j * self.ld
            total = b[j]
            for i in range(j + 1, d):
                total -= column[i] * b[i]
            b[j] = total / column[j]
        for j in range(d):
            out[self.order[j]] = b[j]
        for j in range(d, self.ld):
            out[j] = 0.0
        return square

    # ------------------------------------------------------------------ invariant moves

    cdef void rejuvenate(self, bitgen_t* bits, const int* pool, Py_ssize_t n_pool, int moves, int* size,
                         int* centres, double* sigma2, double* delta2, long long* tried,
                         long long* accepted) noexcept nogil:
        """Births, deaths and shifts of a particle; each proposes its own row of the pool.

        A birth proposes one of all t rows, and fails where that is a centre already: its ratio is
        L Lambda / (k + 1) t / (t - k), with L that of the marginal likelihoods.

        Where both variances are drawn, sigma^2 is integrated out given rho, and drawn behind the moves: given
        sigma^2, a set that fits worse is left for a better one only in steps that each gain as much as the
        noise of before allows. With sigma^2 | rho ~ IG(a_y + a_beta, b_y + b_beta rho) in the prior, L is
        |A|^(-1/2) rho^(d/2) (b_y + b_beta rho + (y'y - v'v) / 2)^-(a_y + a_beta + t/2), but for constants.
        """
        # mathematics: kernel-birth-ratio, mathematics: kernel-ratio-density
        cdef bint free = self.draw_noise and self.draw_coef
        cdef double rho = sigma2[0] / delta2[0], shape = self.a_y + self.a_beta + 0.5 * self.count
        cdef double rest, scale = self.b_y + self.b_beta * rho
        cdef Py_ssize_t start = <Py_ssize_t> (random_standard_uniform(bits) * n_pool)
        cdef int move, kind, k, out, row, place
        cdef double u, ratio
        for move in range(moves):
            k = size[0]
            row = pool[(start + move) % n_pool]
            u = random_standard_uniform(bits)
            kind = 0 if u < SHARE else 1 if u < 2.0 * SHARE else 2
            if (k == self.most) if kind == 0 else (k == 0):
                continue
            tried[kind] += 1
            out = -1
            if kind != 0:
                out = <int> (random_standard_uniform(bits) * k)
            place = k
            if kind != 1:
                place = position(centres, k, row)
                if place < k and centres[place] == row:
                    continue
            ratio = self.change(k + self.fixed, out if out < 0 else out + self.fixed,
                                -1 if kind == 1 else self.slot[row], sigma2[0], delta2[0])
            if free:
                rest = scale + 0.5 * self.left
                ratio = shape * log(rest / (rest - 0.5 * self.gained)) - 0.5 * self.log_det
            if kind == 0:
                ratio += self.log_mean - log(k + 1) + log(self.t / <double> (self.t - k))
            elif kind == 1:
                ratio -= self.log_mean - log(k) + log(self.t / (self.t - k + 1.0))
            if ratio <= -random_standard_exponential(bits):
                continue
            accepted[kind] += 1
            if kind != 0:
                remove(centres, k, out)
                k -= 1
                centres[k] = -1
            if kind != 1:
                insert(centres, k, position(centres, k, row), row)
                k += 1
            size[0] = k
            self.take(k, centres)
            self.factorise(k + self.fixed, sigma2[0], delta2[0])
        if free:
            # Through draws of the coefficients alone the ratio would change slowly.
            rho = self.ratio_step(bits, size[0] + self.fixed, rho, shape)
            sigma2[0] = (self.b_y + self.b_beta * rho + 0.5 * self.left) / random_standard_gamma(bits, shape)
            delta2[0] = sigma2[0] / rho

    cdef double ratio_step(self, bitgen_t* bits, int d, double rho, double shape) noexcept nogil:
        """A random-walk step of log rho given the set, with coefficients and sigma^2 integrated out."""
        cdef double proposed = rho * exp(STEP * random_standard_normal(bits))
        cdef double before = self.log_ratio_density(d, rho, shape)
        if self.log_ratio_density(d, proposed, shape) - before > -random_standard_exponential(bits):
            return proposed
        self.factorise(d, rho, 1.0)
        return rho

    cdef double log_ratio_density(self, int d, double rho, double shape) noexcept nogil:
        """Log density of log rho, but for a constant; L and v are made."""
        cdef double log_det = self.factorise(d, rho, 1.0)
        log_det += 0.5 * (self.count * (LOG_2PI + log(rho)) + self.left / rho)
        return log_det + self.a_beta * log(rho) - shape * log(self.b_y + self.b_beta * rho + 0.5 * self.left)

    cdef double change(self, int d, int out, int slot, double sigma2, double delta2) noexcept nogil:
        """Change of the log marginal likelihood where column `out` > 0 leaves and that of `slot` >= 0 comes.

        With w = L^{-1} e_out, the inverse of A without `out` follows from w'w, the entry of A^{-1}, and w'v,
        that of A^{-1} K'y; and the pivot of a new column from its products with all others: what `out` alone
        explains of it is added again.
        """
        cdef int i, place = 0       # of the column that leaves, in the order of L
        cdef double rho = sigma2 / delta2, inverse = 0.0, moved = 0.0, cross = 0.0
        cdef double log_det = 0.0, explained = 0.0, pivot, rest
        cdef double* w = self.unit
        cdef double* a = self.row
        cdef const double* products
        if out > 0:
            for i in range(d):
                w[i] = 0.0
            while self.order[place] != out:
                place += 1
            w[place] = 1.0
            self.solve(d, place, w)
            for i in range(place, d):
                inverse += w[i] * w[i]
                moved += w[i] * self.half[i]
            log_det += log(inverse) + log(rho)
            explained -= moved * moved / inverse
        if slot >= 0:
            products = self.gram + <Py_ssize_t> slot * self.ld_gram
            for i in range(d):
                a[i] = products[self.index[i]]
            self.solve(d, 0, a)
            pivot = products[slot] + rho
            rest = self.moments[slot]
            for i in range(d):
                pivot -= a[i] * a[i]
                rest -= a[i] * self.half[i]
            if out > 0:
                for i in range(place, d):
                    cross += w[i] * a[i]
                pivot += cross * cross / inverse
                rest += cross * moved / inverse
            pivot = self.pivot_of(pivot, products[slot] + rho, rho)
            log_det += log(pivot) - log(rho)
            explained += rest * rest / pivot
        # No more than is left, but for rounding.
        self.gained, self.log_det = fmin(explained, self.left), log_det
        return 0.5 * (self.gained / sigma2 - log_det)

    # ------------------------------------------------------------------ Gibbs draws

    cdef void draw(self, bitgen_t* bits, int d, double* beta, double* sigma2, double* delta2) noexcept nogil:
        """Draw the coefficients given L and v, and the variances given them."""
        # mathematics: kernel-conditionals
        cdef int i
        cdef double rho = sigma2[0] / delta2[0], size = 0.0, square, residual
        square = self.solve_t(d, beta, sqrt(sigma2[0]), bits)
        for i in range(d):
            size += beta[i] * beta[i]
        if self.draw_noise:
            # With beta = L'^{-1} (v + z). Sums of squares, but for rounding: of what cancels in the one, the
            # coefficients are large where rho is small, and z in the other where rho is large.
            residual = self.residual(d, beta) if rho > 1.0 else self.left + square - rho * size
            sigma2[0] = (self.b_y + 0.5 * fmax(residual, 0.0)) / random_standard_gamma(
                bits, self.a_y + 0.5 * self.count)
        if self.draw_coef:
            delta2[0] = (self.b_beta + 0.5 * size) / random_standard_gamma(bits, self.a_beta + 0.5 * d)

    cdef double residual(self, int d, const double* beta) noexcept nogil:
        """|y - K beta|^2 from the products."""
        cdef int i, j
        cdef double total = self.yy, b, inner
        cdef const double* products
        for i in range(d):
            products = self.gram + <Py_ssize_t> self.index[i] * self.ld_gram
            b = beta[self.order[i]]
            inner = -2.0 * self.moments[self.index[i]]
            for j in range(d):
                inner += products[self.index[j]] * beta[self.order[j]]
            total += b * inner
        return total


cdef inline void subtract(int n, double a, const double* x, double* y) noexcept nogil:
    """y -= a x."""
    cdef int i
    for i in range(n):
        y[i] -= a * x[i]


cdef int position(const int* centres, int k, int row) noexcept nogil:
    """Where `row` stands, or would, among k increasing centres."""
    cdef int place = 0
    while place < k and centres[place] < row:
        place += 1
    return place


cdef void insert(int* centres, int k, int place, int row) noexcept nogil:
    cdef int i
    for i in range(k, place, -1):
        centres[i] = centres[i - 1]
    centres[place] = row


cdef void remove(int* centres, int k, int place) noexcept nogil:
    cdef int i
    for i in range(place, k - 1):
        centres[i] = centres[i + 1]

"""The null model of inputs: its density of any subset, kept up to date as inputs enter and leave.

Under one normal distribution of all p inputs (see ``priors.py``) the rows of a subset S of s inputs have the
density

    pi^(-N s / 2) (kappa / (kappa + N))^(s / 2) Gamma_s((nu_s + N) / 2) / Gamma_s(nu_s / 2)
        * psi^(s nu_s / 2) |A_S|^(-(nu_s + N) / 2),

with nu_s = surplus + s and A = psi I + Z'Z - t t' / (kappa + N), t the sums of the inputs. An input j that
enters S therefore adds to the log density a number that depends on s alone, less
((nu_s + N + 1) log d + log |A_S|) / 2, where d is the Schur complement of A_S for j. The Cholesky factor of
A_S is updated: an input that enters or leaves, or is looked at, costs O(s^2).

Where inputs are independent, or have no density outside the subset, what an input adds is a number of its
own.

Missing inputs: without row n the scatter is A - c y y', y the row less the mean of the others
(t - z_n) / (kappa + N - 1), and c = (kappa + N - 1) / (kappa + N). The density of all rows depends on
row n by 1 + c q, q = y' (A - c y y')^{-1} y. Inverses of A and of A_S are held while missing inputs are
drawn, and changed by rank one.
"""

cimport cython
from libc.math cimport M_PI, fmax, lgamma, log, log1p, sqrt
from libc.string cimport memcpy, memset

import numpy as np

from pyrjsel._core._linalg cimport cholesky, log_det_factor
from pyrjsel._core._vecmath cimport dot


@cython.final
cdef class Null:
    """The null model of one chain.

    Parameters
    ----------
    p, n : int
        Inputs and rows.
    kappa, surplus, psi : float
        Its prior: the mean has the covariance over `kappa`, degrees of freedom are `surplus` + p.
    gain : float64 array (p,), optional
        What each input adds to the log density, where this is a number of its own.
    offset : float
        Log density of all inputs then.
    """

    def __init__(self, int p, int n, double kappa, double surplus, double psi, const double[::1] gain,
                 double offset):
        # mathematics: mixture-null
        cdef double[::1] numbers = np.zeros(5 * p * p + 5 * p)
        cdef int[::1] lists = np.full(2 * p, -1, dtype=np.intc)
        cdef double[::1] table = np.zeros(p)
        cdef double nu
        cdef int s
        for s in range(p):
            nu = surplus + s
            table[s] = (0.5 * log(kappa / (kappa + n)) - 0.5 * n * log(M_PI)
                        + 0.5 * ((nu + 1) * (s + 1) - nu * s) * log(psi)
                        + lgamma(0.5 * (nu + n + 1)) - lgamma(0.5 * (nu + 1)))
        self.arrays = (numbers, lists, gain, table)
        self.p, self.n = p, n
        self.kappa, self.surplus, self.psi, self.offset = kappa, surplus, psi, offset
        self.joint = gain is None
        self.gain = NULL
        if gain is not None:
            if gain.shape[0] != p:
                raise ValueError("there must be a gain for each input")
            self.gain = &gain[0]
        self.table = &table[0]
        self.scatter = &numbers[0]
        self.factor = self.scatter + p * p
        self.spare = self.factor + p * p
        self.inverse = self.spare + p * p
        self.inner = self.inverse + p * p
        self.total = self.inner + p * p
        self.row = self.total + p
        self.image = self.row + p
        self.members, self.place = &lists[0], &lists[p]
        self.size = 0

    cdef void set_inputs(self, const double* z, const unsigned char* changed) noexcept nogil:
        """Add up the scatter of the inputs z (p, N), all or those that have `changed`."""
        cdef int i, j, p = self.p, k
        cdef Py_ssize_t n = self.n
        cdef double value
        cdef const double* a
        if not self.joint:
            return
        for i in range(p):
            if changed == NULL or changed[i]:
                value = 0.0
                a = z + i * n
                for k in range(self.n):
                    value += a[k]
                self.total[i] = value
        for i in range(p):
            a = z + i * n
            for j in range(i + 1):
                if changed != NULL and not changed[i] and not changed[j]:
                    continue
                value = dot(n, a, z + j * n)
                value -= self.total[i] * self.total[j] / (self.kappa + self.n)
                if i == j:
                    value += self.psi
                self.scatter[i * p + j] = value
                self.scatter[j * p + i] = value
        memcpy(self.spare, self.scatter, <size_t> p * p * sizeof(double))
        cholesky(p, self.spare, p)
        self.all_log_det = log_det_factor(p, self.spare, p)

    cdef void set_members(self, const unsigned char* gamma) noexcept nogil:
        """Begin again from a subset."""
        cdef int j
        self.size = 0
        self.log_det = 0.0
        for j in range(self.p):
            self.place[j] = -1
        for j in range(self.p):
            if gamma[j]:
                self.put_in(j)

    cdef double schur(self, int j, const double* factor, const int* members, int size,
                      int without) noexcept nogil:
        """The Schur complement of the members' scatter for j, with the last row of the factor in `row`.

        `without` is a position of `members` that the factor does not have, or -1. No complement is below
        psi, whatever the rounding.
        """
        cdef int a, b, at = 0
        cdef double value, square = 0.0
        cdef const double* line
        for a in range(size):
            if at == without:
                at += 1
            value = self.scatter[j * self.p + members[at]]
            line = factor + a * self.p
            for b in range(a):
                value -= line[b] * self.row[b]
            value /= line[a]
            self.row[a] = value
            square += value * value
            at += 1
        return fmax(self.scatter[j * self.p + j] - square, self.psi)

    cdef double added(self, int size, double log_det, double schur) noexcept nogil:
        """Return the increase of the log density of `size` inputs by one more."""
        return self.table[size] - 0.5 * ((self.surplus + size + self.n + 1) * log(schur) + log_det)

    cdef double entering(self, int j) noexcept nogil:
        """The log density of the members and j over that of the members."""
        if not self.joint:
            return self.gain[j]
        return self.added(self.size, self.log_det,
                          self.schur(j, self.factor, self.members, self.size, -1))

    cdef double own_share(self, int at) noexcept nogil:
        """The Schur complement of the other members' scatter for the member at this position."""
        cdef int a, b
        cdef double value, square = 0.0
        cdef const double* line
        for a in range(at, self.size):
            line = self.factor + a * self.p
            value = 1.0 if a == at else 0.0
            for b in range(at, a):
                value -= line[b] * self.row[b]
            value /= line[a]
            self.row[a] = value
            square += value * value
        return fmax(1.0 / square, self.psi)

    cdef double leaving(self, int k) noexcept nogil:
        """The log density of the members over that of the members without k."""
        cdef double schur
        if not self.joint:
            return self.gain[k]
        schur = self.own_share(self.place[k])
        return self.added(self.size - 1, self.log_det - log(schur), schur)

    cdef double exchanging(self, int k, int j) noexcept nogil:
        """The log density of the members with j for k over that of the members."""
        cdef int at
        cdef double schur, log_det
        if not self.joint:
            return self.gain[j] - self.gain[k]
        at = self.place[k]
        schur = self.own_share(at)
        log_det = self.log_det - log(schur)
        memcpy(self.spare, self.factor, <size_t> self.size * self.p * sizeof(double))
        self.drop(self.spare, at)
        return (self.added(self.size - 1, log_det,
                           self.schur(j, self.spare, self.members, self.size - 1, at))
                - self.added(self.size - 1, log_det, schur))

    cdef void drop(self, double* factor, int at) noexcept nogil:
        """Take a row out of a factor of `size` rows; rotations make it triangular again."""
        cdef int a, c
        cdef double x, y, r, cosine, sine
        cdef double* line
        for a in range(at, self.size - 1):
            memcpy(factor + a * self.p, factor + (a + 1) * self.p, (a + 2) * sizeof(double))
        for c in range(at, self.size - 1):
            x, y = factor[c * self.p + c], factor[c * self.p + c + 1]
            r = sqrt(x * x + y * y)
            cosine, sine = x / r, y / r
            for a in range(c, self.size - 1):
                line = factor + a * self.p
                x, y = line[c], line[c + 1]
                line[c] = cosine * x + sine * y
                line[c + 1] = cosine * y - sine * x

    cdef void put_in(self, int j) noexcept nogil:
        cdef double schur
        self.place[j] = self.size
        self.members[self.size] = j
        if self.joint:
            schur = self.schur(j, self.factor, self.members, self.size, -1)
            memcpy(self.factor + self.size * self.p, self.row, self.size * sizeof(double))
            self.factor[self.size * self.p + self.size] = sqrt(schur)
            self.log_det += log(schur)
        self.size += 1

    cdef void take_out(self, int k) noexcept nogil:
        cdef int a, at = self.place[k]
        if self.joint:
            self.log_det -= log(self.own_share(at))
            self.drop(self.factor, at)
        for a in range(at, self.size - 1):
            self.members[a] = self.members[a + 1]
            self.place[self.members[a]] = a
        self.place[k] = -1
        self.size -= 1

    cdef double log_density(self) noexcept nogil:
        """The log density of all inputs given the members: what the model says of the others."""
        cdef int a
        cdef double value
        if not self.joint:
            value = self.offset
            for a in range(self.size):
                value -= self.gain[self.members[a]]
            return value
        # What enters after the members is what the others add.
        value = 0.5 * ((self.surplus + self.size + self.n) * self.log_det
                       - (self.surplus + self.p + self.n) * self.all_log_det)
        for a in range(self.size, self.p):
            value += self.table[a]
        return value

    cdef double log_members(self) noexcept nogil:
        """The log density of the members, up to what they all have."""
        # mathematics: mixture-background
        cdef int a
        cdef double value = 0.0
        if not self.joint:
            for a in range(self.size):
                value += self.gain[self.members[a]]
            return value
        for a in range(self.size):
            value += self.table[a]
        return value - 0.5 * (self.surplus + self.size + self.n) * self.log_det

    # ------------------------------------------------------------------ missing inputs

    cdef void invert(self, int size, double* matrix) noexcept nogil:
        """The inverse of a matrix (size, size) in place, of which the lower triangle is read."""
        cdef int a, b, c
        cdef double value
        cdef double* factor = self.spare
        # Column-major as cholesky has it: entry (a, b) is at a + b size.
        cholesky(size, matrix, size)
        # spare := L^{-1}, then L'^{-1} L^{-1}.
        memset(factor, 0, <size_t> size * size * sizeof(double))
        for b in range(size):
            factor[b + b * size] = 1.0 / matrix[b + b * size]
            for a in range(b + 1, size):
                value = 0.0
                for c in range(b, a):
                    value -= matrix[a + c * size] * factor[c + b * size]
                factor[a + b * size] = value / matrix[a + a * size]
        for a in range(size):
            for b in range(a + 1):
                value = 0.0
                for c in range(a, size):
                    value += factor[c + a * size] * factor[c + b * size]
                matrix[a * size + b] = value
                matrix[b * size + a] = value

    cdef void set_inverses(self) noexcept nogil:
        cdef int a, b
        memcpy(self.inverse, self.scatter, <size_t> self.p * self.p * sizeof(double))
        self.invert(self.p, self.inverse)
        for a in range(self.size):
            for b in range(self.size):
                self.inner[a * self.size + b] = self.scatter[self.members[a] * self.p + self.members[b]]
        self.invert(self.size, self.inner)

    cdef double deviation(self, const double* z, int n, int i) noexcept nogil:
        """Input i of the row less its mean in the others."""
        cdef double value = z[i * <Py_ssize_t> self.n + n]
        return value - (self.total[i] - value) / (self.kappa + self.n - 1)

    cdef void rank_one(self, const double* z, int n, double sign) noexcept nogil:
        """Take the row out of both inverses (sign 1) or put it back (-1); images and reach are of those
        without the row."""
        cdef int a, b, which, size
        cdef double value, scale
        cdef double* matrix
        cdef double* image
        for which in range(2):
            size = self.size if which else self.p
            matrix = self.inner if which else self.inverse
            image = self.image + which * self.p
            if sign > 0.0:
                for a in range(size):
                    self.row[a] = self.deviation(z, n, self.members[a] if which else a)
                self.reach[which] = 0.0
                # The matrix is symmetric.
                memset(image, 0, size * sizeof(double))
                for b in range(size):
                    value = self.row[b]
                    for a in range(size):
                        image[a] += matrix[b * size + a] * value
                for a in range(size):
                    self.reach[which] += image[a] * self.row[a]
                scale = self.share / (1.0 - self.share * self.reach[which])
            else:
                scale = -self.share / (1.0 + self.share * self.reach[which])
            for a in range(size):
                value = scale * image[a]
                for b in range(size):
                    matrix[a * size + b] += value * image[b]
            if sign > 0.0:
                # (M + s v v') y with v = M y: v (1 + s q).
                value = 1.0 + scale * self.reach[which]
                for a in range(size):
                    image[a] *= value
                self.reach[which] *= value

    cdef void open_row(self, const double* z, int n) noexcept nogil:
        """Look at row n; then missing inputs of it are drawn one after another."""
        self.share = (self.kappa + self.n - 1) / (self.kappa + self.n)
        self.rank_one(z, n, 1.0)

    cdef double given_others(self, int i, double z, double* width) noexcept nogil:
        """The centre of the Student conditional of input i, which is z now, and its width.

        Its degrees of freedom are surplus + p + N - 1, and the width is its scale times their root.
        """
        cdef double own = self.inverse[i * self.p + i], pull = self.image[i]
        cdef double rest = fmax(self.reach[0] - pull * pull / own, 0.0)
        width[0] = sqrt((1.0 + self.share * rest) / (self.share * own))
        return z - pull / own

    cdef double change(self, int i, double step, double t) noexcept nogil:
        """Return the change of the log density of all inputs, less t times the members', by a step of i."""
        cdef int at = self.place[i]
        cdef double outer = self.reach[0] + step * (
            2.0 * self.image[i] + step * self.inverse[i * self.p + i])
        cdef double inner = self.reach[1] + step * (
            2.0 * self.image[self.p + at] + step * self.inner[at * self.size + at])
        return 0.5 * (
            t * (self.surplus + self.size + self.n)
            * (log1p(self.share * inner) - log1p(self.share * self.reach[1]))
            - (self.surplus + self.p + self.n)
            * (log1p(self.share * outer) - log1p(self.share * self.reach[0])))

    cdef void move(self, int i, double step) noexcept nogil:
        """Make a step of input i."""
        cdef int a, at = self.place[i]
        self.reach[0] += step * (2.0 * self.image[i] + step * self.inverse[i * self.p + i])
        for a in range(self.p):
            self.image[a] += step * self.inverse[i * self.p + a]
        if at >= 0:
            self.reach[1] += step * (2.0 * self.image[self.p + at] + step * self.inner[at * self.size + at])
            for a in range(self.size):
                self.image[self.p + a] += step * self.inner[at * self.size + a]
        self.total[i] += step

    cdef void close_row(self, const double* z, int n) noexcept nogil:
        """Put the row back as it is now."""
        self.rank_one(z, n, -1.0)

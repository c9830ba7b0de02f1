"""Marginal likelihoods and averaged coefficients of all models of a list, by traversal of a tree.

The models are in depth-first order: each is followed by its extensions with later columns. Only the residuals
of the columns after the last one of a model are kept, one level of a stack for each of its columns:

    R = A_ll - A_lg V A_gl, s = c_l - A_lg V c_g     for columns l after the last of g

so that the next column adds log R_jj to the log determinant and s_j^2 / R_jj to the fit. Nothing is swept
out, and a level is a partial Cholesky factorisation with the rounding errors of one factorisation. A level is
filled when a model extends it; over all 2^D models that takes about 3 multiplications per model, since half
of them end in the last column, a quarter in the last but one, and so on.

No other model extends a model that ends within a term. Such levels take turns in two pieces of memory, and
only those that end with a term have one of their own: a factor of D levels takes D^2 numbers, not D^3.

For averages, levels also have V_ii, b_i and T = V A_gl for the model's columns, and the residual of the
linear form of the coefficients in the intercept of the design's own columns.
"""

cimport cython
from libc.math cimport INFINITY, NAN, exp, log, log1p, sqrt
from libc.stdint cimport uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memset

import numpy as np

from pyrjsel._errors import DataError
from pyrjsel.selection.priors._score cimport CONJUGATE, MIXTURE, GaussianScore, posterior_t
from pyrjsel.selection.evidence._student cimport StudentCdf

cdef extern from *:
    int lowest_bit "__builtin_ctzll"(unsigned long long) noexcept nogil

# Nodes of log g with weights below exp(-20) = 2e-9 of the largest are omitted.
cdef double DEPTH = 20.0
# A column of which the previous ones leave less than this proportion is due to rounding.
cdef double ROUNDING = 1e-12


cdef struct level_t:
    int column                   # last column of the model; -1 for none
    int rest                     # number of columns after it
    bint filled, void            # invalid: a column depends on previous ones
    double pivot, log_det, fit, share, least, penalty, log_weight
    bint inner                   # the last column is not the last of its term
    double* own                  # memory of the level where it is
    double form_mean, form_square
    double* r                    # (rest, rest), upper triangle, row by row
    double* s                    # (rest)
    double* form                 # (rest)
    double* t                    # (columns of the model, rest)
    double* v                    # (columns of the model)
    double* b                    # (columns of the model)


cdef struct line_t:              # a coefficient, or a linear form, given sigma^2 and delta = g / (1 + g)
    double centre                # mean: centre + delta mean
    double mean
    double own                   # variance: sigma^2 (own + delta square)
    double square


@cython.final
cdef class Subsets:
    """All models of a list.

    Parameters
    ----------
    score : GaussianScore
        Log marginal likelihood as a function of the sums.
    matrix : float64 array (D, D)
        A = P + X'WX, or X'WX for a g-prior; columns in the order of the tree.
    cross : float64 array (D,)
        c = X'Wy + P m.
    term_start : int32 array (J + 1,)
        Columns of term j, in the order of the tree.
    log_weights, penalty : float64 arrays (D,)
        Contribution of each column to log det P and to m'P m.
    form : float64 array (D,)
        The intercept of the design's own columns is the centred one minus ``form @ b``.
    most : int
        Largest number of columns of a model in the list.
    doubtful : float
        Columns of which those before leave a smaller proportion are computed by `refined`.
    refined : callable, optional
        Returns the accurate numbers of a column given those before it in the model, see `refine`.
    """

    cdef GaussianScore score
    cdef object arrays, refined, failure
    cdef double doubtful
    cdef const double* matrix
    cdef const double* log_weights
    cdef const double* penalty
    cdef const int* start
    cdef const unsigned char* inner
    cdef double* turns[2]
    cdef int size, n_terms, depth, most
    cdef bint averaging, failed
    cdef level_t* levels
    cdef uint64_t* current
    cdef int n_words

    def __init__(self, GaussianScore score not None, const double[:, ::1] matrix not None,
                 const double[::1] cross not None, const int[::1] term_start not None,
                 const double[::1] log_weights not None, const double[::1] penalty not None,
                 const double[::1] form not None, int most, double doubtful=-INFINITY, refined=None):
        cdef level_t* root
        cdef const unsigned char[::1] inner
        self.size = matrix.shape[0]
        self.n_terms = term_start.shape[0] - 1
        self.n_words = max(1, (self.n_terms + 63) // 64)
        if matrix.shape[1] != self.size or self.size == 0 or cross.shape[0] != self.size \
                or term_start[0] != 0 or term_start[self.n_terms] != self.size or most < 0 \
                or log_weights.shape[0] != self.size or penalty.shape[0] != self.size \
                or form.shape[0] != self.size:
            raise ValueError("the arrays of a list of models do not fit together")
        self.score, self.doubtful, self.refined = score, doubtful, refined
        # Whether columns are followed by others of their term.
        within = np.ones(self.size, dtype=np.uint8)
        within[np.asarray(term_start)[1:] - 1] = 0
        inner = within
        self.arrays = (matrix, cross, term_start, log_weights, penalty, form, inner)
        self.inner = &inner[0]
        self.matrix = &matrix[0, 0]
        self.log_weights = &log_weights[0]
        self.penalty = &penalty[0]
        self.start = &term_start[0]
        self.release()
        self.most = most
        self.levels = <level_t*> calloc(most + 1, sizeof(level_t))
        self.current = <uint64_t*> calloc(self.n_words, sizeof(uint64_t))
        if self.levels == NULL or self.current == NULL:
            raise MemoryError("no memory for the levels of a tree of models")
        root = &self.levels[0]
        root.column = -1
        root.rest = self.size
        root.filled = True
        root.share = root.least = 1.0
        root.r = <double*> self.matrix      # only levels above 0 are written
        root.s = <double*> &cross[0]
        root.form = <double*> &form[0]

    def __dealloc__(self):
        self.release()

    cdef void release(self) noexcept:
        cdef int k
        if self.levels != NULL:
            for k in range(1, self.most + 1):
                free(self.levels[k].own)    # all arrays of a level are in one piece of memory
            free(self.levels)
        for k in range(2):
            free(self.turns[k])
            self.turns[k] = NULL
        free(self.current)
        self.levels = NULL
        self.current = NULL

    # ------------------------------------------------------------------ the stack

    cdef int allocate(self, int depth, bint inner) noexcept nogil:
        """Give memory to a level, which has at most D - depth columns after its last."""
        cdef level_t* level = &self.levels[depth]
        cdef Py_ssize_t rest = self.size - depth
        cdef double** memory = &self.turns[depth & 1] if inner else &level.own
        # rest * (rest + depth + 2) + 2 * depth at most at any depth
        cdef Py_ssize_t most = self.size * (self.size + 2)
        if level.r != NULL and level.inner == inner:
            return 0
        if memory[0] == NULL:
            if not inner:
                most = rest * rest + 2 * rest + depth * rest + 2 * depth
            memory[0] = <double*> malloc(most * sizeof(double))
        if memory[0] == NULL:
            self.failed = True
            return 1
        level.r = memory[0]
        level.inner = inner
        level.s = level.r + rest * rest
        level.form = level.s + rest
        level.v = level.form + rest
        level.b = level.v + depth
        level.t = level.b + depth
        return 0

    cdef void fill(self, int depth) noexcept nogil:
        """Compute the residuals of the columns after the last of a level's model."""
        cdef const level_t* up = &self.levels[depth - 1]
        cdef level_t* level = &self.levels[depth]
        cdef int first = level.column - up.column - 1, rest = level.rest, stride = up.rest, i, k
        cdef const double* own = up.r + <Py_ssize_t> first * stride + first + 1
        cdef const double* source
        cdef double* target
        cdef double f
        for i in range(rest):
            f = own[i] / level.pivot
            source = up.r + <Py_ssize_t> (first + 1 + i) * stride + first + 1
            target = level.r + <Py_ssize_t> i * rest
            for k in range(i, rest):
                target[k] = source[k] - f * own[k]
            level.s[i] = up.s[first + 1 + i] - f * up.s[first]
        if self.averaging:
            for i in range(rest):
                level.form[i] = up.form[first + 1 + i] - own[i] / level.pivot * up.form[first]
            for k in range(depth - 1):
                source = up.t + <Py_ssize_t> k * stride + first
                target = level.t + <Py_ssize_t> k * rest
                f = source[0] / level.pivot
                for i in range(rest):
                    target[i] = source[1 + i] - f * own[i]
            target = level.t + <Py_ssize_t> (depth - 1) * rest
            for i in range(rest):
                target[i] = own[i] / level.pivot
        level.filled = True

    cdef double refine(self, int column) noexcept nogil:
        """Replace the residual of a column in the top level, of which the difference has lost its digits.

        Return its share for the rank rule: 1 if it is independent, 0 if that is in doubt, -1 if dependent. An
        error is raised by `check_memory`.
        """
        cdef level_t* up = &self.levels[self.depth]
        cdef int at = column - up.column - 1, k
        cdef double* own = up.r + <Py_ssize_t> at * up.rest + at
        with gil:
            try:
                before = tuple([self.levels[k].column for k in range(1, self.depth + 1)])
                share, products, response, steps, form = self.refined(before, column)
                for k in range(up.rest - at):
                    own[k] = products[k]
                up.s[at] = response
                if self.averaging:
                    up.form[at] = form
                    for k in range(self.depth):
                        up.t[<Py_ssize_t> k * up.rest + at] = steps[k]
                return share
            except BaseException as error:
                self.failure = error
        return -1.0

    cdef void push(self, int column) noexcept nogil:
        """Push the model of the top level with one more column."""
        cdef level_t* up = &self.levels[self.depth]
        cdef level_t* level
        cdef int at = column - up.column - 1, k
        cdef double s, form, step, share
        if not up.filled and not up.void:
            self.fill(self.depth)
        self.depth += 1
        level = &self.levels[self.depth]
        level.column = column
        level.rest = self.size - column - 1
        level.filled = False
        level.void = up.void or self.allocate(self.depth, self.inner[column]) != 0
        if level.void:
            return
        level.pivot = up.r[<Py_ssize_t> at * up.rest + at]
        s = up.s[at]
        share = level.pivot / self.matrix[<Py_ssize_t> column * (self.size + 1)]
        if share < self.doubtful:
            self.depth -= 1
            share = self.refine(column)
            self.depth += 1
            level.pivot, s = up.r[<Py_ssize_t> at * up.rest + at], up.s[at]
        level.share = up.share * share
        level.least = min(up.least, share)
        if not (share > ROUNDING or share == 0.0 and self.refined is not None):
            level.void = True
            return
        level.fit = up.fit + s * s / level.pivot
        level.log_det = up.log_det
        if self.score.formula <= CONJUGATE:
            level.log_det += log(level.pivot)
        level.log_weight = up.log_weight + self.log_weights[column]
        level.penalty = up.penalty + self.penalty[column]
        if self.averaging:
            form = up.form[at]
            level.form_mean = up.form_mean + form * s / level.pivot
            level.form_square = up.form_square + form * form / level.pivot
            for k in range(self.depth - 1):
                step = up.t[<Py_ssize_t> k * up.rest + at] / level.pivot
                level.v[k] = up.v[k] + step * step * level.pivot
                level.b[k] = up.b[k] - step * s
            level.v[self.depth - 1] = 1.0 / level.pivot
            level.b[self.depth - 1] = s / level.pivot

    cdef void move(self, const uint64_t* model) noexcept nogil:
        """Move the stack to a model: back to the common part with the previous one, and forward."""
        cdef int word, j, k, first
        cdef uint64_t bits
        for word in range(self.n_words):
            bits = model[word] ^ self.current[word]
            if bits:
                break
        else:
            return
        j = lowest_bit(bits)
        first = self.start[64 * word + j]
        while self.depth > 0 and self.levels[self.depth].column >= first:
            self.depth -= 1
        bits = (model[word] >> j) << j
        while True:
            while bits:
                j = 64 * word + lowest_bit(bits)
                bits &= bits - 1
                for k in range(self.start[j], self.start[j + 1]):
                    self.push(k)
            word += 1
            if word == self.n_words:
                break
            bits = model[word]
        for word in range(self.n_words):
            self.current[word] = model[word]

    cdef void begin(self, bint averaging) noexcept nogil:
        """Clear the stack if its levels do not have exactly what is needed."""
        if averaging != self.averaging:
            self.averaging = averaging
            self.depth = 0
            memset(self.current, 0, self.n_words * sizeof(uint64_t))

    # ------------------------------------------------------------------ passes over the list

    def values(self, const uint64_t[:, ::1] models not None, bint digits=False):
        """Return log marginal likelihoods of models, and lower bounds for the rank rule.

        Parameters
        ----------
        models : uint64 array (m, words)
            Packed models, bits in the order of the tree, depth-first.
        digits : bool
            Whether to return proportions that are left.

        Returns
        -------
        value : ndarray (m,)
            Log marginal likelihoods up to constants.
        shares : ndarray (1 or 3, m)
            Determinants of A scaled to a unit diagonal, each a lower bound of the proportion left of a
            column; with `digits`, the smallest proportions left of a column by those before it, and those of
            the response. If a column is lost to rounding, they are 0, and the value is -inf.
        """
        cdef Py_ssize_t m = models.shape[0], row
        cdef const level_t* top
        self.check(models)
        value, shares = np.empty(m), np.zeros((3 if digits else 1, m))
        cdef double[::1] v = value
        cdef double[:, ::1] w = shares
        with nogil:
            self.begin(False)
            for row in range(m):
                self.move(&models[row, 0])
                top = &self.levels[self.depth]
                if top.void:
                    v[row] = -INFINITY
                else:
                    v[row] = self.score.of(
                        self.depth, 0.5 * (top.log_weight - top.log_det), top.fit - top.penalty)
                    w[0, row] = top.share
                    if digits:
                        w[1, row] = top.least
                        w[2, row] = 1.0 - (top.fit - top.penalty) / self.score.total
        self.check_memory()
        return value, shares

    cdef int node_weights(self, double fit, int nodes, const double* delta, const double* log_prior,
                          double* share) noexcept nogil:
        """Compute posterior probabilities of nodes of g given the model; return the number of nodes."""
        cdef double r2 = fit / self.score.total, top = -INFINITY, total = 0.0
        cdef int i
        for i in range(nodes):
            share[i] = log_prior[i] - 0.5 * self.score.nu * log1p(-r2 * delta[i])
            top = max(top, share[i])
        for i in range(nodes):
            share[i] = exp(share[i] - top) if share[i] > top - DEPTH else 0.0
            total += share[i]
        for i in range(nodes):
            share[i] /= total
        return nodes

    cdef double positive(self, StudentCdf student, int d, posterior_t found, int nodes, const double* delta,
                         const double* share, double fit, line_t line) noexcept nogil:
        """P(x > 0 | y) for x ~ N(centre + delta mean, sigma^2 (own + delta square))."""
        cdef double value = 0.0, residual, df = student.df[min(d, student.n_df - 1)]
        cdef int i
        if nodes == 0:
            residual = found.residual * line.own + found.inner * line.square
            return student.at(d, (line.centre + found.mean * line.mean) / sqrt(residual / df))
        for i in range(nodes):
            if share[i] > 0.0:
                residual = (self.score.total - delta[i] * fit) * (line.own + delta[i] * line.square)
                value += share[i] * student.at(
                    d, (line.centre + delta[i] * line.mean) / sqrt(residual / df))
        return value

    def average(self, const uint64_t[:, ::1] models not None, const double[::1] weights not None,
                const unsigned char[::1] signs not None, StudentCdf student not None, double centre,
                double total_weight, rules, double[:, ::1] sums not None):
        """Add weighted moments of coefficients of models to `sums`.

        Parameters
        ----------
        models : uint64 array (m, words)
            Packed models, bits in the order of the tree, depth-first.
        weights : float64 array (m,)
            Posterior probabilities; models with probability 0 are skipped.
        signs : uint8 array (m,)
            Whether to compute probabilities of being positive for a model.
        student : StudentCdf
            Student's distribution functions, by number of columns, with the degrees of freedom of sigma^2.
        centre, total_weight : float
            Mean of the response and sum of the weights, for the intercept of centred columns.
        rules : tuple of int32 array (most + 2,) and float64 arrays
            For a mixture, offsets, nodes g / (1 + g) and their log weights for each number of columns.
        sums : float64 array (4, D + 1)
            Means, mean squares, probabilities of being positive (for models with `signs`) and of inclusion,
            for the intercept of the design's own columns (minus `centre` in the first two) and for internal
            coefficients.
        """
        cdef Py_ssize_t m = models.shape[0], row
        cdef int d, k, nodes = 0
        cdef double weight, df
        cdef const level_t* top
        cdef posterior_t found
        cdef line_t line
        cdef const int[::1] begin = rules[0]
        cdef const double[::1] deltas = rules[1], logs = rules[2]
        cdef double[::1] shares = np.empty(deltas.shape[0] + 1)
        cdef const double* delta = NULL
        cdef bint mixture = self.score.formula == MIXTURE
        self.check(models)
        if weights.shape[0] != m or signs.shape[0] != m or sums.shape[0] != 4 \
                or sums.shape[1] != self.size + 1 or (mixture and begin.shape[0] != self.most + 2):
            raise ValueError("weights, signs, rules or sums do not fit")
        with nogil:
            self.begin(True)
            for row in range(m):
                weight = weights[row]
                if weight == 0.0:
                    continue
                self.move(&models[row, 0])
                top = &self.levels[self.depth]
                d = self.depth
                df = student.df[min(d, student.n_df - 1)]
                if top.void:
                    continue
                found = self.score.posterior(d, top.fit - top.penalty)
                nodes = 0
                if mixture and signs[row] and d > 0:
                    delta = &deltas[begin[d]]
                    nodes = self.node_weights(
                        top.fit, begin[d + 1] - begin[d], delta, &logs[begin[d]], &shares[0])
                for k in range(-1, d):
                    if k < 0:
                        # The intercept of the design's own columns: the centred one minus a linear form.
                        line.centre = centre
                        line.own = 1.0 / total_weight
                        line.mean = -top.form_mean
                        line.square = top.form_square
                    else:
                        line.centre = 0.0
                        line.own = 0.0
                        line.mean = top.b[k]
                        line.square = top.v[k]
                    self.add(sums, 0 if k < 0 else self.levels[k + 1].column + 1, weight, df, found, line)
                    if signs[row]:
                        sums[2, 0 if k < 0 else self.levels[k + 1].column + 1] += weight * self.positive(
                            student, d, found, nodes, delta, &shares[0], top.fit - top.penalty, line)
        self.check_memory()

    cdef void add(self, double[:, ::1] sums, int column, double weight, double df, posterior_t found,
                  line_t line) noexcept nogil:
        """Add the mean and mean square of one coefficient minus its centre, and its inclusion.

        With one degree of freedom there is no mean, and with two no mean square.
        """
        cdef double mean = found.mean * line.mean if df > 1.0 else NAN
        cdef double spread = 1.0 / (df - 2.0) if df > 2.0 else INFINITY
        cdef double variance = (found.residual * line.own + found.inner * line.square) * spread
        # E[(delta mean)^2] exceeds the square of the mean if delta varies.
        cdef double between = (found.square - found.mean * found.mean) * line.mean * line.mean
        sums[0, column] += weight * mean
        sums[1, column] += weight * (mean * mean + between + variance) if df > 2.0 else INFINITY
        sums[3, column] += weight

    def check(self, const uint64_t[:, ::1] models not None):
        """Raise ValueError unless packed models have the number of words for the design."""
        if models.shape[1] != self.n_words:
            raise ValueError(f"models must have {self.n_words} words")

    def check_memory(self):
        """Raise an error of a pass, or if it ran out of memory, which invalidates its results."""
        if self.failure is not None:
            failure, self.failure = self.failure, None
            raise failure
        if self.failed:
            raise DataError(
                f"There is no memory for models of {self.most:,} columns, which take {self.most:,} squared "
                "numbers for each of their terms. Set a smaller max_size, or merge levels of factors."
            )

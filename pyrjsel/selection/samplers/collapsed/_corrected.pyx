"""Iterations of a chain on a surrogate, each accepted or rejected: the compiled loop.

It stops where a model is met whose posterior mass is not known, and continues from there once it is.
"""

cimport cython
from libc.math cimport INFINITY, exp, fmin, isnan
from libc.stdint cimport int64_t, uint64_t
from libc.string cimport memcpy, memset

import numpy as np

from pyrjsel._core.random cimport bitgen_of, bitgen_t, random_standard_uniform
from pyrjsel.model_space._index cimport slot_of
from pyrjsel.selection.samplers._walk cimport Walk
from pyrjsel.selection.samplers._walk import SingularModelError

# Models with more than e to this times the weight of the first one are left out of the weighted averages.
cdef double HIDDEN = 3.0

cdef struct known_t:
    double log_mass
    Py_ssize_t n_columns
    const Py_ssize_t* columns
    const double* moments       # (3, n_columns)


@cython.final
cdef class KnownModels:
    """Log posterior masses of models, with moments of their coefficients.

    Parameters
    ----------
    n_words : int
        Words of a packed model.
    width : int
        Columns of all models together, intercepts included.
    """

    cdef list held
    cdef object arrays
    cdef Py_ssize_t n, n_words, n_slots, width
    cdef int64_t* slots
    cdef uint64_t* words        # (capacity, n_words)
    cdef known_t* known         # (capacity)

    def __init__(self, Py_ssize_t n_words, Py_ssize_t width):
        if n_words < 1:
            raise ValueError("models have at least one word")
        self.n_words, self.width = n_words, width
        self.clear()

    def __len__(self):
        return self.n

    def clear(self):
        """Forget all models."""
        self.held, self.n = [], 0
        self.make_room(np.zeros((16, self.n_words), dtype=np.uint64), np.zeros(0, dtype=np.uint8))

    cdef make_room(self, words, known):
        """Use larger arrays, which begin with what is known."""
        cdef uint64_t[:, ::1] rows = words
        cdef unsigned char[::1] structs = np.zeros(len(words) * sizeof(known_t), dtype=np.uint8)
        cdef int64_t[::1] slots = np.full(4 * len(words), -1, dtype=np.int64)
        cdef Py_ssize_t i
        np.asarray(structs)[:len(known)] = known
        self.arrays = (rows, structs, slots)
        self.words, self.known = &rows[0, 0], <known_t*> &structs[0]
        self.slots, self.n_slots = &slots[0], slots.shape[0]
        for i in range(self.n):
            slots[slot_of(self.slots, self.n_slots, self.words, &rows[i, 0], self.n_words)] = i

    cdef Py_ssize_t row_of(self, const uint64_t* words) noexcept nogil:
        return self.slots[slot_of(self.slots, self.n_slots, self.words, words, self.n_words)]

    def find(self, const uint64_t[::1] words not None):
        """Return the number of a packed model (words,), -1 if it is not known."""
        if words.shape[0] != self.n_words:
            raise ValueError("a model must have as many words as all others")
        return self.row_of(&words[0])

    def add(self, const uint64_t[::1] words not None, double log_mass,
            const Py_ssize_t[::1] columns not None, const double[:, ::1] moments not None):
        """Add a model that is not known; return its number, which counts from 0.

        Parameters
        ----------
        words : uint64 array (words,)
        log_mass : float
        columns : intp array (d,)
            Columns of its coefficients.
        moments : float64 array (3, d)
            Posterior moments of these.
        """
        cdef known_t* known
        cdef Py_ssize_t slot, k
        for k in range(columns.shape[0]):
            if not 0 <= columns[k] < self.width:
                raise ValueError("columns must be those of the regression")
        if self.find(words) >= 0 or moments.shape[0] != 3 or moments.shape[1] != columns.shape[0]:
            raise ValueError("a new model must have a column of moments for each of its columns")
        if self.n == len(self.arrays[0]):
            rows = np.asarray(self.arrays[0])
            self.make_room(np.concatenate([rows, np.zeros_like(rows)]), np.asarray(self.arrays[1]))
        slot = slot_of(self.slots, self.n_slots, self.words, &words[0], self.n_words)
        memcpy(self.words + self.n * self.n_words, &words[0], self.n_words * sizeof(uint64_t))
        known = &self.known[self.n]
        known.log_mass, known.n_columns, known.columns, known.moments = log_mass, columns.shape[0], NULL, NULL
        if columns.shape[0]:
            known.columns, known.moments = &columns[0], &moments[0, 0]
        self.held.append((columns, moments))
        self.slots[slot] = self.n
        self.n += 1
        return self.n - 1


@cython.final
cdef class CorrectedWalk:
    """Iterations of a chain on a surrogate with the posterior as their target.

    Parameters
    ----------
    walk : Walk
    known : KnownModels

    Attributes
    ----------
    before, found : int
        Numbers of the models before the last iteration and after its moves.
    ratio_before, ratio_found : float
        Their log ratios of posterior and surrogate.
    accepted : bool
        Whether the last iteration was accepted.
    """

    cdef Walk walk
    cdef KnownModels known
    cdef object arrays
    cdef bint moving            # moved, but not yet accepted or rejected
    cdef readonly Py_ssize_t before, found
    cdef readonly double ratio_before, ratio_found
    cdef readonly bint accepted
    cdef unsigned char* gamma   # (K, J) models before
    cdef unsigned char* proposal  # (J) model of temperature one after the moves
    cdef double* powers         # (K)
    cdef double* paths          # (2, J)
    cdef uint64_t* words        # (n_words)

    def __init__(self, Walk walk not None, KnownModels known not None):
        cdef int width = max(1, walk.n_terms)
        if known.n_words != max(1, (walk.n_terms + 63) // 64):
            raise ValueError("the known models must be of the same terms")
        cdef unsigned char[:, ::1] gamma = np.zeros((walk.n_replicas + 1, width), dtype=np.uint8)
        cdef double[::1] powers = np.zeros(walk.n_replicas)
        cdef double[:, ::1] paths = np.zeros((2, width))
        cdef uint64_t[::1] words = np.zeros(known.n_words, dtype=np.uint64)
        self.walk, self.known, self.arrays = walk, known, (gamma, powers, paths, words)
        self.gamma, self.proposal, self.powers = &gamma[0, 0], &gamma[walk.n_replicas, 0], &powers[0]
        self.paths, self.words = &paths[0, 0], &words[0]

    cdef Py_ssize_t present(self) noexcept nogil:
        """The number of the present model, -1 if it is not known."""
        self.walk.record(self.words, self.known.n_words)
        return self.known.row_of(self.words)

    cdef double ratio(self, Py_ssize_t row) noexcept nogil:
        """Log pi / pi~ of the present model."""
        return self.known.known[row].log_mass - self.walk.replicas[self.walk.place[0]].log_mass

    cdef void remember(self) noexcept nogil:
        """Keep the models before moves."""
        cdef int k, J = self.walk.n_terms
        for k in range(self.walk.n_replicas):
            self.powers[k] = self.walk.replicas[self.walk.place[k]].power
            memcpy(self.gamma + <Py_ssize_t> k * J, self.walk.replicas[self.walk.place[k]].m.gamma, J)

    cdef int decide(self, bitgen_t* rng) noexcept nogil:
        """Accept the moves or take them back; non-zero if the models before do not exist any more."""
        # mathematics: walks-corrected
        self.ratio_found = self.ratio(self.found)
        memcpy(self.proposal, self.walk.replicas[self.walk.place[0]].m.gamma, self.walk.n_terms)
        self.accepted = random_standard_uniform(rng) < exp(fmin(0.0, self.ratio_found - self.ratio_before))
        return 0 if self.accepted else self.walk.put(self.gamma, self.powers)

    def run(self, rng, Py_ssize_t n, double time, *, Py_ssize_t done=0, Py_ssize_t thin=1,
            int64_t[::1] counts=None, double[::1] reference=None, double[:, ::1] sums=None,
            double[:, ::1] moments=None, uint64_t[:, ::1] words=None, double[::1] log_mass=None,
            int64_t[::1] rows=None):
        """Run at most `n` iterations, recording the state after every `thin`-th, until a model is not known.

        Parameters
        ----------
        rng : numpy.random.Generator
        n : int
        time : float
            Time of an iteration.
        done : int
            Iterations since recording began, before this call.
        thin : int
        counts : int64 array (2,), optional
            Incremented by proposals and acceptances.
        reference : float64 array (1,), if there are counts
            Log ratio with the weight 1; NaN is replaced by the first.
        sums : float64 array (CORRECTED_ROWS, J), optional
            Averages over iterations, in the order of ``rao_blackwell``; None records nothing.
        moments : float64 array (4, D + 1)
            Sums over draws of moments of coefficients, and numbers of draws with each.
        words, log_mass, rows : arrays with room for the draws
            Packed models (kept, words), their log masses and their numbers.

        Returns
        -------
        done, kept : int
            Number of whole iterations, fewer than `n` if the present model of the chain must be added to the
            known ones first; and number of recorded draws.
        """
        cdef bitgen_t* bits = bitgen_of(rng)
        cdef Py_ssize_t i = 0, kept = 0, J = self.walk.n_terms, row
        cdef int failed = 0
        cdef known_t* known
        if not 0.0 < time < INFINITY:
            raise ValueError("time must be positive and finite")
        if sums is not None and not (sums.shape[0] == 7 and sums.shape[1] == J and moments.shape[0] == 4
                                     and moments.shape[1] == self.known.width):
            raise ValueError("sums must have seven rows and an entry a term, moments four and one a column")
        with rng.bit_generator.lock, nogil:
            while i < n:
                if not self.moving:
                    self.before = self.present()
                    if self.before < 0:
                        break
                    self.ratio_before = self.ratio(self.before)
                    self.remember()
                    memset(self.paths, 0, 2 * J * sizeof(double))
                    self.walk.period(time, bits, self.paths)
                    self.moving = True
                self.found = self.present()
                if self.found < 0:
                    break
                self.moving = False
                failed = self.decide(bits)
                if failed:
                    break
                i += 1
                if counts is not None:
                    counts[0] += 1
                    counts[1] += self.accepted
                    if isnan(reference[0]):
                        reference[0] = self.ratio_before
                if sums is None:
                    continue
                if J:
                    path_into(&sums[0, 0], J, self.gamma, self.proposal, reference[0] - self.ratio_before,
                              reference[0] - self.ratio_found, self.paths, time)
                if (done + i) % thin == 0:
                    row = self.found if self.accepted else self.before
                    known = &self.known.known[row]
                    self.walk.record(&words[kept, 0], words.shape[1])
                    log_mass[kept], rows[kept] = known.log_mass, row
                    moments_into(&moments[0, 0], moments.shape[1], known.n_columns, known.columns,
                                 known.moments)
                    kept += 1
        self.walk.check_memory()
        if failed:
            raise SingularModelError("a model of the chain has no coefficient prior")
        return i, kept

    def models(self):
        """Return the models (2, J) before the last iteration and after its moves."""
        return np.asarray(self.arrays[0])[[0, -1], :self.walk.n_terms]


cdef void path_into(double* sums, Py_ssize_t n, const unsigned char* gamma, const unsigned char* end,
                    double log_weight, double log_weight_end, const double* paths,
                    double time) noexcept nogil:
    """Add the initial model of an iteration and its path (2, n) of a given time to the averages.

    Weights are ratios of the surrogate to the posterior, up to a constant. Those of models that the surrogate
    has far too often are so large that draws hardly ever show them, and averages without them are biased.
    These are over the surrogate without such models: an iteration from or to one counts for nothing, and the
    path to one as if all of it were there, like its end.
    """
    cdef Py_ssize_t j
    cdef bint hidden = log_weight_end > HIDDEN
    cdef double weight = 0.0 if log_weight > HIDDEN else exp(log_weight), here, there
    for j in range(n):
        here, there = paths[j] / time, paths[n + j] / time
        if hidden:
            here, there = here - end[j], there - (1 - end[j])
        if gamma[j]:
            sums[j] += 1.0
            if not hidden:
                sums[n + j] += weight
                sums[2 * n + j] += weight * weight
        sums[3 * n + j] += weight * here
        sums[4 * n + j] += weight * there
        if not hidden:
            sums[5 * n + j] += weight
            sums[6 * n + j] += weight * weight


cdef void moments_into(double* sums, Py_ssize_t width, Py_ssize_t d, const Py_ssize_t* columns,
                       const double* moments) noexcept nogil:
    """Add the moments (3, d) of coefficients of a model to those of all (4, width), and count them last."""
    cdef Py_ssize_t k, row
    for k in range(d):
        for row in range(3):
            sums[row * width + columns[k]] += moments[row * d + k]
        sums[3 * width + columns[k]] += 1.0

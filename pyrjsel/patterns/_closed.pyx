"""Groups of interactions: extents of patterns, with the number of patterns of each order.

Features are added one at a time. After feature j there is a state for each extent S of a pattern of the first
j features, with the number of these patterns by order. The next feature either stays open, which keeps S and
its counts, or is fixed at a level that occurs in S, which gives the part of S with that level, one order
higher. States of equal extent are merged by a hash, which is confirmed by comparison. Every extent of the
first features is also an extent of all features, so that there are never more states than groups at the end:
cost and memory are proportional to the groups and their extents, whatever the number of patterns, with or
without a limit on the order. Counts are sums of positive terms and keep their relative precision.

The closure of a group is the closed item set that its observations ("cases") share.
"""

cimport cython
from libc.stdint cimport int64_t, uint64_t
from libc.string cimport memcmp, memcpy

import numpy as np

# Number of cases and counts processed per block: about 0.1 s.
cdef int64_t BLOCK = 5_000_000


@cython.final
cdef class Extents:
    """Extents of patterns, computed in blocks.

    Parameters
    ----------
    codes : int32 array (n, p)
        Observations as codes from 0.
    order : int
        Largest number of features that a pattern fixes.
    merge : bool
        Whether patterns of equal extent share a state; otherwise each pattern has its own.
    """

    cdef const int[:, ::1] codes
    cdef Py_ssize_t n, p, n_orders
    cdef bint merge
    # By state: start of its extent in `cases`; counts for the finished features, and increments for the
    # current one; the lowest order, likewise; a pattern of that order, as a record; the hash.
    cdef int64_t n_states, n_sources, source
    cdef Py_ssize_t feature
    cdef object arrays
    cdef int64_t[::1] start
    cdef double[:, ::1] counts, added
    cdef int[::1] low, added_low
    cdef int64_t[::1] record, added_record
    cdef uint64_t[::1] hashes
    cdef int[::1] cases
    # A record is a fixed feature and the record of the other features of the pattern.
    cdef int64_t n_records
    cdef int64_t[::1] rest
    cdef int[::1] fixed
    cdef int64_t[::1] table          # of a length that is a power of two; -1 is empty
    # Workspace: cases of the source state by level, their number, end and hash.
    cdef int[::1] split
    cdef int[::1] levels, size, end
    cdef uint64_t[::1] part_hash
    cdef uint64_t[::1] keys

    def __init__(self, const int[:, ::1] codes, int order, bint merge):
        self.codes = codes
        self.n, self.p, self.n_orders = codes.shape[0], codes.shape[1], order + 1
        self.merge = merge
        most = int(np.max(codes)) + 1
        self.arrays = {
            "start": np.zeros(2, dtype=np.int64),
            "counts": np.zeros((1, order + 1)),
            "added": np.zeros((1, order + 1)),
            "low": np.zeros(1, dtype=np.intc),
            "added_low": np.zeros(1, dtype=np.intc),
            "record": np.zeros(1, dtype=np.int64),
            "added_record": np.zeros(1, dtype=np.int64),
            "hashes": np.zeros(1, dtype=np.uint64),
            "cases": np.arange(self.n, dtype=np.intc),
            "rest": np.zeros(1, dtype=np.int64),
            "fixed": np.zeros(1, dtype=np.intc),
        }
        self._view()
        self.split, self.levels = np.empty(self.n, dtype=np.intc), np.empty(most, dtype=np.intc)
        self.size, self.end = np.zeros(most, dtype=np.intc), np.empty(most, dtype=np.intc)
        self.part_hash = np.zeros(most, dtype=np.uint64)
        # Keys are arbitrary: collisions cost only time.
        self.keys = np.random.default_rng(0).integers(2**64, size=self.n, dtype=np.uint64)
        self.n_states, self.n_sources, self.source, self.feature = 1, 1, 0, 0
        self.n_records = 1
        self.start[1] = self.n
        self.counts[0, 0] = 1.0
        self.record[0] = -1
        self.added_low[0] = order + 1
        self.hashes[0] = np.bitwise_xor.reduce(np.asarray(self.keys))
        self.table = np.full(1024, -1, dtype=np.int64)
        self._enter(0)

    @property
    def n_extents(self):
        """Current number of states."""
        return self.n_states

    @property
    def n_cases(self):
        """Current total size of all extents."""
        return self.start[self.n_states]

    def run(self):
        """Continue for a fraction of a second; return whether the search is complete."""
        cdef bint full
        cdef int64_t budget = BLOCK
        while budget > 0 and self.feature < self.p:
            with nogil:
                full = self._sources(&budget)
            if full:
                self._grow()
        return self.feature == self.p

    def result(self):
        """Return the states sorted by lowest order (stable).

        Returns
        -------
        indptr : int64 array (G + 1,)
            The extent of state g is ``cases[indptr[g]:indptr[g + 1]]``.
        cases : int32 array
            The extents, in increasing order; the first contains all cases.
        counts : float64 array (G, O + 1)
            Number of patterns by order.
        shortest : int32 array (G, p)
            A pattern of the lowest order; -1 for open features.
        closure : int32 array (G, p)
            Levels shared by the extent; -1 for other features.
        """
        cdef int64_t n_states = self.n_states, g, s, t
        sequence = np.argsort(self.arrays["low"][:n_states], kind="stable").astype(np.int64)
        starts = self.arrays["start"]
        indptr = np.zeros(n_states + 1, dtype=np.int64)
        np.cumsum(np.diff(starts[:n_states + 1])[sequence], out=indptr[1:])
        cases = np.empty(indptr[n_states], dtype=np.intc)
        shortest = np.full((n_states, self.p), -1, dtype=np.intc)
        closure = np.full((n_states, self.p), -1, dtype=np.intc)
        cdef int64_t[::1] place = sequence, begin = indptr
        cdef int[::1] listed = cases
        cdef int[:, ::1] short = shortest, shared = closure
        with nogil:
            for g in range(n_states):
                s = place[g]
                t = self.start[s]
                memcpy(&listed[begin[g]], &self.cases[t], (self.start[s + 1] - t) * sizeof(int))
                self._share(s, shared[g])
                t = self.record[s]
                while t >= 0:
                    short[g, self.fixed[t]] = self.codes[self.cases[self.start[s]], self.fixed[t]]
                    t = self.rest[t]
        return indptr, cases, self.arrays["counts"][sequence], shortest, closure

    cdef void _share(self, int64_t s, int[::1] shared) noexcept nogil:
        """Fill in the levels shared by the extent of a state."""
        cdef int64_t first = self.start[s], last = self.start[s + 1], i
        cdef Py_ssize_t j
        cdef int code
        for j in range(self.p):
            code = self.codes[self.cases[first], j]
            i = first + 1
            while i < last and self.codes[self.cases[i], j] == code:
                i += 1
            if i == last:
                shared[j] = code

    cdef bint _sources(self, int64_t* budget) noexcept nogil:
        """Fix the current feature in one state after the other; return whether the arrays must grow first."""
        cdef int64_t first, last, new_cases
        while self.source < self.n_sources:
            first, last = self.start[self.source], self.start[self.source + 1]
            budget[0] -= last - first + self.n_orders
            if self.low[self.source] < self.n_orders - 1:
                # A source has at most as many parts as cases, and their total size is that of the source.
                new_cases = self.n_states + last - first
                if (
                    new_cases > self.low.shape[0]
                    or self.n_records + last - first > self.rest.shape[0]
                    or self.start[self.n_states] + last - first > self.cases.shape[0]
                    or (self.merge and 2 * new_cases > self.table.shape[0])
                ):
                    return True
                self._part(first, last)
            self.source += 1
            if budget[0] <= 0:
                break
        if self.source == self.n_sources:
            self._finish()
        return False

    cdef void _part(self, int64_t first, int64_t last) noexcept nogil:
        """Add the parts of the source by level of the current feature."""
        cdef int64_t i
        cdef int n_levels = 0, k, place, code, case, begin
        for i in range(first, last):
            case = self.cases[i]
            code = self.codes[case, self.feature]
            if self.size[code] == 0:
                self.levels[n_levels] = code
                n_levels += 1
            self.size[code] += 1
            self.part_hash[code] ^= self.keys[case]
        for k in range(1, n_levels):  # sorted, so that groups do not depend on the order of cases
            code, place = self.levels[k], k
            while place > 0 and self.levels[place - 1] > code:
                self.levels[place] = self.levels[place - 1]
                place -= 1
            self.levels[place] = code
        begin = 0
        for k in range(n_levels):
            self.end[self.levels[k]] = begin
            begin += self.size[self.levels[k]]
        for i in range(first, last):
            case = self.cases[i]
            code = self.codes[case, self.feature]
            self.split[self.end[code]] = case
            self.end[code] += 1
        for k in range(n_levels):
            code = self.levels[k]
            begin = self.end[code] - self.size[code]
            self._add(self._state(&self.split[begin], self.size[code], self.part_hash[code]))
            self.size[code] = 0
            self.part_hash[code] = 0

    cdef int64_t _state(self, const int* cases, int size, uint64_t code) noexcept nogil:
        """Return the state of an extent; create it if it does not exist."""
        cdef int64_t s
        cdef uint64_t slot = 0, mask
        cdef Py_ssize_t o
        if self.merge:
            mask = <uint64_t> self.table.shape[0] - 1
            slot = code & mask
            while self.table[slot] >= 0:
                s = self.table[slot]
                if (
                    self.hashes[s] == code
                    and self.start[s + 1] - self.start[s] == size
                    and memcmp(&self.cases[self.start[s]], cases, size * sizeof(int)) == 0
                ):
                    return s
                slot = (slot + 1) & mask
        s = self.n_states
        self.n_states += 1
        memcpy(&self.cases[self.start[s]], cases, size * sizeof(int))
        self.start[s + 1] = self.start[s] + size
        self.hashes[s] = code
        for o in range(self.n_orders):
            self.counts[s, o] = self.added[s, o] = 0.0
        self.low[s] = self.added_low[s] = <int> self.n_orders
        if self.merge:
            self.table[slot] = s
        return s

    cdef void _add(self, int64_t s) noexcept nogil:
        """Add the patterns of the source to a state, one order higher."""
        cdef Py_ssize_t o
        for o in range(self.low[self.source], self.n_orders - 1):
            self.added[s, o + 1] += self.counts[self.source, o]
        if self.low[self.source] + 1 < min(self.low[s], self.added_low[s]):
            self.added_low[s] = self.low[self.source] + 1
            self.added_record[s] = self.n_records
            self.rest[self.n_records] = self.record[self.source]
            self.fixed[self.n_records] = <int> self.feature
            self.n_records += 1

    cdef void _finish(self) noexcept nogil:
        """Add the increments of the current feature to the counts, and continue with the next feature."""
        cdef int64_t s
        cdef Py_ssize_t o
        for s in range(self.n_states):
            for o in range(self.n_orders):
                self.counts[s, o] += self.added[s, o]
                self.added[s, o] = 0.0
            if self.added_low[s] < self.low[s]:
                self.low[s], self.record[s] = self.added_low[s], self.added_record[s]
        self.feature += 1
        self.source, self.n_sources = 0, self.n_states

    cdef void _enter(self, int64_t s) noexcept nogil:
        """Insert a state into the hash table."""
        cdef uint64_t mask = <uint64_t> self.table.shape[0] - 1
        cdef uint64_t slot = self.hashes[s] & mask
        while self.table[slot] >= 0:
            slot = (slot + 1) & mask
        self.table[slot] = s

    cdef int _grow(self) except -1:
        """Double the arrays of states, records and cases, with space for the parts of any source."""
        cdef int64_t s
        cdef Py_ssize_t more = self.n
        for name, array in self.arrays.items():
            used = {"cases": self.start[self.n_states], "rest": self.n_records, "fixed": self.n_records}
            kept = used.get(name, self.n_states + (name == "start"))
            if 2 * (kept + more) <= len(array):
                continue
            larger = np.empty((2 * (kept + more), *array.shape[1:]), dtype=array.dtype)
            larger[:kept] = array[:kept]
            self.arrays[name] = larger
        self._view()
        if self.merge and 2 * (self.n_states + more) > self.table.shape[0]:
            size = 1 << int(4 * (self.n_states + more)).bit_length()
            self.table = np.full(size, -1, dtype=np.int64)
            for s in range(self.n_states):
                self._enter(s)
        return 0

    cdef int _view(self) except -1:
        """Set the views of the arrays."""
        arrays = self.arrays
        self.start, self.cases, self.hashes = arrays["start"], arrays["cases"], arrays["hashes"]
        self.counts, self.added = arrays["counts"], arrays["added"]
        self.low, self.added_low = arrays["low"], arrays["added_low"]
        self.record, self.added_record = arrays["record"], arrays["added_record"]
        self.rest, self.fixed = arrays["rest"], arrays["fixed"]
        return 0

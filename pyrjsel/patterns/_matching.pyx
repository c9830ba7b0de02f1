"""Patterns of each group that new observations ("cases") match.

Sequences: descent in the suffix trie, one step per order.

Interactions: the patterns of a case are the subsets of its features, at its own levels. Features are added
one at a time, as in ``_closed.pyx``; after feature j there is a state for each group with patterns of the
first j features, with their number by order. Fixing the next feature leads from a group to the group of those
training cases that share its level, or to none if there are no such cases. These steps are computed once per
group, so that the cost of a case is proportional to its groups times the features, whatever the number of its
patterns.
"""

cimport cython
from libc.stdint cimport int64_t, uint64_t
from libc.string cimport memcmp, memset

import numpy as np

# Number of steps per block: less than 0.1 s, and about 10 MB.
cdef int64_t BLOCK = 5_000_000

cdef enum:
    ANY = -1                    # an open feature of a group; an unseen level
    UNKNOWN = -1                # a group not yet visited
    NOWHERE = -2                # the empty extent


def walk(const int[:, ::1] new, int order, const int[:, ::1] closure, const int[::1] lo, const int[::1] hi,
         const int64_t[::1] first_child, const int[::1] children, int[:, ::1] groups, int[::1] n_groups,
         int[::1] depth):
    """Match histories with the edges of a suffix trie.

    Parameters
    ----------
    new : int32 array (m, p)
        Histories, the last column the most recent.
    order : int
        Largest order.
    closure, lo, hi
        As in :class:`pyrjsel.patterns.groups.Groups`.
    first_child : int64 array (G + 1,)
        The children of group g are ``children[first_child[g]:first_child[g + 1]]``.
    children : int32 array
        Groups.
    groups : int32 array (m, order + 1)
        Filled with the groups on the path.
    n_groups, depth : int32 arrays (m,)
        Filled with their number, and with the largest matching order.
    """
    cdef Py_ssize_t p = new.shape[1], i
    cdef int64_t k
    cdef int g, o
    with nogil:
        for i in range(new.shape[0]):
            g, o, n_groups[i] = 0, 0, 0
            while True:
                groups[i, n_groups[i]] = g
                n_groups[i] += 1
                while o < hi[g] and closure[g, p - 1 - o] == new[i, p - 1 - o]:
                    o += 1
                depth[i] = o
                if o < hi[g] or o == order:
                    break
                k = first_child[g]
                while k < first_child[g + 1] and closure[children[k], p - 1 - o] != new[i, p - 1 - o]:
                    k += 1
                if k == first_child[g + 1]:
                    break
                g = children[k]


@cython.final
cdef class Matcher:
    """Matching of cases with groups of interactions.

    Parameters
    ----------
    codes : int32 array (n, p)
        Training cases.
    indptr, cases, closure, totals
        Extents, closures and numbers of patterns by order of the compressed groups.
    n_levels : intp array (p,)
        Number of levels of each feature.
    """

    cdef const int[:, ::1] codes, closure
    cdef const int64_t[::1] indptr
    cdef const int[::1] cases
    cdef const double[:, ::1] totals
    cdef Py_ssize_t n, p, n_orders, width
    cdef Py_ssize_t[::1] level           # start of the levels of each feature in a row of steps
    cdef uint64_t[::1] keys, hashes
    cdef int64_t[::1] table              # groups by hash; -1 is empty
    # By group, its row of steps or UNKNOWN, and its state or UNKNOWN.
    cdef int[::1] row, where
    cdef Py_ssize_t n_rows
    cdef object arrays
    cdef int[:, ::1] steps
    # States of the current case, after those of the preceding cases of the block, of which only the groups
    # that match in part keep their counts.
    cdef Py_ssize_t n_before, n_states, n_parts
    cdef int[::1] part
    cdef int[::1] group, low             # the lowest order of the patterns of a state
    cdef double[:, ::1] counts, added
    cdef Py_ssize_t n_touched
    cdef int[::1] touched                # states to which the current feature adds patterns
    cdef double[::1] none, none_added    # patterns by order without training cases
    cdef int[::1] split, size, end
    cdef uint64_t[::1] part_hash

    def __init__(self, const int[:, ::1] codes, const int64_t[::1] indptr, const int[::1] cases,
                 const int[:, ::1] closure, const double[:, ::1] totals,
                 const Py_ssize_t[::1] n_levels):
        cdef int64_t g
        cdef uint64_t slot, mask
        self.codes, self.indptr, self.cases, self.closure = codes, indptr, cases, closure
        self.totals = totals
        self.n, self.p, self.n_orders = codes.shape[0], codes.shape[1], totals.shape[1]
        n_groups = closure.shape[0]
        self.level = np.concatenate([[0], np.cumsum(n_levels)]).astype(np.intp)
        self.width = self.level[self.p]
        # Keys are arbitrary: collisions cost only time.
        keys = np.random.default_rng(0).integers(2**64, size=self.n, dtype=np.uint64)
        self.keys = keys
        self.hashes = np.bitwise_xor.reduceat(keys[np.asarray(cases)], np.asarray(indptr)[:n_groups])
        self.table = np.full(1 << int(2 * n_groups).bit_length(), -1, dtype=np.int64)
        mask = <uint64_t> self.table.shape[0] - 1
        for g in range(n_groups):
            slot = self.hashes[g] & mask
            while self.table[slot] >= 0:
                slot = (slot + 1) & mask
            self.table[slot] = g
        self.row = np.full(n_groups, UNKNOWN, dtype=np.intc)
        self.where = np.full(n_groups, UNKNOWN, dtype=np.intc)
        self.n_rows = 0
        self.arrays = {
            "steps": np.empty((64, self.width), dtype=np.intc),
            "group": np.empty(1024, dtype=np.intc),
            "low": np.empty(1024, dtype=np.intc),
            "part": np.empty(1024, dtype=np.intc),
            "touched": np.empty(1024, dtype=np.intc),
            "counts": np.empty((1024, self.n_orders)),
            "added": np.empty((1024, self.n_orders)),
        }
        self._view()
        self.none, self.none_added = np.zeros(self.n_orders), np.zeros(self.n_orders)
        most = int(np.max(n_levels))
        self.split = np.empty(self.n, dtype=np.intc)
        self.size, self.end = np.zeros(most, dtype=np.intc), np.empty(most, dtype=np.intc)
        self.part_hash = np.zeros(most, dtype=np.uint64)

    def run(self, const int[:, ::1] new, Py_ssize_t first):
        """Match cases from position `first` on, for a fraction of a second.

        Parameters
        ----------
        new : int32 array (m, p)
            New cases; -1 is an unseen level.
        first : int
            Position of the first case.

        Returns
        -------
        ends : int64 array
            End of the groups of each matched case in `groups`.
        groups : int32 array
            Groups that match, fully or in part.
        part : int32 array
            For each of them its row of `inside`, or -1 if all of its patterns match.
        inside : float64 array (parts, O + 1)
            Number of matching patterns by order, for groups that match in part.
        unseen : float64 array (cases, O + 1)
            Number of matching patterns by order that do not occur in the training data.
        """
        cdef Py_ssize_t i = first
        cdef int64_t budget = BLOCK
        cdef bint full
        ends, unseen = [], []
        self.n_before = self.n_states = self.n_parts = 0
        full = False
        while i < new.shape[0] and (full or budget > 0):
            with nogil:
                full = self._case(new, i, &budget)
            if full:
                self._grow()
                continue
            with nogil:
                self._settle(new, i)
            ends.append(self.n_states)
            unseen.append(np.array(self.none))
            i += 1
        return (
            np.array(ends, dtype=np.int64),
            self.arrays["group"][:self.n_before].copy(),
            self.arrays["part"][:self.n_before].copy(),
            self.arrays["counts"][:self.n_parts].copy(),
            np.array(unseen).reshape(-1, self.n_orders),
        )

    cdef bint _case(self, const int[:, ::1] new, Py_ssize_t i, int64_t* budget) noexcept nogil:
        """Find the states of a case; return whether the arrays must grow, and the case be restarted."""
        cdef Py_ssize_t j, s, o, known
        cdef int g, to, code
        cdef bint full = False
        self.n_states = self.n_before
        for o in range(self.n_orders):
            self.none[o] = self.none_added[o] = 0.0
        if self._state(0) < 0:
            return True
        self.counts[self.n_before, 0] = 1.0
        self.low[self.n_before] = self.n_touched = 0
        for j in range(self.p):
            code = new[i, j]
            if code == ANY:
                continue
            known = self.n_states
            for s in range(self.n_before, known):
                if self.low[s] == self.n_orders - 1:
                    continue
                g = self.group[s]
                if self.closure[g, j] != ANY:
                    to = g if self.closure[g, j] == code else NOWHERE
                else:
                    if self.row[g] == UNKNOWN:
                        if self.n_rows == self.steps.shape[0]:
                            full = True
                            break
                        self._look(g)
                        budget[0] -= (self.indptr[g + 1] - self.indptr[g]) * self.p
                    to = self.steps[self.row[g], self.level[j] + code]
                if not self._pass(s, to):
                    full = True
                    break
            budget[0] -= (known - self.n_before) * self.n_orders
            if full:
                break
            for o in range(self.n_touched):
                self._take(self.touched[o])
            self.n_touched = 0
            # Patterns with an empty extent keep it: each may also fix this feature.
            for o in range(self.n_orders - 1, 0, -1):
                self.none[o] += self.none[o - 1] + self.none_added[o]
                self.none_added[o] = 0.0
        for s in range(self.n_before, self.n_states):
            self.where[self.group[s]] = UNKNOWN
        return full

    cdef void _settle(self, const int[:, ::1] new, Py_ssize_t i) noexcept nogil:
        """Store the counts of groups that match in part."""
        cdef Py_ssize_t s, j, o
        cdef int g
        for s in range(self.n_before, self.n_states):
            g, j, o = self.group[s], 0, 0
            while o < self.n_orders and self.counts[s, o] == self.totals[g, o]:
                o += 1
            # Counts are rounded from 2^53 on.
            while o < self.n_orders and j < self.p and self.closure[g, j] in (ANY, new[i, j]):
                j += 1
            if o == self.n_orders or j == self.p:
                self.part[s] = -1
                continue
            self.part[s] = <int> self.n_parts
            for o in range(self.n_orders):
                self.counts[self.n_parts, o] = self.counts[s, o]
            self.n_parts += 1
        self.n_before = self.n_states

    cdef bint _pass(self, Py_ssize_t s, int to) noexcept nogil:
        """Add the patterns of a state to a group, one order higher; return whether there was space."""
        cdef Py_ssize_t o, t
        if to == NOWHERE:
            for o in range(self.low[s], self.n_orders - 1):
                self.none_added[o + 1] += self.counts[s, o]
            return True
        t = self._state(to)
        if t < 0:
            return False
        if self.added[t, 0] == 0.0:
            # No pattern that fixes a feature has order 0: this entry serves as a mark.
            self.added[t, 0] = 1.0
            self.touched[self.n_touched] = <int> t
            self.n_touched += 1
        for o in range(self.low[s], self.n_orders - 1):
            self.added[t, o + 1] += self.counts[s, o]
        return True

    cdef void _take(self, Py_ssize_t s) noexcept nogil:
        """Add the increments of the current feature to the counts of a state."""
        cdef Py_ssize_t o
        self.added[s, 0] = 0.0
        for o in range(1, self.n_orders):
            self.counts[s, o] += self.added[s, o]
            self.added[s, o] = 0.0
        o = 0
        while self.counts[s, o] == 0.0:
            o += 1
        self.low[s] = <int> o

    cdef Py_ssize_t _state(self, int g) noexcept nogil:
        """Return the state of a group, created if it does not exist; -1 if there is no space."""
        cdef Py_ssize_t s
        if self.where[g] != UNKNOWN:
            return self.where[g]
        s = self.n_states
        if s == self.group.shape[0]:
            return -1
        self.n_states += 1
        self.group[s], self.where[g] = g, <int> s
        memset(&self.counts[s, 0], 0, self.n_orders * sizeof(double))
        memset(&self.added[s, 0], 0, self.n_orders * sizeof(double))
        return s

    cdef void _look(self, int g) noexcept nogil:
        """Compute the steps from a group: the group of its cases with each level of each open feature."""
        cdef int64_t first = self.indptr[g], last = self.indptr[g + 1], i
        cdef Py_ssize_t j, code, row = self.n_rows, levels, begin
        cdef int case
        self.row[g] = <int> row
        self.n_rows += 1
        for j in range(self.p):
            if self.closure[g, j] != ANY:
                continue
            levels = self.level[j + 1] - self.level[j]
            for i in range(first, last):
                code = self.codes[self.cases[i], j]
                self.size[code] += 1
                self.part_hash[code] ^= self.keys[self.cases[i]]
            begin = 0
            for code in range(levels):
                self.end[code] = <int> begin
                begin += self.size[code]
            for i in range(first, last):
                case = self.cases[i]
                code = self.codes[case, j]
                self.split[self.end[code]] = case
                self.end[code] += 1
            for code in range(levels):
                begin = self.end[code] - self.size[code]
                self.steps[row, self.level[j] + code] = self._find(
                    &self.split[begin], self.size[code], self.part_hash[code])
                self.size[code] = 0
                self.part_hash[code] = 0

    cdef int _find(self, const int* cases, int size, uint64_t code) noexcept nogil:
        """Return the group of an extent, or NOWHERE if all its patterns exceed the largest order."""
        cdef uint64_t mask = <uint64_t> self.table.shape[0] - 1
        cdef uint64_t slot = code & mask
        cdef int64_t g
        while size > 0 and self.table[slot] >= 0:
            g = self.table[slot]
            if (
                self.hashes[g] == code
                and self.indptr[g + 1] - self.indptr[g] == size
                and memcmp(&self.cases[self.indptr[g]], cases, size * sizeof(int)) == 0
            ):
                return <int> g
            slot = (slot + 1) & mask
        return NOWHERE

    cdef int _grow(self) except -1:
        """Double the arrays of rows or states."""
        kept = {"steps": self.n_rows}
        for name, array in self.arrays.items():
            used = kept.get(name, self.n_states)
            if used == len(array):
                larger = np.empty((2 * len(array), *array.shape[1:]), dtype=array.dtype)
                larger[:used] = array
                self.arrays[name] = larger
        self._view()
        return 0

    cdef int _view(self) except -1:
        """Set the views of the arrays."""
        self.steps, self.group = self.arrays["steps"], self.arrays["group"]
        self.low, self.touched, self.part = self.arrays["low"], self.arrays["touched"], self.arrays["part"]
        self.counts, self.added = self.arrays["counts"], self.arrays["added"]
        return 0


def contained(const int[:, ::1] new, Py_ssize_t first, const int64_t[::1] indptr, const int[::1] features,
              const int[::1] levels):
    """List the patterns that cases match, from position `first` on, for a fraction of a second.

    Parameters
    ----------
    new : int32 array (m, p)
        New cases.
    first : int
        Position of the first case.
    indptr : int64 array (G + 1,)
        Start of each pattern in `features` and `levels`.
    features, levels : int32 arrays
        Fixed features of the patterns, and their levels.

    Returns
    -------
    ends : int64 array
        End of the patterns of each case in `found`.
    found : int32 array
        Matching patterns.
    """
    cdef Py_ssize_t n_patterns = indptr.shape[0] - 1, i, g, n_found
    cdef int64_t k, budget = BLOCK
    cdef int[::1] buffer = np.empty(n_patterns, dtype=np.intc)
    ends, found = [], []
    i, n_found = first, 0
    while i < new.shape[0] and budget > 0:
        n_found = 0
        with nogil:
            for g in range(n_patterns):
                k = indptr[g]
                while k < indptr[g + 1] and new[i, features[k]] == levels[k]:
                    k += 1
                if k == indptr[g + 1]:
                    buffer[n_found] = <int> g
                    n_found += 1
        budget -= n_patterns
        found.append(np.array(buffer[:n_found]))
        ends.append(n_found)
        i += 1
    return np.cumsum(np.array(ends, dtype=np.int64)), np.concatenate(found)

"""Groups of a sequence: edges of the path-compressed suffix trie of the histories.

Histories are sorted with the most recent value as the first key (a stable counting sort by column, oldest
first), so that histories with a common suffix are adjacent. A node is a maximal range of sorted histories
that share exactly their last `hi` values; its edge has the orders above that of its parent up to `hi`.
Sorting takes one pass over the codes, and the nodes take one over their extents: time is linear in
observations times order. Distinct histories are the leaves, and all other nodes branch, so that there are at
most 2 n - 1 nodes.
"""

import numpy as np


def suffix_groups(const int[:, ::1] codes, int order):
    """Return the edges of the suffix trie of the last `order` columns, each after its parent.

    Parameters
    ----------
    codes : int32 array (n, p)
        Histories, the last column the most recent; codes from 0.
    order : int
        Number of columns of a history, counted from the last.

    Returns
    -------
    indptr : int64 array (G + 1,)
        The extent of edge g is ``cases[indptr[g]:indptr[g + 1]]``.
    cases : int32 array
        The extents, in increasing order.
    parent, lo, hi : int32 arrays (G,)
        Parent (-1 for the first edge), and lowest and highest order.
    """
    cdef Py_ssize_t n = codes.shape[0]
    sorted_cases, lcp = np.arange(n, dtype=np.intc), np.empty(n, dtype=np.intc)
    cdef int[::1] at = sorted_cases, common = lcp
    cdef int[::1] other = np.empty(n, dtype=np.intc)
    cdef Py_ssize_t most = np.max(codes, initial=0) + 2
    cdef Py_ssize_t[::1] begin = np.empty(most, dtype=np.intp)
    # Stack of ranges: the children of each node on the path, which are disjoint.
    cdef Py_ssize_t[:, ::1] stack = np.empty((n + 1, 4), dtype=np.intp)
    cdef Py_ssize_t room = 2 * n - 1
    starts, stops = np.empty(room, dtype=np.intp), np.empty(room, dtype=np.intp)
    parents, los, his = (np.empty(room, dtype=np.intc) for _ in range(3))
    cdef Py_ssize_t[::1] start = starts, stop = stops
    cdef int[::1] parent = parents, lo = los, hi = his
    cdef Py_ssize_t n_nodes
    with nogil:
        _sort(codes, order, at, other, begin)
        _common(codes, order, at, common)
        n_nodes = _nodes(common, order, stack, start, stop, parent, lo, hi)
    indptr = np.zeros(n_nodes + 1, dtype=np.int64)
    np.cumsum(stops[:n_nodes] - starts[:n_nodes], out=indptr[1:])
    cases = np.empty(indptr[n_nodes], dtype=np.intc)
    cdef int[::1] listed = cases
    cdef long long[::1] fill = indptr[:n_nodes].copy()
    with nogil:
        _extents(at, start[:n_nodes], stop[:n_nodes], parent, other, listed, fill)
    return indptr, cases, *(part[:n_nodes].copy() for part in (parents, los, his))


cdef void _sort(
    const int[:, ::1] codes, int order, int[::1] at, int[::1] other, Py_ssize_t[::1] begin
) noexcept nogil:
    """Sort the cases `at` by their last columns; the last column is the first key."""
    cdef Py_ssize_t n = codes.shape[0], p = codes.shape[1], i, j, place, code
    for j in range(p - order, p):
        begin[:] = 0
        for i in range(n):
            begin[codes[i, j] + 1] += 1
        for code in range(1, begin.shape[0]):
            begin[code] += begin[code - 1]
        for i in range(n):
            place = begin[codes[at[i], j]]
            begin[codes[at[i], j]] = place + 1
            other[place] = at[i]
        at[:] = other


cdef void _common(const int[:, ::1] codes, int order, const int[::1] at, int[::1] common) noexcept nogil:
    """Fill in the number of last values that each sorted case shares with its predecessor."""
    cdef Py_ssize_t n = codes.shape[0], p = codes.shape[1], i
    cdef int shared
    common[0] = 0
    for i in range(1, n):
        shared = 0
        while shared < order and codes[at[i], p - 1 - shared] == codes[at[i - 1], p - 1 - shared]:
            shared += 1
        common[i] = shared


cdef Py_ssize_t _nodes(
    const int[::1] common,
    int order,
    Py_ssize_t[:, ::1] stack,
    Py_ssize_t[::1] start,
    Py_ssize_t[::1] stop,
    int[::1] parent,
    int[::1] lo,
    int[::1] hi,
) noexcept nogil:
    """List the nodes, parents before children, then by sorted cases; return their number."""
    cdef Py_ssize_t n_nodes = 0, top = 1, left, right, end, i
    cdef int shared
    stack[0, 0], stack[0, 1], stack[0, 2], stack[0, 3] = 0, common.shape[0], 0, -1
    while top > 0:
        top -= 1
        left, right = stack[top, 0], stack[top, 1]
        shared = order
        for i in range(left + 1, right):
            shared = min(shared, common[i])
        start[n_nodes], stop[n_nodes] = left, right
        lo[n_nodes], hi[n_nodes] = <int> stack[top, 2], shared
        parent[n_nodes] = <int> stack[top, 3]
        if shared < order:
            end = right
            for i in range(right - 1, left - 1, -1):  # the last child is lowest on the stack
                if i == left or common[i] == shared:
                    stack[top, 0], stack[top, 1] = i, end
                    stack[top, 2], stack[top, 3] = shared + 1, n_nodes
                    top += 1
                    end = i
        n_nodes += 1
    return n_nodes


cdef void _extents(
    const int[::1] at,
    const Py_ssize_t[::1] start,
    const Py_ssize_t[::1] stop,
    const int[::1] parent,
    int[::1] last,
    int[::1] cases,
    long long[::1] fill,
) noexcept nogil:
    """List the cases of each node in increasing order; `last` (workspace) is the last node of each case."""
    cdef Py_ssize_t node, i
    cdef int at_node
    for node in range(start.shape[0]):  # children follow and overwrite
        for i in range(start[node], stop[node]):
            last[at[i]] = <int> node
    for i in range(at.shape[0]):
        at_node = last[i]
        while at_node >= 0:
            cases[fill[at_node]] = <int> i
            fill[at_node] += 1
            at_node = parent[at_node]

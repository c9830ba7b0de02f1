"""Distinct rows of codes, by a hash table with linear probing; equal hashes are confirmed by comparison."""

from libc.stdint cimport int64_t, uint64_t
from libc.string cimport memcmp

import numpy as np

cdef uint64_t MIX = 0x9E3779B97F4A7C15


def distinct_rows(const int[:, ::1] codes, Py_ssize_t width):
    """Return the distinct rows of the last `width` columns, in order of their first occurrence.

    Parameters
    ----------
    codes : int32 array (n, p)
    width : int
        Number of columns that are compared, from 1 to p.

    Returns
    -------
    row_of : int32 array (n,)
        The distinct row of each row.
    first : int64 array (R,)
        First occurrence of each distinct row.
    """
    if not 1 <= width <= codes.shape[1]:
        raise ValueError("width must be from 1 to the number of columns")
    cdef Py_ssize_t n = codes.shape[0], i = 0, size = 1024
    cdef int64_t n_rows = 0, row
    row_of = np.empty(n, dtype=np.intc)
    firsts, codings = np.empty(0, dtype=np.int64), np.empty(0, dtype=np.uint64)
    cdef int[::1] found = row_of, table
    cdef int64_t[::1] first
    cdef uint64_t[::1] hashes
    while True:
        firsts, codings = (np.concatenate([part[:n_rows], np.empty(size // 2, dtype=part.dtype)])
                           for part in (firsts, codings))
        first, hashes = firsts, codings
        table = np.full(size, -1, dtype=np.intc)
        with nogil:
            for row in range(n_rows):
                table[empty_slot(table, hashes[row])] = <int> row
            i = find(codes, width, i, table, first, hashes, &n_rows, found)
        if i == n:
            return row_of, firsts[:n_rows].copy()
        size *= 4


cdef inline uint64_t hashed(const int* row, Py_ssize_t width) noexcept nogil:
    cdef uint64_t value = MIX
    cdef Py_ssize_t j
    for j in range(width):
        value = (value ^ <uint64_t> row[j]) * MIX
        value ^= value >> 29
    return value


cdef inline Py_ssize_t empty_slot(const int[::1] table, uint64_t value) noexcept nogil:
    cdef uint64_t mask = <uint64_t> table.shape[0] - 1, slot = value & mask
    while table[slot] >= 0:
        slot = (slot + 1) & mask
    return slot


cdef Py_ssize_t find(
    const int[:, ::1] codes,
    Py_ssize_t width,
    Py_ssize_t i,
    int[::1] table,
    int64_t[::1] first,
    uint64_t[::1] hashes,
    int64_t* n_rows,
    int[::1] found,
) noexcept nogil:
    """Find the rows from the i-th on; stop where half the table is full."""
    cdef Py_ssize_t skipped = codes.shape[1] - width
    cdef uint64_t mask = <uint64_t> table.shape[0] - 1, value, slot
    cdef const int* row
    cdef int known
    while i < codes.shape[0] and 2 * n_rows[0] < table.shape[0]:
        row = &codes[i, skipped]
        value = hashed(row, width)
        slot = value & mask
        known = table[slot]
        while known >= 0 and not (hashes[known] == value
                                  and memcmp(&codes[first[known], skipped], row, width * sizeof(int)) == 0):
            slot = (slot + 1) & mask
            known = table[slot]
        if known < 0:
            known = <int> n_rows[0]
            table[slot] = known
            first[known], hashes[known] = i, value
            n_rows[0] += 1
        found[i] = known
        i += 1
    return i

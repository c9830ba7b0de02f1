"""The compiled index of the table of visited models."""

from libc.stdint cimport int64_t, uint64_t

import numpy as np


cdef inline uint64_t _mix(const uint64_t* words, Py_ssize_t n) noexcept nogil:
    """Hash of a packed model (a multiply-and-fold step per word)."""
    cdef uint64_t h = 0x9E3779B97F4A7C15ULL
    cdef Py_ssize_t k
    for k in range(n):
        h = (h ^ words[k]) * <uint64_t>0xD6E8FEB86659FD93ULL
        h ^= h >> 32
    h *= <uint64_t>0xD6E8FEB86659FD93ULL
    return h ^ (h >> 29)


cdef Py_ssize_t slot_of(const int64_t* slots, Py_ssize_t n_slots, const uint64_t* table,
                        const uint64_t* row, Py_ssize_t n_words) noexcept nogil:
    """The slot of this model, or the empty slot where it belongs; `n_slots` is a power of two."""
    cdef Py_ssize_t mask = n_slots - 1
    cdef Py_ssize_t slot = <Py_ssize_t>(_mix(row, n_words) & <uint64_t>mask)
    cdef Py_ssize_t k
    while slots[slot] >= 0:
        k = 0
        while k < n_words and table[slots[slot] * n_words + k] == row[k]:
            k += 1
        if k == n_words:
            break
        slot = (slot + 1) & mask
    return slot


def index_rows(
    int64_t[::1] slots, uint64_t[:, ::1] table, int64_t n, const uint64_t[:, ::1] block, bint insert
):
    """Find the rows of `block` in `table`, and append new ones.

    Parameters
    ----------
    slots : ndarray of int64, a power of two long
        Hash table of row numbers, -1 where empty; with `insert` at least twice as long as all rows together.
    table : ndarray of uint64, shape (capacity, words)
        Packed models; the first `n` rows are in use.
    n : int
        Rows in use.
    block : ndarray of uint64, shape (m, words)
        Packed models to find.
    insert : bool
        Whether to append models that are not found; `table` must have room for them.

    Returns
    -------
    index : ndarray of int64, shape (m,)
        Row numbers; -1 if not found (never with `insert`).
    n : int
        Rows in use afterwards.
    """
    cdef Py_ssize_t m = block.shape[0]
    cdef Py_ssize_t n_words = block.shape[1]
    cdef Py_ssize_t row, slot, k
    cdef int64_t[::1] index = np.empty(m, dtype=np.int64)
    if n_words != table.shape[1] or n_words == 0:
        raise ValueError(f"Packed models must have {table.shape[1]} words. Got {n_words} instead.")
    if slots.shape[0] & (slots.shape[0] - 1) or slots.shape[0] == 0:
        raise ValueError("The number of slots must be a power of two.")
    if insert and (n + m > table.shape[0] or 2 * (n + m) > slots.shape[0]):
        raise ValueError("The table has no room for these models.")
    if not insert and n >= slots.shape[0]:
        raise ValueError("The table has no empty slot.")
    with nogil:
        for row in range(m):
            slot = slot_of(&slots[0], slots.shape[0], &table[0, 0], &block[row, 0], n_words)
            if slots[slot] < 0 and insert:
                for k in range(n_words):
                    table[n, k] = block[row, k]
                slots[slot] = n
                n += 1
            index[row] = slots[slot]
    return np.asarray(index), n

# The index of a table of packed models, for loops that look models up.

from libc.stdint cimport int64_t, uint64_t

cdef Py_ssize_t slot_of(const int64_t* slots, Py_ssize_t n_slots, const uint64_t* table,
                        const uint64_t* row, Py_ssize_t n_words) noexcept nogil

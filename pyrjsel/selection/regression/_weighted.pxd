# Gram matrices that depend on sigma^2.

from pyrjsel.selection.regression._gram cimport ColumnGram, Gram

cdef class WeightedGram(ColumnGram):
    cdef const double* weights   # (n)
    cdef double* own             # (n)

    cdef void forget(self) noexcept nogil

cdef class ShiftedGram(Gram):
    cdef Gram base
    cdef const double* shift     # (size)
    cdef double* out             # (size)

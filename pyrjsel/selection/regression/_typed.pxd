# Columns of a matrix in a type of its own, centred and scaled as they are used.

from libc.stdint cimport int32_t, int64_t

from cpython.pythread cimport PyThread_type_lock

from pyrjsel.selection.regression._gram cimport Gram, KeptRows

cdef extern from "typed.h" nogil:
    enum typed_kind:
        TYPED_I8
        TYPED_U8
        TYPED_I16
        TYPED_I32
        TYPED_F32
        TYPED_F64

    ctypedef struct typed_t:
        typed_kind kind
        Py_ssize_t n, size, row, column
        const void* x
        const int32_t* rows
        const int64_t* first

    void typed_products(const typed_t* m, const double* mean, const double* v, double* out)
    void typed_column(const typed_t* m, Py_ssize_t l, double* out)

cdef class TypedColumns:
    cdef typed_t m
    cdef readonly int size         # number of columns that vary
    cdef readonly object arrays
    cdef const double* mean        # (m.size)
    cdef const double* scale       # (size)
    cdef const double* weight      # (n), NULL if all are one
    cdef const int64_t* kept       # (size): their numbers, increasing

    cdef void load(self, int j, double* out) noexcept nogil
    cdef void products_of(self, const double* v, double* scratch, double* out) noexcept nogil

cdef class RowStore:
    cdef readonly KeptRows kept
    cdef PyThread_type_lock lock

    cdef bint fetch(self, int j, double* out) noexcept nogil
    cdef void put(self, int j, const double* row) noexcept nogil

cdef class TypedGram(Gram):
    cdef TypedColumns columns
    cdef RowStore store
    cdef double total
    cdef int at                    # the row in `out`, or -1
    cdef const double* extra       # (size), added to the diagonal
    cdef double* out               # (size), with room for columns.m.size
    cdef double* own               # (n)

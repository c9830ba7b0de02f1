# Rows of a symmetric matrix over the columns of a design, stored or computed on demand.

cdef class Gram:
    cdef readonly int size
    cdef object arrays
    # The row is valid until the next call.
    cdef const double* row(self, int j) noexcept nogil
    cdef double entry(self, int j, int l) noexcept nogil

cdef class FullGram(Gram):
    cdef const double* matrix

cdef class ColumnGram(Gram):
    cdef int n, capacity, used
    cdef long long clock
    cdef const double* columns   # (size, n)
    cdef const double* extra     # (size), added to the diagonal
    cdef double* cache           # (capacity, size)
    cdef int* slot               # row of the cache that holds j, or -1
    cdef int* owner
    cdef long long* stamp

    cdef void compute(self, int j, double* out) noexcept nogil

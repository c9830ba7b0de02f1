# Rows of a symmetric matrix over the columns of a design, stored or computed on demand.

cdef class Gram:
    cdef readonly int size
    cdef object arrays
    # The row is valid until the next call.
    cdef const double* row(self, int j) noexcept nogil
    cdef double entry(self, int j, int l) noexcept nogil

cdef class FullGram(Gram):
    cdef const double* matrix

cdef class KeptRows:
    cdef readonly int size, capacity
    cdef int used
    cdef long long clock
    cdef object arrays
    cdef double* rows            # (capacity, size)
    cdef int* slot               # (size): place of row j, or -1
    cdef int* owner              # (capacity)
    cdef long long* stamp        # (capacity)

    cdef double* find(self, int j) noexcept nogil
    cdef double* claim(self, int j) noexcept nogil
    cdef void clear(self) noexcept nogil

cdef class ColumnGram(Gram):
    cdef int n
    cdef const double* columns   # (size, n)
    cdef const double* extra     # (size), added to the diagonal
    cdef KeptRows kept

    cdef void compute(self, int j, double* out) noexcept nogil

cdef class SummedGram(ColumnGram):
    cdef object more
    cdef const double* added     # (size, size)

# What the null model says of selected inputs, kept up to date as inputs enter and leave.

cimport cython


@cython.final
cdef class Null:
    cdef object arrays
    cdef bint joint             # one normal distribution of all inputs; else inputs are independent
    cdef int p, n, size
    cdef double kappa, surplus, psi, log_det, all_log_det, offset
    cdef const double* gain     # (p) log density of each input, where they are independent
    cdef const double* table    # (p) what entering a subset of each size has beside determinants
    cdef double* scatter        # (p, p) psi I + Z'Z - t t' / (kappa + N)
    cdef double* total          # (p) t, sums of the inputs
    cdef double* factor         # (p, p) lower, of the members' scatter
    cdef double* spare          # (p, p)
    cdef double* row            # (p)
    cdef int* members           # (p) in the order of the factor
    cdef int* place             # (p) -1 outside
    cdef double* inverse        # (p, p) of all inputs' scatter less one row, while missing inputs are drawn
    cdef double* inner          # (p, p) of the members' scatter, likewise
    cdef double* image          # (2, p) inverses times the row
    cdef double reach[2]        # the row in the metric of the inverses
    cdef double share

    cdef void set_inputs(self, const double* z, const unsigned char* changed) noexcept nogil
    cdef void set_members(self, const unsigned char* gamma) noexcept nogil
    cdef double entering(self, int j) noexcept nogil
    cdef double leaving(self, int k) noexcept nogil
    cdef double exchanging(self, int k, int j) noexcept nogil
    cdef void put_in(self, int j) noexcept nogil
    cdef void take_out(self, int k) noexcept nogil
    cdef double log_density(self) noexcept nogil
    cdef double log_members(self) noexcept nogil
    cdef void set_inverses(self) noexcept nogil
    cdef void open_row(self, const double* z, int n) noexcept nogil
    cdef double given_others(self, int i, double z, double* width) noexcept nogil
    cdef double change(self, int i, double step, double t) noexcept nogil
    cdef void move(self, int i, double step) noexcept nogil
    cdef void close_row(self, const double* z, int n) noexcept nogil

    # Its own.
    cdef double schur(self, int j, const double* factor, const int* members, int size,
                      int without) noexcept nogil
    cdef double added(self, int size, double log_det, double schur) noexcept nogil
    cdef double own_share(self, int at) noexcept nogil
    cdef void drop(self, double* factor, int at) noexcept nogil
    cdef void invert(self, int size, double* matrix) noexcept nogil
    cdef double deviation(self, const double* z, int n, int i) noexcept nogil
    cdef void rank_one(self, const double* z, int n, double sign) noexcept nogil

# The log marginal likelihood of a gaussian model as a function of sufficient statistics.

cdef enum:
    KNOWN = 0                   # sigma^2 = 1
    CONJUGATE = 1               # N(m, sigma^2 P^-1), sigma^2 ~ IG(a, b)
    GPRIOR = 2                  # a fixed g, sigma^2 ~ IG(a, b)
    MIXTURE = 3                 # a prior on g
    BEST_G = 4                  # g at the maximum
    POWERS = 13                 # coefficients of a panel

cdef struct panels_t:           # interpolants of one d; see shrinkage.Panels
    double centre
    double length
    int count
    const double* coefficients  # (count, 3, POWERS)

cdef struct posterior_t:        # moments of the shrinkage factor of a model; see GaussianScore.posterior
    double mean                 # of the shrinkage factor
    double square               # of its square
    double inner                # of the shrinkage factor times S
    double residual             # of S

cdef class GaussianScore:
    cdef readonly int formula
    cdef readonly double nu, total
    cdef double half_nu, shrink, log_growth, log_total
    cdef int saturated, n_tables
    cdef bint with_det          # whether the determinants matter
    cdef object shrinkage, held
    cdef panels_t* tables

    cdef const panels_t* table(self, int d) noexcept nogil
    cdef double factor(self, int d, double r2, int which) noexcept nogil
    cdef double of(self, int d, double log_det, double fit) noexcept nogil
    cdef double best_shrink(self, int d, double r2) noexcept nogil
    cdef void of_many(self, int d, Py_ssize_t n, const double* log_det, const double* fit,
                      double* out) noexcept nogil
    cdef posterior_t posterior(self, int d, double fit) noexcept nogil

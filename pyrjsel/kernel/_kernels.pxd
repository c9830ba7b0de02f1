# Kinds of kernels that compiled loops evaluate; those of the user are called from Python.
cdef enum Kind:
    GAUSSIAN
    MATERN32
    MATERN52
    LAPLACE

cdef double kernel_value(
    int kind, double width, const double* x, const double* centre, Py_ssize_t d
) noexcept nogil

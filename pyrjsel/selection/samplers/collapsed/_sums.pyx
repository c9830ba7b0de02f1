"""Sums of a chain on a surrogate, to which each of its draws is added."""


def add_path(double[:, ::1] sums not None, const unsigned char[::1] gamma not None, double weight,
             const double[:, ::1] paths not None, double time):
    """Add the initial model of an iteration and its path to the averages.

    Parameters
    ----------
    sums : float64 array of shape (CORRECTED_ROWS, J)
        In the order of ``rao_blackwell``.
    gamma : uint8 array of shape (J,)
    weight : float
        Ratio of the surrogate to the posterior, up to a constant.
    paths : float64 array of shape (2, J)
        Integrals over the path of the probabilities that each term is in, and out.
    time : float
        Length of the path.
    """
    cdef Py_ssize_t j
    if sums.shape[0] != 7 or paths.shape[0] != 2 or not sums.shape[1] == gamma.shape[0] == paths.shape[1]:
        raise ValueError("sums, gamma and paths must have as many terms")
    for j in range(sums.shape[1]):
        if gamma[j]:
            sums[0, j] += 1.0
            sums[1, j] += weight
            sums[2, j] += weight * weight
        sums[3, j] += weight * (paths[0, j] / time)
        sums[4, j] += weight * (paths[1, j] / time)
        sums[5, j] += weight
        sums[6, j] += weight * weight


def add_moments(double[:, ::1] sums not None, const Py_ssize_t[:] columns not None,
                const double[:, :] moments not None):
    """Add the moments (3, d) of coefficients of a model to those of all (4, D + 1), and count them last."""
    cdef Py_ssize_t k, row
    if sums.shape[0] != 4 or moments.shape[0] != 3 or moments.shape[1] != columns.shape[0]:
        raise ValueError("moments must have a column for each of columns")
    for k in range(columns.shape[0]):
        if not 0 <= columns[k] < sums.shape[1]:
            raise ValueError("columns must be those of sums")
        for row in range(3):
            sums[row, columns[k]] += moments[row, k]
        sums[3, columns[k]] += 1.0

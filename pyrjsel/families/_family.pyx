"""Log-likelihoods of the families as single passes over the observations.

Each family has its passes, created by ``passes``.
"""

cimport cython

from pyrjsel._core._vecmath cimport (
    logit_shift, logit_working, normal_shift, normal_working, poisson_shift, poisson_working,
)


@cython.final
cdef class Passes:
    """The compiled passes of a family, by their addresses.

    Attributes
    ----------
    quadratic : bool
        Whether the log-likelihood is quadratic in the linear predictor: one Newton step finds its maximum.
    """

    def __reduce__(self):
        raise TypeError("compiled passes have addresses, and cannot be pickled")


cdef Passes passes(shift_t shift, working_t working, bint quadratic=False):
    """Return the passes of a family."""
    cdef Passes made = Passes.__new__(Passes)
    made.shift, made.working, made.quadratic = shift, working, quadratic
    return made


LOGIT = passes(logit_shift, logit_working)
LOG = passes(poisson_shift, poisson_working)
NORMAL = passes(normal_shift, normal_working, True)

# numpy's bit generators and C distributions, declared here so that nothing binds to numpy's own
# extension types. Extensions that use them link npyrandom. The lock of the bit generator must be
# held while a loop draws from it.

from cpython.pycapsule cimport PyCapsule_GetPointer
from libc.stdint cimport uint64_t

cdef extern from "numpy/random/bitgen.h":
    struct bitgen:
        void* state
        uint64_t (*next_uint64)(void*) nogil
        double (*next_double)(void*) nogil
    ctypedef bitgen bitgen_t

cdef extern from "numpy/random/distributions.h" nogil:
    double random_standard_uniform(bitgen_t* state)
    double random_standard_normal(bitgen_t* state)
    double random_standard_exponential(bitgen_t* state)
    double random_standard_gamma(bitgen_t* state, double shape)

cdef inline bitgen_t* bitgen_of(object rng) except NULL:
    """The C bit generator of a numpy Generator."""
    return <bitgen_t*> PyCapsule_GetPointer(rng.bit_generator.capsule, "BitGenerator")

# What a walk over models needs of marginal likelihoods: the value where it is, and what each flip changes.
#
# An Evidence holds one current model. `load` puts it at a model from scratch; `flip` moves it to a
# neighbour, cheaply. Values are log marginal likelihoods up to a constant that all models share.

cdef class Evidence:
    cdef int n_terms
    cdef double value            # of the current model

    # Non-zero where the model has no coefficient prior (dependent columns): the state is then undefined.
    cdef int load(self, const unsigned char* gamma) noexcept nogil
    # out[j] := value after flipping term j less the value now; -inf where that model has no prior.
    cdef void changes(self, double* out) noexcept nogil
    cdef double change(self, int j) noexcept nogil
    # Non-zero, and nothing changed, where the model has no prior.
    cdef int flip(self, int j) noexcept nogil

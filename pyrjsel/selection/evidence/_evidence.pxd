# Interface of marginal likelihoods for chains over models: values, and their changes by flips.
#
# An Evidence has a current model. `load` sets it from scratch; `flip` moves it to a neighbour cheaply. Values
# are log marginal likelihoods up to a constant common to all models.

cdef class Evidence:
    cdef int n_terms
    cdef double value            # of the current model

    # Non-zero if the model has no coefficient prior (dependent columns): the state is then undefined.
    cdef int load(self, const unsigned char* gamma) noexcept nogil
    # out[j] := change of the value by flipping term j; -inf if that model has no prior.
    cdef void changes(self, double* out) noexcept nogil
    cdef double change(self, int j) noexcept nogil
    # Non-zero, without a change, if the model has no prior.
    cdef int flip(self, int j) noexcept nogil
    # Where wanted[pattern], values[pattern] := value of the model whose terms[i] is in if bit i of the
    # pattern is set, and which is otherwise the current one; -inf without a prior. Non-zero if that takes
    # flips.
    cdef int patterns(self, const int* terms, int n, const unsigned char* wanted,
                      double* values) noexcept nogil

# Trades: several terms leave the model one after the other, then others enter.

from pyrjsel._core.random cimport bitgen_t
from pyrjsel.model_space._space cimport Space, model_t

cdef enum:
    MOST = 12                   # most units that leave, and most that enter
    PART = 4096                 # terms whose weights are computed together

cdef inline int pointed_at(const double* weight, int n, double u) noexcept nogil:
    """The index selected by u in [0, sum of the weights), never one with weight 0; -1 if all are 0."""
    cdef int j, chosen = -1
    for j in range(n):
        if weight[j] > 0.0:
            chosen = j
            u -= weight[j]
            if u < 0.0:
                break
    return chosen


cdef class Trades:
    cdef Space space
    cdef list arrays
    cdef int n_terms
    cdef int n_steps            # units that have left or entered on the present path
    cdef int n_out              # of these, units that have left
    cdef int n_flips
    cdef bint turned            # whether units enter now
    cdef const int* above_start  # (J + 1), CSR: term -> all it needs under strong heredity, parents first
    cdef const int* above
    cdef int* step              # (2 * MOST + 1) start of the flips of each unit
    cdef int* flip              # terms in the order in which they are flipped
    cdef int* chain             # (J) weak heredity: terms that enter with one, which comes first
    cdef int* paid              # (items) last unit that was priced
    cdef int pricing
    cdef unsigned char* gone    # (J) terms that have left, which do not enter again on this path
    cdef double* score          # (2 * MOST + 1, J) log mass changes by flips, along the path
    cdef double* weight         # (J) probabilities of the next unit
    cdef double* scratch        # (PART)
    cdef double* root           # (PART)
    cdef int* able              # (J) terms that may leave, or enter alone
    cdef bint bounded           # whether there is a budget or a largest size

    # Use: begin; fill row() and draw until nothing is drawn, moving the evidence by flip[step[i] : step[i +
    # 1]] after each draw; then compute the log probabilities of both directions, or undo.
    cdef void begin(self) noexcept nogil
    cdef double* row(self) noexcept nogil
    cdef int draw(self, model_t* m, bitgen_t* rng) noexcept nogil
    cdef double follow(self, model_t* m, bint back) noexcept nogil
    cdef void undo(self, model_t* m) noexcept nogil

    cdef int weigh_out(self, const model_t* m, const double* score) noexcept nogil
    cdef double weigh_in(self, const model_t* m, const double* score) noexcept nogil
    cdef bint affordable(self, const model_t* m, int j) noexcept nogil
    cdef bint may_leave(self, const model_t* m, int j) noexcept nogil
    cdef int only_parent(self, const model_t* m, int j) noexcept nogil
    cdef int parents_to_choose(self, int j) noexcept nogil
    cdef void push(self, model_t* m, int j) noexcept nogil
    cdef void take_out(self, model_t* m, int j, bitgen_t* rng) noexcept nogil
    cdef int put_in(self, model_t* m, int j, bitgen_t* rng) noexcept nogil
    cdef double follow_out(self, model_t* m, const int* flips, int n, int stride) noexcept nogil
    cdef double follow_in(self, model_t* m, const int* flips, int n, int stride) noexcept nogil
    cdef int first(self, int i, bint back) noexcept nogil

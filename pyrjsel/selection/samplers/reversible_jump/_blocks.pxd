# Moves of several terms at once.

from pyrjsel._core.random cimport bitgen_t
from pyrjsel.selection.samplers.reversible_jump._moves cimport Moves
from pyrjsel.model_space._space cimport space_t

cdef enum:
    STEPS = 3                   # Newton steps of a proposal; one is enough for a gaussian likelihood

cdef class Blocks(Moves):
    cdef int n_trades, n_family_moves, n_families
    cdef object block_buffers
    cdef space_t loose           # the space without its limits
    cdef const int* unit_start   # (n_terms + 1), CSR: a free term's free ancestors, then the term
    cdef const int* unit_term
    cdef const double* entry     # (n_terms) weights of entering terms in trades; NULL: equal
    cdef const int* family       # (n_families) terms with units of several terms
    cdef unsigned char* former_gamma
    cdef double* former          # (n_columns) coefficients before the move
    cdef double* chances         # (n_terms)
    cdef double* changes         # (n_terms)
    cdef double* changes_unit    # (n_terms)
    cdef double* loss            # (n_terms)
    cdef double* eta_base        # without the leaving terms
    cdef double* eta_path        # and with the terms on the path
    cdef double* delta           # coefficients of the terms on the path
    cdef double* held            # (K b)_a of the remaining terms, for each of these
    cdef double* drawn
    cdef double* values
    cdef int* enter
    cdef int* leave
    cdef int* path               # number of terms on the path
    cdef int* path_cols          # number of their columns
    cdef int* unit_moved         # terms of the unit that enter or leave the model
    cdef int* back
    cdef int n_enter, n_leave, n_path, path_d, base_d, n_unit
    cdef double best

    cdef bint inside_bounds(self) noexcept nogil
    cdef bint standing(self, const space_t* s, const int* terms, int n) noexcept nogil
    cdef int lay(self, const int* terms, int n, int pattern) noexcept nogil
    cdef int patterns(self, const space_t* s, const int* terms, int n, int must, int may, int avoid,
                      int rank) noexcept nogil
    cdef int patterns_of(self, int j, bint inward, int rank) noexcept nogil
    cdef void toggle_unit(self) noexcept nogil
    cdef bint has_prior(self) noexcept nogil
    cdef void remember(self) noexcept nogil
    cdef void restore(self) noexcept nogil
    cdef void leave_terms(self) noexcept nogil
    cdef void open_path(self) noexcept nogil
    cdef void look(self) noexcept nogil
    cdef void add_term(self, int j) noexcept nogil
    cdef int newton(self) noexcept nogil
    cdef int close_path(self, int steps) noexcept nogil
    cdef int whole_path(self, const int* terms, int n) noexcept nogil
    cdef void draw_path(self, bitgen_t* rng, const double* given) noexcept nogil
    cdef double path_logpdf(self, const double* source) noexcept nogil
    cdef double target_change(self) noexcept nogil
    cdef double return_path(self, const int* terms, int n) noexcept nogil
    cdef double former_logpdf(self) noexcept nogil
    cdef double evaluate_family(self, int f, int pattern, bitgen_t* rng,
                                const double* given) noexcept nogil
    cdef void finish(self, int move, double log_ratio, bitgen_t* rng) noexcept nogil
    cdef void redraw_family(self, bitgen_t* rng) noexcept nogil

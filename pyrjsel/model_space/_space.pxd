# Model spaces in C: the constraints and the prior over models, shared by the loops of all samplers.
#
# A loop has one `space_t` (pointers into a Space that it keeps alive) and one `model_t` per chain, whose
# three arrays it owns. After writing to `gamma` directly it calls `model_refresh`; then it toggles terms with
# `model_flip`, checks every toggled term with `model_feasible_at`, and toggles back on rejection.

cdef enum:
    EXACT_LIMIT = 256           # up to this many terms (items), each flip recomputes its sums, without drift
    HEREDITY_NONE = 0
    HEREDITY_WEAK = 1
    HEREDITY_STRONG = 2
    MOST_ORDERS = 64            # largest number of orders of a prior by order

cdef struct space_t:            # raw pointers into the arrays of a ModelSpace; the owner keeps them alive
    int n_terms, n_items, max_size, heredity
    int n_orders                # 0 for a prior s(k) + sum of l_j; else it is by order, see `model_log_prior`
    double budget               # tolerance already included; inf for none
    const double* log_size      # (free terms + 1)
    const double* log_odds      # (n_terms)
    const unsigned char* free_term  # (n_terms)
    const int* item_start       # (n_terms + 1), CSR: term -> priced items
    const int* item
    const double* item_cost     # (n_items)
    const int* parent_start     # (n_terms + 1), CSR: term -> terms that heredity requires
    const int* parent
    const int* child_start      # (n_terms + 1), CSR: the reverse relation
    const int* child
    const int* rank             # (n_terms) order of a free term, from 0; -1 for others; NULL if n_orders is 0
    const double* log_in        # (free terms + 1) A, B and C of a prior by order
    const double* log_out
    const double* log_open
    const double* odds_open     # (n_terms) e_j
    bint any_open               # whether any e_j is not 0

cdef struct model_t:            # a model and quantities derived from it
    unsigned char* gamma        # (n_terms)
    int* item_use               # (n_items) number of terms of the model that use the item
    int size                    # number of terms, including terms that are always in
    int n_free                  # number of free terms
    double cost
    double log_odds             # sum of l_j over included free terms
    # For a prior by order: the sum of e_j over open free terms (those that heredity allows), and by order the
    # numbers of open and of included terms.
    double log_open
    int n_open[MOST_ORDERS]
    int n_in[MOST_ORDERS]

cdef class Space:               # keeps the arrays, owns nothing else
    cdef space_t c
    cdef object arrays

cdef void model_refresh(const space_t* s, model_t* m) noexcept nogil
cdef void model_flip(const space_t* s, model_t* m, int j) noexcept nogil
cdef bint model_feasible_at(const space_t* s, const model_t* m, int j) noexcept nogil
cdef double model_log_prior(const space_t* s, const model_t* m) noexcept nogil
cdef void model_changes(const space_t* s, const model_t* m, double* out) noexcept nogil
# Whether the terms that j requires are included, and whether the included terms meet heredity without j.
cdef bint parents_in(const space_t* s, const unsigned char* gamma, int j) noexcept nogil
cdef bint children_stay(const space_t* s, const unsigned char* gamma, int j) noexcept nogil

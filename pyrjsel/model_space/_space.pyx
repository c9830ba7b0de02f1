"""Compiled model spaces: constraints, depth-first enumeration and draws from the prior over models."""

cimport cython
from cpython.exc cimport PyErr_CheckSignals
from libc.math cimport INFINITY, exp
from libc.stdint cimport int64_t, uint64_t
from libc.string cimport memset

from pyrjsel._core.random cimport bitgen_of, bitgen_t, random_standard_uniform

import numpy as np


cdef const double* _doubles(const double[::1] values) noexcept:
    return &values[0] if values.shape[0] else NULL


cdef const int* _ints(const int[::1] values) noexcept:
    return &values[0] if values.shape[0] else NULL


cdef const unsigned char* _bytes(const unsigned char[::1] values) noexcept:
    return &values[0] if values.shape[0] else NULL


cdef int _checked_orders(dict arrays) except -1:
    """Return the number of orders of a prior by order, or raise ValueError if its arrays do not match."""
    rank, free = arrays["rank"], arrays["free"]
    sizes = {arrays[name].shape[0] for name in ("log_size", "log_in", "log_out", "log_open")}
    fits = len(sizes) == 1 and arrays["odds_open"].shape == free.shape == rank.shape
    if not fits or np.any((rank < 0) != (free == 0)) or rank.max(initial=-1) >= MOST_ORDERS:
        raise ValueError("The prior by order of a model space must fit its terms and their orders.")
    return rank.max(initial=-1) + 1


@cython.final
cdef class Space:
    """The arrays of a ModelSpace as raw pointers.

    Parameters
    ----------
    model_space : ModelSpace
        Anything with the attributes of ``pyrjsel.model_space.ModelSpace``.
    """

    def __init__(self, model_space):
        def held(name, dtype):
            return np.ascontiguousarray(getattr(model_space, name), dtype=dtype)

        arrays = {name: held(name, np.float64) for name in ("log_size", "log_odds", "item_cost")}
        arrays["free"] = held("free", np.uint8)
        for name in ("item_start", "item", "parent_start", "parent", "child_start", "child", "rank"):
            arrays[name] = held(name, np.int32)
        n_terms = int(model_space.n_terms)
        starts = ("item_start", "parent_start", "child_start")
        if any(arrays[name].shape[0] != n_terms + 1 for name in starts):
            raise ValueError("The offsets of a model space must have one entry a term and one more.")
        if arrays["log_odds"].shape[0] != n_terms or arrays["free"].shape[0] != n_terms:
            raise ValueError("The arrays of a model space must have one entry a term.")
        if arrays["log_size"].shape[0] != int(arrays["free"].sum()) + 1:
            raise ValueError("The 'log_size' array of a model space must have one entry a size.")
        tables = model_space.by_order
        for name in ("log_in", "log_out", "log_open", "odds_open"):
            table = [] if tables is None else getattr(tables, name)
            arrays[name] = np.ascontiguousarray(table, dtype=np.float64)
        self.c.n_orders = 0 if tables is None else _checked_orders(arrays)
        self.arrays = arrays
        self.c.n_terms = n_terms
        self.c.n_items = arrays["item_cost"].shape[0]
        self.c.max_size = int(model_space.max_size)
        self.c.heredity = int(model_space.heredity_code)
        self.c.budget = float(model_space.budget_limit)
        self.c.log_size = _doubles(arrays["log_size"])
        self.c.log_odds = _doubles(arrays["log_odds"])
        self.c.free_term = _bytes(arrays["free"])
        self.c.item_start = _ints(arrays["item_start"])
        self.c.item = _ints(arrays["item"])
        self.c.item_cost = _doubles(arrays["item_cost"])
        self.c.parent_start = _ints(arrays["parent_start"])
        self.c.parent = _ints(arrays["parent"])
        self.c.child_start = _ints(arrays["child_start"])
        self.c.child = _ints(arrays["child"])
        self.c.rank = _ints(arrays["rank"])
        self.c.log_in = _doubles(arrays["log_in"])
        self.c.log_out = _doubles(arrays["log_out"])
        self.c.log_open = _doubles(arrays["log_open"])
        self.c.odds_open = _doubles(arrays["odds_open"])
        self.c.any_open = bool(np.any(arrays["odds_open"]))


# --- one model -------------------------------------------------------------------------------------------


cdef inline double _total_cost(const space_t* s, const model_t* m) noexcept nogil:
    # Four partial sums, since consecutive additions depend on each other; products with 0 or 1 instead of
    # branches, which could not be predicted.
    cdef double a = 0.0, b = 0.0, c = 0.0, d = 0.0
    cdef const double* cost = s.item_cost
    cdef const int* use = m.item_use
    cdef int i = 0
    while i + 4 <= s.n_items:
        a += cost[i] * (use[i] > 0)
        b += cost[i + 1] * (use[i + 1] > 0)
        c += cost[i + 2] * (use[i + 2] > 0)
        d += cost[i + 3] * (use[i + 3] > 0)
        i += 4
    while i < s.n_items:
        a += cost[i] * (use[i] > 0)
        i += 1
    return (a + b) + (c + d)


cdef inline double _total_log_odds(const space_t* s, const model_t* m) noexcept nogil:
    # As above; terms that are not free have log odds of 0.
    cdef double a = 0.0, b = 0.0, c = 0.0, d = 0.0
    cdef const double* odds = s.log_odds
    cdef const unsigned char* gamma = m.gamma
    cdef int j = 0
    while j + 4 <= s.n_terms:
        a += odds[j] * gamma[j]
        b += odds[j + 1] * gamma[j + 1]
        c += odds[j + 2] * gamma[j + 2]
        d += odds[j + 3] * gamma[j + 3]
        j += 4
    while j < s.n_terms:
        a += odds[j] * gamma[j]
        j += 1
    return (a + b) + (c + d)


cdef bint parents_in(const space_t* s, const unsigned char* gamma, int j) noexcept nogil:
    """Whether the terms that j requires are included (True if there are none)."""
    cdef int e
    cdef int first = s.parent_start[j]
    cdef int last = s.parent_start[j + 1]
    if s.heredity == HEREDITY_STRONG:
        for e in range(first, last):
            if not gamma[s.parent[e]]:
                return False
        return True
    if s.heredity == HEREDITY_WEAK:
        for e in range(first, last):
            if gamma[s.parent[e]]:
                return True
        return first == last
    return True


cdef inline double _total_open(const space_t* s, const model_t* m) noexcept nogil:
    cdef double total = 0.0
    cdef int j
    for j in range(s.n_terms):
        if s.odds_open[j] != 0.0 and s.free_term[j] and parents_in(s, m.gamma, j):
            total += s.odds_open[j]
    return total


cdef void _count_orders(const space_t* s, model_t* m) noexcept nogil:
    """Count the open and the included terms of each order."""
    cdef int j
    memset(m.n_open, 0, sizeof(m.n_open))
    memset(m.n_in, 0, sizeof(m.n_in))
    for j in range(s.n_terms):
        if s.free_term[j]:
            m.n_in[s.rank[j]] += m.gamma[j] != 0
            m.n_open[s.rank[j]] += parents_in(s, m.gamma, j)
    m.log_open = _total_open(s, m)


cdef inline int _turn_children(
    const space_t* s, const unsigned char* gamma, int j, int* n_open, double* log_open
) noexcept nogil:
    """Update the counts of open terms for a flip of j; return how many children of j change."""
    # Pointers of their own: the counts that are written might be any of the arrays.
    cdef const int* first = s.parent_start
    cdef const int* parent = s.parent
    cdef const unsigned char* free_term = s.free_term
    cdef int e, f, child, last, turned = 0
    cdef int sign = -1 if gamma[j] else 1, strong = s.heredity == HEREDITY_STRONG
    for e in range(s.child_start[j], s.child_start[j + 1]):
        child = s.child[e]
        if not free_term[child]:
            continue
        # j is decisive if all other parents are included (strong heredity) or none is (weak).
        f, last = first[child], first[child + 1]
        while f < last and (parent[f] == j or gamma[parent[f]] == strong):
            f += 1
        if f == last:
            n_open[s.rank[child]] += sign
            log_open[0] += sign * s.odds_open[child]
            turned += 1
    return turned


cdef inline double _of_order(const space_t* s, int n_in, int n_open) noexcept nogil:
    # A term without required parents: infeasible, and outside the table.
    if n_in > n_open:
        return -INFINITY
    return s.log_in[n_in] + s.log_out[n_open - n_in] + s.log_open[n_open]


cdef void model_refresh(const space_t* s, model_t* m) noexcept nogil:
    cdef int i, j, e
    for i in range(s.n_items):
        m.item_use[i] = 0
    m.size = 0
    m.n_free = 0
    for j in range(s.n_terms):
        if m.gamma[j]:
            m.size += 1
            m.n_free += s.free_term[j] != 0
            for e in range(s.item_start[j], s.item_start[j + 1]):
                m.item_use[s.item[e]] += 1
    m.cost = _total_cost(s, m)
    m.log_odds = _total_log_odds(s, m)
    m.log_open = 0.0
    if s.n_orders:
        _count_orders(s, m)


cdef void model_flip(const space_t* s, model_t* m, int j) noexcept nogil:
    cdef int entering = not m.gamma[j]
    cdef int sign = 1 if entering else -1
    cdef int e, i
    cdef double change = 0.0
    if s.n_orders:
        if s.free_term[j]:
            m.n_in[s.rank[j]] += sign
        _turn_children(s, m.gamma, j, m.n_open, &m.log_open)
    m.gamma[j] = <unsigned char>entering
    if s.n_orders and s.any_open and s.n_terms <= EXACT_LIMIT:
        m.log_open = _total_open(s, m)
    m.size += sign
    for e in range(s.item_start[j], s.item_start[j + 1]):
        i = s.item[e]
        if m.item_use[i] == (0 if entering else 1):
            change += s.item_cost[i]
        m.item_use[i] += sign
    # Below the limit, sums are recomputed in a fixed order, so that a flip and its reversal cancel exactly.
    if change != 0.0:
        if s.n_items <= EXACT_LIMIT:
            m.cost = _total_cost(s, m)
        else:
            m.cost += sign * change
    if s.free_term[j]:
        m.n_free += sign
        if s.log_odds[j] != 0.0:
            if s.n_terms <= EXACT_LIMIT:
                m.log_odds = _total_log_odds(s, m)
            else:
                m.log_odds += sign * s.log_odds[j]


cdef bint model_feasible_at(const space_t* s, const model_t* m, int j) noexcept nogil:
    cdef int e
    if m.size > s.max_size or m.cost > s.budget:
        return False
    if m.gamma[j]:
        return parents_in(s, m.gamma, j)
    if not s.free_term[j]:
        return False
    for e in range(s.child_start[j], s.child_start[j + 1]):
        if m.gamma[s.child[e]] and not parents_in(s, m.gamma, s.child[e]):
            return False
    return True


cdef double model_log_prior(const space_t* s, const model_t* m) noexcept nogil:
    """Log prior of a model without normalising constant; see ``by_order.py`` for a prior by order."""
    # mathematics: selection-model-prior
    cdef double value
    cdef int o
    if s.n_orders == 0:
        return s.log_size[m.n_free] + m.log_odds
    value = s.log_size[m.n_free]
    for o in range(s.n_orders):
        value += _of_order(s, m.n_in[o], m.n_open[o])
    return value + m.log_odds + m.log_open


cdef inline double _change_by_order(const space_t* s, const model_t* m, int j, int* turned) noexcept nogil:
    """Change of a log prior by order by a flip of the free term j; `turned` is 0 before and after."""
    cdef int sign = -1 if m.gamma[j] else 1
    cdef int own = s.rank[j]
    cdef int o
    cdef double value = 0.0
    cdef bint many = _turn_children(s, m.gamma, j, turned, &value) > 0
    value += sign * s.log_odds[j]
    for o in range(s.n_orders if many else own + 1):
        if o == own or turned[o]:
            value += _of_order(s, m.n_in[o] + (sign if o == own else 0), m.n_open[o] + turned[o])
            value -= _of_order(s, m.n_in[o], m.n_open[o])
            turned[o] = 0
    return value


cdef inline bint _in_budget(const space_t* s, const model_t* m, int j) noexcept nogil:
    """Whether the items that j would add are within the budget."""
    cdef int e
    cdef double cost = m.cost
    if s.budget == INFINITY:
        return True
    for e in range(s.item_start[j], s.item_start[j + 1]):
        if m.item_use[s.item[e]] == 0:
            cost += s.item_cost[s.item[e]]
    return cost <= s.budget


cdef bint children_stay(const space_t* s, const unsigned char* gamma, int j) noexcept nogil:
    """Whether the included terms have their required parents without j."""
    cdef int e, f, child, left
    for e in range(s.child_start[j], s.child_start[j + 1]):
        child = s.child[e]
        if not gamma[child]:
            continue
        if s.heredity == HEREDITY_STRONG:
            return False
        left = -1               # j itself, which is included, does not count
        for f in range(s.parent_start[child], s.parent_start[child + 1]):
            left += gamma[s.parent[f]]
        if left == 0:
            return False
    return True


cdef void model_changes(const space_t* s, const model_t* m, double* out) noexcept nogil:
    """Change of the log prior of a feasible model by flipping each term; -inf if the flip is infeasible.

    Feasibility agrees with `model_flip` and `model_feasible_at`, which sum costs in another order: the
    difference is far below the tolerance of the budget.
    """
    cdef bint growing = m.size < s.max_size and m.size < s.n_terms
    cdef double entering = 0.0, leaving = 0.0
    cdef int j
    cdef int turned[MOST_ORDERS]
    memset(turned, 0, sizeof(turned))
    if growing:         # terms that are not free are always included, so an excluded one is free
        entering = s.log_size[m.n_free + 1] - s.log_size[m.n_free]
    if m.n_free > 0:
        leaving = s.log_size[m.n_free - 1] - s.log_size[m.n_free]
    for j in range(s.n_terms):
        if not s.free_term[j]:
            out[j] = -INFINITY
        elif m.gamma[j]:
            if not children_stay(s, m.gamma, j):
                out[j] = -INFINITY
            elif s.n_orders:
                out[j] = leaving + _change_by_order(s, m, j, turned)
            else:
                out[j] = leaving - s.log_odds[j]
        elif growing and _in_budget(s, m, j) and parents_in(s, m.gamma, j):
            out[j] = entering + (_change_by_order(s, m, j, turned) if s.n_orders else s.log_odds[j])
        else:
            out[j] = -INFINITY


cdef class _Model:
    """A model_t with its arrays, for the functions of this file."""

    cdef model_t c
    cdef object arrays

    def __init__(self, Space space, gamma):
        cdef unsigned char[::1] terms = np.array(gamma, dtype=np.uint8).reshape(-1)
        cdef int[::1] use = np.zeros(max(1, space.c.n_items), dtype=np.int32)
        if terms.shape[0] != space.c.n_terms:
            raise ValueError(f"A model must have {space.c.n_terms} entries. Got {terms.shape[0]} instead.")
        self.arrays = (terms.base, use.base)
        self.c.gamma = &terms[0] if terms.shape[0] else NULL
        self.c.item_use = &use[0]
        model_refresh(&space.c, &self.c)


def debug_flips(Space space, gamma, const int[::1] flips):
    """Toggle terms one after another and record the state after each.

    Parameters
    ----------
    space : Space
        The space.
    gamma : array_like of uint8, shape (J,)
        The initial model.
    flips : ndarray of int32, shape (m,)
        Terms to toggle, in this order, feasible or not.

    Returns
    -------
    gamma : ndarray of uint8, shape (J,)
        The final model.
    trace : ndarray, shape (m + 1, 5)
        Size, number of free terms, cost, sum of the log odds and log prior (before the constraints) at the
        start and after every flip.
    """
    cdef _Model model = _Model(space, gamma)
    cdef double[:, ::1] trace = np.empty((flips.shape[0] + 1, 5))
    cdef int step
    for step in range(flips.shape[0] + 1):
        if step:
            if not 0 <= flips[step - 1] < space.c.n_terms:
                raise IndexError(f"There is no term {flips[step - 1]}.")
            model_flip(&space.c, &model.c, flips[step - 1])
        trace[step, 0] = model.c.size
        trace[step, 1] = model.c.n_free
        trace[step, 2] = model.c.cost
        trace[step, 3] = model.c.log_odds
        trace[step, 4] = model_log_prior(&space.c, &model.c)
    return model.arrays[0], np.asarray(trace)


def debug_feasible(Space space, gamma, terms):
    """Toggle `terms` in `gamma` and return whether the result is feasible as far as these are concerned."""
    cdef _Model model = _Model(space, gamma)
    cdef int j
    for j in terms:
        model_flip(&space.c, &model.c, j)
    return all(model_feasible_at(&space.c, &model.c, j) for j in terms)


def debug_changes(Space space, gamma):
    """Return the change of the log prior of the feasible model `gamma` by flipping each term, shape (J,)."""
    cdef _Model model = _Model(space, gamma)
    cdef double[::1] out = np.empty(max(1, space.c.n_terms))
    model_changes(&space.c, &model.c, &out[0])
    return np.asarray(out)[: space.c.n_terms]


# --- enumeration -----------------------------------------------------------------------------------------


# Models whose words are at most so many are not counted before they are listed.
cdef int64_t UNCOUNTED = 1 << 17


cdef struct walk_t:             # state of a traversal of the tree of feasible models between two blocks
    int depth                   # terms added so far
    int next                    # the next position of `order` to try
    bint done


cdef inline bint _put_in(const space_t* s, model_t* m, int j) noexcept nogil:
    """Add j if the model stays feasible; return whether it did. The caller keeps the old sums."""
    cdef int e
    cdef double cost = m.cost
    if not parents_in(s, m.gamma, j):
        return False
    for e in range(s.item_start[j], s.item_start[j + 1]):
        if m.item_use[s.item[e]] == 0:
            cost += s.item_cost[s.item[e]]
    if cost > s.budget:
        return False
    for e in range(s.item_start[j], s.item_start[j + 1]):
        m.item_use[s.item[e]] += 1
    m.gamma[j] = 1
    m.size += 1
    m.n_free += 1
    m.cost = cost
    m.log_odds += s.log_odds[j]
    return True


cdef inline void _take_out(const space_t* s, model_t* m, int j, double cost, double log_odds) noexcept nogil:
    cdef int e
    for e in range(s.item_start[j], s.item_start[j + 1]):
        m.item_use[s.item[e]] -= 1
    m.gamma[j] = 0
    m.size -= 1
    m.n_free -= 1
    m.cost = cost
    m.log_odds = log_odds


cdef int64_t _walk(
    const space_t* s, model_t* m, walk_t* w, const int* order, int n_order, int* stack, double* saved,
    int64_t capacity, uint64_t* current, int n_words, uint64_t* words, int* size, double* cost,
    double* log_odds,
) noexcept nogil:
    """Find up to `capacity` further models in depth-first order, and store them unless `words` is NULL."""
    cdef int64_t found = 0
    cdef int j, k
    while found < capacity:
        if m.size >= s.max_size:
            w.next = n_order
        saved[2 * w.depth] = m.cost
        saved[2 * w.depth + 1] = m.log_odds
        while w.next < n_order and not _put_in(s, m, order[w.next]):
            w.next += 1
        if w.next < n_order:
            j = order[w.next]
            stack[w.depth] = w.next
            w.depth += 1
            w.next += 1
            if words != NULL:
                current[j >> 6] |= (<uint64_t>1) << (j & 63)
                for k in range(n_words):
                    words[found * n_words + k] = current[k]
                size[found] = m.size
                cost[found] = m.cost
                log_odds[found] = m.log_odds
            found += 1
        elif w.depth > 0:
            w.depth -= 1
            j = order[stack[w.depth]]
            w.next = stack[w.depth] + 1
            _take_out(s, m, j, saved[2 * w.depth], saved[2 * w.depth + 1])
            if words != NULL:
                current[j >> 6] &= ~((<uint64_t>1) << (j & 63))
        else:
            w.done = True
            break
    return found


def walk(Space space, start, const int[::1] order, int64_t limit, bint store):
    """Enumerate the feasible models that add terms of `order` to `start`.

    The models come in depth-first order: each is followed by its extensions with terms later in `order`,
    so that consecutive models share a prefix. `order` must list parents before their children.

    Parameters
    ----------
    space : Space
        The space.
    start : array_like of uint8, shape (J,)
        A feasible model; the first one visited.
    order : ndarray of int32
        Free terms that are not in `start`.
    limit : int
        Stop after this many models.
    store : bool
        Whether to store the models.

    Returns
    -------
    count : int
        Number of models found, at most `limit`.
    complete : bool
        Whether these are all.
    words, size, cost, log_odds : ndarrays or None
        The packed models and their properties (None unless `store`).
    """
    cdef int64_t block = 1 << 20
    cdef int64_t count = 1
    cdef int64_t room, found
    cdef int n_order = <int>order.shape[0]
    cdef int n_words = max(1, (space.c.n_terms + 63) // 64)
    cdef _Model model = _Model(space, start)
    cdef walk_t w
    cdef int[::1] stack = np.zeros(n_order + 1, dtype=np.int32)
    cdef double[::1] saved = np.zeros(2 * (n_order + 1))
    cdef uint64_t[::1] current = np.zeros(n_words, dtype=np.uint64)
    cdef uint64_t[:, ::1] words
    cdef int[::1] size
    cdef double[::1] cost, log_odds
    cdef const int* order_at = &order[0] if n_order else NULL
    cdef int j
    if limit < 1:
        return 0, False, None, None, None, None
    for j in range(n_order):
        if not 0 <= order[j] < space.c.n_terms or not space.c.free_term[order[j]] or model.c.gamma[order[j]]:
            raise ValueError("The order of a walk must list free terms that its start does not hold.")
    w.depth = 0
    w.next = 0
    w.done = False
    if store:
        # Counting first avoids growing arrays, and large ones for few models.
        total = limit if limit * n_words <= UNCOUNTED else walk(space, start, order, limit, False)[0]
        words = np.zeros((total, n_words), dtype=np.uint64)
        size = np.zeros(total, dtype=np.int32)
        cost = np.zeros(total)
        log_odds = np.zeros(total)
        for j in range(space.c.n_terms):
            if model.c.gamma[j]:
                current[j >> 6] |= (<uint64_t>1) << (j & 63)
        words[0, :] = current
        size[0] = model.c.size
        cost[0] = model.c.cost
        log_odds[0] = model.c.log_odds
    while not w.done and count < limit:
        room = min(block, limit - count)
        if store:
            if count == words.shape[0]:
                w.done = True   # the first pass found no more
                break
            room = min(room, words.shape[0] - count)
            with nogil:
                found = _walk(
                    &space.c, &model.c, &w, order_at, n_order, &stack[0], &saved[0], room, &current[0],
                    n_words, &words[count, 0], &size[count], &cost[count], &log_odds[count],
                )
        else:
            with nogil:
                found = _walk(
                    &space.c, &model.c, &w, order_at, n_order, &stack[0], &saved[0], room, &current[0],
                    n_words, NULL, NULL, NULL, NULL,
                )
        count += found
        PyErr_CheckSignals()
    if not w.done:
        # At the limit: is there another model?
        with nogil:
            found = _walk(
                &space.c, &model.c, &w, order_at, n_order, &stack[0], &saved[0], 1, &current[0], n_words,
                NULL, NULL, NULL, NULL,
            )
        w.done = found == 0
    if store:
        found_arrays = [np.asarray(words), np.asarray(size), np.asarray(cost), np.asarray(log_odds)]
        if count < words.shape[0]:
            found_arrays = [array[:count].copy() for array in found_arrays]
        return count, bool(w.done), *found_arrays
    return count, bool(w.done), None, None, None, None


# --- draws -----------------------------------------------------------------------------------------------


cdef inline int _below(bitgen_t* rng, int n) noexcept nogil:
    """An integer in [0, n); the bias of at most n / 2^53 is far below any Monte Carlo error."""
    cdef int drawn = <int>(random_standard_uniform(rng) * n)
    return drawn if drawn < n else n - 1


cdef inline void _exchange(int* terms, int a, int b) noexcept nogil:
    cdef int kept = terms[a]
    terms[a] = terms[b]
    terms[b] = kept


cdef void _prior_step(const space_t* s, model_t* m, bitgen_t* rng, int* terms, int n_free) noexcept nogil:
    """One Metropolis step on the prior; `terms` lists the free terms, included ones first."""
    cdef int k = m.n_free
    cdef double before = model_log_prior(s, m)
    cdef double change
    cdef int a, b, j
    if random_standard_uniform(rng) < 0.5:
        # Flip of a uniformly drawn term: symmetric.
        a = _below(rng, n_free)
        j = terms[a]
        model_flip(s, m, j)
        change = model_log_prior(s, m) - before
        if not model_feasible_at(s, m, j) or (change < 0.0 and random_standard_uniform(rng) >= exp(change)):
            model_flip(s, m, j)
        else:
            _exchange(terms, a, k if m.n_free > k else k - 1)
    elif 0 < k < n_free:
        # Swap of an included and an excluded term: the size is unchanged, so the proposal is symmetric.
        a = _below(rng, k)
        b = k + _below(rng, n_free - k)
        model_flip(s, m, terms[a])
        model_flip(s, m, terms[b])
        change = model_log_prior(s, m) - before
        if (
            not model_feasible_at(s, m, terms[a])
            or not model_feasible_at(s, m, terms[b])
            or (change < 0.0 and random_standard_uniform(rng) >= exp(change))
        ):
            model_flip(s, m, terms[b])
            model_flip(s, m, terms[a])
        else:
            _exchange(terms, a, b)


def metropolis(Space space, start, rng, int64_t draws, int64_t thin):
    """Run a Metropolis chain on the prior with flips and swaps.

    Parameters
    ----------
    space : Space
        The space.
    start : array_like of uint8, shape (J,)
        A feasible model.
    rng : Generator
        Source of random numbers; its lock is held by the caller.
    draws, thin : int
        Number of draws, and steps between them.

    Returns
    -------
    models : ndarray of uint8, shape (draws, J)
    inclusion : ndarray of float64, shape (J,)
        Averages over these draws of the probability of each term given all others.
    """
    cdef _Model model = _Model(space, start)
    cdef bitgen_t* bits = bitgen_of(rng)
    listed = np.flatnonzero(space.arrays["free"])
    gamma = model.arrays[0]
    listed = np.concatenate([listed[gamma[listed] == 1], listed[gamma[listed] == 0]]).astype(np.int32)
    cdef int n_free = len(listed)
    cdef int[::1] terms = np.append(listed, np.int32(0)).astype(np.int32)
    cdef unsigned char[:, ::1] out = np.zeros((draws, space.c.n_terms), dtype=np.uint8)
    cdef double[::1] change = np.empty(max(1, space.c.n_terms)), inside = np.zeros(max(1, space.c.n_terms))
    cdef int64_t row, _step, work = 0
    cdef int j
    for row in range(draws):
        with nogil:
            if n_free:
                for _step in range(thin):
                    _prior_step(&space.c, &model.c, bits, &terms[0], n_free)
                model_refresh(&space.c, &model.c)
            model_changes(&space.c, &model.c, &change[0])
            for j in range(space.c.n_terms):
                out[row, j] = model.c.gamma[j]
                inside[j] += 1.0 / (1.0 + exp(change[j] if model.c.gamma[j] else -change[j]))
        work += thin
        if work > 100_000:
            PyErr_CheckSignals()
            work = 0
    return np.asarray(out), np.asarray(inside)[: space.c.n_terms] / max(1, draws)

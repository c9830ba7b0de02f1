"""The space of models: terms, the prior over models and the constraints, as plain arrays."""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import scipy
from numpy.typing import ArrayLike, NDArray

from pyrjsel._called import called
from pyrjsel._errors import ParameterError
from pyrjsel._typing import BoolArray, ByteArray, FloatArray, IntArray
from pyrjsel._validate import bad_value, check_choice, check_int, check_real
from pyrjsel.design import WideTerms
from pyrjsel.model_space.bits import as_gamma
from pyrjsel.model_space.by_order import OrderTables, counts_by_order, open_terms
from pyrjsel.model_space.costs import BUDGET_TOLERANCE, check_budget, price_items, to_csr
from pyrjsel.model_space.model_prior import ModelPrior
from pyrjsel.model_space.terms import (
    PriorContext,
    TermLike,
    check_always,
    inheritance,
    orders_of,
    topological_order,
)

HEREDITY_CODES = {None: 0, "weak": 1, "strong": 2}


def _frozen(array: NDArray[Any]) -> NDArray[Any]:
    array = np.ascontiguousarray(array)
    array.flags.writeable = False
    return array


@dataclass(frozen=True, eq=False)
class ModelSpace:
    """The feasible models and their prior.

    A model is a vector gamma of 0 and 1 over the J terms. Up to a constant, its log prior is s(k) plus the
    sum of l_j over its k free terms, or by order (see ``by_order.py``); it is -inf if a constraint is
    violated. Built by :meth:`build`; the arrays are C-contiguous and read-only.

    Parameters
    ----------
    names : sequence of str
        Names of the J terms.
    prior : ModelPrior
        The prior over models.
    columns : ndarray of int32, shape (J,)
        Number of design columns of each term.
    free : ndarray of uint8, shape (J,)
        1 for terms that may be excluded, 0 for those in every model.
    log_size : ndarray of float64, shape (J_free + 1,)
        s(k), added to a prior by order too, where it is zero but in surrogates.
    log_odds : ndarray of float64, shape (J,)
        l_j; 0 for terms that are not free.
    item_start, item : ndarray of int32
        Term j uses the items ``item[item_start[j]:item_start[j + 1]]``.
    item_cost : ndarray of float64
        Cost of each item, paid once even if several terms of a model use it.
    item_names : tuple of str
        Names of the items: variables, or terms with their own cost.
    parent_start, parent, child_start, child : ndarray of int32
        The nearest terms of lower order, of which heredity requires all (strong) or one (weak), and the
        reverse relation; empty without heredity.
    order : ndarray of int32, shape (J,)
        The terms, parents before their children.
    heredity : {None, "weak", "strong"}
        Heredity rule.
    budget : float
        Largest cost of a model; inf for none.
    max_size : int
        Largest number of terms of a model, including those in every model.
    context : PriorContext
        Description of the terms for the prior.
    by_order : OrderTables or None
        The prior, if it is by order.
    """

    names: Sequence[str]
    prior: ModelPrior
    columns: NDArray[np.int32]
    free: ByteArray
    log_size: FloatArray
    log_odds: FloatArray
    item_start: NDArray[np.int32]
    item: NDArray[np.int32]
    item_cost: FloatArray
    item_names: tuple[str, ...]
    parent_start: NDArray[np.int32]
    parent: NDArray[np.int32]
    child_start: NDArray[np.int32]
    child: NDArray[np.int32]
    order: NDArray[np.int32]
    heredity: str | None
    budget: float
    max_size: int
    context: PriorContext
    by_order: OrderTables | None = None

    @classmethod
    def build(
        cls,
        terms: Sequence[TermLike],
        *,
        prior: ModelPrior,
        always: str | Iterable[str] = (),
        costs: Mapping[str, float] | pd.Series | None = None,
        budget: float | None = None,
        heredity: str | None = None,
        max_size: int | None = None,
        data_columns: Iterable[Hashable] = (),
        n_observations: float,
    ) -> "ModelSpace":
        """Build the space of the models over `terms`.

        Parameters
        ----------
        terms : sequence of TermLike
            The J terms; see ``pyrjsel.design.Term``.
        prior : ModelPrior
            Prior over models.
        always : str or iterable of str, default ()
            Names of terms in every model.
        costs : mapping or Series, optional
            Costs. A key that is a column of the data is the cost of that variable (ignored if no term uses
            it); any other key must be a term and gives its total cost.
        budget : float, optional
            Largest cost of a model, compared with a relative tolerance of 1e-9.
        heredity : {None, "weak", "strong"}
            Whether a term requires one of its nearest lower-order terms, or all of them.
        max_size : int, optional
            Largest number of terms of a model, `always` included.
        data_columns : iterable, default ()
            Columns of the data.
        n_observations : float
            Number of observations.

        Returns
        -------
        ModelSpace
            The space, with read-only arrays.

        Raises
        ------
        ParameterError
            If a parameter is invalid, or the terms in `always` alone violate a constraint.
        UnknownNameError
            If `always` or `costs` has an unknown name.

        Examples
        --------
        >>> from types import SimpleNamespace
        >>> from pyrjsel.model_space import ModelSpace, Uniform
        >>> terms = [
        ...     SimpleNamespace(name=name, columns=(name,), variables=(name,), parents=(), near_parents=())
        ...     for name in ("age", "sbp", "bun")
        ... ]
        >>> costs = {"age": 0.5, "sbp": 0.5, "bun": 1.5}
        >>> space = ModelSpace.build(terms, prior=Uniform(), costs=costs, budget=1, n_observations=100)
        >>> space.feasible([[1, 1, 0], [0, 0, 1]]).tolist()
        [True, False]
        """
        names = terms.names if isinstance(terms, WideTerms) else tuple(term.name for term in terms)
        if isinstance(names, tuple) and len(set(names)) != len(names):
            raise ParameterError(f"The terms of {called()} must have different names. Got {names!r} instead.")
        given: object = prior
        if not isinstance(given, ModelPrior):
            must = "a prior over models, such as BetaBinomial(1, 1) or Uniform()"
            raise bad_value("model_prior", must, prior)
        check_choice(heredity, "heredity", HEREDITY_CODES)
        size = len(names) if max_size is None else check_int(max_size, "max_size", low=0)
        n = check_real(n_observations, "n_observations", low=0.0, open_low=True)
        fixed = check_always(always, names)
        free = np.array([name not in fixed for name in names], dtype=np.uint8)
        limit = check_budget(budget, costs)
        items = price_items(costs, terms, data_columns)
        columns = np.array([len(term.columns) for term in terms], dtype=np.int32)

        parents, children = inheritance(terms, heredity)
        parent_start, parent_flat = to_csr(parents)
        child_start, child_flat = to_csr(children)

        context = PriorContext(
            names=names,
            free=tuple(bool(value) for value in free),
            columns=tuple(int(value) for value in columns),
            n_observations=n,
            heredity=heredity,
            orders=orders_of(terms, parents),
            parents=tuple(parents),
        )
        by_order = prior.order_tables(context)
        if by_order is None:
            log_size, log_odds = prior.tables(context)
        else:
            log_size, log_odds = np.zeros(context.n_free + 1), by_order.log_odds
        space = cls(
            names=names,
            prior=prior,
            columns=_frozen(columns),
            free=_frozen(free),
            log_size=_frozen(np.asarray(log_size, dtype=np.float64)),
            log_odds=_frozen(np.asarray(log_odds, dtype=np.float64)),
            item_start=_frozen(items.start),
            item=_frozen(items.item),
            item_cost=_frozen(items.cost),
            item_names=items.names,
            parent_start=_frozen(parent_start),
            parent=_frozen(parent_flat),
            child_start=_frozen(child_start),
            child=_frozen(child_flat),
            order=_frozen(topological_order(parents).astype(np.int32)),
            heredity=heredity,
            budget=limit,
            max_size=min(size, len(names)),
            context=context,
            by_order=by_order,
        )
        reason = space.why_infeasible(space.empty_model())
        if reason is not None:
            raise ParameterError(
                f"The terms in the 'always' parameter of {called()} break a constraint: {reason}"
            )
        return space

    # --- properties ----------------------------------------------------------------------------------

    @property
    def n_terms(self) -> int:
        """Number J of terms."""
        return len(self.names)

    @property
    def n_free(self) -> int:
        """Number of terms that may be in or out."""
        return int(self.free.sum())

    @property
    def heredity_code(self) -> int:
        """0 for no heredity, 1 for weak, 2 for strong."""
        return HEREDITY_CODES[self.heredity]

    @property
    def budget_limit(self) -> float:
        """The budget with its tolerance, the limit of costs."""
        return self.budget * (1.0 + BUDGET_TOLERANCE)

    @property
    def constrained(self) -> bool:
        """Whether any constraint excludes a subset of the free terms."""
        everything = np.ones(self.n_terms, dtype=np.uint8)
        has_rule = self.heredity is not None and len(self.parent) > 0
        return has_rule or self.max_size < self.n_terms or bool(self.cost(everything) > self.budget_limit)

    @property
    def bounded(self) -> bool:
        """Whether there is a budget or a largest size, at which single flips can only remove terms."""
        return bool(np.isfinite(self.budget)) or self.max_size < self.n_terms

    @property
    def rank(self) -> IntArray:
        """Order of each free term, counted from 0; -1 for other terms, and without heredity."""
        return self.context.rank

    def items_of(self, term: int) -> NDArray[np.int32]:
        """Return the items of a term.

        Parameters
        ----------
        term : int
            Index of the term.

        Returns
        -------
        ndarray of int32
            Indices of items.
        """
        return self.item[self.item_start[term] : self.item_start[term + 1]]

    def parents_of(self, term: int) -> NDArray[np.int32]:
        """Return the parents of a term, which heredity requires.

        Parameters
        ----------
        term : int
            Index of the term.

        Returns
        -------
        ndarray of int32
            Indices of terms: strong heredity requires all, weak heredity one.
        """
        return self.parent[self.parent_start[term] : self.parent_start[term + 1]]

    def children_of(self, term: int) -> NDArray[np.int32]:
        """Return the children of a term, for which heredity requires it.

        Parameters
        ----------
        term : int
            Index of the term.

        Returns
        -------
        ndarray of int32
            Indices of terms.
        """
        return self.child[self.child_start[term] : self.child_start[term + 1]]

    def term_costs(self) -> FloatArray:
        """Return the cost of each term on its own.

        Returns
        -------
        ndarray of float64, shape (J,)
            Costs; 0 if no costs are given.
        """
        return np.array([self.item_cost[self.items_of(term)].sum() for term in range(self.n_terms)])

    def empty_model(self) -> ByteArray:
        """Return the smallest model.

        Returns
        -------
        ndarray of uint8, shape (J,)
            1 for the terms that are always in.
        """
        return (1 - self.free).astype(np.uint8)

    def terms_of(self, gamma: ArrayLike) -> tuple[str, ...]:
        """Return the names of the terms of one model.

        Parameters
        ----------
        gamma : array_like, shape (J,)
            A model.

        Returns
        -------
        tuple of str
            Names, in the order of the space's terms.
        """
        (model,) = as_gamma(gamma, self.n_terms)
        return tuple([self.names[term] for term in np.flatnonzero(model).tolist()])

    # --- reference implementations of the compiled loops -------------------------------------------

    def size(self, gamma: ArrayLike) -> IntArray | np.int64:
        """Return the number of terms of models, including terms that are always in.

        Parameters
        ----------
        gamma : array_like, shape (J,) or (m, J)
            Models.

        Returns
        -------
        int64 or ndarray of int64, shape (m,)
            One value for one model, an array for several.
        """
        models = as_gamma(gamma, self.n_terms)
        return _like(models.sum(axis=1, dtype=np.int64), gamma)

    def cost(self, gamma: ArrayLike) -> FloatArray | np.float64:
        """Return the cost of models: the sum over their items, each counted once.

        Parameters
        ----------
        gamma : array_like, shape (J,) or (m, J)
            Models.

        Returns
        -------
        float64 or ndarray of float64, shape (m,)
            One value for one model, an array for several.
        """
        return _like(self._costs(as_gamma(gamma, self.n_terms)), gamma)

    def feasible(self, gamma: ArrayLike) -> BoolArray | np.bool_:
        """Return whether models satisfy every constraint.

        Parameters
        ----------
        gamma : array_like, shape (J,) or (m, J)
            Models.

        Returns
        -------
        bool or ndarray of bool, shape (m,)
            One value for one model, an array for several.
        """
        models = as_gamma(gamma, self.n_terms)
        good = np.all(models[:, self.free == 0] == 1, axis=1)
        good &= models.sum(axis=1) <= self.max_size
        good &= self._costs(models) <= self.budget_limit
        if self.parent.size:
            needed = np.diff(self.parent_start)
            if self.heredity == "weak":
                needed = np.minimum(needed, 1)
            inside = _sums(models, self.parent, self.parent_start, by_row=True)
            good &= np.all((models == 0) | (inside >= needed), axis=1)
        return _like(good, gamma)

    def log_prior(self, gamma: ArrayLike) -> FloatArray | np.float64:
        """Return the log prior of models up to a constant, -inf if a constraint is violated.

        Parameters
        ----------
        gamma : array_like, shape (J,) or (m, J)
            Models.

        Returns
        -------
        float64 or ndarray of float64, shape (m,)
            One value for one model, an array for several.
        """
        models = as_gamma(gamma, self.n_terms)
        value = np.empty(len(models))
        # A product with floats converts the indicators to floats: this many models at a time.
        block = max(1, 2**17 // max(self.n_terms, 1))
        for at in range(0, len(models), block):
            inside = models[at : at + block] * self.free
            size = inside.sum(axis=1, dtype=np.int64)
            value[at : at + block] = self.log_size[size] + inside @ self.log_odds
        feasible = np.atleast_1d(self.feasible(models))
        value[feasible] += self.log_open(models[feasible])
        return _like(np.where(feasible, value, -np.inf), gamma)

    def log_open(self, models: ByteArray) -> FloatArray | float:
        """Return the log of a prior by order for feasible models (m, J), without the sum of l_j; else 0."""
        if self.by_order is None:
            return 0.0
        opened = open_terms(models, self.context.parents, self.heredity)
        n_in, n_open = (counts_by_order(each, self.rank, self.context.n_orders) for each in (models, opened))
        return np.asarray(self.by_order.of_counts(n_in, n_open) + opened @ self.by_order.odds_open)

    def why_infeasible(self, gamma: ArrayLike) -> str | None:
        """Return why a model is infeasible, as a sentence, or None if it is feasible.

        Parameters
        ----------
        gamma : array_like, shape (J,)
            A model.

        Returns
        -------
        str or None
            The first constraint that is violated.
        """
        models = as_gamma(gamma, self.n_terms)
        absent = [
            name
            for name, free, inside in zip(self.names, self.free, models[0], strict=True)
            if not free and not inside
        ]
        if absent:
            return f"it lacks {', '.join(absent)}, which all models include."
        size = int(models.sum())
        if size > self.max_size:
            return f"it has {size} terms, but max_size is {self.max_size}."
        cost = float(self._costs(models)[0])
        if cost > self.budget_limit:
            return f"it costs {cost:g}, but the budget is {self.budget:g}."
        for term in np.flatnonzero(models[0]).tolist():
            if not self._parents_in(models, term)[0]:
                needed = [self.names[parent] for parent in self.parents_of(term)]
                rule = "all of" if self.heredity == "strong" else "one of"
                return (
                    f"{self.heredity} heredity requires {rule} {', '.join(needed)} with {self.names[term]}."
                )
        return None

    def _costs(self, models: ByteArray) -> FloatArray:
        if not self.item_cost.size:
            return np.zeros(len(models))
        used = _sums(models, self.item, self.item_start, by_row=False, columns=self.item_cost.size) > 0
        costs: FloatArray = np.ascontiguousarray(used) @ self.item_cost
        return costs

    def _parents_in(self, models: ByteArray, term: int) -> BoolArray:
        parents = models[:, self.parents_of(term)] == 1
        if self.heredity == "weak" and parents.shape[1]:
            return np.any(parents, axis=1)
        return np.all(parents, axis=1)


def _sums(
    models: ByteArray, indices: NDArray[np.int32], start: NDArray[np.int32], *, by_row: bool, columns: int = 0
) -> NDArray[np.int32]:
    """Return products of models (m, J) with a 0/1 matrix of J rows, or with its transpose if `by_row`.

    Row j of the matrix is 1 in the columns ``indices[start[j]:start[j + 1]]``.
    """
    terms = models.shape[1]
    ones = np.ones(indices.size, dtype=np.int32)
    matrix = scipy.sparse.csr_array((ones, indices, start), shape=(terms, terms if by_row else columns))
    return np.asarray(models @ (matrix.T if by_row else matrix))


def _like(values: NDArray[Any], gamma: ArrayLike) -> Any:
    """Return one value for one model, an array for several."""
    return values[0] if np.ndim(gamma) == 1 else values


def check_bounds(space: ModelSpace) -> None:
    """Raise :class:`ParameterError` if a largest size or a budget excludes all models with terms.

    The terms that are always in are known to satisfy the limits.

    Parameters
    ----------
    space : ModelSpace
        The requested space.

    Raises
    ------
    ParameterError
        If there are terms, none is always included, and none can be.
    """
    if not space.n_terms or not space.free.all():
        return
    if space.max_size == 0:
        raise bad_value("max_size", "an int of at least 1, since no model could have a term", 0)
    if not np.isfinite(space.budget):
        return
    # Under heredity, a model with terms has one without parents, and costs at least as much.
    roots = [term for term in range(space.n_terms) if not len(space.parents_of(term))]
    costs = space.term_costs()[roots]
    cheapest = int(costs.argmin())
    least = costs[cheapest]
    if least > space.budget_limit:
        must = (
            f"at least {least:.12g}, the price of the cheapest term ({space.names[roots[cheapest]]}), "
            "since no model could have a term"
        )
        raise bad_value("budget", must, space.budget)

"""The base class of priors over models.

Before constraints, log pi(gamma) = s(k) + sum of l_j over the k included free terms, up to a constant; under
heredity some are by order (see ``by_order.py``). `tables` and `order_tables` return the arrays for the
compiled loops; `logpmf` is an independent, normalised implementation in plain numpy.
"""

from abc import ABC, abstractmethod
from collections.abc import Collection

import numpy as np
from numpy.typing import ArrayLike

from pyrjsel._called import called
from pyrjsel._core import special
from pyrjsel._errors import ParameterError
from pyrjsel._typing import ByteArray, FloatArray
from pyrjsel._validate import check_choice, check_real
from pyrjsel.model_space.bits import as_gamma
from pyrjsel.model_space.by_order import MOST_ORDERS, OrderTables, open_terms
from pyrjsel.model_space.terms import PriorContext


class ModelPrior(ABC):
    """A prior over models, before constraints."""

    def tables(self, context: PriorContext) -> tuple[FloatArray, FloatArray]:
        """Return the arrays that the compiled loops need.

        Parameters
        ----------
        context : PriorContext
            Names, orders and constraints of the terms.

        Returns
        -------
        log_size : ndarray of float64, shape (J_free + 1,)
            s(k) by number of free terms in the model.
        log_odds : ndarray of float64, shape (J,)
            l_j, with 0 for terms that are not free.

        Raises
        ------
        ParameterError
            If the parameters do not match the terms.
        UnknownNameError
            If a parameter names an unknown term.
        """
        return self._tables(context)

    def order_tables(self, context: PriorContext) -> OrderTables | None:
        """Return the arrays of a prior by order for the compiled loops; None if `tables` describes the prior.

        Parameters
        ----------
        context : PriorContext
            Names, orders and constraints of the terms.

        Returns
        -------
        OrderTables or None
            None without heredity, if all free terms are of one order, and for priors that are not by order.

        Raises
        ------
        ParameterError
            If the parameters do not match the terms.
        UnknownNameError
            If a parameter names an unknown term.
        """
        if not self._by_order or context.n_orders < 2:
            return None
        if context.n_orders > MOST_ORDERS:
            raise ParameterError(
                f"The terms of {called()} have {context.n_orders} orders; a prior over models by order "
                f"can have {MOST_ORDERS}. Use a prior with by='size'."
            )
        return self._order_tables(context)

    def logpmf(self, gamma: ArrayLike, context: PriorContext) -> FloatArray:
        """Return the log probability of models, normalised over all subsets of the free terms.

        A prior by order is normalised over the models that satisfy heredity, and -inf for others.

        Parameters
        ----------
        gamma : array_like, shape (m, J) or (J,)
            Models.
        context : PriorContext
            Names, orders and constraints of the terms.

        Returns
        -------
        ndarray of float64, shape (m,)
            One value per model; a single model gives one row. Entries of `gamma` for terms that are not free
            are ignored.

        Raises
        ------
        ParameterError
            If the parameters do not match the terms, or `gamma` is not an array of 0 and 1 of matching shape.
        UnknownNameError
            If a parameter names an unknown term.
        """
        if self._by_order and context.n_orders > 1:
            return self._logpmf_by_order(as_gamma(gamma, len(context.names)), context)
        models = as_gamma(gamma, len(context.names))[:, context.free_mask].astype(np.float64)
        return self._logpmf(models, np.ones_like(models), context)

    def restrict(self, context: PriorContext, keep: Collection[str]) -> "ModelPrior":
        """Return the same prior over models of a subset of the terms.

        Parameters
        ----------
        context : PriorContext
            Description of all terms.
        keep : collection of str
            Names of the subset.

        Returns
        -------
        ModelPrior
            The prior itself if it does not refer to single terms; its expected size then refers to the
            subset. Otherwise a prior with the same log odds for the terms of the subset.

        Examples
        --------
        >>> from pyrjsel.model_space import Bernoulli, CostAdjusted, PriorContext
        >>> context = PriorContext(("age", "sbp", "bun"), (True,) * 3, (1,) * 3, 100.0)
        >>> Bernoulli([0.1, 0.2, 0.3]).restrict(context, ["age", "bun"])
        Bernoulli(p=(0.1, 0.3))
        >>> CostAdjusted({"age": 0.5, "sbp": 2, "bun": 3}).restrict(context, ["sbp", "bun"])
        CostAdjusted(costs={'sbp': 2.0, 'bun': 3.0}, baseline=0.5)
        """
        return self._restrict(context, keep)

    def _restrict(self, context: PriorContext, keep: Collection[str]) -> "ModelPrior":
        """Return the restricted prior; by default the prior itself, which must not refer to single terms."""
        return self

    def _logpmf_by_order(self, gamma: ByteArray, context: PriorContext) -> FloatArray:
        gamma = np.where(context.free_mask, gamma, 1).astype(np.uint8)
        ready = open_terms(gamma, context.parents, context.heredity)
        value = np.where((gamma > ready).any(axis=1), -np.inf, 0.0)
        rank = context.rank[context.free_mask]
        for order in range(context.n_orders):
            opened = ready[:, context.free_mask] * (rank == order).astype(np.float64)
            value += self._logpmf(gamma[:, context.free_mask] * opened, opened, context)
        return np.asarray(value)

    @property
    def _by_order(self) -> bool:
        """Whether the prior is by order under heredity."""
        return False

    def _order_tables(self, context: PriorContext) -> OrderTables:
        """Return the tables of a prior that is by order."""
        raise NotImplementedError

    @abstractmethod
    def _tables(self, context: PriorContext) -> tuple[FloatArray, FloatArray]:
        """Return s and l."""

    @abstractmethod
    def _logpmf(self, models: FloatArray, opened: FloatArray, context: PriorContext) -> FloatArray:
        """Return the log probability of subsets `models` (m, J_free) of the given open terms."""


def log_choose(n: int, k: FloatArray) -> FloatArray:
    """Return log C(n, k)."""
    result: FloatArray = special.gammaln(n + 1.0) - special.gammaln(k + 1.0) - special.gammaln(n - k + 1.0)
    return result


def one_of(first: object, first_name: str, second: object, *, needed: bool = True) -> None:
    """Require exactly one of a parameter and `expected_size` (at most one unless `needed`)."""
    if first is not None and second is not None:
        raise ParameterError(f"{called()} takes {first_name!r} or 'expected_size', not both.")
    if needed and first is None and second is None:
        raise ParameterError(f"{called()} needs {first_name!r} or 'expected_size'.")


def check_expected(value: object) -> float:
    """Return the parameter `expected_size` of a prior."""
    return check_real(value, "expected_size", low=0.0, open_low=True)


def expected_within(expected: float, prior: str, context: PriorContext) -> float:
    """Return `expected` if it can be the expected size of a prior over the free terms."""
    if not 0.0 < expected < context.n_free:
        raise ParameterError(
            f"The 'expected_size' parameter of {prior} must be in (0, {context.n_free}), the number of free "
            f"terms of {called()}. Got {expected!r} instead."
        )
    return expected


def check_by(value: object) -> str:
    """Return the parameter `by` of a prior: "order" or "size"."""
    check_choice(value, "by", ("order", "size"))
    return str(value)


def said(by: str) -> str:
    """Return `by` as shown in the repr of a prior: nothing for the default."""
    return "" if by == "order" else f", by={by!r}"

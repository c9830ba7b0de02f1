"""Priors over models: uniform, Bernoulli, beta-binomial, truncated Poisson, and one that penalises cost."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from pyrjsel._called import called
from pyrjsel._core import special
from pyrjsel._errors import ParameterError
from pyrjsel._typing import FloatArray
from pyrjsel._validate import bad_value, check_real, show, unknown_name
from pyrjsel.model_space.by_order import OrderTables, solve_expected
from pyrjsel.model_space.model_prior import (
    ModelPrior,
    check_by,
    check_expected,
    expected_within,
    log_choose,
    one_of,
    said,
)
from pyrjsel.model_space.terms import PriorContext


@dataclass(frozen=True)
class Uniform(ModelPrior):
    """Equal prior probability for every model that satisfies the constraints.

    Examples
    --------
    >>> from pyrjsel.model_space import Uniform
    >>> Uniform()
    Uniform()
    """

    def _tables(self, context: PriorContext) -> tuple[FloatArray, FloatArray]:
        return np.zeros(context.n_free + 1), np.zeros(len(context.names))

    def _logpmf(self, models: FloatArray, opened: FloatArray, context: PriorContext) -> FloatArray:
        return np.full(len(models), -context.n_free * np.log(2.0))


@dataclass(frozen=True, init=False)
class Bernoulli(ModelPrior):
    """Independent inclusion of terms.

    Parameters
    ----------
    p : float, mapping or Series of term to float, or sequence of float, optional
        Prior inclusion probabilities in (0, 1). A mapping or Series names every free term; a sequence has one
        value per term in the order of the formula (values of terms that are in every model are ignored).
    expected_size : float, optional
        In place of `p`: expected number of free terms in the model, under heredity, before other constraints.
        Without heredity p = expected_size / J_free.
    by : {"order", "size"}, default "order"
        Prior under heredity; without heredity both are the same. "order" is a product over the orders of the
        terms of their probabilities given the terms of lower order: `p` is the probability of a term if
        heredity allows it. "size" is the prior without heredity, truncated to the models that satisfy it.

    Raises
    ------
    ParameterError
        If a probability is not in (0, 1), or not exactly one of `p` and `expected_size` is given; in a model,
        if a free term has no probability.
    UnknownNameError
        In a model, if a mapping has an unknown name.

    Examples
    --------
    >>> from pyrjsel.model_space import Bernoulli
    >>> Bernoulli(0.2)
    Bernoulli(p=0.2)
    >>> Bernoulli({"age": 0.5, "smoke": 0.1})
    Bernoulli(p={'age': 0.5, 'smoke': 0.1})
    """

    p: float | tuple[tuple[str, float], ...] | tuple[float, ...] | None
    expected_size: float | None
    by: str

    def __init__(
        self,
        p: float | Mapping[str, float] | pd.Series | Sequence[float] | None = None,
        *,
        expected_size: float | None = None,
        by: str = "order",
    ) -> None:
        one_of(p, "p", expected_size)
        kept: float | tuple[tuple[str, float], ...] | tuple[float, ...] | None = None
        if p is not None:
            kept = self._check(p)
        object.__setattr__(self, "p", kept)
        size = None if expected_size is None else check_expected(expected_size)
        object.__setattr__(self, "expected_size", size)
        object.__setattr__(self, "by", check_by(by))

    @staticmethod
    def _check(p: object) -> float | tuple[tuple[str, float], ...] | tuple[float, ...]:
        def probability(value: object, name: str) -> float:
            return check_real(value, name, low=0.0, high=1.0, open_low=True, open_high=True)

        if isinstance(p, (Mapping, pd.Series)):
            pairs = tuple((str(name), probability(value, f"p[{name!r}]")) for name, value in p.items())
            if len(dict(pairs)) != len(pairs):
                raise ParameterError("The 'p' parameter of Bernoulli must name each term once.")
            return pairs
        if isinstance(p, (Sequence, np.ndarray)) and not isinstance(p, (str, bytes)):
            scalar = isinstance(p, np.ndarray) and p.ndim == 0
            if scalar or any(isinstance(value, (list, tuple, np.ndarray)) for value in p):
                raise bad_value("p", "a number, a mapping or a flat sequence of numbers", p)
            return tuple(probability(value, f"p[{j}]") for j, value in enumerate(p))
        return probability(p, "p")

    @property
    def _by_order(self) -> bool:
        return self.by == "order"

    def __repr__(self) -> str:
        if self.p is None:
            return f"Bernoulli(expected_size={self.expected_size!r}{said(self.by)})"
        named = isinstance(self.p, tuple) and bool(self.p) and isinstance(self.p[0], tuple)
        return f"Bernoulli(p={dict(self.p) if named else self.p!r}{said(self.by)})"  # type: ignore[arg-type]

    def _restrict(self, context: PriorContext, keep: Collection[str]) -> ModelPrior:
        if not isinstance(self.p, tuple) or not self.p:
            return self
        if not isinstance(self.p[0], tuple):
            values = zip(context.names, self.p, strict=True)
            return Bernoulli([p for name, p in values if name in keep], by=self.by)
        named = {name: p for name, p in self.p if name in keep}
        # If no name is left, no term is free and there is a single model.
        return Bernoulli(named, by=self.by) if named else Uniform()

    def _probabilities(self, context: PriorContext) -> FloatArray:
        """Return the inclusion probability of each term before constraints, shape (J,); 1 if not free."""
        names, free = context.names, context.free_mask
        if self.p is None:
            assert self.expected_size is not None
            values = np.full(len(names), self._common(self.expected_size, context))
        elif isinstance(self.p, float):
            values = np.full(len(names), self.p)
        elif self.p and isinstance(self.p[0], tuple):
            given = dict(self.p)
            for name in given:
                if name not in names:
                    where = "in the 'p' parameter of Bernoulli"
                    raise unknown_name(name, "term", names, where)
            missing = [name for name in context.free_names if name not in given]
            if missing:
                raise ParameterError(
                    f"The 'p' parameter of Bernoulli must name every free term of {called()}. "
                    f"It lacks {show(missing, 200)}."
                )
            values = np.array([given.get(name, 0.5) for name in names])
        else:
            if len(self.p) != len(names):
                raise ParameterError(
                    f"The 'p' parameter of Bernoulli must have one value for each of the {len(names)} terms "
                    f"of {called()}. Got {len(self.p)} values instead."
                )
            values = np.array(self.p, dtype=np.float64)
        return np.where(free, values, 1.0)

    def _common(self, expected: float, context: PriorContext) -> float:
        """Return the inclusion probability that gives the expected size."""
        size = expected_within(expected, "Bernoulli", context)
        if not self._by_order or context.n_orders < 2:
            return size / context.n_free
        k, nothing = np.arange(context.n_free + 1.0), np.zeros(len(context.names))

        def make(t: float) -> OrderTables:
            return OrderTables(k * special.log_expit(t), k * special.log_expit(-t), 0.0 * k, nothing, nothing)

        return float(special.expit(solve_expected(make, size, context, "Bernoulli", True)))

    def _order_tables(self, context: PriorContext) -> OrderTables:
        flat, odds = self._tables(context)
        lets_out = np.zeros(len(odds))
        lets_out[context.free_mask] = np.log1p(-self._probabilities(context)[context.free_mask])
        return OrderTables(flat, flat, flat, odds, lets_out)

    def _tables(self, context: PriorContext) -> tuple[FloatArray, FloatArray]:
        odds = np.zeros(len(context.names))
        free = context.free_mask
        odds[free] = special.logit(self._probabilities(context)[free])
        return np.zeros(context.n_free + 1), odds

    def _logpmf(self, models: FloatArray, opened: FloatArray, context: PriorContext) -> FloatArray:
        p = self._probabilities(context)[context.free_mask]
        result: FloatArray = (opened * np.where(models == 1, np.log(p), np.log1p(-p))).sum(axis=1)
        return result


@dataclass(frozen=True, init=False)
class BetaBinomial(ModelPrior):
    """Inclusion of terms with a common probability that has a beta distribution.

    Parameters
    ----------
    a : float, default 1.0
        First shape parameter of the beta distribution, above 0.
    b : float, default 1.0
        Second shape parameter, above 0. With ``a = b = 1`` all sizes are equally probable; under heredity,
        all numbers of included terms of an order, among the terms that heredity allows.
    expected_size : float, optional
        In place of `b`: expected number of free terms in the model, under heredity, before other constraints.
        Without heredity b = a (J_free - expected_size) / expected_size.
    by : {"order", "size"}, default "order"
        Prior under heredity; without heredity both are the same. "order" is a product over the orders of the
        terms of their probabilities given the terms of lower order: each order has its own inclusion
        probability with the beta distribution, for the terms that heredity allows. "size" is the prior
        without heredity, truncated to the models that satisfy it.

    Raises
    ------
    ParameterError
        If a shape parameter is not above 0, or both `b` and `expected_size` are given.

    Examples
    --------
    >>> from pyrjsel.model_space import BetaBinomial
    >>> BetaBinomial(1, 1)
    BetaBinomial(a=1.0, b=1.0)
    """

    a: float
    b: float | None
    expected_size: float | None
    by: str

    def __init__(
        self, a: float = 1.0, b: float | None = None, *, expected_size: float | None = None, by: str = "order"
    ) -> None:
        one_of(b, "b", expected_size, needed=False)
        object.__setattr__(self, "a", check_real(a, "a", low=0.0, open_low=True))
        if expected_size is None:
            second = check_real(1.0 if b is None else b, "b", low=0.0, open_low=True)
            object.__setattr__(self, "b", second)
            object.__setattr__(self, "expected_size", None)
        else:
            object.__setattr__(self, "b", None)
            object.__setattr__(self, "expected_size", check_expected(expected_size))
        object.__setattr__(self, "by", check_by(by))

    @property
    def _by_order(self) -> bool:
        return self.by == "order"

    def __repr__(self) -> str:
        second = f"b={self.b!r}" if self.expected_size is None else f"expected_size={self.expected_size!r}"
        return f"BetaBinomial(a={self.a!r}, {second}{said(self.by)})"

    def _shapes(self, context: PriorContext) -> tuple[float, float]:
        """Return a and b."""
        if self.b is not None:
            return self.a, self.b
        assert self.expected_size is not None
        size = expected_within(self.expected_size, "BetaBinomial", context)
        if not self._by_order or context.n_orders < 2:
            return self.a, self.a * (context.n_free - size) / size

        def make(t: float) -> OrderTables:
            return _beta_tables(self.a, float(np.exp(-t)), context)

        return self.a, float(np.exp(-solve_expected(make, size, context, "BetaBinomial", True)))

    def _order_tables(self, context: PriorContext) -> OrderTables:
        return _beta_tables(*self._shapes(context), context)

    def _tables(self, context: PriorContext) -> tuple[FloatArray, FloatArray]:
        a, b = self._shapes(context)
        k = np.arange(context.n_free + 1.0)
        return special.log_beta(a + k, b + context.n_free - k) - special.log_beta(a, b), np.zeros(
            len(context.names)
        )

    def _logpmf(self, models: FloatArray, opened: FloatArray, context: PriorContext) -> FloatArray:
        # As a Polya urn: the odds of each term depend on the numbers included and excluded before.
        a, b = self._shapes(context)
        outside = opened - models
        earlier_in = np.cumsum(models, axis=1) - models
        earlier_out = np.cumsum(outside, axis=1) - outside
        weight = np.where(models == 1, a + earlier_in, b + earlier_out)
        step = np.log(weight) - np.log(a + b + earlier_in + earlier_out)
        result: FloatArray = (opened * step).sum(axis=1)
        return result


def _beta_tables(a: float, b: float, context: PriorContext) -> OrderTables:
    """Return the tables of a beta-binomial by order: B(a + k, b + m - k) / B(a, b) in three parts."""
    k, nothing = np.arange(context.n_free + 1.0), np.zeros(len(context.names))
    # Rising factorials: log of a (a + 1) ... (a + k - 1).
    return OrderTables(_rising(a, k), _rising(b, k), -_rising(a + b, k), nothing, nothing)


def _rising(shape: float, k: FloatArray) -> FloatArray:
    return np.concatenate([[0.0], np.cumsum(np.log(shape + k[:-1]))])


@dataclass(frozen=True, init=False)
class TruncatedPoisson(ModelPrior):
    """Poisson number of terms, truncated at the number of free terms.

    Models of the same size are equally probable.

    Parameters
    ----------
    mean : float, optional
        Mean lambda of the Poisson distribution before truncation, above 0.
    expected_size : float, optional
        In place of `mean`: expected number of free terms in the model, under heredity, before other
        constraints. Lambda is computed from it, since the mean of a truncated Poisson distribution is not
        lambda.
    by : {"order", "size"}, default "order"
        Prior under heredity; without heredity both are the same. "order" is a product over the orders of the
        terms of their probabilities given the terms of lower order: the number of terms of an order is
        Poisson, truncated at the number of those that heredity allows. "size" is the prior without heredity,
        truncated to the models that satisfy it.

    Raises
    ------
    ParameterError
        If `mean` is not above 0, or not exactly one of `mean` and `expected_size` is given.

    Examples
    --------
    >>> from pyrjsel.model_space import TruncatedPoisson
    >>> TruncatedPoisson(3)
    TruncatedPoisson(mean=3.0)
    """

    mean: float | None
    expected_size: float | None
    by: str

    def __init__(
        self, mean: float | None = None, *, expected_size: float | None = None, by: str = "order"
    ) -> None:
        one_of(mean, "mean", expected_size)
        checked = mean
        if mean is not None:
            checked = check_real(mean, "mean", low=0.0, open_low=True)
        object.__setattr__(self, "mean", checked)
        size = None if expected_size is None else check_expected(expected_size)
        object.__setattr__(self, "expected_size", size)
        object.__setattr__(self, "by", check_by(by))

    @property
    def _by_order(self) -> bool:
        return self.by == "order"

    def __repr__(self) -> str:
        if self.mean is None:
            return f"TruncatedPoisson(expected_size={self.expected_size!r}{said(self.by)})"
        return f"TruncatedPoisson(mean={self.mean!r}{said(self.by)})"

    def _rate(self, context: PriorContext) -> float:
        """Return lambda, computed from the expected size if that is given."""
        if self.mean is not None:
            return self.mean
        assert self.expected_size is not None
        size = expected_within(self.expected_size, "TruncatedPoisson", context)
        if self._by_order and context.n_orders > 1:
            solved = solve_expected(
                lambda t: _poisson_tables(t, context), size, context, "TruncatedPoisson", False
            )
            return float(np.exp(solved))
        k = np.arange(context.n_free + 1.0)

        def excess(log_rate: float) -> float:
            weight = k * log_rate - special.gammaln(k + 1.0)
            return float(np.exp(weight - special.logsumexp(weight)) @ k) - size

        # The mean is below lambda and increases with it; it approaches J_free as lambda goes to infinity.
        low, high = np.log(size), np.log(context.n_free) + 1.0
        while excess(high) < 0.0:
            high += 5.0
        # Bisection: it cannot fail, and ends when no float lies between the two ends.
        middle = 0.5 * (low + high)
        while low < middle < high:
            if excess(middle) < 0.0:
                low = middle
            else:
                high = middle
            middle = 0.5 * (low + high)
        return float(np.exp(middle))

    def _order_tables(self, context: PriorContext) -> OrderTables:
        return _poisson_tables(float(np.log(self._rate(context))), context)

    def _tables(self, context: PriorContext) -> tuple[FloatArray, FloatArray]:
        k = np.arange(context.n_free + 1.0)
        size = k * np.log(self._rate(context)) - special.gammaln(k + 1.0) - log_choose(context.n_free, k)
        return size, np.zeros(len(context.names))

    def _logpmf(self, models: FloatArray, opened: FloatArray, context: PriorContext) -> FloatArray:
        size, n = models.sum(axis=1).astype(int), opened.sum(axis=1).astype(int)
        steps = np.log(np.arange(1.0, context.n_free + 1.0))
        # log k! and log(lambda^k / k!) as running sums, independently of the gamma functions in `tables`.
        factorial = np.concatenate([[0.0], np.cumsum(steps)])
        mass = np.concatenate([[0.0], np.cumsum(np.log(self._rate(context)) - steps)])
        ways = factorial[n] - factorial[size] - factorial[n - size]
        result: FloatArray = mass[size] - ways - np.logaddexp.accumulate(mass)[n]
        return result


def _poisson_tables(log_rate: float, context: PriorContext) -> OrderTables:
    """Return the tables of a truncated Poisson by order: lambda^k (m - k)! / (m! Z_m) in three parts."""
    k, nothing = np.arange(context.n_free + 1.0), np.zeros(len(context.names))
    whole = np.logaddexp.accumulate(k * log_rate - special.gammaln(k + 1.0))
    return OrderTables(
        k * log_rate,
        special.gammaln(k + 1.0),
        -special.gammaln(k + 1.0) - whole,
        nothing,
        nothing,
        False,
    )


@dataclass(frozen=True, init=False)
class CostAdjusted(ModelPrior):
    """Expensive terms have lower prior odds, so that the posterior follows a BIC with a penalty for cost.

    The log prior odds of term j are -1/2 d_j (c_j / c_0 - 1) log n, with d_j its number of columns, c_j its
    cost, c_0 the `baseline` and n the number of observations: the penalty of a BIC is then (c_j / c_0) log n
    per column. Costs are per term: a variable of two terms is paid twice. For costs per variable use a
    budget. Under heredity the prior is restricted to the models that satisfy it, with the same odds.

    Parameters
    ----------
    costs : mapping or Series of term to float
        Cost of every free term, above 0.
    baseline : float, optional
        The cost c_0 of a term with prior odds of 1, above 0; cheaper terms have higher odds. None is the
        smallest cost of a free term.

    Raises
    ------
    ParameterError
        If a cost or `baseline` is not a finite number above 0; in a model, if a free term has no cost.
    UnknownNameError
        In a model, if a name is not that of a term.

    Examples
    --------
    >>> from pyrjsel.model_space import CostAdjusted
    >>> CostAdjusted({"age": 0.5, "sbp": 1.0})
    CostAdjusted(costs={'age': 0.5, 'sbp': 1.0})
    >>> CostAdjusted({"sbp": 1.0}, baseline=0.5)
    CostAdjusted(costs={'sbp': 1.0}, baseline=0.5)
    """

    costs: tuple[tuple[str, float], ...]
    baseline: float | None

    def __init__(self, costs: Mapping[str, float] | pd.Series, baseline: float | None = None) -> None:
        if not isinstance(costs, (Mapping, pd.Series)):
            raise bad_value("costs", "a mapping or Series of terms to costs", costs)
        kept = [
            (name, check_real(value, f"costs[{name!r}]", low=0.0, open_low=True))
            for name, value in costs.items()
        ]
        if len(dict(kept)) != len(kept):
            # A Series can name one term twice.
            raise ParameterError("The 'costs' parameter of CostAdjusted must name each term once.")
        if baseline is not None:
            baseline = check_real(baseline, "baseline", low=0.0, open_low=True)
        object.__setattr__(self, "costs", tuple(kept))
        object.__setattr__(self, "baseline", baseline)

    def __repr__(self) -> str:
        baseline = "" if self.baseline is None else f", baseline={self.baseline!r}"
        return f"CostAdjusted(costs={dict(self.costs)!r}{baseline})"

    def _restrict(self, context: PriorContext, keep: Collection[str]) -> "CostAdjusted":
        costs, baseline = dict(self.costs), self.baseline
        # c_0 is kept: the cheapest term may be excluded, and the odds of the others must not change.
        if baseline is None and context.n_free:
            baseline = min(costs[name] for name in context.free_names)
        return CostAdjusted({name: cost for name, cost in costs.items() if name in keep}, baseline)

    def _tables(self, context: PriorContext) -> tuple[FloatArray, FloatArray]:
        given = dict(self.costs)
        for name in given:
            if name not in context.names:
                where = "in the 'costs' parameter of CostAdjusted"
                raise unknown_name(name, "term", context.names, where)
        missing = [name for name in context.free_names if name not in given]
        if missing:
            raise ParameterError(
                f"The 'costs' parameter of CostAdjusted must price every free term of {called()}. "
                f"It lacks {show(missing, 200)}."
            )
        odds = np.zeros(len(context.names))
        if context.n_free:
            free = context.free_mask
            cost = np.array([given[name] for name in context.free_names])
            least = cost.min() if self.baseline is None else self.baseline
            columns = np.array(context.columns, dtype=np.float64)[free]
            with np.errstate(over="ignore"):
                odds[free] = -0.5 * columns * (cost / least - 1.0) * np.log(context.n_observations)
            if not np.isfinite(odds.sum()):
                raise ParameterError(
                    f"The 'costs' parameter of CostAdjusted must give finite prior odds in {called()}. "
                    f"Got costs from {cost.min():g} to {cost.max():g}, and a baseline of {least:g}."
                )
        return np.zeros(context.n_free + 1), odds

    def _logpmf(self, models: FloatArray, opened: FloatArray, context: PriorContext) -> FloatArray:
        p = special.expit(self._tables(context)[1][context.free_mask])
        result: FloatArray = (opened * np.where(models == 1, np.log(p), np.log1p(-p))).sum(axis=1)
        return result


def _bernoulli(p: Any, expected_size: Any, by: Any) -> Bernoulli:
    named = isinstance(p, tuple) and bool(p) and isinstance(p[0], tuple)
    return Bernoulli(dict(p) if named else p, expected_size=expected_size, by=by)


def _cost_adjusted(costs: Any, baseline: Any) -> CostAdjusted:
    return CostAdjusted(dict(costs), baseline)


# Constructors of priors in saved results, by name.
PRIOR_MAKERS: Mapping[str, Callable[..., Any]] = {
    "Bernoulli": _bernoulli,
    "BetaBinomial": BetaBinomial,
    "CostAdjusted": _cost_adjusted,
    "TruncatedPoisson": TruncatedPoisson,
    "Uniform": Uniform,
}

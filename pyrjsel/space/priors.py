"""Priors over models: log pi(gamma) = s(k) + sum of l_j over the free terms that are in, up to a constant.

Each prior is a small frozen description. `tables` gives s and l for the compiled loops; `logpmf` is the same
law in plain numpy, normalised over all subsets of the free terms and written down independently.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.special import betaln, expit, gammaln, logit, logsumexp

from pyrjsel._errors import ParameterError
from pyrjsel._typing import FloatArray
from pyrjsel._validate import bad_value, check_real, show, unknown_name
from pyrjsel.space.bits import as_gamma
from pyrjsel.space.context import PriorContext


class ModelPrior(ABC):
    """A prior over models, before constraints."""

    def tables(self, context: PriorContext) -> tuple[FloatArray, FloatArray]:
        """Return what the compiled loops need of the prior.

        Parameters
        ----------
        context : PriorContext
            What there is to know of the terms.

        Returns
        -------
        log_size : ndarray of float64, shape (J_free + 1,)
            s(k) by number of free terms in the model.
        log_odds : ndarray of float64, shape (J,)
            l_j, with 0 for terms that are not free.

        Raises
        ------
        ParameterError
            If the parameters do not fit the terms.
        UnknownNameError
            If a parameter names a term that does not exist.
        """
        return self._tables(context)

    def logpmf(self, gamma: ArrayLike, context: PriorContext) -> FloatArray:
        """Return the log probability of models, normalised over all subsets of the free terms.

        Parameters
        ----------
        gamma : array_like, shape (m, J) or (J,)
            Models.
        context : PriorContext
            What there is to know of the terms.

        Returns
        -------
        ndarray of float64, shape (m,)
            One value a model; a single model gives one row. What `gamma` says of terms that are not free is
            not looked at.

        Raises
        ------
        ParameterError
            If the parameters do not fit the terms, or `gamma` is not an array of 0 and 1 over them.
        UnknownNameError
            If a parameter names a term that does not exist.
        """
        return self._logpmf(*_free_sizes(gamma, context), context)

    @abstractmethod
    def _tables(self, context: PriorContext) -> tuple[FloatArray, FloatArray]:
        """Return s and l."""

    @abstractmethod
    def _logpmf(self, models: FloatArray, size: FloatArray, context: PriorContext) -> FloatArray:
        """Return the log probability of models over the free terms, shape (m, J_free), of these sizes."""


def log_choose(n: int, k: FloatArray) -> FloatArray:
    """Return log C(n, k)."""
    result: FloatArray = gammaln(n + 1.0) - gammaln(k + 1.0) - gammaln(n - k + 1.0)
    return result


def _free_sizes(gamma: ArrayLike, context: PriorContext) -> tuple[FloatArray, FloatArray]:
    """Return the free terms of each model, shape (m, J_free), and their number, shape (m,)."""
    models = as_gamma(gamma, len(context.names))[:, context.free_mask].astype(np.float64)
    return models, models.sum(axis=1)


def _one_of(first: object, first_name: str, second: object, owner: str, *, needed: bool = True) -> None:
    """Ask for exactly one of a parameter and `expected_size` (at most one unless `needed`)."""
    if first is not None and second is not None:
        raise ParameterError(f"{owner} takes {first_name!r} or 'expected_size', not both.")
    if needed and first is None and second is None:
        raise ParameterError(f"{owner} needs {first_name!r} or 'expected_size'.")


def _check_expected(value: object, owner: str) -> float:
    return check_real(value, "expected_size", owner, low=0.0, open_low=True)


def _expected_within(expected: float, owner: str, context: PriorContext) -> float:
    """Return `expected` if a prior over the free terms can have it as its expected size."""
    if not 0.0 < expected < context.n_free:
        raise ParameterError(
            f"The 'expected_size' parameter of {owner} must be in (0, {context.n_free}), the number of free "
            f"terms of {context.owner}. Got {expected!r} instead."
        )
    return expected


@dataclass(frozen=True)
class Uniform(ModelPrior):
    """Every model has the same prior probability.

    Examples
    --------
    >>> from pyrjsel.space import Uniform
    >>> Uniform()
    Uniform()
    """

    def _tables(self, context: PriorContext) -> tuple[FloatArray, FloatArray]:
        return np.zeros(context.n_free + 1), np.zeros(len(context.names))

    def _logpmf(self, models: FloatArray, size: FloatArray, context: PriorContext) -> FloatArray:
        return np.full(len(models), -context.n_free * np.log(2.0))


@dataclass(frozen=True, init=False)
class Bernoulli(ModelPrior):
    """Terms enter independently of one another.

    Parameters
    ----------
    p : float, mapping or Series of term to float, or sequence of float, optional
        Prior inclusion probabilities in (0, 1). A mapping or Series names every free term; a sequence has
        one value a term in the order of the formula (values of terms that are in every model are not used).
    expected_size : float, optional
        In place of `p`: expected number of free terms in the model, before constraints; then
        p = expected_size / J_free.

    Raises
    ------
    ParameterError
        If a probability is not in (0, 1), or not exactly one of `p` and `expected_size` is given; when used,
        if a free term has no probability.
    UnknownNameError
        When used, if a mapping names a term that does not exist.

    Examples
    --------
    >>> from pyrjsel.space import Bernoulli
    >>> Bernoulli(0.2)
    Bernoulli(p=0.2)
    >>> Bernoulli({"age": 0.5, "smoke": 0.1})
    Bernoulli(p={'age': 0.5, 'smoke': 0.1})
    """

    p: float | tuple[tuple[str, float], ...] | tuple[float, ...] | None
    expected_size: float | None

    def __init__(
        self,
        p: float | Mapping[str, float] | pd.Series | Sequence[float] | None = None,
        *,
        expected_size: float | None = None,
    ) -> None:
        _one_of(p, "p", expected_size, "Bernoulli")
        kept: float | tuple[tuple[str, float], ...] | tuple[float, ...] | None = None
        if p is not None:
            kept = self._check(p)
        object.__setattr__(self, "p", kept)
        size = None if expected_size is None else _check_expected(expected_size, "Bernoulli")
        object.__setattr__(self, "expected_size", size)

    @staticmethod
    def _check(p: object) -> float | tuple[tuple[str, float], ...] | tuple[float, ...]:
        def probability(value: object, name: str) -> float:
            return check_real(value, name, "Bernoulli", low=0.0, high=1.0, open_low=True, open_high=True)

        if isinstance(p, (Mapping, pd.Series)):
            pairs = tuple((str(name), probability(value, f"p[{name!r}]")) for name, value in p.items())
            if len(dict(pairs)) != len(pairs):
                raise ParameterError("The 'p' parameter of Bernoulli must name each term once.")
            return pairs
        if isinstance(p, (Sequence, np.ndarray)) and not isinstance(p, (str, bytes)):
            scalar = isinstance(p, np.ndarray) and p.ndim == 0
            if scalar or any(isinstance(value, (list, tuple, np.ndarray)) for value in p):
                raise bad_value("p", "Bernoulli", "a number, a mapping or a flat sequence of numbers", p)
            return tuple(probability(value, f"p[{j}]") for j, value in enumerate(p))
        return probability(p, "p")

    def __repr__(self) -> str:
        if self.p is None:
            return f"Bernoulli(expected_size={self.expected_size!r})"
        named = isinstance(self.p, tuple) and bool(self.p) and isinstance(self.p[0], tuple)
        return f"Bernoulli(p={dict(self.p) if named else self.p!r})"  # type: ignore[arg-type]

    def _probabilities(self, context: PriorContext) -> FloatArray:
        """Return the inclusion probability of each term before constraints, shape (J,); 1 if not free."""
        names, free = context.names, context.free_mask
        if self.p is None:
            assert self.expected_size is not None
            inside = _expected_within(self.expected_size, "Bernoulli", context) / context.n_free
            values = np.full(len(names), inside)
        elif isinstance(self.p, float):
            values = np.full(len(names), self.p)
        elif self.p and isinstance(self.p[0], tuple):
            given = dict(self.p)
            for name in given:
                if name not in names:
                    raise unknown_name(
                        name, "in the 'p' parameter of Bernoulli the term", context.owner, names
                    )
            missing = [name for name in context.free_names if name not in given]
            if missing:
                raise ParameterError(
                    f"The 'p' parameter of Bernoulli must name every free term of {context.owner}. "
                    f"It lacks {show(missing, 200)}."
                )
            values = np.array([given.get(name, 0.5) for name in names])
        else:
            if len(self.p) != len(names):
                raise ParameterError(
                    f"The 'p' parameter of Bernoulli must have one value for each of the {len(names)} terms "
                    f"of {context.owner}. Got {len(self.p)} values instead."
                )
            values = np.array(self.p, dtype=np.float64)
        return np.where(free, values, 1.0)

    def _tables(self, context: PriorContext) -> tuple[FloatArray, FloatArray]:
        odds = np.zeros(len(context.names))
        free = context.free_mask
        odds[free] = logit(self._probabilities(context)[free])
        return np.zeros(context.n_free + 1), odds

    def _logpmf(self, models: FloatArray, size: FloatArray, context: PriorContext) -> FloatArray:
        p = self._probabilities(context)[context.free_mask]
        result: FloatArray = np.where(models == 1, np.log(p), np.log1p(-p)).sum(axis=1)
        return result


@dataclass(frozen=True, init=False)
class BetaBinomial(ModelPrior):
    """Terms enter with a common probability that has a beta law.

    Parameters
    ----------
    a : float, default 1.0
        First shape of the beta law, above 0.
    b : float, default 1.0
        Second shape, above 0. With ``a = b = 1`` every size is as likely as any other.
    expected_size : float, optional
        In place of `b`: expected number of free terms in the model, before constraints; then
        b = a (J_free - expected_size) / expected_size.

    Raises
    ------
    ParameterError
        If a shape is not above 0, or both `b` and `expected_size` are given.

    Examples
    --------
    >>> from pyrjsel.space import BetaBinomial
    >>> BetaBinomial(1, 1)
    BetaBinomial(a=1.0, b=1.0)
    """

    a: float
    b: float | None
    expected_size: float | None

    def __init__(self, a: float = 1.0, b: float | None = None, *, expected_size: float | None = None) -> None:
        _one_of(b, "b", expected_size, "BetaBinomial", needed=False)
        object.__setattr__(self, "a", check_real(a, "a", "BetaBinomial", low=0.0, open_low=True))
        if expected_size is None:
            second = check_real(1.0 if b is None else b, "b", "BetaBinomial", low=0.0, open_low=True)
            object.__setattr__(self, "b", second)
            object.__setattr__(self, "expected_size", None)
        else:
            object.__setattr__(self, "b", None)
            object.__setattr__(self, "expected_size", _check_expected(expected_size, "BetaBinomial"))

    def __repr__(self) -> str:
        second = f"b={self.b!r}" if self.expected_size is None else f"expected_size={self.expected_size!r}"
        return f"BetaBinomial(a={self.a!r}, {second})"

    def _shapes(self, context: PriorContext) -> tuple[float, float]:
        """Return a and b."""
        if self.b is not None:
            return self.a, self.b
        assert self.expected_size is not None
        size = _expected_within(self.expected_size, "BetaBinomial", context)
        return self.a, self.a * (context.n_free - size) / size

    def _tables(self, context: PriorContext) -> tuple[FloatArray, FloatArray]:
        a, b = self._shapes(context)
        k = np.arange(context.n_free + 1.0)
        return betaln(a + k, b + context.n_free - k) - betaln(a, b), np.zeros(len(context.names))

    def _logpmf(self, models: FloatArray, size: FloatArray, context: PriorContext) -> FloatArray:
        # As a Polya urn: terms join one after another with odds that the earlier ones have shifted.
        a, b = self._shapes(context)
        earlier_in = np.cumsum(models, axis=1) - models
        earlier_out = np.cumsum(1.0 - models, axis=1) - (1.0 - models)
        weight = np.where(models == 1, a + earlier_in, b + earlier_out)
        result: FloatArray = (np.log(weight) - np.log(a + b + earlier_in + earlier_out)).sum(axis=1)
        return result


@dataclass(frozen=True, init=False)
class TruncatedPoisson(ModelPrior):
    """The size of the model is Poisson, cut at the number of free terms.

    Models of one size are equally likely.

    Parameters
    ----------
    mean : float, optional
        Mean lambda of the Poisson law before it is cut, above 0.
    expected_size : float, optional
        In place of `mean`: expected number of free terms in the model, before constraints. Lambda is solved
        for, since the mean of a truncated Poisson law is not its lambda.

    Raises
    ------
    ParameterError
        If `mean` is not above 0, or not exactly one of `mean` and `expected_size` is given.

    Examples
    --------
    >>> from pyrjsel.space import TruncatedPoisson
    >>> TruncatedPoisson(3)
    TruncatedPoisson(mean=3.0)
    """

    mean: float | None
    expected_size: float | None

    def __init__(self, mean: float | None = None, *, expected_size: float | None = None) -> None:
        _one_of(mean, "mean", expected_size, "TruncatedPoisson")
        checked = mean
        if mean is not None:
            checked = check_real(mean, "mean", "TruncatedPoisson", low=0.0, open_low=True)
        object.__setattr__(self, "mean", checked)
        size = None if expected_size is None else _check_expected(expected_size, "TruncatedPoisson")
        object.__setattr__(self, "expected_size", size)

    def __repr__(self) -> str:
        if self.mean is None:
            return f"TruncatedPoisson(expected_size={self.expected_size!r})"
        return f"TruncatedPoisson(mean={self.mean!r})"

    def _rate(self, context: PriorContext) -> float:
        """Return lambda, solved for where the expected size is given."""
        if self.mean is not None:
            return self.mean
        assert self.expected_size is not None
        size = _expected_within(self.expected_size, "TruncatedPoisson", context)
        k = np.arange(context.n_free + 1.0)

        def excess(log_rate: float) -> float:
            weight = k * log_rate - gammaln(k + 1.0)
            return float(np.exp(weight - logsumexp(weight)) @ k) - size

        # The mean is below lambda and grows with it; it comes near J_free only as lambda grows without end.
        low, high = np.log(size), np.log(context.n_free) + 1.0
        while excess(high) < 0.0:
            high += 5.0
        # By halving: it cannot fail, and ends where no number lies between the two ends.
        middle = 0.5 * (low + high)
        while low < middle < high:
            if excess(middle) < 0.0:
                low = middle
            else:
                high = middle
            middle = 0.5 * (low + high)
        return float(np.exp(middle))

    def _tables(self, context: PriorContext) -> tuple[FloatArray, FloatArray]:
        k = np.arange(context.n_free + 1.0)
        size = k * np.log(self._rate(context)) - gammaln(k + 1.0) - log_choose(context.n_free, k)
        return size, np.zeros(len(context.names))

    def _logpmf(self, models: FloatArray, size: FloatArray, context: PriorContext) -> FloatArray:
        n, log_rate = context.n_free, np.log(self._rate(context))
        k = np.arange(n + 1.0)
        # log(lambda^k / k!) and log C(n, k) as running sums, apart from the gamma functions of `tables`.
        mass = np.concatenate([[0.0], np.cumsum(log_rate - np.log(k[1:]))])
        ways = np.concatenate([[0.0], np.cumsum(np.log(n + 1.0 - k[1:]) - np.log(k[1:]))])
        result: FloatArray = (mass - ways - logsumexp(mass))[size.astype(int)]
        return result


@dataclass(frozen=True, init=False)
class CostAdjusted(ModelPrior):
    """Costly terms have lower prior odds, so that the posterior follows a BIC that charges for cost.

    The log prior odds of term j are -1/2 d_j (c_j / c_0 - 1) log n, with d_j its number of columns, c_j its
    cost, c_0 the `baseline` and n the number of observations: a BIC then charges (c_j / c_0) log n for each
    column. Costs are per term here: a variable that two terms share is charged in both. For costs per
    variable use a budget.

    Parameters
    ----------
    costs : mapping or Series of term to float
        Cost of every free term, above 0.
    baseline : float, optional
        The cost c_0 whose terms have even odds, above 0; cheaper terms are favoured. None is the smallest
        cost of a free term.

    Raises
    ------
    ParameterError
        If a cost or `baseline` is not a finite number above 0; when used, if a free term has no cost.
    UnknownNameError
        When used, if a name is not that of a term.

    Examples
    --------
    >>> from pyrjsel.space import CostAdjusted
    >>> CostAdjusted({"age": 0.5, "sbp": 1.0})
    CostAdjusted(costs={'age': 0.5, 'sbp': 1.0})
    >>> CostAdjusted({"sbp": 1.0}, baseline=0.5)
    CostAdjusted(costs={'sbp': 1.0}, baseline=0.5)
    """

    costs: tuple[tuple[str, float], ...]
    baseline: float | None

    def __init__(self, costs: Mapping[str, float] | pd.Series, baseline: float | None = None) -> None:
        if not isinstance(costs, (Mapping, pd.Series)):
            raise bad_value("costs", "CostAdjusted", "a mapping or Series of terms to costs", costs)
        kept = [
            (name, check_real(value, f"costs[{name!r}]", "CostAdjusted", low=0.0, open_low=True))
            for name, value in costs.items()
        ]
        if len(dict(kept)) != len(kept):
            # A Series can name one term twice.
            raise ParameterError("The 'costs' parameter of CostAdjusted must name each term once.")
        if baseline is not None:
            baseline = check_real(baseline, "baseline", "CostAdjusted", low=0.0, open_low=True)
        object.__setattr__(self, "costs", tuple(kept))
        object.__setattr__(self, "baseline", baseline)

    def __repr__(self) -> str:
        baseline = "" if self.baseline is None else f", baseline={self.baseline!r}"
        return f"CostAdjusted(costs={dict(self.costs)!r}{baseline})"

    def _tables(self, context: PriorContext) -> tuple[FloatArray, FloatArray]:
        given = dict(self.costs)
        for name in given:
            if name not in context.names:
                what = "in the 'costs' parameter of CostAdjusted the term"
                raise unknown_name(name, what, context.owner, context.names)
        missing = [name for name in context.free_names if name not in given]
        if missing:
            raise ParameterError(
                f"The 'costs' parameter of CostAdjusted must price every free term of {context.owner}. "
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
                    f"The 'costs' parameter of CostAdjusted must give finite prior odds in {context.owner}. "
                    f"Got costs from {cost.min():g} to {cost.max():g}, and a baseline of {least:g}."
                )
        return np.zeros(context.n_free + 1), odds

    def _logpmf(self, models: FloatArray, size: FloatArray, context: PriorContext) -> FloatArray:
        p = expit(self._tables(context)[1][context.free_mask])
        result: FloatArray = np.where(models == 1, np.log(p), np.log1p(-p)).sum(axis=1)
        return result

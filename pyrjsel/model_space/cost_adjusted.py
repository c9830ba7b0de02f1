"""A prior over models that penalises cost."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from pyrjsel._called import called
from pyrjsel._core import special
from pyrjsel._errors import ParameterError
from pyrjsel._typing import FloatArray
from pyrjsel._validate import bad_value, check_real, show, unknown_name
from pyrjsel.model_space.model_prior import ModelPrior
from pyrjsel.model_space.terms import PriorContext


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

"""The best model under each budget."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from pyrjsel._called import called, warn
from pyrjsel._errors import ConvergenceWarning, ParameterError
from pyrjsel._once import kept_property
from pyrjsel._typing import FloatArray, IntArray
from pyrjsel._validate import bad_value, check_real, listed
from pyrjsel.model_space import BUDGET_TOLERANCE
from pyrjsel.report import plot_frontier, scalar_stats
from pyrjsel.selection.comparable import same_data, same_space
from pyrjsel.selection.evidence.laplace import MarginalLikelihood
from pyrjsel.selection.results.measured.needs import average_note
from pyrjsel.selection.results.tables import PosteriorTables
from pyrjsel.selection.samplers.listing import probability_error

COLUMNS = ["budget", "terms", "size", "cost", "posterior", "mcse", "mass", "deviance"]
# Fewest draws within a budget without a warning: the best of fewer models depends on chance.
FEWEST_DRAWS = 100
# Models are integrated until the others hold less than this proportion of the mass within a budget.
REST = 1e-4


@dataclass(frozen=True, eq=False)
class _Run:
    """The models of a run, by increasing cost.

    Attributes
    ----------
    results : SelectionResults
    row : ndarray of int (m,)
        Rows of these models in the posterior.
    cost, log_mass : ndarray (m,)
        Costs, and log masses up to a constant.
    variance : ndarray (m,) or None
        Relative variances of the masses, NaN for models that are not integrated; None for Laplace's
        approximation, where they are unknown, and for visits, where they are not needed.
    """

    results: PosteriorTables
    row: IntArray
    cost: FloatArray
    log_mass: FloatArray
    variance: FloatArray | None

    @classmethod
    def of(cls, results: PosteriorTables) -> _Run:
        """Sort the models of a run."""
        posterior, space = results.posterior, results.model.space
        variance: FloatArray | None = None
        if posterior.draws is not None:
            cost, log_mass = posterior.draws.model_cost, np.log(posterior.probability)
        else:
            assert posterior.log_marginal is not None
            if not np.isnan(posterior.mcse[0]):
                variance = np.full(posterior.mcse.size, np.nan if posterior.mcse.any() else 0.0)
            gamma = posterior.gamma
            cost = np.asarray(space.cost(gamma))
            # Not the logarithms of the probabilities, which underflow for cheap models with many rows.
            log_mass = posterior.log_marginal + space.log_prior(gamma)
        row = np.argsort(cost, kind="stable")
        return cls(results, row, cost[row], log_mass[row], variance)

    @property
    def drawn(self) -> bool:
        """Whether the models are those visited by chains."""
        return self.results.posterior.draws is not None

    @kept_property
    def best(self) -> IntArray:
        """The best among each model and all cheaper ones, (m,)."""
        top = np.maximum.accumulate(self.log_mass)
        better = np.concatenate([[True], self.log_mass[1:] > top[:-1]])
        return np.maximum.accumulate(np.where(better, np.arange(top.size), 0))

    @kept_property
    def total(self) -> FloatArray:
        """Log of the total mass of each model and all cheaper ones, (m,)."""
        return np.logaddexp.accumulate(self.log_mass)

    @property
    def changes(self) -> FloatArray:
        """Costs at which another model becomes the best."""
        new = np.concatenate([[True], np.diff(self.best) != 0])
        return self.cost[new & np.isfinite(self.total)]

    def allows(self, budget: float) -> bool:
        """Return whether the budget of the run was at least this one."""
        return bool(budget <= self.results.model.space.budget_limit)

    def integrated(self, budgets: FloatArray | None) -> _Run:
        """Return the run with integrals of all relevant models under some budgets, by default at all changes.

        Enumeration has integrated the relevant models under its own budget; the others have Laplace values.
        An integral depends only on the seed of the fit and on the model, so it is the same as in the fit.
        """
        run = self
        while run.variance is not None:
            asked = run.changes if budgets is None else [budget for budget in budgets if run.allows(budget)]
            places = {place for budget in asked for place in run._rough(budget).tolist()}
            if not places:
                break
            run = run._with_integrals(np.array(sorted(places)))
        return run

    def _rough(self, budget: float) -> IntArray:
        """Return models not yet integrated, among those with nearly all mass within a budget."""
        assert self.variance is not None
        mass = self._mass(self.within(budget))
        order = np.argsort(-mass, kind="stable")
        held = order[np.cumsum(mass[order]) - mass[order] < 1.0 - REST]
        return held[np.isnan(self.variance[held])]

    def _with_integrals(self, places: IntArray) -> _Run:
        assert self.variance is not None
        results, log_mass, variance = self.results, self.log_mass.copy(), self.variance.copy()
        marginal = cast(MarginalLikelihood, results._marginal)
        gamma = results.posterior.packed[self.row[places]]
        found = [marginal.integrate(model) for model in gamma]
        log_mass[places] = [integral.log_marginal for integral in found]
        log_mass[places] += results.model.space.log_prior(gamma)
        variance[places] = [integral.variance for integral in found]
        return replace(self, log_mass=log_mass, variance=variance)

    def within(self, budget: float) -> int:
        """Return the number of models within a budget."""
        return int(np.searchsorted(self.cost, _limit(budget), side="right"))

    def _mass(self, count: int) -> FloatArray:
        """Return the probabilities of the `count` cheapest models among these."""
        # Models with linearly dependent columns have no mass, and there may be no others among the cheapest.
        if not count or not np.isfinite(self.total[count - 1]):
            return np.zeros(count)
        return np.exp(self.log_mass[:count] - self.total[count - 1])

    def frontier(self, budget: float) -> dict[str, Any]:
        """Return the row of the frontier for a budget."""
        count = self.within(budget)
        mass = self._mass(count)
        if not mass.any():
            return {"budget": budget, "terms": None, "mass": 0.0}
        results, best = self.results, int(self.best[count - 1])
        gamma = results.posterior.packed[self.row[best]]
        return {
            "budget": budget,
            "terms": results._terms(gamma),
            "size": int(gamma.sum()),
            "cost": float(self.cost[best]),
            "posterior": min(float(mass[best]), 1.0),
            "mcse": self._error(mass, best, budget),
            "mass": float(np.exp(self.total[count - 1] - self.total[-1])),
            "deviance": results._marginal.deviance(gamma),
        }

    def _error(self, mass: FloatArray, best: int, budget: float) -> float:
        """Return the error of the probability of model `best` among the cheapest, which have `mass`."""
        posterior = self.results.posterior
        if posterior.draws is not None:
            inside = posterior.draws.cost <= _limit(budget)
            # Delta method for the ratio of draws in the model to draws within the budget.
            change = (posterior.draws.model == self.row[best]) - mass[best] * inside
            return scalar_stats(change / inside.mean()).mcse
        if self.variance is None:
            return np.nan
        variance = np.nan_to_num(self.variance[: mass.size])
        return float(probability_error(mass, variance)[best])


def _limit(budget: float) -> float:
    """Return the largest cost of a model under a budget, with the tolerance of model spaces."""
    return budget * (1.0 + BUDGET_TOLERANCE)


def draw_frontier(table: pd.DataFrame, ax: Any) -> Any:
    """Plot the deviance of the best model against the budget, from the table of :func:`frontier_table`."""
    drawn, table = "visited" in table.attrs["note"], table.dropna(subset="deviance")
    return plot_frontier(
        table["budget"],
        table["deviance"],
        table["posterior"],
        ax=ax,
        xlabel="Budget (best of the models visited)" if drawn else "Budget",
        ylabel="Deviance of the best model",
    )


def frontier_table(
    results: PosteriorTables,
    budgets: ArrayLike | None,
    others: Sequence[PosteriorTables],
) -> pd.DataFrame:
    """Return the frontier."""
    results._check_priced()
    _check_others(results, others)
    asked = _check_budgets(budgets, (results, *others))
    runs = [_Run.of(run).integrated(asked) for run in (results, *others)]
    runs.sort(key=lambda run: (run.drawn, run.results.model.space.budget))
    chosen = np.unique(np.concatenate([run.changes for run in runs])) if asked is None else asked
    found = [next(run for run in runs if run.allows(budget)) for budget in chosen]
    rows = [run.frontier(float(budget)) for run, budget in zip(found, chosen, strict=True)]
    if asked is None:
        new = [k for k, row in enumerate(rows) if k == 0 or row["terms"] != rows[k - 1]["terms"]]
        rows, found = [rows[k] for k in new], [found[k] for k in new]
    _warn_of_few(rows, found)
    table = pd.DataFrame(rows, columns=COLUMNS)
    # Of the run that covers the largest of these budgets.
    more = average_note(found[-1].results)
    table.attrs["note"] = _note(found) if more is None else f"{_note(found)} {more}"
    return table


def _check_others(results: PosteriorTables, others: object) -> None:
    kind = type(results)
    if not isinstance(others, Sequence) or not all(isinstance(run, kind) for run in others):
        raise bad_value("others", "a sequence of SelectionResults", others)
    for place, run in enumerate(others):
        reason = same_data(results.model, run.model) or same_space(results.model, run.model, budget=False)
        if reason is not None:
            raise ParameterError(
                f"The 'others' parameter of {called()} must hold results of the same data, terms and priors. "
                f"These and others[{place}] have {reason}."
            )


def _check_budgets(budgets: ArrayLike | None, runs: Sequence[PosteriorTables]) -> FloatArray | None:
    """Return the distinct budgets in increasing order, or None if none are given."""
    if budgets is None:
        return None
    asked = [] if isinstance(budgets, str) or not isinstance(budgets, Iterable) else list(budgets)
    if not asked:
        raise bad_value("budgets", "a sequence of numbers, at least one", budgets)
    space = runs[0].model.space
    least = float(space.cost(space.empty_model()))
    most = max(run.model.space.budget for run in runs)
    low = least / (1.0 + BUDGET_TOLERANCE)
    values = [check_real(value, "budgets", low=low) for value in asked]
    if max(values) > _limit(most):
        raise ParameterError(
            f"The 'budgets' parameter of {called()} must be at most the budget of the fit, {most:g}: "
            f"what more would buy is unknown. Got {max(values):g} instead."
        )
    return np.unique(values)


def _warn_of_few(rows: list[dict[str, Any]], runs: list[_Run]) -> None:
    """Warn of budgets with few draws."""
    few = []
    for row, run in zip(rows, runs, strict=True):
        draws = run.results.posterior.draws
        if draws is not None and round(row["mass"] * draws.model.size) < FEWEST_DRAWS:
            few.append(f"{row['budget']:g} ({round(row['mass'] * draws.model.size)})")
    if few:
        warn(
            f"Fewer than {FEWEST_DRAWS} draws are within these budgets: {listed(few)}. The best models there "
            "rest on few draws: fit under such a budget, and pass the results in 'others'.",
            ConvergenceWarning,
        )


def _note(runs: list[_Run]) -> str:
    """Return a note on the source of the figures."""
    drawn = {run.results.sampler for run in runs if run.drawn}
    if not drawn:
        rough = any(run.variance is None for run in runs)
        by = ", by Laplace's approximation, whose error is unknown" if rough else ""
        return f"From all feasible models{by}."
    return (
        f"From the models that sampler={listed([repr(name) for name in sorted(drawn)])} visited: "
        "proportions of the draws within each budget. A better model may not have been visited."
    )

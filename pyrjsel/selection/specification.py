"""User-specified priors and constraints; can be restricted to a subset of terms."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Mapping
from dataclasses import dataclass, replace

import pandas as pd

from pyrjsel.distributions import InverseGamma
from pyrjsel.families import Family
from pyrjsel.model_space import ModelPrior, PriorContext
from pyrjsel.selection.priors.base import CoefficientPrior

# A smaller g of all models stands for 0, the bound of its range.
LEAST_G = 1e-8


@dataclass(frozen=True)
class Choices:
    """Priors and constraints as they were given.

    Attributes
    ----------
    coef_prior, model_prior, costs, budget, always, heredity, max_size
        As for the classes of models.
    known : tuple
        Columns of the data.
    sigma_prior
        As for gaussian models; None for other families.
    family
        The family with what the user chose of it; None for families without a choice.
    """

    coef_prior: CoefficientPrior | None
    model_prior: ModelPrior | None
    costs: Mapping[str, float] | pd.Series | None
    budget: float | None
    always: str | Iterable[str]
    heredity: str | None
    max_size: int | None
    known: tuple[Hashable, ...] = ()
    sigma_prior: InverseGamma | None = None
    family: Family | None = None

    def restrict(self, context: PriorContext, keep: Collection[str]) -> Choices:
        """Return the choices for the terms `keep` of `context`, which include those in `always`."""
        prior, costs = self.model_prior, self.costs
        if costs is not None:
            # Costs of other terms are dropped; costs of unused variables are harmless.
            gone = set(context.names).difference(keep, map(str, self.known))
            costs = {str(name): cost for name, cost in costs.items() if name not in gone}
        return replace(
            self, model_prior=None if prior is None else prior.restrict(context, keep), costs=costs
        )

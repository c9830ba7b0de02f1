"""Description of a model space: its constraints, and the number of models that satisfy them."""

from collections.abc import Sequence
from decimal import Decimal

import numpy as np
import pandas as pd

from pyrjsel._errors import NotAvailableError
from pyrjsel._once import kept_property
from pyrjsel._validate import listed
from pyrjsel.model_space.counting import PriorInclusion, count_models, prior_inclusion
from pyrjsel.model_space.sampling import Existence
from pyrjsel.model_space.sizes import PriorSizes, prior_sizes
from pyrjsel.model_space.space import ModelSpace


class OverSpace:
    """Base class of models over subsets of terms."""

    space: ModelSpace

    @property
    def term_names(self) -> Sequence[str]:
        """Names of the J terms."""
        return self.space.names

    @kept_property
    def prior_inclusion(self) -> PriorInclusion:
        """Prior inclusion probabilities under the constraints, over the models that exist."""
        return prior_inclusion(self.space, 0, self._existence)

    @property
    def _existence(self) -> Existence | None:
        """Which models exist, if some feasible models do not."""
        return None

    @kept_property
    def _prior_sizes(self) -> PriorSizes:
        return prior_sizes(self.space, np.random.default_rng(0), self._existence)

    def prior_sizes(self) -> pd.DataFrame:
        """Return the prior probabilities of the number of terms, under the constraints.

        Returns
        -------
        DataFrame
            By ``size``, including terms that are always included: ``prior``, and its Monte Carlo standard
            error ``mcse``, 0 if exact. Sizes that are not listed have prior probability 0.

        Examples
        --------
        >>> import pyrjsel as rj
        >>> births = rj.datasets.birthwt().data
        >>> model = rj.logit("low ~ age * smoke", births, heredity="strong")
        >>> model.prior_sizes()["prior"].round(3).to_dict()
        {0: 0.333, 1: 0.333, 2: 0.167, 3: 0.167}
        """
        prior = self._prior_sizes
        table = pd.DataFrame({"prior": prior.probability, "mcse": prior.mcse})
        table.index.name = "size"
        possible = np.flatnonzero(table["prior"] != 0)
        return table.iloc[possible.min() : possible.max() + 1]

    def count_models(self) -> int:
        """Return the number of models that satisfy the constraints.

        Returns
        -------
        int
            Exact, however large.

        Raises
        ------
        NotAvailableError
            If they cannot be counted: too many terms share variables or are tied by
            heredity, or costs have no common unit.
        """
        count = count_models(self.space)
        if count is None:
            raise NotAvailableError(
                "The feasible models of this space cannot be counted: too many terms depend on each other "
                "through shared variables or heredity, or their prices have no common unit."
            )
        return count


def space_facts(space: ModelSpace, count: int | None, terms: str = "Terms") -> list[tuple[str, str]]:
    """Return labels and values on terms and constraints.

    Parameters
    ----------
    space : ModelSpace
        The space.
    count : int or None
        Number of feasible models, None if not counted.
    terms : str, default "Terms"
        Label for the terms.

    Returns
    -------
    list of (str, str)
        Facts; constraints that are not in force are omitted.
    """
    facts = [(terms, str(space.n_terms))]
    if space.n_free < space.n_terms:
        always = [name for name, free in zip(space.names, space.free, strict=True) if not free]
        facts.append(("Always in", listed(always)))
    if np.isfinite(space.budget):
        facts.append(("Budget", f"{space.budget:g}"))
    if space.heredity:
        facts.append(("Heredity", space.heredity))
    if space.max_size < space.n_terms:
        facts.append(("Largest size", str(space.max_size)))
    return [*facts, ("Feasible models", "not counted" if count is None else _whole(count))]


def _whole(count: int) -> str:
    # 2**1024 models and more exceed the range of floats.
    return f"{count:,}" if count < 10**12 else f"{Decimal(count):.3g}"

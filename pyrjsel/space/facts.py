"""What is said of a space in summaries: constraints, and how many models satisfy them."""

from decimal import Decimal

import numpy as np

from pyrjsel._errors import NotAvailableError
from pyrjsel._validate import listed
from pyrjsel.space.counting import count_models
from pyrjsel.space.space import ModelSpace


def known_count(space: ModelSpace) -> int:
    """Return the number of feasible models.

    Parameters
    ----------
    space : ModelSpace
        The space.

    Returns
    -------
    int
        Exact, however large.

    Raises
    ------
    NotAvailableError
        If they cannot be counted.
    """
    count = count_models(space)
    if count is None:
        raise NotAvailableError(
            "The feasible models of this space cannot be counted: too many of its terms hang together "
            "through shared variables or heredity, or their prices have no common unit."
        )
    return count


def space_facts(space: ModelSpace, terms: str = "Terms") -> list[tuple[str, str]]:
    """Return labels and values on terms and constraints.

    Parameters
    ----------
    space : ModelSpace
        The space.
    terms : str, default "Terms"
        What its terms are called.

    Returns
    -------
    list of (str, str)
        Only of the constraints that there are.
    """
    count = count_models(space)
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
    # 2**1024 models and more are no floats.
    return f"{count:,}" if count < 10**12 else f"{Decimal(count):.3g}"

"""Bounds that no term meets."""

import numpy as np

from pyrjsel._validate import bad_value
from pyrjsel.model_space.space import ModelSpace


def check_bounds(space: ModelSpace) -> None:
    """Raise :class:`ParameterError` if a largest size or a budget leaves the model without terms alone.

    Terms that are always in meet the bounds, which has been checked by then; others need not.

    Parameters
    ----------
    space : ModelSpace
        The space that a user asks for.

    Raises
    ------
    ParameterError
        If there are terms, none is always in, and none can be in a model.
    """
    if not space.n_terms or not space.free.all():
        return
    if space.max_size == 0:
        raise bad_value("max_size", space.owner, "an int of at least 1, or no term can be in a model", 0)
    if not np.isfinite(space.budget):
        return
    # A model with terms that heredity allows has one without parents, and costs as much at least.
    roots = [term for term in range(space.n_terms) if not len(space.parents_of(term))]
    costs = space.term_costs()[roots]
    cheapest = int(costs.argmin())
    least = costs[cheapest]
    if least > space.budget_limit:
        must = (
            f"at least {least:.12g}, what the cheapest term costs ({space.names[roots[cheapest]]}), "
            "or no term can be in a model"
        )
        raise bad_value("budget", space.owner, must, space.budget)

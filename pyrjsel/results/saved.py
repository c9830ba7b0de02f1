"""Constraints, options and pairs of strings of saved results, common to all kinds of models."""

from collections.abc import Iterable, Mapping
from dataclasses import fields
from typing import Any

import pandas as pd

from pyrjsel._errors import PyrjselError
from pyrjsel.model_space import PRIOR_MAKERS, ModelPrior
from pyrjsel.storage import Content, Plain, described


def pairs_from_plain(content: Content, name: str) -> list[tuple[str, str]]:
    """Return pairs of strings by their name.

    Raises
    ------
    StoreError
        If the content is invalid.
    """
    found = content.sequence(name, (list,))
    if not all(len(pair) == 2 and all(isinstance(part, str) for part in pair) for pair in found):
        raise content.wrong(name, "pairs of text")
    return [(pair[0], pair[1]) for pair in found]


def options_from_plain(content: Content, kind: type[Any]) -> Any:
    """Return the options of a sampler.

    Raises
    ------
    StoreError
        If the content is invalid.
    """
    given = {name: described(value, {}) for name, value in content.part("options").items()}
    if set(given) != {item.name for item in fields(kind)}:
        raise content.wrong("options", "all those of the sampler")
    try:
        return kind(**given)
    except (PyrjselError, TypeError) as error:
        raise content.wrong("options", "those of the sampler") from error


def model_prior_from_plain(content: Content) -> ModelPrior:
    """Return the prior over models.

    Raises
    ------
    StoreError
        If the content is invalid.
    """
    found = described(content.plain("model_prior"), PRIOR_MAKERS)
    if not isinstance(found, ModelPrior):
        raise content.wrong("model_prior", "a prior over models")
    return found


def constraints_to_plain(
    costs: Mapping[Any, float] | pd.Series | None,
    budget: float | None,
    always: Iterable[str],
    max_size: int | None,
    known: Iterable[Any],
) -> dict[str, Plain]:
    """Return the constraints of a space as plain data; `known` are the columns that may have costs."""
    return {
        "costs": None if costs is None else {str(name): float(cost) for name, cost in costs.items()},
        "budget": None if budget is None else float(budget),
        "always": list(always),
        "max_size": None if max_size is None else int(max_size),
        "known": [str(name) for name in known],
    }


def constraints_from_plain(content: Content) -> dict[str, Any]:
    """Return the constraints that :func:`constraints_to_plain` wrote.

    Raises
    ------
    StoreError
        If the content is invalid.
    """
    costs = None
    if "costs" in content:
        prices = content.part("costs")
        costs = {name: prices.number(name) for name, _ in prices.items()}
    return {
        "costs": costs,
        "budget": content.number("budget") if "budget" in content else None,
        "always": tuple(content.sequence("always")),
        "max_size": content.integer("max_size") if "max_size" in content else None,
        "known": tuple(content.sequence("known")),
    }

"""States of chains as plain data, without what rows hold, and back with checks."""

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

import numpy as np

from pyrjsel._errors import StoreError
from pyrjsel.mixture.problem import MixtureProblem
from pyrjsel.store import Content, Plain


def state_to_plain(state: Any, problem: MixtureProblem) -> Plain:
    """Return a state; of inputs and classes what is imputed alone, since the rest are the rows themselves."""
    gaps, unlabelled = np.isnan(problem.z).T, problem.label < 0
    return {**vars(state), "z": state.z[gaps], "klass": state.klass[unlabelled]}


def state_from_plain(content: Content, like: Any, problem: MixtureProblem) -> Any:
    """Return what :func:`state_to_plain` made plain data of.

    Parameters
    ----------
    content : Content
    like : MixtureState
        Any state of the same problem: what there is in one, and of what shape.
    problem : MixtureProblem

    Raises
    ------
    StoreError
        If it is not the state of a chain of this problem.
    """
    gaps, unlabelled = np.isnan(problem.z).T, problem.label < 0
    expected = state_to_plain(like, problem)
    assert isinstance(expected, Mapping)
    found = {item.name: _read(content, item.name, expected[item.name]) for item in fields(like)}
    z, klass = problem.z.T.copy(), problem.label.copy()
    z[gaps], klass[unlabelled] = found["z"], found["klass"]
    state = replace(like, **{**found, "z": z, "klass": klass})
    kernels, classes = problem.components, problem.n_classes
    for name, high in (("kernel", kernels), ("klass", classes), ("gamma", 2)):
        values = getattr(state, name)
        if values.size and not (values.min() >= 0 and values.max() < high):
            raise content.wrong(name, f"numbers from 0 to {high - 1}")
    reason = problem.space.why_infeasible(state.gamma)
    if reason is not None:
        raise StoreError(f"'gamma' is no subset of the space: {reason}")
    for name in ("beta", "precision"):
        if not (getattr(state, name) > 0).all():
            raise content.wrong(name, "positive")
    for name in ("weight", "prior"):
        # Sums of a few numbers below 1, which a division has made.
        if (getattr(state, name) < 0).any() or (abs(getattr(state, name).sum(axis=-1) - 1.0) > 1e-9).any():
            raise content.wrong(name, "probabilities")
    return state


def _read(content: Content, name: str, like: Any) -> Any:
    """Return a part of a state that is like another."""
    if isinstance(like, np.ndarray):
        # Gaps that are not imputed, under backgrounds that need not, stay gaps.
        gaps = name == "z" and bool(np.isnan(like).any())
        found = content.array(name, like.dtype, like.shape, finite=not gaps)
        if gaps and not np.isnan(found).all():
            raise content.wrong(name, "gaps")
        return found
    if isinstance(like, Mapping):
        return content.pcg64(name)
    return content.integer(name) if isinstance(like, int) else content.number(name)

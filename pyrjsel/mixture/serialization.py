"""States of chains as plain data, without what rows hold, and back with checks."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from pyrjsel._errors import StoreError
from pyrjsel.mixture.problem import MixtureProblem
from pyrjsel.storage import Content, Plain


def state_to_plain(state: Any, problem: MixtureProblem) -> Plain:
    """Return a state; of classes those that are drawn alone, since the rest are the rows themselves."""
    return {**vars(state), "replicas": [_replica_to_plain(each, problem) for each in state.replicas]}


def state_from_plain(content: Content, like: Any, problem: MixtureProblem) -> Any:
    """Return what :func:`state_to_plain` made plain data of.

    Parameters
    ----------
    content : Content
    like : MixtureState
        Any state of the same problem and options: what there is in one, and of what shape.
    problem : MixtureProblem

    Raises
    ------
    StoreError
        If it is not the state of a chain of this problem.
    """
    parts = list(content.parts("replicas"))
    if len(parts) != len(like.replicas):
        raise content.wrong("replicas", f"the states of {len(like.replicas)} replicas")
    replicas = [_replica(part, each, problem) for part, each in zip(parts, like.replicas, strict=True)]
    found = {name: _read(content, name, value) for name, value in vars(like).items() if name != "replicas"}
    powers = found["powers"]
    if powers[0] != 1.0 or (powers <= 0).any() or (np.diff(powers) >= 0).any():
        raise content.wrong("powers", "falling powers from 1 on")
    return replace(like, **found, replicas=replicas)


def _replica_to_plain(replica: Any, problem: MixtureProblem) -> dict[str, Any]:
    found = {name: value for name, value in vars(replica).items() if name != "steps" or not problem.joint}
    return {**found, "klass": replica.klass[problem.label < 0] if problem.joint else replica.klass}


def _replica(content: Content, like: Any, problem: MixtureProblem) -> Any:
    expected = _replica_to_plain(like, problem)
    found = {name: _read(content, name, value) for name, value in expected.items()}
    if problem.joint:
        klass = problem.label.copy()
        klass[problem.label < 0] = found["klass"]
        found["klass"] = klass
    replica = replace(like, **found)
    for name, high in (("kernel", problem.components), ("klass", problem.n_classes), ("gamma", 2)):
        values = getattr(replica, name)
        if values.size and not (values.min() >= 0 and values.max() < high):
            raise content.wrong(name, f"numbers from 0 to {high - 1}")
    reason = problem.space.why_infeasible(replica.gamma)
    if reason is not None:
        raise StoreError(f"'gamma' is no subset of the space: {reason}")
    for name in ("beta", "precision", "steps"):
        if not (getattr(replica, name) > 0).all():
            raise content.wrong(name, "positive")
    for name in ("weight", "prior"):
        # Sums of a few numbers below 1, which a division has made.
        if (getattr(replica, name) < 0).any() or (
            abs(getattr(replica, name).sum(axis=-1) - 1.0) > 1e-9
        ).any():
            raise content.wrong(name, "probabilities")
    return replica


def _read(content: Content, name: str, like: Any) -> Any:
    """Return a part of a state that is like another."""
    if isinstance(like, np.ndarray):
        return content.array(name, like.dtype, like.shape, finite=True)
    if isinstance(like, Mapping):
        return content.pcg64(name)
    return content.integer(name) if isinstance(like, int) else content.number(name)

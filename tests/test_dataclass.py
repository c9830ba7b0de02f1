"""Frozen dataclasses of the package behave as those of the standard library."""

import copy
import dataclasses
import inspect
import operator
import pickle
from dataclasses import field
from typing import ClassVar

import numpy as np
import pytest

from pyrjsel._dataclass import _Init, dataclass


def classes(dataclass):
    """Return one class of each kind that the package has, made by a decorator."""

    @dataclass(frozen=True)
    class Plain:
        """Has defaults, a factory, a derived field, and one that is neither compared nor shown."""

        a: int
        b: float = 2.0
        shared: ClassVar[int] = 3
        made: list[int] = field(default_factory=list)
        twice: int = field(init=False)
        note: str = field(default="", compare=False, repr=False)
        named: int = field(default=7, kw_only=True)
        fresh: dict[str, int] = field(init=False, default_factory=dict)

        def __post_init__(self):
            object.__setattr__(self, "twice", 2 * self.a)

    @dataclass(frozen=True)
    class Child(Plain):
        """Adds fields and changes a default."""

        b: float = 5.0
        c: tuple[int, ...] = ()

    @dataclass(frozen=True, eq=False)
    class Same(Plain):
        """Is compared as its parent is."""

        d: int = 1

    @dataclass(frozen=True, eq=False, repr=False)
    class Bare:
        """Has no comparison, and a text of its own."""

        a: object

        def __repr__(self):
            return "bare"

    @dataclass(frozen=True, kw_only=True)
    class Named:
        """Takes names alone."""

        a: int
        b: int = 1

    @dataclass(frozen=True, init=False)
    class Own:
        """Writes its own methods."""

        a: int

        def __init__(self, value):
            object.__setattr__(self, "a", value + 1)

        def __eq__(self, other):
            return abs(self.a - other.a) < 2

    @dataclass(frozen=True)
    class Empty:
        """Has no fields."""

    @dataclass
    class Open:
        """Can be changed."""

        a: int = 1

    class Loose(Plain):
        """No dataclass itself."""

    kinds = (Plain, Child, Same, Bare, Named, Own, Empty, Open, Loose)
    return {kind.__name__: kind for kind in kinds}


OURS, THEIRS = classes(dataclass), classes(dataclasses.dataclass)
CALLS = {
    "Plain": [
        ((1,), {}),
        ((1, 3.0, [4]), {"named": 2}),
        ((1,), {"note": "x"}),
        ((), {}),
        ((1, 2, [], "", 7), {}),
    ],
    "Child": [((1,), {}), ((1,), {"c": (1, 2)}), ((1, 5.0), {"x": 1})],
    "Same": [((1,), {}), ((1,), {"d": 2}), ((2,), {"d": 2})],
    "Bare": [((np.zeros(2),), {}), ((1,), {})],
    "Named": [((), {"a": 1}), ((), {"a": 1, "b": 2}), ((1,), {})],
    "Own": [((1,), {}), ((2,), {}), ((9,), {})],
    "Empty": [((), {}), ((1,), {})],
    "Open": [((), {}), ((2,), {})],
    "Loose": [((1,), {}), ((2,), {})],
}


def outcome(act, *args, **named):
    """Return what a call gives, or the kind and text of its error."""
    try:
        return act(*args, **named)
    except (TypeError, ValueError, AttributeError) as error:  # a FrozenInstanceError is the last
        return type(error), str(error).replace("classes.<locals>.", "")


def described(value):
    return value if isinstance(value, tuple) else (repr(value), vars(value))


def compared(values):
    """Return which values equal one another and their copies, and whether copies have the same hash."""
    same = [outcome(operator.eq, a, b) for a in values for b in [*values, copy.copy(a)]]
    return same, [outcome(lambda a: hash(a) == hash(copy.copy(a)), a) for a in values]


@pytest.mark.parametrize("name", OURS)
def test_all_is_as_in_the_standard_library(name):
    ours, theirs = OURS[name], THEIRS[name]
    assert str(inspect.signature(ours)) == str(inspect.signature(theirs))
    assert [f.name for f in dataclasses.fields(ours)] == [f.name for f in dataclasses.fields(theirs)]
    assert ours.__match_args__ == theirs.__match_args__
    made = [outcome(ours, *args, **named) for args, named in CALLS[name]]
    want = [outcome(theirs, *args, **named) for args, named in CALLS[name]]
    for one, other in zip(made, want, strict=True):
        np.testing.assert_equal(described(one), described(other))
    assert compared(made) == compared(want)


@pytest.mark.parametrize("name", ["a", "other"])
@pytest.mark.parametrize("kind", ["Plain", "Child", "Bare", "Open", "Loose"])
def test_values_are_refused_as_in_the_standard_library(kind, name):
    ours, theirs = (kinds[kind](1) for kinds in (OURS, THEIRS))
    for act, *values in ((setattr, name, 2), (delattr, name)):
        assert outcome(act, ours, *values) == outcome(act, theirs, *values)
        np.testing.assert_equal(vars(ours), vars(theirs))


def test_replacement():
    one = OURS["Named"](a=1)
    assert dataclasses.replace(one, b=4) == OURS["Named"](a=1, b=4)
    with pytest.raises(TypeError):
        dataclasses.replace(one, c=1)


@dataclass(frozen=True)
class Pickled:
    """Of this module, where pickle finds it."""

    a: tuple[int, ...] = (1,)


def test_a_class_that_nobody_has_called():
    """Its ``__init__`` is made at the first call; copies made by pickle do without it."""
    assert isinstance(vars(Pickled)["__init__"], _Init)
    raw = Pickled.__new__(Pickled)
    object.__setattr__(raw, "a", (2,))
    copied = pickle.loads(pickle.dumps(raw))
    assert (copied, hash(copied)) == (raw, hash(raw))
    assert repr(copied) == "Pickled(a=(2,))"
    assert isinstance(vars(Pickled)["__init__"], _Init)
    assert Pickled() == Pickled((1,))
    assert not isinstance(vars(Pickled)["__init__"], _Init)


def test_a_text_that_contains_itself():
    items = []
    one = OURS["Bare"](items), OURS["Plain"](1, made=items)
    items.append(one[1])
    assert "made=[...]" in repr(one[1])

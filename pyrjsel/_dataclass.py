"""Dataclasses that take little to define.

`dataclasses` compiles up to six methods of each class as it is defined, which took half of the time to import
this package. Frozen classes share them here, and the ``__init__`` of each is compiled when first looked up.
Their subclasses are to be made by the same decorator.
"""

import dataclasses
import sys
from collections.abc import Callable
from functools import partial
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any


class _Factory:
    """Default of a parameter whose value a factory makes."""

    def __repr__(self) -> str:
        return "<factory>"


FACTORY = _Factory()


class _Init:
    """The ``__init__`` of a class until it is first looked up."""

    def __init__(self, owner: Any) -> None:
        self._owner = owner

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        made = _init(self._owner)  # of two threads that come here at once each makes one
        self._owner.__init__ = made
        return made.__get__(instance, owner)


def _init(cls: Any) -> Callable[..., None]:
    """Return the ``__init__`` of a frozen class, as `dataclasses` would make it."""
    names: dict[str, Any] = {"_set": object.__setattr__, "_factory": FACTORY}
    positional, named, body = ["self"], ["*"], []
    for field in dataclasses.fields(cls):
        name, default = field.name, field.default
        value = name
        if field.default_factory is not dataclasses.MISSING:
            names[f"_make_{name}"], default = field.default_factory, FACTORY
            value = f"_make_{name}() if {name} is _factory else {name}" if field.init else f"_make_{name}()"
        if field.init:
            names[f"_default_{name}"] = default
            given = "" if default is dataclasses.MISSING else f"=_default_{name}"
            (named if field.kw_only else positional).append(name + given)
        if field.init or default is FACTORY:
            body.append(f"_set(self, {name!r}, {value})")
    if hasattr(cls, "__post_init__"):
        body.append("self.__post_init__()")
    parameters = ", ".join(positional + (named if len(named) > 1 else []))
    lines = [
        f"def _make({', '.join(names)}):",
        f"  def __init__({parameters}):",
        *(f"    {line}" for line in body or ["pass"]),
        "  return __init__",
    ]
    # In the names of its module, where errors look for what the user called.
    scope: dict[str, Any] = {}
    exec("\n".join(lines), vars(sys.modules[cls.__module__]), scope)  # noqa: S102 - names of fields alone
    made: Callable[..., None] = scope["_make"](**names)
    made.__qualname__ = f"{cls.__qualname__}.__init__"
    made.__annotations__ = {f.name: f.type for f in dataclasses.fields(cls) if f.init} | {"return": None}
    return made


def _refuse(self: Any, name: str, what: str) -> None:
    """Raise an error for a field, and for any name in a class that is a dataclass itself."""
    if "__dataclass_fields__" in vars(type(self)) or name in self.__dataclass_fields__:
        raise dataclasses.FrozenInstanceError(f"cannot {what} field {name!r}")


def _assign(self: Any, name: str, value: object) -> None:
    _refuse(self, name, "assign to")
    object.__setattr__(self, name, value)


def _delete(self: Any, name: str) -> None:
    _refuse(self, name, "delete")
    object.__delattr__(self, name)


def _compared(self: Any) -> tuple[Any, ...]:
    return tuple([getattr(self, name) for name in self.__compared_fields__])


def _equal(self: Any, other: object) -> Any:
    return _compared(self) == _compared(other) if other.__class__ is self.__class__ else NotImplemented


def _hash(self: Any) -> int:
    return hash(_compared(self))


@recursive_repr()
def _show(self: Any) -> str:
    values = ", ".join([f"{name}={getattr(self, name)!r}" for name in self.__shown_fields__])
    return f"{type(self).__qualname__}({values})"


if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass  # noqa: PLC0414 - read from here by the other modules
else:

    def dataclass(cls=None, /, *, frozen=False, init=True, repr=True, eq=True, **options):  # noqa: A002
        """Make a class a dataclass, by the options of `dataclasses.dataclass`."""
        if cls is None:
            return partial(dataclass, frozen=frozen, init=init, repr=repr, eq=eq, **options)
        if not frozen or options.get("slots"):
            return dataclasses.dataclass(cls, frozen=frozen, init=init, repr=repr, eq=eq, **options)
        dataclasses.dataclass(cls, init=False, repr=False, eq=False, **options)
        own, fields = vars(cls), dataclasses.fields(cls)
        cls.__setattr__, cls.__delattr__ = _assign, _delete
        if init and "__init__" not in own:
            cls.__init__ = _Init(cls)
        if repr and "__repr__" not in own:
            cls.__repr__, cls.__shown_fields__ = _show, tuple([f.name for f in fields if f.repr])
        if eq:
            if own.get("__hash__") is None:  # also where the class has an `__eq__` of its own
                cls.__hash__ = _hash
            if "__eq__" not in own:
                cls.__eq__ = _equal
            cls.__compared_fields__ = tuple([f.name for f in fields if f.compare])
        return cls

"""Values that objects make once however many threads ask, and methods that one thread enters at a time."""

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property, wraps
from typing import Any, Concatenate, ParamSpec, Self, TypeVar, overload

Owner = TypeVar("Owner")
Value = TypeVar("Value")
Parameters = ParamSpec("Parameters")


class _Turn:
    """A lock, and how many threads hold it or wait for it."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.users = 0


# Locks are here while they are used, and never in the objects: these can be pickled at any time.
_guard = threading.Lock()
_turns: dict[tuple[int, str], _Turn] = {}

if hasattr(os, "register_at_fork"):
    # A forked process has one thread: locks that others held would never be free again.
    os.register_at_fork(before=_guard.acquire, after_in_parent=_guard.release)
    os.register_at_fork(after_in_child=_turns.clear)
    os.register_at_fork(after_in_child=_guard.release)


@contextmanager
def turn(owner: object, place: str) -> Iterator[None]:
    """Context manager: of all threads one at a time is inside for a place of an object.

    A thread that is inside may enter again. Places that need each other must do so in one direction only.

    Parameters
    ----------
    owner : object
        The object; told from others by its identity.
    place : str
        What is made or used there.

    Yields
    ------
    None
        To the thread whose turn it is.

    Examples
    --------
    >>> with turn("an object", "its workspace"):
    ...     pass
    """
    key = (id(owner), place)
    with _guard:
        mine = _turns.setdefault(key, _Turn())
        mine.users += 1
    try:
        with mine.lock:
            yield
    finally:
        with _guard:
            mine.users -= 1
            if not mine.users:
                _turns.pop(key, None)


def alone(
    place: str,
) -> Callable[
    [Callable[Concatenate[Owner, Parameters], Value]], Callable[Concatenate[Owner, Parameters], Value]
]:
    """Return a decorator of methods that use a workspace of their object: one thread at a time.

    Parameters
    ----------
    place : str
        The workspace; all methods that name it wait for each other.

    Returns
    -------
    callable
        The decorator.
    """

    def decorate(
        method: Callable[Concatenate[Owner, Parameters], Value],
    ) -> Callable[Concatenate[Owner, Parameters], Value]:
        @wraps(method)
        def wait(self: Owner, /, *args: Parameters.args, **named: Parameters.kwargs) -> Value:
            with turn(self, place):
                return method(self, *args, **named)

        return wait

    return decorate


def state_of(self: Any) -> dict[str, Any]:
    """Return what is pickled of an object that keeps values: another thread may add one meanwhile."""
    state: dict[str, Any] = self.__dict__.copy()
    return state


# Of all threads one at a time watches or silences warnings: the filters are those of the whole process.
catching_warnings = threading.RLock()


class kept_property(cached_property[Value]):  # noqa: N801 - used like ``property``
    """A property that is worked out at the first look and kept in the object's ``__dict__``.

    As ``functools.cached_property``, but that from Python 3.12 on lets several threads work out the same, and
    before had those of all objects wait for each other.

    Parameters
    ----------
    func : callable
        A method without parameters.

    Examples
    --------
    >>> class Circle:
    ...     def __init__(self, radius):
    ...         self.radius = radius
    ...
    ...     @kept_property
    ...     def area(self):
    ...         print("once")
    ...         return 3 * self.radius**2
    >>> circle = Circle(2)
    >>> circle.area + circle.area
    once
    24
    """

    def __set_name__(self, owner: Any, name: str) -> None:
        super().__set_name__(owner, name)
        if owner.__getstate__ is object.__getstate__:
            owner.__getstate__ = state_of

    @overload
    def __get__(self, instance: None, owner: type[Any] | None = None) -> Self: ...

    @overload
    def __get__(self, instance: object, owner: type[Any] | None = None) -> Value: ...

    def __get__(self, instance: object, owner: type[Any] | None = None) -> Self | Value:
        # Called only while the object has nothing of this name: what is in its __dict__ comes first.
        if instance is None:
            return self
        name = self.func.__name__
        with turn(instance, name):
            held = instance.__dict__
            if name not in held:
                held[name] = self.func(instance)
            value: Value = held[name]
            return value

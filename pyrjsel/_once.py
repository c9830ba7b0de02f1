"""Properties that are computed once, and methods that one thread enters at a time."""

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
    """A lock, and the number of threads that hold it or wait for it."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.users = 0


# Locks exist here only while they are used, and never in the objects, which must stay picklable.
_guard = threading.Lock()
_turns: dict[tuple[int, str], _Turn] = {}

if hasattr(os, "register_at_fork"):
    # A forked process has one thread: locks held by other threads would never be released.
    os.register_at_fork(before=_guard.acquire, after_in_parent=_guard.release)
    os.register_at_fork(after_in_child=_turns.clear)
    os.register_at_fork(after_in_child=_guard.release)


@contextmanager
def turn(owner: object, place: str) -> Iterator[None]:
    """Context manager: only one thread at a time is inside, for each object and place.

    A thread that is inside may enter again. Places that depend on each other must do so in one direction
    only.

    Parameters
    ----------
    owner : object
        The object, identified by ``id``.
    place : str
        Name of the property or workspace that is protected.

    Yields
    ------
    None
        While this thread holds the lock.

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
    """Return a decorator for methods that share a workspace of their object: one thread at a time.

    Parameters
    ----------
    place : str
        The workspace; all methods that name it exclude each other.

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
    """Return the state to pickle of an object with cached properties, to which other threads may add."""
    state: dict[str, Any] = self.__dict__.copy()
    return state


# One thread at a time records or silences warnings: the filters belong to the whole process.
catching_warnings = threading.RLock()


class kept_property(cached_property[Value]):  # noqa: N801 - used like ``property``
    """A property that is computed on first access and cached in the object's ``__dict__``.

    Unlike ``functools.cached_property``, which from Python 3.12 on lets several threads compute the same
    value and before that made all objects wait for each other, each value is computed once and objects do not
    wait.

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
        # Called only while the object has no value of this name: an entry of __dict__ takes precedence.
        if instance is None:
            return self
        name = self.func.__name__
        with turn(instance, name):
            held = instance.__dict__
            if name not in held:
                held[name] = self.func(instance)
            value: Value = held[name]
            return value

"""Modules, and names of a package, that are imported when they are first used."""

import gc
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any


@contextmanager
def _no_collection() -> Iterator[None]:
    """Look for no garbage meanwhile: what modules define stays until the end."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


class late:  # noqa: N801 - used in place of an import
    """A module that is imported when a name of it is first used.

    For type checkers it is imported as others are, under ``TYPE_CHECKING``.

    Parameters
    ----------
    module : str
        Its full name.

    Examples
    --------
    >>> fractions = late("fractions")
    >>> fractions.Fraction(2, 4)
    Fraction(1, 2)
    """

    def __init__(self, module: str) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Any:
        with _no_collection():
            value = getattr(import_module(self._module), name)
        return value


def names_of(package: str) -> tuple[Callable[[str], object], Callable[[], list[str]], list[str]]:
    """Return ``__getattr__``, ``__dir__`` and ``__all__`` of a package with the names of its stub.

    The lines ``from module import name as name`` of ``__init__.pyi`` tell type checkers what there is, and
    this function where it is: the module is imported when the name is first used.
    """
    with open(f"{sys.modules[package].__path__[0]}/__init__.pyi", encoding="utf-8") as stub:
        lines = re.findall(r"^from (\S+) import (\w+) as \2$", stub.read(), re.MULTILINE)
    home = {name: module for module, name in lines}

    def find(name: str) -> object:
        if name not in home:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        own = home[name] == package  # the name is that of a module
        with _no_collection():
            module = import_module(f"{package}.{name}" if own else home[name])
        value = module if own else getattr(module, name)
        setattr(sys.modules[package], name, value)
        return value

    return find, lambda: sorted(home), sorted(home)

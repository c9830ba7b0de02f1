"""Modules, and names of a package, that are imported when they are first used."""

import gc
import sys
from collections.abc import Callable, Iterator, Mapping
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


def lazy(
    package: str, owners: Mapping[str, str], modules: str
) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """Return the functions ``__getattr__`` and ``__dir__`` of a package.

    ``dir`` of the package shows its `__all__`, not modules that have been imported.

    Parameters
    ----------
    package : str
        Its name.
    owners : mapping of str to str
        Names, separated by blanks, by the module below the package that has them.
    modules : str
        Other modules below the package that are its attributes, separated by blanks.
    """
    home = {name: module for module, names in owners.items() for name in names.split()}
    folders = {*modules.split(), *(module for module in owners if "." not in module)}

    def find(name: str) -> object:
        if name not in home and name not in folders:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        with _no_collection():
            module = import_module(f"{package}.{home.get(name, name)}")
        value = getattr(module, name) if name in home else module
        setattr(sys.modules[package], name, value)
        return value

    def names() -> list[str]:
        held = vars(sys.modules[package])
        return sorted({*held["__all__"], *(name for name in held if name.startswith("__"))})

    return find, names

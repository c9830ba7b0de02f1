"""Names of a package whose modules are imported when they are first used."""

import sys
from collections.abc import Callable, Mapping
from importlib import import_module


def lazy(
    package: str, owners: Mapping[str, str], modules: str
) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """Return the functions ``__getattr__`` and ``__dir__`` of a package.

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
    folders = {*modules.split(), *owners}

    def find(name: str) -> object:
        if name in home:
            value = getattr(import_module(f"{package}.{home[name]}"), name)
        elif name in folders:
            value = import_module(f"{package}.{name}")
        else:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        setattr(sys.modules[package], name, value)
        return value

    def names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *home, *folders})

    return find, names

"""Check at import that the compiled modules of the package exist.

A fresh checkout has none until they are built. Each compiled module has a stub (``.pyi``) beside it, and so
have packages whose names are imported when they are first used.
"""

import os
from importlib.machinery import EXTENSION_SUFFIXES

COMMAND = "python setup.py build_ext --inplace"


def missing_modules(folder: str) -> list[str]:
    """Return the compiled modules missing from a package, whose folder may not exist (in a zip archive)."""
    found = []
    for place, _, files in os.walk(folder):
        have = set(files)
        for name in files:
            stem, end = os.path.splitext(name)
            if end == ".pyi" and not any(stem + suffix in have for suffix in (".py", *EXTENSION_SUFFIXES)):
                parts = os.path.relpath(os.path.join(place, stem), os.path.dirname(folder)).split(os.sep)
                found.append(".".join(parts))
    return sorted(found)


def check_modules(folder: str) -> None:
    """Raise :class:`ImportError` with instructions if compiled modules are missing."""
    missing = missing_modules(folder)
    if missing:
        more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
        raise ImportError(
            f"The compiled module {missing[0]}{more} of pyrjsel is missing from {folder}. In a source "
            f"checkout, build them first: pip install . (then import from another folder), or {COMMAND}",
            name=missing[0],
            path=folder,
        )


check_modules(os.path.dirname(os.path.abspath(__file__)))

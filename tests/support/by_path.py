"""Modules that are not on the path: programs, and files that have the same name in several folders."""

import importlib.util


def module(path):
    """Return the module in the file `path`, executed again each time."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found

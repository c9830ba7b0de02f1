"""Loading of files of every kind: rooms enter their readers in the registry of ``storage``."""

from pyrjsel import kernel, mixture, patterns
from pyrjsel.selection.models import loading
from pyrjsel.storage import load

__all__ = ["load"]

ROOMS = (kernel, mixture, patterns, loading)

"""Designs of many columns, which stay in the type and the place in which they are given."""

from pyrjsel.design.wide.layout import WideLayout, WideRows, WideTerms, build_wide
from pyrjsel.design.wide.matrix import NARROW, WideMatrix, as_wide, is_narrow

__all__ = [
    "NARROW",
    "WideLayout",
    "WideMatrix",
    "WideRows",
    "WideTerms",
    "as_wide",
    "build_wide",
    "is_narrow",
]

"""From a formula and a data frame to terms and columns, and the same columns for new rows."""

from pyrjsel.design.build import DesignData
from pyrjsel.design.design import Design
from pyrjsel.design.predict import DesignRows
from pyrjsel.design.terms import Term

__all__ = ["Design", "DesignData", "DesignRows", "Term"]

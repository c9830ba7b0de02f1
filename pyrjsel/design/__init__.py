"""From a formula and a data frame to terms and columns, and the same columns for new rows."""

from pyrjsel.design.again import frames_again, rows_again
from pyrjsel.design.build import DesignData
from pyrjsel.design.chunks import Chunks, RowSource, as_chunks
from pyrjsel.design.design import Design
from pyrjsel.design.inputs import InputDesign, InputRows
from pyrjsel.design.labels import LabelDesign, LabelRows
from pyrjsel.design.predict import DesignRows
from pyrjsel.design.stream import Reduced
from pyrjsel.design.tables import TableLike, as_pandas
from pyrjsel.design.terms import Term

__all__ = [
    "Chunks",
    "Design",
    "DesignData",
    "DesignRows",
    "InputDesign",
    "InputRows",
    "LabelDesign",
    "LabelRows",
    "Reduced",
    "RowSource",
    "TableLike",
    "Term",
    "as_chunks",
    "as_pandas",
    "frames_again",
    "rows_again",
]

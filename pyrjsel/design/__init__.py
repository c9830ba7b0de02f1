"""Designs: terms and columns from a formula and a data frame, and the same columns for new rows."""

from pyrjsel.design.build import DesignData, Response
from pyrjsel.design.chunks import Chunks, RowSource, as_chunks
from pyrjsel.design.design import Design
from pyrjsel.design.frame import TableLike, as_pandas
from pyrjsel.design.inputs import InputDesign, InputRows
from pyrjsel.design.labels import LabelDesign, LabelRows
from pyrjsel.design.new_rows import DesignRows, MissingColumnsError, check_columns
from pyrjsel.design.saved import (
    HOW,
    Absent,
    AbsentArray,
    AbsentRows,
    absent_rows,
    frames_again,
    other_rows,
    row_values,
    rows_from_plain,
    rows_to_plain,
    sums_to_plain,
)
from pyrjsel.design.saved_labels import (
    input_design_from_plain,
    input_design_to_plain,
    input_rows_from_plain,
    input_rows_to_plain,
    label_design_from_plain,
    label_design_to_plain,
    label_rows_from_plain,
    label_rows_to_plain,
)
from pyrjsel.design.stream import Reduced, RowReader, Work
from pyrjsel.design.terms import Aliases, Term, check_powers
from pyrjsel.design.wide import NARROW, WideMatrix, WideRows, WideTerms, as_wide

__all__ = [
    "HOW",
    "NARROW",
    "Absent",
    "AbsentArray",
    "AbsentRows",
    "Aliases",
    "Chunks",
    "Design",
    "DesignData",
    "DesignRows",
    "InputDesign",
    "InputRows",
    "LabelDesign",
    "LabelRows",
    "MissingColumnsError",
    "Reduced",
    "Response",
    "RowReader",
    "RowSource",
    "TableLike",
    "Term",
    "WideMatrix",
    "WideRows",
    "WideTerms",
    "Work",
    "absent_rows",
    "as_chunks",
    "as_pandas",
    "as_wide",
    "check_columns",
    "check_powers",
    "frames_again",
    "input_design_from_plain",
    "input_design_to_plain",
    "input_rows_from_plain",
    "input_rows_to_plain",
    "label_design_from_plain",
    "label_design_to_plain",
    "label_rows_from_plain",
    "label_rows_to_plain",
    "other_rows",
    "row_values",
    "rows_from_plain",
    "rows_to_plain",
    "sums_to_plain",
]

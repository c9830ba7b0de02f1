"""A data set: a table, its description, source and licence."""

from dataclasses import dataclass

import pandas as pd


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """A data frame with its description, source and terms of use.

    Printing a data set shows its name, its size and the first paragraph of its description.

    Parameters
    ----------
    name : str
        Name of the function that loads it.
    data : pandas.DataFrame
        The data. Every call of the loading function returns a new frame, so changes have no side effects.
    description : str
        Description of the data and their origin, in Markdown.
    source : str
        Publication, and the copy used.
    terms : str
        Terms of use and redistribution.
    costs : pandas.Series, optional
        Cost of measuring a variable once, by column name, in the unit given in the description; None if there
        are no costs.
    variables : pandas.DataFrame, optional
        Properties of the columns, by name; None if all are in the description.
    text : str, optional
        The text from which the data were made, if any.

    Examples
    --------
    >>> from pyrjsel import datasets
    >>> datasets.hald().data.shape
    (13, 5)
    """

    name: str
    data: pd.DataFrame
    description: str
    source: str
    terms: str
    costs: pd.Series | None = None
    variables: pd.DataFrame | None = None
    text: str | None = None

    def __repr__(self) -> str:
        rows, columns = self.data.shape
        lead = self.description.strip().split("\n\n", maxsplit=1)[0]
        return "\n".join(
            [
                f"Dataset {self.name!r}: {rows} rows, {columns} columns",
                lead,
                f"Source: {self.source}",
                f"Terms: {self.terms}",
            ]
        )

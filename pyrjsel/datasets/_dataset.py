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
        The rows. Every call of the loading function makes a new frame, so that changing this one
        changes nothing elsewhere.
    description : str
        What the data are and how they came about, in Markdown.
    source : str
        Where they were published and from where they were copied.
    terms : str
        Terms under which they may be used and passed on.
    costs : pandas.Series, optional
        Price of measuring a variable once, by column name, in the unit that the description
        states; None where the data set has none.
    variables : pandas.DataFrame, optional
        What each column is, by column name; None where the description says it all.
    text : str, optional
        The text that the rows were made of; None where there is none.

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

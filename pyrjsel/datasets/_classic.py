"""Small data sets from the literature, copied from Debian's build of the R package MASS 7.3-58.2."""

from pyrjsel.datasets._dataset import Dataset
from pyrjsel.datasets._files import read_csv, read_text

_RACE = {1: "white", 2: "black", 3: "other"}


def birthwt() -> Dataset:
    """Return the risk factors of low birth weight (189 births).

    Returns
    -------
    Dataset
        `data` has the response `low` (1: below 2.5 kg) and, in grams, `bwt`; `age` and `lwt` of the
        mother in years and pounds; `race`, a categorical column whose levels "white", "black" and
        "other" are the codes 1, 2 and 3 of the source; the indicators `smoke`, `ht` and `ui`;
        and the counts `ptl` and `ftv`.

    Examples
    --------
    >>> from pyrjsel import datasets
    >>> datasets.birthwt().data["race"].value_counts().to_dict()
    {'white': 96, 'other': 67, 'black': 26}
    """
    data = read_csv("classic/birthwt.csv")
    data["race"] = data["race"].astype("category").cat.rename_categories(_RACE)
    return Dataset(
        name="birthwt",
        data=data,
        description=read_text("classic/birthwt.md"),
        source=(
            "D. W. Hosmer and S. Lemeshow (1989), Applied Logistic Regression, Wiley; copied from "
            "`birthwt` in the R package MASS 7.3-58.2"
        ),
        terms="published in a textbook; MASS, where the table was copied, is under GPL-2 or GPL-3",
    )


def hald() -> Dataset:
    """Return the heat given off by cement, by composition (13 mixtures).

    Returns
    -------
    Dataset
        `data` has the response `y` (heat in calories per gram after 180 days) and the percentages
        by weight `x1` to `x4` of four compounds.

    Examples
    --------
    >>> from pyrjsel import datasets
    >>> list(datasets.hald().data.columns)
    ['x1', 'x2', 'x3', 'x4', 'y']
    """
    return Dataset(
        name="hald",
        data=read_csv("classic/hald.csv"),
        description=read_text("classic/hald.md"),
        source=(
            "H. Woods, H. H. Steinour and H. R. Starke (1932), Ind. Eng. Chem. 24, 1207-1214; "
            "A. Hald (1952), Statistical Theory with Engineering Applications, Wiley; copied from "
            "`cement` in the R package MASS 7.3-58.2"
        ),
        terms="facts in a printed table",
    )


def uscrime() -> Dataset:
    """Return the crime rates of 47 states of the USA in 1960, with 15 features of the states.

    Returns
    -------
    Dataset
        `data` has the response `y` (crimes per head, rescaled) and 15 predictors; see the description. One
        name is not a Python identifier: write ``Q("M.F")`` in a formula.

    Examples
    --------
    >>> from pyrjsel import datasets
    >>> datasets.uscrime().data.shape
    (47, 16)
    """
    return Dataset(
        name="uscrime",
        data=read_csv("classic/uscrime.csv"),
        description=read_text("classic/uscrime.md"),
        source=(
            "W. Vandaele (1978), Participation in illegitimate activities: Ehrlich revisited, in "
            "Deterrence and Incapacitation, US National Academy of Sciences, 270-335; copied from "
            "`UScrime` in the R package MASS 7.3-58.2"
        ),
        terms="facts in a printed table",
    )

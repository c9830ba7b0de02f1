"""Data sets for comparisons of classifiers, copied from Debian's builds of R packages."""

from pyrjsel.datasets._dataset import Dataset
from pyrjsel.datasets._files import read_csv, read_text


def pima() -> Dataset:
    """Return risk factors of diabetes in women of Pima heritage (532 women), in Ripley's split.

    Returns
    -------
    Dataset
        `data` has the response `type`, a categorical column of "No" and "Yes"; seven inputs (see the
        description); and `split`, "train" in 200 rows and "test" in 332.

    Examples
    --------
    >>> from pyrjsel import datasets
    >>> data = datasets.pima().data
    >>> data.groupby("split")["type"].value_counts().unstack().loc["train"].to_dict()
    {'No': 132, 'Yes': 68}
    """
    return Dataset(
        name="pima",
        data=read_csv("classify/pima.csv").astype({"type": "category"}),
        description=read_text("classify/pima.md"),
        source=(
            "US National Institute of Diabetes and Digestive and Kidney Diseases; J. W. Smith et al. (1988), "
            "Proc. Symp. Computer Applications and Medical Care, 261-265; B. D. Ripley (1996), Pattern "
            "Recognition and Neural Networks, Cambridge University Press; copied from `Pima.tr` and "
            "`Pima.te` in the R package MASS 7.3-58.2"
        ),
        terms=(
            "CC0 at the UCI Machine Learning Repository; MASS, where the tables were copied, is under GPL-2 "
            "or GPL-3"
        ),
    )


def ionosphere() -> Dataset:
    """Return radar returns from the ionosphere, good and bad (351 returns).

    Returns
    -------
    Dataset
        `data` has the inputs `V1` to `V34`, of which `V2` is constant, and the response `Class`, a
        categorical column of "bad" and "good".

    Examples
    --------
    >>> from pyrjsel import datasets
    >>> datasets.ionosphere().data["Class"].value_counts().to_dict()
    {'good': 225, 'bad': 126}
    """
    return Dataset(
        name="ionosphere",
        data=read_csv("classify/ionosphere.csv").astype({"Class": "category"}),
        description=read_text("classify/ionosphere.md"),
        source=(
            "V. Sigillito, S. Wing, L. Hutton and K. Baker (1989), Ionosphere, UCI Machine Learning "
            "Repository, https://doi.org/10.24432/C5W01B; V. G. Sigillito et al. (1989), Johns Hopkins APL "
            "Technical Digest 10, 262-266; copied from `Ionosphere` in the R package mlbench 2.1-3"
        ),
        terms="CC BY 4.0: the source must be named where the data are passed on",
    )

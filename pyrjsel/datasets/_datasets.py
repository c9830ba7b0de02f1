"""Data sets that come with the package, or are simulated: their class, and a function for each."""

import gzip
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

import numpy as np
import pandas as pd

from pyrjsel._errors import DataError
from pyrjsel._typing import IntArray, RNGLike, SeedLike
from pyrjsel._validate import bad_value, check_choice, check_int, check_rng


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


# Packaged files are read from a package in a zip archive, too.
def _resource(path: str) -> Any:
    return files("pyrjsel.datasets").joinpath("data", *path.split("/"))


def read_bytes(path: str) -> bytes:
    """Return the content of the packaged file `path`, uncompressed if its name ends in ``.gz``."""
    content: bytes = _resource(path).read_bytes()
    return gzip.decompress(content) if path.endswith(".gz") else content


def read_text(path: str) -> str:
    """Return the text of the packaged file `path`, which is UTF-8."""
    return read_bytes(path).decode("utf-8")


def read_csv(path: str, **options: Any) -> pd.DataFrame:
    """Return the packaged table `path` as a new frame; `options` are those of `pandas.read_csv`."""
    # The values have at most seven digits, which every parser of pandas reads exactly.
    with _resource(path).open("rb") as stream:
        return pd.read_csv(stream, compression="gzip" if path.endswith(".gz") else None, **options)


# Small data sets from the literature, copied from Debian's build of the R package MASS 7.3-58.2.
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


# Data sets for comparisons of classifiers, copied from Debian's builds of R packages.
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


# The synthetic pneumonia cohort and the published results that it is tuned to reproduce.
_SOURCE = (
    "made for this package after the slides of a talk by I. Ntzoufras, headed 'Preliminary Results', on "
    "D. Fouskakis, I. Ntzoufras and D. Draper (2009), Population-based reversible jump Markov chain Monte "
    "Carlo methods for Bayesian variable selection and evaluation under cost limit restrictions, "
    "J. R. Stat. Soc. C 58, 383-403; the study they analysed is "
    "E. Keeler et al. (1990), JAMA 264, 1962-1968"
)
_TERMS = "the licence of the package (BSD-3-Clause)"

# The variables left of 83 by the published screening at an inclusion probability of 0.30.
_REDUCED = (1, 2, 3, 4, 5, 6, 12, 37, 46, 49, 51, 62, 70)


def _variables() -> pd.DataFrame:
    table = read_csv("pneumonia/costs.csv", index_col="variable")
    table = table.rename(columns={"name": "label", "cost_minutes": "cost"})
    table = table.astype({"published": bool, "rand14": bool})
    table["reduced"] = table["index"].isin(_REDUCED)
    return table


def pneumonia() -> Dataset:
    """Return the pneumonia cohort, synthetic data in place of data that are not public.

    The data are tuned to give the published results, those of the slides of a talk: repeating the published
    analysis shows that software recovers a known answer, and is no evidence about pneumonia. See the
    `description` for details.

    Returns
    -------
    Dataset
        `data` has 2,532 rows: `mortality` (death within 30 days, 0 or 1; 405 deaths) and 83
        sickness indicators in the published order, one numeric column each. `costs` has minutes of
        abstraction per patient, by indicator. `variables` has, by indicator, its number on the
        slides (`index`), `label`, `cost`, `kind` ("binary", "score" or "numeric"), and whether
        its name is `published`, whether it is in the 14-variable RAND scale (`rand14`) and in the
        `reduced` space of the slides.

    See Also
    --------
    pneumonia_published : The published models and results.

    Examples
    --------
    >>> from pyrjsel import datasets
    >>> cohort = datasets.pneumonia()
    >>> int(cohort.data["mortality"].sum())
    405
    >>> float(cohort.costs[cohort.variables["rand14"]].sum())
    31.0
    """
    variables = _variables()
    return Dataset(
        name="pneumonia",
        data=read_csv("pneumonia/cohort.csv.gz"),
        description=read_text("pneumonia/README.md"),
        source=_SOURCE,
        terms=_TERMS,
        costs=variables["cost"].copy(),
        variables=variables,
    )


def pneumonia_published() -> pd.DataFrame:
    """Return the models and results published for the pneumonia data.

    The budget of the published analysis is 10 minutes. All figures except `deviance_here` are those of the
    slides of a talk by I. Ntzoufras, under the heading "Preliminary Results", with the digits that they have
    there. The talk is on the article D. Fouskakis, I. Ntzoufras and D. Draper (2009), J. R. Stat. Soc. C 58,
    383-403, whose figures may differ.

    Returns
    -------
    pandas.DataFrame
        One row per model: "m1" to "m5", "RAND" (the 14-variable scale) and "benefit only" (no
        budget; its list of variables is invented, see the description of :func:`pneumonia`).
        Columns: `variables` (tuple of column names), `size` (number of variables), `cost` (minutes),
        `deviance` (minimum), `deviance_here` (minimum on the synthetic cohort), posterior
        probabilities and posterior odds of m1 against the model in the two runs of the population
        sampler with 500,000 iterations (`population_posterior_1`, `population_odds_1`, ...) and of
        the simple sampler with 1,500,000 iterations (`simple_posterior_1`, ...) on the reduced
        space. NaN where the slides have nothing.

    See Also
    --------
    pneumonia : The synthetic cohort.

    Examples
    --------
    >>> from pyrjsel import datasets
    >>> published = datasets.pneumonia_published()
    >>> published.loc["m5", "variables"]  # doctest: +NORMALIZE_WHITESPACE
    ('age', 'bun', 'coma', 'shortness_of_breath', 'admission_sbp', 'respiratory_rate',
     'body_systems', 'apache_ph')
    """
    table = read_csv("pneumonia/published.csv", index_col="model", dtype={"variables": str})
    names = {int(number): str(name) for name, number in _variables()["index"].items()}
    lists = [tuple(names[int(number)] for number in cell.split()) for cell in table["variables"]]
    table["variables"] = pd.Series(lists, index=table.index, dtype=object)
    return table


# The most probable successor of each state: two cycles, of 3 and of 5 states.
_NEXT = {1: 7, 7: 5, 5: 1, 2: 3, 3: 8, 8: 4, 4: 6, 6: 2}
_LIKELY = 0.95
_VOWELS = "aeiou"

_HMM = """Sequences of two symbols from a hidden Markov chain; the last symbol is to be predicted.

The hidden state is one of 1 to 8, initially uniform. With probability 0.95 it follows one of the cycles 1, 7,
5 and 2, 3, 8, 4, 6; otherwise it moves to one of the seven other states. Even states emit symbol 1 with
probability 0.95, odd states symbol 2. Several symbols are needed to infer the position in a cycle, so long
patterns of symbols matter.

`data` has the symbols x1, x2, ... of each sequence as whole numbers, the first symbol first."""


def hmm_sequences(n: int = 5500, length: int = 21, rng: RNGLike | SeedLike | None = None) -> Dataset:
    """Return simulated sequences from the hidden Markov chain of Li and Neal.

    Parameters
    ----------
    n : int, default 5500
        Number of sequences. The paper uses 500 for training and predicts the other 5,000.
    length : int, default 21
        Number of symbols of a sequence.
    rng : None, int, SeedSequence or Generator
        Source of randomness.

    Returns
    -------
    Dataset
        `data` has n rows and the columns `x1` to `x<length>`, of 1 and 2.

    Raises
    ------
    ParameterError
        If a parameter is out of range.

    References
    ----------
    L. Li and R. M. Neal (2008), Compressing parameters in Bayesian high-order models with application to
    logistic sequence models, Bayesian Analysis 3, 793-821.

    Examples
    --------
    >>> from pyrjsel import datasets
    >>> datasets.hmm_sequences(n=3, length=8, rng=1).data
       x1  x2  x3  x4  x5  x6  x7  x8
    0   2   2   1   2   1   1   2   1
    1   2   2   2   1   1   1   2   1
    2   2   2   2   2   2   2   2   2
    """
    n, length = check_int(n, "n", low=1), check_int(length, "length", low=1)
    generator = check_rng(rng)
    transition = np.full((8, 8), (1 - _LIKELY) / 7)
    for state, follower in _NEXT.items():
        transition[state - 1, follower - 1] = _LIKELY
    ends = np.cumsum(transition, axis=1)
    ends[:, -1] = 1.0  # the sum is 1 up to rounding
    states = np.empty((n, length), dtype=np.int64)
    states[:, 0] = generator.integers(8, size=n)
    for t in range(1, length):
        states[:, t] = (generator.random(n)[:, None] >= ends[states[:, t - 1]]).sum(axis=1)
    # States are numbered from 0 here: an odd index is an even state.
    usual = np.where(states % 2 == 1, 1, 2)
    symbols = np.where(generator.random((n, length)) < _LIKELY, usual, 3 - usual)
    names = [f"x{t}" for t in range(1, length + 1)]
    return Dataset(
        name="hmm_sequences",
        data=pd.DataFrame(symbols, columns=names),
        description=_HMM,
        source="simulated, as in L. Li and R. M. Neal (2008), Bayesian Analysis 3, 793-821",
        terms="simulated on request; no terms",
    )


_TECHNICAL = """An English technical text for prediction of the next letter.

The text is the mathematics of this package as its documentation explains it, without displayed formulas
and lists of references, and with an x for each formula within a line. Its few words come again and again,
so that long patterns help to predict, most of all in the pages on mixture classifiers, which come first
for that reason: the text was chosen by its outcome, and formulas that are kept, or other pages that come
first, make long patterns help less. It stands in for the article that L. Li and R. M. Neal (2008,
Bayesian Analysis 3, 793-821) use, which is not available.

`data` has one column, `symbol`: 1 for a vowel (a, e, i, o, u), 2 for another letter, 3 for anything else.
Runs of other characters count as one. `text` is the text itself."""


def english_text(kind: str = "essay") -> Dataset:
    """Return an English text as vowels, consonants and other characters.

    Parameters
    ----------
    kind : {"essay", "technical"}
        An essay, or a technical text, which is longer and repeats itself more.

    Returns
    -------
    Dataset
        `text` is the text, and `data` has its coded characters in the column `symbol`, as
        :func:`letter_classes` gives them.

    Raises
    ------
    ParameterError
        If `kind` is something else.

    Examples
    --------
    >>> from pyrjsel import datasets
    >>> essay = datasets.english_text()
    >>> essay.text[:42]
    'The ward clock said ten minutes to six whe'
    >>> essay.data["symbol"].head(8).to_list()
    [2, 2, 1, 3, 2, 1, 2, 2]
    """
    check_choice(kind, "kind", ("essay", "technical"))
    essay = kind == "essay"
    text = read_text("english/article.md" if essay else "english/technical.md")
    return Dataset(
        name="english_text",
        data=pd.DataFrame({"symbol": letter_classes(text)}),
        description=read_text("english/README.md") if essay else _TECHNICAL,
        source="written for this package",
        terms="those of the package, BSD-3-Clause",
        text=text,
    )


def letter_classes(text: str) -> IntArray:
    """Return the characters of a text as 1 (vowel), 2 (another letter) or 3 (anything else).

    Parameters
    ----------
    text : str
        Letters are a to z in either case; vowels are a, e, i, o and u. Characters with accents or of other
        alphabets count as anything else.

    Returns
    -------
    ndarray of int64
        A symbol for each character, with runs of 3 replaced by a single one.

    Raises
    ------
    ParameterError
        If `text` is not a string.
    DataError
        If it is empty.

    Examples
    --------
    >>> from pyrjsel import datasets
    >>> datasets.letter_classes("Well, I see.").tolist()
    [2, 1, 2, 2, 3, 1, 3, 2, 1, 1, 3]
    """
    if not isinstance(text, str):
        raise bad_value("text", "a string", text)
    if not text:
        raise DataError("The 'text' of letter_classes must have at least one character.")
    lower = [character.lower() for character in text]
    symbols = np.array([_symbol(character) for character in lower], dtype=np.int64)
    again = np.zeros(len(symbols), dtype=bool)
    again[1:] = (symbols[1:] == 3) & (symbols[:-1] == 3)
    return symbols[~again]


def _symbol(character: str) -> int:
    if character in _VOWELS:
        return 1
    return 2 if character.isascii() and character.isalpha() else 3

"""Sequences of symbols: simulated, and from the letters of a text."""

import numpy as np
import pandas as pd

from pyrjsel._errors import DataError
from pyrjsel._typing import IntArray, RNGLike, SeedLike
from pyrjsel._validate import bad_value, check_choice, check_int, check_rng
from pyrjsel.datasets._dataset import Dataset
from pyrjsel.datasets._files import read_text

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

"""Sequences of symbols: the hidden Markov chain against its own description, and the coded text."""

import numpy as np
import pandas as pd
import pytest

from pyrjsel import DataError, ParameterError, datasets

# The chain as the paper words it: what follows each state, and the symbol that even and odd states show.
FOLLOWS = {1: 7, 7: 5, 5: 1, 2: 3, 3: 8, 8: 4, 4: 6, 6: 2}


def probability(symbols):
    """Return the probability of a sequence of symbols, by the forward sums over states."""
    states = np.arange(1, 9)
    move = np.array([[0.95 if FOLLOWS[i] == j else 0.05 / 7 for j in states] for i in states])
    show = {1: np.where(states % 2 == 0, 0.95, 0.05), 2: np.where(states % 2 == 0, 0.05, 0.95)}
    forward = np.full(8, 1 / 8) * show[symbols[0]]
    for symbol in symbols[1:]:
        forward = (forward @ move) * show[symbol]
    return forward.sum()


def test_hmm_sequences_have_the_probabilities_of_the_chain():
    n, length = 200_000, 7
    data = datasets.hmm_sequences(n, length, rng=1).data.to_numpy()
    counts = np.bincount((data - 1) @ 2 ** np.arange(length), minlength=2**length)
    words = [[(w >> t & 1) + 1 for t in range(length)] for w in range(2**length)]
    expected = n * np.array([probability(word) for word in words])
    assert expected.sum() == pytest.approx(n)
    assert expected.min() > 30  # enough for the law of chi-square
    chi_square = ((counts - expected) ** 2 / expected).sum()
    # 127 degrees of freedom: beyond 210 with probability 5e-6.
    assert chi_square < 210


def test_hmm_sequences():
    dataset = datasets.hmm_sequences(rng=3)
    assert dataset.data.shape == (5500, 21)
    assert dataset.data.columns[[0, -1]].tolist() == ["x1", "x21"]
    assert set(np.unique(dataset.data)) == {1, 2}
    pd.testing.assert_frame_equal(dataset.data, datasets.hmm_sequences(rng=3).data)
    assert not dataset.data.equals(datasets.hmm_sequences(rng=4).data)
    assert datasets.hmm_sequences(1, 1, rng=1).data.shape == (1, 1)
    for part in ("hmm_sequences", "5500 rows", "simulated", "no terms"):
        assert part in repr(dataset)
    for options in ({"n": 0}, {"length": 0}, {"n": 2.0}, {"rng": "seed"}):
        with pytest.raises(ParameterError, match=f"'{next(iter(options))}' parameter of hmm_sequences"):
            datasets.hmm_sequences(**options)


def test_english_text():
    dataset = datasets.english_text()
    symbols = dataset.data["symbol"].to_numpy()
    assert len(symbols) >= 4000
    assert len(dataset.text.split()) > 1000
    assert symbols.tolist() == datasets.letter_classes(dataset.text).tolist()
    assert not ((symbols[1:] == 3) & (symbols[:-1] == 3)).any()
    # Of the letters of English four in ten are vowels.
    assert 0.35 < (symbols == 1).sum() / (symbols != 3).sum() < 0.42
    for part in ("english_text", "written for this package", "BSD-3-Clause"):
        assert part in repr(dataset)


@pytest.mark.parametrize(
    ("text", "symbols"),
    [
        ("a", "1"),
        ("AEIOUaeiou", "1111111111"),
        ("Yy", "22"),
        ("Go on,\n -- I'm 42.", "2131231323"),
        ("é", "3"),
        ("...", "3"),
        ("naïve İ", "213213"),
    ],
)
def test_letter_classes(text, symbols):
    assert "".join(map(str, datasets.letter_classes(text))) == symbols


def test_letter_classes_of_what_is_no_text():
    with pytest.raises(ParameterError, match="must be a string"):
        datasets.letter_classes(["a"])
    with pytest.raises(DataError, match="at least one character"):
        datasets.letter_classes("")


def test_technical_text():
    dataset = datasets.english_text("technical")
    assert dataset.data["symbol"].to_list() == datasets.letter_classes(dataset.text).tolist()
    # As many symbols as the text of the article, and another text than the essay.
    assert len(dataset.data) > 3930
    assert dataset.text != datasets.english_text().text
    assert "technical text" in dataset.description
    with pytest.raises(ParameterError, match="'kind' parameter of english_text"):
        datasets.english_text("poem")

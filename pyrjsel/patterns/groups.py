"""Groups of patterns that the same training cases express."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from pyrjsel._once import kept_property
from pyrjsel._typing import BoolArray, FloatArray, IntArray
from pyrjsel.patterns.features import CaseArray, CodeArray, Features, Kind

ANY = -1  # a feature that a pattern leaves open


def as_whole(counts: FloatArray) -> IntArray | FloatArray:
    """Return counts as integers, or as they are where one is beyond 64 bits."""
    return counts.astype(np.int64) if counts.max() < 2.0**63 else counts


@dataclass(frozen=True, eq=False, repr=False)
class Groups:
    """Groups of patterns by extent: the training cases that express them.

    The likelihood sees the sum s_g of the coefficients of a group alone. Given the scales sigma_o by
    order, s_g is N(0, sum_o n_go sigma_o^2) or Cauchy(0, sum_o n_go sigma_o).

    Attributes
    ----------
    kind : {"interactions", "sequence"}
        Which patterns there are.
    order : int
        Largest order O of a pattern.
    n_cases : int
        Training cases n.
    compressed : bool
        Whether each group has all patterns of its extent; else each has one pattern.
    indptr : ndarray of int64, shape (G + 1,)
        Where the cases of each group start in `cases`, and the end.
    cases : ndarray of int32
        The extents, the cases of a group in increasing order. Group 0 has all cases.
    counts : ndarray of float64, shape (G, O + 1)
        n_go, the patterns of order o in group g; exact below 2**53.
    shortest : ndarray of int32, shape (G, p)
        A pattern of the lowest order in the group: position of a level, or -1 for any.
    closure : ndarray of int32, shape (G, p)
        What all cases of the group share, in the same coding: every pattern of the group is a part of
        it, and it may itself be beyond the order. Without compression the pattern itself. Of a
        sequence the pattern of the highest order in the group.
    parent : ndarray of int32, shape (G,), or None
        Of sequences, the group in which the next lower order is; -1 for group 0. Parents come first.
    lo, hi : ndarray of int32, shape (G,), or None
        Of sequences, the lowest and highest order in the group: n_go is 1 from `lo` to `hi`.

    Notes
    -----
    A new case expresses the patterns of a group that are part of ``closure[g]`` where the two agree. For
    interactions, patterns of a group within that part are those whose extent is that of the group.
    """

    kind: Kind
    order: int
    n_cases: int
    compressed: bool
    indptr: IntArray
    cases: CaseArray
    counts: FloatArray
    shortest: CodeArray
    closure: CodeArray
    parent: CaseArray | None = None
    lo: CaseArray | None = None
    hi: CaseArray | None = None

    def __post_init__(self) -> None:
        for name in ("indptr", "cases", "counts", "shortest", "closure", "parent", "lo", "hi"):
            array = getattr(self, name)
            if array is not None:
                array.flags.writeable = False

    @property
    def n_groups(self) -> int:
        """Number of groups G."""
        return len(self.indptr) - 1

    @kept_property
    def n_patterns(self) -> int:
        """Number of patterns that some case expresses (rounded, from 2**53 on)."""
        return int(self.counts.sum())

    @kept_property
    def sizes(self) -> IntArray:
        """Number of cases of each group, shape (G,)."""
        return np.diff(self.indptr)

    @property
    def rows(self) -> CaseArray:
        """The first case of each group, shape (G,)."""
        return self.cases[self.indptr[:-1]]

    def __repr__(self) -> str:
        return (
            f"<Groups {self.kind} of order {self.order}: {self.n_groups} groups, {self.n_patterns} patterns>"
        )

    def extent(self, group: int) -> CaseArray:
        """Return the cases of a group, in increasing order."""
        return self.cases[self.indptr[group] : self.indptr[group + 1]]

    def table(self, features: Features) -> pd.DataFrame:
        """Return the groups as a data frame.

        Parameters
        ----------
        features : Features
            The features, for names of columns and levels.

        Returns
        -------
        DataFrame, G rows
            ``pattern``: a pattern of lowest order; ``orders``: of the lowest and the highest pattern;
            ``patterns``: their number; ``cases``: of the extent.
        """
        present: BoolArray = self.counts > 0
        low = present.argmax(axis=1)
        high = self.order - present[:, ::-1].argmax(axis=1)
        return pd.DataFrame(
            {
                "pattern": pattern_labels(self.shortest, features),
                "orders": [str(a) if a == b else f"{a}-{b}" for a, b in zip(low, high, strict=True)],
                "patterns": as_whole(self.counts.sum(axis=1)),
                "cases": self.sizes,
            }
        )


def pattern_labels(patterns: CodeArray, features: Features) -> list[str]:
    """Return patterns (m, p) as text, such as ``a=1, c=x``; ``(all)`` for the one that fixes nothing.

    The level of missing values is ``(missing)``.

    Parameters
    ----------
    patterns : ndarray of int32, shape (m, p)
        Positions of levels, -1 for any.
    features : Features
        For names of columns and levels.

    Returns
    -------
    list of m str
    """
    parts = [
        [f"{name}={'(missing)' if level is None else level}" for level in levels]
        for name, levels in zip(features.names, features.levels, strict=True)
    ]
    return [
        ", ".join([parts[j][code] for j, code in enumerate(pattern) if code != ANY]) or "(all)"
        for pattern in patterns.tolist()
    ]

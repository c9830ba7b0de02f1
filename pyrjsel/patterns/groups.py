"""Groups of patterns that occur in the same observations."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from pyrjsel._once import kept_property
from pyrjsel._typing import BoolArray, FloatArray, IntArray
from pyrjsel.patterns.features import CaseArray, CodeArray, Features, Kind

ANY = -1  # code of an open feature of a pattern


def as_whole(counts: FloatArray) -> IntArray | FloatArray:
    """Return counts as integers; unchanged if one exceeds 64 bits."""
    return counts.astype(np.int64) if counts.max() < 2.0**63 else counts


@dataclass(frozen=True, eq=False, repr=False)
class Groups:
    """Groups of patterns by extent, the set of training observations ("cases") in which a pattern occurs.

    The likelihood depends only on the sum s_g of the coefficients of a group. Given the scales sigma_o by
    order, s_g is N(0, sum_o n_go sigma_o^2) or Cauchy(0, sum_o n_go sigma_o).

    Attributes
    ----------
    kind : {"interactions", "sequence"}
        Kind of patterns.
    order : int
        Largest order O of a pattern.
    compressed : bool
        Whether a group has all patterns of its extent; otherwise each group has one pattern.
    row_of : ndarray of int32, shape (n,)
        Distinct row of each training observation: observations in the same groups share a row.
    first : ndarray of int64, shape (R,)
        First observation of each distinct row, in increasing order.
    indptr : ndarray of int64, shape (G + 1,)
        The extent of group g is the observations of the distinct rows ``rows[indptr[g]:indptr[g + 1]]``.
    rows : ndarray of int32
        The extents as distinct rows, each in increasing order. The extent of group 0 is all of them.
    counts : ndarray of float64, shape (G, O + 1)
        n_go, the number of patterns of order o in group g; exact below 2**53.
    shortest : ndarray of int32, shape (G, p)
        A pattern of the lowest order in the group, as positions of levels, -1 for open features.
    closure : ndarray of int32, shape (G, p)
        The closed pattern of the extent: all levels that its observations share, in the same coding. All
        patterns of the group are contained in it; its order may exceed O. Without compression the pattern
        itself; for a sequence the pattern of the highest order in the group.
    parent : ndarray of int32, shape (G,), or None
        For sequences, the group of the next lower order; -1 for group 0. Parents precede their children.
    lo, hi : ndarray of int32, shape (G,), or None
        For sequences, the lowest and highest order in the group: n_go is 1 from `lo` to `hi`.

    Notes
    -----
    A new observation matches those patterns of a group that are contained in the part of ``closure[g]`` on
    which the two agree. For interactions, such a pattern belongs to the group if its extent is that of the
    group.
    """

    kind: Kind
    order: int
    compressed: bool
    row_of: CaseArray
    first: IntArray
    indptr: IntArray
    rows: CaseArray
    counts: FloatArray
    shortest: CodeArray
    closure: CodeArray
    parent: CaseArray | None = None
    lo: CaseArray | None = None
    hi: CaseArray | None = None

    def __post_init__(self) -> None:
        for array in vars(self).values():
            if isinstance(array, np.ndarray):
                array.flags.writeable = False

    @property
    def n_cases(self) -> int:
        """Number n of training observations."""
        return len(self.row_of)

    @property
    def n_groups(self) -> int:
        """Number of groups G."""
        return len(self.indptr) - 1

    @kept_property
    def n_patterns(self) -> int:
        """Number of patterns that occur in the data (rounded, from 2**53 on)."""
        return int(self.counts.sum())

    @kept_property
    def sizes(self) -> IntArray:
        """Number of observations in each extent, shape (G,)."""
        return np.add.reduceat(np.bincount(self.row_of)[self.rows], self.indptr[:-1])

    def __repr__(self) -> str:
        return (
            f"<Groups {self.kind} of order {self.order}: {self.n_groups} groups, {self.n_patterns} patterns>"
        )

    def extent(self, group: int) -> CaseArray:
        """Return the extent of a group, in increasing order."""
        inside = np.zeros(len(self.first), dtype=bool)
        inside[self.rows[self.indptr[group] : self.indptr[group + 1]]] = True
        return np.flatnonzero(inside[self.row_of]).astype(np.int32)

    def table(self, features: Features) -> pd.DataFrame:
        """Return the groups as a data frame.

        Parameters
        ----------
        features : Features
            Names of features and levels.

        Returns
        -------
        DataFrame, G rows
            ``pattern``: a pattern of the lowest order; ``orders``: lowest and highest order; ``patterns``:
            number of patterns; ``cases``: size of the extent.
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
    """Return patterns (m, p) as text, such as ``a=1, c=x``; the pattern of order 0 is ``(all)``.

    The level of missing values is ``(missing)``.

    Parameters
    ----------
    patterns : ndarray of int32, shape (m, p)
        Positions of levels, -1 for open features.
    features : Features
        Names of features and levels.

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

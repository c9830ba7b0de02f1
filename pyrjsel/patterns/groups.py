"""Groups of patterns that occur in the same observations, and the problem that they make for samplers."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
import scipy
from numpy.typing import NDArray

from pyrjsel._errors import DataError
from pyrjsel._once import kept_property
from pyrjsel._typing import BoolArray, FloatArray, IntArray
from pyrjsel.patterns._closed import Extents
from pyrjsel.patterns._distinct import distinct_rows
from pyrjsel.patterns._suffix import suffix_groups
from pyrjsel.patterns.features import CaseArray, CodeArray, Features, Kind
from pyrjsel.patterns.priors import PatternPrior

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


# Limit for the arrays of groups. Larger models cannot be sampled, since each sweep visits all groups.
MOST_BYTES = 2_000_000_000
# The squares of sums over this many patterns do not overflow.
MOST_PATTERNS = 1e100


def find_groups(features: Features, compress: bool = True) -> Groups:
    """Return the groups of the patterns that occur in the data.

    Parameters
    ----------
    features : Features
        Features of n observations.
    compress : bool, default True
        Whether patterns of the same extent share a group.

    Returns
    -------
    Groups
        The groups; the extent of group 0 is the whole data.

    Raises
    ------
    DataError
        If the groups need more than 2 GB, or a group has more than 1e100 patterns of one order.
    """
    sequence = features.kind == "sequence"
    # Observations that differ in a feature that some pattern fixes are in different groups.
    row_of, first = distinct_rows(features.codes, features.order if sequence else features.n_features)
    codes = features.codes if len(first) == features.n_cases else features.codes[first]
    found = _sequence(features, codes, compress) if sequence else _interactions(features, codes, compress)
    return Groups(features.kind, features.order, compress, row_of, first, *found)


def _sequence(features: Features, codes: CodeArray, compress: bool) -> tuple[np.ndarray, ...]:
    """Return the fields of `Groups` from `indptr` on, of histories of which no two are equal."""
    indptr, rows, parent, lo, hi = suffix_groups(codes, features.order)
    if not compress:
        lengths = (hi - lo + 1).astype(np.int64)
        _check_size(features, int(lengths.sum()), int(lengths @ np.diff(indptr)))
        indptr, rows, parent, lo = _unmerged(indptr, rows, parent, lo, lengths)
        hi = lo.copy()
    _check_size(features, len(lo), len(rows))
    orders = np.arange(features.order + 1)
    histories = codes[rows[indptr[:-1]]]
    # The pattern of order o fixes the last o features.
    back = np.arange(features.n_features, 0, -1)
    shortest, closure = (
        np.where(back <= order[:, None], histories, ANY).astype(np.int32) for order in (lo, hi)
    )
    counts = ((lo[:, None] <= orders) & (orders <= hi[:, None])).astype(np.float64)
    return indptr, rows, counts, shortest, closure, parent, lo, hi


def _unmerged(
    indptr: IntArray, rows: CaseArray, parent: CaseArray, lo: CaseArray, lengths: IntArray
) -> tuple[IntArray, CaseArray, CaseArray, CaseArray]:
    """Return `indptr`, `rows`, `parent` and order of groups of one pattern; edges have `lengths`."""
    first = np.cumsum(lengths) - lengths  # the group of the lowest order of each edge
    edge = np.repeat(np.arange(len(lo)), lengths)
    within = np.arange(len(edge)) - first[edge]
    sizes = np.diff(indptr)[edge]
    start = np.cumsum(sizes) - sizes
    where = np.repeat(indptr[edge] - start, sizes) + np.arange(sizes.sum())
    above = np.where(parent[edge] < 0, -1, first[parent[edge]] + lengths[parent[edge]] - 1)
    before = np.where(within > 0, np.arange(len(edge)) - 1, above)
    order = lo[edge] + within
    return np.append(start, sizes.sum()), rows[where], before.astype(np.int32), order.astype(np.int32)


def _interactions(features: Features, codes: CodeArray, compress: bool) -> tuple[np.ndarray, ...]:
    """Return the fields of `Groups` from `indptr` on, of observations of which no two are equal."""
    extents = Extents(codes, features.order, compress)
    while not extents.run():
        _check_size(features, extents.n_extents, extents.n_cases)
    _check_size(features, extents.n_extents, extents.n_cases)
    indptr, rows, counts, shortest, closure = extents.result()
    if not (counts < MOST_PATTERNS).all():
        raise DataError(
            f"Some of these {features.n_cases} observations share more than {MOST_PATTERNS:g} patterns of an "
            "order, which is too many for sampling. Reduce the order, or remove features."
        )
    return indptr, rows, counts, shortest, closure if compress else shortest


def _check_size(features: Features, n_groups: int, n_entries: int) -> None:
    """Raise if this many groups, with `n_entries` distinct observations in total, need too much memory."""
    # Per group: counts (twice during the search), a pattern, a closed pattern and a few numbers.
    each = 16 * (features.order + 1) + 8 * features.n_features + 40
    if n_groups * each + 4 * n_entries > MOST_BYTES:
        raise DataError(
            f"The patterns up to order {features.order} of these {features.n_cases} observations need more "
            f"than {MOST_BYTES / 1e9:g} GB ({n_groups:,} groups or more), which is too many for sampling. "
            "Reduce the order, or remove features."
        )


@dataclass(frozen=True, eq=False)
class PatternProblem:
    """Groups of patterns over rows; observations in the same groups share a row.

    Attributes
    ----------
    prior : PatternPrior
    indptr, rows : ndarray (G + 1,), ndarray
        The rows of group g are ``rows[indptr[g]:indptr[g + 1]]``.
    cases : ndarray (K, n)
        Number of observations of each class in each row.
    order_ptr, order_group, order_count : ndarray
        Groups with patterns of order o are ``order_group[order_ptr[o]:order_ptr[o + 1]]``; `order_count` are
        their numbers of such patterns.
    parent : ndarray (G,) or None
        For sequences, the parents of groups in the suffix tree.
    """

    prior: PatternPrior
    indptr: IntArray
    rows: NDArray[np.int32]
    cases: FloatArray
    order_ptr: IntArray
    order_group: NDArray[np.int32]
    order_count: FloatArray
    parent: NDArray[np.int32] | None

    @classmethod
    def of(cls, groups: Groups, classes: IntArray, n_classes: int, prior: PatternPrior) -> "PatternProblem":
        """Return the problem of `groups` whose observations have `classes` (n,), from 0 to K - 1."""
        n_rows = len(groups.first)
        cases = np.bincount(classes * n_rows + groups.row_of, minlength=n_classes * n_rows)
        by_order = scipy.sparse.csc_array(groups.counts)
        return cls(
            prior,
            groups.indptr,
            groups.rows,
            cases.reshape(n_classes, n_rows).astype(np.float64),
            by_order.indptr.astype(np.int64),
            by_order.indices.astype(np.int32),
            by_order.data.astype(np.float64),
            groups.parent,
        )

    @property
    def n_groups(self) -> int:
        """Number of groups G."""
        return len(self.indptr) - 1

    @property
    def n_free(self) -> int:
        """Number of classes with coefficients, C: 1 for two classes, else K."""
        return 1 if len(self.cases) == 2 else len(self.cases)

    @property
    def order(self) -> int:
        """Largest order O."""
        return len(self.order_ptr) - 2

"""The data of a pattern model as arrays: groups, classes of observations, the prior."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from pyrjsel._typing import FloatArray, IntArray
from pyrjsel.patterns.groups import Groups
from pyrjsel.patterns.priors import PatternPrior


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
        row_of, first = distinct_cases(groups)
        cases = np.zeros((n_classes, len(first)))
        np.add.at(cases, (classes, row_of), 1.0)
        # A group has all observations of a row or none: the first of them represents the row.
        kept = np.zeros(groups.n_cases, dtype=bool)
        kept[first] = True
        kept = kept[groups.cases]
        before = np.concatenate([[0], np.cumsum(kept, dtype=np.int64)])
        by_order = sparse.csc_array(groups.counts)
        return cls(
            prior,
            before[groups.indptr],
            row_of[groups.cases[kept]].astype(np.int32),
            cases,
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


def distinct_cases(groups: Groups) -> tuple[IntArray, IntArray]:
    """Return the row of each observation (n,), and the first observation of each row, in order.

    Observations are in the same row if they are in the same groups.
    """
    n, entries = groups.n_cases, len(groups.cases)
    shape = (groups.n_groups, n)
    by_group = sparse.csr_array((np.ones(entries, dtype=np.int8), groups.cases, groups.indptr), shape=shape)
    by_case = by_group.tocsc()
    rows: dict[bytes, int] = {}
    row_of = np.empty(n, dtype=np.int64)
    first: list[int] = []
    for case in range(n):
        members = by_case.indices[by_case.indptr[case] : by_case.indptr[case + 1]]
        row = rows.setdefault(members.tobytes(), len(first))
        if row == len(first):
            first.append(case)
        row_of[case] = row
    return row_of, np.array(first, dtype=np.int64)

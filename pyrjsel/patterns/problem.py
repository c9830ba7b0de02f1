"""The data of a pattern model as arrays: groups, classes of observations, the prior."""

from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import NDArray

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

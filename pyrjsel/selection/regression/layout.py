"""Terms, columns and scales of regression problems of all families."""

import numpy as np
from numpy.typing import NDArray

from pyrjsel._typing import FloatArray


class TermColumns:
    """Standardised columns, each of a term; column 0 is the intercept.

    Attributes
    ----------
    mean, scale : ndarray (D,)
        Means and standard deviations of columns 1 to D.
    term_start : int32 array (J + 1,)
        Term j has the columns ``term_start[j]:term_start[j + 1]``.
    """

    mean: FloatArray
    scale: FloatArray
    term_start: NDArray[np.intc]

    @property
    def n_terms(self) -> int:
        """Number J of terms."""
        return self.term_start.size - 1

    @property
    def n_columns(self) -> int:
        """Number of columns, including the intercept."""
        return self.mean.size + 1

    def model_columns(self, gamma: np.ndarray) -> np.ndarray:
        """Return the columns of a model `gamma` (J,), intercept first."""
        parts = [np.arange(self.term_start[j], self.term_start[j + 1]) for j in np.flatnonzero(gamma)]
        return np.concatenate([[0], *parts]).astype(np.intp)

    def largest_model(self, gammas: np.ndarray) -> int:
        """Return the largest number of columns, including the intercept, of a model in `gammas` (m, J)."""
        sizes = np.diff(self.term_start)
        most, block = 0, 2**21 // max(1, sizes.size) + 1  # models processed at a time
        for at in range(0, len(gammas), block):
            most = max(most, int((gammas[at : at + block] @ sizes.astype(float)).max(initial=0)))
        return 1 + most

    @property
    def origin(self) -> float:
        """Centre subtracted from the raw-scale intercept before moments are accumulated."""
        return 0.0

    @property
    def raw_shift(self) -> FloatArray:
        """Shift of the raw-scale intercept for a unit of each coefficient, (D + 1,)."""
        return np.concatenate([[0.0], self.mean / self.scale])

    def to_raw(self, b: FloatArray, out: FloatArray | None = None) -> FloatArray:
        """Return coefficients (..., D + 1) of the design's own columns from internal ones, in `out`."""
        raw = np.empty(b.shape) if out is None else out
        raw[...] = b
        raw[..., 1:] /= self.scale
        # Not by BLAS: the last bit of its sums depends on the other rows.
        raw[..., 0] -= np.einsum("...k,k->...", raw[..., 1:], self.mean)
        return raw

    def log_scale(self, gammas: np.ndarray) -> FloatArray:
        """Return the log Jacobian from internal coefficients to the design's own scale, (m,).

        The density of b_k = s_k beta_k times s_k is that of beta_k.
        """
        starts = self.term_start[:-1] - 1
        if not starts.size:
            return np.zeros(len(gammas))
        gains = np.add.reduceat(np.log(self.scale), starts)
        block = 2**14  # models converted to floats at a time
        parts = [
            np.einsum("mj,j->m", gammas[at : at + block].astype(float), gains)  # see to_raw
            for at in range(0, len(gammas), block)
        ]
        return np.concatenate(parts)

"""Predictions of classes, with intervals."""

import numpy as np
import pandas as pd

from pyrjsel._core._rows import summaries
from pyrjsel._typing import FloatArray
from pyrjsel._validate import check_real
from pyrjsel.families import Multinomial
from pyrjsel.selection.results.prediction import Prediction


class ClassPrediction(Prediction):
    """Predictions of the classes of rows, from posterior draws of the coefficients.

    Attributes as of :class:`~pyrjsel.selection.results.prediction.Prediction`, with coefficients
    (m, L (D + 1)) of L linear predictors.
    """

    family: Multinomial

    @property
    def classes(self) -> pd.Index:
        """The K classes."""
        return pd.Index(self.family.levels, name="class")

    def _eta(self, rows: np.ndarray, draws: np.ndarray | slice) -> FloatArray:
        """Return linear predictors (rows, draws, L)."""
        width, size = self.x.shape[1] + 1, self.family.predictors
        # Columns of the design vary more slowly than linear predictors.
        by_column = self.coefficients[draws].reshape(-1, width, size)
        eta = np.tensordot(self.x[rows], by_column[:, 1:], axes=([1], [1]))
        eta += by_column[:, 0]
        return np.asarray(eta)

    def _means(self, eta: FloatArray) -> FloatArray:
        """Return probabilities (rows, draws, K) of the classes."""
        return self.family.probabilities(eta)

    def mean(self) -> pd.DataFrame:  # type: ignore[override]
        """Return the posterior mean of the probability of each class; NaN for rows with missing inputs.

        Returns
        -------
        DataFrame, shape (rows, classes)
        """
        out = np.full((len(self.index), len(self.classes)), np.nan)
        for part, means in self._blocks(np.flatnonzero(self.complete)):
            out[part] = means.mean(axis=1)
        return pd.DataFrame(out, index=self.index.copy(), columns=self.classes)

    def classify(self) -> np.ndarray:
        """Return the position of the most probable class of each row, -1 for rows with missing inputs."""
        mean, out = self.mean().to_numpy(), np.full(len(self.index), -1, dtype=np.int64)
        out[self.complete] = mean[self.complete].argmax(axis=1)
        return out

    def summary_frame(self, alpha: float = 0.05) -> pd.DataFrame:
        """Return probabilities of the classes with intervals.

        Parameters
        ----------
        alpha : float, default 0.05
            One minus the probability of the intervals.

        Returns
        -------
        DataFrame
            By row and class: ``mean`` and ``mean_se``, posterior mean and standard deviation of the
            probability; ``mean_ci_lower`` and ``mean_ci_upper``, its equal-tailed interval. Rows with missing
            inputs are NaN.

        Raises
        ------
        ParameterError
            If `alpha` is not in (0, 1).
        """
        alpha = check_real(alpha, "alpha", low=0, high=1, open_low=True, open_high=True)
        size, ends = len(self.classes), (alpha / 2, 1 - alpha / 2)
        out = np.full((len(self.index), size, 4), np.nan)
        for part, means in self._blocks(np.flatnonzero(self.complete)):
            for k in range(size):
                each = np.ascontiguousarray(means[:, :, k])
                out[part, k, 0], out[part, k, 1], out[part, k, 2:] = summaries(each, ends)
        # The product of an index with duplicates is not unique either.
        rows, classes = np.divmod(np.arange(len(self.index) * size), size)
        index = pd.MultiIndex.from_arrays(
            [self.index.to_flat_index()[rows], self.classes[classes]],
            names=["row" if self.index.name is None else self.index.name, "class"],
        )
        columns = ["mean", "mean_se", "mean_ci_lower", "mean_ci_upper"]
        return pd.DataFrame(out.reshape(-1, 4), index=index, columns=columns)

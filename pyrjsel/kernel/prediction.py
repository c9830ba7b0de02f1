"""Predictions with their intervals."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd
import scipy

from pyrjsel._typing import BoolArray, FloatArray, IntArray
from pyrjsel._validate import check_real
from pyrjsel.design import AbsentArray
from pyrjsel.families.gaussian import mixture_quantile
from pyrjsel.kernel.posterior import KernelPosterior, block
from pyrjsel.kernel.specification import Scaling

COLUMNS = ["mean", "mean_se", "mean_ci_lower", "mean_ci_upper", "obs_ci_lower", "obs_ci_upper"]
# Widths from the nearest row beyond which a prediction is an extrapolation.
FAR = 3.0


@dataclass(frozen=True, eq=False)
class WidthPart:
    """The posterior given a width.

    Attributes
    ----------
    width : float
        In units of the standardised inputs.
    probability : float
        Of the width.
    posterior : KernelPosterior
    """

    width: float
    probability: float
    posterior: KernelPosterior


@dataclass(frozen=True, eq=False)
class KernelPrediction:
    """Predictions for rows: mixtures of normal laws, one for each draw of each width.

    Attributes
    ----------
    x : ndarray (rows, d)
        Inputs in the units of the data; rows with missing inputs are NaN.
    index : Index
        Labels of the rows.
    parts : tuple of WidthPart
        One for each width; probabilities sum to one.
    scaling : Scaling
    name : str
        Name of the response.
    """

    x: FloatArray
    index: pd.Index
    parts: tuple[WidthPart, ...]
    scaling: Scaling
    name: str

    @property
    def extrapolated(self) -> BoolArray:
        """Rows (rows,) further than three widths from every row of the fit; from every centre without rows.

        Of several widths those count whose probabilities are more than a half together.
        """
        rows = np.flatnonzero(~np.isnan(self.x).any(axis=1))
        far = np.zeros(len(self.index))
        for part in self.parts:
            posterior = part.posterior
            seen = posterior.basis.inputs if isinstance(posterior.x, AbsentArray) else posterior.x
            if rows.size and len(seen):
                near = scipy.spatial.KDTree(seen).query(
                    self.scaling.inputs(self.x[rows]), distance_upper_bound=FAR * part.width
                )
                far[rows] += part.probability * np.isinf(near[0])
            else:
                far[rows] += part.probability
        return np.asarray(far > 0.5)

    def _draws(self, name: str) -> np.ndarray:
        """Return an array of all draws, those of one width after another."""
        return np.concatenate([getattr(part.posterior, name) for part in self.parts])

    @property
    def _weight(self) -> FloatArray:
        """Weights of all draws, which sum to one."""
        return np.concatenate([part.probability * part.posterior.weight for part in self.parts])

    def _blocks(self) -> Iterator[tuple[IntArray, FloatArray, FloatArray]]:
        """Yield places of complete rows, and means and deviations (rows, N) as they are fitted."""
        rows = np.flatnonzero(~np.isnan(self.x).any(axis=1))
        step = block(self._draws("k"), 1 + self.parts[0].posterior.trend)
        for begin in range(0, rows.size, step):
            some = rows[begin : begin + step]
            x = self.scaling.inputs(self.x[some])
            laws = [part.posterior.mean_function(x) for part in self.parts]
            yield some, np.hstack([mean for mean, _ in laws]), np.hstack([sd for _, sd in laws])

    def mean(self) -> pd.Series:
        """Return the posterior mean of each row's expected response; NaN for rows with missing inputs."""
        out = np.full(len(self.index), np.nan)
        weight = self._weight
        for some, mean, _ in self._blocks():
            out[some] = mean @ weight
        out = self.scaling.y_mean + self.scaling.y_sd * out
        return pd.Series(out, index=self.index.copy(), name=self.name)

    def summary_frame(self, alpha: float = 0.05) -> pd.DataFrame:
        """Return predictions with intervals.

        Parameters
        ----------
        alpha : float, default 0.05
            One minus the probability of the intervals.

        Returns
        -------
        DataFrame
            By row, in units of the response: ``mean`` and ``mean_se``, posterior mean and standard deviation
            of the expected response; ``mean_ci_lower`` and ``mean_ci_upper``, its equal-tailed interval;
            ``obs_ci_lower`` and ``obs_ci_upper``, that of a single new response; ``extrapolated``, whether
            the row is further than three widths from every row of the fit (after loading without rows, from
            every centre): predictions fall back to the constant, or the linear trend, there. Rows with
            missing inputs are NaN, and not extrapolated.

        Raises
        ------
        ParameterError
            If `alpha` is not in (0, 1).
        """
        alpha = check_real(alpha, "alpha", low=0, high=1, open_low=True, open_high=True)
        weight, sigma2 = self._weight, self._draws("sigma2")
        out = np.full((len(self.index), len(COLUMNS)), np.nan)
        for some, mean, sd in self._blocks():
            middle = mean @ weight
            out[some, 0] = middle
            out[some, 1] = np.sqrt(((mean - middle[:, None]) ** 2 + sd**2) @ weight)
            for column, p in enumerate((alpha / 2, 1 - alpha / 2)):
                out[some, 2 + column] = mixture_quantile(mean, sd, p, weight)
                out[some, 4 + column] = mixture_quantile(mean, np.sqrt(sd**2 + sigma2), p, weight)
        out *= self.scaling.y_sd
        out[:, [0, 2, 3, 4, 5]] += self.scaling.y_mean
        frame = pd.DataFrame(out, index=self.index.copy(), columns=COLUMNS)
        return frame.assign(extrapolated=self.extrapolated)

"""The plots of kernel results."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import pandas as pd

from pyrjsel._errors import NotAvailableError
from pyrjsel._validate import check_int, check_real
from pyrjsel.kernel.posterior import KernelPosterior
from pyrjsel.kernel.predict import KernelPrediction
from pyrjsel.report import plot_band, plot_path

if TYPE_CHECKING:
    from pyrjsel.kernel.model import KernelRegression

# Points of a curve, and how far it goes beyond the rows, as a share of their range.
POINTS, BEYOND = 400, 0.03


class Plotted(Protocol):
    """The results that plots are drawn from."""

    model: KernelRegression

    @property
    def posterior(self) -> KernelPosterior:
        """Weighted draws."""

    @property
    def path(self) -> pd.DataFrame:
        """The filter by row."""


class Looks:
    """The plot methods of :class:`KernelResults`."""

    def plot_fit(self: Plotted, ax: Any = None, *, alpha: float = 0.05, points: int = POINTS) -> Any:
        """Plot the regression function of one input, with bands, rows and centres.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.
        alpha : float, default 0.05
            One minus the probability of the bands.
        points : int, default 400
            Points of the curve.

        Returns
        -------
        matplotlib Axes
            The axes: posterior mean, interval of the mean and of a new response, the rows that were seen, and
            at the foot a tick for each centre, the stronger the more probable.

        Raises
        ------
        NotAvailableError
            If there are several inputs, or matplotlib is not installed.
        ParameterError
            If `alpha`, `points` or `ax` is not valid.
        """
        owner, model, posterior = "plot_fit", self.model, self.posterior
        alpha = check_real(alpha, "alpha", owner, low=0, high=1, open_low=True, open_high=True)
        points = check_int(points, "points", owner, low=2)
        names = model.design.column_names
        if len(names) != 1:
            raise NotAvailableError(
                f"{owner} shows models of one input. This one has {len(names)}; plot predictions of "
                "get_prediction instead."
            )
        seen = model.scaling.raw_inputs(posterior.x)[:, 0]
        margin = BEYOND * (seen.max() - seen.min())
        x = np.linspace(seen.min() - margin, seen.max() + margin, points)
        prediction = KernelPrediction(
            x[:, None], pd.RangeIndex(points), posterior, model.scaling, model.design.response
        )
        frame = prediction.summary_frame(alpha)
        occupancy = posterior.occupancy()
        share = f"{100 * (1 - alpha):g} %"
        return plot_band(
            x,
            frame["mean"],
            {
                f"new response, {share}": (frame["obs_ci_lower"], frame["obs_ci_upper"]),
                f"mean, {share}": (frame["mean_ci_lower"], frame["mean_ci_upper"]),
            },
            points=(seen, model.scaling.raw_response(posterior.y)),
            ticks=(seen[posterior.used], np.sqrt(occupancy)),
            ax=ax,
            xlabel=names[0],
            ylabel=model.design.response,
        )

    def plot_kernels(self: Plotted, ax: Any = None) -> Any:
        """Plot the posterior mean of the number of kernels after each row.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        matplotlib Axes
            The axes.

        Raises
        ------
        NotAvailableError
            After ``sampler="mcmc"``, or if matplotlib is not installed.
        ParameterError
            If `ax` is not valid.
        """
        return plot_path(self.path["mean_kernels"], ax=ax, xlabel="Rows", ylabel="Mean number of kernels")

    def plot_ess(self: Plotted, ax: Any = None) -> Any:
        """Plot the effective number of particles at each row, before resampling.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        matplotlib Axes
            The axes; rows at which particles were resampled have a mark.

        Raises
        ------
        NotAvailableError
            After ``sampler="mcmc"``, or if matplotlib is not installed.
        ParameterError
            If `ax` is not valid.
        """
        path = self.path
        return plot_path(
            path["ess"],
            marks=path["resampled"],
            level=float(len(self.posterior.k)),
            ax=ax,
            xlabel="Rows",
            ylabel="Effective number of particles",
        )

"""The plots of kernel results."""

from typing import Any

import numpy as np
import pandas as pd

from pyrjsel._called import called
from pyrjsel._errors import NotAvailableError
from pyrjsel._validate import check_int, check_real
from pyrjsel.kernel.posterior import KernelPosterior
from pyrjsel.kernel.prediction import KernelPrediction, WidthPart
from pyrjsel.kernel.protocols import KernelModel
from pyrjsel.report import plot_band

# Points of a curve, and how far it goes beyond the rows, as a share of their range.
POINTS, BEYOND = 400, 0.03


def plot_fit(
    model: KernelModel,
    parts: tuple[WidthPart, ...],
    posterior: KernelPosterior,
    ax: Any,
    alpha: float,
    points: int,
) -> Any:
    """Plot the regression function of one input, with bands, rows, and the centres of the chosen width."""
    alpha = check_real(alpha, "alpha", low=0, high=1, open_low=True, open_high=True)
    points = check_int(points, "points", low=2)
    names = model.design.column_names
    if len(names) != 1:
        raise NotAvailableError(
            f"{called()} shows models of one input. This one has {len(names)}; plot predictions of "
            "get_prediction instead."
        )
    seen = model.scaling.raw_inputs(posterior.x)[:, 0]
    margin = BEYOND * (seen.max() - seen.min())
    x = np.linspace(seen.min() - margin, seen.max() + margin, points)
    prediction = KernelPrediction(
        x[:, None], pd.RangeIndex(points), parts, model.scaling, model.design.response
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

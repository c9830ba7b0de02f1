"""Plots of selection results: coefficients and traces."""

from typing import Any

import numpy as np

from pyrjsel.report import plot_coefficients, plot_trace
from pyrjsel.selection.posterior import Draws
from pyrjsel.selection.results.tables import PosteriorTables


def plot_columns(results: PosteriorTables, ax: Any, top: int | None, sort: bool, per_sd: bool) -> Any:
    """Plot the coefficients of columns with their intervals."""
    regression = results.model.regression
    table = results.coefficients.iloc[1:]
    if per_sd:
        table = table.mul(regression.scale, axis=0)
    return plot_coefficients(
        list(table.index),
        np.repeat(results.posterior.inclusion, np.diff(regression.term_start)),
        table["mean"],
        table["ci_lower"],
        table["ci_upper"],
        table["mean_included"],
        table["sd_included"],
        ax=ax,
        top=top,
        sort=sort,
        label=f"Coefficient per {'standard deviation' if per_sd else 'unit'} of the column",
    )


def plot_draws(draws: Draws, priced: bool, ax: Any) -> Any:
    """Plot traces of size, cost, log posterior and changes of terms."""
    panels = {"Size (terms)": draws.size}
    if priced:
        panels["Cost"] = draws.cost
    panels |= {"Log posterior": draws.log_posterior, "Terms changed": draws.changes}
    return plot_trace(panels, continuous=["Log posterior"], ax=ax)

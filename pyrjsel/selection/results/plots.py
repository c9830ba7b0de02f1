"""Plots of selection results: coefficients and traces."""

from typing import Any

import numpy as np

from pyrjsel._called import called
from pyrjsel._errors import NotAvailableError
from pyrjsel._typing import FloatArray
from pyrjsel.report import plot_coefficients, plot_densities, plot_trace
from pyrjsel.selection.posterior import Draws
from pyrjsel.selection.results.tables import PosteriorTables

# Draws of densities, and most panels where no number is given.
DRAWN = 4000
PANELS = 12


def plot_columns(results: PosteriorTables, ax: Any, top: int | None, sort: bool, per_sd: bool) -> Any:
    """Plot the coefficients of columns with their intervals."""
    regression = results.model.regression
    table = results._coefficient_table().iloc[regression.leading :]
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


def plot_column_densities(
    results: PosteriorTables, draws: FloatArray, ax: Any, top: int | None, sort: bool, per_sd: bool
) -> Any:
    """Plot densities of the coefficients of columns, with spikes at zero."""
    regression = results.model.regression
    refuse_spikes(regression, "a spike at zero has no place there")
    inclusion = np.repeat(results.posterior.inclusion, np.diff(regression.term_start))
    return plot_densities(
        list(results._column_names[regression.leading :]),
        inclusion,
        draws[:, regression.leading :] * (regression.scale if per_sd else 1.0),
        ax=ax,
        top=min(PANELS, inclusion.size) if top is None else top,
        sort=sort,
        label=f"per {'sd' if per_sd else 'unit'} of the column",
    )


def refuse_spikes(regression: Any, why: str) -> None:
    """Raise :class:`NotAvailableError` for a spike and slab, under which all columns are in every model."""
    if getattr(getattr(regression, "prior", None), "ratio", None) is not None:
        raise NotAvailableError(f"{called()}: under a spike and slab no coefficient is 0, and {why}.")


def plot_draws(draws: Draws, priced: bool, ax: Any) -> Any:
    """Plot traces of size, cost, log posterior and changes of terms."""
    panels = {"Size (terms)": draws.size}
    if priced:
        panels["Cost"] = draws.cost
    panels |= {"Log posterior": draws.log_posterior, "Terms changed": draws.changes}
    return plot_trace(panels, continuous=["Log posterior"], ax=ax)

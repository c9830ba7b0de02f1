"""Plots of pattern results."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from pyrjsel._errors import ParameterError
from pyrjsel._validate import bad_value, check_int
from pyrjsel.patterns.protocols import PatternModel
from pyrjsel.patterns.sampler import PatternDraws
from pyrjsel.patterns.summary import largest
from pyrjsel.report import plot_intervals, plot_lines, plot_trace

# Default number of log scales in a trace plot.
TRACES = 3
SCORES = {"error_rate": "Error rate", "log_score": "Log score"}


def plot_compression(table: pd.DataFrame, ax: Any) -> Any:
    """Plot numbers of patterns and of groups by order."""
    order = table.index.to_numpy()
    return plot_lines(
        {"patterns": (order, table["patterns"]), "groups": (order, table["groups"])},
        ax=ax,
        xlabel="Largest order",
        ylabel="Parameters of a class",
        log=True,
    )


def plot_scores(models: Sequence[PatternModel], scores: Sequence[pd.DataFrame], measure: str, ax: Any) -> Any:
    """Plot scores of models by order, one line per prior."""
    points: dict[str, dict[int, tuple[float, ...]]] = {}
    for model, score in zip(models, scores, strict=True):
        label = model.prior.family.capitalize()
        if not model.compression.compressed:
            label += ", not compressed"
        line = points.setdefault(label, {})
        if model.order in line:
            raise ParameterError(
                "The fits of plot_scores must differ in prior, order or compression. Two are "
                f"{label} of order {model.order}."
            )
        line[model.order] = tuple(score.loc[measure, ["value", "se"]].to_numpy(dtype=float))
    series = {}
    for label, line in points.items():
        orders = sorted(line)
        series[label] = (orders, *np.transpose([line[order] for order in orders]))
    return plot_lines(series, ax=ax, xlabel="Largest order", ylabel=SCORES[measure])


def plot_coefficients(coefficients: pd.DataFrame, model: PatternModel, ax: Any, top: int) -> Any:
    """Plot medians and intervals of the largest sums."""
    table = largest(coefficients, check_int(top, "top", low=1))
    classes = model.classes
    names = []
    for (_, name), pattern, patterns in zip(table.index, table["pattern"], table["patterns"], strict=True):
        label = str(pattern) if patterns == 1 else f"{pattern} +{patterns - 1}"
        names.append(label if len(classes) == 2 else f"{label} → {name}")
    what = f" for {classes[1]}" if len(classes) == 2 else ""
    return plot_intervals(
        names,
        table["median"],
        table["ci_lower"],
        table["ci_upper"],
        inner=(table["q25"], table["q75"]),
        symlog=model.prior.family == "cauchy",
        ax=ax,
        label=f"Sum of coefficients{what}: median, 50 and 95 % intervals\n(the {len(table)} largest of "
        f"{len(coefficients):,})",
    )


def plot_scales(draws: PatternDraws, most: int, ax: Any, orders: Sequence[int] | None) -> Any:
    """Plot the draws of log scales of orders up to `most`, and of the log posterior."""
    if orders is None:
        orders = sorted({int(o) for o in np.linspace(1, most, min(TRACES, most)).round()})
    if not isinstance(orders, Sequence | np.ndarray):
        raise bad_value("orders", "a sequence of orders", orders)
    shown = [check_int(order, "orders", low=1, high=most) for order in orders]
    panels = {f"log σ of order {order}": draws.log_sigma[:, :, order - 1] for order in shown}
    panels["Log posterior"] = draws.log_posterior
    return plot_trace(panels, continuous=list(panels), ax=ax)

"""Arrays and names in; Monte Carlo errors, tables, text and plots out. Knows no model."""

from pyrjsel.report.bands import plot_band
from pyrjsel.report.chains import to_arviz
from pyrjsel.report.checks import plot_check
from pyrjsel.report.errors import (
    IndicatorStats,
    ModelStats,
    ScalarStats,
    indicator_stats,
    model_stats,
    scalar_stats,
)
from pyrjsel.report.forest import plot_coefficients
from pyrjsel.report.frontier import plot_frontier
from pyrjsel.report.intervals import plot_intervals
from pyrjsel.report.lines import plot_lines
from pyrjsel.report.page import Picture, as_png, html_page
from pyrjsel.report.paths import plot_path
from pyrjsel.report.plots import plot_inclusion, plot_models
from pyrjsel.report.render import Report, covered_caption, dropped_note
from pyrjsel.report.sensitivity import plot_sensitivity
from pyrjsel.report.tables import (
    coefficient_table,
    covered_mass,
    inclusion_bayes_factor,
    inclusion_table,
    model_table,
)
from pyrjsel.report.traces import plot_trace

__all__ = [
    "IndicatorStats",
    "ModelStats",
    "Picture",
    "Report",
    "ScalarStats",
    "as_png",
    "coefficient_table",
    "covered_caption",
    "covered_mass",
    "dropped_note",
    "html_page",
    "inclusion_bayes_factor",
    "inclusion_table",
    "indicator_stats",
    "model_stats",
    "model_table",
    "plot_band",
    "plot_check",
    "plot_coefficients",
    "plot_frontier",
    "plot_inclusion",
    "plot_intervals",
    "plot_lines",
    "plot_models",
    "plot_path",
    "plot_sensitivity",
    "plot_trace",
    "scalar_stats",
    "to_arviz",
]

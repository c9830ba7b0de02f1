"""Monte Carlo errors, tables, summaries and plots made from arrays and names; independent of any model."""

from pyrjsel.report.chains import to_arviz
from pyrjsel.report.errors import (
    IndicatorStats,
    ModelStats,
    ScalarStats,
    indicator_stats,
    model_stats,
    scalar_stats,
)
from pyrjsel.report.jointness import MEASURES, jointness_errors, jointness_table
from pyrjsel.report.kept import kept_table, own_copy
from pyrjsel.report.page import Picture, Plot, as_png, budget_steps, draw_pictures, html_page
from pyrjsel.report.plots.bands import plot_band
from pyrjsel.report.plots.checks import plot_check, plot_checks
from pyrjsel.report.plots.classes import Ellipses, plot_calibration, plot_plane
from pyrjsel.report.plots.densities import plot_densities
from pyrjsel.report.plots.forest import plot_coefficients
from pyrjsel.report.plots.frontier import plot_frontier
from pyrjsel.report.plots.intervals import plot_intervals
from pyrjsel.report.plots.jointness import plot_jointness
from pyrjsel.report.plots.lines import plot_lines
from pyrjsel.report.plots.models import plot_inclusion, plot_models, plot_sizes
from pyrjsel.report.plots.path import plot_path
from pyrjsel.report.plots.sensitivity import plot_sensitivity
from pyrjsel.report.plots.traces import plot_trace
from pyrjsel.report.render import (
    Report,
    covered_caption,
    dropped_note,
    model_html,
    repr_short,
    results_html,
)
from pyrjsel.report.scores import calibration_table, class_scores, log_chosen, score_table
from pyrjsel.report.table_checks import table_from_plain
from pyrjsel.report.tables import (
    coefficient_table,
    covered_mass,
    inclusion_bayes_factor,
    inclusion_of,
    inclusion_table,
    model_table,
    shown_inclusion,
    without_errors,
)

__all__ = [
    "MEASURES",
    "Ellipses",
    "IndicatorStats",
    "ModelStats",
    "Picture",
    "Plot",
    "Report",
    "ScalarStats",
    "as_png",
    "budget_steps",
    "calibration_table",
    "class_scores",
    "coefficient_table",
    "covered_caption",
    "covered_mass",
    "draw_pictures",
    "dropped_note",
    "html_page",
    "inclusion_bayes_factor",
    "inclusion_of",
    "inclusion_table",
    "indicator_stats",
    "jointness_errors",
    "jointness_table",
    "kept_table",
    "log_chosen",
    "model_html",
    "model_stats",
    "model_table",
    "own_copy",
    "plot_band",
    "plot_calibration",
    "plot_check",
    "plot_checks",
    "plot_coefficients",
    "plot_densities",
    "plot_frontier",
    "plot_inclusion",
    "plot_intervals",
    "plot_jointness",
    "plot_lines",
    "plot_models",
    "plot_path",
    "plot_plane",
    "plot_sensitivity",
    "plot_sizes",
    "plot_trace",
    "repr_short",
    "results_html",
    "scalar_stats",
    "score_table",
    "shown_inclusion",
    "table_from_plain",
    "to_arviz",
    "without_errors",
]

"""Monte Carlo errors, tables, summaries and plots made from arrays and names; independent of any model."""

from typing import TYPE_CHECKING

from pyrjsel._lazy import lazy

if TYPE_CHECKING:
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
    from pyrjsel.report.render import Report, model_html
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
    from pyrjsel.report.texts import covered_caption, dropped_note, repr_short, results_html

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

# Modules, imported when one of their names is first used.
_OWNERS = {
    "chains": "to_arviz",
    "errors": "IndicatorStats ModelStats ScalarStats indicator_stats model_stats scalar_stats",
    "jointness": "MEASURES jointness_errors jointness_table",
    "kept": "kept_table own_copy",
    "page": "Picture Plot as_png budget_steps draw_pictures html_page",
    "plots.bands": "plot_band",
    "plots.checks": "plot_check plot_checks",
    "plots.classes": "Ellipses plot_calibration plot_plane",
    "plots.densities": "plot_densities",
    "plots.forest": "plot_coefficients",
    "plots.frontier": "plot_frontier",
    "plots.intervals": "plot_intervals",
    "plots.jointness": "plot_jointness",
    "plots.lines": "plot_lines",
    "plots.models": "plot_inclusion plot_models plot_sizes",
    "plots.path": "plot_path",
    "plots.sensitivity": "plot_sensitivity",
    "plots.traces": "plot_trace",
    "render": "Report model_html",
    "scores": "calibration_table class_scores log_chosen score_table",
    "table_checks": "table_from_plain",
    "texts": "covered_caption dropped_note repr_short results_html",
    "tables": (
        "coefficient_table covered_mass inclusion_bayes_factor inclusion_of inclusion_table "
        "model_table shown_inclusion without_errors"
    ),
}

__getattr__, __dir__ = lazy(__name__, _OWNERS, "")

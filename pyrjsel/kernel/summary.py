"""The facts, tables and notes of a summary of kernel results."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from pyrjsel.kernel.protocols import KernelModel
from pyrjsel.kernel.samplers.mcmc import ChainRun
from pyrjsel.kernel.samplers.smc import FilterRun
from pyrjsel.kernel.tables import KernelTables
from pyrjsel.report import dropped_note
from pyrjsel.results import Description, Facts, chain_facts, row_facts

# Probabilities of numbers of kernels that are shown.
SMALL = 0.005


def describe(results: KernelTables) -> Description:
    """Return what was fitted and how, and notes."""
    model, run, sigma = results.model, results.run, results.sigma
    settings = run.settings
    info = [*_facts(model, results.nobs, [results.width]), ("Sampler", results.sampler)]
    if isinstance(run, FilterRun):
        info += [
            ("Particles", f"{settings.particles:,}"),
            ("Rejuvenation", f"{settings.rejuvenate} moves a row"),
            ("Row order", run.row_order),
        ]
        if len(run.states) > 1:
            info.append(("Runs", str(len(run.states))))
    else:
        info += chain_facts(run.fit, run.draws.k.shape)
    info += [
        ("Sigma, 95 % interval", f"{sigma['mean']:.4g} ({sigma['ci_lower']:.4g}, {sigma['ci_upper']:.4g})"),
        ("Posterior size", f"{results.mean_kernels:.2f} kernels"),
    ]
    if isinstance(run, FilterRun):
        error = results.log_evidence_se
        known = "error unknown" if np.isnan(error) else f"{error:.2f}"
        info.append(("Log evidence", f"{results.log_evidence:.2f} ({known})"))
    info.append(run.run_time.fact())
    notes = [*run.notes, *results.posterior.notes(results.nobs)]
    if model.data.n_dropped:
        notes.append(dropped_note(model.data.n_dropped, model.data.n_rows, model.data.missing))
    return Description(info, notes)


def model_facts(model: KernelModel) -> Facts:
    """Return (label, value) pairs on a model: data, kernels and priors."""
    return _facts(model, model.nobs, model.widths)


def _facts(model: KernelModel, nobs: int, widths: Sequence[float]) -> Facts:
    convention = " (exp(-d^2/w^2))" if model.convention == "w2" else ""
    several = ", ".join(f"{width:g}" for width in widths)
    settings = model.settings
    return [
        *row_facts(model.design.response, nobs, model.data.n_dropped),
        ("Inputs", f"{len(model.design.column_names)}" + (", standardised" if model.standardize else "")),
        ("Kernel", f"{model.kernels[0].name}, width {several}{convention}"),
        *([("Trend", "linear")] if settings.trend else []),
        ("Coefficient prior", variance_text(model, "coef")),
        ("Noise prior", variance_text(model, "noise")),
        ("Model prior", f"Poisson({settings.mean_kernels:g}) kernels, at most {settings.max_kernels}"),
    ]


def variance_text(model: KernelModel, which: str) -> str:
    """Return what is said of the variance of noise or coefficients, in squared units of the response."""
    settings, unit = model.settings, model.scaling.y_sd**2
    fixed = settings.noise_variance if which == "noise" else settings.coef_variance
    if fixed is not None:
        return f"variance {fixed * unit:g}"
    a, b = (settings.a_y, settings.b_y) if which == "noise" else (settings.a_beta, settings.b_beta)
    return f"InverseGamma({a:g}, {b * unit:.3g})"


def tables(results: KernelTables, top: int) -> list[tuple[str, pd.DataFrame, dict[str, str]]]:
    """Return the tables of a summary: number of kernels, the `top` most probable centres, the sampler."""
    counts = results.n_kernels
    shown = counts[counts >= SMALL].to_frame()
    shown.index = pd.Index([f"{k} kernels" if k != 1 else "1 kernel" for k in shown.index])
    all_centres = results.centres
    centres = all_centres.iloc[:top]
    centres.index = pd.Index([str(label) for label in centres.index])
    found = [
        (f"Number of kernels: those of probability {SMALL:g} or more", shown, {"posterior": "prior"}),
        (
            f"Centres: the {len(centres)} most probable of {len(all_centres):,} rows",
            centres,
            {"occupancy": "prior"},
        ),
    ]
    if results.model.settings.trend:
        found.append(("Trend: slopes", results.trend, {}))
    if isinstance(results.run, ChainRun):
        found.append(("Chains", results.diagnostics, {}))
        return found
    if len(results.widths) > 1:
        widths = results.widths
        widths.index = pd.Index([f"{width:g}" for width in widths.index])
        caption = f"Width: evidence of {results.weighed_rows:,} rows of the fit, probability given all rows"
        found.append((caption, widths, {"log_evidence": "fixed2", "se": "fixed2", "posterior": "prior"}))
    moves = results.diagnostics
    if moves["tried"].sum():
        found.append(
            ("Rejuvenation", moves, {"tried": "count", "accepted": "count", "rate": "fixed3"}),
        )
    return found

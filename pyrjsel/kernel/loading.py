"""Results as files: what is read."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from math import sqrt
from typing import Any

import numpy as np
import pandas as pd

from pyrjsel._errors import DataError, ParameterError, StoreError
from pyrjsel._typing import FloatArray
from pyrjsel._validate import bad_value
from pyrjsel.design import AbsentArray, AbsentRows, Design, rows_from_plain
from pyrjsel.distributions import InverseGamma
from pyrjsel.kernel.kernels import CONVENTIONS, KINDS, Kernel, fixed_columns
from pyrjsel.kernel.model import KernelRegression
from pyrjsel.kernel.options import ORDERS
from pyrjsel.kernel.posterior import Basis, KernelPosterior
from pyrjsel.kernel.results import KernelResults
from pyrjsel.kernel.samplers.mcmc import ChainRun
from pyrjsel.kernel.samplers.serialization import moves_from_plain, particles_from_plain, state_from_plain
from pyrjsel.kernel.samplers.smc import FilterRun, OtherWidth, Settled
from pyrjsel.kernel.saving import KIND, SETTINGS
from pyrjsel.kernel.specification import Scaling, Specification
from pyrjsel.kernel.state import FilterState, KernelDraws, KernelSettings
from pyrjsel.report import table_from_plain
from pyrjsel.runtime import FitSettings, RunTime
from pyrjsel.storage import Content, Given, described, labels_from_plain, register

# Sums of probabilities differ from 1 by no more than rounding; squares of scales are numbers.
ROUNDING, LARGEST = 1e-6, 1e150
WIDTHS = ("log_evidence", "se", "posterior")


def read_results(content: Content, given: Given) -> KernelResults:
    """Return the results in a file."""
    content.text("class", ("KernelRegression",))
    model = _model(content, given)
    part, smc = content.part("run"), content.text("sampler", ("smc", "mcmc")) == "smc"
    run = _filter(part, model) if smc else _chains(part, model)
    if run.settings.trend != model.settings.trend:
        raise part.wrong("settings", "with the trend of the model")
    return KernelResults(model, run, _basis(content, run.posterior(), model))


def _basis(content: Content, posterior: KernelPosterior, model: KernelRegression) -> Basis | None:
    """Return the centres in use, which only predictions without rows take from a file."""
    if "basis" not in content or not isinstance(posterior.x, AbsentArray):
        return None
    content, m = content.part("basis"), len(posterior.used)
    columns = m + 1 + posterior.trend
    return Basis(
        content.array("inputs", float, (m, len(model.design.column_names)), finite=True),
        content.array("gram", float, (columns, columns), finite=True),
        content.array("moments", float, (columns,), finite=True),
    )


def _model(content: Content, given: Given) -> KernelRegression:
    functions = given.functions
    kernel, widths = content.part("kernel"), content.sequence("widths", (float,))
    name, own = kernel.text("name"), kernel.flag("own")
    if not own and name not in KINDS:
        raise kernel.wrong("name", f"one of {', '.join(KINDS)}")
    if own and (functions is None or not callable(functions.get(name))):
        must = f"a mapping with the kernel of the fit, {name!r}, among its functions"
        raise bad_value("functions", must, functions)
    if not widths or not all(0 < width < np.inf for width in widths) or len(set(widths)) < len(widths):
        raise content.wrong("widths", "positive numbers")
    convention = content.text("convention", CONVENTIONS)
    unit = sqrt(2.0) if convention == "w2" else 1.0
    function = functions[name] if own and functions is not None else None
    called = None if functions is None else {key: f for key, f in functions.items() if f is not function}
    design = Design.from_dict(content.plain("design"), called)
    data: Any = rows_from_plain(content.part("rows"), design, given.data)
    kernels = tuple(Kernel(name, width / unit, function) for width in widths)
    specification = Specification(
        content.flag("standardize"),
        _scaling(content.part("scaling"), len(design.column_names)),
        convention,
        tuple(widths),
        kernels,
        _prior(content, "noise_prior"),
        _prior(content, "coef_prior"),
        _settings(content.part("settings"), kernels[0], design),
        content.flag("automatic"),
    )
    return KernelRegression._from_parts(design, data, specification)


def _scaling(content: Content, width: int) -> Scaling:
    x_sd, y_sd = content.array("x_sd", float, (width,), finite=True), content.number("y_sd")
    if (x_sd <= 0).any() or y_sd <= 0 or max(x_sd.max(initial=0.0), y_sd) > LARGEST:
        raise content.wrong("x_sd", f"positive, up to {LARGEST:g}, as those of the response")
    return Scaling(
        content.array("x_mean", float, (width,), finite=True), x_sd, content.number("y_mean"), y_sd
    )


def _prior(content: Content, name: str) -> InverseGamma | None:
    prior = described(content.plain(name), {"InverseGamma": InverseGamma})
    if prior is not None and (not isinstance(prior, InverseGamma) or prior.by_size):
        raise content.wrong(name, "a prior of a variance")
    return prior


def _settings(content: Content, kernel: Kernel, design: Design) -> KernelSettings:
    given = {name: content.plain(name) for name in SETTINGS if name != "trend"}
    trend = content.integer("trend")
    if trend not in (0, len(design.column_names)):
        raise content.wrong("trend", f"0 or {len(design.column_names)}, as many as there are inputs")
    try:
        return KernelSettings(kernel, trend=trend, **given)
    except (ParameterError, TypeError) as error:
        raise StoreError(f"its settings are not valid: {error}") from error


# ---------------------------------------------------------------------- the filter


def _filter(content: Content, model: KernelRegression) -> FilterRun:
    place = content.integer("place", high=len(model.kernels) - 1)
    settings = _settings(content.part("settings"), model.kernels[place], model.design)
    order, n = content.array("order", np.int64, (None,)), model.data.n
    if len(np.unique(order)) < len(order) or (order < 0).any() or (order >= n).any():
        raise content.wrong("order", f"different rows below {n}")
    parts = list(content.parts("states"))
    if not parts:
        raise content.wrong("states", "those of runs")
    t = len(parts[0].array("log_evidence_path", float, (None,)))
    if not 1 <= len(order) <= t:
        raise content.wrong("order", f"1 to {t} rows")
    x, y, index = _rows_seen(content, model, order, t)
    states = [_state(part, x, y, settings, t) for part in parts]
    widths = table_from_plain(content, "widths", model.widths, WIDTHS)
    if abs(widths["posterior"].sum() - 1.0) > ROUNDING or widths["log_evidence"].isna().any():
        raise content.wrong("widths", "a table of log evidences and probabilities")
    return FilterRun(
        settings=settings,
        place=place,
        states=states,
        index=index,
        order=order,
        widths=widths,
        row_order=content.text("row_order", ORDERS),
        seconds=content.number("seconds", 0.0),
        missed=content.integer("missed"),
        run_time=RunTime.from_plain(content.part("run_time")),
        others=list(_others(content, model, settings, place, (x, y, t))),
        given=_settled(content, settings, t),
        swept=t,
    )


def _settled(content: Content, settings: KernelSettings, t: int) -> Settled:
    """Return the particles after the sweeps."""
    part, n = content.part("settled"), int(settings.particles)
    weight = part.numbers("weight", (n,), 0.0, 1.0 + ROUNDING)
    if abs(weight.sum() - 1.0) > ROUNDING:
        raise part.wrong("weight", "weights that add up to 1")
    particles = particles_from_plain(part, n, settings, t)
    return Settled(particles, weight, part.number("rise"), part.flag("missed"))


def _others(
    content: Content,
    model: KernelRegression,
    settings: KernelSettings,
    place: int,
    rows: tuple[FloatArray | None, FloatArray | None, int],
) -> Iterator[OtherWidth]:
    """Yield the passes of widths that were not chosen."""
    seen = {place}
    for part in content.parts("others"):
        at = part.integer("place", high=len(model.kernels) - 1)
        if at in seen:
            raise part.wrong("place", "that of another width")
        seen.add(at)
        one = replace(settings, kernel=model.kernels[at])
        state = _state(part.part("state"), *rows[:2], one, rows[2])
        other = OtherWidth(at, one, state, given=_settled(part, one, rows[2]))
        yield replace(other, basis=_basis(part, other.posterior, model))


def _rows_seen(
    content: Content, model: KernelRegression, order: np.ndarray, t: int
) -> tuple[FloatArray | None, FloatArray | None, pd.Index]:
    """Return inputs and response of the `t` rows that the filter has seen, in order, and their labels."""
    if "rows" in content:
        rows = content.part("rows")
        x = rows.array("x", float, (t, len(model.design.column_names)), finite=True)
        return x, rows.array("y", float, (t,), finite=True), labels_from_plain(rows.part("index"), t)
    if isinstance(model.data, AbsentRows):
        later = np.arange(model.data.n, model.data.n + t - len(order))
        return None, None, pd.Index(np.concatenate([order, later]), name="row")
    if t > len(order):
        raise DataError(
            f"The results saw {t - len(order):,} rows more than the fit had, by update, which are not in the "
            "'data' of load. Load the file without them, or save the results with their rows: "
            "save(path, data=True)."
        )
    return model.x[order], model.y[order], model.data.index[order]


def _state(
    content: Content, x: FloatArray | None, y: FloatArray | None, settings: KernelSettings, t: int
) -> FilterState:
    if x is None or y is None:
        # What only the rows tell is taken out of states that are checked like any others.
        blank = np.zeros((t, 0)), np.zeros(t)
        state = state_from_plain(content, *blank, settings, columns=lambda owners: np.zeros((len(owners), t)))
        hole: Any = AbsentArray()
        return replace(state, x=hole, y=hole, columns=hole)

    def columns(owners: np.ndarray) -> FloatArray:
        values = settings.kernel(x, x[owners[settings.fixed :]])
        return np.vstack([fixed_columns(x, settings.trend).T, np.asarray(values).T])

    state = state_from_plain(content, x, y, settings, columns=columns)
    if len(state.y) != t:
        raise content.wrong("log_evidence_path", f"of {t} rows")
    return state


# ---------------------------------------------------------------------- chains


def _chains(content: Content, model: KernelRegression) -> ChainRun:
    place = content.integer("place", high=len(model.kernels) - 1)
    settings = _settings(content.part("settings"), model.kernels[place], model.design)
    part, data = content.part("draws"), model.data
    fit = FitSettings.from_plain(content.part("fit"))
    without = isinstance(data, AbsentRows)
    hole: Any = AbsentArray()
    return ChainRun(
        settings,
        _draws(part, settings, data.n),
        hole if without else model.x,
        hole if without else model.y,
        pd.RangeIndex(data.n, name="row") if without else data.index,
        fit,
        content.number("seconds", 0.0),
        content.sequence("interrupted"),
        fit.ends_of(content),
        place,
    )


def _draws(content: Content, settings: KernelSettings, n: int) -> KernelDraws:
    k = content.array("k", np.int32, (None, None))
    if not k.size:
        raise content.wrong("k", "those of draws")
    flat: Mapping[str, np.ndarray] = {
        name: value.reshape(k.size, *value.shape[2:])
        for name, value in content.items()
        if isinstance(value, np.ndarray) and value.shape[:2] == k.shape and not name.startswith("moves_")
    }
    particles = particles_from_plain(Content(dict(flat), "the draws"), k.size, settings, n)
    moves = moves_from_plain(content, len(k))
    parts: dict[str, Any] = {
        name: value.reshape(*k.shape, *value.shape[1:]) for name, value in vars(particles).items()
    }
    return KernelDraws(**parts, **moves)


register(KIND, read_results)

"""Reading of saved pattern results."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from pyrjsel._errors import StoreError
from pyrjsel._typing import FloatArray
from pyrjsel.design import (
    Absent,
    AbsentRows,
    label_design_from_plain,
    label_rows_from_plain,
)
from pyrjsel.design.frame import Level
from pyrjsel.patterns.features import Kind
from pyrjsel.patterns.groups import as_whole
from pyrjsel.patterns.model import KINDS, PatternLogit, patterns_of
from pyrjsel.patterns.options import OPTIONS
from pyrjsel.patterns.priors import LARGEST_LOG_SCALE, LAWS, PatternPrior
from pyrjsel.patterns.results import PatternResults
from pyrjsel.patterns.sampler import PatternDraws, PatternPosterior
from pyrjsel.patterns.saving import KIND
from pyrjsel.report import table_from_plain
from pyrjsel.results import Description, options_from_plain
from pyrjsel.runtime import FitSettings
from pyrjsel.storage import Content, Given, described, register

COLUMNS = ("mean", "sd", "mcse", "ess", "r_hat")


@dataclass(frozen=True, eq=False)
class AbsentFeatures(Absent):
    """Stand-in for the features of observations that were not saved; attributes as of `Features`."""

    n_cases: int
    names: tuple[str, ...]
    levels: tuple[tuple[Level | None, ...], ...]
    kind: Kind
    order: int

    @property
    def n_features(self) -> int:
        """Number of features."""
        return len(self.names)


@dataclass(frozen=True, eq=False)
class AbsentGroups(Absent):
    """Stand-in for groups of patterns without their observations; attributes as of `Groups`."""

    kind: Kind
    order: int
    n_cases: int
    compressed: bool
    counts: FloatArray
    saved: pd.DataFrame

    @property
    def n_groups(self) -> int:
        """Number of groups."""
        return len(self.counts)

    @property
    def n_patterns(self) -> int:
        """Number of patterns that some case expresses."""
        return int(self.counts.sum())

    def table(self, features: AbsentFeatures) -> pd.DataFrame:
        """Return the groups as a data frame."""
        return self.saved


def read_results(content: Content, given: Given) -> PatternResults:
    """Return the results in a file."""
    content.text("class", ("PatternLogit",))
    model = _model(content, given)
    posterior = _posterior(content, model)
    said = Description.from_plain(content.part("description"))
    without = isinstance(model.data, AbsentRows)
    return PatternResults(model, posterior, content.raw("entropy", 16), said if without else None)


def _model(content: Content, given: Given) -> PatternLogit:
    design = label_design_from_plain(content.plain("design"), given.functions)
    kind: Any = content.text("kind", KINDS)
    order, compress = content.integer("order", low=1, high=len(design.names)), content.flag("compress")
    prior = _prior(content.part("prior"), order)
    rows = label_rows_from_plain(content.part("rows"), design, given.data)
    features: Any
    groups: Any
    if isinstance(rows, AbsentRows) and "codes" in content:
        codes = content.array("codes", np.int32, (rows.n, len(design.names)))
        features, groups = patterns_of(design, codes, kind, order, compress)
    elif isinstance(rows, AbsentRows):
        features = AbsentFeatures(rows.n, design.names, design.levels, kind, order)
        groups = _groups(content.part("groups"), features, compress)
    else:
        features, groups = patterns_of(design, rows.codes, kind, order, compress)
    if not np.array_equal(groups.counts, content.part("groups").plain("counts")):
        raise StoreError("its groups are not those of its rows")
    return PatternLogit._from_parts(design, rows, features, groups, prior)


def _prior(content: Content, order: int) -> PatternPrior:
    family: Any = content.text("family", ("cauchy", "gaussian"))
    log_sigma_0 = content.number("log_sigma_0")
    if abs(log_sigma_0) > LARGEST_LOG_SCALE:
        raise content.wrong("log_sigma_0", f"at most {LARGEST_LOG_SCALE:g} from 0")
    scales = described(content.plain("scales"), {law.__name__: law for law in LAWS})
    if not isinstance(scales, tuple):
        raise content.wrong("scales", "a list of priors")
    # Through the public parameters, which validates them.
    return replace(PatternPrior.of(order, family, scales), log_sigma_0=log_sigma_0)


def _groups(content: Content, features: AbsentFeatures, compress: bool) -> AbsentGroups:
    """Return stand-ins for groups without training data."""
    order, n = features.order, features.n_cases
    counts = content.array("counts", float, (None, order + 1), finite=True)
    size = len(counts)
    if not size or (counts < 0).any() or (counts % 1 != 0).any() or (counts.sum(axis=1) < 1).any():
        raise content.wrong("counts", "numbers of patterns")
    table = pd.DataFrame(
        {
            "pattern": content.sequence("pattern", length=size),
            "orders": content.sequence("orders", length=size),
            "patterns": as_whole(counts.sum(axis=1)),
            "cases": content.counts("cases", (size,), n),
        }
    )
    return AbsentGroups(features.kind, order, n, compress, counts, table)


def _posterior(content: Content, model: PatternLogit) -> PatternPosterior:
    free = 1 if len(model.classes) == 2 else len(model.classes)
    part = content.part("draws")
    log_posterior = part.numbers("log_posterior", (None, None))
    if not log_posterior.size:
        raise part.wrong("log_posterior", "that of draws")
    draws = PatternDraws(
        part.numbers("s", (*log_posterior.shape, free, model.n_groups)),
        part.numbers("log_sigma", (*log_posterior.shape, model.order), -LARGEST_LOG_SCALE, LARGEST_LOG_SCALE),
        log_posterior,
    )
    quantities = [*(f"log_sigma_{order}" for order in range(1, model.order + 1)), "log_posterior"]
    diagnostics = table_from_plain(content, "diagnostics", quantities, COLUMNS)
    sampler = content.text("sampler", OPTIONS)
    settings = FitSettings.from_plain(content.part("settings"))
    options = options_from_plain(content, OPTIONS[sampler]) if "options" in content else None
    return PatternPosterior(
        sampler,
        draws,
        diagnostics,
        content.seconds(),
        settings,
        content.sequence("notes"),
        options,
        settings.ends_of(content) if options else None,
    )


register(KIND, read_results)

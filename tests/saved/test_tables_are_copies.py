"""Tables that results hand out are the caller's: what is done to them does not reach the results."""

from pathlib import Path

import pandas as pd
import pytest
from by_path import module

import pyrjsel as rj

fits = module(Path(__file__).parent / "fits.py")

STUDIES = {
    "cross-validation": lambda: rj.logit("low ~ lwt + smoke", fits.births()).cross_validate(3, rng=1),
    "sensitivity": lambda: rj.logit("low ~ lwt + smoke", fits.births()).sensitivity(g=[10, 100], rng=1),
}
# The tables of each class of results, all of them.
TABLES = {
    "SelectionResults": {"inclusion", "sizes", "models", "coefficients", "params", "bse", "diagnostics"},
    "KernelResults": {"n_kernels", "centres", "sigma", "diagnostics"},
    "PatternResults": {"groups", "sigma", "compression", "coefficients", "diagnostics"},
    "MixtureResults": {"inclusion", "models", "diagnostics"},
    "CrossValidation": {"log_density", "predicted", "fold", "scores", "differences", "folds"},
    "SensitivityResults": {"inclusion", "analyses"},
}
# Those that not all results of a class have.
SOME = {
    "linear": {"sigma", "nuisance"},
    "kernel smc": {"widths", "path"},
    "kernel own": {"widths", "path"},
    "cox": {"audit"},
    "negbin": {"nuisance", "audit"},
    "gamma population": {"nuisance", "audit"},
    "mixture arrays": {"comparison"},
    "mixture labels": {"comparison"},
    **{name: {"audit"} for name in ("logit collapsed", "logit rjmcmc", "linear spikes", "linear rjmcmc")},
}
# Cox models have no distribution of times.
NOT_AVAILABLE = {("cox", "posterior_predictive")}


def results_of(name):
    return STUDIES[name]() if name in STUDIES else fits.make(name)[1]


def tables(results):
    """Every public attribute that is a table."""
    found = {}
    for name in dir(results):
        if name.startswith("_"):
            continue
        try:
            value = getattr(results, name)
        except rj.NotAvailableError:
            continue
        if isinstance(value, (pd.DataFrame, pd.Series)):
            found[name] = value
    return found


def scribble(table):
    """Change all of a table in its own place: values, rows, columns and names."""
    values = table.to_frame() if isinstance(table, pd.Series) else table
    for place in range(values.shape[1]):
        column = values.iloc[:, place]
        if pd.api.types.is_bool_dtype(column):
            changed = ~column
        else:
            changed = 7 if pd.api.types.is_numeric_dtype(column) else "x"
        if isinstance(table, pd.Series):
            table.iloc[:] = changed
        else:
            table.iloc[:, place] = changed
            table.columns.name = "scribbled"
    table.index.name = "scribbled"
    table.attrs["scribbled"] = True
    table.index = pd.RangeIndex(len(table))
    table.pop(table.columns[0] if table.ndim == 2 else 0)


@pytest.mark.parametrize("name", [*fits.FITS, *STUDIES])
def test_changed_tables_do_not_reach_the_results(name):
    results = results_of(name)
    kind = type(results).__name__
    text, wanted = str(results.summary()), tables(results)
    some = {table for part, names in SOME.items() if name.startswith(part) for table in names}
    assert set(wanted) == TABLES[kind] | some
    handed = tables(results)
    for label, table in handed.items():
        scribble(table)
        assert not table.equals(wanted[label]), label
    for label, table in tables(results).items():
        check = pd.testing.assert_frame_equal if table.ndim == 2 else pd.testing.assert_series_equal
        check(table, wanted[label], check_exact=True)
        assert table.attrs == wanted[label].attrs, label
    assert str(results.summary()) == text


def test_groups_of_a_pattern_model():
    model = fits.make("pattern interactions")[1].model
    wanted = model.groups
    scribble(model.groups)
    pd.testing.assert_frame_equal(model.groups, wanted)


@pytest.mark.parametrize("name", fits.FITS)
def test_labels_of_predictions_are_not_those_of_the_rows(name):
    rows, results = fits.make(name)
    for new in (None, rows.dropna().head(3)) if isinstance(rows, pd.DataFrame) else (None,):
        for method in ("predict", "get_prediction", "posterior_predictive", "classify"):
            if not hasattr(results, method) or (name, method) in NOT_AVAILABLE:
                continue
            found = getattr(results, method)(new)
            table = found.summary_frame() if method == "get_prediction" else found
            table.index.name = "scribbled"
        assert results.predict(new).index.name != "scribbled"
        assert new is None or new.index.name != "scribbled"

"""Results in files: what is loaded is what was saved; rows stay at home; changed files are refused."""

import importlib.util
import os
import resource
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import pyrjsel as rj
from pyrjsel.store import Document, read, write
from pyrjsel.store.files import to_bytes

HERE = Path(__file__).parent
_spec = importlib.util.spec_from_file_location("saved_fits", HERE / "fits.py")
fits = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(fits)

KERNEL = [name for name in fits.FITS if name.startswith("kernel")]
PATTERNS = [name for name in fits.FITS if name.startswith("pattern")]
SELECTION = [name for name in fits.FITS if name not in (*KERNEL, *PATTERNS)]
TABLES = {
    "patterns": ("sigma", "groups", "coefficients", "compression", "diagnostics"),
    "selection": ("inclusion", "models", "coefficients", "diagnostics", "params", "bse"),
    "kernel": ("n_kernels", "sigma", "diagnostics"),
}


def room(name):
    return "kernel" if name in KERNEL else "patterns" if name in PATTERNS else "selection"


def load(path, name, data=None):
    return rj.load(path, data, functions=fits.functions_of(name))


def assert_tables_are(found, results, name):
    for table in TABLES[room(name)]:
        one, other = getattr(found, table), getattr(results, table)
        kind = (
            pd.testing.assert_frame_equal
            if isinstance(other, pd.DataFrame)
            else pd.testing.assert_series_equal
        )
        kind(one, other, check_exact=True)
    if name in SELECTION:
        assert found.best() == results.best()
        assert found.best("mpm") == results.best("mpm")
        assert (found.covered, found.separated) == (results.covered, results.separated)
        assert found.settings.draws == results.settings.draws
        if results.posterior.draws is not None:
            np.testing.assert_array_equal(found.draws.model, results.draws.model)
            np.testing.assert_array_equal(found.draws.coefficients, results.draws.coefficients)
        return
    if name in PATTERNS:
        assert repr(found) == repr(results)
        assert str(found.summary()) == str(results.summary())
        np.testing.assert_array_equal(found.draws.s, results.draws.s)
        np.testing.assert_array_equal(found.draws.log_posterior, results.draws.log_posterior)
        return
    assert (found.width, found.nobs, found.sampler) == (results.width, results.nobs, results.sampler)
    if found.sampler == "smc":
        assert found.log_evidence == results.log_evidence
        pd.testing.assert_frame_equal(found.widths, results.widths, check_exact=True)
        np.testing.assert_array_equal(found.path.to_numpy(float), results.path.to_numpy(float))


def assert_rows_are_there(found, results, name, data):
    """Everything can be had that the results had when they were saved."""
    assert str(found.summary()) == str(results.summary())
    if name in PATTERNS:
        pd.testing.assert_frame_equal(found.predict(), results.predict(), check_exact=True)
        pd.testing.assert_frame_equal(found.score(), results.score(), check_exact=True)
        pattern = "a" if name == "pattern sequence" else {found.model.features.names[-1]: 0}
        pd.testing.assert_frame_equal(found.expand(pattern), results.expand(pattern), check_exact=True)
        return
    pd.testing.assert_series_equal(found.predict(), results.predict(), check_exact=True)
    if name in KERNEL:
        pd.testing.assert_frame_equal(found.centres, results.centres, check_exact=True)
        return
    for which in ("hpm", "mpm"):
        pd.testing.assert_series_equal(
            found.predict(which=which), results.predict(which=which), check_exact=True
        )
    assert found.screen(0.01).nobs == results.model.nobs


def quiet(call, *args, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rj.PyrjselWarning)
        return call(*args, **options)


@pytest.mark.parametrize("name", fits.FITS)
def test_tables_and_draws_come_back_without_rows(tmp_path, name):
    data, results = fits.make(name)
    results.save(tmp_path / "a.rjs")
    found = load(tmp_path / "a.rjs", name)
    assert type(found) is type(results)
    assert_tables_are(found, results, name)
    # What was loaded can be saved again, and is the same file.
    found.save(tmp_path / "b.rjs")
    assert (tmp_path / "b.rjs").read_bytes() == (tmp_path / "a.rjs").read_bytes()
    if name in SELECTION:
        assert str(found.summary()) == str(results.summary())
        new = data[1] if isinstance(data, tuple) else data.head(7)
        pd.testing.assert_series_equal(found.predict(new), results.predict(new), check_exact=True)


@pytest.mark.parametrize("name", fits.FITS)
def test_with_the_rows_of_the_fit_everything_comes_back(tmp_path, name):
    data, results = fits.make(name)
    results.save(tmp_path / "a.rjs")
    found = quiet(load, tmp_path / "a.rjs", name, data)
    assert_tables_are(found, results, name)
    quiet(assert_rows_are_there, found, results, name, data)
    found.save(tmp_path / "b.rjs")
    assert (tmp_path / "b.rjs").read_bytes() == (tmp_path / "a.rjs").read_bytes()


@pytest.mark.parametrize("name", fits.FITS)
def test_so_it_does_from_files_with_rows(tmp_path, name):
    data, results = fits.make(name)
    results.save(tmp_path / "a.rjs", data=True)
    found = quiet(load, tmp_path / "a.rjs", name)
    assert_tables_are(found, results, name)
    quiet(assert_rows_are_there, found, results, name, data)


@pytest.mark.parametrize("name", fits.FITS)
def test_files_hold_no_rows_unless_asked(tmp_path, name):
    """No column of the design, no response and no weight, to the bit; nor labels of rows."""
    _, results = fits.make(name)
    data = results.model.data
    if name in PATTERNS:
        results.save(tmp_path / "a.rjs")
        codes = [*(column.astype(np.int64) for column in data.codes.T), data.y]
        assert not any(column.tobytes() in (tmp_path / "a.rjs").read_bytes() for column in codes)
        return
    columns = {"y": data.y, **{f"X {k}": column for k, column in enumerate(data.X.T)}, **data.extras}
    whole = {}
    for with_rows in (False, True):
        results.save(tmp_path / "a.rjs", data=with_rows)
        whole[with_rows] = (tmp_path / "a.rjs").read_bytes()
    for column in columns.values():
        parts = [column[k : k + 4].tobytes() for k in range(0, 40, 4)]
        assert not any(part in whole[False] for part in parts if len(set(part)) > 12)
    assert data.y.tobytes() in whole[True]
    if isinstance(data.index[0], str):
        assert data.index[5].encode() not in whole[False]
        assert data.index[5].encode() in whole[True]


MEMBERS = {
    "patterns": {
        "predict": lambda r: r.predict(),
        "predict new": lambda r: r.predict(fits.dotted().head(3)),
        "score": lambda r: r.score(),
        "expand": lambda r: r.expand({"smoke": 1}),
        "fit": lambda r: r.model.fit(rng=1),
        "rows": lambda r: r.model.data.codes,
        "save": lambda r: r.save("nowhere.rjs", data=True),
    },
    "selection": {
        "predict": lambda r: r.predict(),
        "get_prediction": lambda r: r.get_prediction().summary_frame(),
        "predict the best": lambda r: r.predict(fits.births().head(), which="hpm"),
        "screen": lambda r: r.screen(0.01),
        "check": lambda r: r.check(),
        "posterior_predictive": lambda r: r.posterior_predictive(),
        "rows": lambda r: r.model.data.X,
        "fit": lambda r: r.model.fit(rng=1),
        "fit rjmcmc": lambda r: r.model.fit(rng=1, sampler="rjmcmc", draws=10),
        "checkpoint": lambda r: r.model.fit(rng=1, sampler="rjmcmc", draws=10, checkpoint="nowhere"),
        "save": lambda r: r.save("nowhere.rjs", data=True),
    },
    "kernel": {
        "predict": lambda r: r.predict(),
        "get_prediction": lambda r: r.get_prediction(fits.waves().head()).summary_frame(),
        "plot_fit": lambda r: r.plot_fit(),
        "fit": lambda r: r.model.fit(rng=1),
        "save": lambda r: r.save("nowhere.rjs", data=True),
    },
}


@pytest.mark.parametrize(
    ("name", "member"),
    [
        *(("logit enumerated", member) for member in MEMBERS["selection"]),
        *(("linear rjmcmc", member) for member in MEMBERS["selection"]),
        *(("pattern interactions", member) for member in MEMBERS["patterns"]),
        *(("kernel mcmc", member) for member in MEMBERS["kernel"]),
        *(("kernel own", member) for member in MEMBERS["kernel"]),
    ],
)
def test_what_needs_rows_says_so(tmp_path, monkeypatch, name, member):
    monkeypatch.chdir(tmp_path)
    _, results = fits.make(name)
    results.save("a.rjs")
    found = load("a.rjs", name)
    with pytest.raises(rj.NotAvailableError, match=r"rows of the fit.*rj\.load\(path, data=\.\.\.\)"):
        MEMBERS[room(name)][member](found)
    assert [path.name for path in tmp_path.iterdir()] == ["a.rjs"]


def test_plots_need_no_rows(tmp_path):
    from matplotlib import pyplot as plt

    for name in ("logit rjmcmc", "linear enumerated"):
        fits.make(name)[1].save(tmp_path / "a.rjs")
        found = load(tmp_path / "a.rjs", name)
        found.plot_inclusion()
        found.plot_models()
        found.plot_coefficients()
        plt.close("all")
    fits.make("kernel smc")[1].save(tmp_path / "a.rjs")
    found = load(tmp_path / "a.rjs", "kernel smc")
    found.plot_ess()
    found.plot_kernels()
    plt.close("all")
    assert list(found.centres.columns) == ["occupancy"]
    assert "Kernel regression" in str(found.summary())


def test_more_rows_are_taken_from_where_the_filter_was(tmp_path):
    new = fits.waves().iloc[10:16]
    _, results = fits.make("kernel smc")
    results.save(tmp_path / "a.rjs")
    results.save(tmp_path / "b.rjs", data=True)
    one = load(tmp_path / "a.rjs", "kernel smc", fits.waves())
    other = load(tmp_path / "b.rjs", "kernel smc")
    for each in (one, other):
        quiet(each.update, new, progress=False)
    assert one.log_evidence == other.log_evidence
    assert one.nobs == results.nobs + 6
    pd.testing.assert_series_equal(one.predict(new), other.predict(new), check_exact=True)
    one.save(tmp_path / "c.rjs")
    assert load(tmp_path / "c.rjs", "kernel smc").log_evidence == one.log_evidence
    with pytest.raises(rj.DataError, match="6 rows more than the fit had, by update"):
        load(tmp_path / "c.rjs", "kernel smc", fits.waves())
    one.save(tmp_path / "d.rjs", data=True)
    again = load(tmp_path / "d.rjs", "kernel smc")
    pd.testing.assert_series_equal(again.predict(new), one.predict(new), check_exact=True)


def test_rows_that_came_in_chunks(tmp_path):
    frame = fits.births()
    chunks = [frame.iloc[:100], frame.iloc[100:]]
    results = rj.linear("lwt ~ age + smoke + ht", chunks).fit(rng=1)
    results.save(tmp_path / "a.rjs")
    found = rj.load(tmp_path / "a.rjs")
    assert_tables_are(found, results, "linear enumerated")
    found.save(tmp_path / "b.rjs")
    assert (tmp_path / "b.rjs").read_bytes() == (tmp_path / "a.rjs").read_bytes()
    again = rj.load(tmp_path / "a.rjs", data=chunks)
    assert again.screen(0.01).fit(rng=1).inclusion["posterior"].between(0, 1).all()
    with pytest.raises(rj.DataError, match="must be the rows of the fit"):
        rj.load(tmp_path / "a.rjs", data=[frame.iloc[:90], frame.iloc[100:]])
    with pytest.raises(rj.NotAvailableError, match="in chunks"):
        results.save(tmp_path / "c.rjs", data=True)


# ---------------------------------------------------------------------- other rows, other functions


def test_other_rows_are_refused(tmp_path):
    data, results = fits.make("linear enumerated")
    results.save(tmp_path / "a.rjs")
    changed, gone = data.copy(), data.copy()
    changed.loc[7, "age"] += 1e-12
    gone.loc[7, "age"] = np.nan
    for other, message in (
        (changed, "must be the rows of the fit. Those given have other values"),
        (data.iloc[:-1], "must be the rows of the fit, 189 in all. Got 188 instead"),
        (data.iloc[::-1], "Those given have (other|missing) values"),
        (gone, "Those given have missing values where the fit had none"),
        ((data["lwt"], data[["age"]]), "must be"),
        (3, "must be"),
    ):
        with pytest.raises((rj.DataError, rj.ParameterError), match=message):
            rj.load(tmp_path / "a.rjs", data=other)
    with pytest.raises(rj.UnknownNameError, match="age"):
        rj.load(tmp_path / "a.rjs", data=data.drop(columns="age"))
    fits.make("linear arrays")[1].save(tmp_path / "b.rjs")
    with pytest.raises(rj.DataError, match=r"must be a pair \(endog, exog\)"):
        rj.load(tmp_path / "b.rjs", data=data)
    endog, exog = fits.arrays()
    with pytest.raises(rj.DataError, match="rows of the fit, 189 in all"):
        rj.load(tmp_path / "b.rjs", data=(endog[1:], exog))


def test_weights_that_were_an_array_are_saved_with_the_rows_or_not_at_all(tmp_path):
    data = fits.births()
    results = rj.linear("lwt ~ age + smoke", data, weights=np.linspace(1, 2, len(data))).fit(rng=1)
    results.save(tmp_path / "a.rjs")
    assert rj.load(tmp_path / "a.rjs").inclusion.equals(results.inclusion)
    with pytest.raises(rj.DataError, match=r"had an array as weights.*save\(path, data=True\)"):
        rj.load(tmp_path / "a.rjs", data=data)
    results.save(tmp_path / "b.rjs", data=True)
    assert rj.load(tmp_path / "b.rjs").predict().equals(results.predict())


def test_functions_are_asked_for(tmp_path):
    for name in ("logit rjmcmc", "kernel own"):
        fits.make(name)[1].save(tmp_path / "a.rjs")
        with pytest.raises(rj.ParameterError, match="'functions' parameter of load must be"):
            rj.load(tmp_path / "a.rjs")


# ---------------------------------------------------------------------- earlier versions, changed files


@pytest.mark.parametrize("path", sorted(HERE.glob("version-*/*.rjs")), ids=lambda path: path.stem)
def test_files_of_every_version_are_read(path):
    """The tables are those of a fit today, but for what other versions of libraries round otherwise."""
    name = path.stem.replace("-", " ")
    data, results = fits.make(name)
    found = load(path, name)
    rows = quiet(load, path, name, data)
    table = "inclusion" if name in SELECTION else "sigma"
    for each in (found, rows):
        # Chains may part ways at the last bit of some sum: they are of the same posterior, by 150 draws.
        tolerance = 1e-6 if results.sampler == "enumerate" else 0.5
        one, other = (getattr(item, table).to_numpy(float) for item in (each, results))
        np.testing.assert_allclose(
            one[..., :2], other[..., :2], rtol=tolerance, atol=tolerance, err_msg="the layout has changed"
        )


def test_there_are_files_of_every_kind():
    assert {path.stem.replace("-", " ") for path in HERE.glob("version-1/*.rjs")} == set(fits.FITS)


def paths(value, start=()):
    """Yield the place of everything in nested plain data, lists of numbers and text at their first item."""
    if isinstance(value, dict):
        items = list(value.items())
    elif isinstance(value, list):
        items = list(enumerate(value))[: len(value) if value and isinstance(value[0], dict) else 1]
    else:
        items = []
    for key, item in items:
        yield (*start, key)
        yield from paths(item, (*start, key))


def changed(value, path, make):
    """Return nested plain data with something else at a place; the rest is shared."""
    if not path:
        return make(value)
    key, *rest = path
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[key] = changed(value[key], rest, make)
    return copy


WRONG = [
    lambda value: None,
    lambda value: 3,
    lambda value: -1,
    lambda value: 2**62,
    lambda value: 1e308,
    lambda value: float("nan"),
    lambda value: True,
    lambda value: "x",
    lambda value: "__import__('os').system('true')",
    lambda value: [],
    lambda value: {},
    lambda value: [value, value],
    lambda value: {"is": "GPrior", "has": {"g": value}},
    lambda value: np.zeros(3),
    lambda value: np.zeros((0, 5), dtype=np.uint8),
    lambda value: value[:-1] if isinstance(value, (np.ndarray, list, str)) and np.ndim(value) else None,
    lambda value: np.full_like(value, 255) if isinstance(value, np.ndarray) else {"a": value},
    lambda value: value.T if isinstance(value, np.ndarray) else [None],
    lambda value: value.astype(np.float32) if isinstance(value, np.ndarray) else b"x",
]


def use(found):
    """Look at what was read."""
    found.summary()
    repr(found)
    if isinstance(found, rj.SelectionResults):
        return found.inclusion, found.models, found.coefficients, found.predict(fits.births().head())
    if isinstance(found, rj.PatternResults):
        return found.sigma, found.coefficients
    return found.n_kernels, found.centres


def fuzz(name, path, count, seed):
    """Return how many of `count` changes of a file's content were refused, and the longest time of a load."""
    document, rng = read(HERE / "version-1" / f"{name.replace(' ', '-')}.rjs"), np.random.default_rng(seed)
    places, refused, slowest = list(paths(document.content)), 0, 0.0
    for _ in range(count):
        place, make = places[rng.integers(len(places))], WRONG[rng.integers(len(WRONG))]
        write(path, Document(document.kind, document.schema, changed(document.content, place, make)))
        begin = time.perf_counter()
        try:
            found = quiet(load, path, name)
        except rj.PyrjselError:
            refused += 1
            slowest = max(slowest, time.perf_counter() - begin)
            continue
        slowest = max(slowest, time.perf_counter() - begin)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                use(found)
            except (rj.PyrjselError, ValueError, ArithmeticError):
                refused += 1
    return refused, slowest


def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


FUZZED = [
    "logit rjmcmc", "linear enumerated", "linear spikes", "kernel smc", "kernel mcmc", "pattern interactions",
    "pattern gaps",
]  # fmt: skip


@pytest.mark.parametrize("name", FUZZED)
@pytest.mark.parametrize(
    "count", [60, pytest.param(2000, marks=pytest.mark.statistical)], ids=["short", "long"]
)
def test_changed_contents_are_read_or_refused(tmp_path, name, count):
    """Archives that are whole, with content that somebody has changed: errors of the package, in time."""
    before = peak()
    refused, slowest = fuzz(name, tmp_path / "a.rjs", count, seed=count + len(name))
    assert refused > 0.5 * count
    assert slowest < 1.0
    assert peak() - before < 2**30


def test_results_are_not_run_from_files(tmp_path):
    """A formula in a file may call what formulas may call, and nothing else."""
    fits.make("logit enumerated")[1].save(tmp_path / "a.rjs")
    document = read(tmp_path / "a.rjs")
    for code in (
        "__import__('os').system('touch ran')",
        "open('ran', 'w')",
        "lwt.__class__",
        "(lambda: 1)()",
    ):
        content = changed(document.content, ("design", "factors", 0, "code"), lambda value, code=code: code)
        write(tmp_path / "b.rjs", Document(document.kind, 1, content))
        with pytest.raises((rj.FormulaError, rj.DataError, rj.UnknownNameError)):
            rj.load(tmp_path / "b.rjs")
    assert not (tmp_path / "ran").exists()
    assert not os.path.exists("ran")


def test_a_checkpoint_is_no_file_of_results(tmp_path):
    rj.linear("lwt ~ age + smoke", fits.births()).fit(
        sampler="collapsed", draws=20, chains=1, rng=1, checkpoint=tmp_path / "run"
    )
    with pytest.raises(rj.StoreError, match="of the kind 'checkpoint'; those that can be loaded are"):
        rj.load(tmp_path / "run" / "checkpoint.rjs")


def test_files_are_small():
    """Kept files are the fits' own arrays and a header."""
    for path in HERE.glob("version-1/*.rjs"):
        assert path.stat().st_size < 300_000
    assert len(to_bytes(Document("test", 1, None))) < 500

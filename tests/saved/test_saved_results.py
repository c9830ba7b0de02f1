"""Results in files: what is loaded is what was saved; rows stay at home; changed files are refused."""

import os
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from by_path import module
from turns import every

import pyrjsel as rj
from pyrjsel.storage import Document, read, write
from pyrjsel.storage.files import to_bytes

HERE = Path(__file__).parent
fits = module(HERE / "fits.py")

KERNEL = [name for name in fits.FITS if name.startswith("kernel")]
PATTERNS = [name for name in fits.FITS if name.startswith("pattern")]
MIXTURE = [name for name in fits.FITS if name.startswith("mixture")]
SELECTION = [name for name in fits.FITS if name not in (*KERNEL, *PATTERNS, *MIXTURE)]
TABLES = {
    "patterns": ("sigma", "groups", "coefficients", "compression", "diagnostics"),
    "selection": ("inclusion", "models", "coefficients", "diagnostics", "params", "bse"),
    "kernel": ("n_kernels", "sigma", "diagnostics"),
    "mixture": ("inclusion", "models", "diagnostics"),
}


def room(name):
    rooms = {"kernel": KERNEL, "patterns": PATTERNS, "mixture": MIXTURE, "selection": SELECTION}
    return next(room for room, names in rooms.items() if name in names)


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
    if name in MIXTURE:
        assert repr(found) == repr(results)
        assert str(found.summary()) == str(results.summary())
        assert found.model.left_out == results.model.left_out
        for item in ("model", "log_posterior", "log_likelihood", "occupied"):
            np.testing.assert_array_equal(getattr(found.draws, item), getattr(results.draws, item))
        if results._comparison is not None:
            pd.testing.assert_frame_equal(found.comparison, results.comparison, check_exact=True)
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
    if name in MIXTURE:
        pd.testing.assert_frame_equal(found.predict(), results.predict(), check_exact=True)
        pd.testing.assert_frame_equal(found.score(), results.score(), check_exact=True)
        pd.testing.assert_series_equal(found.classify(), results.classify(), check_exact=True)
        assert found.model.nobs == results.model.nobs
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
    if name in MIXTURE:
        new = data[1] if isinstance(data, tuple) else data.head(7)
        pd.testing.assert_frame_equal(found.predict(new), results.predict(new), check_exact=True)
        pd.testing.assert_series_equal(found.classify(new), results.classify(new), check_exact=True)


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
    extras = {} if name in MIXTURE else data.extras
    columns = {"y": data.y, **{f"X {k}": column for k, column in enumerate(data.X.T)}, **extras}
    if name in MIXTURE:
        columns.update({f"z {k}": column for k, column in enumerate(results.model.z.T)})
        columns["labels"] = data.y.astype(np.int32)
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
        "extend": lambda r: r.extend(10),
        "checkpoint": lambda r: r.model.fit(rng=1, sampler="rjmcmc", draws=10, checkpoint="nowhere"),
        "save": lambda r: r.save("nowhere.rjs", data=True),
    },
    "kernel": {
        "predict": lambda r: r.predict(),
        "plot_fit": lambda r: r.plot_fit(),
        "fit": lambda r: r.model.fit(rng=1),
        "save": lambda r: r.save("nowhere.rjs", data=True),
    },
    "mixture": {
        "predict": lambda r: r.predict(),
        "score": lambda r: r.score(),
        "density": lambda r: r.density(inputs="a"),
        "classify": lambda r: r.classify(),
        "fit": lambda r: r.model.fit(rng=1),
        "extend": lambda r: r.extend(10),
        "rows": lambda r: r.model.data.X,
        "save": lambda r: r.save("nowhere.rjs", data=True),
    },
}


@pytest.mark.parametrize("name", ["logit enumerated", "kernel smc", "pattern interactions", "mixture"])
def test_files_are_written_to_folders_that_exist(tmp_path, name):
    _, results = fits.make(name)
    with pytest.raises(rj.ParameterError, match=r"^The 'path' parameter of .*in a folder that exists"):
        results.save(tmp_path / "none" / "a.rjs")
    assert list(tmp_path.iterdir()) == []


def test_draws_that_were_not_saved_need_rows(tmp_path):
    path = tmp_path / "a.rjs"
    fits.make("logit enumerated")[1].save(path)
    new = fits.births().head()
    assert len(rj.load(path).get_prediction(new, draws=4000).coefficients) == 4000
    with pytest.raises(rj.NotAvailableError, match="needs the training data"):
        rj.load(path).predict(new, draws=5000)
    assert rj.load(path, fits.births()).predict(new, draws=5000).notna().all()


@pytest.mark.parametrize(
    ("name", "member"),
    [
        *(("logit enumerated", member) for member in MEMBERS["selection"] if member != "extend"),
        *(("linear rjmcmc", member) for member in MEMBERS["selection"]),
        *(("pattern interactions", member) for member in MEMBERS["patterns"]),
        *(("kernel mcmc", member) for member in MEMBERS["kernel"]),
        *(("mixture", member) for member in MEMBERS["mixture"]),
        *(("kernel own", member) for member in MEMBERS["kernel"]),
    ],
)
def test_what_needs_rows_says_so(tmp_path, monkeypatch, name, member):
    monkeypatch.chdir(tmp_path)
    _, results = fits.make(name)
    results.save("a.rjs", data=False)
    found = load("a.rjs", name)
    with pytest.raises(rj.NotAvailableError, match=r"training data.*rj\.load\(path, data=\.\.\.\)"):
        MEMBERS[room(name)][member](found)
    assert [path.name for path in tmp_path.iterdir()] == ["a.rjs"]


PLOTS_OF_ROWS = {
    "patterns": (),
    "selection": ("plot_check",),
    "kernel": ("plot_fit",),
    "mixture": ("plot_calibration", "plot_components"),
}


def pictures(results, names):
    """Return the pixels of plots, by name, or why there is none."""
    from matplotlib import pyplot as plt

    plt.switch_backend("Agg")
    found = {}
    for name in names:
        try:
            ax = getattr(results, name)()
        except rj.NotAvailableError as error:
            found[name] = str(error)
        else:
            figure = np.ravel(ax)[0].figure
            figure.set_dpi(50)  # what differs, differs there too
            figure.canvas.draw()
            found[name] = np.asarray(figure.canvas.buffer_rgba()).copy()
        plt.close("all")
    return found


@pytest.mark.parametrize("name", every(4, fits.FITS))
def test_plots_of_loaded_results_are_the_same_pictures(tmp_path, name):
    """Pixel by pixel, in one process; without the rows those that need none."""
    data, results = fits.make(name)
    # plot_scores is of new rows.
    names = [plot for plot in dir(results) if plot.startswith("plot_") and plot != "plot_scores"]
    drawn, of_rows = quiet(pictures, results, names), PLOTS_OF_ROWS[room(name)]
    assert any(isinstance(picture, np.ndarray) for picture in drawn.values())
    results.save(tmp_path / "a.rjs")
    found = quiet(pictures, load(tmp_path / "a.rjs", name), names)
    for plot in of_rows:
        assert isinstance(drawn[plot], str) or "training data" in found[plot]
    found |= quiet(pictures, load(tmp_path / "a.rjs", name, data), of_rows)
    for plot, picture in drawn.items():
        np.testing.assert_array_equal(found[plot], picture, err_msg=plot)


@pytest.mark.parametrize("name", fits.DRAWN)
def test_draws_go_to_arviz_with_and_without_rows(tmp_path, name):
    pytest.importorskip("arviz")
    data, results = fits.make(name)
    results.save(tmp_path / "a.rjs")
    expected = results.to_arviz()
    bare, full = load(tmp_path / "a.rjs", name).to_arviz(), load(tmp_path / "a.rjs", name, data).to_arviz()
    for found in (bare, full):
        for group in ("posterior", "sample_stats"):
            if hasattr(expected, group):
                assert getattr(found, group).equals(getattr(expected, group))
    assert not hasattr(bare, "observed_data")
    assert full.observed_data.equals(expected.observed_data)


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
    with pytest.raises(rj.DataError, match="must be the training data of the fit"):
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
        (changed, "must be the training data of the fit. Those given differ"),
        (data.iloc[:-1], "must be the training data of the fit, 189 rows. Got 188 instead"),
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
    with pytest.raises(rj.DataError, match="training data of the fit, 189 rows"):
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


# ---------------------------------------------------------------------- files kept, changed files


@pytest.mark.parametrize("name", fits.KEPT)
def test_kept_files_are_read(name):
    """The tables are those of a fit today, but for what other versions of libraries round otherwise."""
    data, results = fits.make(name)
    path = fits.FILES / f"{name.replace(' ', '-')}.rjs"
    table = "inclusion" if name in (*SELECTION, *MIXTURE) else "sigma"
    # Chains may part ways at the last bit of some sum: they are of the same posterior, by 150 draws.
    tolerance = 0.5 if name in fits.DRAWN or name in KERNEL else 1e-6
    for rows in (None, data):
        found = quiet(load, path, name, rows)
        one, other = (getattr(item, table).to_numpy(float) for item in (found, results))
        np.testing.assert_allclose(
            one[..., :2], other[..., :2], rtol=tolerance, atol=tolerance, err_msg="the layout has changed"
        )
    if name in fits.DRAWN:
        draws, longer = draws_of(found), draws_of(quiet(found.extend, 3, progress=False))
        np.testing.assert_array_equal(longer[:, : draws.shape[1]], draws)
        assert longer.shape == (draws.shape[0], draws.shape[1] + 3)


def test_rows_in_chunks_keep_the_terms_of_the_saved_design(tmp_path):
    frame = fits.births()
    chunks = [frame.iloc[:100], frame.iloc[100:]]
    formula, listed = "lwt ~ age + race + smoke + ht", ["race", "ht", "age", "smoke"]
    choices = rj.linear(formula, frame)._choices
    earlier = rj.LinearSelection._from_rows(
        formula, chunks, choices, {"weights": None, "offset": None}, "drop", None, listed
    )
    assert list(earlier.term_names) == listed
    results = earlier.fit(rng=1)
    now = rj.linear(formula, chunks).fit(rng=1)
    assert list(now.inclusion.index) == ["age", "race", "smoke", "ht"]
    # Another order of the same sums: a few ulps.
    pd.testing.assert_frame_equal(now.inclusion.loc[listed], results.inclusion, rtol=1e-9)
    results.save(tmp_path / "a.rjs")
    found = rj.load(tmp_path / "a.rjs", data=chunks)
    assert list(found.model.term_names) == listed
    pd.testing.assert_frame_equal(found.inclusion, results.inclusion)
    assert list(found.model.fit(rng=1).inclusion.index) == listed


def draws_of(results):
    """Return a number of each draw, (chains, draws)."""
    return results.run.draws.log_marginal if hasattr(results, "run") else results.draws.log_posterior


def changed(value, path, make):
    """Return nested plain data with something else at a place; the rest is shared."""
    if not path:
        return make(value)
    key, *rest = path
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[key] = changed(value[key], rest, make)
    return copy


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
        write(tmp_path / "b.rjs", Document(document.kind, content))
        with pytest.raises((rj.FormulaError, rj.DataError, rj.UnknownNameError)):
            rj.load(tmp_path / "b.rjs")
    assert not (tmp_path / "ran").exists()
    assert not os.path.exists("ran")


@pytest.mark.filterwarnings("ignore:The run has:pyrjsel.ConvergenceWarning")
def test_a_checkpoint_is_no_file_of_results(tmp_path):
    rj.linear("lwt ~ age + smoke", fits.births()).fit(
        sampler="collapsed", draws=20, chains=1, rng=1, checkpoint=tmp_path / "run"
    )
    with pytest.raises(rj.StoreError, match="it is a 'checkpoint' file, and only these can be loaded"):
        rj.load(tmp_path / "run" / "checkpoint.rjs")


def test_files_are_small():
    """Kept files are the fits' own arrays and a header."""
    assert {path.stem.replace("-", " ") for path in fits.FILES.iterdir()} == set(fits.KEPT)
    for path in fits.FILES.iterdir():
        assert path.stat().st_size < 300_000
    assert len(to_bytes(Document("test", None))) < 500

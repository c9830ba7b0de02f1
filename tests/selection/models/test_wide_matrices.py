"""Linear models of matrices that stay in their own types: the same fit as in float64, and bad input."""

import os
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import pyrjsel as rj
from pyrjsel.design.wide.layout import ColumnNames
from pyrjsel.model_space import SparseModels, visited_models
from pyrjsel.model_space.chains import promising_start
from pyrjsel.selection.samplers.collapsed.chain import CollapsedChain

# More columns than those whose cross-products are computed at once, which start elsewhere.
N, P = 120, 2100
EFFECTS = [3, 700, 2099]


@pytest.fixture(scope="module")
def problem():
    rng = np.random.default_rng(12)
    x = rng.integers(0, 3, (N, P)).astype(np.int8)
    y = x[:, EFFECTS] @ np.array([1.0, -1.2, 0.9]) + 0.4 * rng.standard_normal(N)
    return pd.Series(y, name="height"), x


def quietly(*args, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rj.PyrjselWarning)
        model = rj.LinearSelection(*args, **options)
        return model


def fitted(model, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rj.PyrjselWarning)
        return model.fit(**{"rng": 5, "draws": 60, "chains": 2, "n_jobs": 1, **options})


@pytest.fixture(scope="module")
def dense(problem):
    y, x = problem
    return fitted(quietly(y, x.astype(float)))


@pytest.fixture(scope="module")
def wide(problem):
    return fitted(quietly(*problem))


def agree(found, expected):
    """The same walk: models are equal, and figures up to rounding of sums over 120 rows."""
    np.testing.assert_array_equal(
        found.draws.models[found.draws.model], expected.draws.models[expected.draws.model]
    )
    one, two = found.posterior, expected.posterior
    for name in ("inclusion", "inclusion_mcse", "log_marginal", "excluded"):
        np.testing.assert_allclose(getattr(one, name), getattr(two, name), rtol=1e-7, atol=1e-9, err_msg=name)
    np.testing.assert_allclose(one.moments.mean, two.moments.mean, rtol=1e-9, atol=1e-10)


def test_columns_few_enough_for_their_cross_products(problem):
    """Of a matrix in its own type they are still computed on demand."""
    y, x = problem
    results = fitted(quietly(y, x[:, :1100]))
    assert results.inclusion["posterior"].nlargest(2).index.tolist() == ["x701", "x4"]


def test_every_form_is_the_walk_in_float64(problem, dense, wide, tmp_path):
    y, x = problem
    agree(wide, dense)
    assert wide.best() == dense.best() == ("x4", "x701", "x2100")
    mapped = np.memmap(tmp_path / "x", np.float64, "w+", shape=x.shape)
    mapped[:] = x
    for form in (np.asfortranarray(x), x.astype(np.float32), mapped, sparse.csc_matrix(x)):
        agree(fitted(quietly(y, form), n_jobs=2), dense)


@pytest.mark.parametrize("prior", [rj.ZellnerSiow(), rj.Normal(0.5), rj.HyperGN(3)], ids=repr)
def test_priors_and_weights_agree(problem, prior):
    y, x = problem
    options = {"coef_prior": prior, "weights": np.linspace(0.5, 2.0, N), "offset": np.linspace(0, 1, N)}
    one, two = (fitted(quietly(y, z, max_size=20, **options), draws=25) for z in (x, x.astype(float)))
    agree(one, two)


def test_results_work_whole(problem, dense, wide, tmp_path):
    _, x = problem
    assert "x701" in str(wide.summary())
    rows = x[:7]
    for which in ("bma", "hpm", "mpm", "bpm"):
        expected = dense.get_prediction(rows.astype(float), which).summary_frame()
        for form in (rows, rows.astype(float), sparse.csc_array(rows)):
            found = wide.get_prediction(form, which).summary_frame()
            np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-9, err_msg=which)
    np.testing.assert_allclose(wide.predict(), dense.predict(), rtol=1e-8)
    pd.testing.assert_frame_equal(wide.conf_int(), dense.conf_int(), rtol=1e-7, atol=1e-9)
    pd.testing.assert_frame_equal(wide.coefficients, dense.coefficients, rtol=1e-6, atol=1e-7)
    pd.testing.assert_frame_equal(wide.audit, dense.audit, rtol=1e-7, atol=1e-8)
    one, two = (results.single_model("hpm").coefficients for results in (wide, dense))
    pd.testing.assert_frame_equal(one, two, rtol=1e-8, atol=1e-9)
    small = wide.screen(0.5)
    assert small.term_names == ("x4", "x701", "x2100")
    assert small.fit().predict(rows).shape == (7,)
    for call in (lambda: wide.plot_coefficients(kind="density"), lambda: wide.model.cross_validate(3)):
        with pytest.raises(rj.NotAvailableError, match="screen"):
            call()


def test_files_hold_results_and_on_request_the_matrix(problem, wide, tmp_path):
    y, x = problem
    wide.save(tmp_path / "a.rj")
    wide.save(tmp_path / "b.rj", data=True)
    for loaded in (
        rj.load(tmp_path / "a.rj"),
        rj.load(tmp_path / "a.rj", data=(y, x)),
        rj.load(tmp_path / "b.rj"),
    ):
        pd.testing.assert_frame_equal(loaded.inclusion, wide.inclusion)
        pd.testing.assert_frame_equal(loaded.models, wide.models)
        np.testing.assert_array_equal(loaded.predict(x[:5]), wide.predict(x[:5]))
    assert loaded.model.data.X.values.dtype == np.int8
    other = x.copy()
    other[0, 0] += 1
    for data in ((y, other), (y, x.astype(float)), x):
        with pytest.raises(rj.DataError, match="must be"):
            rj.load(tmp_path / "a.rj", data=data)


def test_sparse_columns_are_saved_too(problem, tmp_path):
    y, x = problem
    results = fitted(quietly(y, sparse.csc_array(x)), draws=5)
    results.save(tmp_path / "b.rj", data=True)
    loaded = rj.load(tmp_path / "b.rj")
    np.testing.assert_array_equal(loaded.predict(), results.predict())


def test_longer_runs_and_checkpoints_are_one_run(problem, monkeypatch, tmp_path):
    """One of them, and its file, with models by their included terms, as those of more terms are kept."""
    model = quietly(*problem)
    with monkeypatch.context() as many, warnings.catch_warnings():
        many.setattr(visited_models, "MANY_TERMS", 1000)
        half = fitted(model, draws=40, burn_in=12, checkpoint=tmp_path / "half")
        warnings.simplefilter("ignore", rj.ConvergenceWarning)
        longer = half.extend(20, n_jobs=1, progress=False)
        assert isinstance(longer.posterior.packed, SparseModels)
        longer.save(tmp_path / "longer.rj")
    again = fitted(model, burn_in=12, checkpoint=tmp_path / "here", n_jobs=2)
    for found in (longer, rj.load(tmp_path / "longer.rj", data=problem)):
        np.testing.assert_array_equal(found.draws.log_posterior, again.draws.log_posterior)
        np.testing.assert_array_equal(found.draws.model, again.draws.model)
        np.testing.assert_array_equal(found.draws.models, again.draws.models)
        np.testing.assert_array_equal(found.draws.changes, again.draws.changes)
        pd.testing.assert_frame_equal(found.audit, again.audit)
        assert found.single_model("hpm").posterior == again.single_model("hpm").posterior


def test_chains_that_rest_between_rounds_have_the_same_draws(problem, monkeypatch):
    y, x = problem
    model = quietly(y, x[:, :1030])
    # Rounds end between two refactorisations.
    options = {"draws": "auto", "max_draws": 250, "mcse": 1e-6, "burn_in": 12}
    found, rests = fitted(model, **options), []
    monkeypatch.setattr(CollapsedChain, "rest", lambda chain: rests.append(chain.number))
    wanted = fitted(model, **options)
    assert rests == [0, 0, 1, 1, 0, 1]  # for the search of a mode, and after rounds
    for name in ("log_posterior", "model"):
        np.testing.assert_array_equal(getattr(found.draws, name), getattr(wanted.draws, name))
    pd.testing.assert_frame_equal(found.inclusion, wanted.inclusion, check_exact=True)
    columns = [name for name in wanted.diagnostics if "seconds" not in name]
    pd.testing.assert_frame_equal(found.diagnostics[columns], wanted.diagnostics[columns], check_exact=True)


def test_names_are_a_tuple_that_is_not_stored():
    names, want = ColumnNames(np.array([0, 4, 6, 11])), ("x1", "x5", "x7", "x12")
    assert names == want
    assert names[1:] == want[1:]
    assert hash(names) == hash(want)
    assert [names[k] for k in (0, -1)] == ["x1", "x12"]
    others = ("x01", "x2", "x13", "y", "x", 7, f"x{10**30}")
    assert [name for name in (*want, *others) if name in names] == list(want)
    assert [names.index(name) for name in want] == [0, 1, 2, 3]
    with pytest.raises(ValueError, match="'x1' is not a column"):
        names.index("x1", 1)


def test_constant_columns_are_counted_and_left_out(problem):
    y, x = problem
    x = x.copy()
    x[:, [0, 5]] = [1, -7]
    with pytest.warns(rj.RankWarning) as caught:
        model = rj.LinearSelection(y, x)
    texts = [str(warning.message) for warning in caught]
    assert (
        texts[0] == "2 constant columns of the 'exog' of LinearSelection cannot be terms and were left out."
    )
    assert model.term_names[:5] == ("x2", "x3", "x4", "x5", "x7")
    assert model.term_names[-1] == "x2100"
    assert fitted(model).best() == ("x4", "x701", "x2100")
    with pytest.raises(rj.DataError, match="All 2100 constant columns"):
        rj.LinearSelection(y, np.ones((N, P), np.int8))


def test_bad_input_is_refused_by_name(problem, tmp_path):
    y, x = problem
    gaps = x.astype(np.float32)
    gaps[3, [2, 9]] = [np.nan, np.inf]
    mapped = np.memmap(tmp_path / "x", np.int64, "w+", shape=x.shape)
    hole = y.copy()
    hole.iloc[4] = np.nan
    cases = [
        ((y, gaps), {}, "infinite values in 2 columns: x3, x10"),
        ((y, sparse.csc_array(gaps)), {}, "infinite values in 2 columns: x3, x10"),
        ((y[1:], x), {}, "119 rows, but its 'exog' 120"),
        ((hole, x), {}, "missing values .height: 1."),
        ((y, mapped), {}, "int8.*Got int64"),
        ((y, sparse.csr_array(x)), {}, "compressed sparse columns.*Got format 'csr'"),
        ((y, x), {"weights": np.r_[0.0, np.ones(N - 1)]}, "the 1 row of weight 0"),
        ((y, x), {"weights": np.ones(3)}, "one value for each of the 120 rows"),
        ((y.rename("x7"), x), {}, "also the name of the response"),
        ((np.ones(N), x), {}, "response of LinearSelection is constant"),
    ]
    for args, options, text in cases:
        with pytest.raises(rj.DataError, match=text):
            quietly(*args, **options)
    for prior in (rj.SpikeSlab(0.1, 10.0), rj.Normal(1.0, scaled=False)):
        with pytest.raises(rj.NotAvailableError, match="integrated out") as caught:
            quietly(y, x, coef_prior=prior)
        assert len(str(caught.value)) < 400  # the prior of each column is not listed
    model = quietly(y, x)
    for sampler in ("gibbs", "rjmcmc", "enumerate"):
        with pytest.raises(rj.NotAvailableError, match="use 'collapsed'"):
            model.fit(sampler=sampler)


def test_new_rows_are_checked(problem, wide):
    _, x = problem
    bad = x[:3].astype(float)
    bad[0, EFFECTS[0]] = np.inf  # of a column that predictions need
    for new, text in (
        (x[:3, 1:], "2100 columns"),
        (bad, "infinite"),
        (x[0], "2100 columns"),
        ("text", "matrix"),
    ):
        with pytest.raises(rj.DataError, match=text):
            wide.predict(new)
    bad[0, 3] = bad[0, 0] = np.nan
    assert np.isnan(wide.predict(bad)).tolist() == [True, False, False]
    frame = pd.DataFrame(x[:3], columns=wide.model.term_names, index=list("abc"))
    pd.testing.assert_series_equal(wide.predict(frame), wide.predict(x[:3]).set_axis(list("abc")))
    with pytest.raises(rj.UnknownNameError, match=r"needs the column .x4., which the data do not have"):
        wide.predict(frame.drop(columns="x4"))


def test_new_rows_are_read_as_those_of_narrow_models_are(problem, wide):
    """Masked cells and None are missing; text, complex numbers, dates and doubled names are errors."""
    _, x = problem
    want = wide.predict(x[:3])
    lost = np.isin(np.arange(P), EFFECTS) & (np.arange(3) == 1)[:, None]
    holes = x[:3].astype(object)
    holes[lost] = None
    frame = pd.DataFrame(x[:3], columns=wide.model.term_names)
    for new in (np.ma.array(x[:3], mask=lost), holes, frame.astype("Int8").mask(lost)):
        found = wide.predict(new)
        assert found.isna().tolist() == [False, True, False]
        np.testing.assert_array_equal(found[[0, 2]], want[[0, 2]])
    for new in (x[:3].astype(">f8"), x[:3].astype(np.float16)):
        np.testing.assert_array_equal(wide.predict(new), want)
    for new, text in (
        (x[:3] + 100j, "complex128"),
        (x[:3].astype(str), "must hold real values.*Got text"),
        (frame.astype(str), "'x4'.*must hold real values.*Got text"),
        (x[:3].astype("M8[D]"), "datetime64"),
        (frame.set_axis(["x4", *frame.columns[1:]], axis=1).assign(x1=0), "more than one column named 'x4'"),
        (sparse.coo_array(x[0]), "must be a matrix"),
    ):
        with pytest.raises(rj.DataError, match=text):
            wide.predict(new)


@pytest.mark.parametrize("kind", [np.array, sparse.csc_array])
def test_a_matrix_that_changes_is_refused_wherever_it_is_read(problem, kind, tmp_path):
    y, x = problem
    form = kind(x)
    results = fitted(quietly(y, form), draws=5)
    values = form.data if sparse.issparse(form) else form
    calls = {
        "fit": lambda: fitted(results.model, draws=5),
        "extend": lambda: results.extend(5, progress=False),
        "predict": results.predict,
        "single_model": results.single_model,
        "screen": lambda: results.screen(0.5),
        "save": lambda: results.save(tmp_path / "a.rj"),
    }
    values[:1] += 1
    for name, call in calls.items():
        with pytest.raises(rj.DataError, match=f"has changed.*{name} would mix"):
            call()
    values[:1] -= 1
    assert results.single_model().terms == results.best()


def test_indices_of_a_sparse_matrix_belong_to_the_model(problem):
    """Compiled loops would read outside of the values with others."""
    y, x = problem
    columns = sparse.csc_array(x)
    model = quietly(y, columns)
    want = fitted(model, draws=5)
    columns.indices[:], columns.indptr[1:-1] = 5 * 10**8, 10**6
    agree(fitted(model, draws=5), want)


@pytest.mark.parametrize("form", ["csc", "csr", "bsr", "coo", "lil", "dok"])
def test_sparse_matrices_are_checked_before_scipy_reads_them(problem, form):
    y, x = problem
    few = sparse.csc_array(x[:, :6]).asformat(form)
    results = fitted(quietly(y, few))
    np.testing.assert_array_equal(results.predict(few), results.predict(x[:, :6]))
    if form == "dok":
        return
    if form == "coo":
        few.coords[0][0] = 10**6
    elif form == "lil":
        few.rows[0][0] = 10**6
    else:
        few.indices[0] = 10**6
    for call in (lambda: quietly(y, few), lambda: results.predict(few), lambda: rj.KernelRegression(y, few)):
        with pytest.raises(rj.DataError, match=r"'(exog|new)' .* damaged sparse matrix: .*(1000000|< )"):
            call()


def damaged(x, name, place, value):
    found = sparse.csc_array(x)
    array = getattr(found, name).copy()
    array[place] = value
    setattr(found, name, array)
    return found


@pytest.mark.parametrize(
    "change",
    [("indices", 5, N), ("indices", 5, -1), ("indptr", 5, 0), ("indptr", 500, 10**8), ("indptr", -1, 10**8)],
    ids=str,
)
def test_damaged_sparse_columns_are_refused(problem, change):
    y, x = problem
    with pytest.raises(rj.DataError, match="'exog' of LinearSelection is a damaged sparse matrix"):
        quietly(y, damaged(x, *change))


def test_sparse_columns_changed_after_scipy_looked_at_them(problem):
    """Entries twice in a column are added, although scipy remembers that there are none."""
    y, x = problem
    columns, wanted = sparse.csc_array(x), x.astype(np.int16)
    assert columns.has_canonical_format
    first, second = columns.indices[:2]
    wanted[second, 0] += wanted[first, 0]
    wanted[first, 0] = 0
    columns.indices[0] = second
    agree(fitted(quietly(y, columns), draws=5), fitted(quietly(y, wanted), draws=5))


def test_a_memory_map_of_a_file_that_was_cut_is_refused(problem, tmp_path):
    y, x = problem
    mapped = np.memmap(tmp_path / "x", np.int8, "w+", shape=x.shape)
    mapped[:] = x
    model = quietly(y, mapped)
    os.truncate(tmp_path / "x", 100)
    for call in (lambda: quietly(y, mapped[:, 5:]), lambda: model.fit(draws=5)):
        with pytest.raises(rj.DataError, match="file that now has 100 bytes"):
            call()


def test_matrices_without_rows(problem, wide):
    y, x = problem
    for form in (x[:0], sparse.csc_array(x[:0])):
        with pytest.raises(rj.DataError, match="no rows"):
            quietly(y[:0], form)
        assert wide.predict(form).empty


def test_small_matrices_are_converted(problem):
    y, x = problem
    few = x[:, EFFECTS]
    expected = rj.LinearSelection(y, few.astype(float)).fit().inclusion
    for form in (few, sparse.csc_array(few), sparse.csr_array(few)):
        pd.testing.assert_frame_equal(rj.LinearSelection(y.to_numpy(), form).fit().inclusion, expected)


@pytest.mark.parametrize("options", [{}, {"max_size": 4}, {"always": ["x9"], "max_size": 3}], ids=repr)
def test_chains_start_among_the_best_columns_alone(problem, options):
    y, x = problem
    model = quietly(y, x, **options)
    scores = model.regression.term_scores
    z = (x - x.mean(axis=0)) / x.std(axis=0)
    np.testing.assert_allclose(scores, (z.T @ (y - y.mean())) ** 2, rtol=1e-10)
    fixed = [model.term_names.index(name) for name in options.get("always", [])]
    best = {*np.argsort(-scores)[: 20 + len(fixed)], *fixed}
    seen = set()
    for seed in range(5):
        gamma = promising_start(model.space, lambda gamma: True, np.random.default_rng(seed), scores)
        inside = np.flatnonzero(gamma).tolist()
        assert {*fixed} <= {*inside} <= best
        assert len(inside) == {4: 2, 3: 3}.get(options.get("max_size"), 10)
        seen.add(tuple(inside))
    assert len(seen) == 5
    nothing = promising_start(model.space, lambda gamma: False, np.random.default_rng(0), scores)
    np.testing.assert_array_equal(nothing, model.space.empty_model())

"""Linear models from rows in chunks: the posterior is that of the rows in memory."""

import gc
import os
import tracemalloc

import numpy as np
import pandas as pd
import pytest

import pyrjsel as rj

N = 400
FORMULA = "y ~ standardize(x1)*g + x2 + C(k) + b + bs(x3, df=4)"
NUMBERS = "y ~ x1 + x2 + x3 + k + b"
PRIORS = {
    "g": rj.GPrior("n"),
    "hyper-g": rj.HyperG(3),
    "zellner-siow": rj.ZellnerSiow(),
    "normal": rj.Normal(1.5),
    "unscaled": rj.Normal(1.5, scaled=False),
}


def make(n=N, seed=5):
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(rng.normal(size=(n, 3)), columns=["x1", "x2", "x3"])
    table["k"] = rng.integers(0, 4, n)
    table["b"] = rng.random(n) < 0.3
    table["g"] = np.where(np.arange(n) > 0.7 * n, "late", rng.choice(["p", "q"], n))
    table["y"] = 0.4 * table["x1"] + 0.3 * (table["g"] == "late") + rng.normal(size=n)
    table["w"] = rng.choice([0.0, 0.5, 1.0, 3.0], n, p=[0.05, 0.3, 0.35, 0.3])
    table["o"] = rng.normal(size=n)
    return table


@pytest.fixture(scope="module")
def table():
    return make()


@pytest.fixture(scope="module")
def gaps(table):
    out = table.copy()
    out.loc[::19, "x2"] = np.nan
    out.loc[3:7, "g"] = None
    out.loc[::31, "w"] = np.nan
    return out


def cut(data, seed=1, parts=12):
    ends = np.sort(np.random.default_rng(seed).integers(0, len(data) + 1, parts))
    return [data.iloc[a:b] for a, b in zip([0, *ends], [*ends, len(data)], strict=True)]


def shuffled(data, seed):
    return data.sample(frac=1, random_state=np.random.RandomState(seed))


def check(formula, data, chunks, atol=1e-8, **options):
    """Inclusion, moments of coefficients, marginal likelihoods and deviances are those of the rows."""
    wanted = rj.linear(formula, data, **options).fit()
    model = rj.linear(formula, chunks, **options)
    found = model.fit()
    assert model.term_names == wanted.model.term_names
    assert model.nobs == wanted.model.nobs
    np.testing.assert_allclose(found.inclusion["posterior"], wanted.inclusion["posterior"], rtol=0, atol=atol)
    size = wanted.coefficients["sd"].to_numpy()
    for name in ("mean", "sd", "mean_included", "sd_included"):
        # Against the standard deviation: a mean of nearly 0 has no relative precision.
        error = (found.coefficients[name] - wanted.coefficients[name]).abs().to_numpy()
        assert np.all(error <= atol * np.maximum(size, wanted.coefficients[name].abs())), name
    keys = [
        sorted(zip(run.models["terms"], run.models["log_marginal"], strict=True)) for run in (found, wanted)
    ]
    assert [terms for terms, _ in keys[0]] == [terms for terms, _ in keys[1]]
    np.testing.assert_allclose(*[[value for _, value in one] for one in keys], rtol=atol, atol=atol)
    pd.testing.assert_series_equal(
        found.models["deviance"].sort_values(ignore_index=True),
        wanted.models["deviance"].sort_values(ignore_index=True),
        rtol=atol,
        atol=0,
    )
    shares = [run.single_model("hpm").rsquared for run in (found, wanted)]
    np.testing.assert_allclose(*shares, rtol=0, atol=atol)
    return found, wanted


@pytest.mark.parametrize("prior", PRIORS.values(), ids=PRIORS)
def test_the_same_posterior(prior, table):
    check(FORMULA, table, cut(table), coef_prior=prior, weights="w", offset="o")


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_chunks_of_all_sizes_in_any_order(seed, table):
    rows = shuffled(table, seed)
    check(FORMULA, table, lambda: iter(cut(rows, seed, 4**seed)))


def test_chunks_of_one_row(table):
    some = table.iloc[-120:]
    check(NUMBERS, some, (some.iloc[i : i + 1] for i in range(len(some))), weights="w")
    some = table.iloc[230:330]
    check("y ~ g*x1 + C(k)", some, [some.iloc[i : i + 1] for i in range(len(some))], offset="o")


@pytest.mark.parametrize("formula", [NUMBERS, FORMULA])
def test_missing_values(formula, gaps):
    with pytest.warns(rj.MissingDataWarning) as warned:
        found, wanted = check(formula, gaps, cut(gaps), weights="w")
    assert len({str(item.message) for item in warned}) == 1  # the same words for both
    assert {item.filename for item in warned} == {__file__}
    pd.testing.assert_series_equal(found.model.data.missing, wanted.model.data.missing)
    lines = str(found.summary()).split("\n")
    dropped = [line for line in lines if "dropped" in line]
    assert dropped == [line for line in str(wanted.summary()).split("\n") if "dropped" in line]
    assert len(dropped) == 2


def test_summaries_agree(table):
    found, wanted = check(FORMULA, table, cut(table), weights="w", offset="o")
    texts = [
        [line for line in str(run.summary()).split("\n") if "Run time" not in line] for run in (found, wanted)
    ]
    assert texts[0] == texts[1]


def test_means_far_from_zero(table):
    """Columns and responses of mean 1e6 and sd 1: summed as they come, squares would lose 12 digits."""
    far = table.assign(**{name: table[name] + 1e6 for name in ("x1", "x2", "x3", "y")})
    for chunks in (cut(far, 2), [far.iloc[i : i + 1] for i in range(N)]):
        found, _ = check(NUMBERS, far, chunks)
    near = rj.linear(NUMBERS, table).fit()
    np.testing.assert_allclose(found.inclusion["posterior"], near.inclusion["posterior"], rtol=0, atol=1e-8)


def test_one_mean_for_each_chunk(table):
    """Chunks that are far apart: what is between them is the larger part of the sums."""
    moved = table.assign(
        x1=table["x1"] + 1e3 * (np.arange(N) // 50), y=table["y"] + 50.0 * (np.arange(N) // 50)
    )
    check(NUMBERS, moved, [moved.iloc[at : at + 50] for at in range(0, N, 50)])


def test_memory_does_not_grow_with_rows():
    """Ten times the rows, one chunk in memory at a time: the peak hardly moves.

    It is some 1.3 MB here: one number kept of each row would add half of that. Other threads of the process
    may allocate meanwhile, and what cycles hold is freed at its own time.
    """

    def peak(chunks):
        rows = 2_000

        def source():
            rng = np.random.default_rng(1)
            for _ in range(chunks):
                data = rng.normal(size=(rows, 6))
                frame = pd.DataFrame(data, columns=["y", "x1", "x2", "x3", "x4", "x5"])
                yield frame.assign(g=rng.choice(["p", "q", "r"], rows))

        gc.collect()
        tracemalloc.start()
        try:
            model = rj.linear("y ~ standardize(x1)*g + x2 + x3 + x4 + x5", source)
            found = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert model.nobs == chunks * rows
        return found

    peak(2)  # imports and caches
    few, many = peak(4), peak(40)
    assert many < 1.2 * few


def test_what_needs_rows(table):
    results = rj.linear(FORMULA, cut(table), offset="o").fit(rng=1)
    wanted = rj.linear(FORMULA, table, offset="o").fit(rng=1)
    for call in (results.predict, results.get_prediction, lambda: results.predict(which="hpm")):
        with pytest.raises(rj.NotAvailableError, match="came in chunks, of which only sums were kept"):
            call()
    for name in ("X", "y", "extras", "index"):
        with pytest.raises(rj.NotAvailableError, match="came in chunks"):
            getattr(results.model.data, name)
    new = table.iloc[:30]
    for which in ("hpm", "mpm"):
        # By 4,000 draws with the same seed, of coefficients that are the same to rounding.
        np.testing.assert_allclose(results.predict(new, which), wanted.predict(new, which), atol=1e-7)
        frames = [run.get_prediction(new, which).summary_frame() for run in (results, wanted)]
        np.testing.assert_allclose(*frames, atol=1e-6)


def test_screening(table):
    results, wanted = rj.linear(FORMULA, cut(table)).fit(), rj.linear(FORMULA, table).fit()
    again, same = results.screen(0.3), wanted.screen(0.3)
    assert 0 < len(again.term_names) < len(results.model.term_names)
    assert again.term_names == same.term_names
    np.testing.assert_allclose(
        again.fit().inclusion["posterior"], same.fit().inclusion["posterior"], rtol=0, atol=1e-8
    )
    # Runs on the same chunks are runs on the same rows; others are not.
    other = rj.linear(FORMULA, cut(table)).fit()
    assert results.screen(0.3, others=[other]).term_names == again.term_names
    for strange in (rj.linear(FORMULA, cut(make(seed=6))).fit(), wanted):
        with pytest.raises(rj.ParameterError, match="other rows"):
            results.screen(0.3, others=[strange])


def test_costs_and_constraints(table):
    options = {
        "costs": {"x1": 1, "x2": 2, "g": 1, "k": 1, "b": 1, "x3": 1},
        "budget": 4,
        "heredity": "strong",
    }
    check(FORMULA, table, cut(table), always=["x2"], **options)
    assert rj.linear(NUMBERS + " + x1:x2", cut(table), max_size=2).count_models() == 22


def test_other_families_need_rows(table):
    data = table.assign(y=(table["y"] > 0).astype(int))
    for chunks in (cut(data), iter(cut(data)), "rows.parquet"):
        with pytest.raises((rj.NotAvailableError, rj.DataError), match=r"Give a DataFrame|No such file"):
            rj.cox("y ~ x1", chunks, event="y")


@pytest.mark.parametrize("family", [rj.logit, rj.cloglog])
def test_events_of_two_labels(family, table):
    """The model is that of the comparison with the second label; the first chunk has one of them alone."""
    data = table.assign(y=np.where(table["y"] > 0, "yes", "no")).sort_values("y")
    given, wanted = (family(f"{left} ~ x1 + x2", lambda: iter(cut(data))) for left in ("y", "I(y == 'yes')"))
    assert given.design.response == wanted.design.response
    found = [model.fit(rng=1).inclusion for model in (given, wanted)]
    pd.testing.assert_frame_equal(*found)


def test_data_that_cannot_be_used(table):
    cases = [
        (table.assign(w=-1.0), "'weights' must be non-negative"),
        (table.assign(w=0.0), "'weights' must have a positive value"),
        (table.assign(y=2.0), "response of LinearSelection is constant"),
        (table.assign(x2=table["x2"] * 1e200), "rescale x2"),
        (table.assign(y=table["y"] * 1e200), "rescale y"),
        (table.assign(y=table["y"] * 1e-160), "rescale y"),
        (table.iloc[[0]].assign(w=1.0), "at least 2 rows"),
    ]
    for data, pattern in cases:
        with pytest.raises(rj.DataError, match=pattern):
            rj.linear("y ~ x2", cut(data), weights="w")
    with pytest.raises(rj.FormulaError, match="response 'y' on the right-hand side"):
        rj.linear("y ~ x1 + y", cut(table))
    with pytest.warns(rj.RankWarning, match="x2, twice"):
        rj.linear("y ~ x1 + x2 + twice", cut(table.assign(twice=2 * table["x2"])))


# ---------------------------------------------------------------------- files and clusters


@pytest.mark.parametrize("row_group_size", [1, 37, N])
def test_parquet(row_group_size, gaps, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "rows.parquet"
    data = gaps.assign(g=gaps["g"].astype("category"), other="not read")
    data.to_parquet(path, row_group_size=row_group_size)
    assert parquet.ParquetFile(path).num_row_groups == -(-N // row_group_size)
    with pytest.warns(rj.MissingDataWarning):
        check(FORMULA, data, path, weights="w", offset="o")


def test_parquet_reads_the_columns_it_needs(table, tmp_path, monkeypatch):
    parquet = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "rows.parquet"
    table.to_parquet(path, row_group_size=100)
    asked = []
    original = parquet.ParquetFile.iter_batches

    def watched(self, *args, **kwargs):
        asked.append(kwargs["columns"])
        return original(self, *args, **kwargs)

    monkeypatch.setattr(parquet.ParquetFile, "iter_batches", watched)
    rj.linear("y ~ x1 + b", path, weights="w")
    assert asked == [["y", "x1", "b", "w"]] * 4  # row groups


def test_dask(gaps):
    dask, dataframe = pytest.importorskip("dask"), pytest.importorskip("dask.dataframe")
    data = gaps.assign(g=gaps["g"].astype("category"))
    with pytest.warns(rj.MissingDataWarning):
        check(FORMULA, data, dataframe.from_pandas(data, npartitions=7), weights="w", offset="o")
    unknown = dataframe.from_pandas(gaps, npartitions=7)
    unknown["g"] = unknown["g"].astype("category")  # each partition has categories of its own
    with pytest.warns(rj.MissingDataWarning):
        check(FORMULA, unknown.compute(), unknown, weights="w", offset="o")
    with pytest.raises(rj.DataError, match=r"LinearSelection \(chunk \d\) have infinite values .*'x1'"):
        rj.linear(NUMBERS, dataframe.from_pandas(data.assign(x1=np.inf), npartitions=2))
    # Found where two partitions are merged, in a thread of Dask.
    with (
        dask.config.set(scheduler="threads"),
        pytest.raises(rj.DataError, match="'x1' of LinearSelection must"),
    ):
        rj.linear(NUMBERS, dataframe.from_map(lambda kind: data.astype({"x1": kind}), ["float", "str"]))


@pytest.mark.cluster
def test_dask_on_a_cluster_of_two_workers(dask_client, gaps):
    """The work is done in the workers, that of a function of the user's included."""
    dataframe = pytest.importorskip("dask.dataframe")
    assert len(dask_client.scheduler_info()["workers"]) == 2
    home = os.getpid()

    def away(x):
        assert os.getpid() != home
        return x**3

    data = dataframe.from_pandas(gaps, npartitions=6)
    with pytest.warns(rj.MissingDataWarning):
        found = rj.linear(FORMULA + " + cube(x2)", data, weights="w", functions={"cube": away}).fit()
    with pytest.warns(rj.MissingDataWarning):
        wanted = rj.linear(
            FORMULA + " + cube(x2)", gaps, weights="w", functions={"cube": lambda x: x**3}
        ).fit()
    np.testing.assert_allclose(found.inclusion["posterior"], wanted.inclusion["posterior"], rtol=0, atol=1e-8)
    with pytest.raises(
        rj.DataError, match=r"'offset' parameter of LinearSelection \(chunk \d\) must be numeric"
    ):
        rj.linear(NUMBERS, data, offset="g")

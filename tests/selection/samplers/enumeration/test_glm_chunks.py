"""Generalised linear models of rows in chunks: the posterior is that of the rows in memory."""

import os
import re
import signal
import time

import numpy as np
import pandas as pd
import pytest
from chunk_kit import CASES, FORMULA, N, cut, make

import pyrjsel as rj
from pyrjsel.selection.regression import chunked
from pyrjsel.selection.samplers.enumeration import passes as sampler


@pytest.fixture(scope="module")
def table():
    return make()


@pytest.mark.parametrize("case", CASES)
def test_the_posterior_is_that_of_the_rows_in_memory(table, case):
    build, formula, options = CASES[case]
    wanted = build(formula, table, **options).fit(rng=1)
    found = build(formula, cut(table, 400), **options).fit(rng=2)
    assert found.sampler == "chunks"
    assert found.model.nobs == wanted.model.nobs
    one, other = wanted.inclusion, found.inclusion
    error = np.hypot(one["mcse"], other["mcse"])
    # False-alarm rate 1e-6 over the 70 terms of all cases: 5.8 errors; errors of both have some 5 % noise.
    assert np.all((one["posterior"] - other["posterior"]).abs() <= 6.5 * error + 1e-9)
    best = found.models["terms"].head(5).tolist()
    rows = wanted.models.set_index("terms").loc[best]
    # Integrals of the best models: errors of a percent at most. Deviances of maxima are one Newton step from
    # modes under a prior worth one of 1,500 rows; that of df moves it by a fifth of its standard deviation,
    # the third power of which counts.
    np.testing.assert_allclose(found.models["log_marginal"].head(5), rows["log_marginal"], rtol=0, atol=0.03)
    np.testing.assert_allclose(
        found.models["deviance"].head(5), rows["deviance"], rtol=0, atol=3e-4 if "df" in case else 1e-5
    )
    sd = wanted.coefficients["sd"]
    # Errors of normal approximations of 1,500 rows, and of 256 antithetic draws: some percent of an sd.
    for name in ("mean", "sd"):
        assert np.all((found.coefficients[name] - wanted.coefficients[name]).abs() <= 0.1 * sd + 1e-6), name
    if build == rj.linear:
        shares = [run.single_model("hpm").rsquared for run in (found, wanted)]
        # At posterior means with errors of a tenth of a standard deviation at most.
        assert abs(shares[0] - shares[1]) < 1e-3
        assert "R-squared" in str(found.single_model("hpm").summary())
    assert found.model.regression.family.nuisance.names == wanted.model.regression.family.nuisance.names
    for name in found.model.regression.family.nuisance.names:
        assert str(found.summary()).count(name.capitalize()) == str(wanted.summary()).count(name.capitalize())


@pytest.mark.parametrize("case", ["logit", "student"])
def test_few_rows_get_integrals_of_all_models(table, case):
    """Laplace values of 60 rows alone, or with ten integrals, are off by five errors and more."""
    build, formula, options = CASES[case]
    rows = table.head(60)
    wanted = build(formula, rows, **options).fit(rng=1, pairs=512)
    found = build(formula, cut(rows, 25), **options).fit(rng=2)
    error = np.hypot(wanted.inclusion["mcse"], found.inclusion["mcse"])
    # 4.5 errors are a false-alarm rate of 1e-4 over some ten terms; 5e-6 is for terms that are sure.
    away = (wanted.inclusion["posterior"] - found.inclusion["posterior"]).abs()
    assert np.all(away <= 4.5 * error + 5e-6)


@pytest.mark.parametrize("case", ["logit", "negbin", "gamma", "classes", "student, df"])
def test_results_do_not_depend_on_the_chunks(table, case, tmp_path):
    build, formula, options = CASES[case]
    fits = [build(formula, cut(table, size), **options).fit(rng=1) for size in (97, 650)]
    table.to_parquet(tmp_path / "rows.parquet", row_group_size=333)
    fits.append(build(formula, tmp_path / "rows.parquet", **options).fit(rng=1))
    for fit in fits[1:]:
        for name in ("inclusion", "coefficients"):
            one, other = getattr(fits[0], name), getattr(fit, name)
            # Sums in another order; the goal is 1e-9.
            np.testing.assert_allclose(
                one.to_numpy(float), other.to_numpy(float), rtol=1e-9, atol=1e-9, err_msg=name
            )
        np.testing.assert_allclose(
            fits[0].models["log_marginal"], fit.models["log_marginal"], rtol=1e-9, atol=1e-9
        )


@pytest.mark.parametrize("slope", [20, 1_000])
def test_scales_of_errors_far_below_that_of_the_response(table, slope):
    # The scaled prior keeps sigma from its maximum, and models without the column have another one.
    strong = table.assign(z=slope * table["a"] + table["z"])
    wanted = rj.linear("z ~ a + b + g", strong, errors="student").fit(rng=1)
    found = rj.linear("z ~ a + b + g", cut(strong, 400), errors="student").fit(rng=2)
    error = np.hypot(wanted.inclusion["mcse"], found.inclusion["mcse"])[1:]  # a is in for sure
    gap = (found.inclusion["posterior"] - wanted.inclusion["posterior"]).abs()
    # False-alarm rate below 1e-6 over 4 terms: 5.1 errors; errors of both have some 5 % noise.
    assert np.all(gap[1:] <= 6.5 * error)
    rows = wanted.models.set_index("terms").loc[found.models["terms"]]
    # Maxima to a gain of 1e-6.
    np.testing.assert_allclose(found.models["deviance"], rows["deviance"], rtol=0, atol=1e-4)
    assert found.diagnostics["passes"].item() <= 24


def test_partitions_of_dask_are_chunks(table):
    dd = pytest.importorskip("dask.dataframe")
    parts = dd.from_pandas(table, npartitions=3)
    empty = parts[parts["a"] > parts["a"].max() + parts.index.to_series().astype(float)]  # the last two empty
    assert len(empty.partitions[1]) == 0
    found = rj.logit(FORMULA, parts).fit(rng=1)
    again = rj.logit(FORMULA, cut(table, 500)).fit(rng=1)
    np.testing.assert_allclose(found.inclusion["posterior"], again.inclusion["posterior"], rtol=1e-9)


@pytest.mark.parametrize(("build", "y"), [(rj.logit, "y"), (rj.multinomial, "way")])
def test_few_distinct_rows_are_kept_as_counts(table, monkeypatch, build, y):
    coarse = table.assign(**{name: (table[name] > 0.5).astype(float) for name in "abcd"}, o=table["w"] / 4)
    options = {"offset": "o"} if y == "y" else {"weights": "w"}
    formula = f"{y} ~ a + b + c + d + g"
    counted = coarse
    if y == "way":  # whose rows in memory are not grouped
        counted = coarse.groupby([*"abcdg", "way"], sort=False, as_index=False)["w"].sum()
    exact = build(formula, counted, **options).fit(rng=1)
    counts = build(formula, cut(coarse, 130), **options).fit(rng=1)
    assert counts.sampler == "enumerate"
    # The same grouped rows in the same order; sums of rows that are not grouped differ by rounding.
    np.testing.assert_allclose(counts.inclusion["posterior"], exact.inclusion["posterior"], rtol=1e-12)
    np.testing.assert_allclose(counts.models["deviance"], exact.models["deviance"], rtol=1e-12)
    np.testing.assert_allclose(counts.models["log_marginal"], exact.models["log_marginal"], rtol=1e-12)
    monkeypatch.setattr(chunked, "MOST_DISTINCT", 20)
    passes = build(formula, cut(coarse, 130), **options).fit(rng=1)
    assert passes.sampler == "chunks"
    error = np.hypot(passes.inclusion["mcse"], exact.inclusion["mcse"])
    # False-alarm rate below 1e-6 over 5 terms: 5.2 errors; errors of both have some 5 % noise. The mass of
    # models far from the best, without a term that is in for sure, is known less well.
    assert np.all((passes.inclusion["posterior"] - exact.inclusion["posterior"]).abs() <= 6.5 * error + 1e-9)


@pytest.mark.parametrize("case", ["negbin", "gamma"])
def test_distinct_rows_keep_what_a_size_needs_of_the_others(table, case):
    build, _, options = CASES[case]
    coarse = table.assign(**{name: (table[name] > 0.5).astype(float) for name in "abcd"}, o=table["w"] / 4)
    formula = {"negbin": "visits", "gamma": "cost"}[case] + " ~ a + b + c + d + g"
    exact = build(formula, coarse, **options).fit(rng=1)
    counts = build(formula, cut(coarse, 130), **options).fit(rng=1)
    assert counts.sampler == "enumerate"
    # Sums of 1,500 rows in another order, and sizes of a search to 1e-5 from other values.
    np.testing.assert_allclose(counts.models["log_marginal"], exact.models["log_marginal"], rtol=0, atol=1e-6)
    np.testing.assert_allclose(counts.models["deviance"], exact.models["deviance"], rtol=1e-9)


def test_a_size_without_a_limit_is_found(table):
    # Counts of a Poisson distribution: the likelihood grows with theta, and is not concave in it.
    wanted = rj.negbin("count ~ a + b", table).fit(rng=1)
    found = rj.negbin("count ~ a + b", cut(table, 400)).fit(rng=1, pairs=512)
    error = np.hypot(wanted.inclusion["mcse"], found.inclusion["mcse"])
    # False-alarm rate 1e-6 over 2 terms: 5.0 errors; errors of both have some 5 % noise.
    gap = (found.inclusion["posterior"] - wanted.inclusion["posterior"]).abs()
    assert np.all(gap <= 6.5 * error + 1e-9)


def test_ties_of_all_chunks_are_counted(table, monkeypatch):
    def fit(rows, **options):
        return rj.linear("z ~ a", cut(rows, 400), errors="student", **options)

    tied = table.assign(z=table["z"].where(table.index % 6 == 0, 1.0))
    with pytest.raises(rj.DataError, match=r"fewer equal values: with 1250 of 1500 and df=4"):
        fit(tied)
    monkeypatch.setattr("pyrjsel.families.student.COUNTED", 50)
    with pytest.raises(rj.DataError, match=r"fewer equal values: with 12[0-4]\d of 1500 and df=4"):
        fit(tied)
    with pytest.raises(rj.DataError, match=r"fewer equal values"):
        fit(tied.assign(z=tied["z"] + tied["w"]), offset="w")
    fit(tied, df=6)
    fit(table, df="estimate")


def test_models_that_are_not_expanded_are_close(table):
    wanted = rj.logit(FORMULA, table).fit(rng=1)
    found = rj.logit(FORMULA, cut(table, 400)).fit(rng=1, models=3, integrals=2)
    assert found.diagnostics["expanded"].item() < 16
    # Errors of the corrected quadratic expansion in the others are some percent of their probability.
    gap = (found.inclusion["posterior"] - wanted.inclusion["posterior"]).abs()
    assert gap.max() < 0.01
    assert (found.inclusion["mcse"] > 0).all()


def test_chains_on_the_expansion_find_the_models_of_the_list(table, monkeypatch):
    every = rj.logit(FORMULA, cut(table, 400)).fit(rng=1)
    monkeypatch.setattr(sampler, "MOST_MODELS", 8)
    found = rj.logit(FORMULA, cut(table, 400)).fit(rng=1)
    assert found.diagnostics["models"].item() <= every.diagnostics["models"].item()
    # Models that no chain visits in 20,000 draws hold less than 1e-3, except with a probability of 2e-9 each.
    gap = (found.inclusion["posterior"] - every.inclusion["posterior"]).abs()
    assert gap.max() < 1e-3
    with pytest.warns(rj.ConvergenceWarning, match="the others hold at most about"):
        rj.logit(FORMULA, cut(table, 400), model_prior=rj.Uniform()).fit(rng=1, steps=3)


@pytest.mark.parametrize("case", ["logit", "gamma", "classes", "student, df"])
def test_files_hold_what_tables_need(table, tmp_path, case):
    build, formula, options = CASES[case]
    found = build(formula, cut(table, 400), **options).fit(rng=1)
    found.save(tmp_path / "fit.rjs")
    for data in ({}, {"data": cut(table, 400)}):
        again = rj.load(tmp_path / "fit.rjs", **data)
        pd.testing.assert_frame_equal(again.inclusion, found.inclusion)
        pd.testing.assert_frame_equal(again.models, found.models)
        assert again.predict(table.head()).equals(found.predict(table.head()))
        assert str(again.summary()) == str(found.summary())
    with pytest.raises(rj.NotAvailableError, match="chunks"):
        found.predict()
    assert set(found.screen(0.5).fit(rng=1).best()) <= set(found.screen(0.5).term_names)


@pytest.mark.parametrize(("build", "y", "first"), [(rj.negbin, "visits", 1), (rj.multinomial, "way", 5)])
def test_a_checkpoint_goes_on_after_each_pass(table, tmp_path, monkeypatch, build, y, first):
    model = build(f"{y} ~ a + b", cut(table, 500))
    whole = model.fit(rng=1, pairs=16)
    made = int(whole.diagnostics["passes"].item()) - 1
    usual = sampler.Passes._pass
    for stop in range(first, made, 3):
        done = []

        def crash(self, stop=stop, done=done):
            if len(done) == stop:
                raise RuntimeError("crash")
            usual(self)
            done.append(1)

        folder = tmp_path / str(stop)
        monkeypatch.setattr(sampler.Passes, "_pass", crash)
        monkeypatch.setattr("pyrjsel.runtime.checkpoint.ChainFile.due", lambda self: True)
        monkeypatch.setattr("pyrjsel.runtime.chains.next_block", lambda n, seconds: 1)
        with pytest.raises(RuntimeError, match="crash"):
            model.fit(rng=1, pairs=16, checkpoint=folder)
        monkeypatch.setattr(sampler.Passes, "_pass", usual)
        again = model.fit(rng=1, pairs=16, checkpoint=folder)
        pd.testing.assert_frame_equal(again.inclusion, whole.inclusion)


def test_an_interrupted_fit_has_the_passes_so_far(table, monkeypatch):
    usual = sampler.Passes._pass

    def interrupt(self):
        usual(self)
        if self.stage == "integrals":
            os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(sampler.Passes, "_pass", interrupt)
    monkeypatch.setattr("pyrjsel.runtime.chains.next_block", lambda n, seconds: 1)
    model = rj.logit(FORMULA, cut(table, 400))
    with pytest.warns(rj.ConvergenceWarning, match=r"ended after \d+ passes, by Ctrl-C"):
        found = model.fit(rng=1)
    assert found.inclusion["mcse"].isna().all()
    assert (found.models["integration"] == "laplace").all()


def test_progress_says_how_many_passes_are_left(table, capsys, monkeypatch):
    usual, told = sampler.Passes._pass, []

    def slow(self):
        usual(self)
        told.append(self.expected())
        time.sleep(0.25)  # longer than between two looks at the progress

    monkeypatch.setattr(sampler.Passes, "_pass", slow)
    found = rj.logit(FORMULA, cut(table, 400), offset="o").fit(rng=1, progress=True)
    before, _, bar = capsys.readouterr().err.partition("\n")
    nulls = int(found.diagnostics["passes"].item()) - len(told)
    assert re.fullmatch(
        rf"About {nulls + 8} passes over 1,500 rows, {nulls} of them made; .* about \d+ s\.", before
    )
    assert [made for made, _ in told] == list(range(nulls + 1, nulls + 1 + len(told)))
    assert all(1 <= left - made <= 7 for made, left in told[:-1])
    assert told[-1][0] == told[-1][1]
    assert re.search(rf"passes: {told[1][0]} of about {told[1][1]} .* about [\d:?]+ left", bar)
    assert f"{told[-1][0]} of about {told[-1][0]} " in bar


# ---------------------------------------------------------------------- data that cannot be used


def test_an_iterator_is_refused_by_name(table):
    with pytest.raises(rj.DataError, match=r"can be read only once, .* need several passes"):
        rj.logit(FORMULA, iter([table]))


def test_one_class_in_a_chunk_is_no_error_and_in_all_is(table):
    first = table.sort_values("y")
    found = rj.logit(FORMULA, cut(first, 300)).fit(rng=1)
    again = rj.logit(FORMULA, cut(first, 1_500)).fit(rng=1)
    np.testing.assert_allclose(found.inclusion["posterior"], again.inclusion["posterior"], rtol=1e-9)
    with pytest.raises(rj.DataError, match=r"both classes. Got only 0"):
        rj.logit(FORMULA, cut(table.assign(y=0), 300))
    with pytest.raises(rj.DataError, match=r"must be 0 or 1, .* Got 2"):
        rj.logit(FORMULA, cut(table.assign(y=np.arange(N) // 400), 300))


def test_classes_are_those_of_all_chunks(table, tmp_path):
    formula = FORMULA.replace("y", "way", 1)
    # One class in the first chunk alone, another in the last alone, and a chunk without rows.
    order = table.sort_values("way", key=lambda way: way.map({"walk": 0, "bus": 1, "car": 2}))
    codes = order["way"].map({"walk": 2, "bus": 7, "car": 10})
    empty = [order.iloc[:400], order.iloc[:0], order.iloc[400:1_100], order.iloc[1_100:]]
    wanted = rj.multinomial(formula, order).fit(rng=1)
    found = rj.multinomial(formula, lambda: iter(empty)).fit(rng=1, pairs=16)
    assert found.classes == wanted.classes == ("bus", "car", "walk")
    assert str(found.summary()).count("walk: 4") == str(wanted.summary()).count("walk: 4") == 1
    again = rj.multinomial(formula, cut(order, N)).fit(rng=1, pairs=16)
    np.testing.assert_allclose(found.inclusion["posterior"], again.inclusion["posterior"], rtol=1e-9)
    np.testing.assert_allclose(found.coefficients["mean"], again.coefficients["mean"], rtol=1e-8, atol=1e-9)

    # Whole numbers that are floats in chunks with a missing value, and in none; an order of categories.
    def numbers():
        for chunk in empty:
            yield chunk.assign(way=codes[chunk.index].astype(float if len(chunk) == 400 else int))

    def gaps():
        for number, chunk in enumerate(numbers()):
            yield (
                chunk.assign(way=chunk["way"].where(chunk.index != order.index[-1])) if number == 3 else chunk
            )

    with pytest.warns(rj.MissingDataWarning, match="way: 1"):
        assert rj.multinomial(formula, gaps).fit(rng=1, pairs=16).classes == (2, 7, 10)
    found = rj.multinomial(formula, numbers).fit(rng=1, pairs=16)
    assert found.classes == (2, 7, 10)
    assert found.classify(table.head()).dtype == np.int64
    kind = pd.CategoricalDtype(["walk", "car", "bus", "none"])
    ordered = rj.multinomial(formula, lambda: (chunk.astype({"way": kind}) for chunk in empty)).fit(
        rng=1, pairs=16
    )
    assert ordered.classes == ("walk", "car", "bus")
    for other in (found, ordered):  # the posterior does not depend on the base class
        np.testing.assert_allclose(other.inclusion["posterior"], again.inclusion["posterior"], atol=1e-3)
    order.astype({"way": "category"}).to_parquet(tmp_path / "rows.parquet", row_group_size=300)
    pieces = rj.multinomial(formula, tmp_path / "rows.parquet").fit(rng=1, pairs=16)
    assert pieces.classes == wanted.classes
    np.testing.assert_allclose(pieces.inclusion["posterior"], again.inclusion["posterior"], rtol=1e-9)


def test_classes_that_cannot_be_used(table):
    formula, way = FORMULA.replace("y", "way", 1), table["way"]

    def fit(**columns):
        return rj.multinomial(formula, cut(table.assign(**columns), 400))

    with pytest.raises(rj.DataError, match=r"'way' .* at least two levels .* Got only 'bus'"):
        fit(way="bus")
    with pytest.raises(rj.DataError, match=r"at least two rows. 1 of 4 classes have fewer: 'plane'"):
        fit(way=way.where(table.index < N - 1, "plane"))
    fit(way=way.where(~table.index.isin([0, N - 1]), "plane"))  # in two chunks
    weights = (way != "car").astype(int)
    with pytest.raises(rj.DataError, match=r"two rows of positive weight. 1 of 3 classes have fewer: 'car'"):
        rj.multinomial(formula, cut(table.assign(w=weights), 400), weights="w")
    with pytest.raises(rj.DataError, match=r"'weights' must be non-negative numbers. Got -1"):
        rj.multinomial(formula, cut(table.assign(w=-1), 400), weights="w")
    with pytest.raises(rj.DataError, match=r"'way' .* must be labels"):
        fit(way=table["a"])
    with pytest.raises(rj.NotAvailableError, match="no offset"):
        rj.multinomial(formula, cut(table, 400), offset="o")
    wide = pd.DataFrame(np.random.default_rng(1).normal(size=(N, 101))).add_prefix("x").assign(way=way)
    with pytest.raises(rj.NotAvailableError, match="at most 100 columns"):
        rj.multinomial("way ~ .", cut(wide, 400))
    calls = []

    def another():
        calls.append(1)
        yield table.assign(way=way if len(calls) < 3 else way.replace("car", "plane"))

    with pytest.raises(rj.DataError, match=r"unseen levels of the column 'way' .*'plane'"):
        rj.multinomial(formula, another).fit(rng=1)


def test_responses_that_differ_between_chunks(table):
    # Without events, or all equal, in the first chunk alone.
    for build, y in ((rj.negbin, "visits"), (rj.gamma, "cost")):
        first = table.sort_values(y)
        first.iloc[:300, first.columns.get_loc(y)] = first[y].iloc[0]
        found = build(FORMULA.replace("y", y), cut(first, 300)).fit(rng=1)
        again = build(FORMULA.replace("y", y), cut(first, N)).fit(rng=1)
        np.testing.assert_allclose(found.inclusion["posterior"], again.inclusion["posterior"], rtol=1e-9)
    with pytest.raises(rj.DataError, match=r"positive count. Got only zeros"):
        rj.negbin("visits ~ a", cut(table.assign(visits=0), 300))
    with pytest.raises(rj.DataError, match="two different values for an estimate of its shape"):
        rj.gamma("cost ~ a", cut(table.assign(cost=2.5), 300))
    with pytest.raises(rj.DataError, match=r"must be above 0. Got 0"):
        rj.gamma("cost ~ a", cut(table.assign(cost=table["cost"].where(table.index < 1_400, 0.0)), 300))


def test_too_many_distinct_weights_are_refused(table, monkeypatch):
    monkeypatch.setattr(chunked, "MOST_KEYS", 100)
    with pytest.raises(rj.NotAvailableError, match=r"distinct weight .* more than 100: give shape"):
        rj.gamma("cost ~ a", cut(table.assign(w=table["w"] + table["cost"]), 300), weights="w")


def test_chunks_that_change_are_refused(table):
    def types():
        yield table.iloc[:700]
        yield table.iloc[700:].assign(a="text")

    with pytest.raises(rj.DataError, match=r"'a' .* same type in all chunks"):
        rj.logit(FORMULA, types)

    def columns():
        yield table.iloc[:700]
        yield table.iloc[700:].drop(columns="b")

    with pytest.raises(rj.DataError, match="Chunk 2 lacks 'b'"):
        rj.logit(FORMULA, columns)
    calls = []

    def shrinks():
        calls.append(1)
        yield table.iloc[: N - len(calls)]

    with pytest.raises(rj.DataError, match="a new iterator over the same rows each time"):
        rj.logit(FORMULA, shrinks).fit(rng=1)


def test_a_damaged_file_is_refused(table, tmp_path):
    path = tmp_path / "rows.parquet"
    table.to_parquet(path, row_group_size=300)
    content = bytearray(path.read_bytes())
    (tmp_path / "short.parquet").write_bytes(content[: len(content) // 2])
    with pytest.raises(rj.DataError, match="cannot be read as a Parquet file"):
        rj.logit(FORMULA, tmp_path / "short.parquet")
    content[100:4000] = b"\xff" * 3900
    (tmp_path / "bad.parquet").write_bytes(content)
    with pytest.raises(rj.DataError, match="cannot be read to their end"):
        rj.logit(FORMULA, tmp_path / "bad.parquet")


def test_what_needs_rows_in_memory_is_refused(table):
    with pytest.raises(rj.NotAvailableError, match="Normal priors, and GPrior"):
        rj.logit(FORMULA, cut(table, 400), coef_prior=rj.HyperG(3))
    with pytest.raises(rj.NotAvailableError, match=r"cox models: .* not a sum over rows.* Give a DataFrame"):
        rj.cox("cost ~ a + b", cut(table, 400), event="y")
    with pytest.raises(rj.NotAvailableError, match="do not support 'weights'"):
        rj.linear("cost ~ a + b", cut(table, 400), errors="student", weights="w")
    with pytest.raises(rj.UnknownNameError, match="chunks"):
        rj.logit(FORMULA, cut(table, 400)).fit(sampler="rjmcmc")
    wide = table[["y"]].join(pd.DataFrame(np.random.default_rng(1).normal(size=(N, 201))).add_prefix("x"))
    with pytest.raises(rj.NotAvailableError, match="at most 200 columns"):
        rj.logit("y ~ .", cut(wide, 400))


@pytest.mark.filterwarnings("ignore::pyrjsel.ConvergenceWarning")
@pytest.mark.parametrize("partly", [True, False])
def test_separation_is_named(table, partly):
    column = 1.0 * table["y"] * (table["a"] > 0) if partly else table["y"] + 0.01 * table["c"]
    with pytest.warns(rj.SeparationWarning, match="separated, completely or partially, it seems"):
        rj.logit(FORMULA, cut(table.assign(c=column), 400)).fit(rng=1)


def test_strong_effects_are_not_called_separation(table):
    strong = table.assign(c=table["y"] + 0.5 * table["c"])
    rj.logit(FORMULA, cut(strong, 400)).fit(rng=1)  # warnings are errors

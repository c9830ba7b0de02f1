"""Designs from rows in chunks: the columns, levels and counts are those of all rows in one data frame."""

import os
import re

import numpy as np
import pandas as pd
import pytest

from pyrjsel import DataError, MissingDataWarning, ParameterError, UnknownNameError
from pyrjsel.design import Design, Work, as_chunks

N = 120
FORMULAS = {
    "numbers": "y ~ x + k + b + I(x**2)",
    "factors": "y ~ g*x + C(k) + c + b:g",
    "contrasts": "y ~ C(g, Sum) + C(k, levels=[3, 2, 1, 0]) + C(b) + C(k * 0.5)",
    "labels asked for": "y ~ I(g == 'a') + x",
    "moments": "standardize(y, ddof=1) ~ center(x) + scale(k, rescale=False) + standardize(x):g",
    "moments of moments": "y ~ standardize(np.exp(center(x))) + I(center(x) * standardize(k))",
    "splines": "y ~ bs(x, df=5) + cr(k, df=3) + cc(x, df=4, constraints='center')",
    "splines with knots": "y ~ bs(x, knots=[4, 5]) + cr(x, knots=[4.5], lower_bound=0)",
    "tensor product": "y ~ te(cr(x, df=3), cr(k, df=3))",
    "labels of a transform": "y ~ C(np.round(center(k))) + x",
    "the user's functions": "y ~ half(x) + g",
}
FUNCTIONS = {"half": lambda x: x / 2}


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(3)
    table = pd.DataFrame(
        {
            "y": rng.normal(size=N),
            "x": rng.normal(5, 1, N),
            "k": rng.integers(0, 4, N),
            "g": rng.choice(["c", "a", "b"], N),
            "c": pd.Categorical(rng.choice(["z", "y", "x"], N), categories=["z", "y", "x", "never"]),
            "b": rng.random(N) < 0.4,
            "w": rng.uniform(0.5, 2, N),
        }
    )
    table.loc[:49, "g"] = table.loc[:49, "g"].replace("a", "b")  # "a" comes late
    return table


@pytest.fixture(scope="module")
def gaps(frame):
    """The same rows, some with missing values."""
    table = frame.copy()
    table.loc[::17, "x"] = np.nan
    table.loc[5:11, "g"] = None
    table.loc[::29, "w"] = np.nan
    return table


def cut(table, seed):
    """Chunks of all sizes, empty ones among them."""
    ends = np.sort(np.random.default_rng(seed).integers(0, len(table) + 1, 15))
    return [table.iloc[a:b] for a, b in zip([0, *ends], [*ends, len(table)], strict=True)]


def keep(data):
    return {"y": data.y, "X": data.X, "n": np.array([data.n]), **data.extras}


def append(one, other):
    return {key: np.concatenate([one[key], other[key]]) for key in one}


def from_chunks(formula, chunks, **options):
    return Design.from_chunks(formula, as_chunks(chunks), lambda left: Work(keep, append), **options)


def check(formula, table, chunks):
    """Bit for bit but for transforms whose moments are merged, which are the same to rounding."""
    options = {"extras": {"weights": "w"}, "functions": FUNCTIONS}
    wanted, data = Design.from_formula(formula, table, **options)
    design, made = from_chunks(formula, chunks, **options)
    assert design.column_names == wanted.column_names
    assert design.layout.variables == wanted.layout.variables
    assert [factor.levels for factor in design.layout.factors] == [
        factor.levels for factor in wanted.layout.factors
    ]
    assert design.extra_columns == wanted.extra_columns
    np.testing.assert_allclose(made.value["X"], data.X, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(made.value["y"], data.y, rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(made.value["weights"], data.extras["weights"])
    assert (made.n, made.n_rows, made.n_dropped) == (data.n, data.n_rows, data.n_dropped)
    pd.testing.assert_series_equal(made.missing, data.missing)
    # New rows have the columns that they would have.
    new = table.iloc[10:20].drop(columns="w")
    np.testing.assert_allclose(
        design.transform(new, extras={"weights": None}).X,
        wanted.transform(new, extras={"weights": None}).X,
        rtol=1e-12,
        atol=1e-12,
    )


@pytest.mark.parametrize("formula", FORMULAS.values(), ids=FORMULAS)
@pytest.mark.parametrize("seed", [1, 2])
def test_chunks_are_as_one_frame(formula, seed, frame):
    check(formula, frame, cut(frame, seed))


@pytest.mark.parametrize("formula", FORMULAS.values(), ids=FORMULAS)
def test_chunks_of_one_row(formula, frame):
    some = frame.iloc[30:80]
    check(formula, some, [some.iloc[i : i + 1] for i in range(50)])


@pytest.mark.parametrize("formula", FORMULAS.values(), ids=FORMULAS)
@pytest.mark.filterwarnings("ignore::pyrjsel.MissingDataWarning")
def test_missing_values(formula, gaps):
    check(formula, gaps, lambda: iter(cut(gaps, 4)))
    some = gaps.iloc[:60]
    check(formula, some, [some.iloc[i : i + 1] for i in range(60)])


@pytest.mark.parametrize("formula", FORMULAS.values(), ids=FORMULAS)
@pytest.mark.filterwarnings("ignore::pyrjsel.MissingDataWarning")
def test_parquet(formula, gaps, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    dataset = pytest.importorskip("pyarrow.dataset")
    path = tmp_path / "rows.parquet"
    gaps.set_index(pd.Index(range(7, 7 + N), name="id")).to_parquet(path, row_group_size=25)
    for source in (path, str(path), tmp_path, parquet.ParquetFile(path), dataset.dataset(path)):
        check(formula, gaps, source)


def test_a_folder_in_partitions_and_a_data_set_with_a_filter(frame, tmp_path):
    dataset = pytest.importorskip("pyarrow.dataset")
    frame.drop(columns="c").to_parquet(tmp_path / "rows", partition_cols=["g", "k"])
    whole = pd.read_parquet(tmp_path / "rows")
    check("y ~ x*g + C(k) + b", whole, tmp_path / "rows")
    some = dataset.dataset(tmp_path / "rows", partitioning="hive").filter(dataset.field("x") > 5)
    check("y ~ x*g + b", whole[whole["x"] > 5].astype({"g": object}), some)


def test_memory_of_files_does_not_grow_with_row_groups(tmp_path):
    """What pyarrow holds while chunks are at work: 2 to 6 row groups were seen, of 40."""
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    dataset = pytest.importorskip("pyarrow.dataset")
    rng = np.random.default_rng(1)
    names = [f"x{i}" for i in range(10)]
    path = tmp_path / "rows.parquet"
    with parquet.ParquetWriter(path, pa.schema([(name, pa.float64()) for name in names])) as writer:
        for _ in range(40):
            writer.write_table(pa.table({name: rng.normal(size=20_000) for name in names}))
    for source in (path, dataset.dataset(path)):
        before, rows, peak = pa.total_allocated_bytes(), 0, 0
        for chunk in as_chunks(source).frames(names):
            rows += len(chunk)
            peak = max(peak, pa.total_allocated_bytes() - before)
        assert rows == 800_000
        # How far readers read ahead is a matter of their threads.
        assert 0 < peak < 12 * 20_000 * 10 * 8


def test_row_groups_with_categories_of_their_own(tmp_path):
    """The categories of the column are those of all row groups, as where pandas reads the whole file."""
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "rows.parquet"
    y = np.random.default_rng(1).normal(size=4)
    parts = [["q", "p", "q", "p"], ["p", "s", "s", "p"], ["q", "r", "q", "r"]]
    schema = pa.schema([("y", pa.float64()), ("g", pa.dictionary(pa.int8(), pa.string()))])
    with parquet.ParquetWriter(path, schema) as writer:
        for part in parts:
            columns = [pa.array(y), pa.array(part).dictionary_encode().cast(schema.field("g").type)]
            writer.write_table(pa.table(columns, schema=schema))
    whole = pd.read_parquet(path)
    wanted, data = Design.from_formula("y ~ g", whole)
    design, made = from_chunks("y ~ g", path)
    assert sorted(design.layout.factors[0].levels) == ["p", "q", "r", "s"]
    assert design.column_names == wanted.column_names
    np.testing.assert_array_equal(made.value["X"], data.X)


def test_the_dot_is_the_columns_of_the_first_chunk(frame):
    table = frame[["y", "x", "k", "w"]]
    check("y ~ .", table, cut(table, 3))


def test_what_chunks_call_missing(frame):
    """A column that is missing in a whole chunk may have any dtype there."""
    table = frame[["y", "x", "k", "g", "w"]].iloc[:60]
    first, second = table.iloc[:30].copy(), table.iloc[30:].copy()
    first["g"] = np.nan
    first["k"] = np.nan
    whole = pd.concat([first.astype({"g": object}), second])
    with pytest.warns(MissingDataWarning, match=r"30 of 60 rows .*k: 30, g: 30"):
        check("y ~ C(k) + g + x", whole, [first, second])
    with pytest.raises(DataError, match=r"30 of 60 rows have missing values .*missing='drop'"):
        from_chunks("y ~ C(k) + g + x", [first, second], missing="raise")
    with pytest.raises(DataError, match="no complete row"):
        from_chunks("y ~ g + x", iter([first, first]))


def test_integers_that_become_floats(frame):
    """As pandas reads a file in chunks: integers, and floats where one is missing; levels are floats then."""
    table = frame[["y", "k", "w"]].iloc[:60].copy()
    first, second = table.iloc[:30], table.iloc[30:].astype({"k": float})
    check("y ~ C(k) + k", pd.concat([first, second]), [first, second])


# ---------------------------------------------------------------------- what can be read once


@pytest.mark.parametrize("formula", ["y ~ x + k + b + I(x**2)", "y ~ C(k, levels=[0, 1, 2, 3]):x + d"])
@pytest.mark.filterwarnings("ignore::pyrjsel.MissingDataWarning")
def test_an_iterator_is_read_once(formula, gaps):
    table = gaps.assign(d=gaps["c"].cat.remove_unused_categories())
    check(formula, table, iter(cut(table, 5)))
    check(formula, table, (table.iloc[i : i + 1] for i in range(N)))


@pytest.mark.parametrize(
    ("formula", "reason"),
    [
        ("y ~ g", "'g' has levels that are unknown"),
        ("y ~ C(k)", re.escape("'C(k)' has levels that are unknown")),
        ("y ~ standardize(x)", re.escape("'standardize(x)' has transforms that learn")),
        ("center(y) ~ x", re.escape("'center(y)' has transforms that learn")),
        ("y ~ c", "levels 'never' of the term 'c' .*do not occur"),
    ],
)
def test_what_an_iterator_cannot_do(formula, reason, frame):
    with pytest.raises(DataError, match=rf"{reason}.*a function that returns a new iterator"):
        from_chunks(formula, iter(cut(frame, 1)))


def test_one_pass_where_one_will_do(frame):
    """The rows are read once if all is numeric or declared, twice if levels must be learned."""
    calls = []

    def source():
        calls.append(1)
        return iter(cut(frame, 1))

    for formula, passes in (("y ~ x + k", 1), ("y ~ g", 2), ("y ~ center(standardize(x))", 3)):
        calls.clear()
        from_chunks(formula, source)
        # One that begins as a single pass stops at the first chunk.
        assert len(calls) == passes + (passes > 1)


# ---------------------------------------------------------------------- what does not fit


def test_chunks_that_do_not_fit(frame):
    good, more = frame.iloc[:60], frame.iloc[60:]
    cases = [
        (more.drop(columns="k"), r"Chunk 2 lacks 'k'"),
        (more.rename(columns={"k": "kk"}), r"Chunk 2 lacks 'k' and has the additional 'kk'"),
        (
            more.assign(x="text"),
            r"column 'x' .*the same type.*real values in chunk 1 and text values in chunk 2",
        ),
        (more.assign(b=2.5), r"column 'b' .*boolean values in chunk 1 and real values in chunk 2"),
        (more.assign(c="z"), r"'c' .*categories \(text\) in chunk 1 and text values in chunk 2"),
        (
            more.assign(c=more["c"].cat.add_categories("new")),
            r"categories of the column 'c' .*'never' in chunk 1 and .*'new' in chunk 2",
        ),
        (
            more.assign(x=np.where(more["y"] > 0, np.inf, more["x"])),
            r"\(chunk 2\) .*infinite.*'x'",
        ),
        (more.assign(y=-np.inf), r"from_chunks \(chunk 2\) .*infinite.*'y'"),
        (more.assign(w=np.inf), r"from_chunks \(chunk 2\) .*infinite.*'w'"),
        (more.assign(w="heavy"), r"'weights' parameter of from_chunks \(chunk 2\) must be numeric"),
        (more.to_numpy(), r"chunk 2, must be a DataFrame .*Got ndarray"),
        (more.assign(x=pd.Timestamp("2020-01-01")), r"column 'x' of from_chunks \(chunk 2\)"),
    ]
    for bad, pattern in cases:
        for formula in ("y ~ x + k + b + c", "y ~ x + k + b + c + g"):
            for chunks in ([good, bad], lambda bad=bad: iter([good, bad])):
                with pytest.raises(DataError, match=pattern):
                    from_chunks(formula, chunks, extras={"weights": "w"})


def test_no_chunks(frame):
    for chunks in ([], iter([]), list, [pd.DataFrame()]):
        with pytest.raises(DataError, match="have no rows"):
            from_chunks("y ~ x", chunks)
    for chunks in ([frame.iloc[:0]], iter([frame.iloc[:0]])):
        with pytest.raises(DataError, match="have no rows"):
            from_chunks("y ~ x", chunks)
        with pytest.raises(DataError, match="have no rows"):
            from_chunks("y ~ standardize(x)", [frame.iloc[:0]])


def test_names_and_parameters(frame):
    chunks = cut(frame, 1)
    with pytest.raises(UnknownNameError, match="the column 'zz'"):
        from_chunks("y ~ zz + x", chunks)
    with pytest.raises(UnknownNameError, match=r"'zz'.*The term 'np.log\(zz\)' needs it"):
        from_chunks("y ~ np.log(zz)", chunks)
    with pytest.raises(UnknownNameError, match="unknown column 'ww' as 'weights'"):
        from_chunks("y ~ x", chunks, extras={"weights": "ww"})
    with pytest.raises(ParameterError, match=r"'weights'.*name of a column, since the data come in chunks"):
        from_chunks("y ~ x", chunks, extras={"weights": np.ones(N)})
    with pytest.raises(ParameterError, match="'missing'"):
        from_chunks("y ~ x", chunks, missing="ignore")
    with pytest.raises(ParameterError, match=r"'data'.*function that returns an iterable"):
        from_chunks("y ~ x", lambda: 3)
    with pytest.raises(DataError, match="'typo' is not one of the values 'c', 'b', 'a'"):
        from_chunks("y ~ I(g == 'typo')", [frame.sort_values("g", ascending=False)])


def test_a_function_must_give_the_same_rows_again(frame):
    calls = []

    def source():
        calls.append(1)
        return cut(frame.iloc[: N - len(calls)], 1)

    with pytest.raises(
        DataError, match=r"118 rows \(118 complete\) in the first pass and 117 .* in a later one"
    ):
        from_chunks("y ~ g", source)
    left = iter(cut(frame, 1))
    with pytest.raises(DataError, match=r"no rows|next time"):
        from_chunks("y ~ g", lambda: left)


@pytest.mark.parametrize("change", ["x", "y", "w", "order"])
def test_a_function_must_give_the_same_values_again(change, frame):
    """Columns of the same sums that belong to other responses are others; any order of rows will do."""
    table = frame.copy()
    _, made = from_chunks("y ~ x + g", lambda: cut(table, 1), extras={"weights": "w"})
    again = made.reader.reduce(Work(keep, append))
    np.testing.assert_array_equal(again["X"], made.value["X"])
    if change == "order":
        table = table.sample(frac=1.0, random_state=np.random.RandomState(1))
        assert made.reader.reduce(Work(keep, append))["n"].sum() == N
        return
    table[change] = table[change].to_numpy()[::-1]
    with pytest.raises(DataError, match="other values in a later pass than in the first"):
        made.reader.reduce(Work(keep, append))


def others(path):
    return pd.read_parquet(path).assign(x=0.0)


CHANGES = {
    "replaced": lambda path: others(path).to_parquet(path),
    "cut": lambda path: path.write_bytes(path.read_bytes()[:-900]),
    "emptied": lambda path: path.write_bytes(b""),
    "removed": lambda path: path.unlink(),
    "a folder": lambda path: (path.unlink(), path.mkdir()),
    "one more": lambda path: others(path).to_parquet(path.with_name("more.parquet")),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_file_that_changes_between_passes_is_refused(change, frame, tmp_path):
    pytest.importorskip("pyarrow")
    path = tmp_path / "rows.parquet"
    frame.to_parquet(path)
    _, made = from_chunks("y ~ x + k", tmp_path if change == "one more" else path)
    made.reader.reduce(Work(keep, append))
    CHANGES[change](path)
    with pytest.raises(DataError, match=r"'data' of .*(have changed since|cannot be read to)"):
        made.reader.reduce(Work(keep, append))


def test_a_file_that_changes_within_a_pass_is_refused(frame, tmp_path):
    pytest.importorskip("pyarrow")
    path = tmp_path / "rows.parquet"
    frame.to_parquet(path, row_group_size=30)
    rows = as_chunks(path).frames(["x"])
    next(rows)
    os.utime(path, (1, 1))
    with pytest.raises(DataError, match="have changed since"):
        list(rows)


@pytest.mark.parametrize(
    "known", [b"{", b"[]", b'{"index_columns": 3}', b'{"index_columns": ["z"], "columns": []}', b"\xff\xfe"]
)
def test_damaged_labels_of_a_file_are_named(known, frame, tmp_path):
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    table = pa.Table.from_pandas(frame).replace_schema_metadata({b"pandas": known})
    parquet.write_table(table, tmp_path / "rows.parquet")
    with pytest.raises(DataError, match="'data' of as_chunks cannot be read"):
        from_chunks("y ~ x", tmp_path / "rows.parquet")


def test_text_that_is_not_unicode_is_named(tmp_path):
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    text = pa.array([b"a", b"\xff\xfe", b"b"], type=pa.binary()).cast(pa.string(), safe=False)
    parquet.write_table(pa.table({"y": [1.0, 2.0, 3.0], "g": text}), tmp_path / "rows.parquet")
    with pytest.raises(DataError, match=r"'data' of as_chunks cannot be read to their end: .*UTF8"):
        from_chunks("y ~ g", tmp_path / "rows.parquet")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes")
def test_a_pipe_is_no_file(tmp_path):
    pytest.importorskip("pyarrow")
    path = tmp_path / "rows.parquet"
    os.mkfifo(path)
    with pytest.raises(ParameterError, match="not of a pipe or a device"):
        as_chunks(path)


LABELS = {
    "text": lambda late: np.where(late, "no", "yes"),
    "the other first": lambda late: np.where(late, "yes", "no"),
    "categories": lambda late: pd.Categorical(np.where(late, "a", "b"), categories=["c", "b", "a"]),
    "numbers": lambda late: np.where(late, 3, 7),
    "one": lambda late: np.full(N, "yes"),
    "three": lambda late: np.where(late, np.where(np.arange(N) % 2, "no", "maybe"), "yes"),
}


@pytest.mark.parametrize("labels", LABELS)
@pytest.mark.parametrize("kind", ["function", "list", "Parquet"])
def test_events_from_two_labels(labels, kind, frame, tmp_path):
    """The first chunk has one class alone; errors are those in memory, too."""
    late = (np.arange(N) >= 40) & (np.arange(N) % 3 > 0)
    table = frame.assign(y=LABELS[labels](late))
    formula = "C(y) ~ x + g" if labels == "numbers" else "y ~ x + g"
    chunks = {"list": cut(table, 1), "function": lambda: iter(cut(table, 1))}.get(kind)
    if chunks is None:
        pytest.importorskip("pyarrow")
        chunks = tmp_path / "rows.parquet"
        table.to_parquet(chunks, row_group_size=30)
    try:
        want, data = Design.from_formula(formula, table, events=True)
    except DataError as error:
        text = re.escape(str(error)).replace("Design", "from_chunks")
        with pytest.raises(DataError, match=f"^{text}$"):
            from_chunks(formula, chunks, events=True)
        return
    design, made = from_chunks(formula, chunks, events=True)
    assert design.response == want.response
    np.testing.assert_array_equal(made.value["y"], data.y)
    with pytest.raises(DataError, match=r"must be numeric or boolean\. Got 2 labels instead; use rj.logit"):
        from_chunks(formula, chunks)


def test_classes_of_real_numbers_are_refused_before_all_are_read(frame):
    read = []

    def source():
        for part in (frame.assign(y=frame["k"] + 0.0), frame, frame):
            read.append(1)
            yield part

    with pytest.raises(
        DataError, match=r"'y' of from_chunks \(chunk 2\) must be labels: .* Got real numbers"
    ):
        from_chunks("y ~ x", source, classes=True)
    assert len(read) <= 3  # the first chunk was read for its columns, too
    assert len(from_chunks("C(y) ~ x", lambda: [frame], classes=True)[0].left.levels) == N


def test_files_that_are_none(tmp_path):
    pytest.importorskip("pyarrow")
    path = tmp_path / "rows.csv"
    path.write_text("y,x\n1,2\n")
    with pytest.raises(
        DataError, match=r"'data' of as_chunks must be a table.*rows\.csv.*pandas\.read_csv\(\)"
    ):
        as_chunks(path)
    for source in (path.rename(tmp_path / "rows"), tmp_path / "none.parquet"):
        with pytest.raises(DataError, match="'data' of as_chunks cannot be read as a Parquet file"):
            from_chunks("y ~ x", source)


def test_what_is_not_chunks(frame):
    for data in (frame, {"y": [1]}, frame["y"], frame.to_numpy(), 3, None, b"rows"):
        assert as_chunks(data) is None

"""Predictions of rows in chunks are those of the rows in memory."""

import pickle

import numpy as np
import pandas as pd
import pytest

import pyrjsel as rj

N = 300


def make():
    rng = np.random.default_rng(3)
    table = pd.DataFrame(rng.normal(size=(N, 2)), columns=["a", "b"])
    table["g"] = np.where(np.arange(N) > 0.7 * N, "late", rng.choice(["p", "q"], N))
    eta = 0.5 * table["a"] + 0.3 * (table["g"] == "late")
    table["y"] = (rng.random(N) < 1 / (1 + np.exp(-eta))).astype(int)
    table["z"] = eta + rng.normal(size=N)
    table["o"] = 0.4 * rng.normal(size=N)
    table["visits"] = rng.poisson(np.exp(0.3 * eta) * rng.gamma(2.0, 0.5, N))
    table["cost"] = np.exp(0.2 * eta) * rng.gamma(3.0, 1 / 3, N)
    table["way"] = np.array(["bus", "car", "walk"])[np.digitize(eta + rng.logistic(size=N), [-1, 1])]
    return table


def gaps(table):
    table = table.copy()
    table.loc[::31, "a"] = np.nan
    table.loc[100:199, "b"] = np.nan  # all of a chunk
    table.loc[::47, "g"] = None
    table.loc[5, "o"] = np.nan
    return table.set_axis(pd.Index(np.arange(N)[::-1] * 2, name="id"))


@pytest.fixture(scope="module")
def table():
    return make()


@pytest.fixture(scope="module")
def new(table):
    return gaps(table)


@pytest.fixture(scope="module")
def fits(table):
    def chunks():
        return (table.iloc[at : at + 130] for at in range(0, N, 130))

    return {
        "linear": rj.linear("z ~ a + b + g", table, offset="o").fit(),
        "logit": rj.logit("y ~ standardize(a) + b + g", table, offset="o").fit(rng=1),
        "logit from chunks": rj.logit("y ~ standardize(a) + b + g", chunks, offset="o").fit(rng=1),
        "one model": rj.logit("y ~ a + b + g", table).fit(rng=1).single_model(["a"]),
        "cox": rj.cox("time ~ a + b + g", table.assign(time=np.exp(table["z"])), event="y").fit(rng=1),
        "negbin from chunks": rj.negbin("visits ~ a + b + g", chunks, offset="o").fit(rng=1),
        "gamma": rj.gamma("cost ~ a + b + g", table).fit(rng=1),
        "classes": rj.multinomial("way ~ a + b + g", table).fit(rng=1),
        "classes from chunks": rj.multinomial("way ~ a + b + g", chunks).fit(rng=1),
    }


DRAWS = 300  # for intervals
FITS = [
    "linear",
    "logit",
    "logit from chunks",
    "one model",
    "cox",
    "negbin from chunks",
    "gamma",
    "classes",
    "classes from chunks",
]


def cut(data, size=100):
    return [data.iloc[at : at + size] for at in range(0, len(data), size)]


# Products of matrices of other sizes differ in the last bits.
def same(found, wanted):
    assert type(found) is type(wanted)
    check = pd.testing.assert_series_equal if found.ndim == 1 else pd.testing.assert_frame_equal
    check(found, wanted, rtol=1e-12)


@pytest.mark.parametrize("kind", FITS)
def test_frames(fits, new, kind):
    results = fits[kind]
    wanted, frame = results.predict(new), results.get_prediction(new, draws=DRAWS).summary_frame(0.2)
    assert 0 < np.isnan(wanted.to_numpy()).sum() < wanted.size
    for chunks in (cut(new), lambda: iter(cut(new, 90)), iter(cut(new, N))):
        same(pd.concat(results.predict(chunks)), wanted)
    found = results.get_prediction([*cut(new), new.iloc[:0]], draws=DRAWS)
    for _ in range(2):  # a list is read again
        same(pd.concat(found.summary_frame(0.2)), frame)


@pytest.mark.parametrize("kind", FITS[::2])
@pytest.mark.parametrize("labels", [True, False])
def test_files(fits, new, kind, labels, tmp_path):
    results, path, to = fits[kind], tmp_path / "rows.parquet", tmp_path / "predictions.parquet"
    data = pytest.importorskip("pyarrow.dataset")
    rows = new if labels else new.reset_index(drop=True)
    rows.to_parquet(path, row_group_size=90)
    wanted, frame = results.predict(rows), results.get_prediction(rows, draws=DRAWS).summary_frame()
    for source in (path, data.dataset(path)):
        same(pd.concat(results.predict(source)), wanted)
    assert results.predict(path, to=to) is None
    held = pd.DataFrame(wanted)
    same(pd.read_parquet(to).rename_axis(columns=held.columns.name), held)
    results.get_prediction(path, draws=DRAWS).summary_frame(to=to)
    same(pd.read_parquet(to), frame)
    results.predict(cut(new), to=to)
    again = pd.read_parquet(to)[held.columns].rename_axis(columns=held.columns.name)
    same(again.reset_index(drop=True), held.reset_index(drop=True))


@pytest.mark.parametrize("kind", FITS[1::2])
def test_dask(fits, new, kind):
    dd = pytest.importorskip("dask.dataframe")
    results, rows = fits[kind], new.sort_index()
    parts = dd.from_pandas(rows, npartitions=3)
    found = results.predict(parts)
    assert found.known_divisions
    same(found.compute(scheduler="sync"), results.predict(rows))
    frame = results.get_prediction(parts, draws=DRAWS).summary_frame()
    assert (
        frame.columns.tolist() == results.get_prediction(rows, draws=DRAWS).summary_frame().columns.tolist()
    )
    same(frame.compute(scheduler="sync"), results.get_prediction(rows, draws=DRAWS).summary_frame())
    # As workers get them.
    work = pickle.loads(pickle.dumps(results.get_prediction(parts)._of_chunk))
    same(work(rows, 1, type(work.predict.prediction).mean), results.predict(rows))
    with pytest.raises(rj.ParameterError, match=r"None for a Dask data frame: call to_parquet\(\)"):
        results.predict(parts, to="rows.parquet")
    with pytest.raises(rj.UnknownNameError, match="needs the column 'a'"):
        results.predict(parts.drop(columns="a"))


def test_most_probable_classes(fits, new, tmp_path):
    results, to = fits["classes"], tmp_path / "classes.parquet"
    wanted = results.classify(new)
    pd.testing.assert_series_equal(pd.concat(results.classify(cut(new))), wanted)
    results.classify(cut(new), to=to)
    assert pd.read_parquet(to)[wanted.name].astype(object).equals(wanted.astype(object))
    with pytest.raises(rj.ParameterError, match=r"'to' .* None, unless 'new' comes in chunks"):
        results.classify(new, to=to)


def test_errors_come_before_the_rows_or_name_the_chunk(fits, table, tmp_path):
    results, path, to = fits["logit"], tmp_path / "rows.parquet", tmp_path / "predictions.parquet"
    table.to_parquet(path, row_group_size=100)
    with pytest.raises(rj.UnknownNameError, match="needs the column 'b'"):
        results.predict([table.drop(columns="b")])
    with pytest.raises(rj.ParameterError, match="the name of a column, since 'new' comes in chunks"):
        results.predict(cut(table), offset=table["o"])
    with pytest.raises(rj.ParameterError, match="another file than that of the rows"):
        results.predict(path, to=path)
    with pytest.raises(rj.ParameterError, match=r"'to' .* None, unless 'new' comes in chunks"):
        results.predict(table, to=to)
    with pytest.raises(rj.DataError, match="The 'new' of predict cannot be read as a Parquet file"):
        results.predict(tmp_path / "none.parquet")
    with pytest.raises(rj.DataError, match=r"predict \(chunk 3\) got unseen levels .* 'new'"):
        list(results.predict([*cut(table)[:2], table.assign(g="new")]))
    to.write_bytes(b"old")
    with pytest.raises(rj.DataError, match=r"offset 'o' of predict \(chunk 4\) is infinite"):
        results.predict([*cut(table), table.assign(o=np.inf)], to=to)
    assert to.read_bytes() == b"old"
    assert sorted(file.name for file in tmp_path.iterdir()) == ["predictions.parquet", "rows.parquet"]
    same(pd.concat(results.predict(cut(table), offset="a")), results.predict(table, offset=table["a"]))


def test_writing_that_fails_leaves_the_file(fits, table, tmp_path, monkeypatch):
    parquet = pytest.importorskip("pyarrow.parquet")
    to = tmp_path / "predictions.parquet"
    to.write_bytes(b"old")

    def full(self, rows):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(parquet.ParquetWriter, "write_table", full)
    with pytest.raises(OSError, match="No space left"):
        fits["linear"].predict(cut(table), to=to)
    assert to.read_bytes() == b"old"
    assert [file.name for file in tmp_path.iterdir()] == ["predictions.parquet"]


def test_files_and_links_beside_the_new_one_stay(fits, table, tmp_path):
    """Of any name that could be guessed; a link is followed, as by save."""
    pytest.importorskip("pyarrow")
    table.to_parquet(tmp_path / "rows.parquet")
    to, victim, link = tmp_path / "out.parquet", tmp_path / "victim", tmp_path / "out.parquet.part"
    victim.write_text("precious")
    link.symlink_to("victim")
    (tmp_path / "other.parquet").symlink_to("out.parquet")
    for name in ("out.parquet", "other.parquet"):
        fits["linear"].predict(tmp_path / "rows.parquet", to=tmp_path / name)
        assert victim.read_text() == "precious"
        assert not to.is_symlink()
        assert link.is_symlink()
        assert (tmp_path / "other.parquet").is_symlink()
        assert len(pd.read_parquet(to)) == len(table)
    names = sorted(file.name for file in tmp_path.iterdir())
    assert names == ["other.parquet", "out.parquet", "out.parquet.part", "rows.parquet", "victim"]


@pytest.mark.parametrize(
    "labels", [["a", "b", 3], [object()] * 3, [1.5, 2.5, 3.5]], ids=["mixed", "objects", "of another type"]
)
def test_labels_that_a_file_cannot_have_are_named(labels, fits, table, tmp_path):
    pytest.importorskip("pyarrow")
    chunks = [table[:3].set_axis(list("abc")), table[3:6].set_axis(labels)]
    with pytest.raises(rj.DataError, match="rows of chunk 2 of predict must have labels of one type"):
        fits["linear"].predict(chunks, to=tmp_path / "out.parquet")
    assert list(tmp_path.iterdir()) == []

"""Columns of matrices in their own types: passes, moments and rows of cross-products, against plain numpy."""

import pickle

import numpy as np
import pytest
from scipy import sparse

from pyrjsel.design import as_wide
from pyrjsel.selection.regression import wide
from pyrjsel.selection.regression._typed import RowStore, TypedColumns
from pyrjsel.selection.regression.wide import FEWEST, WideColumns

N, P = 37, 1100  # no multiple of the lanes and rows of the loops


def raw(dtype, rng):
    if np.dtype(dtype).kind == "f":
        return (50.0 + rng.standard_normal((N, P))).astype(dtype)
    if dtype == "bool":
        return rng.random((N, P)) < 0.4
    low = 0 if dtype == "uint8" else -100
    return rng.integers(low, 100, (N, P)).astype(dtype)


def forms(x, tmp_path):
    mapped = np.lib.format.open_memmap(tmp_path / "x.npy", "w+", x.dtype, x.shape)
    mapped[:] = x
    more = np.empty((N, P + 3), x.dtype)
    more[:, 1:-2] = x
    listed = {
        "C": x,
        "F": np.asfortranarray(x),
        "slice": more[:, 1:-2],
        "map": mapped,
        "csc": sparse.csc_array(x),
    }
    return {name: form for name, form in listed.items() if x.dtype != np.float64 or name in ("map", "csc")}


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "int16", "int32", "float32", "float64"])
@pytest.mark.parametrize("weighted", [False, True])
def test_passes_meet_numpy(dtype, weighted, tmp_path):
    rng = np.random.default_rng(3)
    x = raw(dtype, rng)
    w = rng.uniform(0.5, 2.0, N) if weighted else np.ones(N)
    z = x.astype(float)
    mean = w @ z / w.sum()
    scale = np.sqrt(w @ (z - mean) ** 2 / w.sum())
    standard = (z - mean) / scale
    v, extra = rng.standard_normal(N), rng.uniform(size=P)
    gram = (standard.T * w) @ standard + np.diag(extra)
    for name, form in forms(x, tmp_path).items():
        columns = WideColumns.of(as_wide(form), w)
        # Rounding of means of about 50 with standard deviations of 1 or more leaves 50 eps.
        near = {"rtol": 1e-11, "atol": 1e-11, "err_msg": name}
        np.testing.assert_allclose(columns.mean, mean, **near)
        np.testing.assert_allclose(columns.scale, scale, **near)
        np.testing.assert_allclose(columns.products(v), v @ standard, **near)
        np.testing.assert_allclose(columns[[5, 0, 5]], standard.T[[5, 0, 5]] * np.sqrt(w), **near)
        made = columns.gram(extra)
        # Twice: rows of the second come from the store.
        for which in ([3, 900, 3], [900, 3, 7]):
            np.testing.assert_allclose(made.rows(which), gram[which], rtol=1e-10, atol=1e-10, err_msg=name)
        start = np.arange(P + 1, dtype=np.intc)
        np.testing.assert_allclose(made.blocks(start), np.diag(gram), **near)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", ["int8", "float32"])
def test_passes_take_several_blocks(order, dtype):
    """More rows than are converted at a time, and more columns than a tile, with a rest of both."""
    n, p = 2 * 256 + 21, 2048 + 70
    rng = np.random.default_rng(5)
    x = np.asarray(rng.integers(-100, 100, (n, p)), dtype=dtype, order=order)
    columns, v = WideColumns.of(as_wide(x), np.ones(n)), rng.standard_normal(n)
    z = x.astype(float)
    expected = v @ ((z - z.mean(axis=0)) / z.std(axis=0))
    np.testing.assert_allclose(columns.products(v), expected, rtol=1e-11, atol=1e-11)


def test_constant_columns_are_left_out_of_passes():
    rng = np.random.default_rng(1)
    x = rng.integers(0, 3, (N, P)).astype(np.int8)
    kept = np.delete(np.arange(P), [0, 7, P - 1])
    z = x.astype(float)
    columns = TypedColumns(x, z.mean(axis=0), z.std(axis=0)[kept], kept, N)
    v = rng.standard_normal(N)
    expected = (v @ (z - z.mean(axis=0)) / z.std(axis=0))[kept]
    np.testing.assert_allclose(columns.products(v), expected, rtol=1e-11, atol=1e-12)
    np.testing.assert_array_equal(columns.take([6]), [(x[:, 8] - z[:, 8].mean()) / z[:, 8].std()])


def test_values_at_the_ends_of_their_types_do_not_overflow():
    for dtype in ("int8", "int16", "int32"):
        ends = np.iinfo(dtype)
        x = np.full((N, P), ends.min, dtype=dtype)
        x[::2] = ends.max
        columns = WideColumns.of(as_wide(x), np.ones(N))
        z = x[:, 0].astype(float)
        np.testing.assert_allclose(columns.scale, z.std(), rtol=1e-14)
        row = columns.gram(np.zeros(P)).rows([1])
        np.testing.assert_allclose(row, N, rtol=1e-13)


def test_the_store_keeps_the_rows_used_last_and_stays_small(monkeypatch):
    monkeypatch.setattr(wide, "LEAST", 0)  # of so small a matrix all would be kept
    rng = np.random.default_rng(2)
    x = rng.integers(0, 3, (N, P)).astype(np.int8)
    columns = WideColumns.of(as_wide(x), np.ones(N))
    assert columns.store.kept.capacity == FEWEST
    gram, again = columns.gram(np.zeros(P)), columns.gram(np.ones(P))
    every = np.arange(3 * FEWEST)
    first = gram.rows(every)
    # Another reader of the store, with another diagonal, in another order.
    second = again.rows(every[::-1])[::-1]
    np.testing.assert_array_equal(second - first, np.eye(P)[every])
    kept = {j for j in range(P) if j in columns.store.kept}
    assert kept == set(range(FEWEST))  # the last that were read
    again.rows([7])
    gram.rows(range(100, 100 + FEWEST - 1))
    assert 7 in columns.store.kept
    for column in range(200):
        columns[[column]]
    assert sum(each.nbytes for each in columns._taken.values()) <= x.nbytes
    copy = pickle.loads(pickle.dumps(columns))
    np.testing.assert_array_equal(copy.gram(np.zeros(P)).rows([4]), gram.rows([4]))


def test_arrays_that_do_not_fit_together_are_refused():
    x, kept = np.zeros((N, P), np.int8), np.arange(P)
    mean, scale = np.zeros(P), np.ones(P)
    good = {"x": x, "mean": mean, "scale": scale, "kept": kept, "n": N}
    wrong = [
        {"x": x[::2, ::2]},
        {"x": np.zeros((N, P), np.int64)},
        {"kept": kept + 1},
        {"scale": scale[1:]},
        {"weight": np.ones(3)},
        {"n": N + 1},
        {"first": np.arange(P + 1), "rows": np.zeros(3, np.int32)},
    ]
    for change in wrong:
        with pytest.raises(ValueError, match=r"must|fit together"):
            TypedColumns(**{**good, **change})
    columns = TypedColumns(**good)
    for call in (lambda: columns.take([P]), lambda: columns.products(np.ones(3)), lambda: RowStore(0, 1)):
        with pytest.raises(ValueError, match="must"):
            call()


def test_what_is_kept_is_forgotten_and_made_again():
    rng = np.random.default_rng(4)
    columns = WideColumns.of(as_wide(rng.integers(0, 3, (N, P)).astype(np.int8)), np.ones(N))
    extra = np.zeros(P)
    rows, some = columns.gram(extra).rows([5]), columns[[5]]
    held = columns.store
    columns.rest()
    assert not columns._taken
    assert columns.store is not held
    np.testing.assert_array_equal(columns.gram(extra).rows([5]), rows)
    np.testing.assert_array_equal(columns[[5]], some)

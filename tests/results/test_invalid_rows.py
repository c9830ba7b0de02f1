"""New rows that cannot be used: an error that names them, or NaN for them alone, in every room."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy

import pyrjsel as rj

N = 60
QUICK = {"draws": 20, "chains": 1, "rng": 1}
ALL = ["np.log(a)", "g", "e"]  # predictions need no others than those of their models
RIGHT = " + ".join(ALL)
FEATURES = "C(np.floor(np.log(a))), g, I(e > 1)"


@pytest.fixture(scope="module")
def fits():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"y": rng.normal(size=N), "a": rng.uniform(1, 9, N), "e": rng.uniform(0.5, 2, N)})
    frame["g"] = rng.choice(list("uvw"), N)
    frame["c"], frame["k"] = rng.choice(["p", "q"], N), rng.choice(["r", "s", "t"], N)
    frame["t"] = rng.exponential(size=N)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rj.ConvergenceWarning)  # of a few draws
        return {
            "linear": rj.linear(f"y ~ {RIGHT}", frame).fit(),
            "logit": rj.logit(f"c ~ {RIGHT}", frame, always=ALL).fit(sampler="enumerate", rng=1),
            "classes": rj.multinomial(f"k ~ {RIGHT}", frame, always=ALL).fit(sampler="enumerate", rng=1),
            "kernel": rj.kernel_regression("y ~ np.log(a) + e", frame).fit(particles=20, runs=2, rng=1),
            "mixture": rj.mixture_classifier("c ~ np.log(a) + e", frame, always=ALL[::2]).fit(**QUICK),
            "patterns": rj.pattern_logit("c ~ interactions(C(np.floor(np.log(a))), g, I(e > 1))", frame).fit(
                **QUICK
            ),
        }


ROOMS = ("linear", "logit", "classes", "kernel", "mixture", "patterns")
COLUMNS = ["a", "g", "e"]
GOOD = pd.DataFrame([(2.0, "u", 1.0), (5.0, "w", 0.7), (7.0, "v", 1.1)], [*"ADF"], COLUMNS)
BAD = pd.DataFrame([(-1.0, "v", 1.0), (2.0, "u", np.inf), (3.0, "strange", 1.0)], [*"BCE"], COLUMNS)


@pytest.mark.parametrize("room", ROOMS)
def test_only_rows_that_cannot_be_used_are_nan(fits, room):
    fit, new = fits[room], pd.concat([GOOD, BAD]).sort_index()
    usable = "E" if room in ("kernel", "mixture") else ""  # they have no factor
    said = f"{3 - len(usable)} of 6 rows cannot be used.*Row 'C': e = inf"
    with pytest.warns(rj.PyrjselWarning, match=said):
        found = fit.predict(new, invalid="nan")
    assert list(found.index) == list("ABCDEF")
    gone = found.isna() if found.ndim == 1 else found.isna().all(axis=1)
    assert list(found.index[gone]) == [label for label in "BCE" if label != usable]
    alone = fit.predict(GOOD)
    if room == "patterns":  # which draws for each row anew
        assert alone.notna().all(axis=None)
    else:
        np.testing.assert_allclose(found.loc[GOOD.index], alone, rtol=1e-12)  # sums in another order
    if hasattr(fit, "classify"):
        with pytest.warns(rj.PyrjselWarning, match="cannot be used"):
            labels = fit.classify(new, invalid="nan")
        assert list(labels.index[labels.isna()]) == list(found.index[gone])


@pytest.mark.parametrize("room", ROOMS)
def test_by_default_rows_and_values_are_named(fits, room):
    fit = fits[room]
    values = {"B": r"a = -1\.0", "C": "e = inf", "E": "g = 'strange'"}
    for label, said in values.items():
        if label != "E" or room not in ("kernel", "mixture"):
            with pytest.raises(rj.DataError, match=f"Row '{label}': {said}.*invalid='nan'"):
                fit.predict(pd.concat([GOOD, BAD.loc[[label]]]))
    with pytest.raises(rj.ParameterError, match="'invalid' parameter of predict must be one of"):
        fit.predict(GOOD, invalid="drop")


def test_other_ways_to_predict(fits):
    fit, new = fits["logit"], pd.concat([GOOD, BAD])
    whole = fit.predict(GOOD)
    with pytest.warns(rj.PyrjselWarning, match=r"3 of 6 rows .*'C': e = .*'B': a = .*'E': g = "):
        table = fit.get_prediction(new, invalid="nan").summary_frame()
    assert table[3:].isna().all(axis=None)
    np.testing.assert_allclose(table["mean"][:3], whole, rtol=1e-12)
    with pytest.warns(rj.PyrjselWarning, match=r"chunk 2.*infinite|rows cannot be used"):
        parts = list(fit.predict([GOOD, BAD], invalid="nan"))
    np.testing.assert_allclose(pd.concat(parts)[:3], whole, rtol=1e-12)
    assert parts[1].isna().all()
    with pytest.raises(rj.DataError, match=r"chunk 2.*Row 'C'"):
        list(fit.predict([GOOD, BAD]))
    with pytest.warns(rj.PyrjselWarning, match="3 of 6"):
        assert fit.single_model("hpm").predict(new, invalid="nan").notna().sum() == 3


def test_offsets_that_are_infinite():
    rng = np.random.default_rng(2)
    frame = pd.DataFrame({"n": rng.poisson(3, N), "x": rng.normal(size=N), "t": rng.uniform(1, 2, N)})
    fit = rj.poisson("n ~ x", frame, offset="t").fit(rng=1)
    new = frame[:3].assign(t=[1.0, np.inf, 2.0])
    with pytest.raises(
        rj.DataError, match=r"offset 't' of predict is infinite in 1 of 3 rows: 1.*invalid='nan'"
    ):
        fit.predict(new)
    with pytest.warns(rj.PyrjselWarning, match="offset 't' of predict is infinite in 1 of 3 rows"):
        found = fit.predict(new, invalid="nan")
    assert list(found.isna()) == [False, True, False]


def test_all_rows_may_be_unusable(fits):
    with pytest.warns(rj.PyrjselWarning, match="3 of 3"):
        assert fits["linear"].predict(BAD, invalid="nan").isna().all()


WIDE = 1100  # columns


@pytest.mark.parametrize("kind", ["float32", "csc", "csr"])
def test_new_rows_of_a_wide_matrix(kind):
    """Infinite values of the columns that predictions need are an error or NaN."""
    rng = np.random.default_rng(2)
    x = rng.normal(size=(30, WIDE)).astype(np.float32)
    new = x[:4].copy()
    new[1, 0], new[2, 0], new[3, 0] = np.inf, np.nan, 1.0
    given, rows = (x, new) if kind == "float32" else (scipy.sparse.csc_array(x), scipy.sparse.csc_array(new))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rj.PyrjselWarning)
        fit = rj.LinearSelection(2 * x[:, 0] + rng.normal(size=30), given, always=["x1"]).fit(**QUICK)
    rows = rows.tocsr() if kind == "csr" else rows
    with pytest.raises(rj.DataError, match=r"infinite values in 1 of 4 rows: 1\. With invalid='nan'"):
        fit.predict(rows)
    with pytest.warns(rj.PyrjselWarning, match="infinite values in 1 of 4 rows: 1. Their predictions"):
        found = np.asarray(fit.predict(rows, invalid="nan"))
    assert list(np.isnan(found)) == [False, True, True, False]
    np.testing.assert_allclose(found[0], np.asarray(fit.predict(given))[0])
    with pytest.raises(rj.ParameterError, match="'invalid' parameter"):
        fit.predict(rows, invalid="drop")


def test_counts_of_later_reasons_say_of_which_rows_they_are(fits):
    new = pd.concat([GOOD, BAD])
    with pytest.warns(rj.PyrjselWarning, match=r"Row 'C'.*Of the other 5 rows: .* in 1 of 5 rows"):
        fits["linear"].predict(new, invalid="nan")


def test_errors_about_rows_are_of_the_public_class():
    frame = pd.DataFrame({"y": np.arange(5.0), "x": [1, 2, np.inf, 3, 5]})
    with pytest.raises(rj.DataError, match="infinite") as caught:
        rj.linear("y ~ x", frame)
    assert caught.type is rj.DataError
    assert list(caught.value.rows) == [False, False, True, False, False]
    assert pickle.loads(pickle.dumps(caught.value)).names == ("x",)

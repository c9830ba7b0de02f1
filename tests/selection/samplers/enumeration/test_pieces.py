"""Linear models that are enumerated in pieces: the posterior is that of the list of all of them."""

import numpy as np
import pandas as pd
import pytest

import pyrjsel as rj
from pyrjsel.selection.samplers.enumeration import gaussian, pieces

N = 40


def make():
    rng = np.random.default_rng(3)
    table = pd.DataFrame(rng.normal(size=(N, 7)), columns=list("abcdefh"))
    table["g"] = rng.choice(["p", "q", "r"], N)
    table["twice"] = 2.0 * table["a"]
    table["y"] = table["a"] - 0.4 * table["b"] * table["c"] + rng.normal(size=N)
    return table


@pytest.fixture(scope="module")
def table():
    return make()


@pytest.fixture
def small(monkeypatch):
    """Lists of at most 32 models, pieces of 2: models without further terms are tried near the leaves too."""
    monkeypatch.setattr(gaussian, "MOST_MODELS", 32)
    monkeypatch.setattr(pieces, "PIECE", 2)


PRICES = 2.0, 3.0, 1.0, 1.0, 1.0, 1.0, 1.0
# No ties between models of a column and its copy.
UNEQUAL = rj.Bernoulli({**dict.fromkeys("bacef", 0.5), "twice": 0.4})
CASES = {
    "all subsets": ("y ~ a + b + c + d + e + f + g", {}),
    "heredity": ("y ~ (a + b + c)**2 + d", {"heredity": "strong"}),
    "weak heredity, order, always": (
        "y ~ a:b + a + b + c + b:c + d + e",
        {"heredity": "weak", "always": "d", "coef_prior": rj.HyperG(3)},
    ),
    "size": ("y ~ a + b + c + d + e + f + h + g", {"max_size": 3, "coef_prior": rj.Normal(1.0)}),
    "budget": ("y ~ a + b + c + d + e + f + h", {"costs": dict.fromkeys("abcdefh", 1.0), "budget": 4}),
    # {a} has further models, but none with b.
    "prices": (
        "y ~ a + b + c + d + e + f + h",
        {"costs": dict(zip("abcdefh", PRICES, strict=True)), "budget": 4},
    ),
    "dependent": ("y ~ a + twice + b + c + d + e", {}),
    "dependent, always": ("y ~ b + a + twice + c + d + e + f", {"always": "d", "model_prior": UNEQUAL}),
}


@pytest.mark.filterwarnings("ignore::pyrjsel.RankWarning")
@pytest.mark.parametrize("case", CASES)
def test_pieces_have_the_posterior_of_the_list(table, small, monkeypatch, case):
    formula, options = CASES[case]
    model = rj.linear(formula, table, **options)
    found = model.fit(max_models=1000, rng=1)
    monkeypatch.undo()
    wanted = model.fit(rng=1)
    assert found.sampler == wanted.sampler == "enumerate"
    assert found.diagnostics["models"].item() == wanted.diagnostics["models"].item() > 32
    # Sums in another order.
    for name in ("inclusion", "coefficients", "sizes"):
        pd.testing.assert_frame_equal(getattr(found, name), getattr(wanted, name), rtol=1e-9, atol=1e-12)
    # Models without a prior are in lists alone.
    rows = [fit.models.query("posterior > 0").set_index("terms").sort_index() for fit in (found, wanted)]
    pd.testing.assert_frame_equal(*rows, rtol=1e-9, atol=1e-12)
    assert found.posterior.outside == 0.0
    assert not any({"a", "twice"} <= set(terms) for terms in rows[0].index)


def test_the_best_models_are_listed_and_sums_are_over_all(table, small, monkeypatch, tmp_path):
    monkeypatch.setattr(pieces, "KEPT", 3)  # less than half of a part
    formula = "y ~ a + b + c + d + e + f + g"
    found = rj.linear(formula, table).fit(max_models=128)
    again = rj.linear(formula, table).fit(max_models=128, n_jobs=2)
    found.save(tmp_path / "fit.rjs")
    loaded = rj.load(tmp_path / "fit.rjs", data=table)
    monkeypatch.undo()
    wanted = rj.linear(formula, table).fit()
    assert len(found.posterior.packed) == 3
    np.testing.assert_array_equal(found.posterior.packed[:], wanted.posterior.packed[:3])
    np.testing.assert_allclose(found.posterior.probability, wanted.posterior.probability[:3], rtol=1e-12)
    assert found.posterior.outside == pytest.approx(wanted.posterior.probability[3:].sum(), rel=1e-9)
    np.testing.assert_allclose(found.inclusion["posterior"], wanted.inclusion["posterior"], rtol=1e-12)
    assert "3 most probable of 128 models are listed" in str(found.summary()).replace("\n    ", " ")
    assert "the best 2 of 128 enumerated" in str(found.summary(top=2))
    assert "the best 3 of 128 enumerated" in str(loaded.summary())
    for other in (again, loaded):  # whatever the number of threads, to the last bit
        pd.testing.assert_frame_equal(other.inclusion, found.inclusion, check_exact=True)
        pd.testing.assert_frame_equal(other.models, found.models, check_exact=True)
        assert other.posterior.outside == found.posterior.outside


@pytest.mark.filterwarnings("ignore::pyrjsel.RankWarning")
@pytest.mark.parametrize("case", ["dependent", "dependent, always"])
def test_the_prior_is_over_all_models_that_have_one(table, small, monkeypatch, tmp_path, case):
    """Not over those that are listed; the numbers of models in a summary are one."""
    monkeypatch.setattr(pieces, "KEPT", 3)
    formula, options = CASES[case]
    found = rj.linear(formula, table, **options).fit(max_models=128, n_jobs=2)
    found.save(tmp_path / "fit.rjs")
    rj.load(tmp_path / "fit.rjs").save(tmp_path / "again.rjs")
    loaded = rj.load(tmp_path / "again.rjs")
    monkeypatch.undo()
    wanted = rj.linear(formula, table, **options).fit()
    assert len(found.posterior.packed) == 3
    for results in (found, loaded):
        assert results.prior_inclusion.n_models == wanted.prior_inclusion.n_models
        for name in ("prior", "bayes_factor"):
            np.testing.assert_allclose(results.inclusion[name], wanted.inclusion[name], rtol=1e-10)
        np.testing.assert_allclose(results.sizes["prior"], wanted.sizes["prior"], rtol=1e-12)
        text = " ".join(str(results.summary()).split())
        count = found.prior_inclusion.n_models
        assert f"Feasible models: {count} " in text
        assert f"of all {count} feasible models" in text


def test_the_best_are_kept_in_whatever_order_they_come(table, small, monkeypatch):
    monkeypatch.setattr(pieces, "KEPT", 3)
    model = rj.linear("y ~ a + b + c + d + e + f + h", table)
    whole = pieces.Whole.of(model.regression, model.space, pieces.pieces_of(model.space, 128))
    words = np.concatenate([whole.models(piece)[0] for piece in whole.pieces])
    value = 0.1 * np.random.default_rng(2).permutation(128)  # none is much better than the next
    part = pieces.Sums(whole, len(whole.pieces), 0)
    for at in range(0, 128, 2):
        part._add(words[at : at + 2], value[at : at + 2], np.zeros(2))
    part.finish(True)
    np.testing.assert_array_equal(np.sort(part.log_mass), np.sort(value)[-3:])
    np.testing.assert_array_equal(part.words, words[np.isin(value, part.value)])
    assert part.total[2] == pytest.approx(np.exp(value - part.top).sum(), rel=1e-12)


@pytest.mark.parametrize("always", [(), ("d", "a")])
def test_pieces_of_all_subsets_are_those_that_are_counted(table, monkeypatch, always):
    monkeypatch.setattr(pieces, "PIECE", 8)
    space = rj.linear("y ~ a + b + c + d + e + f + h", table, always=always).space
    count = 2 ** (7 - len(always))
    found = [pieces.pieces_of(space, most) for most in (count, count - 1)]
    monkeypatch.setattr(type(space), "constrained", True)
    wanted = [pieces.pieces_of(space, most) for most in (count, count - 1)]
    assert found[1] is wanted[1] is None
    assert sum(piece.count for piece in found[0]) == count
    for one, other in zip(found[0], wanted[0], strict=True):
        assert (one.start.tolist(), one.first, one.count) == (other.start.tolist(), other.first, other.count)


@pytest.mark.filterwarnings("ignore::pyrjsel.RankWarning")
def test_a_fit_that_stops_is_resumed(table, small, monkeypatch, tmp_path):
    model = rj.linear("y ~ a + b + c + d + e + f + twice", table)
    whole = model.fit(max_models=128, n_jobs=1)
    usual, done = pieces.Sums.take, []

    def crash(self, models):
        if len(done) == 5:
            raise RuntimeError("crash")
        usual(self, models)
        done.append(models)

    monkeypatch.setattr("pyrjsel.runtime.checkpoint.ChainFile.due", lambda self: True)
    monkeypatch.setattr("pyrjsel.runtime.chains.next_block", lambda n, seconds: 1)
    with monkeypatch.context() as patch:
        patch.setattr(pieces.Sums, "take", crash)
        with pytest.raises(RuntimeError, match="crash"):
            model.fit(max_models=128, n_jobs=1, checkpoint=tmp_path / "checkpoint")
    again = model.fit(max_models=128, n_jobs=1, checkpoint=tmp_path / "checkpoint")
    pd.testing.assert_frame_equal(again.inclusion, whole.inclusion, check_exact=True)
    pd.testing.assert_frame_equal(again.models, whole.models, check_exact=True)


def test_the_number_of_models_and_the_time_are_told_before(table, small, capsys):
    rj.linear("y ~ a + b + c + d + e + f + g", table).fit(max_models=128, progress=True)
    assert "128 models take about 1 s of one core." in capsys.readouterr().err


def test_nothing_is_told_where_tqdm_is_switched_off(table, small, capsys, monkeypatch):
    monkeypatch.setenv("TQDM_DISABLE", "1")
    rj.linear("y ~ a + b + c + d + e + f + g", table).fit(max_models=128, progress=True)
    assert capsys.readouterr().err == ""


def test_limits_are_named(table, small):
    model = rj.linear("y ~ a + b + c + d + e + f + g", table)
    with pytest.raises(rj.NotAvailableError, match="more than 100 feasible models: raise 'max_models'"):
        model.fit(sampler="enumerate", max_models=100)
    with pytest.raises(rj.ParameterError, match="max_models"):
        model.fit(max_models=2**31)
    with pytest.raises(rj.NotAvailableError, match="closed form"):
        rj.linear("y ~ a + b + c + d + e + f + g", table, coef_prior=rj.Normal(1.0, scaled=False)).fit(
            max_models=128
        )


def test_the_limit_of_lists_is_told_with_the_number_of_models(table):
    wide = pd.DataFrame(np.random.default_rng(1).normal(size=(60, 31))).add_prefix("x")
    with pytest.raises(rj.NotAvailableError, match=r"this space has 1,073,741,824.* 'max_models' raises"):
        rj.linear("x0 ~ .", wide).fit(sampler="enumerate")

"""Sufficient statistics: of parts, of far-off data, and the regressions made of them."""

import numpy as np
import pytest

import pyrjsel as rj
from pyrjsel.selection.evidence.gaussian import SingleModels
from pyrjsel.selection.regression.gaussian import GaussianRegression
from pyrjsel.selection.regression.summed_rows import SufficientStatistics


def rows(n=500, shift=0.0, seed=1):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 3)) + shift
    return x, x @ [1.0, -0.5, 0.2] + rng.normal(size=n), rng.integers(0, 4, n).astype(float)


def exact(x, y, w):
    """Sums in extended precision."""
    z, w = np.column_stack([x, y]).astype(np.longdouble), w.astype(np.longdouble)
    mean = w @ z / w.sum()
    return mean, ((z - mean).T * w) @ (z - mean)


@pytest.mark.parametrize("shift", [0.0, 1e6])
@pytest.mark.parametrize("parts", [1, 2, 50, 500])
def test_parts_merge_into_the_whole(shift, parts):
    x, y, w = rows(shift=shift)
    mean, products = exact(x, y, w)
    total = SufficientStatistics.of(x[:0], y[:0], w[:0])
    for part in np.array_split(np.arange(len(y)), parts):
        total = total.merge(SufficientStatistics.of(x[part], y[part], w[part]))
    assert total.n == np.sum(w > 0)
    assert total.weight == w.sum()
    np.testing.assert_allclose(total.mean, mean.astype(float), rtol=1e-14)
    # Products of values 1e6 from 0 lose 1e-10 of their size in centring by means that are rounded.
    size = np.sqrt(np.diag(products)).astype(float)
    error = (total.products - products).astype(float) / np.outer(size, size)
    assert np.abs(error).max() < (1e-14 if shift == 0 else 1e-10) * 10
    assert total.log_weight == pytest.approx(np.log(w[w > 0]).sum(), rel=1e-13)


@pytest.mark.parametrize("weighted", [False, True])
def test_statistics_say_the_same_as_rows(any_prior, weighted):
    x, y, w = rows(40, shift=5.0)
    given = {"weights": w} if weighted else {}
    direct = SingleModels(GaussianRegression.build(x, y, [1, 2], any_prior, **given))
    statistics = SufficientStatistics.of(x, y, *given.values())
    summed = SingleModels(GaussianRegression.from_statistics(statistics, [1, 2], any_prior))
    for gamma in np.array([[0, 0], [1, 0], [0, 1], [1, 1]]):
        assert summed.log_marginal(gamma) == pytest.approx(direct.log_marginal(gamma), abs=1e-8)
        assert summed.deviance(gamma) == pytest.approx(direct.deviance(gamma), abs=1e-8)
        for name in ("mean", "square", "positive", "variance"):
            np.testing.assert_allclose(
                getattr(summed.moments(gamma), name), getattr(direct.moments(gamma), name), rtol=1e-8
            )


def test_constant_columns_and_responses_are_seen_in_sums():
    x, y, _ = rows(30)
    x[:, 1] = 0.1 + 1e6
    made = GaussianRegression.from_statistics(SufficientStatistics.of(x, y), [1, 1, 1], rj.GPrior("n"))
    assert made.dependent() == [1]
    assert made.scale[1] == 1.0
    with pytest.raises(rj.DataError, match="constant"):
        GaussianRegression.from_statistics(
            SufficientStatistics.of(x, np.full(30, 0.1)), [1, 1, 1], rj.GPrior("n")
        )

"""Lists of linear models with nearly dependent columns: along the tree against one model at a time."""

from itertools import product

import numpy as np
import pandas as pd
import pytest

import pyrjsel as rj
from pyrjsel.selection.evidence.gaussian import SingleModels
from pyrjsel.selection.samplers.recording.gaussian_average import Tree, values_and_doubt


def regression_of(formula, prior):
    rng = np.random.default_rng(5)
    a, e, z, noise = rng.normal(size=(4, 50))
    year = rng.uniform(1990, 2020, 50)
    frame = pd.DataFrame({"a": a, "b": a + 1e-6 * e, "z": z, "year": year})
    frame["c"] = frame["a"] + frame["z"]
    frame["y"] = 0.4 * e + 0.3 * z + ((year - 2005) / 15) ** 3 + noise
    model = rj.linear(formula, frame, coef_prior=prior, model_prior=rj.Uniform())
    return model, model.fit(rng=1, sampler="enumerate")


FORMULAS = ["y ~ z + a + b", "y ~ poly(year, 3) + z", "y ~ a + year + b + I(year**2) + z + I(year**3)"]


@pytest.mark.parametrize("prior", [rj.GPrior("n"), rj.BIC(), rj.ZellnerSiow()], ids=repr)
@pytest.mark.parametrize("formula", FORMULAS)
def test_values_and_averages_are_those_of_single_models(formula, prior):
    model, fit = regression_of(formula, prior)
    regression, space = model.regression, model.space
    gamma = np.array(list(product((0, 1), repeat=space.n_terms)), dtype=np.uint8)
    single = SingleModels(regression)
    value = single.log_marginals(gamma)
    assert np.isfinite(value).all()
    weight = np.exp(value - value.max())
    weight /= weight.sum()
    # Errors of the rows, 1e-16, over the smallest proportion of a length that is left, 1e-6.
    tolerance = {"rtol": 1e-7, "atol": 1e-9}
    np.testing.assert_allclose(fit.inclusion["posterior"], weight @ gamma, **tolerance)
    mean, square = np.zeros(regression.n_columns), np.zeros(regression.n_columns)
    for each, row in zip(weight, gamma, strict=True):
        found = single.moments(row, regression.origin)
        scale = regression.units[found.columns]
        mean[found.columns] += each * found.mean * scale
        square[found.columns] += each * found.square * scale**2
    moments = fit.posterior.moments
    mean[0] += regression.origin
    np.testing.assert_allclose(moments.mean * regression.units, mean, **tolerance)
    np.testing.assert_allclose(
        (moments.sd * regression.units)[1:], np.sqrt(square - mean**2)[1:], **tolerance
    )


@pytest.mark.parametrize("formula", FORMULAS)
def test_independent_columns_leave_no_doubt(formula):
    """No model is computed once more by itself, which takes some ten times as long."""
    model = regression_of(formula, rj.GPrior("n"))[0]
    assert model.regression.close
    gamma = np.array(list(product((0, 1), repeat=model.space.n_terms)), dtype=np.uint8)
    tree = Tree.of(model.regression, model.space, gamma)
    assert values_and_doubt(model.regression, tree.subsets(), tree.words)[1].size == 0


@pytest.mark.filterwarnings("ignore:Columns are linearly dependent:pyrjsel.RankWarning")
def test_dependent_columns_beside_close_ones():
    model, fit = regression_of("y ~ z + a + b + c", rj.GPrior("n"))
    held = {frozenset(terms) for terms in fit.models.loc[fit.models["posterior"] > 0, "terms"]}
    assert held == {
        frozenset(terms)
        for row in product((0, 1), repeat=4)
        if not {"z", "a", "c"} <= (terms := set(model.space.terms_of(row)))
    }


def test_errors_of_passes_are_raised(monkeypatch):
    model = regression_of("y ~ z + a + b", rj.GPrior("n"))[0]

    def failing(*_):
        raise ZeroDivisionError("no residual")

    monkeypatch.setattr(type(model.regression), "residual_of", failing)
    with pytest.raises(ZeroDivisionError, match="no residual"):
        model.fit(rng=1, sampler="enumerate")

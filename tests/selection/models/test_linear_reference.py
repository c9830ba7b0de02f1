"""Published-software values: R's BMS 0.3.5 enumerates the same posteriors.

``data/bms.csv`` was made by ``data/bms.R``: g = n, uniform ("uniform") and beta-binomial(1, 1) ("random")
priors over models; inclusion probabilities, posterior means and standard deviations. The rows of Boston are
not kept here: ``data/boston-sums.json`` holds their means and cross-products about them.
"""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import pyrjsel as rj
from pyrjsel.model_space import ModelSpace
from pyrjsel.runtime import FitSettings
from pyrjsel.selection.regression.gaussian import GaussianRegression
from pyrjsel.selection.regression.summed_rows import SufficientStatistics
from pyrjsel.selection.samplers.enumeration.gaussian import GaussianEnumeration
from pyrjsel.selection.samplers.options import ExactOptions

DATA = Path(__file__).parents[1] / "data"
PRIORS = {"uniform": rj.Uniform(), "random": rj.BetaBinomial(1, 1)}


def published(name, prior):
    table = pd.read_csv(DATA / "bms.csv")
    found = table[table["data"].str.contains(name, regex=False) & (table["mprior"] == prior)]
    return found.set_index("term")


def frame(name):
    if name == "Hald":
        return rj.datasets.hald().data
    logged = rj.datasets.uscrime().data.astype(float)
    others = [column for column in logged if column != "So"]
    logged[others] = np.log(logged[others])
    return logged


@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("name", ["Hald", "UScrime"])
def test_bms(name, prior):
    """BMS prints 15 digits; rounding of both leaves about 1e-12."""
    data, want = frame(name), published(name, prior)
    model = rj.LinearSelection(data["y"], data.drop(columns="y"), model_prior=PRIORS[prior])
    results = model.fit(progress=False)
    assert results.sampler == "enumerate"
    terms = list(results.inclusion.index)
    assert sorted(terms) == sorted(want.index)
    np.testing.assert_allclose(results.inclusion["posterior"], want.loc[terms, "PIP"], rtol=0, atol=1e-10)
    np.testing.assert_allclose(results.params[terms], want.loc[terms, "post_mean"], rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(results.bse[terms], want.loc[terms, "post_sd"], rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("prior", PRIORS)
def test_bms_on_sums_alone(prior):
    stored, want = json.loads((DATA / "boston-sums.json").read_text()), published("Boston", prior)
    names = stored["columns"][:-1]
    assert stored["columns"][-1] == "medv"
    statistics = SufficientStatistics(
        stored["rows"], float(stored["rows"]), np.array(stored["mean"]), np.array(stored["products"]), 0.0
    )
    regression = GaussianRegression.from_statistics(statistics, [1] * len(names), rj.GPrior("n"))
    design = rj.LinearSelection(
        np.arange(30.0), np.random.default_rng(1).normal(size=(30, len(names)))
    ).design
    space = ModelSpace.build(design.terms, prior=PRIORS[prior], n_observations=stored["rows"])
    settings = FitSettings(1, 0, 1, 1, np.random.default_rng(1), 1, False)
    found = GaussianEnumeration().posterior(regression, space, settings, ExactOptions())
    np.testing.assert_allclose(found.inclusion, want.loc[names, "PIP"], rtol=0, atol=1e-9)
    np.testing.assert_allclose(found.moments.mean[1:], want.loc[names, "post_mean"], rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(found.moments.sd[1:], want.loc[names, "post_sd"], rtol=1e-7, atol=1e-9)

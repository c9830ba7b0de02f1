"""The frontier: what each budget buys is what a fit under that budget finds."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

import pyrjsel as rj

plt = pytest.importorskip("matplotlib.pyplot")

COSTS = {"a": 0.1, "b": 0.2, "c": 0.3, "d": 1.0, "e": 2.5}


def make_frame(n=250):
    rng = np.random.default_rng(5)
    frame = pd.DataFrame(rng.normal(size=(n, 5)), columns=list("abcde"))
    frame["c"] += 0.8 * frame["d"]
    eta = 0.25 * frame["a"] - 0.3 * frame["b"] + 0.8 * frame["d"] + 0.6 * frame["e"]
    frame["y"] = (rng.random(n) < expit(eta)).astype(int)
    frame["z"] = eta + rng.normal(size=n)
    # What is dear says little: a posterior that spends what it need not.
    frame["w"] = 0.3 * frame["a"] + 0.2 * frame["d"] + 0.1 * frame["e"] + rng.normal(size=n)
    return frame


FRAME = make_frame()
BUDGETS = [0, 0.1, 0.3, 0.6, 1.3, 2.5, 4.1]


def fit(model, **options):
    return model.fit(**{"sampler": "enumerate", "rng": 1, "progress": False, **options})


@pytest.fixture(autouse=True)
def figures_are_closed():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def exact():
    return fit(rj.linear("z ~ a + b + c + d + e", FRAME, costs=COSTS))


@pytest.fixture(scope="module")
def logistic():
    return fit(rj.logit("y ~ a + b + c + d + e", FRAME, costs=COSTS))


@pytest.fixture(scope="module")
def walk():
    model = rj.linear("w ~ a + b + c + d + e", FRAME, costs=COSTS)
    return fit(model, sampler="collapsed", draws=2000, chains=3)


@pytest.mark.parametrize(
    ("make", "response", "tolerance"),
    # Sums of the same terms in another order; and integrals whose precision follows the model's probability,
    # which is larger under a budget.
    [(rj.linear, "z", 1e-11), (rj.logit, "y", 5e-4)],
)
@pytest.mark.parametrize("heredity", [None, "strong"])
def test_a_budget_of_the_frontier_is_a_fit_under_that_budget(make, response, tolerance, heredity):
    formula = f"{response} ~ a*d + b + c + e"
    plain = fit(make(formula, FRAME, costs=COSTS, heredity=heredity))
    table = plain.frontier(BUDGETS)
    assert table["budget"].tolist() == BUDGETS
    # What no term meets is refused as a budget of a fit: the empty model is all that there is under it.
    below = table[table["budget"] < min(COSTS.values())]
    assert below[["terms", "size", "cost", "posterior"]].to_numpy().tolist() == [[(), 0, 0.0, 1.0]] * len(
        below
    )
    for row in table.drop(below.index).itertuples():
        under = fit(make(formula, FRAME, costs=COSTS, heredity=heredity, budget=row.budget))
        best = under.models.iloc[0]
        assert row.terms == best["terms"]
        assert row.size == best["size"]
        assert row.cost == pytest.approx(best["cost"], rel=1e-15)
        np.testing.assert_allclose(row.posterior, best["posterior"], rtol=tolerance)
        np.testing.assert_allclose(row.mcse, best["mcse"], rtol=1e-3, atol=tolerance)
        assert row.deviance == best["deviance"]
    # Masses are probabilities of the costs under the posterior without a budget.
    models = plain.models
    expected = [models["posterior"][models["cost"] <= budget + 1e-9].sum() for budget in BUDGETS]
    # Of cheap models the fit has Laplace's approximation alone, which is 5 % off here.
    np.testing.assert_allclose(table["mass"], expected, rtol=1e-9 if response == "z" else 0.05)


def test_the_default_budgets_are_those_at_which_the_best_model_changes(exact):
    table = exact.frontier()
    models = exact.models
    expected = []
    for budget in np.unique(np.round(models["cost"], 9)):
        terms = models[models["cost"] <= budget + 1e-9].iloc[0]["terms"]
        if not expected or expected[-1][1] != terms:
            expected.append((budget, terms))
    np.testing.assert_allclose(table["budget"], [budget for budget, _ in expected], rtol=1e-12)
    assert table["terms"].tolist() == [terms for _, terms in expected]
    assert table["terms"].iloc[-1] == exact.best()
    assert (table["budget"] == table["cost"]).all()
    assert table["size"].dtype == np.int64
    assert table.attrs["note"].startswith("From all feasible models.")
    # Every budget between has the best model of the last change.
    between = exact.frontier((table["budget"] + 1e-6).iloc[:-1])
    assert between["terms"].tolist() == table["terms"].tolist()[:-1]


def test_models_without_any_posterior_mass_are_told_apart():
    """The posterior of the cheap models is below every float64, and their odds are not."""
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(rng.normal(size=(3000, 3)), columns=list("abc"))
    frame["y"] = 0.3 * frame["a"] + 0.2 * frame["b"] + 50 * frame["c"] + 0.1 * rng.normal(size=3000)
    costs = {"a": 1, "b": 1, "c": 5}
    results = fit(rj.linear("y ~ a + b + c", frame, costs=costs))
    assert results.posterior.probability[-1] == 0
    assert results.frontier([0])["terms"].tolist() == [()]
    for row in results.frontier([1, 2]).itertuples():
        under = fit(rj.linear("y ~ a + b + c", frame, costs=costs, budget=row.budget)).models.iloc[0]
        assert row.terms == under["terms"]
        # Logarithms of the marginal likelihoods are near -2e4: their differences have 11 digits.
        np.testing.assert_allclose(row.posterior, under["posterior"], rtol=1e-9)
        assert row.mass == 0


def test_what_was_not_integrated_in_the_fit_is_integrated(logistic):
    """Under the posterior without a budget the cheap models hold next to nothing."""
    inside = np.asarray(logistic.models["cost"] <= 0.3 + 1e-9)
    mass = logistic.posterior.probability[inside]
    assert mass.sum() < 1e-6
    cheap = logistic.frontier([0.3])
    assert cheap["mcse"][0] > 0
    # Laplace's approximation alone is off by more than that error.
    assert abs(mass.max() / mass.sum() - cheap["posterior"][0]) > cheap["mcse"][0]


def test_laplace_alone_has_no_error(logistic):
    rough = fit(logistic.model, integration="laplace").frontier([0.6, 4.1])
    assert rough["mcse"].isna().all()
    assert "Laplace" in rough.attrs["note"]
    np.testing.assert_allclose(rough["posterior"], logistic.frontier([0.6, 4.1])["posterior"], rtol=0.1)


def test_costs_of_always_and_shared_variables():
    model = rj.linear("z ~ a*b + d", FRAME, costs=COSTS, always=["d"])
    results = fit(model)
    table = results.frontier()
    assert table["budget"][0] == 1.0
    assert all("d" in terms for terms in table["terms"])
    for terms, cost in zip(table["terms"], table["cost"], strict=True):
        paid = {name for term in terms for name in term.split(":")}
        assert cost == pytest.approx(sum(COSTS[name] for name in paid))
    with pytest.raises(rj.ParameterError, match=r"'budgets' parameter of frontier must be .*\[1, inf\)"):
        results.frontier([0.5])


def test_draws_within_the_budget(walk):
    budgets = [0.6, 2.0, 4.1]
    table = walk.frontier(budgets)
    draws = walk.draws
    for row, budget in zip(table.itertuples(), budgets, strict=True):
        inside = draws.cost <= budget + 1e-9
        visits = np.bincount(draws.model[inside])
        assert row.terms == walk.model.space.terms_of(draws.models[visits.argmax()])
        np.testing.assert_allclose(row.posterior, visits.max() / inside.sum(), rtol=1e-12)
        np.testing.assert_allclose(row.mass, inside.mean(), rtol=1e-12)
    assert "'collapsed' visited" in table.attrs["note"]
    # All draws are within the last budget: its errors are those of the table of models.
    np.testing.assert_allclose(table["mcse"].iloc[-1], walk.models["mcse"][1], rtol=1e-9)
    # Six standard errors of draws with a fixed seed.
    reference = fit(walk.model).frontier(budgets)
    assert table["terms"].tolist() == reference["terms"].tolist()
    assert (abs(table["posterior"] - reference["posterior"]) < 6 * table["mcse"]).all()


def test_budgets_that_few_draws_keep(walk):
    exact = fit(walk.model)
    with pytest.warns(rj.ConvergenceWarning, match=r"Fewer than 100 draws are within these budgets: 0 \(0\)"):
        table = walk.frontier([0, 4.1])
    assert table["terms"].tolist()[0] is None
    assert table.loc[0, "mass"] == 0
    assert table.loc[0, ["size", "cost", "posterior", "mcse", "deviance"]].isna().all()
    # An enumeration knows every budget; a run under a small budget knows that better than one under none.
    whole = walk.frontier(others=[exact])
    pd.testing.assert_frame_equal(whole, exact.frontier())
    small = fit(rj.linear("w ~ a + b + c + d + e", FRAME, costs=COSTS, budget=0.3))
    both = walk.frontier([0, 0.3, 4.1], others=[small])
    pd.testing.assert_frame_equal(both[:2], small.frontier([0, 0.3]))
    assert both["mass"].iloc[-1] == 1
    # Of two runs of a sampler, that under the smaller budget.
    drawn = fit(small.model, sampler="collapsed", draws=500)
    both = walk.frontier([0.3, 4.1], others=[drawn])
    assert both["posterior"].tolist() == [drawn.posterior.probability[0], walk.posterior.probability[0]]


def test_the_error_of_draws_within_a_budget():
    """Standard errors of ratios of visits cover what enumeration finds."""
    model = rj.linear("w ~ a + b + c + d + e", FRAME, costs=COSTS)
    exact = fit(model).frontier([0.6])
    runs = [fit(model, sampler="collapsed", draws=2000, chains=2, rng=seed) for seed in range(20)]
    tables = [run.frontier([0.6]) for run in runs]
    z = [(table["posterior"][0] - exact["posterior"][0]) / table["mcse"][0] for table in tables]
    # The mean square of 20 independent z-values is outside with a probability of 2e-5 (chi-square).
    assert 0.17 < np.mean(np.square(z)) < 3.0


@pytest.mark.parametrize("budgets", ["3", 3, [], [np.nan], [None], ["x"], [-1], [[1, 2]], [True]])
def test_bad_budgets(exact, budgets):
    with pytest.raises(rj.ParameterError, match="'budgets' parameter of frontier"):
        exact.frontier(budgets)


def test_errors(exact, walk, logistic):
    small = fit(rj.linear("z ~ a + b + c + d + e", FRAME, costs=COSTS, budget=1))
    with pytest.raises(rj.ParameterError, match=r"at most the budget of the fit, 1.*Got 2 instead"):
        small.frontier([1, 2])
    assert small.frontier([2], others=[exact])["terms"][0] == exact.frontier([2])["terms"][0]
    for others in (exact, [1], None):
        with pytest.raises(rj.ParameterError, match="'others' parameter of frontier"):
            walk.frontier(others=others)
    for other in (
        logistic,
        fit(rj.linear("z ~ a + b", FRAME, costs=COSTS)),
        fit(rj.linear("z ~ a + b + c + d + e", FRAME, costs={**COSTS, "a": 1})),
        fit(rj.linear("z ~ a + b + c + d + e", FRAME, costs=COSTS, model_prior=rj.Uniform())),
    ):
        with pytest.raises(rj.ParameterError, match=r"others\[0\] have"):
            exact.plot_frontier(others=[other])
    free = fit(rj.linear("z ~ a + b", FRAME))
    with pytest.raises(rj.NotAvailableError, match="frontier needs costs"):
        free.frontier()


def test_the_plot(exact, walk):
    table = exact.frontier()
    ax = exact.plot_frontier()
    offsets = np.asarray(ax.collections[0].get_offsets())
    np.testing.assert_allclose(offsets, table[["budget", "deviance"]])
    areas = ax.collections[0].get_sizes()
    assert (np.argsort(areas) == np.argsort(table["posterior"])).all()
    assert ax.get_xlabel() == "Budget"
    (line,) = ax.lines
    assert line.get_drawstyle() == "steps-post"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rj.ConvergenceWarning)
        # A budget without any draw has no dot.
        ax = walk.plot_frontier(plt.subplots()[1], budgets=[0, 4.1])
    assert len(ax.collections[0].get_offsets()) == 1
    assert ax.get_xlabel() == "Budget (best of the models visited)"
    with pytest.raises(rj.ParameterError, match="'ax' parameter of plot_frontier"):
        exact.plot_frontier(3)

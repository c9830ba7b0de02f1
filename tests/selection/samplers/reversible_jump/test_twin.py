"""The compiled reversible-jump loop against its plain twin, on the same random numbers."""

import numpy as np
import pytest
import reference_jumps as reference
from scipy import stats
from turns import every
from twin_kit import check_same, run_both

from pyrjsel.model_space import Bernoulli, CostAdjusted, TruncatedPoisson, Uniform
from pyrjsel.selection.priors.coefficients import GPrior, Normal

NAMES = ["a", "f3", "b", "f4", "c"]
TREE = ["a:b", "a", "b", "c", "b:c", "f3", "a:f3", "a:b:c"]
PRICES = {"a": 1.0, "b": 0.5, "c": 1.0, "f3": 2.0, "f4": 0.5}

# Names of terms, what the problem is, and what the loop is told.
CASES = {
    "budget": (
        NAMES,
        {"coef_prior": GPrior("n"), "model_prior": Uniform(), "costs": PRICES, "budget": 2.5},
        {"n_swaps": 3},
    ),
    "budget, shared variables": (
        TREE,
        {"coef_prior": Normal(0.8), "costs": {"a": 1, "b": 1, "c": 0.5, "f3": 1}, "budget": 2.5},
        {"n_swaps": 4},
    ),
    "strong heredity": (TREE, {"coef_prior": Normal(0.8), "heredity": "strong"}, {"n_swaps": 3}),
    "strong heredity, g": (TREE, {"coef_prior": GPrior("n"), "heredity": "strong"}, {"n_swaps": 3}),
    "weak heredity": (TREE, {"coef_prior": GPrior("4n"), "heredity": "weak"}, {"n_swaps": 3}),
    "always": (NAMES, {"coef_prior": GPrior("n"), "always": ["f3", "c"]}, {"n_swaps": 2}),
    "always, everything": (NAMES, {"coef_prior": Normal(0.5), "always": NAMES}, {"n_swaps": 2}),
    "largest size": (NAMES, {"coef_prior": GPrior("n"), "max_size": 2}, {"n_swaps": 3}),
    "weights": (NAMES, {"coef_prior": GPrior("n"), "weighted": True}, {"n_swaps": 2}),
    "weights, raw": (NAMES, {"coef_prior": Normal(0.5), "weighted": True}, {"n_swaps": 2}),
    "offset": (NAMES, {"coef_prior": GPrior("n"), "with_offset": True}, {"n_swaps": 2}),
    "weights and offset": (
        NAMES,
        {"coef_prior": Normal(1.0, standardize=True), "weighted": True, "with_offset": True},
        {"n_swaps": 2},
    ),
    "no swaps": (NAMES, {"coef_prior": GPrior("n")}, {"n_swaps": 0}),
    "full proposal": (NAMES, {"coef_prior": GPrior("n"), "n": 80}, {"n_swaps": 2, "full": True}),
    "full proposal, raw": (
        NAMES,
        {"coef_prior": Normal(0.8), "weighted": True, "n": 60},
        {"n_swaps": 2, "full": True},
    ),
    "no term": ([], {"coef_prior": GPrior("n")}, {"n_swaps": 1}),
    "no term, raw": ([], {"coef_prior": Normal(1.0)}, {"n_swaps": 1}),
    "one term": (["a"], {"coef_prior": GPrior("n")}, {"n_swaps": 1}),
    "one factor": (["f4"], {"coef_prior": Normal(0.5)}, {"n_swaps": 1}),
    "fewer rows than columns": (
        [*"abcdeghijk"],
        {"coef_prior": GPrior("n"), "n": 7, "model_prior": Bernoulli(0.6)},
        {"n_swaps": 4},
    ),
    "fewer rows than columns, raw": (
        [*"abcdeghijk"],
        {"coef_prior": Normal(0.5), "n": 4, "model_prior": Bernoulli(0.7)},
        {"n_swaps": 4},
    ),
    "collinear": (
        ["a", "a+b", "b", "f3"],
        {"coef_prior": GPrior("n"), "model_prior": Bernoulli(0.5)},
        {"n_swaps": 2},
    ),
    "Bernoulli by term": (
        NAMES,
        {
            "coef_prior": GPrior("n"),
            "model_prior": Bernoulli({"a": 0.1, "f3": 0.9, "c": 0.4}),
            "always": ["b", "f4"],
        },
        {"n_swaps": 2},
    ),
    "truncated Poisson": (
        NAMES,
        {"coef_prior": GPrior("n"), "model_prior": TruncatedPoisson(1.5)},
        {"n_swaps": 2},
    ),
    "cost adjusted": (
        NAMES,
        {"coef_prior": GPrior("n"), "model_prior": CostAdjusted(PRICES)},
        {"n_swaps": 2},
    ),
}


# The likelihood's part of a move depends on rows, weights and offsets: such cases have both families. A space
# decides what is tried, which no likelihood sees: the others have one of the two by turns. All coefficient
# priors have both below.
OF_ROWS = ("weights", "offset", "full proposal", "fewer rows", "collinear")
FAMILIES = ("binomial", "poisson")
BY_FAMILY = [
    (name, family)
    for k, name in enumerate(CASES)
    for family in (FAMILIES if name.startswith(OF_ROWS) else FAMILIES[k % 2 :][:1])
]


@pytest.mark.parametrize(("name", "which"), every(2, BY_FAMILY))
def test_same_draws(kit, name, which):
    names, problem, options = CASES[name]
    case = kit.case(names, seed=3, signal=0.5, family=which, **problem)
    compiled, twin = run_both(case, 17, 80, **options)
    check_same(compiled, twin)


def test_same_draws_under_every_coefficient_prior(kit, coef_prior, family):
    problem = {"weighted": True, "with_offset": True, "family": family}
    case = kit.case(NAMES, seed=4, signal=0.2, coef_prior=coef_prior, **problem)
    compiled, twin = run_both(case, 5, 120, n_swaps=2)
    check_same(compiled, twin)
    # The comparison would be idle if a kind of move were always or never taken.
    proposed, accepted = compiled["counts"]
    # Blocks and trades are for bounds and heredity, of which there are none here.
    assert np.all(accepted[:4] > 0)
    assert np.all(accepted[:4] < proposed[:4])
    assert not proposed[4:].any()


def test_impossible_moves_are_among_them(kit):
    for name in ("budget", "strong heredity", "largest size", "fewer rows than columns", "collinear"):
        names, problem, options = CASES[name]
        case = kit.case(names, seed=3, signal=0.5, **problem)
        _, twin = run_both(case, 17, 40, **options)
        refused = {move.name for move in twin["moves"] if move.log_ratio == -np.inf}
        assert {"birth", "swap"} & refused, name


def test_more_columns_than_rows_can_hold_twice(kit):
    # Scratch space has the size of the model, not of the data: 25 columns over 3 rows.
    names = [f"x{j}" for j in range(25)]
    case = kit.case(names, seed=1, n=3, coef_prior=Normal(0.5), model_prior=Bernoulli(0.8))
    compiled, twin = run_both(case, 2, 20, n_swaps=10)
    check_same(compiled, twin)
    assert compiled["gamma"].sum(axis=1).max() > 15


def test_the_twins_normal_distribution_is_scipys():
    rng = np.random.default_rng(6)
    root = rng.normal(size=(4, 4))
    normal = reference.Gaussian(rng.normal(size=4), root @ root.T + np.eye(4))
    covariance = np.linalg.inv(normal.precision)
    x = rng.normal(size=4)
    want = stats.multivariate_normal(normal.mean, covariance).logpdf(x)
    assert normal.logpdf(x) == pytest.approx(want, rel=1e-12)
    draws = np.array([normal.sample(rng) for _ in range(4000)])
    # Whitened draws: means and squared lengths at 5.5 standard errors, five tests of 4e-8 each.
    white = (draws - normal.mean) @ np.linalg.cholesky(normal.precision)
    assert np.abs(white.mean(axis=0)).max() < 5.5 / np.sqrt(4000)
    assert abs((white**2).sum(axis=1).mean() - 4) < 5.5 * np.sqrt(8 / 4000)


def test_the_twins_student_distribution_is_scipys():
    rng = np.random.default_rng(7)
    root = rng.normal(size=(3, 3))
    student = reference.Student(rng.normal(size=3), root @ root.T + np.eye(3))
    shape = np.linalg.inv(student.precision)
    x = rng.normal(size=3)
    want = stats.multivariate_t(student.mean, shape, df=4).logpdf(x)
    assert student.logpdf(x) == pytest.approx(want, rel=1e-12)
    draws = np.array([student.sample(rng) for _ in range(4000)])
    # r^2 / 3 of the whitened draws has the F(3, 4) law; refused with probability 1e-6.
    white = (draws - student.mean) @ np.linalg.cholesky(student.precision)
    assert stats.kstest((white**2).sum(axis=1) / 3, stats.f(3, 4).cdf).pvalue > 1e-6

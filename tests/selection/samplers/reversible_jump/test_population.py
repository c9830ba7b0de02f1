"""Chains at several temperatures against numerical integration, and where chains at one temperature fail.

The z-tests are those of test_exact.py: Holm's procedure at level 1e-6 a test, some thirty of them here.
"""

import re
import warnings
from fractions import Fraction

import joblib
import numpy as np
import pandas as pd
import pytest
from selection_checks import Scenario, build, far_away, fit, sampler_faults
from turns import by_turns, every

import pyrjsel as rj
from pyrjsel.selection.samplers.reversible_jump import population

COSTS = {"stage": 2.0, "age": 1.0, "bp": 1.5, "smoke": 1.0}
SPREAD, UNIFORM = ("betabinomial", 1.0, 1.0), ("uniform",)

# g-priors and normal ones, factors, budgets that bind, heredity, offsets and weights.
SCENARIOS = [
    Scenario("ward", "g joint"),
    Scenario("ward", "4n joint", UNIFORM, {"costs": COSTS, "budget": 3.0}),
    Scenario("ward", "n flat", ("poisson", 1.5), {"max_size": 3}),
    Scenario("ward", "raw", SPREAD, {"costs": COSTS, "budget": 3.0}),
    Scenario("ward", "standard shifted", SPREAD, {"always": ("stage",), "heredity": "weak"}),
    Scenario("ward offset", "n joint", ("bernoulli", 0.3)),
    Scenario("cells", "standard", UNIFORM, {"heredity": "strong"}),
    Scenario("visits", "4n joint", SPREAD, {"costs": COSTS, "budget": 3.0}),
    Scenario("sheets", "n joint"),
    Scenario("drought", "wide"),
]
SCHEMES = {
    "fixed": {"scheme": "fixed"},
    "fixed, not tuned": {"scheme": "fixed", "tune": False},
    "not tuned": {"tune": False},
    "two hot": {"cold": (), "hot": [(9.0, 1.0), (4.0, 4.0)]},
    "only cold": {"hot": ()},
    "only hot": {"cold": []},
    "five": {"cold": [(2.0, 4.0), (1, 1)], "hot": [(7, 3), (1, 1), (2, 6)]},
    "full proposal": {"proposal": "full"},
    "no swaps, thinned": {"swaps": 0, "thin": 2},
    # The first guess of the normalising constants, which nothing improves.
    "crude constants": {"tune": False, "burn_in": 0},
}


def walk(model, draws=2500, burn_in=500, **options):
    return fit(model, **{"sampler": "population", "draws": draws, "burn_in": burn_in, "rng": 31, **options})


@pytest.mark.parametrize("scenario", every(4, SCENARIOS), ids=str)
def test_populations_find_the_posterior(scenario):
    results = walk(build(scenario))
    assert sampler_faults(results, scenario) == {}
    # A test against large errors shows nothing: 4 x 2500 draws give at most this.
    assert np.nanmax(results.inclusion["mcse"]) < 0.016


@pytest.mark.parametrize(
    ("scenario", "scheme"),
    every(5, [(SCENARIOS[(1, 3)[k // 5 % 2]], scheme) for k, scheme in enumerate(SCHEMES)]),
    ids=str,
)
def test_the_temperatures_do_not_matter(scenario, scheme):
    results = walk(build(scenario), **SCHEMES[scheme])
    assert sampler_faults(results, scenario) == {}
    assert np.nanmax(results.inclusion["mcse"]) < 0.02


@pytest.mark.statistical
def test_the_normalising_constants_do_not_matter(monkeypatch):
    """Any positive weights of the temperatures leave chain 0 as it is."""

    def nonsense(grid, *rest):
        return 3.0 * np.sin(40.0 * grid)

    scenario = SCENARIOS[1]
    sensible = walk(build(scenario))
    monkeypatch.setattr(population, "log_constants", nonsense)
    results = walk(build(scenario), n_jobs=1)
    # It has been asked for, and has changed what comes out.
    assert not np.array_equal(results.draws.log_posterior, sensible.draws.log_posterior)
    assert sampler_faults(results, scenario) == {}


@pytest.mark.statistical
@pytest.mark.parametrize("scenario", SCENARIOS, ids=str)
def test_long_runs_find_the_posterior(scenario):
    """Ten times the draws, a third of the error; models down to half a percent. Level 1e-6 each."""
    results = walk(build(scenario), draws=30_000, burn_in=2000)
    assert sampler_faults(results, scenario, least=0.005) == {}
    assert np.nanmax(results.inclusion["mcse"]) < 0.006


# ---------------------------------------------------------------------- two modes far apart

PAIRS = [*"abcd"]


def two_modes(n, signal, seed):
    """Half the difference of a and b says as much as that of c and d; each of the four alone says little.

    No more than two may enter. From one pair to the other the way leads over models that are worse by a
    factor of e^10: deaths and swaps alike.
    """
    rng = np.random.default_rng(seed)
    u, v = rng.normal(size=(2, n))
    s = rng.normal(size=n)
    r = s + 0.3 * rng.normal(size=n)
    x = np.column_stack([u + 0.3 * s, u - 0.3 * s, v + 0.3 * r, v - 0.3 * r])
    y = (rng.random(n) < 1 / (1 + np.exp(-signal * (s + r) / 2))).astype(int)
    return rj.LogitSelection(
        y,
        pd.DataFrame(x, columns=PAIRS),
        max_size=2,
        coef_prior=rj.GPrior("n"),
        model_prior=rj.Uniform(),
    )


def inclusion(results, column="posterior"):
    return results.inclusion[column].reindex(PAIRS).to_numpy()


@pytest.mark.parametrize("start", ["ab", "cd"])
def test_modes_far_apart(start):
    model = two_modes(80, 2.0, 0)
    exact = inclusion(fit(model, sampler="enumerate", rng=1))
    assert exact == pytest.approx([0.64, 0.64, 0.36, 0.36], abs=0.01)
    options = {"draws": 3000, "burn_in": 500, "rng": 2, "start": [*start]}
    alone = inclusion(fit(model, sampler="rjmcmc", **options))
    # Four chains stay where they began, most of the time: one mode in place of two.
    assert np.abs(alone - exact).max() > 0.2
    together = fit(model, sampler="population", **options)
    assert inclusion(together, "mcse").max() < 0.04
    assert far_away(inclusion(together), exact, 1.2 * inclusion(together, "mcse"), PAIRS) == {}
    assert np.abs(inclusion(together) - exact).max() < 0.15


# ---------------------------------------------------------------------- the scheme in print


def one_predictor():
    rng = np.random.default_rng(3)
    x = rng.normal(size=40)
    y = (rng.random(40) < 1 / (1 + np.exp(-0.8 * x))).astype(int)
    return rj.LogitSelection(y, pd.DataFrame({"x": x}), coef_prior=rj.GPrior("n"), model_prior=rj.Uniform())


def test_the_printed_scheme_is_biased():
    """Temperatures from their law whatever the state is; from their full conditionals there is no bias."""
    model = one_predictor()
    exact = fit(model, sampler="enumerate", pairs=2000, rng=1).inclusion.loc["x", "posterior"]
    z = {}
    for temperatures in ("paper", "exact"):
        results = walk(model, 20_000, cold=(), hot=[(1.0, 1.0)] * 3, tune=False, scheme=temperatures)
        found = results.inclusion.loc["x"]
        z[temperatures] = (found["posterior"] - exact) / (1.2 * found["mcse"])
        printed = "updated as in print (scheme='paper')" in " ".join(str(results.summary()).split())
        assert printed == (temperatures == "paper")
    # P(|t| > 5.2) is 1e-6 with 116 degrees of freedom. The bias is 0.013, some 12 errors.
    assert abs(z["exact"]) < 5.2
    assert z["paper"] < -8


# ---------------------------------------------------------------------- exchanges


@pytest.mark.parametrize(
    ("temperatures", "scenario"),
    every(2, by_turns(["exact", "fixed"], [SCENARIOS[0], SCENARIOS[3]])),
    ids=str,
)
def test_exchanges_are_tuned(scenario, temperatures):
    options = {"cold": [(2.0, 4.0), (1.0, 20.0)], "hot": [(7.0, 3.0), (18.0, 2.0)]}
    results = walk(build(scenario), 1500, 1500, scheme=temperatures, **options)
    columns = [f"acceptance_exchange_{k}" for k in (1, 2, 3, 4)]
    rates = results.diagnostics.loc["all", columns]
    # Tuned to 0.2 by rates of fifty exchanges each: thirty steps leave them within a few tenths.
    assert rates.between(0.1, 0.35).all(), rates
    loose = walk(build(scenario), 500, 500, scheme=temperatures, tune=False, **options)
    assert not loose.diagnostics.loc["all", columns].between(0.1, 0.35).all()


# ---------------------------------------------------------------------- the same draws


def check_same(one, other):
    for name in ("model", "included", "log_posterior", "coefficients"):
        np.testing.assert_array_equal(getattr(one.draws, name), getattr(other.draws, name), err_msg=name)
    pd.testing.assert_frame_equal(
        one.diagnostics.filter(like="acceptance"), other.diagnostics.filter(like="acceptance")
    )


def test_workers_do_not_matter():
    model = build(SCENARIOS[1])
    options = {"draws": 80, "burn_in": 120, "chains": 3}
    alone = walk(model, n_jobs=1, **options)
    check_same(walk(model, n_jobs=2, **options), alone)
    with joblib.parallel_config(backend="loky", n_jobs=2):
        check_same(walk(model, **options), alone)
    assert not np.array_equal(walk(model, **{**options, "rng": 32}).draws.model, alone.draws.model)


# ---------------------------------------------------------------------- options


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({"scheme": "x"}, "scheme"),
        ({"scheme": None}, "scheme"),
        ({"cold": (), "hot": ()}, "cold"),
        ({"cold": (), "hot": []}, "hot"),
        ({"cold": (-2.0, 4.0)}, "cold"),
        ({"cold": (2.0, 0.0)}, "cold"),
        ({"cold": (2.0, np.nan)}, "cold"),
        ({"cold": (2.0, np.inf)}, "cold"),
        ({"cold": 2.0}, "cold"),
        ({"cold": None}, "cold"),
        ({"cold": (2.0,)}, "cold"),
        ({"cold": (2.0, 4.0, 1.0)}, "cold"),
        ({"cold": [(2.0, 4.0), 3.0]}, "cold"),
        ({"cold": [(2.0, 4.0), (1.0,)]}, "cold"),
        ({"cold": "24"}, "cold"),
        ({"hot": (7.0, -3.0)}, "hot"),
        ({"hot": [(7.0, 3.0), (0.0, 1.0)]}, "hot"),
        ({"hot": ("7", "3")}, "hot"),
        ({"hot": ["73", "11"]}, "hot"),
        ({"hot": [[7.0, "x"]]}, "hot"),
        ({"hot": (True, 3.0)}, "hot"),
        ({"cold": (100.0, 1.0)}, "cold"),  # temperatures beyond the grid
        ({"cold": [(2.0, 4.0), (0.01, 1.0)]}, "cold"),
        ({"hot": (1.0, 99.0)}, "hot"),
        ({"hot": (99.0, 1.0)}, "hot"),
        ({"cold": (1e-4, 1e-3)}, "cold"),  # all temperatures would be 1
        ({"cold": (0.09, 1.0)}, "cold"),
        ({"cold": (1.0, 0.0999)}, "cold"),
        ({"cold": [(2.0, 4.0), (1001.0, 1000.0)]}, "cold"),
        ({"cold": (10**400, 10**400)}, "cold"),
        ({"hot": (1e-4, 1e-3)}, "hot"),
        ({"hot": (1.0, 1001.0)}, "hot"),
        ({"tune": "yes"}, "tune"),
        ({"tune": 1}, "tune"),
        ({"proposal": "x"}, "proposal"),
        ({"swaps": -1}, "swaps"),
        ({"start": 3}, "start"),
        ({"start": ["nobody"]}, "start"),
        ({"temperature": "exact"}, "temperature"),
    ],
    ids=str,
)
def test_bad_options(options, name):
    with pytest.raises(rj.PyrjselError, match=rf"'{name}'") as caught:
        one_predictor().fit(sampler="population", draws=10, rng=1, progress=False, **options)
    assert "population" in str(caught.value)


@pytest.mark.parametrize(
    "pair", [(True, 4.0), (1e-4, 1e-3), (2.0, "x"), (2.0, np.nan), (2.0, np.bool_(True))]
)
def test_what_is_said_of_a_bad_pair(pair):
    wanted = r"must be a pair \(a, b\) of numbers from 0.1 to 1,000, or a sequence of such pairs. Got "
    for value in (pair, [(2.0, 4.0), pair]):
        with pytest.raises(rj.ParameterError, match=wanted + re.escape(repr(value)[:50])):
            one_predictor().fit(sampler="population", draws=10, rng=1, progress=False, cold=value)


def test_good_options():
    """Pairs in lists, single pairs, whole numbers: they are the same."""
    model = one_predictor()
    results = [
        walk(model, 60, 60, cold=cold, hot=hot)
        for cold, hot in [
            ((2, 4), (7, 3)),
            ([[2.0, 4.0]], ((7, 3.0),)),
            (((2.0, 4),), [7.0, 3.0]),
            ((np.float32(2), Fraction(4)), (np.int64(7), 3)),
        ]
    ]
    for other in results[1:]:
        check_same(other, results[0])


@pytest.mark.parametrize(
    "options", [{"cold": (0.1, 0.1), "hot": (0.1, 0.1)}, {"cold": (1000, 1000), "hot": (1000, 1000)}], ids=str
)
def test_the_narrowest_and_the_widest_laws(options):
    assert set(walk(one_predictor(), 60, 200, **options).models["posterior"]) <= set(np.arange(241) / 240)


@pytest.mark.parametrize("temperatures", ["exact", "fixed", "paper"])
def test_no_term_at_all(temperatures):
    """Nothing to select: the coefficients alone."""
    y = np.arange(30) % 3 == 0
    model = rj.LogitSelection(y.astype(int), pd.DataFrame(index=range(30)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rj.ConvergenceWarning)
        results = model.fit(sampler="population", draws=400, rng=1, scheme=temperatures, progress=False)
    assert results.models["posterior"].tolist() == [1.0]

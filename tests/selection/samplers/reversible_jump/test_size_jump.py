"""Reversible jumps with an unknown size of a family, and g too, against plain numpy and exact densities."""

import pickle
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
import reference_jumps as reference
import reference_size
import slopes
from reference_gaussian import draw_log_g
from scipy import stats

from pyrjsel.families import Gamma, NegativeBinomial
from pyrjsel.model_space import unpack
from pyrjsel.selection.priors.coefficients import GPrior, Normal
from pyrjsel.selection.priors.g_mixtures import HyperGN
from pyrjsel.selection.regression.glm import Regression
from pyrjsel.selection.samplers.base import Job
from pyrjsel.selection.samplers.reversible_jump.rjmcmc import JumpMoves, RJMCMCChain, make_chain

NAMES = ["a", "f3", "b"]
PRIOR = (0.3, 1.2)
KINDS = {
    "g": {"coef_prior": GPrior("n", information="null")},
    "weights and offset": {"coef_prior": Normal(0.8), "weighted": True, "with_offset": True},
    "mixture": {"coef_prior": HyperGN(4.0), "weighted": True, "with_offset": True},
}
# The class, and the size of the oracles' derivatives.
FAMILIES = {"negbin": (NegativeBinomial, "THETA"), "gamma": (Gamma, "SHAPE")}


@pytest.fixture(params=product(FAMILIES, KINDS), ids=", ".join)
def case(request, kit):
    """A problem whose size is unknown."""
    family, kind = request.param
    made = kit.case(NAMES, n=30, signal=0.4, family=family, seed=3, **KINDS[kind])
    regression = Regression.build(
        made.x,
        made.y,
        made.sizes,
        made.prior,
        weights=made.weights,
        offset=made.offset,
        family=FAMILIES[family][0](None, *PRIOR),
    )
    return replace(made, regression=regression)


def loop_of(case, gamma, b, scales, **rest):
    regression = case.regression
    return make_chain(
        regression,
        case.space,
        np.array(gamma, dtype=np.uint8),
        np.append(b, scales),
        max_columns=regression.n_columns,
        raw_shift=regression.raw_shift,
        n_swaps=2,
        **rest,
    )


def rows_of(case):
    """Law, response, weights and the prior of the size, as the reference takes them."""
    return (
        case.regression.family.name,
        case.y,
        np.ones(case.y.size) if case.weights is None else case.weights,
        *PRIOR,
    )


def eta_of(case, b):
    return case.regression.offset + b @ case.regression.columns


def a_state(case):
    """A model with two terms, coefficients, and scales: a size, and log g if it is unknown."""
    b = np.zeros(case.regression.n_columns)
    b[[0, 1, 4]] = 0.5, 0.3, -0.2
    return [1, 0, 1], b, [1.4] if case.regression.prior.mixture is None else [1.4, 2.0]


def prior_at(case, scales):
    """The prior of coefficients given the scales."""
    prior = case.regression.prior
    return prior if prior.mixture is None else prior.given(scales[1])


def of_b(case, gamma, b, scales):
    """The log prior density of coefficients."""
    columns = case.regression.model_columns(np.array(gamma, dtype=np.uint8))
    return prior_at(case, scales).logpdf(b[columns], columns)


def half_form(case, b):
    """Half the quadratic form of coefficients at g = 1."""
    return 0.5 * b @ case.regression.prior.precision @ b


def test_densities(case):
    """All constants of the size are there, and its logarithm has its normal prior."""
    gamma, b, scales = a_state(case)
    likelihood, found, of_model = loop_of(case, gamma, b, scales).log_density()
    want = reference_size.log_density(rows_of(case), eta_of(case, b), np.log(scales[0]))
    assert likelihood == pytest.approx(want, rel=1e-12)
    # Of coefficients in units of sqrt(g), as powers of the density need.
    unit = 0.0 if case.regression.prior.mixture is None else 1.0 * scales[1]
    assert found == pytest.approx(of_b(case, gamma, b, scales) + unit, abs=1e-10)
    assert of_model == pytest.approx(case.space.log_prior(np.array(gamma, dtype=np.uint8)))


def test_same_draws_as_the_twin(case, monkeypatch):
    """Whole iterations: g and the size, then flips, swaps and coefficients given them."""
    iterations, width = 60, case.regression.n_columns
    gamma, b, scales = a_state(case)
    loop, rng, twin_rng = loop_of(case, gamma, b, scales), np.random.default_rng(5), np.random.default_rng(5)
    words, heights = np.zeros((iterations, 1), dtype=np.uint64), np.empty(iterations)
    draws, sums = np.empty((iterations, width + len(scales))), np.zeros((4, width))
    loop.run(rng, iterations, words=words, log_posterior=heights, coefficients=draws, sums=sums)
    state = reference.State(np.array(gamma, dtype=np.uint8), b)
    mixture = case.regression.prior.mixture
    for k in range(iterations):
        if mixture is not None:
            d = case.regression.model_columns(state.gamma).size - 1
            conditional = mixture.conditional(case.regression.prior.total_weight)
            scales[1] = draw_log_g(conditional, d, half_form(case, state.b), scales[1], twin_rng)
        scales[0] = reference_size.update(rows_of(case), eta_of(case, state.b), scales[0], 1.0, twin_rng)
        made, oracles = FAMILIES[case.regression.family.name]
        monkeypatch.setattr(slopes, oracles, scales[0])
        known = replace(case.regression, family=made(scales[0]), prior=prior_at(case, scales))
        transition = reference.Transition(known, case.space, 2)
        state, _ = reference.step(transition, state, twin_rng)
        np.testing.assert_array_equal(unpack(words[k : k + 1], 3)[0], state.gamma)
        # Rounding errors of a step are 1e-13, and a slice forgets where it came from.
        np.testing.assert_allclose(draws[k], [*state.b, *scales], rtol=1e-8, atol=1e-9)
        want = reference_size.log_density(rows_of(case), eta_of(case, state.b), np.log(scales[0]))
        want += of_b(case, state.gamma, state.b, scales) + case.space.log_prior(state.gamma)
        assert heights[k] == pytest.approx(want, abs=1e-7)
    assert rng.bit_generator.state == twin_rng.bit_generator.state


@pytest.mark.parametrize("power", [1.0, 0.3, 4.0])
def test_scales_given_the_rest(case, power):
    """1,500 draws, each after four updates, have the density of the target: 24 tests at 1e-7 each.

    Successive updates are correlated by about 0.3, so that those kept are by 0.01. The power is that of the
    likelihood, the prior of the size, and the prior of coefficients in units of sqrt(g); g has its prior.
    """
    gamma, b, scales = a_state(case)
    loop, rng, found = loop_of(case, gamma, b, scales), np.random.default_rng(6), []
    loop.set_temperature(power)
    for _ in range(1500):
        for _ in range(4):
            loop.draw(rng)
        found.append(loop.state()[1][b.size :])
    found = np.array(found)
    grid = np.linspace(PRIOR[0] - 12, PRIOR[0] + 12, 6001)
    eta = eta_of(case, b)
    heights = np.array([reference_size.log_density(rows_of(case), eta, t) for t in grid[::10]])
    check_law(np.log(found[:, 0]), grid, power * np.interp(grid, grid[::10], heights - heights.max()))
    prior = case.regression.prior
    if prior.mixture is not None:
        v, n = np.linspace(-15.0, 60.0, 6001), prior.total_weight
        # Two coefficients, whose density given g is exp(-form / 2 g) in these units times 1 / g.
        check_law(
            found[:, 1], v, prior.mixture.log_density(v, n) - v - power * half_form(case, b) * np.exp(-v)
        )
    np.testing.assert_array_equal(loop.state()[1][: b.size], b)


def check_law(draws, grid, heights):
    law = np.cumsum(np.exp(heights - heights.max()))
    assert stats.kstest(draws, lambda t: np.interp(t, grid, law / law[-1])).pvalue > 1e-7


def test_an_interrupted_chain_goes_on_to_the_same_draws(case):
    job = Job(RJMCMCChain, JumpMoves(swaps=2), case.regression, case.space, 40, 30, 1, None, 2)
    job = pickle.loads(pickle.dumps(job))
    whole = job.start(np.random.SeedSequence(4), 1)
    whole.advance(job.total)
    expected, name = whole.finish(True), case.regression.family.parameter
    assert np.unique(expected.nuisance[name]).size == 20
    for stop in (0, 30, 37, job.total - 1):
        first = job.start(np.random.SeedSequence(4), 1)
        first.advance(stop)
        second = job.kind(job, pickle.loads(pickle.dumps(first.state())))
        second.advance(job.total - stop)
        parts = [first.finish(True), second.finish(True)]
        found = np.concatenate([part.nuisance[name] for part in parts])
        np.testing.assert_array_equal(found, expected.nuisance[name])
        found = np.concatenate([part.log_posterior for part in parts])
        np.testing.assert_array_equal(found, expected.log_posterior)


@pytest.mark.parametrize("size", [0.0, -1.0, np.inf, np.nan])
def test_size_must_be_positive(case, size):
    gamma, b, scales = a_state(case)
    with pytest.raises(ValueError, match="the size must be positive"):
        loop_of(case, gamma, b, [size, *scales[1:]])

"""Derivatives and modes from passes over chunks are those of the rows in memory."""

import numpy as np
import pytest
from chunk_kit import CASES, FORMULA, N, cut, make

import pyrjsel as rj
from pyrjsel.selection.evidence.expansions import Modes, Proposals
from pyrjsel.selection.evidence.laplace import MarginalLikelihood
from pyrjsel.selection.priors.base import CompiledPrior
from pyrjsel.selection.regression import chunk_passes
from pyrjsel.selection.regression.chunk_passes import PointPrior, find_modes
from pyrjsel.selection.samplers.enumeration import passes as sampler


@pytest.fixture(scope="module")
def table():
    return make()


@pytest.mark.parametrize("case", ["trials and offset", "probit", "poisson", "classes"])
def test_derivatives_are_those_of_the_log_likelihood(table, case):
    build, formula, options = CASES[case]
    regression = build(formula, cut(table, 700), **options).regression
    memory = build(formula, table, **options).regression
    rng = np.random.default_rng(1)
    b = 0.3 * rng.normal(size=(2, regression.n_columns))
    found = regression.derivatives(b)
    # Sums of 1,500 rows in another order.
    np.testing.assert_allclose(found.value, [memory.loglik(row) for row in b], rtol=1e-11)
    np.testing.assert_allclose(regression.log_likelihoods(b), found.value, rtol=1e-11)
    step = 1e-4
    ahead = [regression.derivatives(b + sign * step * np.eye(len(b[0]))[1]) for sign in (1, -1)]
    # Central differences: errors of third derivatives times 1e-8, and rounding of 1e-13 of sums over 1e-4.
    np.testing.assert_allclose(
        (ahead[0].value - ahead[1].value) / (2 * step), found.gradient[:, 1], rtol=1e-5, atol=1e-4
    )
    low, high = np.tril_indices(regression.n_columns)
    column = np.flatnonzero((high == 1) & (low >= 1))
    change = (ahead[1].gradient - ahead[0].gradient) / (2 * step)
    np.testing.assert_allclose(change[:, 1:], found.information[:, column], rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("case", ["negbin", "gamma", "student", "student, df"])
def test_derivatives_include_parameters_of_the_family(table, case):
    build, formula, options = CASES[case]
    regression = build(formula, cut(table, 700), **options).regression
    memory = build(formula, table, **options).regression
    if not case.startswith("student"):
        # The null model: a bounded search in memory (of log sizes to 1e-5), passes where there is an offset.
        assert abs(np.log(regression.family.size / memory.family.size)) < 3e-5
    b = 0.3 * np.random.default_rng(1).normal(size=regression.n_columns)
    t = np.array([0.4, 1.2])[: len(memory.family.expanded)]
    points = np.append(b, t)[None]
    found, values = regression.derivatives(points), regression.log_likelihoods(points)
    eta = memory.offset + b @ memory.columns
    found_there = memory.family.joint(memory.y, memory.row_weights, eta, t)
    value, residual, weight, slope, curve, cross = found_there
    x = memory.columns
    whole = np.block([[(x * weight) @ x.T, x @ cross.T], [cross @ x.T, curve]])
    # Sums of 1,500 rows in another order.
    np.testing.assert_allclose(found.value, value, rtol=1e-11)
    np.testing.assert_allclose(values, value, rtol=1e-11)
    np.testing.assert_allclose(found.gradient[0], np.append(x @ residual, slope), rtol=1e-9, atol=1e-8)
    np.testing.assert_allclose(found.information[0], whole[np.tril_indices(len(whole))], rtol=1e-9, atol=1e-8)


@pytest.mark.parametrize("case", ["negbin", "student", "student, df"])
def test_derivatives_of_the_prior_of_points(table, case):
    build, formula, options = CASES[case]
    regression = build(formula, cut(table, N), **options).regression
    prior, rng = regression.point_prior, np.random.default_rng(2)
    inside = np.arange(regression.start.size) != 3
    point = np.where(inside, regression.start + 0.3 * rng.normal(size=inside.size), 0.0)
    steps = 1e-4 * np.eye(inside.size)[inside]
    slope, curve = prior.expand(point, inside)
    # Central differences: third derivatives of some tens times 1e-8, and rounding of 1e-14 over 1e-4.
    ahead, back = (prior.values(point + sign * steps, inside) for sign in (1, -1))
    np.testing.assert_allclose((ahead - back) / 2e-4, slope[inside], rtol=1e-6, atol=1e-6)
    ahead, back = (
        np.array([prior.expand(point + sign * step, inside)[0] for step in steps]) for sign in (1, -1)
    )
    np.testing.assert_allclose(
        (back - ahead)[:, inside] / 2e-4, curve[np.ix_(inside, inside)], rtol=1e-6, atol=1e-6
    )
    columns = np.flatnonzero(inside[: regression.n_columns])
    if case == "negbin":
        wanted = regression.prior.logpdf(point[columns], columns) + regression.family.log_prior(point[-1:])[0]
    else:  # normal, with standard deviations that are multiples of sigma
        scale = regression.family.size / np.exp(point[regression.n_columns])
        there = regression.prior.times(scale**2)
        wanted = (
            there.logpdf(point[columns], columns)
            + regression.family.log_prior(point[regression.n_columns :])[0]
        )
    np.testing.assert_allclose(prior.constant(inside) + prior.values(point, inside), wanted, rtol=1e-12)


@pytest.mark.parametrize(
    "case", ["trials and offset", "negbin", "classes", "classes, normal", "student", "student, df"]
)
def test_modes_are_those_of_the_rows_in_memory(table, case, monkeypatch):
    build, formula, options = CASES[case]
    regression = build(formula, cut(table, 400), **options).regression
    monkeypatch.setattr(chunk_passes, "CLOSE", 1e-15)
    gammas = np.array([[0, 0, 0, 0, 0], [1, 0, 1, 0, 1], [1, 1, 1, 1, 1]], dtype=np.uint8)
    modes = sampler.modes_of(regression, _quadratic(regression), gammas)
    find_modes(modes, regression.derivatives)
    memory = build(formula, table, **options).regression
    single = MarginalLikelihood(memory, bytes(16), 8, memory.n_columns)
    for row, gamma in enumerate(gammas):
        wanted = single.mode(gamma)
        # Searches in memory end where a step gains 1e-10, with an error of 1e-5 standard deviations of 0.05
        # before the last step, which squares it.
        wanted = np.append(
            wanted[: regression.n_columns], getattr(single.finder, "at", wanted)[wanted.size :]
        )
        np.testing.assert_allclose(modes.point[row, : wanted.size], wanted, rtol=0, atol=1e-8)
        value = sampler.laplace_value(regression, modes, row)
        assert abs(value - single.finder.log_marginal) < 1e-8 * abs(value)


@pytest.mark.parametrize("case", ["student", "student, df"])
def test_modes_are_found_from_where_the_likelihood_is_convex(table, case, monkeypatch):
    build, formula, options = CASES[case]
    gross = table.assign(
        z=table["z"].where(table.index % 97 > 0, 1e4), a=table["a"].where(table.index != 97, 50)
    )
    regression = build(formula, cut(gross, 400), **options).regression
    inside = np.ones((1, regression.start.size), bool)
    start = np.where(np.arange(inside.size) < regression.n_columns, 30.0, regression.start)[None]
    start[0, regression.n_columns] = -2.0
    modes, tried = regression.modes(inside, start), []
    monkeypatch.setattr(chunk_passes, "CLOSE", 1e-15)
    monkeypatch.setattr(modes, "expected", lambda t: tried.append(t) or regression.expected(t))
    find_modes(modes, regression.derivatives)
    assert tried
    memory = build(formula, gross, **options).regression
    wanted = MarginalLikelihood(memory, bytes(16), 8, memory.n_columns).mode(np.ones(5, np.uint8))
    np.testing.assert_allclose(modes.point[0, : wanted.size], wanted, rtol=0, atol=1e-8)  # as above


def test_newton_halves_steps_that_lead_down(table):
    regression = rj.poisson(FORMULA.replace("y", "count"), cut(table, 700)).regression
    start = np.zeros((1, regression.n_columns))
    start[0, 0] = -6.0  # a Newton step from here raises rates to exp(hundreds)
    none = np.zeros(start.size)
    prior = PointPrior(CompiledPrior(np.eye(start.size), none, none, False, 0.0), regression.family)
    modes = Modes(np.ones_like(start, bool), prior, start)
    scales = []
    while modes.open.size:
        modes.take(regression.derivatives(modes.points))
        scales.append(float(modes.scale[0]))
        assert len(scales) < 60
    assert min(scales) < 1.0
    assert np.max(np.abs(modes.slope(0))) < 0.1


def test_integrals_of_a_normal_likelihood_are_exact(table):
    # At a million times the rows the posterior is normal, and Laplace values are exact.
    regression = rj.logit(FORMULA, cut(table.assign(w=1e6), 700), weights="w").regression
    gamma = np.ones((1, len(regression.term_start) - 1), dtype=np.uint8)
    modes = sampler.modes_of(regression, _quadratic(regression), gamma)
    while modes.open.size:
        modes.take(regression.derivatives(modes.points))
    value = sampler.laplace_value(regression, modes, 0)
    draws = Proposals(regression, modes, gamma, b"0" * 16, 256)
    (found,) = draws.integrals(regression.log_likelihoods(draws.points))
    # Radii are stratified, so that the error of a normal integral is below a tenth of a percent;
    # log-likelihoods of 1e9 are rounded to 1e-6.
    assert abs(found.log_marginal - value) < 2e-3


def _quadratic(regression):
    full = sampler.full_mode(regression)
    while full.open.size:
        full.take(regression.derivatives(full.points))
    return sampler.Quadratic.of(full)

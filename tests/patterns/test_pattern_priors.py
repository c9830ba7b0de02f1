"""Priors of pattern models, and what samplers see of groups and cases."""

import numpy as np
import pattern_kit as kit
import pytest
from scipy.integrate import quad
from scipy.stats import kstest

import pyrjsel as rj
from pyrjsel.patterns.groups import PatternProblem
from pyrjsel.patterns.priors import PatternPrior


def test_defaults_are_those_of_the_article():
    prior = PatternPrior.of(5)
    assert (prior.family, prior.log_sigma_0) == ("cauchy", 0.5)
    assert [scale.w for scale in prior.scales] == [-2, -3, -4, -5, -6]
    assert {scale.s for scale in prior.scales} == {0.5}
    prior = PatternPrior.of(3, "gaussian")
    assert prior.log_sigma_0 == 5
    assert prior.scales == (rj.LogNormal(0, 2), rj.LogNormal(-2, 2), rj.LogNormal(-4, 2))
    assert PatternPrior.of(1).scales == (rj.LogNormal(-2, 0.5),)
    assert PatternPrior.of(1, sigma_0=2).log_sigma_0 == np.log(2)


def test_ways_to_give_priors_by_order():
    one, two = rj.LogNormal(-1, 1), rj.InverseGamma(2, 0.5)
    assert PatternPrior.of(2, sigma_prior=one).scales == (one, one)
    for given in ([one, two], (one, two), {2: two, 1: one}, lambda o: one if o == 1 else two):
        assert PatternPrior.of(2, sigma_prior=given).scales == (one, two)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"family": "normal"}, "'prior' parameter of of must be one of 'cauchy', 'gaussian'"),
        ({"sigma_0": 0}, "'sigma_0' parameter"),
        ({"sigma_0": 1e60}, r"'sigma_0' parameter of of must be in \[exp\(-100\)"),
        ({"sigma_prior": "wide"}, "'sigma_prior' parameter of of must be None, a LogNormal"),
        ({"sigma_prior": 3}, "'sigma_prior' parameter"),
        ({"sigma_prior": [rj.LogNormal(0, 1)]}, "must have 2 entries, one for each order.* Got 1"),
        ({"sigma_prior": {1: rj.LogNormal(0, 1)}}, "a mapping of each order from 1 to 2"),
        (
            {"sigma_prior": [rj.LogNormal(0, 1), 1.0]},
            r"sigma_prior\[order 2\].*a LogNormal or an InverseGamma",
        ),
        ({"sigma_prior": lambda o: None}, r"sigma_prior\[order 1\]"),
        ({"sigma_prior": rj.LogNormal(200, 20)}, "of at most 300"),
        ({"sigma_prior": rj.InverseGamma([1, 2], 1)}, "give a sequence of priors"),
        ({"sigma_prior": rj.InverseGamma(0.01, 1)}, "a of at least 0.1"),
        ({"sigma_prior": rj.InverseGamma(1, 1e60)}, "b in"),
    ],
)
def test_what_is_refused(options, message):
    with pytest.raises(rj.ParameterError, match=message):
        PatternPrior.of(2, **options)


@pytest.mark.parametrize("scale", [rj.LogNormal(-1.3, 0.6), rj.InverseGamma(2.5, 0.7)])
def test_densities_and_draws(scale):
    total = quad(lambda t: np.exp(scale.logpdf(np.exp(t)) + t), -12, 12, epsabs=1e-10)[0]
    assert abs(total - 1) < 1e-8
    prior = PatternPrior.of(1, sigma_prior=scale)
    # The constants of the compiled loop are the density of log sigma.
    kind, first, second, rest, width = prior.table()[0]
    for t in (-3.0, 0.2):
        own = rest - (0.5 * ((t - first) / second) ** 2 if kind == 0 else first * t + second * np.exp(-t))
        np.testing.assert_allclose(prior.logpdf(np.array([t]))[0], own, rtol=1e-12)
    mean = quad(lambda t: t * np.exp(scale.logpdf(np.exp(t)) + t), -12, 12)[0]
    square = quad(lambda t: t * t * np.exp(scale.logpdf(np.exp(t)) + t), -12, 12)[0]
    np.testing.assert_allclose(width, np.sqrt(square - mean**2), rtol=1e-6)
    assert prior.table(0.3)[0, 4] == 0.3
    rng = np.random.default_rng(1)
    draws = np.array([prior.sample(rng)[0] for _ in range(2000)])
    cdf = np.vectorize(lambda x: quad(lambda t: np.exp(scale.logpdf(np.exp(t)) + t), -12, x)[0])
    # One seed, once: the test cannot fail by chance.
    assert kstest(draws[::10], cdf).pvalue > 1e-3


def test_log_normal_refuses():
    for w, s, name in (("a", 1, "w"), (0, 0, "s"), (0, -1, "s"), (np.inf, 1, "w")):
        with pytest.raises(rj.ParameterError, match=f"'{name}' parameter of LogNormal"):
            rj.LogNormal(w, s)


@pytest.mark.parametrize("kind", ["sequence", "interactions"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_cases_in_the_same_groups_are_one_row(kind, n_classes):
    groups = kit.groups_of(kind, n=40, p=3, order=2)
    classes = np.random.default_rng(1).integers(n_classes, size=40)
    problem = PatternProblem.of(groups, classes, n_classes, PatternPrior.of(2))
    row_of, first = groups.row_of, groups.first
    np.testing.assert_array_equal(row_of[first], np.arange(len(first)))
    assert len(first) < 40
    member = np.zeros((40, groups.n_groups), dtype=bool)
    for g in range(groups.n_groups):
        member[groups.extent(g), g] = True
        rows = problem.rows[problem.indptr[g] : problem.indptr[g + 1]]
        np.testing.assert_array_equal(rows, np.unique(row_of[groups.extent(g)]))
    same = (member[:, None] == member[None]).all(axis=2)
    np.testing.assert_array_equal(same, row_of[:, None] == row_of[None])
    for k in range(n_classes):
        np.testing.assert_array_equal(
            problem.cases[k], np.bincount(row_of[classes == k], minlength=len(first))
        )
    for o in range(3):
        part = slice(problem.order_ptr[o], problem.order_ptr[o + 1])
        np.testing.assert_array_equal(problem.order_count[part], groups.counts[problem.order_group[part], o])
        np.testing.assert_array_equal(problem.order_group[part], np.flatnonzero(groups.counts[:, o]))
    assert (problem.n_free, problem.order) == (1 if n_classes == 2 else 3, 2)

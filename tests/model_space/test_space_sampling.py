"""Draws from the prior over models."""

import numpy as np
import pytest

from pyrjsel._errors import ParameterError
from pyrjsel.model_space import (
    Bernoulli,
    BetaBinomial,
    ModelSpace,
    Space,
    TruncatedPoisson,
    Uniform,
    prior_inclusion,
    sample_models,
)
from pyrjsel.model_space._space import metropolis


def test_draws_are_feasible_and_repeatable(kit, constraint):
    case = kit.case("beta-binomial", constraint, 1)
    draws = sample_models(case.space, 200, np.random.default_rng(1))
    assert draws.shape == (200, case.space.n_terms)
    assert draws.dtype == np.uint8
    assert np.all(case.space.feasible(draws))
    np.testing.assert_array_equal(draws, sample_models(case.space, 200, np.random.default_rng(1)))


def test_the_compiled_walk_leaves_the_prior_as_it_is(kit):
    # Long walks on small spaces against the law of every single model: a chi-squared statistic with its
    # degrees of freedom, for thinned and nearly independent states.
    for number, (kind, constraint) in enumerate(
        [
            ("uniform", (False, None, False, False)),
            ("beta-binomial", (True, "weak", False, True)),
            ("truncated Poisson", (False, "strong", True, False)),
            ("cost adjusted", (True, None, True, False)),
            ("bernoulli by term", (True, "strong", True, True)),
        ]
    ):
        case = kit.case(kind, constraint, 3)
        space = case.space
        models = case.gamma([m for m in case.subsets() if case.allowed(m)])
        law = np.exp(space.log_prior(models))
        law /= law.sum()
        rng = np.random.default_rng(number)
        n = 20_000
        states, inclusion = metropolis(Space(space), space.empty_model(), rng, n, 60)
        place = 1 << np.arange(space.n_terms)
        key = {int(code): i for i, code in enumerate(models @ place)}
        seen = np.bincount([key[int(code)] for code in states @ place], minlength=len(models))
        common = n * law >= 5
        expected = np.append(n * law[common], max(n * law[~common].sum(), 1e-300))
        counts = np.append(seen[common], seen[~common].sum())
        keep = expected >= 5
        statistic = float(((counts - expected)[keep] ** 2 / expected[keep]).sum())
        freedom = int(keep.sum()) - 1
        if freedom == 0:
            continue
        # The mean plus 4.5 standard deviations of chi-squared with this many degrees of freedom, doubled in
        # spread for what correlation is left: a false alarm in about 1e-4 of seeds; the seeds are fixed.
        assert statistic < freedom + 4.5 * 2 * np.sqrt(2 * freedom), (kind, constraint, statistic, freedom)
        # Averages of conditional probabilities have smaller errors than shares of states: 4.5 of those.
        p = np.minimum(law @ models, 1.0)  # of terms that are always in, a sum that rounding may take beyond
        assert np.all(np.abs(inclusion - p) <= 4.5 * np.sqrt(p * (1 - p) / n) + 1e-12)


@pytest.mark.parametrize(
    ("prior", "options"),
    [
        (Bernoulli([0.02 * (j % 40 + 1) for j in range(100)]), {}),
        (BetaBinomial(2, 8), {}),
        (TruncatedPoisson(6), {"always": ("x3", "x50")}),
        (Uniform(), {"max_size": 20}),
    ],
    ids=repr,
)
def test_draws_on_large_spaces_have_the_right_inclusion(kit, prior, options):
    space = ModelSpace.build(kit.plain(100), prior=prior, n_observations=9, **options)
    draws = sample_models(space, 4000, np.random.default_rng(8))
    assert np.all(space.feasible(draws))
    p = prior_inclusion(space).probability
    error = np.sqrt(p * (1 - p) / 4000)
    # 100 terms at 5 standard errors of independent draws: a false alarm in 6e-5 of seeds. The walk under
    # max_size stays near its largest size, where its states are almost independent two sweeps apart.
    assert np.all(np.abs(draws.mean(axis=0) - p) <= 5 * error * (1.5 if options.get("max_size") else 1.0))


def test_sizes_of_independent_draws_spread_as_the_prior_says(kit):
    space = ModelSpace.build(kit.plain(100), prior=BetaBinomial(1, 1), n_observations=9)
    size = sample_models(space, 5000, np.random.default_rng(9)).sum(axis=1)
    # Uniform on 0..100: mean 50, sd 29.2; five standard errors of the mean are 2.1, of the sd 0.95.
    assert size.mean() == pytest.approx(50, abs=2.1)
    assert size.std() == pytest.approx(29.15, abs=0.95)


def test_no_draws_and_no_free_terms(kit):
    space = ModelSpace.build(kit.plain(2), prior=Uniform(), always=("x0", "x1"), n_observations=9)
    assert sample_models(space, 0, np.random.default_rng(1)).shape == (0, 2)
    np.testing.assert_array_equal(sample_models(space, 3, np.random.default_rng(1)), np.ones((3, 2)))
    np.testing.assert_array_equal(
        metropolis(Space(space), space.empty_model(), np.random.default_rng(1), 3, 5)[0], np.ones((3, 2))
    )


def test_bad_number_of_draws(kit):
    space = ModelSpace.build(kit.plain(2), prior=Uniform(), n_observations=9)
    for n in (-1, 2.0, True):
        with pytest.raises(ParameterError, match="'n' parameter"):
            sample_models(space, n, np.random.default_rng(1))

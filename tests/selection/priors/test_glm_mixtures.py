"""Mixtures of g-priors in models without an error variance, against sums over a fine grid of log g."""

import warnings

import numpy as np
import pandas as pd
import pytest
from g_kit import FAMILIES, Reference, problem
from scipy import special, stats
from turns import by_turns, every

import pyrjsel as rj
from pyrjsel.model_space import Space
from pyrjsel.selection.evidence.laplace import MarginalLikelihood
from pyrjsel.selection.samplers.reversible_jump._size_jump import MixtureJump

PRIORS = (rj.HyperG(3), rj.HyperG(2.1), rj.HyperGN(3), rj.ZellnerSiow(), rj.Robust(), rj.Intrinsic())
JUMPING = PRIORS[:4]
# As narrow as priors of g can be.
NARROW = rj.CCH(100, 2000)
# Of log g, or log(g - least): from where g hardly differs from its least value to where its density is
# negligible for HyperG(2.1), the slowest to decay.
FINE = np.linspace(-25.0, 70.0, 761)


@pytest.mark.parametrize(
    ("setting", "prior"),
    by_turns(
        [("binomial", 0.7, 60), ("binomial", 0.0, 60), ("poisson", 2.0, 200), ("poisson", 0.0, 30)],
        [*PRIORS, NARROW],
    ),
    ids=repr,
)
def test_laplace_values_are_sums_over_a_fine_grid(prior, setting):
    """A grid several times as fine and much wider, for strong effects and for none."""
    family, effect, n = setting
    kind, y, x, w, shift, given = problem(family, 5, n=n, p=6, effect=effect, weighted=True, offset=True)
    model = kind(y, x, coef_prior=prior, **given)
    marginal = MarginalLikelihood(model.regression, bytes(16), 64, 7)
    constant = None
    for size in (0, 1, 2, 6):
        gamma = np.zeros(6, dtype=np.uint8)
        gamma[:size] = 1
        marginal.mode(gamma)
        one = Reference(family, y, x.iloc[:, :size].to_numpy(), w, shift)
        # Without columns nothing depends on g.
        wanted = one.mixture(prior, w.sum(), FINE) if size else one.at(0.0)
        found = marginal.finder.log_marginal
        constant = found - wanted if constant is None else constant
        # Nodes below e^-13 of the largest are left out, 1e-5 of the sum in all, and the step costs 1e-6.
        # Between modes, values are those of expansions to second order. Their error is that of Laplace's
        # approximation itself, a hundredth for sixty rows, and importance sampling corrects both.
        assert found - wanted == pytest.approx(constant, abs=0.02)


@pytest.mark.parametrize(("family", "prior"), every(3, by_turns(list(FAMILIES), PRIORS)), ids=repr)
def test_integrals_agree_with_quadrature(prior, family):
    kind, y, x, w, shift, given = problem(family, 6, weighted=True, offset=family == "poisson")
    model = kind(y, x, coef_prior=prior, max_size=2, **given)
    posterior = model.fit(rng=1).posterior
    gamma = posterior.packed[: len(posterior.packed)]
    at = np.arange(-16.0, 45.0, 0.5)
    wanted = np.array(
        [
            one.mixture(prior, w.sum(), at, nodes=15) if one.d else one.at(0.0, nodes=15)
            for one in (Reference(family, y, x.to_numpy()[:, row == 1], w, shift) for row in gamma)
        ]
    )
    away = posterior.log_marginal - wanted
    # Relative variances are at most 2e-5 or so for each model; five standard errors of a difference, with
    # the error of the grid: false alarms below 1e-5 in all 64 values.
    assert np.max(np.abs(away - np.mean(away))) < 5 * np.sqrt(2 * 2e-5) + 1e-4


@pytest.mark.parametrize("family", FAMILIES)
def test_moments_are_those_of_the_mixture(family):
    """Means and probabilities of signs of one coefficient, by both ways of integration."""
    kind, y, x, w, shift, _ = problem(family, 8, n=300, p=1, effect=0.3)
    prior = rj.HyperGN(3)
    model = kind(y, x, coef_prior=prior)
    marginal = MarginalLikelihood(model.regression, bytes(16), 2048, 2)
    one = Reference(family, y, x.to_numpy(), w, shift)
    grid = np.linspace(-2.0, 3.0, 2001)
    # With the intercept by Laplace's approximation given the slope, of an error far below that of the test.
    profile = np.array([_profile(one, slope) for slope in grid])
    spread = np.sqrt(np.exp(FINE) / one.null[0, 0])
    density = special.logsumexp(
        stats.norm.logpdf(grid[:, None], scale=spread) + prior.log_density(FINE, 300.0), axis=1
    )
    share = np.exp(profile + density - np.max(profile + density))
    share /= share.sum()
    wanted = share @ grid, share @ grid**2, share @ (grid > 0)
    gamma = np.ones(1, dtype=np.uint8)
    exact, laplace = marginal.integrate(gamma), marginal.approximate(gamma)
    scale = model.regression.scale[0] ** np.array([1.0, 2.0, 0.0])
    # 4,096 weighted draws: the standard error of a mean is about .002, five of which are allowed.
    np.testing.assert_allclose(exact.moments[:, 1] / scale, wanted, atol=0.01)
    # The error of Laplace's approximation is of the order of 1 / n.
    np.testing.assert_allclose(laplace.moments[:, 1] / scale, wanted, atol=0.01)


def _profile(one, slope):
    a = one.start
    for _ in range(50):
        mean, curvature = one.moments(a + slope * one.z[:, 1] + one.offset)
        a += one.w @ (one.y - mean) / (one.w @ curvature)
    eta = a + slope * one.z[:, 1] + one.offset
    return one.density(one.y, eta) @ one.w - 0.5 * np.log(one.w @ curvature)


SAMPLERS = {
    "rjmcmc": {"draws": 12_000},
    "population": {"draws": 6000},
    "collapsed": {"draws": 3000},
}


@pytest.mark.parametrize(
    ("case", "sampler"),
    by_turns([(PRIORS[0], "poisson"), (PRIORS[2], "binomial"), (PRIORS[3], "poisson")], list(SAMPLERS)),
    ids=repr,
)
def test_samplers_agree_with_enumeration(sampler, case):
    prior, family = case
    kind, y, x, _, _, given = problem(family, 9, n=80, p=5, effect=0.3, weighted=True)
    model = kind(y, x, coef_prior=prior, costs=dict.fromkeys(x.columns, 1.0), budget=3.0, **given)
    wanted = model.fit(rng=1)
    found = model.fit(sampler=sampler, rng=2, chains=2, **SAMPLERS[sampler])
    z = (found.inclusion["posterior"] - wanted.inclusion["posterior"]) / found.inclusion["mcse"]
    # Five inclusion probabilities of nine fits, by autocorrelation-adjusted errors: false alarms below 1e-4
    # of independent normal values, and seeds are fixed.
    assert np.nanmax(np.abs(z)) < 5.0
    # Means of coefficients of about .3 from some thousand effective draws.
    np.testing.assert_allclose(found.coefficients["mean"], wanted.coefficients["mean"], atol=0.03)


@pytest.mark.parametrize("prior", JUMPING, ids=repr)
@pytest.mark.parametrize("power", [1.0, 0.4])
def test_g_is_drawn_from_its_full_conditional(prior, power):
    """Draws of log g given the coefficients, against quadrature of p(g) times a power of their density."""
    kind, y, x, _, _, _ = problem("binomial", 10)
    model = kind(y, x, coef_prior=prior)
    regression = model.regression
    b = np.array([0.1, 0.5, -0.3, 0.2, np.log(60.0)])
    loop = MixtureJump(
        regression.compiled,
        Space(model.space),
        np.ones(3, dtype=np.uint8),
        b,
        mixture=prior.conditional(60.0),
        max_columns=4,
        raw_shift=regression.raw_shift,
        n_swaps=0,
    )
    loop.set_temperature(power)
    rng = np.random.default_rng(1)
    draws = np.empty(4000)
    for k in range(draws.size):
        for _ in range(3):  # draws given a latent variable are a Markov chain of little dependence
            loop.draw(rng)
        draws[k] = loop.state()[1][-1]
    form = b[1:4] @ regression.prior.precision[1:, 1:] @ b[1:4]
    log_density = prior.log_density(FINE, 60.0) - 1.5 * FINE - 0.5 * power * form * np.exp(-FINE)
    mass = np.exp(log_density - log_density.max())
    cdf = np.concatenate([[0.0], np.cumsum(0.5 * (mass[1:] + mass[:-1]))])
    # Kolmogorov-Smirnov, with the remaining dependence and the error of the grid well inside.
    assert stats.kstest(draws, lambda at: np.interp(at, FINE, cdf / cdf[-1])).pvalue > 1e-6


def test_more_columns_than_the_data_support_are_refused_as_with_g_priors():
    rng = np.random.default_rng(0)
    x = pd.DataFrame(rng.normal(size=(12, 3)), columns=list("abc"))
    x["d"] = x["a"] + x["b"]
    y = rng.integers(2, size=12)
    with pytest.warns(rj.PyrjselWarning, match="linear"):
        model = rj.LogitSelection(y, x, coef_prior=rj.HyperGN())
    models = model.fit(rng=1).models
    dependent = models["terms"].map(lambda terms: {"a", "b", "d"} <= set(terms))
    assert dependent.sum() == 2
    assert (models.loc[dependent, "posterior"] == 0).all()


def test_surrogate_jumps_are_not_for_mixtures():
    kind, y, x, _, _, _ = problem("binomial", 11)
    with pytest.raises(rj.ParameterError, match=r"'surrogate'.*mixtures of g-priors"):
        kind(y, x, coef_prior=rj.HyperG()).fit(sampler="rjmcmc", surrogate=1, draws=10)


def test_empty_and_full_models(recwarn):
    """The model without terms has no g; `always` forces the full one."""
    kind, y, x, _, _, _ = problem("binomial", 12)
    full = kind(y, x, coef_prior=rj.HyperG(), always=list(x.columns)).fit(rng=1)
    assert full.best() == tuple(x.columns)
    data = x.assign(y=y)
    for sampler in ("enumerate", "rjmcmc", "collapsed"):
        options = {} if sampler == "enumerate" else {"draws": 200, "chains": 2}
        empty = rj.logit("y ~ 1", data, coef_prior=rj.HyperG()).fit(sampler=sampler, rng=1, **options)
        assert empty.best() == ()
    assert not recwarn.list


def separated_data(*, completely):
    rng = np.random.default_rng(0)
    a = np.sort(rng.normal(size=20))
    y = (a > 0).astype(int)
    a += np.where(y, 0.3, -0.3)
    if not completely:
        a[y == 0] = -0.3
        a[np.flatnonzero(y == 1)[:2]] = -0.3
    return y, pd.DataFrame({"a": a, "b": rng.normal(size=20)})


# Warnings of integrals that do not exist.
@pytest.mark.filterwarnings("ignore::pyrjsel.ConvergenceWarning")
@pytest.mark.parametrize(
    ("sampler", "prior"),
    every(
        3,
        by_turns(["enumerate", "collapsed"], [rj.ZellnerSiow(), rj.HyperG(3), rj.BetaPrime(), rj.CCH(1, 2)]),
    ),
    ids=repr,
)
def test_no_posterior_of_classes_separated_completely(prior, sampler):
    """Given g, likelihoods increase as the square root of g; the prior must decrease faster."""
    y, x = separated_data(completely=True)
    with pytest.raises(rj.DataError, match=r"a.* separates the classes completely: .* infinite"):
        rj.LogitSelection(y, x, coef_prior=prior).fit(sampler=sampler, draws=500, rng=1)


# Integrals over g that hardly exist have large errors, which are reported too.
@pytest.mark.filterwarnings("ignore::pyrjsel.ConvergenceWarning")
@pytest.mark.parametrize(
    ("prior", "said"),
    [
        (rj.HyperG(4), "have no posterior means or standard deviations: use"),
        (rj.CCH(3, 1), "have no posterior standard deviations, and their means are imprecise: use"),
        (rj.HyperGN(7), "whose means and standard deviations are imprecise: use"),
        (rj.HyperG(7.1), None),
        (rj.GPrior(20), None),
    ],
    ids=repr,
)
def test_moments_that_do_not_exist_are_reported(prior, said):
    """Moments of order k exist if 1 / g has a power above (k + 1) / 2 in the tail of the density of log g.

    For 12 rows of two separated classes, quadrature up to log b = 12, 20 and 38 gave means 1115, 6e4 and 5e8
    under HyperG(3.5), and standard deviations 126, 938 and 8e4 under HyperG(4.5), 4.2527, 4.2529 and 4.2529
    under HyperG(6).
    """
    y, x = separated_data(completely=True)
    with pytest.warns(rj.SeparationWarning, match="depends strongly") as caught:
        rj.LogitSelection(y, x, coef_prior=prior).fit(sampler="enumerate", rng=1)
    message = str(caught.pop(rj.SeparationWarning).message)
    assert ("coefficients of models that separate the classes completely" in message) == (said is not None)
    assert said is None or said in message


@pytest.mark.filterwarnings("ignore::pyrjsel.ConvergenceWarning")
def test_classes_separated_in_part_have_moments():
    y, x = separated_data(completely=False)
    with pytest.warns(rj.SeparationWarning, match="coefficient prior.$"):
        rj.LogitSelection(y, x, coef_prior=rj.HyperG(4)).fit(sampler="enumerate", rng=1)


# Without a posterior chains need not converge.
@pytest.mark.filterwarnings("ignore::pyrjsel.ConvergenceWarning")
def test_one_separated_model_is_enough():
    """A largest one is far too improbable to be visited; a limit of sizes excludes it."""
    rng = np.random.default_rng(3)
    x = pd.DataFrame(rng.normal(size=(26, 14)), columns=[*"abcdefghijklmn"])
    y = (x["a"] + 1.6 * rng.normal(size=26) > 0).astype(int).rename("y")
    options = {"coef_prior": rj.Robust(), "model_prior": rj.Bernoulli(0.01)}
    with pytest.raises(rj.DataError, match=r"a \+ b.* \+ n separates the classes completely"):
        rj.LogitSelection(y, x, **options).fit(sampler="collapsed", draws=1000, rng=1)
    results = rj.LogitSelection(y, x, max_size=2, **options).fit(rng=1)
    assert results.separated == {}
    # More columns than rows: the last that are independent of the others.
    with pytest.warns(rj.RankWarning), pytest.raises(rj.DataError, match="separates the classes completely"):
        rj.LogitSelection(y[:12], x[:12], **options).fit(sampler="collapsed", draws=1000, rng=1)


@pytest.mark.parametrize(
    ("prior", "completely"),
    [(rj.GPrior(20), True), (rj.HyperG(3.5), True), (rj.CCH(1.5, 2), True), (rj.ZellnerSiow(), False)],
    ids=repr,
)
def test_other_separated_classes_have_a_posterior(prior, completely):
    y, x = separated_data(completely=completely)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rj.ConvergenceWarning)
        with pytest.warns(rj.SeparationWarning, match="by a in"):
            results = rj.LogitSelection(y, x, coef_prior=prior).fit(rng=1)
    assert ("a",) in results.separated


def test_tails_of_priors():
    """The density of log g is a multiple of g^-tail for large g."""
    for prior in (*PRIORS, NARROW, rj.BetaPrime(), rj.CCH(0.4, 3, 2), rj.HyperGN(5)):
        slope = np.diff(prior.log_density(np.array([40.0, 41.0]), 30.0))[0]
        assert slope == pytest.approx(-prior.tail, abs=1e-6)

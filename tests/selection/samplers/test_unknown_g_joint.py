"""Joint-distribution tests (Geweke 2004) of mixtures of g-priors, and of unknown sizes with them.

Draw a model, g, a size if the family has one, coefficients and a response from their joint law, start a
sampler there, let it run for a few iterations given that response. If it leaves every posterior invariant,
states afterwards have with the response the joint law of those before: every function of both has the same
mean. Enumeration does not start anywhere: a model and coefficients are drawn from the posterior that it
gives. Levels are 1e-6 a test.

The flat prior of the intercept becomes a proper one by an additional row whose columns are zero and whose
response is fixed, as if it came with the prior. The information of the null model is that at a first
response: it is held fixed, since a prior that looked at the response would have no joint law.
"""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit, logit, ndtr
from selection_checks import mean_faults
from selection_world import collapsed_draw, exchanged

from pyrjsel.families import Binomial, Cloglog, Gamma, NegativeBinomial, Poisson, Probit
from pyrjsel.model_space import BetaBinomial
from pyrjsel.runtime import FitSettings
from pyrjsel.selection.evidence.laplace import MarginalLikelihood
from pyrjsel.selection.priors.confluent import CCH, BetaPrime, Intrinsic, Robust
from pyrjsel.selection.priors.g_mixtures import HyperG, HyperGN, ZellnerSiow
from pyrjsel.selection.regression.glm import Regression
from pyrjsel.selection.samplers.enumeration.glm import Enumeration
from pyrjsel.selection.samplers.options import EnumerateOptions
from pyrjsel.selection.samplers.reversible_jump.rjmcmc import make_chain

pytestmark = pytest.mark.statistical
NAMES, SIZES, ROWS = ["a", "f3", "b"], [1, 2, 1], 20
PRIORS = {
    "hyper-g": HyperG(3.0),
    "hyper-g/n": HyperGN(4.0),
    "Zellner-Siow": ZellnerSiow(),
    "robust": Robust(),
    "intrinsic": Intrinsic(),
    "CCH": CCH(1.5, 3.0, 4.0),
    "beta-prime": BetaPrime(),
}
LOG_SIZE = (0.8, 0.5)


CHANCES = {"binomial": expit, "probit": ndtr, "cloglog": lambda eta: -np.expm1(-np.exp(eta))}


def halves(chance):
    """Draws of an intercept with a flat prior given three successes and three failures, by inversion."""
    at = np.linspace(-8.0, 4.0, 24_001)
    law = np.cumsum((chance(at) * (1.0 - chance(at))) ** 3)
    return lambda rng, _: np.interp(rng.random(), law / law[-1], at)


# Response and weight of the row that stands for the prior of the intercept, and draws from it given the size.
# Integrated over the intercept, the likelihood of that row does not depend on the size.
ANCHORS = {
    "binomial": (Binomial(), 0.5, 6.0, lambda rng, _: logit(rng.beta(3.0, 3.0))),
    "probit": (Probit(), 0.5, 6.0, halves(CHANCES["probit"])),
    "cloglog": (Cloglog(), 0.5, 6.0, halves(CHANCES["cloglog"])),
    "poisson": (Poisson(), 1.5, 4.0, lambda rng, _: np.log(rng.standard_gamma(6.0) / 4.0)),
    "negbin": (
        NegativeBinomial(None, *LOG_SIZE),
        1.5,
        4.0,
        lambda rng, size: np.log(size) + logit(rng.beta(6.0, 4.0 * size)),
    ),
    "gamma": (
        Gamma(None, *LOG_SIZE),
        1.5,
        4.0,
        lambda rng, size: np.log(1.5 * 4.0 * size / rng.standard_gamma(4.0 * size)),
    ),
}
# Precisions are multiplied by this: fewer responses separate the classes.
TIGHT = 5.0
# Laws are those given that all responses are smaller, and positive ones larger than the inverse. Heavy tails
# of g give means of any size.
MOST = 1e5


def draw_g(prior, n, d, rng):
    """A draw from the prior of g of a model of d columns, by inversion, of gamma variates or by rejection."""
    if isinstance(prior, ZellnerSiow):
        return 0.5 * n / rng.standard_gamma(0.5)
    if isinstance(prior, Robust):
        return (n + 1) / (d + 1) * rng.random() ** -2.0 - 1.0
    if isinstance(prior, Intrinsic):
        kappa, v = (n + d + 1) / n, (n + d + 1) / (d + 1)
        while True:
            w = rng.beta(0.5, 0.5)
            if rng.random() * (kappa + (1 - kappa) * w) < 1.0:
                return v / w - 1.0
    if isinstance(prior, BetaPrime):
        return 1.0 / rng.beta(0.25, 0.5 * (n - d - 1.5)) - 1.0
    if isinstance(prior, CCH):
        while True:
            u = rng.beta(0.5 * prior.a, 0.5 * prior.b)
            if rng.random() < np.exp(-0.5 * prior.s * u):
                return 1.0 / u - 1.0
    # g (or g / n) has the distribution function 1 - (1 + g)^(1 - a / 2).
    g = rng.random() ** (-1.0 / (0.5 * prior.a - 1.0)) - 1.0
    return g * (n if isinstance(prior, HyperGN) else 1.0)


class World:
    """Draws from the joint law by plain numpy, and samplers of the package from them.

    With a `fault` the package has a precision that many times too large.
    """

    def __init__(self, kit, family, prior, fault=1.0):
        made, self.anchor, weight, self.draw_intercept = ANCHORS[family]
        self.size_name, self.family = made.expanded, family
        case = kit.case(
            NAMES,
            coef_prior=prior,
            model_prior=BetaBinomial(1, 1),
            n=ROWS,
            seed=2,
            weighted=True,
            with_offset=True,
            family="binomial" if made.events else family,
        )
        w, self.prior, self.space = np.append(case.weights, weight), prior, case.space
        # The additional row is the mean of the others, which standardised columns have at zero.
        x = np.vstack([case.x, case.weights @ case.x / case.weights.sum()])
        whole = Regression.build(
            x,
            np.append(case.y, self.anchor),
            SIZES,
            prior,
            weights=w,
            offset=np.append(0.3 * case.offset, 0.0),
            family=made,
        )
        assert np.abs(whole.columns[1:, -1]).max() < 1e-12
        self.information = TIGHT * whole.prior.precision[1:, 1:]
        self.n = whole.prior.total_weight
        compiled = replace(whole.prior, precision=fault * TIGHT * whole.prior.precision)
        self.regression = replace(whole, prior=compiled)
        self.w = w
        self.inside = np.repeat(np.arange(3), SIZES)

    def draw(self, rng):
        """Return a model, internal coefficients, scales and a response below the limit."""
        while True:
            gamma = np.zeros(3, dtype=np.uint8)
            gamma[rng.permutation(3)[: rng.integers(4)]] = 1
            columns = np.flatnonzero(gamma[self.inside])
            scales = {"g": draw_g(self.prior, self.n, max(columns.size, 1), rng)}
            if self.size_name:
                scales["size"] = np.exp(LOG_SIZE[0] + LOG_SIZE[1] * rng.standard_normal())
            b = np.append(self.draw_intercept(rng, scales.get("size")), np.zeros(4))
            if columns.size:
                root = np.linalg.cholesky(np.linalg.inv(self.information[np.ix_(columns, columns)]))
                b[1 + columns] = np.sqrt(scales["g"]) * root @ rng.standard_normal(columns.size)
            eta = self.regression.offset + b @ self.regression.columns
            y = self.respond(eta[:-1], self.w[:-1], scales.get("size"), rng)
            if y is not None:
                return gamma, b, scales, np.append(y, self.anchor)

    def respond(self, eta, w, size, rng):
        """Return a response; None if one is outside the limits, as a count is for certain at twice that."""
        if self.regression.family.events:
            return rng.binomial(w.astype(int), CHANCES[self.family](eta)) / w
        with np.errstate(over="ignore"):
            mean = np.exp(eta) * (1.0 if size is None else rng.gamma(w * size) / (w * size))
            total = w * mean
        if self.family == "gamma":
            return mean if mean.max() < MOST and mean.min() > 1 / MOST else None
        if total.max() > 2 * MOST:
            return None
        y = rng.poisson(total)
        return None if y.max() > MOST else y / w

    def loop(self, gamma, b, scales, y):
        options = {"max_columns": b.size, "raw_shift": self.regression.raw_shift, "n_swaps": 2}
        size = [scales["size"]] if self.size_name else []
        state = np.array([*b, *size, np.log(scales["g"])])
        return make_chain(self.given(y), self.space, gamma, state, **options)

    def of_state(self, gamma, vector):
        """Return model, coefficients and scales of a state of a chain."""
        size = {"size": vector[-2]} if self.size_name else {}
        return gamma, vector[:5], {**size, "g": np.exp(vector[-1])}

    def given(self, y):
        family = self.regression.family
        if self.size_name:
            family = replace(family, table=family.summarise(y, self.w))
        return replace(self.regression, y=y, family=family)

    def jump(self, gamma, b, scales, y, rng):
        loop = self.loop(gamma, b, scales, y)
        loop.run(rng, 5)
        return self.of_state(*loop.state())

    def exchange(self, gamma, b, scales, y, rng):
        return self.of_state(*exchanged(lambda: self.loop(gamma, b, scales, y), rng, 5))

    def walk(self, gamma, b, scales, y, rng):
        """Flips and swaps of the sampler `collapsed`, and coefficients given the model where they end."""
        return *collapsed_draw(self.given(y), self.space, gamma, 3, rng), {}

    def enumerate(self, gamma, b, scales, y, rng):
        """A model, coefficients and a size from the posterior by enumeration."""
        regression = self.given(y)
        settings = FitSettings(1, 0, 1, 1, rng, 1, False)
        found = Enumeration().posterior(regression, self.space, settings, EnumerateOptions())
        gamma = found.gamma[rng.choice(len(found.gamma), p=found.probability)]
        single = MarginalLikelihood(regression, found.entropy, found.pairs, regression.n_columns)
        b, sizes = single.sample(gamma, 1, rng)
        return gamma, b[0], {"size": sizes[self.size_name[0]][0]} if sizes else {}

    def statistics(self, gamma, b, scales, y):
        """Bounded functions of state and response that a wrong transition may move."""
        away = np.arctan((self.regression.columns * self.w) @ y / self.w.sum())
        spread = np.arctan(np.var(np.log1p(y)))
        flat, size = np.arctan(b), gamma.sum()
        parts = [gamma, [size, gamma[0] * gamma[2], size * away[0]], flat, flat**2, flat * away]
        # The quadratic form of coefficients is a multiple of g a priori.
        if size:
            form = np.tanh(0.5 * np.log(b[1:] @ self.information @ b[1:]) - np.array([-1.0, 0.0, 1.0, 2.0]))
        else:
            form = np.zeros(4)
        parts += [form, form * size, gamma * form[1]]
        if "size" in scales:
            t = np.log(scales["size"])
            parts.append([t, t**2, t * spread, t * away[0], t * size, t * form[1]])
        if "g" in scales:
            of_g = np.tanh(np.log(scales["g"]) - np.array([-1.0, 2.0, 4.0]))
            parts += [of_g, of_g * size, of_g * away[0], gamma * of_g[1], flat**2 * of_g[1]]
        return np.concatenate(parts)


def faults(world, move, draws, seed):
    """Return what the transition moves."""
    rng, differences = np.random.default_rng(seed), []
    for _ in range(draws):
        gamma, b, scales, y = world.draw(rng)
        new = move(world, gamma, b, scales, y, rng)
        before = world.statistics(gamma, b, {name: scales[name] for name in new[2]}, y)
        differences.append(world.statistics(*new, y) - before)
    return mean_faults(np.array(differences))


# Each prior with each family, and both kinds of samplers by turns; families with a size take some of them.
JUMPS = [
    (prior, family, World.jump if (k + j) % 2 == 0 else World.exchange)
    for k, prior in enumerate(("hyper-g", "hyper-g/n", "Zellner-Siow"))
    for j, family in enumerate(("binomial", "poisson"))
] + [
    ("hyper-g", "probit", World.jump),
    ("hyper-g/n", "cloglog", World.exchange),
    ("hyper-g/n", "negbin", World.jump),
    ("Zellner-Siow", "negbin", World.exchange),
    ("Zellner-Siow", "gamma", World.jump),
    ("hyper-g", "gamma", World.exchange),
]
# Other families in the places of some.
OTHERS = {
    ("robust", "poisson"): "negbin",
    ("hyper-g/n", "binomial"): "gamma",
    ("hyper-g", "binomial"): "cloglog",
    ("intrinsic", "binomial"): "probit",
}
INTEGRALS = [
    (prior, OTHERS.get((prior, family), family), World.walk if (k + j) % 2 == 0 else World.enumerate)
    for k, prior in enumerate(PRIORS)
    for j, family in enumerate(("binomial", "poisson"))
]


def named(cases):
    return [pytest.param(*case, id=f"{case[0]}-{case[1]}-{case[2].__name__}") for case in cases]


@pytest.mark.parametrize(("prior", "family", "move"), named(JUMPS))
def test_jumps_leave_the_joint_law_alone(kit, prior, family, move):
    draws = (10_000 if family in ("negbin", "gamma") else 20_000) if move is World.jump else 3000
    assert faults(World(kit, family, PRIORS[prior]), move, draws, 81) == {}


@pytest.mark.parametrize(("prior", "family", "move"), named(INTEGRALS))
def test_integrals_over_g_leave_the_joint_law_alone(kit, prior, family, move):
    """With marginal likelihoods that err by half a percent, anew in each simulation."""
    draws = 200 if family in ("negbin", "gamma") else 1500
    assert faults(World(kit, family, PRIORS[prior]), move, draws, 82) == {}


@pytest.mark.parametrize(
    ("family", "move", "fault", "draws"),
    [
        ("poisson", World.jump, 2.0, 20_000),
        ("negbin", World.jump, 2.0, 20_000),
        ("poisson", World.walk, 5.0, 1500),
        ("poisson", World.enumerate, 5.0, 1500),
    ],
    ids=["jump", "jump, size", "walk", "enumerate"],
)
def test_a_wrong_precision_is_caught(kit, family, move, fault, draws):
    """That of the package is a multiple of the true one, which a g of heavy tails mostly makes up for."""
    assert faults(World(kit, family, ZellnerSiow(), fault), move, draws, 83) != {}

"""Problems whose posterior has two modes that single flips and swaps do not connect.

Each is made so that the best model of one mode is some odds more or less likely than that of the other, by a
search over how much of the response follows one or the other.
"""

import numpy as np
import pandas as pd
from scipy.special import expit, logit
from scipy.stats import poisson

import pyrjsel as rj
from pyrjsel.selection.evidence.gaussian import evidence_of
from pyrjsel.selection.evidence.laplace import MarginalLikelihood

ROWS, TERMS = 200, 20
MODELS = {"linear": rj.linear, "logit": rj.logit, "poisson": rj.poisson}
# By how much signals are multiplied, so that modes are as far apart as in linear models.
STRENGTH = {"linear": 1.0, "logit": 2.0, "poisson": 0.5}


def columns(rng, p=TERMS):
    return pd.DataFrame(rng.normal(size=(ROWS, p))).add_prefix("x")


def names(*places):
    return tuple(f"x{j}" for j in places)


def total(frame, *places):
    return frame[list(names(*places))].sum(axis=1).to_numpy()


def budget(rng, p=TERMS):
    """One variable at the price of five others."""
    x = columns(rng, p)
    costs = {name: 10.0 if name == "x0" else 2.0 for name in x}
    return x, x["x0"].to_numpy(), 0.45 * total(x, 1, 2, 3, 4, 5), names(0), names(1, 2, 3, 4, 5), {
        "costs": costs, "budget": 10.0,
    }  # fmt: skip


def parts(rng, whole, count):
    """Columns whose sum is `whole`, of which fewer say hardly anything."""
    some = 3.0 * rng.normal(size=(ROWS, count - 1))
    return np.column_stack([some, whole - some.sum(axis=1)])


def two_prices(rng):
    """A difference of two variables at the price of five others, and some that are priced between."""
    x = columns(rng)
    costs = {name: 5.0 if j < 2 else 2.0 if j < 12 else 3.0 for j, name in enumerate(x)}
    signal = rng.normal(size=ROWS)
    x[list(names(0, 1))] = parts(rng, signal, 2)
    return x, signal, 0.45 * total(x, 2, 3, 4, 5, 6), names(0, 1), names(2, 3, 4, 5, 6), {
        "costs": costs, "budget": 10.0,
    }  # fmt: skip


def disjoint(rng):
    """Two sets of three columns that span nearly the same."""
    x = columns(rng)
    turned, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    x[list(names(3, 4, 5))] = x[list(names(0, 1, 2))] @ turned + 0.15 * rng.normal(size=(ROWS, 3))
    first = 0.8 * total(x, 0, 1, 2)
    second = 0.8 * x[list(names(3, 4, 5))].to_numpy() @ turned.T.sum(axis=1)
    return x, first, second, names(0, 1, 2), names(3, 4, 5), {}


def copies(rng):
    """Three columns and a near-copy of each."""
    x = columns(rng)
    x[list(names(3, 4, 5))] = x[list(names(0, 1, 2))].to_numpy() + 0.15 * rng.normal(size=(ROWS, 3))
    return x, 0.8 * total(x, 0, 1, 2), 0.8 * total(x, 3, 4, 5), names(0, 1, 2), names(3, 4, 5), {}


def suppressors(rng):
    """Two pairs of columns of which only the difference says something, nearly the same."""
    x = columns(rng)
    signal = rng.normal(size=ROWS)
    for a, b in ((0, 1), (2, 3)):
        x[f"x{a}"] = 4.0 * x[f"x{b}"] + signal + 0.15 * rng.normal(size=ROWS)
    first, second = (x[f"x{a}"] - 4.0 * x[f"x{b}"] for a, b in ((0, 1), (2, 3)))
    return x, first.to_numpy(), second.to_numpy(), names(0, 1), names(2, 3), {}


def interactions(rng):
    """Two interactions, nearly the same, of main effects that say nothing."""
    x = columns(rng, 6)
    sign = rng.choice([-1.0, 1.0], size=ROWS)
    x["x2"], x["x3"] = (x[name] * sign + 0.1 * rng.normal(size=ROWS) for name in ("x0", "x1"))
    first, second = x["x0"] * x["x1"], x["x2"] * x["x3"]
    pairs = (("x0", "x1", "x0:x1"), ("x2", "x3", "x2:x3"))
    return x, first.to_numpy(), second.to_numpy(), *pairs, {"heredity": "strong"}


def dependent(rng):
    """One column that is nearly the sum of three others."""
    x = columns(rng)
    x["x0"] = total(x, 1, 2, 3) / np.sqrt(3) + 0.15 * rng.normal(size=ROWS)
    return x, x["x0"].to_numpy(), total(x, 1, 2, 3) / np.sqrt(3), names(0), names(1, 2, 3), {}


def factors(rng):
    """A factor of six levels and the sum of three columns, nearly the same; three terms at most."""
    x = columns(rng)
    signal = rng.normal(size=ROWS)
    level = np.searchsorted(np.quantile(signal, np.arange(1, 6) / 6), signal)
    means = np.array([signal[level == k].mean() for k in range(6)])[level]
    x["x0"] = pd.Categorical(np.array(list("abcdef"))[level])
    x[list(names(1, 2, 3))] = parts(rng, signal, 3)
    return x, means, 1.0 * signal, names(0), names(1, 2, 3), {"max_size": 3}


KINDS = {
    make.__name__: make
    for make in (budget, two_prices, disjoint, copies, suppressors, interactions, dependent, factors)
}
# Kinds whose modes are there side by side; of the others, both explain the same.
BESIDE = ("budget", "two_prices")


def response(family, eta, noise):
    eta = STRENGTH[family] * eta
    if family == "linear":
        return eta + noise
    quantile = np.clip(0.5 * (1 + np.tanh(0.8 * noise)), 1e-6, 1 - 1e-6)
    if family == "logit":
        return (quantile < expit(eta)).astype(int)
    return poisson.ppf(quantile, np.exp(np.clip(eta, -20, 4))).astype(int)


def problem(kind, seed, family="linear", log_odds=None, **options):
    """Return a model, the terms that are its two modes, and the log odds of these."""
    rng = np.random.default_rng(seed)
    x, first, second, one, other, constraints = KINDS[kind](rng, **options)
    noise = rng.normal(size=ROWS)
    goal = logit(rng.uniform(0.1, 0.9)) if log_odds is None else log_odds
    formula = "y ~ (.)**2" if kind == "interactions" else "y ~ ."

    def made(share):
        eta = share * first + (1.0 if kind in BESIDE else 1 - share) * second
        return MODELS[family](formula, x.assign(y=response(family, eta, noise)), **constraints)

    def odds(model):
        gamma = np.array([[name in mode for name in model.term_names] for mode in (one, other)])
        mass = [mass_of(model, row.astype(np.uint8)) for row in gamma]
        return mass[0] - mass[1]

    low, high = (0.0, 4.0) if kind in BESIDE else (-2.0, 3.0)
    for _ in range(25):
        share = 0.5 * (low + high)
        found = odds(made(share))
        low, high = (share, high) if found < goal else (low, share)
    model = made(0.5 * (low + high))
    return model, (one, other), odds(model)


def mass_of(model, gamma):
    """Return the log posterior mass of a model."""
    prior = float(model.space.log_prior(gamma))
    if isinstance(model, rj.LinearSelection):
        return prior + float(evidence_of(model.regression).values(gamma[None])[0])
    widest = model.regression.widest(model.space.max_size)
    marginal = MarginalLikelihood(model.regression, b"0" * 16, 2, widest, 1e-3)
    return prior + marginal.approximate(gamma).log_marginal

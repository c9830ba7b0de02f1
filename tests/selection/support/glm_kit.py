"""Small regression problems over small model spaces, with their raw arrays for the oracles."""

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit, log_expit, log_ndtr, ndtr
from slopes import CURVE, SCORE, SHAPE, THETA, entry

from pyrjsel.families import Binomial, Cloglog, Gamma, NegativeBinomial, Poisson, Probit
from pyrjsel.model_space import BetaBinomial, ModelSpace
from pyrjsel.selection.priors.coefficients import GPrior, Normal
from pyrjsel.selection.regression.glm import Regression


class Likelihood(NamedTuple):
    """A family as the oracles write it: log density of a row, mean, draws; derivatives are in `slopes`.

    `reach` is the size of coefficients that leaves sums over some 30 rows of size 100: means of counts grow
    exponentially.
    """

    family: Any
    log: Any  # of y and eta
    mean: Any  # of eta
    draw: Any  # of rng, weights and mean
    reach: float

    def score(self, y, eta):
        """The derivative of the log density in eta."""
        return SCORE[entry(self.family)](y, eta)

    def curve(self, y, eta):
        """Minus the second derivative."""
        return CURVE[entry(self.family)](y, eta)


def log1mexp(rate):
    """``log(1 - exp(-rate))`` of positive rates."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(rate < 0.7, np.log(-np.expm1(-rate)), np.log1p(-np.exp(-rate)))


LIKELIHOODS = {
    "binomial": Likelihood(
        Binomial(),
        lambda y, eta: y * log_expit(eta) + (1 - y) * log_expit(-eta),
        expit,
        lambda rng, w, mu: rng.binomial(w.astype(int), mu) / w,
        1.0,
    ),
    "probit": Likelihood(
        Probit(),
        lambda y, eta: y * log_ndtr(eta) + (1 - y) * log_ndtr(-eta),
        ndtr,
        lambda rng, w, mu: rng.binomial(w.astype(int), mu) / w,
        0.6,
    ),
    "cloglog": Likelihood(
        Cloglog(),
        # The logarithm of 1 - exp(-rate), by parts that cancel nowhere; not evaluated where y is 0.
        lambda y, eta: np.where(y > 0, y * log1mexp(np.exp(eta)), 0.0) - (1 - y) * np.exp(eta),
        lambda eta: -np.expm1(-np.exp(eta)),
        lambda rng, w, mu: rng.binomial(w.astype(int), mu) / w,
        0.3,
    ),
    "poisson": Likelihood(
        Poisson(),
        lambda y, eta: y * eta - np.exp(eta),
        np.exp,
        lambda rng, w, mu: rng.poisson(w * mu) / w,
        0.3,
    ),
    "negbin": Likelihood(
        NegativeBinomial(THETA),
        lambda y, eta: y * (eta - np.log(THETA)) - (y + THETA) * np.log1p(np.exp(eta) / THETA),
        np.exp,
        lambda rng, w, mu: rng.poisson(w * mu) / w,
        0.3,
    ),
    "gamma": Likelihood(
        Gamma(SHAPE),
        lambda y, eta: -SHAPE * (eta - np.log(SHAPE) + y * np.exp(-eta)),
        np.exp,
        lambda rng, w, mu: mu * rng.gamma(w * SHAPE) / (w * SHAPE),
        0.1,
    ),
}


@dataclass(frozen=True)
class Case:
    """A regression problem, its model space, and what they were made of."""

    regression: Regression
    space: ModelSpace
    x: np.ndarray  # (n, D), columns as they are
    y: np.ndarray
    weights: np.ndarray | None
    offset: np.ndarray | None
    prior: GPrior | Normal
    sizes: list[int] = field(default_factory=list)
    likelihood: Likelihood = LIKELIHOODS["binomial"]


def columns_of(names, n, rng):
    """Columns by term: "a" is numeric, "f3" a factor of 3 levels, "a:f3" a product, "a+b" a sum.

    Numeric columns are correlated and far from centred, so that nothing hides in a zero.
    """
    common = rng.normal(size=n)
    made = {}
    for name in sorted(names, key=lambda name: name.count(":") + name.count("+")):
        if "+" in name:
            made[name] = sum(made[part] for part in name.split("+"))
        elif ":" in name:
            left, right = name.rsplit(":", 1)
            made[name] = (made[left][:, :, None] * made[right][:, None, :]).reshape(n, -1)
        elif name.startswith("f"):
            made[name] = np.eye(int(name[1:]))[rng.permutation(n) % int(name[1:])][:, 1:]
        else:
            made[name] = (rng.uniform(-2, 2) + rng.uniform(0.4, 3) * (rng.normal(size=n) + 0.7 * common))[
                :, None
            ]
    return made


def terms_of(names, sizes):
    """Terms of a model space, parents worked out from the names."""
    factors = [frozenset(name.split(":")) for name in names]
    terms = []
    for name, own, size in zip(names, factors, sizes, strict=True):
        parents = tuple(j for j, other in enumerate(factors) if other < own)
        near = tuple(j for j in parents if not any(factors[j] < factors[k] for k in parents))
        terms.append(
            SimpleNamespace(
                name=name,
                columns=tuple(f"{name}[{i}]" for i in range(size)),
                variables=tuple(sorted(own)),
                parents=parents,
                near_parents=near,
            )
        )
    return terms


def make_case(
    names,
    *,
    coef_prior,
    model_prior=None,
    n=40,
    seed=0,
    weighted=False,
    with_offset=False,
    signal=1.0,
    family="binomial",
    **space,
):
    """A problem with a response that depends on every second column."""
    rng = np.random.default_rng(seed)
    parts = columns_of(names, n, rng)
    sizes = [parts[name].shape[1] for name in names]
    x = np.hstack([parts[name] for name in names]) if names else np.empty((n, 0))
    spread = np.where(x.std(axis=0) > 0, x.std(axis=0), 1.0)
    eta = 0.3 + signal * ((x - x.mean(axis=0)) / spread)[:, ::2].sum(axis=1)
    likelihood = LIKELIHOODS[family]
    mean = likelihood.mean(eta)
    weights = rng.integers(1, 6, size=n).astype(float) if weighted else None
    if weighted:
        y = likelihood.draw(rng, weights, mean)
    elif likelihood.family.events:
        y = (rng.random(n) < mean).astype(float)
    else:
        y = np.asarray(likelihood.draw(rng, np.ones(n), mean), dtype=float)
    offset = rng.normal(size=n) if with_offset else None
    regression = Regression.build(
        x, y, sizes, coef_prior, weights=weights, offset=offset, family=likelihood.family
    )
    model_space = ModelSpace.build(
        terms_of(names, sizes),
        prior=BetaBinomial(1, 1) if model_prior is None else model_prior,
        n_observations=float(n if weights is None else weights.sum()),
        data_columns=[name for name in names if ":" not in name],
        **space,
    )
    return Case(regression, model_space, x, y, weights, offset, coef_prior, sizes, likelihood)


# Every shape of coefficient prior that the compiled algebra tells apart.
COEF_PRIORS = {
    "g joint": GPrior("4n"),
    "g flat": GPrior(9.0, intercept="flat"),
    "g normal": GPrior("n", intercept=Normal(2.0, 0.5)),
    "g null": GPrior("n", information="null"),
    "normal raw": Normal(0.8),
    "normal raw, mean": Normal(0.8, mean=0.3, intercept=Normal(1.5, -0.4)),
    "normal raw, flat": Normal(1.2, mean=-0.2, intercept="flat"),
    "normal standardized": Normal(0.9, mean=0.2, standardize=True),
    "normal standardized, flat": Normal(0.9, standardize=True, intercept="flat"),
}


KIT = SimpleNamespace(case=make_case, coef_priors=COEF_PRIORS)

"""Predictive laws of gaussian models by kriging: an oracle that shares no algebra with the package.

With coefficients N(m, sigma^2 S) responses are jointly normal given the intercept and sigma^2, with
covariance sigma^2 (W^-1 + X S X'). The flat intercept is estimated by generalised least squares, and
sigma^2 ~ IG(a, b) makes new responses Student. Integrals over g, and over sigma^2 where coefficients do not
scale with it, are sums over an even grid of their logarithms.
"""

import math
from dataclasses import dataclass

import numpy as np
from linear_oracle import log_density_of_g
from scipy import stats
from scipy.special import logsumexp

from pyrjsel.selection.priors.coefficients import GPrior, Normal

# Of the grids. The trapezoidal rule errs by exp(-2 pi^2 / STEP) or so for what is smooth on this scale.
STEP = 0.1


@dataclass
class Rows:
    """Columns, responses less the offset, and weights."""

    x: np.ndarray
    y: np.ndarray
    w: np.ndarray

    def __getitem__(self, rows):
        return Rows(self.x[rows], self.y[rows], self.w[rows])


@dataclass
class Law:
    """A law of new rows, with its log mass: Student with `df`, normal where that is infinite.

    `within` are variances of errors and `between` covariances of expectations, both before `square`,
    the squared scale.
    """

    log_mass: float
    df: float
    location: np.ndarray
    square: float
    within: np.ndarray
    between: np.ndarray

    def density(self, y):
        scale = np.sqrt(self.square * (self.within + np.diag(self.between)))
        if math.isinf(self.df):
            return stats.norm.pdf(y, self.location, scale)
        return stats.t.pdf(y, self.df, self.location, scale)

    def square_density(self, y):
        """Expectation of the squared density of `y` given coefficients and sigma^2."""
        half = 0.5 * self.within + np.diag(self.between)
        if math.isinf(self.df):
            density = stats.norm.pdf(y, self.location, np.sqrt(self.square * half))
            return density / np.sqrt(4 * np.pi * self.square * self.within)
        # 1 / sigma^2 has a gamma law of shape a and rate r; E[t exp(-t c)] = a r^a / (r + c)^(a + 1).
        a, r = 0.5 * self.df, 0.5 * self.df * self.square
        c = (y - self.location) ** 2 / (2 * half)
        power = a * np.exp(a * np.log(r) - (a + 1) * np.log(r + c))
        return power / np.sqrt(2 * np.pi * half) / np.sqrt(4 * np.pi * self.within)

    @property
    def covariance(self):
        spread = 1.0 if math.isinf(self.df) else self.df / (self.df - 2)
        return spread * self.square * (np.diag(self.within) + self.between)


def law(train, new, s, m, a=0.0, b=0.0, variance=None):
    """The law of new rows under coefficients N(m, sigma^2 S); `variance` is sigma^2 where it is known."""
    cov = np.diag(1 / train.w) + train.x @ s @ train.x.T
    one, left = np.ones(len(train.y)), train.y - train.x @ m
    cross = train.x @ s @ new.x.T
    by = np.linalg.solve(cov, np.column_stack([one, left, cross]))
    centre = one @ by[:, 1] / (one @ by[:, 0])
    rest = left - centre
    lack = rest @ (by[:, 1] - centre * by[:, 0]) + 2 * b
    location = new.x @ m + centre + cross.T @ (by[:, 1] - centre * by[:, 0])
    short = 1 - one @ by[:, 2:]
    between = new.x @ s @ new.x.T - cross.T @ by[:, 2:] + np.outer(short, short) / (one @ by[:, 0])
    log_mass = -0.5 * np.linalg.slogdet(cov)[1] - 0.5 * math.log(one @ by[:, 0])
    nu = len(train.y) - 1 + 2 * a
    if variance is not None:
        log_mass += -0.5 * nu * math.log(variance) - 0.5 * lack / variance
        return Law(log_mass, math.inf, location, variance, 1 / new.w, between)
    return Law(log_mass - 0.5 * nu * math.log(lack), nu, location, lack / nu, 1 / new.w, between)


def laws(train, new, columns, prior, a=0.0, b=0.0):
    """The laws of a model of some columns under a prior of the package, a mixture by log mass."""
    x, n = train.x[:, columns], len(train.y)
    train, new = Rows(x, train.y, train.w), Rows(new.x[:, columns], new.y, new.w)
    zero = np.zeros(len(columns))
    middle = x - np.average(x, axis=0, weights=train.w)
    gram = (middle * train.w[:, None]).T @ middle
    if isinstance(prior, Normal):
        unit = np.sqrt(np.diag(gram) / train.w.sum()) if prior.standardize else np.ones(len(columns))
        s, m = np.diag((prior.scale / unit) ** 2), prior.mean / unit
        if prior.scaled is not False:
            return [law(train, new, s, m, a, b)]
        grid = math.log(np.var(train.y)) + np.arange(-14, 14, STEP)
        return [law(train, new, s / math.exp(t), m, a, b, variance=math.exp(t)) for t in grid]
    if not len(columns):
        return [law(train, new, np.zeros((0, 0)), zero, a, b)]
    inverse = np.linalg.inv(gram)
    if isinstance(prior, GPrior):
        return [law(train, new, prior.value(n) * inverse, zero, a, b)]
    log_density, found = log_density_of_g(prior, n), []
    for t in np.arange(-18, 22, STEP):
        each = law(train, new, math.exp(t) * inverse, zero, a, b)
        each.log_mass += log_density(t) + math.log(STEP)
        found.append(each)
    return found


def probabilities(models):
    """Posterior probabilities of models with equal prior ones, from the laws of each."""
    mass = np.array([logsumexp([each.log_mass for each in model]) for model in models])
    return np.exp(mass - logsumexp(mass))


def mixed(models, p, value):
    """The average of `value` of laws over models of probability `p`."""
    total = 0.0
    for weight, model in zip(p, models, strict=True):
        mass = np.array([each.log_mass for each in model])
        within = np.exp(mass - logsumexp(mass))
        total = total + weight * sum(q * value(each) for q, each in zip(within, model, strict=True))
    return total

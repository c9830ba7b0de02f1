"""Gaussian models by the covariance of the rows: an oracle that shares no algebra with the package.

The flat intercept is removed by an orthonormal basis of what is orthogonal to it: with K' sqrt(w) = 0,
z = K' W^1/2 (y - offset) is normal with covariance sigma^2 (I + Z S Z'), Z = K' W^1/2 X, for coefficients
N(m, sigma^2 S). Integrals over g and sigma^2 are Gauss quadrature.
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy import stats
from scipy.linalg import null_space
from scipy.special import gammaln

import pyrjsel.selection.priors.g_mixtures as mx
from pyrjsel.selection.priors.coefficients import GPrior, Normal
from pyrjsel.selection.priors.spike_slab import SpikeSlab


@dataclass
class Answer:
    """Of one model: log p(y | model), and moments of the intercept and the model's columns."""

    log_marginal: float
    mean: np.ndarray
    square: np.ndarray
    positive: np.ndarray
    variance: float


class Rows:
    """The rows of a regression, the intercept taken off."""

    def __init__(self, x, y, weights=None, offset=None, a=0.0, b=0.0):
        w = np.ones(len(y)) if weights is None else np.asarray(weights, dtype=float)
        used = w > 0
        x, w = x[used], w[used]
        target = (y if offset is None else y - offset)[used]
        root = np.sqrt(w)
        basis = null_space(root[None, :])
        self.z = basis.T @ (root * target)
        self.x = basis.T @ (root[:, None] * x)
        self.n, self.rows, self.w = len(w), len(w) - 1, w
        self.centre, self.means = np.average(target, weights=w), np.average(x, axis=0, weights=w)
        self.scale = np.sqrt(np.average((x - self.means) ** 2, axis=0, weights=w))
        self.a, self.b = a, b
        # |d(y) / d(intercept's estimate, z)|, and the flat intercept integrated out.
        self.constant = 0.5 * (np.log(w).sum() - math.log(w.sum()))

    def given_scale(self, columns, s, m):
        """Log marginal likelihood and posterior for coefficients N(m, sigma^2 S), sigma^2 ~ IG(a, b)."""
        x, nu = self.x[:, columns], self.rows + 2 * self.a
        cov = np.eye(self.rows) + x @ s @ x.T
        left = self.z - x @ m
        solved = np.linalg.solve(cov, left)
        rest = left @ solved + 2 * self.b
        value = -0.5 * np.linalg.slogdet(cov)[1] - 0.5 * nu * math.log(0.5 * rest) + gammaln(0.5 * nu)
        value -= 0.5 * self.rows * math.log(2 * math.pi)
        if self.a:
            value += self.a * math.log(self.b) - gammaln(self.a)
        mean = m + s @ x.T @ solved
        scatter = s - s @ x.T @ np.linalg.solve(cov, x @ s)
        return value + self.constant, mean, scatter, rest / nu, nu

    def raw(self, columns, mean, scatter):
        """Intercept and coefficients of the columns as they are: means, and variances over sigma^2."""
        to = np.vstack([-self.means[columns], np.eye(len(columns))])
        out = to @ scatter @ to.T
        out[0, 0] += 1 / self.w.sum()
        return np.concatenate([[self.centre], np.zeros(len(columns))]) + to @ mean, np.diag(out)

    def student(self, columns, s, m):
        value, mean, scatter, variance, nu = self.given_scale(columns, s, m)
        mean, scale = self.raw(columns, mean, scatter)
        scale = np.sqrt(scale * variance)
        spread = nu / (nu - 2)
        return Answer(
            value, mean, mean**2 + spread * scale**2, stats.t.sf(-mean / scale, nu), spread * variance
        )

    def zellner(self, columns, g):
        """The same for a g-prior, by least squares on the rows: any g, however large."""
        x, nu, d = self.x[:, columns], self.rows + 2 * self.a, len(columns)
        best = np.linalg.lstsq(x, self.z, rcond=None)[0] if d else np.zeros(0)
        fitted, shrink = x @ best, g / (1 + g)
        lack = self.z - fitted
        rest = lack @ lack + (1 - shrink) * (fitted @ fitted) + 2 * self.b
        value = -0.5 * d * math.log1p(g) - 0.5 * nu * math.log(0.5 * rest) + gammaln(0.5 * nu)
        value -= 0.5 * self.rows * math.log(2 * math.pi)
        if self.a:
            value += self.a * math.log(self.b) - gammaln(self.a)
        mean, scale = self.raw(columns, shrink * best, shrink * np.linalg.inv(x.T @ x))
        scale, spread = np.sqrt(scale * rest / nu), nu / (nu - 2)
        return Answer(
            value + self.constant,
            mean,
            mean**2 + spread * scale**2,
            stats.t.sf(-mean / scale, nu),
            spread * rest / nu,
        )

    def normal(self, columns, s, m, variance):
        """The same for coefficients N(m, S) and known sigma^2."""
        x = self.x[:, columns]
        cov = variance * np.eye(self.rows) + x @ s @ x.T
        left = self.z - x @ m
        solved = np.linalg.solve(cov, left)
        value = (
            -0.5 * np.linalg.slogdet(cov)[1] - 0.5 * left @ solved - 0.5 * self.rows * math.log(2 * math.pi)
        )
        mean = m + s @ x.T @ solved
        scatter = (s - s @ x.T @ np.linalg.solve(cov, x @ s)) / variance
        mean, scale = self.raw(columns, mean, scatter)
        scale = np.sqrt(scale * variance)
        return Answer(value + self.constant, mean, mean**2 + scale**2, stats.norm.sf(-mean / scale), variance)


def mixed(answer_at, log_weight, low, high):
    """Average answers over a parameter t with density exp(log_weight(t)), by composite Gauss quadrature."""
    grid = np.linspace(low, high, 401)
    height = np.array([answer_at(t).log_marginal + log_weight(t) for t in grid])
    used = grid[height > height.max() - 40]
    x, w = np.polynomial.legendre.leggauss(16)
    edges = np.linspace(used[0] - 0.5, used[-1] + 0.5, 61)
    half = 0.5 * (edges[1] - edges[0])
    nodes = (edges[:-1, None] + half * (1 + x)).ravel()
    answers = [answer_at(t) for t in nodes]
    height = np.array([found.log_marginal + log_weight(t) for found, t in zip(answers, nodes, strict=True)])
    mass = np.tile(half * w, 60) * np.exp(height - height.max())
    averages = [
        np.tensordot(mass / mass.sum(), [getattr(found, name) for found in answers], 1)
        for name in ("mean", "square", "positive", "variance")
    ]
    return Answer(height.max() + math.log(mass.sum()), *averages)


def log_density_of_g(prior, n):
    """Densities of log g as the papers print them."""
    if isinstance(prior, mx.HyperG):
        return lambda t: math.log((prior.a - 2) / 2) - prior.a / 2 * math.log1p(math.exp(t)) + t
    if isinstance(prior, mx.HyperGN):
        return lambda t: math.log((prior.a - 2) / (2 * n)) - prior.a / 2 * math.log1p(math.exp(t) / n) + t
    return lambda t: stats.gamma(0.5, scale=2 / n).logpdf(math.exp(-t)) - t


def over_sigma(rows, columns, s, m):
    """Coefficients N(m, S) whatever sigma is: averages over sigma^2."""

    def log_prior(t):
        if not rows.a:
            return 0.0
        return rows.a * math.log(rows.b) - gammaln(rows.a) - rows.a * t - rows.b * math.exp(-t)

    middle = math.log(np.var(rows.z))
    return mixed(lambda t: rows.normal(columns, s, m, math.exp(t)), log_prior, middle - 25, middle + 40)


def answer(rows, prior, columns):
    """What the model of `columns` says, under a prior of the package."""
    columns = np.asarray(columns, dtype=int)
    d = len(columns)
    if isinstance(prior, SpikeSlab):
        every = np.arange(rows.x.shape[1])
        unit = rows.scale if prior.standardize else np.ones(every.size)
        ratio = np.where(np.isin(every, columns), np.broadcast_to(prior.c, every.size), 1.0)
        s, m = np.diag((np.broadcast_to(prior.tau, every.size) / unit) ** 2 * ratio), np.zeros(every.size)
        return rows.student(every, s, m) if prior.scaled else over_sigma(rows, every, s, m)
    if isinstance(prior, Normal):
        unit = rows.scale[columns] if prior.standardize else np.ones(d)
        s, m = np.diag((prior.scale / unit) ** 2), prior.mean / unit
        return over_sigma(rows, columns, s, m) if prior.scaled is False else rows.student(columns, s, m)
    if d == 0:
        return rows.zellner(columns, 1.0)
    if isinstance(prior, GPrior):
        return rows.zellner(columns, prior.value(rows.n))
    return mixed(lambda t: rows.zellner(columns, math.exp(t)), log_density_of_g(prior, rows.n), -35, 80)

"""Derivatives of log-likelihoods in the linear predictor, by link, as the oracles write them.

A log-likelihood is affine in the response, and so are its derivatives: at the mean in its place, minus the
second is the expected information.
"""

import numpy as np
from scipy.special import expit, log_ndtr
from scipy.stats import norm

# The size of negative binomial counts, and the shape of gamma responses.
THETA = 1.7
SHAPE = 0.8


def probit_hazards(eta):
    """``phi / Phi`` at eta and at -eta."""
    return tuple(np.exp(norm.logpdf(eta) - log_ndtr(way * eta)) for way in (1, -1))


def probit_score(y, eta):
    up, down = probit_hazards(eta)
    return y * up - (1 - y) * down


def probit_curve(y, eta):
    up, down = probit_hazards(eta)
    return y * up * (up + eta) + (1 - y) * down * (down - eta)


def cloglog_slope(rate):
    """The derivative of the log probability of success; 0 where rates are too large to matter."""
    return rate / np.expm1(np.minimum(rate, 700.0))


def cloglog_score(y, eta):
    rate = np.exp(eta)
    return y * cloglog_slope(rate) - (1 - y) * rate


def cloglog_curve(y, eta):
    """The derivative of ``r = rate / (exp(rate) - 1)`` is ``r (1 - rate - r)``; rates above 1e-6 here."""
    rate = np.exp(eta)
    r = cloglog_slope(rate)
    return y * r * (rate + r - 1) + (1 - y) * rate


SCORE = {
    "logit": lambda y, eta: y - expit(eta),
    "log": lambda y, eta: y - np.exp(eta),
    "probit": probit_score,
    "cloglog": cloglog_score,
    "identity": lambda y, eta: y - eta,
    "negbin": lambda y, eta: (y - np.exp(eta)) * THETA / (THETA + np.exp(eta)),
    "gamma": lambda y, eta: SHAPE * (y * np.exp(-eta) - 1),
}
CURVE = {
    "logit": lambda y, eta: expit(eta) * expit(-eta) + 0 * y,
    "log": lambda y, eta: np.exp(eta) + 0 * y,
    "probit": probit_curve,
    "cloglog": cloglog_curve,
    "identity": lambda y, eta: np.ones_like(eta) + 0 * y,
    "negbin": lambda y, eta: (y + THETA) * THETA * np.exp(eta) / (THETA + np.exp(eta)) ** 2,
    "gamma": lambda y, eta: SHAPE * y * np.exp(-eta),
}


def derivatives(family, x, y, eta, weights):
    """The gradient (d,) and minus the Hessian (d, d) of a log-likelihood in coefficients of columns x (d, n).

    Of classes, eta has all rows of one linear predictor after those of another, and so have x, y and weights:
    minus the Hessian is a sum over rows of ``w x (diag(p) - p p') x'``.
    """
    if family.name != "multinomial":
        link = entry(family)
        return x @ (weights * SCORE[link](y, eta)), (x * (weights * CURVE[link](y, eta))) @ x.T
    size = family.predictors
    odds = np.exp(eta.reshape(size, -1))
    p = odds / (1 + odds.sum(axis=0))
    by_row = x.reshape(len(x), size, -1)
    weights = weights.reshape(size, -1)
    gradient = np.einsum("dln,ln->d", by_row, weights * (y.reshape(size, -1) - p))
    hessian = np.zeros((len(x), len(x)))
    for i in range(p.shape[1]):
        rows = by_row[:, :, i]
        hessian += weights[0, i] * rows @ (np.diag(p[:, i]) - np.outer(p[:, i], p[:, i])) @ rows.T
    return gradient, hessian


def entry(family):
    """The entry of a family: by link, and by name where a link has two families."""
    return family.name if family.name in SCORE else family.link

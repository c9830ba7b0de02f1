"""Predictions of pattern models by importance sampling over the coefficients of all patterns."""

from itertools import combinations

import numpy as np
from scipy.special import log_softmax, softmax

BLOCK = 50_000


def indicators(kind, order, codes, new):
    """Return which patterns cases and new rows express, and the order of each; levels are any integers."""
    p = codes.shape[1]
    found, orders = {}, []
    both = np.vstack([codes, new])
    for o in range(order + 1):
        for fixed in [tuple(range(p - o, p))] if kind == "sequence" else combinations(range(p), o):
            for levels in np.unique(both[:, fixed], axis=0).tolist():
                found[fixed, tuple(levels)] = (both[:, fixed] == levels).all(axis=1)
                orders.append(o)
    expressed = np.array(list(found.values()), dtype=float)
    return expressed[:, : len(codes)], expressed[:, len(codes) :], np.array(orders)


def predict(model, codes, classes, new, n_draws, rng):
    """Return class probabilities of new rows, their standard errors, and the effective number of draws.

    `codes` (n, p) and `new` (m, p) are integers, and every pattern of a new row counts.
    """
    prior, n_classes = model.prior, len(model.classes)
    cases, rows, orders = indicators(model.features.kind, model.order, codes, new)
    w, s = np.array([scale.w for scale in prior.scales]), np.array([scale.s for scale in prior.scales])
    log_weights, chances = [], []
    for _ in range(n_draws // BLOCK):
        log_sigma = rng.normal(w, s, size=(BLOCK, len(w)))
        sigma = np.exp(np.insert(log_sigma, 0, prior.log_sigma_0, axis=1))[:, None, orders]
        size = (BLOCK, 1 if n_classes == 2 else n_classes, len(orders))
        noise = rng.standard_cauchy(size) if prior.family == "cauchy" else rng.standard_normal(size)
        eta = [np.moveaxis((sigma * noise) @ one, 1, 2) for one in (cases, rows)]
        if n_classes == 2:
            eta = [np.concatenate([np.zeros_like(one), one], axis=2) for one in eta]
        log_weights.append(log_softmax(eta[0], axis=2)[:, np.arange(len(codes)), classes].sum(axis=1))
        chances.append(softmax(eta[1], axis=2))
    weights, chance = softmax(np.concatenate(log_weights)), np.concatenate(chances)
    mean = np.einsum("d,dmk->mk", weights, chance)
    error = np.sqrt(np.einsum("d,dmk->mk", weights**2, (chance - mean) ** 2))
    return mean, error, 1 / (weights**2).sum()

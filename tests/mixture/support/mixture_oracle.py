"""The posterior over subsets by numerical integration: small numbers of rows, two kernels, two classes.

Given the kernels of the rows, inputs are independent but for the background. What an input contributes is an
integral over beta_i and, for each of the two kernels, over its precision; its mean is integrated in closed
form. Kernels of the rows and missing classes are summed out one by one.
"""

from itertools import product

import numpy as np
from reference_background import log_background
from scipy.special import gammaln, logsumexp
from scipy.stats import gamma

from pyrjsel.model_space import enumerate_models, unpack


def log_nodes(low, high, n):
    """Gauss-Legendre nodes and weights of an integral over x > 0, taken over log x."""
    t, w = np.polynomial.legendre.leggauss(n)
    x = np.exp(0.5 * (high + low) + 0.5 * (high - low) * t)
    return x, 0.5 * (high - low) * w * x


def log_inputs(z, prior, nodes=160):
    """Log density of one input (N,), NaN where missing, for each of the 2^N allocations to two kernels.

    Allocations are numbers whose bit n says in which kernel row n is.
    """
    n = len(z)
    inside = ((np.arange(2**n)[:, None] >> np.arange(n)) & 1).astype(float)
    seen = ~np.isnan(z)
    x = np.where(seen, z, 0.0)
    count, total, square = inside @ seen, inside @ x, inside @ x**2
    u, weight = log_nodes(np.log(1e-6), np.log(prior.max_precision), nodes)
    # sum (x - m)^2 over N(m; 0, 1): a normal integral with precision 1 + n u.
    known = 1.0 + count[:, None] * u
    log_rows = 0.5 * count[:, None] * np.log(u / (2 * np.pi)) - 0.5 * np.log(known)
    log_rows -= 0.5 * (u * square[:, None] - (u * total[:, None]) ** 2 / known)
    # Below beta = 1e-9 precisions are far beyond the largest one.
    beta, beta_weight = log_nodes(np.log(1e-9), np.log(1e3), nodes)
    scale = log_rows.max(axis=1)
    kernel = gamma.pdf(u, prior.alpha, scale=1.0 / beta[:, None]) * weight
    one = np.exp(log_rows - scale[:, None]) @ kernel.T
    density = gamma.pdf(beta, prior.g, scale=1.0 / prior.h) * beta_weight
    both = (one * one[::-1]) @ density
    return np.log(both) + scale + scale[::-1] - prior.log_mass(2)


def log_allocations(label, n_classes):
    """Log probability of labels and of each allocation to two kernels, missing labels summed out."""
    n = len(label)
    kernel = (np.arange(2**n)[:, None] >> np.arange(n)) & 1
    parts = []
    for filled in product(range(n_classes), repeat=int((label < 0).sum())):
        full = label.copy()
        full[label < 0] = filled
        classes = np.bincount(full, minlength=n_classes)
        value = np.full(2**n, gammaln(n_classes) - gammaln(n_classes + n) + gammaln(1.0 + classes).sum())
        for k in range(n_classes):
            second = kernel[:, full == k].sum(axis=1)
            value += gammaln(1.0 + second) + gammaln(1.0 + classes[k] - second) - gammaln(2.0 + classes[k])
        parts.append(value)
    return logsumexp(parts, axis=0)


def log_evidences(problem):
    """Log densities of labels and inputs under each feasible subset, and the subsets (m, p)."""
    subsets = unpack(enumerate_models(problem.space, 2**10), problem.n_inputs)
    allocations = log_allocations(problem.label, problem.n_classes)

    known = {}  # one input after the other is filled in: the others stay

    def of(z):
        inputs = []
        for column in z.T:
            key = column.tobytes()
            if key not in known:
                known[key] = log_inputs(column, problem.prior)
            inputs.append(known[key])
        return [
            logsumexp(allocations + sum((inputs[i] for i in np.flatnonzero(gamma)), np.zeros(1)))
            + log_background(z, gamma, problem)
            for gamma in subsets
        ]

    gaps = np.argwhere(np.isnan(problem.z))
    if problem.background != "gaussian" or not len(gaps):
        return np.array(of(problem.z)), subsets
    ((row, column),) = gaps  # one missing input at most: it is integrated over
    # Beyond fifty ranges neither kernels nor the null model have mass.
    t, w = np.polynomial.legendre.leggauss(40)
    nodes, weights = np.sinh(t * np.arcsinh(50.0 / 0.2)) * 0.2, w * np.arcsinh(50.0 / 0.2) * 0.2
    weights = weights * np.cosh(t * np.arcsinh(50.0 / 0.2))
    values = []
    for node in nodes:
        z = problem.z.copy()
        z[row, column] = node
        values.append(of(z))
    return logsumexp(np.array(values) + np.log(weights)[:, None], axis=0), subsets


def subset_posterior(problem):
    """Posterior probabilities of the feasible subsets, and the subsets."""
    evidence, subsets = log_evidences(problem)
    value = evidence + problem.space.log_prior(subsets)
    return np.exp(value - logsumexp(value)), subsets

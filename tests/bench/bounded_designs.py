"""Designs under a budget where one variable costs as much as several others, with exact probabilities.

Sixty independent columns; the response depends on x0 and on as many cheap columns as the budget affords. Each
feasible model counts. Gaussian marginal likelihoods have a closed form, written down here; those of
generalised linear models are ranked by quadratic expansions at parts of the two modes, the best get Laplace
values of the package, the best of these its integrals, and all others the average correction. The share of
the posterior that these others hold is said.
"""

import importlib.util
import time
import warnings
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.special import expit, logsumexp

import pyrjsel as rj
from pyrjsel.selection.evidence.laplace import MarginalLikelihood

_spec = importlib.util.spec_from_file_location("two_modes", Path(__file__).with_name("two_modes.py"))
two_modes = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(two_modes)

ROWS, TERMS = two_modes.ROWS, 60
# Price of x0 in prices of cheap columns, and the budget in these. With a budget of five there are over 5
# million models, which no default fit enumerates; x0 goes with three, two, one or none of the others.
BUDGET = {2: 5, 3: 5, 4: 5, 5: 5, 6: 6}
# At a price of six, columns from here on cost twice as much as the cheap ones: else there are 50 million.
DEARER = 31
# Log odds of x0 that are aimed at: both modes hold something, or the one with x0 all but 1e-9. Where
# responses are counts they come in steps, and the odds with them.
GOALS = {"0.1": np.log(1 / 9), "0.5": 0.0, "0.9": np.log(9), "1 - 1e-9": np.log(1e9)}
# Of generalised linear models: Laplace values of so many by the package, and integrals of so many.
VALUED, INTEGRATED = 3000, 200


def prices(times):
    """Prices of the columns, the cheap ones being 1."""
    cost = np.ones(TERMS)
    if times == 6:
        cost[DEARER:] = 2.0
    cost[0] = times
    return cost


@cache
def feasible(times):
    """All feasible models by size: arrays (models, size) of columns in ascending order."""
    cost, levels = prices(times), [np.zeros((1, 0), dtype=np.uint8)]
    while len(levels[-1]):
        held = levels[-1]
        spent = cost[held].sum(axis=1)
        last = held[:, -1].astype(int) if held.shape[1] else np.full(1, -1)
        longer = [
            np.column_stack([some, np.full(len(some), j, dtype=np.uint8)])
            for j in range(TERMS)
            if len(some := held[(last < j) & (spent + cost[j] <= BUDGET[times])])
        ]
        levels.append(np.concatenate(longer) if longer else np.zeros((0, held.shape[1] + 1), dtype=np.uint8))
    return levels[:-1]


def quadratic(models, products, cross):
    """Log determinants of the blocks of `products` (p, p), and r' A^-1 r for those of `cross` (p,)."""
    logs, squares = np.zeros(len(models)), np.zeros(len(models))
    for at in range(0, len(models), 200_000):
        part = models[at : at + 200_000].T.astype(np.intp)
        size, factor, solved = len(part), {}, []
        log, square = np.zeros(part.shape[1]), np.zeros(part.shape[1])
        for i in range(size):
            for j in range(i + 1):
                value = products[part[i], part[j]]
                for k in range(j):
                    value = value - factor[i, k] * factor[j, k]
                factor[i, j] = np.sqrt(value) if i == j else value / factor[j, j]
            value = cross[part[i]]
            for k in range(i):
                value = value - factor[i, k] * solved[k]
            solved.append(value / factor[i, i])
            log += 2.0 * np.log(factor[i, i])
            square += solved[i] ** 2
        logs[at : at + 200_000], squares[at : at + 200_000] = log, square
    return logs, squares


def gaussian(model, x, y, times):
    """Log marginal likelihoods under the g-prior with g = n and 1/sigma^2, against the null model."""
    x, y = x - x.mean(axis=0), y - y.mean()
    n, found = len(y), []
    for models in feasible(times):
        _, explained = quadratic(models, x.T @ x, x.T @ y)
        ratio = explained / (y @ y)
        size = models.shape[1]
        found.append(0.5 * (n - 1 - size) * np.log1p(n) - 0.5 * (n - 1) * np.log1p(n * (1 - ratio)))
    return found


def derivatives(family, eta, y):
    """Score and weight of the linear predictor."""
    mean = expit(eta) if family == "logit" else np.exp(eta)
    return y - mean, mean * (1 - mean) if family == "logit" else mean


def centred(x, weight):
    return x - weight @ x / weight.sum()


def expansion(family, x, y, times, held):
    """Log marginal likelihoods of models as large as `held`, up to a constant: the expansion at its mode."""
    n, null = len(y), np.full(len(y), 0.0)
    for _ in range(50):
        score, weight = derivatives(family, null, y)
        null += score.sum() / weight.sum()
    _, weight = derivatives(family, null, y)
    inner = centred(x, weight)
    precision = inner.T @ (weight[:, None] * inner) / n
    some = np.column_stack([np.ones(n), x[:, held]])
    penalty = np.zeros((len(held) + 1, len(held) + 1))
    penalty[1:, 1:] = precision[np.ix_(held, held)]
    b = np.zeros(len(held) + 1)
    b[0] = null[0]
    for _ in range(50):
        score, weight = derivatives(family, some @ b, y)
        b += np.linalg.solve(some.T @ (weight[:, None] * some) + penalty, some.T @ score - penalty @ b)
    score, weight = derivatives(family, some @ b, y)
    working, inner = some @ b + score / weight, centred(x, weight)
    products, cross = inner.T @ (weight[:, None] * inner) + precision, inner.T @ (weight * working)
    models = feasible(times)[len(held)]
    log, square = quadratic(models, products, cross)
    before, _ = quadratic(models, precision, cross)
    return 0.5 * (square + before - log)


def generalised(model, family, x, y, times, modes):
    """Log marginal likelihoods of models by size, and the posterior share of those that are approximate."""
    sizes = [len(models) for models in feasible(times)]
    with_x0 = np.concatenate([(models == 0).any(axis=1) for models in feasible(times)])
    values, size_of = np.full(len(with_x0), -np.inf), np.repeat(np.arange(len(sizes)), sizes)
    prior = np.concatenate(log_priors(model, times))
    widest = model.regression.widest(model.space.max_size)
    marginal = MarginalLikelihood(model.regression, b"0" * 16, 256, widest)

    def held(i):
        size = int(np.searchsorted(np.cumsum(sizes), i, side="right"))
        gamma = np.zeros(TERMS, dtype=np.uint8)
        gamma[feasible(times)[size][i - sum(sizes[:size])]] = 1
        return gamma

    # Models of a size by the expansion at a part of the mode as large, as high as the package says it is
    # there: far from a mode its own expansion is off by several nats.
    for mode, group in zip(modes, (with_x0, ~with_x0), strict=True):
        for size in np.unique(size_of[group]):
            part = np.array(mode[:size])
            found, first = expansion(family, x, y, times, list(part)), sum(sizes[:size])
            row = int(np.flatnonzero((feasible(times)[size] == part).all(axis=1))[0])
            found += marginal.approximate(held(first + row)).log_marginal - found[row]
            members = group & (size_of == size)
            values[members] = found[members[first : first + sizes[size]]]
    exact = np.zeros(len(values), dtype=bool)
    for group in (with_x0, ~with_x0):
        members = np.flatnonzero(group)
        rank = members[np.argsort(-(values + prior)[members])[:VALUED]]
        laplace = np.array([marginal.approximate(held(i)).log_marginal for i in rank])
        correction = laplace - values[rank]
        values[group] += np.median(correction[len(rank) // 2 :])
        values[rank] = laplace
        exact[rank] = True
        best = rank[np.argsort(-(laplace + prior[rank]))[:INTEGRATED]]
        shift = np.array([marginal.integrate(held(i)).log_marginal - values[i] for i in best])
        share = np.exp(values[best] + prior[best] - np.max(values[best] + prior[best]))
        values[group] += np.log(share @ np.exp(shift) / share.sum())
        values[best] += shift - np.log(share @ np.exp(shift) / share.sum())
    mass = values + prior
    rest = float(np.exp(logsumexp(mass[~exact]) - logsumexp(mass)))
    return np.split(values, np.cumsum(sizes)[:-1]), rest


def log_priors(model, times):
    """Log priors of the models by size: it is one number for each."""
    found = []
    for models in feasible(times):
        gamma = np.zeros(TERMS, dtype=np.uint8)
        gamma[models[0]] = 1
        found.append(np.full(len(models), float(model.space.log_prior(gamma))))
    return found


def truth(model, family, x, y, times, modes):
    """Inclusion probabilities (p,) by all feasible models; and the share of mass that is not exact."""
    if family == "linear":
        values, rest = gaussian(model, x, y, times), 0.0
    else:
        values, rest = generalised(model, family, x, y, times, modes)
    mass = [one + two for one, two in zip(values, log_priors(model, times), strict=True)]
    top = max(one.max() for one in mass)
    total, inclusion = 0.0, np.zeros(TERMS)
    for models, one in zip(feasible(times), mass, strict=True):
        share = np.exp(one - top)
        total += share.sum()
        for column in models.T:
            inclusion += np.bincount(column, share, TERMS)
    return inclusion / total, rest


def problem(family, times, goal, seed):
    """A model, exact inclusion probabilities (p,), and the share of mass that is approximate.

    `goal` are log odds of x0; the signal of x0 is searched for twice, the second time with what all models
    together say.
    """
    rng = np.random.default_rng([seed, times])
    x = pd.DataFrame(rng.normal(size=(ROWS, TERMS))).add_prefix("x")
    noise, cost = rng.normal(size=ROWS), prices(times)
    cheap = list(range(1, BUDGET[times] + 1))
    # What goes with x0, and what goes without.
    modes = ((0, *cheap[: BUDGET[times] - times]), tuple(cheap))
    second = (0.45 if times < 6 else 0.4) * two_modes.total(x, *cheap)
    costs = dict(zip(x, 2.0 * cost, strict=True))

    def made(share):
        y = two_modes.response(family, share * x["x0"].to_numpy() + second, noise)
        model = two_modes.MODELS[family]("y ~ .", x.assign(y=y), costs=costs, budget=2.0 * BUDGET[times])
        return model, np.asarray(y, dtype=float)

    subsets = np.array([[i >> j & 1 for j in range(len(cheap) + 1)] for i in range(2 ** (len(cheap) + 1))])
    subsets = subsets[subsets @ cost[: len(cheap) + 1] <= BUDGET[times]]

    def odds(model):
        mass = []
        for row in subsets:
            gamma = np.zeros(TERMS, dtype=np.uint8)
            gamma[: len(row)] = row
            mass.append(two_modes.mass_of(model, gamma))
        mass, inside = np.array(mass), subsets[:, 0] == 1
        return logsumexp(mass[inside]) - logsumexp(mass[~inside])

    aim = goal
    for _ in range(2):
        low, high = 0.0, 4.0
        for _ in range(14):
            share = 0.5 * (low + high)
            low, high = (share, high) if odds(made(share)[0]) < aim else (low, share)
        model, y = made(0.5 * (low + high))
        inclusion, rest = truth(model, family, x.to_numpy(), y, times, modes)
        if goal > 10 or 0.05 < inclusion[0] < 0.95:
            break
        at = np.clip(inclusion[0], 1e-12, 1 - 1e-12)
        aim += goal - np.log(at / (1 - at))
    return model, inclusion, rest


def campaign(family, seeds, times=tuple(BUDGET), goals=tuple(GOALS)):
    """One default fit of each problem: price, goal, P(x0), error, whether it warns, z-scores, CPU seconds."""
    for seed in seeds:
        for price in times:
            for goal in goals:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    model, truth, rest = problem(family, price, GOALS[goal], seed)
                with warnings.catch_warnings(record=True) as caught:
                    warnings.simplefilter("always")
                    start = time.process_time()
                    found = model.fit(rng=seed, progress=False, n_jobs=1).inclusion
                    spent = time.process_time() - start
                away = (found["posterior"] - truth).to_numpy()
                some = (truth > 0.01) & (truth < 0.99)
                yield {
                    "price": price,
                    "goal": goal,
                    "truth": truth[0],
                    "rest": rest,
                    "error": np.abs(away).max(),
                    "warned": any(issubclass(one.category, rj.ConvergenceWarning) for one in caught),
                    "z": away[some] / found["mcse"].to_numpy()[some],
                    "seconds": spent,
                }

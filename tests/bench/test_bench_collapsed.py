"""Walks over models: the cost of a step, and the time to an error of 0.01 in inclusion probabilities.

A step is a jump or half a slot move: one update of the tableau, and the changes by all terms. The time to an
error is that of one chain, burn-in left out, times the square of its error over 0.01; the error is the root
mean square of the reported ones of the twelve most uncertain terms.
"""

import time

import numpy as np
import pandas as pd
import pytest

import pyrjsel as rj
from pyrjsel.model_space import Space
from pyrjsel.selection.evidence.gaussian import evidence_of
from pyrjsel.selection.samplers._walk import Walk


def make_rows(n, terms, seed=11):
    """Columns with correlations of 0.6 between neighbours, ten of which have modest effects."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n, terms))
    for j in range(1, terms):
        x[:, j] = 0.6 * x[:, j - 1] + 0.8 * x[:, j]
    effects = np.zeros(terms)
    sizes = [0.4, -0.35, 0.3, -0.25, 0.22, 0.2, -0.18, 0.16, 0.15, -0.13]
    effects[rng.choice(terms, 10, replace=False)] = sizes
    return x, x @ effects, rng


def linear_model(n, terms, prior):
    x, eta, rng = make_rows(n, terms)
    frame = pd.DataFrame(x).add_prefix("x")
    response = pd.Series(eta + rng.standard_normal(n), name="y")
    return rj.LinearSelection(response, frame, coef_prior=prior, model_prior=rj.Bernoulli(10 / terms))


PRIORS = {"g-prior": rj.GPrior("n"), "Zellner-Siow": rj.ZellnerSiow(), "normal": rj.Normal(1.0)}


@pytest.mark.parametrize("terms", [100, 200, 1000])
@pytest.mark.parametrize("prior", PRIORS)
def test_bench_steps(prior, terms, table):
    model = linear_model(max(500, 3 * terms // 2), terms, PRIORS[prior])
    walk = Walk(
        [evidence_of(model.regression)], Space(model.space), np.zeros((1, terms)), np.ones(1), slots=1.0
    )
    rng, times = np.random.default_rng(1), []
    walk.run(rng, 100, 1.0)
    for _ in range(5):
        before = walk.counts()[0]
        start = time.thread_time()
        walk.run(rng, 300, 1.0)
        spent = time.thread_time() - start
        steps = walk.counts()[0] - before
        times.append(spent / (steps[1, 0] + 2 * steps[0, 1]))
    group = f"walk, {terms} terms, {prior}"
    table.series(group, "a step", times, "µs", scale=1e6)
    table.series(group, "a step, by term", times, "ns", scale=1e9 / terms)


def time_to_error(model, draws, table, group, **options):
    spent = []
    for count in (1, draws):
        start = time.thread_time()
        found = model.fit(
            sampler="collapsed",
            draws=count,
            burn_in=200,
            chains=1,
            rng=1,
            n_jobs=1,
            progress=False,
            **options,
        )
        spent.append(time.thread_time() - start)
    inclusion = found.inclusion
    worst = np.argsort(np.abs(inclusion["posterior"].to_numpy() - 0.5))[:12]
    error = np.sqrt(np.mean(inclusion["mcse"].to_numpy()[worst] ** 2))
    table.add(group, "burn-in of 200 iterations", spent[0], "s")
    table.add(group, "time to an error of 0.01", (spent[1] - spent[0]) * (error / 0.01) ** 2, "s")
    return found


@pytest.mark.parametrize("prior", PRIORS)
def test_bench_linear(prior, table):
    time_to_error(linear_model(500, 200, PRIORS[prior]), 4000, table, f"collapsed, 200 terms, {prior}")


@pytest.mark.parametrize("prior", [rj.Normal(2.0), rj.GPrior("4n")], ids=str)
def test_bench_logit(prior, table):
    x, eta, rng = make_rows(2532, 83)
    y = pd.Series((rng.random(len(eta)) < 1 / (1 + np.exp(1.9 - eta))).astype(int), name="y")
    frame = pd.DataFrame(x).add_prefix("x")
    model = rj.LogitSelection(y, frame, coef_prior=prior, model_prior=rj.Bernoulli(0.5))
    group = f"collapsed, logistic, 83 terms, {prior}"
    found = time_to_error(model, 400, table, group)
    table.add(group, "walks accepted", found.diagnostics.loc["all", "acceptance_surrogate"], "")


def test_bench_cohort(cohort, table):
    model = rj.logit("mortality ~ .", cohort.data, costs=cohort.costs, budget=10, model_prior=rj.Uniform())
    found = time_to_error(model, 1000, table, "collapsed, cohort, 83 terms, budget 10")
    table.add("collapsed, cohort, 83 terms, budget 10", "models visited", len(found.posterior.gamma), "")

"""Pattern models: iterations of the samplers, and effective draws a second beside each other."""

import time

import numpy as np
import pandas as pd

from pyrjsel import PatternLogit, datasets
from pyrjsel._core._vecmath import softplus_total
from pyrjsel.patterns import Features, find_groups
from pyrjsel.patterns._closed import Extents
from pyrjsel.patterns.groups import PatternProblem
from pyrjsel.patterns.options import BURN_IN, choose
from pyrjsel.patterns.priors import PatternPrior
from pyrjsel.patterns.sampler import PatternDraws, PatternJob, diagnose

ARTICLE = 4000  # iterations
CASES = 500


def hidden_chain(order, family, compress=True):
    """The sequences of the article, their last symbol the response."""
    data = datasets.hmm_sequences(rng=1).data.iloc[:CASES]
    codes, classes = (
        np.unique(part, return_inverse=True)[1] for part in (data.iloc[:, :-1], data.iloc[:, -1])
    )
    codes = codes.reshape(CASES, -1)[:, -order:].astype(np.int32)
    names, levels = tuple(data.columns[-order - 1 : -1]), ((1, 2),) * order
    groups = find_groups(Features(codes, names, levels, "sequence", order), compress)
    return PatternProblem.of(groups, classes, 2, PatternPrior.of(order, family))


def timed(problem, sampler, iterations):
    """Processor seconds an iteration, and the draws after burn-in, none thinned out."""
    job = PatternJob(problem, choose(sampler, {}, PatternLogit.fit)[1], iterations, BURN_IN[sampler], 1)
    runner = job.start(np.random.SeedSequence(1), 0)
    runner.advance(job.burn_in)
    begin = time.thread_time()
    runner.advance(iterations)
    seconds = time.thread_time() - begin
    found = runner.finish(True)
    return seconds, PatternDraws(found.s[None], found.log_sigma[None], found.log_posterior[None])


def test_bench_samplers(table):
    for family in ("cauchy", "gaussian"):
        for order in (10, 20):
            problem = hidden_chain(order, family)
            group = f"patterns: HMM, order {order}, {family}, {problem.n_groups} groups"
            for sampler, iterations in (("slice", 2500), ("interweaving", 5000)):
                seconds, draws = timed(problem, sampler, iterations)
                target = 15.0 if (sampler, family, order) == ("slice", "cauchy", 20) else None
                whole = seconds / iterations * ARTICLE
                table.add(group, f"{sampler}: {ARTICLE:,} iterations", whole, "s", target=target)
                ess = diagnose(draws)["ess"] / seconds
                table.add(group, f"{sampler}: effective log sigma, least", ess.iloc[:-1].min(), "1/s")
                table.add(group, f"{sampler}: effective log sigma, median", ess.iloc[:-1].median(), "1/s")
                table.add(group, f"{sampler}: effective log posterior", ess.iloc[-1], "1/s")


def interactions(n, n_features, levels, order):
    """A problem of random features; most of its rows have one observation."""
    rng = np.random.default_rng(2)
    codes = rng.integers(levels, size=(n, n_features)).astype(np.int32)
    names = tuple(f"x{j}" for j in range(n_features))
    features = Features(codes, names, (tuple(range(levels)),) * n_features, "interactions", order)
    prior = PatternPrior.of(order, "cauchy")
    return PatternProblem.of(find_groups(features), rng.integers(2, size=n), 2, prior)


def test_bench_incidences(table, take_turns):
    """An incidence is a row of a group; the floor, five unweighted likelihoods of as many rows."""
    for name, problem in (
        ("HMM, order 20", hidden_chain(20, "cauchy")),
        ("2,000 x 8 ternary, order 3", interactions(2000, 8, 3, 3)),
        ("2,000 x 12 binary, order 3", interactions(2000, 12, 2, 3)),
    ):
        incidences, iterations = len(problem.rows), max(2, 400_000 // len(problem.rows))
        options = choose("interweaving", {}, PatternLogit.fit)[1]
        runner = PatternJob(problem, options, 1, 100_000, 1).start(np.random.SeedSequence(1), 0)
        runner.advance(20)
        x, repeats = np.random.default_rng(3).normal(size=1024), 5 * incidences * iterations // 1024
        makers = {
            "an iteration": lambda runner=runner, n=iterations: runner.advance(n),
            "floor": lambda x=x, n=repeats: [softplus_total(x) for _ in range(n)],
        }
        times = take_turns(makers, 5)
        group = f"patterns: {name}, {incidences / problem.n_groups:.0f} rows a group"
        for what, target in (
            ("an iteration", 11.0 if incidences > 10 * problem.n_groups else None),
            ("floor", None),
        ):
            scale = 1e9 / incidences / iterations
            table.series(group, f"{what}, an incidence", times[what], "ns", scale=scale, target=target)
        table.add(group, "an iteration / floor", times["an iteration"].min() / times["floor"].min(), "times")


def test_bench_groups(table, take_turns):
    """From data to groups: a long sequence, and interactions of many features."""
    rng = np.random.default_rng(1)
    symbols, classes = rng.integers(3, size=200_020), rng.integers(2, size=500)
    features = pd.DataFrame(rng.integers(3, size=(500, 20)))
    makers = {
        "200,000 histories of order 20": lambda: PatternLogit.from_sequence(symbols, 20),
        "20 features of 3 levels, 500 cases, order 4": lambda: PatternLogit(classes, features, order=4),
    }
    times = take_turns(makers, 3)
    for (what, make), target in zip(makers.items(), (5.0, 10.0), strict=True):
        model = make()
        note = f"{model.n_groups:,} groups of {model.n_patterns:,} patterns"
        table.series("patterns: compression", what, times[what], "s", target=target, note=note)


def over_all(features):
    """Groups as they are found over all observations."""
    extents = Extents(features.codes, features.order, True)
    while not extents.run():
        pass
    return extents.result()


def test_bench_distinct_rows(table, take_turns):
    """Many observations of few features: groups, and their problem, beside groups over all observations."""
    for n, p, levels, order, target in ((300_000, 10, 3, 2, 0.15), (1_000_000, 6, 2, 3, 0.04)):
        rng, least, names = np.random.default_rng(1), [], tuple("abcdefghij"[:p])
        for size in (n // 4, n):
            codes, classes = rng.integers(levels, size=(size, p)).astype(np.int32), rng.integers(2, size=size)
            features = Features(codes, names, (tuple(range(levels)),) * p, "interactions", order)
            makers = {
                "groups": lambda f=features: find_groups(f),
                "problem": lambda f=features, c=classes: PatternProblem.of(
                    find_groups(f), c, 2, PatternPrior.of(f.order, "cauchy")
                ),
                "over all": lambda f=features: over_all(f),
            }
            times = take_turns(makers, 3)
            least.append({what: times[what].min() for what in makers})
        small, large = least
        group = f"patterns: {n:,} x {p} columns of {levels} levels, order {order}"
        table.series(group, "groups and problem", times["problem"], "s", target=target)
        exponent = np.log(large["problem"] / small["problem"]) / np.log(4)
        table.add(group, "exponent in observations", exponent, "", target=1.05)
        table.add(
            group, "groups over all / distinct observations", large["over all"] / large["groups"], "times"
        )


def test_bench_compression(table):
    """The article took 1,287 and 2,844 seconds at order 20 in 2008."""
    for order in (5, 10, 20):
        problems = {compress: hidden_chain(order, "cauchy", compress) for compress in (True, False)}
        counts = " / ".join(f"{problem.n_groups}" for problem in problems.values())
        group = f"patterns: HMM, order {order}, cauchy, groups / patterns: {counts}"
        for sampler in ("slice", "interweaving"):
            seconds = {True: [], False: []}
            for _ in range(3):  # in turns
                for compress, problem in problems.items():
                    seconds[compress].append(timed(problem, sampler, 500)[0] / 500 * ARTICLE)
            for compress, times in seconds.items():
                what = f"{sampler}, {'compressed' if compress else 'not compressed'}: {ARTICLE:,} iterations"
                table.series(group, what, times, "s")
            ratio = min(seconds[False]) / min(seconds[True])
            table.add(group, f"{sampler}: not compressed / compressed", ratio, "times")

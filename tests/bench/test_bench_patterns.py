"""Pattern models: iterations of the samplers, and effective draws a second beside each other."""

import time

import numpy as np
import pandas as pd

from pyrjsel import PatternLogit, datasets
from pyrjsel.patterns import Features, find_groups
from pyrjsel.patterns.draws import PatternDraws
from pyrjsel.patterns.options import BURN_IN, choose
from pyrjsel.patterns.priors import PatternPrior
from pyrjsel.patterns.problem import PatternProblem
from pyrjsel.patterns.sampler import PatternJob, diagnose

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

"""The cost of splitting a sum, and of predicting the test cases of the hidden Markov chain at order 20."""

import time

import numpy as np
import pytest

import pyrjsel as rj

SPLITS = 100_000
# Time of the processor, which other work on the machine does not lengthen.
pytestmark = pytest.mark.benchmark(timer=time.process_time)


@pytest.mark.parametrize(("method", "rate"), [("inversion", 5e5), ("rejection", 2e6)])
def test_split_of_a_cauchy_sum(benchmark, method, rate):
    sums = 3 * np.random.default_rng(1).standard_cauchy(SPLITS)
    part, _ = benchmark(rj.split_cauchy, sums, 1.0, 0.3, rng=2, method=method)
    assert part.size == SPLITS
    assert SPLITS / benchmark.stats["min"] > rate


def test_prediction_of_5000_cases_with_250_draws(benchmark):
    hmm = rj.datasets.hmm_sequences(rng=1).data
    formula = "x21 ~ sequence(" + ", ".join(f"x{t}" for t in range(1, 21)) + ")"
    model = rj.pattern_logit(formula, hmm.iloc[:500])
    results = model.fit(draws=250, thin=1, chains=1, rng=1, progress=False)
    found = benchmark.pedantic(results.predict, (hmm.iloc[500:],), rounds=5)
    assert found.shape == (5000, 2)
    assert benchmark.stats["min"] < 2

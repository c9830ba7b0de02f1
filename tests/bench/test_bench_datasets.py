"""Reading the data sets and making a model of them."""

import pyrjsel as rj


def test_bench_load_pneumonia(benchmark):
    assert len(benchmark(rj.datasets.pneumonia).data) == 2532


def test_bench_make_model(benchmark, cohort):
    model = benchmark.pedantic(rj.logit, ("mortality ~ .", cohort.data), rounds=5, warmup_rounds=1)
    assert len(model.space.names) == 83

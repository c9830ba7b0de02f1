"""Timings of what every session does first."""

import subprocess
import sys

from pyrjsel import datasets


def test_bench_import(benchmark):
    command = [sys.executable, "-P", "-c", "import pyrjsel"]
    benchmark.pedantic(subprocess.run, args=[command], kwargs={"check": True}, rounds=5, warmup_rounds=1)


def test_bench_load_pneumonia(benchmark):
    assert len(benchmark(datasets.pneumonia).data) == 2532

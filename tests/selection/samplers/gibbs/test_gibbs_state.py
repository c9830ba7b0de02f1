"""States of Gibbs chains are plain data: written down and read back, a chain goes on to the same draws."""

import pickle
from dataclasses import fields, replace

import gibbs_kit
import numpy as np
import pytest
from scipy import sparse
from state_files import read, write

from pyrjsel.distributions import InverseGamma
from pyrjsel.selection.priors.coefficients import GPrior, Normal
from pyrjsel.selection.samplers.gibbs.sampler import GibbsChain
from pyrjsel.selection.samplers.recording.averages import Segments

SIZES, NAMES = (1, 2, 1, 1, 1), ["a", "b", "c", "a:c", "d"]
DRAWS, BURN_IN, THIN, EVERY = 60, 20, 3, 2
KINDS = {
    "g": (GPrior("n"), False),
    "scaled": (gibbs_kit.SPIKES["scaled"], False),
    "unscaled": (gibbs_kit.SPIKES["unscaled"], False),
    "classical": (gibbs_kit.SPIKES["unscaled"], True),
    "normal": (gibbs_kit.UNSCALED_NORMAL, False),
}


def make_job(linear_kit, kind):
    prior, classical = KINDS[kind]
    case = linear_kit.case(SIZES, prior, names=NAMES, sigma=InverseGamma(2.0, 1.0), heredity="strong")
    return gibbs_kit.job_of(
        case, classical=classical, swaps=2, draws=DRAWS, burn_in=BURN_IN, thin=THIN, every=EVERY, drawn=1
    )


def start(job, chain=1):
    return job.start(np.random.SeedSequence(5), chain)


def advance(runner, blocks):
    for n in blocks:
        runner.advance(n)
    return runner


def segments(found):
    kept = found.averages.kept
    return kept.sums, kept.first, kept.differences


def assert_same(found, want):
    for item in fields(want):
        one, other = getattr(found, item.name), getattr(want, item.name)
        if sparse.issparse(other):
            one, other = one.toarray(), other.toarray()
        if isinstance(other, Segments):
            for a, b in zip(segments(found), segments(want), strict=True):
                np.testing.assert_array_equal(a, b)
            continue
        if isinstance(other, dict):
            assert one.keys() == other.keys()
            for name, value in other.items():
                np.testing.assert_array_equal(one[name], value, strict=True)
            continue
        if other is None:
            assert one is None
            continue
        np.testing.assert_array_equal(one, other, strict=True)


@pytest.mark.parametrize("kind", KINDS)
def test_however_a_run_is_cut_into_blocks(linear_kit, kind):
    job = make_job(linear_kit, kind)
    whole = advance(start(job), [job.total]).finish(True)
    assert whole.index.size == DRAWS
    assert whole.coefficients.shape == (DRAWS // EVERY, 7)
    assert whole.nuisance["variance"].shape == (DRAWS // EVERY,)
    for blocks in ([1] * job.total, [7, 30, 1, 100, job.total - 138]):
        # Sums are added up block by block: the last digit may differ.
        cut = advance(start(job), blocks).finish(True)
        np.testing.assert_allclose(cut.sums, whole.sums, rtol=1e-12, atol=1e-13)
        for one, other in zip(segments(cut), segments(whole), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-13)
            one[...] = other
        cut.sums[:] = whole.sums
        assert_same(cut, whole)


@pytest.mark.parametrize("at", [5, 20, 21, 77])
@pytest.mark.parametrize("kind", KINDS)
def test_through_a_file(linear_kit, kind, at, tmp_path):
    job = make_job(linear_kit, kind)
    runner = advance(start(job), [at])
    write(tmp_path, runner.state())
    again = GibbsChain(
        pickle.loads(pickle.dumps(job)), read(tmp_path), pickle.loads(pickle.dumps(runner.collector))
    )
    rest = [30, job.total - at - 30]
    advance(runner, rest)
    advance(again, rest)
    assert_same(again.finish(True), runner.finish(True))
    one, other = runner.state(), again.state()
    assert one.bit_generator == other.bit_generator
    assert (one.values["variance"], one.done) == (other.values["variance"], other.done)
    np.testing.assert_array_equal(one.values["gamma"], other.values["gamma"])


def test_chains_start_apart(linear_kit):
    job = make_job(linear_kit, "scaled")
    assert not start(job, 0).state().values["gamma"].any()
    others = {bytes(job.start(np.random.SeedSequence(k), 1).state().values["gamma"]) for k in range(20)}
    assert len(others) > 3


def test_counts_begin_after_burn_in(linear_kit):
    job = make_job(linear_kit, "unscaled")
    runner = advance(start(job), [BURN_IN])
    assert not runner.counts().any()
    counts = advance(runner, [10]).counts()
    # Five free terms, two swaps and a block update an iteration.
    np.testing.assert_array_equal(counts[0], [50, 20, 10])
    assert np.all(counts[1] <= counts[0])
    assert counts[1, 0] > 0


def test_blocks_are_drawn_more_often_in_burn_in(linear_kit):
    case = linear_kit.case(SIZES, Normal(0.8), names=NAMES, heredity="strong")
    job = gibbs_kit.job_of(case, burn_in=20, draws=30, drawn=1)
    job = replace(job, setup=replace(job.setup, block_rates=(5, 2)))
    runner = job.start(np.random.SeedSequence(1), 0)
    runner.advance(19)
    assert runner.counts()[0, 2] == 5 * 19
    runner.advance(1)
    assert runner.counts()[0, 2] == 0
    runner.advance(7)
    assert runner.counts()[0, 2] == 2 * 7

"""Results of every kind, read by several threads at once, copied and pickled: the numbers of one thread."""

import copy
import importlib.util
import inspect
import os
import pickle
import sys
import threading
import time
import warnings
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from turns import every

import pyrjsel as rj
from pyrjsel._once import alone, kept_property, turn

_spec = importlib.util.spec_from_file_location("fits_in_threads", Path(__file__).parent / "fits.py")
fits = importlib.util.module_from_spec(_spec)
sys.modules[_spec.name] = fits  # functions of formulas are pickled by the name of their module
_spec.loader.exec_module(fits)

# Kinds of workspaces and priors that the fits of saved results do not have.
MORE = {
    "spikes enumerated": (
        fits.births,
        lambda d: rj.linear("lwt ~ age + smoke + ht", d, coef_prior=rj.SpikeSlab(0.1, 100)),
        fits.ENUMERATE,
    ),
    "wide spikes enumerated": (
        fits.births,
        lambda d: rj.linear("lwt ~ age + smoke + ht", d, coef_prior=rj.SpikeSlab(0.1, 100, scaled=False)),
        fits.ENUMERATE,
    ),
    "unscaled gibbs": (
        fits.births,
        lambda d: rj.linear("lwt ~ age + smoke + ht", d, coef_prior=rj.Normal(2.0, scaled=False)),
        {**fits.SHORT, "sampler": "gibbs"},
    ),
    "poisson population": (
        fits.births,
        lambda d: rj.poisson("ftv ~ age + smoke + lwt", d),
        {**fits.SHORT, "sampler": "population"},
    ),
}
KINDS = {**fits.FITS, **MORE}
# What takes more than the object itself: other members are tried with no arguments.
LEFT_OUT = {"extend", "update", "save"}


@cache
def made(name):
    """Return results of which nothing has been read, to be copied."""
    rows, model, options = KINDS[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rj.PyrjselWarning)
        return model(rows()).fit(**options)


def needs_nothing(method):
    kinds = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    parameters = inspect.signature(method).parameters.values()
    return all(item.default is not item.empty or item.kind in kinds for item in parameters)


def members(results, folder):
    """Return the public members of results by name, as functions of results."""
    found = {"repr": repr, "pickle": lambda results: repr(pickle.loads(pickle.dumps(results)))}
    found["save"] = lambda results: saved(results, folder)
    for name in dir(type(results)):
        if name.startswith("_") or name in LEFT_OUT:
            continue
        member = inspect.getattr_static(type(results), name)
        if inspect.isfunction(member):
            if needs_nothing(getattr(results, name)):
                found[name] = lambda results, name=name: getattr(results, name)()
        else:
            found[name] = lambda results, name=name: getattr(results, name)
    if hasattr(results, "get_prediction"):
        found["intervals"] = lambda results: results.get_prediction().summary_frame()
    return found


def saved(results, folder):
    path = folder / f"{threading.get_ident()}-{time.perf_counter_ns()}.rjs"
    results.save(path)
    try:
        return path.read_bytes()
    finally:
        path.unlink()


def drawn(axes):
    """Return what is on axes: the points of lines, marks and bars, and all text."""
    points = [line.get_xydata() for line in axes.lines]
    points += [np.asarray(each.get_offsets()) for each in axes.collections]
    points += [patch.get_path().vertices for patch in axes.patches]
    text = [axes.get_xlabel(), axes.get_ylabel(), axes.get_title(), *(each.get_text() for each in axes.texts)]
    return points, text


def plain(value):
    """Return a value as something that :func:`same` compares."""
    if isinstance(value, np.ndarray) and value.dtype.kind == "O":
        return [plain(item) for item in value.ravel()]
    if type(value).__module__.startswith("matplotlib"):
        return drawn(value)
    if type(value).__module__.startswith(("xarray", "arviz")):
        groups = ("posterior", "sample_stats", "observed_data")
        return {
            name: {key: each.values for key, each in value[name].items()} for name in groups if name in value
        }
    if hasattr(value, "as_text"):
        return value.as_text()
    return value


def read(member, results):
    """Return what a member gives, or the error of the package that it raises."""
    try:
        return plain(member(results))
    except rj.PyrjselError as error:
        return repr(error)


def same(one, other):
    """Whether two values are the same to the last bit."""
    if type(one) is not type(other):
        return False
    if isinstance(one, np.ndarray):
        return one.dtype == other.dtype and one.shape == other.shape and one.tobytes() == other.tobytes()
    if isinstance(one, pd.DataFrame):
        pd.testing.assert_frame_equal(one, other, check_exact=True)
        return True
    if isinstance(one, pd.Series):
        pd.testing.assert_series_equal(one, other, check_exact=True)
        return True
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, float):
        return one == other or (one != one and other != other)
    if hasattr(one, "__dict__") and type(one).__module__.startswith("pyrjsel"):
        return repr(one) == repr(other)
    return bool(one == other)


def close_figures():
    sys.modules["matplotlib.pyplot"].close("all")


def read_alone(results, found):
    values = {name: read(member, results) for name, member in found.items()}
    close_figures()
    return values


def read_by_threads(results, found, threads, seed):
    """Return what each thread gets of every member, read in orders of their own."""
    start, values, errors = threading.Barrier(threads), [{} for _ in range(threads)], []

    def work(number):
        order = np.random.default_rng([seed, number]).permutation(list(found))
        start.wait()
        for name in order:
            try:
                values[number][name] = read(found[name], results)
            except Exception as error:  # noqa: BLE001 - a thread has nobody to tell
                errors.append(f"{name}: {error!r}")

    workers = [threading.Thread(target=work, args=(number,)) for number in range(threads)]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
    finally:
        sys.setswitchinterval(interval)
        close_figures()
    assert not errors
    return values


def assert_threads_get_what_one_gets(name, rounds, folder):
    found = members(made(name), folder)
    wanted = read_alone(copy.deepcopy(made(name)), found)
    for seed in range(rounds):
        for values in read_by_threads(copy.deepcopy(made(name)), found, 4, seed):
            for member, value in values.items():
                assert same(value, wanted[member]), member


# One of each room, workspace and container; the long test has all.
SHORT = (
    "logit enumerated",
    "poisson population",
    "wide spikes enumerated",
    "kernel smc",
    "pattern gaps",
    "mixture arrays",
)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", every(4, SHORT))
def test_threads_that_read_one_result_get_what_one_thread_gets(name, tmp_path):
    assert_threads_get_what_one_gets(name, 1, tmp_path)


@pytest.mark.statistical
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", KINDS)
def test_threads_get_what_one_thread_gets_of_every_kind(name, tmp_path):
    """Five results of each of 21 kinds."""
    assert_threads_get_what_one_gets(name, 5, tmp_path)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", KINDS)
def test_results_can_be_copied_and_pickled_at_any_time(name):
    results = copy.deepcopy(made(name))
    before = pickle.loads(pickle.dumps(results))
    text = str(results.summary())
    results.predict() if hasattr(results, "predict") else results.get_prediction()
    for found in (before, pickle.loads(pickle.dumps(results)), copy.deepcopy(results), copy.copy(results)):
        assert str(found.summary()) == text
    again = pickle.loads(pickle.dumps(results.model)).fit(**KINDS[name][2])
    table = "inclusion" if hasattr(results, "inclusion") else "sigma"
    assert same(getattr(again, table), getattr(results, table))


class Slow:
    """Counts how often each of its members is worked out."""

    def __init__(self):
        self.made, self.inside, self.most = 0, 0, 0

    @kept_property
    def value(self):
        time.sleep(0.01)
        self.made += 1
        return object()

    @kept_property
    def fails(self):
        self.made += 1
        raise ValueError("not yet" if self.made < 3 else "never")

    @alone("workspace")
    def work(self, depth=1):
        self.inside += 1
        self.most = max(self.most, self.inside)
        time.sleep(0.001)
        if depth:
            self.work(depth - 1)
        self.inside -= 1


def in_threads(function, count=8):
    found = []
    workers = [threading.Thread(target=lambda: found.append(function())) for _ in range(count)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return found


def test_a_value_is_made_once_and_a_workspace_used_by_one_thread():
    slow = Slow()
    assert len(set(map(id, in_threads(lambda: slow.value)))) == 1
    assert slow.made == 1
    in_threads(slow.work)
    assert slow.most == 2  # a thread that is inside may enter again


def test_objects_do_not_wait_for_each_other():
    """What is kept may need what threads work out that look at the same kept property of other objects."""

    class Outer(Slow):
        @kept_property
        def value(self):
            return in_threads(lambda: Slow().value, 2) + in_threads(lambda: Inner().value, 2)

    class Inner(Outer):
        @kept_property
        def value(self):
            return 1

    found = []
    worker = threading.Thread(target=lambda: found.append(Outer().value), daemon=True)
    worker.start()
    worker.join(10)
    assert len(found[0]) == 4


def test_what_fails_is_tried_again_and_leaves_no_lock():
    slow = Slow()
    for _ in range(2):
        with pytest.raises(ValueError, match="not yet"):
            _ = slow.fails
    with pytest.raises(ValueError, match="never"):
        _ = slow.fails
    with turn(slow, "value"):
        assert pickle.loads(pickle.dumps(slow)).made == 3
    from pyrjsel import _once

    assert not _once._turns


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks")
@pytest.mark.filterwarnings("ignore")
def test_a_fork_does_not_wait_for_threads_that_it_does_not_have():
    slow = Slow()
    inside, leave = threading.Event(), threading.Event()

    def hold():
        with turn(slow, "value"):
            inside.set()
            leave.wait()

    worker = threading.Thread(target=hold)
    worker.start()
    inside.wait()
    child = os.fork()
    if not child:
        os._exit(0 if slow.value is not None else 1)
    for _ in range(500):
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            break
        time.sleep(0.01)
    else:
        os.kill(child, 9)
        os.waitpid(child, 0)
    leave.set()
    worker.join()
    assert done
    assert os.waitstatus_to_exitcode(status) == 0

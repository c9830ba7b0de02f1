"""Pipes, sockets and devices in place of files: refused at once, and left where they are."""

import os
import signal
import socket
import stat

import numpy as np
import pytest

import pyrjsel as rj
from pyrjsel.storage import Document, append, open_regular, read, read_all, write

pytestmark = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes")

DOCUMENT = Document("test", {"x": np.arange(3)})


@pytest.fixture(autouse=True)
def nothing_waits():
    """Fail a test that takes ten seconds: it waits for the other end of a pipe."""

    def stop(*_):
        raise AssertionError("the test waits")

    former = signal.signal(signal.SIGALRM, stop)
    signal.alarm(10)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, former)


@pytest.fixture(params=["pipe", "socket", "link to a pipe"])
def irregular(request, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # the names of sockets must be short
    path = tmp_path / "odd.rjs"
    if request.param == "socket":
        with socket.socket(socket.AF_UNIX) as made:
            made.bind("odd.rjs")
    elif request.param == "pipe":
        os.mkfifo(path)
    else:
        os.mkfifo(tmp_path / "pipe")
        path.symlink_to("pipe")
    before = os.stat(path)
    yield path
    after = os.stat(path)
    assert (before.st_ino, stat.S_IFMT(before.st_mode)) == (after.st_ino, stat.S_IFMT(after.st_mode))


def fitted(**options):
    births = rj.datasets.birthwt().data
    return rj.logit("low ~ lwt + smoke", births).fit(rng=1, **options)


def test_results_are_neither_saved_there_nor_loaded(irregular):
    with pytest.raises(
        rj.ParameterError, match="'path' parameter of save must be the path of a regular file"
    ):
        fitted().save(irregular)
    with pytest.raises(
        rj.ParameterError, match="'path' parameter of load must be the path of a regular file"
    ):
        rj.load(irregular)


def test_a_device_is_refused_before_it_is_opened():
    if os.name != "posix":
        pytest.skip("no /dev/zero")
    with pytest.raises(rj.ParameterError, match="regular file"):
        rj.load("/dev/zero")


def test_documents_are_neither_read_nor_written_there(irregular):
    with pytest.raises(rj.StoreError, match="not a regular file"):
        read(irregular)
    with pytest.raises(rj.StoreError, match="not a regular file"):
        next(read_all(irregular, 10))
    with pytest.raises(rj.StoreError, match="not a regular file"):
        write(irregular, DOCUMENT)
    for mode in ("rb", "ab"):
        with pytest.raises(rj.StoreError, match="not a regular file"):
            open_regular(irregular, mode)
    assert sorted(os.listdir(irregular.parent)) in (["odd.rjs"], ["odd.rjs", "pipe"])


def test_what_becomes_a_pipe_after_the_first_look_is_refused_too(tmp_path, monkeypatch):
    path = tmp_path / "odd.rjs"
    os.mkfifo(path)
    monkeypatch.setattr(os.path, "exists", lambda path: False)
    with pytest.raises(rj.StoreError, match="not a regular file"):
        open_regular(path, "rb")


def test_regular_files_are_appended_to(tmp_path):
    path = tmp_path / "draws"
    for _ in range(2):
        with open_regular(path, "ab") as file:
            append(file, DOCUMENT)
    found = list(read_all(path, path.stat().st_size))
    assert [document.content["x"].tolist() for document in found] == [[0, 1, 2], [0, 1, 2]]
    assert stat.S_IMODE(path.stat().st_mode) & 0o600 == 0o600


def test_a_checkpoint_is_not_begun_there(irregular):
    with pytest.raises(rj.StoreError, match="new folder or one that holds a checkpoint"):
        fitted(sampler="rjmcmc", draws=20, checkpoint=irregular)


@pytest.mark.filterwarnings("ignore::pyrjsel.ConvergenceWarning")
@pytest.mark.parametrize("name", ["checkpoint.rjs", "chains-0.draws", "chains-0.rjs"])
def test_a_checkpoint_with_a_pipe_in_it_is_refused(tmp_path, name):
    options = {"sampler": "rjmcmc", "draws": 20, "chains": 1, "checkpoint": tmp_path / "run"}
    fitted(**options)
    files = sorted(path.name for path in (tmp_path / "run").iterdir())
    kind = next(file for file in files if file.endswith(name.partition("-0")[2] or name))
    (tmp_path / "run" / kind).unlink()
    os.mkfifo(tmp_path / "run" / kind)
    with pytest.raises(rj.StoreError, match="not a regular file"):
        fitted(**options)

"""Checkpoints of the runtime: when they are written, what is damaged or in use, random numbers, workers."""

import errno
import os
import time
from pathlib import Path

import joblib
import numpy as np
import pytest
from interrupts import ctrl_c
from joblib.externals.loky import get_reusable_executor

from pyrjsel._errors import NotAvailableError, ParameterError, StoreError
from pyrjsel.runtime import Checkpoint, FitSettings, checkpoint, run_chains
from pyrjsel.storage import Document, create, read, write


class Walk:
    """A chain of normal steps, each of which may take a while."""

    def __init__(self, total=200, pause=0.0):
        self.total, self.pause = total, pause

    def start(self, seed, chain):
        return WalkRunner(self, np.random.Generator(np.random.PCG64(seed)))

    def resume(self, state, recorded, chain):
        rng = np.random.Generator(np.random.PCG64(0))
        rng.bit_generator.state = state.pcg64("rng")
        return WalkRunner(self, rng, state.number("place"), list(recorded.get("draws", [])))


class WalkRunner:
    def __init__(self, job, rng, place=0.0, draws=()):
        self.job, self.rng, self.place, self.draws = job, rng, place, list(draws)
        self.seen = len(self.draws)

    def advance(self, n):
        for _ in range(n):
            self.place += self.rng.standard_normal()
            self.draws.append(self.place)
            time.sleep(self.job.pause)

    def plain_state(self):
        return {"rng": self.rng.bit_generator.state, "place": self.place}

    def news(self):
        new, self.seen = np.array(self.draws[self.seen :]), len(self.draws)
        return {"draws": new} if new.size else {}

    def finish(self, completed):
        return self.draws


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "deep" / "run"


def run(folder, job=None, chains=2, rng=1, about=None, **options):
    place, generator = Checkpoint.open(folder, about or {"what": "a walk"}, rng)
    job = Walk() if job is None else job
    return run_chains(job, chains, generator, progress=False, checkpoint=place, label="walk", **options)


def plain_run(job=None, chains=2):
    return run_chains(Walk() if job is None else job, chains, np.random.default_rng(1), progress=False)


def break_off(monkeypatch, folder, at=50, **options):
    """Run up to a write of the second chain after iteration `at`, and no further."""
    save = checkpoint.ChainFile.save

    def saved(self, done, seconds, runner):
        save(self, done, seconds, runner)
        if done >= at and "1" in self._state.name:
            raise RuntimeError("crash")

    with monkeypatch.context() as patch:
        patch.setattr(checkpoint, "INTERVAL", 0.0)
        patch.setattr(checkpoint.ChainFile, "save", saved)
        with pytest.raises(RuntimeError, match="crash"):
            run(folder, n_jobs=1, **options)


def test_a_run_goes_on(monkeypatch, folder):
    break_off(monkeypatch, folder)
    parts = sorted(path.name for path in folder.iterdir())
    assert parts == ["checkpoint.rjs", "walk-0.draws", "walk-0.rjs", "walk-1.draws", "walk-1.rjs"]
    outcome = run(folder)
    assert outcome.results == plain_run().results
    assert outcome.iterations == [200, 200]
    assert outcome.completed


def test_what_a_crash_left_beyond_the_state_is_cut_off(monkeypatch, folder):
    """Draws are on the disk before the state that counts them."""
    break_off(monkeypatch, folder)
    with open(folder / "walk-1.draws", "ab") as file:
        file.write(b"\x40\0\0\0\0\0\0\0half a part")
    for _ in range(2):  # the second reads what the first has appended
        assert run(folder).results == plain_run().results
    (folder / "walk-1.rjs").unlink()  # a crash before the first state: the chain begins again
    assert run(folder).results == plain_run().results


def test_chains_are_written_at_least_every_ten_seconds():
    """A block takes 0.2 s at most; a write is due after the interval."""
    assert checkpoint.INTERVAL + 1.0 < 10.0


def test_writes_come_at_intervals_and_at_the_end(monkeypatch, folder):
    times, save = [], checkpoint.ChainFile.save

    def saved(self, done, spent, runner):
        times.append((done, spent.clock))
        save(self, done, spent, runner)

    monkeypatch.setattr(checkpoint, "INTERVAL", 0.3)
    monkeypatch.setattr(checkpoint.ChainFile, "save", saved)
    run(folder, Walk(200, 0.005), chains=1)
    assert [done for done, _ in times][-1] == 200
    gaps = np.diff([0.0, *(seconds for _, seconds in times)])
    # 200 iterations sleep for a second. A chain's clock starts a little after that of its file.
    assert 2 <= len(times) <= 2 + times[-1][1] / 0.25
    assert (gaps[:-1] >= 0.25).all()


def test_an_interrupted_run_goes_on(monkeypatch, folder):
    """The first Ctrl-C has each chain write down where it is."""
    advance = WalkRunner.advance

    def interrupted(self, n):
        advance(self, n)
        if len(self.draws) > 60:
            ctrl_c()

    with monkeypatch.context() as patch:
        patch.setattr(WalkRunner, "advance", interrupted)
        part = run(folder, n_jobs=1, chains=1)
    assert not part.completed
    whole = run(folder, chains=1)
    assert whole.completed
    assert whole.results[0][: len(part.results[0])] == part.results[0]
    assert whole.results == plain_run(chains=1).results


def test_processes_write_for_themselves(monkeypatch, folder):
    break_off(monkeypatch, folder)
    with joblib.parallel_config(backend="loky"):
        outcome = run(folder, n_jobs=2)
    get_reusable_executor().shutdown(wait=True)
    assert outcome.results == plain_run().results


def test_two_runs_at_once_are_refused(monkeypatch, folder):
    advance, met = WalkRunner.advance, []

    def meeting(self, n):
        advance(self, n)
        if not met:
            met.append(True)
            with pytest.raises(StoreError, match="is in use by another run"):
                run(folder, chains=1)

    monkeypatch.setattr(WalkRunner, "advance", meeting)
    monkeypatch.setattr("pyrjsel.runtime.resources.PATIENCE", 0.1)
    assert run(folder, chains=1).results == plain_run(chains=1).results
    assert met


@pytest.mark.parametrize("number", [errno.ENOLCK, errno.EOPNOTSUPP])
def test_a_file_system_without_locks_is_named(monkeypatch, folder, number):
    fcntl = pytest.importorskip("fcntl")
    files = []

    def flock(file, how):
        files.append(file)
        raise OSError(number, os.strerror(number))

    with monkeypatch.context() as patch:
        patch.setattr(fcntl, "flock", flock)
        with pytest.raises(StoreError, match=rf"run' cannot be locked: .*{os.strerror(number)}"):
            run(folder, chains=1)
    assert [file.closed for file in files] == [True]
    assert run(folder, chains=1).completed


def test_jobs_that_cannot_go_on_are_refused(folder):
    class Bare:
        total = 5

        def start(self, seed, chain):
            raise AssertionError

    with pytest.raises(NotAvailableError, match="chains of 'walk' cannot be resumed: leave out 'checkpoint'"):
        run(folder, Bare())
    assert not folder.exists()


# ---------------------------------------------------------------------- what is there


@pytest.mark.parametrize("name", ["checkpoint.rjs", "walk-1.rjs", "walk-1.draws"])
@pytest.mark.parametrize("keep", [0, 0.5, 0.99])
def test_damaged_files_are_refused(folder, name, keep):
    run(folder)
    data = (folder / name).read_bytes()
    (folder / name).write_bytes(data[: int(keep * len(data))])
    with pytest.raises(StoreError, match=rf"{name}' cannot be read"):
        run(folder)


def test_states_that_do_not_fit_are_refused(folder):
    run(folder)
    document = read(folder / "walk-1.rjs")
    for key, value in [("done", 201), ("done", -1), ("state", None), ("size", 10**9), ("seconds", "x")]:
        write(folder / "walk-1.rjs", Document(document.kind, {**document.content, key: value}))
        with pytest.raises(StoreError):
            run(folder)


@pytest.mark.parametrize("links", [True, False])
@pytest.mark.parametrize("other", [{"about": {"what": "a hike"}}, {"rng": 2}, {}])
def test_runs_that_begin_at_once_do_not_mix(monkeypatch, folder, links, other):
    """The second one has seen an empty folder before the first one runs to its end."""

    def unlinked(*_):
        raise PermissionError("no links")

    if not links:
        monkeypatch.setattr("os.link", unlinked)
    begin, first = Checkpoint.begin, []

    def overtaken(self):
        monkeypatch.setattr(Checkpoint, "begin", begin)
        first.append(run(folder))
        begin(self)

    monkeypatch.setattr(Checkpoint, "begin", overtaken)
    if not other:
        assert run(folder).results == first[0].results
        return
    with pytest.raises(StoreError, match=r"belongs to another run: (what was|its random numbers)"):
        run(folder, **other)
    assert run(folder).results == first[0].results


def test_of_several_only_one_makes_a_file(monkeypatch, tmp_path):
    """What appears in the last moment is left as it is, with links and without."""
    path, link = tmp_path / "checkpoint.rjs", os.link

    def late(*names, **how):
        path.write_bytes(b"of another")
        link(*names, **how)

    def without(*names, **how):
        path.write_bytes(b"of another")
        raise OSError("no links")

    for made in (late, without):
        monkeypatch.setattr("os.link", made)
        assert not create(path, Document("test", None))
        assert path.read_bytes() == b"of another"
        assert list(tmp_path.iterdir()) == [path]
        path.unlink()


def test_states_of_another_run_are_refused(folder):
    """Whoever has put them there."""
    run(folder)
    run(folder.with_name("other"), rng=2)
    (folder.with_name("other") / "walk-1.rjs").replace(folder / "walk-1.rjs")
    with pytest.raises(StoreError, match=r"walk-1\.rjs' belongs to another run"):
        run(folder)


def test_other_folders_are_left_alone(tmp_path):
    (tmp_path / "data.csv").write_text("y,x")
    with pytest.raises(StoreError, match="must be a new folder or one that holds a checkpoint"):
        run(tmp_path)
    with pytest.raises(StoreError, match="must be a new folder or one that holds a checkpoint"):
        run(tmp_path / "data.csv")
    (tmp_path / "empty").mkdir()
    assert run(tmp_path / "empty").completed
    for wrong in (3, "", b"", b"a", True, "a\0b", "a\ud800b"):
        with pytest.raises(ParameterError, match="'checkpoint' parameter of open must be None or the path"):
            run(wrong)


def test_a_crash_before_the_first_file_is_whole(monkeypatch, folder):
    def die(*_):
        raise SystemExit

    with monkeypatch.context() as patch:
        patch.setattr("os.link", die)
        patch.setattr(Path, "unlink", lambda *_, **__: None)
        with pytest.raises(SystemExit):
            run(folder)
    assert len(list(folder.iterdir())) == 1
    assert run(folder).results == plain_run().results


def test_other_versions_are_refused(folder):
    run(folder)
    document = read(folder / "checkpoint.rjs")
    write(folder / "checkpoint.rjs", Document("checkpoint", document.content, "99.0"))
    with pytest.raises(StoreError, match=r"was written by version 99.0 .*This is version"):
        run(folder)
    write(folder / "checkpoint.rjs", Document("selection results", document.content))
    with pytest.raises(StoreError, match="holds a 'selection results' file, not a checkpoint"):
        run(folder)


def test_what_differs_is_named(folder):
    long = "x" * 100
    run(folder, about={"a": 1, "b": "text", "c": np.arange(3), "d": long})
    run(folder, about={"a": 1, "b": "text", "c": np.arange(3), "d": long})
    with pytest.raises(StoreError) as caught:
        run(folder, about={"a": 2, "b": "other", "c": np.arange(4), "e": None})
    reason = (
        "a was 1 and is 2, b was 'text' and is 'other', c differs, e was not given and is None, d differs"
    )
    assert f"belongs to another run: {reason}. Give another folder, or delete this one." in str(caught.value)


BITS = [np.random.PCG64, np.random.PCG64DXSM, np.random.MT19937, np.random.Philox, np.random.SFC64]


@pytest.mark.parametrize("bits", BITS)
def test_random_numbers_are_kept_whatever_makes_them(folder, bits):
    def generator():
        made = np.random.Generator(bits(np.random.SeedSequence([1, 2**70], spawn_key=(3,))))
        made.standard_normal(3)
        made.integers(9, dtype=np.int32)
        made.bit_generator.seed_seq.spawn(2)
        return made

    first, wanted = run(folder, rng=generator()), generator()
    _, found = Checkpoint.open(folder, {"what": "a walk"}, None)
    assert type(found.bit_generator) is bits
    assert found.integers(2**32, size=5, dtype=np.uint32).tolist() == (
        wanted.integers(2**32, size=5, dtype=np.uint32).tolist()
    )
    assert run(folder, rng=None).results == first.results
    assert run(folder, rng=generator()).results == first.results
    with pytest.raises(StoreError, match="its random numbers had another seed"):
        run(folder, rng=found)


def test_random_numbers_that_cannot_be_kept_are_refused(folder):
    class Odd(np.random.bit_generator.ISpawnableSeedSequence):
        def generate_state(self, n_words, dtype=np.uint32):
            return np.arange(n_words, dtype=dtype)

        def spawn(self, n_children):
            return [Odd() for _ in range(n_children)]

    with pytest.raises(ParameterError, match="'rng' parameter of open must be None, an int, a SeedSequence"):
        run(folder, rng=np.random.Generator(np.random.PCG64(Odd())))


def test_settings_are_part_of_what_a_run_is(folder):
    def settings(**changed):
        given = {
            "draws": 10,
            "burn_in": None,
            "thin": 1,
            "chains": 2,
            "rng": 3,
            "n_jobs": 1,
            "progress": False,
        }
        return FitSettings.check(**{**given, **changed}, checkpoint=folder, about={"what": "a walk"})

    def size(result):
        return len(result)

    assert settings().run(Walk(12), "walk", size).draws == 12
    assert settings(n_jobs=2).run(Walk(12), "walk", size).draws == 12
    with pytest.raises(StoreError, match="draws was 10 and is 11, burn_in was '2 or more' and is 3"):
        settings(draws=11, burn_in=3)

"""Checkpoints: chains save their states and draws, and a killed run can be resumed.

A checkpoint is a folder of files in the format of :mod:`pyrjsel.storage`. ``checkpoint.rjs`` identifies
the run and holds the state of its random numbers. Each chain has a file with its state, which is replaced as
a whole, and a file of draws, to which new ones are appended, each part preceded by its length (uint64,
little-endian); the state records how many bytes of draws belong to it, and anything that a crash has left
beyond them is cut off. Chains write their own files, wherever they run, and their states contain a digest of
the run: if two runs start at once in a new folder, one creates ``checkpoint.rjs``, and the other is refused
unless it is the same run.
"""

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import BinaryIO, Protocol

import numpy as np

from pyrjsel._called import called
from pyrjsel._errors import StoreError
from pyrjsel._typing import RNGLike, SeedLike
from pyrjsel._validate import bad_value, check_path, check_rng, listed, show
from pyrjsel._version import __version__
from pyrjsel.runtime.chain_ends import ChainEnd
from pyrjsel.runtime.resources import RunTime, lock
from pyrjsel.storage import (
    Content,
    Document,
    Plain,
    append,
    create,
    digest,
    is_left_over,
    open_regular,
    plain,
    read,
    read_all,
    write,
)

RUN, CHAIN, DRAWS = "checkpoint", "state of a chain", "draws of a chain"
# Seconds between two saves of a chain, each of which takes some hundredths of a second.
INTERVAL = 8.0
# Longer descriptions are stored and compared as digests.
SHOWN = 80
# Words of the pool of a SeedSequence; four unless a user chooses more.
LARGEST_POOL = 2**16


@dataclass(frozen=True)
class Checkpoint:
    """The folder in which the chains of one run save their states.

    Attributes
    ----------
    folder : Path
    about : dict of str to str
        Description of the run: short values as they are, others as digests.
    generator : plain data
        State of the random numbers at the start of the run.
    clock : float
        Wall-clock seconds that the run took before, in calls that were killed.
    begun : float
        Time of day at which this call began: chains may write on other machines.
    """

    folder: Path
    about: Mapping[str, str]
    generator: Plain
    clock: float = 0.0
    begun: float = field(default_factory=time.time)

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        about: Mapping[str, Plain],
        rng: RNGLike | SeedLike | None,
    ) -> tuple["Checkpoint", np.random.Generator]:
        """Return a checkpoint and the random numbers of its run: the existing one, if there is one.

        Parameters
        ----------
        path : str or path-like
            A folder; nothing is written before the chains run.
        about : mapping of str to plain data
            Everything that the draws depend on, by names that users understand: model, data, priors,
            settings.
        rng : None, int, SeedSequence or Generator
            As for ``fit``; None takes that of the existing run.

        Raises
        ------
        ParameterError
            If `path` is not a path, or the state of `rng` cannot be saved.
        StoreError
            If the folder holds another run's checkpoint, or something else.
        """
        folder = Path(check_path(path, "checkpoint", "None or the path of a folder"))
        words = {name: _worded(value) for name, value in about.items()}
        if not folder.exists() or _is_new(folder):
            generator = check_rng(rng)
            return cls(folder, words, _generator_state(generator)), generator
        if not (folder / f"{RUN}.rjs").exists():
            raise StoreError(
                f"The 'checkpoint' parameter of {called()} must be a new folder or one that holds a "
                f"checkpoint. {os.fspath(folder)!r} holds something else."
            )
        there = cls._there(folder)
        generator = _generator(there.generator, folder) if rng is None else check_rng(rng)
        there._compare(cls(folder, words, _generator_state(generator)))
        return replace(there, clock=there._spent()), generator

    @classmethod
    def _there(cls, folder: Path) -> "Checkpoint":
        document = read(folder / f"{RUN}.rjs")
        if document.kind != RUN:
            raise StoreError(f"{os.fspath(folder)!r} holds a {document.kind!r} file, not a checkpoint.")
        if document.version != __version__:
            raise StoreError(
                f"The checkpoint {os.fspath(folder)!r} was written by version {document.version} of the "
                f"package. This is version {__version__}, whose draws may differ."
            )
        content = Content(document.content, f"the checkpoint {os.fspath(folder)!r}")
        about = {key: str(value) for key, value in content.part("about").items()}
        return cls(folder, about, content.plain("generator"))

    def _spent(self) -> float:
        """Return the largest run time, in wall-clock seconds, of the chains that have saved their states."""
        files = (file for file in self.folder.glob("*.rjs") if file.name != f"{RUN}.rjs")
        contents = (Content(read(file).content, f"the state {os.fspath(file)!r}") for file in files)
        return max((content.number("clock", 0.0) for content in contents), default=0.0)

    def _compare(self, run: "Checkpoint") -> None:
        """Raise if `run` is not the run of this checkpoint."""
        different = []
        for name in dict.fromkeys([*run.about, *self.about]):
            now, then = run.about.get(name, "not given"), self.about.get(name, "not given")
            if now != then:
                known = not any(value.startswith("digest ") for value in (now, then))
                different.append(f"{name} was {then} and is {now}" if known else f"{name} differs")
        if not different and digest(run.generator) != digest(self.generator):
            different = ["its random numbers had another seed. Give the same 'rng', or None"]
        if different:
            raise StoreError(
                f"The 'checkpoint' of {called()}, {os.fspath(self.folder)!r}, belongs to another run: "
                f"{listed(different)}. Give another folder, or delete this one."
            )

    def begin(self) -> None:
        """Create the folder and the file that identifies the run.

        Raises
        ------
        StoreError
            If another run has started there meanwhile.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        content = {"about": dict(self.about), "generator": self.generator, "numpy": np.__version__}
        file = self.folder / f"{RUN}.rjs"
        if file.exists() or not create(file, Document(RUN, content)):
            self._there(self.folder)._compare(self)

    def chain(self, label: str, chain: int) -> "ChainFile":
        """Return the files of one chain of a job."""
        run = digest({"about": dict(self.about), "generator": self.generator})
        return ChainFile(self.folder, f"{label}-{chain}", run, self.begun - self.clock)

    def planned(self, label: str, chains: int) -> int:
        """Return the iterations of a chain in the last round of a job of which a state was saved, or 0.

        Raises
        ------
        StoreError
            If a file is damaged, or belongs to another run.
        """
        return max(self.chain(label, chain).planned() for chain in range(chains))


class Recording(Protocol):
    """A chain, seen from its checkpoint files; see :class:`pyrjsel.runtime.ResumableRunner`."""

    def plain_state(self) -> Plain:
        """Return the state."""

    def news(self) -> dict[str, np.ndarray]:
        """Return the values recorded since the last call."""


class ChainFile:
    """The state of one chain and its draws; a context manager that locks out other processes.

    Parameters
    ----------
    folder : Path
    name : str
    run : str
        Digest of the run.
    begun : float
        Time of day at which the run began, as if it had never stopped.

    Attributes
    ----------
    total : int
        Iterations for which the chain is planned, to be set before it is saved.
    """

    total = 0

    def __init__(self, folder: Path, name: str, run: str, begun: float) -> None:
        self._run, self._begun = run, begun
        self._state, self._draws = folder / f"{name}.rjs", folder / f"{name}.draws"
        self._written: float
        self._file: BinaryIO

    def __enter__(self) -> "ChainFile":
        self._file = open_regular(self._draws, "ab")
        try:
            lock(self._file)
        except OSError as error:
            self._file.close()
            reason = (
                "is in use by another run"
                if isinstance(error, BlockingIOError)
                else f"cannot be locked: {error}. Choose a folder on another file system"
            )
            raise StoreError(f"The checkpoint {os.fspath(self._draws.parent)!r} {reason}.") from error
        self._written = time.perf_counter()
        return self

    def __exit__(self, *raised: object) -> None:
        self._file.close()

    def load(self, earlier: ChainEnd | None = None) -> ChainEnd | None:
        """Return the chain at its last save, with everything it had recorded.

        Parameters
        ----------
        earlier : ChainEnd, optional
            The state from which it had started, if it extended an earlier run.

        Returns
        -------
        ChainEnd or None
            `earlier` if nothing has been saved yet.

        Raises
        ------
        StoreError
            If a file is damaged, or belongs to another run.
        """
        if not self._state.exists():
            self._file.truncate(0)
            return earlier
        content = self._content()
        size = content.integer("size")
        parts = {} if earlier is None else {name: [array] for name, array in earlier.recorded.items()}
        for document in read_all(self._draws, size):
            for name, array in Content(document.content, "the draws").items():
                parts.setdefault(name, []).append(np.asarray(array))
        try:
            recorded = {name: np.concatenate(arrays) for name, arrays in parts.items()}
        except ValueError as error:
            raise StoreError(f"The draws in {os.fspath(self._draws)!r} are inconsistent.") from error
        self._file.truncate(size)
        seconds, cpu = content.number("seconds", 0.0), content.number("cpu", 0.0)
        return ChainEnd(content.integer("done"), seconds, content.plain("state"), recorded, cpu)

    def planned(self) -> int:
        """Return the iterations for which the chain was planned when it saved its state, 0 if it has not.

        Raises
        ------
        StoreError
            If the file is damaged, or belongs to another run.
        """
        return self._content().integer("total") if self._state.exists() else 0

    def _content(self) -> Content:
        content = Content(read(self._state).content, f"the state {os.fspath(self._state)!r}")
        if content.text("run") != self._run:
            raise StoreError(f"The state {os.fspath(self._state)!r} belongs to another run.")
        return content

    def due(self) -> bool:
        """Whether it is time for another save."""
        return time.perf_counter() - self._written >= INTERVAL

    def save(self, done: int, spent: RunTime, runner: Recording) -> None:
        """Append the values that a chain has recorded since the last save, and replace its state.

        `spent` is the run time of the chain alone.

        Raises
        ------
        OSError
            If the disk is full, or a file cannot be written.
        """
        state, recorded = runner.plain_state(), runner.news()
        if recorded:
            append(self._file, Document(DRAWS, dict(recorded)))
        content = {
            "run": self._run,
            "done": done,
            "total": self.total,
            "seconds": spent.clock,
            "cpu": spent.cpu,
            "clock": max(0.0, time.time() - self._begun),
            "size": self._file.seek(0, os.SEEK_END),
            "state": state,
        }
        write(self._state, Document(CHAIN, content))
        self._written = time.perf_counter()


def _is_new(folder: Path) -> bool:
    """Whether a folder is empty, except for an incomplete file left by a crash."""
    return folder.is_dir() and all(is_left_over(file.name) for file in folder.iterdir())


def _worded(value: Plain) -> str:
    """Return a description as a short text, or as a digest."""
    text = repr(value) if value is None or isinstance(value, (str, int, float)) else ""
    return (
        text
        if 0 < len(text) <= SHOWN and not text.startswith("digest ")
        else f"digest {digest(plain(value))}"
    )


def _generator_state(generator: np.random.Generator) -> Plain:
    """Return everything that determines the numbers of a generator and of its children."""
    bits = generator.bit_generator
    seed = bits.seed_seq
    if not isinstance(seed, np.random.SeedSequence) or seed.entropy is None:
        raise bad_value("rng", "None, an int, a SeedSequence or a Generator made from one", generator)
    return {
        "name": type(bits).__name__,
        "state": plain(bits.state),
        "entropy": seed.entropy if isinstance(seed.entropy, int) else [int(part) for part in seed.entropy],
        "spawn_key": [int(part) for part in seed.spawn_key],
        "pool_size": seed.pool_size,
        "spawned": seed.n_children_spawned,
    }


def _generator(state: Plain, folder: Path) -> np.random.Generator:
    """Return the generator with a given state."""
    content = Content(state, "the state of the random numbers")
    name = content.text("name", ("PCG64", "PCG64DXSM", "MT19937", "Philox", "SFC64"))
    try:
        seed = np.random.SeedSequence(
            content.plain("entropy"),
            spawn_key=content.sequence("spawn_key", (int,)),
            pool_size=content.integer("pool_size", high=LARGEST_POOL),
            n_children_spawned=content.integer("spawned"),
        )
        bits = getattr(np.random, name)(seed)
        bits.state = content.plain("state")
    except (TypeError, ValueError, KeyError, OverflowError) as error:
        raise StoreError(
            f"The state of the random numbers in {os.fspath(folder)!r} cannot be read: {show(state)}."
        ) from error
    return np.random.Generator(bits)

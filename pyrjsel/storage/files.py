"""Reading and writing of files: an archive with a header and arrays, written completely or not at all."""

import errno
import gc
import io
import math
import os
import re
import secrets
import stat
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.lib import format as npy

from pyrjsel._errors import StoreError
from pyrjsel._version import __version__
from pyrjsel.storage.plain import DTYPES, MOST_PARTS, Plain, count_parts, decode, dump, encode, parse

FORMAT = "pyrjsel"
# Version of the layout of all kinds of files.
SCHEMA = 1
HEADER = "header.json"
# Largest header in bytes. Parsed, it takes some 20 times as much memory in the worst case.
LARGEST_HEADER = 2**24
# Largest table of contents of the archive in bytes; it takes some 10 times as much memory.
LARGEST_TABLE = 2**23
# Prefix of the names of incomplete files; short, since the name of the complete file may be long.
LEFT_OVER = ".rjs-"
# All members have the earliest time that the format allows: the same content gives the same file.
EPOCH = (1980, 1, 1, 0, 0, 0)
# Start of a member: numpy's header of a plain array, version 1.0 of its format.
ARRAY = re.compile(
    rb"\{'descr': '([|<][biuf][1248])', 'fortran_order': False, 'shape': \(((?:\d{1,18},? ?){0,32})\), \} *\n"
)
# The last record of the archive, which holds the size of its table of contents. Archives of 4 GB and more
# have another such record before it.
LAST = struct.Struct("<4s4HLLH")
LAST_LARGE = struct.Struct("<4sQ2H2L4Q")
LOCATOR = struct.Struct("<4sLQL")
# Errors that zipfile raises for a broken archive; OSError for seeking before the start of the file.
BROKEN = (
    zipfile.BadZipFile, zlib.error, struct.error, NotImplementedError, RuntimeError, ValueError, KeyError,
    IndexError, OverflowError, EOFError, OSError,
)  # fmt: skip


@dataclass(frozen=True)
class Document:
    """The kind and content of a file.

    Attributes
    ----------
    kind : str
    content : plain data
    version : str
        Version of the package that wrote it.
    """

    kind: str
    content: Plain
    version: str = __version__


def write(path: str | os.PathLike[str], document: Document) -> None:
    """Write a document to a file, replacing one that exists.

    Raises
    ------
    OSError
        If it cannot be written; an existing file is then unchanged.
    """
    replace(path, to_bytes(document))


def create(path: str | os.PathLike[str], document: Document) -> bool:
    """Write a document to a file unless it exists; of several concurrent calls only one writes.

    Returns
    -------
    bool
        Whether it was written.

    Raises
    ------
    OSError
        If it cannot be written.
    """
    target, data = Path(path), to_bytes(document)
    with _aside(target, lambda file: file.write(data)) as aside:
        try:
            os.link(aside, target)
        except FileExistsError:
            return False
        except OSError:  # a file system without links: whoever makes the empty file replaces it
            try:
                open(target, "xb").close()
            except FileExistsError:
                return False
            os.replace(aside, target)
    sync_folder(target.parent)
    return True


def replace(path: str | os.PathLike[str], data: bytes | memoryview) -> None:
    """Write `data` to a path and to the disk; see :func:`replace_by`."""
    replace_by(path, lambda file: file.write(data))


def replace_by(path: str | os.PathLike[str], write: Callable[[BinaryIO], object]) -> None:
    """Write what `write` writes to a file to a path and to the disk.

    After a crash, or an error of `write`, the file at the path is either unchanged or complete. A link is
    followed and its target replaced; the file's permissions are kept.

    Raises
    ------
    StoreError
        If the path exists and is not a regular file, but a pipe or a device, say.
    OSError
        If it cannot be written.
    """
    target = Path(os.path.realpath(path))
    try:
        found = target.stat().st_mode
        mode = stat.S_IMODE(found)
    except FileNotFoundError:
        found, mode = stat.S_IFREG, None
    if not stat.S_ISREG(found):
        raise _irregular(target)
    with _aside(target, write, mode) as aside:
        os.replace(aside, target)
    sync_folder(target.parent)


@contextmanager
def _aside(target: Path, write: Callable[[BinaryIO], object], mode: int | None = None) -> Iterator[Path]:
    """Write to a temporary file beside `target`, which is removed in the end.

    It gets the permissions `mode` once complete, and is private until then; None is the system's default.
    """
    aside = target.with_name(f"{LEFT_OVER}{secrets.token_hex(4)}")
    private = None if mode is None else partial(os.open, mode=0o600)
    try:
        with open(aside, "xb", opener=private) as file:
            write(file)
            if mode is not None:
                with suppress(PermissionError):  # a file system without permissions
                    os.chmod(aside, mode)
            file.flush()
            os.fsync(file.fileno())
        yield aside
    except OSError as error:
        if error.filename not in (aside, os.fspath(aside)):
            raise
        # Raised for the path that was given; OSError picks the subclass for the error number.
        raise OSError(error.errno, error.strerror, os.fspath(target)) from error
    finally:
        aside.unlink(missing_ok=True)


def open_regular(path: str | os.PathLike[str], mode: str) -> BinaryIO:
    """Open a file without blocking on a pipe.

    Raises
    ------
    StoreError
        If it is not a regular file.
    OSError
        If it cannot be opened.
    """
    if os.path.exists(path) and not os.path.isfile(path):
        raise _irregular(path)

    def opened(name: str, flags: int) -> int:
        handle = os.open(name, flags | getattr(os, "O_NONBLOCK", 0), 0o666)
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            os.close(handle)
            raise _irregular(path)
        return handle

    return open(path, mode, opener=opened)  # type: ignore[return-value]


def _irregular(path: str | os.PathLike[str]) -> StoreError:
    return StoreError(f"{os.fspath(path)!r} is not a regular file, but may be a pipe, a device or a folder.")


def is_left_over(name: str) -> bool:
    """Whether a file name is that of an incomplete file left by a crash."""
    return re.fullmatch(re.escape(LEFT_OVER) + "[0-9a-f]{8}", name) is not None


def sync_folder(folder: Path) -> None:
    """Flush the file names of a folder to the disk; systems that cannot open a folder do so themselves."""
    if os.name == "posix":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def append(file: BinaryIO, document: Document) -> None:
    """Write a document to an open file, preceded by its length, and flush it to the disk."""
    data = to_bytes(document)
    file.write(struct.pack("<Q", len(data)))
    file.write(data)
    file.flush()
    os.fsync(file.fileno())


def to_bytes(document: Document) -> memoryview:
    """Return a document as the bytes of a file."""
    arrays: list[np.ndarray] = []
    content = encode(document.content, arrays)
    header = dump(
        {
            "format": FORMAT,
            "schema": SCHEMA,
            "kind": document.kind,
            "version": document.version,
            "content": content,
        }
    )
    if len(header) > LARGEST_HEADER or count_parts(header) > MOST_PARTS:
        raise StoreError(
            f"A {document.kind} file cannot be written: its header would be over 16 MB, or have too many "
            "parts."
        )
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr(zipfile.ZipInfo(HEADER, EPOCH), header)
        for number, array in enumerate(arrays):
            with archive.open(zipfile.ZipInfo(f"{number}.npy", EPOCH), "w", force_zip64=True) as member:
                npy.write_array(member, array, version=(1, 0), allow_pickle=False)
    return out.getbuffer()


def read(path: str | os.PathLike[str]) -> Document:
    """Return the document in a file.

    Raises
    ------
    StoreError
        If the file was not written by this package, or has been damaged.
    OSError
        If it cannot be opened or read.
    """
    with open_regular(path, "rb") as file:
        return _read(file, os.fspath(path))


def read_all(path: str | os.PathLike[str], size: int) -> Iterator[Document]:
    """Yield the documents appended to a file, from its first `size` bytes.

    Raises
    ------
    StoreError
        If the file is shorter or has other content.
    """
    name = os.fspath(path)
    with open_regular(path, "rb") as file:
        if os.fstat(file.fileno()).st_size < size:
            raise unreadable(name, f"it has fewer than the expected {size:,} bytes")
        while file.tell() < size:
            (length,) = struct.unpack("<Q", file.read(8).ljust(8, b"\0"))
            if length > size - file.tell():
                raise unreadable(name, "one of its parts is truncated")
            yield _read(io.BytesIO(file.read(length)), name)


def unreadable(name: str, reason: object) -> StoreError:
    """Return the error for a file that cannot be read."""
    return StoreError(f"The file {name!r} cannot be read: {reason}.")


def _read(file: BinaryIO, name: str) -> Document:
    try:
        size = file.seek(0, os.SEEK_END)
        _check_table(file, size)
        with zipfile.ZipFile(file) as archive:
            members = _members(archive, size)
            header = archive.read(members[0])
            arrays = [_array(archive.read(member)) for member in members[1:]]
        with _without_collector():
            return _document(parse(header), arrays)
    except StoreError as error:
        raise unreadable(name, error) from error
    except BROKEN as error:
        if isinstance(error, OSError) and error.errno != errno.EINVAL:
            raise
        raise unreadable(name, f"it is damaged, or not a file of this package ({error})") from error


@contextmanager
def _without_collector() -> Iterator[None]:
    """Pause garbage collection: it would traverse a million new objects again and again."""
    on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if on:
            gc.enable()


def _check_table(file: BinaryIO, size: int) -> None:
    """Raise if the table of contents is too large: zipfile reads all of it at once."""
    tail = min(size, LAST.size + LOCATOR.size)
    file.seek(size - tail)
    end = file.read(tail)
    if tail < LAST.size or not end.startswith(b"PK\5\6", tail - LAST.size):
        raise StoreError("it is damaged, or not a file of this package (the end of the archive is missing)")
    table = LAST.unpack(end[-LAST.size :])[5]
    if end.startswith(b"PK\6\7") and tail > LAST.size:
        place = LOCATOR.unpack(end[: LOCATOR.size])[2]
        file.seek(min(place, size))
        large = file.read(LAST_LARGE.size)
        # zipfile looks for that record at this position, directly before the last record.
        file.seek(max(size - tail - LAST_LARGE.size, 0))
        for record in (large, file.read(LAST_LARGE.size)):
            if len(record) == LAST_LARGE.size:
                table = max(table, LAST_LARGE.unpack(record)[8])
    if table > min(size, LARGEST_TABLE):
        raise StoreError("its table of contents is too large")


def _members(archive: zipfile.ZipFile, size: int) -> list[zipfile.ZipInfo]:
    """Return the header and the arrays in order, if they can be read safely."""
    members = archive.infolist()
    names = [HEADER, *(f"{number}.npy" for number in range(len(members) - 1))]
    if [member.filename for member in members] != names:
        raise StoreError("it has members other than a header and arrays")
    for member in members:
        if member.compress_type != zipfile.ZIP_STORED or member.flag_bits & 0x1:
            raise StoreError(f"{member.filename!r} is compressed or encrypted")
        if member.compress_size != member.file_size:
            raise StoreError(f"{member.filename!r} has two different sizes")
    if sum(member.file_size for member in members) > size:
        raise StoreError("its members are larger than the file")
    if members[0].file_size > LARGEST_HEADER:
        raise StoreError("its header is too large")
    return members


def _array(data: bytes) -> np.ndarray:
    """Return the array in a member, read-only."""
    if data[:8] != b"\x93NUMPY\x01\x00" or len(data) < 10:
        raise StoreError("a member is not an array of format 1.0")
    start = 10 + int.from_bytes(data[8:10], "little")
    found = ARRAY.fullmatch(data[10:start])
    if found is None or np.dtype(found[1].decode()) not in DTYPES:
        raise StoreError("an array has an invalid type or layout")
    dtype = np.dtype(found[1].decode())
    shape = tuple(int(number) for number in found[2].split(b",") if number.strip())
    if math.prod(shape) * dtype.itemsize != len(data) - start:
        raise StoreError(f"an array of shape {shape} has {len(data) - start:,} bytes")
    if dtype == np.bool_ and data[start:].translate(None, b"\0\1"):
        raise StoreError("an array of booleans has values other than 0 and 1")
    return np.frombuffer(data, dtype, offset=start).reshape(shape)


def _document(header: object, arrays: list[np.ndarray]) -> Document:
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise StoreError("its header is not one of this package")
    kind, schema, version = (header.get(key) for key in ("kind", "schema", "version"))
    if not isinstance(kind, str) or not isinstance(version, str) or type(schema) is not int or schema < 1:
        raise StoreError("its header does not name the kind of file")
    if schema != SCHEMA:
        raise StoreError(
            f"it has layout {schema}, written by version {version} of the package; this is version "
            f"{__version__}, which reads layout {SCHEMA}"
        )
    return Document(kind, decode(header.get("content"), arrays), version)

"""Files: plain data come back as they were, to the bit; writing is atomic; other files are refused."""

import gc
import io
import json
import os
import struct
import subprocess
import sys
import time
import zipfile

import numpy as np
import pandas as pd
import pytest

from pyrjsel import StoreError
from pyrjsel.storage import (
    Content,
    Document,
    append,
    digest,
    labels_to_plain,
    read,
    read_all,
    register,
    replace_by,
    write,
)
from pyrjsel.storage.files import to_bytes
from pyrjsel.storage.kinds import _READERS, load
from pyrjsel.storage.plain import DTYPES

CONTENT = {
    "text": "Größe \U0001f600 \0 \"'\\",
    "numbers": [0, -1, 2**53, 2**53 + 1, -(2**127), 0.1, -0.0, 5e-324, 1e308],
    "not numbers": [float("nan"), float("inf"), float("-inf"), None, True, False],
    "bytes": [b"", bytes(range(256))],
    "nested": {"a": {"b": [[], {}, [{"c": (1, 2)}]]}},
    "$": {"array": "no array", "int": 1},
    "look-alikes": [{"array": 0}, {"float": "nan"}, {"object": []}, {"int": "0x1"}, {"bytes": 3}],
    "arrays": [np.arange(7).astype(dtype) for dtype in DTYPES],
    "shapes": [np.zeros(shape) for shape in ((), (0,), (3, 0, 2), (2, 3, 4), (1,) * 32)],
    "orders": [np.arange(6.0).reshape(2, 3).T, np.arange(10)[::-2], np.arange(3).astype(">i4")],
    "odd": np.array([np.nan, np.inf, -np.inf, -0.0, 5e-324]),
    "scalars": [np.int32(3), np.float64(0.5), np.bool_(True)],
}


def same(value, other):
    """Whether two pieces of plain data are the same to the bit; tuples come back as lists."""
    if isinstance(value, np.ndarray):
        value = value.astype(value.dtype.newbyteorder("<"))
        return isinstance(other, np.ndarray) and (value.dtype, value.shape, value.tobytes()) == (
            other.dtype,
            other.shape,
            other.tobytes(),
        )
    if isinstance(value, dict):
        return list(value) == list(other) and all(same(value[key], other[key]) for key in value)
    if isinstance(value, (list, tuple)):
        return len(value) == len(other) and all(map(same, value, other))
    if isinstance(value, np.generic):
        value = value.item()
    return type(value) is type(other) and (value == other or value != value) and repr(value) == repr(other)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "a file.rjs"


def test_what_is_written_is_read(path):
    write(path, Document("test", CONTENT))
    found = read(path)
    assert found.kind == "test"
    assert same(CONTENT, found.content)


def test_the_same_content_gives_the_same_bytes(path):
    write(path, Document("test", CONTENT))
    first = path.read_bytes()
    write(path, Document("test", read(path).content))
    assert path.read_bytes() == first


def test_other_programs_can_read_it(path):
    """The format is what the docstring of the package says, without its help."""
    write(path, Document("test", {"draws": np.arange(6.0).reshape(2, 3), "sampler": "gibbs"}))
    with zipfile.ZipFile(path) as archive:
        assert archive.namelist() == ["header.json", "0.npy"]
        assert {member.compress_type for member in archive.infolist()} == {zipfile.ZIP_STORED}
        header = json.loads(archive.read("header.json"))
    assert header.pop("version")
    content = {"draws": {"array": 0}, "sampler": "gibbs"}
    assert header == {"format": "pyrjsel", "schema": 1, "kind": "test", "content": content}
    with np.load(path, allow_pickle=False) as archive:
        np.testing.assert_array_equal(archive["0"], np.arange(6.0).reshape(2, 3))


@pytest.mark.parametrize(
    "value", [object(), {1}, {1: 2}, np.array(["a"]), np.array([None]), np.array([1j]), lambda: None]
)
def test_what_is_not_plain_data_is_not_written(path, value):
    with pytest.raises(TypeError, match=r"plain data"):
        write(path, Document("test", [value]))
    assert list(path.parent.iterdir()) == []


def test_text_that_is_no_unicode_is_named(path):
    for value in ("a\ud800", {"a\ud800": 1}):
        with pytest.raises(StoreError, match=r"The text 'a\\ud800' cannot be written"):
            write(path, Document("test", value))
    with pytest.raises(StoreError, match=r"The text 'a\\ud800' cannot be written"):
        labels_to_plain(pd.Index(["b", "a\ud800"], dtype=object))


def test_digests_tell_data_apart():
    """Of values, types, shapes and places."""
    x = np.arange(6.0)
    others = [x, x.astype(np.float32), x.reshape(2, 3), [x], x.tolist(), -x, {"x": x}]
    assert len({digest(other) for other in others}) == len(others)
    assert digest(x) == digest(np.arange(6.0))
    assert digest({"a": 1, "b": 2}) != digest({"a": 2, "b": 1})
    assert digest({"a": x, "b": x}) != digest({"a": x, "b": x + 1})
    assert digest(np.asfortranarray(x.reshape(2, 3))) == digest(x.reshape(2, 3))


# ---------------------------------------------------------------------- writing


def test_a_folder_that_is_not_there_is_named_as_it_was_given(tmp_path):
    path = tmp_path / "nowhere" / "x.rjs"
    with pytest.raises(FileNotFoundError) as caught:
        write(path, Document("kind", {}))
    assert caught.value.filename == str(path)
    assert str(caught.value).endswith(f"'{path}'")


def test_a_failed_write_leaves_what_was_there(path, monkeypatch):
    write(path, Document("test", 1))

    def fail(*_):
        raise OSError("no space left")

    for step in ("fsync", "replace"):
        with monkeypatch.context() as patch:
            patch.setattr(os, step, fail)
            with pytest.raises(OSError, match="no space left"):
                write(path, Document("test", 2))
        assert read(path).content == 1
        assert list(path.parent.iterdir()) == [path]


@pytest.mark.skipif(os.name != "posix", reason="modes and links are those of POSIX")
def test_an_error_of_what_is_written_is_the_callers(path):
    """Not one of the file, whose name it would take."""
    write(path, Document("test", 1))

    def stream(file):
        file.write(b"x")
        path.with_name("rows").stat()

    with pytest.raises(FileNotFoundError) as caught:
        replace_by(path, stream)
    assert caught.value.filename == str(path.with_name("rows"))
    assert read(path).content == 1
    assert list(path.parent.iterdir()) == [path]


def test_what_is_replaced_keeps_its_mode_and_links_stay(path, monkeypatch):
    link = path.with_name("link")
    link.symlink_to(path.name)
    before = os.umask(0o027)
    try:
        write(link, Document("test", 1))
        assert path.stat().st_mode & 0o777 == 0o640
        seen, replaced = [], os.fsync
        monkeypatch.setattr(
            os, "fsync", lambda handle: (seen.append(os.fstat(handle).st_mode & 0o777), replaced(handle))
        )
        for mode in (0o600, 0o644, 0o664, 0o400):
            path.chmod(mode)
            write(link, Document("test", mode))
            assert (path.stat().st_mode & 0o777, read(path).content) == (mode, mode)
            assert seen[0] == mode
            seen.clear()
    finally:
        os.umask(before)
    assert link.is_symlink()
    assert sorted(file.name for file in path.parent.iterdir()) == ["a file.rjs", "link"]


@pytest.mark.skipif(os.name != "posix", reason="modes are those of POSIX")
def test_nobody_else_reads_a_private_file_while_it_is_written(path, monkeypatch):
    write(path, Document("test", 1))
    path.chmod(0o600)
    made = []

    def opened(file, flags, mode=0o777):
        made.append(mode)
        return handle(file, flags, mode)

    handle = os.open
    monkeypatch.setattr(os, "open", opened)
    write(path, Document("test", 2))
    assert made[0] == 0o600


def test_names_may_be_as_long_as_the_system_has_them(path):
    long = path.with_name("x" * 251 + ".rjs")
    write(long, Document("test", 1))
    assert read(long).content == 1


KILLED = """
import sys
import numpy as np
from pyrjsel.storage import Document, write
print("ready", flush=True)
number = 0
while True:
    number += 1
    write(sys.argv[1], Document("test", {"number": number, "array": np.full(200_000, number)}))
"""


def test_a_killed_write_leaves_a_whole_file(path):
    rng = np.random.default_rng(0)
    numbers = []
    for _ in range(3):
        process = subprocess.Popen([sys.executable, "-c", KILLED, path], stdout=subprocess.PIPE)
        try:
            assert process.stdout.readline() == b"ready\n"
            with pytest.raises(subprocess.TimeoutExpired):
                process.wait(0.05 + 0.1 * rng.random())
        finally:
            process.kill()
            process.communicate()
        content = read(path).content
        assert (content["array"] == content["number"]).all()
        numbers.append(content["number"])
    assert max(numbers) > 1


def test_appended_documents(path):
    documents = [Document("test", {"x": np.arange(k)}) for k in range(4)]
    sizes = []
    with open(path, "wb") as file:
        for document in documents:
            append(file, document)
            sizes.append(file.tell())
    # What a crash has left behind the last whole part is not looked at.
    for count, size in enumerate(sizes):
        assert [len(part.content["x"]) for part in read_all(path, size)] == list(range(count + 1))
    with open(path, "ab") as file:
        file.write(b"half a part")
    assert len(list(read_all(path, sizes[-1]))) == 4
    for wrong in (sizes[-1] - 1, sizes[-1] + 5, 3):
        with pytest.raises(StoreError, match="cannot be read"):
            list(read_all(path, wrong))
    with pytest.raises(StoreError, match="fewer than the expected"):
        list(read_all(path, 10**9))


# ---------------------------------------------------------------------- what is not read


def archive_of(*members, compression=zipfile.ZIP_STORED):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", compression) as archive:
        for name, data in members:
            archive.writestr(name, data)
    return out.getvalue()


def header_of(content=None, **changed):
    header = {"format": "pyrjsel", "schema": 1, "kind": "test", "version": "1", "content": content}
    return "header.json", json.dumps({**header, **changed})


def npy_of(header, items=b"", version=b"\1\0"):
    text = header.encode() if isinstance(header, str) else header
    return b"\x93NUMPY" + version + struct.pack("<H", len(text)) + text + items


def bombs():
    return archive_of(header_of(), ("0.npy", b"\0" * 10**7), compression=zipfile.ZIP_DEFLATED)


def plain_array(descr="'<f8'", shape="(3,)", order="False", items=b"\0" * 24):
    return npy_of(f"{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}, }}\n", items)


ARRAYS = {
    "pickled objects": plain_array("'|O'"),
    "fields": plain_array("[('a', '<f8')]"),
    "text": plain_array("'<U6'"),
    "big-endian": plain_array("'>f8'"),
    "half floats": plain_array("'<f2'", "(12,)"),
    "Fortran order": plain_array(order="True"),
    "too large": plain_array(shape="(1000000000000,)"),
    "overflowing": plain_array(shape="(4294967296, 4294967296, 3)"),
    "negative": plain_array(shape="(-3,)"),
    "too many dimensions": plain_array(shape="(" + "1, " * 40 + ")"),
    "empty but huge": plain_array(shape="(0, 999999999999999999, 999999999999999999)", items=b""),
    "booleans of 2": plain_array("'|b1'", items=b"\2\0\1"),
    "another version": npy_of("", version=b"\3\0"),
    "code": npy_of("__import__('os').system('true')"),
    "deep": npy_of("(" * 60_000),
    "nothing": b"",
}
CONTENTS = {
    "no such array": {"array": 0},
    "negative array": {"array": -1},
    "not a number": {"array": True},
    "not a float": {"float": "1"},
    "not an int": {"int": "zebra"},
    "a long int": {"int": "f" * 10**6},
    "not bytes": {"bytes": "xyz"},
    "not items": {"object": [["a"]]},
    "deep": eval("[" * 80 + "]" * 80),
}
FILES = {
    "empty": b"",
    "text": b"y,x\n1,2\n" * 10,
    "another archive": archive_of(("notes.txt", "hello")),
    "no header": archive_of(("0.npy", plain_array())),
    "a path": archive_of(header_of(), ("../../0.npy", plain_array())),
    "twice": archive_of(header_of(), ("0.npy", plain_array()), ("1.npy", b""), ("x", b"")),
    "compressed": bombs(),
    "no JSON": archive_of(("header.json", "{")),
    "no Unicode": archive_of(("header.json", b'"\xff"')),
    "NaN": archive_of(("header.json", "NaN")),
    "a deep header": archive_of(("header.json", "[" * 10**5)),
    "a deep object": archive_of(("header.json", '{"a":' * 10**5)),
    "a long number": archive_of(("header.json", "1" * 10**5)),
    "not an object": archive_of(("header.json", "[]")),
    "another format": archive_of(header_of(format="zarr")),
    "no kind": archive_of(header_of(kind=None)),
    "schema 0": archive_of(header_of(schema=0)),
    "schema true": archive_of(header_of(schema=True)),
    "schema 2": archive_of(header_of(schema=2)),
    **{f"array: {name}": archive_of(header_of(), ("0.npy", data)) for name, data in ARRAYS.items()},
    "an array twice": archive_of(header_of([{"array": 0}, {"array": 0}]), ("0.npy", plain_array())),
    "many parts": archive_of(header_of([[]] * 2**20)),
    **{f"content: {name}": archive_of(header_of(content)) for name, content in CONTENTS.items()},
}


@pytest.mark.parametrize("name", FILES)
def test_hostile_files_are_refused(path, name):
    path.write_bytes(FILES[name])
    with pytest.raises(StoreError, match=r"'.*a file\.rjs' cannot be read: "):
        read(path)


def test_every_truncation_and_every_flipped_bit_is_seen_or_harmless(path):
    """What is read in spite of a changed byte is what was written: times and attributes do not matter."""
    content = {"x": np.arange(3.0), "name": "value"}
    whole = bytes(to_bytes(Document("test", content)))
    refused = 0
    for place in range(len(whole)):
        for data in (whole[:place], whole[:place] + bytes([whole[place] ^ 0x41]) + whole[place + 1 :]):
            path.write_bytes(data)
            try:
                found = read(path)
            except StoreError:
                refused += 1
            else:
                assert same(content, found.content)
    # All truncations, and two thirds of the flips.
    assert refused > 1.6 * len(whole)


@pytest.mark.parametrize("content", [[[]] * (2**20 - 2), [{"": 0}] * (2**20 - 2), [0] * 5_000_000])
def test_the_largest_headers_are_read_in_time(path, content):
    """In processor time: a second, and as much again for slow machines. They took ten."""
    path.write_bytes(archive_of(header_of(content)))
    before, begin = gc.isenabled(), time.process_time()
    assert len(read(path).content) == len(content)
    assert time.process_time() - begin < 2.0
    assert gc.isenabled() is before


def test_what_could_not_be_read_is_not_written(path, monkeypatch):
    monkeypatch.setattr("pyrjsel.storage.files.MOST_PARTS", 10)
    for content in ([[]] * 10, "x" * 2**24):
        with pytest.raises(StoreError, match="its header would be over 16 MB, or have too many parts"):
            write(path, Document("test", content))


def test_a_huge_table_of_contents_is_refused_before_it_is_read(path, monkeypatch):
    monkeypatch.setattr("pyrjsel.storage.files.LARGEST_TABLE", 10_000)
    path.write_bytes(archive_of(*((f"{k}", b"") for k in range(400))))
    with pytest.raises(StoreError, match="table of contents is too large"):
        read(path)


@pytest.mark.parametrize("lie", [False, True], ids=["where it is", "where it says"])
def test_so_is_one_of_the_format_for_large_archives(path, lie):
    """Archives of 4 GB and more have a second record, which counts in place of the last."""
    whole = archive_of(header_of())
    end = len(whole) - 22
    large = struct.pack("<4sQ2H2L4Q", b"PK\6\6", 44, 45, 45, 0, 0, 1, 1, 10**9, 0)
    locator = struct.pack("<4sLQL", b"PK\6\7", 0, 0 if lie else end, 1)
    path.write_bytes(whole[:end] + large + locator + whole[end:])
    with pytest.raises(StoreError, match="table of contents is too large"):
        read(path)


def test_an_absent_file_is_an_error_of_the_system(path):
    with pytest.raises(FileNotFoundError):
        read(path)


# ---------------------------------------------------------------------- kinds


@pytest.fixture
def kind(monkeypatch):
    monkeypatch.setattr("pyrjsel.storage.kinds._READERS", dict(_READERS))
    register("test", lambda content, given: (content.integer("n"), given.data))
    return "test"


def test_load_finds_the_reader_by_kind(path, kind):
    write(path, Document(kind, {"n": 5}))
    assert load(path) == (5, None)
    assert load(path, data="rows") == (5, "rows")
    write(path, Document("another kind", {"n": 5}))
    with pytest.raises(
        StoreError, match=r"it is a 'another kind' file, and only these can be loaded: .*'test'"
    ):
        load(path)
    write(path, Document(kind, {"m": 5}))
    with pytest.raises(StoreError, match="'n' is missing from the file"):
        load(path)
    write(path, Document(kind, [5]))
    with pytest.raises(StoreError, match="must be an object"):
        load(path)


def test_parts_are_checked():
    content = Content(
        {"n": 3, "x": np.arange(3.0), "s": "a", "l": ["a", 1], "b": b"ab", "t": True, "p": {"q": 1}},
        "the file",
    )
    assert content.number("n") == 3.0
    assert content.array("x", float, (3,)).flags.writeable
    assert content.raw("b", 2) == b"ab"
    assert content.flag("t") is True
    assert content.part("p").integer("q") == 1
    assert content.sequence("l", (str, int)) == ["a", 1]
    for wrong, message in [
        (lambda: content.integer("t"), "'t' in the file must be an int"),
        (lambda: content.integer("n", 4), r"must be an int in \[4, "),
        (lambda: content.text("s", ("b", "c")), "must be one of 'b', 'c'"),
        (lambda: content.flag("n"), "true or false"),
        (lambda: content.raw("b", 3), "must be 3 bytes"),
        (lambda: content.sequence("l"), "must be a list of str"),
        (lambda: content.sequence("l", (str, int), 3), "must be a list of 3"),
        (lambda: content.array("x", np.int64, (3,)), "must be an array of int64 and shape"),
        (lambda: content.array("x", float, (None, 3)), "must be an array of float64"),
        (lambda: content.array("x", float, (4,)), r"not \(3,\)"),
        (lambda: content.part("s"), "'s' must be an object"),
        (lambda: content.plain("z"), "'z' is missing from the file"),
        (lambda: Content({"x": np.array([np.nan])}, "it").array("x", float, (1,), finite=True), "finite"),
    ]:
        with pytest.raises(StoreError, match=message):
            wrong()

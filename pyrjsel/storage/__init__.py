"""File format of results and checkpoints: documented, and without pickle. Independent of all models.

A file is a zip archive whose members are stored without compression:

``header.json``
    UTF-8 JSON, one object: ``format`` ("pyrjsel"), ``schema`` (version of the layout of all kinds of
    files), ``kind`` (such as "selection results"), ``version`` (of the package that wrote it), ``content``.
``0.npy``, ``1.npy``, ...
    Arrays in numpy's format 1.0: booleans, integers and floats, little-endian, in C order.

`content` is plain data: JSON values, and objects with a single key. ``{"array": k}`` is the array
in ``k.npy``, which occurs once, ``{"float": "nan" | "inf" | "-inf"}`` a float that JSON cannot express,
``{"int": "0x..."}`` an int beyond 2**53, ``{"bytes": "..."}`` bytes in hexadecimal, and ``{"object": [[key,
value], ...]}`` an object that could be mistaken for one of these. So ``numpy.load`` opens a file, and so does
any program that reads zip archives.

Labels of rows and tables are ``range`` (start, stop, step), ``numbers`` (an array), ``text`` and ``ends`` (an
array of UTF-8 bytes, and the position at which each label ends), or ``labels``, a list; and their ``name``.

Files are written under a temporary name, flushed to the disk and renamed: a file under its own name is
complete.
Reading a file runs no code from it and takes memory in proportion to its size: no member is compressed, sizes
are compared with that of the file before anything is allocated, and any inconsistency raises a
:class:`pyrjsel.StoreError`.
"""

from pyrjsel.storage.content import Content
from pyrjsel.storage.described import (
    Makers,
    described,
    frame_from_plain,
    frame_to_plain,
    labels_from_plain,
    labels_to_plain,
    plain,
)
from pyrjsel.storage.digest import digest
from pyrjsel.storage.files import (
    Document,
    append,
    create,
    is_left_over,
    open_regular,
    read,
    read_all,
    replace,
    replace_by,
    write,
)
from pyrjsel.storage.kinds import Given, load, register
from pyrjsel.storage.plain import Plain

__all__ = [
    "Content",
    "Document",
    "Given",
    "Makers",
    "Plain",
    "append",
    "create",
    "described",
    "digest",
    "frame_from_plain",
    "frame_to_plain",
    "is_left_over",
    "labels_from_plain",
    "labels_to_plain",
    "load",
    "open_regular",
    "plain",
    "read",
    "read_all",
    "register",
    "replace",
    "replace_by",
    "write",
]

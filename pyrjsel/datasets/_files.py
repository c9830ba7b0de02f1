"""Reading of packaged files, also from a package in a zip archive."""

import gzip
from importlib.resources import files
from typing import Any

import pandas as pd


def _resource(path: str) -> Any:
    return files("pyrjsel.datasets").joinpath("data", *path.split("/"))


def read_bytes(path: str) -> bytes:
    """Return the content of the packaged file `path`, uncompressed if its name ends in ``.gz``."""
    content: bytes = _resource(path).read_bytes()
    return gzip.decompress(content) if path.endswith(".gz") else content


def read_text(path: str) -> str:
    """Return the text of the packaged file `path`, which is UTF-8."""
    return read_bytes(path).decode("utf-8")


def read_csv(path: str, **options: Any) -> pd.DataFrame:
    """Return the packaged table `path` as a new frame; `options` are those of `pandas.read_csv`."""
    # The values have at most seven digits, which every parser of pandas reads exactly.
    with _resource(path).open("rb") as stream:
        return pd.read_csv(stream, compression="gzip" if path.endswith(".gz") else None, **options)

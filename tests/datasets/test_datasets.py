"""The packaged data: the files are the right ones, and what they are said to be."""

import dataclasses
import hashlib
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from pyrjsel import datasets
from pyrjsel.datasets import _datasets

COHORT_SHA256 = "35468ee1fe3b0592147e3f5f9ce769092b5f75827a4fc590c8c490febaf554ea"
LOADERS = [
    datasets.birthwt,
    datasets.hald,
    datasets.ionosphere,
    datasets.pima,
    datasets.pneumonia,
    datasets.uscrime,
]


def minimum_deviance(y, columns):
    """Return -2 log-likelihood of the logistic regression with intercept, by Newton's method."""
    X = np.column_stack([np.ones(len(y)), (columns - columns.mean(0)) / columns.std(0)])
    beta = np.zeros(X.shape[1])
    for _ in range(50):
        mu = 1 / (1 + np.exp(-X @ beta))
        score = X.T @ (y - mu)
        step = np.linalg.solve(X.T @ (X * (mu * (1 - mu))[:, None]), score)
        beta += step
        if score @ step < 1e-12:
            break
    else:
        raise AssertionError("Newton's method did not converge")
    eta = X @ beta
    return -2 * float(y @ eta - np.logaddexp(0, eta).sum())


def test_cohort_is_the_right_file():
    assert hashlib.sha256(_datasets.read_bytes("pneumonia/cohort.csv.gz")).hexdigest() == COHORT_SHA256


def test_cohort_shape_and_deaths():
    data = datasets.pneumonia().data
    assert data.shape == (2532, 84)
    assert data.columns[0] == "mortality"
    assert set(data["mortality"]) == {0, 1}
    assert data["mortality"].sum() == 405
    assert not data.isna().any().any()
    assert all(pd.api.types.is_numeric_dtype(dtype) for dtype in data.dtypes)


def test_costs_and_variables_are_complete():
    cohort = datasets.pneumonia()
    indicators = list(cohort.data.columns[1:])
    assert list(cohort.costs.index) == indicators
    assert list(cohort.variables.index) == indicators
    assert list(cohort.variables["index"]) == list(range(1, 84))
    assert (cohort.costs > 0).all()
    assert (cohort.costs == cohort.variables["cost"]).all()
    assert cohort.variables["published"].sum() == 20
    assert cohort.variables["rand14"].sum() == 14
    assert set(cohort.variables["kind"]) == {"binary", "score", "numeric"}
    binary = cohort.variables.index[cohort.variables["kind"] == "binary"]
    assert cohort.data[binary].isin([0, 1]).all().all()


def test_reduced_space_has_the_published_number_of_models():
    variables = datasets.pneumonia().variables
    costs = variables.loc[variables["reduced"], "cost"].to_numpy()
    assert len(costs) == 13
    models = (np.arange(2**13)[:, None] >> np.arange(13)) & 1
    assert (models @ costs <= 10).sum() == 7497


@pytest.mark.parametrize(
    ("model", "deviance"),
    [
        ("m1", 1610.29),
        ("m2", 1606.52),
        ("m3", 1613.04),
        ("m4", 1608.37),
        ("m5", 1616.42),
        ("RAND", 1587.43),
        ("benefit only", 1553.22),
    ],
)
def test_minimum_deviances_of_the_published_models(model, deviance):
    data = datasets.pneumonia().data
    row = datasets.pneumonia_published().loc[model]
    found = minimum_deviance(
        data["mortality"].to_numpy(dtype=float), data[list(row["variables"])].to_numpy(dtype=float)
    )
    # The stated values have two decimals.
    assert found == pytest.approx(deviance, abs=0.005 + 1e-6)
    assert row["deviance_here"] == deviance
    # The cohort is tuned to the published deviances; the largest difference is 0.29.
    assert found == pytest.approx(row["deviance"], abs=0.3)


def test_published_models_agree_with_the_costs():
    cohort = datasets.pneumonia()
    published = datasets.pneumonia_published()
    assert list(published.index) == ["m1", "m2", "m3", "m4", "m5", "RAND", "benefit only"]
    for _, row in published.iterrows():
        names = list(row["variables"])
        assert len(set(names)) == len(names) == row["size"]
        # Prices are multiples of one half: sums are exact.
        assert cohort.costs[names].sum() == row["cost"]
    rand14 = cohort.variables.index[cohort.variables["rand14"]]
    assert set(published.loc["RAND", "variables"]) == set(rand14)


@pytest.mark.parametrize("run", ["population_{}_1", "population_{}_2", "simple_{}_1", "simple_{}_2"])
def test_published_odds_agree_with_the_published_probabilities(run):
    table = datasets.pneumonia_published()[[run.format("posterior"), run.format("odds")]].dropna()
    posterior, odds = table.to_numpy().T
    assert len(odds) >= 3
    # In print probabilities are rounded (0.00005), and odds have two decimals, not always rounded
    # (0.01): 0.4879 / 0.1052 is 4.638, and at least 4.635 whatever was rounded; 4.63 is printed.
    slack = odds * (0.00005 / posterior + 0.00005 / posterior[0]) + 0.01
    assert (abs(posterior[0] / posterior - odds) <= slack).all()


def test_the_cohort_says_that_it_is_synthetic():
    cohort = datasets.pneumonia()
    for text in (repr(cohort), str(cohort), cohort.description):
        assert "SYNTHETIC" in "\n".join(text.splitlines()[:3])
        assert "no evidence about pneumonia" in " ".join("\n".join(text.splitlines()[:5]).split())
    for word in ("405", "47 pairs", "invented", "Gauss-Newton", "7,497", "cannot show"):
        assert word in cohort.description


@pytest.mark.parametrize("load", LOADERS)
def test_data_sets_are_described(load):
    dataset = load()
    assert dataset.name == load.__name__
    for text in (dataset.description, dataset.source, dataset.terms):
        assert len(text.strip()) > 10
    for part in (dataset.name, dataset.source, dataset.terms, str(len(dataset.data))):
        assert part in repr(dataset)
    with pytest.raises(dataclasses.FrozenInstanceError):
        dataset.name = "other"


@pytest.mark.parametrize("load", [datasets.birthwt, datasets.hald, datasets.pima, datasets.uscrime])
def test_every_column_is_described(load):
    dataset = load()
    for column in dataset.data.columns:
        assert f"`{column}`" in dataset.description


@pytest.mark.parametrize("load", LOADERS)
def test_every_call_returns_a_fresh_copy(load):
    first = load()
    before = first.data.copy()
    first.data.iloc[:, 1] = 0
    if first.costs is not None:
        first.costs.iloc[0] = -1.0
        assert first.variables["cost"].iloc[0] == 0.5
        assert load().costs.iloc[0] == 0.5
    pd.testing.assert_frame_equal(load().data, before)


def test_birthwt():
    data = datasets.birthwt().data
    assert data.shape == (189, 10)
    assert data["low"].sum() == 59
    assert ((data["bwt"] < 2500) == (data["low"] == 1)).all()
    assert list(data["race"].cat.categories) == ["white", "black", "other"]
    assert data["race"].value_counts().to_dict() == {"white": 96, "other": 67, "black": 26}


def test_hald_least_squares():
    data = datasets.hald().data
    assert data.shape == (13, 5)
    X = np.column_stack([np.ones(13), data[["x1", "x2"]]])
    beta, *_ = np.linalg.lstsq(X, data["y"], rcond=None)
    # y = 52.58 + 1.47 x1 + 0.66 x2, as printed in Draper and Smith, to two decimals.
    assert beta == pytest.approx([52.58, 1.47, 0.66], abs=0.005)


def test_uscrime():
    data = datasets.uscrime().data
    assert data.shape == (47, 16)
    assert "M.F" in data.columns
    assert set(data["So"]) == {0, 1}
    assert data["y"].iloc[:3].tolist() == [791, 1635, 578]


def test_pima_has_the_split_of_ripley():
    data = datasets.pima().data
    assert data.shape == (532, 9)
    assert list(data["type"].cat.categories) == ["No", "Yes"]
    counts = data.groupby("split")["type"].value_counts().to_dict()
    assert counts == {
        ("train", "No"): 132,
        ("train", "Yes"): 68,
        ("test", "No"): 223,
        ("test", "Yes"): 109,
    }
    # Zeros that stand for missing values are in the data at UCI, and not in these rows.
    assert (data[["glu", "bp", "skin", "bmi"]] > 0).all().all()


def test_ionosphere():
    data = datasets.ionosphere().data
    assert data.shape == (351, 35)
    inputs = data[[f"V{j}" for j in range(1, 35)]]
    assert (inputs["V2"] == 0).all()
    assert set(inputs["V1"]) == {0, 1}
    assert inputs.abs().to_numpy().max() == 1
    assert data["Class"].value_counts().to_dict() == {"good": 225, "bad": 126}
    # The terms ask for it.
    assert "Sigillito" in datasets.ionosphere().source


def test_floats_are_read_to_the_last_bit():
    lines = _datasets.read_text("classic/uscrime.csv").splitlines()
    position = lines[0].replace('"', "").split(",").index("Prob")
    expected = [float(line.split(",")[position]) for line in lines[1:]]
    assert datasets.uscrime().data["Prob"].tolist() == expected


def test_data_are_read_from_a_zipped_package(tmp_path):
    """The package's pure-Python part is importable from an archive, and so are its files."""
    package = Path(datasets.__file__).parents[1]
    archive = tmp_path / "package.zip"
    with zipfile.ZipFile(archive, "w") as zipped:
        zipped.writestr("pyrjsel/__init__.py", "")
        for path in [*package.glob("datasets/**/*"), *package.glob("_*.py")]:
            if path.is_file() and path.suffix != ".pyc" and path.name != "__init__.py":
                zipped.write(path, Path("pyrjsel") / path.relative_to(package))
        zipped.write(package / "datasets" / "__init__.py", "pyrjsel/datasets/__init__.py")
    code = (
        f"import sys; sys.path.insert(0, {str(archive)!r})\n"
        "from pyrjsel import datasets\n"
        f"assert datasets.__file__.startswith({str(archive)!r}), datasets.__file__\n"
        "print(*(len(load().data) for load in "
        "(datasets.birthwt, datasets.hald, datasets.pneumonia, datasets.uscrime)))\n"
    )
    run = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["189", "13", "2532", "47"]

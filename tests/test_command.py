"""The command line: what it prints, what it writes, and what it refuses."""

import base64
import bz2
import os
import re
import subprocess
import sys
import zlib
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest

import pyrjsel as rj
from pyrjsel.__main__ import main

pytest.importorskip("matplotlib")

TABLES = ("inclusion", "models", "coefficients", "diagnostics")
COSTS = {"age": 1.0, "lwt": 0.5, "smoke": 2.0, "ht": 4.0}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Files of rows and prices."""
    path = tmp_path_factory.mktemp("files")
    births = rj.datasets.birthwt().data[["low", "bwt", "age", "lwt", "smoke", "ht"]]
    births.to_csv(path / "births.csv", index=False)
    births.to_csv(path / "births.tsv.gz", index=False, sep="\t")
    pd.Series(COSTS).to_csv(path / "costs.csv", header=["minutes"], index_label="name")
    wide = {"number": range(4), "variable": list(COSTS), "cost_minutes": list(COSTS.values())}
    pd.DataFrame(wide).to_csv(path / "wide.csv", index=False)
    return path


def run(*words, cwd):
    """Run ``python -m pyrjsel`` in a folder, with warnings as errors."""
    command = [sys.executable, "-P", "-W", "error", "-m", "pyrjsel", *words]
    clean = {**os.environ, "PYTHONIOENCODING": "utf-8"}
    return subprocess.run(command, cwd=cwd, env=clean, capture_output=True, encoding="utf-8", check=False)


class Page(HTMLParser):
    """What a page refers to, and its pictures."""

    def __init__(self, text):
        super().__init__()
        self.outside, self.pictures, self.open = [], {}, []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        if tag == "img":
            kind, _, data = found["src"].partition(",")
            assert kind == "data:image/png;base64"
            self.pictures[found["alt"]] = base64.b64decode(data)
        elif tag in ("link", "iframe") or "href" in found or "src" in found:
            self.outside.append(tag)
        if tag not in ("img", "input", "meta", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


@pytest.fixture(scope="module")
def written(folder):
    words = ["low ~ age + lwt + smoke + ht", "births.csv", "--costs", "costs.csv", "--budget", "6"]
    done = run(
        *words, "--sampler", "rjmcmc", "--draws", "400", "--seed", "3", "--out", "new/report/", cwd=folder
    )
    assert done.returncode == 0, done.stderr
    return done, folder / "new" / "report"


@pytest.fixture(scope="module")
def results():
    births = rj.datasets.birthwt().data
    model = rj.logit("low ~ age + lwt + smoke + ht", births, costs=COSTS, budget=6)
    return model.fit(sampler="rjmcmc", draws=400, rng=3, progress=False)


def test_the_tables_are_those_of_the_fit(written, results):
    done, out = written
    assert "Tables, plots and report.html are in new/report." in done.stdout
    read = {name: pd.read_csv(out / f"{name}.csv", index_col=0) for name in TABLES}
    models = read["models"]
    expected = {"inclusion": results.inclusion, "coefficients": results.coefficients}
    expected["models"] = results.models.drop(columns="terms")
    for name, table in expected.items():
        assert read[name].index.name == table.index.name
        assert read[name].index.tolist() == table.index.tolist()
        # Numbers are written with all their digits.
        np.testing.assert_array_equal(read[name][table.columns], table)
    assert models["terms"].tolist() == [" + ".join(t) or "(no terms)" for t in results.models["terms"]]
    frontier = pd.read_csv(out / "frontier.csv")
    np.testing.assert_allclose(frontier["budget"], results.frontier()["budget"])
    assert pd.read_csv(out / "diagnostics.csv", index_col="chain").index.tolist() == [
        "0",
        "1",
        "2",
        "3",
        "all",
    ]


def test_the_summary_is_printed_and_kept(written, results):
    done, out = written
    kept = (out / "summary.txt").read_text(encoding="utf-8")
    assert done.stdout.startswith(kept)

    def without_time(text):
        return re.sub(r"Run time: +[\d.]+ s CPU, [\d.]+ s", "", text)

    assert without_time(kept) == without_time(f"{results.summary()}\n")


def test_the_page_needs_nothing_beside_it(written):
    _, out = written
    text = (out / "report.html").read_text(encoding="utf-8")
    page = Page(text)
    assert page.outside == []
    assert page.open == []
    assert "url(" not in text
    assert "https://" not in text
    names = ["inclusion", "models", "coefficients", "frontier", "trace"]
    assert sorted(path.stem for path in out.glob("*.png")) == sorted(names)
    assert list(page.pictures.values()) == [(out / f"{name}.png").read_bytes() for name in names]
    assert all(picture.startswith(b"\x89PNG") for picture in page.pictures.values())
    assert "low ~ age + lwt + smoke + ht" in text
    # The command can be run again as it stands.
    assert "python -m pyrjsel &#x27;low ~ age + lwt + smoke + ht&#x27; births.csv" in text


def test_warnings_are_sentences_and_on_the_page(folder, capsys, monkeypatch):
    monkeypatch.chdir(folder)
    frame = pd.read_csv("births.csv")
    frame.loc[3, "age"] = np.nan
    frame.to_csv("missing.csv", index=False)
    assert main(["low ~ age", "missing.csv", "--out", "warned"]) == 0
    said = capsys.readouterr().err
    assert re.fullmatch(r"Warning: 1 of 189 rows.*dropped from the data of LogitSelection\.\n", said)
    assert "<li>1 of 189 rows" in (folder / "warned/report.html").read_text("utf-8")
    # No prices and no draws: no such tables and plots.
    assert not (folder / "warned/frontier.csv").exists()
    assert not (folder / "warned/trace.png").exists()
    assert main(["low ~ age", "missing.csv", "--missing", "raise"]) == 2
    assert "1 of 189 rows have missing values (age: 1)" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "title"),
    [
        (["low ~ age", "births.csv"], "Logistic model selection"),
        (["bwt ~ age", "births.tsv.gz"], "Linear model selection"),
        (["low ~ age", "births.csv", "--model", "linear"], "Linear model selection"),
        (["low ~ age", "births.csv", "--model", "poisson"], "Poisson model selection"),
        (["np.log(bwt) ~ age", "births.csv"], "Linear model selection"),
        (["bwt ~ age", "births.csv", "--model", "cox", "--event", "none"], "Cox model selection"),
        (["bwt ~ age", "births.csv", "--model", "cox", "--event", "low"], "Cox model selection"),
    ],
)
def test_the_model_follows_the_response(words, title, folder, capsys, monkeypatch):
    monkeypatch.chdir(folder)
    assert main(words) == 0
    assert capsys.readouterr().out.strip().startswith(title)


def test_options_reach_the_model(folder, capsys, monkeypatch):
    monkeypatch.chdir(folder)
    words = [
        "bwt ~ age*lwt + ht",
        "births.csv",
        "--costs",
        "wide.csv",
        "--budget",
        "5.5",
        "--heredity",
        "weak",
    ]
    words += [
        "--always",
        "lwt",
        "--always",
        "ht",
        "--max-size",
        "3",
        "--weights",
        "age",
        "--model-prior",
        "uniform",
    ]
    with pytest.raises(SystemExit):
        main([*words, "--budget", "much"])
    capsys.readouterr()
    assert (
        main([*words, "--sampler", "gibbs", "--draws", "60", "--chains", "2", "--burn-in", "9", "--quiet"])
        == 0
    )
    printed = capsys.readouterr().out
    for fact in (
        r"Budget: +5.5", r"Always in: +lwt, ht", r"Heredity: +weak", r"Largest size: +3", r"Weights: +age",
        r"Model prior: +Uniform\(\)", r"Sampler: +gibbs", r"Chains x draws: +2 x 60",
        r"Burn-in, thinning: +9, 1",
    ):  # fmt: skip
        assert re.search(fact, printed), fact


def test_parquet(folder, capsys, monkeypatch):
    pytest.importorskip("pyarrow")
    monkeypatch.chdir(folder)
    pd.read_csv("births.csv").to_parquet("births.parquet")
    assert main(["low ~ lwt + ht", "births.parquet", "--top", "1"]) == 0
    assert "the best 1 of 4 enumerated" in capsys.readouterr().out


def bad_files(folder):
    (folder / "empty.csv").write_text("")
    (folder / "ragged.csv").write_text("low,age\n1,2\n1,2,3\n")
    (folder / "semicolons.csv").write_text("low;age\n1;2\n0;3\n")
    (folder / "decimals.csv").write_text("low;age\n1;2,5\n0;3,5,1\n")
    (folder / "index.csv").write_text(",low,age\n0,1,2\n1,0,3\n")
    (folder / "binary.csv").write_bytes(b"\xff\xfe\x00\x01\x80" * 50)
    (folder / "broken.csv.gz").write_bytes(b"\x1f\x8b\x08\x00" + zlib.compress(b"low,age\n" * 99)[:20])
    (folder / "broken.csv.bz2").write_bytes(bz2.compress(b"low,age\n" * 99)[:30])
    (folder / "broken.csv.xz").write_bytes(b"no such archive")
    (folder / "broken.csv.zip").write_bytes(b"no such archive")
    (folder / "broken.csv.tar").write_bytes(b"no such archive" * 99)
    (folder / "blank.csv").write_text("name,cost\nage,1\n,2\n")
    (folder / "broken.parquet").write_bytes(b"PAR1 this is no file of that kind")
    (folder / "three.csv").write_text("a,b,c\nage,1,2\n")
    (folder / "words.csv").write_text("name,cost\nage,cheap\n")
    (folder / "other.csv").write_text("name,cost\nage,1\nincome,2\n")
    (folder / "file").write_text("no folder")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["low ~ age", "nowhere.csv"], "file 'nowhere.csv' cannot be read"),
        (["low ~ age", "."], r"file '\.' cannot be read"),
        (["low ~ age", "empty.csv"], "file 'empty.csv' cannot be read"),
        (["low ~ age", "ragged.csv"], "file 'ragged.csv' cannot be read"),
        (["low ~ age", "semicolons.csv"], "'semicolons.csv' cannot be read.*has semicolons.*by commas"),
        (["low ~ age", "decimals.csv"], "'decimals.csv' cannot be read.*has semicolons.*by commas"),
        (["low ~ .", "index.csv"], "'index.csv' must have a name for each column.*'Unnamed: 0'"),
        (["low ~ age", "binary.csv"], "file 'binary.csv' cannot be read"),
        (["low ~ age", "broken.csv.gz"], "file 'broken.csv.gz' cannot be read"),
        (["low ~ age", "broken.csv.bz2"], "file 'broken.csv.bz2' cannot be read"),
        (["low ~ age", "broken.csv.xz"], "file 'broken.csv.xz' cannot be read"),
        (["low ~ age", "broken.csv.zip"], "file 'broken.csv.zip' cannot be read"),
        (["low ~ age", "broken.csv.tar"], "file 'broken.csv.tar' cannot be read"),
        (["low ~ age", "broken.parquet"], "file 'broken.parquet' cannot be read"),
        (["low ~ aeg", "births.csv"], "'aeg'.*Did you mean 'age'"),
        (["low ~ age +", "births.csv"], "formula"),
        (["low ~ __import__('os')", "births.csv"], "__import__"),
        (["births.csv", "low ~ age"], "file 'low ~ age' cannot be read"),
        (["low ~ age", "births.csv", "--always", "lwt"], "'lwt'"),
        (["low ~ age", "births.csv", "--weights", "w"], "'w'"),
        (["low ~ age", "births.csv", "--draws", "many"], "'draws' parameter.*Got 'many'"),
        (["low ~ age", "births.csv", "--mcse", "0"], "'mcse' parameter.*Got 0"),
        (["low ~ age", "births.csv", "--max-seconds", "0"], "'max_seconds' parameter.*Got 0"),
        (["low ~ age", "births.csv", "--draws", "50", "--mcse", "0.1"], "'mcse' parameter.*left out"),
        (["low ~ age", "births.csv", "--draws", "0"], "'draws' parameter.*Got 0"),
        (["low ~ age", "births.csv", "--top", "0"], "'top' parameter"),
        (["low ~ age", "births.csv", "--sampler", "gibbs"], "gibbs"),
        (["low ~ age", "births.csv", "--budget", "3"], "needs 'costs'"),
        (["low ~ age", "births.csv", "--costs", "three.csv"], "must have two columns.*Got a, b, c"),
        (["low ~ age", "births.csv", "--costs", "words.csv"], "column 'cost'.*a number in every row"),
        (["low ~ age", "births.csv", "--costs", "blank.csv"], "column 'name'.*a name in every row"),
        (["low ~ age", "births.csv", "--costs", "other.csv"], "'income'"),
        (["low ~ age", "births.csv", "--costs", "costs.csv", "--budget", "-1"], "'budget' parameter"),
        (["low ~ age", "births.csv", "--out", "file"], "folder 'file' cannot be created"),
    ],
)
def test_what_cannot_be_used_is_named(words, said, folder, capsys, monkeypatch):
    bad_files(folder)
    monkeypatch.chdir(folder)
    assert main(words) == 2
    found = capsys.readouterr()
    assert re.search(said, found.err), found.err
    assert found.err.startswith("python -m pyrjsel: error: ")
    assert "Traceback" not in found.err


@pytest.mark.parametrize(
    "words",
    [
        ["low ~ age"],
        ["low ~ age", "births.csv", "--model", "tobit"],
        ["low ~ age", "births.csv", "--colour"],
    ],
)
def test_bad_options_are_refused(words, capsys):
    with pytest.raises(SystemExit) as stopped:
        main(words)
    assert stopped.value.code == 2
    assert "usage: python -m pyrjsel" in capsys.readouterr().err


def test_a_folder_that_cannot_be_written_to(folder, capsys, monkeypatch):
    monkeypatch.chdir(folder)
    (folder / "taken" / "report.html").mkdir(parents=True)
    assert main(["low ~ age", "births.csv", "--out", "taken"]) == 2
    assert "folder 'taken' cannot be written to" in capsys.readouterr().err


def test_what_comes_after_the_fit_is_tried_before(folder, capsys, monkeypatch):
    """A file that cannot be made in the folder, and a number of models that no summary has."""

    def full(**_):
        raise PermissionError("not yours")

    monkeypatch.chdir(folder)
    monkeypatch.setattr(rj.LogitSelection, "fit", None)
    monkeypatch.setattr("tempfile.TemporaryFile", full)
    assert main(["low ~ age", "births.csv", "--out", "closed"]) == 2
    assert "folder 'closed' cannot be written to: not yours" in capsys.readouterr().err
    assert main(["low ~ age", "births.csv", "--top", "0"]) == 2
    assert "'top' parameter of summary must be an int in [1, inf). Got 0" in capsys.readouterr().err


def test_matplotlib_is_asked_for_before_the_fit(folder, capsys, monkeypatch):
    monkeypatch.chdir(folder)
    monkeypatch.setattr(rj.LogitSelection, "fit", None)
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    assert main(["low ~ age", "births.csv", "--out", "there"]) == 2
    assert "pip install 'pyrjsel[plots]'" in capsys.readouterr().err


def test_an_interrupt_ends_without_a_traceback(folder, capsys, monkeypatch):
    def stop(self, **options):
        raise KeyboardInterrupt

    monkeypatch.chdir(folder)
    monkeypatch.setattr(rj.LogitSelection, "fit", stop)
    assert main(["low ~ age", "births.csv"]) == 130
    assert capsys.readouterr().err == "Interrupted.\n"


@pytest.mark.skipif(os.name != "posix", reason="pipes break as on POSIX systems")
def test_who_reads_the_output_may_stop(folder):
    """Files are written all the same, and nothing is said of the pipe."""
    words = [sys.executable, "-P", "-m", "pyrjsel", "low ~ age", "births.csv", "--out", "piped"]
    ends = os.pipe()
    with subprocess.Popen(words, cwd=folder, stdout=ends[1], stderr=subprocess.PIPE, text=True) as process:
        for end in ends:
            os.close(end)
        assert process.communicate()[1] == ""
    assert process.returncode == 1
    assert (folder / "piped" / "report.html").exists()


def timeless(text):
    """Return a summary without its seconds, in the same columns."""
    return re.sub(r"Run time:? *[^\n]*?(?=  |\n)", "", text)


def test_priors_are_given_as_python_has_them(folder, capsys):
    words = ["low ~ age + lwt + smoke + ht", str(folder / "births.csv"), "--quiet"]
    births = pd.read_csv(folder / "births.csv")
    cases = {
        ("--coef-prior", "Normal(1, standardize=True)"): {"coef_prior": rj.Normal(1, standardize=True)},
        ("--coef-prior", 'gprior("n", intercept=Normal(2.5))'): {
            "coef_prior": rj.GPrior("n", intercept=rj.Normal(2.5))
        },
        ("--model-prior", "uniform"): {"model_prior": rj.Uniform()},
        ("--model-prior", "beta-binomial"): {"model_prior": rj.BetaBinomial(1, 1)},
        ("--model-prior", "Bernoulli(0.1)"): {"model_prior": rj.Bernoulli(0.1)},
        ("--model-prior", "TruncatedPoisson(expected_size=1)"): {
            "model_prior": rj.TruncatedPoisson(expected_size=1)
        },
    }
    for options, priors in cases.items():
        assert main([*words, *options]) == 0
        fitted = rj.logit(words[0], births, **priors).fit(rng=1)
        assert timeless(capsys.readouterr().out) == timeless(f"{fitted.summary()}\n")


def test_prices_can_be_the_prior(folder, capsys):
    words = ["low ~ age + lwt + smoke + ht", str(folder / "births.csv"), "--quiet", "--model-prior"]
    assert main([*words, "CostAdjusted", "--costs", str(folder / "costs.csv")]) == 0
    births = pd.read_csv(folder / "births.csv")
    fitted = rj.logit(words[0], births, costs=COSTS, model_prior=rj.CostAdjusted(COSTS)).fit(rng=1)
    assert timeless(capsys.readouterr().out) == timeless(f"{fitted.summary()}\n")
    assert main([*words, "CostAdjusted"]) == 2
    assert "needs --costs" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--coef-prior", "Uniform"], "--coef-prior must be one of GPrior, HyperG"),
        (["--model-prior", "Normal(1)"], "--model-prior must be one of BetaBinomial, Uniform"),
        (["--coef-prior", "Normal(__import__('os'))"], "--coef-prior must be one of"),
        (["--coef-prior", "Normal(1"], "--coef-prior must be one of"),
        (["--coef-prior", "Normal(1, 2, 3, 4, 5, 6, 7)"], "--coef-prior must be one of"),
        (["--coef-prior", "Normal(-1)"], "'scale' parameter of Normal"),
        (["--coef-prior", "SpikeSlab(0.1, 10)"], "'coef_prior' parameter of LogitSelection"),
    ],
)
def test_other_priors_are_refused(folder, capsys, options, said):
    assert main(["low ~ age", str(folder / "births.csv"), *options]) == 2
    assert said in capsys.readouterr().err


def test_files_whose_names_are_no_utf8_are_read_and_named(folder, capsys, monkeypatch):
    monkeypatch.chdir(folder)
    rows, costs, out = (os.fsdecode(name) for name in (b"r\xff.csv", b"c\xff.csv", b"o\xff"))
    try:
        pd.read_csv("births.csv").to_csv(rows, index=False)
    except OSError:
        pytest.skip("the file system has no such names")
    pd.Series(COSTS).to_csv(costs, header=["minutes"], index_label="name")
    words = ["low ~ age + lwt", rows, "--costs", costs, "--out", out, "--quiet"]
    assert main(words) == 0
    page = (folder / out / "report.html").read_text(encoding="utf-8")
    assert r"r\udcff.csv" in page
    assert pd.read_csv(folder / out / "inclusion.csv").shape[0] == 2
    assert main(["low ~ age", os.fsdecode(b"none\xff.csv")]) == 2
    assert "cannot be read" in capsys.readouterr().err

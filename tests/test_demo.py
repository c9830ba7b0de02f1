"""The demo, run as users run it."""

import os
import re
import subprocess
import sys

import pytest

import pyrjsel as rj
from pyrjsel.__main__ import comparison, main


def run(*words, cwd):
    """Run ``python -m pyrjsel`` in an empty folder, with warnings as errors except those of convergence."""
    # A short run may well say that it is short.
    filters = ["-W", "error"]
    for beginning in ("Chains disagree", "R-hat over all chains", "The run has"):
        filters += ["-W", f"default:{beginning}:UserWarning"]
    command = [sys.executable, "-P", *filters, "-m", "pyrjsel", *words]
    clean = {**os.environ, "PYTHONIOENCODING": "utf-8"}
    return subprocess.run(command, cwd=cwd, env=clean, capture_output=True, encoding="utf-8", check=False)


@pytest.fixture(scope="module")
def short(tmp_path_factory):
    """A demo with few draws: whether both samplers run and the tables are filled."""
    done = run("demo", "--draws", "300", "--seed", "3", cwd=tmp_path_factory.mktemp("demo"))
    assert done.returncode == 0, done.stderr
    return done.stdout


def cells(text, caption):
    """Return the rows of a table of the comparison, by model, as lists of words."""
    table = text.split(f"\n{caption}\n")[1].split("=====")[0]
    return {line.split()[0]: line.split()[1:] for line in table.splitlines() if re.match(r"m\d", line)}


def test_the_demo_says_first_that_the_data_are_synthetic(short):
    assert "SYNTHETIC" in short.splitlines()[0]
    assert "no evidence about pneumonia" in " ".join(short.splitlines()[:2])


def test_the_demo_finds_the_published_best_model(short):
    assert "7,497 of the 8,192 models cost at most 10 minutes" in short
    assert re.search(r"Best by enumeration: +m1\n", short)
    # 1,200 draws: m1 has 0.52, the next 0.11, and the difference a Monte Carlo error of about 0.06, which is
    # 7 of them. False alarms: below 1e-6. Over 40 other seeds the frequency of m1 was never below 0.43.
    assert re.search(r"Best by RJMCMC: +m1\n", short)


def test_both_summaries_are_printed(short):
    assert short.count("Logistic model selection") == 2
    assert re.findall(r"Sampler: +(\w+)", short) == ["enumerate", "rjmcmc"]
    assert re.search(r"Chains x draws: +4 x 300\n", short)


def test_the_comparison_has_the_printed_figures_and_those_of_the_fits(short):
    posterior = cells(short, "Posterior probability")
    assert posterior["m1"][:4] == ["0.4872", "0.4879", "0.6159", "0.5912"]
    assert posterior["m4"][2:4] == ["–", "–"]
    # The integration error of the four models is below 0.002 and their sum of probabilities 0.77.
    known = {"m1": 0.520, "m2": 0.110, "m3": 0.101, "m4": 0.038}
    found = {name: float(row[4]) for name, row in posterior.items()}
    assert found == pytest.approx(known, abs=0.005)
    odds = cells(short, "Posterior odds of m1 against the model")
    assert [row[1] for row in odds.values()] == ["1.00", "4.63", "4.97", "9.80"]
    assert float(odds["m2"][4]) == pytest.approx(found["m1"] / found["m2"], rel=0.01)  # four decimals


def test_without_a_command_the_help_is_printed(capsys):
    assert main([]) == 0
    assert "demo" in capsys.readouterr().out


@pytest.mark.skipif(os.name != "posix", reason="pipes break as on POSIX systems")
def test_who_reads_the_output_may_stop(tmp_path):
    """Nothing is said of the pipe."""
    words = [sys.executable, "-P", "-m", "pyrjsel", "demo", "--draws", "20"]
    ends = os.pipe()
    with subprocess.Popen(words, cwd=tmp_path, stdout=ends[1], stderr=subprocess.PIPE, text=True) as process:
        for end in ends:
            os.close(end)
        assert "Traceback" not in process.communicate()[1]
    assert process.returncode == 1


@pytest.mark.parametrize(
    "words",
    [["demo", "--draws", "0"], ["demo", "--draws", "many"], ["demo", "--seed", "-1"], ["y ~ a", "", "y ~ a"]],
)
def test_bad_options_are_refused_by_name(words, capsys):
    with pytest.raises(SystemExit) as stopped:
        main(words)
    assert stopped.value.code == 2
    said = capsys.readouterr().err
    assert words[1] in said
    assert repr(words[2]) in said


def test_a_model_that_was_not_visited_has_dashes():
    cohort = rj.datasets.pneumonia()
    names = list(rj.datasets.pneumonia_published().loc["m1", "variables"])
    fit = rj.logit("mortality ~ .", cohort.data[["mortality", *names]], always=names).fit(rng=1)
    text = str(comparison(fit, fit))
    assert cells(text, "Posterior probability")["m1"][4:] == ["1.0000", "1"]
    assert cells(text, "Posterior probability")["m2"][4:] == ["–", "–"]


def test_an_interrupt_ends_without_a_traceback(monkeypatch, capsys):
    def stop(self, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(rj.LogitSelection, "fit", stop)
    assert main(["demo"]) == 130
    assert "Interrupted" in capsys.readouterr().err

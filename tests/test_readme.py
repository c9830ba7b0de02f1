"""The README tells the truth: its example runs and prints what it shows, and its links lead somewhere."""

import contextlib
import io
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text()
EXAMPLE = re.compile(r"```python\n(.*?)```\n\n```text\n(.*?)```", re.DOTALL)

LINK = re.compile(r"\]\(([^)\s]+)\)|^\[[^\]]+\]: (\S+)", re.MULTILINE)


def comparable(text):
    """Return `text` without what may differ: times, and ratios that are made of rounding errors.

    A Bayes factor above 1e12 is a ratio of probabilities to a complement of a few times 1e-16, and so is the
    error of a probability that is 1 to the last bit or the one before.
    """
    text = re.sub(r"Run time: +[\d.]+ s CPU, [\d.]+ s elapsed", "Run time: - s CPU, - s elapsed", text)
    text = re.sub(r" +\d\.\d+e\+1[2-9]", " huge", text)
    text = re.sub(r"(>0\.9999) +(?:0|<0\.0001) +", r"\1 none ", text)
    return [line.rstrip() for line in text.splitlines()]


@pytest.fixture(scope="module")
def printed():
    (example,) = EXAMPLE.findall(README)
    with contextlib.redirect_stdout(io.StringIO()) as stream:
        exec(compile(example[0], "README.md", "exec"), {})
    return stream.getvalue()


def test_the_example_prints_what_the_readme_shows(printed):
    """If the output has changed on purpose: run vignettes/make_readme.py."""
    ((_, shown),) = EXAMPLE.findall(README)
    assert comparable(printed) == comparable(shown)


def test_the_example_is_all_the_python_there_is():
    assert README.count("```python") == len(EXAMPLE.findall(README)) == 1
    code = EXAMPLE.findall(README)[0][0]
    assert len(code.strip().splitlines()) <= 15


def test_times_and_rounding_alone_are_not_compared():
    assert comparable("Run time:  7.5 s CPU, 2.0 s elapsed") == comparable(
        "Run time:  12.1 s CPU, 8 s elapsed"
    )
    assert comparable("age  1.91e+14   0.5") == comparable("age  7.64e+14   0.5")
    assert comparable("age  1.91e+11") != comparable("age  1.92e+11")
    assert comparable("m1  0.520") != comparable("m1  0.521")
    assert comparable("age  >0.9999   0       3") == comparable("age  >0.9999  <0.0001  3")
    assert comparable("age  >0.9999   0.0002  3") != comparable("age  >0.9999   0.0001  3")


def test_files_that_the_readme_names_exist():
    targets = [first or second for first, second in LINK.findall(README)]
    local = [target for target in targets if not target.startswith("https://")]
    assert len(local) >= 5
    assert [target for target in local if not (ROOT / target).is_file()] == []


def test_commands_that_the_readme_names_exist():
    makefile = (ROOT / "Makefile").read_text()
    commands = set(re.findall(r"\bmake ([a-z][\w-]+)", README))
    assert {"demo", "test", "vignettes"} <= commands
    targets = set(re.findall(r"^([\w-]+):", makefile, re.MULTILINE))
    assert commands <= targets


def test_the_picture_is_small_enough_for_a_web_page():
    picture = ROOT / "vignettes" / "images" / "cohort-models.png"
    assert picture.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    assert picture.stat().st_size < 150_000


def test_synthetic_data_are_called_so():
    assert README.count("pneumonia()") >= 1
    assert "The pneumonia cohort is synthetic" in README

"""Long pages as they were run last: their code and prose are those of the sources, their outputs are no older
than the samplers, and no table of them is empty."""

import json
import re

import pytest
from by_path import module
from pages import FOLDER

RENDERED = FOLDER / "rendered"
SAVED = FOLDER.parent / "tests" / "saved"


render = module(FOLDER / "render.py")
drawn = module(SAVED / "drawn.py")
PAGES = sorted(render.LONG)

# Kinds of fits in tests/saved/draws.json whose samplers a page uses, by their first words.
USED = {
    "kernel": ["kernel"],
    "large": ["linear", "logit collapsed", "poisson"],
    "mixture": ["mixture"],
    "patterns": ["pattern"],
    "pneumonia": ["logit"],
    "ssvs": ["linear"],
}


def text(name):
    return (RENDERED / f"{name}.md").read_text()


def when(name):
    """Return when a page was run, which its last line says."""
    found = re.search(r"\*Run on (\d{4}-\d\d-\d\d \d\d:\d\d) UTC, in [\d,]+ CPU seconds\.\*\n\Z", text(name))
    assert found, f"{name}.md does not say when it was run"
    return found[1]


@pytest.mark.parametrize("name", PAGES)
def test_code_and_prose_are_those_of_the_source(name):
    assert render.with_prose_of(render.source(name), text(name)) == text(name), (
        f"run vignettes/render.py {name}, with --prose if only its prose has changed"
    )


def test_other_code_is_noticed():
    source = render.source("ssvs")
    next(cell for cell in source.cells if cell.cell_type == "code").source += "\nextra = 1"
    with pytest.raises(render.Stale, match="code has changed"):
        render.with_prose_of(source, text("ssvs"))


def test_other_prose_is_written_and_outputs_stay():
    source = render.source("ssvs")
    source.cells[0].source += "\n\nOne more sentence."
    page = render.with_prose_of(source, text("ssvs"))
    assert page.replace("\n\nOne more sentence.", "", 1) == text("ssvs")


MISSING = re.compile("NaN|nan|–|None")
NUMBER = re.compile(r"[<>]?-?[\d,.]+(e[+-]?\d+)?%?")


def empty_tables(page):
    """Return the printed tables most rows of which end in missing values."""
    found = []
    for block in re.findall(r"^```text\n(.*?)^```", page, re.DOTALL | re.MULTILINE):
        for table in re.split(r"\n\s*\n", block):
            rows = [line.split() for line in table.splitlines()]
            missing = [row for row in rows if len(row) > 1 and all(map(MISSING.fullmatch, row[1:][-2:]))]
            numbers = [row for row in rows if len(row) > 1 and NUMBER.fullmatch(row[-1])]
            if len(missing) > len(numbers):
                found.append(table)
    return found


def test_empty_tables_are_found():
    series = "tau\n0.1   NaN\n0.2   NaN\n"
    assert empty_tables(f"```text\n{series}```\n") == [series]
    table = "c      10  100  1000\ntau\n0.1   NaN  NaN   NaN\n0.2   NaN  NaN   NaN\n"
    assert empty_tables(f"```text\na table\n\n{table}```\n") == [table]
    assert empty_tables(f"```text\n{table.replace('NaN  NaN', '0.5  0.6').replace('NaN', '0.7')}```\n") == []


@pytest.mark.parametrize("name", PAGES)
def test_no_printed_table_is_empty(name):
    assert empty_tables(text(name)) == []


def test_the_figures_of_draws_are_the_kept_ones():
    """If not: ``python tests/saved/drawn.py`` keeps the new ones, and long pages must be run again."""
    kept = json.loads(drawn.FILE.read_text())
    found = drawn.figures()
    assert set(kept) == set(found)
    assert drawn.changed(kept, found) == []


@pytest.mark.parametrize("name", PAGES)
def test_the_page_was_run_after_the_last_change_of_draws(name):
    kept = json.loads(drawn.FILE.read_text())
    since = {kind: value["since"] for kind, value in kept.items() if kind.startswith(tuple(USED[name]))}
    assert since
    assert [kind for kind, changed in since.items() if changed > when(name)] == []

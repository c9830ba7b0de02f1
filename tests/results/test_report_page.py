"""Pages of results: complete, self-contained, escaped; tables sort and the slider moves in a browser."""

import html
import json
import os
import re
import shutil
import subprocess
import warnings
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from by_path import module

import pyrjsel as rj
from pyrjsel.report import budget_steps

fits = module(Path(__file__).parents[1] / "saved" / "fits.py")

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
# One fit of each room, and of samplers with other plots: the headings of these.
PLOTS = {
    "logit rjmcmc": ["Inclusion", "Models", "Coefficients", "Frontier", "Trace"],
    "linear enumerated": ["Inclusion", "Models", "Coefficients"],
    "pattern interactions": ["Coefficients", "Trace", "Compression"],
    "kernel smc": ["Kernels", "Particles"],
    "mixture": ["Inclusion", "Models", "Components", "Calibration", "Trace"],
}
HEADINGS = {heading for headings in PLOTS.values() for heading in headings}
BIRTHS = rj.datasets.birthwt().data
MINUTES = {"lwt": 1.0, "smoke": 2.0, "ht": 5.0, "strong": 3.0}


class Elements(HTMLParser):
    """Elements of a page, headings and the links that it has."""

    def __init__(self, text):
        super().__init__()
        self.open, self.headings, self.links, self.alts, self.heading = [], [], [], [], None
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self.links += [given[name] for name in ("src", "href") if name in given]
        if tag == "img":
            self.alts.append(given["alt"])
        if tag not in ("meta", "img", "input", "br"):
            self.open.append(tag)
        self.heading = "" if tag == "h2" else self.heading

    def handle_data(self, data):
        if self.heading is not None:
            self.heading += data

    def handle_endtag(self, tag):
        # Cells and rows end with their table.
        while self.open and self.open[-1] != tag:
            assert self.open.pop() in ("td", "th", "tr", "li", "p"), tag
        self.open.pop()
        if tag == "h2":
            self.headings.append(self.heading)
            self.heading = None


def page_of(results, folder, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rj.PyrjselWarning)
        results.report(folder / "page.html", **options)
    return (folder / "page.html").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def priced():
    strong = BIRTHS["low"] + 0.5 * np.random.default_rng(1).standard_normal(len(BIRTHS))
    return rj.logit("low ~ lwt + smoke + strong + ht", BIRTHS.assign(strong=strong), costs=MINUTES).fit(rng=1)


@pytest.mark.parametrize("name", PLOTS)
def test_pages_of_every_room(name, tmp_path):
    _, results = fits.make(name)
    text = page_of(results, tmp_path, top=3)
    page = Elements(text)
    shown = [name for name in page.headings if name in HEADINGS]
    assert shown == PLOTS[name]
    assert "Summary" in page.headings
    assert len(page.alts) == len(shown)
    assert all(page.alts)
    # Nothing from elsewhere.
    assert all(link.startswith("data:image/png;base64,") for link in page.links)
    assert "http" not in re.sub(r'"data:[^"]*"', "", text)
    for label, value in results.summary().info:
        assert f">{html.escape(value)}</td>" in text, label
    for note in results.summary().notes:
        assert f"<li>{html.escape(note)}</li>" in text


def test_names_are_escaped(tmp_path):
    data = BIRTHS.rename(columns={"lwt": 'a<b>"&'})
    costs = {'a<b>"&': 1.0, "age": 2.0}
    results = rj.LogitSelection(data["low"], data[[*costs]], costs=costs, always=['a<b>"&']).fit(rng=1)
    text = page_of(results, tmp_path, title="<script>alert(1)</script>", notes=["x < y"])
    Elements(text)
    assert "a<b>" not in text  # in the data of the slider, too
    assert "<script>alert" not in text
    assert "<p>x &lt; y</p>" in text


def test_warnings_are_said_and_written(priced, tmp_path, monkeypatch):
    """Those of the package are on the page; those of libraries are said alone."""
    frontier = type(priced)._frontier

    def warns(self):
        warnings.warn("few draws", rj.PyrjselWarning, stacklevel=1)
        warnings.warn("an option of a library", DeprecationWarning, stacklevel=1)
        return frontier(self)

    monkeypatch.setattr(type(priced), "_frontier", warns)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        priced.report(tmp_path / "page.html")
    found = {str(item.message): (item.category, item.filename) for item in caught}
    assert found["few draws"] == (rj.PyrjselWarning, __file__)
    assert found["an option of a library"][0] is DeprecationWarning
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "<li>few draws</li>" in text
    assert "an option of a library" not in text


def test_titles(priced, tmp_path):
    text = page_of(priced, tmp_path)
    assert "<title>Logistic model selection: low ~ lwt + smoke + strong + ht</title>" in text
    assert "<title>Births</title>" in page_of(priced, tmp_path, title="Births")
    bare = rj.LogitSelection(BIRTHS["low"], BIRTHS[["age"]]).fit(rng=1)
    assert "<title>Logistic model selection</title>" in page_of(bare, tmp_path)


def test_budgets_are_those_of_the_frontier(priced, tmp_path):
    text = page_of(priced, tmp_path)
    steps = json.loads(re.search(r'id="steps">(.*?)</script>', text).group(1))
    table = priced.frontier()
    assert [step["budget"] for step in steps] == [f"{budget:g}" for budget in table["budget"]]
    for step, row in zip(steps, table.to_dict("records"), strict=True):
        assert step["text"].startswith(" + ".join(row["terms"]) or "(no terms)")
        assert f"Cost {row['cost']:g}, deviance {row['deviance']:,.2f}" in step["text"]
    for step, now, later in zip(steps, table["deviance"], table["deviance"][1:], strict=False):
        assert f"deviance {now - later:,.2f} lower" in step["text"]
    assert f'max="{len(table) - 1}"' in text


def test_budgets_without_a_visited_model_are_left_out():
    rows = pd.DataFrame(
        {"budget": [1.0, 2.0, 3.0], "terms": [None, ("a",), ("b",)], "cost": [float("nan"), 2.0, 2.0],
         "deviance": [float("nan"), 10.0, 12.5], "posterior": [float("nan"), 0.5, 0.4]}
    )  # fmt: skip
    first, second = budget_steps(rows)
    assert first["text"].endswith(
        "A budget of 3 buys the next model: deviance 2.50 higher; with b, without a."
    )
    assert second["text"].endswith("No larger budget of the fit has another best model.")


def test_loaded_results_say_what_is_missing(priced, tmp_path):
    before = page_of(priced, tmp_path)
    priced.save(tmp_path / "a.rjs")
    after = page_of(rj.load(tmp_path / "a.rjs"), tmp_path)
    assert Elements(after).headings[:1] == Elements(before).headings[:1]
    x = BIRTHS["lwt"].to_numpy(dtype=float)[:40]
    rj.KernelRegression(x**2, x).fit(particles=20, rng=1).save(tmp_path / "b.rjs")
    assert "training data" in page_of(rj.load(tmp_path / "b.rjs"), tmp_path)


def test_without_matplotlib_there_are_no_plots(priced, tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "matplotlib.pyplot", None)
    text = page_of(priced, tmp_path)
    assert Elements(text).alts == []
    assert "<li>Plots need matplotlib" in text


def test_a_full_disk_leaves_the_old_page(priced, tmp_path, monkeypatch):
    path = tmp_path / "page.html"
    path.write_text("old")

    def full(*_):
        raise OSError("no space left")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="no space left"):
        page_of(priced, tmp_path)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    ("given", "match"),
    [
        ({"path": "none/a.html"}, "'path' parameter of report must be the path of a file in a folder"),
        ({"title": 3}, "'title' parameter"),
        ({"notes": "one"}, "'notes' parameter"),
        ({"notes": [1]}, "'notes' parameter"),
        ({"notes": 2.5}, "'notes' parameter"),
        ({"top": 0}, "'top' parameter"),
    ],
)
def test_bad_input(priced, tmp_path, given, match):
    path = tmp_path / given.pop("path", "a.html")
    with pytest.raises(rj.ParameterError, match=match):
        priced.report(path, **given)
    assert list(tmp_path.iterdir()) == []


# Clicks on headings, moves the slider, and leaves what is then to be seen in an element of its own.
PROBE = """
<pre id="seen"></pre><script>
const table = [...document.querySelectorAll(".report table")].find(
  one => one.caption && one.caption.textContent.startsWith("Inclusion"));
const names = () => [...table.rows].slice(1).map(row => row.cells[0].textContent.trim());
const button = name => [...table.querySelectorAll("th button")].find(one => one.textContent === name);
const seen = {before: names()};
button("posterior").click(); seen.down = names();
button("posterior").click(); seen.up = names();
seen.sorted = button("posterior").closest("th").ariaSort;
table.querySelector("th button").click(); seen.named = names();
const slide = document.getElementById("budget-step");
slide.value = 0; slide.dispatchEvent(new Event("input"));
seen.text = document.getElementById("budget-model").textContent;
seen.value = slide.getAttribute("aria-valuetext");
seen.wide = document.documentElement.scrollWidth > window.innerWidth;
document.getElementById("seen").textContent = JSON.stringify(seen);
</script></body>"""


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed")
@pytest.mark.parametrize("width", [390, 1200])
def test_in_a_browser(priced, tmp_path, width):
    text = page_of(priced, tmp_path)
    (tmp_path / "page.html").write_text(text.replace("</body>", PROBE), encoding="utf-8")
    command = [
        CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-sync",
        "--disable-background-networking", "--disable-component-update",
        f"--user-data-dir={tmp_path / 'user'}", f"--window-size={width},900", "--dump-dom",
        f"file://{tmp_path / 'page.html'}",
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    found = json.loads(html.unescape(re.search(r'<pre id="seen">(.*?)</pre>', done.stdout).group(1)))
    table = priced.inclusion["posterior"]
    assert table["strong"] > 0.9999  # it is printed so
    assert found["before"] == list(table.index)
    assert found["down"] == list(table.sort_values(ascending=False).index)
    assert found["up"] == list(table.sort_values().index)
    assert found["sorted"] == "ascending"
    assert found["named"] == sorted(table.index)
    frontier = priced.frontier()
    assert found["value"] == f"{frontier['budget'][0]:g}"
    assert found["text"] == budget_steps(frontier)[0]["text"]
    assert not found["wide"]

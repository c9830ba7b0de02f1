"""Every vignette runs from top to bottom, without an error or a warning."""

import sys

import jupytext
import pytest
from pages import FOLDER, Outputs, cells_of, marked, run

PAGES = sorted(path.name for path in FOLDER.glob("*.md"))
# The front page is quick and run with the guide (test_site.py).
NOTEBOOKS = [name for name in PAGES if name != "index.md"]

# Texts that must be among the outputs, because the prose of the page relies on them, and the number of
# figures.
PROMISED = {
    "first-steps.md": (
        [
            "Feasible models: 256",
            "hold 0.22",  # of the posterior mass: less than a quarter; the third digit is at .2275
            "('age', 'ftv', 'lwt', 'smoke', 'ht', 'ui', 'age:ftv')",
            "143 models cost at most 15 minutes",
            "('age', 'lwt', 'smoke')",
            "unseen levels of the column 'race' in the term 'race': 'unknown'",
        ],
        2,
    ),
    # Chains are short here; groups and patterns are the same in the full setting.
    "patterns.md": (
        [
            "743 groups of 3628 patterns",
            "cauchy 1867 11385",
            "Groups / patterns: 0.205",
            "3,628 parameters",
            "_CC:V cauchy",
            "unseen levels of the column 'race'",
        ],
        10,
    ),
    # Chains are short here, and splits few.
    "mixture.md": (
        [
            "Feasible models: 128",
            "printed: 2+7 (17%), 2+? (16%)",
            "support vector machine",
            "joint, with them",
            "133 values missing; 200 rows used",
            "of 128 subsets cost at most 6.5",
        ],
        2,
    ),
    # Chains are short here; what enumeration gives is the same in the full setting.
    "pneumonia.md": (
        [
            "2,532 patients, 405 deaths, 83 indicators",
            "31 minutes a patient, deviance 1587.4 (published: 1587.3)",
            "published moves, ",  # terms above 0.30
            "The other 70 terms in the default fits: at most 0.0",
            "7,497 feasible models",
            # Integrals have an error of 0.0005.
            "exact 0.52",
            "m1 X1 X2 X3 X4 X5 X12 X37 X62 10.0 0.52",
            "m5 X2 X3 X4 X5 X46 X49 X62 X70 10.0 0.024",
            "m5 1616.4 1616.5 10.0 8",
            "benefit only 1553.2 1553.2 22.5 13",
            # The best model of eleven minutes, and the deviance that the eleventh buys.
            "1589.2268 21.1 X1 X2 X3 X4 X5 X12 X37 X62 X70",
        ],
        6,
    ),
    # Numbers of the Gibbs samplers are left out: theirs are other chains in the full setting.
    "ssvs.md": (
        [
            "the best 3 of 32,768 enumerated, which hold 0.025",
            "Ineq 0.500 0.9947 188",
            "1 0.599 0.912 2 0.397 0.087",  # of the two columns of police expenditure
            "quadrature 6.852 0.994 0.749 0.238 0.570",
            "quadrature 179.838 0.340 0.322 0.333 0.335",
            "s1 s2 0.90",
            "tau=2 0.1263 6.40 -2406.65 sex + bmi + bp + s3 + s5",
            "tau=0.5 0.1001 7.73 -2425.28",
        ],
        5,
    ),
    # Data sets, runs and particles are fewer here; the stream is the same in the full setting.
    "kernel.md": (
        [
            "sequential, as published 0.0591 4.5000 0.1136",
            "filter, no rejuvenation filter, printed weights",
            "all widths: error 0.0",
            "mean_kernels 1.0",
            "Gaussian process, width fitted",
            "300 -4.",  # log predictive density of thirty rows after the change
            "all rows 0.2",  # error right after the change
        ],
        4,
    ),
    # Rows and columns are fewer here.
    "large.md": (
        [
            "16,384 models enumerated",
            "all within 1e-8: True",
            "288 distinct rows",
            "2^1200 models",
            "No chain visited the model b1 + b2.",
            "It warned: Chains disagree",
        ],
        0,
    ),
}

# Chains that are short for the tests may well say so.
SHORT = "The run has|No chain visited"


@pytest.fixture(autouse=True)
def short_pages(monkeypatch, tmp_path):
    monkeypatch.setenv("PYRJSEL_VIGNETTES", "short")
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("name", marked(NOTEBOOKS, always="first-steps.md"))
def test_the_vignette_runs(name):
    found = run(FOLDER / name, allowed=SHORT)
    texts, figures = PROMISED[name]
    assert [text for text in texts if text not in found.text] == []
    assert found.figures == figures


@pytest.mark.pages
def test_the_section_on_diabetes_needs_scikit_learn_and_says_so(monkeypatch):
    """Without scikit-learn its cells run, and all that they give is the reason."""
    page = jupytext.read(FOLDER / "ssvs.md")
    begins = next(k for k, cell in enumerate(page.cells) if "\n## Diabetes" in cell.source)
    setting, *_ = cells_of(FOLDER / "ssvs.md")
    section = [cell for cell in page.cells[begins:] if cell.cell_type == "code"]
    for name in [name for name in sys.modules if name.split(".")[0] == "sklearn"] + ["sklearn"]:
        monkeypatch.setitem(sys.modules, name, None)
    found = run(FOLDER / "ssvs.md", [setting, *section])
    assert found == Outputs("scikit-learn is not installed: the rest of this page has no output.", 0)


def test_every_page_is_known():
    assert "index.md" in PAGES
    assert set(PROMISED) == set(NOTEBOOKS)


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_the_vignette_is_a_notebook_with_cells(name):
    notebook = jupytext.read(FOLDER / name)
    assert notebook.metadata["kernelspec"]["name"] == "python3"
    assert sum(cell.cell_type == "code" for cell in notebook.cells) >= 5

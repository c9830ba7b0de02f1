"""Every vignette runs from top to bottom, without an error or a warning, in a kernel of this environment."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import jupytext
import pytest

FOLDER = Path(__file__).resolve().parents[2] / "vignettes"
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
            "terms above 0.30 in one of eight short runs",
            "7,497 feasible models",
            # Integrals have an error of 0.0005.
            "exact 0.52",
            "X1 X2 X3 X4 X5 X12 X37 X62 10.0 0.52",
            "benefit only 1553.2 1553.2 22.5 13",
            # The best model of eleven minutes, and the deviance that the eleventh buys.
            "1589.2268 21.1 X1 X2 X3 X4 X5 X12 X37 X62 X70",
        ],
        5,
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
            "mean_kernels 1.0",
            "Gaussian process, width fitted",
            "300 -4.",  # log predictive density of thirty rows after the change
            "all rows 0.2",  # error right after the change
        ],
        3,
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

# Run apart from the tests: notebook machinery draws random numbers and warns on its own account.
EXECUTE = """
import sys
import jupytext, nbclient, nbformat
source, made, folder = sys.argv[1:]
notebook = jupytext.read(source)
nbclient.NotebookClient(
    notebook, timeout=300, kernel_name="tested", resources={"metadata": {"path": folder}}
).execute()
nbformat.write(notebook, made)
"""


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    """Environment variables under which the kernel "tested" is this interpreter, wherever it is."""
    home = tmp_path_factory.mktemp("jupyter")
    kernel = home / "kernels" / "tested" / "kernel.json"
    kernel.parent.mkdir(parents=True)
    argv = [sys.executable, "-P", "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    kernel.write_text(json.dumps({"argv": argv, "display_name": "tested", "language": "python"}))
    folders = ("JUPYTER_PATH", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "JUPYTER_CONFIG_DIR", "IPYTHONDIR")
    # Without a backend of its own the kernel shows figures in the notebook.
    others = {name: value for name, value in os.environ.items() if name != "MPLBACKEND"}
    # Progress bars would go where warnings go.
    return {
        **others,
        **dict.fromkeys(folders, str(home)),
        "TQDM_DISABLE": "1",
        "PYRJSEL_VIGNETTES": "short",
    }


def run(page, environment, folder):
    """Return a page, a file or a notebook, as it is after it was run in `folder`."""
    source, made = folder / "page.ipynb", folder / "made.ipynb"
    jupytext.write(jupytext.read(page) if isinstance(page, Path) else page, source)
    command = [sys.executable, "-P", "-c", EXECUTE, str(source), str(made), str(folder)]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-6000:]
    notebook = json.loads(made.read_text())
    assert outputs(notebook, "error") == []
    # Warnings of a cell arrive here. Chains that are short for the tests may well say so.
    said = ["".join(item["text"]) for item in outputs(notebook, "stream") if item["name"] == "stderr"]
    short = re.compile("ConvergenceWarning: (The run has|No chain visited)")
    assert [text for text in said if not short.search(text)] == []
    return notebook


def outputs(notebook, kind):
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    return [item for cell in cells for item in cell["outputs"] if item["output_type"] == kind]


def plain_text(notebook):
    """Return what was printed, and the plain form of what was shown, with single spaces."""
    printed = [item["text"] for item in outputs(notebook, "stream")]
    shown = [item["data"].get("text/plain", "") for item in outputs(notebook, "execute_result")]
    return " ".join(" ".join("".join(part) for part in printed + shown).split())


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_the_vignette_runs(name, environment, tmp_path):
    notebook = run(FOLDER / name, environment, tmp_path)
    texts, figures = PROMISED[name]
    found = plain_text(notebook)
    assert [text for text in texts if text not in found] == []
    assert sum("image/png" in item["data"] for item in outputs(notebook, "display_data")) == figures


def test_the_section_on_diabetes_needs_scikit_learn_and_says_so(environment, tmp_path):
    """Without scikit-learn its cells run, and all that they give is the reason."""
    page = jupytext.read(FOLDER / "ssvs.md")
    begins = next(k for k, cell in enumerate(page.cells) if "\n## Diabetes" in cell.source)
    setting = next(cell for cell in page.cells if cell.cell_type == "code")
    page.cells = [setting, *page.cells[begins:]]
    lacking = tmp_path / "lacking" / "sklearn"
    lacking.mkdir(parents=True)
    (lacking / "__init__.py").write_text("raise ImportError('not installed')\n")
    path = os.pathsep.join([str(lacking.parent), *filter(None, [environment.get("PYTHONPATH")])])
    notebook = run(page, {**environment, "PYTHONPATH": path}, tmp_path)
    assert plain_text(notebook) == "scikit-learn is not installed: the rest of this page has no output."
    assert outputs(notebook, "display_data") == []


def test_every_page_is_known():
    assert "index.md" in PAGES
    assert set(PROMISED) == set(NOTEBOOKS)


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_the_vignette_is_a_notebook_with_cells(name):
    notebook = jupytext.read(FOLDER / name)
    assert notebook.metadata["kernelspec"]["name"] == "python3"
    assert sum(cell.cell_type == "code" for cell in notebook.cells) >= 5

"""Pages of the documentation site: their code runs, links lead somewhere, every name is explained."""

import ast
import re
import warnings
from pathlib import Path

import matplotlib.pyplot as plt
import pytest
from pages import FOLDER, cells_of, marked, run

import pyrjsel
import pyrjsel.sklearn

GUIDE = ["index.md", *sorted(f"guide/{path.name}" for path in (FOLDER / "guide").glob("*.md"))]
# A list of pages, and a comparison with code of another language: neither is run.
NOT_RUN = {"guide/index.md", "guide/from-r.md"}
OWN = sorted(path for path in FOLDER.rglob("*.md") if "_build" not in path.parts)

# Texts that must be among the outputs, because the prose of the page relies on them.
PROMISED = {
    "index.md": ["Feasible models: 32,768", "0.0528"],
    "guide/big-data.md": ["region 1.000000 1.000000 1.000000"],
    "guide/checking.md": ["longest run 59.0"],
    "guide/costs.md": ["143 models cost at most 15 minutes", "('age', 'lwt', 'smoke')"],
    "guide/families.md": ["lwt 0.54 0.51 0.42", "probit -0.621", "(income, selfLR)"],
    "guide/export.md": [r"\toprule"],
    "guide/kernel.md": ["(63,"],
    "guide/long-runs.md": ["True"],
    "guide/mixture.md": ["npreg + glu + bmi + age"],
    "guide/patterns.md": ["(150, 120)"],
    "guide/prediction.md": ["third NaN"],
    "guide/priors.md": ["0.33"],
    "guide/samplers.md": ["(15, 1450)"],
    "guide/scikit-learn.md": ["['x1' 'x2' 'x4']"],
    "guide/tables.md": ["4 x 1,000"],
    "guide/terms.md": ["together(ht, ui)[1]", "strong 40 models", "10 of 189 rows have missing values"],
}


@pytest.mark.parametrize("name", marked([name for name in GUIDE if name not in NOT_RUN], always="index.md"))
def test_the_code_of_the_page_runs(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = run(FOLDER / name).text
    assert [text for text in PROMISED[name] if text not in found] == []
    # Whether draws are the same to the last bit.
    assert name != "guide/long-runs.md" or "False" not in found


@pytest.mark.parametrize(
    "page", [page for page in OWN if "{code-cell}" in page.read_text()], ids=lambda p: p.stem
)
def test_pictures_have_a_text(page):
    pattern, cells = r"\bplot_\w+\(|plt\.show\(", []
    for cell in cells_of(page):
        tree = ast.parse(cell.source)
        functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
        tree.body = [node for node in tree.body if node not in functions]
        cells.append((cell, ast.unparse(tree)))
        # Their calls draw, and not they.
        pattern += "".join(rf"|\b{one.name}\(" for one in functions if re.search(pattern, ast.unparse(one)))
    drawn = [cell for cell, source in cells if re.search(pattern, source)]
    texts = [cell.metadata.get("mystnb", {}).get("image", {}).get("alt", "") for cell in drawn]
    assert [cell.source for cell, text in zip(drawn, texts, strict=True) if not text] == []


def test_every_page_of_the_guide_is_known():
    assert set(PROMISED) | NOT_RUN == set(GUIDE)
    listed = (FOLDER / "guide" / "index.md").read_text()
    for name in GUIDE[1:]:
        page = Path(name).name
        assert page == "index.md" or (f"]({page})" in listed and f"\n{page.removesuffix('.md')}\n" in listed)


def names_of(module):
    return [f"{module.__name__}.{name}" for name in module.__all__]


@pytest.mark.parametrize("module", [pyrjsel, pyrjsel.sklearn, pyrjsel.datasets], ids=lambda m: m.__name__)
def test_every_public_name_is_in_the_reference(module):
    explained = set()
    for page in (FOLDER / "reference").glob("*.md"):
        text, current = page.read_text(), ""
        for kind, name in re.findall(r"^\.\. (currentmodule|auto\w+):: ?(\S*)", text, re.MULTILINE):
            if kind == "currentmodule":
                current = name
            elif kind != "autosummary":
                explained.add(name if name.startswith("pyrjsel") else f"{current}.{name}")
    others = {"pyrjsel.__version__", "pyrjsel.datasets"}
    assert sorted(set(names_of(module)) - explained - others) == []


def test_members_that_the_reference_names_are_called_as_they_are():
    """A method with parentheses, an attribute without."""
    owners = {"model": pyrjsel.LogitSelection, "results": pyrjsel.SelectionResults}
    page = (FOLDER / "reference" / "selection.md").read_text()
    named = re.findall(r"`(model|results)\.(\w+)(\(\))?`", page)
    assert len(named) == 3
    assert [name for owner, name, call in named if callable(getattr(owners[owner], name)) != bool(call)] == []


@pytest.mark.parametrize("page", OWN, ids=lambda page: page.relative_to(FOLDER).as_posix())
def test_links_between_pages_lead_to_files(page):
    targets = re.findall(r"\]\(([^)\s#]+\.(?:md|png))(?:#[\w-]+)?\)", page.read_text())
    local = [target for target in targets if not target.startswith("https://")]
    assert [target for target in local if not (page.parent / target).is_file()] == []


@pytest.mark.pages
def test_calls_beside_those_of_r_run(monkeypatch):
    """They are calls without data, which come from here; the last fit is a short one."""
    crime = pyrjsel.datasets.uscrime().data
    rows = pyrjsel.histories(pyrjsel.datasets.english_text().data["symbol"][:250], order=10)
    x, y = rows.drop(columns="next").to_numpy(), rows["next"].to_numpy()
    names = {"rj": pyrjsel, "crime": crime, "new": crime.head(2), "x": x, "y": y, "xt": x[:9], "yt": y[:9]}
    fit = pyrjsel.PatternLogit.fit
    short = {"draws": 30, "burn_in": 30, "thin": 1, "chains": 1}
    monkeypatch.setattr(pyrjsel.PatternLogit, "fit", lambda model, **given: fit(model, **short, **given))
    blocks = re.findall(r"```python\n(.*?)```", (FOLDER / "guide" / "from-r.md").read_text(), re.DOTALL)
    assert len(blocks) == 5
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pyrjsel.ConvergenceWarning)
        for block in blocks:
            exec(compile(block, "from-r.md", "exec"), names)
    plt.close("all")
    assert (names["results"].score(x[:9], y[:9])["rows"] == 9).all()

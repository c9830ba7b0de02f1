"""Run long pages, and keep their outputs beside their sources as Markdown with pictures.

``render.py NAME ...`` runs the pages NAME.md, all long ones by default, one at a time, and writes
``vignettes/rendered/NAME.md``. With ``--prose`` nothing is run: pages whose code has not changed get the
prose of their sources.
"""

import ast
import base64
import os
import re
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import jupytext
import nbclient
import nbformat

FOLDER = Path(__file__).resolve().parent
RENDERED = FOLDER / "rendered"
LONG = ("kernel", "large", "mixture", "patterns", "pneumonia", "ssvs")

LAST = "*Run on {when} UTC, in {cpu:,.0f} CPU seconds.*\n"
# A fence of code or of text that is printed, or a picture.
BLOCK = re.compile(r"^```(python|text)\n(.*?)\n```\n|^!\[[^\]]*\]\([\w-]+\.png\)\n", re.DOTALL | re.MULTILINE)


class Stale(Exception):
    """The code of a page is not that of its source."""


def source(name: str) -> Any:
    """Return the notebook of a page that was not run."""
    return jupytext.read(FOLDER / f"{name}.md")


def fenced(text: str, language: str) -> str:
    """Return a block of code or of output."""
    return f"```{language}\n{text.rstrip()}\n```\n"


def prose(cell: Any) -> str:
    """Return the text of a cell without what only the site understands."""
    return str(cell.source.replace("```{warning}\n", "> **Note.** ").replace("\n```", "\n") + "\n")


def output(item: Any, picture: Path, text: str) -> str:
    """Return one output as Markdown; a picture goes into a file, and `text` says what it shows."""
    if item.output_type == "stream":
        return fenced(item.text, "text")
    if "image/png" in item.data:
        picture.write_bytes(base64.b64decode(item.data["image/png"]))
        return f"![{text}]({picture.name})\n"
    return fenced(item.data["text/plain"], "text")


def picture_text(cell: Any) -> str:
    """Return what stands for the picture of a cell where it cannot be seen."""
    return str(cell.metadata.get("mystnb", {}).get("image", {}).get("alt", ""))


def run(notebook: Any) -> float:
    """Run the cells, and return the CPU seconds of their process."""
    os.environ["TQDM_DISABLE"] = "1"
    os.environ.pop("PYRJSEL_VIGNETTES", None)  # "short" is for the tests
    with TemporaryDirectory() as folder:
        client = nbclient.NotebookClient(notebook, timeout=7200, resources={"metadata": {"path": folder}})
        return _run(client, notebook)


def _run(client: nbclient.NotebookClient, notebook: Any) -> float:
    """Run the cells and a clock after them."""
    with client.setup_kernel():
        notebook.cells.append(nbformat.v4.new_code_cell("import time; time.process_time()"))
        for number, cell in enumerate(notebook.cells):
            client.execute_cell(cell, number)
            for item in cell.get("outputs", []):
                if item.get("name") == "stderr":
                    raise RuntimeError(f"cell {number} wrote to standard error: {item.text}")
    return float(notebook.cells.pop().outputs[0].data["text/plain"])


def render(name: str) -> None:
    """Run one page and write it."""
    notebook, number = source(name), 0
    begun = time.monotonic()
    cpu = run(notebook)
    for old in RENDERED.glob(f"{name}-*.png"):
        old.unlink()
    parts = []
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            parts.append(prose(cell))
            continue
        parts.append(fenced(cell.source, "python"))
        for item in cell.outputs:
            number += item.output_type == "display_data"
            parts.append(output(item, RENDERED / f"{name}-{number}.png", picture_text(cell)))
    parts.append(LAST.format(when=datetime.now(UTC).strftime("%Y-%m-%d %H:%M"), cpu=cpu))
    (RENDERED / f"{name}.md").write_text("\n".join(parts))
    print(f"{name}: {cpu:.0f} CPU seconds, {time.monotonic() - begun:.0f} seconds", flush=True)


def outputs(page: str) -> list[tuple[str, list[str]]]:
    """Return the code of each cell of a rendered page with its outputs, as they are written there."""
    cells: list[tuple[str, list[str]]] = []
    end = 0
    for block in BLOCK.finditer(page):
        if block[1] == "python":
            cells.append((block[2], []))
        elif page[end : block.start()].strip():
            continue  # a block of the prose
        else:
            cells[-1][1].append(block[0])
        end = block.end()
    return cells


def with_prose_of(notebook: Any, page: str) -> str:
    """Return the rendered `page` with the prose of its source; Stale if its code is other code."""
    found = outputs(page)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    if [ast.dump(ast.parse(cell.source)) for cell in code] != [ast.dump(ast.parse(old)) for old, _ in found]:
        raise Stale("the code has changed since the page was rendered")
    parts, cells = [], iter(found)
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            parts.append(prose(cell))
            continue
        old, blocks = next(cells)
        text = f"![{picture_text(cell)}]"
        parts.append(fenced(old, "python"))
        parts += [text + one[one.index("](") + 1 :] if one.startswith("![") else one for one in blocks]
    parts.append(page.rstrip().rpartition("\n")[2] + "\n")
    return "\n".join(parts)


if __name__ == "__main__":
    names = [name for name in sys.argv[1:] if name != "--prose"] or LONG
    for name in names:
        if "--prose" in sys.argv:
            page = RENDERED / f"{name}.md"
            page.write_text(with_prose_of(source(name), page.read_text()))
        else:
            render(name)
    # The code on the pages is laid out like all other code.
    subprocess.run([Path(sys.executable).with_name("ruff"), "format", "--quiet", RENDERED], check=True)

"""Keep the outputs of a long vignette beside its source, as Markdown with pictures.

``make vignettes`` calls it after the pages have been run: ``render.py FOLDER`` takes every notebook
``NAME.ipynb`` of FOLDER, as it was run, to ``vignettes/rendered/NAME.md``.
"""

import base64
import sys
from pathlib import Path
from typing import Any

import nbformat

RENDERED = Path(__file__).resolve().parent / "rendered"


def fenced(text: str, language: str) -> str:
    """Return a block of code or of output."""
    return f"```{language}\n{text.rstrip()}\n```\n"


def output(item: Any, name: str, number: int, text: str) -> str:
    """Return one output as Markdown; a picture goes into a file, and `text` says what it shows."""
    if item.output_type == "stream":
        return fenced(item.text, "text")
    if "image/png" in item.data:
        file = RENDERED / f"{name}-{number}.png"
        file.write_bytes(base64.b64decode(item.data["image/png"]))
        return f"![{text}]({file.name})\n"
    return fenced(item.data["text/plain"], "text")


def picture_text(cell: Any) -> str:
    """Return what stands for the picture of a cell where it cannot be seen."""
    return str(cell.metadata.get("mystnb", {}).get("image", {}).get("alt", ""))


def render(notebook: Path) -> None:
    """Write one notebook that was run."""
    name, parts, number = notebook.stem, [], 0
    RENDERED.mkdir(exist_ok=True)
    for old in RENDERED.glob(f"{name}-*.png"):
        old.unlink()
    for cell in nbformat.read(notebook, 4).cells:
        if cell.cell_type == "markdown":
            parts.append(cell.source.replace("```{warning}\n", "> **Note.** ").replace("\n```", "\n") + "\n")
            continue
        parts.append(fenced(cell.source, "python"))
        for item in cell.outputs:
            number += item.output_type == "display_data"
            parts.append(output(item, name, number, picture_text(cell)))
    (RENDERED / f"{name}.md").write_text("\n".join(parts))


if __name__ == "__main__":
    for notebook in sorted(Path(sys.argv[1]).glob("*.ipynb")):
        render(notebook)

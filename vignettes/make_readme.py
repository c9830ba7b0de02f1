"""Run the README's example, and put its output and its picture where the README shows them.

Run from an environment with the package and matplotlib: ``.venv/bin/python -P vignettes/make_readme.py``.
"""

import contextlib
import io
import re
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt

ROOT = Path(__file__).resolve().parents[1]
README = ROOT / "README.md"
PICTURE = ROOT / "vignettes" / "images" / "cohort-models.png"
EXAMPLE = re.compile(r"```python\n(?P<code>.*?)```\n\n```text\n(?P<output>.*?)```", re.DOTALL)


def run_example() -> tuple[str, dict[str, Any]]:
    """Run the example of the README; return what it prints, and its names."""
    example = EXAMPLE.search(README.read_text())
    if example is None:
        raise SystemExit("README.md has no example with its output.")
    names: dict[str, Any] = {}
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(compile(example["code"], "README.md", "exec"), names)  # noqa: S102 - our own file
    return printed.getvalue(), names


def write_output(output: str) -> None:
    """Put the output of the example into the README."""
    text = README.read_text()
    start, end = EXAMPLE.search(text).span("output")
    README.write_text(text[:start] + output + text[end:])


def draw(results: Any) -> None:
    """Draw the best models of the example."""
    figure, ax = plt.subplots(figsize=(8.4, 3.9), layout="constrained")
    results.plot_models(ax=ax, top=15)
    figure.suptitle("Synthetic pneumonia cohort: the best models within 10 minutes", fontsize=11)
    PICTURE.parent.mkdir(exist_ok=True)
    # Without the version of matplotlib: the same picture gives the same file.
    figure.savefig(PICTURE, dpi=140, metadata={"Software": None})


if __name__ == "__main__":
    output, names = run_example()
    write_output(output)
    draw(names["results"])

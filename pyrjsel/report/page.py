"""A summary with plots as a self-contained HTML page."""

from __future__ import annotations

import base64
import html
import io
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from pyrjsel._errors import NotAvailableError
from pyrjsel.report.plots._drawing import one_at_a_time, pyplot

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from pyrjsel.report.render import Report

# Dots per inch of the plots: sharp on high-density screens.
RESOLUTION = 160

STYLE = """\
:root { color-scheme: light dark; --ink: #1a1a1a; --paper: #fff; --rule: #d9d9d9; --faint: #595959; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e8e8e8; --paper: #161616; --rule: #444; --faint: #b0b0b0; } }
body { margin: 2rem auto; max-width: 60rem; padding: 0 1rem; color: var(--ink); background: var(--paper);
       font: 16px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.2rem; margin-top: 2.5rem; }
h1, li, p { overflow-wrap: anywhere; }
code { font: 0.9em ui-monospace, monospace; overflow-wrap: anywhere; }
.report table { display: block; max-width: 100%; overflow-x: auto; }
table { border-collapse: collapse; margin: 1.5rem 0; font-size: 0.875rem;
        font-variant-numeric: tabular-nums; }
caption { display: block; position: sticky; left: 0; text-align: left; font-weight: 600; padding: 0.25rem 0; }
th, td { padding: 0.2rem 0.6rem; border-bottom: 1px solid var(--rule); text-align: right;
         vertical-align: top; }
td[style*=left]:last-child { min-width: 14rem; } /* the terms of models */
th button { all: unset; cursor: pointer; }
th button:focus-visible { outline: 2px solid; outline-offset: 2px; }
th[aria-sort=ascending] button::after { content: " \\2191"; }
th[aria-sort=descending] button::after { content: " \\2193"; }
#budget { border: 1px solid var(--rule); border-radius: 0.5rem; padding: 0.75rem 1rem; }
#budget label { display: block; font-weight: 600; }
#budget input { width: 100%; }
figure { margin: 1rem 0; } figcaption { color: var(--faint); font-size: 0.875rem; }
img { max-width: 100%; height: auto; background: #fff; }
ul.warnings li { margin-bottom: 0.5rem; }
footer { margin-top: 3rem; color: var(--faint); font-size: 0.875rem; }
@media print {
  body { margin: 0; max-width: none; } figure { break-inside: avoid; } #budget input { display: none; } }
"""

# Headings of tables become buttons that sort; without scripts the page is complete, in its own order.
SORT = """\
for (const table of document.querySelectorAll(".report table")) {
  const [head, ...body] = table.rows;
  if (!head.querySelector("th + th") || body.length < 2) continue;
  const number = text => {
    const bare = text.replace(/^[<>]|[\\s,]/g, "").replace("inf", "Infinity");
    return bare !== "" && !isNaN(bare) ? Number(bare) : null;
  };
  [...head.cells].forEach((cell, column) => {
    const button = document.createElement("button");
    button.append(...cell.childNodes);
    if (!button.textContent.trim()) button.setAttribute("aria-label", "name");
    cell.append(button);
    cell.scope = "col";
    button.addEventListener("click", () => {
      const texts = new Map(body.map(row => [row, row.cells[column].textContent.trim()]));
      const values = new Map(body.map(row => [row, number(texts.get(row))]));
      const numeric = body.some(row => values.get(row) !== null);
      const up = cell.ariaSort ? cell.ariaSort === "descending" : !numeric;
      for (const other of head.cells) other.removeAttribute("aria-sort");
      cell.ariaSort = up ? "ascending" : "descending";
      const order = (one, two) => numeric ? one - two : one < two ? -1 : one > two ? 1 : 0;
      const key = row => numeric ? values.get(row) : texts.get(row);
      const known = body.filter(row => !numeric || values.get(row) !== null);
      known.sort((one, two) => (up ? 1 : -1) * order(key(one), key(two)));
      const rest = body.filter(row => !known.includes(row));
      table.tBodies[table.tBodies.length - 1].append(...known, ...rest);
    });
  });
}
"""
SLIDE = """\
const steps = JSON.parse(document.getElementById("steps").textContent);
const slider = document.getElementById("budget-step");
const show = () => {
  const step = steps[slider.value];
  document.getElementById("budget-value").textContent = step.budget;
  document.getElementById("budget-model").textContent = step.text;
  slider.setAttribute("aria-valuetext", step.budget);
};
slider.addEventListener("input", show);
show();
"""


@dataclass(frozen=True)
class Plot:
    """A plot that a page may show.

    Attributes
    ----------
    heading : str
        Heading above the plot.
    caption : str
        A sentence that describes the plot; also its alternative text.
    draw : callable
        Draws it in a new figure, and returns the axes.
    """

    heading: str
    caption: str
    draw: Callable[[], Any]


@dataclass(frozen=True)
class Picture:
    """A plot that was drawn.

    Attributes
    ----------
    plot : Plot
        What it is.
    png : bytes
        The plot as a PNG file.
    """

    plot: Plot
    png: bytes


@one_at_a_time
def as_png(figure: Figure) -> bytes:
    """Return a figure as a PNG picture.

    Parameters
    ----------
    figure : matplotlib Figure
        The figure; it stays open.

    Returns
    -------
    bytes
        The file, without a time stamp: equal figures give equal files.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> as_png(Figure(figsize=(1, 1)))[1:4]
    b'PNG'
    """
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=RESOLUTION, bbox_inches="tight")
    return buffer.getvalue()


@one_at_a_time
def draw_pictures(plots: Sequence[Plot]) -> tuple[list[Picture], list[str]]:
    """Draw plots, without showing them.

    Parameters
    ----------
    plots : sequence of Plot
        The plots.

    Returns
    -------
    pictures : list of Picture
        Those that could be drawn.
    missing : list of str
        Why others could not: the training data or matplotlib are missing.
    """
    pictures: list[Picture] = []
    missing: dict[str, None] = {}
    try:
        plt = pyplot()
    except NotAvailableError as error:
        return [], [str(error)] if plots else []
    with plt.ioff():
        for plot in plots:
            try:
                axes = plot.draw()
            except NotAvailableError as error:
                missing[str(error)] = None
                continue
            figure = np.ravel(axes)[0].figure
            pictures.append(Picture(plot, as_png(figure)))
            plt.close(figure)
    return pictures, list(missing)


def budget_steps(frontier: pd.DataFrame) -> list[dict[str, str]]:
    """Return the sentences of a page on the best model under each budget.

    Parameters
    ----------
    frontier : DataFrame
        Columns ``budget``, ``terms``, ``cost``, ``deviance`` and ``posterior``; rows in order of the budget.

    Returns
    -------
    list of dict
        ``budget`` and ``text`` of each row that has a model.

    Examples
    --------
    >>> table = {"budget": [0.0, 2.0], "cost": [0.0, 2.0], "deviance": [90.0, 70.0], "posterior": [1.0, 0.6]}
    >>> frame = pd.DataFrame(table).assign(terms=[(), ("age",)])
    >>> print(budget_steps(frame)[0]["text"])
    (no terms). Cost 0, deviance 90.00, posterior probability under this budget 1.000. A budget of 2 buys the
    next model: deviance 20.00 lower, 10.00 per unit of cost; with age.
    """
    rows = [row for row in frontier.to_dict("records") if row["terms"] is not None]
    steps = []
    for k, row in enumerate(rows):
        text = (
            f"{' + '.join(row['terms']) or '(no terms)'}. Cost {row['cost']:g}, "
            f"deviance {row['deviance']:,.2f}, posterior probability under this budget "
            f"{row['posterior']:.3f}."
        )
        if k + 1 < len(rows):
            later = rows[k + 1]
            gain, price = row["deviance"] - later["deviance"], later["cost"] - row["cost"]
            rate = f", {abs(gain) / price:,.2f} per unit of cost" if price > 0 else ""
            new = [term for term in later["terms"] if term not in row["terms"]]
            gone = [term for term in row["terms"] if term not in later["terms"]]
            changes = [f"with {', '.join(new)}"] * bool(new) + [f"without {', '.join(gone)}"] * bool(gone)
            text += (
                f" A budget of {later['budget']:g} buys the next model: deviance {abs(gain):,.2f} "
                f"{'lower' if gain >= 0 else 'higher'}{rate}; {', '.join(changes)}."
            )
        else:
            text += " No larger budget of the fit has another best model."
        steps.append({"budget": f"{row['budget']:g}", "text": text})
    return steps


def html_page(
    title: str,
    report: Report,
    pictures: Sequence[Picture],
    *,
    notes: Sequence[str] = (),
    warnings: Sequence[str] = (),
    steps: Sequence[dict[str, str]] = (),
    footer: str = "",
) -> str:
    """Return an HTML page with warnings, a summary and plots.

    Parameters
    ----------
    title : str
        Title of the page.
    report : Report
        The summary.
    pictures : sequence of Picture
        The plots, in order.
    notes : sequence of str
        Paragraphs below the title.
    warnings : sequence of str
        Warnings and notes, shown before the summary.
    steps : sequence of dict
        Budgets and their best models, from :func:`budget_steps`, for a slider.
    footer : str
        Text at the end of the page.

    Returns
    -------
    str
        HTML without links to other files. Its scripts sort tables and move the slider; it is complete
        without them.

    Examples
    --------
    >>> from pyrjsel.report import Report
    >>> page = html_page("Deaths & costs", Report("Fit", [("Draws", 10)], []), [])
    >>> "<title>Deaths &amp; costs</title>" in page
    True
    """
    said = html.escape
    parts = [
        "<!DOCTYPE html>",
        '<html lang="en">',
        f'<head><meta charset="utf-8"><title>{said(title)}</title>',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<style>\n{STYLE}</style></head>",
        f"<body><main><h1>{said(title)}</h1>",
    ]
    parts += [f"<p>{said(note)}</p>" for note in notes]
    if warnings:
        items = "".join(f"<li>{said(text)}</li>" for text in warnings)
        parts.append(f'<h2>Warnings and notes</h2><ul class="warnings">{items}</ul>')
    if steps:
        parts.append(_slider(steps))
    parts.append(f'<h2>Summary</h2><div class="report">{report.as_html()}</div>')
    for picture in pictures:
        data = base64.b64encode(picture.png).decode("ascii")
        caption = said(picture.plot.caption)
        parts.append(
            f"<h2>{said(picture.plot.heading)}</h2><figure>"
            f'<img alt="{caption}" src="data:image/png;base64,{data}">'
            f"<figcaption>{caption}</figcaption></figure>"
        )
    parts.append("</main>")
    if footer:
        parts.append(f"<footer>{said(footer)}</footer>")
    parts.append(f"<script>\n{SORT}</script>")
    return "\n".join([*parts, "</body></html>", ""])


def _slider(steps: Sequence[dict[str, str]]) -> str:
    """Return a slider over budgets; without scripts, the best model of the largest one."""
    last = len(steps) - 1
    budget, text = (html.escape(steps[last][key]) for key in ("budget", "text"))
    # Inside a script element only "<" has a meaning.
    data = json.dumps(list(steps)).replace("<", "\\u003c")
    return "\n".join(
        [
            '<h2>Best model under a budget</h2><section id="budget">',
            f'<label for="budget-step">Budget <output id="budget-value">{budget}</output></label>',
            f'<input type="range" id="budget-step" min="0" max="{last}" value="{last}">',
            f'<p id="budget-model" aria-live="polite">{text}</p></section>',
            f'<script type="application/json" id="steps">{data}</script>',
            f"<script>\n{SLIDE}</script>",
        ]
    )

"""A summary with plots as a self-contained HTML file."""

from __future__ import annotations

import base64
import html
import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyrjsel._errors import ParameterError
from pyrjsel._validate import bad_value
from pyrjsel.report._drawing import one_at_a_time
from pyrjsel.report.render import Report

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Dots per inch of the plots: sharp on high-density screens.
RESOLUTION = 160

STYLE = """\
body { margin: 2rem auto; max-width: 60rem; padding: 0 1rem; color: #1a1a1a; background: #fff;
       font: 16px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.2rem; margin-top: 2.5rem; }
code { font: 0.9em ui-monospace, monospace; overflow-wrap: anywhere; }
.report { overflow-x: auto; }
table { border-collapse: collapse; margin: 1rem 0; font-size: 0.875rem; font-variant-numeric: tabular-nums; }
caption { text-align: left; font-weight: 600; padding: 0.25rem 0; }
th, td { padding: 0.2rem 0.6rem; border-bottom: 1px solid #d9d9d9; text-align: right; vertical-align: top; }
th:nth-child(n+9):last-child { text-align: left; } /* the terms of models */
figure { margin: 1rem 0; } figcaption { color: #555; font-size: 0.875rem; }
img { max-width: 100%; height: auto; }
ul.warnings li { margin-bottom: 0.5rem; }
footer { margin-top: 3rem; color: #555; font-size: 0.875rem; }
@media print { body { margin: 0; max-width: none; } figure, table { break-inside: avoid; } }
"""


@dataclass(frozen=True)
class Picture:
    """A plot for a page.

    Attributes
    ----------
    heading : str
        Heading above the plot.
    caption : str
        A sentence that describes the plot; also its alternative text.
    png : bytes
        The plot as a PNG file.
    """

    heading: str
    caption: str
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


def html_page(
    title: str,
    report: Report,
    pictures: Sequence[Picture],
    *,
    command: str = "",
    warnings: Sequence[str] = (),
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
    command : str
        Command that made the page.
    warnings : sequence of str
        Warnings, shown first.
    footer : str
        Text at the end of the page.

    Returns
    -------
    str
        HTML without scripts and without links to other files.

    Raises
    ------
    ParameterError
        If `report` or `pictures` have the wrong type.

    Examples
    --------
    >>> page = html_page("Deaths & costs", Report("Fit", [("Draws", 10)], []), [])
    >>> "<title>Deaths &amp; costs</title>" in page
    True
    """
    if not isinstance(report, Report):
        raise bad_value("report", "a Report", report)
    if not all(isinstance(picture, Picture) for picture in pictures):
        raise ParameterError("The 'pictures' parameter of html_page must be a sequence of Picture.")
    said = html.escape
    parts = [
        "<!DOCTYPE html>",
        '<html lang="en">',
        f'<head><meta charset="utf-8"><title>{said(title)}</title>',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<style>\n{STYLE}</style></head>",
        f"<body><h1>{said(title)}</h1>",
    ]
    if command:
        parts.append(f"<p><code>{said(command)}</code></p>")
    if warnings:
        items = "".join(f"<li>{said(text)}</li>" for text in warnings)
        parts.append(f'<h2>Warnings</h2><ul class="warnings">{items}</ul>')
    parts.append(f'<h2>Summary</h2><div class="report">{report.as_html()}</div>')
    for picture in pictures:
        data = base64.b64encode(picture.png).decode("ascii")
        parts.append(
            f"<h2>{said(picture.heading)}</h2><figure>"
            f'<img alt="{said(picture.caption)}" src="data:image/png;base64,{data}">'
            f"<figcaption>{said(picture.caption)}</figcaption></figure>"
        )
    if footer:
        parts.append(f"<footer>{said(footer)}</footer>")
    return "\n".join([*parts, "</body></html>", ""])

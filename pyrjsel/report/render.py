"""Renderer of summaries: title, facts, tables and notes as text, HTML, LaTeX or CSV."""

import html
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, zip_longest
from typing import Any

import pandas as pd
from statsmodels.iolib.summary import Summary
from statsmodels.iolib.table import SimpleTable

from pyrjsel._validate import bad_value
from pyrjsel.report.texts import ERRORS, HIDDEN, NOTHING, format_column, repr_short

# Characters of a line of text.
WIDTH = 100
# Minimum width of a column of terms.
NARROWEST = 36
# Longer row names (of terms or columns) are wrapped.
LONGEST_NAME = 40
GAP = "  "
# Non-breaking space; not white space to textwrap.
HELD = "\ue000"

LABELS = {
    "r_hat": "R-hat",
    "ess": "ESS",
    "mcse": "MCSE",
    "bayes_factor": "Bayes factor",
    "odds_mcse": "odds MCSE",
    "log_marginal": "log marg. lik.",
    "log_evidence": "log evidence",
    "ci_lower": "CI lower",
    "ci_upper": "CI upper",
    "prob_positive": "P(> 0)",
    "mean_included": "mean | in",
    "sd_included": "sd | in",
    "expected_size": "expected size",
    "se": "SE",
    "log_score": "log score",
    "difference_se": "SE of the difference",
    "error_rate": "error rate",
}

LATEX = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        "{": r"\{",
        "}": r"\}",
        "&": r"\&",
        "%": r"\%",
        "$": r"\$",
        "#": r"\#",
        "_": r"\_",
        "^": r"\textasciicircum{}",
        "~": r"\textasciitilde{}",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        "|": r"\textbar{}",
        "[": "{[}",  # a row that begins with a bracket would be read as an option of \\
        "]": "{]}",
        NOTHING: "--",
    }
)


@dataclass(frozen=True)
class _Grid:
    """A table of text cells, the common input of all output formats."""

    caption: str
    header: list[str]
    rows: list[list[str]]
    left: list[bool]
    flowing: int | None  # the column that takes what room there is


class Report(Summary):
    """A summary of results: title, facts, tables and notes.

    A statsmodels ``Summary``: prints as text, shows as HTML in a notebook, and has ``as_text``,
    ``as_html``, ``as_latex`` and ``as_csv``. Numbers have the decimals that their Monte Carlo
    errors justify; a dash marks an unknown value. A column that is unknown in every
    row (the R-hat of an enumeration) is omitted, and so are numbers of columns that are all 1.

    Parameters
    ----------
    title : str
        Heading of the summary.
    info : sequence of (str, object)
        Labels and values that describe the model, the sampler and the data.
    tables : sequence of (str, DataFrame) or (str, DataFrame, mapping)
        Caption, table, and optionally the kind of number of some columns, by column:
        "probability", "prior", "mcse", "ratio", "bayes_factor", "two_digits", "count", "effective", "fixed2",
        "fixed3",
        "general" or "coefficient". Columns of the package's own tables need none.
    notes : sequence of str
        Printed below the tables, numbered from 1.
    width : int
        Characters of a line of text.

    Raises
    ------
    ParameterError
        If a table is not a data frame, or a kind of number is not known.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"posterior": [0.98765], "mcse": [0.004]}, index=["age"])
    >>> print(Report("Fit", [("Draws", 1000)], [("Inclusion", frame)], []))
             Fit
    ======================
    Draws:  1000
    ======================
    Inclusion
    ----------------------
         posterior    MCSE
    ----------------------
    age      0.988  0.0040
    ======================
    """

    def __init__(
        self,
        title: str,
        info: Sequence[tuple[str, object]],
        tables: Sequence[tuple[str, pd.DataFrame] | tuple[str, pd.DataFrame, Mapping[str, str]]],
        notes: Sequence[str] = (),
        width: int = WIDTH,
    ) -> None:
        super().__init__()
        self.title = title
        self.info = [(str(label), str(value)) for label, value in info]
        self.notes = [str(note) for note in notes]
        self.width = width
        self._grids = [_grid(*table) for table in tables]
        self.tables = [_simple(grid, str) for grid in self._grids]

    def as_text(self) -> str:
        """Return the report as text."""
        blocks = [_text_lines(grid, self.width) for grid in self._grids]
        facts = _info_lines(self.info, self.width)
        widest = max([len(line) for block in blocks for line in block] + [len(line) for line in facts] + [20])
        double, single = "=" * widest, "-" * widest
        lines = [line.center(widest).rstrip() for line in textwrap.wrap(self.title, widest)]
        lines += [double, *facts]
        if facts and blocks:
            lines.append(double)
        for grid, block in zip(self._grids, blocks, strict=True):
            lines += textwrap.wrap(grid.caption, widest)
            head = block.index("")  # an empty line ends the header
            lines += [single, *block[:head], single, *block[head + 1 :], double]
        if facts and not blocks:
            lines.append(double)
        if self.notes:
            lines.append("Notes:")
            for number, note in enumerate(self.notes, start=1):
                mark = f"[{number}] "
                # A note may be longer than a narrow table is wide.
                room = min(max(widest, 72), self.width)
                lines += textwrap.wrap(note, room, initial_indent=mark, subsequent_indent=" " * len(mark))
        if self.extra_txt is not None:
            lines += ["", self.extra_txt]
        return "\n".join(line.rstrip() for line in lines)

    def as_html(self) -> str:
        """Return the report as HTML tables and a numbered list of notes."""
        parts = []
        facts = [[label, value] for label, value in self.info]
        if facts:
            table = _Grid(self.title, [], facts, [True, True], None)
            parts.append(_simple(table, html.escape).as_html())
        else:
            parts.append(f"<p>{html.escape(self.title)}</p>")
        parts += [_simple(grid, html.escape).as_html() for grid in self._grids]
        if self.notes:
            items = "".join(f"<li>{html.escape(note)}</li>" for note in self.notes)
            parts.append(f"<p>Notes:</p><ol>{items}</ol>")
        if self.extra_txt is not None:
            parts.append("<br/>".join(html.escape(self.extra_txt).split("\n")))
        return "\n".join(parts)

    def as_latex(self) -> str:
        """Return the report as LaTeX; the preamble needs the booktabs package."""
        parts = [r"\begin{center}", rf"\textbf{{{_latex(self.title)}}}", r"\end{center}"]
        if self.info:
            facts = _Grid("", [], [[label, value] for label, value in self.info], [True, True], 1)
            parts.append(_latex_table(facts))
        parts += [_latex_table(grid) for grid in self._grids]
        if self.notes:
            parts.append(r"\begin{enumerate}")
            parts += [rf"\item {_latex(note)}" for note in self.notes]
            parts.append(r"\end{enumerate}")
        if self.extra_txt is not None:
            parts.append(_latex(self.extra_txt))
        return "\n".join(parts)

    def as_csv(self) -> str:
        """Return the tables, as printed, in comma-separated form."""
        blocks = []
        for grid in self._grids:
            frame = pd.DataFrame(grid.rows, columns=grid.header)
            blocks.append(f"{grid.caption}\n{frame.to_csv(index=False)}")
        return "\n".join(blocks)


def _grid(caption: str, frame: pd.DataFrame, formats: Mapping[str, str] | None = None) -> _Grid:
    """Return `frame` as text cells; a column of tuples comes last and is wrapped."""
    if not isinstance(frame, pd.DataFrame):
        raise bad_value("tables", "pairs of a caption and a DataFrame", frame)
    flowing = [name for name in frame.columns if any(isinstance(cell, tuple) for cell in frame[name])]
    single = "columns" in frame and (frame["columns"] == 1).all()
    hidden = (*HIDDEN, *flowing, *(ERRORS if _exact(frame) else ()), *(["columns"] if single else []))
    names = [name for name in frame.columns if name not in hidden] + flowing[:1]
    cells = {name: format_column(frame, name, formats or {}) for name in names}
    names = [name for name in names if any(cell != NOTHING for cell in cells[name]) or not len(frame)]
    header = [str(frame.index.name) if frame.index.name == "rank" else ""]
    header += [LABELS.get(name, str(name)) for name in names]
    index = [str(label) for label in frame.index]
    rows = [[label, *(cells[name][row] for name in names)] for row, label in enumerate(index)]
    numeric = [pd.api.types.is_numeric_dtype(frame[name]) for name in names]
    return _Grid(
        caption, header, rows, [True, *(not kind for kind in numeric)], len(names) if flowing else None
    )


def _exact(frame: pd.DataFrame) -> bool:
    """Whether the probabilities of a table have no Monte Carlo error, as after exact enumeration."""
    return "mcse" in frame and len(frame) > 0 and bool((frame["mcse"] == 0).all())


def _align(cells: list[str]) -> list[str]:
    """Return numbers padded on the right, so that decimal points align."""
    tails = [len(cell) - cell.index(".") if "." in cell and "e" not in cell else 0 for cell in cells]
    longest = max(tails, default=0)
    known = [cell not in (NOTHING, "inf") and "e" not in cell for cell in cells]
    return [
        cell + " " * (longest - tail) if good else cell
        for cell, tail, good in zip(cells, tails, known, strict=True)
    ]


def _wrap(cell: str, width: int) -> list[str]:
    """Return the lines of a cell; a sum of terms breaks after a plus, and within a term only if necessary."""
    held = " + ".join(part.replace(" ", HELD) for part in cell.split(" + ")).replace(" +", HELD + "+")
    lines = textwrap.wrap(held if " + " in cell else cell, width, break_on_hyphens=False)
    return [line.replace(HELD, " ") for line in lines] or [""]


def _text_lines(grid: _Grid, width: int) -> list[str]:
    """Return header lines, an empty line, and body lines of a table."""
    columns = (
        [list(column) for column in zip(*grid.rows, strict=True)] if grid.rows else [[] for _ in grid.header]
    )
    columns = [cells if left else _align(cells) for cells, left in zip(columns, grid.left, strict=True)]
    heads = [_wrap(name, 10) for name in grid.header]
    wide = [
        max([len(cell) for cell in cells] + [len(part) for part in head])
        for cells, head in zip(columns, heads, strict=True)
    ]
    wide[0] = min(wide[0], LONGEST_NAME)
    if grid.flowing is not None:
        others = sum(w for k, w in enumerate(wide) if k != grid.flowing) + len(GAP) * (len(wide) - 1)
        wide[grid.flowing] = min(wide[grid.flowing], max(width - others, NARROWEST))

    def join(cells: list[str]) -> str:
        done = [
            cell.ljust(w) if left else cell.rjust(w)
            for cell, w, left in zip(cells, wide, grid.left, strict=True)
        ]
        return GAP.join(done).rstrip()

    tall = max((len(head) for head in heads), default=0)
    lines = [join([([""] * (tall - len(head)) + head)[row] for head in heads]) or " " for row in range(tall)]
    lines.append("")
    for row in range(len(grid.rows)):
        parts = [
            _wrap(cells[row], w) if k in (0, grid.flowing) else [cells[row]]
            for k, (cells, w) in enumerate(zip(columns, wide, strict=True))
        ]
        for line in range(max(len(part) for part in parts)):
            lines.append(join([part[line] if line < len(part) else "" for part in parts]))
    return lines


def _info_lines(info: list[tuple[str, str]], width: int) -> list[str]:
    """Return the facts in order: short ones in two columns, each long one on lines of its own."""
    room = (width - 4) // 2
    lines = []
    for short, facts in groupby(info, lambda fact: len(fact[0]) + len(fact[1]) + 3 <= room):
        if short:
            lines += _two_columns(list(facts))
            continue
        for label, value in facts:
            lines += textwrap.wrap(value, width, initial_indent=f"{label}:  ", subsequent_indent="    ")
    return lines


def _two_columns(info: list[tuple[str, str]]) -> list[str]:
    """Return facts in two columns, or in one if they are at most three."""
    half = (len(info) + 1) // 2 if len(info) > 3 else len(info)
    left, right = _pairs(info[:half]), _pairs(info[half:])
    across = max(len(cell) for cell in left)
    return [
        f"{cell.ljust(across)}    {other}".rstrip() for cell, other in zip_longest(left, right, fillvalue="")
    ]


def _pairs(info: list[tuple[str, str]]) -> list[str]:
    across = max((len(label) for label, _ in info), default=0) + 1
    return [f"{(label + ':').ljust(across)}  {value}" for label, value in info]


def _simple(grid: _Grid, escape: Callable[[str], str]) -> SimpleTable:
    """Return the grid as a statsmodels table, with `escape` applied to its cells."""
    rows = [[escape(cell) for cell in row] for row in grid.rows]
    header = [escape(cell) for cell in grid.header] or None
    # Width 0: HTML needs no padding. Notebooks align cells on the right, where words do not belong.
    formats = ["<td>%s</td>", '<td style="text-align: left">%s</td>']
    return SimpleTable(
        rows,
        headers=header,
        title=escape(grid.caption),
        datatypes=[int(left) for left in grid.left],
        html_fmt={"colwidths": 0, "data_fmts": formats},
    )


def _latex(cell: str) -> str:
    return cell.translate(LATEX)


def _latex_table(grid: _Grid) -> str:
    rows = [[_latex(cell) for cell in row] for row in grid.rows]
    # The header is a data row in bold: statsmodels would open a new tabular for its alignment.
    head = [[rf"\textbf{{{_latex(cell)}}}" for cell in grid.header]] if grid.header else []
    aligns = ["l" if left else "r" for left in grid.left]
    if grid.flowing is not None:
        aligns[grid.flowing] = r"p{0.45\linewidth}"
    if not head + rows:
        return ""
    table = SimpleTable(head + rows, ltx_fmt={"replacements": {}, "data_aligns": aligns, "colwidths": 0})
    if head:
        table[0].dec_below = "header_dec_below"
    text: str = table.as_latex_tabular(center=False)
    caption = [_latex(grid.caption), r"\par"] if grid.caption else []
    return "\n".join([r"\begin{center}", *caption, text, r"\end{center}"])


def model_html(title: str, model: Any, facts: Sequence[tuple[str, str]]) -> str:
    """Return the description of a model as HTML, for notebooks: its formula and (label, value) pairs."""
    formula = [("Formula", repr_short(model.design.formula))] if model.design.formula else []
    return Report(title, [*formula, *facts], []).as_html()

"""Runs the cells of a page one after another, as a notebook does."""

import ast
import contextlib
import io
import warnings
from dataclasses import dataclass
from pathlib import Path

import jupytext
import matplotlib.pyplot as plt
import pandas as pd
import pytest

FOLDER = Path(__file__).resolve().parents[3] / "vignettes"


@dataclass
class Outputs:
    """What the cells of a page print and show, with single spaces, and their number of figures."""

    text: str
    figures: int


def marked(names, always):
    """Names of pages for ``parametrize``: all but one of them run with `make pages` alone."""
    return [pytest.param(name, marks=() if name == always else pytest.mark.pages) for name in names]


def cells_of(page):
    return [cell for cell in jupytext.read(page).cells if cell.cell_type == "code"]


def run(page, cells=None, allowed=None):
    """Run cells of a page, all unless told.

    Warnings are errors, but for convergence warnings that begin with the pattern `allowed`.
    """
    names, printed, figures = {"__name__": "__main__"}, io.StringIO(), 0

    def show():
        nonlocal figures
        figures += len(plt.get_fignums())
        plt.close("all")

    with (
        contextlib.redirect_stdout(printed),
        pd.option_context("display.width", 200),
        warnings.catch_warnings(),
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setattr(plt, "show", show)
        if allowed:
            from pyrjsel import ConvergenceWarning

            warnings.filterwarnings("ignore", allowed, ConvergenceWarning)
        for cell in cells_of(page) if cells is None else cells:
            tree = ast.parse(cell.source)
            shown = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
            exec(compile(tree, str(page), "exec"), names)
            if shown is not None:
                value = eval(compile(ast.Expression(shown.value), str(page), "eval"), names)
                print("" if value is None else value)
            show()
    return Outputs(" ".join(printed.getvalue().split()), figures)

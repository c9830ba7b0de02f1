"""The selection command: from a formula and a file to a summary, tables, plots and an HTML page."""

import argparse
import ast
import lzma
import shlex
import sys
import tarfile
import tempfile
import warnings
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from inspect import signature
from pathlib import Path
from typing import Any

import pandas as pd

import pyrjsel as rj
from pyrjsel._called import named
from pyrjsel._validate import check_int
from pyrjsel.families.cox import TIES
from pyrjsel.runtime import AUTO, MCSE, MOST
from pyrjsel.selection.models.registry import MODELS
from pyrjsel.selection.priors.registry import COEF_PRIORS
from pyrjsel.selection.samplers.registry import AUTO as AUTO_SAMPLER
from pyrjsel.selection.samplers.registry import NAMES
from pyrjsel.storage import replace

MODEL_PRIORS: dict[str, Callable[..., Any]] = {
    kind.__name__: kind
    for kind in (rj.BetaBinomial, rj.Uniform, rj.Bernoulli, rj.TruncatedPoisson, rj.CostAdjusted)
}
# Options that are parameters of the model and of `fit`, by the same names.
MODEL_OPTIONS = ("budget", "always", "heredity", "max_size", "weights", "offset", "missing")
OWN_OPTIONS = ("errors", "df", "event", "ties")  # of some models
FIT_OPTIONS = ("sampler", "draws", "mcse", "max_draws", "max_seconds", "burn_in", "chains")
# File name endings for columns separated by tabs instead of commas.
TABS = (".tsv", ".tab", ".tsv.gz", ".tab.gz")
# Errors raised for files whose content does not match their name: mostly ValueError, ImportError if the
# engine for Parquet is missing, and errors specific to each kind of compression.
UNREADABLE = (
    OSError, ImportError, ValueError, EOFError, RuntimeError, zlib.error, lzma.LZMAError, zipfile.BadZipFile,
    tarfile.TarError,
)  # fmt: skip


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments and options of a selection to a parser.

    Parameters
    ----------
    parser : ArgumentParser
        Parser of the command line.
    """
    parser.add_argument("formula", help="such as 'mortality ~ .'; the dot means all other columns")
    parser.add_argument("data", type=Path, help="table: a CSV file (.csv, .tsv, also .gz) or a Parquet file")
    parser.add_argument(
        "--model",
        choices=MODELS,
        help="type of regression (default: logit if the response has only 0 and 1, else linear)",
    )
    parser.add_argument(
        "--errors", choices=("normal", "student"), help="errors of a linear model (default: normal)"
    )
    parser.add_argument(
        "--df", type=_df, metavar="DF", help="degrees of freedom of Student-t errors, or 'estimate'"
    )
    parser.add_argument(
        "--event",
        metavar="COLUMN",
        help="column of a Cox model: 1 for events, 0 for censored times; 'none' if no time is censored",
    )
    parser.add_argument("--ties", choices=TIES, help="ties of a Cox model (default: efron)")
    space = parser.add_argument_group("model space")
    space.add_argument(
        "--costs",
        type=Path,
        metavar="FILE",
        help="CSV file of names and costs: two columns, or one called 'variable' and one 'cost...'",
    )
    space.add_argument("--budget", type=float, metavar="PRICE", help="largest total cost of a model")
    space.add_argument(
        "--always", action="append", default=[], metavar="TERM", help="term in every model; may be repeated"
    )
    space.add_argument("--heredity", choices=("weak", "strong"), help="terms that interactions require")
    space.add_argument("--max-size", type=int, metavar="N", help="largest number of terms of a model")
    space.add_argument(
        "--model-prior",
        metavar="PRIOR",
        default="BetaBinomial",
        help=(
            "prior over models, in Python notation: BetaBinomial(1, 1), Uniform, 'Bernoulli(0.1)', "
            "'TruncatedPoisson(expected_size=3)', or CostAdjusted, which uses --costs (default: %(default)s)"
        ),
    )
    space.add_argument(
        "--coef-prior",
        metavar="PRIOR",
        help=(
            "prior on the coefficients, in Python notation: 'GPrior(\"4n\")', 'HyperG(3)', HyperGN, "
            "ZellnerSiow, 'Normal(1)', and for linear models 'SpikeSlab(0.1, 10)' (default: the model's own)"
        ),
    )
    rows = parser.add_argument_group("rows")
    rows.add_argument("--weights", metavar="COLUMN", help="column of weights")
    rows.add_argument("--offset", metavar="COLUMN", help="column of offsets")
    rows.add_argument(
        "--missing",
        choices=("drop", "raise"),
        default="drop",
        help="treatment of rows with missing values (default: %(default)s)",
    )
    run = parser.add_argument_group("run")
    run.add_argument(
        "--sampler",
        default="auto",
        choices=(AUTO_SAMPLER, *NAMES),
        help="(default: enumerate where that takes seconds, else mostly collapsed)",
    )
    run.add_argument(
        "--draws",
        type=_draws,
        default=AUTO,
        metavar="N",
        help="draws per chain, or 'auto': until inclusion probabilities are accurate (default: auto)",
    )
    run.add_argument(
        "--mcse",
        type=float,
        default=MCSE,
        help="target Monte Carlo error of 'auto' (default: %(default)s)",
    )
    run.add_argument(
        "--max-draws", type=int, default=MOST, metavar="N", help="limit of 'auto' (default: %(default)s)"
    )
    run.add_argument("--max-seconds", type=float, metavar="S", help="time limit of 'auto'; not reproducible")
    run.add_argument(
        "--burn-in",
        type=int,
        metavar="N",
        help="iterations discarded at the start (default: a fifth of the draws, or set by 'auto')",
    )
    run.add_argument("--chains", type=int, default=4, help="independent chains (default: %(default)s)")
    run.add_argument("--seed", type=int, default=1, help="seed of the random numbers (default: %(default)s)")
    run.add_argument("--jobs", type=int, metavar="N", help="workers (default: one per chain and processor)")
    run.add_argument("--quiet", action="store_true", help="no progress")
    out = parser.add_argument_group("output")
    out.add_argument("--top", type=int, default=10, help="models in the summary (default: %(default)s)")
    out.add_argument(
        "--out",
        type=Path,
        metavar="FOLDER",
        help="folder for tables (CSV), plots (PNG) and report.html; replaces files of these names",
    )


def _df(text: str) -> float | str:
    """Return `text` as a number if it is one; the model checks other values."""
    try:
        return float(text)
    except ValueError:
        return text


def _draws(text: str) -> int | str:
    """Return `text` as a number if it is one; ``fit`` checks other values."""
    return int(text) if text.removeprefix("-").isdecimal() else text


def select(chosen: argparse.Namespace, words: Sequence[str]) -> None:
    """Fit, print the summary, and write the requested files.

    Parameters
    ----------
    chosen : Namespace
        Arguments, parsed as in :func:`add_arguments`.
    words : sequence of str
        The command line, shown on the page.

    Raises
    ------
    PyrjselError
        If a file, a column or an option cannot be used.
    """
    with named("summary"):
        top = check_int(chosen.top, "top", low=1)
    with _folder(chosen.out), _told() as said:
        data = read_rows(chosen.data)
        kind = MODELS[chosen.model or _kind(chosen.formula, data)]
        own = _model_options(chosen, kind)
        costs = None if chosen.costs is None else read_costs(chosen.costs)
        model: Any = kind.from_formula(
            chosen.formula,
            data,
            coef_prior=None
            if chosen.coef_prior is None
            else read_prior(chosen.coef_prior, "--coef-prior", COEF_PRIORS),
            model_prior=read_prior(chosen.model_prior, "--model-prior", MODEL_PRIORS, costs),
            costs=costs,
            **own,
        )
        results = model.fit(
            **{name: getattr(chosen, name) for name in FIT_OPTIONS},
            rng=chosen.seed,
            n_jobs=chosen.jobs,
            progress=False if chosen.quiet else None,
        )
        summary = results.summary(top)
        try:
            if chosen.out is not None:
                write(results, summary, chosen, words, said)
        except (OSError, rj.StoreError) as error:
            raise rj.DataError(f"The folder {str(chosen.out)!r} cannot be written to: {error}") from error
        finally:
            # Printed after the files are written, since the reader may close the pipe, and even without
            # files.
            print(summary)
        if chosen.out is not None:
            print(f"\nTables, plots and report.html are in {chosen.out}.")


def _model_options(chosen: argparse.Namespace, kind: Any) -> dict[str, Any]:
    """Return the options that were given, if the model has them."""
    given = {name: getattr(chosen, name) for name in (*MODEL_OPTIONS, *OWN_OPTIONS)}
    given = {name: value for name, value in given.items() if value is not None}
    for name in given:
        having = [key for key, model in MODELS.items() if name in signature(model.from_formula).parameters]
        if kind not in [MODELS[key] for key in having]:
            raise rj.ParameterError(f"--{name} is for {', '.join(having)} models: add --model {having[0]}.")
    if given.get("event") == "none":
        given["event"] = None
    return given


def read_rows(path: Path) -> pd.DataFrame:
    """Return the data of a file.

    Parameters
    ----------
    path : Path
        A CSV file, separated by tabs if its name ends in .tsv, or a Parquet file.

    Returns
    -------
    DataFrame
        Its columns.

    Raises
    ------
    DataError
        If there is no such file, or it cannot be read.
    """
    try:
        if path.suffix == ".parquet":
            return pd.read_parquet(path)
        found = pd.read_csv(path, sep="\t" if path.name.endswith(TABS) else ",")
    except pd.errors.ParserError as error:
        raise rj.DataError(
            f"The file {str(path)!r} cannot be read: {str(error).strip()}.{_semicolons(path)}"
        ) from error
    except UNREADABLE as error:
        raise rj.DataError(f"The file {str(path)!r} cannot be read: {error}") from error
    if found.shape[1] == 1 and ";" in str(found.columns[0]):
        raise rj.DataError(f"The file {str(path)!r} cannot be read: it has one column.{_semicolons(path)}")
    unnamed = [str(name) for name in found.columns if str(name).startswith("Unnamed: ")]
    if unnamed:
        raise rj.DataError(
            f"The file {str(path)!r} must have a name for each column. Got {', '.join(map(repr, unnamed))}, "
            "such as a saved index: leave this column out, or name it."
        )
    return found


def _semicolons(path: Path) -> str:
    """Return the likely reason why a text file is not a table, or nothing."""
    with_semicolons = pd.read_csv(path, sep=";", nrows=0).shape[1] > 1
    return " Its first line has semicolons: values must be separated by commas." if with_semicolons else ""


def read_costs(path: Path) -> pd.Series:
    """Return the costs in a file, by name.

    Parameters
    ----------
    path : Path
        A CSV file of two columns, names and costs; or of more, with one called "variable", "term" or "name"
        (the first of these found) and one that begins with "cost" or "price".

    Returns
    -------
    Series
        Costs.

    Raises
    ------
    DataError
        If the file cannot be read, or the columns are ambiguous.
    """
    frame = read_rows(path)
    columns = [str(name) for name in frame.columns]
    if len(columns) == 2:
        names, prices = columns
    else:
        known = [name for name in ("variable", "term", "name") if name in columns]
        priced = [name for name in columns if name.lower().startswith(("cost", "price"))]
        if not known or len(priced) != 1:
            raise rj.DataError(
                f"The file {str(path)!r} of costs must have two columns, names and costs, or one called "
                f"'variable' and one that begins with 'cost'. Got {', '.join(columns)} instead."
            )
        names, prices = known[0], priced[0]
    if frame[names].isna().any():
        raise rj.DataError(f"The column {names!r} of the file {str(path)!r} must have a name in every row.")
    found = pd.Series(frame[prices].to_numpy(), index=frame[names].astype(str), name="cost")
    if not pd.api.types.is_numeric_dtype(found) or found.isna().any():
        raise rj.DataError(
            f"The column {prices!r} of the file {str(path)!r} must have a number in every row."
        )
    return found


def read_prior(
    text: str, option: str, kinds: Mapping[str, Callable[..., Any]], costs: pd.Series | None = None
) -> Any:
    """Return the prior given on the command line in Python notation: a call with plain values.

    Parameters
    ----------
    text : str
        Text such as ``Normal(1, standardize=True)``; a name alone is a call without arguments. Names may be
        in lower case, with hyphens.
    option : str
        Name of the option, for messages.
    kinds : mapping of str to callable
        Known priors by name.
    costs : Series, optional
        Costs, for a prior that depends on them.

    Returns
    -------
    object
        The prior.

    Raises
    ------
    ParameterError
        If the prior is unknown, or its arguments are invalid.
    """
    by_word = {name.lower(): name for name in kinds}

    def made(node: ast.expr) -> Any:
        if not isinstance(node, ast.Call):
            return ast.literal_eval(node)
        if not isinstance(node.func, ast.Name) or node.func.id.lower() not in by_word:
            raise ValueError
        kind = kinds[by_word[node.func.id.lower()]]
        positional = [made(each) for each in node.args]
        if kind is rj.CostAdjusted:
            if costs is None:
                raise rj.ParameterError(f"{option} {text} needs --costs.")
            positional = [costs, *positional]
        return kind(*positional, **{str(each.arg): made(each.value) for each in node.keywords})

    name = text.strip().replace("-", "")
    try:
        return made(ast.parse(text.strip() if name.lower() not in by_word else f"{name}()", mode="eval").body)
    except rj.PyrjselError:
        raise
    except (SyntaxError, ValueError, TypeError, RecursionError) as error:
        raise rj.ParameterError(
            f"{option} must be one of {', '.join(kinds)}, with arguments in Python notation, such as "
            f"'{next(iter(kinds))}(...)'. Got {text!r} instead."
        ) from error


def write(
    results: rj.SelectionResults,
    summary: Any,
    chosen: argparse.Namespace,
    words: Sequence[str],
    said: Sequence[str],
) -> None:
    """Write tables, plots and the page.

    Parameters
    ----------
    results : SelectionResults
        The results.
    summary : Report
        Their summary.
    chosen : Namespace
        Arguments of the command line.
    words : sequence of str
        The command line.
    said : sequence of str
        Warnings so far; those issued while the files are made are added.
    """
    folder: Path = chosen.out
    tables = {
        "inclusion": results.inclusion,
        "models": _written(results.models),
        "coefficients": results.coefficients,
        "diagnostics": results.diagnostics,
    }
    if results.model._priced:
        tables["frontier"] = _written(results.frontier())
    # File names may be bytes that are not valid text.
    command = shlex.join(["python", "-m", "pyrjsel", *words]).encode(errors="backslashreplace").decode()
    title = f"{results.model.title}: {chosen.formula}"
    page, pictures = results._page(title, chosen.top, said=list(dict.fromkeys(said)), command=command)
    files = {f"{name}.csv": table.to_csv(index=name != "frontier").encode() for name, table in tables.items()}
    files |= {f"{picture.plot.heading.lower()}.png": picture.png for picture in pictures}
    files |= {"summary.txt": f"{summary}\n".encode(), "report.html": page.encode()}
    for name, content in files.items():
        replace(folder / name, content)


def _written(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table of models with terms as text."""
    return table.assign(terms=[" + ".join(terms) or "(no terms)" for terms in table["terms"]])


def _kind(formula: str, data: pd.DataFrame) -> str:
    """Return the default kind of regression for the response."""
    response = formula.partition("~")[0].strip().strip("`")
    binary = response in data.columns and set(data[response].dropna().unique()) == {0, 1}
    return "logit" if binary else "linear"


@contextmanager
def _folder(path: Path | None) -> Iterator[None]:
    """Create and test the folder before any work is done, and draw without a display; None does nothing."""
    if path is None:
        yield
        return
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise rj.DataError(f"The folder {str(path)!r} cannot be created: {error}") from error
    try:
        tempfile.TemporaryFile(dir=path).close()
    except OSError as error:
        raise rj.DataError(f"The folder {str(path)!r} cannot be written to: {error}") from error
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise rj.NotAvailableError(
            "--out creates plots, which need matplotlib. Install it with: pip install 'pyrjsel[plots]'"
        ) from error
    before = plt.get_backend()
    plt.switch_backend("agg")
    try:
        yield
    finally:
        plt.switch_backend(before)


@contextmanager
def _told() -> Iterator[list[str]]:
    """Print the package's warnings as sentences, and yield a list of them."""
    said: list[str] = []

    def show(message: Warning | str, category: type[Warning], *place: Any, **more: Any) -> None:
        if not issubclass(category, rj.PyrjselWarning):
            plain(message, category, *place, **more)
        elif str(message) not in said:
            said.append(str(message))
            print(f"Warning: {message}", file=sys.stderr)

    with warnings.catch_warnings():
        plain = warnings.showwarning
        warnings.simplefilter("always", rj.PyrjselWarning)
        warnings.showwarning = show
        yield said

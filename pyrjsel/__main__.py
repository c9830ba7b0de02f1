"""The command line: ``python -m pyrjsel demo`` repeats a published selection under a budget."""

import argparse
import io
import math
import os
import sys
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

import pyrjsel as rj
from pyrjsel.report import Report

BUDGET = 10.0
# The best published models with posterior probabilities from both samplers.
COMPARED = ("m1", "m2", "m3", "m4")
# Published columns of the comparison, by column of the table of published results.
IN_PRINT = {
    "population 1": "population_{}_1",
    "population 2": "population_{}_2",
    "simple 1": "simple_{}_1",
    "simple 2": "simple_{}_2",
}
NOTES = (
    (
        "Published: 'Preliminary Results' on the slides of a talk by I. Ntzoufras on Fouskakis, Ntzoufras "
        "and Draper (2009): two runs of their population sampler of 500,000 iterations each, and two of "
        "simple RJMCMC of 1,500,000 iterations each. A dash: not on the slides, or not visited."
    ),
    (
        "The published figures come from the original data, which are not public; those of this run "
        "come from the synthetic cohort."
    ),
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; `arguments` are those after ``python -m pyrjsel``, by default the process's.

    Returns the exit status: 0; 1 if the output pipe was closed; 130 after Ctrl-C.
    """
    parser = _parser()
    chosen = parser.parse_args(arguments)
    if chosen.example is None:
        parser.print_help()
        return 0
    if isinstance(sys.stdout, io.TextIOWrapper):
        # The tables have dashes and plus-minus signs, which some encodings of terminals lack.
        sys.stdout.reconfigure(errors="replace")
    try:
        demo(chosen.draws, chosen.seed)
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader closed the pipe, as ``head`` does. Buffered output must not be written at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except KeyboardInterrupt:
        print("Interrupted.", file=sys.stderr)
        return 130
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m pyrjsel", description="Bayesian model and variable selection: an example to look at."
    )
    words = "select among indicators of a synthetic pneumonia cohort under a budget, in half a minute"
    replay = parser.add_subparsers(dest="example").add_parser(
        "demo",
        help=words,
        description=(
            "Select among 13 indicators of a synthetic pneumonia cohort under a budget of 10 minutes, by "
            "enumeration and by reversible-jump MCMC, and compare with the published figures."
        ),
    )
    replay.add_argument(
        "--draws", type=_positive, default=10_000, help="draws of each of the 4 chains (default: 10000)"
    )
    replay.add_argument("--seed", type=_natural, default=1, help="seed of both fits (default: 1)")
    return parser


def _positive(text: str) -> int:
    return _whole(text, 1)


def _natural(text: str) -> int:
    return _whole(text, 0)


def _whole(text: str, low: int) -> int:
    """Return `text` as an int of at least `low`; argparse reports what is wrong with the option."""
    try:
        value = int(text)
    except ValueError:
        value = low - 1
    if value < low:
        raise argparse.ArgumentTypeError(f"must be an int of at least {low}, got {text!r}")
    return value


def demo(draws: int, seed: int) -> None:
    """Print both fits, the reversible-jump one of `draws` draws a chain, and compare with the published."""
    model = _published_model()
    count = len(model.term_names)
    print(
        "The pneumonia cohort is SYNTHETIC and tuned to give the published answers: agreement shows that\n"
        "the software recovers a known answer, and is no evidence about pneumonia.\n\n"
        f"Death within 30 days of admission ({model.nobs:,} patients), {count} of 83 indicators, priced in "
        "minutes of\n"
        f"abstraction; {model.count_models():,} of the {2**count:,} models cost at most "
        f"{BUDGET:g} minutes.\n"
    )
    enumerated = _timed(model, sampler="enumerate", rng=seed)
    sampled = _timed(model, sampler="rjmcmc", rng=seed, draws=draws)
    print(comparison(enumerated, sampled))


def _timed(model: rj.LogitSelection, **options: Any) -> rj.SelectionResults:
    """Fit `model`, and print the elapsed time and the summary."""
    begin = time.perf_counter()
    results = model.fit(**options)
    print(f"Elapsed time of sampler={results.sampler!r}: {time.perf_counter() - begin:.1f} s\n")
    print(f"{results.summary(top=5)}\n", flush=True)
    return results


def _published_model() -> rj.LogitSelection:
    """Return the published model: variables, costs, budget and priors."""
    cohort = rj.datasets.pneumonia()
    variables, costs = cohort.variables, cohort.costs
    if variables is None or costs is None:
        raise rj.DataError("The packaged pneumonia cohort lacks its table of variables.")
    names = list(variables.index[variables["reduced"]])
    return rj.logit(
        "mortality ~ .",
        cohort.data[["mortality", *names]],
        costs=costs[names],
        budget=BUDGET,
        coef_prior=rj.GPrior("4n"),
        model_prior=rj.Uniform(),
    )


def comparison(enumerated: rj.SelectionResults, sampled: rj.SelectionResults) -> Report:
    """Return a comparison of two fits of the published model with the published figures."""
    published = rj.datasets.pneumonia_published()
    rows = published.loc[list(COMPARED)]
    exact, drawn = _rows(enumerated.models, rows), _rows(sampled.models, rows)
    tables = [
        _beside("Posterior probability", "posterior", "probability", rows, exact, drawn),
        _beside("Posterior odds of m1 against the model", "odds", "ratio", rows, exact, drawn),
    ]
    fit = pd.DataFrame(
        {
            "minutes": rows["cost"],
            "in print": rows["deviance"],
            "here": exact["deviance"],
            "terms": rows["variables"],
        }
    )
    tables.append(("Minimum deviance", fit.rename_axis(None), {"here": "fixed2"}))
    return Report(
        "Comparison with the published figures",
        [
            ("Best model published", "m1"),
            ("Best by enumeration", _name(enumerated.best(), published)),
            ("Best by RJMCMC", _name(sampled.best(), published)),
        ],
        tables,
        NOTES,
    )


def _beside(
    caption: str, what: str, kind: str, rows: pd.DataFrame, exact: pd.DataFrame, drawn: pd.DataFrame
) -> tuple[str, pd.DataFrame, dict[str, str]]:
    """Return a table for a summary: `what` ("posterior" or "odds") as published and in the two fits."""
    columns: dict[str, Any] = {name: rows[place.format(what)] for name, place in IN_PRINT.items()}
    columns["enumerate"] = exact[what]
    kinds = dict.fromkeys(columns, kind)
    errors = drawn["mcse" if what == "posterior" else "odds_mcse"]
    columns["rjmcmc ± MCSE"] = [_with_error(*pair) for pair in zip(drawn[what], errors, strict=True)]
    return caption, pd.DataFrame(columns).rename_axis(None), kinds


def _with_error(value: float, error: float) -> str:
    """Return a number and its error with two digits."""
    if math.isnan(value):
        return "–"
    if not error > 0:
        return f"{value:g}"
    places = max(1 - math.floor(math.log10(error)), 0)
    return f"{value:.{places}f} ± {error:.{places}f}"


def _rows(models: pd.DataFrame, published: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of the published models in `models`, NaN for a model that was not found."""
    places = {frozenset(terms): rank for rank, terms in models["terms"].items()}
    ranks = [places.get(frozenset(terms), -1) for terms in published["variables"]]
    found = models.select_dtypes("number").reindex(ranks).astype(np.float64)
    return found.set_index(published.index)


def _name(terms: tuple[str, ...], published: pd.DataFrame) -> str:
    """Return the published name of a model, or its terms."""
    for name, variables in published["variables"].items():
        if frozenset(terms) == frozenset(variables):
            return str(name)
    return " + ".join(terms) or "(no terms)"


if __name__ == "__main__":
    sys.exit(main())

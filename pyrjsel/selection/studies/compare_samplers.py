"""Comparison of runs: best models, Monte Carlo errors, and run time."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from pyrjsel._called import called
from pyrjsel._errors import ParameterError
from pyrjsel._typing import FloatArray, WordArray
from pyrjsel._validate import bad_value, check_int
from pyrjsel.model_space import ModelTable, unpack
from pyrjsel.report import model_stats
from pyrjsel.selection.comparable import same_data, same_space
from pyrjsel.selection.results.results import SelectionResults

FACTS = ("sampler", "chains", "iterations", "cpu_seconds")


def compare_samplers(
    results: Sequence[SelectionResults] | Mapping[Hashable, SelectionResults],
    *,
    names: Sequence[str] | None = None,
    top: int = 4,
    reference: SelectionResults | None = None,
) -> pd.DataFrame:
    """Compare runs on the same data and model space: best models, Monte Carlo errors, and run time.

    Parameters
    ----------
    results : sequence of SelectionResults, or mapping of names to them
        The runs, of any samplers, numbers of chains and draws.
    names : sequence of str, optional
        Names of the runs of a sequence; they are numbered from 1 by default.
    top : int, default 4
        Number of models to compare, the best ones of the reference.
    reference : SelectionResults, optional
        Reference of the probabilities; it need not be one of the runs. By default it is the first enumeration
        among them; without one there is no reference, and the best models are those of the draws of all runs
        together.

    Returns
    -------
    DataFrame
        One row per run, with the columns ``sampler``, ``chains``, ``iterations`` (of all chains, after
        burn-in: kept draws times thinning) and ``cpu_seconds`` (of all chains, including burn-in); then for
        each model k from 1

        - ``posterior_k``, its probability, 0 if the run never visited it;
        - ``mcse_percent_k``, its Monte Carlo standard error in percent (for an enumeration, the integration
          error); NaN if unknown, as for a model that was never visited;
        - ``z_k``, if there is a reference, the difference from it in standard errors of both; NaN in the row
          of the reference, if no error is known, and if the run never visited the model, which is not a sign
          of agreement;

        then for the best model ``ess``, the effective sample size, ``ess_per_second`` of CPU time, and
        ``relative_iterations`` and ``relative_seconds``, the iterations and CPU seconds needed for the same
        MCSE relative to the first run with draws: ``(mcse / mcse_first)**2 * iterations / iterations_first``.
        Columns that do not apply to enumeration are NaN. The models, as tuples of terms, are in
        ``attrs["models"]`` of the frame.

    Raises
    ------
    ParameterError
        If `results` is not a sequence or mapping of at least one SelectionResults, if they differ in their
        data, terms, priors or constraints, or if another parameter is not valid.

    Notes
    -----
    Iterations of different samplers are not equally expensive: the population sampler moves all its chains in
    each. CPU seconds take that into account, but depend on the machine and on what else it does. Errors are
    only as reliable as the chains: chains that all miss a mode agree with each other. Runs of the population
    sampler with ``scheme="paper"``, which biases the posterior, are not distinguished from exact ones: name
    the runs.

    Examples
    --------
    >>> import pyrjsel as rj
    >>> model = rj.logit("low ~ lwt + smoke + ht", rj.datasets.birthwt().data)
    >>> runs = {
    ...     "exact": model.fit(sampler="enumerate", rng=1),
    ...     "walk": model.fit(sampler="rjmcmc", draws=2000, rng=2),
    ... }
    >>> table = rj.compare_samplers(runs, top=2)
    >>> table.attrs["models"]
    [('lwt', 'smoke', 'ht'), ('lwt', 'ht')]
    >>> table["posterior_1"].round(1).tolist(), bool(abs(table.loc["walk", "z_1"]) < 5)
    ([0.5, 0.5], True)
    """
    runs, labels = _runs(results, names)
    top = check_int(top, "top", low=1)
    if reference is None:
        reference = next((run for run in runs if run.posterior.draws is None), None)
    elif not isinstance(reference, SelectionResults):
        raise bad_value("reference", "SelectionResults or None", reference)
    _check_alike(runs, labels, reference)
    models = _best(runs if reference is None else [reference], top)
    known = None if reference is None else _estimate(reference, models)
    estimates = [_estimate(run, models) for run in runs]
    table = pd.DataFrame(
        {name: [getattr(each, name) for each in estimates] for name in FACTS},
        index=pd.Index(labels, name="run", tupleize_cols=False),
    )
    for k in range(len(models)):
        table[f"posterior_{k + 1}"] = [each.probability[k] for each in estimates]
        table[f"mcse_percent_{k + 1}"] = [100 * each.mcse[k] for each in estimates]
        if known is not None:
            table[f"z_{k + 1}"] = [
                np.nan if run is reference else _z(each, known, k)
                for run, each in zip(runs, estimates, strict=True)
            ]
    _add_efficiency(table, estimates)
    space = runs[0].model.space
    table.attrs["models"] = [space.terms_of(gamma) for gamma in unpack(models, space.n_terms)]
    return table


@dataclass(frozen=True)
class _Estimate:
    """Estimates of one run; NaN for those that do not apply to enumeration."""

    sampler: str
    chains: float
    iterations: float
    cpu_seconds: float
    probability: FloatArray
    mcse: FloatArray


def _runs(results: object, names: object) -> tuple[list[SelectionResults], list[Hashable]]:
    must = "a sequence of SelectionResults, or a mapping of names to them, at least one"
    if isinstance(results, Mapping):
        if names is not None:
            raise bad_value("names", "None where 'results' is a mapping, which has names", names)
        runs, labels = list(results.values()), list(results)
    elif isinstance(results, Sequence) and not isinstance(results, str):
        runs = list(results)
        labels = list(range(1, len(runs) + 1)) if names is None else _labels(names, len(runs))
    else:
        raise bad_value("results", must, results)
    if not runs or not all(isinstance(run, SelectionResults) for run in runs):
        raise bad_value("results", must, results)
    return runs, labels


def _labels(names: object, count: int) -> list[Hashable]:
    good = isinstance(names, Sequence) and not isinstance(names, str)
    labels: list[Hashable] = list(names) if good else []  # type: ignore[call-overload]
    if not all(isinstance(label, str) for label in labels) or not len(labels) == count == len(set(labels)):
        raise bad_value("names", f"a sequence of {count} different strings, one per run", names)
    return labels


def _check_alike(
    runs: list[SelectionResults], labels: list[Hashable], reference: SelectionResults | None
) -> None:
    """Raise :class:`ParameterError` if two runs have different posteriors."""
    first = runs[0].model
    others: list[tuple[str, SelectionResults]] = [
        (f"run {label!r}", run) for label, run in zip(labels[1:], runs[1:], strict=True)
    ]
    if reference is not None:
        others.append(("the reference", reference))
    for label, other in others:
        reason = same_data(first, other.model) or same_space(first, other.model)
        if reason is not None:
            raise ParameterError(
                f"The 'results' parameter of {called()} must be runs on the same data, terms, priors and "
                f"constraints. Run {labels[0]!r} and {label} have {reason}."
            )


def _best(runs: list[SelectionResults], top: int) -> WordArray:
    """Return the `top` best models (m, words) from the draws of all `runs`, or from one enumeration."""
    table = ModelTable(runs[0].model.space.n_terms)
    index = [table.add(run.posterior.packed.words) for run in runs]
    mass = np.zeros(len(table))
    for run, rows in zip(runs, index, strict=True):
        weight = 1.0 if len(runs) == 1 else _iterations(run)
        mass[rows] += weight * run.posterior.probability
    order = np.argsort(-mass, kind="stable")[:top]
    best: WordArray = table.words[order[mass[order] > 0]]
    return best


def _iterations(run: SelectionResults) -> float:
    draws = run.posterior.draws
    return np.nan if draws is None else draws.model.size * run.settings.thin


def _estimate(run: SelectionResults, models: WordArray) -> _Estimate:
    posterior = run.posterior
    table = ModelTable(run.model.space.n_terms)
    table.add(posterior.packed.words)
    rows = table.lookup(models)
    seen = rows >= 0
    probability, mcse = np.zeros(rows.size), np.full(rows.size, np.nan)
    probability[seen] = posterior.probability[rows[seen]]
    if posterior.draws is None:
        mcse[seen] = posterior.mcse[rows[seen]]
    elif seen.any():
        mcse[seen] = model_stats(posterior.draws.model, rows[seen]).mcse
    return _Estimate(
        run.sampler,
        np.nan if posterior.draws is None else posterior.draws.model.shape[0],
        _iterations(run),
        float(posterior.diagnostics["cpu_seconds"].to_numpy()[-1]),
        probability,
        mcse,
    )


def _z(one: _Estimate, known: _Estimate, k: int) -> float:
    # Models that enumeration did not integrate have negligible mass and errors.
    error = float(np.hypot(one.mcse[k], np.nan_to_num(known.mcse[k])))
    return float(one.probability[k] - known.probability[k]) / error if error > 0 else np.nan


def _add_efficiency(table: pd.DataFrame, estimates: list[_Estimate]) -> None:
    """Add the columns on the efficiency for the best model."""
    drawn = ~np.isnan([each.iterations for each in estimates])
    p = np.array([each.probability[0] for each in estimates])
    variance = np.where(drawn, [each.mcse[0] ** 2 for each in estimates], np.nan)
    with np.errstate(divide="ignore", invalid="ignore"):
        table["ess"] = p * (1 - p) / variance
        table["ess_per_second"] = table["ess"] / table["cpu_seconds"]
        for column, name in (("iterations", "iterations"), ("cpu_seconds", "seconds")):
            work = variance * table[column].to_numpy()
            table[f"relative_{name}"] = work / (work[drawn][0] if drawn.any() else np.nan)

"""Separate runs of one model, pooled into one."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, TypeVar

from pyrjsel._errors import NotAvailableError, ParameterError
from pyrjsel._validate import bad_value, listed
from pyrjsel.results.sampled import RecordedRun, SampledResults
from pyrjsel.runtime import Ends, RunTime, Stopwatch, known_ends
from pyrjsel.storage import digest

Sampled = TypeVar("Sampled", bound=SampledResults[Any])

# Chains may start anywhere.
FREE = "option start"


def pool(results: Sequence[Sampled]) -> Sampled:
    """Pool separate runs of one model, such as those of several machines, into one.

    Parameters
    ----------
    results : sequence of results
        Two or more results of chains with the same data, priors, sampler and options (`start` may differ),
        equal `draws`, `burn_in` and `thin`, and different random numbers; ``extend`` makes numbers of draws
        equal. Loaded results need their training data, see :func:`pyrjsel.load`.

    Returns
    -------
    results
        Results of all chains, of the same class, those of the first run first: as if one run had had them
        all. They can be extended and saved.

    Raises
    ------
    NotAvailableError
        If results have no chains (enumeration, the filter of kernel regression) or no final states of them,
        were interrupted, or lack their training data.
    ParameterError
        If `results` are not at least two results of one class, or differ in more than their random numbers,
        or in nothing.

    Warns
    -----
    ConvergenceWarning
        As for ``fit``.

    Examples
    --------
    >>> import pyrjsel as rj
    >>> births = rj.datasets.birthwt().data
    >>> model = rj.logit("low ~ age + lwt + smoke", births)
    >>> runs = [model.fit(sampler="rjmcmc", draws=500, chains=2, rng=seed) for seed in (1, 2)]
    >>> rj.pool(runs).draws.model.shape
    (4, 500)
    """
    if not isinstance(results, Sequence) or len(results) < 2:
        raise bad_value("results", "a sequence of at least two results", results)
    for one in results:
        if not isinstance(one, SampledResults) or type(one) is not type(results[0]):
            raise bad_value("results", "results of draws of one class", one)
    runs = [one._recorded_run() for one in results]
    ends = [known_ends(run.ends) for run in runs]
    for at, end in enumerate(ends):
        if not end.complete:
            raise NotAvailableError(
                f"results[{at}] of pool come from an interrupted run: finish it with 'extend' first."
            )
    first = runs[0]
    for at, run in enumerate(runs[1:], start=1):
        differ = _differences(first, run)
        if differ:
            raise ParameterError(
                "The 'results' parameter of pool must be runs of one model that differ in their random "
                f"numbers alone. results[0] and results[{at}] differ in {listed(differ)}."
                + (" Make them equal with 'extend'." if run.draws != first.draws else "")
            )
    chains = [
        replace(chain, recorded={**held, **chain.recorded})
        for run, end in zip(runs, ends, strict=True)
        for chain, held in zip(end.chains, run.recorded(), strict=True)
    ]
    if len({digest(chain.state) for chain in chains}) < len(chains):
        raise ParameterError(
            "The 'results' parameter of pool must be runs with different random numbers. Got one chain twice."
        )
    settings = first.settings
    spent = sum((run.settings.run_time for run in runs), RunTime())
    pooled = replace(
        settings,
        draws=first.draws,
        chains=len(chains),
        earlier=Ends(chains, True, first.draws, ends[0].entropy),
        every=first.every,
        accuracy=None,
        anew=None,
        watch=Stopwatch(spent),
    )
    return first.go_on(pooled)


def _differences(one: RecordedRun[Any], other: RecordedRun[Any]) -> list[str]:
    """Return what two runs differ in besides their random numbers and the starts of their chains."""
    first, second = one.identity(), other.identity()
    found = [
        name
        for name in {**first, **second}
        if name != FREE and digest(first.get(name)) != digest(second.get(name))
    ]
    sizes = [
        {"draws": run.draws, "burn_in": run.settings.burn_in, "thin": run.settings.thin, "kept": run.every}
        for run in (one, other)
    ]
    found += [
        f"{name} ({a:,}; {b:,})"
        for (name, a), b in zip(sizes[0].items(), sizes[1].values(), strict=True)
        if a != b
    ]
    return found

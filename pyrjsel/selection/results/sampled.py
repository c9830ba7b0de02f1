"""Methods of results with draws: extending the chains, and export to ArviZ."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any, Self

import numpy as np

from pyrjsel._errors import NotAvailableError
from pyrjsel._typing import FloatArray
from pyrjsel._validate import check_bool
from pyrjsel.model_space import chain_visits
from pyrjsel.report import to_arviz
from pyrjsel.runtime import MOST, known_ends
from pyrjsel.selection.draws import Draws
from pyrjsel.selection.identity import identity
from pyrjsel.selection.results.tables import PosteriorTables
from pyrjsel.selection.samplers.recorder import thinning
from pyrjsel.selection.samplers.registry import samplers_of
from pyrjsel.selection.samplers.runs import run, warn_of

# What is recorded of every so manyth draw.
THINNED = ("coefficients", "variance")


class SampledPosterior(PosteriorTables):
    """The methods of :class:`SelectionResults` on its draws."""

    def extend(
        self,
        draws: int | None = None,
        *,
        mcse: float | None = None,
        max_draws: int = MOST,
        max_seconds: float | None = None,
        n_jobs: int | None = None,
        progress: bool | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
    ) -> Self:
        """Go on with the chains where they ended.

        Parameters
        ----------
        draws : int, optional
            Draws that each chain is to have beyond those that it has, burn-in and thinning as they were.
            After an interrupted run all chains get as many as the longest has at least. None is as many as
            `mcse` asks for, which may be no more at all.
        mcse : float, optional
            Go on until inclusion probabilities have Monte Carlo errors of at most this; None is what was
            asked for in the fit, or 0.005. Models that the audit finds are a warning: chains go on, and
            do not begin anew.
        max_draws, max_seconds : optional
            As for ``fit``; the former with the draws that there are.
        n_jobs, progress, checkpoint : optional
            As for ``fit``; the checkpoint is of the draws that are new.

        Returns
        -------
        SelectionResults
            New results, of all draws: to the last bit those of one run of as many with this `burn_in` (on the
            same machine and versions). What is drawn when a run has ended, the coefficients of
            ``"collapsed"`` and of ``"gibbs"`` where these are integrated out, is drawn anew. After an
            interrupted run that was planned for more draws, coefficients are of as few draws as it had kept.

        Raises
        ------
        NotAvailableError
            After enumeration, which has all models; if the rows are not there, see :func:`pyrjsel.load`; if
            the results come from a file that has no states of chains.
        ParameterError
            If a parameter is out of range.
        StoreError
            If the checkpoint is that of another run, or the file held a state of another model.

        Warns
        -----
        ConvergenceWarning, SeparationWarning
            As for ``fit``.

        Examples
        --------
        >>> import pyrjsel as rj
        >>> births = rj.datasets.birthwt().data
        >>> model = rj.logit("low ~ lwt + smoke + ht", births)
        >>> longer = model.fit(sampler="rjmcmc", draws=600, burn_in=100, rng=1).extend(400)
        >>> once = model.fit(sampler="rjmcmc", draws=1000, burn_in=100, rng=1)
        >>> longer.inclusion.equals(once.inclusion)
        True
        """
        results = self
        model, posterior, options = results.model, results.posterior, results.options
        found = posterior.draws
        if found is None:
            raise NotAvailableError("Enumeration has no draws that 'extend' could add to: it has all models.")
        ends, have = known_ends(posterior.ends), found.model.shape[1]
        sampler = samplers_of(model.regression)[posterior.sampler]
        n_extra = sampler.n_extra(model.regression)
        settings = results.settings.extended(
            replace(ends, entropy=posterior.entropy),
            have=have,
            recorded=lambda: [_recorded(found, chain, n_extra) for chain in range(len(found.model))],
            draws=draws,
            mcse=mcse,
            max_draws=max_draws,
            max_seconds=max_seconds,
            n_jobs=n_jobs,
            progress=progress,
            checkpoint=checkpoint,
            about=lambda: identity(model, posterior.sampler, options),
            # Coefficients that chains do not record are drawn anew when they have ended.
            every=1 if n_extra is None else found.coefficients_every,
        )
        step = thinning(model.regression, settings) // found.coefficients_every
        longer, _ = run(model, sampler, settings.thinned(step, THINNED), options)
        warn_of(longer)
        return type(results)(model, longer, settings.finished(longer.asked), options=options)

    def to_arviz(self, *, coefficients: bool = True) -> Any:
        """Return the draws as ArviZ's container.

        Parameters
        ----------
        coefficients : bool, default True
            Whether the coefficients come along. Those of long runs of many columns are kept of every so
            manyth draw (``draws.coefficients_every``), and the other variables are then those of the same
            draws; without coefficients they are of all draws.

        Returns
        -------
        InferenceData or DataTree
            ``posterior`` with ``included`` (0 or 1, by ``term``), ``size``, ``cost`` of a model with costs,
            ``coefficients`` (by ``coefficient``: the intercept, then the columns of the design; 0 outside the
            model) and ``sigma`` of a linear model; ``sample_stats`` with ``lp``, the log posterior, and
            ``model``, the row of ``draws.models``; ``observed_data`` with the response by ``row``, unless the
            rows were not kept. InferenceData is that of ArviZ 0.x, DataTree that of ArviZ 1.x and of
            arviz-base.

        Raises
        ------
        NotAvailableError
            After enumeration, which draws nothing, or if neither ArviZ nor arviz-base is installed.
        ParameterError
            If `coefficients` is not a bool.

        Notes
        -----
        The draws of ``included`` are visits. The samplers that average probabilities of inclusion given all
        other terms have smaller errors in :attr:`inclusion` than these draws have.

        A DataTree goes into ``summary`` of arviz-stats and ``plot_trace`` of arviz-plots. The last
        arviz-plots for Python 3.11, 0.8, needs a matplotlib before 3.11, and its ``plot_trace_dist`` an older
        xarray too.

        Examples
        --------
        >>> import pyrjsel as rj
        >>> model = rj.logit("low ~ lwt + smoke + ht", rj.datasets.birthwt().data)
        >>> results = model.fit(sampler="rjmcmc", draws=500, rng=1)
        >>> found = results.to_arviz()
        >>> found.posterior["included"].sel(term="smoke").shape
        (4, 500)
        """
        whole = check_bool(coefficients, "coefficients", "to_arviz")
        results = self
        draws, model = results.draws, results.model
        kept = slice(None)
        if whole:
            every, count = draws.coefficients_every, draws.coefficients.shape[1]
            kept = slice(0, every * count, every)
        visited = draws.model[:, kept]
        posterior: dict[str, tuple[list[str], Any]] = {
            "included": (["term"], draws.models.astype(np.int8)[visited]),
            "size": ([], draws.size[:, kept]),
        }
        if model._priced:
            posterior["cost"] = ([], draws.cost[:, kept])
        if whole:
            posterior["coefficients"] = (["coefficient"], draws.coefficients)
            if draws.variance is not None:
                posterior["sigma"] = ([], np.sqrt(draws.variance))
        groups: dict[str, dict[str, tuple[list[str], Any]]] = {
            "posterior": posterior,
            "sample_stats": {"lp": ([], draws.log_posterior[:, kept]), "model": ([], visited)},
        }
        coords = {"term": list(model.term_names), "coefficient": list(results._column_names)}
        response: FloatArray | None = getattr(model.data, "y", None)
        if response is not None:
            groups["observed_data"] = {model.design.response: (["row"], response)}
            coords["row"] = model.data.index.to_flat_index().tolist()
        return to_arviz(groups, coords if whole else {k: v for k, v in coords.items() if k != "coefficient"})


def _recorded(draws: Draws, chain: int, n_extra: int | None) -> dict[str, np.ndarray]:
    """Return what a chain had recorded."""
    words, index = chain_visits(draws.model[chain], draws.packed.words)
    held = {"words": words, "index": index, "log_posterior": draws.log_posterior[chain]}
    if n_extra is None:
        return held
    kept = draws.vectors.shape[0] // len(draws.model)
    vectors = draws.vectors[chain * kept : (chain + 1) * kept].toarray()
    extra = np.zeros((kept, n_extra))
    if draws.variance is not None and n_extra:
        extra[:, 0] = draws.variance[chain]
    elif draws.variance is not None:
        held["variance"] = draws.variance[chain]
    return {**held, "coefficients": np.column_stack([vectors, extra])}

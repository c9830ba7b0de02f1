"""More draws of results, from where their chains ended."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from pyrjsel._errors import NotAvailableError
from pyrjsel.runtime import MOST, known_ends
from pyrjsel.selection.collect import thinning
from pyrjsel.selection.draws import Draws
from pyrjsel.selection.gaussian_rows import GaussianRows
from pyrjsel.selection.gibbs import IN_LOOP
from pyrjsel.selection.identity import identity
from pyrjsel.selection.runs import run, warn_of
from pyrjsel.space import chain_visits

if TYPE_CHECKING:
    from pyrjsel.selection.results import SelectionResults

# What is recorded of every so manyth draw.
THINNED = ("coefficients", "variance")


class Extending:
    """The method of :class:`SelectionResults` that goes on with its chains."""

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
    ) -> SelectionResults:
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
        results = cast("SelectionResults", self)
        model, posterior, options = results.model, results.posterior, results.options
        found = posterior.draws
        if found is None:
            raise NotAvailableError("Enumeration has no draws that 'extend' could add to: it has all models.")
        ends, have = known_ends(posterior.ends), found.model.shape[1]
        n_extra = _extra(model.regression, posterior.sampler, found)
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
            # Coefficients of "collapsed" are drawn anew when the chains have ended.
            every=1 if posterior.sampler == "collapsed" else found.coefficients_every,
        )
        step = thinning(model.regression, settings) // found.coefficients_every
        longer, _ = run(model, model._samplers[posterior.sampler], settings.thinned(step, THINNED), options)
        warn_of(longer, 2)
        return type(results)(model, longer, settings.finished(longer.asked), options=options)


def _extra(regression: Any, sampler: str, draws: Draws) -> int | None:
    """Return how many numbers chains record beside coefficients, None where they draw none of these."""
    if sampler in ("rjmcmc", "population"):
        return 0 if draws.variance is None else GaussianRows.n_extra
    return 0 if sampler == "gibbs" and regression.prior.kind in IN_LOOP else None


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

"""More draws of pattern results, from where their chains ended."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, cast

from pyrjsel.patterns.problem import PatternProblem
from pyrjsel.patterns.sampling import USUAL, run
from pyrjsel.runtime import by_chain, known_ends

if TYPE_CHECKING:
    from pyrjsel.patterns.results import PatternResults


class Extending:
    """The method of :class:`PatternResults` that goes on with its chains."""

    def extend(
        self,
        draws: int | None = None,
        *,
        mcse: float | None = None,
        max_draws: int = USUAL.max_draws,
        max_seconds: float | None = None,
        n_jobs: int | None = None,
        progress: bool | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
    ) -> PatternResults:
        """Go on with the chains where they ended.

        Parameters
        ----------
        draws : int, optional
            Draws that each chain is to have beyond those that it has, burn-in and thinning as they were.
            After an interrupted run all chains get as many as the longest has at least. None is as many as
            `mcse` asks for, which may be no more at all.
        mcse : float, optional
            Go on until log scales have Monte Carlo errors of at most so many posterior deviations; None is
            what was asked for in the fit, or 0.05.
        max_draws, max_seconds : optional
            As for :meth:`PatternLogit.fit`; the former with the draws that there are.
        n_jobs, progress, checkpoint : optional
            As for :meth:`PatternLogit.fit`; the checkpoint is of the draws that are new.

        Returns
        -------
        PatternResults
            New results, of all draws: to the last bit those of one run of as many (on the same machine and
            versions).

        Raises
        ------
        NotAvailableError
            If the rows are not there, see :func:`pyrjsel.load`; if the results come from a file that has no
            states of chains.
        ParameterError
            If a parameter is out of range.
        StoreError
            If the checkpoint is that of another run, or the file held a state of another model.

        Warns
        -----
        ConvergenceWarning
            As for :meth:`PatternLogit.fit`.

        Examples
        --------
        >>> import pyrjsel as rj
        >>> births = rj.datasets.birthwt().data
        >>> model = rj.pattern_logit("low ~ interactions(race, smoke, ht, ui, order=2)", births)
        >>> longer = model.fit(draws=300, chains=2, rng=1).extend(100)
        >>> bool((longer.draws.s == model.fit(draws=400, chains=2, rng=1).draws.s).all())
        True
        """
        results = cast("PatternResults", self)
        model, posterior = results.model, results.posterior
        ends, options = known_ends(posterior.ends), posterior.options
        assert options is not None
        problem = PatternProblem.of(model.compression, model.y, len(model.classes), model.prior)
        have = posterior.draws.log_posterior.shape[1]
        settings = posterior.settings.extended(
            ends,
            have=have,
            recorded=lambda: by_chain(vars(posterior.draws)),
            draws=draws,
            mcse=mcse,
            max_draws=max_draws,
            max_seconds=max_seconds,
            usual=USUAL,
            n_jobs=n_jobs,
            progress=progress,
            checkpoint=checkpoint,
            about=lambda: model._identity(posterior.sampler, options),
        )
        found = run(problem, posterior.sampler, options, settings)
        return type(results)(model, found, results._entropy)

"""More draws of kernel results, from where their chains ended."""

from __future__ import annotations

import os
from dataclasses import fields
from typing import TYPE_CHECKING, cast

from pyrjsel._errors import NotAvailableError
from pyrjsel.kernel.particles import Particles
from pyrjsel.kernel.runs import FilterRun
from pyrjsel.kernel.sampling import fit_chains
from pyrjsel.kernel.stopping import USUAL
from pyrjsel.runtime import by_chain, known_ends

if TYPE_CHECKING:
    from pyrjsel.kernel.results import KernelResults


class Extending:
    """The method of :class:`KernelResults` that goes on with its chains."""

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
    ) -> KernelResults:
        """Go on with the chains of ``sampler="mcmc"`` where they ended.

        Parameters
        ----------
        draws : int, optional
            Draws that each chain is to have beyond those that it has, burn-in and thinning as they were.
            After an interrupted run all chains get as many as the longest has at least. None is as many as
            `mcse` asks for, which may be no more at all.
        mcse : float, optional
            Go on until the figures of the summary have Monte Carlo errors of at most so many posterior
            deviations, see :meth:`KernelRegression.fit`; None is what was asked for in the fit, or 0.05.
        max_draws, max_seconds : optional
            As for :meth:`KernelRegression.fit`; the former with the draws that there are.
        n_jobs, progress, checkpoint : optional
            As for :meth:`KernelRegression.fit`; the checkpoint is of the draws that are new.

        Returns
        -------
        KernelResults
            New results, of all draws: to the last bit those of one run of as many (on the same machine and
            versions; after loading, a kernel of the user's own may round otherwise).

        Raises
        ------
        NotAvailableError
            After the filter, which has :meth:`update`; if the rows are not there, see :func:`pyrjsel.load`;
            if the results come from a file that has no states of chains.
        ParameterError
            If a parameter is out of range.
        StoreError
            If the checkpoint is that of another run, or the file held a state of another model.

        Warns
        -----
        ConvergenceWarning
            As for :meth:`KernelRegression.fit` with ``sampler="mcmc"``.

        Examples
        --------
        >>> import numpy as np
        >>> import pyrjsel as rj
        >>> x = np.linspace(-3.0, 3.0, 20)[:, None]
        >>> model = rj.KernelRegression(np.sin(x[:, 0]), x)
        >>> longer = model.fit(sampler="mcmc", draws=1000, rng=1).extend(100)
        >>> longer.run.draws.k.shape
        (4, 1100)
        """
        results = cast("KernelResults", self)
        run, model = results.run, results.model
        if isinstance(run, FilterRun):
            raise NotAvailableError(
                "The filter has no draws that 'extend' could add to: it takes more rows, by 'update'."
            )
        ends, x, y = known_ends(run.ends), model.x, model.y
        have = run.draws.k.shape[1]
        held = {field.name: getattr(run.draws, field.name) for field in fields(Particles)}
        settings = run.fit.extended(
            ends,
            have=have,
            recorded=lambda: by_chain(held),
            draws=draws,
            mcse=mcse,
            max_draws=max_draws,
            max_seconds=max_seconds,
            usual=USUAL,
            n_jobs=n_jobs,
            progress=progress,
            checkpoint=checkpoint,
            about=lambda: model._identity("mcmc", run.settings),
        )
        return type(results)(model, fit_chains(run.settings, x, y, run.index, settings))

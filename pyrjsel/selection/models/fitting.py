"""The ``fit`` method of selection models."""

from __future__ import annotations

import os
from dataclasses import fields
from typing import Any, cast

from pyrjsel._called import named
from pyrjsel._typing import RNGLike, SeedLike
from pyrjsel._validate import unknown_option
from pyrjsel.runtime import AUTO, MCSE, MOST, FitSettings
from pyrjsel.selection.identity import identity
from pyrjsel.selection.models._docstrings import shared_text
from pyrjsel.selection.protocols import SelectionModel
from pyrjsel.selection.results.results import SelectionResults
from pyrjsel.selection.samplers.registry import sampler_named
from pyrjsel.selection.samplers.runs import run, warn_of


class Fitting:
    """Mixin with the ``fit`` method of selection models."""

    @shared_text
    def fit(
        self,
        *,
        sampler: str = "auto",
        draws: int | str = AUTO,
        mcse: float = MCSE,
        max_draws: int = MOST,
        max_seconds: float | None = None,
        burn_in: int | None = None,
        thin: int = 1,
        chains: int = 4,
        rng: RNGLike | SeedLike | None = None,
        n_jobs: int | None = None,
        progress: bool | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        **options: Any,
    ) -> SelectionResults:
        """Find the posterior over models and coefficients.

        Parameters
        ----------
        <sampler>
            ``"auto"`` enumerates up to 2**20 feasible models. For larger spaces it uses ``"collapsed"``; for
            logistic and Poisson models ``"rjmcmc"`` if a short pilot run, the same for every seed, finds that
            marginal likelihoods are hard to compute (near separation, or few rows per column); and for linear
            models ``"gibbs"`` under ``SpikeSlab`` and priors with ``scaled=False``, which ``"collapsed"``
            does not support. For linear models, ``"rjmcmc"`` and ``"population"`` also draw sigma^2 (and g,
            if it has a prior) and support all priors except ``SpikeSlab``. They propose new coefficients
            given all others, so they mix slowly if columns are nearly dependent or models are large. Errors
            of ``"collapsed"`` and ``"gibbs"`` are small if chains mix well, but do not include modes that no
            chain has visited: if there may be such modes, compare with a run at several `temperatures`, or
            run more chains.
        draws : "auto" or int
            Draws per chain, after burn-in and thinning. ``"auto"`` starts with 200 and doubles them until
            every inclusion probability has an MCSE of at most `mcse`; size, cost and log posterior have an
            R-hat of at most 1.05 and an effective sample size of at least 100; and, if odds are relative
            frequencies, those of the three models after the best have a relative MCSE of at most 5 % (50 %
            for models with probability below 0.01). For linear models with nearly dependent columns (adjusted
            variance inflation factor above 10), ``"collapsed"`` makes at least 1,600 proposals of each term
            per chain. If the audit then finds a relevant model that no chain has visited, the run restarts,
            at most twice, with new chains, some of which start from that model, and discards the previous
            draws. With a fixed number of draws, missed models only lead to a warning. One iteration of
            reversible jumps proposes as many flips as there are free terms, swaps, and an update of all
            coefficients; one of ``"collapsed"`` proposes each free term `sweeps` times.
        mcse : float, default 0.005
            Target Monte Carlo error of inclusion probabilities with ``draws="auto"``. Integration errors of
            marginal likelihoods, which more draws do not reduce, are compensated up to 0.8 of it.
        max_draws : int, default 100_000
            Limit of draws per chain with ``draws="auto"``; draws before a restart do not count.
        max_seconds : float, optional
            Time after which no further round of draws and no restart begins with ``draws="auto"``; the first
            round is always completed. This is the only setting with which draws depend on the machine.
        burn_in : int, optional
            Iterations discarded at the start of each chain; None is ``draws // 5``, or 100 with
            ``draws="auto"`` (500 for ``"rjmcmc"``, 2,000 for ``"population"``). After a quarter of burn-in
            each chain searches for other modes and restarts from one of them, if it finds any, unless the
            option `start` is given.
        thin : int, default 1
            Keep every `thin`-th iteration.
        chains : int, default 4
            Number of independent chains, which are checked for agreement.
        rng : None, int, SeedSequence or Generator
            Source of randomness. The same seed gives the same draws whatever `n_jobs` is.
        n_jobs : int, optional
            Number of workers; None follows ``joblib.parallel_config``, or uses one thread per chain, at most
            one per processor. With ``joblib.parallel_config(backend="loky")`` or ``"dask"``, workers are
            processes on this machine or a cluster: the draws are the same, data are sent once, and the chains
            of a worker that dies are restarted.
        progress : bool, optional
            Whether to show progress; None shows it on terminals and in notebooks after a second.
        checkpoint : str or path-like, optional
            A folder in which chains save their draws and states every few seconds. After a crash or Ctrl-C,
            the same call resumes the run; the draws are those of an uninterrupted run (on the same machine
            and versions). ``rng=None`` uses the seed of the existing run. The folder does not contain the
            data. All workers of a cluster must have access to it. Enumeration resumes with the remaining
            models.
        **options
            Options of the sampler; see the notes.

        Returns
        -------
        SelectionResults
            The posterior. If sampling was interrupted by Ctrl-C, it uses the draws so far, with a
            ConvergenceWarning; inclusion probabilities of ``"collapsed"`` are then averages over complete
            batches of draws.

        Raises
        ------
        ParameterError
            If a parameter is out of range.
        UnknownNameError
            If the sampler or an option is unknown.
        NotAvailableError
            If the sampler does not support this model.
        StoreError
            If the checkpoint belongs to another run or version, is damaged or is in use.

        Warns
        -----
        ConvergenceWarning
            If chains disagree, have not converged, are stuck or have fewer than 100 effective draws, or if
            the run was interrupted; if marginal likelihoods of relevant models, or coefficients, have too few
            effective importance draws; if the audit finds a relevant model that no chain has visited, and the
            run does not restart.
        DispersionWarning
            If counts or proportions are overdispersed.
        SeparationWarning
            If the likelihood of a model with non-negligible posterior probability has no maximum, because the
            model separates the classes (or, for counts, the rows without events). Its posterior is proper but
            depends strongly on the coefficient prior.

        Notes
        -----
        <sampler options>
        """
        model = cast(SelectionModel, self)
        found, usual = sampler_named(sampler, model.regression, model.space, options)
        options = {**usual, **options}
        names = [item.name for item in fields(found.options)]
        for name in options:
            if name not in names:
                raise unknown_option(name, f"for sampler={found.name!r}", names, model.fit)
        with named(f"sampler={found.name!r}"):
            chosen = found.options(**options)
        settings = FitSettings.check(
            draws=draws,
            mcse=mcse,
            max_draws=max_draws,
            max_seconds=max_seconds,
            warm=found.warm,
            burn_in=burn_in,
            thin=thin,
            chains=chains,
            rng=rng,
            n_jobs=n_jobs,
            progress=progress,
            checkpoint=checkpoint,
            about=None if checkpoint is None else identity(model, found.name, chosen),
        )
        posterior, settings = run(model, found, settings, chosen)
        warn_of(posterior)
        return SelectionResults(model, posterior, settings.finished(posterior.asked), options=chosen)

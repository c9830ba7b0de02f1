"""``fit`` of selection models of all families."""

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
    """The method of selection models that finds the posterior."""

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
            ``"auto"`` enumerates up to 2**20 feasible models; beyond, it is ``"collapsed"``, and
            ``"rjmcmc"`` for logistic and Poisson models where a short pilot, the same for every seed, finds
            that integrals of models are hard: near separation, or with few rows a column. For linear models
            it is ``"gibbs"`` under ``SpikeSlab`` and priors with ``scaled=False``, which ``"collapsed"``
            does not know. For linear models ``"rjmcmc"`` and ``"population"`` draw sigma^2 too (and the g of
            a mixture), and know all priors but ``SpikeSlab``; coefficients that enter are proposed given all
            others, so that chains move slowly among columns that are nearly dependent, or many in every
            model. Errors of ``"collapsed"`` and ``"gibbs"`` are small where chains move easily, and do not
            include modes that no chain has visited: where there may be some, compare with a run at several
            `temperatures`, or with more chains.
        draws : "auto" or int
            Kept draws a chain, after burn-in and thinning. ``"auto"`` is what the figures need: 200, and
            twice as many again and again, until every inclusion probability has an MCSE of at most `mcse`,
            R-hat of size, cost and log posterior is at most 1.05, each of these is worth 100 independent
            draws, and, where odds are counted and not known, those of the three models after the best have
            a relative MCSE of at most 5 % (50 % for models of probability below 0.01). For linear models with
            nearly dependent columns (adjusted variance inflation factor above 10) ``"collapsed"`` takes at
            least 1,600 proposals of each term per chain. Where the audit then
            finds a model that matters and that no chain has visited, the run begins anew, twice at most:
            with new chains, some of which start from there, and without the draws so far. A number is just so
            many, and missed models are a warning. One iteration of reversible jumps proposes as
            many flips as there are free terms, swaps, and an update of all coefficients; one of
            ``"collapsed"`` proposes each free term `sweeps` times.
        mcse : float, default 0.005
            Largest Monte Carlo error of an inclusion probability, where `draws` is ``"auto"``. Errors of the
            marginal likelihoods themselves, which more draws do not lower, are made up for up to 0.8 of it.
        max_draws : int, default 100_000
            Draws a chain at most, where `draws` is ``"auto"``; those before a run began anew are not counted.
        max_seconds : float, optional
            Seconds after which no further round of draws begins, where `draws` is ``"auto"``; a first round
            there always is. After them no run begins anew. The one setting that makes draws depend on the
            machine.
        burn_in : int, optional
            Iterations left out at the start of each chain; None is ``draws // 5``, and where `draws` is
            ``"auto"`` 100 (``"rjmcmc"`` 500, ``"population"`` 2,000). After a quarter of it each chain looks
            for other modes and begins anew at one of them, where there are any, unless the option `start` is
            given.
        thin : int, default 1
            Keep every `thin`-th iteration.
        chains : int, default 4
            Independent chains, whose agreement is checked.
        rng : None, int, SeedSequence or Generator
            Source of randomness. The same seed gives the same draws whatever `n_jobs` is.
        n_jobs : int, optional
            Workers; None follows ``joblib.parallel_config`` or uses a thread a chain, at most as many as
            there are processors. Under ``joblib.parallel_config(backend="loky")`` or ``"dask"`` workers are
            processes, of this machine or a cluster: the draws are the same, data are sent once, and the
            chains of a worker that dies are begun again.
        progress : bool, optional
            Whether to show progress; None shows it on terminals and in notebooks after a second.
        checkpoint : str or path-like, optional
            A folder where chains write down, every few seconds, what they have drawn and where they are. The
            same call goes on from there after a crash or Ctrl-C, to the same draws as without (on the same
            machine and versions); ``rng=None`` is the seed of the run that is there. It holds no rows of the
            data. The workers of a cluster must all see the folder. Enumeration goes on with the models that
            are left.
        **options
            Of the sampler; see the notes.

        Returns
        -------
        SelectionResults
            After Ctrl-C while sampling, of the draws so far, with a ConvergenceWarning. Inclusion
            probabilities of ``"collapsed"`` are then averages over whole batches of draws alone.

        Raises
        ------
        ParameterError
            If a parameter is out of range.
        UnknownNameError
            If the sampler or an option is not known.
        NotAvailableError
            If the sampler cannot do this model.
        StoreError
            If the checkpoint is that of another run, of another version, damaged or in use.

        Warns
        -----
        ConvergenceWarning
            If chains disagree, have not converged, are stuck, or are worth fewer than 100 independent
            draws, or if the run was interrupted; if marginal likelihoods of models that matter, or
            coefficients, are averages of too few draws; if a search finds a model that matters and that no
            chain visited (see ``audit`` of the results), and the run does not begin anew for that.
        DispersionWarning
            If counts, or proportions of several trials, vary more than their family allows.
        SeparationWarning
            If the likelihood of a model of some posterior probability has no maximum, since the model
            separates the classes (or, for counts, sets rows without events apart); its posterior is
            proper, and depends on the coefficient prior.

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

"""``fit`` of mixture classifiers."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, cast

from pyrjsel._typing import RNGLike, SeedLike
from pyrjsel._validate import unknown_option
from pyrjsel.mixture.compare import FOLDS, compare
from pyrjsel.mixture.results import MixtureResults
from pyrjsel.mixture.sampling import MixtureOptions, run
from pyrjsel.mixture.summary import USUAL, WARM
from pyrjsel.runtime import AUTO, FitSettings

if TYPE_CHECKING:
    from pyrjsel.mixture.model import MixtureClassifier


class Fitting:
    """The method of mixture classifiers that samples the posterior."""

    def fit(
        self,
        *,
        draws: int | str = AUTO,
        mcse: float = USUAL.mcse,
        max_draws: int = USUAL.max_draws,
        max_seconds: float | None = None,
        burn_in: int | None = None,
        thin: int = 1,
        chains: int = 4,
        rng: RNGLike | SeedLike | None = None,
        n_jobs: int | None = None,
        progress: bool | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        folds: int = FOLDS,
        **options: Any,
    ) -> MixtureResults:
        """Sample the posterior of subsets of inputs, kernels and weights.

        Parameters
        ----------
        draws : "auto" or int
            Draws that each chain keeps. ``"auto"`` is what the figures need: 800, and twice as many again and
            again, until every inclusion probability has an MCSE of at most `mcse`, R-hat of size and log
            posterior is at most 1.05, and each of all these is worth 100 independent draws. A number is just
            so many.
        mcse : float, default 0.01
            Largest Monte Carlo error of an inclusion probability, where `draws` is ``"auto"``.
        max_draws : int, default 50_000
            Draws a chain at most, where `draws` is ``"auto"``. Where kernels hardly leave their modes, as
            with inputs that say nearly the same, runs come to these.
        max_seconds : float, optional
            Seconds after which no further round of draws begins, where `draws` is ``"auto"``; a first round
            there always is, and a comparison of numbers of kernels before it, whose seconds do not count. The
            one setting that makes draws depend on the machine.
        burn_in : int, optional
            Sweeps left out at the start of each chain; None is a fifth of `draws`, and 2,000 where `draws` is
            ``"auto"``.
        thin : int, default 1
            Every `thin`-th sweep is kept.
        chains : int, default 4
            Chains, each with a start of its own.
        rng : int, SeedSequence or Generator, optional
            Random numbers; the same give the same draws, whatever `n_jobs` is.
        n_jobs : int, optional
            Workers at a time, see joblib.
        progress : bool, optional
            Whether to show progress; None shows it in a terminal.
        checkpoint : str or path-like, optional
            A folder where chains write down, every few seconds, what they have drawn and where they are. The
            same call goes on from there after a crash or Ctrl-C, to the same draws as without (on the same
            machine and versions); ``rng=None`` is the seed of the run that is there. It holds no rows of the
            data, but which kernel each row is in, and what was drawn for missing inputs and labels. The
            workers of a cluster must all see the folder.
        folds : int, default 5
            Where several numbers of kernels are compared: the rows with labels are cut into so many parts of
            about equal shares of classes, and each part is predicted by one chain on all other rows, with as
            many draws; where `draws` is ``"auto"``, 10,000 of them, or `max_draws` if that is less.
        **options : dict
            ``moves``, proposals to add, remove or exchange inputs in a sweep (as many as there are inputs);
            ``temperatures``, the number of replicas that each chain exchanges states with, itself included
            (5; 1 for none), or the powers of the density that they have, from 1 downwards: time is in
            proportion to it, and kernels leave their modes the sooner; ``start``, ``"empty"`` or names of
            inputs (draws from the prior over subsets). Each chain tries 40 starts for some sweeps, and goes
            on from the best.

        Returns
        -------
        MixtureResults
            After Ctrl-C those of the draws so far.

        Raises
        ------
        ParameterError
            If a parameter or option is out of range.
        UnknownNameError
            If there is no such option.
        StoreError
            If the checkpoint is that of another run, of another version, damaged or in use.
        KeyboardInterrupt
            If the comparison of numbers of kernels was interrupted, or no chain had a draw.

        Warns
        -----
        ConvergenceWarning
            If the run was interrupted, if chains disagree, or if they are worth fewer than 100 independent
            draws; if a run that stops by itself ended at `max_draws` or `max_seconds` before its figures were
            accurate.

        Examples
        --------
        >>> import pyrjsel as rj
        >>> pima = rj.datasets.pima().data.query("split == 'train'")
        >>> model = rj.mixture_classifier("type ~ npreg + glu + bmi + age", pima)
        >>> results = model.fit(draws=500, chains=2, rng=1)
        >>> results.predict(pima.head(2)).columns.tolist()
        ['No', 'Yes']
        """
        model = cast("MixtureClassifier", self)
        owner = f"{model._owner}.fit"
        known = [name for name in MixtureOptions.__dataclass_fields__ if name != "proposal"]
        for option in options:
            if option not in known:
                raise unknown_option(option, "the option", owner, known, model.fit)
        chosen = MixtureOptions(proposal=model.proposal, **options)
        settings = FitSettings.check(
            owner,
            draws=draws,
            mcse=mcse,
            max_draws=max_draws,
            max_seconds=max_seconds,
            warm=WARM,
            usual=USUAL,
            burn_in=burn_in,
            thin=thin,
            chains=chains,
            rng=rng,
            n_jobs=n_jobs,
            progress=progress,
            checkpoint=checkpoint,
            about=None if checkpoint is None else model._identity(chosen, model.components, folds),
        )
        components, comparison = model.components[0], None
        if len(model.components) > 1:
            comparison = compare(model, settings, chosen, folds)
            components = model.components[int(comparison["log_score"].to_numpy().argmax())]
        posterior = run(model._problem(components), settings, chosen)
        return MixtureResults(model, posterior, components, comparison)

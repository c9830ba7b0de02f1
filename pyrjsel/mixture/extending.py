"""More draws of mixture results, from where their chains ended."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, cast

import numpy as np

from pyrjsel.mixture.draws import MixturePosterior
from pyrjsel.mixture.sampling import KERNELS, SERIES, run, thinning
from pyrjsel.mixture.summary import USUAL
from pyrjsel.model_space import chain_visits
from pyrjsel.runtime import by_chain, known_ends

if TYPE_CHECKING:
    from pyrjsel.mixture.results import MixtureResults


class Extending:
    """The method of :class:`MixtureResults` that goes on with its chains."""

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
    ) -> MixtureResults:
        """Go on with the chains where they ended.

        Parameters
        ----------
        draws : int, optional
            Draws that each chain is to have beyond those that it has, burn-in and thinning as they were.
            After an interrupted run all chains get as many as the longest has at least. None is as many as
            `mcse` asks for, which may be no more at all.
        mcse : float, optional
            Go on until inclusion probabilities have Monte Carlo errors of at most this; None is what was
            asked for in the fit, or 0.01.
        max_draws, max_seconds : optional
            As for :meth:`MixtureClassifier.fit`; the former with the draws that there are.
        n_jobs, progress, checkpoint : optional
            As for :meth:`MixtureClassifier.fit`; the checkpoint is of the draws that are new.

        Returns
        -------
        MixtureResults
            New results, of all draws: to the last bit those of one run of as many with this `burn_in` (on the
            same machine and versions). Numbers of kernels are not compared again. After an interrupted run
            that was planned for more draws, kernels are of as few draws as it had kept.

        Raises
        ------
        NotAvailableError
            If the rows are not there, see :func:`pyrjsel.load`.
        ParameterError
            If a parameter is out of range.
        StoreError
            If the checkpoint is that of another run, or the file held a state of another model.

        Warns
        -----
        ConvergenceWarning
            As for :meth:`MixtureClassifier.fit`.

        Examples
        --------
        >>> import pyrjsel as rj
        >>> pima = rj.datasets.pima().data.query("split == 'train'")
        >>> model = rj.mixture_classifier("type ~ npreg + glu + bmi + age", pima)
        >>> longer = model.fit(draws=800, burn_in=100, chains=2, rng=1).extend(100)
        >>> once = model.fit(draws=900, burn_in=100, chains=2, rng=1)
        >>> longer.inclusion.equals(once.inclusion)
        True
        """
        results = cast("MixtureResults", self)
        model, posterior = results.model, results.posterior
        ends, have = known_ends(posterior.ends), posterior.index.shape[1]
        problem = model._problem(results.components)
        settings = posterior.settings.extended(
            ends,
            have=have,
            recorded=lambda: _recorded(posterior),
            draws=draws,
            mcse=mcse,
            max_draws=max_draws,
            max_seconds=max_seconds,
            usual=USUAL,
            n_jobs=n_jobs,
            progress=progress,
            checkpoint=checkpoint,
            about=lambda: model._identity(posterior.options, (results.components,)),
            every=posterior.every,
        )
        settings = settings.thinned(thinning(problem, settings) // posterior.every, KERNELS)
        longer = run(problem, settings, posterior.options)
        return type(results)(model, longer, results.components, results._comparison)


def _recorded(posterior: MixturePosterior) -> list[dict[str, np.ndarray]]:
    """Return what each chain had recorded."""
    held = by_chain({name: getattr(posterior, name) for name in (*SERIES, *KERNELS)})
    for chain, recorded in enumerate(held):
        words, index = chain_visits(posterior.index[chain], posterior.packed.words)
        recorded.update(words=words, index=index)
    return held

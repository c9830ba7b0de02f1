"""Simulated responses and posterior predictive checks, as methods of results."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from pyrjsel._typing import FloatArray, RNGLike, SeedLike
from pyrjsel._validate import check_int, check_rng
from pyrjsel.families import Statistic
from pyrjsel.report import plot_check
from pyrjsel.selection.checking import (
    COLUMNS,
    Compared,
    chosen_statistics,
    compare,
    named_statistic,
    simulated_responses,
)
from pyrjsel.selection.predict import rows_of_fit

if TYPE_CHECKING:
    from pyrjsel.selection.results import SelectionResults

# Simulated responses at most, of each row.
MOST_DRAWS = 10**7


class Predictive:
    """The methods of :class:`SelectionResults` that simulate responses."""

    def posterior_predictive(
        self,
        new: Any = None,
        which: str = "bma",
        *,
        draws: int = 1000,
        rng: RNGLike | SeedLike | None = None,
        weights: ArrayLike | None = None,
        offset: ArrayLike | None = None,
    ) -> pd.DataFrame:
        """Simulate responses from their posterior predictive distribution.

        Parameters
        ----------
        new : DataFrame, optional
            Rows with the variables of the formula; None is the rows of the fit.
        which : {"bma", "hpm", "mpm"}
            Average over all models, or the highest-probability or median probability model alone.
        draws : int, default 1000
            Responses of each row. Those of one draw share a model, its coefficients and sigma^2.
        rng : None, int, SeedSequence or Generator
            Source of randomness; None gives the same responses on every call.
        weights : array_like, optional
            Weights of the new rows (numbers of trials, or of rows behind a mean count; error variances
            of linear models are sigma^2 / w), where those of the fit were an array. Rows of a fit without
            weights have weight one.
        offset : array_like, optional
            Offset of the new rows, where that of the fit was an array.

        Returns
        -------
        DataFrame, shape (rows, draws)
            In the order and with the index of `new`: numbers, 0 and 1, proportions of the trials, counts,
            or mean counts. NaN for rows with missing inputs and rows of weight zero.

        Raises
        ------
        ParameterError
            If `which`, `draws` or `rng` is not valid.
        UnknownNameError
            If a variable is missing from `new`.
        DataError
            If a factor level was not seen in the fit, an input is infinite, weights or offset are missing,
            or a number of trials is not whole.
        NotAvailableError
            If `new` is None and the rows of the fit came in chunks, of which only sums were kept.
        """
        owner = "posterior_predictive"
        results = cast("SelectionResults", self)
        draws = check_int(draws, "draws", owner, low=1, high=MOST_DRAWS)
        stream = _generator(results, rng, b"predictive", owner)
        given = {"offset": offset, "weights": weights}
        prediction, extras = results._prediction(new, which, given, owner, 3)
        return simulated_responses(prediction, extras["weights"], draws, stream)

    def check(
        self,
        statistics: Mapping[str, Callable[..., float]] | None = None,
        *,
        draws: int = 1000,
        rng: RNGLike | SeedLike | None = None,
    ) -> pd.DataFrame:
        """Compare the data with responses that the posterior simulates for the same rows.

        Parameters
        ----------
        statistics : mapping of str to callable, optional
            Functions of the responses, shape (n,), or of the responses and their expectations, both
            (n,); a function with two parameters that have no default is one of both. None is what the
            family has. Logistic: ``mean`` (share of successes), ``brier`` (mean squared error of the
            probabilities), ``calibration`` (chi-square of successes in ten groups of rows by their
            probability [1]_) and, where weights are trials, ``pearson`` (chi-square over rows, large
            under overdispersion). Poisson: ``mean``, ``dispersion_index`` (variance over mean),
            ``zeros`` (share of rows) and ``max``. Linear: ``mean``, ``sd``, ``min``, ``max`` and
            ``skewness``; the first two and the last take rows with their weights.
        draws : int, default 1000
            Simulated responses, from the average over all models.
        rng : None, int, SeedSequence or Generator
            Source of randomness; None gives the same table on every call.

        Returns
        -------
        DataFrame
            By statistic: ``observed``, of the data (of a function of expectations: its posterior mean);
            ``mean``, ``sd``, ``ci_lower`` and ``ci_upper`` (95 %) of simulated responses; ``p_value``,
            twice the smaller of the probabilities that a simulated response has a larger or a smaller
            statistic than the data under the same coefficients [2]_, ties counted half.

        Raises
        ------
        ParameterError
            If a parameter is not valid, or a statistic is not a finite number.
        DataError
            If a number of trials is not whole.
        NotAvailableError
            If the rows of the fit came in chunks, of which only sums were kept.

        Notes
        -----
        The data are used twice, for the posterior and for the check. So these p-values are conservative:
        if the model is right they are closer to 1 than uniform ones [3]_, and one that is not small does
        not say that the fit is good. A small one says that the model does not reproduce what the
        statistic measures. Rows of weight zero are left out.

        References
        ----------
        .. [1] Hosmer, D. W. and Lemeshow, S. (1980). Goodness of fit tests for the multiple logistic
           regression model. Communications in Statistics - Theory and Methods 9, 1043-1069.
        .. [2] Gelman, A., Meng, X.-L. and Stern, H. (1996). Posterior predictive assessment of model
           fitness via realized discrepancies. Statistica Sinica 6, 733-807.
        .. [3] Bayarri, M. J. and Berger, J. O. (2000). P values for composite null models. Journal of the
           American Statistical Association 95, 1127-1142.

        Examples
        --------
        >>> import pyrjsel as rj
        >>> births = rj.datasets.birthwt().data
        >>> results = rj.logit("low ~ lwt + smoke + ht", births).fit(rng=1)
        >>> (results.check()["p_value"] > 0.05).to_dict()
        {'mean': True, 'brier': True, 'calibration': True}
        """
        results = cast("SelectionResults", self)
        known = results.model.regression.family.statistics(_weights(results, "check"))
        found = _compare(results, chosen_statistics(statistics, known, "check"), draws, rng, "check")
        rows = [compared.row() for compared in found.values()]
        return pd.DataFrame(rows, index=pd.Index(list(found), name="statistic"), columns=COLUMNS)

    def plot_check(
        self,
        statistic: str | Callable[..., float] = "mean",
        ax: Any = None,
        *,
        draws: int = 1000,
        rng: RNGLike | SeedLike | None = None,
    ) -> Any:
        """Plot a statistic of simulated responses, with that of the data.

        Parameters
        ----------
        statistic : str or callable
            The name of one that :meth:`check` has for the family, or a function as there.
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.
        draws : int, default 1000
            Simulated responses, from the average over all models.
        rng : None, int, SeedSequence or Generator
            Source of randomness; None gives the same picture on every call.

        Returns
        -------
        matplotlib Axes
            A histogram of simulated responses; the data are a line, or a second histogram where the
            statistic is a function of the expectations and so has a posterior distribution too.

        Raises
        ------
        NotAvailableError
            If matplotlib is not installed, or as for :meth:`check`.
        UnknownNameError
            If the family has no statistic of that name.
        ParameterError, DataError
            As for :meth:`check`, or if `ax` is not valid.
        """
        owner = "plot_check"
        results = cast("SelectionResults", self)
        known = results.model.regression.family.statistics(_weights(results, owner))
        name, chosen = named_statistic(statistic, known, owner)
        found = _compare(results, {name: chosen}, draws, rng, owner)[name]
        return plot_check(name, found.replicated, found.observed, found.row()[-1], ax=ax)


def _weights(results: SelectionResults, owner: str) -> FloatArray:
    """Return the weights of the rows of the fit."""
    rows = rows_of_fit(results.model, owner)
    return rows.extras.get("weights", np.ones(rows.n))


def _generator(
    results: SelectionResults, rng: RNGLike | SeedLike | None, label: bytes, owner: str
) -> np.random.Generator:
    """Return the generator of a call: a stream of the fit where none is given."""
    return results._stream(label) if rng is None else check_rng(rng, owner)


def _compare(
    results: SelectionResults,
    statistics: Mapping[str, Statistic],
    draws: int,
    rng: RNGLike | SeedLike | None,
    owner: str,
) -> dict[str, Compared]:
    draws = check_int(draws, "draws", owner, low=2, high=MOST_DRAWS)
    stream = _generator(results, rng, b"check", owner)
    wanted = dict.fromkeys(("offset", "weights"))
    prediction, extras = results._prediction(None, "bma", wanted, owner, 3)
    y = results.model.data.y
    return compare(prediction, y, extras["weights"], statistics, draws, stream, owner)

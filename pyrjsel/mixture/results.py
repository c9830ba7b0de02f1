"""Results of a mixture classifier: tables, class probabilities, densities and scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from pyrjsel._errors import DataError, NotAvailableError
from pyrjsel._once import kept_property
from pyrjsel._typing import FloatArray, IntArray
from pyrjsel._validate import bad_value, check_int, unknown_name
from pyrjsel.design import AbsentRows
from pyrjsel.design.frame import Level
from pyrjsel.mixture.describe import describe, tables
from pyrjsel.mixture.draws import MixturePosterior
from pyrjsel.mixture.extending import Extending
from pyrjsel.mixture.looks import Looks
from pyrjsel.mixture.predict import class_densities, class_probabilities, selected
from pyrjsel.mixture.saving import Saving
from pyrjsel.report import (
    Report,
    calibration_table,
    inclusion_of,
    kept_table,
    log_chosen,
    model_table,
    own_copy,
    score_table,
    to_arviz,
    without_errors,
)
from pyrjsel.space import ModelDraws

if TYPE_CHECKING:
    from pyrjsel.mixture.model import MixtureClassifier


@dataclass(frozen=True, repr=False)
class SubsetDraws(ModelDraws):
    """Draws of subsets of inputs, of all chains after burn-in and thinning.

    Attributes
    ----------
    model, packed, model_cost
        As in :class:`pyrjsel.space.ModelDraws`.
    log_posterior : ndarray (chains, draws)
        Unnormalised log density of labels, inputs, kernels, weights and subset, the inputs that are not
        selected among them by the background.
    log_likelihood : ndarray (chains, draws)
        Log density of labels and inputs given kernels, weights and subset.
    occupied : ndarray of int32 (chains, draws)
        Kernels that have a row.
    """

    log_likelihood: FloatArray
    occupied: np.ndarray


class MixtureResults(Looks, Extending, Saving):
    """The posterior of a mixture classifier; made by ``fit``.

    Nothing here depends on how kernels are numbered, which chains may change at any time.

    Parameters
    ----------
    model : MixtureClassifier
        What was fitted.
    posterior : MixturePosterior
        Draws, their errors, and the parameters of ``fit``.
    components : int
        Number of kernels.
    comparison : DataFrame or None
        Scores by number of kernels, where several were compared.

    Attributes
    ----------
    components : int
        Number of kernels; of several the one of the largest log score.

    Examples
    --------
    >>> import pyrjsel as rj
    >>> pima = rj.datasets.pima().data
    >>> train, test = (pima[pima["split"] == part] for part in ("train", "test"))
    >>> model = rj.mixture_classifier("type ~ glu + bmi + age", train, components=2)
    >>> results = model.fit(rng=1)
    >>> results.models["terms"].iloc[0]
    ('glu', 'bmi', 'age')
    >>> bool(results.score(test).loc["error_rate", "value"] < 0.3)
    True
    """

    def __init__(
        self,
        model: MixtureClassifier,
        posterior: MixturePosterior,
        components: int,
        comparison: pd.DataFrame | None = None,
    ) -> None:
        self.model = model
        self.posterior = posterior
        self.components = components
        self._comparison = comparison
        self._description: tuple[list[tuple[str, str]], list[str]] | None = None

    # ------------------------------------------------------------------ tables

    @property
    def comparison(self) -> pd.DataFrame:
        """Held-out scores by number of kernels, over the rows with labels.

        Columns ``log_score`` (mean over rows of the log probability of their class; the largest is fitted)
        and its standard error ``se``; ``difference`` from the largest and ``difference_se``, paired by row;
        ``error_rate``.

        Raises
        ------
        NotAvailableError
            If there was one number of kernels only.
        """
        if self._comparison is None:
            raise NotAvailableError(
                "One number of kernels was fitted: components=[2, 3, 5] compares several."
            )
        return own_copy(self._comparison)

    @property
    def inclusion(self) -> pd.DataFrame:
        """Inclusion by input.

        Columns ``prior`` (under the constraints), ``posterior`` (share of the draws), ``mcse``, ``ess``,
        ``r_hat``, ``bayes_factor`` (posterior over prior odds of inclusion; NaN where the relative error of
        the latter is above 30 %) and ``cost``. Those from `mcse` on but `cost` are NaN for an input that
        never moved in any chain.
        """
        return without_errors(self._inclusion)

    @property
    @kept_table
    def _inclusion(self) -> pd.DataFrame:
        """The same with the errors of prior inclusion probabilities and Bayes factors."""
        model, posterior = self.model, self.posterior
        excluded = posterior.probability @ (1.0 - posterior.models)
        return inclusion_of(model.space, model.prior_inclusion, posterior.inclusion, excluded, model._priced)

    @property
    @kept_table
    def models(self) -> pd.DataFrame:
        """The best subsets by rank, at most 1,000.

        Columns ``terms``, ``size``, ``cost``, ``posterior`` (share of the draws, never renormalised over the
        rows of the table), ``mcse``, ``odds`` (of the best against this) and ``odds_mcse``.
        """
        return self._model_rows(self.posterior.model_stats.odds.size)

    @property
    def nobs(self) -> int:
        """Number of rows used, those without a label included."""
        return self.model.nobs

    def _model_rows(self, rows: int) -> pd.DataFrame:
        posterior, space, stats = self.posterior, self.model.space, self.posterior.model_stats
        gamma = posterior.packed[:rows]
        return model_table(
            [space.terms_of(row) for row in gamma],
            gamma.sum(axis=1, dtype=np.int64),
            np.asarray(space.cost(gamma)) if self.model._priced else np.full(len(gamma), np.nan),
            posterior.probability[:rows],
            stats.mcse[:rows],
            stats.odds[:rows],
            stats.odds_mcse[:rows],
        )

    @property
    def covered(self) -> float:
        """Posterior mass that the rows of `models` hold."""
        return float(min(self.posterior.probability[: self.posterior.model_stats.odds.size].sum(), 1.0))

    @property
    def diagnostics(self) -> pd.DataFrame:
        """How the sampler did, by chain and over all.

        Acceptance rates by move (NaN where a move was never proposed) and of exchanges between replica k and
        the next (``acceptance_replicas_k``), ESS and R-hat of size and log posterior, draws, seconds
        by the clock and CPU seconds.
        """
        return own_copy(self.posterior.diagnostics)

    @kept_property
    def draws(self) -> SubsetDraws:
        """The draws of all chains: subsets, log posterior, log likelihood, kernels with rows."""
        posterior = self.posterior
        return SubsetDraws(
            posterior.index,
            posterior.packed,
            np.asarray(self.model.space.cost(posterior.models), dtype=float),
            posterior.log_posterior,
            posterior.log_likelihood,
            posterior.occupied,
        )

    # ------------------------------------------------------------------ new rows

    def _rows(self, new: Any, owner: str) -> tuple[FloatArray, pd.Index]:
        """Return inputs in range units, and the index, of new rows or of those of the fit."""
        if new is None:
            return self.model.z, self.model.data.index
        X, index = self.model.design.transform(new, owner=owner)
        return self.model.scaling.units(X), index

    def predict(self, new: Any = None) -> pd.DataFrame:
        """Return class probabilities.

        Parameters
        ----------
        new : DataFrame, optional
            Rows with the variables of the formula, NaN where missing; None is the rows of the fit.

        Returns
        -------
        DataFrame, shape (rows, classes)
            With the index of `new`.

        Raises
        ------
        UnknownNameError
            If a variable is not there.
        DataError
            If a variable holds another kind of values than in the fit, or an infinite one.

        Notes
        -----
        Averages over draws of ``P_k sum_d w_kd prod_i N(x_i; m_di, v_di)``, normalised over classes within
        each. The product is over the inputs that are selected and known: kernels are diagonal, and leaving a
        missing input out is integrating over it. A row without any gets the class probabilities P. What new
        rows hold is not learnt from: draws are not weighed by the density of the row, and where a selected
        input is missing, the inputs that are not selected say nothing about it, although under
        ``background="gaussian"`` they do in the fit. Rows without a label that are among those of the fit
        inform kernels and subsets.
        """
        z, index = self._rows(new, "predict")
        return pd.DataFrame(
            class_probabilities(self.posterior, z), index=index.copy(), columns=pd.Index(self.model.classes)
        )

    def classify(self, new: Any = None) -> pd.Series:
        """Return the most probable class of each row.

        Parameters
        ----------
        new : DataFrame, optional
            As for :meth:`predict`.

        Returns
        -------
        Series
            In the type of the response: categories come back as categories. Of equally probable classes the
            first.

        Raises
        ------
        UnknownNameError, DataError
            As for :meth:`predict`.
        """
        probability = self.predict(new)
        return self.model.design.decode(probability.to_numpy().argmax(axis=1), probability.index)

    def density(self, new: Any = None, inputs: Sequence[str] | str | None = None) -> pd.DataFrame:
        """Return the density of some inputs within each class.

        Parameters
        ----------
        new : DataFrame, optional
            As for :meth:`predict`; it needs no other inputs than these.
        inputs : str or sequence of str, optional
            Names of inputs; None is the best subset, that of the first row of `models`.

        Returns
        -------
        DataFrame, shape (rows, classes)
            Per unit of each input, averaged over the draws in which all of them are selected. An input that
            is missing in a row is integrated out.

        Raises
        ------
        UnknownNameError
            If an input or a variable is not there.
        NotAvailableError
            If no draw whose kernels are kept has all of them selected, or the best subset has no inputs.
        DataError
            As for :meth:`predict`.
        """
        owner, model = "density", self.model
        if inputs is None:
            inputs = self.models["terms"].iloc[0]
            if not inputs:
                raise NotAvailableError(f"{owner} needs 'inputs': the best subset has none.")
        places = self._places(inputs, owner)
        if new is None:
            X, index = model.data.X[:, places], model.data.index
        else:
            X, index = model.design.restrict(places).transform(new, owner=owner)
        scaling = model.scaling.restrict(places)
        density = class_densities(self.posterior, scaling.units(X), places)
        unit = np.exp(-np.where(np.isnan(X), 0.0, np.log(scaling.spread)).sum(axis=1))
        return pd.DataFrame(density * unit[:, None], index=index.copy(), columns=pd.Index(model.classes))

    def _places(self, inputs: Sequence[str] | str, owner: str) -> list[int]:
        """Return the positions of inputs that some kept draw has selected together."""
        names = [inputs] if isinstance(inputs, str) else list(inputs)
        if len(set(names)) < len(names) or not names:
            raise bad_value("inputs", owner, "different names of inputs", inputs)
        for name in names:
            if name not in self.model.term_names:
                raise unknown_name(name, "the input", owner, self.model.term_names)
        places = [self.model.term_names.index(name) for name in names]
        mean = self.posterior.mean
        if not selected(mean.reshape(-1, *mean.shape[2:]), places).any():
            raise NotAvailableError(
                f"{owner} needs draws that have {' and '.join(names)} selected. There are none."
            )
        return places

    # ------------------------------------------------------------------ scores

    def _true(self, new: Any, endog: ArrayLike | None, owner: str) -> tuple[FloatArray, IntArray]:
        """Return predicted probabilities (n, K) of rows, and the positions of their true classes."""
        design = self.model.design.labels
        if new is None and endog is None:
            labelled = self.model.y >= 0
            probability = class_probabilities(self.posterior, self.model.z[labelled])
            true = self.model.y[labelled]
        else:
            probability = class_probabilities(self.posterior, self._rows(new, owner)[0])
            if endog is not None:
                true = design.encode_classes(endog, owner=owner)
            else:
                true = design.encode_response(new, owner=owner)
        if len(true) != len(probability):
            raise DataError(f"The rows of {owner} are {len(probability)}, their true classes {len(true)}.")
        if len(true) == 0:
            raise DataError(f"{owner} needs one row with a label at least.")
        return probability, true

    def score(self, new: Any = None, endog: ArrayLike | None = None) -> pd.DataFrame:
        """Return error rate, log score and Brier score of the class probabilities.

        Parameters
        ----------
        new : DataFrame, optional
            Rows with the variables of the formula, the response among them. None is the rows of the fit that
            have labels, which flatters.
        endog : array_like, optional
            True classes of the rows, as predictions name them, where `new` does not have them.

        Returns
        -------
        DataFrame
            Rows ``error_rate``; ``log_score``, the mean log probability of the true class; ``brier``, half
            the mean squared distance of the probabilities from 1 for the true class and 0 for the others.
            Columns ``value``, ``se``, the standard error over rows, and ``cases``.

        Raises
        ------
        UnknownNameError, DataError
            As for :meth:`predict`; if the response is not there, missing, or of a class that the fit does
            not have.
        """
        probability, true = self._true(new, endog, "score")
        rows = np.arange(len(true))
        distance = probability.copy()
        distance[rows, true] -= 1.0
        return score_table(
            {
                "error_rate": (probability.argmax(axis=1) != true).astype(np.float64),
                "log_score": log_chosen(probability, true),
                "brier": 0.5 * (distance**2).sum(axis=1),
            }
        )

    def calibration(
        self, new: Any = None, endog: ArrayLike | None = None, *, of: Level | None = None, bins: int = 10
    ) -> pd.DataFrame:
        """Return how often a class was right beside how probable it was said to be.

        Parameters
        ----------
        new, endog : optional
            As for :meth:`score`.
        of : label, optional
            The class. None is the second of two, and of more the one that is most probable in each row.
        bins : int, default 10
            Probabilities from 0 to 1 are cut into so many intervals.

        Returns
        -------
        DataFrame
            By ``bin`` that has rows; columns ``lower``, ``upper``, ``predicted`` (mean probability),
            ``observed`` (share of the rows that are of the class), ``se`` (of `observed`, if the
            probabilities are right) and ``cases``.

        Raises
        ------
        ParameterError
            If `bins` is not valid.
        UnknownNameError, DataError
            As for :meth:`score`, or if there is no such class.
        """
        owner, classes = "calibration", self.model.classes
        bins = check_int(bins, "bins", owner, low=1)
        if of is not None and of not in classes:
            raise unknown_name(of, "the class", owner, classes)
        probability, true = self._true(new, endog, owner)
        if of is None and len(classes) > 2:
            chosen = probability.argmax(axis=1)
        else:
            chosen = np.full(len(true), 1 if of is None else classes.index(of))
        said = probability[np.arange(len(true)), chosen]
        return calibration_table(said, (true == chosen).astype(np.float64), bins)

    # ------------------------------------------------------------------ what people look at

    def _described(self) -> tuple[list[tuple[str, str]], list[str]]:
        """Return what a summary says beside its tables; without rows, what it said when they were there."""
        return describe(self) if self._description is None else self._description

    def summary(self, top: int = 10) -> Report:
        """Return the summary: what was fitted, how, inclusion, best subsets, warnings that matter.

        Parameters
        ----------
        top : int, default 10
            Subsets to list.

        Returns
        -------
        statsmodels Summary
            Prints as text; ``as_html``, ``as_latex``, ``as_csv``.

        Raises
        ------
        ParameterError
            If `top` is not an int of at least 1.
        """
        top = check_int(top, "top", "summary", low=1)
        rows = self._model_rows(min(top, self.posterior.model_stats.odds.size))
        info, notes = self._described()
        return Report(self.model.title, info, tables(self, rows), notes)

    def to_arviz(self) -> Any:
        """Return draws that do not depend on the numbers of kernels as ArviZ's container.

        Returns
        -------
        InferenceData or DataTree
            ``posterior`` with ``included`` (0 or 1, by term), ``size``, ``occupied`` (kernels with rows) and
            ``class_probability`` (by class); ``sample_stats`` with ``lp`` and ``log_lik``;
            ``observed_data`` with the positions of the labels among the classes, -1 where missing, if the
            rows are there. Of long runs these are the draws whose class probabilities are kept, one of
            ``posterior.every``.

        Raises
        ------
        NotAvailableError
            If ArviZ is not installed.
        """
        model, posterior, draws = self.model, self.posterior, self.draws
        of = slice(None, None, posterior.every)
        index = draws.model[:, of]
        groups: dict[str, dict[str, tuple[list[str], Any]]] = {
            "posterior": {
                "included": (["term"], posterior.models.astype(np.int8)[index]),
                "size": ([], draws.size[:, of]),
                "occupied": ([], draws.occupied[:, of]),
                "class_probability": (["class"], posterior.prior[:, : index.shape[1]]),
            },
            "sample_stats": {
                "lp": ([], draws.log_posterior[:, of]),
                "log_lik": ([], draws.log_likelihood[:, of]),
            },
        }
        coords: dict[str, Sequence[Any]] = {"term": model.term_names, "class": model.classes}
        if not isinstance(model.data, AbsentRows):
            groups["observed_data"] = {model.design.response: (["row"], np.asarray(model.y))}
            coords["row"] = range(model.nobs)
        return to_arviz(groups, coords)

    def __repr__(self) -> str:
        chains, draws = self.posterior.index.shape
        best = " + ".join(self.model.space.terms_of(self.posterior.packed[0])) or "(no inputs)"
        return (
            f"<MixtureResults: {chains} x {draws} draws, {self.components} kernels, best subset {best}, "
            f"posterior {self.posterior.probability[0]:.3f}>"
        )

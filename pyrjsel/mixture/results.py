"""Results of a mixture classifier: class probabilities, densities, scores, plots, more draws."""

import os
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from pyrjsel._errors import DataError, NotAvailableError
from pyrjsel._typing import ByteArray, FloatArray, IntArray
from pyrjsel._validate import check_bool, check_file, check_int, unknown_name
from pyrjsel.design import AbsentRows
from pyrjsel.design.frame import Level
from pyrjsel.mixture.plots import plot_kernels
from pyrjsel.mixture.posterior import MixturePosterior
from pyrjsel.mixture.prediction import class_densities, class_probabilities, places_of
from pyrjsel.mixture.protocols import MixtureModel
from pyrjsel.mixture.sampler import KERNELS, SERIES, run, thinning
from pyrjsel.mixture.saving import KIND, SCHEMA, content_of
from pyrjsel.mixture.stopping import USUAL
from pyrjsel.mixture.summary import Description, describe, tables
from pyrjsel.mixture.tables import MixtureTables
from pyrjsel.model_space import chain_visits
from pyrjsel.report import (
    ModelLooks,
    Report,
    calibration_table,
    log_chosen,
    plot_calibration,
    plot_trace,
    results_html,
    score_table,
    to_arviz,
)
from pyrjsel.runtime import by_chain, known_ends
from pyrjsel.storage import Document, write


class MixtureResults(MixtureTables, ModelLooks):
    """The posterior of a mixture classifier; made by ``fit``.

    Nothing here depends on how kernels are numbered, which chains may change at any time.

    Parameters
    ----------
    model : MixtureModel
        What was fitted.
    posterior : MixturePosterior
        Draws, their errors, and the parameters of ``fit``.
    components : int
        Number of kernels.
    comparison : DataFrame or None
        Scores by number of kernels, where several were compared.
    description : tuple, optional
        What a summary says beside its tables, where the rows that tell it are not there.

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
        model: MixtureModel,
        posterior: MixturePosterior,
        components: int,
        comparison: pd.DataFrame | None = None,
        description: Description | None = None,
    ) -> None:
        super().__init__(model, posterior, components, comparison)
        self._description = description

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
        places = places_of(model, self.posterior, inputs, owner)
        if new is None:
            X, index = model.data.X[:, places], model.data.index
        else:
            X, index = model.design.restrict(places).transform(new, owner=owner)
        scaling = model.scaling.restrict(places)
        density = class_densities(self.posterior, scaling.units(X), places)
        unit = np.exp(-np.where(np.isnan(X), 0.0, np.log(scaling.spread)).sum(axis=1))
        return pd.DataFrame(density * unit[:, None], index=index.copy(), columns=pd.Index(model.classes))

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

    def _described(self) -> Description:
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

    def save(self, path: str | os.PathLike[str], data: bool = False) -> None:
        """Save the results in a file, which :func:`pyrjsel.load` reads.

        Parameters
        ----------
        path : str or path-like
            The file; one that is there is replaced once the new one is whole.
        data : bool, default False
            Whether the rows of the fit are in it: inputs, response, labels of rows. Without them all tables,
            draws and predictions of new rows can be had after loading, and what needs the rows themselves
            takes ``rj.load(path, data=...)``.

        Raises
        ------
        NotAvailableError
            If the rows are asked for and are not there.
        ParameterError
            If `path` is none, or that of a folder.
        StoreError
            If a name or label cannot be written, or there are too many of them.
        OSError
            If the file cannot be written.

        Notes
        -----
        The format is described in ``pyrjsel.storage``: a zip archive of a JSON header and arrays, which holds
        no code. In every file are the ranges of the inputs and, where the last draw of each chain is kept for
        :meth:`extend`, the kernel of each row and what was drawn for missing inputs and labels.
        """
        with_rows, file = check_bool(data, "data", "save"), check_file(path, "path", "save")
        write(file, Document(KIND, SCHEMA, content_of(self, self._described(), with_rows)))

    # ------------------------------------------------------------------ more draws

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
        model, posterior = self.model, self.posterior
        ends, have = known_ends(posterior.ends), posterior.index.shape[1]
        problem = model._problem(self.components)
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
            about=lambda: model._identity(posterior.options, (self.components,)),
            every=posterior.every,
        )
        settings = settings.thinned(thinning(problem, settings) // posterior.every, KERNELS)
        longer = run(problem, settings, posterior.options)
        return type(self)(model, longer, self.components, self._comparison)

    # ------------------------------------------------------------------ plots

    def _best_models(self, top: int) -> tuple[Sequence[str], ByteArray, FloatArray]:
        posterior = self.posterior
        return self.model.term_names, posterior.packed[:top], posterior.probability[:top]

    def plot_trace(self, ax: Any = None) -> Any:
        """Plot the draws of size, cost, log posterior and the number of kernels that have rows.

        Parameters
        ----------
        ax : array_like of matplotlib Axes, shape (4, 2), optional
            Where to draw, shape (3, 2) for a model without costs; a new figure by default.

        Returns
        -------
        ndarray of matplotlib Axes
            Of the shape of `ax`: on the left the traces, a line a chain, on the right the shares of values.
            The panel of costs is left out where there are none.

        Raises
        ------
        NotAvailableError
            If matplotlib is not installed.
        ParameterError
            If `ax` is not valid.
        """
        draws = self.draws
        panels: dict[str, Any] = {"Size (inputs)": draws.size}
        if self.model._priced:
            panels["Cost"] = draws.cost
        panels |= {"Log posterior": draws.log_posterior, "Kernels with rows": draws.occupied}
        return plot_trace(panels, continuous=["Log posterior"], ax=ax)

    def plot_kernels(self, inputs: Sequence[str] | None = None, ax: Any = None, *, draws: int = 30) -> Any:
        """Plot rows and kernels in the plane of two inputs.

        Parameters
        ----------
        inputs : sequence of two str, optional
            Names of inputs; None is the two that are included most often.
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.
        draws : int, default 30
            Draws whose kernels are shown, evenly spaced among those that have both inputs selected.

        Returns
        -------
        matplotlib Axes
            The axes: rows as points, coloured by class (grey without a label), and each kernel of each draw
            as an ellipse of one standard deviation, the stronger the more rows it is for, in the colour of
            the class that it is most probably for. How kernels are numbered does not matter.

        Raises
        ------
        NotAvailableError
            If matplotlib is not installed, or no draw has both inputs selected.
        UnknownNameError
            If there is no such input.
        ParameterError
            If `inputs` are not two, there is one input only, or `draws` or `ax` is not valid.
        """
        return plot_kernels(self, inputs, ax, draws)

    def plot_calibration(
        self,
        new: Any = None,
        endog: ArrayLike | None = None,
        *,
        of: Level | None = None,
        bins: int = 10,
        ax: Any = None,
    ) -> Any:
        """Plot how often a class was right against how probable it was said to be.

        Parameters
        ----------
        new, endog, of, bins : optional
            As for :meth:`MixtureResults.calibration`.
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        matplotlib Axes
            The axes: a point for each interval of probabilities, its area that of its rows, with two standard
            errors to either side of the diagonal, on which points of right probabilities lie.

        Raises
        ------
        NotAvailableError
            If matplotlib is not installed.
        ParameterError, UnknownNameError, DataError
            As for :meth:`MixtureResults.calibration`, or if `ax` is not valid.
        """
        table = self.calibration(new, endog, of=of, bins=bins)
        classes = self.model.classes
        name = classes[1] if of is None and len(classes) == 2 else of
        what = "the most probable class" if name is None else str(name)
        return plot_calibration(table, what, ax=ax)

    _repr_html_ = results_html

    def __repr__(self) -> str:
        chains, draws = self.posterior.index.shape
        best = " + ".join(self.model.space.terms_of(self.posterior.packed[0])) or "(no inputs)"
        return (
            f"<MixtureResults: {chains} x {draws} draws, {self.components} kernels, best subset {best}, "
            f"posterior {self.posterior.probability[0]:.3f}>"
        )


def _recorded(posterior: MixturePosterior) -> list[dict[str, np.ndarray]]:
    """Return what each chain had recorded."""
    held = by_chain({name: getattr(posterior, name) for name in (*SERIES, *KERNELS)})
    for chain, recorded in enumerate(held):
        words, index = chain_visits(posterior.index[chain], posterior.packed.words)
        recorded.update(words=words, index=index)
    return held

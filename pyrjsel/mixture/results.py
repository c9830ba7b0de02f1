"""Results of a mixture classifier: class probabilities, densities, scores, plots, more draws."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from pyrjsel._called import called
from pyrjsel._errors import NotAvailableError
from pyrjsel._once import kept_property
from pyrjsel._typing import FloatArray, IntArray
from pyrjsel._validate import check_int, unknown_name
from pyrjsel.design import AbsentRows
from pyrjsel.design.frame import Level
from pyrjsel.mixture.options import USUAL
from pyrjsel.mixture.plots import plot_components
from pyrjsel.mixture.posterior import MixturePosterior, SubsetDraws
from pyrjsel.mixture.prediction import class_densities, class_probabilities, ever_selected, places_of
from pyrjsel.mixture.protocols import MixtureModel
from pyrjsel.mixture.sampler import KERNELS, SERIES, run, thinning
from pyrjsel.mixture.saving import KIND, content_of
from pyrjsel.mixture.summary import describe
from pyrjsel.model_space import PriorInclusion, chain_visits
from pyrjsel.report import (
    IndicatorStats,
    Plot,
    calibration_table,
    class_scores,
    own_copy,
    plot_calibration,
    plot_trace,
)
from pyrjsel.results import Description, ModelSpaceResults, RecordedRun, true_classes
from pyrjsel.runtime import FitSettings, by_chain
from pyrjsel.storage import Plain

# Text for the placeholders of inherited docstrings.
TEXTS = {
    "top": "Subsets to list.",
    "rows in files": """\
Whether to save the rows of the fit: inputs, response, labels of rows; None is False. Without them all tables,
draws and predictions of new rows can be had after loading, and what needs the rows themselves
takes ``rj.load(path, data=...)``.""",
    "in every file": """\
In every file are the ranges of the inputs and, where the last draw of each chain is kept for
:meth:`extend`, the kernel of each row and what was drawn for missing inputs and labels.""",
    "accuracy": """\
Go on until inclusion probabilities have Monte Carlo errors of at most this; None is what was
asked for in the fit, or 0.01.""",
    "not in one run": """\
Numbers of components are not compared again. After an interrupted run that was planned for more
draws, kernels are of as few draws as it had kept.""",
    "without chains": "",
    "variables": """\
``posterior`` with ``included`` (0 or 1, by term), ``size``, ``occupied`` (components in use) and
``class_probability`` (by class); ``sample_stats`` with ``lp`` and ``log_lik``;
``observed_data`` with the positions of the labels among the classes, -1 where missing, if the
rows are there. Of long runs these are the draws whose class probabilities are kept, one of
``posterior.every``.""",
    "inclusion": """\
Terms are inputs. Columns from `mcse` on but `cost` are NaN for an input that never moved in any chain;
`posterior` is the share of the draws.""",
    "models": "At most 1,000. A model is a subset of the inputs, and `posterior` the share of the draws.",
}


class MixtureResults(ModelSpaceResults[MixtureModel]):
    """Posterior of a mixture classifier, as returned by ``fit``.

    No result depends on the labels of the components, which chains may permute.

    Parameters
    ----------
    model : MixtureModel
        The fitted model.
    posterior : MixturePosterior
        Draws, their errors, and the parameters of ``fit``.
    components : int
        Number of components.
    comparison : DataFrame or None
        Scores by number of components, if several were compared.
    description : Description, optional
        Text of the summary that depends on the rows of the fit, if loaded without them.

    Attributes
    ----------
    sampler : str
        The sampler, ``"rjmcmc"``.
    components : int
        Number of components; of several, the one with the largest log score.

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

    Extended chains have the draws of one longer run.

    >>> longer = model.fit(draws=3000, burn_in=300, chains=2, rng=1).extend(200)
    >>> once = model.fit(draws=3200, burn_in=300, chains=2, rng=1)
    >>> longer.inclusion.equals(once.inclusion)
    True
    """

    _texts = TEXTS
    _file = KIND
    _usual = USUAL
    sampler = "rjmcmc"
    posterior: MixturePosterior

    def __init__(
        self,
        model: MixtureModel,
        posterior: MixturePosterior,
        components: int,
        comparison: pd.DataFrame | None = None,
        description: Description | None = None,
    ) -> None:
        super().__init__(model, description=description)
        self.posterior = posterior
        self.components = components
        self._comparison = comparison

    # ------------------------------------------------------------------ what results over models have

    def _plots(self) -> list[Plot]:
        text = "Terms of the best models; the width of a column is the posterior probability of its model."
        components = "Rows and components in the plane of the two most probable inputs."
        calibration = "Frequencies of classes by their predicted probabilities."
        return [
            Plot("Inclusion", "Prior and posterior inclusion probabilities of inputs.", self.plot_inclusion),
            Plot("Models", text, self.plot_models),
            Plot(
                "Components",
                components,
                self.plot_components,
            ),
            Plot(
                "Calibration",
                calibration,
                self.plot_calibration,
            ),
            Plot("Trace", "Traces of the chains, and histograms.", self.plot_trace),
        ]

    def _describe(self) -> Description:
        return describe(self.model, self.posterior, self.components, self.sampler)

    def _tables(self, top: int) -> list[tuple[Any, ...]]:
        found = super()._tables(top)
        if self._comparison is not None:
            formats = dict.fromkeys(self._comparison.columns, "fixed3")
            found.append(
                ("Numbers of components by the log score of rows held out", self.comparison, formats)
            )
        return found

    def _content(self, with_rows: bool | None) -> Plain:
        said = self._description()
        return content_of(
            self.model, self.posterior, self.components, self._comparison, said, bool(with_rows)
        )

    @property
    def _visits(self) -> IntArray:
        return self.posterior.index

    def _inclusion_parts(self) -> tuple[PriorInclusion, IndicatorStats, FloatArray]:
        posterior = self.posterior
        excluded = posterior.probability @ (1.0 - posterior.models)
        return self.model.prior_inclusion, posterior.inclusion, excluded

    def _recorded_run(self) -> RecordedRun[MixtureResults]:
        model, posterior, components = self.model, self.posterior, self.components

        def go_on(settings: FitSettings) -> MixtureResults:
            problem = model._problem(components)
            settings = settings.thinned(thinning(problem, settings) // posterior.every, KERNELS)
            longer = run(problem, settings, posterior.options)
            return type(self)(model, longer, components, self._comparison)

        return RecordedRun(
            posterior.settings,
            posterior.ends,
            posterior.index.shape[1],
            lambda: _recorded(posterior),
            lambda: model._identity(posterior.options, (components,)),
            go_on,
            posterior.every,
        )

    def _arviz(self) -> tuple[dict[str, dict[str, tuple[list[str], Any]]], dict[str, Sequence[Any]]]:
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
            coords["row"] = model.data.index.tolist()
        return groups, coords

    # ------------------------------------------------------------------ tables

    @property
    def comparison(self) -> pd.DataFrame:
        """Held-out scores by number of components, over the rows with labels.

        Columns ``log_score`` (mean over rows of the log probability of their class; the largest is fitted)
        and its standard error ``se``; ``difference`` from the largest and ``difference_se``, paired by row;
        ``error_rate``.

        Raises
        ------
        NotAvailableError
            If there was only one number of components.
        """
        if self._comparison is None:
            raise NotAvailableError(
                "One number of components was fitted: components=[2, 3, 5] compares several."
            )
        return own_copy(self._comparison)

    @property
    def diagnostics(self) -> pd.DataFrame:
        """Diagnostics of the sampler, by chain and for all chains.

        Acceptance rates by move (NaN where a move was never proposed) and of exchanges between replica k and
        the next (``acceptance_replicas_k``), ESS and R-hat of size and log posterior, draws, seconds
        by the clock and CPU seconds.
        """
        return own_copy(self.posterior.diagnostics)

    @kept_property
    def draws(self) -> SubsetDraws:
        """The draws of all chains: subsets, log posterior, log likelihood, components in use."""
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

    def _rows(self, new: Any, invalid: str | None = None) -> tuple[FloatArray, IntArray, pd.Index]:
        """Return inputs in range units of the rows that can be used, their positions, and the index of all.

        Of new rows, or of those of the fit.
        """
        if new is None:
            return self.model.z, np.arange(len(self.model.z)), self.model.data.index
        X, rows, index = self.model.design.valid_rows(new, invalid, ever_selected(self.posterior))
        return self.model.scaling.units(X), rows, index

    def required_columns(self) -> list[str]:
        """Return the columns of new data that predictions need: those of inputs in some draw.

        Missing values in them are allowed, and integrated out.

        Returns
        -------
        list of str
            Names, in the order of the inputs.
        """
        return self.model.design.variables_of(ever_selected(self.posterior))

    def prediction_cost(self) -> float:
        """Return what the inputs cost that predictions need, which can exceed a budget.

        Returns
        -------
        float
            In units of the costs.

        Raises
        ------
        NotAvailableError
            If the model has no costs.
        """
        return self._price(ever_selected(self.posterior))

    def predict(self, new: Any = None, *, invalid: str = "raise") -> pd.DataFrame:
        """Return class probabilities.

        Parameters
        ----------
        new : DataFrame, optional
            Rows with the columns of :meth:`required_columns`, NaN if missing; others may be left out. The
            default is the rows of the fit.
        invalid : {"raise", "nan"}
            Treatment of new rows with infinite values or inputs that are not finite, such as the logarithm of
            0: an error that names them, or NaN with a warning.

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
        input is missing, the inputs that are not selected say nothing about it, although under the joint
        target with ``background="gaussian"`` they do in the fit. There, rows without a label that are among
        those of the fit inform kernels and subsets.
        """
        z, rows, index = self._rows(new, invalid)
        probability = np.full((len(index), len(self.model.classes)), np.nan)
        probability[rows] = class_probabilities(self.posterior, z)
        return pd.DataFrame(probability, index=index.copy(), columns=pd.Index(self.model.classes))

    def classify(self, new: Any = None, *, invalid: str = "raise") -> pd.Series:
        """Return the most probable class of each row.

        Parameters
        ----------
        new, invalid : optional
            As for :meth:`predict`.

        Returns
        -------
        Series
            In the type of the response: categories come back as categories. Of equally probable classes the
            first; missing where probabilities are NaN.

        Raises
        ------
        UnknownNameError, DataError
            As for :meth:`predict`.
        """
        probability = self.predict(new, invalid=invalid)
        found = self.model.design.decode(probability.to_numpy().argmax(axis=1), probability.index)
        known = probability.notna().all(axis=1)
        return found if known.all() else found.where(known)

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
            If the target is not joint, no draw whose kernels are kept has all of them selected, or the best
            subset has no inputs.
        DataError
            As for :meth:`predict`.
        """
        model = self.model
        if model.target != "joint":
            raise NotAvailableError(
                f"{called()} needs target='joint': given the inputs, labels say nothing about their density."
            )
        if inputs is None:
            inputs = self.models["terms"].iloc[0]
            if not inputs:
                raise NotAvailableError(f"{called()} needs 'inputs': the best subset has none.")
        places = places_of(model, self.posterior, inputs)
        if new is None:
            X, index = model.data.X[:, places], model.data.index
        else:
            X, index = model.design.restrict(places).transform(new)
        scaling = model.scaling.restrict(places)
        density = class_densities(self.posterior, scaling.units(X), places)
        unit = np.exp(-np.where(np.isnan(X), 0.0, np.log(scaling.spread)).sum(axis=1))
        return pd.DataFrame(density * unit[:, None], index=index.copy(), columns=pd.Index(model.classes))

    # ------------------------------------------------------------------ scores

    def _true(self, new: Any, endog: ArrayLike | None) -> tuple[FloatArray, IntArray]:
        """Return predicted probabilities (n, K) of rows, and the positions of their true classes."""
        model = self.model
        z = model.z[model.y >= 0] if new is None and endog is None else self._rows(new)[0]
        probability = class_probabilities(self.posterior, z)
        labels = model.design.labels
        true = true_classes(labels, new, endog, lambda: model.y[model.y >= 0], len(probability))
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
            Columns ``value``, ``se``, the standard error over rows, and ``rows``.

        Raises
        ------
        UnknownNameError, DataError
            As for :meth:`predict`; if the response is not there, missing, or of a class that the fit does
            not have.
        """
        return class_scores(*self._true(new, endog))

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
            probabilities are right) and ``rows``.

        Raises
        ------
        ParameterError
            If `bins` is not valid.
        UnknownNameError, DataError
            As for :meth:`score`, or if there is no such class.
        """
        classes = self.model.classes
        bins = check_int(bins, "bins", low=1)
        if of is not None and of not in classes:
            raise unknown_name(of, "class", classes)
        probability, true = self._true(new, endog)
        if of is None and len(classes) > 2:
            chosen = probability.argmax(axis=1)
        else:
            chosen = np.full(len(true), 1 if of is None else classes.index(of))
        said = probability[np.arange(len(true)), chosen]
        return calibration_table(said, (true == chosen).astype(np.float64), bins)

    # ------------------------------------------------------------------ plots

    def plot_trace(self, ax: Any = None) -> Any:
        """Plot the draws of size, cost, log posterior and the number of components in use.

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
        panels |= {"Log posterior": draws.log_posterior, "Components in use": draws.occupied}
        return plot_trace(panels, continuous=["Log posterior"], ax=ax)

    def plot_components(self, inputs: Sequence[str] | None = None, ax: Any = None, *, draws: int = 30) -> Any:
        """Plot rows and components in the plane of two inputs.

        Parameters
        ----------
        inputs : sequence of two str, optional
            Names of inputs; None is the two that are included most often.
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.
        draws : int, default 30
            Draws whose components are shown, evenly spaced among those that have both inputs selected.

        Returns
        -------
        matplotlib Axes
            The axes: rows as points, coloured by class (grey without a label), and each component of each
            draw as an ellipse of one standard deviation, the stronger the more rows it is for, in the colour
            of its most probable class. The numbering of components does not matter.

        Raises
        ------
        NotAvailableError
            If matplotlib is not installed, or no draw has both inputs selected.
        UnknownNameError
            If there is no such input.
        ParameterError
            If `inputs` are not two, there is one input only, or `draws` or `ax` is not valid.
        """
        return plot_components(self.model, self.posterior, inputs, ax, draws)

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

    def __repr__(self) -> str:
        chains, draws = self.posterior.index.shape
        best = " + ".join(self.model.space.terms_of(self.posterior.packed[0])) or "(no inputs)"
        return (
            f"<MixtureResults: {chains} x {draws} draws, {self.components} components, best subset {best}, "
            f"posterior {self.posterior.probability[0]:.3f}>"
        )


def _recorded(posterior: MixturePosterior) -> list[dict[str, np.ndarray]]:
    """Return what each chain had recorded."""
    held = by_chain({name: getattr(posterior, name) for name in (*SERIES, *KERNELS)})
    for chain, recorded in enumerate(held):
        words, index = chain_visits(posterior.index[chain], posterior.packed.words)
        recorded.update(words=words, index=index)
    return held

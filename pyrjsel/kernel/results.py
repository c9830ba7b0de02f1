"""Results of a kernel regression: tables, predictions, plots, and more rows."""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import pandas as pd

from pyrjsel._called import called, warn
from pyrjsel._errors import DataError, ExtrapolationWarning, NotAvailableError
from pyrjsel._typing import FloatArray
from pyrjsel._validate import check_bool, counted, listed
from pyrjsel.design import AbsentArray
from pyrjsel.kernel.plots import POINTS, plot_fit
from pyrjsel.kernel.prediction import FAR, KernelPrediction, WidthPart
from pyrjsel.kernel.samplers.mcmc import USUAL, ChainRun, fit_chains
from pyrjsel.kernel.samplers.smc import FilterRun
from pyrjsel.kernel.saving import KIND, content_of
from pyrjsel.kernel.specification import check_squares
from pyrjsel.kernel.summary import describe, tables
from pyrjsel.kernel.tables import KernelTables
from pyrjsel.report import Plot, plot_path
from pyrjsel.results import Description, RecordedRun
from pyrjsel.runtime import by_chain
from pyrjsel.storage import Plain

# Text for the placeholders of inherited docstrings.
TEXTS = {
    "top": "Centres to list, the most probable ones.",
    "rows in files": """\
Whether to save the rows: response, inputs and labels, those of :meth:`update` too. None saves only
the inputs of the rows that some draw has as a centre, and sums over all rows, which predictions of
new rows need; False leaves these out, too. What needs the rows themselves (plots of the fit, more
rows) takes ``rj.load(path, data=...)`` after loading.""",
    "in every file": """\
Functions that the formula calls, and a kernel of the user's, are kept by name alone.""",
    "accuracy": """\
Go on until the figures of the summary have Monte Carlo errors of at most so many posterior
deviations, see :meth:`KernelRegression.fit`; None is what was asked for in the fit, or 0.05.""",
    "not in one run": "After loading, a kernel of the user's own may round otherwise.",
    "without chains": "After the filter, which has :meth:`update`.",
    "variables": """\
``posterior`` with ``kernels`` (their number), ``sigma`` and ``coef_sd``, in units of the
response, and ``observed_data`` with the response, where its rows are there. Chains are chains;
particles are resampled to one of equal weights, whose order says nothing: no R-hat or effective
size can be had from it.""",
}


class KernelResults(KernelTables):
    """Posterior of a kernel regression, as returned by ``fit``.

    Parameters
    ----------
    model : KernelModel
        The fitted model.
    run : FilterRun or ChainRun
        Output of the sampler.
    basis : Basis, optional
        The centres in use, if loaded from a file without rows.

    Attributes
    ----------
    sampler : str
        The sampler used.
    width : float
        Width of the kernels; of several, the one with the largest marginal likelihood.

    Examples
    --------
    >>> import numpy as np
    >>> import pyrjsel as rj
    >>> x = np.linspace(-10, 10, 50)
    >>> y = np.sinc(x / np.pi) + 0.1 * np.random.default_rng(0).standard_normal(50)
    >>> results = rj.KernelRegression(y, x, width=1.6, standardize=False).fit(rng=1)
    >>> results.get_prediction([[0.0]]).summary_frame().columns.tolist()[:2]
    ['mean', 'mean_se']

    Extended chains have the draws of one longer run.

    >>> x = np.linspace(-3.0, 3.0, 20)[:, None]
    >>> chains = rj.KernelRegression(np.sin(x[:, 0]), x).fit(sampler="mcmc", draws=1000, rng=1)
    >>> chains.extend(100).run.draws.k.shape
    (4, 1100)
    """

    _texts = TEXTS
    _file = KIND
    _usual = USUAL

    # ------------------------------------------------------------------ what all results have

    def _plots(self) -> list[Plot]:
        plots = []
        if len(self.model.design.column_names) == 1:
            text = "Posterior mean of the regression function, with bands, rows and centres."
            plots.append(Plot("Fit", text, self.plot_fit))
        if isinstance(self.run, FilterRun):
            text = "Posterior mean of the number of kernels after each row."
            plots.append(Plot("Kernels", text, self.plot_kernels))
            plots.append(Plot("Particles", "Effective number of particles at each row.", self.plot_ess))
        return plots

    def _describe(self) -> Description:
        return describe(self)

    def _tables(self, top: int) -> list[tuple[str, pd.DataFrame, dict[str, str]]]:
        return tables(self, top)

    def _content(self, with_rows: bool | None) -> Plain:
        return content_of(self.model, self.run, self.posterior, with_rows)

    def _recorded_run(self) -> RecordedRun[Self]:
        run, model = self.run, self.model
        if isinstance(run, FilterRun):
            raise NotAvailableError(
                "The filter has no chains to extend or to pool: it takes more rows, by 'update'."
            )
        settings, index = run.settings, run.index
        return RecordedRun(
            run.fit,
            run.ends,
            run.draws.k.shape[1],
            lambda: by_chain(run.draws.arrays()),
            lambda: model._identity("mcmc", settings),
            lambda longer: type(self)(
                model, fit_chains(settings, model.x, model.y, index, longer, run.place)
            ),
        )

    def _arviz(self) -> tuple[dict[str, dict[str, tuple[list[str], Any]]], dict[str, Sequence[Any]]]:
        k, sigma2, delta2 = self.run.equal_draws()
        unit: FloatArray | float = self.model.scaling.y_sd
        posterior: dict[str, tuple[list[str], Any]] = {
            "kernels": ([], k),
            "sigma": ([], unit * np.sqrt(sigma2)),
            "coef_sd": ([], unit * np.sqrt(delta2)),
        }
        groups, y = {"posterior": posterior}, self.posterior.y
        if not isinstance(y, AbsentArray):
            observed = self.model.scaling.raw_response(y)
            groups["observed_data"] = {self.model.design.response: (["row"], observed)}
        return groups, {"row": self.run.index.tolist()}

    # ------------------------------------------------------------------ predictions

    def get_prediction(
        self, new: Any = None, *, width_average: bool | None = None, invalid: str = "raise"
    ) -> KernelPrediction:
        """Predict rows, with intervals.

        Parameters
        ----------
        new : DataFrame, optional
            Rows with the variables of the formula, or a matrix of inputs if the model was built from arrays.
            The default is the rows of the fit, without those of :meth:`update`.
        width_average : bool, optional
            Whether to average predictions over the widths of the model, by their posterior probabilities
            given all rows so far, or to predict by the chosen width. The default averages if the model was
            given no width.
        invalid : {"raise", "nan"}
            Treatment of new rows with infinite values, levels that did not occur in the fit, or terms that
            are not finite, such as the logarithm of 0: an error that names them, or NaN with a warning.

        Returns
        -------
        KernelPrediction
            With ``summary_frame(alpha)``.

        Raises
        ------
        UnknownNameError
            If a variable is missing from `new`.
        DataError
            If a factor level was not seen in the fit, or an input is infinite, and ``invalid="raise"``.
        NotAvailableError
            If the file that results come from has not got what predictions need: the inputs of the centres
            (``save(path, data=False)``), or the particles of some width, which an interrupted pass may have
            left at other rows.
        """
        return self._predict(new, width_average, invalid)

    def predict(
        self, new: Any = None, *, width_average: bool | None = None, invalid: str = "raise"
    ) -> pd.Series:
        """Predict the posterior mean of the response.

        Parameters
        ----------
        new : DataFrame, optional
            As for :meth:`get_prediction`.
        width_average, invalid : optional
            As for :meth:`get_prediction`.

        Returns
        -------
        Series
            In the order and with the index of `new`; NaN for rows with missing inputs.

        Raises
        ------
        UnknownNameError, DataError, NotAvailableError
            As for :meth:`get_prediction`.
        """
        return self._predict(new, width_average, invalid).mean()

    def _parts(self, width_average: bool | None) -> tuple[WidthPart, ...]:
        """Return the posteriors that predictions average over."""
        run, widths = self.run, self.model.widths
        if width_average is None:
            width_average = self.model.automatic
        if not check_bool(width_average, "width_average") or len(widths) == 1 or isinstance(run, ChainRun):
            return (WidthPart(self.width, 1.0, self.posterior),)
        posteriors = {run.place: self.posterior} | {other.place: other.posterior for other in run.others}
        lacking = [f"{widths[place]:g}" for place in run.lacking()]
        if lacking:
            raise NotAvailableError(
                f"{called()} cannot average over widths: there are no particles of width {listed(lacking)}. "
                "An interrupted pass may have left them at other rows. Fit again."
            )
        probability = run.width_posterior()
        return tuple(
            WidthPart(widths[place], float(probability[place]), posterior)
            for place, posterior in sorted(posteriors.items())
        )

    def _predict(self, new: Any, width_average: bool | None, invalid: str) -> KernelPrediction:
        model, parts = self.model, self._parts(width_average)
        if new is None:
            x, index = model.data.X, model.data.index
        else:
            rows = model.design.transform(new, invalid=invalid)
            x, index = rows.X, rows.index
        prediction = KernelPrediction(x, index, parts, model.scaling, model.design.response)
        known = new is not None and not isinstance(parts[0].posterior.x, AbsentArray)
        if known and (far := int(prediction.extrapolated.sum())):
            warn(
                f"{far:,} of {counted(len(index), 'row')} {'is' if far == 1 else 'are'} further than {FAR:g} "
                "widths from every row used, where predictions fall back to the trend: summary_frame() of "
                "get_prediction says which.",
                ExtrapolationWarning,
            )
        return prediction

    # ------------------------------------------------------------------ more rows

    def update(self, new: Any, endog: Any = None, *, progress: bool | None = None) -> Self:
        """Update the posterior with new rows, in the order given, in place.

        Parameters
        ----------
        new : DataFrame
            Rows with the variables of the formula and the response, or a matrix of inputs if the model was
            built from arrays.
        endog : array_like, optional
            The response of the rows, if `new` does not have it.
        progress : bool, optional
            Whether to show a progress bar. None shows one in a terminal.

        Returns
        -------
        KernelResults
            The same object, for all rows so far; after Ctrl-C, for the rows processed.

        Raises
        ------
        UnknownNameError
            If a variable is missing from `new`.
        DataError
            If a value is missing, infinite or too large to be squared, a factor level was not seen in the
            fit, or response and rows differ in number. All rows are then refused, and the results do not
            change.
        NotAvailableError
            After ``sampler="mcmc"``.

        Warns
        -----
        ConvergenceWarning
            If the update was interrupted, the particles have collapsed or had missed the posterior, or the
            chosen width has a probability below 0.05 given all rows.

        Notes
        -----
        Standardisation, the widths and the chosen width remain those of the first fit. All widths that a fit
        kept are updated, for predictions that average over them, and their probabilities follow how well
        they predict the rows. Sweeps over all rows follow, as in a fit: at once after many rows, otherwise
        when results are asked for. With ``row_order="given"``, ``standardize=False`` and given widths the
        result equals one fit of all rows bit for bit, unless sweeps have shown that a pass had missed the
        posterior: rows to come are then taken from the particles after the sweeps.
        """
        design, scaling = self.model.design, self.model.scaling
        run = self._filter("update")
        rows = design.transform(new)
        y = design.response_of(new if endog is None else {design.response: endog})
        if len(y) != len(rows.index):
            raise DataError(f"The rows of {called()} are {len(rows.index)}, their responses {len(y)}.")
        gone = np.isnan(rows.X).any(axis=1) | np.isnan(y)
        if gone.any():
            raise DataError(
                f"The rows of {called()} must be complete. {gone.sum()} of {len(y)} have missing values, the "
                f"first of them {rows.index[gone].tolist()[0]!r}; none was taken."
            )
        inputs, response = scaling.inputs(rows.X), scaling.response(y)
        check_squares(inputs, response)
        try:
            run.go_on(inputs, response, rows.index, progress)
        finally:
            self._posterior = self._basis = None
        return self

    # ------------------------------------------------------------------ plots

    def plot_fit(self, ax: Any = None, *, alpha: float = 0.05, points: int = POINTS) -> Any:
        """Plot the regression function of one input, with bands, rows and centres.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.
        alpha : float, default 0.05
            One minus the probability of the bands.
        points : int, default 400
            Points of the curve.

        Returns
        -------
        matplotlib Axes
            The axes: posterior mean, intervals of the mean and of a new response, the rows, and a tick for
            each centre, darker if it is more probable.

        Raises
        ------
        NotAvailableError
            If there are several inputs, or matplotlib is not installed.
        ParameterError
            If `alpha`, `points` or `ax` is not valid.
        """
        return plot_fit(self.model, self._parts(None), self.posterior, ax, alpha, points)

    def plot_kernels(self, ax: Any = None) -> Any:
        """Plot the posterior mean of the number of kernels after each row.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        matplotlib Axes
            The axes.

        Raises
        ------
        NotAvailableError
            After ``sampler="mcmc"``, or if matplotlib is not installed.
        ParameterError
            If `ax` is not valid.
        """
        return plot_path(self.path["mean_kernels"], ax=ax, xlabel="Rows", ylabel="Mean number of kernels")

    def plot_ess(self, ax: Any = None) -> Any:
        """Plot the effective number of particles at each row, before resampling.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        matplotlib Axes
            The axes, with a mark at rows where particles were resampled.

        Raises
        ------
        NotAvailableError
            After ``sampler="mcmc"``, or if matplotlib is not installed.
        ParameterError
            If `ax` is not valid.
        """
        path = self.path
        return plot_path(
            path["ess"],
            marks=path["resampled"],
            level=float(len(self.posterior.k)),
            ax=ax,
            xlabel="Rows",
            ylabel="Effective number of particles",
        )

    def __repr__(self) -> str:
        return (
            f"<KernelResults of {self.sampler}: {self.nobs} rows, {self.mean_kernels:.1f} kernels of width "
            f"{self.width:g}>"
        )

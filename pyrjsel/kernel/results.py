"""Results of a kernel regression: tables, predictions, and more rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from pyrjsel._errors import DataError, NotAvailableError
from pyrjsel._once import turn
from pyrjsel._typing import FloatArray
from pyrjsel._validate import check_int
from pyrjsel.design import AbsentArray
from pyrjsel.kernel.describe import describe, tables
from pyrjsel.kernel.extending import Extending
from pyrjsel.kernel.looks import Looks
from pyrjsel.kernel.posterior import KernelPosterior
from pyrjsel.kernel.predict import KernelPrediction
from pyrjsel.kernel.runs import ChainRun, FilterRun
from pyrjsel.kernel.saving import Saving
from pyrjsel.kernel.scaling import check_squares
from pyrjsel.kernel.stopping import TOP
from pyrjsel.report import Report, own_copy, results_html, to_arviz

if TYPE_CHECKING:
    from pyrjsel.kernel.model import KernelRegression

# Central interval of the tables.
INTERVAL = (0.025, 0.975)


class KernelResults(Looks, Saving, Extending):
    """The posterior of a kernel regression; made by ``fit``.

    Parameters
    ----------
    model : KernelRegression
        What was fitted.
    run : FilterRun or ChainRun
        What the sampler gave.

    Attributes
    ----------
    sampler : str
        The sampler that was used.
    width : float
        Width of the kernels, as it was given; of several the one of the largest evidence.

    Examples
    --------
    >>> import numpy as np
    >>> import pyrjsel as rj
    >>> x = np.linspace(-10, 10, 50)
    >>> y = np.sinc(x / np.pi) + 0.1 * np.random.default_rng(0).standard_normal(50)
    >>> results = rj.KernelRegression(y, x, width=1.6, standardize=False).fit(rng=1)
    >>> results.get_prediction([[0.0]]).summary_frame().columns.tolist()[:2]
    ['mean', 'mean_se']
    """

    def __init__(self, model: KernelRegression, run: FilterRun | ChainRun) -> None:
        self.model = model
        self.run = run
        self.sampler = "smc" if isinstance(run, FilterRun) else "mcmc"
        self.width = model.widths[run.place if isinstance(run, FilterRun) else 0]
        self._posterior: KernelPosterior | None = None

    # ------------------------------------------------------------------ pieces

    @property
    def posterior(self) -> KernelPosterior:
        """Weighted draws of the kernels and variances, in standardised units."""
        with turn(self, "posterior"):
            if self._posterior is None:
                self._posterior = self.run.posterior()
            return self._posterior

    def _filter(self, what: str) -> FilterRun:
        """Return the run of the filter, or raise :class:`NotAvailableError`."""
        if not isinstance(self.run, FilterRun):
            raise NotAvailableError(f"There is no {what} after sampler='mcmc', which takes all rows at once.")
        return self.run

    @property
    def nobs(self) -> int:
        """Number of rows that were seen."""
        return len(self.run.index)

    # ------------------------------------------------------------------ tables

    @property
    def n_kernels(self) -> pd.Series:
        """Posterior probability of each number of kernels, from 0 to the largest that some draw has."""
        found = np.bincount(self.posterior.k, weights=self.posterior.weight)
        return pd.Series(found, index=pd.RangeIndex(len(found), name="kernels"), name="posterior")

    @property
    def mean_kernels(self) -> float:
        """Posterior mean of the number of kernels."""
        return float(self.posterior.k @ self.posterior.weight)

    @property
    def centres(self) -> pd.DataFrame:
        """Rows that are a centre, the most probable first.

        Index: labels of the rows. Columns: the inputs, in units of the data, and ``occupancy``, the posterior
        probability that the row is a centre. Results that were loaded without rows have places of rows for
        labels, and no inputs.
        """
        posterior, model = self.posterior, self.model
        occupancy = posterior.occupancy()
        order = np.argsort(-occupancy, kind="stable")
        rows = posterior.used[order]
        absent = isinstance(posterior.x, AbsentArray)
        table = pd.DataFrame(
            np.empty((len(rows), 0)) if absent else model.scaling.raw_inputs(posterior.x[rows]),
            index=self.run.index[rows],
            columns=pd.Index([] if absent else model.design.column_names, dtype=object),
        )
        # An input may be called like this too: a data frame has two columns of a name then.
        table.insert(table.shape[1], "occupancy", occupancy[order], allow_duplicates=True)
        return table

    @property
    def sigma(self) -> pd.Series:
        """The posterior of the standard deviation of the noise, in units of the response.

        Entries ``mean``, ``sd``, ``median``, and ``ci_lower`` and ``ci_upper``, the ends of the central 95 %
        interval.
        """
        weight = self.posterior.weight
        sigma = np.sqrt(self.posterior.sigma2) * self.model.scaling.y_sd
        mean = float(sigma @ weight)
        order = np.argsort(sigma, kind="stable")
        below = np.cumsum(weight[order])
        place = np.searchsorted(below, np.array([0.5, *INTERVAL]) * below[-1])
        median, lower, upper = sigma[order][place]
        return pd.Series(
            {
                "mean": mean,
                "sd": float(np.sqrt((sigma - mean) ** 2 @ weight)),
                "median": median,
                "ci_lower": lower,
                "ci_upper": upper,
            },
            name="sigma",
        )

    @property
    def log_evidence(self) -> float:
        """Logarithm of the marginal likelihood of all rows, in units of the response.

        From several runs that of their mean.

        Raises
        ------
        NotAvailableError
            After ``sampler="mcmc"``.
        """
        return self._filter("log evidence").log_evidence()[0] - self._log_units

    @property
    def log_evidence_se(self) -> float:
        """Monte Carlo error of `log_evidence`, from the spread of several runs; NaN for one.

        Raises
        ------
        NotAvailableError
            After ``sampler="mcmc"``.
        """
        return self._filter("log evidence").log_evidence()[1]

    @property
    def _log_units(self) -> float:
        """Log Jacobian of the density of the rows, from standardised to given units."""
        return self.nobs * float(np.log(self.model.scaling.y_sd))

    @property
    def widths(self) -> pd.DataFrame:
        """Evidence by width on the rows of ``fit``.

        Columns ``log_evidence``, in units of the response, ``se``, its Monte Carlo error from several runs
        (NaN for one), and ``posterior``, with equal prior probabilities.

        Raises
        ------
        NotAvailableError
            After ``sampler="mcmc"``.
        """
        table = own_copy(self._filter("log evidence").widths)
        table["log_evidence"] -= self.model.nobs * np.log(self.model.scaling.y_sd)
        return table

    @property
    def path(self) -> pd.DataFrame:
        """The filter by row, in the order in which it took them.

        Columns ``ess``, the effective number of particles before resampling; ``resampled``; ``ancestors``,
        the number of particles at the row before that have descendants; ``mean_kernels``, the posterior
        mean of the number of kernels; ``log_evidence`` of the rows so far, in units of the response.

        Raises
        ------
        NotAvailableError
            After ``sampler="mcmc"``.
        """
        state = self._filter("path").state
        units = np.arange(1, self.nobs + 1) * np.log(self.model.scaling.y_sd)
        return pd.DataFrame(
            {
                "ess": state.ess,
                "resampled": state.resampled,
                "ancestors": state.ancestors,
                "mean_kernels": state.mean_k,
                "log_evidence": state.log_evidence_path - units,
            },
            index=self.run.index.copy(),
        )

    @property
    def diagnostics(self) -> pd.DataFrame:
        """How the sampler did.

        After the filter, rejuvenation moves by kind: ``tried``, ``accepted`` and their quotient ``rate``.
        After MCMC, number of kernels, log sigma and log marginal likelihood: ``mean``, ``sd``, ``mcse``,
        ``ess``, ``r_hat``.
        """
        return own_copy(self.run.diagnostics())

    def summary(self, top: int = TOP) -> Report:
        """Return the summary: what was fitted, how, number of kernels, centres, warnings that matter.

        Parameters
        ----------
        top : int, default 10
            Centres to list, the most probable ones.

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
        info, notes = describe(self)
        return Report("Kernel regression", info, tables(self, top), notes)

    # ------------------------------------------------------------------ predictions

    def get_prediction(self, new: Any = None) -> KernelPrediction:
        """Predict rows, with intervals.

        Parameters
        ----------
        new : DataFrame, optional
            Rows with the variables of the formula; a matrix where the model was made from arrays. None is
            the rows of the fit, and not those of :meth:`update`.

        Returns
        -------
        KernelPrediction
            With ``summary_frame(alpha)``.

        Raises
        ------
        UnknownNameError
            If a variable is missing from `new`.
        DataError
            If a factor level was not seen in the fit, or an input is infinite.
        """
        return self._predict(new, "get_prediction")

    def predict(self, new: Any = None) -> pd.Series:
        """Predict the posterior mean of the response.

        Parameters
        ----------
        new : DataFrame, optional
            As for :meth:`get_prediction`.

        Returns
        -------
        Series
            In the order and with the index of `new`; NaN for rows with missing inputs.

        Raises
        ------
        UnknownNameError, DataError
            As for :meth:`get_prediction`.
        """
        return self._predict(new, "predict").mean()

    def _predict(self, new: Any, owner: str) -> KernelPrediction:
        model = self.model
        if new is None:
            x, index = model.data.X, model.data.index
        else:
            rows = model.design.transform(new, owner=owner)
            x, index = rows.X, rows.index
        return KernelPrediction(x, index, self.posterior, model.scaling, model.design.response)

    # ------------------------------------------------------------------ more rows

    def update(self, new: Any, endog: Any = None, *, progress: bool | None = None) -> KernelResults:
        """Go on with new rows, in the order given; the results themselves change.

        Parameters
        ----------
        new : DataFrame
            Rows with the variables of the formula and the response; a matrix of inputs where the model was
            made from arrays.
        endog : array_like, optional
            The response of the rows, where `new` does not have it.
        progress : bool, optional
            Whether to show progress; None shows it in a terminal.

        Returns
        -------
        KernelResults
            The same, of all rows so far; after Ctrl-C of those that were taken.

        Raises
        ------
        UnknownNameError
            If a variable is missing from `new`.
        DataError
            If a value is missing, infinite or too large to be squared, a factor level was not seen in the
            fit, or response and rows differ in number; all rows are refused then, and the results stay as
            they were.
        NotAvailableError
            After ``sampler="mcmc"``.

        Warns
        -----
        ConvergenceWarning
            If it was interrupted, or the particles have collapsed.

        Notes
        -----
        Standardisation and the median width stay those of the first fit. With ``row_order="given"`` and
        ``standardize=False`` the result is that of one fit of all rows, to the last bit.
        """
        owner, design, scaling = "update", self.model.design, self.model.scaling
        run = self._filter("update")
        rows = design.transform(new, owner=owner)
        y = design.response_of(new if endog is None else {design.response: endog}, owner=owner)
        if len(y) != len(rows.index):
            raise DataError(f"The rows of {owner} are {len(rows.index)}, their responses {len(y)}.")
        gone = np.isnan(rows.X).any(axis=1) | np.isnan(y)
        if gone.any():
            raise DataError(
                f"The rows of {owner} must be complete. {gone.sum()} of {len(y)} have missing values, the "
                f"first of them {rows.index[gone].tolist()[0]!r}; none was taken."
            )
        inputs, response = scaling.inputs(rows.X), scaling.response(y)
        check_squares(inputs, response, owner)
        try:
            run.go_on(inputs, response, rows.index, progress)
        finally:
            self._posterior = None
        return self

    # ------------------------------------------------------------------ elsewhere

    def to_arviz(self) -> Any:
        """Return the draws as ArviZ's container.

        Returns
        -------
        InferenceData or DataTree
            ``posterior`` with ``kernels`` (their number), ``sigma`` and ``coef_sd``, in units of the
            response, and ``observed_data`` with the response, where its rows are there. Chains are chains;
            particles are resampled to one of equal weights, whose order says nothing: no R-hat or effective
            size can be had from it.

        Raises
        ------
        NotAvailableError
            If ArviZ is not installed.
        """
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
        return to_arviz(groups, {"row": self.run.index.tolist()})

    _repr_html_ = results_html

    def __repr__(self) -> str:
        return (
            f"<KernelResults of {self.sampler}: {self.nobs} rows, {self.mean_kernels:.1f} kernels of width "
            f"{self.width:g}>"
        )

"""The posterior of a kernel regression in numbers and tables."""

from dataclasses import replace

import numpy as np
import pandas as pd

from pyrjsel._errors import NotAvailableError
from pyrjsel._once import turn
from pyrjsel.design import AbsentArray
from pyrjsel.design.saved import absent
from pyrjsel.families.gaussian import mixture_quantile
from pyrjsel.kernel.posterior import Basis, KernelPosterior
from pyrjsel.kernel.protocols import KernelModel
from pyrjsel.kernel.samplers.mcmc import ChainRun
from pyrjsel.kernel.samplers.smc import FilterRun
from pyrjsel.kernel.samplers.tempering import PARTICLES, RUNS, WEIGHED_ROWS, TemperingJob, tempered_evidence
from pyrjsel.report import own_copy
from pyrjsel.results import SampledResults

# Central interval of the tables.
INTERVAL = (0.025, 0.975)
TREND = ("mean", "sd", "ci_lower", "ci_upper")


class KernelTables(SampledResults[KernelModel]):
    """The tables of :class:`KernelResults`."""

    def __init__(self, model: KernelModel, run: FilterRun | ChainRun, basis: Basis | None = None) -> None:
        super().__init__(model)
        self.run, self._basis = run, basis
        self.sampler = "smc" if isinstance(run, FilterRun) else "mcmc"
        self.width = model.widths[run.place]
        self._posterior: KernelPosterior | None = None
        self._tempered: tuple[float, float] | None = None

    # ------------------------------------------------------------------ pieces

    @property
    def posterior(self) -> KernelPosterior:
        """Weighted draws of the kernels and variances, in standardised units."""
        with turn(self, "posterior"):
            if self._posterior is None:
                self._posterior = replace(self.run.posterior(), known=self._basis)
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
        labels, and inputs if the file has the centres.
        """
        posterior, model = self.posterior, self.model
        occupancy = posterior.occupancy()
        order = np.argsort(-occupancy, kind="stable")
        rows = posterior.used[order]
        lacking = isinstance(posterior.x, AbsentArray) and self._basis is None
        table = pd.DataFrame(
            np.empty((len(rows), 0)) if lacking else model.scaling.raw_inputs(posterior.basis.inputs[order]),
            index=self.run.index[rows],
            columns=pd.Index([] if lacking else list(model.design.column_names), dtype=object),
        )
        # An input may be called like this too: a data frame has two columns of a name then.
        table.insert(table.shape[1], "occupancy", occupancy[order], allow_duplicates=True)
        return table

    @property
    def trend(self) -> pd.DataFrame:
        """The posterior of the slopes of a linear trend, in units of the response by units of the inputs.

        Index: the inputs. Columns ``mean``, ``sd``, and ``ci_lower`` and ``ci_upper``, the ends of the
        central 95 % interval.

        Raises
        ------
        NotAvailableError
            Of models without ``trend="linear"``; after loading without rows, if the file has not got the
            centres.
        """
        model, posterior = self.model, self.posterior
        if not model.settings.trend:
            raise NotAvailableError("There are no slopes: the trend of the model is constant, not 'linear'.")
        mean, sd = posterior.slopes()
        unit = model.scaling.y_sd / model.scaling.x_sd
        middle = mean @ posterior.weight
        spread = np.sqrt(((mean - middle[:, None]) ** 2 + sd**2) @ posterior.weight)
        ends = [mixture_quantile(mean, sd, p, posterior.weight) for p in INTERVAL]
        return pd.DataFrame(
            {name: unit * values for name, values in zip(TREND, (middle, spread, *ends), strict=True)},
            index=pd.Index(list(model.design.column_names), dtype=object, name="input"),
        )

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

        After the filter that of its pass, or of the mean of several runs. A pass underestimates it, the more
        so the more rows, inputs and kernels there are. On ten problems, passes of 1,000 particles were low by
        0.5 to 3 on average where 20 to 80 rows had one or two inputs, by 6 with 100 rows of three inputs,
        and by 15 with 150 rows of two inputs, with standard deviations of 0.4 to 2.6. Models should be
        compared by :meth:`KernelRegression.evidence`. After ``sampler="mcmc"`` the value comes from
        tempering, when it is first asked for.

        Raises
        ------
        NotAvailableError
            After ``sampler="mcmc"``, if the training data are missing.
        """
        return self._evidence[0] - self._log_units

    @property
    def log_evidence_se(self) -> float:
        """Monte Carlo error of `log_evidence`, from the spread of several runs; NaN for one.

        After the filter it does not cover what all passes underestimate.

        Raises
        ------
        NotAvailableError
            As for `log_evidence`.
        """
        return self._evidence[1]

    @property
    def _evidence(self) -> tuple[float, float]:
        """Log evidence in standardised units, and its error."""
        if isinstance(self.run, FilterRun):
            return self.run.log_evidence()
        with turn(self, "evidence"):
            if self._tempered is None:
                if isinstance(self.run.y, AbsentArray):
                    raise absent()
                # Seeds of their own, the same on every call.
                seeds = np.random.SeedSequence(self.run.draws.k.size).spawn(RUNS)
                job = TemperingJob(self.run.settings, self.run.x, self.run.y, PARTICLES)
                self._tempered = tempered_evidence(job, seeds)
            return self._tempered

    @property
    def _log_units(self) -> float:
        """Log Jacobian of the density of the rows, from standardised to given units."""
        return self.nobs * float(np.log(self.model.scaling.y_sd))

    @property
    def widths(self) -> pd.DataFrame:
        """Evidence by width on the rows of ``fit``, and probabilities of the widths given all rows so far.

        Columns ``log_evidence``, in units of the response, ``se``, its Monte Carlo error (NaN for one pass or
        run), and ``posterior``, with equal prior probabilities. Of several widths from tempering unless
        ``fit`` had ``evidence="stream"``. Those of widths that were not given are quick ones on at most 400
        rows, from one run where it is more than 20 below the best; they can be low by more than ``se``, see
        :meth:`KernelRegression.evidence`. Rows of :meth:`KernelResults.update` change ``posterior`` by how
        well each width has predicted them.

        Raises
        ------
        NotAvailableError
            After ``sampler="mcmc"``.
        """
        run = self._filter("log evidence")
        table = own_copy(run.widths)
        table["log_evidence"] -= self.weighed_rows * np.log(self.model.scaling.y_sd)
        if len(run.index) > len(run.order) and not run.lacking():
            table["posterior"] = run.width_posterior()
        return table

    @property
    def weighed_rows(self) -> int:
        """Number of rows of the fit by which widths were compared."""
        return min(self.model.nobs, WEIGHED_ROWS) if self.model.automatic else self.model.nobs

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
        After MCMC, number of kernels, log sigma in units of the response, and log marginal likelihood:
        ``mean``, ``sd``, ``mcse``, ``ess``, ``r_hat``.
        """
        table = own_copy(self.run.diagnostics())
        if not isinstance(self.run, FilterRun):
            table.loc["log_sigma", "mean"] += np.log(self.model.scaling.y_sd)
        return table

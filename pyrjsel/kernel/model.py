"""The model that users build: rows, kernel, priors, and ``fit``."""

import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from pyrjsel._called import called, warn
from pyrjsel._docstrings import repeat_parameters
from pyrjsel._errors import ConvergenceWarning, ParameterError
from pyrjsel._once import kept_property
from pyrjsel._typing import FloatArray, RNGLike, SeedLike
from pyrjsel._validate import check_int, check_rng, counted
from pyrjsel.design import Design, DesignData, TableLike
from pyrjsel.kernel.kernels import KernelFunction
from pyrjsel.kernel.options import ChainOptions, choose
from pyrjsel.kernel.priors import Prior
from pyrjsel.kernel.results import KernelResults
from pyrjsel.kernel.samplers.mcmc import USUAL, WARM, ChainRun, fit_chains
from pyrjsel.kernel.samplers.smc import FilterRun, fit_filter
from pyrjsel.kernel.samplers.tempering import (
    PARTICLES,
    RUNS,
    WEIGHED_ROWS,
    TemperingJob,
    evidence_table,
    tempered_evidence,
    weigh,
)
from pyrjsel.kernel.specification import Choices, Specification, Width, specify
from pyrjsel.kernel.state import KernelSettings
from pyrjsel.kernel.summary import model_facts
from pyrjsel.report import model_html
from pyrjsel.runtime import Checkpoint, FitSettings
from pyrjsel.storage import Plain

# Rows between which a kernel's values tell it from others.
PROBES = 8


@repeat_parameters
class KernelRegression:
    """Kernel regression with an unknown number of kernels.

    The response is ``beta_0 + sum_i beta_i K(x, mu_i)`` plus normal noise, and a linear trend if `trend` says
    so. The centres mu_i are rows of the data. The posterior is over the number of kernels, their centres and
    coefficients, and the variances of noise and coefficients. A particle filter computes it, one row after
    another. This constructor takes arrays; :meth:`from_formula` and :func:`pyrjsel.kernel_regression` take a
    formula.

    Parameters
    ----------
    endog : array_like, shape (n,)
        The response, numbers.
    exog : DataFrame or array_like, shape (n, p)
        One input a column; text and categories become dummy columns.
    kernel : {"gaussian", "matern32", "matern52", "laplace"} or callable
        A function of the distance r, in widths: exp(-r^2 / 2); (1 + a) exp(-a) with a = sqrt(3) r;
        (1 + a + a^2 / 3) exp(-a) with a = sqrt(5) r; exp(-r). A callable takes points (n, d) and centres
        (m, d), both divided by the width, and returns (n, m).
    width : float, "median" or sequence of float, optional
        Width of the kernels in units of the standardised inputs. ``"median"`` is the median distance between
        rows, and the default compares a quarter, a half, one, two and four times that by their marginal
        likelihoods on at most 400 rows, drawn at random; predictions average over those of a probability of
        at least 0.01. From a sequence, ``fit`` chooses the width with the largest marginal likelihood, and
        ``width_average=True`` of :meth:`KernelResults.predict` averages over all of them.
    convention : {"2w2", "w2"}
        Form of the Gaussian kernel: exp(-d^2 / (2 w^2)), or exp(-d^2 / w^2).
    mean_kernels : float, default 1.0
        Lambda of the prior of the number of kernels k, proportional to Lambda^k / k! from 0 to `max_kernels`.
    max_kernels : int, optional
        Largest number of kernels, at most the number of rows. The default is 50, or ``3 * mean_kernels + 20``
        if that is more.
    trend : {"constant", "linear"}
        Trend to which kernels are added: an intercept, or also a linear function of all inputs, as
        kernels see them. Its coefficients have the same prior as those of the kernels. Far from all rows
        predictions are those of the trend.
    standardize : bool, default True
        Whether inputs and response are standardised, by the means and standard deviations of these rows;
        rows that are added later do not change them.
    noise_variance, coef_variance : float, optional
        Variance of the noise, and prior variance of the coefficients, in squared units of the response, each
        within a factor of 1e12 of its mean square. By default they are estimated.
    noise_prior, coef_prior : InverseGamma or (float, float), optional
        Prior of an estimated variance, or its a and b, with b in squared units of the response. The default
        is a = b = 0.01, for the standardised response.
    missing : {"drop", "raise"}
        Whether rows with missing values are dropped, and counted in the summary, or refused.

    Attributes
    ----------
    design : Design
        Maps data to inputs and response.
    data : DesignData
        The rows used.
    scaling : Scaling
        Means and standard deviations for standardising.
    widths : tuple of float
        The widths compared; one if `width` is a number.
    automatic : bool
        Whether `width` was not given.

    Raises
    ------
    DataError
        If there are fewer than two rows, an input or the response is constant, or values are infinite or
            above 1e150.
    ParameterError
        If a parameter is out of range, a prior improper, or `max_kernels` above the number of rows.

    Warns
    -----
    MissingDataWarning
        If rows were dropped, with the number by column.

    Notes
    -----
    Rows with equal inputs are distinct points, and each may be a centre. The number of kernels can then
    exceed the number of distinct centres.

    References
    ----------
    J. Vermaak, S. J. Godsill and A. Doucet (2003), Sequential Bayesian kernel regression, Advances in Neural
    Information Processing Systems 16. Here its importance weights are corrected, and k may be 0. A new row
    is added to the centres or replaces one of them with probabilities that depend on its response; births of
    the paper take any row, whatever the response.

    Examples
    --------
    >>> import numpy as np
    >>> import pyrjsel as rj
    >>> x = np.linspace(-10, 10, 50)
    >>> y = np.sinc(x / np.pi) + 0.1 * np.random.default_rng(0).standard_normal(50)
    >>> model = rj.KernelRegression(y, x, width=1.6, standardize=False)
    >>> results = model.fit(rng=1)
    >>> bool(abs(results.predict([[0.0]]).iloc[0] - 1) < 0.2)
    True
    """

    title: ClassVar[str] = "Kernel regression"

    def __init__(
        self,
        endog: ArrayLike | pd.Series,
        exog: pd.DataFrame | ArrayLike,
        *,
        kernel: str | KernelFunction = "gaussian",
        width: Width = None,
        convention: str = "2w2",
        mean_kernels: float = 1.0,
        max_kernels: int | None = None,
        trend: str = "constant",
        standardize: bool = True,
        noise_variance: float | None = None,
        coef_variance: float | None = None,
        noise_prior: Prior = None,
        coef_prior: Prior = None,
        missing: str = "drop",
    ) -> None:
        design, rows = Design.from_arrays(endog, exog, missing=missing)
        choices = Choices(
            kernel,
            width,
            convention,
            mean_kernels,
            max_kernels,
            trend,
            standardize,
            noise_variance,
            coef_variance,
            noise_prior,
            coef_prior,
        )
        self._build(design, rows, specify(choices, design, rows))

    @classmethod
    def from_formula(
        cls,
        formula: str,
        data: TableLike,
        *,
        kernel: str | KernelFunction = "gaussian",
        width: Width = None,
        convention: str = "2w2",
        mean_kernels: float = 1.0,
        max_kernels: int | None = None,
        trend: str = "constant",
        standardize: bool = True,
        noise_variance: float | None = None,
        coef_variance: float | None = None,
        noise_prior: Prior = None,
        coef_prior: Prior = None,
        missing: str = "drop",
        functions: Mapping[str, Callable[..., Any]] | None = None,
    ) -> Self:
        """Build a model from a formula and a data frame.

        Parameters
        ----------
        formula : str
            Such as ``"y ~ x1 + log(x2) + region"``: the right-hand side gives the inputs, factors as dummy
            columns. ``.`` stands for all other columns.
        data : DataFrame, pyarrow Table, or mapping of columns
            The rows.
        kernel, width, convention, mean_kernels, max_kernels, trend, standardize : optional
            As for the class.
        noise_variance, coef_variance, noise_prior, coef_prior, missing : optional
            As for the class.
        functions : mapping of str to callable, optional
            Further functions that the formula may call, by name.

        Returns
        -------
        KernelRegression
            Ready to fit.

        Raises
        ------
        FormulaError
            If the formula cannot be parsed, or calls a function that is not allowed.
        DataError, ParameterError
            As for the class.
        UnknownNameError
            If a column does not exist.

        Examples
        --------
        >>> import pyrjsel as rj
        >>> crime = rj.datasets.uscrime().data
        >>> model = rj.kernel_regression("y ~ Ed + Po1 + U2", crime, width=3.0)
        >>> model
        <KernelRegression 'y ~ Ed + Po1 + U2': 47 rows, 3 inputs, gaussian kernel of width 3>
        >>> results = model.fit(rng=1)
        >>> results.predict(crime.head(2)).shape
        (2,)
        """
        design, rows = Design.from_formula(formula, data, missing=missing, functions=functions)
        choices = Choices(
            kernel,
            width,
            convention,
            mean_kernels,
            max_kernels,
            trend,
            standardize,
            noise_variance,
            coef_variance,
            noise_prior,
            coef_prior,
        )
        return cls._from_parts(design, rows, specify(choices, design, rows))

    @classmethod
    def _from_parts(cls, design: Design, data: DesignData, specification: Specification) -> Self:
        """Return the model of a design, rows, and what choices came to on them."""
        model = cls.__new__(cls)
        model._build(design, data, specification)
        return model

    def _build(self, design: Design, data: DesignData, specification: Specification) -> None:
        self.design, self.data = design, data
        self.standardize, self.scaling = specification.standardize, specification.scaling
        self.convention, self.widths = specification.convention, specification.widths
        self.kernels, self.settings = specification.kernels, specification.settings
        self.noise_prior, self.coef_prior = specification.noise_prior, specification.coef_prior
        self.automatic = specification.automatic

    # ------------------------------------------------------------------ what it is

    @property
    def nobs(self) -> int:
        """Number of rows."""
        return self.data.n

    @property
    def x(self) -> FloatArray:
        """Inputs of the rows as kernels see them, shape (n, d)."""
        return self.scaling.inputs(self.data.X)

    @property
    def y(self) -> FloatArray:
        """The response as it is fitted, shape (n,)."""
        return self.scaling.response(self.data.y)

    # ------------------------------------------------------------------ fit

    def fit(
        self,
        *,
        sampler: str = "smc",
        rng: RNGLike | SeedLike | None = None,
        n_jobs: int | None = None,
        progress: bool | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        **options: Any,
    ) -> KernelResults:
        """Compute the posterior by a particle filter, or by MCMC.

        Parameters
        ----------
        sampler : {"smc", "mcmc"}
            ``"smc"`` is the particle filter: one pass over the rows, which :meth:`KernelResults.update`
            continues with new ones. ``"mcmc"`` is reversible-jump MCMC on all rows at once.
        rng : int, SeedSequence or Generator, optional
            Random numbers. Results do not depend on `n_jobs`.
        n_jobs : int, optional
            Number of workers for widths, runs or chains, as in joblib.
        progress : bool, optional
            Whether to show a progress bar. None shows one in a terminal.
        checkpoint : str or path-like, optional
            A folder in which chains, or passes over the rows, save their draws and states every few seconds.
            After a crash or Ctrl-C, the same call resumes the run; the results are those of an uninterrupted
            run (on the same machine and versions). ``rng=None`` uses the seed of the existing run. The folder
            contains values of kernels between rows, but no rows. All workers of a cluster must have access
            to it.
        **options
            Options of the sampler; see the notes.

        Returns
        -------
        KernelResults
            After Ctrl-C, results for the rows or draws so far.

        Raises
        ------
        ParameterError
            If a parameter or option is out of range, or MCMC is asked to compare several widths.
        UnknownNameError
            If the sampler has no such option.
        StoreError
            If the checkpoint belongs to another run or version, is damaged, or is in use.

        Warns
        -----
        ConvergenceWarning
            If the run was interrupted or the particles have collapsed. For MCMC, if R-hat of a quantity in
            the diagnostics exceeds 1.05 or its effective sample size is below 100, or a run with
            ``draws="auto"`` ended at ``max_draws`` or ``max_seconds`` before its figures were accurate.

        Notes
        -----
        Options of the filter:

        particles : int, default 250
            Number of particles.
        rejuvenate : int, default 8
            Reversible-jump moves of each particle after each row, up to eight times as many if few particles
            are effective; 0 for none. From 1,024 rows on, a random part of the particles moves after a row,
            the smaller, the more rows there are; all do after resampling.
        move_fraction : float, optional
            Largest proportion of births, and of deaths, among earlier rows when a row arrives; 0.25 if
            `rejuvenate` is 0, otherwise none.
        row_order : {"random", "given"}
            Order in which the filter takes the rows.
        importance : {"exact", "paper"}
            ``"paper"`` has the moves of the paper with its weights, which are biased, both from a scan
            that has lost superscripts. It shows a ratio (k' - 1)! / (k - 1)! of numbers of kernels before and
            after, which is undefined at k' = 0; k'! / k! takes its place.
        resampling : {"systematic", "stratified", "multinomial", "residual"}
            Scheme of resampling, at rows where the effective number of particles is below `ess_threshold`
            (0.5) of all.
        runs : int, default 1
            Independent runs. The first is the result; the others give the error of its log evidence.
        evidence : {"tempering", "stream"}
            Marginal likelihoods by which several widths are compared: those of :meth:`evidence`, or those of
            the passes over the rows.

        Options of MCMC:

        draws : int or "auto", default "auto"
            Draws kept of each chain. ``"auto"`` begins with 400 and doubles them until the number of kernels,
            log sigma and the log marginal likelihood have an MCSE of at most `mcse` (0.05) posterior standard
            deviations, an R-hat of at most 1.05 and 100 effective draws each, and the probabilities of
            numbers of kernels and of the ten most probable centres an MCSE of at most half of `mcse`.
        max_draws : int, default 10,000
            Largest number of draws of a chain with ``draws="auto"``; all are kept in memory.
        max_seconds : float, optional
            Time after which no further round of draws begins. Draws then depend on the machine.
        burn_in : int, optional
            Iterations before the first draw: 1,000, or a fifth of `draws` if that is a number.
        thin : int, optional
            Thinning interval: 10, or 1 if `draws` is a number.
        chains : int, default 4
            Number of chains.
        rejuvenate : int, default 8
            Moves in an iteration.
        """
        chosen, loop = choose(sampler, options, self.fit)
        settings = replace(self.settings, **loop)
        about = None if checkpoint is None else self._identity(sampler, settings)
        if isinstance(chosen, ChainOptions):
            if len(self.kernels) > 1 and not self.automatic:
                raise ParameterError(
                    f"The 'sampler' parameter of {called()} must be 'smc' where widths are compared. Got "
                    "'mcmc' instead: compare them by evidence(), and fit the best one."
                )
            fit = FitSettings.check(
                draws=chosen.draws,
                mcse=chosen.mcse,
                max_draws=chosen.max_draws,
                max_seconds=chosen.max_seconds,
                warm=WARM,
                usual=USUAL,
                burn_in=chosen.burn_in,
                thin=chosen.step,
                chains=chosen.chains,
                rng=rng,
                n_jobs=n_jobs,
                progress=progress,
                checkpoint=checkpoint,
                about=about,
            )
            place = int(np.argmax(self.weighed["log_evidence"].to_numpy())) if self.automatic else 0
            one = replace(settings, kernel=self.kernels[place])
            return self._results(fit_chains(one, self.x, self.y, self.data.index, fit, place))
        saved, generator = None, check_rng(rng)
        if checkpoint is not None and about is not None:
            saved, generator = Checkpoint.open(checkpoint, {**about, **vars(chosen)}, rng)
        run = fit_filter(
            settings,
            self.kernels,
            self.widths,
            self.x,
            self.y,
            self.data.index,
            chosen,
            generator,
            n_jobs,
            progress,
            saved,
            (lambda: self.weighed) if self.automatic else None,
        )
        return self._results(run)

    @kept_property
    def weighed(self) -> pd.DataFrame:
        """Log evidence of the widths on at most 400 rows, in units of the response as it is fitted.

        Seeds are always the same: fits with any `rng` compare the same widths.
        """
        rows = np.random.default_rng(self.nobs).permutation(self.nobs)[:WEIGHED_ROWS]
        each = [replace(self.settings, kernel=kernel) for kernel in self.kernels]
        return evidence_table(weigh(each, self.x[rows], self.y[rows]), self.widths)

    def _results(self, run: FilterRun | ChainRun) -> KernelResults:
        results = KernelResults(self, run)
        for note in results.posterior.notes(self.nobs):
            warn(note, ConvergenceWarning)
        return results

    def evidence(
        self,
        *,
        particles: int = PARTICLES,
        runs: int = RUNS,
        steps: int | None = None,
        rng: RNGLike | SeedLike | None = None,
    ) -> pd.DataFrame:
        """Compute the log marginal likelihood for each width, by tempering.

        A sequential Monte Carlo sampler passes through powers of the likelihood [1]_, from a start
        distribution to the posterior, with the moves of ``fit(sampler="mcmc")``. It is more accurate than the
        filter's one pass over the rows, whose log evidence can be low by several units, see
        :attr:`KernelResults.log_evidence`.

        Parameters
        ----------
        particles : int, default 250
            Number of particles in each run.
        runs : int, default 8
            Independent runs, at least 2; their spread gives the error, with an allowance for their number.
        steps : int, optional
            Number of powers after 0. By default the particles of a pilot run choose them so that 96 % remain
            effective.
        rng : int, SeedSequence or Generator, optional
            Random numbers.

        Returns
        -------
        DataFrame
            By ``width``: ``log_evidence``, in units of the response, its Monte Carlo error ``se``, and the
            ``posterior`` probability under equal prior probabilities.

        Raises
        ------
        ParameterError
            If a parameter is out of range.

        References
        ----------
        .. [1] Del Moral, P., Doucet, A. and Jasra, A. (2006). Sequential Monte Carlo samplers. Journal of the
           Royal Statistical Society B 68, 411-436.

        Examples
        --------
        >>> import numpy as np
        >>> import pyrjsel as rj
        >>> x = np.linspace(-10, 10, 30)
        >>> y = np.sinc(x / np.pi) + 0.1 * np.random.default_rng(0).standard_normal(30)
        >>> table = rj.KernelRegression(y, x, width=[0.4, 1.6], standardize=False).evidence(rng=1)
        >>> bool(table.loc[1.6, "log_evidence"] > table.loc[0.4, "log_evidence"])
        True
        """
        check_int(particles, "particles", low=2)
        check_int(runs, "runs", low=2)
        if steps is not None:
            check_int(steps, "steps", low=1)
        seeds = list(check_rng(rng).bit_generator.seed_seq.spawn(runs))  # type: ignore[attr-defined]
        jobs = [
            TemperingJob(replace(self.settings, kernel=kernel), self.x, self.y, particles)
            for kernel in self.kernels
        ]
        found = [tempered_evidence(job, seeds, steps) for job in jobs]
        units = self.nobs * float(np.log(self.scaling.y_sd))
        return evidence_table([(value - units, error) for value, error in found], self.widths)

    def _identity(self, sampler: str, settings: KernelSettings) -> dict[str, Plain]:
        """Return what the results of a fit depend on beside the seed, by names that users know."""
        rows = self.x[:PROBES]
        return {
            "model": type(self).__name__,
            "formula": self.design.formula,
            "design": self.design.to_dict(),
            "data": {"X": self.data.X, "y": self.data.y, "standardize": self.standardize},
            "width": list(self.widths),
            # A user's kernel is what it does.
            "values of the kernel": [kernel(rows, rows) for kernel in self.kernels],
            "sampler": sampler,
            "kernel": self.kernels[0].name,
            **{name: value for name, value in vars(settings).items() if name != "kernel"},
        }

    def _repr_html_(self) -> str:
        return model_html(self.title, self, model_facts(self))

    def __repr__(self) -> str:
        formula = repr(self.design.formula) if self.design.formula else f"{self.design.response} from arrays"
        kernel = self.kernels[0].name
        widths = ", ".join(f"{width:g}" for width in self.widths)
        return (
            f"<{type(self).__name__} {formula}: {self.nobs} rows, {counted(self.data.X.shape[1], 'input')}, "
            f"{kernel} kernel of width {widths}>"
        )


# The short name.
kernel_regression = KernelRegression.from_formula

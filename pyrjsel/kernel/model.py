"""The model that users build: rows, kernel, priors, and ``fit``."""

import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from pyrjsel._called import called
from pyrjsel._errors import ParameterError
from pyrjsel._typing import FloatArray, RNGLike, SeedLike
from pyrjsel._validate import check_int, check_rng, counted
from pyrjsel.design import Design, DesignData, TableLike
from pyrjsel.kernel.kernels import KernelFunction
from pyrjsel.kernel.options import ChainOptions, choose
from pyrjsel.kernel.priors import Prior
from pyrjsel.kernel.results import KernelResults
from pyrjsel.kernel.samplers.mcmc import fit_chains
from pyrjsel.kernel.samplers.smc import fit_filter
from pyrjsel.kernel.samplers.stopping import USUAL, WARM
from pyrjsel.kernel.samplers.tempering import PARTICLES, RUNS, evidence_table, tempered_evidence
from pyrjsel.kernel.specification import Choices, Specification, Width, specify
from pyrjsel.kernel.state import KernelSettings
from pyrjsel.kernel.summary import model_facts
from pyrjsel.report import model_html
from pyrjsel.runtime import Checkpoint, FitSettings
from pyrjsel.storage import Plain

# Rows between which a kernel's values tell it from others.
PROBES = 8


class KernelRegression:
    """Regression on kernels whose number and places are unknown.

    The response is ``beta_0 + sum_i beta_i K(x, mu_i)`` and normal noise, with a linear trend on request.
    The centres mu_i are rows of the data; how many there are, which, their coefficients and two variances
    have a posterior, which a particle filter follows through the rows, one after another. Made from arrays
    here, from a formula by :meth:`from_formula` or :func:`pyrjsel.kernel_regression`.

    Parameters
    ----------
    endog : array_like, shape (n,)
        The response, numbers.
    exog : DataFrame or array_like, shape (n, p)
        One input a column; text and categories become dummy columns.
    kernel : {"gaussian", "matern32", "matern52", "laplace"} or callable
        Of the distance r in widths: exp(-r^2 / 2); (1 + a) exp(-a) with a = sqrt(3) r; (1 + a + a^2 / 3)
        exp(-a) with a = sqrt(5) r; exp(-r). A function gets points (n, d) and centres (m, d), both divided
        by the width, and returns (n, m).
    width : float, "median" or sequence of float, default 1.0
        In units of the standardised inputs. ``"median"`` is the median distance between rows. Of a sequence
        the width of the largest evidence is chosen in ``fit``; ``width_average=True`` of
        :meth:`KernelResults.predict` averages over all of them.
    convention : {"2w2", "w2"}
        Of the Gaussian kernel: exp(-d^2 / (2 w^2)), or exp(-d^2 / w^2).
    mean_kernels : float, default 1.0
        Lambda of the prior of the number of kernels k, proportional to Lambda^k / k! from 0 to `max_kernels`.
    max_kernels : int, optional
        Largest number of kernels, at most the number of rows; None is 50, however many rows there are.
    trend : {"constant", "linear"}
        What the kernels are added to: a constant, or a constant and a linear function of all inputs, as
        kernels see them. Their coefficients have the prior of those of the kernels. Far from all rows
        predictions are those of the trend.
    standardize : bool, default True
        Whether inputs and response are measured in standard deviations from their means; the constants are
        those of these rows for ever.
    noise_variance, coef_variance : float, optional
        Variance of the noise, and prior variance of the coefficients, in squared units of the response, each
        within a factor of 1e12 of its mean square; None has them estimated.
    noise_prior, coef_prior : InverseGamma or (float, float), optional
        Prior of a variance that is estimated, or its a and b, b in squared units of the response. None is a
        = b = 0.01 for the response as it is fitted.
    missing : {"drop", "raise"}
        What to do with rows with missing values; those dropped are counted in the summary.

    Attributes
    ----------
    design : Design
        How inputs and response are made of the data.
    data : DesignData
        The rows that are used.
    scaling : Scaling
        What they are standardised by.
    widths : tuple of float
        The widths that are compared; one where a number was given.

    Raises
    ------
    DataError
        If there are fewer than two rows, an input or the response is constant, or values are infinite or
            above 1e150.
    ParameterError
        If a parameter is out of range, a prior improper, or more kernels are asked for than there are rows.

    Warns
    -----
    MissingDataWarning
        If rows were dropped; it counts them by column.

    Notes
    -----
    Rows with equal inputs are distinct points: each may be a centre. A number of kernels is then larger than
    that of distinct centres.

    References
    ----------
    J. Vermaak, S. J. Godsill and A. Doucet (2003), Sequential Bayesian kernel regression, Advances in Neural
    Information Processing Systems 16. Its importance weights are corrected here, and k may be 0; a new row
    becomes a centre with the chance that it has under the prior, where the paper's births take any row.

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
        width: Width = 1.0,
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
        width: Width = 1.0,
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
        """Make a model from a formula and a data frame.

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
            Functions that the formula may call, by name, beside the documented ones.

        Returns
        -------
        KernelRegression
            Ready to fit.

        Raises
        ------
        FormulaError
            If the formula cannot be read, or calls what it may not.
        DataError, ParameterError, UnknownNameError
            As for the class, or if a column is not there.

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
        """Follow the posterior through the rows by a particle filter, or sample that of all by MCMC.

        Parameters
        ----------
        sampler : {"smc", "mcmc"}
            ``"smc"`` is the filter: one pass over the rows, and :meth:`KernelResults.update` goes on from
            there. ``"mcmc"`` is reversible-jump MCMC on all rows at once, the reference for the filter.
        rng : int, SeedSequence or Generator, optional
            Random numbers; the same give the same results, whatever `n_jobs` is.
        n_jobs : int, optional
            Workers at a time, see joblib, for several widths, runs or chains.
        progress : bool, optional
            Whether to show progress; None shows it in a terminal.
        checkpoint : str or path-like, optional
            A folder where chains, or passes over the rows, write down every few seconds what they have drawn
            and where they are. The same call goes on from there after a crash or Ctrl-C, to the same results
            as without (on the same machine and versions); ``rng=None`` is the seed of the run that is there.
            It holds values of kernels between rows, and no rows. The workers of a cluster must all see the
            folder.
        **options : dict
            Of the filter: ``particles`` (250); ``move_fraction`` (0.25 where ``rejuvenate`` is 0, else none),
            the largest share of births, and of deaths, among earlier rows when a row comes; ``row_order``
            (``"random"`` or ``"given"``); ``importance`` (``"exact"``, or ``"paper"`` for the moves of the
            paper with its weights, which are biased); ``rejuvenate`` (8), reversible-jump moves of each
            particle after each row, 0 for none, and up to eight times as many where few particles are left;
            ``resampling`` (``"systematic"``, ``"stratified"``, ``"multinomial"`` or ``"residual"``) where the
            effective number of particles is below ``ess_threshold`` (0.5) of all; ``runs`` (1), of which the
            first is the result and the others are for the error of the log evidence; ``evidence``, by which
            several widths are compared: ``"tempering"``, see :meth:`evidence`, or ``"stream"``, that of the
            passes. Of MCMC: ``draws``,
            those that each chain keeps: ``"auto"`` (the default) is what the figures of the summary need,
            400, and twice as many again and again, until the number of kernels, log sigma and the log
            marginal likelihood have MCSEs of at most ``mcse`` (0.05) posterior deviations, R-hat of at most
            1.05 and 100 effective draws each, and the probabilities of each number of kernels and of the
            ten most probable centres MCSEs of at most half of ``mcse``; a number is just so many.
            ``max_draws`` (10,000) a chain at most, where ``draws`` is ``"auto"``: all are in memory.
            ``max_seconds``, after which no further round of draws begins (a first round there always is):
            the one setting that makes draws depend on the machine. ``burn_in`` (1,000 iterations, or a fifth
            of ``draws`` where that is a number); ``thin``, iterations of which one is kept (10, or 1 where
            ``draws`` is a number); ``chains`` (4); and ``rejuvenate`` (8), moves of an iteration.

        Returns
        -------
        KernelResults
            After Ctrl-C those of the rows, or draws, so far.

        Raises
        ------
        ParameterError
            If a parameter or option is out of range, or several widths are to be compared by MCMC.
        UnknownNameError
            If the sampler has no such option.
        StoreError
            If the checkpoint is that of another run, of another version, damaged or in use.

        Warns
        -----
        ConvergenceWarning
            If the run was interrupted or the particles have collapsed; of MCMC if R-hat of a quantity of the
            diagnostics exceeds 1.05 or its effective sample size is below 100, or a run that stops by itself
            ended at ``max_draws`` or ``max_seconds`` before its figures were accurate.
        """
        chosen, loop = choose(sampler, options, self.fit)
        settings = replace(self.settings, **loop)
        about = None if checkpoint is None else self._identity(sampler, settings)
        if isinstance(chosen, ChainOptions):
            if len(self.kernels) > 1:
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
            chains = fit_chains(settings, self.x, self.y, self.data.index, fit)
            return KernelResults(self, chains)
        place, generator = None, check_rng(rng)
        if checkpoint is not None and about is not None:
            place, generator = Checkpoint.open(checkpoint, {**about, **vars(chosen)}, rng)
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
            place,
        )
        return KernelResults(self, run)

    def evidence(
        self,
        *,
        particles: int = PARTICLES,
        runs: int = RUNS,
        steps: int | None = None,
        rng: RNGLike | SeedLike | None = None,
    ) -> pd.DataFrame:
        """Return the log evidence of all rows by width, from tempering.

        A sequential Monte Carlo sampler over powers of the likelihood [1]_, from a start law to the
        posterior, with the moves of ``fit(sampler="mcmc")``. It is more accurate than the evidence that the
        filter has from its one pass over the rows, which can be low by one or two.

        Parameters
        ----------
        particles : int, default 250
            Of each run.
        runs : int, default 8
            Independent runs, at least 2: their spread is the error.
        steps : int, optional
            Powers after 0; None has them chosen so that nine tenths of the particles remain effective.
        rng : int, SeedSequence or Generator, optional
            Random numbers.

        Returns
        -------
        DataFrame
            By ``width``: ``log_evidence``, in units of the response, ``se``, its Monte Carlo error, and
            ``posterior``, with equal prior probabilities.

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
        each = [replace(self.settings, kernel=kernel) for kernel in self.kernels]
        found = [tempered_evidence(one, self.x, self.y, seeds, particles, steps) for one in each]
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

"""Base class of selection models: construction, constraints and fits."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from pyrjsel import report
from pyrjsel._called import called, named, warn
from pyrjsel._errors import DataError, NotAvailableError, RankWarning
from pyrjsel._lazy import late
from pyrjsel._once import kept_property
from pyrjsel._typing import BoolArray, FloatArray, RNGLike, SeedLike
from pyrjsel._validate import bad_value, check_rng, counted, unknown_option
from pyrjsel.design import (
    Aliases,
    Chunks,
    Design,
    DesignData,
    Response,
    RowSource,
    WideRows,
    as_chunks,
    as_pandas,
    check_powers,
)
from pyrjsel.families import Family
from pyrjsel.model_space import (
    BetaBinomial,
    Existence,
    ModelPrior,
    ModelSpace,
    OverSpace,
    check_bounds,
    named_costs,
)
from pyrjsel.runtime import AUTO, MCSE, MOST, FitSettings
from pyrjsel.selection import comparable
from pyrjsel.selection.evidence import laplace
from pyrjsel.selection.models._docstrings import shared_text
from pyrjsel.selection.regression import checks
from pyrjsel.selection.regression.checks import check_columns, check_offset, check_right_side
from pyrjsel.selection.regression.chunked import ChunkedRegression, ChunkedRows, first_pass
from pyrjsel.selection.regression.columns import IndependentColumns
from pyrjsel.selection.regression.gaussian import GaussianRegression
from pyrjsel.selection.regression.glm import Regression
from pyrjsel.selection.regression.summed_rows import SummedRows, largest_values
from pyrjsel.selection.results import results, summary
from pyrjsel.selection.samplers import runs
from pyrjsel.selection.samplers.registry import sampler_named, stand_in
from pyrjsel.selection.specification import LEAST_G, Choices

if TYPE_CHECKING:
    from pyrjsel.selection.posterior import Posterior
    from pyrjsel.selection.priors import registry as priors
    from pyrjsel.selection.priors.base import CoefficientPrior
    from pyrjsel.selection.protocols import SingleModel
    from pyrjsel.selection.results.prediction import Prediction
    from pyrjsel.selection.results.results import SelectionResults
    from pyrjsel.selection.samplers.enumeration import common_g
    from pyrjsel.selection.studies import cross_validation, sensitivity
    from pyrjsel.selection.studies.cross_validation import CrossValidation
    from pyrjsel.selection.studies.sensitivity import SensitivityResults
else:
    priors = late("pyrjsel.selection.priors.registry")
    common_g = late("pyrjsel.selection.samplers.enumeration.common_g")
    cross_validation = late("pyrjsel.selection.studies.cross_validation")
    sensitivity = late("pyrjsel.selection.studies.sensitivity")


class Selection(OverSpace):
    """Base class of selection models, one subclass per family.

    A subclass defines its title, family and coefficient priors, and has the user's docstring. If its data are
    not the rows of a :class:`Regression`, it overrides the methods in the section on families; if it has more
    parameters, it calls `_from_arrays` and `_from_rows` with its own :class:`Choices`.
    """

    title: ClassVar[str]
    # DesignData, or what stands for them: SummedRows, ChunkedRows, WideRows, AbsentRows.
    data: Any
    # Of the class, or of the instance if users choose something of it.
    _family: Family
    _default_prior: ClassVar[Any]
    # Columns of the design as it was given that the terms do without.
    _aliases: Aliases | None = None
    # The g of all models under EmpiricalBayes("global"), and the prior that is compiled, with this g.
    g: float | None = None
    _settled: Any
    # Description of the response for the summary if the training data are missing.
    _facts: list[tuple[str, str]] | None = None

    def __init__(
        self,
        endog: ArrayLike | pd.Series,
        exog: pd.DataFrame | ArrayLike,
        *,
        coef_prior: CoefficientPrior | None = None,
        model_prior: ModelPrior | None = None,
        costs: Mapping[str, float] | pd.Series | None = None,
        budget: float | None = None,
        always: str | Iterable[str] = (),
        heredity: str | None = None,
        max_size: int | None = None,
        weights: str | ArrayLike | None = None,
        offset: str | ArrayLike | None = None,
        missing: str = "drop",
    ) -> None:
        choices = Choices(coef_prior, model_prior, costs, budget, always, heredity, max_size)
        self._from_arrays(endog, exog, choices, {"weights": weights, "offset": offset}, missing)

    def _from_arrays(
        self,
        endog: ArrayLike | pd.Series,
        exog: pd.DataFrame | ArrayLike,
        choices: Choices,
        extras: Mapping[str, str | ArrayLike | None],
        missing: str,
    ) -> None:
        """Initialise a model from arrays."""
        exog = as_pandas(exog)
        design, data = Design.from_arrays(
            endog,
            exog,
            extras=extras,
            missing=missing,
            events=self._family.events,
            classes=self._family.classes,
        )
        names = [term.name for term in design.terms]
        known: Iterable[Hashable] = exog.columns if isinstance(exog, pd.DataFrame) else names
        self._build(design, data, replace(choices, known=tuple(known)))
        check_bounds(self.space)

    @classmethod
    @shared_text
    def from_formula(
        cls,
        formula: str,
        data: RowSource,
        *,
        coef_prior: CoefficientPrior | None = None,
        model_prior: ModelPrior | None = None,
        costs: Mapping[str, float] | pd.Series | None = None,
        budget: float | None = None,
        always: str | Iterable[str] = (),
        heredity: str | None = None,
        max_size: int | None = None,
        weights: str | ArrayLike | None = None,
        offset: str | ArrayLike | None = None,
        missing: str = "drop",
        functions: Mapping[str, Callable[..., Any]] | None = None,
    ) -> Self:
        """Make a model from a formula and a data frame, or data in chunks.

        Parameters
        ----------
        <formula and chunks>
        coef_prior, model_prior, costs, budget, always, heredity, max_size : optional
            As for the class.
        weights, offset, missing : optional
            As for the class.
        <functions>

        Returns
        -------
        Selection
            Model of the class, ready to fit.

        Raises
        ------
        FormulaError
            If the formula cannot be parsed or calls a function that is not allowed.
        DataError, ParameterError, UnknownNameError
            As for the class.

        Examples
        --------
        >>> import pyrjsel as rj
        >>> births = rj.datasets.birthwt().data
        >>> model = rj.logit("low ~ age + lwt + race + smoke + ht", births, coef_prior=rj.GPrior("n"))
        >>> results = model.fit(rng=1)
        >>> results.best("mpm")
        ('lwt', 'race', 'smoke', 'ht')
        """
        choices = Choices(coef_prior, model_prior, costs, budget, always, heredity, max_size)
        extras = {"weights": weights, "offset": offset}
        model = cls._from_rows(formula, data, choices, extras, missing, functions)
        check_bounds(model.space)
        return model

    @classmethod
    def _from_rows(
        cls,
        formula: str,
        data: Any,
        choices: Choices,
        extras: Mapping[str, str | ArrayLike | None],
        missing: str,
        functions: Mapping[str, Callable[..., Any]] | None,
        listed: Sequence[str] | None = None,
    ) -> Self:
        """Make a model; from chunks, with its terms in the order `listed` of an earlier model."""
        data = as_pandas(data)
        chunks = as_chunks(data)
        if chunks is not None:
            return cls._from_chunks(formula, chunks, choices, extras, missing, functions, listed)
        design, rows = Design.from_formula(
            formula,
            data,
            extras=extras,
            missing=missing,
            functions=functions,
            events=cls._family.events,
            classes=cls._family.classes,
        )
        if choices.heredity is not None:
            check_powers(design.terms, rows.X)
        return cls._from_parts(design, rows, replace(choices, known=tuple(data)))

    @classmethod
    def _from_chunks(
        cls,
        formula: str,
        chunks: Chunks,
        choices: Choices,
        extras: Mapping[str, str | ArrayLike | None],
        missing: str,
        functions: Mapping[str, Callable[..., Any]] | None,
        listed: Sequence[str] | None,
    ) -> Self:
        """Make a model of rows in chunks, which are read again in each pass."""
        family = cls._family if choices.family is None else choices.family
        if family.whole:
            raise NotAvailableError(
                f"Data in chunks are not supported for {family.name} models: {family.whole}. "
                "Give a DataFrame of the columns in the formula: 8 bytes of memory for each row and column."
            )
        if chunks.once:
            raise DataError(
                f"The data of {called()} can be read only once, and models that are not linear need several "
                "passes. Give a function that returns a new iterator each time (a list or a Parquet file "
                "also works)."
            )
        response = formula.partition("~")[0].strip()
        design, reduced = Design.from_chunks(
            formula,
            chunks,
            lambda left: first_pass(cls._family_of(left, choices), response),
            extras=extras,
            missing=missing,
            functions=functions,
            listed=listed,
            events=family.events,
            classes=family.classes,
        )
        rows = ChunkedRows.read(reduced)
        return cls._from_parts(design, rows, replace(choices, known=tuple(chunks.names)))

    @classmethod
    def _from_parts(cls, design: Design, data: DesignData | SummedRows | WideRows, choices: Choices) -> Self:
        """Make a model from a design, its data, priors and constraints."""
        model = cls.__new__(cls)
        model._build(design, data, choices)
        return model

    @classmethod
    def _without_rows(
        cls,
        design: Design,
        rows: Any,
        choices: Choices,
        n_observations: float,
        facts: list[tuple[str, str]],
        dependent: Sequence[str],
        regression: Any,
        g: float | None = None,
    ) -> Self:
        """Make a model without its training data."""
        model = cls.__new__(cls)
        model.design, model.data, model._facts = design, rows, facts
        model._family = cls._family_of(design.left, choices)
        model._constrain(choices, n_observations)
        model.dependent, model.regression, model.g = dependent, regression, g
        return model

    def _restrict(self, keep: Collection[str]) -> Self:
        """Return the model restricted to the terms `keep`, including those in `always`, on the same rows."""
        inside = np.repeat([name in keep for name in self.term_names], self.space.columns)
        choices = self._restricted_choices(keep, inside)
        return self._remake(self.design.restrict(keep), self.data.restrict(inside), choices)

    def _remake(self, design: Design, data: DesignData | SummedRows | WideRows, choices: Choices) -> Self:
        """Return a model of the same class with other rows, terms or choices."""
        return self._from_parts(design, data, choices)

    def _restricted_choices(self, keep: Collection[str], inside: BoolArray) -> Choices:
        """Return the choices for the terms `keep`, with the columns `inside` (D,)."""
        choices = self._choices.restrict(self.space.context, keep)
        if choices.coef_prior is None:
            return choices
        return replace(choices, coef_prior=self._by_column(choices.coef_prior).restrict(inside))

    def _by_column(self, prior: CoefficientPrior) -> CoefficientPrior:
        return prior.by_column([(term.name, term.columns) for term in self.design.terms])

    @classmethod
    def _family_of(cls, left: Response, choices: Choices) -> Family:
        """Return the family of a model with this response."""
        return cls._family if choices.family is None else choices.family

    def _build(self, design: Design, data: DesignData | SummedRows | WideRows, choices: Choices) -> None:
        self.design, self.data, self._family = design, data, self._family_of(design.left, choices)
        check_right_side(design)
        self._check_rows()
        # Of the columns as they are given, those that terms do without.
        if isinstance(data, DesignData | SummedRows) and self._known_prior(choices.coef_prior).of_span:
            self._aliases = checks.left_out(design.terms, data)
        if self._aliases is not None:
            warn(checks.left_out_text(design.terms, design.column_names, self._aliases), RankWarning)
            self.design, self.data = design.without(self._aliases), data.restrict(self._aliases.inside)
        self._constrain(choices, self._n_observations())
        self._set_g()
        self.regression = self._make_regression()
        dependent = self.regression.dependent()
        every = self.space.names
        self.dependent = every if len(dependent) == len(every) else tuple(every[j] for j in dependent)
        if self._lacks_models:
            by_sums = isinstance(self.data, SummedRows | ChunkedRows)
            terms = self.design.terms
            warn(
                checks.dependence_warning(self.regression, terms, dependent, self.nobs, by_sums), RankWarning
            )

    def _constrain(self, choices: Choices, n_observations: float) -> None:
        """Set the priors and the model space; `n_observations` is the n of the priors."""
        self.coef_prior = self._settled = self._known_prior(choices.coef_prior)
        self.model_prior = BetaBinomial(1, 1) if choices.model_prior is None else choices.model_prior
        costs = named_costs(choices.costs, choices.known)
        self.space = ModelSpace.build(
            self.design.terms,
            prior=self.model_prior,
            always=choices.always,
            costs=costs,
            budget=choices.budget,
            heredity=choices.heredity,
            max_size=choices.max_size,
            data_columns=[str(name) for name in choices.known],
            n_observations=n_observations,
        )
        self._priced = costs is not None
        # Checked copies: later changes of the originals by the user have no effect.
        fixed = tuple(name for name, free in zip(self.space.names, self.space.free, strict=True) if not free)
        prices = None if costs is None else dict(costs.items())
        self._choices = replace(choices, costs=prices, always=fixed)

    def _set_g(self) -> None:
        """Settle on a g for all models if the coefficient prior wants one."""
        if not self.coef_prior.shares_g:
            return
        if isinstance(self.data, ChunkedRows):
            raise NotAvailableError(
                f"{self.coef_prior!r} needs marginal likelihoods of all models at many values of g, each of "
                "which takes passes over rows in chunks: give a DataFrame, or use another coefficient prior."
            )

        def at(g: float) -> Any:
            self._settled = self.coef_prior.at(g)
            return self._make_regression()

        self.g = common_g.common_g(at, self.space)
        self._settled = self.coef_prior.at(self.g)

    @staticmethod
    def _coef_priors() -> tuple[type[CoefficientPrior], ...]:
        """Return the coefficient priors supported by the family."""
        return priors.GENERALISED

    @staticmethod
    def _results_class() -> type[SelectionResults]:
        """Return the class of the results."""
        return results.SelectionResults

    def _known_prior(self, given: Any) -> Any:
        """Return the coefficient prior, by default that of the family."""
        if given is None:
            return self._default_prior
        known = self._coef_priors()
        if not isinstance(given, known):
            names = [kind.__name__ for kind in known]
            several = f"{', '.join(names[:-1])} or {names[-1]}"
            raise bad_value("coef_prior", f"a {several}, such as {self._default_prior!r}", given)
        return given

    # ------------------------------------------------------------------ fits

    @shared_text
    def fit(
        self,
        *,
        sampler: str = "auto",
        draws: int | str = AUTO,
        mcse: float = MCSE,
        max_draws: int = MOST,
        max_seconds: float | None = None,
        burn_in: int | None = None,
        thin: int = 1,
        chains: int = 4,
        rng: RNGLike | SeedLike | None = None,
        n_jobs: int | None = None,
        progress: bool | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        **options: Any,
    ) -> SelectionResults:
        """Find the posterior over models and coefficients.

        Parameters
        ----------
        <sampler>
            ``"auto"`` enumerates the feasible models where that takes about ten seconds: up to 2**20 linear
            models, but 15,000 under ``SpikeSlab`` and priors with ``scaled=False``, or some ten thousand
            others (500 rows; fewer with more rows or parameters, or where integrals take many draws).
            ``"enumerate"`` overrides this. For larger spaces ``"auto"`` uses ``"collapsed"``; for other than
            linear models ``"rjmcmc"`` if a short pilot run, the same for every seed, finds models of nearly
            as many columns as rows, or more than 20 terms and marginal likelihoods that are hard to compute,
            or if less than a tenth of the proposals of a first round are accepted; and for linear models
            ``"gibbs"`` under ``SpikeSlab`` and priors with ``scaled=False``, which ``"collapsed"`` does not
            support. Up to 2**20 models can be enumerated with ``"enumerate"``. For linear models
            ``"rjmcmc"`` and ``"population"`` also draw sigma^2 (and g, if it has a prior) and support all
            priors except ``SpikeSlab``. They propose new coefficients given all others, so they mix slowly if
            columns are nearly dependent or models are large. Errors of ``"collapsed"`` and ``"gibbs"`` are
            small if chains mix well. Of modes that no chain has visited they include those that the audit
            finds: if there may be others, compare with a run at several `temperatures`, or run more chains.
        draws : "auto" or int
            Draws per chain, after burn-in and thinning. ``"auto"`` starts with 200 and adds as many as the
            least accurate figure needs, at most three times as many at once, until every inclusion
            probability has an MCSE of at most `mcse`; size, cost and log posterior have an R-hat of at most
            1.05 and an effective sample size of at least 100; and, if odds are relative frequencies, those of
            the three models after the best have a relative MCSE of at most 5 % (50 % for models with
            probability below 0.01). For linear models with nearly dependent columns (adjusted variance
            inflation factor above 10), ``"collapsed"`` makes at least 1,600 proposals of each term per chain.
            If the audit then finds a relevant model that no chain has visited, the run restarts, at most
            twice, with new chains, some of which start from that model, and discards the previous draws. So
            does one of ``"collapsed"`` with up to 24 terms whose surrogate is rarely accepted. With a fixed
            number of draws, missed models only lead to a warning. One iteration of reversible jumps proposes
            as many flips as there are free terms, swaps, and an update of all coefficients; one of
            ``"collapsed"`` proposes each free term `sweeps` times.
        mcse : float, default 0.005
            Target Monte Carlo error of inclusion probabilities with ``draws="auto"``. Integration errors of
            marginal likelihoods, which more draws do not reduce, are compensated up to 0.8 of it.
        max_draws : int, default 100_000
            Limit of draws per chain with ``draws="auto"``; draws before a restart do not count.
        max_seconds : float, optional
            Time after which no further round of draws and no restart begins with ``draws="auto"``; the first
            round is always completed. This is the only setting with which draws depend on the machine.
        burn_in : int, optional
            Iterations discarded at the start of each chain; None is ``draws // 5``, or 100 with
            ``draws="auto"`` (500 for ``"rjmcmc"``, 2,000 for ``"population"``), and for ``"collapsed"`` in
            other than linear models up to 800 more, until its surrogate is accepted. After a quarter of burn-
            in each chain searches for other modes and restarts from one of them, if it finds any, unless the
            option `start` is given.
        thin : int, default 1
            Keep every `thin`-th iteration.
        chains : int, default 4
            Number of independent chains, which are checked for agreement.
        rng : None, int, SeedSequence or Generator
            Source of randomness. The same seed gives the same draws whatever `n_jobs` is.
        n_jobs : int, optional
            Number of workers; None follows ``joblib.parallel_config``, or uses one thread per chain, at most
            one per processor, after half a second in a single one. With
            ``joblib.parallel_config(backend="loky")`` or ``"dask"``, workers are processes on this machine or
            a cluster: the draws are the same, data are sent once, and the chains of a worker that dies are
            restarted.
        progress : bool, optional
            Whether to show progress; None shows it on terminals and in notebooks after a second.
        checkpoint : str or path-like, optional
            A folder in which chains save their draws and states every few seconds. After a crash or Ctrl-C,
            the same call resumes the run; the draws are those of an uninterrupted run (on the same machine
            and versions). ``rng=None`` uses the seed of the existing run. The folder does not contain the
            data. All workers of a cluster must have access to it. Enumeration resumes with the remaining
            models.
        **options
            Options of the sampler; see the notes.

        Returns
        -------
        SelectionResults
            The posterior. If sampling was interrupted by Ctrl-C, it uses the draws so far, with a
            ConvergenceWarning; inclusion probabilities of ``"collapsed"`` are then averages over complete
            batches of draws.

        Raises
        ------
        ParameterError
            If a parameter is out of range.
        UnknownNameError
            If the sampler or an option is unknown.
        NotAvailableError
            If the sampler does not support this model.
        StoreError
            If the checkpoint belongs to another run or version, is damaged or is in use.
        DataError
            If a model has no posterior: it separates the classes completely under a mixture of g-priors with
            too heavy tails, or under a prior that needs the maximum of its likelihood.

        Warns
        -----
        ConvergenceWarning
            If chains disagree, have not converged, are stuck or have fewer than 100 effective draws, or if
            the run was interrupted; if marginal likelihoods of relevant models, or coefficients, have too few
            effective importance draws; if the audit finds a relevant model that no chain has visited, and the
            run does not restart.
        DispersionWarning
            If counts or proportions are overdispersed.
        SeparationWarning
            If the likelihood of a model with non-negligible posterior probability has no maximum, because the
            model separates the classes (or, for counts, the rows without events). Its posterior depends
            strongly on the coefficient prior.

        Notes
        -----
        <sampler options>
        """
        found, usual = sampler_named(sampler, self.regression, self.space, options)
        options = {**usual, **options}
        names = [item.name for item in fields(found.options)]
        for name in options:
            if name not in names:
                raise unknown_option(name, f"for sampler={found.name!r}", names, self.fit)
        with named(f"sampler={found.name!r}"):
            chosen = found.options(**options)
        settings = FitSettings.check(
            draws=draws,
            mcse=mcse,
            max_draws=max_draws,
            max_seconds=max_seconds,
            warm=found.warm,
            burn_in=burn_in,
            thin=thin,
            chains=chains,
            rng=rng,
            n_jobs=n_jobs,
            progress=progress,
            checkpoint=checkpoint,
            about=None if checkpoint is None else comparable.identity(self, found.name, chosen),
        )
        other = stand_in(self.regression, found.name, options) if sampler == AUTO else None
        posterior, settings, chosen = runs.run(self, found.make(), settings, chosen, other)
        runs.warn_of(posterior)
        return self._results_class()(self, posterior, settings.finished(posterior.asked), options=chosen)

    def sensitivity(
        self,
        coef_priors: Mapping[str, Any] | Sequence[Any] | None = None,
        *,
        model_priors: Mapping[str, ModelPrior] | Sequence[ModelPrior] | None = None,
        g: Sequence[float | str] | None = None,
        scale: Sequence[float] | None = None,
        rng: RNGLike | SeedLike | None = None,
        **fit_options: Any,
    ) -> SensitivityResults:
        """Fit the model under several priors, to the same rows and with the same constraints.

        Parameters
        ----------
        coef_priors : mapping of str to prior, or sequence of priors, optional
            Priors on the coefficients; priors in a sequence are named by their repr.
        model_priors : mapping of str to prior, or sequence of priors, optional
            Priors over models. If priors on the coefficients are also given, every pair is fitted.
        g : sequence of float or str, optional
            Instead of `coef_priors`: values of g (numbers, "n" or "4n") for g-priors with the other
            parameters of the model's g-prior, or else of the default of its family. For mixtures of g-priors
            use `coef_priors`.
        scale : sequence of float, optional
            Instead of `coef_priors`: scales of normal priors, with the other parameters of the model's normal
            prior, if it has one.
        rng : None, int, SeedSequence or Generator
            Source of randomness; every fit gets its own stream.
        **fit_options
            Options of ``fit``, the same for all fits.

        Returns
        -------
        SensitivityResults
            Inclusion by term and prior, the best models, log marginal likelihoods, a plot, and all results.

        Raises
        ------
        ParameterError
            If nothing is varied, or a list of priors is empty or has repetitions. Errors of a fit name the
            prior.
        KeyboardInterrupt
            After Ctrl-C, even if a single fit would return the draws so far.

        Warns
        -----
        PyrjselWarning
            Warnings of the fits, once each, with the names of the priors.

        Examples
        --------
        >>> import pyrjsel as rj
        >>> births = rj.datasets.birthwt().data
        >>> model = rj.logit("low ~ lwt + smoke + ht", births)
        >>> model.sensitivity(model_priors=[rj.Uniform(), rj.Bernoulli(0.1)], rng=1).inclusion.round(1)
        prior  Uniform()  Bernoulli(p=0.1)
        term
        lwt          0.8               0.2
        smoke        0.4               0.1
        ht           0.7               0.1
        """
        stream = check_rng(rng)
        return sensitivity.refit_over(self, coef_priors, model_priors, g, scale, stream, fit_options)

    def cross_validate(
        self,
        folds: int | ArrayLike = 10,
        *,
        which: str | Sequence[str] = ("bma", "hpm", "mpm"),
        stratify: bool = True,
        rng: RNGLike | SeedLike | None = None,
        **fit_options: Any,
    ) -> CrossValidation:
        """Predict each row from a fit without its fold, and score the predictions.

        Parameters
        ----------
        folds : int or array_like, default 10
            Number of folds, or a label for each row: rows with the same label (such as a hospital or a year)
            are in the same fold. A Series is aligned by its index.
        which : str or sequence of str, default ("bma", "hpm", "mpm")
            Predictors: the average over all models, the highest-probability or the median probability model
            of each fit.
        stratify : bool, default True
            Whether the folds have similar distributions of the response, if `folds` is a number.
        rng : None, int, SeedSequence or Generator
            Source of randomness of folds and fits.
        **fit_options
            Options of ``fit``, the same for all fits.

        Returns
        -------
        CrossValidation
            Scores over all rows and by fold, differences paired by row, and held-out predictions.

        Raises
        ------
        ParameterError
            If a parameter is not valid.
        DataError
            If the labels do not match the rows. Errors of a fit, such as training rows of a single class,
            name the fold.
        NotAvailableError
            If the training data came in chunks, of which only sums were kept.
        KeyboardInterrupt
            After Ctrl-C, even if a single fit would return the draws so far.

        Warns
        -----
        PyrjselWarning
            Warnings of the fits, once each, with the folds.

        Notes
        -----
        The score of a row is the log predictive density under the fit without its fold, averaged over some
        thousand posterior draws before the logarithm. It includes constants: a row of w trials counts as the
        number of successes, with the binomial coefficient, and a mean of w counts as their sum. For linear
        models, draws are of coefficients and sigma^2, and densities are normal with variance sigma^2 / w. The
        error of the average is largest for responses far from all predictions. Rows of weight zero are
        omitted.

        The design is that of all rows: levels of factors, knots of splines, and states of other transforms.
        Data-dependent parts of the priors (n, g-priors, standardised columns) use the training rows. If these
        lack a level of a factor, or a cell of an interaction, a g-prior leaves its column out of the term,
        with a RankWarning; rows of the fold with this level or cell have no prediction, and are left out of
        all scores. (Of a factor with two levels no column would remain: models with it have probability 0.) A
        Normal prior keeps all columns.

        Examples
        --------
        >>> import pyrjsel as rj
        >>> births = rj.datasets.birthwt().data
        >>> cv = rj.logit("low ~ lwt + smoke + ht", births).cross_validate(5, rng=1)
        >>> cv.scores["log_score"].round(2).to_dict()
        {'bma': -0.6, 'hpm': -0.63, 'mpm': -0.62}
        """
        stream = check_rng(rng)
        return cross_validation.cross_validated(self, folds, which, stratify, stream, fit_options)

    # ------------------------------------------------------------------ specific to a family

    def _check_rows(self) -> None:
        """Raise :class:`DataError` if response, columns, weights or offset cannot be used."""
        data = self.data
        if isinstance(data, ChunkedRows):
            sums = data.sums
            check_columns(self.design, sums.largest, sums.extras)
            check_offset(self._family, sums.extras)
            y, w = sums.ends.T
            self._family.check(y, w if "weights" in sums.extras else None, self.design.response)
            return
        assert isinstance(data, DesignData)  # overridden for linear models
        check_columns(self.design, largest_values(data), data.extras)
        check_offset(self._family, data.extras)
        self._family.check(self._response(data), data.extras.get("weights"), self.design.response)

    def _response(self, data: DesignData | SummedRows) -> FloatArray:
        """Return the response (n,) of rows as the family takes it."""
        return data.y

    def _predicted(self, made: Prediction, rng: np.random.Generator) -> Prediction:
        """Return predictions with what only this model can say of new rows."""
        return made

    def _response_facts(self) -> list[tuple[str, str]]:
        """Return labels and values that describe the response in a summary."""
        if self._facts is not None:
            return self._facts
        if isinstance(self.data, ChunkedRows):
            return self.data.facts(self._family)
        return self._family.facts(self._response(self.data), self.data.extras.get("weights"))

    def _n_observations(self) -> float:
        """Return the n of priors."""
        if isinstance(self.data, ChunkedRows):
            return self.data.sums.statistics.weight
        return self._family.observations(self._response(self.data), self.data.extras.get("weights"))

    def _make_regression(self) -> Regression | GaussianRegression | ChunkedRegression:
        """Return the regression used by the samplers."""
        if isinstance(self.data, ChunkedRows):
            sizes = [len(term.columns) for term in self.design.terms]
            return self.data.regression(sizes, self._settled, self._family)
        return self._regression_with(self._settled)

    def _regression_with(self, prior: CoefficientPrior) -> Regression:
        assert not isinstance(self.data, ChunkedRows)
        return Regression.build(
            self.data.X,
            self._response(self.data),
            [len(term.columns) for term in self.design.terms],
            prior,
            weights=self.data.extras.get("weights"),
            offset=self.data.extras.get("offset"),
            family=self._family,
        )

    def _make_marginal(self, posterior: Posterior) -> SingleModel:
        """Return the evaluator of single models for the results."""
        regression = self.regression
        if posterior.single is not None:
            found: SingleModel = posterior.single
            return found
        assert isinstance(regression, Regression)
        return laplace.MarginalLikelihood(
            regression, posterior.entropy, posterior.pairs, regression.n_columns
        )

    def _priors(self) -> dict[str, object]:
        """Return the priors other than that over models, by label."""
        g = None if self.g is None else 0.0 if self.g < LEAST_G else float(f"{self.g:.4g}")
        shared = {} if g is None else {"common g": g}
        return {"coefficient prior": self.coef_prior, **shared}

    def _prior_numbers(self) -> dict[str, tuple[str, list[FloatArray]]]:
        """Return words and arrays that identify these priors, regardless of their notation."""
        assert isinstance(self.regression, Regression | ChunkedRegression)
        prior = self.regression.prior
        # The compiled precision also distinguishes the kinds of priors and intercepts.
        word = "" if prior.mixture is None and prior.rule is None else repr(self._settled)
        return {"coefficient prior": (word, [prior.precision, prior.shift, prior.penalty])}

    @property
    def _needs_independence(self) -> bool:
        """Whether models with linearly dependent columns have no coefficient prior."""
        return self.regression.prior.rank_tol > 0

    @property
    def _lacks_models(self) -> bool:
        """Whether models that satisfy the constraints have no coefficient prior."""
        return bool(self.dependent) and self._needs_independence

    @kept_property
    def _existence(self) -> Existence | None:
        if not self._lacks_models:
            return None
        found = IndependentColumns(self.regression, self.space)
        if not found.exists(self.space.empty_model()[None])[0]:
            raise DataError("No feasible model has linearly independent columns, as the g-prior needs.")
        return found

    # ------------------------------------------------------------------ description

    @property
    def nobs(self) -> int:
        """Number of rows used."""
        return self.data.n

    def _repr_html_(self) -> str:
        return report.model_html(self.title, self, summary.model_facts(self))

    def __repr__(self) -> str:
        formula = repr(self.design.formula) if self.design.formula else f"{self.design.response} from arrays"
        return f"<{type(self).__name__} {formula}: {self.nobs} rows, {counted(len(self.term_names), 'term')}>"

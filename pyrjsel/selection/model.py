"""What the selection models of all families share: construction, constraints, and ``fit``."""

import os
import warnings
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping
from dataclasses import fields, replace
from typing import Any, ClassVar, Self, cast

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from pyrjsel._errors import DataError, RankWarning
from pyrjsel._once import kept_property
from pyrjsel._typing import BoolArray, FloatArray, RNGLike, SeedLike
from pyrjsel._validate import bad_value, counted, listed, unknown_name, unknown_option
from pyrjsel.design import Design, DesignData, TableLike, as_pandas
from pyrjsel.families import Family
from pyrjsel.report import model_html
from pyrjsel.runtime import FitSettings
from pyrjsel.selection._docs import shared_text
from pyrjsel.selection.audit import warn_of_missed
from pyrjsel.selection.checks import (
    check_columns,
    check_right_side,
    dependent_alone,
    dependent_terms,
)
from pyrjsel.selection.choices import Choices
from pyrjsel.selection.describe import model_facts
from pyrjsel.selection.gaussian import GaussianRegression
from pyrjsel.selection.identity import identity
from pyrjsel.selection.listing import MOST_MODELS
from pyrjsel.selection.marginal import MarginalLikelihood
from pyrjsel.selection.posterior import Posterior
from pyrjsel.selection.predict import SingleModel
from pyrjsel.selection.priors import GPrior, Normal
from pyrjsel.selection.problem import Regression
from pyrjsel.selection.rank import IndependentColumns
from pyrjsel.selection.results import SelectionResults
from pyrjsel.selection.studies import Studies
from pyrjsel.selection.summed import SummedRows, largest_values
from pyrjsel.space import (
    BetaBinomial,
    Existence,
    ModelPrior,
    ModelSpace,
    OverSpace,
    count_dfs,
    named_costs,
)

# A sampler: what its options are, and what finds the posterior from regression, space, settings and options.
Sampler = tuple[type, Callable[..., Posterior]]


class Selection(Studies, OverSpace):
    """Bayesian variable selection; the families are its subclasses.

    A subclass says what its title, family, coefficient priors and samplers are, and has the docstring that
    users read. One whose data are not the rows of a :class:`Regression` overrides what stands under "what
    depends on the family"; one with more parameters calls `_from_arrays` and `_from_rows` with
    :class:`Choices` of its own.
    """

    title: ClassVar[str]
    _owner: ClassVar[str]
    _family: ClassVar[Family]
    # Coefficient priors that the family knows, and the one that is taken where none is given.
    _coef_priors: ClassVar[tuple[type, ...]] = (GPrior, Normal)
    _default_prior: ClassVar[Any]
    _samplers: ClassVar[Mapping[str, Sampler]]  # by name
    # What a summary says of the response, where its rows are not there.
    _facts: list[tuple[str, str]] | None = None

    def __init__(
        self,
        endog: ArrayLike | pd.Series,
        exog: pd.DataFrame | ArrayLike,
        *,
        coef_prior: GPrior | Normal | None = None,
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
        self._from_arrays(endog, exog, choices, {"weights": weights, "offset": offset}, missing, 3)

    def _from_arrays(
        self,
        endog: ArrayLike | pd.Series,
        exog: pd.DataFrame | ArrayLike,
        choices: Choices,
        extras: Mapping[str, str | ArrayLike | None],
        missing: str,
        stacklevel: int,
    ) -> None:
        """Fill a new model; of `stacklevel`, 2 is the caller of this method."""
        exog = as_pandas(exog)
        design, data = Design.from_arrays(
            endog, exog, extras=extras, missing=missing, owner=self._owner, stacklevel=stacklevel + 1
        )
        names = [term.name for term in design.terms]
        known: Iterable[Hashable] = exog.columns if isinstance(exog, pd.DataFrame) else names
        self._build(design, data, replace(choices, known=tuple(known)), stacklevel + 1)

    @classmethod
    @shared_text
    def from_formula(
        cls,
        formula: str,
        data: TableLike,
        *,
        coef_prior: GPrior | Normal | None = None,
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
        stacklevel: int = 2,
    ) -> Self:
        """Make a model from a formula and a data frame.

        Parameters
        ----------
        <formula>
        coef_prior, model_prior, costs, budget, always, heredity, max_size : optional
            As for the class.
        weights, offset, missing : optional
            As for the class.
        <functions>
        stacklevel : int, default 2
            Of warnings about the data: 2 is the caller of this method.

        Returns
        -------
        Selection
            Of the class that was called, ready to fit.

        Raises
        ------
        FormulaError
            If the formula cannot be read or calls what it may not.
        DataError, ParameterError, UnknownNameError
            As for the class.
        """
        choices = Choices(coef_prior, model_prior, costs, budget, always, heredity, max_size)
        extras = {"weights": weights, "offset": offset}
        return cls._from_rows(formula, data, choices, extras, missing, functions, stacklevel + 1)

    @classmethod
    def _from_rows(
        cls,
        formula: str,
        data: Any,
        choices: Choices,
        extras: Mapping[str, str | ArrayLike | None],
        missing: str,
        functions: Mapping[str, Callable[..., Any]] | None,
        stacklevel: int,
    ) -> Self:
        """Make a model; of `stacklevel`, 2 is the caller of this method."""
        data = as_pandas(data)
        design, rows = Design.from_formula(
            formula,
            data,
            extras=extras,
            missing=missing,
            functions=functions,
            owner=cls._owner,
            stacklevel=stacklevel + 1,
        )
        model = cls.__new__(cls)
        model._build(design, rows, replace(choices, known=tuple(data)), stacklevel + 1)
        return model

    def _restrict(self, keep: Collection[str], stacklevel: int = 2) -> Self:
        """Return the model of the terms `keep`, those of `always` among them, on the same rows."""
        inside = np.repeat([name in keep for name in self.term_names], self.space.columns)
        choices = self._restricted_choices(keep, inside)
        return self._remake(self.design.restrict(keep), self.data.restrict(inside), choices, stacklevel + 1)

    def _remake(
        self, design: Design, data: DesignData | SummedRows, choices: Choices, stacklevel: int
    ) -> Self:
        """Return a model of the same class, of other rows, terms or choices; `stacklevel` as above."""
        model = type(self).__new__(type(self))
        model._build(design, data, choices, stacklevel + 1)
        return model

    def _restricted_choices(self, keep: Collection[str], inside: BoolArray) -> Choices:
        """Return the choices for the terms `keep`, which own the columns `inside` (D,)."""
        return self._choices.restrict(self.space.context, keep)

    def _build(
        self, design: Design, data: DesignData | SummedRows, choices: Choices, stacklevel: int
    ) -> None:
        self.design, self.data = design, data
        check_right_side(design, self._owner)
        self._check_rows()
        self._constrain(choices, self._n_observations())
        self.regression = self._make_regression()
        dependent = self._dependent_terms()
        self.dependent = tuple(self.space.names[j] for j in dependent)
        if self._lacks_models:
            text = (
                "Columns are linearly dependent, on one another or on the intercept, in "
                f"{len(self.dependent)} of {self.space.n_terms} terms: {listed(self.dependent)}. Models that "
                "hold all terms of a dependence have no g-prior and get posterior probability 0; a Normal "
                "prior keeps them."
            )
            alone = [self.space.names[j] for j in dependent_alone(self.regression, dependent)]
            if alone:
                text += (
                    f" No model can hold {listed(alone)}, whose columns are dependent by themselves: splines "
                    "by cr(), cc() and te() need constraints='center', and bs() no include_intercept."
                )
            warnings.warn(text, RankWarning, stacklevel=stacklevel)

    def _constrain(self, choices: Choices, n_observations: float) -> None:
        """Set priors and the space of models, for the n of priors."""
        self.coef_prior = self._known_prior(choices.coef_prior)
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
            owner=self._owner,
        )
        self._priced = costs is not None
        # Copies, checked by now: what the user does with the originals later changes nothing here.
        fixed = tuple(name for name, free in zip(self.space.names, self.space.free, strict=True) if not free)
        prices = None if costs is None else dict(costs.items())
        self._choices = replace(choices, costs=prices, always=fixed)

    def _known_prior(self, given: Any) -> Any:
        """Return the coefficient prior, or that of the family where none is given."""
        if given is None:
            return self._default_prior
        if not isinstance(given, self._coef_priors):
            names = [kind.__name__ for kind in self._coef_priors]
            several = f"{', '.join(names[:-1])} or {names[-1]}"
            raise bad_value("coef_prior", self._owner, f"a {several}, such as {self._default_prior!r}", given)
        return given

    # ------------------------------------------------------------------ what depends on the family

    def _check_rows(self) -> None:
        """Raise :class:`DataError` if response, columns, weights or offset cannot be used."""
        data = self.data
        assert isinstance(data, DesignData)  # linear models see to rows that were summed over
        check_columns(self.design, largest_values(data), data.extras, self._owner)
        self._family.check(data.y, data.extras.get("weights"), self.design.response)

    def _response_facts(self) -> list[tuple[str, str]]:
        """Return labels and values that describe the response in a summary."""
        if self._facts is not None:
            return self._facts
        return self._family.facts(self.data.y, self.data.extras.get("weights"))

    def _n_observations(self) -> float:
        """Return the n of priors: a row that stands for several counts as often."""
        weights = self.data.extras.get("weights")
        return float(self.data.y.size if weights is None else weights.sum())

    def _make_regression(self) -> Regression | GaussianRegression:
        """Return what the samplers see of the data."""
        return Regression.build(
            self.data.X,
            self.data.y,
            [len(term.columns) for term in self.design.terms],
            self.coef_prior,
            weights=self.data.extras.get("weights"),
            offset=self.data.extras.get("offset"),
            family=self._family,
        )

    def _make_marginal(self, posterior: Posterior) -> SingleModel:
        """Return what the results ask about single models."""
        regression = self.regression
        assert isinstance(regression, Regression)
        return MarginalLikelihood(regression, posterior.entropy, posterior.pairs, regression.n_columns)

    def _dependent_terms(self) -> list[int]:
        """Return the terms whose columns take part in a linear dependence."""
        assert isinstance(self.regression, Regression)
        return dependent_terms(self.regression)

    def _independent_columns(self) -> IndependentColumns:
        """Return which models have linearly independent columns."""
        regression = cast("Regression", self.regression)
        precision = regression.prior.precision[1:, 1:]
        return IndependentColumns(
            regression,
            lambda columns: precision[np.ix_(columns, columns)],
            regression.y.size - 1,
            regression.prior.rank_tol,
            self.space,
        )

    def _priors(self) -> dict[str, object]:
        """Return the priors that are not over models, by what they are called."""
        return {"coefficient prior": self.coef_prior}

    def _prior_numbers(self) -> dict[str, list[FloatArray]]:
        """Return arrays that tell these priors from others, however they are written."""
        assert isinstance(self.regression, Regression)
        prior = self.regression.prior
        # The compiled precision tells the kinds of priors and of intercepts apart, too.
        return {"coefficient prior": [prior.precision, prior.shift, prior.penalty]}

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
        found = self._independent_columns()
        if not found.exists(self.space.empty_model()[None])[0]:
            raise DataError("No feasible model has linearly independent columns, as the g-prior needs.")
        return found

    # ------------------------------------------------------------------ what it is

    @property
    def nobs(self) -> int:
        """Number of rows used."""
        return self.data.n

    def _repr_html_(self) -> str:
        return model_html(self.title, self, model_facts(self))

    def __repr__(self) -> str:
        formula = repr(self.design.formula) if self.design.formula else f"{self.design.response} from arrays"
        return f"<{type(self).__name__} {formula}: {self.nobs} rows, {counted(len(self.term_names), 'term')}>"

    def fit(
        self,
        *,
        sampler: str = "auto",
        draws: int = 10_000,
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
        sampler : {"auto", "enumerate", "gibbs", "rjmcmc", "population", "collapsed"}
            ``"enumerate"`` integrates every feasible model; ``"rjmcmc"`` walks over models and
            coefficients together; ``"population"`` does so at several temperatures that exchange
            states; ``"collapsed"`` walks over models alone, coefficients integrated out. ``"auto"``
            enumerates up to 2**20 feasible models; beyond, it is ``"collapsed"``. ``"gibbs"``, for linear
            models alone, draws one term after the other from its full conditional; it is ``"auto"`` for
            ``SpikeSlab`` and priors with ``scaled=False``, which ``"collapsed"`` does not know. For linear
            models ``"rjmcmc"`` and ``"population"`` draw sigma^2 too (and the g of a mixture), and know all
            priors but ``SpikeSlab``; coefficients that enter are proposed given all others, so that chains
            move slowly among columns that are nearly dependent, or many in every model. Errors of
            ``"collapsed"`` and ``"gibbs"`` are small where chains move easily, and do not see modes that no
            chain has visited: where there may be some, compare with a run at several `temperatures`, or
            with more chains.
        draws : int, default 10_000
            Kept draws a chain, after burn-in and thinning. One iteration of reversible jumps proposes as
            many flips as there are free terms, swaps, and an update of all coefficients; one of
            ``"collapsed"`` proposes each free term `sweeps` times.
        burn_in : int, optional
            Iterations left out at the start of each chain; None is ``draws // 5``.
        thin : int, default 1
            Keep every `thin`-th iteration.
        chains : int, default 4
            Independent chains, whose agreement is checked.
        rng : None, int, SeedSequence or Generator
            Source of randomness. The same seed gives the same draws whatever `n_jobs` is.
        n_jobs : int, optional
            Workers; None follows ``joblib.parallel_config`` or uses a thread a chain, at most as many as
            there are processors. Under ``joblib.parallel_config(backend="loky")`` or ``"dask"`` workers are
            processes, of this machine or a cluster: the draws are the same, data are sent once, and the
            chains of a worker that dies are begun again.
        progress : bool, optional
            Whether to show progress; None shows it on terminals and in notebooks after a second.
        checkpoint : str or path-like, optional
            A folder where chains write down, every few seconds, what they have drawn and where they are. The
            same call goes on from there after a crash or Ctrl-C, to the same draws as without (on the same
            machine and versions); ``rng=None`` is the seed of the run that is there. It holds no rows of the
            data. The workers of a cluster must all see the folder. Enumeration goes on with the models that
            are left.
        **options
            Of the sampler. ``enumerate``: `integration` ("importance" or "laplace"), `pairs` (of
            importance draws a model, 256). ``rjmcmc``: `proposal` ("conditional" or "full"), `swaps`
            (proposals an iteration), `trades` (proposals an iteration in which one term comes and as many
            leave as a bound asks for, or the reverse: 2 where prices differ or under heredity, else 0),
            `families` (proposals an iteration that move an interaction with all that it needs: a quarter of
            their number), `start` ("empty" or terms). ``population``: those, `temperatures`
            ("exact", "fixed" or "paper", which is biased), `cold` and `hot` (parameters of the laws of
            temperatures above and below 1; for linear models above the least power of the posterior that
            has an integral), `tune` (the laws in burn-in, for 20 % of exchanges).
            ``collapsed``: `sweeps` (proposals of each free term from one draw to the next: 1 for linear
            models, 10 for others), `slots` (moves in each sweep that fill the place of a random term from
            its full conditional: 1, under a budget or largest size 5), `families` (interactions drawn
            with all that heredity makes them need, in a sweep: 1), `temperatures` (how many, or the
            powers of the posterior themselves from 1 downwards; 1; slow among thousands of terms without a
            `max_size`, where hot models have hundreds), `start`; and for models that are not linear
            `integration` and `pairs` (64), as for ``enumerate``. ``gibbs``: `sweep` ("collapsed",
            coefficients integrated out, or "conditional", given them: for ``SpikeSlab`` alone), `slots`
            (moves in which a term takes the place of another, an iteration), `families`, `start`.

        Returns
        -------
        SelectionResults
            After Ctrl-C while sampling, of the draws so far, with a ConvergenceWarning. Inclusion
            probabilities of ``"collapsed"`` are then averages over whole batches of draws alone.

        Raises
        ------
        ParameterError
            If a parameter is out of range.
        UnknownNameError
            If the sampler or an option is not known.
        NotAvailableError
            If the sampler cannot do this model.
        StoreError
            If the checkpoint is that of another run, of another version, damaged or in use.

        Warns
        -----
        ConvergenceWarning
            If chains disagree, have not converged, are stuck, or are worth fewer than 100 independent
            draws, or if the run was interrupted; if marginal likelihoods of models that matter, or
            coefficients, are averages of too few draws; if a search finds a model that matters and that no
            chain visited (see ``audit`` of the results).
        SeparationWarning
            If the likelihood of a model of some posterior probability has no maximum, since the model
            separates the classes (or, for counts, sets rows without events apart); its posterior is
            proper, and depends on the coefficient prior.
        """
        owner = f"{self._owner}.fit"
        if not isinstance(sampler, str) or sampler not in ("auto", *self._samplers):
            raise unknown_name(sampler, "the sampler", owner, ("auto", *self._samplers))
        if sampler == "auto":
            sampler = "enumerate" if self._enumerable() else self._large_sampler()
        kind, find = self._samplers[sampler]
        names = [item.name for item in fields(kind)]
        for name in options:
            if name not in names:
                raise unknown_option(name, f"for sampler={sampler!r} the option", owner, names, self.fit)
        chosen = kind(**options)
        settings = FitSettings.check(
            owner,
            draws=draws,
            burn_in=burn_in,
            thin=thin,
            chains=chains,
            rng=rng,
            n_jobs=n_jobs,
            progress=progress,
            checkpoint=checkpoint,
            about=None if checkpoint is None else identity(self, sampler, chosen),
        )
        posterior = find(self.regression, self.space, settings, chosen)
        warn_of_missed(self, posterior, 2)
        return SelectionResults(self, posterior, settings, options=chosen)

    def _large_sampler(self) -> str:
        """Return what "auto" is where there are too many models to enumerate."""
        return "collapsed"

    def _enumerable(self) -> bool:
        return count_dfs(self.space, MOST_MODELS)[1]

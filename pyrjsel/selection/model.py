"""The models that users build: a formula (or arrays), priors and constraints, and ``fit``."""

import warnings
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import fields, replace
from functools import cached_property
from numbers import Integral
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from pyrjsel._errors import NotAvailableError, RankWarning
from pyrjsel._typing import RNGLike, SeedLike
from pyrjsel._validate import bad_value, check_bool, check_int, check_rng, unknown_name
from pyrjsel.design import Design, DesignData
from pyrjsel.families import Binomial
from pyrjsel.selection.checks import (
    check_columns,
    check_right_side,
    dependent_terms,
    listed,
    named_costs,
)
from pyrjsel.selection.choices import Choices
from pyrjsel.selection.enumerate import MOST_MODELS, EnumerateOptions, enumerate_posterior
from pyrjsel.selection.population import PopulationOptions, population_posterior
from pyrjsel.selection.posterior import FitSettings
from pyrjsel.selection.priors import GPrior, Normal
from pyrjsel.selection.problem import Regression
from pyrjsel.selection.results import SelectionResults
from pyrjsel.selection.rjmcmc import RJMCMCOptions, rjmcmc_posterior
from pyrjsel.space import (
    BetaBinomial,
    ModelPrior,
    ModelSpace,
    PriorInclusion,
    count_dfs,
    count_models,
    prior_inclusion,
)

# Samplers by name: what their options are, and what finds the posterior.
SAMPLERS: dict[str, tuple[type, Callable[..., Any]]] = {
    "enumerate": (EnumerateOptions, enumerate_posterior),
    "rjmcmc": (RJMCMCOptions, rjmcmc_posterior),
    "population": (PopulationOptions, population_posterior),
}
# Limits of a run: rows of draws are counted in int32, iterations of a chain in int64.
MOST_DRAWS, MOST_CHAINS = 10**9, 10_000


class LogitSelection:
    """Bayesian variable selection in a logistic regression.

    A model is a subset of the terms; a term (a numeric column, a factor, an interaction, a spline) is
    in or out as a whole, and the intercept is always in. The posterior is over models and their
    coefficients. Made from arrays here, from a formula by :meth:`from_formula` or
    :func:`pyrjsel.logit`.

    Parameters
    ----------
    endog : array_like, shape (n,)
        Response: 0 and 1, or proportions of successes with the numbers of trials as `weights`.
    exog : DataFrame or array_like, shape (n, p)
        One term a column, without a constant column. Text and categories become factors.
    coef_prior : GPrior or Normal, optional
        Prior on the coefficients of a model; None is ``GPrior(g="4n")``.
    model_prior : Uniform, Bernoulli, BetaBinomial, TruncatedPoisson or CostAdjusted, optional
        Prior over models; None is ``BetaBinomial(1, 1)``.
    costs : mapping or Series, optional
        Prices. A key that is a column of the data prices that variable, which a model pays once
        however many of its terms use it; any other key must be a term and replaces that term's price.
    budget : float, optional
        Largest cost of a model, compared with a relative tolerance of 1e-9.
    always : str or iterable of str, default ()
        Terms in every model.
    heredity : {None, "weak", "strong"}
        Whether an interaction needs any (weak) or all (strong) of its lower-order terms.
    max_size : int, optional
        Most terms of a model, those of `always` included.
    weights : str or array_like, optional
        Numbers of trials, a column of the data or one value a row.
    offset : str or array_like, optional
        Added to the linear predictor, a column of the data or one value a row.
    missing : {"drop", "raise"}
        What to do with rows with missing values; those dropped are counted in the summary.

    Attributes
    ----------
    design : Design
    data : DesignData
        The rows that are used.
    space : ModelSpace
    regression : Regression

    Raises
    ------
    DataError
        If the response is not 0, 1 or proportions with weights, has one class only, or the data
        cannot be used (empty, all rows missing, infinite values, negative weights, columns so large
        or small that their squares are not numbers).
    ParameterError
        If a prior, cost, budget or constraint is out of range.
    UnknownNameError
        If a term, variable or column is not known.

    Warns
    -----
    RankWarning
        If columns are linearly dependent: models that hold all of them have no g-prior and get
        posterior probability 0. Prior inclusion probabilities do not allow for that.

    Examples
    --------
    >>> import pyrjsel as rj
    >>> births = rj.datasets.birthwt().data
    >>> model = rj.LogitSelection(births["low"], births[["age", "lwt", "smoke"]])
    >>> model.count_models()
    8
    >>> model.fit(rng=1).inclusion["posterior"].round(2).to_dict()
    {'age': 0.19, 'lwt': 0.48, 'smoke': 0.36}
    """

    title = "Logistic model selection"
    _owner = "LogitSelection"

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
        design, data = Design.from_arrays(
            endog,
            exog,
            extras={"weights": weights, "offset": offset},
            missing=missing,
            owner=self._owner,
            stacklevel=3,
        )
        known = exog.columns if isinstance(exog, pd.DataFrame) else [term.name for term in design.terms]
        choices = Choices(
            coef_prior, model_prior, costs, budget, always, heredity, max_size, known=tuple(known)
        )
        self._build(design, data, choices, 3)

    @classmethod
    def from_formula(
        cls,
        formula: str,
        data: pd.DataFrame | Mapping[str, Any],
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
    ) -> "LogitSelection":
        """Make a model from a formula and a data frame.

        Parameters
        ----------
        formula : str
            Such as ``"low ~ age + C(race) * smoke"``; ``.`` stands for all other columns.
        data : DataFrame or mapping of columns
            The rows.
        coef_prior, model_prior, costs, budget, always, heredity, max_size : optional
            As for the class.
        weights, offset, missing : optional
            As for the class.
        functions : mapping of str to callable, optional
            Functions that the formula may call, by name, beside the documented ones.
        stacklevel : int, default 2
            Of warnings about the data: 2 is the caller of this method.

        Returns
        -------
        LogitSelection
            Ready to fit.

        Raises
        ------
        FormulaError
            If the formula cannot be read or calls what it may not.
        DataError, ParameterError, UnknownNameError
            As for the class.
        """
        design, rows = Design.from_formula(
            formula,
            data,
            extras={"weights": weights, "offset": offset},
            missing=missing,
            functions=functions,
            owner=cls._owner,
            stacklevel=stacklevel + 1,
        )
        model = cls.__new__(cls)
        choices = Choices(
            coef_prior, model_prior, costs, budget, always, heredity, max_size, known=tuple(data)
        )
        model._build(design, rows, choices, stacklevel + 1)
        return model

    def _restrict(self, keep: Collection[str], stacklevel: int = 2) -> "LogitSelection":
        """Return the model of the terms `keep`, those of `always` among them, on the same rows."""
        inside = np.repeat([name in keep for name in self.term_names], self.space.columns)
        data = replace(self.data, X=np.asfortranarray(self.data.X[:, inside]))
        model = type(self).__new__(type(self))
        choices = self._choices.restrict(self.space.context, keep)
        model._build(self.design.restrict(keep), data, choices, stacklevel + 1)
        return model

    def _build(self, design: Design, data: DesignData, choices: Choices, stacklevel: int) -> None:
        family = Binomial()
        self.design, self.data = design, data
        check_right_side(design, self._owner)
        check_columns(design, data, self._owner)
        coef_prior = GPrior("4n") if choices.coef_prior is None else choices.coef_prior
        if not isinstance(coef_prior, (GPrior, Normal)):
            raise bad_value(
                "coef_prior", self._owner, "a GPrior or a Normal, such as GPrior('4n')", coef_prior
            )
        model_prior = BetaBinomial(1, 1) if choices.model_prior is None else choices.model_prior
        self.coef_prior, self.model_prior = coef_prior, model_prior
        weights = data.extras.get("weights")
        family.check(data.y, weights, design.response)
        total = float(data.y.size if weights is None else weights.sum())
        costs = named_costs(choices.costs, choices.known)
        self.space = ModelSpace.build(
            design.terms,
            prior=model_prior,
            always=choices.always,
            costs=costs,
            budget=choices.budget,
            heredity=choices.heredity,
            max_size=choices.max_size,
            data_columns=[str(name) for name in choices.known],
            n_observations=total,
            owner=self._owner,
        )
        self.priced = costs is not None
        # Copies, checked by now: what the user does with the originals later changes nothing here.
        fixed = tuple(name for name, free in zip(self.space.names, self.space.free, strict=True) if not free)
        prices = None if costs is None else dict(costs.items())
        self._choices = replace(choices, costs=prices, always=fixed)
        self.regression = Regression.build(
            data.X,
            data.y,
            [len(term.columns) for term in design.terms],
            coef_prior,
            weights=weights,
            offset=data.extras.get("offset"),
            family=family,
        )
        self.dependent = tuple(self.space.names[j] for j in dependent_terms(self.regression))
        if self.dependent and self.regression.prior.rank_tol > 0:
            warnings.warn(
                "Columns are linearly dependent, on one another or on the intercept, in "
                f"{len(self.dependent)} of {self.space.n_terms} terms: {listed(self.dependent)}. Models that "
                "hold all terms of a dependence have no g-prior and get posterior probability 0; a Normal "
                "prior keeps them.",
                RankWarning,
                stacklevel=stacklevel,
            )

    @property
    def nobs(self) -> int:
        """Number of rows used."""
        return int(self.data.y.size)

    @property
    def term_names(self) -> tuple[str, ...]:
        """Names of the J terms."""
        return self.space.names

    @cached_property
    def prior_inclusion(self) -> PriorInclusion:
        """Prior inclusion probabilities under the constraints."""
        return prior_inclusion(self.space, 0)

    def count_models(self) -> int:
        """Return the number of models that satisfy the constraints.

        Returns
        -------
        int
            Exact, however large.

        Raises
        ------
        NotAvailableError
            If they cannot be counted: terms in large groups that share variables or are tied by
            heredity, or prices without a common unit.
        """
        count = count_models(self.space)
        if count is None:
            raise NotAvailableError(
                "The feasible models of this space cannot be counted: too many of its terms hang together "
                "through shared variables or heredity, or their prices have no common unit."
            )
        return count

    def __repr__(self) -> str:
        formula = repr(self.design.formula) if self.design.formula else f"{self.design.response} from arrays"
        return f"<{type(self).__name__} {formula}: {self.nobs} rows, {len(self.term_names)} terms>"

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
        **options: Any,
    ) -> SelectionResults:
        """Find the posterior over models and coefficients.

        Parameters
        ----------
        sampler : {"auto", "enumerate", "rjmcmc", "population"}
            ``"enumerate"`` integrates every feasible model; ``"rjmcmc"`` walks over models and
            coefficients together; ``"population"`` does so at several temperatures that exchange
            states. ``"auto"`` enumerates up to 2**20 feasible models and is ``"population"`` beyond.
        draws : int, default 10_000
            Kept draws a chain, after burn-in and thinning. One iteration proposes as many flips as
            there are free terms, swaps, and an update of all coefficients.
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
            there are processors.
        progress : bool, optional
            Whether to show progress; None shows it on terminals and in notebooks after a second.
        **options
            Of the sampler. ``enumerate``: `integration` ("importance" or "laplace"), `pairs` (of
            importance draws a model, 256). ``rjmcmc``: `proposal` ("conditional" or "full"), `swaps`
            (proposals an iteration), `start` ("empty" or terms). ``population``: those, `temperatures`
            ("exact", "fixed" or "paper", which is biased), `cold` and `hot` (parameters of the laws of
            temperatures above and below 1), `tune` (the laws in burn-in, for 20 % of exchanges).

        Returns
        -------
        SelectionResults
            After Ctrl-C while sampling, of the draws so far, with a ConvergenceWarning.

        Raises
        ------
        ParameterError
            If a parameter is out of range.
        UnknownNameError
            If the sampler or an option is not known.
        NotAvailableError
            If the sampler cannot do this model.

        Warns
        -----
        ConvergenceWarning
            If chains disagree, have not converged or are stuck, or if the run was interrupted.
        SeparationWarning
            If a model of some posterior probability separates the classes; its posterior is proper,
            and depends on the coefficient prior.
        """
        owner = f"{self._owner}.fit"
        if not isinstance(sampler, str) or sampler not in ("auto", *SAMPLERS):
            raise unknown_name(sampler, "the sampler", owner, ("auto", *SAMPLERS))
        draws = check_int(draws, "draws", owner, low=1, high=MOST_DRAWS)
        if burn_in is not None:
            burn_in = check_int(burn_in, "burn_in", owner, low=0, high=MOST_DRAWS)
        if progress is not None:
            progress = check_bool(progress, "progress", owner)
        if n_jobs is not None and (
            not isinstance(n_jobs, Integral) or isinstance(n_jobs, bool) or n_jobs == 0
        ):
            raise bad_value("n_jobs", owner, "None or an int other than 0", n_jobs)
        settings = FitSettings(
            draws=draws,
            burn_in=draws // 5 if burn_in is None else burn_in,
            thin=check_int(thin, "thin", owner, low=1, high=MOST_DRAWS),
            chains=check_int(chains, "chains", owner, low=1, high=MOST_CHAINS),
            rng=check_rng(rng, owner),
            n_jobs=n_jobs,
            progress=progress,
        )
        if sampler == "auto":
            sampler = "enumerate" if self._enumerable() else "population"
        kind, find = SAMPLERS[sampler]
        chosen = kind(**_known_options(options, sampler, [item.name for item in fields(kind)], owner))
        posterior = find(self.regression, self.space, settings, chosen)
        return SelectionResults(self, posterior, settings)

    def _enumerable(self) -> bool:
        return count_dfs(self.space, MOST_MODELS)[1]


def _known_options(
    options: Mapping[str, Any], sampler: str, known: Sequence[str], owner: str
) -> Mapping[str, Any]:
    for name in options:
        if name not in known:
            raise unknown_name(name, f"for sampler={sampler!r} the option", owner, known)
    return options

"""Base class of selection models: construction and constraints."""

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from pyrjsel._errors import DataError, RankWarning
from pyrjsel._once import kept_property
from pyrjsel._typing import BoolArray, FloatArray
from pyrjsel._validate import bad_value, counted, listed
from pyrjsel._warnings import warn
from pyrjsel.design import Design, DesignData, TableLike, as_pandas
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
from pyrjsel.report import model_html
from pyrjsel.selection.evidence.laplace import MarginalLikelihood
from pyrjsel.selection.models._docstrings import shared_text
from pyrjsel.selection.models.fitting import Fitting
from pyrjsel.selection.posterior import Posterior
from pyrjsel.selection.priors.base import CoefficientPrior
from pyrjsel.selection.priors.registry import GENERALISED
from pyrjsel.selection.protocols import SingleModel
from pyrjsel.selection.regression.gaussian import GaussianRegression
from pyrjsel.selection.regression.glm import Regression
from pyrjsel.selection.regression.rank import IndependentColumns, dependent_alone
from pyrjsel.selection.regression.summed_rows import SummedRows, largest_values
from pyrjsel.selection.regression.validation import check_columns, check_right_side
from pyrjsel.selection.results.summary import model_facts
from pyrjsel.selection.specification import Choices
from pyrjsel.selection.studies.methods import Studies


class Selection(Fitting, Studies, OverSpace):
    """Base class of selection models, one subclass per family.

    A subclass defines its title, family and coefficient priors, and has the user's docstring. If its data are
    not the rows of a :class:`Regression`, it overrides the methods in the section on families; if it has more
    parameters, it calls `_from_arrays` and `_from_rows` with its own :class:`Choices`.
    """

    title: ClassVar[str]
    _family: ClassVar[Family]
    # Coefficient priors supported by the family, and the default.
    _coef_priors: ClassVar[tuple[type[CoefficientPrior], ...]] = GENERALISED
    _default_prior: ClassVar[Any]
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
        data: TableLike,
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
        """Make a model from a formula and a data frame.

        Parameters
        ----------
        <formula>
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
    ) -> Self:
        """Make a model."""
        data = as_pandas(data)
        design, rows = Design.from_formula(
            formula,
            data,
            extras=extras,
            missing=missing,
            functions=functions,
            events=cls._family.events,
        )
        return cls._from_parts(design, rows, replace(choices, known=tuple(data)))

    @classmethod
    def _from_parts(cls, design: Design, data: DesignData | SummedRows, choices: Choices) -> Self:
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
        dependent: tuple[str, ...],
        regression: Any,
    ) -> Self:
        """Make a model without its training data."""
        model = cls.__new__(cls)
        model.design, model.data, model._facts = design, rows, facts
        model._constrain(choices, n_observations)
        model.dependent, model.regression = dependent, regression
        return model

    def _restrict(self, keep: Collection[str]) -> Self:
        """Return the model restricted to the terms `keep`, including those in `always`, on the same rows."""
        inside = np.repeat([name in keep for name in self.term_names], self.space.columns)
        choices = self._restricted_choices(keep, inside)
        return self._remake(self.design.restrict(keep), self.data.restrict(inside), choices)

    def _remake(self, design: Design, data: DesignData | SummedRows, choices: Choices) -> Self:
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

    def _build(self, design: Design, data: DesignData | SummedRows, choices: Choices) -> None:
        self.design, self.data = design, data
        check_right_side(design)
        self._check_rows()
        self._constrain(choices, self._n_observations())
        self.regression = self._make_regression()
        dependent = self.regression.dependent()
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
            warn(text, RankWarning)

    def _constrain(self, choices: Choices, n_observations: float) -> None:
        """Set the priors and the model space; `n_observations` is the n of the priors."""
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
        )
        self._priced = costs is not None
        # Checked copies: later changes of the originals by the user have no effect.
        fixed = tuple(name for name, free in zip(self.space.names, self.space.free, strict=True) if not free)
        prices = None if costs is None else dict(costs.items())
        self._choices = replace(choices, costs=prices, always=fixed)

    def _known_prior(self, given: Any) -> Any:
        """Return the coefficient prior, by default that of the family."""
        if given is None:
            return self._default_prior
        if not isinstance(given, self._coef_priors):
            names = [kind.__name__ for kind in self._coef_priors]
            several = f"{', '.join(names[:-1])} or {names[-1]}"
            raise bad_value("coef_prior", f"a {several}, such as {self._default_prior!r}", given)
        return given

    # ------------------------------------------------------------------ specific to a family

    def _check_rows(self) -> None:
        """Raise :class:`DataError` if response, columns, weights or offset cannot be used."""
        data = self.data
        assert isinstance(data, DesignData)  # overridden for linear models
        check_columns(self.design, largest_values(data), data.extras)
        self._family.check(data.y, data.extras.get("weights"), self.design.response)

    def _response_facts(self) -> list[tuple[str, str]]:
        """Return labels and values that describe the response in a summary."""
        if self._facts is not None:
            return self._facts
        return self._family.facts(self.data.y, self.data.extras.get("weights"))

    def _n_observations(self) -> float:
        """Return the n of priors: the sum of the weights if there are any."""
        weights = self.data.extras.get("weights")
        return float(self.data.y.size if weights is None else weights.sum())

    def _make_regression(self) -> Regression | GaussianRegression:
        """Return the regression used by the samplers."""
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
        """Return the evaluator of single models for the results."""
        regression = self.regression
        assert isinstance(regression, Regression)
        return MarginalLikelihood(regression, posterior.entropy, posterior.pairs, regression.n_columns)

    def _priors(self) -> dict[str, object]:
        """Return the priors other than that over models, by label."""
        return {"coefficient prior": self.coef_prior}

    def _prior_numbers(self) -> dict[str, tuple[str, list[FloatArray]]]:
        """Return words and arrays that identify these priors, regardless of their notation."""
        assert isinstance(self.regression, Regression)
        prior = self.regression.prior
        # The compiled precision also distinguishes the kinds of priors and intercepts.
        return {"coefficient prior": ("", [prior.precision, prior.shift, prior.penalty])}

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
        return model_html(self.title, self, model_facts(self))

    def __repr__(self) -> str:
        formula = repr(self.design.formula) if self.design.formula else f"{self.design.response} from arrays"
        return f"<{type(self).__name__} {formula}: {self.nobs} rows, {counted(len(self.term_names), 'term')}>"

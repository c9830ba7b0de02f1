"""Selection models of times to events, which may be censored."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from pyrjsel._called import called, named
from pyrjsel._errors import FormulaError, ParameterError
from pyrjsel._typing import FloatArray
from pyrjsel._validate import bad_value
from pyrjsel.design import Design, DesignData, TableLike
from pyrjsel.families import Cox
from pyrjsel.families.cox import survival_response
from pyrjsel.model_space import ModelPrior, check_bounds
from pyrjsel.selection.models._docstrings import shared_text
from pyrjsel.selection.models.base import Selection
from pyrjsel.selection.priors.base import CoefficientPrior
from pyrjsel.selection.priors.coefficients import GPrior, Normal
from pyrjsel.selection.regression.glm import Regression
from pyrjsel.selection.regression.summed_rows import SummedRows
from pyrjsel.selection.results.prediction import Prediction
from pyrjsel.selection.results.survival.curves import SurvivalPrediction
from pyrjsel.selection.specification import Choices

# Default of `event`, which is refused: None says that no time is censored.
NOT_SAID = ""


def _check_said(event: object) -> None:
    if isinstance(event, str) and event == NOT_SAID:
        raise ParameterError(
            f"The 'event' parameter of {called()} must be given: a column that is 1 for times of events and "
            "0 for censored times, or event=None if all times are those of events."
        )


@shared_text
class CoxSelection(Selection):
    """Bayesian variable selection in Cox's proportional hazards regression, with right censoring.

    Coefficients are logarithms of hazard ratios: ``np.exp(results.params)`` are ratios for a unit of each
    column. The likelihood is the partial likelihood, that of the order of events. A model is a subset of the
    terms; a term (a numeric column, a factor, an interaction, a spline) is included or excluded as a whole;
    there is no intercept. The posterior is over models and their coefficients. The class takes arrays; for
    formulas use :meth:`from_formula` or :func:`pyrjsel.cox`.

    Parameters
    ----------
    endog : array_like, shape (n,)
        Times, above 0: of an event, or of the end of observation. Times that differ by at most 1.5e-8 of the
        mean time are equal, as in R's ``survival``, unless they are whole numbers.
    exog : DataFrame or array_like, shape (n, p)
        Columns, one per term, without a constant. Columns of text and categories become factors.
    event : str, array_like or None
        1 or True for times of events, 0 or False for censored times: a column of the data, or one value per
        row. None says that all times are those of events. It must be given: without it a column with this
        indicator would be a term.
    ties : {"efron", "breslow"}
        Approximation of the partial likelihood for events at the same time.
    coef_prior : GPrior, mixture of g-priors, Normal, EmpiricalBayes, BIC or AIC, optional
        Prior on the coefficients of a model; None is ``GPrior("n", information="null")``. The n of priors
        over coefficients and models is the number of events, and the information of the null model is that of
        the partial likelihood at coefficients of 0: the default prior has the information of one event.
    <model prior>
    <constraints>
    offset : str or array_like, optional
        Known part of the linear predictor: a column of the data, or one value per row. Predicted hazards
        are relative to the mean offset of the fit.
    <missing>

    Attributes
    ----------
    <attributes>

    Raises
    ------
    ParameterError
        If `event` is not given.
    DataError
        If times are not above 0, `event` is not 0 or 1, there is no event, or the data cannot be used (empty,
        no complete row, infinite values, columns so large or small that their squares overflow or underflow).
    <raises>

    Warns
    -----
    <rank warning>

    Notes
    -----
    Weights, strata, delayed entry and columns that change in time are not supported. The deviance is minus
    twice the log partial likelihood at its maximum. If the columns of a model predict the order of events
    perfectly, marginal likelihoods under mixtures of g-priors are some two per cent too low, which is more
    than their errors say: coefficients of the far tail are seldom drawn.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> import pyrjsel as rj
    >>> rng = np.random.default_rng(5)
    >>> people = pd.DataFrame({"age": rng.normal(size=120), "income": rng.normal(size=120)})
    >>> time = rng.exponential(np.exp(-0.7 * people["age"]))
    >>> model = rj.CoxSelection(np.minimum(time, 1.5), people, event=time < 1.5)
    >>> model.fit(rng=1).inclusion["posterior"].round(1).to_dict()
    {'age': 1.0, 'income': 0.2}
    """

    title = "Cox model selection"
    _family = Cox()
    _default_prior = GPrior("n", information="null")

    def __init__(
        self,
        endog: ArrayLike | pd.Series,
        exog: pd.DataFrame | ArrayLike,
        *,
        event: str | ArrayLike | None = NOT_SAID,
        ties: str = "efron",
        coef_prior: CoefficientPrior | None = None,
        model_prior: ModelPrior | None = None,
        costs: Mapping[str, float] | pd.Series | None = None,
        budget: float | None = None,
        always: str | Iterable[str] = (),
        heredity: str | None = None,
        max_size: int | None = None,
        offset: str | ArrayLike | None = None,
        missing: str = "drop",
    ) -> None:
        _check_said(event)
        family = Cox(ties)
        choices = Choices(coef_prior, model_prior, costs, budget, always, heredity, max_size, family=family)
        self._from_arrays(endog, exog, choices, {"event": event, "offset": offset}, missing)

    @classmethod
    @shared_text
    def from_formula(  # type: ignore[override]  # there are no weights
        cls,
        formula: str,
        data: TableLike,
        *,
        event: str | ArrayLike | None = NOT_SAID,
        ties: str = "efron",
        coef_prior: CoefficientPrior | None = None,
        model_prior: ModelPrior | None = None,
        costs: Mapping[str, float] | pd.Series | None = None,
        budget: float | None = None,
        always: str | Iterable[str] = (),
        heredity: str | None = None,
        max_size: int | None = None,
        offset: str | ArrayLike | None = None,
        missing: str = "drop",
        functions: Mapping[str, Callable[..., Any]] | None = None,
    ) -> Self:
        """Make a model from a formula and a data frame.

        Parameters
        ----------
        <formula>
        event, ties : optional
            As for the class.
        coef_prior, model_prior, costs, budget, always, heredity, max_size : optional
            As for the class.
        offset, missing : optional
            As for the class.
        <functions>

        Returns
        -------
        CoxSelection
            Model, ready to fit.

        Raises
        ------
        FormulaError
            If the formula cannot be parsed or calls a function that is not allowed.
        DataError, ParameterError, UnknownNameError
            As for the class.

        Examples
        --------
        >>> import numpy as np
        >>> import pandas as pd
        >>> import pyrjsel as rj
        >>> rng = np.random.default_rng(5)
        >>> people = pd.DataFrame({"age": rng.normal(size=120), "income": rng.normal(size=120)})
        >>> people["years"] = rng.exponential(np.exp(-0.7 * people["age"]))
        >>> people["died"] = people["years"] < 1.5
        >>> people["years"] = people["years"].clip(upper=1.5)
        >>> results = rj.cox("years ~ age + income", people, event="died").fit(rng=1)
        >>> results.best()
        ('age',)
        >>> results.get_prediction(people[:1]).survival([0.5, 1.0])["mean"].round(1).to_list()
        [0.8, 0.6]
        """
        _check_said(event)
        family = Cox(ties)
        choices = Choices(coef_prior, model_prior, costs, budget, always, heredity, max_size, family=family)
        extras = {"event": event, "offset": offset}
        model = cls._from_rows(formula, data, choices, extras, missing, functions)
        if isinstance(event, str) and event in model.design.variables:
            raise FormulaError(
                f"The formula {formula!r} of {called()} has the 'event' {event!r} on the right-hand side. "
                "Leave it out: it is part of the response."
            )
        check_bounds(model.space)
        return model

    def _build(self, design: Design, data: Any, choices: Choices) -> None:
        offset = data.extras.get("offset")
        if offset is not None and isinstance(choices.family, Cox):
            choices = replace(choices, family=replace(choices.family, centre=float(np.mean(offset))))
        super()._build(design, data, choices)

    def _known_prior(self, given: Any) -> Any:
        found = super()._known_prior(given)
        if getattr(found, "intercept", None) not in (None, "flat"):
            with named(type(found).__name__):
                raise bad_value(
                    "intercept", "None or 'flat' for Cox models, which have none", found.intercept
                )
        return found

    def _response(self, data: DesignData | SummedRows) -> FloatArray:
        event = data.extras.get("event", np.ones(data.n))
        return survival_response(data.y, event, self.design.response)

    def _make_regression(self) -> Regression:
        # Priors of an intercept must not depend on coefficients: that of the partial likelihood is known.
        prior = self._settled
        has_one = isinstance(prior, (GPrior, Normal))
        return self._regression_with(replace(prior, intercept="flat") if has_one else prior)

    def _predicted(self, made: Prediction, rng: np.random.Generator) -> Prediction:
        def fit() -> tuple[FloatArray, FloatArray, FloatArray]:
            offset = self.data.extras.get("offset", np.zeros(self.data.n))
            return self._response(self.data), self.data.X, offset

        return SurvivalPrediction.of(made, fit, rng)


# The short name.
cox = CoxSelection.from_formula

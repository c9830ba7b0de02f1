"""Selection models of positive, skewed responses."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Self

import pandas as pd
from numpy.typing import ArrayLike

from pyrjsel.design import RowSource
from pyrjsel.distributions import LogNormal
from pyrjsel.families import Gamma
from pyrjsel.model_space import ModelPrior, check_bounds
from pyrjsel.selection.models._docstrings import shared_text
from pyrjsel.selection.models.sized import SizedSelection
from pyrjsel.selection.priors.base import CoefficientPrior
from pyrjsel.selection.priors.coefficients import GPrior
from pyrjsel.selection.specification import Choices


@shared_text
class GammaSelection(SizedSelection):
    """Bayesian variable selection in a gamma regression with log link.

    Positive, skewed responses, such as costs, times and concentrations, have the variance ``mu^2 / shape``:
    their coefficient of variation is the same in all rows. Coefficients are logarithms of ratios of means. A
    model is a subset of the terms; a term (a numeric column, a factor, an interaction, a spline) is included
    or excluded as a whole; the intercept is always included. The posterior is over models, their coefficients
    and the shape. The class takes arrays; for formulas use :meth:`from_formula` or :func:`pyrjsel.gamma`.

    Parameters
    ----------
    endog : array_like, shape (n,)
        Response, above 0.
    exog : DataFrame or array_like, shape (n, p)
        Columns, one per term, without a constant. Columns of text and categories become factors.
    shape : float, optional
        The shape, above 0, if it is known; 1 is the exponential distribution. None estimates it together with
        the coefficients, whose prior is then a `GPrior` or a mixture of g-priors, not of observed
        information, `Normal`, or ``EmpiricalBayes("global", information="null")``.
    shape_prior : LogNormal, optional
        Prior on an unknown shape; None is ``LogNormal(0, 2)``, with 95 % of its mass between 0.02 and 50.
    coef_prior : GPrior, mixture of g-priors, Normal, EmpiricalBayes, BIC or AIC, optional
        Prior on the coefficients of a model; None is ``GPrior("n", information="null")``: the information of
        one row in the null model, with its most probable shape. If shape is unknown, the intercept,
        at the mean of the columns, has a normal prior around the log mean response with standard deviation
        2.5 (see `GPrior`); else a flat one.
    <model prior>
    <constraints>
    weights : str or array_like, optional
        Number of observations of which a row is the mean: the response of weight w has the shape w times
        `shape`. A column of the data, or one value per row.
    offset : str or array_like, optional
        Known part of the linear predictor: a column of the data, or one value per row. Usually the logarithm
        of the exposure (time, size) of a row.
    <missing>

    Attributes
    ----------
    <attributes>

    Raises
    ------
    DataError
        If the response has values of 0 or less, or a single value while the shape is unknown, or the data
        cannot be used (empty, no complete row, infinite values, negative weights, columns so large or small
        that their squares overflow or underflow).
    <raises>

    Warns
    -----
    <rank warning>

    Notes
    -----
    With an unknown shape the saturated model has an infinite likelihood: the deviance is minus twice the
    log-likelihood at its maximum over coefficients and shape.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> import pyrjsel as rj
    >>> rng = np.random.default_rng(4)
    >>> stays = pd.DataFrame({"age": rng.normal(size=150), "income": rng.normal(size=150)})
    >>> cost = np.exp(1 + 0.5 * stays["age"].to_numpy()) * rng.gamma(2, 1 / 2, size=150)
    >>> model = rj.GammaSelection(cost, stays)
    >>> model.fit(rng=1).inclusion["posterior"].round(1).to_dict()
    {'age': 1.0, 'income': 0.2}
    """

    title = "Gamma model selection"
    _family = Gamma()
    _default_prior = GPrior("n", information="null")

    def __init__(
        self,
        endog: ArrayLike | pd.Series,
        exog: pd.DataFrame | ArrayLike,
        *,
        shape: float | None = None,
        shape_prior: LogNormal | None = None,
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
        family = self._sized(shape, shape_prior)
        choices = Choices(coef_prior, model_prior, costs, budget, always, heredity, max_size, family=family)
        self._from_arrays(endog, exog, choices, {"weights": weights, "offset": offset}, missing)

    @classmethod
    @shared_text
    def from_formula(
        cls,
        formula: str,
        data: RowSource,
        *,
        shape: float | None = None,
        shape_prior: LogNormal | None = None,
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
        shape, shape_prior : optional
            As for the class.
        coef_prior, model_prior, costs, budget, always, heredity, max_size : optional
            As for the class.
        weights, offset, missing : optional
            As for the class.
        <functions>

        Returns
        -------
        GammaSelection
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
        >>> rng = np.random.default_rng(4)
        >>> stays = pd.DataFrame({"age": rng.normal(size=150), "income": rng.normal(size=150)})
        >>> stays["cost"] = np.exp(1 + 0.5 * stays["age"]) * rng.gamma(2, 1 / 2, size=150)
        >>> rj.gamma("cost ~ age + income", stays).fit(rng=1).best()
        ('age',)
        """
        family = cls._sized(shape, shape_prior)
        choices = Choices(coef_prior, model_prior, costs, budget, always, heredity, max_size, family=family)
        extras = {"weights": weights, "offset": offset}
        model = cls._from_rows(formula, data, choices, extras, missing, functions)
        check_bounds(model.space)
        return model


# The short name.
gamma = GammaSelection.from_formula

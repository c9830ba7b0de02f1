"""Selection models with a size: negative binomial counts, and positive, skewed responses (gamma)."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from pyrjsel._called import called, warn
from pyrjsel._errors import DataWarning
from pyrjsel._validate import bad_value, check_real
from pyrjsel.design import DesignData, RowSource
from pyrjsel.distributions import LogNormal
from pyrjsel.families import Gamma, NegativeBinomial, Sized
from pyrjsel.model_space import ModelPrior, check_bounds
from pyrjsel.selection.models._docstrings import shared_text
from pyrjsel.selection.models.base import Selection
from pyrjsel.selection.priors.base import CoefficientPrior
from pyrjsel.selection.priors.coefficients import GPrior
from pyrjsel.selection.specification import Choices


class SizedSelection(Selection):
    """Base class of models with a size, such as theta of negative binomial counts."""

    _family: Sized

    @classmethod
    def _sized(cls, value: float | None, prior: LogNormal | None) -> Sized:
        """Return the family with a known size or the prior of an unknown one, ``LogNormal(0, 2)`` if None."""
        kind, name = type(cls._family), cls._family.parameter
        chosen = LogNormal(0.0, 2.0) if prior is None else prior
        if not isinstance(chosen, LogNormal):
            raise bad_value(f"{name}_prior", "None or a LogNormal", prior)
        if value is None:
            return kind(None, float(chosen.w), float(chosen.s))
        check_real(value, name, low=0, open_low=True)
        if prior is not None:
            raise bad_value(f"{name}_prior", f"None if {name} is known", prior)
        return kind(float(value))

    def _priors(self) -> dict[str, object]:
        priors, family = super()._priors(), self._family
        if not family.nuisance.names:
            return priors
        return {**priors, f"{family.parameter} prior": LogNormal(family.log_mean, family.log_sd)}


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


# Means of w counts are whole numbers with a probability of about 1 / w: by chance not all, if one in so many.
CHANCE = 1000.0


@shared_text
class NegbinSelection(SizedSelection):
    """Bayesian variable selection in a negative binomial regression with log link.

    Counts have the variance ``mu + mu^2 / theta`` (NB2): that of Poisson counts whose rates vary between rows
    like a gamma variable with the shape theta, which stands for what the terms do not explain. Large values
    of theta give the Poisson model. A model is a subset of the terms; a term (a numeric column, a factor, an
    interaction, a spline) is included or excluded as a whole; the intercept is always included. The posterior
    is over models, their coefficients and theta. The class takes arrays; for formulas use
    :meth:`from_formula` or :func:`pyrjsel.negbin`.

    Parameters
    ----------
    endog : array_like, shape (n,)
        Response: counts, or mean counts of several rows with the numbers of rows as `weights`.
    exog : DataFrame or array_like, shape (n, p)
        Columns, one per term, without a constant. Columns of text and categories become factors.
    theta : float, optional
        The size theta, above 0, if it is known. None estimates it together with the coefficients, whose prior
        is then a `GPrior` or a mixture of g-priors, not of observed information, `Normal`, or
        ``EmpiricalBayes("global", information="null")``.
    theta_prior : LogNormal, optional
        Prior on an unknown theta; None is ``LogNormal(0, 2)``, with 95 % of its mass between 0.02 and 50.
    coef_prior : GPrior, mixture of g-priors, Normal, EmpiricalBayes, BIC or AIC, optional
        Prior on the coefficients of a model; None is ``GPrior("n", information="null")``: the information of
        one row in the null model, with its most probable theta. If theta is unknown, the intercept,
        at the mean of the columns, has a normal prior around the log mean response with standard deviation
        2.5 (see `GPrior`); else a flat one.
    <model prior>
    <constraints>
    weights : str or array_like, optional
        Number of observations of which a row is the mean; their sum is negative binomial with w theta in
        the place of theta. For frequencies of equal rows repeat the rows: a warning says so where the
        weights look like them, but not for rows in chunks. A column of the data, or one value per row.
    offset : str or array_like, optional
        Known part of the linear predictor: a column of the data, or one value per row. Usually the logarithm
        of the exposure (time, population) of a row.
    <missing>

    Attributes
    ----------
    <attributes>

    Raises
    ------
    DataError
        If the response is not counts or mean counts with weights, has no events, or the data cannot be used
        (empty, no complete row, infinite values, negative weights, columns so large or small that their
        squares overflow or underflow).
    <raises>

    Warns
    -----
    DataWarning
        If theta is unknown and weights look like frequencies of equal rows.
    <rank warning>

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> import pyrjsel as rj
    >>> rng = np.random.default_rng(1)
    >>> people = pd.DataFrame({"age": rng.normal(size=150), "income": rng.normal(size=150)})
    >>> rate = np.exp(1 + 0.5 * people["age"]) * rng.gamma(2, 1 / 2, size=150)
    >>> model = rj.NegbinSelection(rng.poisson(rate), people)
    >>> model.fit(rng=1).inclusion["posterior"].round(1).to_dict()
    {'age': 1.0, 'income': 0.4}
    """

    title = "Negative binomial model selection"
    _family = NegativeBinomial()
    _default_prior = GPrior("n", information="null")

    def __init__(
        self,
        endog: ArrayLike | pd.Series,
        exog: pd.DataFrame | ArrayLike,
        *,
        theta: float | None = None,
        theta_prior: LogNormal | None = None,
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
        family = self._sized(theta, theta_prior)
        choices = Choices(coef_prior, model_prior, costs, budget, always, heredity, max_size, family=family)
        self._from_arrays(endog, exog, choices, {"weights": weights, "offset": offset}, missing)

    @classmethod
    @shared_text
    def from_formula(
        cls,
        formula: str,
        data: RowSource,
        *,
        theta: float | None = None,
        theta_prior: LogNormal | None = None,
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
        theta, theta_prior : optional
            As for the class.
        coef_prior, model_prior, costs, budget, always, heredity, max_size : optional
            As for the class.
        weights, offset, missing : optional
            As for the class.
        <functions>

        Returns
        -------
        NegbinSelection
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
        >>> rng = np.random.default_rng(1)
        >>> people = pd.DataFrame({"age": rng.normal(size=150), "income": rng.normal(size=150)})
        >>> rate = np.exp(1 + 0.5 * people["age"]) * rng.gamma(2, 1 / 2, size=150)
        >>> people["visits"] = rng.poisson(rate)
        >>> rj.negbin("visits ~ age + income", people).fit(rng=1).best()
        ('age',)
        """
        family = cls._sized(theta, theta_prior)
        choices = Choices(coef_prior, model_prior, costs, budget, always, heredity, max_size, family=family)
        extras = {"weights": weights, "offset": offset}
        model = cls._from_rows(formula, data, choices, extras, missing, functions)
        check_bounds(model.space)
        return model

    def _check_rows(self) -> None:
        super()._check_rows()
        weights = self.data.extras.get("weights") if isinstance(self.data, DesignData) else None
        if weights is None or not self._family.nuisance.names:
            return
        several = (weights > 1.0) & (self.data.y > 0.0)
        y, weights = self.data.y[several], weights[several]
        if np.log(weights).sum() > np.log(CHANCE) and np.all(y == np.floor(y)):
            warn(
                f"The 'weights' of {called()} are numbers of counts of which a row is the mean, but all "
                "means are whole numbers. If they say how often a row was observed, theta and the selection "
                "are wrong: repeat the rows, as in data.loc[data.index.repeat(data['n'])], without weights.",
                DataWarning,
            )


# The short name.
negbin = NegbinSelection.from_formula

"""The models that users build, one class a family."""

from pyrjsel.families import Binomial, Poisson
from pyrjsel.selection.models._docstrings import shared_text
from pyrjsel.selection.models.base import Selection
from pyrjsel.selection.priors.coefficients import GPrior


@shared_text
class LogitSelection(Selection):
    """Bayesian variable selection in a logistic regression.

    A model is a subset of the terms; a term (a numeric column, a factor, an interaction, a spline) is
    in or out as a whole, and the intercept is always in. The posterior is over models and their
    coefficients. Made from arrays here, from a formula by :meth:`from_formula` or
    :func:`pyrjsel.logit`.

    Parameters
    ----------
    endog : array_like, shape (n,)
        Response: 0 and 1, booleans, labels of two levels, of which the second is the event (in the order of a
        categorical, or sorted: "no", "yes"), or proportions of successes with the numbers of trials as
        `weights`. Predictions are probabilities of the event, which summaries name.
    exog : DataFrame or array_like, shape (n, p)
        One term a column, without a constant column. Text and categories become factors.
    coef_prior : GPrior or Normal, optional
        Prior on the coefficients of a model; None is ``GPrior("n", information="null")``: as much
        information as one trial has in the model without terms, and a flat intercept.
    <model prior>
    <constraints>
    weights : str or array_like, optional
        Numbers of trials, a column of the data or one value a row.
    offset : str or array_like, optional
        Added to the linear predictor, a column of the data or one value a row.
    <missing>

    Attributes
    ----------
    <attributes>

    Raises
    ------
    DataError
        If the response is not 0, 1 or proportions with weights, has one class only, or the data
        cannot be used (empty, all rows missing, infinite values, negative weights, columns so large
        or small that their squares are not numbers).
    <raises>

    Warns
    -----
    <rank warning>

    Examples
    --------
    >>> import pyrjsel as rj
    >>> births = rj.datasets.birthwt().data
    >>> model = rj.LogitSelection(births["low"], births[["age", "lwt", "smoke"]])
    >>> model.count_models()
    8
    >>> model.fit(rng=1).inclusion["posterior"].round(2).to_dict()
    {'age': 0.17, 'lwt': 0.46, 'smoke': 0.34}
    """

    title = "Logistic model selection"
    _family = Binomial()
    _default_prior = GPrior("n", information="null")


@shared_text
class PoissonSelection(Selection):
    """Bayesian variable selection in a Poisson regression with log link.

    A model is a subset of the terms; a term (a numeric column, a factor, an interaction, a spline) is
    in or out as a whole, and the intercept is always in. The posterior is over models and their
    coefficients. Made from arrays here, from a formula by :meth:`from_formula` or
    :func:`pyrjsel.poisson`.

    Parameters
    ----------
    endog : array_like, shape (n,)
        Response: counts, or mean counts of several rows with the numbers of rows as `weights`.
    exog : DataFrame or array_like, shape (n, p)
        One term a column, without a constant column. Text and categories become factors.
    coef_prior : GPrior or Normal, optional
        Prior on the coefficients of a model; None is ``GPrior("n", information="null")``: as much
        information as one row has in the model without terms, and a flat intercept, whatever the unit
        of the exposure. The intercept of ``GPrior("4n")``, the log rate at the mean of the columns, has
        prior mean 0 and standard deviation 2, which is informative for rates of less than 0.02 or more
        than 50.
    <model prior>
    <constraints>
    weights : str or array_like, optional
        How many rows a row counts for: the log-likelihood of a row is ``w (y eta - exp(eta))``. A column
        of the data or one value a row.
    offset : str or array_like, optional
        Added to the linear predictor, a column of the data or one value a row: the logarithm of the
        exposure (time, population) over which a row was counted.
    <missing>

    Attributes
    ----------
    <attributes>

    Raises
    ------
    DataError
        If the response is not counts or mean counts with weights, has no events at all, or the data
        cannot be used (empty, all rows missing, infinite values, negative weights, columns so large
        or small that their squares are not numbers).
    <raises>

    Warns
    -----
    <rank warning>

    Examples
    --------
    Accidents in a year at sites that differ in traffic, width and light, of which the last does nothing.

    >>> import numpy as np
    >>> import pandas as pd
    >>> import pyrjsel as rj
    >>> rng = np.random.default_rng(1)
    >>> sites = pd.DataFrame({"traffic": rng.normal(size=90), "width": rng.normal(size=90)})
    >>> sites["light"] = rng.integers(0, 2, size=90)
    >>> accidents = rng.poisson(np.exp(0.8 + 0.4 * sites["traffic"] - 0.2 * sites["width"]))
    >>> model = rj.PoissonSelection(accidents, sites)
    >>> model.count_models()
    8
    >>> model.fit(rng=1).inclusion["posterior"].round(1).to_dict()
    {'traffic': 1.0, 'width': 0.5, 'light': 0.2}

    Cases among people of whom some wards have ten times as many as others: the logarithm of the exposure is
    an offset.

    >>> rng = np.random.default_rng(2)
    >>> wards = pd.DataFrame({"age": rng.normal(size=60), "income": rng.normal(size=60)})
    >>> wards["people"] = rng.integers(500, 5000, size=60)
    >>> wards["cases"] = rng.poisson(wards["people"] * np.exp(-6 + 0.5 * wards["age"]))
    >>> wards["log_people"] = np.log(wards["people"])
    >>> rj.poisson("cases ~ age + income", wards, offset="log_people").fit(rng=1).best()
    ('age',)
    """

    title = "Poisson model selection"
    _family = Poisson()
    _default_prior = GPrior("n", information="null")


# Short names.
logit = LogitSelection.from_formula
poisson = PoissonSelection.from_formula

"""Selection models of binary responses and of counts without further parameters."""

from pyrjsel.families import Binomial, Cloglog, Poisson, Probit
from pyrjsel.selection.models._docstrings import shared_text
from pyrjsel.selection.models.base import Selection
from pyrjsel.selection.priors.coefficients import GPrior


@shared_text
class LogitSelection(Selection):
    """Bayesian variable selection in a logistic regression.

    A model is a subset of the terms; a term (a numeric column, a factor, an interaction, a spline) is
    included or excluded as a whole; the intercept is always included. The posterior is over models and their
    coefficients. The class takes arrays; for formulas use :meth:`from_formula` or :func:`pyrjsel.logit`.

    <binary>

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
class ProbitSelection(Selection):
    """Bayesian variable selection in a probit regression.

    The probability of the event is ``Phi(eta)``, the standard normal distribution function of the linear
    predictor: coefficients are in standard deviations of a normal variable behind the response, about 0.6
    times those of a logistic regression. A model is a subset of the terms; a term (a numeric column, a
    factor, an interaction, a spline) is included or excluded as a whole; the intercept is always included.
    The class takes arrays; for formulas use :meth:`from_formula` or :func:`pyrjsel.probit`.

    <binary>

    Examples
    --------
    >>> import pyrjsel as rj
    >>> births = rj.datasets.birthwt().data
    >>> model = rj.ProbitSelection(births["low"], births[["age", "lwt", "smoke"]])
    >>> model.fit(rng=1).inclusion["posterior"].round(2).to_dict()
    {'age': 0.18, 'lwt': 0.44, 'smoke': 0.35}
    """

    title = "Probit model selection"
    _family = Probit()
    _default_prior = GPrior("n", information="null")


@shared_text
class CloglogSelection(Selection):
    """Bayesian variable selection in a binary regression with complementary log-log link.

    The probability of the event is ``1 - exp(-exp(eta))``: that of at least one event of a Poisson process
    with rate ``exp(eta)``, and that of an event within an interval in a proportional hazards model. An offset
    is the logarithm of an exposure. Coefficients are log rate ratios. A model is a subset of the terms; a
    term (a numeric column, a factor, an interaction, a spline) is included or excluded as a whole; the
    intercept is always included. The class takes arrays; for formulas use :meth:`from_formula` or
    :func:`pyrjsel.cloglog`.

    <binary>

    Examples
    --------
    >>> import pyrjsel as rj
    >>> births = rj.datasets.birthwt().data
    >>> model = rj.CloglogSelection(births["low"], births[["age", "lwt", "smoke"]])
    >>> model.fit(rng=1).inclusion["posterior"].round(2).to_dict()
    {'age': 0.15, 'lwt': 0.46, 'smoke': 0.3}
    """

    title = "Complementary log-log model selection"
    _family = Cloglog()
    _default_prior = GPrior("n", information="null")


@shared_text
class PoissonSelection(Selection):
    """Bayesian variable selection in a Poisson regression with log link.

    A model is a subset of the terms; a term (a numeric column, a factor, an interaction, a spline) is
    included or excluded as a whole; the intercept is always included. The posterior is over models and their
    coefficients. The class takes arrays; for formulas use :meth:`from_formula` or :func:`pyrjsel.poisson`.

    Parameters
    ----------
    endog : array_like, shape (n,)
        Response: counts, or mean counts of several rows with the numbers of rows as `weights`.
    exog : DataFrame or array_like, shape (n, p)
        Columns, one per term, without a constant. Columns of text and categories become factors.
    coef_prior : GPrior, mixture of g-priors, Normal, EmpiricalBayes, BIC or AIC, optional
        Prior on the coefficients of a model; None is ``GPrior("n", information="null")``: the information of
        one row in the null model, and a flat intercept, whatever the unit of the exposure. Under
        ``GPrior("4n")`` the intercept, the log rate at the mean of the columns, has prior mean 0 and standard
        deviation 2, which is informative for rates below 0.02 or above 50.
    <model prior>
    <constraints>
    weights : str or array_like, optional
        Number of observations that a row represents: the log-likelihood of a row is ``w (y eta - exp(eta))``.
        A column of the data, or one value per row.
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
    <rank warning>

    Examples
    --------
    Accidents per year at sites that differ in traffic, width and light; light has no effect.

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

    Cases in wards of very different populations: the logarithm of the exposure is an offset.

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
probit = ProbitSelection.from_formula
cloglog = CloglogSelection.from_formula
poisson = PoissonSelection.from_formula

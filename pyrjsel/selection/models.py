"""The models that users build, one class a family."""

from pyrjsel.families import Binomial
from pyrjsel.selection._docs import shared_text
from pyrjsel.selection.enumerate import EnumerateOptions, enumerate_posterior
from pyrjsel.selection.model import Sampler, Selection
from pyrjsel.selection.population import PopulationOptions, population_posterior
from pyrjsel.selection.priors import GPrior
from pyrjsel.selection.rjmcmc import RJMCMCOptions, rjmcmc_posterior

# Of the families without an error variance.
SAMPLERS: dict[str, Sampler] = {
    "enumerate": (EnumerateOptions, enumerate_posterior),
    "rjmcmc": (RJMCMCOptions, rjmcmc_posterior),
    "population": (PopulationOptions, population_posterior),
}


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
        Response: 0 and 1, or proportions of successes with the numbers of trials as `weights`.
    exog : DataFrame or array_like, shape (n, p)
        One term a column, without a constant column. Text and categories become factors.
    coef_prior : GPrior or Normal, optional
        Prior on the coefficients of a model; None is ``GPrior(g="4n")``.
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
    {'age': 0.19, 'lwt': 0.48, 'smoke': 0.36}
    """

    title = "Logistic model selection"
    _owner = "LogitSelection"
    _family = Binomial()
    _default_prior = GPrior("4n")
    _samplers = SAMPLERS
    _large = "population"

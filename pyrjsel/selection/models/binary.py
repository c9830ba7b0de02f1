"""Selection models of binary responses under other links than the logit."""

from pyrjsel.families import Cloglog, Probit
from pyrjsel.selection.models._docstrings import shared_text
from pyrjsel.selection.models.base import Selection
from pyrjsel.selection.priors.coefficients import GPrior


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


# Short names.
probit = ProbitSelection.from_formula
cloglog = CloglogSelection.from_formula

"""Likelihood families: log-likelihood, link, deviance and checks of the response."""

from typing import TYPE_CHECKING

from pyrjsel._lazy import lazy

if TYPE_CHECKING:
    from pyrjsel.families.binomial import Binomial
    from pyrjsel.families.cox import Cox
    from pyrjsel.families.family import NONE, Family, Nuisance, Values
    from pyrjsel.families.gamma import Gamma
    from pyrjsel.families.gaussian import Gaussian
    from pyrjsel.families.links import Cloglog, Probit
    from pyrjsel.families.mixtures import averages
    from pyrjsel.families.multinomial import Multinomial
    from pyrjsel.families.negbin import NegativeBinomial
    from pyrjsel.families.poisson import Poisson
    from pyrjsel.families.sized import Sized
    from pyrjsel.families.statistics import Statistic
    from pyrjsel.families.student import Student

__all__ = [
    "NONE",
    "Binomial",
    "Cloglog",
    "Cox",
    "Family",
    "Gamma",
    "Gaussian",
    "Multinomial",
    "NegativeBinomial",
    "Nuisance",
    "Poisson",
    "Probit",
    "Sized",
    "Statistic",
    "Student",
    "Values",
    "averages",
]

# Modules, imported when one of their names is first used.
_OWNERS = {
    "binomial": "Binomial",
    "cox": "Cox",
    "family": "Family NONE Nuisance Values",
    "gamma": "Gamma",
    "gaussian": "Gaussian",
    "links": "Cloglog Probit",
    "mixtures": "averages",
    "multinomial": "Multinomial",
    "negbin": "NegativeBinomial",
    "poisson": "Poisson",
    "sized": "Sized",
    "statistics": "Statistic",
    "student": "Student",
}

__getattr__, __dir__ = lazy(__name__, _OWNERS, "")

"""Likelihood families: log-likelihood, link, deviance and checks of the response."""

from pyrjsel.families.binomial import Binomial
from pyrjsel.families.cox import Cox
from pyrjsel.families.family import Family
from pyrjsel.families.gamma import Gamma
from pyrjsel.families.gaussian import Gaussian
from pyrjsel.families.links import Cloglog, Probit
from pyrjsel.families.multinomial import Multinomial
from pyrjsel.families.negbin import NegativeBinomial
from pyrjsel.families.nuisance import NONE, Nuisance, Values
from pyrjsel.families.poisson import Poisson
from pyrjsel.families.sized import Sized
from pyrjsel.families.smooth_averages import averages
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

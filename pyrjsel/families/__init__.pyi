"""Names of the package, imported from these modules when they are first used."""

from pyrjsel.families.binomial import Binomial as Binomial
from pyrjsel.families.cox import Cox as Cox
from pyrjsel.families.family import NONE as NONE
from pyrjsel.families.family import Family as Family
from pyrjsel.families.family import Nuisance as Nuisance
from pyrjsel.families.family import Values as Values
from pyrjsel.families.gamma import Gamma as Gamma
from pyrjsel.families.gaussian import Gaussian as Gaussian
from pyrjsel.families.links import Cloglog as Cloglog
from pyrjsel.families.links import Probit as Probit
from pyrjsel.families.mixtures import averages as averages
from pyrjsel.families.multinomial import Multinomial as Multinomial
from pyrjsel.families.negbin import NegativeBinomial as NegativeBinomial
from pyrjsel.families.poisson import Poisson as Poisson
from pyrjsel.families.sized import Sized as Sized
from pyrjsel.families.statistics import Statistic as Statistic
from pyrjsel.families.student import Student as Student

"""Registry of selection models, one class per family, used by loading and the scikit-learn estimators."""

from collections.abc import Mapping

from pyrjsel.selection.models.base import Selection
from pyrjsel.selection.models.cox import CoxSelection
from pyrjsel.selection.models.glm import CloglogSelection, LogitSelection, PoissonSelection, ProbitSelection
from pyrjsel.selection.models.linear import LinearSelection
from pyrjsel.selection.models.multinomial import MultinomialSelection
from pyrjsel.selection.models.sized import GammaSelection, NegbinSelection

# By short name.
MODELS: Mapping[str, type[Selection]] = {
    "linear": LinearSelection,
    "logit": LogitSelection,
    "probit": ProbitSelection,
    "cloglog": CloglogSelection,
    "poisson": PoissonSelection,
    "negbin": NegbinSelection,
    "gamma": GammaSelection,
    "multinomial": MultinomialSelection,
    "cox": CoxSelection,
}
# By class name, as in files.
CLASSES: Mapping[str, type[Selection]] = {model.__name__: model for model in MODELS.values()}

"""The registry of models, one class a family, which loading and the command line read."""

from collections.abc import Mapping

from pyrjsel.selection.models.base import Selection
from pyrjsel.selection.models.glm import LogitSelection, PoissonSelection
from pyrjsel.selection.models.linear import LinearSelection

# By short names.
MODELS: Mapping[str, type[Selection]] = {
    "linear": LinearSelection,
    "logit": LogitSelection,
    "poisson": PoissonSelection,
}
# By the names of classes, as files have them.
CLASSES: Mapping[str, type[Selection]] = {model.__name__: model for model in MODELS.values()}

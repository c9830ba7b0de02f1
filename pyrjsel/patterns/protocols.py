"""Interface of pattern models used by their results."""

from collections.abc import Mapping
from typing import Protocol

import pandas as pd

from pyrjsel._typing import IntArray
from pyrjsel.design.frame import Level
from pyrjsel.patterns.features import Features
from pyrjsel.patterns.groups import Groups
from pyrjsel.patterns.options import Options
from pyrjsel.patterns.priors import PatternPrior
from pyrjsel.results import FittedModel
from pyrjsel.storage import Plain


class PatternModel(FittedModel, Protocol):
    """Members of a pattern model used by its results."""

    features: Features
    compression: Groups
    prior: PatternPrior

    @property
    def classes(self) -> tuple[Level, ...]:
        """Classes of the response."""

    @property
    def y(self) -> IntArray:
        """Position of each response among the classes."""

    @property
    def order(self) -> int:
        """Largest order of a pattern."""

    @property
    def n_groups(self) -> int:
        """Number of groups."""

    @property
    def n_patterns(self) -> int:
        """Number of patterns that occur in the data."""

    @property
    def groups(self) -> pd.DataFrame:
        """The groups."""

    def _identity(self, sampler: str, options: Options) -> Mapping[str, Plain]: ...

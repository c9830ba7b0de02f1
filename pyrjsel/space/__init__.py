"""Model spaces: models as bits, priors over them, costs, budget, heredity, the table of visited models."""

from pyrjsel.space._space import Space
from pyrjsel.space.bits import pack, unpack
from pyrjsel.space.context import PriorContext, TermLike
from pyrjsel.space.counting import PriorInclusion, count_models, prior_inclusion
from pyrjsel.space.enumeration import count_dfs, enumerate_models
from pyrjsel.space.packed import PackedModels
from pyrjsel.space.priors import (
    Bernoulli,
    BetaBinomial,
    CostAdjusted,
    ModelPrior,
    TruncatedPoisson,
    Uniform,
)
from pyrjsel.space.restrict import restrict_prior
from pyrjsel.space.sampling import sample_models
from pyrjsel.space.space import ModelSpace
from pyrjsel.space.table import ModelTable

__all__ = [
    "Bernoulli",
    "BetaBinomial",
    "CostAdjusted",
    "ModelPrior",
    "ModelSpace",
    "ModelTable",
    "PackedModels",
    "PriorContext",
    "PriorInclusion",
    "Space",
    "TermLike",
    "TruncatedPoisson",
    "Uniform",
    "count_dfs",
    "count_models",
    "enumerate_models",
    "pack",
    "prior_inclusion",
    "restrict_prior",
    "sample_models",
    "unpack",
]

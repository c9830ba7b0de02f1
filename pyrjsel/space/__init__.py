"""Model spaces: models as bits, priors over them, costs, budget, heredity, the table of visited models."""

from pyrjsel.space._space import Space
from pyrjsel.space.bits import pack, unpack
from pyrjsel.space.bounds import check_bounds
from pyrjsel.space.context import PriorContext, TermLike
from pyrjsel.space.costs import BUDGET_TOLERANCE, named_costs
from pyrjsel.space.counting import PriorInclusion, count_models, prior_inclusion, prior_inclusion_of
from pyrjsel.space.draws import ByModel, ModelDraws
from pyrjsel.space.enumeration import count_dfs, enumerate_models
from pyrjsel.space.existing import Existence
from pyrjsel.space.facts import OverSpace, space_facts
from pyrjsel.space.families import families, family_rates
from pyrjsel.space.makers import prior_makers
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
from pyrjsel.space.sizes import PriorSizes, sizes_of
from pyrjsel.space.space import ModelSpace
from pyrjsel.space.table import ModelTable, chain_visits, count_visits, merge_visits

__all__ = [
    "BUDGET_TOLERANCE",
    "Bernoulli",
    "BetaBinomial",
    "ByModel",
    "CostAdjusted",
    "Existence",
    "ModelDraws",
    "ModelPrior",
    "ModelSpace",
    "ModelTable",
    "OverSpace",
    "PackedModels",
    "PriorContext",
    "PriorInclusion",
    "PriorSizes",
    "Space",
    "TermLike",
    "TruncatedPoisson",
    "Uniform",
    "chain_visits",
    "check_bounds",
    "count_dfs",
    "count_models",
    "count_visits",
    "enumerate_models",
    "families",
    "family_rates",
    "merge_visits",
    "named_costs",
    "pack",
    "prior_inclusion",
    "prior_inclusion_of",
    "prior_makers",
    "restrict_prior",
    "sample_models",
    "sizes_of",
    "space_facts",
    "unpack",
]

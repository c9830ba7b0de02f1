"""Model spaces: packed models, priors over models, costs, budget, heredity, the table of visited models."""

from pyrjsel.model_space._space import Space
from pyrjsel.model_space.bits import PackedModels, pack, unpack
from pyrjsel.model_space.chains import block_rates, term_blocks
from pyrjsel.model_space.costs import BUDGET_TOLERANCE, named_costs
from pyrjsel.model_space.counting import PriorInclusion, count_models, prior_inclusion, prior_inclusion_of
from pyrjsel.model_space.facts import OverSpace, space_facts
from pyrjsel.model_space.model_prior import ModelPrior
from pyrjsel.model_space.priors import (
    PRIOR_MAKERS,
    Bernoulli,
    BetaBinomial,
    CostAdjusted,
    TruncatedPoisson,
    Uniform,
)
from pyrjsel.model_space.sampling import Existence, count_dfs, enumerate_models, sample_models
from pyrjsel.model_space.sizes import PriorSizes, sizes_of
from pyrjsel.model_space.space import ModelSpace, check_bounds
from pyrjsel.model_space.sparse_models import SparseModels, SparseTable
from pyrjsel.model_space.terms import PriorContext, TermLike
from pyrjsel.model_space.visited_models import (
    ByModel,
    ModelDraws,
    ModelTable,
    chain_visits,
    count_visits,
    merge_visits,
    table_of,
)

__all__ = [
    "BUDGET_TOLERANCE",
    "PRIOR_MAKERS",
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
    "SparseModels",
    "SparseTable",
    "TermLike",
    "TruncatedPoisson",
    "Uniform",
    "block_rates",
    "chain_visits",
    "check_bounds",
    "count_dfs",
    "count_models",
    "count_visits",
    "enumerate_models",
    "merge_visits",
    "named_costs",
    "pack",
    "prior_inclusion",
    "prior_inclusion_of",
    "sample_models",
    "sizes_of",
    "space_facts",
    "table_of",
    "term_blocks",
    "unpack",
]

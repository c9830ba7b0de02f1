"""Base classes of the results of all models: summaries, files, draws, tables of models."""

from pyrjsel.results.base import Description, FittedModel, ModelOverSpace, ModelPosterior, Results
from pyrjsel.results.facts import Facts, chain_facts, class_fact, row_facts, size_fact, true_classes
from pyrjsel.results.model_space import TABLE_ROWS, ModelSpaceResults, stuck_notes
from pyrjsel.results.sampled import RecordedRun, SampledResults, pool
from pyrjsel.results.saved import (
    constraints_from_plain,
    constraints_to_plain,
    model_prior_from_plain,
    options_from_plain,
    pairs_from_plain,
)

__all__ = [
    "TABLE_ROWS",
    "Description",
    "Facts",
    "FittedModel",
    "ModelOverSpace",
    "ModelPosterior",
    "ModelSpaceResults",
    "RecordedRun",
    "Results",
    "SampledResults",
    "chain_facts",
    "class_fact",
    "constraints_from_plain",
    "constraints_to_plain",
    "model_prior_from_plain",
    "options_from_plain",
    "pairs_from_plain",
    "pool",
    "row_facts",
    "size_fact",
    "stuck_notes",
    "true_classes",
]

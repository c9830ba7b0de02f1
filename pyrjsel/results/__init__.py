"""What the results of all models have in common: summaries, files, draws, tables of models."""

from pyrjsel.results.base import Description, Results
from pyrjsel.results.classes import true_classes
from pyrjsel.results.model_space import TABLE_ROWS, ModelSpaceResults, stuck_notes
from pyrjsel.results.protocols import FittedModel, ModelOverSpace, ModelPosterior
from pyrjsel.results.sampled import RecordedRun, SampledResults, chain_facts
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
    "FittedModel",
    "ModelOverSpace",
    "ModelPosterior",
    "ModelSpaceResults",
    "RecordedRun",
    "Results",
    "SampledResults",
    "chain_facts",
    "constraints_from_plain",
    "constraints_to_plain",
    "model_prior_from_plain",
    "options_from_plain",
    "pairs_from_plain",
    "stuck_notes",
    "true_classes",
]

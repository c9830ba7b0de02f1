"""What the results of all models have in common: summaries, files, draws, tables of models."""

from pyrjsel.results.base import Description, Results
from pyrjsel.results.protocols import FittedModel
from pyrjsel.results.sampled import RecordedRun, SampledResults, chain_facts

__all__ = [
    "Description",
    "FittedModel",
    "RecordedRun",
    "Results",
    "SampledResults",
    "chain_facts",
]

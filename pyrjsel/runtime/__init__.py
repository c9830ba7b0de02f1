"""Chains: seeds, blocks, workers, progress and interrupts. Knows no model."""

from pyrjsel.runtime.chains import ChainJob, ChainRunner, ChainsOutcome, DrawnChains, run_chains
from pyrjsel.runtime.folds import deal
from pyrjsel.runtime.refits import Refits
from pyrjsel.runtime.settings import FitSettings

__all__ = [
    "ChainJob",
    "ChainRunner",
    "ChainsOutcome",
    "DrawnChains",
    "FitSettings",
    "Refits",
    "deal",
    "run_chains",
]

"""Chains: seeds, blocks, workers, progress, interrupts and checkpoints. Knows no model."""

from pyrjsel.runtime.chains import (
    ChainJob,
    ChainRunner,
    ChainsOutcome,
    DrawnChains,
    ResumableJob,
    ResumableRunner,
    run_chains,
)
from pyrjsel.runtime.checkpoint import Checkpoint
from pyrjsel.runtime.folds import deal
from pyrjsel.runtime.refits import Refits
from pyrjsel.runtime.settings import FitSettings

__all__ = [
    "ChainJob",
    "ChainRunner",
    "ChainsOutcome",
    "Checkpoint",
    "DrawnChains",
    "FitSettings",
    "Refits",
    "ResumableJob",
    "ResumableRunner",
    "deal",
    "run_chains",
]

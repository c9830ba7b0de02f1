"""Chains: seeds, blocks, workers, progress, interrupts and checkpoints. Independent of all models."""

from pyrjsel.runtime.accuracy import AUTO, MCSE, MOST, USUAL, WARM, Accuracy, Figure, Refused, Rule, above
from pyrjsel.runtime.chain_ends import ChainEnd, Ends, by_chain, known_ends
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
from pyrjsel.runtime.refits import Refits, deal
from pyrjsel.runtime.resources import RunTime, Stopwatch, one_blas_thread, release
from pyrjsel.runtime.settings import FitSettings, power_of_2

__all__ = [
    "AUTO",
    "MCSE",
    "MOST",
    "USUAL",
    "WARM",
    "Accuracy",
    "ChainEnd",
    "ChainJob",
    "ChainRunner",
    "ChainsOutcome",
    "Checkpoint",
    "DrawnChains",
    "Ends",
    "Figure",
    "FitSettings",
    "Refits",
    "Refused",
    "ResumableJob",
    "ResumableRunner",
    "Rule",
    "RunTime",
    "Stopwatch",
    "above",
    "by_chain",
    "deal",
    "known_ends",
    "one_blas_thread",
    "power_of_2",
    "release",
    "run_chains",
]

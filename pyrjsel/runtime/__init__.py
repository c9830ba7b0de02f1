"""Chains: seeds, blocks, workers, progress and interrupts. Knows no model."""

from pyrjsel.runtime.chains import ChainJob, ChainRunner, ChainsOutcome, run_chains

__all__ = ["ChainJob", "ChainRunner", "ChainsOutcome", "run_chains"]

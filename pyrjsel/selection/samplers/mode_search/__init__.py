"""Searches for modes that chains have missed: restarts in burn-in, and the audit after a run."""

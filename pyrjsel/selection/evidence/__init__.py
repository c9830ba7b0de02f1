"""Marginal likelihoods of single models, and what is known of one: moments, draws, deviance."""

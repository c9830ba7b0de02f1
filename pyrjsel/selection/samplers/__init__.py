"""Samplers of the posterior over models, and what they share."""

"""Reversible-jump MCMC over models and coefficients."""

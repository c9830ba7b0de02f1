"""Bayesian kernel regression: a particle filter that finds the number and places of its kernels."""
